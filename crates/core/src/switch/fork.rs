//! Copies of a switch, and the replacement of the policy of a running switch.

use super::Switch;
use crate::buffer::{IngressId, QueueId};
use crate::classify::Classifier;
use crate::event::{Observer, SwitchEvent};
use crate::policy::{Arrival, BuildError, Dispatched, Hooks, Policy, SwitchShape, find_policy, policies};
use crate::{Hardware, ParamValue, Params};
use bufferlab_units::Time;

impl Switch<Dispatched> {
    /// A copy of the switch with its packets and the state of its policy.
    /// `None` if the policy cannot be copied ([`Policy::boxed_clone`]).
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        Some(Self {
            policy: self.policy.try_clone()?,
            classifier: self.classifier.clone(),
            ports: self.ports.clone(),
            far_fast_path: self.far_fast_path.clone(),
            buffer: self.buffer.clone(),
            scheduler: self.scheduler.clone(),
            turns: self.turns.clone(),
            counters: self.counters.clone(),
            marker: self.marker.clone(),
            paused_ingress: self.paused_ingress.clone(),
            pausing_empty: self.pausing_empty.clone(),
            pause_peaks: self.pause_peaks.clone(),
            first_failure: self.first_failure.clone(),
            ..*self
        })
    }

    /// The policy of the switch, for changes of its settings. A change must not alter
    /// [`Policy::hooks`], the classifier or the timers of the policy.
    pub fn policy_mut(&mut self) -> &mut Dispatched {
        &mut self.policy
    }
}

impl<P: Policy> Switch<P> {
    /// Replaces the policy of the switch by `policy` from now on. Stored packets stay in their
    /// queues and keep their accounts. The switch reports the stored packets to the new policy as
    /// new packets, in the order in which the switch stored them. Then the switch asks the policy
    /// for pauses. If the new policy demands no pauses, all senders may send.
    ///
    /// The driver must read [`Self::poll_timeout`] again.
    pub fn replace_policy<O: Observer>(&mut self, now: Time, mut policy: P, observer: &mut O) {
        let own = policy.take_classifier();
        if self.has_policy_classifier {
            let queues = usize::from(self.buffer.queues_per_port());
            self.classifier = own.unwrap_or_else(|| Classifier::identity(queues));
            self.refuses_early |= self.classifier.is_custom();
            self.ideal = self.is_ideal();
        }
        self.policy = policy;
        self.set_hooks(self.policy.hooks());
        self.can_bypass = self.may_bypass();
        self.pausing_empty.clear();
        self.size_pause_peaks();
        if self.hooks.contains(Hooks::ENQUEUE) {
            self.announce_stored_packets(now);
        }
        for ingress in (0..self.paused_ingress.len() as u16).map(IngressId) {
            if self.hooks.contains(Hooks::PAUSE) {
                self.demand_pause(now, ingress, observer);
            } else if std::mem::take(&mut self.paused_ingress[usize::from(ingress.0)]) {
                observer.on(&SwitchEvent::PauseChanged { now, ingress, paused: false }, &self.buffer);
            }
        }
    }

    /// Reports every stored packet to the policy, in the order of the packets' arrivals.
    fn announce_stored_packets(&mut self, now: Time) {
        let mut stored: Vec<(Time, QueueId, Arrival)> = Vec::new();
        for queue in self.buffer.queue_ids() {
            let (port, priority) = self.buffer.port_and_priority(queue);
            stored.extend(self.buffer.packets(queue).map(|packet| {
                let (header, ingress) = (packet.header, packet.ingress);
                let arrival = Arrival { now, header, evictions: 0, queue, port, ingress, priority };
                (packet.enqueued_at, queue, arrival)
            }));
        }
        // The sort is stable, so packets of one queue keep their order.
        stored.sort_by_key(|&(at, queue, _)| (at, queue));
        for (_, _, arrival) in &stored {
            self.policy.on_enqueue(arrival, &self.buffer);
        }
    }
}

/// Builds the registered policy `name` for a memory of this shape and hardware.
///
/// # Errors
/// If the policy is unknown, or a parameter is unknown, out of its domain or unfit for the shape.
pub fn build_policy(
    shape: &SwitchShape,
    hardware: &Hardware,
    name: &str,
    params: &[(String, ParamValue)],
) -> Result<Box<dyn Policy>, BuildError> {
    let info = find_policy(name).ok_or_else(|| {
        let known: Vec<_> = policies().iter().map(|info| info.name).collect();
        let message = format!("no policy is called \"{name}\"; known: {}", known.join(", "));
        BuildError { param: "policy", message }
    })?;
    let params = Params::resolve(info.params, shape.profile, params)
        .map_err(|error| BuildError { param: "policy", message: error.to_string() })?;
    info.construct(&hardware.apply(info.params, params), shape)
}
