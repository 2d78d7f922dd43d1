//! Reads fat-tree topologies of htsim (`fat_tree_topology.cpp`).

use crate::imported::Network;
use crate::limits::{CABLES, HOSTS, NODES};
use crate::source::{Source, too_many};
use crate::{ImportError, Imported};
use bufferlab_topology::{LinkSpec, Node, Topology, numbered};
use bufferlab_units::{BitRate, Time};

/// Values of a tier of the fat tree; missing keys are 0.
#[derive(Clone, Copy, Default)]
struct Tier {
    speed_gbps: u64,
    radix_down: u64,
    radix_up: u64,
    oversubscribed: u64,
    bundle: u64,
    switch_latency_ns: u64,
    downlink_latency_ns: u64,
}

/// Values in a topology file of htsim.
#[derive(Default)]
struct FatTree {
    nodes: u64,
    podsize: u64,
    tiers: Vec<Tier>,
}

/// Numbers of hosts and switches that follow from the values of a topology file.
struct Sizes {
    pods: u64,
    tors_per_pod: u64,
    aggs_per_pod: u64,
    cores: u64,
}

const KEYS: &str = "Nodes, Tiers, Podsize, Tier, Downlink_speed_Gbps, Radix_Down, Radix_Up, Queue_Up, Queue_Down, \
                    Oversubscribed, Bundle, Switch_Latency_ns or Downlink_Latency_ns";

/// Reads a fat-tree topology of htsim.
pub(crate) fn read(source: Source<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    source.notice_line_ends(&mut imported.notices);
    let tree = FatTree::read(source, imported)?;
    let sizes = tree.sizes(source)?;
    let topology = tree.build(source, &sizes)?;
    let [tors, aggs] = [sizes.pods * sizes.tors_per_pod, sizes.pods * sizes.aggs_per_pod];
    let tiers = match tree.tiers.len() {
        2 => format!("{tors} leaves, {aggs} spines"),
        _ => format!("{} pods, {tors} ToRs, {aggs} aggregation switches, {} cores", sizes.pods, sizes.cores),
    };
    imported.notices.understand(format!("{} hosts, {tiers}, {} cables", tree.nodes, topology.links.len()));
    if tree.tiers.iter().any(|tier| tier.switch_latency_ns > 0) {
        imported.notices.assume(
            "half of a switch's latency is added to the delay of each of its cables, so a packet through the switch \
             pays it once",
        );
    }
    imported.network = Some(Network { topology, numbers: (0..tree.nodes as u32).collect() });
    Ok(())
}

impl FatTree {
    fn read(source: Source<'_>, imported: &mut Imported) -> Result<Self, ImportError> {
        let mut tree = Self::default();
        let mut tier: Option<usize> = None;
        for line in source.lines().filter(|line| !line.text.trim_start().starts_with('#')) {
            let mut words = line.words();
            let Some(key) = words.next() else { continue };
            let value = words
                .next()
                .ok_or_else(|| key.error(format!("`{}` has no value", key.text), "add a number"))?;
            let number = value.whole("a number", u64::from(u32::MAX))?;
            match (key.text.to_ascii_lowercase().as_str(), tier) {
                ("nodes", _) => tree.nodes = number,
                ("podsize", _) => tree.podsize = number,
                ("tiers", _) if (2..=3).contains(&number) => tree.tiers = vec![Tier::default(); number as usize],
                ("tiers", _) => return Err(value.unexpected("2 or 3 tiers")),
                ("tier", _) if number < tree.tiers.len() as u64 => tier = Some(number as usize),
                ("tier", _) => return Err(value.unexpected("a tier below the number in `Tiers`")),
                (other, Some(tier)) => match tree.tiers[tier].field(other) {
                    Some(field) => *field = number,
                    None if matches!(other, "queue_up" | "queue_down") => imported.notices.ignore(
                        "`Queue_Up` and `Queue_Down`: switches of a scenario share one buffer, set in [switch]",
                    ),
                    None => return Err(key.unexpected(KEYS)),
                },
                _ => return Err(key.unexpected("Nodes, Tiers, Podsize or Tier")),
            }
        }
        for tier in &mut tree.tiers {
            tier.bundle = tier.bundle.max(1);
            tier.oversubscribed = tier.oversubscribed.max(1);
        }
        tree.complete(source)
    }

    /// Refuses a topology file without a required value.
    fn complete(mut self, source: Source<'_>) -> Result<Self, ImportError> {
        if self.tiers.len() == 2 && self.podsize == 0 {
            self.podsize = self.nodes;
        }
        let missing = [("Nodes", self.nodes), ("Podsize", self.podsize), ("Tiers", self.tiers.len() as u64)];
        if let Some((key, _)) = missing.iter().find(|(_, value)| *value == 0) {
            return Err(source.error(format!("no `{key}`"), format!("add a line such as `{key} 2`")));
        }
        let top = self.tiers.len() - 1;
        for (index, tier) in self.tiers.iter().enumerate() {
            for (key, value) in [("Downlink_speed_Gbps", tier.speed_gbps), ("Radix_Down", tier.radix_down)] {
                if value == 0 {
                    return Err(source.error(format!("tier {index} has no `{key}`"), "add the line"));
                }
            }
            if index < top && tier.radix_up == 0 {
                return Err(source.error(format!("tier {index} has no `Radix_Up`"), "add the line"));
            }
        }
        if self.tiers[0].bundle > 1 {
            return Err(source.error("`Bundle` of tier 0 is above 1", "a host has one cable: set it to 1"));
        }
        if self.nodes > HOSTS.most { Err(too_many(source.path, HOSTS, self.nodes)) } else { Ok(self) }
    }

    /// Derives the numbers of switches. Every division must have no remainder.
    fn sizes(&self, source: Source<'_>) -> Result<Sizes, ImportError> {
        let whole = |what: &str, a: (&str, u64), b: (&str, u64)| {
            if b.1 > 0 && a.1.is_multiple_of(b.1) && a.1 > 0 {
                return Ok(a.1 / b.1);
            }
            let problem = format!("{what} = {} / {} = {} / {}, which is no whole number", a.0, b.0, a.1, b.1);
            Err(source.error(problem, "correct one of these values"))
        };
        let equal = |left: (&str, u64), right: (&str, u64)| {
            let problem = || format!("{} = {}, but {} = {}", left.0, left.1, right.0, right.1);
            if left.1 == right.1 {
                Ok(())
            } else {
                Err(source.error(problem(), "both must be equal: correct one"))
            }
        };
        let [low, mid] = [self.tiers[0], self.tiers[1]];
        let pods = whole("pods", ("Nodes", self.nodes), ("Podsize", self.podsize))?;
        let tors_per_pod =
            whole("ToRs per pod", ("Podsize", self.podsize), ("Radix_Down of tier 0", low.radix_down))?;
        equal(
            ("Radix_Down · speed of tier 0", low.radix_down * low.speed_gbps),
            (
                "Oversubscribed · Radix_Up of tier 0 · speed of tier 1",
                low.oversubscribed * low.radix_up * mid.speed_gbps,
            ),
        )?;
        let uplinks = tors_per_pod * low.radix_up;
        let aggs_per_pod = whole(
            "aggregation switches per pod",
            ("ToR uplinks per pod", uplinks),
            ("Radix_Down of tier 1", mid.radix_down),
        )?;
        equal(
            ("aggregation switches per pod · Bundle of tier 1", aggs_per_pod * mid.bundle),
            ("Radix_Up of tier 0", low.radix_up),
        )?;
        let Some(top) = self.tiers.get(2) else {
            equal(("pods of two tiers", pods), ("one", 1))?;
            return Ok(Sizes { pods, tors_per_pod, aggs_per_pod, cores: 0 });
        };
        equal(
            ("Radix_Down · speed of tier 1", mid.radix_down * mid.speed_gbps),
            (
                "Oversubscribed · Radix_Up of tier 1 · speed of tier 2",
                mid.oversubscribed * mid.radix_up * top.speed_gbps,
            ),
        )?;
        let uplinks = pods * aggs_per_pod * mid.radix_up;
        let cores =
            whole("cores", ("aggregation uplinks", uplinks), ("Radix_Down of tier 2", top.radix_down))?;
        whole(
            "cores per aggregation switch",
            ("Radix_Up of tier 1", mid.radix_up),
            ("Bundle of tier 2", top.bundle),
        )?;
        Ok(Sizes { pods, tors_per_pod, aggs_per_pod, cores })
    }

    /// Builds the hosts, switches and cables of the fat tree.
    fn build(&self, source: Source<'_>, sizes: &Sizes) -> Result<Topology, ImportError> {
        let [low, mid] = [self.tiers[0], self.tiers[1]];
        let (tors, aggs) = (sizes.pods * sizes.tors_per_pod, sizes.pods * sizes.aggs_per_pod);
        let switches = tors + aggs + sizes.cores;
        let cables = self.nodes + tors * low.radix_up + if sizes.cores > 0 { aggs * mid.radix_up } else { 0 };
        if switches > NODES.most {
            return Err(too_many(source.path, NODES, switches));
        }
        if cables > CABLES.most {
            return Err(too_many(source.path, CABLES, cables));
        }
        let mut links = Vec::with_capacity(cables as usize);
        let switch = |index: u64| Node::Switch(index as u32);
        for host in 0..self.nodes {
            links.push(LinkSpec::new(
                Node::Host(host as u32),
                switch(host / low.radix_down),
                self.rate(0),
                self.delay(0),
            ));
        }
        for tor in 0..tors {
            let pod = tor / sizes.tors_per_pod;
            for agg in 0..sizes.aggs_per_pod {
                let peer = switch(tors + pod * sizes.aggs_per_pod + agg);
                let link = LinkSpec::new(switch(tor), peer, self.rate(1), self.delay(1));
                links.extend(std::iter::repeat_n(link, mid.bundle as usize));
            }
        }
        if let Some(top) = self.tiers.get(2) {
            let each = mid.radix_up / top.bundle;
            for agg in 0..aggs {
                let place = agg % sizes.aggs_per_pod;
                for uplink in 0..each {
                    // Aggregation switches with an equal position in their pods share cores.
                    let core = (place * each + uplink) % sizes.cores;
                    let link = LinkSpec::new(
                        switch(agg + tors),
                        switch(tors + aggs + core),
                        self.rate(2),
                        self.delay(2),
                    );
                    links.extend(std::iter::repeat_n(link, top.bundle as usize));
                }
            }
        }
        let mut names = numbered("tor", tors as u32);
        names.extend(numbered(if sizes.cores > 0 { "agg" } else { "spine" }, aggs as u32));
        names.extend(numbered("core", sizes.cores as u32));
        Ok(Topology::new(numbered("h", self.nodes as u32), names, links))
    }

    fn rate(&self, tier: usize) -> BitRate {
        BitRate(self.tiers[tier].speed_gbps * 1_000_000_000)
    }

    /// Delay of the cables below a tier. The delay includes half of the latency of the switch at
    /// each end.
    fn delay(&self, tier: usize) -> Time {
        let below = if tier > 0 { self.tiers[tier - 1].switch_latency_ns } else { 0 };
        let Tier { switch_latency_ns, downlink_latency_ns, .. } = self.tiers[tier];
        Time(downlink_latency_ns * 1_000 + (switch_latency_ns + below) * 500)
    }
}

impl Tier {
    fn field(&mut self, key: &str) -> Option<&mut u64> {
        Some(match key {
            "downlink_speed_gbps" => &mut self.speed_gbps,
            "radix_down" => &mut self.radix_down,
            "radix_up" => &mut self.radix_up,
            "oversubscribed" => &mut self.oversubscribed,
            "bundle" => &mut self.bundle,
            "switch_latency_ns" => &mut self.switch_latency_ns,
            "downlink_latency_ns" => &mut self.downlink_latency_ns,
            _ => return None,
        })
    }
}
