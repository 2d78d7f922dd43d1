//! Schedules in the packet network: closed forms, errors, determinism.
//!
//! # Closed forms
//!
//! All ranks are hosts of one switch, with cables of rate r and delay d. A message of b bytes has
//! b/P packets with P bytes of payload and H bytes of headers, so w(b) = b·(P + H)/P bytes on the
//! wire. The sender's last bit leaves after w(b)/r. The last packet is then stored and forwarded
//! once, so its last bit arrives L = (P + H)/r + 2d later. These times are the closed forms of
//! [`ideal_time`] with w(S) for S and this L.
//!
//! The receiver acknowledges the last packet at once, with A bytes. The ACK leaves before the
//! message that waited for the packet, so every step of a chain except the first takes A/r more.
//! Two algorithms wait for an ACK to arrive, which takes 2·(A/r + d). The rotation of an all-to-all
//! waits after each step but the last. The root of a hierarchical broadcast waits before it sends
//! inside its server; with more than two servers, other ranks end later than the root.
//!
//! With an ACK per packet, every data packet may wait for one ACK at each of its two links, and the
//! first packet of a step for one more ACK. So the time is at most 1 + A/(P + H) times the closed
//! form, plus the time of two packets for every step.

use crate::support::{Lab, Rows, run, run_fast, star};
use bufferlab_metrics::NodeKind;
use bufferlab_schedule::{
    Algorithm, Collective, Network, Networks, Operation, ScheduleBuilder, expand, ideal_time,
};
use bufferlab_units::{BitRate, Time};

const RATE: BitRate = BitRate::gbps(100);
const DELAY: Time = Time::from_us(1);
/// Payload, headers and ACK of a packet (bytes).
const PAYLOAD: u64 = 1_000;
const HEADER: u64 = 64;
const ACK: u64 = 64;
/// Size of the collectives (bytes): 16 ranks with parts of 10 packets each.
const BYTES: u64 = 16 * 10 * PAYLOAD;
const SWITCH: &str = "buffer = \"200 MB\"\npolicy = \"cs\"";

/// Transport whose senders send whole messages at once. Receivers send an ACK after `ack_every`
/// packets, or never.
fn transport(ack_every: u64) -> String {
    format!(
        "congestion_control = \"newreno\"\ninitial_window = \"whole\"\nhandshake = false\n\
         segment_bytes = \"{PAYLOAD} B\"\nheader_bytes = \"{HEADER} B\"\nack_bytes = \"{ACK} B\"\n\
         ack_every = {ack_every}\ndelayed_ack_timeout = \"500 ms\"\nmin_rto = \"2 s\"\ninitial_rto = \"2 s\""
    )
}

/// Transport of queue pairs, with one ACK per packet.
fn rdma() -> String {
    format!(
        "kind = \"rdma\"\ncongestion_control = \"dcqcn\"\nsegment_bytes = \"{PAYLOAD} B\"\n\
         header_bytes = \"{HEADER} B\"\nack_bytes = \"{ACK} B\""
    )
}

fn lab(hosts: u32, transport: &str) -> Lab {
    Lab::new(&star(hosts, "100 Gb/s", "1 us"), SWITCH, transport)
        .times("1 us", "1 s")
        .more("[host]\nnic = \"fifo\"")
}

/// Workload table of a scenario that executes the given collective.
fn workload(collective: &Collective<'_>, more: &str) -> String {
    let Collective { operation, algorithm, bytes, chunks, channels, ranks_per_server, .. } = *collective;
    format!(
        "[[workload]]\nkind = \"collective\"\noperation = \"{operation}\"\nalgorithm = \"{algorithm}\"\n\
         size = \"{bytes} B\"\nchunks = {chunks}\nchannels = {channels}\nranks_per_server = {ranks_per_server}\n{more}"
    )
}

/// Time at which the last schedule node ends (ps).
fn end(rows: &Rows) -> u64 {
    let ends = rows.schedule.iter().map(|row| row.end_ps.expect("every node ends"));
    ends.max().expect("some nodes")
}

/// Bytes on the wire of a message with `bytes` of payload.
fn wire(bytes: u64) -> u64 {
    bytes / PAYLOAD * (PAYLOAD + HEADER)
}

/// Network model for the closed forms: messages have [`wire`] bytes.
fn network() -> Network {
    let latency = Time(RATE.serialization(PAYLOAD + HEADER).0 + 2 * DELAY.0);
    Network { latency, rate: RATE }
}

/// Time of an ACK on one cable, and from the receiver to the sender (ps).
fn ack_times() -> (u64, u64) {
    let one = RATE.serialization(ACK).0;
    (one, 2 * (one + DELAY.0))
}

/// Number of transfers in the longest chain of dependent transfers of a collective.
fn depth(collective: &Collective<'_>) -> u64 {
    let mut builder = ScheduleBuilder::new(collective.n());
    builder.class("collective").expect("one class");
    expand(&mut builder, collective, &[]).expect("it can be expanded");
    u64::from(builder.build().expect("no circle").depth())
}

/// Closed form of a collective's time with one ACK for the last packet of each message (ps).
fn exact(collective: &Collective<'_>) -> u64 {
    let ((ack, arrival), n) = (ack_times(), u64::from(collective.n()));
    let waits = match (collective.algorithm, collective.operation) {
        (Algorithm::Ring, Operation::AllToAll) => (n - 2) * arrival,
        (Algorithm::Hierarchical, Operation::Broadcast)
            if collective.n() == 2 * collective.ranks_per_server =>
        {
            arrival
        }
        _ => (depth(collective) - 1) * ack,
    };
    form(collective, network()) + waits
}

/// Closed form of a collective's time without ACKs (ps).
fn form(collective: &Collective<'_>, inside: Network) -> u64 {
    let networks = Networks { inside, across: network() };
    ideal_time(&Collective { bytes: wire(collective.bytes), ..*collective }, &networks).expect("a form").0
}

/// Every collective operation among `group` with every algorithm for this operation, in servers of
/// 2 ranks.
fn every(group: &[u32]) -> Vec<Collective<'_>> {
    let mut all = Vec::new();
    for operation in Operation::ALL {
        for algorithm in Algorithm::ALL {
            let collective = Collective::new(operation, algorithm, BYTES, group);
            let servers = if algorithm == Algorithm::Hierarchical { 2 } else { 1 };
            let collective = Collective { ranks_per_server: servers, ..collective };
            if collective.check().is_ok() && (servers == 1 || group.len() > 2) {
                all.push(collective);
            }
        }
    }
    all
}

#[test]
fn expansions_take_their_closed_forms_to_the_picosecond() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for n in [2, 4, 8, 16] {
        let group: Vec<u32> = (0..n).collect();
        for collective in every(&group) {
            // Receivers send an ACK only for the last packet of a message.
            let rows = run_fast(&lab(n, &transport(1_000)).workloads(&workload(&collective, "")));
            let expected = exact(&collective);
            if end(&rows) != expected {
                wrong.push(format!(
                    "{} {} of {n}: {} ps, expected {expected} ps",
                    collective.operation,
                    collective.algorithm,
                    end(&rows)
                ));
            }
            checked += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 70, "{checked}");
}

#[test]
fn chunks_of_a_ring_take_their_closed_form_and_at_most_the_acks() {
    for n in [2, 4, 8] {
        let group: Vec<u32> = (0..n).collect();
        for operation in [Operation::AllReduce, Operation::AllGather, Operation::Broadcast] {
            let ring = Collective::new(operation, Algorithm::Ring, BYTES, &group);
            let collective = Collective { chunks: 5, ..ring };
            let rows = run_fast(&lab(n, &transport(1_000)).workloads(&workload(&collective, "")));
            let least = form(&collective, network());
            let most = least + depth(&collective) * 5 * ack_times().0;
            assert!(
                (least..=most).contains(&end(&rows)),
                "{operation} of {n}: {} {least} {most}",
                end(&rows)
            );
        }
    }
}

#[test]
fn a_network_inside_servers_takes_its_rate_and_latency() {
    let inside = Network { latency: Time::from_ns(700), rate: BitRate::gbps(2_400) };
    let more = "scale_up_rate = \"2400 Gb/s\"\nscale_up_latency = \"700 ns\"";
    for operation in Operation::ALL {
        for servers in [2, 4, 8] {
            let group: Vec<u32> = (0..16).collect();
            let collective = Collective::new(operation, Algorithm::Hierarchical, BYTES, &group);
            let collective = Collective { ranks_per_server: servers, ..collective };
            if collective.check().is_err() {
                continue;
            }
            let rows = run_fast(&lab(16, &transport(1_000)).workloads(&workload(&collective, more)));
            // Transfers inside a server have no headers. So the closed form counts payload inside
            // servers and bytes on the wire between servers. Equivalently, the closed form counts
            // bytes on the wire everywhere, and the headers increase the rate inside servers.
            let wired = BitRate(inside.rate.0 * (PAYLOAD + HEADER) / PAYLOAD);
            let (ack, arrival) = ack_times();
            let others = u64::from(16 / servers - 1);
            let acks = match operation {
                Operation::AllReduce => (2 * others - 1) * ack,
                Operation::AllToAll => 0,
                Operation::Broadcast if others == 1 => arrival,
                _ => (others - 1) * ack,
            };
            let expected = form(&collective, Network { rate: wired, ..inside }) + acks;
            assert_eq!(end(&rows), expected, "{operation}, {servers}");
            let outside = rows.schedule.iter().filter(|row| row.flow_id.is_some());
            assert!(outside.clone().count() > 0);
            for row in outside {
                assert_ne!(row.rank / servers, row.peer_rank.expect("a transfer") / servers);
            }
        }
    }
}

#[test]
fn an_ack_per_packet_costs_its_bytes_and_two_packets_a_step() {
    for (transport, takes_turns) in [(transport(1), false), (rdma(), true)] {
        for n in [2, 4, 8] {
            let group: Vec<u32> = (0..n).collect();
            for collective in every(&group) {
                // Messages of queue pairs share a NIC in turns, so simultaneous messages end later
                // than successive messages.
                let is_serial = matches!(collective.algorithm, Algorithm::Ring | Algorithm::Direct)
                    || collective.operation == Operation::AllGather;
                if takes_turns && !is_serial {
                    continue;
                }
                let rows = run(&lab(n, &transport).workloads(&workload(&collective, "")));
                let packet = RATE.serialization(PAYLOAD + HEADER).0;
                // Number of steps of the collective. In a rotation, each step may also wait for an
                // ACK.
                let steps = u64::from(2 * (n - 1)) + 2;
                let form = form(&collective, network());
                let rotates =
                    collective.algorithm == Algorithm::Ring && collective.operation == Operation::AllToAll;
                let most = form + form * ACK / (PAYLOAD + HEADER) + 2 * packet * steps;
                let waits = rotates || collective.algorithm == Algorithm::Hierarchical;
                let most = most + if waits { ack_times().1 * steps } else { 0 };
                let what = format!("{} {} of {n}", collective.operation, collective.algorithm);
                assert!((form..=most).contains(&end(&rows)), "{what}: {}, {form} to {most}", end(&rows));
                assert_eq!(rows.switch_losses(), 0, "{what}");
            }
        }
    }
}

const CHAIN: &str = "node,kind,src,dst,size_bytes,duration_ns,start_ns,lane,class,after\n\
                     a,transfer,0,1,10000,,2000,,forward,\n\
                     b,compute,1,,,5000,,,,a\n\
                     b2,compute,1,,,3000,,,,a\n\
                     c,transfer,1,2,10000,,,,forward,b:done+500\n\
                     d,barrier,,,,,,,,c b2\n\
                     e,compute,2,,,1000,,,,d\n\
                     f,transfer,2,3,1000,,,,forward,a:started\n";

/// Loads a scenario in a folder with the file `schedule.csv`, which has the text `content`.
fn from_file(name: &str, content: &str, more: &str) -> Result<bufferlab_scenario::Scenario, String> {
    let folder = std::env::temp_dir().join(format!("bufferlab-schedules-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("schedule.csv"), content).expect("it is written");
    let text = format!(
        "duration = \"1 us\"\ndrain = \"1 s\"\n[topology]\n{}\n[switch]\n{SWITCH}\n[[transport]]\n{}\n\
         [[workload]]\nkind = \"schedule\"\n{more}",
        star(4, "100 Gb/s", "1 us"),
        transport(1_000)
    );
    let loaded = bufferlab_scenario::load_text(&folder.join("test.toml"), &text, &[]);
    std::fs::remove_dir_all(&folder).expect("it was there");
    loaded.map(|loaded| loaded.scenario).map_err(|error| error.to_string())
}

#[test]
fn a_file_runs_as_its_dependencies_state() {
    let scenario =
        from_file("chain", CHAIN, "file = \"schedule.csv\"").unwrap_or_else(|error| panic!("{error}"));
    let rows = run_fast(&scenario);
    let ten = RATE.serialization(wire(10_000)).0 + network().latency.0;
    let times: std::collections::BTreeMap<u32, (u64, u64)> = rows
        .schedule
        .iter()
        .map(|row| (row.node, (row.start_ps.expect("begun"), row.end_ps.expect("done"))))
        .collect();
    let us = 1_000_000;
    let a = 2 * us + ten;
    let b = a + 5 * us;
    let c = b + us / 2 + ten;
    assert_eq!(times[&0], (2 * us, a));
    assert_eq!(times[&1], (a, b));
    // One processor executes both computations, so the second computation waits.
    assert_eq!(times[&2], (b, b + 3 * us));
    assert_eq!(times[&3], (b + us / 2, c));
    assert!(!times.contains_key(&4), "a barrier has no row");
    assert_eq!(times[&5], (c, c + us));
    assert_eq!(times[&6].0, 2 * us);
    let waited: Vec<_> = rows.schedule.iter().filter(|row| row.node == 3).map(|row| row.after_node).collect();
    assert_eq!(waited, [Some(1)]);
    assert_eq!(rows.schedule.iter().filter(|row| row.kind == NodeKind::Compute).count(), 3);
    assert_eq!(rows.flows.iter().map(|flow| flow.size_bytes).sum::<u64>(), 21_000);
}

#[test]
fn the_critical_path_names_the_event_that_each_node_waited_for() {
    let scenario =
        from_file("path", CHAIN, "file = \"schedule.csv\"").unwrap_or_else(|error| panic!("{error}"));
    let rows = run_fast(&scenario);
    // Node 4 is a barrier. Node 2 ends before node 3.
    let path: Vec<_> = rows.path.iter().map(|row| (row.node, row.waited_for.name())).collect();
    assert_eq!(path, [(0, "start"), (1, "node"), (3, "node"), (5, "node")]);
    let last = rows.schedule.iter().find(|row| row.node == 5).expect("node 5 ends");
    assert_eq!(last.after_node, Some(3), "the barrier passes on the event that opened it");
    // A longer second computation on the same processor is critical.
    let long = CHAIN.replace("b2,compute,1,,,3000", "b2,compute,1,,,30000");
    let rows = run_fast(&from_file("busy", &long, "file = \"schedule.csv\"").expect("a schedule"));
    let path: Vec<_> = rows.path.iter().map(|row| (row.node, row.waited_for.name())).collect();
    assert_eq!(path, [(0, "start"), (1, "node"), (2, "processor"), (5, "node")]);
    let sum: u64 = rows.path.iter().map(|row| row.critical_ps).sum();
    assert_eq!(sum + 2_000_000, end(&rows), "the path starts at 2 us");
    for rank in &rows.ranks {
        assert_eq!(rank.compute_ps + rank.exposed_ps + rank.idle_ps, end(&rows));
    }
    let computing: Vec<_> = rows.ranks.iter().map(|rank| rank.compute_ps / 1_000_000).collect();
    assert_eq!(computing, [0, 35, 1, 0]);
}

#[test]
fn every_collective_has_its_bandwidths_and_a_path_as_long_as_its_time() {
    let group: Vec<u32> = (0..8).collect();
    let more = "iterations = 2\nscale_up_rate = \"2400 Gb/s\"\nscale_up_latency = \"700 ns\"";
    for collective in every(&group) {
        let rows = run(&lab(8, &transport(1_000)).workloads(&workload(&collective, more)));
        let what = format!("{} {}", collective.operation, collective.algorithm);
        assert_eq!(rows.collectives.len(), 2, "{what}");
        for row in &rows.collectives {
            let of = |row_iteration: u32| row_iteration == row.iteration;
            let path = rows.path.iter().filter(|step| of(step.iteration));
            assert_eq!(path.map(|step| step.critical_ps).sum::<u64>(), row.end_ps - row.start_ps, "{what}");
            let seconds = (row.end_ps - row.start_ps) as f64 * 1e-12;
            let factor = match collective.operation {
                Operation::AllReduce => 2.0 * 7.0 / 8.0,
                Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => 7.0 / 8.0,
                Operation::Broadcast | Operation::Pipeline => 1.0,
            };
            let bus = factor * BYTES as f64 * 8.0 / seconds;
            assert!((bus - row.bus_bps as f64).abs() <= 1.0 + bus * 1e-9, "{what}: {bus} {}", row.bus_bps);
            assert_eq!((row.operation, row.ranks), (collective.operation.name(), 8));
        }
    }
}

#[test]
fn the_end_of_a_run_leaves_rows_without_an_end() {
    let long = CHAIN.replace("b,compute,1,,,5000", "b,compute,1,,,5000000000");
    let scenario =
        from_file("long", &long, "file = \"schedule.csv\"").unwrap_or_else(|error| panic!("{error}"));
    let rows = run_fast(&scenario);
    let open: Vec<_> = rows.schedule.iter().filter(|row| row.end_ps.is_none()).collect();
    // Two nodes are unfinished: the current computation, and the computation that waits for its
    // processor.
    assert_eq!(open.iter().map(|row| row.node).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((open[0].start_ps.is_some(), open[1].start_ps), (true, None));
}

#[test]
fn executions_follow_each_other() {
    let group = [0, 1, 2, 3];
    let ring = Collective::new(Operation::AllReduce, Algorithm::Ring, BYTES, &group);
    let more = "start = \"3 us\"\niterations = 3\npause = \"10 us\"";
    let rows = run_fast(&lab(4, &transport(1_000)).workloads(&workload(&ring, more)));
    let one = exact(&ring);
    for iteration in 0..3 {
        let of = rows.schedule.iter().filter(|row| row.iteration == iteration);
        let first = of.clone().filter_map(|row| row.start_ps).min().expect("begun");
        let last = of.filter_map(|row| row.end_ps).max().expect("done");
        // Only the first execution of the schedule waits for the start time.
        let begin = 3_000_000 + u64::from(iteration) * (one + 10_000_000);
        assert_eq!((first, last), (begin, begin + one), "execution {iteration}");
    }
}

#[test]
fn a_lossy_network_gives_the_same_rows_again_and_ends_every_node() {
    let switch = "buffer = \"60 KB\"\npolicy = \"dt\"\necn = { kind = \"step\", threshold = \"20 KB\" }";
    let transport = "congestion_control = \"dctcp\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"";
    let lab = Lab::new(&star(8, "100 Gb/s", "1 us"), switch, transport).times("1 us", "1 s");
    let group: Vec<u32> = (0..8).collect();
    let direct = Collective::new(Operation::AllToAll, Algorithm::Direct, 8_000_000, &group);
    let tree = Collective { algorithm: Algorithm::Tree, operation: Operation::AllReduce, ..direct };
    let text = format!(
        "{}\n{}",
        workload(&direct, ""),
        workload(&tree, "iterations = 2").replace("size", "class = \"tree\"\nsize")
    );
    let rows = run(&lab.workloads(&text));
    assert!(rows.switch_losses() > 0, "the pool is too small for this");
    assert_eq!(rows.schedule.len(), 56 + 2 * 14);
    assert!(end(&rows) > 0 && rows.all_finished());
    assert!(rows == run(&lab.workloads(&text)), "two runs differ");
}

#[test]
fn mistakes_in_keys_and_files_are_refused_with_their_reason() {
    let file = "file = \"schedule.csv\"";
    let refused = |name: &str, content: &str, more: &str| match from_file(name, content, more) {
        Ok(_) => panic!("{name} is accepted"),
        Err(error) => error,
    };
    let says = |error: String, parts: &[&str]| {
        for part in parts {
            assert!(error.contains(part), "{part} is missing in: {error}");
        }
    };
    says(refused("missing", CHAIN, "file = \"other.csv\""), &["other.csv"]);
    says(refused("rank", &CHAIN.replace("1,2,10000", "1,9,10000"), file), &["rank 9", "ranks are 0 to 3"]);
    says(refused("few", CHAIN, "file = \"schedule.csv\"\nhosts = [\"h0\", \"h1\"]"), &["rank 2"]);
    says(refused("unknown", CHAIN, "file = \"schedule.csv\"\nhosts = [\"x\"]"), &["no host \"x\""]);
    // The error about a deadlock names the nodes that wait for each other, and counts the nodes
    // that depend on these nodes.
    let circle = CHAIN.replace("5000,,,,a\n", "5000,,,,e\n");
    says(refused("circle", &circle, file), &["b → e", "wait for each other and never start"]);
    says(refused("unreachable", &CHAIN.replace(",b:done+500", ",nobody"), file), &["nobody"]);
    says(refused("itself", &CHAIN.replace("2,3,1000", "3,3,1000"), file), &["itself"]);
    let collective = |more: &str| {
        let text = format!(
            "duration = \"1 us\"\n[topology]\n{}\n[switch]\n{SWITCH}\n[[transport]]\n{}\n[[workload]]\n\
             kind = \"collective\"\noperation = \"all_reduce\"\n{more}",
            star(6, "100 Gb/s", "1 us"),
            transport(1)
        );
        match bufferlab_scenario::load_text(std::path::Path::new("test.toml"), &text, &[]) {
            Ok(_) => panic!("{more} is accepted"),
            Err(error) => error.to_string(),
        }
    };
    says(collective("size = \"1 MB\"\nalgorithm = \"halving_doubling\""), &["power of two", "6 ranks"]);
    says(collective("size = \"1 MB\"\nalgorithm = \"spiral\""), &["spiral"]);
    says(
        collective("size = \"1 MB\"\nalgorithm = \"hierarchical\"\nranks_per_server = 4"),
        &["servers of 4"],
    );
    says(collective("algorithm = \"ring\""), &["size"]);
    says(collective("size = \"1 MB\"\nchunks = 0"), &["chunks"]);
}

#[test]
fn servers_of_a_scale_up_network_use_the_rail_of_the_destination() {
    let topology = "kind = \"scale_up\"\nservers = 4\ngpus_per_server = 4\nservers_per_leaf = 2\nspines = 2\n\
                    scale_up_rate = \"2400 Gb/s\"\nscale_up_delay = \"500 ns\"\nnic_rate = \"100 Gb/s\"\n\
                    delay = \"1 us\"";
    let lab =
        Lab::new(topology, SWITCH, &transport(1_000)).times("1 us", "1 s").more("[host]\nnic = \"fifo\"");
    let group: Vec<u32> = (0..16).collect();
    let direct = Collective::new(Operation::AllToAll, Algorithm::Direct, BYTES, &group);
    let rows = run(&lab.workloads(&workload(&direct, "")));
    assert_eq!(rows.schedule.len(), 16 * 15);
    for server in 0..4 {
        for rail in 0..4 {
            let leaf = format!("rail{rail}_{}", server / 2);
            let link = rows.links_between(&leaf, &format!("server{server}"))[0];
            // A GPU receives a part from every GPU in three other servers, over the GPU's own rail.
            let data = 12 * wire(BYTES / 16);
            let acks = 12 * 4 * ACK;
            assert!((data..=data + acks).contains(&link.tx_bytes), "{leaf}: {} {data}", link.tx_bytes);
        }
    }
    // GPUs of one rail and two servers of one leaf use no spine; other servers are behind a spine.
    let up: u64 =
        rows.links.iter().filter(|link| link.to.starts_with("spine")).map(|link| link.tx_bytes).sum();
    let data = 16 * 8 * wire(BYTES / 16);
    assert!((data..=data + 16 * 8 * 4 * ACK).contains(&up), "{up} {data}");
}
