//! Tests that iperf3 and memcached send the workloads of a testbed, if both programs are installed
//! and this machine allows namespaces.

use crate::testbed::allowed;
use bufferlab_metrics::{FlowRow, ProgressRow, QueryRow, QueueRow};
use bufferlab_results::RunResult;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bufferlab");

/// Scenario of two servers that answer four items of 16 KB at a time beside an endless flow,
/// in separate queues.
const SCENARIO: &str = r#"
duration = "2500 ms"
drain = "500 ms"
[topology]
kind = "single_switch"
hosts = 4
rate = "100 Mb/s"
delay = "500 us"
[switch]
buffer = "256 KB"
queues_per_port = 2
scheduler = "strict_priority"
policy = { name = "losspass", port_limit = "static", port_buffer = "128 KB" }
[[transport]]
name = "small"
congestion_control = "cubic"
segment_bytes = "1448 B"
header_bytes = "90 B"
ack_bytes = "90 B"
min_rto = "100 ms"
handshake = false
persistent = true
data_priority = 0
[[transport]]
name = "large"
congestion_control = "newreno"
segment_bytes = "1448 B"
header_bytes = "90 B"
ack_bytes = "90 B"
min_rto = "100 ms"
data_priority = 1
[[workload]]
kind = "multi_get"
class = "items"
transport = "small"
clients = "h0"
servers = ["h1", "h2"]
items = 4
item = "16 KB"
answers_per = "item"
think_time = "20 ms"
start = "300 ms"
[[workload]]
kind = "bursts"
class = "long"
transport = "large"
bursts = [{ src = "h3", dst = "h0", start = "0 s" }]
[output]
sample_interval = "250 ms"
sample_flows = true
"#;

fn run(folder: &Path, args: &[&str]) -> Output {
    let scenario = folder.join("programs.toml");
    std::fs::write(&scenario, SCENARIO).expect("the folder is writable");
    Command::new(PROGRAM)
        .args(["testbed", "run", "--applications", "programs", "--only-real"])
        .arg(&scenario)
        .args(args)
        .arg("--out")
        .arg(folder.join("out"))
        .output()
        .expect("the program starts")
}

/// Whether iperf3 and memcached are installed. If a program is missing, the function prints a
/// message.
fn installed(test: &str) -> bool {
    let output = Command::new(PROGRAM).args(["testbed", "check"]).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let absent: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("absent") && (line.contains("iperf3") || line.contains("memcached")))
        .collect();
    if !absent.is_empty() {
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {}", absent.join("; "));
    }
    absent.is_empty()
}

#[test]
fn iperf3_and_memcached_carry_the_same_scenario_into_the_same_tables() {
    const TEST: &str = "iperf3 and memcached in the testbed";
    if !allowed(TEST) || !installed(TEST) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &[]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let result = RunResult::open(&folder.path().join("out/losspass/seed-1")).expect("a result");
    let queries = result.load::<QueryRow>().expect("a table");
    let done: Vec<_> = queries.iter().filter_map(|query| query.qct_ns).collect();
    assert!(done.len() >= 3, "queries follow each other: {}", done.len());
    // An answer of 64 KB takes 5.1 ms at 100 Mb/s, and a round trip takes 2 ms.
    assert!(done.iter().all(|ns| *ns > 7_000_000), "no query is faster than the line: {done:?}");
    let flows = result.load::<FlowRow>().expect("a table");
    let items: Vec<_> = flows.iter().filter(|flow| flow.query_id.is_some()).collect();
    assert!(items.iter().all(|flow| flow.size_bytes == 16_000 && flow.dst_host == 0), "an item is an answer");
    let finished = items.iter().filter(|flow| flow.fct_ns.is_some());
    // An answer of memcached has 16,037 B with the lines around the value. So an answer needs
    // twelve segments.
    assert!(
        finished.clone().all(|flow| flow.sent_packets >= 12),
        "the switch has seen all packets of an answer"
    );
    let repeated: u64 = finished.map(|flow| flow.retransmitted_packets).sum();
    assert!(
        repeated * 10 < 12 * items.len() as u64,
        "what is around a value is no retransmission: {repeated}"
    );
    let [long] = flows.iter().filter(|flow| flow.query_id.is_none()).collect::<Vec<_>>()[..] else {
        panic!("one flow of iperf3")
    };
    let seconds = long.fct_ns.expect("it has ended") as f64 / 1e9;
    let goodput = long.size_bytes as f64 * 8e-6 / seconds;
    assert!(
        (2.0..3.5).contains(&seconds) && (20.0..94.2).contains(&goodput),
        "{seconds} s at {goodput} Mb/s"
    );
    // The byte count of iperf3 equals the bytes of the packets at the switch, except for packets
    // that are in flight when iperf3 ends.
    let carried = (long.sent_packets - long.dropped_packets) as f64 * 1_448.0;
    assert!((carried / long.size_bytes as f64 - 1.0).abs() < 0.1, "{carried} B and {} B", long.size_bytes);
    // The answers of memcached are in the queue of the client's code point,
    // and packets of iperf3 in the second queue.
    let queues = result.load::<QueueRow>().expect("a table");
    let port =
        |priority: u8| queues.iter().find(|row| (row.port, row.priority) == (0, priority)).expect("a queue");
    let [small, large] = [0, 1].map(|priority| port(priority).arrived_packets);
    let of = |flows: &[&FlowRow]| flows.iter().map(|flow| flow.sent_packets).sum::<u64>();
    assert!(small >= of(&items) && small < of(&items) + 500, "{small} packets at the first priority");
    assert!(large >= long.sent_packets && large < long.sent_packets + 50, "{large} at the second");
    let samples = result.load::<ProgressRow>().expect("a table");
    let of_long: Vec<_> =
        samples.iter().filter(|row| row.flow_id == long.flow_id).map(|row| row.delivered_bytes).collect();
    assert!(of_long.len() >= 8 && of_long.is_sorted() && of_long.last() > Some(&1_000_000), "{of_long:?}");
}

#[test]
fn what_the_programs_cannot_carry_is_refused_with_the_key() {
    const TEST: &str = "what iperf3 and memcached cannot carry";
    if !allowed(TEST) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (change, key) in [
        ("transport.small.pias_thresholds=[\"100 KB\"]", "`pias_thresholds`"),
        ("workload.items.request_delay=1 ms", "`request_delay`"),
        ("workload.long.bursts=[{ src = \"h3\", dst = \"h0\", start = \"0 s\", size = \"1 MB\" }]", "`size`"),
        ("workload.items.item=80 MB", "`item`"),
    ] {
        let output = run(folder.path(), &["--set", change]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{change}");
        // The terminal may wrap lines at any place, so the test joins the words.
        let told = told.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert!(told.contains(key) && told.contains("host.applications = \"own\""), "{change}: {told}");
    }
    assert!(!folder.path().join("out").exists(), "nothing is written");
}
