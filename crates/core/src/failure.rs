//! What a policy or a marking rule did that makes its answers meaningless.

use crate::buffer::{Buffer, QueueId};
use bufferlab_units::Time;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A defect of a policy, with the place where it showed: an error inside it, or a demand that no
/// switch can meet.
#[derive(Clone, Debug)]
pub struct PolicyFailure {
    /// When.
    pub now: Time,
    /// For which egress queue the policy had been called, numbered as the policy sees them; `None`
    /// where a call is about no queue.
    pub queue: Option<QueueId>,
    /// Which method of [`crate::Policy`] it was: `"admit"`.
    pub hook: &'static str,
    /// What happened, in one sentence.
    pub what: String,
    /// The error behind it, if the policy had one.
    pub cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl fmt::Display for PolicyFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.hook, self.what)
    }
}

impl Error for PolicyFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl PolicyFailure {
    /// A packet was admitted for which the shared pool has no room.
    pub(crate) fn admitted_beyond(now: Time, queue: QueueId, size: u32, buffer: &Buffer) -> Self {
        let (capacity, used) = (buffer.shared_capacity(), buffer.pool_occupancy());
        let what = format!("admitted {size} B where {} B of {capacity} B are free", capacity - used);
        Self { now, queue: Some(queue), hook: "admit", what, cause: None }
    }

    /// The deadline `due` was handled, and the next one is not later.
    pub(crate) fn timer_stands(now: Time, due: Time, next: Time) -> Self {
        let what = format!("the deadline {due} was followed by {next}: the timer does not advance");
        Self { now, queue: None, hook: "handle_timeout", what, cause: None }
    }

    /// A packet was to be removed from `victim`, which has none or does not exist.
    pub(crate) fn removed_nothing(
        now: Time,
        queue: Option<QueueId>,
        hook: &'static str,
        victim: QueueId,
        evictions: u32,
        buffer: &Buffer,
    ) -> Self {
        let queues = buffer.queue_ids().count();
        let mut what = if usize::from(victim.0) < queues {
            let (port, priority) = buffer.port_and_priority(victim);
            format!(
                "asked to remove a packet from queue {} (port {port}, priority {priority}), which is empty",
                victim.0
            )
        } else {
            format!(
                "asked to remove a packet from queue {}, and the switch has {queues}, numbered from 0",
                victim.0
            )
        };
        if evictions > 0 {
            what += &format!("; {evictions} were evicted for this arrival before");
        }
        Self { now, queue, hook, what, cause: None }
    }
}

/// A defect of a marking rule from outside, with the place where it showed.
#[derive(Clone, Debug)]
pub struct MarkingFailure {
    /// When.
    pub now: Time,
    /// The queue of the packet that it was asked about, numbered as the rule sees them.
    pub queue: QueueId,
    /// What happened, in one sentence.
    pub what: String,
    /// The error behind it, if the rule had one.
    pub cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl fmt::Display for MarkingFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "marks: {}", self.what)
    }
}

impl Error for MarkingFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}
