//! Rare events: timers of retransmission, pacing and policies, link changes, samples.
//! A binary heap is enough, because rare events are few.

use crate::ids::{CableId, FlowSlot, LinkId, StormId, SwitchId, ThreadId};
use crate::pfc::PauseKey;
use bufferlab_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Purpose of a timer. Timers of one instant expire in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A cable goes down, or is up again.
    LinkChange(CableId),
    /// A timer of priority flow control.
    Pause(PauseTimer),
    /// A timer of a switch's policy.
    Policy(SwitchId),
    /// A limited rate allows the switch that sends over the link to send again.
    Rate(LinkId),
    /// A sender's timer expires: retransmission, or the next segment of a paced flow.
    Sender(FlowSlot),
    /// A receiver sends its delayed ACK.
    DelayedAck(FlowSlot),
    /// A paced sender may send again.
    Pace(FlowSlot),
    /// A message that waited for a connection gets a connection.
    Connection(FlowSlot),
    /// A thread of a closed loop sends its next query.
    Ask(ThreadId),
    /// A request of a closed-loop thread reaches its servers.
    Request(ThreadId),
    /// Events of schedules take effect after a delay.
    ScheduleRelease,
    /// A node has become ready, or its current step is over: its number among the nodes of all
    /// schedules.
    ScheduleStep(u32),
    /// The next execution of the given schedule begins.
    ScheduleBegin(u32),
    /// The arrival phase ends.
    PhaseEnd,
    /// The run takes a sample of the chosen switch.
    Sample,
}

/// A timer of priority flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PauseTimer {
    /// A neighbour obeys a pause frame.
    Obeyed(PauseKey),
    /// A neighbour obeys a resume frame.
    ResumeObeyed(PauseKey),
    /// A pause expires unless it was repeated.
    Expiry(PauseKey),
    /// A receiver repeats a pause unless the pause was withdrawn.
    Refresh(PauseKey),
    /// A host with a pause storm sends its next pause frame.
    Storm(StormId),
    /// A switch's PFC watchdog polls its queues.
    Watchdog(SwitchId),
    /// A frame that waited for the given link begins to leave.
    FrameStart(LinkId),
}

/// Place of an event in the order of a run. At one instant, link events come before timers, and
/// timers expire in the order of [`Timer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) at: Time,
    /// Timer that expires. `None` for a link event.
    pub(crate) timer: Option<Timer>,
}

impl Moment {
    /// The moment before all events of a run.
    pub(crate) const ZERO: Self = Self { at: Time::ZERO, timer: None };
}

const _: () = assert!(size_of::<Timer>() == 8, "a timer and its time are two words");

/// All timers of a simulation.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
    /// Time of the first timer. It is cached because the engine reads it before every event.
    next: Time,
}

impl Default for Timers {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), next: Time::MAX }
    }
}

impl Timers {
    #[inline]
    pub(crate) fn push(&mut self, time: Time, timer: Timer) {
        self.next = self.next.min(time);
        self.heap.push(Reverse((time, timer)));
    }

    /// Time of the first timer. [`Time::MAX`] if there is no timer.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next
    }

    /// Removes all timers of this kind and component.
    pub(crate) fn remove(&mut self, timer: Timer) {
        self.heap.retain(|Reverse((_, other))| *other != timer);
        self.next = self.heap.peek().map_or(Time::MAX, |Reverse((time, _))| *time);
    }

    /// Removes and returns the timer that expires first.
    pub(crate) fn pop(&mut self) -> Option<Timer> {
        let first = self.heap.pop();
        self.next = self.heap.peek().map_or(Time::MAX, |Reverse((time, _))| *time);
        first.map(|Reverse((_, timer))| timer)
    }
}
