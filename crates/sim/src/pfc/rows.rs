//! Rows of the tables of flow control.

use super::{Pfc, Target};
use crate::SimError;
use crate::ids::{Id, LinkId, Table};
use crate::link::{End, Link};
use crate::simulation::Simulation;
use bufferlab_metrics::{PauseRow, PauseSpanRow, RunSink};
use bufferlab_scenario::Topology;
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// What rows call a link.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) sender: String,
    receiver: String,
    /// Number among links of the same two ends.
    parallel: u16,
}

/// The names of all links.
pub(super) fn names(topology: &Topology, links: &Table<LinkId, Link>) -> Table<LinkId, Names> {
    let name = |end: End| match end {
        End::Switch(switch, _) => topology.switches[switch.index()].clone(),
        End::Host(host) => topology.hosts[host.index()].clone(),
    };
    let mut counts: BTreeMap<(String, String), u16> = BTreeMap::new();
    let of = |link: &Link| {
        let (sender, receiver) = (name(link.from), name(link.to));
        let count = counts.entry((sender.clone(), receiver.clone())).or_default();
        *count += 1;
        Names { sender, receiver, parallel: *count - 1 }
    };
    links.iter().map(of).collect()
}

impl Pfc {
    /// A pause of `target` began at `start`.
    pub(super) fn span(&self, target: Target, start: Time, end: Option<Time>) -> PauseSpanRow {
        let Names { sender, receiver, parallel } = &self.names[target.link];
        PauseSpanRow {
            by: receiver.clone(),
            paused: sender.clone(),
            parallel: *parallel,
            priority: target.priority,
            start_ns: start.as_ns(),
            end_ns: end.map(Time::as_ns),
        }
    }
}

impl Simulation {
    /// Hands over pauses and storms that have ended.
    #[cold]
    pub(crate) fn flush_pauses(&mut self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        let Some(pfc) = &mut self.pfc else { return Ok(()) };
        for row in pfc.spans.drain(..) {
            sink.pause_span(&row)?;
        }
        for row in pfc.storm_rows.drain(..) {
            sink.watchdog(&row)?;
        }
        Ok(())
    }

    /// Writes what there was of pauses, at the end of the run.
    pub(crate) fn finish_pauses(&mut self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        self.flush_pauses(sink)?;
        for row in self.lasting_storms() {
            sink.watchdog(&row)?;
        }
        for row in self.cycle_rows() {
            sink.pause_cycle(&row)?;
        }
        let now = self.now;
        let Some(pfc) = &mut self.pfc else { return Ok(()) };
        for at in 0..pfc.states.len() {
            if let Some(start) = pfc.states[at].paused {
                let target = pfc.target_at(at);
                sink.pause_span(&pfc.span(target, start, None))?;
            }
            let state = &mut pfc.states[at];
            let until_now = |since: Option<Time>| since.map_or(Time::ZERO, |since| now - since);
            state.demanded_total += until_now(state.demanded);
            state.paused_total += until_now(state.paused);
        }
        for (switch, node) in self.switches.entries() {
            for port in 0..node.ports() {
                let own = node.first_link.at_port(port);
                for priority in 0..pfc.priorities() {
                    let of = |link: LinkId| &pfc.states[pfc.at(Target { link, priority })];
                    let (neighbours, own) = (of(pfc.reverse[own]), of(own));
                    let row = PauseRow {
                        switch: switch.0,
                        port,
                        priority,
                        sent_pauses: neighbours.sent_pauses,
                        sent_resumes: neighbours.sent_resumes,
                        demanded_ns: neighbours.demanded_total.as_ns(),
                        received_pauses: own.received_pauses,
                        received_resumes: own.received_resumes,
                        paused_ns: own.paused_total.as_ns(),
                        neighbour_paused_ns: neighbours.paused_total.as_ns(),
                    };
                    if row.sent_pauses + row.received_pauses > 0 {
                        sink.pause(&row)?;
                    }
                }
            }
        }
        Ok(())
    }
}
