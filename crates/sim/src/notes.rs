//! Notes on schedules: what the shards of a network tell each other about the schedules of a run.

use bufferlab_metrics::WaitedFor;
use bufferlab_units::Time;

/// Event of a schedule. A `number` identifies a node in the sequence of all nodes of all schedules;
/// `index` is the number of a schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// An execution of a schedule begins.
    Begin {
        index: u32,
        now: Time,
    },
    /// A node has become ready: all events have happened for which the node waited.
    Ready {
        number: u32,
        at: Time,
        /// Transfer or computation that caused the last event for which the node waited, directly
        /// or through barriers.
        after: Option<u32>,
        event: WaitedFor,
    },
    /// A node starts at the time `start`, which may be later than the time of the note.
    Start {
        number: u32,
        now: Time,
        start: Time,
    },
    /// The flow with this number executes a node.
    Flow {
        number: u32,
        flow: u64,
    },
    /// A node that is ready waits for a later event.
    Delay {
        number: u32,
        cause: Cause,
    },
    /// A step must stay in memory until the note [`Self::Release`].
    Retain {
        index: u32,
        node: Option<u32>,
    },
    Release {
        index: u32,
        node: Option<u32>,
    },
    /// A node ends.
    End {
        number: u32,
        now: Time,
    },
}

/// Number of nodes of a schedule that have ended in a window, with the time of the last end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) index: usize,
    pub(crate) nodes: usize,
    pub(crate) last: Time,
}

/// Last event that a schedule node has waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cause {
    /// Schedule node of the event; `None` if the waiting node waited for no other node.
    pub(crate) node: Option<u32>,
    pub(crate) event: WaitedFor,
    /// Time of the event, with the delay of the edge.
    pub(crate) at: Time,
}
