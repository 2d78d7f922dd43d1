//! Tests that import small files of every format. The files were written for these tests.

use crate::support::{flows, format, read, read_with, says, schedule, text, transfers};
use bufferlab_import::scenario_text;
use bufferlab_import::{Format, ImportOptions};
use bufferlab_schedule::Condition;
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::FlowSpec;

pub(crate) const MATRIX: &str = "\
Nodes 4
Connections 3
Triggers 1
0->1 id 1 start 0 size 65536 recv_done_trigger 1
1->2 id 2 trigger 1 size 65536
2->3 id 3 trigger 1 size 65536
trigger id 1 oneshot
";

pub(crate) const FAT_TREE: &str = "\
Nodes 64
Tiers 2
Podsize 64
Tier 0
Downlink_speed_Gbps 100
Radix_Down 16
Radix_Up 4
Oversubscribed 4
Downlink_Latency_ns 500
Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
";

pub(crate) const GOAL: &str = "\
num_ranks 2
rank 0 {
l1: calc 1000
l2: send 65536b to 1 tag 7
l2 requires l1
}
rank 1 {
r1: recv 65536b from 0 tag 7 cpu 0
c1: calc 500 cpu 1
c1 irequires r1
}
";

pub(crate) const LAYERS: &str = "\
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 2 ga: 1 all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0
2
grad_gather -1 1 NONE 0 1 NONE 0 1 ALLGATHER 1048576 100
layer_1 -1 50000 ALLREDUCE 262144 50000 NONE 0 1 NONE 0 100
";

pub(crate) const TOPOLOGY: &str =
    "4 1 3\n2\n0 2 100Gbps 1us 0\n1 2 25000000000.0 1000ns 0\n3 2 40Gb/s 0.001ms 0.1\nprose\n";
pub(crate) const FLOWS: &str = "2\n0 1 3 100 2000 2.000001\n3 1 3 100 1000000000000 2\n1 0 3 100 5 9\n";

#[test]
fn connections_with_triggers_become_a_schedule() {
    let imported = text(MATRIX);
    let schedule = schedule(&imported);
    assert_eq!((imported.hosts, schedule.len(), schedule.edges(), schedule.depth()), (4, 3, 2, 2));
    let children: Vec<_> = schedule.children(schedule.nodes().next().expect("a node")).collect();
    assert!(children.iter().all(|edge| edge.condition == Condition::Finished));
}

#[test]
fn a_barrier_starts_its_connections_after_all_others() {
    let text_ = "Nodes 4\nConnections 3\nTriggers 1\n0->1 start 0 size 9 send_done_trigger 5\n\
                 1->2 start 5 size 9 recv_done_trigger 5\n2->3 id 1 trigger 5 size 9\ntrigger id 5 barrier count 2\n";
    let imported = text(text_);
    let schedule = schedule(&imported);
    let last = schedule.nodes().last().expect("a node");
    let conditions: Vec<_> = schedule.parents().of_node(last).map(|edge| edge.condition).collect();
    assert_eq!(conditions, [Condition::Sent, Condition::Finished]);
    assert_eq!(schedule.start(schedule.nodes().nth(1).expect("a node")), Time(5));
}

#[test]
fn both_forks_of_matrices_and_their_quirks_are_read() {
    let imported = text(
        "Connections 3\r\nNodes 9\r\n0->1 start 40 size 10 addon\r\n1->2\tid 1 msg 3 start 0.000 size 0 prio 3\r\n# end\r\n2->3 msg start 1 size 1\r\n",
    );
    let found: Vec<_> = flows(&imported).iter().map(|flow| (flow.start.0, flow.size)).collect();
    assert_eq!(found, [(0, FlowSpec::UNLIMITED), (1, 1), (40, 10)]);
    for notice in ["CR LF", "tabs", "comments between", "`prio`", "`msg`", "`addon`", "picoseconds"] {
        assert!(says(&imported, notice), "{notice}: {:?}", imported.notices);
    }
    let options = ImportOptions { start_unit: Time::from_us(1), ..ImportOptions::default() };
    let imported = read_with(&[("old.cm", b"Nodes 2\nConnections 1\n0->1 start 40 size 1\n")], &options);
    assert_eq!(flows(&imported.expect("it is right"))[0].start, Time::from_us(40));
}

#[test]
fn starts_are_rounded_as_htsim_rounds_them() {
    let imported = text("Nodes 2\nConnections 1\n0->1 start 16777217 size 1\n");
    assert_eq!(flows(&imported)[0].start, Time(16_777_216));
}

#[test]
fn a_fat_tree_of_two_tiers_becomes_leaves_and_spines() {
    let imported = text(FAT_TREE);
    let topology = &imported.network.as_ref().expect("a network").topology;
    assert_eq!((topology.hosts.len(), topology.switches.len(), topology.links.len()), (64, 8, 80));
    assert!(says(&imported, "4 leaves, 4 spines"));
    assert_eq!((topology.links[0].delay, topology.links[79].delay), (Time::from_ns(500), Time::from_us(1)));
}

#[test]
fn the_latency_of_a_switch_is_divided_among_its_cables() {
    let text_ = FAT_TREE
        .replace("Tier 0\n", "Tier 0\nSwitch_Latency_ns 300\n")
        .replace("Tier 1\n", "tier 1\nSwitch_Latency_ns 100\nQueue_Down 5\n");
    let imported = text(&text_);
    let topology = &imported.network.as_ref().expect("a network").topology;
    assert_eq!(
        (topology.links[0].delay, topology.links[79].delay),
        (Time::from_ns(650), Time::from_ns(1_200))
    );
    assert!(says(&imported, "Queue_Down"));
}

#[test]
fn a_fat_tree_of_three_tiers_is_connected() {
    let text_ = "# K = 4\nNodes 16\nTiers 3\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n\
                 Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\n";
    let topology = text(text_).network.expect("a network").topology;
    assert_eq!((topology.hosts.len(), topology.switches.len(), topology.links.len()), (16, 20, 48));
    assert_eq!(topology.problems(), []);
    assert_eq!(topology.ports_of(19).len(), 4);
}

#[test]
fn sends_and_receives_of_goal_become_transfers() {
    let imported = text(GOAL);
    let schedule = schedule(&imported);
    assert_eq!((imported.hosts, schedule.len(), schedule.depth()), (2, 4, 3));
    assert!(says(&imported, "2 ranks, 1 sends, 1 receives, 2 computations, 2 dependencies"));
}

#[test]
fn comments_wildcards_and_cards_of_goal_are_read() {
    let text_ = "// two\nnum_ranks 2\n/* many\nlines */ rank 0 {\nsend 5 b to 3 tag 4\n/* here */ send 6b to 2 tag 5 nic 1\n}\n\
                 rank 1 {\na: recv 6b from -1 tag 5\nb: recv 5b from 0 tag -1\na: calc 5\n}\n";
    let options = ImportOptions { nics_per_rank: 2, ..ImportOptions::default() };
    let imported = read_with(&[("own.goal", text_.as_bytes())], &options).expect("it is right");
    assert_eq!(transfers(schedule(&imported)).len(), 2);
    for notice in ["from any rank or with any tag", "2 network cards per rank", "defined twice", "`nic`"] {
        assert!(says(&imported, notice), "{notice}: {:?}", imported.notices);
    }
}

#[test]
fn layers_become_computations_and_collectives() {
    let imported = text(LAYERS);
    let schedule = schedule(&imported);
    // Two tensor groups of two ranks have 2·(2 − 1) steps each. Two data groups of two ranks have
    // one step each.
    assert_eq!((imported.hosts, transfers(schedule).len()), (4, 2 * 4 + 2 * 2));
    assert!(says(&imported, "1 all_gather in data groups"));
    let data: Vec<_> = transfers(schedule)
        .into_iter()
        .filter(|one| one.bytes == 524_288)
        .map(|one| (one.src, one.dst))
        .collect();
    assert_eq!(data, [(0, 2), (2, 0), (1, 3), (3, 1)]);
    let old = text("MICRO\n1\nall -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1048576 1\n");
    assert_eq!((old.hosts, transfers(self::schedule(&old)).len()), (8, 8 * 14));
}

#[test]
fn topology_and_flows_of_hpcc_become_a_network_with_hosts() {
    let imported = read(&[("topology.txt", TOPOLOGY.as_bytes()), ("flow.txt", FLOWS.as_bytes())])
        .expect("they are right");
    let network = imported.network.as_ref().expect("a network");
    assert_eq!(network.numbers, [0, 1, 3]);
    assert_eq!(network.topology.hosts, ["h0", "h1", "h3"]);
    assert_eq!(network.topology.links[1].rate_ab, BitRate::gbps(25));
    let found: Vec<_> = flows(&imported).iter().map(|flow| (flow.src, flow.dst, flow.size)).collect();
    assert_eq!(found, [(2, 1, FlowSpec::UNLIMITED), (0, 1, 2_000)]);
    for notice in ["loss probability", "announced links", "announced flows", "do not ascend", "endless"] {
        assert!(says(&imported, notice), "{notice}: {:?}", imported.notices);
    }
}

#[test]
fn other_files_are_recognised_by_their_content() {
    for (content, wanted) in [
        ("3\n0 1 2\n", Format::HpccTrace),
        (
            "ENABLE_QCN 1\nKMAX_MAP 2 100 400 200 800\nCC_MODE 3\n{a comment}\nBUFFER_SIZE 32\n",
            Format::HpccConfig,
        ),
        ("0b000101 0b000201 10000 100 1000 2000000000 5000 4000\n", Format::HpccFct),
        ("2000001000 5 1 3 1\n2000002000 5 1 3 0\n", Format::HpccPfc),
        ("0 0\n1000 50\n2000 100\n", Format::Cdf),
        ("1 0\n1000 0.5\n2000 1\n", Format::Cdf),
        ("1\n0.5\n0.5\n0.25\n", Format::Alphas),
        (
            "9 2 1 1 9 A100\n6\n7\n0 6 2400Gbps 0.000025ms 0\n1 6 2400Gbps 0.000025ms 0\n0 7 100Gbps 1us 0\n1 7 100Gbps 1us 0\n\
          2 7 100Gbps 1us 0\n3 7 100Gbps 1us 0\n4 7 100Gbps 1us 0\n5 7 100Gbps 1us 0\n8 7 100Gbps 1us 0\n",
            Format::SimaiTopology,
        ),
    ] {
        assert_eq!(format(&text(content)), wanted, "{content}");
    }
    assert!(says(&text("ENABLE_QCN 1\nCC_MODE 3\n"), "congestion control HPCC"));
}

/// A Chakra trace with a computation, followed by a message to or from the other rank.
pub(crate) fn trace(rank: u8) -> Vec<u8> {
    let attribute = |name: &str, field: u8, value: u8| {
        let mut bytes = vec![0x0a, name.len() as u8];
        bytes.extend(name.bytes());
        bytes.extend([field << 3, value]);
        bytes
    };
    let node = |id: u8, kind: u8, parents: &[u8], attributes: &[Vec<u8>]| {
        let mut bytes = vec![0x08, id, 0x18, kind, 0x38, 5];
        bytes.extend([0x2a, parents.len() as u8]);
        bytes.extend(parents);
        for attribute in attributes {
            bytes.extend([0x52, attribute.len() as u8]);
            bytes.extend(attribute);
        }
        bytes
    };
    let (kind, peer) = if rank == 0 { (5, "comm_dst") } else { (6, "comm_src") };
    let message = [attribute(peer, 9, 1 - rank), attribute("comm_size", 9, 100)];
    let messages = [
        vec![0x0a, 5, b'0', b'.', b'0', b'.', b'4'],
        node(1, kind, &[0, 9], &message),
        node(0, 4, &[], &[attribute("is_cpu_op", 13, 0)]),
        node(2, 7, &[1], &[attribute("comm_size", 9, 64)]),
    ];
    messages.iter().flat_map(|message| [&[message.len() as u8][..], message].concat()).collect()
}

#[test]
fn chakra_traces_of_all_ranks_become_one_schedule() {
    let groups = br#"{"0": [0, 1]}"#;
    let (first, second) = (trace(0), trace(1));
    let imported =
        read(&[("own.0.et", &first), ("own.1.et", &second), ("own.json", groups)]).expect("they are right");
    assert!(
        says(&imported, "2 ranks, 6 nodes: 1 sends, 1 receives, 2 collectives, 2 computations"),
        "{:?}",
        imported.notices
    );
    assert!(says(&imported, "2 dependencies name nodes that no file has"));
    assert_eq!(transfers(schedule(&imported)).len(), 1 + 2 * 2);
    let mut packed = flate2_of(&first);
    assert_eq!(
        format(&read(&[("own.1.et", &second), ("own.0.et", &packed)]).expect("it is gzipped")),
        Format::Chakra
    );
    packed.truncate(packed.len() - 9);
    assert!(read(&[("own.0.et", &packed)]).expect_err("it is damaged").to_string().contains("gzip"));
}

fn flate2_of(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::read::GzEncoder::new(content, flate2::Compression::default());
    let mut packed = Vec::new();
    std::io::Read::read_to_end(&mut encoder, &mut packed).expect("a vector takes everything");
    packed
}

#[test]
fn chakra_in_json_is_read() {
    let json = r#"{"workload_graph": [
        {"Id": 1, "Name": "a", "NodeType": 4, "runtime": 7, "is_cpu_op": false, "ctrlDeps": [], "data_deps": []},
        {"Id": 2, "Name": "b", "NodeType": 7, "comm_type": 0, "comm_size": 64, "ctrlDeps": [1]}]}"#;
    let imported = text(json);
    assert_eq!(format(&imported), Format::ChakraJson);
    assert_eq!(schedule(&imported).depth(), 1);
}

#[test]
fn control_dependencies_that_contradict_data_are_left_out() {
    let json = r#"{"workload_graph": [
        {"Id": 1, "NodeType": 4, "runtime": 7, "ctrlDeps": [2], "data_deps": []},
        {"Id": 2, "NodeType": 4, "runtime": 7, "ctrlDeps": [], "data_deps": [1]}]}"#;
    let imported = text(json);
    assert!(says(&imported, "control dependencies contradict data dependencies (2 nodes would never start)"));
    assert_eq!(schedule(&imported).depth(), 2);
}

#[test]
fn a_schedule_becomes_a_workload_of_messages_without_a_handshake() {
    let goal = "num_ranks 2\nrank 0 {\nl1: send 100b to 1\n}\nrank 1 {\nl1: recv 100b from 0\n}\n";
    let scenario = scenario_text(&text(goal), "own", "own.csv").expect("it has traffic");
    assert!(scenario.contains("kind = \"schedule\"\nfile = \"own.csv\"\n"), "{scenario}");
    assert!(scenario.contains("kind = \"rdma\"") && !scenario.contains("scale_up"), "{scenario}");
}

#[test]
fn ranks_of_layers_share_servers_that_do_not_count_in_the_least_time() {
    let layers = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 \
                  checkpoints: 0 checkpoint_initiates: 0\n1\n\
                  layer -1 1000 ALLREDUCE 2500000 0 NONE 0 0 NONE 0 0\n";
    let options = ImportOptions { ranks_per_server: 2, ..ImportOptions::default() };
    let imported = read_with(&[("file", layers.as_bytes())], &options).expect("it is read");
    let scenario = scenario_text(&imported, "own", "own.csv").expect("it has traffic");
    assert!(scenario.contains("ranks_per_server = 2\nscale_up_rate = \"2.4 Tb/s\"\n"), "{scenario}");
    // The duration of the schedule is 1 us of computation, and two steps of 1.25 MB at 2.4 Tb/s.
    assert!(scenario.contains("duration = \"9.334 us\""), "{scenario}");
}

#[test]
fn files_of_hpcc_become_a_lossless_scenario_with_the_switch_of_its_simulator() {
    let network = "4 1 3\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n3 2 100Gbps 1us 0\n";
    let imported = read(&[("topology.txt", network.as_bytes()), ("flow.txt", FLOWS.as_bytes())])
        .expect("they are right");
    let scenario = scenario_text(&imported, "own", "own.csv").expect("it has traffic");
    for words in [
        "buffer = \"16.777216 MB\"",
        "alpha = 0.125, headroom = \"37.5 KB\", reserved = \"4.096 KB\", xon_offset = \"3.072 KB\"",
        "pfc = { priorities = [3] }",
        "kmin = \"400 KB\", kmax = \"1.6 MB\", pmax = 0.2",
        "kind = \"rdma\"\ncongestion_control = \"dcqcn\"\ndata_priority = 3\n",
    ] {
        assert!(scenario.contains(words), "{words}: {scenario}");
    }
    assert!(says(&imported, "no config.txt"), "{:?}", imported.notices);
}

#[test]
fn a_congestion_control_of_hpcc_without_a_counterpart_is_named() {
    let scenario = |mode: u32| {
        let config = format!(
            "ENABLE_QCN 1\nCC_MODE {mode}\nBUFFER_SIZE 32\nU_TARGET 0.9\nRATE_AI 50Mb/s\nRP_TIMER 900\n\
             KMIN_MAP 2 25000000000 100 100000000000 300\nHAS_WIN 1\n"
        );
        let files = [("flow.txt", FLOWS.as_bytes()), ("config.txt", config.as_bytes())];
        let imported = read(&files).expect("they are right");
        let text = scenario_text(&imported, "own", "own.csv").expect("it has traffic");
        (text, imported)
    };
    for (mode, control, notice) in [
        (
            1,
            "{ name = \"dcqcn\", reaction = \"timer\", increase_interval = \"900 us\", additive_increase = \"50 Mb/s\" }",
            "HAS_WIN 1",
        ),
        (3, "{ name = \"hpcc\", utilisation = 0.9 }", "utilisation of hpcc: 0.9"),
        (7, "{ name = \"timely\", increment = \"50 Mb/s\" }", "congestion control TIMELY"),
        (8, "\"dctcp\"", "CC_MODE 8 (DCTCP): as TCP"),
        (10, "{ name = \"hpcc\", utilisation = 0.9 }", "HPCC-PINT) has no counterpart"),
        (99, "\"dcqcn\"", "CC_MODE 99 has no counterpart"),
    ] {
        let (text, imported) = scenario(mode);
        assert!(text.contains(control), "{mode}: {text}");
        assert!(text.contains("buffer = \"33.554432 MB\""), "{text}");
        assert_eq!(text.contains("kmin = \"300 KB\""), ![3, 7, 10].contains(&mode), "{mode}: {text}");
        assert_eq!(text.contains("kind = \"rdma\""), mode != 8, "{mode}: {text}");
        assert!(says(&imported, notice), "{mode}: {:?}", imported.notices);
    }
}

pub(crate) const MSCCLANG: &str = "\
<algo name=\"own\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"allreduce\" inplace=\"1\">
  <gpu id=\"0\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"0\">
    <tb id=\"0\" send=\"1\" recv=\"1\" chan=\"0\">
      <step s=\"0\" type=\"s\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>
      <step s=\"1\" type=\"rrcs\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>
      <step s=\"2\" type=\"r\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>
    </tb>
  </gpu>
  <gpu id=\"1\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"0\"><tb id=\"0\" send=\"0\" recv=\"0\" chan=\"0\"><step s=\"0\" type=\"s\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>
      <step s=\"1\" type=\"rrc\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"1\"/>
    </tb>
    <tb id=\"1\" send=\"0\" recv=\"-1\" chan=\"1\"><step s=\"0\" type=\"nop\" cnt=\"1\" depid=\"0\" deps=\"1\" hasdep=\"0\"/></tb>
    <tb id=\"2\" send=\"-1\" recv=\"0\" chan=\"0\"><step s=\"0\" type=\"r\" cnt=\"1\" depid=\"1\" deps=\"0\" hasdep=\"0\"/></tb>
    <tb id=\"3\" send=\"0\" recv=\"-1\" chan=\"0\"><step s=\"0\" type=\"s\" cnt=\"2\" depid=\"1\" deps=\"0\" hasdep=\"0\"/></tb>
  </gpu>
</algo>
";

#[test]
fn steps_of_an_msccl_algorithm_become_transfers() {
    let options = ImportOptions { collective_bytes: 1_000, ..ImportOptions::default() };
    let imported = read_with(&[("own.xml", MSCCLANG.as_bytes())], &options).expect("it is right");
    assert_eq!(format(&imported), Format::Mscclang);
    let schedule = schedule(&imported);
    let found: Vec<_> = transfers(schedule).iter().map(|one| (one.src, one.dst, one.bytes)).collect();
    assert_eq!(found, [(0, 1, 500), (0, 1, 500), (1, 0, 500), (1, 0, 1_000)]);
    assert!(says(&imported, "allreduce on 2 GPUs: 5 thread blocks, 8 steps, 4 transfers"));
    assert!(says(&imported, "1000 B in 2 chunks"));
}

/// Builds a tar archive that contains the given files.
pub(crate) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in files {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = b'0';
        header[257..262].copy_from_slice(b"ustar");
        bytes.extend(header);
        bytes.extend(*content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.extend([0; 1_024]);
    bytes
}

#[test]
fn traces_in_an_archive_are_read_together() {
    let (first, second) = (trace(0), trace(1));
    let content = archive(&[("x/own.0.et", &first), ("x/._own.0.et", b"macOS"), ("x/own.1.et", &second)]);
    for content in [content.clone(), flate2_of(&content)] {
        let imported = read(&[("own.tar.gz", &content)]).expect("they are right");
        assert!(says(&imported, "2 ranks, 6 nodes"), "{:?}", imported.notices);
    }
    let cut = read(&[("own.tar", &content[..700])]).expect_err("it is cut").to_string();
    assert!(cut.contains("damaged tar archive"), "{cut}");
    let same = archive(&[("a.0.et", &first), ("b.0.et", &first)]);
    assert!(
        read(&[("own.tar", &same)])
            .expect_err("two of rank 0")
            .to_string()
            .contains("second trace of rank 0")
    );
}
