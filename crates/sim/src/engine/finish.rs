//! End of a run in two steps: the arrival phase ends, and the engine handles the last events.

use super::Simulation;
use crate::SimError;
use crate::build::check_size;
use crate::demand::jitter::WAITING_MAX;
use crate::error::{FailedControl, FullCard};
use crate::host::{FailedFlow, Hosts};
use crate::ids::Id;
use crate::limits::ALIVE_MAX;
use crate::pfc::PauseView;
use crate::switch::{QueuePlace, SwitchNode};
use bufferlab_core::PauseLevel;
use bufferlab_metrics::{NearestPause, RunSink, RunTotals};
use bufferlab_units::Time;

impl Simulation {
    /// Ends the arrival phase: records the bytes that every link has carried and the demand on the
    /// links. Ends flows without a size.
    pub(super) fn close_arrival_phase(&mut self) {
        self.arrivals_are_over = true;
        let now = self.world.now();
        let links = self.world.links_mut();
        for link in links.iter_mut() {
            link.account.phase_bytes = link.tx_bytes - link.pending(now).bytes;
        }
        for node in self.switches.iter() {
            for QueuePlace { slice, local, port, .. } in node.queues() {
                let counters = slice.core.counters(local);
                let charged = counters.enqueued_bytes + counters.dropped_bytes;
                let offered = links[node.first_link.at_port(port)].account.phase_offered.get_or_insert(0);
                *offered += charged + counters.arrived * u64::from(node.uncharged);
            }
        }
        for slot in self.hosts.unlimited_flows() {
            self.at_source(slot, Hosts::close_unlimited);
        }
    }

    /// Closes all measurements at the end of the run.
    pub(crate) fn finish(mut self, sink: &mut dyn RunSink) -> Result<RunTotals, SimError> {
        // A run with unfinished flows is measured up to its end, not only up to its last event.
        if !self.is_over() {
            self.world.advance_to(self.plan.end);
        }
        self.flush_rows(Time::MAX, sink)?;
        self.records.flush_packets(0, sink)?;
        self.check_all()?;
        self.write_results(sink)
    }

    /// Checks the run for failures and verifies every accounting identity.
    pub(crate) fn check_all(&mut self) -> Result<(), SimError> {
        self.check_controls()?;
        self.check_cards()?;
        self.check_demand()?;
        self.check_marking()?;
        for switch in self.switches.ids() {
            self.check_policy(switch)?;
            self.verify_switch(switch)?;
        }
        self.verify_packets()
    }

    /// Writes the tables that are due at the end of the run.
    pub(crate) fn write_results(mut self, sink: &mut dyn RunSink) -> Result<RunTotals, SimError> {
        let end = self.world.now();
        self.records.write_unfinished(self.view(), &self.demand.queries, sink)?;
        for row in self.demand.unfinished_schedule() {
            sink.schedule(&row)?;
        }
        self.switches.iter_mut().for_each(|node| node.close(end));
        for node in self.switches.iter() {
            self.records.write_switch(node, sink)?;
        }
        if let Some(pfc) = &mut self.pfc {
            pfc.finish(PauseView { now: end, links: self.world.links(), switches: &self.switches }, sink)?;
        }
        self.records.write_links(self.view(), sink)?;
        if let Some(explainer) = &self.records.explainer {
            for explanation in &explainer.found {
                sink.explanation(explanation)?;
            }
        }
        Ok(RunTotals {
            buffer_bytes: self.switches.iter().map(SwitchNode::capacity).collect(),
            switches: self.plan.topology.switches,
            hosts: self.plan.topology.hosts,
            end_ns: end.as_ns(),
            packet_hops: self.world.packet_hops(),
            events: self.events,
            flows: self.hosts.flows().started(),
            flows_finished: self.records.flows_finished(),
            peak_packets: self.world.peak_packets() as u64,
            peak_flows: self.hosts.flows().peak() as u64,
            lost_acks: self.switches.iter().map(|node| node.record.lost_acks).sum(),
            nearest_pause: nearest_pause(self.switches.iter()),
            classes: self.records.classes,
        })
    }

    /// Ends the run if a congestion control has failed.
    pub(crate) fn check_controls(&mut self) -> Result<(), SimError> {
        let Some(FailedFlow { control, number, spec, failure }) = self.hosts.take_failure() else {
            return Ok(());
        };
        let host = |host: u32| self.plan.topology.hosts[host as usize].clone();
        Err(SimError::ControlFailed(Box::new(FailedControl {
            control: control.to_owned(),
            flow: number,
            src: host(spec.src),
            dst: host(spec.dst),
            time: failure.now.max(spec.start),
            failure,
        })))
    }

    /// Ends the run with an error if too many packets are alive, at one NIC or in total.
    pub(crate) fn check_cards(&self) -> Result<(), SimError> {
        check_alive(self.world.packets().len())?;
        let Some((host, time, packets)) = self.hosts.overfull() else { return Ok(()) };
        let host = self.plan.topology.hosts[host.index()].clone();
        Err(SimError::CardFull(Box::new(FullCard { host, packets, time })))
    }

    /// Ends the run with an error if too many flows wait for their random start.
    pub(crate) fn check_demand(&self) -> Result<(), SimError> {
        if !self.demand.is_overfull() {
            return Ok(());
        }
        let limit = WAITING_MAX as u64;
        let what = "flows that wait for their jittered start (shorten `start_jitter`, or offer fewer flows)";
        Err(SimError::TooLarge { what, found: limit + 1, limit })
    }

    /// Verifies that every live packet is in a queue, on a link or at a NIC.
    fn verify_packets(&self) -> Result<(), SimError> {
        let stored: usize = self
            .switches
            .iter()
            .flat_map(SwitchNode::queues)
            .map(|place| place.slice.core.buffer().queue_packets(place.local))
            .sum();
        let flying = self.world.packets_on_links();
        let (alive, found) = (self.world.packets().len(), stored + flying + self.hosts.waiting_packets());
        if alive == found { Ok(()) } else { Err(SimError::LostTrack { alive, found }) }
    }
}

/// Lossless ingress queue that was nearest to a pause; `None` if a switch has paused a sender.
fn nearest_pause<'a>(switches: impl Iterator<Item = &'a SwitchNode> + Clone) -> Option<NearestPause> {
    if switches.clone().any(SwitchNode::has_paused) {
        return None;
    }
    let mut nearest: Option<(PauseLevel, NearestPause)> = None;
    let levels = switches.flat_map(|node| node.pause_levels().map(move |level| (node, level)));
    for (node, (level, (port, priority))) in levels {
        if nearest.is_none_or(|(known, _)| level.exceeds(known)) {
            let PauseLevel { held, limit } = level;
            let switch = node.id.0;
            let found = NearestPause { switch, port, priority, held_bytes: held, threshold_bytes: limit };
            nearest = Some((level, found));
        }
    }
    nearest.map(|(_, found)| found)
}

/// Checks the number of live packets against the limit.
fn check_alive(packets: usize) -> Result<(), SimError> {
    check_size("packets alive at once (lower `switch.buffer`, or offer less)", packets, ALIVE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_packets_than_there_may_be_end_a_run() {
        assert!(check_alive(ALIVE_MAX).is_ok());
        let error = check_alive(ALIVE_MAX + 1).expect_err("one too many").to_string();
        assert!(error.contains("33554433, at most 33554432") && error.contains("`switch.buffer`"), "{error}");
    }
}
