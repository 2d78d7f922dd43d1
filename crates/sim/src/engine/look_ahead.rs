//! Prefetch of the data of the next link events, for large networks.
//!
//! In a network of thousands of hosts, successive events use different links, packets and switches,
//! so the processor would wait for memory at every step of an event. But the calendar knows the
//! next events. Each time the calendar opens a bucket, the engine requests the data that the events
//! of the next buckets need, in four stages, because each stage reads the data of the stage before:
//!
//! 1. for the third bucket after the open bucket: the links,
//! 2. for the second bucket: the packets that arrive, and the switches and NICs,
//! 3. for the first bucket: the egress ports and links of the switches, and the flows of the hosts,
//! 4. for the open bucket: the last packets on the egress links, which get a successor.
//!
//! Prefetches change no result.

use super::Simulation;
use crate::ids::{LinkId, Table};
use crate::world::calendar::Kind;
use crate::world::link::{End, Link};

/// Number of links from which prefetches save time. A smaller network fits into the cache.
const LINKS_MIN: usize = 16_000;
/// Cache lines of a switch that a bypassing packet needs.
const SWITCH_LINES: usize = 3;

/// Whether prefetches save time in a network with these links.
pub(crate) fn is_worthwhile(links: &Table<LinkId, Link>) -> bool {
    links.len() >= LINKS_MIN
}

impl Simulation {
    /// Requests the data of the next events. The calendar has just opened a bucket.
    #[inline(never)] // Called once per bucket, and the hot loop needs the registers.
    pub(super) fn look_ahead(&mut self) {
        let mut egress_links = std::mem::take(&mut self.egress_links);
        let (calendar, links) = (self.world.calendar(), self.world.links());
        for link in egress_links.drain(..) {
            self.world.packets().prefetch(links[link].pipe.last());
        }
        let mut buckets = calendar.next_buckets();
        if let Some(first) = buckets.next() {
            for (kind, link) in calendar.events_in(first) {
                egress_links.extend(self.prefetch_target(kind, &links[link]));
            }
        }
        if let Some(second) = buckets.next() {
            calendar.events_in(second).for_each(|(kind, link)| self.prefetch_place(kind, &links[link]));
        }
        if let Some(third) = buckets.next() {
            calendar.events_in(third).for_each(|(kind, link)| links.prefetch(link, lines_of_link(kind)));
        }
        self.egress_links = egress_links;
    }

    /// Requests the packet that an event concerns, and the switch or NIC that handles the event.
    #[inline(always)]
    fn prefetch_place(&self, kind: Kind, link: &Link) {
        let end = match kind {
            Kind::Delivery => {
                self.world.packets().prefetch(link.pipe.first());
                link.to
            }
            Kind::TransmissionComplete => link.from,
        };
        match end {
            End::Switch(switch, _) => self.switches.prefetch(switch, SWITCH_LINES),
            End::Host(host) => self.hosts.prefetch_card(host),
        }
    }

    /// Requests what the switch or NIC that handles an event will use: egress port and link, or
    /// flow. Returns the egress link of a packet that arrives at a switch.
    #[inline(always)]
    fn prefetch_target(&self, kind: Kind, link: &Link) -> Option<LinkId> {
        match (kind, link.to, link.from) {
            (Kind::Delivery, End::Switch(switch, _), _) => {
                let packet = &self.world.packets()[link.pipe.first()];
                let egress = self.world.routes().peek(switch, packet)?;
                let node = &self.switches[switch];
                let egress_link = node.first_link.at_port(egress);
                self.world.links().prefetch(egress_link, 1);
                node.prefetch_port(egress);
                return Some(egress_link);
            }
            (Kind::Delivery, End::Host(_), _) => {
                self.hosts.prefetch_flow(&self.world.packets()[link.pipe.first()]);
            }
            (Kind::TransmissionComplete, _, End::Switch(switch, port)) => {
                self.switches[switch].prefetch_port(port);
            }
            (Kind::TransmissionComplete, _, End::Host(host)) => self.hosts.prefetch_sender(host),
        }
        None
    }
}

/// Number of cache lines of a link that an event reads.
#[inline(always)]
fn lines_of_link(kind: Kind) -> usize {
    match kind {
        Kind::Delivery => 1,
        Kind::TransmissionComplete => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_metrics::{FlowRow, HistogramRow, LinkRow, PauseRow, QueueRow, RunSink};
    use std::path::Path;

    /// Text of every row of a run.
    #[derive(Default)]
    struct Rows(Vec<String>);

    macro_rules! keep {
        ($($method:ident: $row:ty),*) => {
            impl RunSink for Rows {
                $(fn $method(&mut self, row: &$row) -> std::io::Result<()> {
                    self.0.push(format!("{row:?}"));
                    Ok(())
                })*
            }
        };
    }

    keep!(flow: FlowRow, histogram: HistogramRow, link: LinkRow, pause: PauseRow, queue: QueueRow);

    fn rows(scenario: &str, duration: &str, looks_ahead: bool) -> Vec<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(scenario);
        let overrides = [("duration", duration), ("drain", "\"1 ms\"")];
        let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let loaded = bufferlab_scenario::load(&path, &overrides).expect("the scenario is valid");
        let mut simulation = Simulation::new(&loaded.scenario).expect("the network fits");
        assert!(!simulation.looks_ahead, "{scenario} is small");
        simulation.looks_ahead = looks_ahead;
        let mut rows = Rows::default();
        simulation.run(&mut rows, &mut |_| ()).expect("the run succeeds");
        rows.0
    }

    #[test]
    fn prefetches_change_no_row() {
        // The scenarios have three tiers, priority flow control, and failing cables.
        let cases = [
            ("fat-tree.toml", "\"1 ms\""),
            ("reverie-reduced.toml", "\"1 ms\""),
            ("link-failure.toml", "\"21 ms\""),
        ];
        for (scenario, duration) in cases {
            let found = rows(scenario, duration, true);
            assert!(found.len() > 20, "{scenario}: {} rows", found.len());
            assert_eq!(found, rows(scenario, duration, false), "{scenario}");
        }
    }
}
