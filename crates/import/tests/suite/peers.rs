//! Tests real files of other simulators in the folder that `BUFFERLAB_PEERS` names.

use crate::support::{flows, format, peers, read, says, schedule, transfers};
use bufferlab_import::{Format, Imported};
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::FlowSpec;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn import(folder: &Path, name: &str) -> Imported {
    let content = fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    read(&[(name, &content)]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn real_connection_matrices_give_their_counts() {
    let Some(folder) = peers("real connection matrices") else { return };
    for (name, hosts, count, bytes) in [
        ("one.cm", 16, 1, 2_000_000),
        ("bidir.cm", 16, 2, 4_000_000),
        ("incast.cm", 16, 15, 30_000_000),
        ("incast_128.cm", 128, 127, 254_000_000),
        ("incast_1024_100K.cm", 1_024, 1_023, 102_300_000),
        ("test_cr_1f10m1p.cm", 2, 10, 40_860),
        ("test_cr_1f10m10p.cm", 2, 10, 408_600),
        ("test_cr_1f1m100p.cm", 2, 1, 408_600),
        ("test_cr_1f1m10p.cm", 2, 1, 40_860),
        ("incast_2to1_size4194304B.cm", 0, 2, 8_388_608),
    ] {
        let imported = import(&folder, &format!("htsim/{name}"));
        let flows = flows(&imported);
        assert_eq!((flows.len(), flows.iter().map(|flow| flow.size).sum()), (count, bytes), "{name}");
        assert!(hosts == 0 || imported.hosts == hosts, "{name}: {}", imported.hosts);
    }
    for name in ["incast.cm", "incast_128.cm", "incast_1024_100K.cm"] {
        let imported = import(&folder, &format!("htsim/{name}"));
        let targets: BTreeSet<_> = flows(&imported).iter().map(|flow| flow.dst).collect();
        assert_eq!(targets.len(), 1, "{name}");
    }
    for (name, n) in [
        ("perm_16n_16c_2MB.cm", 16),
        ("perm_32n_32c_2MB.cm", 32),
        ("perm_128n_128c_2MB.cm", 128),
        ("perm_1024n_1024c_0u_2000000b.cm", 1_024),
    ] {
        let imported = import(&folder, &format!("htsim/{name}"));
        let flows = flows(&imported);
        assert!(flows.iter().all(|flow| flow.size == 2_000_000), "{name}");
        let sources: BTreeSet<_> = flows.iter().map(|flow| flow.src).collect();
        let targets: BTreeSet<_> = flows.iter().map(|flow| flow.dst).collect();
        assert_eq!((flows.len(), sources.len(), targets.len()), (n, n, n), "{name}");
    }
    for (name, count) in [("csg_collateral_incast.cm", 64), ("csg_permutation_example.cm", 432)] {
        let imported = import(&folder, &format!("htsim/{name}"));
        assert_eq!((imported.hosts, flows(&imported).len()), (432, count), "{name}");
        assert!(flows(&imported).iter().all(|flow| flow.size == FlowSpec::UNLIMITED), "{name}");
    }
}

#[test]
fn real_matrices_keep_their_quirks() {
    let Some(folder) = peers("quirks of connection matrices") else { return };
    let imported = import(&folder, "htsim/incast_3-1_overlapped.tm");
    let found: Vec<_> = flows(&imported).iter().map(|flow| (flow.size, flow.start)).collect();
    assert_eq!(found, [(2_000_000, Time::ZERO), (250_000, Time(40)), (250_000, Time(40))]);
    assert!(says(&imported, "picoseconds"));
    let imported = import(&folder, "htsim/foo2.cm");
    let schedule = schedule(&imported);
    assert_eq!((transfers(schedule).len(), schedule.edges(), schedule.depth()), (12, 8, 3));
}

#[test]
fn real_fat_trees_give_their_sizes() {
    let Some(folder) = peers("real fat trees") else { return };
    for (name, hosts, switches) in [
        ("leaf_spine_tiny.topo", 32, 4 + 2),
        ("fat_tree_128_4os.topo", 128, 32 + 32 + 4),
        ("test.topo", 8, 4 + 4 + 4),
        ("leaf_spine_1024.topo", 1_024, 0),
        ("leaf_spine_1024_oversub.topo", 1_024, 0),
        ("leaf_spine_1024_oversub_8-1.topo", 1_024, 0),
        ("leaf_spine_8192_400g_4_to_1.topo", 8_192, 0),
        ("fat_tree_1024.topo", 1_024, 0),
        ("fat_tree_8192_4os.topo", 8_192, 0),
    ] {
        let content = fs::read(folder.join("htsim").join(name)).expect("it is there");
        match read(&[(name, &content)]) {
            Ok(imported) => {
                let topology = &imported.network.as_ref().expect("a network").topology;
                assert_eq!(topology.hosts.len(), hosts, "{name}");
                assert!(
                    switches == 0 || topology.switches.len() == switches,
                    "{name}: {}",
                    topology.switches.len()
                );
                assert_eq!(topology.problems(), [], "{name}");
            }
            // The speeds in the test's file contradict the radix, so htsim refuses this file, too.
            Err(error) => assert!(name == "test.topo" && error.to_string().contains(" = "), "{error}"),
        }
    }
}

#[test]
fn real_goal_schedules_give_their_counts() {
    let Some(folder) = peers("real GOAL schedules") else { return };
    for (name, ranks, pairs, requires) in [
        ("binary_tree_32.goal", 32, 31, 26),
        ("one_send.goal", 16, 1, 0),
        ("test_border_incast_l.goal", 32, 2, 0),
    ] {
        let imported = import(&folder, &format!("goal/{name}"));
        let schedule = schedule(&imported);
        assert_eq!((imported.hosts, transfers(schedule).len()), (ranks, pairs), "{name}");
        let counts = format!("{pairs} sends, {pairs} receives, 0 computations, {requires} dependencies");
        assert!(says(&imported, &counts), "{name}: {:?}", imported.notices);
        assert_eq!(says(&imported, "defined twice"), name == "test_border_incast_l.goal", "{name}");
    }
}

#[test]
fn real_files_of_hpcc_give_their_counts() {
    let Some(folder) = peers("real files of HPCC") else { return };
    for (name, nodes, switches, links, rate) in [
        ("hpcc/mix_topology.txt", 66, 1, 65, 100),
        ("ns3dc/PowerTCP_topology.txt", 138, 10, 144, 25),
        ("ns3dc/Reverie_leaf-spine.txt", 276, 20, 320, 25),
    ] {
        let imported = import(&folder, name);
        let topology = &imported.network.as_ref().expect("a network").topology;
        let found =
            (topology.hosts.len() + topology.switches.len(), topology.switches.len(), topology.links.len());
        assert_eq!(found, (nodes, switches, links), "{name}");
        assert_eq!(topology.links[0].rate_ab, BitRate::gbps(rate), "{name}");
    }
    assert_eq!(flows(&import(&folder, "hpcc/mix_flow.txt")).len(), 2);
    assert!(says(&import(&folder, "hpcc/mix_trace.txt"), "348 traced nodes"));
    for name in [
        "PowerTCP_flow.txt",
        "PowerTCP_flow-fairnessExp.txt",
        "PowerTCP_flow-burstExp-10.txt",
        "Reverie_flow-test.txt",
    ] {
        let name = format!("ns3dc/{name}");
        let count = fs::read_to_string(folder.join(&name)).expect("text");
        let count: usize = count.split_whitespace().next().expect("a count").parse().expect("a number");
        let content = fs::read(folder.join(&name)).expect("it is there");
        match read(&[(&name, &content)]) {
            Ok(imported) => assert_eq!(flows(&imported).len(), count, "{name}"),
            Err(error) => assert!(error.to_string().contains("announced"), "{error}"),
        }
    }
}

#[test]
fn a_flow_list_and_its_topology_make_one_scenario() {
    let Some(folder) = peers("a flow list and its topology") else { return };
    let files = ["hpcc/mix_topology.txt", "hpcc/mix_flow.txt"]
        .map(|name| (name, fs::read(folder.join(name)).expect("it is there")));
    let files: Vec<_> = files.iter().map(|(name, content)| (*name, content.as_slice())).collect();
    let imported = read(&files).expect("they belong together");
    // Node 0 is the switch, so node 1 is host 0.
    let ends: Vec<_> = flows(&imported).iter().map(|flow| (flow.src, flow.dst)).collect();
    assert_eq!(ends, [(1, 0), (2, 0)]);
}

#[test]
fn real_configurations_tables_and_alphas_are_recognised() {
    let Some(folder) = peers("other files of ns3-datacenter") else { return };
    for (name, wanted) in [
        ("PowerTCP_config-workload.txt", Format::HpccConfig),
        ("Reverie_config-burst.txt", Format::HpccConfig),
        ("Reverie_config-workload.txt", Format::HpccConfig),
        ("ABM_websearch.csv", Format::Cdf),
        ("ABM_hadoop.csv", Format::Cdf),
        ("ABM_datamining.csv", Format::Cdf),
        ("Reverie_websearch.txt", Format::Cdf),
        ("ABM_alphas", Format::Alphas),
        ("Reverie_alphas", Format::Alphas),
    ] {
        let imported = import(&folder, &format!("ns3dc/{name}"));
        assert_eq!(format(&imported), wanted, "{name}");
    }
}

#[test]
fn real_chakra_traces_give_their_counts() {
    let Some(folder) = peers("real Chakra traces") else { return };
    let names: Vec<_> = (0..8).map(|rank| format!("custom_ring_allreduce_8npus_1MB.{rank}.et")).collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), fs::read(folder.join("chakra").join(name)).expect("it is there")))
        .collect();
    let files: Vec<_> = files.iter().map(|(name, content)| (*name, content.as_slice())).collect();
    let imported = read(&files).expect("they belong together");
    let counts = "8 ranks, 280 nodes: 112 sends, 112 receives, 0 collectives, 56 computations";
    assert!(says(&imported, counts), "{:?}", imported.notices);
    let transfers = transfers(schedule(&imported));
    assert_eq!(transfers.len(), 112);
    assert!(transfers.iter().all(|one| one.bytes == 131_072));
    for name in
        ["all_reduce.4npus_1MB", "all_gather.4npus_1MB", "all_reduce.16npus_1MB", "all_gather.16npus_1MB"]
    {
        let imported = import(&folder, &format!("chakra/{name}.0.et"));
        assert!(
            says(&imported, "1 ranks, 1 nodes: 0 sends, 0 receives, 1 collectives"),
            "{:?}",
            imported.notices
        );
    }
}

#[test]
fn a_real_iteration_of_gpt_13b_gives_its_counts() {
    let Some(folder) = peers("a real iteration of GPT-13B") else { return };
    let imported = import(&folder, "aicb/workload_gpt13b_128g.txt");
    for words in [
        "1338 layers on 128 ranks: tensor groups of 8, 2 pipeline stages, data groups of 8",
        "ga 16",
        "vpp 20",
        "pp_comm 2621440",
    ] {
        assert!(says(&imported, words), "{words}: {:?}", imported.notices);
    }
    let count = |operation: &str| {
        let lines = imported.notices.understood.iter().filter(|line| line.contains(operation));
        let counts = lines.filter(|line| line.contains("tensor groups") || line.contains("data groups"));
        counts.filter_map(|line| line.split(' ').next()?.parse::<u64>().ok()).sum::<u64>()
    };
    // The notice about the number of layers contains both group names. This notice begins with a
    // count, but names no operation.
    assert_eq!((count("all_gather"), count("reduce_scatter"), count("all_reduce")), (657, 641, 23));
    assert_eq!(imported.hosts, 128);
}
