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
    /// A cable fails or is repaired.
    LinkChange(CableId),
    /// A timer of priority flow control, such as the expiry of a pause.
    Pause(PauseTimer),
    /// A timer of a switch's policy.
    Policy(SwitchId),
    /// A rate limit allows the switch at the near end of the link to send again.
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
    /// A delayed event of a schedule takes effect.
    ScheduleRelease,
    /// A schedule node has become ready, or the current step of the node is over. The nodes of all
    /// schedules are numbered in one sequence.
    ScheduleStep(u32),
    /// The next execution of the given schedule begins.
    ScheduleBegin(u32),
    /// The arrival phase ends: no more flows arrive.
    PhaseEnd,
    /// The run takes a sample of the chosen switch.
    Sample,
}

/// Purpose of a timer of priority flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PauseTimer {
    /// The sender of a link begins to obey a pause frame.
    Obeyed(PauseKey),
    /// The sender of a link begins to obey a resume frame.
    ResumeObeyed(PauseKey),
    /// A pause expires, unless the receiver of the link has repeated the pause.
    Expiry(PauseKey),
    /// The receiver of a link repeats a pause, unless the receiver has withdrawn the pause.
    Refresh(PauseKey),
    /// A host with a pause storm sends its next pause frame.
    Storm(StormId),
    /// A switch's PFC watchdog polls its queues.
    Watchdog(SwitchId),
    /// A frame that waited for the given link begins to leave.
    FrameStart(LinkId),
}

/// Position of an event in the order of a run. At one instant, link events precede timers, and
/// timers expire in the order of [`Timer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) at: Time,
    /// Timer that expires. `None` for a link event.
    pub(crate) timer: Option<Timer>,
}

impl Moment {
    /// Position before all events of a run in the order of events.
    pub(crate) const ZERO: Self = Self { at: Time::ZERO, timer: None };
}

const _: () = assert!(size_of::<Timer>() == 8, "a timer and its time are two words");

/// All timers of a simulation.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
    /// Expiry time of the first timer. The time is cached because the engine reads it before every
    /// event.
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

    /// Expiry time of the first timer. [`Time::MAX`] if no timer is set.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next
    }

    /// The timer that expires first.
    pub(crate) fn peek(&self) -> Option<Timer> {
        self.heap.peek().map(|Reverse((_, timer))| *timer)
    }

    /// Removes all timers that are equal to `timer` in kind and component.
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
