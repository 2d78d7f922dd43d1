//! Builds the links of a topology and the calendar of their events.

use super::check_size;
use crate::SimError;
use crate::ids::{CableId, HostId, Id, LinkId, SwitchId, Table};
use crate::world::calendar::{BUCKETS, Calendar};
use crate::world::link::{End, Link};
use crate::world::ties::Ties;
use bufferlab_scenario::{Node, Scenario, Topology};
use bufferlab_units::{BitRate, Time};

/// All links, with the hosts and switches at their ends.
#[derive(Debug)]
pub(super) struct Cabling {
    pub(super) links: Table<LinkId, Link>,
    /// The two links of each cable, one per direction.
    pub(super) cables: Table<CableId, (LinkId, LinkId)>,
    /// Link from port 0 of each switch. The links of the switch's other ports follow in order.
    pub(super) first_links: Table<SwitchId, LinkId>,
}

/// Bytes after which a packet from a link of this rate counts as arrived, if the switch cuts
/// through. `None` (store and forward) if a port is faster than the link: the port would run out of
/// bits in the middle of the packet.
fn cut_through(scenario: &Scenario, switch: SwitchId, rate: BitRate, fastest: BitRate) -> Option<u32> {
    scenario.switches[switch.index()].hardware.cut_through_bytes.filter(|_| fastest <= rate)
}

/// Builds the links of a topology in the order of their link ids.
///
/// # Errors
/// If the network exceeds a limit of the engine.
pub(super) fn build_links(scenario: &Scenario) -> Result<Cabling, SimError> {
    let topology = &scenario.topology;
    check_size("hosts", topology.hosts.len(), usize::from(u16::MAX))?;
    check_size("cables", topology.links.len(), Calendar::MAX_LINK as usize / 2)?;
    let mut cabling = cabling(topology);
    let fastest = |rates: Vec<BitRate>| rates.into_iter().max().unwrap_or(BitRate(0));
    let fastest: Vec<BitRate> = topology.all_port_rates().into_iter().map(fastest).collect();
    for link in cabling.links.iter_mut() {
        if let End::Switch(switch, _) = link.to {
            link.set_header_bytes(cut_through(scenario, switch, link.account.rate, fastest[switch.index()]));
        }
        link.set_device_queue(match link.from {
            End::Host(_) => scenario.host.device_queue,
            End::Switch(switch, _) => scenario.switches[switch.index()].hardware.device_queue,
        });
    }
    let longest = |link: &Link| link.delay + link.account.rate.serialization(u64::from(u16::MAX));
    let reach = cabling.links.iter().map(longest).max().unwrap_or_default();
    let limit = Calendar::MAX_REACH.0 as usize;
    check_size("picoseconds that a packet is on a link", reach.0 as usize, limit)?;
    Ok(cabling)
}

/// For each host, the link from its switch to the host.
pub(super) fn downlinks(links: &Table<LinkId, Link>, hosts: usize) -> Table<HostId, LinkId> {
    let mut downlinks: Table<HostId, LinkId> = vec![LinkId(0); hosts].into();
    for (id, link) in links.entries() {
        if let End::Host(host) = link.to {
            downlinks[host] = id;
        }
    }
    downlinks
}

/// Lists the two links of every cable, in the order of the topology's cables.
fn cabling(topology: &Topology) -> Cabling {
    let mut next_port = vec![0_u16; topology.switches.len()];
    // Each switch numbers its ports in the order of its cables.
    let mut end_of = |node: Node| match node {
        Node::Host(host) => End::Host(HostId::new(host)),
        Node::Switch(switch) => {
            let port = &mut next_port[switch as usize];
            *port += 1;
            End::Switch(SwitchId(switch), *port - 1)
        }
    };
    let ends: Vec<_> = topology.links.iter().map(|cable| (end_of(cable.a), end_of(cable.b))).collect();
    let mut first_links = Table::<SwitchId, LinkId>::default();
    let mut count = topology.hosts.len();
    for ports in &next_port {
        first_links.push(LinkId::from_index(count));
        count += usize::from(*ports);
    }
    let number = |end: End| match end {
        End::Host(host) => host.uplink(),
        End::Switch(switch, port) => first_links[switch].at_port(port),
    };
    let mut links: Vec<Option<Link>> = (0..count).map(|_| None).collect();
    let mut cables = Table::default();
    for (cable, (a, b)) in topology.links.iter().zip(ends) {
        let (ab, ba) = (number(a), number(b));
        links[ab.index()] = Some(Link::new(a, b, cable.rate_ab, cable.delay));
        links[ba.index()] = Some(Link::new(b, a, cable.rate_ba, cable.delay));
        cables.push((ab, ba));
    }
    let links = links.into_iter().map(|link| link.expect("every port and host has its cable")).collect();
    Cabling { links, cables, first_links }
}

/// Chooses the width of the calendar's buckets from the network, for about eight events per bucket
/// at twice the full capacity. This width was the fastest in measurements with 64 to 8,192 hosts.
/// The calendar's ring covers more than the longest transmission plus propagation.
pub(super) fn build_calendar(scenario: &Scenario, links: &Table<LinkId, Link>) -> Calendar {
    const FRAME_BYTES: u64 = 1_500;
    let per_second: f64 =
        links.iter().map(|link| link.account.rate.0 as f64 / (8.0 * FRAME_BYTES as f64)).sum();
    let width_ps = (8e12 / per_second).clamp(256.0, 1e9);
    let reach = links.iter().map(|link| link.delay + link.account.rate.serialization(FRAME_BYTES)).max();
    let reach = reach.unwrap_or(Time::from_us(10)).0;
    let by_reach = (reach / (BUCKETS as u64 - 1) + 1).next_power_of_two().ilog2();
    let width_bits = (width_ps.log2().round() as u32).max(by_reach);
    let ties = Ties::new(scenario.tie_order, scenario.seed, links.len());
    Calendar::new(ties, width_bits)
}
