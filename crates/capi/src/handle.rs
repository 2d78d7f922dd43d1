//! One switch of a C program: checks arguments, calls the core, collects events.

use crate::abi::{Callback, Code, Departure, Event, NO_REASON, Packet, Verdict, event_code, reason_code};
use crate::config::Core;
use crate::error::Failure;
use bufferlab_core::{
    Admission, Buffer, Ecn, Header, Observer, Packet as CorePacket, PacketEvent, QueueId, SwitchEvent, Tags,
};
use bufferlab_units::Time;
use std::ffi::c_void;

/// A switch to which a C program has a pointer.
#[derive(Debug)]
pub struct Handle {
    core: Core,
    ports: u16,
    queues_per_port: u8,
    /// Time of the last event that the switch handled.
    now: Time,
    /// Whether a call has begun and not ended. If the flag is set when a call begins, the previous
    /// call panicked.
    in_call: bool,
    pub(crate) callback: Option<(Callback, *mut c_void)>,
    /// Events of the switch since the last call of [`Self::take_events`].
    events: Events,
}

/// Events that the caller's callback will receive.
#[derive(Debug, Default)]
struct Events {
    list: Vec<Event>,
    is_wanted: bool,
}

impl Observer for Events {
    fn on(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer) {
        if !self.is_wanted {
            return;
        }
        match *event {
            SwitchEvent::Evicted { now, queue, stored, reason } => {
                let (port, queue) = buffer.port_and_priority(queue);
                self.list.push(Event {
                    now: now.0,
                    packet: stored.packet,
                    size: stored.header.size,
                    port,
                    queue,
                    event: event_code(PacketEvent::Evicted),
                    reason: reason_code(reason),
                    reserved: [0; 3],
                });
            }
            SwitchEvent::PauseChanged { now, ingress, paused } => {
                let (port, queue) = buffer.port_and_priority(QueueId(ingress.0));
                let kind = if paused { PacketEvent::Paused } else { PacketEvent::Resumed };
                let event = event_code(kind);
                self.list.push(Event {
                    now: now.0,
                    port,
                    queue,
                    event,
                    reason: NO_REASON,
                    ..Event::default()
                });
            }
            _ => {}
        }
    }
}

impl Handle {
    pub(crate) fn new(core: Core) -> Self {
        let queues = core.buffer().queue_ids().count();
        let queues_per_port = core.buffer().queues_per_port();
        Self {
            core,
            ports: (queues / usize::from(queues_per_port)) as u16,
            queues_per_port: queues_per_port as u8,
            now: Time::ZERO,
            in_call: false,
            callback: None,
            events: Events::default(),
        }
    }

    /// Runs the function `body`, unless an earlier call panicked.
    pub(crate) fn call<T>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.check_sound()?;
        self.in_call = true;
        let result = body(self);
        self.in_call = false;
        result
    }

    /// Refuses to use a switch in which a call panicked.
    pub(crate) fn check_sound(&self) -> Result<(), Failure> {
        if self.in_call {
            return Err(Failure::panicked("an earlier call panicked: free the switch"));
        }
        Ok(())
    }

    pub(crate) fn set_callback(&mut self, callback: Option<(Callback, *mut c_void)>) {
        self.events.is_wanted = callback.is_some();
        self.callback = callback;
    }

    /// Returns the events since the last call of this method, in order.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        // An empty vector allocates nothing, and most calls cause no event.
        std::mem::take(&mut self.events.list)
    }

    fn check_time(&mut self, now: u64) -> Result<Time, Failure> {
        let now = Time(now);
        if now < self.now {
            let message = format!("time goes back from {} ps to {} ps", self.now.0, now.0);
            return Err(Failure::invalid(message));
        }
        self.now = now;
        Ok(now)
    }

    fn check_port(&self, port: u16, what: &str) -> Result<(), Failure> {
        if port < self.ports {
            return Ok(());
        }
        Err(Failure::invalid(format!("{what} {port}: the switch has {} ports, numbered from 0", self.ports)))
    }

    fn check_queue(&self, port: u16, queue: u8) -> Result<QueueId, Failure> {
        self.check_port(port, "port")?;
        if queue < self.queues_per_port {
            return Ok(self.core.buffer().queue_of(port, queue));
        }
        let message = format!("queue {queue}: a port has {} queues, numbered from 0", self.queues_per_port);
        Err(Failure::invalid(message))
    }

    pub(crate) fn arrive(&mut self, now: u64, packet: &Packet) -> Result<Verdict, Failure> {
        self.check_port(packet.egress_port, "egress port")?;
        self.check_port(packet.ingress_port, "ingress port")?;
        if packet.size == 0 {
            return Err(Failure::invalid("a packet of 0 bytes"));
        }
        if usize::from(packet.priority) >= bufferlab_core::classify::CODE_POINTS {
            return Err(Failure::invalid(format!("priority {}: expected 0 to 63", packet.priority)));
        }
        let ecn = match packet.ecn {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable,
            2 => Ecn::Marked,
            other => return Err(Failure::invalid(format!("ECN state {other}: expected 0, 1 or 2"))),
        };
        let now = self.check_time(now)?;
        let header = Header {
            size: packet.size,
            flow: packet.flow,
            tags: Tags(packet.tags),
            priority: packet.priority,
            ecn,
        };
        let (ingress_port, egress_port) = (packet.ingress_port, packet.egress_port);
        let packet = CorePacket { id: packet.id, header, ingress_port, egress_port };
        let admission = self.core.handle_arrival(now, &packet, &mut self.events);
        let (_, queue) = self.core.buffer().port_and_priority(self.core.queue_of(&packet));
        let (event, reason, marked) = match admission {
            Admission::Stored { marked } => (PacketEvent::Admitted, NO_REASON, marked),
            Admission::Refused(refusal) => (refusal.outcome, reason_code(refusal.reason), false),
        };
        Ok(Verdict { event: event_code(event), reason, marked: marked.into(), queue })
    }

    pub(crate) fn depart(&mut self, now: u64, port: u16) -> Result<Option<Departure>, Failure> {
        self.check_port(port, "port")?;
        let now = self.check_time(now)?;
        let Some(sent) = self.core.poll_transmit(now, port, &mut self.events) else { return Ok(None) };
        let (_, queue) = self.core.buffer().port_and_priority(sent.queue);
        Ok(Some(Departure {
            packet: sent.packet,
            size: sent.size,
            queue,
            marked: sent.marked.into(),
            more: sent.more.into(),
            reserved: 0,
        }))
    }

    pub(crate) fn pause(&mut self, port: u16, priority: u8, paused: bool) -> Result<(), Failure> {
        self.check_queue(port, priority)?;
        self.core.handle_pause(port, priority, paused);
        Ok(())
    }

    pub(crate) fn next_timer(&self) -> Option<u64> {
        self.core.poll_timeout().map(|at| at.0)
    }

    pub(crate) fn timer(&mut self, now: u64) -> Result<(), Failure> {
        let now = self.check_time(now)?;
        let mut due = self.core.poll_timeout();
        while let Some(at) = due.filter(|&at| at <= now) {
            self.core.handle_timeout(now, &mut self.events);
            due = self.core.poll_timeout();
            if due.is_some_and(|next| next <= at) {
                // The core has already recorded that the policy failed.
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn threshold(&self, port: u16, queue: u8, tags: u16) -> Result<Option<u64>, Failure> {
        let queue = self.check_queue(port, queue)?;
        Ok(self.core.threshold(queue, Tags(tags)))
    }

    pub(crate) fn occupancy(&self, port: i32, queue: i32) -> Result<u64, Failure> {
        let buffer = self.core.buffer();
        if (port, queue) == (-1, -1) {
            return Ok(buffer.occupancy());
        }
        let port = u16::try_from(port).map_err(|_| Failure::invalid(format!("port {port}")))?;
        self.check_port(port, "port")?;
        if queue == -1 {
            return Ok(buffer.port_bytes(port));
        }
        let queue = u8::try_from(queue).map_err(|_| Failure::invalid(format!("queue {queue}")))?;
        Ok(buffer.queue_bytes(self.check_queue(port, queue)?))
    }

    pub(crate) fn verify(&mut self) -> Result<(), Failure> {
        self.core.verify().map_err(|error| Failure::failed(error.to_string()))?;
        if let Some(failure) = self.core.take_failure() {
            return Err(Failure::failed(format!("the policy failed: {failure}")));
        }
        if let Some(failure) = self.core.take_marking_failure() {
            return Err(Failure::failed(format!("the marking rule failed: {failure}")));
        }
        if let Some(failure) = self.core.classifier_failure() {
            return Err(Failure::failed(format!("the classifier failed: {failure}")));
        }
        Ok(())
    }
}

/// Returns the result code of a C function that may have no result.
pub(crate) const fn code_of<T>(answer: &Option<T>) -> Code {
    if answer.is_some() { Code::Ok } else { Code::None }
}
