//! Creates the rows of the result table of links.

use super::{Records, View};
use crate::SimError;
use crate::ids::{Id, LinkId, SwitchId};
use crate::world::link::{End, Link};
use bufferlab_metrics::{LinkRow, RunSink};
use bufferlab_scenario::Topology;
use std::collections::BTreeMap;

impl Records {
    pub(crate) fn write_links(&self, view: View<'_>, sink: &mut dyn RunSink) -> Result<(), SimError> {
        // Parallel links between one pair of nodes are numbered in the order of the links.
        let mut between = BTreeMap::<_, u16>::new();
        for id in view.world.links().ids() {
            let link = &view.world.links()[id];
            let next = between.entry((node(link.from), node(link.to))).or_default();
            sink.link(&self.link_row(view, id, *next))?;
            *next += 1;
        }
        Ok(())
    }

    fn link_row(&self, view: View<'_>, id: LinkId, parallel: u16) -> LinkRow {
        let (links, topology) = (view.world.links(), view.topology);
        let link = &links[id];
        let pending = link.pending(view.world.now());
        let name = |end: End| match end {
            End::Host(host) => topology.hosts[host.index()].clone(),
            End::Switch(switch, _) => topology.switches[switch.index()].clone(),
        };
        let capacity_bits = link.account.nominal_rate.0 as f64 * self.duration.as_secs_f64();
        LinkRow {
            from: name(link.from),
            to: name(link.to),
            parallel,
            role: role(topology, link),
            rate_bps: link.account.nominal_rate.0,
            tx_packets: link.tx_packets - pending.packets,
            tx_bytes: link.tx_bytes - pending.bytes,
            marked_packets: link.marked_packets - pending.marked,
            utilisation: link.account.phase_bytes as f64 * 8.0 / capacity_bits,
            offered_bytes: link.account.phase_offered,
            lost_packets: link.account.lost_packets,
        }
    }
}

fn role(topology: &Topology, link: &Link) -> &'static str {
    let tier = |switch: SwitchId| topology.tiers[switch.index()];
    match (link.from, link.to) {
        (End::Host(_), _) => "host-up",
        (_, End::Host(_)) => "host-down",
        (End::Switch(a, _), End::Switch(b, _)) if tier(a) < tier(b) => "up",
        (End::Switch(a, _), End::Switch(b, _)) if tier(a) > tier(b) => "down",
        _ => "peer",
    }
}

/// Host or switch at the end of a link, without the port number.
fn node(end: End) -> (bool, usize) {
    match end {
        End::Host(host) => (false, host.index()),
        End::Switch(switch, _) => (true, switch.index()),
    }
}
