//! `[topology]`: from parameters to the graph as built, and as it runs after its changes.

use super::changes::changed;
use super::graph::graph;
use super::routes::routes;
use crate::context::{Complaint, quoted_list};
use crate::model::{Multipath, Topology};
use crate::reader::Reader;
use crate::topology::{Dumbbell, FatTree, LeafSpine, SingleSwitch};

/// The network before and after `topology.change`.
pub(crate) struct Networks {
    /// As the generator built it: buffers and loads follow from it.
    pub(crate) as_built: Topology,
    /// With slower, longer and failing cables.
    pub(crate) as_it_runs: Topology,
}

pub(crate) fn read(root: &mut Reader<'_>) -> Option<Networks> {
    let mut reader = root.table("topology")?;
    let multipath = reader.choice("multipath").unwrap_or(Multipath::EcmpFlow);
    let built = match reader.kind() {
        "single_switch" => single_switch(&mut reader),
        "dumbbell" => dumbbell(&mut reader),
        "leaf_spine" => leaf_spine(&mut reader),
        "fat_tree" => fat_tree(&mut reader),
        _ => graph(&mut reader),
    };
    let routes = routes(&mut reader, built.as_ref());
    let as_built = built.map(|built| Topology { multipath, routes, ..built });
    let as_it_runs = changed(&mut reader, as_built.clone());
    let resolved = reader.finish();
    root.put("topology", resolved);
    Some(Networks { as_built: as_built?, as_it_runs: as_it_runs? })
}

fn single_switch(reader: &mut Reader<'_>) -> Option<Topology> {
    let (hosts, rate, delay) = (reader.small_count("hosts"), reader.rate("rate"), reader.time("delay"));
    // Written down only where it says something.
    let uplink_rate = if reader.has("uplink_rate") { reader.rate("uplink_rate") } else { rate };
    reader.spec_of("uplink_rate");
    Some(SingleSwitch { hosts: hosts?, rate: rate?, uplink_rate: uplink_rate?, delay: delay? }.build())
}

fn dumbbell(reader: &mut Reader<'_>) -> Option<Topology> {
    let hosts_per_side = reader.small_count("hosts_per_side");
    let (host_rate, bottleneck_rate) = (reader.rate("host_rate"), reader.rate("bottleneck_rate"));
    let delay = reader.time("delay");
    let bottleneck_delay = reader.time_or("bottleneck_delay", delay);
    let dumbbell = Dumbbell {
        hosts_per_side: hosts_per_side?,
        host_rate: host_rate?,
        bottleneck_rate: bottleneck_rate?,
        delay: delay?,
        bottleneck_delay: bottleneck_delay?,
    };
    Some(dumbbell.build())
}

fn leaf_spine(reader: &mut Reader<'_>) -> Option<Topology> {
    let (leaves, hosts_per_leaf) = (reader.small_count("leaves"), reader.small_count("hosts_per_leaf"));
    let (spines, links_per_pair) = (reader.small_count("spines"), reader.small_count("links_per_pair"));
    let host_rate = reader.rate("host_rate");
    let fabric_rate = reader.rate_or("fabric_rate", host_rate);
    let host_delay = reader.time("delay");
    let fabric_delay = reader.time_or("fabric_delay", host_delay);
    let fabric = LeafSpine {
        leaves: leaves?,
        hosts_per_leaf: hosts_per_leaf?,
        spines: spines?,
        links_per_pair: links_per_pair?,
        host_rate: host_rate?,
        fabric_rate: fabric_rate?,
        host_delay: host_delay?,
        fabric_delay: fabric_delay?,
    };
    let hosts = u64::from(fabric.leaves) * u64::from(fabric.hosts_per_leaf);
    let cables = u64::from(fabric.leaves) * u64::from(fabric.spines) * u64::from(fabric.links_per_pair);
    if hosts < 2 || hosts.max(cables) > MAX_LINKS {
        let message = format!("{hosts} hosts and {cables} cables in the fabric");
        let label = format!("expected at least 2 hosts, and at most {MAX_LINKS} of either");
        reader.error("leaves", Complaint::new(message, label));
        return None;
    }
    Some(fabric.build())
}

/// More would not fit a machine's memory, and is a typing error.
const MAX_LINKS: u64 = 1 << 22;

fn fat_tree(reader: &mut Reader<'_>) -> Option<Topology> {
    let (k, rate, delay) = (reader.small_count("k"), reader.rate("rate"), reader.time("delay"));
    if let Some(odd) = k.filter(|k| k % 2 == 1) {
        let complaint =
            Complaint::new(format!("{odd} is odd"), "expected an even number of ports per switch");
        reader.error("k", complaint.help(format!("k = {} gives {} hosts", odd + 1, (odd + 1).pow(3) / 4)));
        return None;
    }
    Some(FatTree { k: k?, rate: rate?, delay: delay? }.build())
}

/// At most twelve names.
pub(crate) fn first_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let count = names.clone().count();
    let shown = quoted_list(names.take(12));
    if count > 12 { format!("{shown} … ({count} in all)") } else { shown }
}
