//! Events at switches and on their links: arrivals, departures, timers of policies,
//! links that go down or come up.

use super::Simulation;
use crate::host::Hosts;
use crate::ids::{CableId, FlowHandle, Id, LinkId, PacketId, SwitchId};
use crate::pfc::PauseView;
use crate::world::link::End;
use crate::world::routing::Routes;
use crate::world::timers::Timer;
use crate::{FailedClassifier, SimError};

impl Simulation {
    /// Handles a packet whose last bit has reached `port` of a switch.
    #[inline(always)] // Inlined into the hot loop.
    pub(super) fn receive_at_switch(
        &mut self,
        switch: SwitchId,
        port: u16,
        packet: PacketId,
    ) -> Result<(), SimError> {
        let node = &mut self.switches[switch];
        let mut ports = self.world.ports(node.first_link);
        let Some((egress, header)) = ports.route(switch, packet) else {
            node.record.effects.lose_way(packet, port);
            return self.settle(switch);
        };
        // If a packet bypasses its queue, the packet's arrival has no effects on other components.
        if self.is_plain && ports.is_idle(egress) && node.bypass(&mut ports, (port, egress), packet, header) {
            return Ok(());
        }
        self.receive_to_wait(switch, port, egress, packet)
    }

    /// Handles an arriving packet that may have to wait, or whose events are recorded.
    #[inline(never)] // Separate from the common path, which so needs fewer registers.
    fn receive_to_wait(
        &mut self,
        switch: SwitchId,
        port: u16,
        egress: u16,
        packet: PacketId,
    ) -> Result<(), SimError> {
        let node = &mut self.switches[switch];
        let mut ports = self.world.ports(node.first_link);
        let is_stored = node.receive(&mut ports, port, egress, packet);
        if !node.record.effects.is_empty() || !self.is_plain {
            return self.settle_and_forward(switch, (port, egress), packet, is_stored);
        }
        if !is_stored {
            return Ok(());
        }
        if let Some(pfc) = &self.pfc
            && pfc.is_held(node.first_link.at_port(egress), ports.packet(packet).header.priority)
        {
            return self.settle_and_forward(switch, (port, egress), packet, true);
        }
        if ports.claim(egress) { self.send_from_switch(switch, egress) } else { Ok(()) }
    }

    /// Settles the effects of a received packet, and starts the egress port if the port is idle.
    #[inline(never)]
    fn settle_and_forward(
        &mut self,
        switch: SwitchId,
        ports: (u16, u16),
        packet: PacketId,
        is_stored: bool,
    ) -> Result<(), SimError> {
        let node = &self.switches[switch];
        let first = node.first_link;
        if !node.record.effects.is_empty() || self.verify {
            self.settle(switch)?;
        }
        if !is_stored {
            return Ok(());
        }
        if self.pfc.is_some() {
            self.look_for_cycle_through(switch, ports, packet);
        }
        let (_, egress) = ports;
        if self.world.claim(first.at_port(egress)) { self.send_from_switch(switch, egress) } else { Ok(()) }
    }

    /// Sends the packet that the scheduler chooses on `port`, whose link is idle.
    #[inline(never)] // Keeps one copy of the core's departure code.
    pub(super) fn send_from_switch(&mut self, switch: SwitchId, port: u16) -> Result<(), SimError> {
        let node = &mut self.switches[switch];
        let Some(sent) = node.send(&mut self.world.ports(node.first_link), port) else {
            self.wait_for_rate(switch, port);
            return Ok(());
        };
        if self.records.measures_delays() {
            let class = self.hosts.flow(self.world.packets()[sent.packet].flow()).spec.class;
            self.records.note_delay(node, sent, class);
        }
        // The packet is already on the link, so a pause frame on this link leaves after the packet.
        if !node.record.effects.is_empty() || self.verify { self.settle(switch) } else { Ok(()) }
    }

    /// Sets a timer for `port` of a switch if only a rate limit delays the port's packets.
    #[cold]
    fn wait_for_rate(&mut self, switch: SwitchId, port: u16) {
        let node = &mut self.switches[switch];
        if let Some(at) = node.note_rate_timer(port, self.world.now()) {
            let link = node.first_link.at_port(port);
            self.world.timers().push(at, Timer::Rate(link));
        }
    }

    /// Starts a transmission on `port` of a switch if its link is idle and a packet waits.
    pub(super) fn serve(&mut self, switch: SwitchId, port: u16) -> Result<(), SimError> {
        if self.world.claim(self.switches[switch].first_link.at_port(port)) {
            self.send_from_switch(switch, port)
        } else {
            Ok(())
        }
    }

    #[cold]
    fn look_for_cycle_through(&mut self, switch: SwitchId, ports: (u16, u16), packet: PacketId) {
        let node = &self.switches[switch];
        let (link, priority) =
            (node.first_link.at_port(ports.1), self.world.packets()[packet].header.priority);
        let Some(pfc) = self.pfc.as_mut().filter(|pfc| pfc.is_held(link, priority)) else { return };
        let view = PauseView { now: self.world.now(), links: self.world.links(), switches: &self.switches };
        pfc.look_for_cycle_through(view, node, ports, priority);
    }

    pub(super) fn handle_policy_timer(&mut self, switch: SwitchId) -> Result<(), SimError> {
        self.switches[switch].handle_policy_timer(self.world.now());
        self.check_policy(switch)?;
        self.settle(switch)
    }

    /// Handles the timer of a cable that fails or recovers. Cables that change at the same instant
    /// need the same new routes, so the engine computes routes once per instant: a large network
    /// may lose thousands of cables at once.
    pub(super) fn handle_link_change(&mut self, cable: CableId) -> Result<(), SimError> {
        if self.world.routed_at() != Some(self.world.now()) {
            self.compute_routes()?;
        }
        self.switch_cable(cable)
    }

    /// Computes routes over the cables that are up now.
    pub(super) fn compute_routes(&mut self) -> Result<(), SimError> {
        let (now, topology) = (self.world.now(), &self.plan.topology);
        let routes = Routes::new(topology, self.plan.seed, |index| !topology.links[index].is_down(now));
        routes.check(topology)?;
        self.world.reroute(routes);
        Ok(())
    }

    /// Sets a cable down or up, as its intervals of failure require now. Packets on a failed link
    /// or in a queue for the link are lost.
    pub(super) fn switch_cable(&mut self, cable: CableId) -> Result<(), SimError> {
        let down = self.plan.topology.links[cable.index()].is_down(self.world.now());
        let (ab, ba) = self.plan.cables[cable];
        for id in [ab, ba] {
            self.world.links_mut()[id].down = down;
        }
        for id in [ab, ba] {
            if down {
                // A link that goes down also loses packets of paused priorities.
                self.reset_pauses(id);
                self.empty_link(id)?;
            } else if let Some(pfc) = &mut self.pfc {
                pfc.repeat_pauses(&mut self.world, id);
            }
        }
        for id in [ab, ba].into_iter().filter(|_| !down) {
            match self.world.links()[id].from {
                End::Switch(switch, port) => self.serve(switch, port)?,
                End::Host(host) => self.at_host(host, Hosts::kick),
            }
        }
        Ok(())
    }

    /// Drops the packets on a link and the packets that a switch has queued for the link.
    fn empty_link(&mut self, id: LinkId) -> Result<(), SimError> {
        // The calendar contains the delivery of the link's first packet and must find that packet.
        // So the first packet of the failed link is lost at its arrival time.
        let link = &mut self.world.links_mut()[id];
        link.head_is_lost = !link.pipe.is_empty();
        for packet in self.world.take_back(id).into_iter().rev() {
            self.lose_on(id, packet);
        }
        let End::Switch(switch, port) = self.world.links()[id].from else { return Ok(()) };
        while let Some(packet) = self.switches[switch].discard_next(self.world.now(), port) {
            self.note_logged(switch);
            self.lose_on(id, packet);
        }
        self.settle(switch)
    }

    fn lose_on(&mut self, link: LinkId, packet: PacketId) {
        self.world.links_mut()[link].account.lost_packets += 1;
        self.lose(packet);
    }

    /// Ends the run if a policy or a classifier has failed.
    #[cold]
    pub(super) fn check_policy(&mut self, switch: SwitchId) -> Result<(), SimError> {
        self.check_classifier(switch)?;
        let name = &self.plan.topology.switches[switch.index()];
        match self.switches[switch].take_failure(name) {
            Some(failed) => Err(SimError::PolicyFailed(Box::new(failed))),
            None => Ok(()),
        }
    }

    /// Ends the run if the classifier of a switch has failed.
    fn check_classifier(&self, switch: SwitchId) -> Result<(), SimError> {
        let topology = &self.plan.topology;
        let Some((classifier, failure)) = self.switches[switch].classifier_failure() else { return Ok(()) };
        let spec = failure.flow.and_then(|flow| self.hosts.flow_of(FlowHandle(flow)));
        let host = |host: u32| topology.hosts[host as usize].clone();
        Err(SimError::ClassifierFailed(Box::new(FailedClassifier {
            classifier: classifier.to_owned(),
            switch: topology.switches[switch.index()].clone(),
            flow: spec.map(|(number, spec)| (number, host(spec.src), host(spec.dst))),
            time: failure.now,
            failure: failure.clone(),
        })))
    }

    /// Ends the run if a marking rule or a classifier has failed.
    #[cold]
    pub(crate) fn check_marking(&mut self) -> Result<(), SimError> {
        for switch in self.switches.ids() {
            self.check_classifier(switch)?;
            let name = &self.plan.topology.switches[switch.index()];
            if let Some(failed) = self.switches[switch].take_marking_failure(name) {
                return Err(SimError::MarkingFailed(Box::new(failed)));
            }
        }
        Ok(())
    }

    #[cold]
    pub(super) fn verify_switch(&self, switch: SwitchId) -> Result<(), SimError> {
        let verified = self.switches[switch].slices().try_for_each(|slice| slice.core.verify());
        verified.map_err(|source| SimError::Broken {
            time: self.world.now(),
            switch: self.plan.topology.switches[switch.index()].clone(),
            source,
        })
    }
}
