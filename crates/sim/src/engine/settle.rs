//! Effects of an event on other parts of the simulator: lost packets, ended flows, paused
//! neighbours, timers, explanations.

use super::Simulation;
use crate::SimError;
use crate::host::Effect;
use crate::ids::{PacketId, SwitchId};
use crate::observe::explain::{EventContext, ExplainedEvent};
use crate::observe::{Records, View};
use crate::switch::{Evicted, Logged, QueuedPacket, Refused};
use crate::world::packet::Kind;
use crate::world::timers::Timer;
use bufferlab_core::{DropReason, IngressId};
use bufferlab_schedule::Condition;

impl Simulation {
    /// Applies the effects of an event at a host.
    #[inline]
    pub(super) fn settle_hosts(&mut self) {
        if !self.hosts.effects.is_empty() {
            self.settle_host_effects();
        }
    }

    #[cold]
    fn settle_host_effects(&mut self) {
        for effect in self.hosts.effects.drain(..) {
            match effect {
                Effect::Arrived { query, node } => {
                    self.demand.note_answer(&mut self.world, query);
                    self.demand.note_event(&mut self.world, node, Condition::Finished);
                }
                Effect::Sent(node) => self.demand.note_event(&mut self.world, node, Condition::Sent),
                Effect::Ended(account) => self.records.note_end(self.world.now(), account),
            }
        }
    }

    /// Applies the effects of an event at a switch, always in this order:
    /// losses, then pauses, then timers.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(&mut self, switch: SwitchId) -> Result<(), SimError> {
        let effects = std::mem::take(&mut self.switches[switch].record.effects);
        if !effects.log.is_empty() {
            self.note_packets(switch, &effects.log);
        }
        if let Some((packet, port)) = effects.unroutable {
            let link = self.switches[switch].first_link.at_port(port);
            self.world.links_mut()[link].account.lost_packets += 1;
            self.lose(packet);
        }
        if let Some(refused) = effects.refused {
            self.settle_refusal(switch, refused, &effects.pauses)?;
        }
        if let Some(seen) = effects.stored.filter(|_| effects.marked) {
            self.record_event(ExplainedEvent::Mark, switch, seen, "ecn", None);
        }
        for evicted in effects.evicted.iter().rev() {
            self.settle_eviction(switch, evicted);
        }
        for &(ingress, paused) in &effects.pauses {
            if let Some(seen) = effects.stored.filter(|_| paused) {
                self.record_event(ExplainedEvent::Pause, switch, seen, "pause", Some(ingress));
            }
            if let Some(pfc) = &mut self.pfc {
                pfc.demand(&mut self.world, &self.switches[switch], ingress, paused);
            }
        }
        if let Some(at) = effects.timer {
            self.world.timers().push(at, Timer::Policy(switch));
        }
        self.switches[switch].record.effects = effects.cleared();
        if self.verify { self.verify_switch(switch) } else { Ok(()) }
    }

    /// Records the packet events at a switch before any packet of these events is freed.
    #[cold]
    fn note_packets(&mut self, switch: SwitchId, log: &[Logged]) {
        let (world, hosts, switches) = (&self.world, &self.hosts, &self.switches);
        let view = View { world, hosts, switches, topology: &self.plan.topology };
        Records::note_packets(&mut self.records.packets, view, switch, log);
    }

    /// Records the logged events of a packet that leaves a queue and is lost.
    #[cold]
    pub(super) fn note_logged(&mut self, switch: SwitchId) {
        let log = std::mem::take(&mut self.switches[switch].record.effects.log);
        self.note_packets(switch, &log);
    }

    /// Applies the refusal of a packet and the `pauses` that the packet caused. The packet is lost.
    fn settle_refusal(
        &mut self,
        switch: SwitchId,
        refused: Refused,
        pauses: &[(IngressId, bool)],
    ) -> Result<(), SimError> {
        let Refused { seen, reason, .. } = refused;
        if reason == DropReason::PolicyFault {
            self.check_policy(switch)?;
        }
        self.count_drop(switch, seen, reason);
        if let Some(pfc) = &mut self.pfc {
            let node = &self.switches[switch];
            match reason {
                DropReason::Watchdog => pfc.note_discard(node, &refused),
                _ => pfc.note_loss(node, refused.ingress_port, node.port_and_priority(seen.queue).1),
            }
        }
        self.record_event(ExplainedEvent::Drop, switch, seen, reason.name(), None);
        for &(ingress, _) in pauses.iter().filter(|(_, paused)| *paused) {
            self.record_event(ExplainedEvent::Pause, switch, seen, "pause", Some(ingress));
        }
        self.lose(seen.packet);
        Ok(())
    }

    fn settle_eviction(&mut self, switch: SwitchId, evicted: &Evicted) {
        let Evicted { queue, packet, size, reason, ingress_port } = *evicted;
        let seen = QueuedPacket { packet, queue, size };
        self.count_drop(switch, seen, reason);
        if let Some(pfc) = self.pfc.as_mut().filter(|_| reason != DropReason::Watchdog) {
            let node = &self.switches[switch];
            pfc.note_loss(node, ingress_port, node.port_and_priority(queue).1);
        }
        self.record_event(ExplainedEvent::Eviction, switch, seen, reason.name(), None);
        self.lose(packet);
    }

    fn count_drop(&mut self, switch: SwitchId, seen: QueuedPacket, reason: DropReason) {
        let class = self.class_of(seen.packet);
        let is_ack = self.world.packets()[seen.packet].flags.kind() == Kind::Ack;
        let record = &mut self.switches[switch].record;
        record.count_drop(seen.queue, class, reason, seen.size);
        record.lost_acks += u64::from(is_ack);
    }

    /// Flow class of a live packet.
    pub(super) fn class_of(&self, packet: PacketId) -> u16 {
        self.hosts.flow(self.world.packets()[packet].flow()).spec.class
    }

    /// Explains a loss or a mark, if the run requests explanations.
    fn record_event(
        &mut self,
        event: ExplainedEvent,
        switch: SwitchId,
        seen: QueuedPacket,
        reason: &'static str,
        ingress: Option<IngressId>,
    ) {
        let Some(explainer) = &mut self.records.explainer else { return };
        let (world, hosts, switches) = (&self.world, &self.hosts, &self.switches);
        let view = View { world, hosts, switches, topology: &self.plan.topology };
        let context = EventContext { event, switch, seen, reason, ingress };
        explainer.record_event(view, &self.records.classes, &context);
    }

    /// Removes a lost packet from the network and counts the loss in its flow.
    pub(super) fn lose(&mut self, id: PacketId) {
        let source = self.hosts.source(self.world.packets()[id].flow().slot());
        self.at_host(source, |hosts, uplink| hosts.handle_loss(uplink, id));
    }
}
