//! Rare events: retransmission, pacing and policy timers, link changes, samples. A binary heap, because there are few.

use bufferlab_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a timer is for. At one instant they fire in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A cable goes down or comes up.
    LinkChange(u32),
    /// A neighbour obeys a pause frame (link and priority, see `pfc.rs`).
    PauseObeyed(u32),
    /// A neighbour obeys a resume frame.
    ResumeObeyed(u32),
    /// A pause is over unless it was repeated.
    PauseExpiry(u32),
    /// A pause is repeated unless it was taken back.
    PauseRefresh(u32),
    /// A host that storms sends its next pause frame.
    Storm(u32),
    /// A switch's PFC watchdog looks.
    Watchdog(u32),
    /// A switch's policy.
    Policy(u32),
    /// A sender's timer: retransmission, or the next segment of a paced flow.
    Sender(u32),
    /// A receiver's delayed ACK.
    DelayedAck(u32),
    /// A paced sender may send again.
    Pace(u32),
    /// A message that waited for a connection has one.
    Connection(u32),
    /// A thread of a closed loop asks.
    Ask(u32),
    /// A thread's request reaches servers.
    Request(u32),
    /// The arrival phase is over.
    PhaseEnd,
    /// Time to sample the chosen switch.
    Sample,
}

/// All timers.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
}

impl Timers {
    #[inline]
    pub(crate) fn push(&mut self, time: Time, timer: Timer) {
        self.heap.push(Reverse((time, timer)));
    }

    /// Time of the first timer; [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |Reverse((time, _))| *time)
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, Timer)> {
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}
