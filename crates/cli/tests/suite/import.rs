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
        // The terminal output wraps the lines of an error, so the test joins the lines.
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

/// Topology file of HPCC's simulator: four hosts on a switch, of which three hosts send to the
/// first.
const INCAST_TOPOLOGY: &str =
    "5 1 4\n4\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 4 100Gbps 1us 0\n3 4 100Gbps 1us 0\n";
const INCAST: &str = "3\n1 0 3 100 1000000 0.001\n2 0 3 100 1000000 0.001\n3 0 3 100 1000000 0.001\n";

#[test]
fn a_lossless_run_without_pauses_names_the_threshold_that_no_queue_reached() {
    let desk = Desk::new();
    desk.write("topology.txt", INCAST_TOPOLOGY);
    desk.write("flow.txt", INCAST);
    let run = desk.succeed(&["import", "topology.txt", "flow.txt", "--name", "mix", "--run"]);
    // The terminal output wraps the lines of findings, so the test joins the lines.
    let told = run.split_whitespace().collect::<Vec<_>>().join(" ");
    let finding = "No pause: the fullest ingress queue (port ";
    assert!(
        told.contains(finding)
            && told.contains(" of s4, priority 3) reached ")
            && told.contains(" its switch pauses ("),
        "{run}"
    );
    let explained = desk.output(&["explain", "mix.toml", "--event", "pause"]);
    assert_eq!(explained.status.code(), Some(1));
    let told = text(&explained.stderr);
    assert!(told.contains("No pause: the fullest ingress queue"), "{told}");
}

#[test]
fn a_run_writes_the_result_files_of_hpcc_which_import_reads() {
    let desk = Desk::new();
    desk.write("topology.txt", INCAST_TOPOLOGY);
    desk.write("flow.txt", INCAST);
    desk.write("config.txt", "CC_MODE 1\nBUFFER_SIZE 1\nENABLE_QCN 1\n");
    let run = desk.succeed(&["import", "topology.txt", "flow.txt", "config.txt", "--name", "mix", "--run"]);
    assert!(!run.contains("No pause"), "{run}");
    desk.succeed(&["report", "results/mix", "--hpcc", "out"]);
    let fct = std::fs::read_to_string(desk.path("out/fct.txt")).expect("it is written");
    let first: Vec<_> = fct.lines().next().expect("a flow").split(' ').collect();
    assert!(first[0].starts_with("0b000") && first[1] == "0b000001", "{fct}");
    assert_eq!(first[2..6], ["10000", "100", "1000000", "1000000"], "{fct}");
    let pfc = std::fs::read_to_string(desk.path("out/pfc.txt")).expect("it is written");
    // The paused nodes are the hosts 1 to 3, whose only port has the number 1.
    let first: Vec<_> = pfc.lines().next().expect("a pause").split(' ').collect();
    assert!(["1", "2", "3"].contains(&first[1]) && first[2..] == ["0", "1", "1"], "{pfc}");
    let read = desk.succeed(&["import", "out/fct.txt", "--dry-run"]);
    assert!(read.contains("completion times of 3 flows"), "{read}");
    let read = desk.succeed(&["import", "out/pfc.txt", "--dry-run"]);
    let pauses = pfc.lines().filter(|line| line.ends_with(" 1")).count();
    assert!(read.contains(&format!("{pauses} pauses and {pauses} ends of pauses")), "{read}");
}

#[test]
fn scenarios_name_files_of_other_simulators_directly() {
    let desk = Desk::new();
    let scenario = |workload: &str| {
        format!(
            "name = \"own\"\nduration = \"2 ms\"\ndrain = \"20 ms\"\n[topology]\nkind = \"single_switch\"\nhosts = 4\n\
             rate = \"100 Gb/s\"\ndelay = \"1 us\"\n[switch]\nbuffer = \"4 MB\"\npolicy = \"dt\"\n[[transport]]\n\
             congestion_control = \"dctcp\"\n[[workload]]\n{workload}\n"
        )
    };
    desk.write("own.cm", MATRIX);
    desk.write("dependent.cm", DEPENDENT);
    desk.write(
        "own.goal",
        "num_ranks 2\nrank 0 {\nl1: send 100b to 1\n}\nrank 1 {\nl1: recv 100b from 0\n}\n",
    );
    desk.write("flow.txt", "1\n3 1 3 100 2000 0.001\n");
    for (kind, file, flows) in [
        ("flow_list", "own.cm", "2 flows of own.cm"),
        ("flow_list", "flow.txt", "1 flow of flow.txt"),
        ("schedule", "dependent.cm", "2 nodes of dependent.cm"),
        ("schedule", "own.goal", "2 nodes of own.goal"),
    ] {
        desk.write("own.toml", &scenario(&format!("kind = \"{kind}\"\nfile = \"{file}\"")));
        let checked = desk.output(&["check", "own.toml"]);
        let (shown, told) = (text(&checked.stdout), text(&checked.stderr));
        assert!(checked.status.success() && shown.contains(flows), "{file}: {shown}\n{told}");
        assert!(told.contains(&format!("{file} is read as a file of the format")), "{file}: {told}");
    }
    // The folder of results contains the workload file, so the stored scenario can run again.
    desk.succeed(&["run", "own.toml", "--out", "run"]);
    desk.succeed(&["check", "run/scenario.toml"]);
    for (kind, file, advice) in
        [("schedule", "own.cm", "kind = \"flow_list\""), ("flow_list", "own.goal", "kind = \"schedule\"")]
    {
        desk.write("own.toml", &scenario(&format!("kind = \"{kind}\"\nfile = \"{file}\"")));
        let refused = desk.output(&["check", "own.toml"]);
        let told = text(&refused.stderr);
        assert!(refused.status.code() == Some(1) && told.contains(advice), "{file}: {told}");
    }
}

#[test]
fn nothing_to_run_is_an_error() {
    let desk = Desk::new();
    desk.write("own.topo", FAT_TREE);
    let output = desk.output(&["import", "own.topo", "--run"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no file describes traffic"), "{}", text(&output.stderr));
}
