//! A device on the bench: applies operations, keeps the clock and the timers, and keeps its own
//! books from what the device answers.

use crate::device::Device;
use crate::script::{Operation, Script};
use bufferlab_core::{Admission, DropReason, Packet, QueueId, Refusal, Transmission};
use bufferlab_units::Time;
use std::collections::VecDeque;

/// What a device answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet is stored.
    Stored,
    /// The packet is lost.
    Dropped(DropReason),
    /// A packet left.
    Sent(Transmission),
    /// The port has nothing to send.
    Idle,
    /// The operation asks for no answer.
    Done,
}

/// A device and an independent record of what it must contain.
pub struct Bench {
    /// The device under test.
    pub device: Box<dyn Device>,
    now: Time,
    gap: Time,
    queues_per_port: u16,
    /// By queue: name and size of the packets that the device accepted and has not given back.
    content: Vec<VecDeque<(u32, u32)>>,
    paused: Vec<bool>,
    next_id: u32,
    /// Stored packets that the last operation cost, other than by sending them.
    removed: usize,
    /// Call `handle_timeout` when nothing is due, too.
    early_timeouts: bool,
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench")
            .field("now", &self.now)
            .field("content", &self.content)
            .finish_non_exhaustive()
    }
}

impl Bench {
    /// `device` at time zero, to be driven by `script`.
    #[must_use]
    pub fn new(device: Box<dyn Device>, script: &Script) -> Self {
        let queues = usize::from(script.queues());
        Self {
            device,
            now: Time::ZERO,
            gap: script.gap,
            queues_per_port: script.config.queues_per_port as u16,
            content: vec![VecDeque::new(); queues],
            paused: vec![false; queues],
            next_id: 0,
            removed: 0,
            early_timeouts: false,
        }
    }

    /// The same, calling `handle_timeout` also when nothing is due.
    #[must_use]
    pub fn with_early_timeouts(self) -> Self {
        Self { early_timeouts: true, ..self }
    }

    /// Lets time pass, handles what is due, then applies `operation`.
    ///
    /// # Errors
    /// A sentence that says what the device answered and could not: a packet that it does not have,
    /// a timer that does not advance.
    pub fn apply(&mut self, operation: &Operation) -> Result<Outcome, String> {
        let wait = if let Operation::Wait(span) = operation { *span } else { Time::ZERO };
        self.advance(self.now + self.gap + wait)?;
        let before = self.device.poll_timeout();
        let outcome = match *operation {
            Operation::Arrive { queue, size, tags } => {
                let (port, priority) = (queue / self.queues_per_port, (queue % self.queues_per_port) as u8);
                let ingress_port = 0;
                let id = self.next_id;
                self.next_id += 1;
                // Four flows per queue in turn, so that policies with a flow table have something
                // to remember.
                let flow = u32::from(queue) * 4 + id % 4;
                let packet = Packet {
                    id,
                    size,
                    flow,
                    egress_port: port,
                    ingress_port,
                    priority,
                    tags,
                    ..Packet::default()
                };
                let admission = self.device.handle_arrival(self.now, &packet);
                match admission {
                    Admission::Stored { .. } => {
                        self.content[usize::from(queue)].push_back((id, size));
                        Outcome::Stored
                    }
                    Admission::Refused(Refusal { reason, .. }) => Outcome::Dropped(reason),
                }
            }
            Operation::Depart { port } => match self.device.poll_transmit(self.now, port) {
                Some(sent) => {
                    self.forget_sent(port, &sent)?;
                    Outcome::Sent(sent)
                }
                None => Outcome::Idle,
            },
            Operation::Pause { port, priority, paused } => {
                self.paused[usize::from(port * self.queues_per_port) + usize::from(priority)] = paused;
                self.device.handle_pause(port, priority, paused);
                Outcome::Done
            }
            Operation::Wait(_) => Outcome::Done,
        };
        if let Some(failure) = self.device.take_failure() {
            return Err(failure);
        }
        self.removed = self.forget_removed()?;
        match (before, self.device.poll_timeout()) {
            (Some(before), Some(after)) if after < before => {
                return Err(format!("{operation:?} moved the deadline back from {before} to {after}"));
            }
            (None, Some(_)) if !matches!(operation, Operation::Arrive { .. }) => {
                return Err(format!("{operation:?} started a timer; only an arrival may"));
            }
            (_, Some(after)) if after <= self.now => {
                return Err(format!("after {operation:?} at {} the deadline {after} has passed", self.now));
            }
            _ => {}
        }
        Ok(outcome)
    }

    fn advance(&mut self, to: Time) -> Result<(), String> {
        while let Some(due) = self.device.poll_timeout().filter(|&due| due <= to) {
            if self.early_timeouts && due > self.now {
                self.device.handle_timeout(self.now);
                self.device.handle_timeout(Time(due.0 - 1));
            }
            self.device.handle_timeout(due);
            if let Some(failure) = self.device.take_failure() {
                return Err(failure);
            }
            let _ = self.forget_removed()?;
            if let Some(next) = self.device.poll_timeout().filter(|&next| next <= due) {
                return Err(format!("the deadline {due} was followed by {next}: the timer does not advance"));
            }
            if self.early_timeouts {
                self.device.handle_timeout(due);
            }
            self.now = due;
        }
        self.now = to;
        if self.early_timeouts {
            self.device.handle_timeout(to);
        }
        Ok(())
    }

    /// Removes evicted and expelled packets from the books, and counts them.
    fn forget_removed(&mut self) -> Result<usize, String> {
        let removed = self.device.take_removed();
        let count = removed.len();
        for (queue, id) in removed {
            let packets = &mut self.content[usize::from(queue.0)];
            let Some(position) = packets.iter().position(|&(known, _)| known == id) else {
                return Err(format!("packet {id} was removed from {queue:?}, which does not hold it"));
            };
            packets.remove(position);
        }
        Ok(count)
    }

    fn forget_sent(&mut self, port: u16, sent: &Transmission) -> Result<(), String> {
        let _ = self.forget_removed()?;
        if sent.queue.0 / self.queues_per_port != port {
            return Err(format!("port {port} sent from {:?}, which belongs to another port", sent.queue));
        }
        if self.paused[usize::from(sent.queue.0)] {
            return Err(format!("{:?} is paused and sent", sent.queue));
        }
        let head = self.content[usize::from(sent.queue.0)].pop_front();
        if head != Some((sent.packet, sent.size)) {
            return Err(format!("sent {sent:?} although the queue's head is {head:?} (name, bytes)"));
        }
        Ok(())
    }

    /// How many stored packets the last operation evicted or expelled; those of timers that fell
    /// due before it do not count.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.removed
    }

    /// The clock.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Bytes that `queue` must hold.
    #[must_use]
    pub fn expected_bytes(&self, queue: QueueId) -> u64 {
        self.content[usize::from(queue.0)].iter().map(|&(_, size)| u64::from(size)).sum()
    }

    /// All queues.
    pub fn queues(&self) -> impl Iterator<Item = QueueId> + use<> {
        (0..self.content.len() as u16).map(QueueId)
    }

    /// Whether `port` holds a packet that it may send.
    #[must_use]
    pub fn may_send(&self, port: u16) -> bool {
        let first = usize::from(port * self.queues_per_port);
        let own = first..first + usize::from(self.queues_per_port);
        own.into_iter().any(|queue| !self.paused[queue] && !self.content[queue].is_empty())
    }

    /// Compares the device's ledger with the books, and lets it check itself.
    ///
    /// # Errors
    /// The first queue that differs.
    pub fn audit(&self) -> Result<(), String> {
        let mut total = 0;
        for queue in self.queues() {
            let (ledger, books) = (self.device.queue_bytes(queue), self.expected_bytes(queue));
            if ledger != books {
                return Err(format!("{queue:?} must hold {books} B, the ledger says {ledger} B"));
            }
            total += books;
        }
        if self.device.occupancy() != total {
            let ledger = self.device.occupancy();
            return Err(format!("the buffer must hold {total} B, the ledger says {ledger} B"));
        }
        self.device.verify()
    }
}
