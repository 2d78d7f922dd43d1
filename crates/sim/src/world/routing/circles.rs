//! Whether the routes let paused links wait for each other in a circle.
//!
//! A link waits for another link if packets from the first link are in a queue for the other link.
//! So a link into a switch can wait for the links out of this switch that a route takes next.
//! Without a circle of such links, every chain of pauses ends at a host, so all pauses end. Routes
//! that lead up and then down a tree of switches have no circle. Rings and meshes of switches have
//! circles.

use super::{GROUP, NONE, OWN, RANGE, Routes, range_length};
use crate::ids::{Id, LinkId, SwitchId, Table};
use crate::world::link::{End, Link};

const WORD: usize = u64::BITS as usize;

/// For each link between switches, the egress ports to which routes lead next. The ports belong to
/// the switch at the link's far end.
struct Onward {
    /// Number of 64-bit words that a link has in `ports`.
    words: usize,
    /// One bit per link and port of the switch at its far end: whether a route leads from the link
    /// to the port.
    ports: Vec<u64>,
    /// Link from port 0 of each switch. The links of the switch's other ports follow in order.
    first_links: Vec<Option<LinkId>>,
    /// Route-table entry that each link has added last. Neighbouring
    /// destinations often have equal entries.
    latest: Vec<u32>,
}

impl Onward {
    fn new(switches: usize, links: &Table<LinkId, Link>) -> Self {
        let mut first_links = vec![None; switches];
        let mut most = 0;
        for (id, link) in links.entries() {
            if let End::Switch(switch, port) = link.from {
                first_links[switch.index()].get_or_insert(id);
                most = most.max(usize::from(port) + 1);
            }
        }
        let words = most.div_ceil(WORD);
        Self { words, ports: vec![0; words * links.len()], first_links, latest: vec![NONE; links.len()] }
    }

    fn link(&self, switch: SwitchId, port: u16) -> Option<LinkId> {
        self.first_links[switch.index()].map(|first| first.at_port(port))
    }

    /// Adds the ports of the route entry `entry` to the ports that routes take after `link`.
    fn add(&mut self, link: LinkId, entry: u32, ports: impl Iterator<Item = u16>) {
        let latest = &mut self.latest[link.index()];
        if std::mem::replace(latest, entry) != entry {
            for port in ports.map(usize::from) {
                self.ports[link.index() * self.words + port / WORD] |= 1 << (port % WORD);
            }
        }
    }

    /// Links that routes take after `link`.
    fn after(&self, links: &Table<LinkId, Link>, link: LinkId) -> Vec<LinkId> {
        let End::Switch(switch, _) = links[link].to else { return Vec::new() };
        let bits = &self.ports[link.index() * self.words..][..self.words];
        let ports = (0..self.words * WORD).filter(|port| bits[port / WORD] >> (port % WORD) & 1 != 0);
        ports.filter_map(|port| self.link(switch, port as u16)).collect()
    }
}

impl Routes {
    /// Whether packets on their routes can connect links between switches to a circle.
    pub(crate) fn have_circles(&self, links: &Table<LinkId, Link>) -> bool {
        let switches = self.switches.len();
        let mut onward = Onward::new(switches, links);
        for switch in (0..switches).map(SwitchId::from_index) {
            for destination in 0..self.destinations as u32 {
                for port in self.ports_of(self.entry(switch, destination)) {
                    let Some(link) = onward.link(switch, port) else { continue };
                    let End::Switch(next, _) = links[link].to else { continue };
                    let entry = self.entry(next, destination);
                    onward.add(link, entry, self.ports_of(entry));
                }
            }
        }
        // A link is done when the search has shown that no circle contains the link.
        let mut is_done = vec![false; links.len()];
        let mut is_on_path = vec![false; links.len()];
        for start in links.ids() {
            if is_done[start.index()] {
                continue;
            }
            let mut path = vec![(start, onward.after(links, start))];
            is_on_path[start.index()] = true;
            while let Some((link, choices)) = path.last_mut() {
                match choices.pop() {
                    Some(next) if is_on_path[next.index()] => return true,
                    Some(next) if is_done[next.index()] => {}
                    Some(next) => {
                        is_on_path[next.index()] = true;
                        path.push((next, onward.after(links, next)));
                    }
                    None => {
                        is_done[link.index()] = true;
                        is_on_path[link.index()] = false;
                        path.pop();
                    }
                }
            }
        }
        false
    }

    /// Entry of a switch for a destination.
    pub(super) fn entry(&self, switch: SwitchId, destination: u32) -> u32 {
        if self.targets[destination as usize] == switch.0 {
            return OWN;
        }
        self.table[self.switches[switch.index()].row + destination as usize]
    }

    /// Ports of a route-table entry that lead to other switches.
    pub(super) fn ports_of(&self, entry: u32) -> impl Iterator<Item = u16> {
        let (range, group) = match entry {
            NONE | OWN => (0..0, 0..0),
            entry if entry & GROUP == 0 => (entry..entry + 1, 0..0),
            entry if entry & RANGE != 0 => {
                let first = entry & 0xffff;
                (first..first + range_length(entry), 0..0)
            }
            entry => {
                let (first, count) = self.groups[(entry & !GROUP) as usize];
                (0..0, first as usize..(first + count) as usize)
            }
        };
        range.map(|port| port as u16).chain(self.ports[group].iter().copied())
    }
}
