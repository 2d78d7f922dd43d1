//! What happens at switches: arrival, departure, losses, link changes.

use crate::SimError;
use crate::explain::{ExplainedEvent, Sighting};
use crate::ids::{CableId, FlowHandle, Id, LinkId, PacketId, SwitchId};
use crate::link::End;
use crate::packet::{self, Flags};
use crate::routing::Routes;
use crate::simulation::Simulation;
use crate::switch_node::Evicted;
use bufferlab_core::{Admission, DropReason, Ecn, Packet, Transmission};
use bufferlab_transport::HopReport;

impl Simulation {
    /// A packet's last bit has reached port `ingress_port` of a switch.
    #[inline]
    pub(crate) fn receive_at_switch(
        &mut self,
        switch: SwitchId,
        ingress_port: u16,
        id: PacketId,
    ) -> Result<(), SimError> {
        let packet = &mut self.packets[id];
        let explicit = packet.flags.has(Flags::EXPLICIT_PATH);
        let Some(egress_port) = self.routes.port(switch, packet.dst, &mut packet.path, explicit) else {
            return self.lose_without_route(switch, ingress_port, id);
        };
        let node = &mut self.switches[switch];
        let wanted = Packet {
            id: id.0,
            size: u32::from(packet.wire) - node.uncharged,
            flow: packet.flow.0,
            ingress_port,
            egress_port,
            priority: packet.priority,
            tags: packet.tags(),
            ecn: match packet.flags {
                flags if !flags.has(Flags::ECN_CAPABLE) => Ecn::NotCapable,
                flags if flags.has(Flags::MARKED) => Ecn::Marked,
                _ => Ecn::Capable,
            },
        };
        let link = node.first_link.at_port(egress_port);
        match node.handle_arrival(self.now, &wanted) {
            Admission::Stored { marked } => {
                if marked {
                    packet.flags.set(Flags::MARKED);
                    if self.explainer.is_some() {
                        let queue = node.queue_of(&wanted);
                        let (event, size) = (ExplainedEvent::Mark, wanted.size);
                        let reason = "ecn";
                        self.witness(&Sighting {
                            event,
                            switch,
                            queue,
                            packet: id,
                            size,
                            reason,
                            ingress: None,
                        });
                    }
                }
                let node = &mut self.switches[switch];
                if !node.record.evicted.is_empty() {
                    self.collect_evicted(switch);
                }
                if !self.switches[switch].record.pauses.is_empty() {
                    if self.explainer.is_some() {
                        self.witness_pauses(switch, id, &wanted);
                    }
                    self.send_pauses(switch);
                }
                self.set_policy_timer(switch);
                if self.pfc.as_ref().is_some_and(|pfc| pfc.is_held(link, wanted.priority)) {
                    self.look_for_cycle_through(switch, (ingress_port, egress_port), wanted.priority);
                }
                if self.verify {
                    self.verify_switch(switch)?;
                }
                if self.claim(link) {
                    self.send_from_switch(link, switch, egress_port)?;
                }
            }
            Admission::Dropped(reason) => {
                if reason == DropReason::PolicyFault {
                    self.check_policy(switch)?;
                }
                let class = self.class_of(FlowHandle(wanted.flow));
                let node = &mut self.switches[switch];
                let queue = node.queue_of(&wanted);
                node.record.count_drop(queue, class, reason, wanted.size);
                if reason == DropReason::Watchdog {
                    self.note_discard(switch, queue, ingress_port, wanted.size);
                }
                if self.explainer.is_some() {
                    let (event, size, reason) = (ExplainedEvent::Drop, wanted.size, reason.name());
                    self.witness(&Sighting { event, switch, queue, packet: id, size, reason, ingress: None });
                }
                self.lose(id);
                self.collect_evicted(switch);
                self.set_policy_timer(switch);
                if !self.switches[switch].record.pauses.is_empty() {
                    self.send_pauses(switch);
                }
                if self.verify {
                    self.verify_switch(switch)?;
                }
            }
        }
        Ok(())
    }

    /// Link `link`, port `port` of `switch`, is idle: sends what the scheduler chooses.
    #[inline]
    pub(crate) fn send_from_switch(
        &mut self,
        link: LinkId,
        switch: SwitchId,
        port: u16,
    ) -> Result<(), SimError> {
        let node = &mut self.switches[switch];
        if let Some(transmission) = node.poll_transmit(self.now, port) {
            let more = node.wants_to_send(port);
            let packet = &mut self.packets[PacketId(transmission.packet)];
            if transmission.marked && packet.flags.has(Flags::ECN_CAPABLE) {
                packet.flags.set(Flags::MARKED);
            }
            if self.measure_delays {
                self.record_delay(switch, &transmission);
            }
            let node = &self.switches[switch];
            if !node.record.evicted.is_empty() {
                self.collect_evicted(switch);
            }
            if self.telemetry.is_wanted() {
                self.report_hop(link, switch, &transmission);
            }
            self.transmit(link, PacketId(transmission.packet), more);
            // Behind the packet, if it goes the same way.
            if !self.switches[switch].record.pauses.is_empty() {
                self.send_pauses(switch);
            }
            if self.verify {
                self.verify_switch(switch)?;
            }
        }
        Ok(())
    }

    /// Tells a packet that leaves now, and asks for it, of its queue and its port.
    #[cold]
    fn report_hop(&mut self, link: LinkId, switch: SwitchId, transmission: &Transmission) {
        let packet = &self.packets[PacketId(transmission.packet)];
        if !packet.has_note(packet::Packet::WANTS_TELEMETRY) {
            return;
        }
        let (slice, queue) = self.switches[switch].at(transmission.queue);
        let left_behind = slice.core.buffer().queue_bytes(queue);
        let port = &self.links[link];
        let report = HopReport {
            queue_bytes: u32::try_from(left_behind).unwrap_or(u32::MAX),
            port: link.0,
            sent_bytes: port.tx_bytes,
            at: self.now,
            rate: port.rate,
        };
        self.telemetry.add(PacketId(transmission.packet), report);
    }

    /// Counts how long a packet that leaves now was stored.
    fn record_delay(&mut self, switch: SwitchId, transmission: &Transmission) {
        let class = usize::from(self.class_of(self.packets[PacketId(transmission.packet)].flow));
        let record = &mut self.switches[switch].record;
        let at = usize::from(transmission.queue.0) * self.classes.len() + class;
        let delay_ns = record.last_sojourn.as_ns();
        record.delays[at].add(delay_ns);
    }

    fn class_of(&self, flow: FlowHandle) -> u16 {
        self.flows.info(flow.slot()).spec.class
    }

    /// Takes over the packets that the policy evicted from a switch.
    pub(crate) fn collect_evicted(&mut self, switch: SwitchId) {
        while let Some(evicted) = self.switches[switch].record.evicted.pop() {
            let class = self.class_of(self.packets[evicted.packet].flow);
            let record = &mut self.switches[switch].record;
            record.count_drop(evicted.queue, class, evicted.reason, evicted.size);
            if self.explainer.is_some() {
                let Evicted { queue, packet, size, reason } = evicted;
                let (event, reason) = (ExplainedEvent::Eviction, reason.name());
                self.witness(&Sighting { event, switch, queue, packet, size, reason, ingress: None });
            }
            self.lose(evicted.packet);
        }
    }

    #[cold]
    fn lose_without_route(&mut self, switch: SwitchId, port: u16, id: PacketId) -> Result<(), SimError> {
        let link = self.switches[switch].first_link.at_port(port);
        self.links[link].lost_packets += 1;
        self.lose(id);
        Ok(())
    }

    /// The packet that a switch has stored made it pause senders.
    #[cold]
    fn witness_pauses(&mut self, switch: SwitchId, packet: PacketId, wanted: &Packet) {
        let node = &self.switches[switch];
        let queue = node.queue_of(wanted);
        let paused: Vec<_> =
            node.record.pauses.iter().filter(|(_, stop)| *stop).map(|(ingress, _)| *ingress).collect();
        for ingress in paused {
            let (event, size, ingress) = (ExplainedEvent::Pause, wanted.size, Some(ingress));
            self.witness(&Sighting { event, switch, queue, packet, size, reason: "pause", ingress });
        }
    }

    /// Ends a packet's life in the network.
    pub(crate) fn lose(&mut self, id: PacketId) {
        let slot = self.packets[id].flow.slot();
        self.packets.remove(id);
        self.flows.info_mut(slot).dropped_packets += 1;
        self.leave_network(slot);
    }

    /// A cable goes down or comes up: routes are computed anew at once; what waits for a dead link, or is on it, is lost.
    pub(crate) fn handle_link_change(&mut self, cable: CableId) -> Result<(), SimError> {
        let now = self.now;
        let is_down = |spec: &bufferlab_scenario::LinkSpec| {
            spec.down.iter().any(|&(from, until)| from <= now && now < until)
        };
        let down = is_down(&self.topology.links[cable.index()]);
        self.routes = Routes::new(&self.topology, self.seed, |index| !is_down(&self.topology.links[index]));
        self.routes.check(&self.topology)?;
        let (ab, ba) = self.cables[cable];
        for id in [ab, ba] {
            self.links[id].down = down;
        }
        for id in [ab, ba] {
            if down {
                // What was paused is lost, too.
                self.reset_pauses(id)?;
                self.empty_link(id);
            } else {
                self.repeat_pauses(id);
            }
        }
        for id in [ab, ba].into_iter().filter(|_| !down) {
            let from = self.links[id].from;
            match from {
                End::Switch(switch, port) if self.claim(id) => self.send_from_switch(id, switch, port)?,
                End::Host(host) => self.kick_host(host),
                End::Switch(..) => {}
            }
        }
        Ok(())
    }

    /// Drops what is on a link and what a switch has queued for it.
    fn empty_link(&mut self, id: LinkId) {
        // The head's delivery is in the calendar and must find its packet: it is lost when it would arrive.
        let link = &mut self.links[id];
        link.head_is_lost = !link.pipe.is_empty();
        while self.links[id].pipe.len() > 1 {
            let link = &mut self.links[id];
            let (_, packet) = link.pipe.pop_back().expect("more than one");
            link.lost_packets += 1;
            self.lose(packet);
        }
        if let End::Switch(switch, port) = self.links[id].from {
            loop {
                let node = &mut self.switches[switch];
                let Some(sent) = node.poll_transmit(self.now, port) else { break };
                self.links[id].lost_packets += 1;
                self.lose(PacketId(sent.packet));
            }
            if !self.switches[switch].record.pauses.is_empty() {
                self.send_pauses(switch);
            }
        }
    }

    /// A policy that has failed ends the run.
    #[cold]
    pub(crate) fn check_policy(&mut self, switch: SwitchId) -> Result<(), SimError> {
        let name = &self.topology.switches[switch.index()];
        match self.switches[switch].take_failure(name) {
            Some(failed) => Err(SimError::PolicyFailed(Box::new(failed))),
            None => Ok(()),
        }
    }

    #[cold]
    pub(crate) fn verify_switch(&self, switch: SwitchId) -> Result<(), SimError> {
        let verified = self.switches[switch].slices().try_for_each(|slice| slice.core.verify());
        verified.map_err(|source| SimError::Broken {
            time: self.now,
            switch: self.topology.switches[switch.index()].clone(),
            source,
        })
    }
}
