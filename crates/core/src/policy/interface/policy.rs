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
/// Called by [`crate::Switch`], which owns packets and ledger; a policy owns judgement only.
/// `buffer` always shows the state *before* the event that is reported, except where a hook says
/// otherwise.
///
/// Calls are dynamic: one registry serves the command line and Python, and policies may come from
/// other crates; the most common schemes are the exception ([`crate::Dispatched`]).
/// `benches/policies.rs` in `bufferlab-conformance` measures the price against the statically
/// dispatched form ([`crate::Switch`] is generic).
pub trait Policy: fmt::Debug + Send + Any {
    /// Decides on one arrival. Called again after each eviction that it asked for
    /// ([`Arrival::evictions`]); nothing may be remembered for that from one call to the next,
    /// because [`crate::Panel`] asks policies whose evictions never happen.
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict;

    /// The optional hooks that this policy needs.
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

    /// When [`Self::handle_timeout`] wants to be called next. Polled when the switch is built,
    /// after every `handle_timeout`, and after every arrival for as long as the answer is `None`;
    /// so an arrival may start the first timer but must not make a deadline earlier.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// Time has reached [`Self::next_timeout`]. Early calls do nothing; a call that is late
    /// advances the deadline, and is repeated until it lies ahead of `now`.
    fn handle_timeout(&mut self, _now: Time, _buffer: &Buffer) {}

    /// A queue to shorten now although nothing has arrived. Polled after a packet was stored or
    /// left and after [`Self::handle_timeout`], until it answers `None`.
    fn poll_expulsion(&mut self, _now: Time, _buffer: &Buffer) -> Option<(QueueId, End)> {
        None
    }

    /// What the sender behind `ingress` must do. Polled after a packet of that ingress queue was
    /// stored or left, and with [`Hooks::PAUSE_REFUSED`] after one was refused. A queue that pauses
    /// and is empty is polled after every event of the switch, since no packet of its own will
    /// leave.
    fn pause_demand(&mut self, _now: Time, _ingress: IngressId, _buffer: &Buffer) -> PauseDemand {
        PauseDemand::Keep
    }

    /// Whether it divides the pools of ingress queues as
    /// [`SwitchShape::accounting`](super::SwitchShape::accounting) says. With another policy,
    /// slices by ingress port and thresholds of few bits are refused; the rest of the accounting
    /// concerns what such a policy does not have.
    fn heeds_accounting(&self) -> bool {
        false
    }

    /// Whether [`Self::admit`] would charge `arrival` to the shared pool, and storing it and
    /// sending it at this very instant would leave no trace: the hooks would lead back to the state
    /// of now, and nothing would be demanded. Then it passes without any of these calls
    /// ([`crate::Switch::pass`]). Asked only with [`Hooks::PASS`], where the packet finds its port
    /// idle and its queue empty. "No" is never wrong.
    fn lets_pass(&self, _arrival: &Arrival, _buffer: &Buffer) -> bool {
        false
    }

    /// The classifier that comes with the scheme: an elephant trap, a redirection of short flows.
    /// `None`: priority p joins queue p. Taken once, when the switch is built;
    /// [`crate::SwitchConfig::classifier`] takes its place.
    fn take_classifier(&mut self) -> Option<Classifier> {
        None
    }

    /// The limit in force for a packet with `tags` in `queue` (bytes): a packet is admitted iff the
    /// queue's length with it stays within the limit, and the packet fits into the memory. `None`
    /// where the policy has no such notion. For traces, reports and `explain`; never called in the
    /// hot path.
    fn threshold(&self, _queue: QueueId, _tags: Tags, _buffer: &Buffer) -> Option<u64> {
        None
    }

    /// The comparison for which [`Self::admit`] has just refused `arrival` with `reason`, in the
    /// same state. `None`: it does not follow from a comparison (a probability, a prediction). A
    /// scheme that compares something else than the pool, and its queue with [`Self::threshold`],
    /// says so here. Never in the hot path.
    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        Bound::usual(arrival, reason, self.threshold(arrival.queue, arrival.tags, buffer), buffer)
    }

    /// An error inside the policy, once: what makes every later verdict meaningless. A policy that
    /// has one says so by refusing with [`DropReason::PolicyFault`]; whoever drives the switch then
    /// asks, and asks again when the run ends, because hooks can fail, too.
    fn take_failure(&mut self) -> Option<PolicyFailure> {
        None
    }

    /// Internal state worth plotting for `queue`: counters, states, shares. Never in the hot path.
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
    fn heeds_accounting(&self) -> bool {
        (**self).heeds_accounting()
    }
    fn lets_pass(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        (**self).lets_pass(arrival, buffer)
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
