//! The trait of all policies.

use super::bound::Bound;
use super::hooks::Hooks;
use super::packet::{Arrival, Departure};
use super::verdict::{DropReason, PauseDemand, Verdict};
use crate::buffer::{Buffer, End, IngressId, QueueId};
use crate::classify::Classifier;
use crate::failure::PolicyFailure;
use crate::tags::Tags;
use bufferlab_units::Time;
use std::any::Any;
use std::fmt;

/// Decides who may occupy a shared buffer.
///
/// [`crate::Switch`] calls the policy and owns packets and ledger; the policy only decides.
/// `buffer` always shows the state *before* the reported event, except where a hook states
/// otherwise.
///
/// Calls are dynamic: one registry serves the command line and Python, and policies may be in other
/// crates. The most common schemes are the exception ([`crate::Dispatched`]). `benches/policies.rs`
/// in `bufferlab-conformance` compares their cost with the statically dispatched form
/// ([`crate::Switch`] is generic).
pub trait Policy: fmt::Debug + Send + Any {
    /// Decides on one arrival. The switch calls this again after each eviction that the policy
    /// demanded ([`Arrival::evictions`]). A policy must not store state between these calls,
    /// because [`crate::Panel`] never carries out the evictions.
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict;

    /// Optional hooks that this policy needs.
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    /// `arrival` was stored; `buffer` already contains it.
    fn on_enqueue(&mut self, _arrival: &Arrival, _buffer: &Buffer) {}

    /// A packet left for the wire; `buffer` no longer contains it.
    fn on_dequeue(&mut self, _departure: &Departure, _buffer: &Buffer) {}

    /// `arrival` was refused.
    fn on_drop(&mut self, _arrival: &Arrival, _reason: DropReason, _buffer: &Buffer) {}

    /// A stored packet of `size` bytes was evicted or expelled; `buffer` no longer contains it.
    fn on_evict(&mut self, _now: Time, _queue: QueueId, _size: u32, _buffer: &Buffer) {}

    /// A round-robin scheduler passed `queue` because it was empty.
    fn on_empty_visit(&mut self, _now: Time, _queue: QueueId) {}

    /// Time at which [`Self::handle_timeout`] must be called next. The switch polls when it is
    /// built and after every `handle_timeout`. While the answer is `None`, it also polls after
    /// every arrival. So an arrival may start the first timer but must not make a deadline earlier.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// Handles the deadline of [`Self::next_timeout`]. Early calls do nothing. A late call advances
    /// the deadline, and is repeated until the deadline is later than `now`.
    fn handle_timeout(&mut self, _now: Time, _buffer: &Buffer) {}

    /// A queue to shorten now, without an arrival. The switch polls after a packet was stored or
    /// left and after [`Self::handle_timeout`], until the answer is `None`.
    fn poll_expulsion(&mut self, _now: Time, _buffer: &Buffer) -> Option<(QueueId, End)> {
        None
    }

    /// Demand on the sender behind `ingress`. The switch polls after a packet of that ingress queue
    /// was stored or left, and with [`Hooks::PAUSE_REFUSED`] after one was refused. For an empty
    /// queue that has paused its sender, it polls after every event, since no packet of that queue
    /// will leave.
    fn pause_demand(&mut self, _now: Time, _ingress: IngressId, _buffer: &Buffer) -> PauseDemand {
        PauseDemand::Keep
    }

    /// Whether the policy divides the pools of ingress queues according to
    /// [`SwitchShape::accounting`](super::SwitchShape::accounting). Other policies cannot be built
    /// with slices by ingress port or with thresholds of few bits. The rest of the accounting does
    /// not concern them.
    fn supports_accounting(&self) -> bool {
        false
    }

    /// Whether an arrival may bypass its queue ([`crate::Switch::bypass`]), so that none of these
    /// calls is made. Condition: [`Self::admit`] would charge `arrival` to the shared pool, and
    /// storing and sending the packet at this instant would leave no trace. That is, the hooks
    /// would restore the present state, without any demand. Called only with [`Hooks::BYPASS`], if
    /// the port is idle and the queue empty. `false` is always safe.
    fn can_bypass(&self, _arrival: &Arrival, _buffer: &Buffer) -> bool {
        false
    }

    /// The classifier that belongs to the scheme: an elephant trap, a redirection of short flows.
    /// `None`: priority p joins queue p. Taken once, when the switch is built; a
    /// [`crate::SwitchConfig::classifier`] replaces it.
    fn take_classifier(&mut self) -> Option<Classifier> {
        None
    }

    /// The limit in force for a packet with `tags` in `queue` (bytes). A packet is admitted iff the
    /// queue's length including the packet is within the limit, and the packet fits into the
    /// memory. `None` if the policy has no such limit. For traces, reports and `explain`; never
    /// called in the hot path.
    fn threshold(&self, _queue: QueueId, _tags: Tags, _buffer: &Buffer) -> Option<u64> {
        None
    }

    /// The comparison for which [`Self::admit`] has just refused `arrival` with `reason`, in the
    /// unchanged state. `None`: the refusal does not follow from a comparison (a probability, a
    /// prediction). Override this if the scheme compares anything other than the pool, or its queue
    /// with [`Self::threshold`]. Never called in the hot path.
    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        Bound::usual(arrival, reason, self.threshold(arrival.queue, arrival.header.tags, buffer), buffer)
    }

    /// An error inside the policy, returned once: it makes every later verdict meaningless. A
    /// policy reports an error by refusing with [`DropReason::PolicyFault`]; drivers then call
    /// this. Drivers also call this method when the run ends, because hooks can fail too.
    fn take_failure(&mut self) -> Option<PolicyFailure> {
        None
    }

    /// Reports internal state worth plotting for `queue`: counters, states, shares. Never called in
    /// the hot path.
    fn probe(&self, _queue: QueueId, _buffer: &Buffer, _sink: &mut dyn FnMut(&'static str, f64)) {}
}

impl Policy for Box<dyn Policy> {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        (**self).admit(arrival, buffer)
    }
    fn hooks(&self) -> Hooks {
        (**self).hooks()
    }
    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        (**self).on_enqueue(arrival, buffer);
    }
    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        (**self).on_dequeue(departure, buffer);
    }
    fn on_drop(&mut self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) {
        (**self).on_drop(arrival, reason, buffer);
    }
    fn on_evict(&mut self, now: Time, queue: QueueId, size: u32, buffer: &Buffer) {
        (**self).on_evict(now, queue, size, buffer);
    }
    fn on_empty_visit(&mut self, now: Time, queue: QueueId) {
        (**self).on_empty_visit(now, queue);
    }
    fn next_timeout(&self) -> Option<Time> {
        (**self).next_timeout()
    }
    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        (**self).handle_timeout(now, buffer);
    }
    fn poll_expulsion(&mut self, now: Time, buffer: &Buffer) -> Option<(QueueId, End)> {
        (**self).poll_expulsion(now, buffer)
    }
    fn pause_demand(&mut self, now: Time, ingress: IngressId, buffer: &Buffer) -> PauseDemand {
        (**self).pause_demand(now, ingress, buffer)
    }
    fn supports_accounting(&self) -> bool {
        (**self).supports_accounting()
    }
    fn can_bypass(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        (**self).can_bypass(arrival, buffer)
    }
    fn take_classifier(&mut self) -> Option<Classifier> {
        (**self).take_classifier()
    }
    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        (**self).threshold(queue, tags, buffer)
    }
    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        (**self).bound(arrival, reason, buffer)
    }
    fn take_failure(&mut self) -> Option<PolicyFailure> {
        (**self).take_failure()
    }
    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        (**self).probe(queue, buffer, sink);
    }
}
