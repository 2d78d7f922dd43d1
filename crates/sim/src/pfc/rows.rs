//! Creates the rows of the result tables about priority flow control.

use super::cycles::PauseView;
use super::{Pfc, Target};
use crate::SimError;
use crate::ids::{Id, LinkId, SwitchId, Table};
use crate::world::link::{End, Link};
use bufferlab_metrics::{PauseRow, PauseSpanRow, RunSink};
use bufferlab_scenario::Topology;
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// Names of a link's ends in rows of tables.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) sender: String,
    receiver: String,
    /// Number of this link among the parallel links between the two nodes.
    parallel: u16,
}

/// Lists the names of the nodes at the ends of every link.
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
    /// Row of a pause of `target` that began at `start`.
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

impl Pfc {
    /// Whether the module has unwritten rows of pauses or storms that have ended.
    #[inline]
    pub(crate) fn has_rows(&self) -> bool {
        self.spans.len() + self.storm_rows.len() > 0
    }

    /// Writes the rows of pauses and storms that have ended.
    #[cold]
    pub(crate) fn flush(&mut self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        for row in self.spans.drain(..) {
            sink.pause_span(&row)?;
        }
        for row in self.storm_rows.drain(..) {
            sink.watchdog(&row)?;
        }
        Ok(())
    }

    /// Writes the summary rows of all pauses at the end of the run.
    pub(crate) fn finish(&mut self, view: PauseView<'_>, sink: &mut dyn RunSink) -> Result<(), SimError> {
        self.flush(sink)?;
        for row in self.lasting_storms(view.switches) {
            sink.watchdog(&row)?;
        }
        for row in self.cycle_rows(view) {
            sink.pause_cycle(&row)?;
        }
        let until_now = |since: Option<Time>| since.map_or(Time::ZERO, |since| view.now - since);
        for at in 0..self.states.len() {
            if let Some(start) = self.states[at].paused {
                sink.pause_span(&self.span(self.target_at(at), start, None))?;
            }
            let state = &mut self.states[at];
            state.demanded_total += until_now(state.demanded);
            state.paused_total += until_now(state.paused);
        }
        for node in view.switches.iter() {
            for port in 0..node.ports() {
                for target in self.targets(node.first_link.at_port(port)) {
                    let row = PauseRow {
                        max_headroom_bytes: node.headroom_peak(port, target.priority),
                        ..self.pause_row(node.id, port, target)
                    };
                    if row.sent_pauses + row.received_pauses + row.lost_lossless_packets > 0 {
                        sink.pause(&row)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Row of the pauses between `switch` and the neighbour at `port`, in both directions.
    /// The switch sends its packets over the link of `own`.
    fn pause_row(&self, switch: SwitchId, port: u16, own: Target) -> PauseRow {
        let state = |link: LinkId| &self.states[self.at(Target { link, ..own })];
        let (neighbours, obeyed) = (state(self.reverse[own.link]), state(own.link));
        PauseRow {
            switch: switch.0,
            port,
            priority: own.priority,
            sent_pauses: neighbours.sent_pauses,
            sent_resumes: neighbours.sent_resumes,
            demanded_ns: neighbours.demanded_total.as_ns(),
            received_pauses: obeyed.received_pauses,
            received_resumes: obeyed.received_resumes,
            paused_ns: obeyed.paused_total.as_ns(),
            neighbour_paused_ns: neighbours.paused_total.as_ns(),
            max_headroom_bytes: 0,
            lost_lossless_packets: neighbours.lost_packets,
        }
    }
}
