//! The trait that every policy of buffer management implements.

use super::bound::Bound;
use super::hooks::Hooks;
use super::packet::{Arrival, Departure};
use super::pause_level::PauseLevel;
use super::verdict::{DropReason, PauseDemand, Verdict};
use crate::buffer::{Buffer, End, IngressId, QueueId};
use crate::classify::Classifier;
use crate::failure::PolicyFailure;
use crate::tags::Tags;
use bufferlab_units::Time;
use std::any::Any;
use std::fmt;

/// Decides which packets a shared buffer stores.
///
/// [`crate::Switch`] calls the policy and owns packets and ledger.
/// The policy only decides. `buffer` always shows the state *before* the reported event,
/// unless the documentation of a hook states otherwise.
///
/// Calls of policies are dynamic: one registry serves the command line and Python, and policies
/// may be in other crates. The most common schemes are the exception ([`crate::Dispatched`]).
/// `benches/policies.rs` in `bufferlab-conformance` compares the time of dynamic and of static
/// calls ([`crate::Switch`] is generic).
pub trait Policy: fmt::Debug + Send + Any {
    /// Decides about one arrival. The switch calls the method again after each eviction that the
    /// policy demanded ([`Arrival::evictions`]). A policy must not store state between the calls
    /// for one arrival, because [`crate::Panel`] never carries out evictions.
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict;

    /// Optional hooks that this policy needs.
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    /// The switch stored `arrival`, and `buffer` already contains the packet.
    fn on_enqueue(&mut self, _arrival: &Arrival, _buffer: &Buffer) {}

    /// A packet left its queue for the wire, and `buffer` no longer contains the packet.
    fn on_dequeue(&mut self, _departure: &Departure, _buffer: &Buffer) {}

    /// The switch refused the packet `arrival`.
    fn on_drop(&mut self, _arrival: &Arrival, _reason: DropReason, _buffer: &Buffer) {}

    /// The switch evicted or expelled a stored packet of `size` bytes,
    /// and `buffer` no longer contains the packet.
    fn on_evict(&mut self, _now: Time, _queue: QueueId, _size: u32, _buffer: &Buffer) {}

    /// A round-robin scheduler skipped the queue `queue` because the queue was empty.
    fn on_empty_visit(&mut self, _now: Time, _queue: QueueId) {}

    /// Time at which the switch must next call [`Self::handle_timeout`]. The switch calls
    /// `next_timeout` when the switch is built and after every `handle_timeout`. While
    /// `next_timeout` returns `None`, the switch also calls it after every arrival. So an arrival
    /// may start the first timer but must not make a deadline earlier.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// Handles the deadline of [`Self::next_timeout`]. Early calls do nothing. A late call advances
    /// the deadline, and the switch repeats the call until the deadline is later than `now`.
    fn handle_timeout(&mut self, _now: Time, _buffer: &Buffer) {}

    /// A queue that the switch must shorten now, without an arrival. The switch calls this method
    /// after storing or sending a packet and after [`Self::handle_timeout`], until the policy
    /// returns `None`.
    fn poll_expulsion(&mut self, _now: Time, _buffer: &Buffer) -> Option<(QueueId, End)> {
        None
    }

    /// Demand on the sender behind `ingress`. The switch calls this method after a packet of that
    /// ingress queue was stored or left. With [`Hooks::PAUSE_REFUSED`] the switch also calls the
    /// method after a refusal. For an empty queue that has paused its sender, the switch calls the
    /// method after every event, since no packet of that queue will leave.
    fn pause_demand(&mut self, _now: Time, _ingress: IngressId, _buffer: &Buffer) -> PauseDemand {
        PauseDemand::Keep
    }

    /// Whether the policy divides the pools of ingress queues according to
    /// [`SwitchShape::accounting`](super::SwitchShape::accounting). A policy that returns `false`
    /// cannot be built with slices by ingress port or with thresholds of few bits. Such a policy
    /// ignores the rest of the accounting.
    fn supports_accounting(&self) -> bool {
        false
    }

    /// Whether [`Self::admit`] would charge an arrival to the shared pool, without a change of the
    /// policy's state, if the pool has space ([`Buffer::fits`], which the switch checks). Then
    /// the switch does not call `admit`. A policy implements this method if a quick check is
    /// sufficient for most arrivals. A policy may always return `false`.
    fn surely_admits(&self, _arrival: &Arrival, _buffer: &Buffer) -> bool {
        false
    }

    /// Whether an arrival may bypass its queue ([`crate::Switch::bypass`]), so that the switch
    /// calls no hook for the packet. The policy returns `true` only if [`Self::admit`] would charge
    /// `arrival` to the shared pool when the pool has space ([`Buffer::fits`]), which the switch
    /// checks. In addition, storing and sending the packet now must not change the policy's state
    /// or demand anything. The switch calls this method only with [`Hooks::BYPASS`], if the port is
    /// idle and the queue empty. A policy may always return `false`.
    fn can_bypass(&self, _arrival: &Arrival, _buffer: &Buffer) -> bool {
        false
    }

    /// The classifier that belongs to the scheme, such as an elephant trap or a redirection of
    /// short flows. With `None`, priority p joins queue p. The switch takes the classifier once,
    /// when the switch is built. A [`crate::SwitchConfig::classifier`] replaces the scheme's
    /// classifier.
    fn take_classifier(&mut self) -> Option<Classifier> {
        None
    }

    /// The policy's current limit for a packet with `tags` in `queue` (bytes). The policy admits a
    /// packet iff the queue's length with the packet is within the limit, and the memory has space
    /// for the packet. `None` if the policy limits no queue length. Traces, reports and `explain`
    /// call this method. The hot path never calls it.
    fn threshold(&self, _queue: QueueId, _tags: Tags, _buffer: &Buffer) -> Option<u64> {
        None
    }

    /// The comparison by which the lossless queue `ingress` would pause its sender. `None` for a
    /// lossy queue, and for a policy that pauses senders without a comparison with a threshold. The
    /// hot path never calls this method.
    fn pause_level(&self, _ingress: IngressId, _buffer: &Buffer) -> Option<PauseLevel> {
        None
    }

    /// The comparison for which [`Self::admit`] has just refused `arrival` with `reason`; the
    /// policy's state is unchanged since. `None` if the policy refused without a comparison, for
    /// example by a probability or a prediction. Override this method if the scheme compares
    /// anything other than the pool, or its queue with [`Self::threshold`]. The hot path never
    /// calls this method.
    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        Bound::usual(arrival, reason, self.threshold(arrival.queue, arrival.header.tags, buffer), buffer)
    }

    /// An error inside the policy, returned once. The error makes every later verdict meaningless.
    /// A policy reports an error by refusing with [`DropReason::PolicyFault`],
    /// and then drivers call this method. Drivers also call this method when the run ends,
    /// because hooks can fail, too.
    fn take_failure(&mut self) -> Option<PolicyFailure> {
        None
    }

    /// Reports internal state of the policy for `queue` that is worth a plot:
    /// counters, states, shares. The hot path never calls this method.
    fn probe(&self, _queue: QueueId, _buffer: &Buffer, _sink: &mut dyn FnMut(&'static str, f64)) {}

    /// A copy of the policy with its state, for a simulation that is forked. The copy and the
    /// original share nothing. With `None`, the policy cannot be copied, and forks are refused. A
    /// policy that is [`Clone`] returns `Some(Box::new(self.clone()))`.
    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        None
    }
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
    fn surely_admits(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        (**self).surely_admits(arrival, buffer)
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
    fn pause_level(&self, ingress: IngressId, buffer: &Buffer) -> Option<PauseLevel> {
        (**self).pause_level(ingress, buffer)
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
    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        (**self).boxed_clone()
    }
}
