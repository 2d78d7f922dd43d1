//! A test bench for a device: applies operations, drives clock and timers, and keeps independent
//! accounts of the device's answers.

use crate::device::Device;
use crate::script::{Operation, Script};
use bufferlab_core::{Admission, DropReason, Header, Packet, QueueId, Refusal, Transmission};
use bufferlab_units::Time;
use std::collections::VecDeque;

/// Result that a device under test returns for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The device stored the arriving packet.
    Stored,
    /// The device dropped the packet for the given reason.
    Dropped(DropReason),
    /// The device sent a packet from the requested port.
    Sent(Transmission),
    /// The port has no packet that it may send.
    Idle,
    /// The operation has no result to compare, as a pause or a wait.
    Done,
}

/// A device under test, with an independent account of its expected content.
pub struct Bench {
    /// Device that the bench tests.
    pub device: Box<dyn Device>,
    now: Time,
    gap: Time,
    queues_per_port: u16,
    /// Name and size of the stored packets, by queue, computed from the device's answers.
    content: Vec<VecDeque<(u32, u32)>>,
    paused: Vec<bool>,
    next_id: u32,
    /// Number of stored packets that the last operation removed without sending.
    removed: usize,
    /// Whether the bench also calls `handle_timeout` before a timeout is due.
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
    /// Creates a bench for `device` at time zero. The device is a switch with the configuration of
    /// `script`.
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

    /// Makes the bench call `handle_timeout` even when no timeout is due.
    #[must_use]
    pub fn with_early_timeouts(self) -> Self {
        Self { early_timeouts: true, ..self }
    }

    /// Advances time, handles expired timers, then applies `operation` to the device.
    ///
    /// # Errors
    /// A sentence about an impossible answer of the device. Examples are a packet that the device
    /// does not store, and a timer that does not advance.
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
                // The packets of each queue belong to four flows in turn, for policies with a flow
                // table.
                let flow = u32::from(queue) * 4 + id % 4;
                let packet = Packet {
                    id,
                    header: Header { size, flow, priority, tags, ..Header::default() },
                    egress_port: port,
                    ingress_port,
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

    /// Removes evicted and expelled packets from the accounts, and returns their number.
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

    /// Number of stored packets that the last operation evicted or expelled. The number excludes
    /// packets that expired timers removed before the operation.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.removed
    }

    /// Current time of the bench's clock.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Size of the packets that `queue` must contain, according to the accounts (bytes).
    #[must_use]
    pub fn expected_bytes(&self, queue: QueueId) -> u64 {
        self.content[usize::from(queue.0)].iter().map(|&(_, size)| u64::from(size)).sum()
    }

    /// Indices of all queues of the switch under test.
    pub fn queues(&self) -> impl Iterator<Item = QueueId> + use<> {
        (0..self.content.len() as u16).map(QueueId)
    }

    /// Whether `port` has a packet whose priority is not paused.
    #[must_use]
    pub fn may_send(&self, port: u16) -> bool {
        let first = usize::from(port * self.queues_per_port);
        let own = first..first + usize::from(self.queues_per_port);
        own.into_iter().any(|queue| !self.paused[queue] && !self.content[queue].is_empty())
    }

    /// Compares the device's ledger with the accounts, and runs the device's own check.
    ///
    /// # Errors
    /// A sentence about the first queue that differs.
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
