//! Custom topologies of a program work like built-in kinds, and the loader refuses invalid ones.

use crate::common::{assert_round_trip, render};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, ParamValue, Params, RegisterError};
use bufferlab_scenario::{
    LinkSpec, Loaded, Node, TOPOLOGIES, Topology, TopologyInfo, load_text, register_topology,
};
use std::path::Path;
use std::sync::Once;

const RING: &[ParamInfo] = &[
    ParamInfo::required("switches", ParamKind::Count { min: 1, max: 1_000 }, "4", "Switches of the ring."),
    ParamInfo::with_default(
        "rate",
        ParamKind::RATE,
        ParamValue::Rate(bufferlab_units::BitRate(1_000_000_000)),
        "",
    ),
    ParamInfo::computed("delay", ParamKind::DELAY, "a microsecond", "\"2 us\"", "Propagation delay."),
];

/// Builds a ring of switches with one host each.
fn ring(params: &mut Params) -> Result<Topology, Faults> {
    let count = params.small_count("switches");
    if count < 3 {
        return Err(Fault::new("switches", format!("{count} switches are no ring"), "too few")
            .help("take three")
            .into());
    }
    let (rate, delay) = (params.rate("rate"), params.time_or("delay", bufferlab_units::Time::from_us(1)));
    let link = |a, b| LinkSpec::new(a, b, rate, delay);
    let hosts = (0..count).map(|index| link(Node::Host(index), Node::Switch(index)));
    let ring = (0..count).map(|index| link(Node::Switch(index), Node::Switch((index + 1) % count)));
    let (hosts, ring): (Vec<_>, Vec<_>) = (hosts.collect(), ring.collect());
    Ok(Topology::new(
        bufferlab_topology::numbered("h", count),
        bufferlab_topology::numbered("s", count),
        [hosts, ring].concat(),
    ))
}

fn info(name: &'static str) -> TopologyInfo {
    TopologyInfo {
        name,
        aliases: &[],
        title: "Ring",
        summary: "Switches in a ring.",
        source: "A test.",
        params: RING,
        build: &ring,
    }
}

fn load(topology: &str) -> Result<Loaded, String> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register_topology(TopologyInfo { aliases: &["circle"], ..info("my_ring") })
            .expect("the name is free");
        let broken = TopologyInfo {
            build: &|params| ring(params).map(|ring| Topology { links: Vec::new(), ..ring }),
            ..info("broken_ring")
        };
        register_topology(broken).expect("the name is free");
    });
    let text = format!(
        "description = \"\"\nduration = \"1 ms\"\ndrain = \"1 ms\"\nseed = \
         1\n[topology]\n{topology}\n[switch]\nbuffer = \"1 MB\"\n policy = \"dt\"\n[[transport]]\ncongestion_control \
         = \"newreno\"\n[[workload]]\nkind = \"poisson\"\nsizes = \"10 KB\"\n load = 0.1\nload_of = \
         \"host_links\"\npattern = \"all_to_all\"\n"
    );
    load_text(Path::new("ring.toml"), &text, &[]).map_err(|error| render(&error))
}

#[test]
fn an_own_topology_is_a_kind_that_survives_in_the_resolved_scenario() {
    let loaded = load("kind = \"my_ring\"\nswitches = 5\nmultipath = \"spray\"")
        .unwrap_or_else(|error| panic!("{error}"));
    let topology = &loaded.scenario.topology;
    assert_eq!((topology.kind.as_str(), topology.hosts.len(), topology.links.len()), ("my_ring", 5, 10));
    for line in ["kind = \"my_ring\"", "switches = 5", "rate = \"1 Gb/s\"", "delay = \"1 us\""] {
        assert!(loaded.resolved.contains(line), "{line} is not in\n{}", loaded.resolved);
    }
    assert_round_trip(&loaded);
    let alias = load("kind = \"circle\"\nswitches = 5\nmultipath = \"spray\"")
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(alias.resolved, loaded.resolved);
}

#[test]
fn mistakes_in_a_custom_topology_are_shown_where_they_stand() {
    for (topology, texts) in [
        ("kind = \"my_rang\"", ["did you mean \"my_ring\"?", "\"graph\", \"my_ring\""]),
        ("kind = \"my_ring\"", ["`switches` is missing", "add switches = 4"]),
        ("kind = \"my_ring\"\nswitches = 2", ["2 switches are no ring", "help: take three"]),
        (
            "kind = \"my_ring\"\nswitches = 3\nspines = 2",
            ["belongs to kind = \"leaf_spine\"", "kind is \"my_ring\""],
        ),
        ("kind = \"my_ring\"\nswitches = \"3\"", ["expected a whole number from 1 to 1000", "ring.toml:7"]),
        ("kind = \"broken_ring\"\nswitches = 3", ["\"broken_ring\" built no network", "host 0 has no cable"]),
    ] {
        let error = load(topology).map(|loaded| loaded.resolved).expect_err(topology);
        for text in texts {
            assert!(error.contains(text), "{topology}: \"{text}\" is not in\n{error}");
        }
    }
}

#[test]
fn names_that_are_taken_and_keys_that_every_topology_has_are_refused() {
    let taken = register_topology(info("leaf_spine")).expect_err("taken").to_string();
    assert_eq!(taken, "the name \"leaf_spine\" belongs to the topology Leaf-spine fabric; choose another");
    static CHANGE: [ParamInfo; 1] = [ParamInfo::required("change", ParamKind::Text, "\"x\"", "")];
    let common = register_topology(TopologyInfo { params: &CHANGE, ..info("ring_with_change") });
    assert!(
        matches!(common.map(drop), Err(RegisterError::Parameter { parameter, .. }) if parameter == "change")
    );
    assert!(TOPOLOGIES.find("ring_with_change").is_none());
}

#[test]
fn every_built_in_entry_keeps_the_rules_of_own_ones() {
    assert_eq!(TOPOLOGIES.verify(), Ok(()));
}
