//! Failures of a policy, a marking rule or a classifier. Decisions after a failure have no meaning.

use crate::buffer::{Buffer, QueueId};
use bufferlab_units::Time;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A failure of a policy: an error inside the policy, or a demand that no switch can meet.
/// The fields name the place where the switch detected the failure.
#[derive(Clone, Debug)]
pub struct PolicyFailure {
    /// Time of the policy's failure.
    pub now: Time,
    /// Egress queue for which the switch called the policy, with the number that the policy sees.
    /// `None` if the call concerned no queue.
    pub queue: Option<QueueId>,
    /// Method of the policy that failed ([`crate::Policy`]), such as `"admit"`.
    pub hook: &'static str,
    /// Description of the policy's failure in one sentence.
    pub what: String,
    /// Underlying error of the policy, if any.
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
    /// Failure: the policy admitted a packet for which the shared pool has no space.
    pub(crate) fn admitted_beyond(now: Time, queue: QueueId, size: u32, buffer: &Buffer) -> Self {
        let (capacity, used) = (buffer.shared_capacity(), buffer.pool_occupancy());
        let what = format!("admitted {size} B where {} B of {capacity} B are free", capacity - used);
        Self { now, queue: Some(queue), hook: "admit", what, cause: None }
    }

    /// Failure: the policy handled the deadline `due`, and its next deadline is not later than
    /// `due`.
    pub(crate) fn timer_stands(now: Time, due: Time, next: Time) -> Self {
        let what = format!("the deadline {due} was followed by {next}: the timer does not advance");
        Self { now, queue: None, hook: "handle_timeout", what, cause: None }
    }

    /// Failure: the policy removed a packet from the queue `victim`, which is empty or
    /// does not exist.
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

/// A failure of a custom marking rule, with the place where the switch detected it.
#[derive(Clone, Debug)]
pub struct MarkingFailure {
    /// Time of the rule's failure.
    pub now: Time,
    /// Queue of the packet for which the switch called the rule, with the number that the rule
    /// sees.
    pub queue: QueueId,
    /// Description of the rule's failure in one sentence.
    pub what: String,
    /// Underlying error of the marking rule, if any.
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

/// A failure of a custom classifier, with the packet for which the switch called the classifier.
#[derive(Clone, Debug)]
pub struct ClassifierFailure {
    /// Time of the classifier's failure.
    pub now: Time,
    /// Handle of the packet's flow, as the classifier sees it. `None` if the failure concerns no
    /// packet.
    pub flow: Option<u32>,
    /// Description of the classifier's failure in one sentence.
    pub what: String,
    /// Underlying error of the classifier, if any.
    pub cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl fmt::Display for ClassifierFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hook = if self.flow.is_some() { "classify: " } else { "" };
        write!(f, "{hook}{}", self.what)
    }
}

impl Error for ClassifierFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}
