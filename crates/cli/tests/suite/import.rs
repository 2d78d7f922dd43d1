//! Tests of `import`: files of other simulators become scenarios that run.

use crate::support::{Desk, text};
use std::io::Write;

const MATRIX: &str =
    "Nodes 4\nConnections 2\n0->1 id 1 start 0 size 65536\n2->1 id 2 start 5000000 size 65536\n";
const DEPENDENT: &str = "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 65536 recv_done_trigger 1\n\
                         1->2 id 2 trigger 1 size 65536\ntrigger id 1 oneshot\n";
const TOPOLOGY: &str = "4 1 3\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n3 2 100Gbps 1us 0\n";
const FLOWS: &str = "2\n0 1 3 100 20000 0.001\n3 1 3 100 1000000000000 0.001\n";
const FAT_TREE: &str = "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\n\
                        Oversubscribed 2\nDownlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\n\
                        Downlink_Latency_ns 1000\n";

#[test]
fn a_connection_matrix_becomes_a_scenario_that_runs() {
    let desk = Desk::new();
    desk.write("own.cm", MATRIX);
    let output = desk.output(&["import", "own.cm"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary = text(&output.stdout);
    assert!(summary.contains("own.cm: cm\n"), "{summary}");
    assert!(
        summary.contains("understood  4 nodes, 2 connections of 131.072 KB in all, 0 triggers"),
        "{summary}"
    );
    assert!(summary.contains("assumed     `start` is in picoseconds"), "{summary}");
    let told = text(&output.stderr);
    assert!(told.contains("next: bufferlab check ./own.toml"), "{told}");
    let checked = desk.succeed(&["check", "own.toml"]);
    assert!(checked.contains("4 hosts"), "{checked}");
    desk.succeed(&["run", "own.toml", "--out", "run"]);
}

#[test]
fn a_topology_and_its_flows_become_one_scenario() {
    let desk = Desk::new();
    desk.write("topology.txt", TOPOLOGY);
    desk.write("flow.txt", FLOWS);
    desk.succeed(&["import", "topology.txt", "flow.txt", "-o", "hpcc", "--name", "incast"]);
    let checked = desk.succeed(&["check", "hpcc/incast.toml"]);
    assert!(checked.contains("graph: 3 hosts, 1 switch, 3 cables"), "{checked}");
    desk.succeed(&["run", "hpcc/incast.toml", "--out", "run"]);
}

#[test]
fn a_fat_tree_alone_asks_for_traffic() {
    let desk = Desk::new();
    desk.write("own.topo", FAT_TREE);
    let output = desk.output(&["import", "own.topo"]);
    assert!(text(&output.stderr).contains("add a [[workload]] to it"), "{}", text(&output.stderr));
    let scenario = std::fs::read_to_string(desk.path("own.toml")).expect("it is written");
    let with_traffic =
        format!("{scenario}\n[[workload]]\nkind = \"poisson\"\nsizes = \"web_search\"\nload = 0.1\n");
    desk.write("own.toml", &with_traffic);
    assert!(desk.succeed(&["check", "own.toml"]).contains("8 hosts, 4 switches, 12 cables"));
}

#[test]
fn dependent_transfers_become_a_schedule_that_runs() {
    let desk = Desk::new();
    desk.write("own.cm", DEPENDENT);
    let output = desk.output(&["import", "own.cm"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("next: bufferlab run ./own.toml"), "{}", text(&output.stderr));
    let schedule = std::fs::read_to_string(desk.path("own-schedule.csv")).expect("it is written");
    assert!(schedule.starts_with("node,kind,src,dst,size_bytes,"), "{schedule}");
    assert!(schedule.contains("1,transfer,1,2,65536,,,,flow,0\n"), "{schedule}");
    let run = desk.succeed(&["run", "own.toml", "--out", "run"]);
    assert!(run.contains("iteration time"), "{run}");
}

#[test]
fn nothing_is_overwritten_without_consent_and_a_dry_run_writes_nothing() {
    let desk = Desk::new();
    desk.write("own.cm", MATRIX);
    desk.succeed(&["import", "own.cm", "--dry-run"]);
    assert!(!desk.path("own.toml").exists());
    desk.succeed(&["import", "own.cm"]);
    let refused = desk.output(&["import", "own.cm"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = text(&refused.stderr);
    assert!(told.contains("own.toml exists") && told.contains("--replace"), "{told}");
    desk.succeed(&["import", "own.cm", "--replace"]);
}

#[test]
fn mistakes_name_their_place_and_a_remedy() {
    let desk = Desk::new();
    desk.write("own.cm", &MATRIX.replace("Connections 2", "Connections 3"));
    desk.write("own.txt", "hello\n");
    for (args, wanted) in [
        (
            &["import", "own.cm"][..],
            &["own.cm, line 2: `Connections 3`, but the file has 2", "correct the number"][..],
        ),
        (&["import", "own.txt"], &["own.txt: the format is not recognised", "--as: cm, topo"]),
        (&["import", "none.cm"], &["cannot read none.cm"]),
        (&["import", "."], &[". is no file"]),
    ] {
        let output = desk.output(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        // Lines of an error are wrapped.
        let told: Vec<_> = text(&output.stderr)
            .split([' ', '\n', '│'])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let told = told.join(" ");
        for words in wanted {
            assert!(told.contains(words), "{args:?}: {told}");
        }
    }
    let unknown = desk.output(&["import", "own.cm", "--as", "cmm"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn real_schedules_of_other_simulators_run_to_their_end() {
    let Some(folder) = std::env::var_os("BUFFERLAB_PEERS").map(std::path::PathBuf::from) else {
        let _ =
            writeln!(std::io::stderr(), "SKIPPED schedules of other simulators: BUFFERLAB_PEERS is not set");
        return;
    };
    let path = |name: &str| folder.join(name).to_str().expect("a path of text").to_owned();
    let traces = (0..8).map(|rank| path(&format!("chakra/custom_ring_allreduce_8npus_1MB.{rank}.et")));
    for (name, files) in [
        ("tree", vec![path("goal/binary_tree_32.goal")]),
        ("send", vec![path("goal/one_send.goal")]),
        ("border", vec![path("goal/test_border_incast_l.goal")]),
        ("chain", vec![path("htsim/foo2.cm")]),
        ("ring", traces.collect()),
    ] {
        let desk = Desk::new();
        let mut args = vec!["import"];
        args.extend(files.iter().map(String::as_str));
        args.extend(["--name", name]);
        desk.succeed(&args);
        let run = desk.output(&["run", &format!("{name}.toml"), "--out", "run"]);
        let (shown, told) = (text(&run.stdout), text(&run.stderr));
        assert!(run.status.success() && shown.contains("iteration time"), "{name}: {shown}\n{told}");
        assert!(!shown.contains("was not done") && !told.contains("was not done"), "{name}: {shown}\n{told}");
    }
    // A run of this scenario takes minutes without optimisation.
    let desk = Desk::new();
    desk.succeed(&["import", &path("aicb/workload_gpt13b_128g.txt"), "--name", "gpt"]);
    let checked = desk.succeed(&["check", "gpt.toml"]);
    assert!(checked.contains("servers of 8 ranks at 2.4 Tb/s"), "{checked}");
}
