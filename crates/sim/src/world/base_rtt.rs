//! Round-trip time of a full segment and its ACK on an empty network.

use crate::ids::{HostId, Id, LinkId};
use crate::world::link::{End, Link};
use crate::world::routing::Routes;
use bufferlab_units::Time;

/// Longest path allowed (links). The limit prevents endless routing loops.
const LONGEST_PATH: u32 = 1_000;

/// The links and routes from which the module computes unloaded round-trip times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paths<'a> {
    pub(crate) links: &'a [Link],
    /// Link from port 0 of each switch. The links of the switch's other ports follow in order.
    pub(crate) first_links: &'a [LinkId],
    pub(crate) routes: &'a Routes,
    pub(crate) hosts: u32,
}

impl Paths<'_> {
    /// Longest round trip between two hosts of a segment of `data` bytes and an ACK of `ack` bytes,
    /// along a shortest path. `None` if no host reaches another host.
    pub(crate) fn longest_round_trip(&self, data: u32, ack: u32) -> Option<Time> {
        // Hosts at one switch with equal cables have equal round-trip times, so one host for each
        // kind of cable is enough.
        let mut kinds: Vec<HostId> = Vec::new();
        for host in (0..self.hosts).map(HostId::new) {
            let alike = |&&other: &&HostId| {
                let (a, b) = (&self.links[host.index()], &self.links[other.index()]);
                let (End::Switch(one, _), End::Switch(two, _)) = (a.to, b.to) else { return false };
                (one, a.account.rate, a.delay) == (two, b.account.rate, b.delay)
            };
            // The search keeps two hosts for each kind of cable, because these two hosts may be the
            // only pair at a single switch.
            if kinds.iter().filter(alike).count() < 2 {
                kinds.push(host);
            }
        }
        let mut longest = None;
        for &src in &kinds {
            for &dst in kinds.iter().filter(|&&dst| dst != src) {
                if let (Some(there), Some(back)) = (self.one_way(src, dst, data), self.one_way(dst, src, ack))
                {
                    longest = longest.max(Some(there + back));
                }
            }
        }
        longest
    }

    /// Serialization and propagation time from host to host of a packet that never waits. `None` if
    /// no path connects the hosts.
    fn one_way(&self, src: HostId, dst: HostId, bytes: u32) -> Option<Time> {
        let mut link = &self.links[src.uplink().index()];
        let mut time = Time::ZERO;
        for _ in 0..LONGEST_PATH {
            time += link.serializer.time(bytes) + link.delay;
            match link.to {
                End::Host(_) => return Some(time),
                End::Switch(switch, _) => {
                    let port = self.routes.port(switch, dst, &mut 0, false)?;
                    link = &self.links[self.first_links[switch.index()].at_port(port).index()];
                }
            }
        }
        None
    }
}
