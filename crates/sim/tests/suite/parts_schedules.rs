//! Tests that runs with schedules on several threads give the rows of a run on one thread.

use crate::parts::same_on_all;
use crate::support::{Lab, Rows};
use bufferlab_scenario::{Scenario, load, load_text};
use bufferlab_schedule::{Algorithm, Collective, Operation};
use bufferlab_sim::Simulation;
use bufferlab_units::Time;
use std::path::Path;

const LEAF_SPINE: &str = "kind = \"leaf_spine\"\nleaves = 4\nhosts_per_leaf = 4\nspines = 2\n\
                          host_rate = \"100 Gb/s\"\ndelay = \"1 us\"";
/// Network of servers whose ranks are on different leaves.
const RAIL: &str =
    "kind = \"rail\"\nservers = 4\nrails = 4\nspines = 2\nhost_rate = \"100 Gb/s\"\ndelay = \"1 us\"";
const LOSSY: &str = "buffer = \"100 KB\"\nqueues_per_port = 2\npolicy = \"dt\"\n\
                     ecn = { kind = \"step\", threshold = \"20 KB\" }";
const TCP: &str = "congestion_control = \"dctcp\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"";
const LOSSLESS: &str = "buffer = \"2 MB\"\nqueues_per_port = 2\n\
                        policy = { name = \"sonic-dt\", alpha = [1.0, 0.03125], xon_offset = \"3 KB\" }\n\
                        ecn = { kind = \"red\", kmin = \"40 KB\", kmax = \"160 KB\", pmax = 0.2 }\n\
                        pfc = { priorities = [1] }";
const RDMA: &str = "kind = \"rdma\"\ncongestion_control = \"dcqcn\"\n\
                    segment_bytes = \"4096 B\"\nheader_bytes = \"64 B\"\ndata_priority = 1";
/// Storage and background traffic of the given transport.
fn storage(transport: &str) -> String {
    format!(
        "[[workload]]\nkind = \"incast\"\nclass = \"storage\"\ntransport = \"{transport}\"\n\
         request = \"64 KB\"\nfan_in = 4\nqueries_per_second_per_host = 4000.0\n\
         [[workload]]\nkind = \"poisson\"\nclass = \"background\"\ntransport = \"{transport}\"\n\
         sizes = \"20 KB\"\nload = 0.1\nload_of = \"host_links\"\npattern = \"all_to_all\""
    )
}

fn collective(operation: Operation, algorithm: Algorithm, more: &str) -> String {
    format!(
        "[[workload]]\nkind = \"collective\"\noperation = \"{operation}\"\nalgorithm = \"{algorithm}\"\n\
         size = \"1 MB\"\n{more}"
    )
}

fn has_paths(rows: &Rows) -> bool {
    !rows.path.is_empty() && !rows.ranks.is_empty() && !rows.collectives.is_empty()
}

#[test]
fn collectives_of_every_algorithm_beside_storage_in_a_lossy_network() {
    let group: Vec<u32> = (0..16).collect();
    let lab = Lab::new(LEAF_SPINE, LOSSY, TCP).times("300 us", "1 s");
    let mut checked = 0;
    for operation in Operation::ALL {
        for algorithm in Algorithm::ALL {
            let whole = Collective::new(operation, algorithm, 1_000_000, &group);
            let whole = Collective { ranks_per_server: 4, ..whole };
            if whole.check().is_err() {
                continue;
            }
            let chunks = if (Collective { chunks: 2, ..whole }).check().is_ok() { 2 } else { 1 };
            let more = format!("transport = \"t0\"\nchunks = {chunks}\nranks_per_server = 4");
            let what = format!("{operation} {algorithm}");
            let scenario =
                lab.workloads(&format!("{}\n{}", collective(operation, algorithm, &more), storage("t0")));
            let rows = same_on_all(&what, &scenario);
            assert!(has_paths(&rows) && rows.all_finished(), "{what}");
            checked += 1;
        }
    }
    assert!(checked >= 15, "{checked} collectives");
}

#[test]
fn servers_on_several_leaves_with_pauses_beside_storage() {
    for (operation, algorithm) in [
        (Operation::AllReduce, Algorithm::Hierarchical),
        (Operation::AllToAll, Algorithm::Direct),
        (Operation::AllReduce, Algorithm::Ring),
    ] {
        let more = "transport = \"t0\"\nranks_per_server = 4\nscale_up_rate = \"900 Gb/s\"\n\
                    scale_up_latency = \"50 ns\"\niterations = 3\npause = \"20 us\"";
        for seed in [1, 2] {
            let lab = Lab::new(RAIL, LOSSLESS, RDMA).transport(TCP).times("400 us", "1 s").seed(seed);
            let text = format!("{}\n{}", collective(operation, algorithm, more), storage("t1"));
            let what = format!("{operation} {algorithm}, seed {seed}");
            let rows = same_on_all(&what, &lab.workloads(&text));
            assert!(has_paths(&rows) && rows.all_finished(), "{what}");
            if algorithm == Algorithm::Direct {
                assert!(rows.pauses.iter().any(|row| row.received_pauses > 0), "{what}: no pause");
            }
        }
    }
}

#[test]
fn a_schedule_that_is_cut_and_starts_that_are_jittered() {
    let lab = Lab::new(LEAF_SPINE, LOSSY, TCP);
    let tree = collective(Operation::AllReduce, Algorithm::Tree, "transport = \"t0\"");
    let text = format!("{tree}\n{}", storage("t0"));
    let rows = same_on_all("cut", &lab.clone().times("40 us", "30 us").workloads(&text));
    assert!(rows.schedule.iter().any(|row| row.end_ps.is_none()) && !rows.all_finished());
    let calm = lab.times("200 us", "1 s").workloads(&text);
    same_on_all("jitter", &Scenario { start_jitter: Time::from_us(3), ..calm });
}

/// Reads a scenario of the repository and applies the given changes.
fn shipped(name: &str, changes: &[(&str, &str)]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let changes: Vec<_> =
        changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    load(&path, &changes).unwrap_or_else(|error| panic!("{error}")).scenario
}

#[test]
fn the_training_step_beside_storage() {
    let rows = same_on_all("training step", &shipped("training-step-storage.toml", &[]));
    assert!(has_paths_without_collectives(&rows) && rows.all_finished());
    assert!(rows.pauses.iter().any(|row| row.received_pauses > 0));
}

fn has_paths_without_collectives(rows: &Rows) -> bool {
    !rows.path.is_empty() && !rows.ranks.is_empty() && rows.schedule.len() > 100
}

/// Scenario with a schedule file of this text on 16 hosts of four leaves.
fn from_text(name: &str, content: &str) -> Scenario {
    let folder = std::env::temp_dir().join(format!("bufferlab-parts-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("schedule.csv"), content).expect("it is written");
    let text = format!(
        "duration = \"1 us\"\ndrain = \"1 s\"\n[topology]\n{LEAF_SPINE}\n[switch]\n{LOSSY}\n[[transport]]\n{TCP}\n\
         [[workload]]\nkind = \"schedule\"\nfile = \"schedule.csv\""
    );
    let loaded = load_text(&folder.join("test.toml"), &text, &[]);
    std::fs::remove_dir_all(&folder).expect("it was there");
    loaded.unwrap_or_else(|error| panic!("{error}")).scenario
}

#[test]
fn computations_delays_and_barriers_of_a_file() {
    let header = "node,kind,src,dst,size_bytes,duration_ns,start_ns,lane,class,after\n";
    let mut content = header.to_owned();
    for rank in 0..16 {
        let (next, far) = ((rank + 1) % 16, (rank + 5) % 16);
        content += &format!(
            "c{rank},compute,{rank},,,{},,,,\n\
             t{rank},transfer,{rank},{next},50000,,{},,,c{rank}\n\
             d{next},compute,{next},,,500,,,,t{rank}:received+300\n\
             b{next},barrier,,,,,,,,d{next} c{next}\n\
             u{rank},transfer,{rank},{far},70000,,,,,b{rank} t{rank}:sent\n",
            1000 + 10 * (rank % 3),
            rank * 7,
        );
    }
    let rows = same_on_all("file", &from_text("file", &content));
    assert_eq!(rows.schedule.len(), 4 * 16);
    assert!(rows.all_finished());
    // A barrier over all ranks needs no message, so the ranks cannot be in several shards.
    let all: Vec<String> = (0..16).map(|rank| format!("u{rank}")).collect();
    content += &format!("all,barrier,,,,,,,,{}\nlast,compute,9,,,1000,,,,all\n", all.join(" "));
    let scenario = from_text("all", &content);
    let reason = Simulation::new(&scenario).expect("it is built").needs_one_thread(&scenario);
    assert_eq!(reason, Some("ranks that wait for each other without a message between racks"));
}

#[test]
fn executions_without_a_pause_run_on_one_thread() {
    let lab = Lab::new(LEAF_SPINE, LOSSY, TCP).times("1 us", "1 s");
    let text = collective(Operation::AllReduce, Algorithm::Ring, "transport = \"t0\"\niterations = 2");
    let scenario = lab.workloads(&text);
    let reason = Simulation::new(&scenario).expect("it is built").needs_one_thread(&scenario);
    assert_eq!(reason, Some("executions of a schedule without a pause of a cable's delay between them"));
}
