//! Tests that the testbed's DCTCP keeps a queue near the marking threshold.
//! Ordinary TCP with ECN would empty the queue.

use crate::testbed::allowed;
use bufferlab_metrics::{FlowRow, HistogramRow, QueueRow, Scope};
use bufferlab_results::RunResult;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_bufferlab");

/// Scenario of two long flows into one port, which marks from 15 packets on. The marking threshold
/// is a quarter of the bandwidth-delay product. DCTCP needs only a seventh of the product as
/// threshold (RFC 8257 refers to Alizadeh et al.). A flow that halves its window needs the whole
/// product.
const TWO_FLOWS: &str = r#"
duration = "5 s"
drain = "1 s"
[topology]
kind = "single_switch"
hosts = 3
rate = "100 Mb/s"
delay = "1250 us"
[switch]
buffer = "384 KB"
policy = "es"
ecn = { kind = "step", threshold = "22710 B" }
[[transport]]
congestion_control = "dctcp"
segment_bytes = "1448 B"
header_bytes = "90 B"
ack_bytes = "90 B"
min_rto = "100 ms"
handshake = false
[[workload]]
kind = "bursts"
class = "long"
bursts = [{ src = "h1", dst = "h0", start = "0 s" }, { src = "h2", dst = "h0", start = "0 s" }]
"#;

/// Marking threshold of the port (bytes).
const MARKS_FROM: f64 = 22_710.0;

/// Measurements of the queue at the port and of its flows.
#[derive(Debug)]
struct Measurements {
    mean_queue: f64,
    empty: f64,
    goodput_mbps: f64,
    marked: u64,
    /// Number of marked packets of the flow with the fewest marked packets.
    least_marked: u64,
    is_conclusive: bool,
}

fn run(folder: &Path, control: &str) -> Measurements {
    let (scenario, out) = (folder.join("two-flows.toml"), folder.join(control));
    std::fs::write(&scenario, TWO_FLOWS).expect("the folder is writable");
    let output = Command::new(PROGRAM)
        .args([
            "testbed",
            "run",
            "--only-real",
            "--set",
            &format!("transport.0.congestion_control={control}"),
        ])
        .arg(&scenario)
        .arg("--out")
        .arg(&out)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result = RunResult::open(&out.join("es/seed-1")).expect("a result");
    let queues = result.load::<QueueRow>().expect("a table");
    let port = queues.iter().find(|row| (row.port, row.priority) == (0, 0)).expect("the port of h0");
    let bins = result.load::<HistogramRow>().expect("a table");
    let of_port = |row: &&HistogramRow| row.scope == Scope::Queue && row.port == Some(0);
    let time =
        |rows: &mut dyn Iterator<Item = &HistogramRow>| rows.map(|row| row.time_ns as f64).sum::<f64>();
    let whole = time(&mut bins.iter().filter(of_port));
    let empty = time(&mut bins.iter().filter(of_port).filter(|row| row.from_bytes == 0));
    let flows = result.load::<FlowRow>().expect("a table");
    let rate = |flow: &FlowRow| flow.fct_ns.map_or(0.0, |ns| flow.size_bytes as f64 * 8e3 / ns as f64);
    Measurements {
        mean_queue: port.mean_bytes,
        empty: empty / whole,
        goodput_mbps: flows.iter().map(rate).sum(),
        marked: port.marked_packets,
        least_marked: flows.iter().map(|flow| flow.marked_packets).min().unwrap_or(0),
        is_conclusive: result.manifest().caveats.iter().all(|caveat| caveat.id != "inconclusive"),
    }
}

/// If the first packet of a connection is lost, the connection has no ECN,
/// and its flow fills the buffer despite the marks.
#[test]
fn every_connection_has_the_ecn_that_its_transport_asks_for() {
    if !allowed("ECN of the testbed") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let seen = run(folder.path(), "ecn-star");
    assert!(seen.least_marked > 50, "{seen:?}");
    assert!(seen.mean_queue < MARKS_FROM, "{seen:?}");
}

#[test]
fn dctcp_keeps_the_queue_near_the_marks_where_a_halved_window_empties_it() {
    const TEST: &str = "DCTCP of the testbed";
    if !allowed(TEST) {
        return;
    }
    let output = Command::new(PROGRAM).args(["testbed", "check"]).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find(|line| line.contains("DCTCP")).expect("a line about it").to_owned();
    if !line.starts_with("ok") {
        let _ = writeln!(std::io::stderr(), "SKIPPED {TEST}: {line}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for attempt in 0..3 {
        let folder = folder.path().join(attempt.to_string());
        std::fs::create_dir(&folder).expect("the folder is writable");
        let [dctcp, halved] = ["dctcp", "ecn-star"].map(|control| run(&folder, control));
        if !(dctcp.is_conclusive && halved.is_conclusive) {
            continue;
        }
        let text = format!("{dctcp:?}\n{halved:?}");
        assert!(dctcp.marked > 500 && halved.marked > 100, "both were marked\n{text}");
        assert!((0.5..1.25).contains(&(dctcp.mean_queue / MARKS_FROM)), "near the marks\n{text}");
        assert!(dctcp.mean_queue > 1.5 * halved.mean_queue, "not the queue of a halved window\n{text}");
        assert!(dctcp.empty < halved.empty / 2.0, "its port is busy\n{text}");
        assert!(dctcp.goodput_mbps > halved.goodput_mbps + 2.0, "and carries more\n{text}");
        return;
    }
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED {TEST}: this machine was too busy in three attempts (lateness p99.9 above 1 ms)"
    );
}
