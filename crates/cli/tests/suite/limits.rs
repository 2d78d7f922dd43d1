//! Tests that the documentation page of limits lists every limit of the code, and that each limit
//! refuses input that is slightly too large.

use crate::support::{Desk, text};
use bufferlab_cli::{limits, limits_page};
use bufferlab_pages::{assert_all, check_file};
use bufferlab_params::Limit;
use std::fs::{self, File};
use std::path::Path;

/// Input that is slightly larger than a limit allows.
enum Above {
    /// A command in a folder with `tiny.toml`, and words of the command's error.
    Command(Vec<String>, String),
    /// File and name of a separate test of the limit. Such a test is needed if the input is too
    /// large, or if the command line does not reach the limit.
    Test(&'static str, &'static str),
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns a call of `check` with the given values of scenario keys, and the words of the expected
/// error.
fn set(keys: &[(&str, &str)], wanted: &str) -> Above {
    let mut args = vec!["check".to_owned(), "tiny.toml".to_owned()];
    for (key, value) in keys {
        args.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    Above::Command(args, wanted.to_owned())
}

fn command(args: &[&str], wanted: &str) -> Above {
    Above::Command(args.iter().map(|arg| (*arg).to_owned()).collect(), wanted.to_owned())
}

const LEAF_SPINE: &str = "{ kind = \"leaf_spine\", leaves = LEAVES, hosts_per_leaf = HOSTS, spines = SPINES, host_rate = \"10 Gb/s\", delay = \"1 us\" }";

fn network(leaves: u32, hosts: u32, spines: u32, wanted: &str) -> Above {
    let topology = LEAF_SPINE.replace("LEAVES", &leaves.to_string());
    let topology = topology.replace("HOSTS", &hosts.to_string()).replace("SPINES", &spines.to_string());
    let desk = format!("topology={topology}");
    Above::Command(["check", "bare.toml", "--set", &desk].map(str::to_owned).to_vec(), wanted.to_owned())
}

fn list(numbers: std::ops::RangeInclusive<u32>, unit: &str) -> String {
    numbers.map(|number| format!("{number}{unit}")).collect::<Vec<_>>().join(",")
}

/// The test case of a limit. Each new limit needs a new case.
fn above(limit: Limit) -> Above {
    const VIEW: &str = "crates/view/tests/suite/http.rs";
    const SONIC: &str = "crates/sonic/tests/suite/hostile.rs";
    const REDIS: &str = "crates/operator/tests/suite/hostile.rs";
    match limit.name {
        "seeds" => command(&["run", "tiny.toml", "--seeds", "10001"], "10001 are too many seeds"),
        "runs" => Above::Command(
            vec![
                "sweep".to_owned(),
                "tiny.toml".to_owned(),
                "--vary".to_owned(),
                format!("seed={}", list(1..=1_001, "")),
                "--vary".to_owned(),
                format!("switch.buffer={}", list(101..=200, " KB")),
            ],
            "100100 are too many runs, expected at most 100000".to_owned(),
        ),
        "bytes of a scenario or an experiment" => {
            command(&["check", "long.toml"], "more than 32000000 bytes")
        }
        "bytes of a file that a scenario refers to" => set(
            &[("workload.0", "{ kind = \"flow_list\", file = \"large.csv\" }")],
            "1000000001 bytes, expected at most 1000000000",
        ),
        "named nodes" => {
            set(&[("topology", "{ kind = \"graph\", hosts = 1048577, switches = 1, links = [] }")], "1048576")
        }
        "queues of a switch" => set(
            &[("topology.hosts", "2048"), ("switch.queues_per_port", "32")],
            "at most 65535 queues per switch",
        ),
        "bytes of a frame" => set(&[("transport.0.segment_bytes", "\"65536 B\"")], "segment_bytes"),
        "bytes of a name" => {
            let name = "n".repeat(121);
            set(&[("name", &name)], "the name has 121 bytes, more than 120")
        }
        "files that extend each other" => {
            command(&["check", "e0.toml"], "more than 32 files extend each other")
        }
        "explained events" => {
            command(&["explain", "tiny.toml", "--count", "1001"], "1001 are too many explained events")
        }
        "switches of a kind" => network(131_073, 1, 1, "131072"),
        "ports of a switch" => set(&[("topology.hosts", "65536")], "65535"),
        "hosts, or cables in the fabric, of a leaf-spine network, rails, planes or Dragonfly" => {
            network(5, 60_000, 1, "262144")
        }
        "routes of servers with a scale-up switch" => set(
            &[(
                "topology",
                "{ kind = \"scale_up\", servers = 4097, gpus_per_server = 8, spines = 0, nic_rate = \"400 Gb/s\", \
                 scale_up_rate = \"2400 Gb/s\", scale_up_delay = \"500 ns\", delay = \"1 us\" }",
            )],
            "134217728",
        ),
        "queues of a port" => set(&[("switch.queues_per_port", "33")], "32"),
        "entries of a table of flows" => {
            set(&[("switch.policy", "{ name = \"fab\", flow_entries = 16777217 }")], "16777216")
        }
        "flows of a list" => Above::Test(
            "crates/workload/src/flow_list/read.rs",
            "a_list_of_more_flows_than_the_limit_is_refused_with_line_count_and_memory",
        ),
        "packets of a trace" => {
            Above::Test("crates/workload/src/trace.rs", "a_trace_of_too_many_packets_is_refused")
        }
        "addresses of a trace" => Above::Test(
            "crates/workload/tests/suite/traces.rs",
            "a_trace_of_too_many_addresses_is_refused_at_its_line",
        ),
        "bytes of a line of a list or trace" => Above::Test(
            "crates/workload/src/flow_list/limited.rs",
            "lines_may_be_as_long_as_the_limit_and_no_longer",
        ),
        "bytes of an unpacked list or trace" => {
            Above::Test("crates/workload/src/flow_list/limited.rs", "bytes_end_at_their_limit")
        }
        "bytes of an imported file" => {
            command(&["import", "large.csv"], "1000000001 bytes, expected at most 1000000000")
        }
        "nodes of an imported network"
        | "hosts of an imported network"
        | "cables of an imported network"
        | "flows of an imported file" => Above::Test(
            "crates/import/tests/suite/refusals.rs",
            "sizes_above_the_limits_are_refused_before_memory_is_taken",
        ),
        "nodes of a schedule" | "edges of a schedule" => {
            Above::Test("crates/schedule/src/builder.rs", "nodes_and_edges_beyond_the_limits_are_refused")
        }
        "ranks of a schedule" => {
            Above::Test("crates/schedule/tests/suite/graphs.rs", "unknown_ranks_and_nodes_are_refused")
        }
        "hosts" => network(16, 4_096, 1, "hosts: 65536, at most 65535"),
        "cables" => network(512, 4, 256, "cables: 133120, at most 131071"),
        "flows alive at once" => Above::Test(
            "crates/sim/tests/suite/determinism.rs",
            "more_flows_than_there_are_slots_end_the_run",
        ),
        "flows that wait for their jittered start" => Above::Test(
            "crates/sim/tests/suite/determinism.rs",
            "a_jitter_that_would_fill_the_memory_with_flows_ends_the_run",
        ),
        "packets that are made and wait at network cards" => Above::Test(
            "crates/sim/tests/suite/host_queues.rs",
            "a_card_that_would_fill_the_memory_ends_the_run_and_says_whose_it_is",
        ),
        "packets alive at once" => {
            Above::Test("crates/sim/src/engine/finish.rs", "more_packets_than_there_may_be_end_a_run")
        }
        "bytes of a request's body" => Above::Test(VIEW, "wrong_requests_get_what_is_wrong_with_them"),
        "seconds until a request is complete" => {
            Above::Test(VIEW, "a_request_that_is_never_complete_does_not_keep_its_connection")
        }
        "points of a window" => {
            Above::Test("crates/view/src/window/tests.rs", "a_window_has_no_more_points_than_the_limit")
        }
        "bytes of a switch's configuration" => {
            Above::Test(SONIC, "a_file_that_is_too_large_is_refused_before_it_is_looked_at")
        }
        "bytes of another vendor's configuration" => Above::Test(
            "crates/sonic/tests/suite/vendors.rs",
            "a_hostile_file_of_a_vendor_ends_in_an_error_or_a_few_problems",
        ),
        "keys of a switch's configuration" => {
            Above::Test(SONIC, "a_million_keys_are_refused_wherever_they_are")
        }
        "ports in one key" => Above::Test(SONIC, "what_a_key_holds_is_bounded"),
        "problems of a configuration" => Above::Test(SONIC, "problems_beyond_the_limit_are_counted"),
        "bytes of an answer"
        | "elements of an answer"
        | "lists within lists of an answer"
        | "bytes of a line of an answer" => {
            Above::Test(REDIS, "an_answer_without_an_end_is_refused_before_it_is_in_memory")
        }
        "bytes of a key" | "bytes of a value" | "bytes of a dump of a database" => {
            Above::Test(REDIS, "long_keys_and_values_and_too_many_of_them_are_refused")
        }
        "steps of a scan of keys" | "seconds of a whole configuration" => {
            Above::Test(REDIS, "a_scan_that_never_ends_is_ended")
        }
        "seconds until an answer is whole" => {
            Above::Test(REDIS, "a_drip_and_silence_end_after_the_time_of_an_answer")
        }
        other => panic!("\"{other}\" has no case: add one just above the limit"),
    }
}

/// A folder with files that each exceed a limit.
fn desk() -> Desk {
    let desk = Desk::with_tiny();
    let bare = crate::support::TINY.split("[topology]").next().expect("a head").to_owned();
    let rest = &crate::support::TINY[crate::support::TINY.find("[switch]").expect("a switch")..];
    desk.write("bare.toml", &format!("{bare}\n{rest}"));
    desk.write("long.toml", &format!("{}\n# {}", crate::support::TINY, "x".repeat(32_000_000)));
    // A sparse file of zeros needs no space on the disk.
    File::create(desk.path("large.csv")).and_then(|file| file.set_len(1_000_000_001)).expect("a file");
    for number in 0..40 {
        desk.write(&format!("e{number}.toml"), &format!("extends = \"e{}.toml\"\n", number + 1));
    }
    desk.write("e40.toml", crate::support::TINY);
    desk
}

#[test]
fn every_limit_refuses_what_is_just_above_it() {
    let desk = desk();
    for limit in limits().into_iter().flat_map(|(_, limits)| limits) {
        match above(limit) {
            Above::Command(args, wanted) => {
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                let output = desk.output(&args);
                let shown: String = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
                assert_eq!(output.status.code(), Some(1), "{}: {shown}", limit.name);
                assert!(shown.contains(&wanted), "{}: {wanted}\n{shown}", limit.name);
            }
            Above::Test(file, name) => {
                let text = fs::read_to_string(root().join(file)).unwrap_or_default();
                assert!(text.contains(&format!("fn {name}()")), "{}: {file} has no test {name}", limit.name);
            }
        }
    }
}

#[test]
fn the_page_of_limits_is_as_declared() {
    assert_all([check_file("docs/reference/limits.md", &limits_page())]);
}

/// Constants that limit something other than input, and that the page of limits omits.
const OTHERS: &[&str] = &[
    // Limits of drawings, reports and terminals.
    "WIDTH_MAX",
    "COLUMNS_MAX",
    "NAME_MAX",
    "VALUES_MAX",
    "STATES_MAX",
    "LINE_DRAWN_MAX",
    "INTERNED_MAX",
    "CORRELATION_MAX",
    "AT_MOST",
    "RATE_MAX",
    // Limits of searches in results, and of trials of formulas in `theory`.
    "DEPTH_MAX",
    "PACKETS_MAX",
    "QUEUES_MAX",
    "PORTS_MAX",
    "SEQUENCE_MAX",
    "PACKET_MAX",
    "ROWS_MAX",
    // Limits of chip data, headers and clocks.
    "TIME_LIMIT",
    "CELL_MAX",
    "SLICES_MAX",
    "OTHERS_MAX",
    "MAX_PACKET",
    "MAX_REACH",
    "MAX_LINK",
    "RANGE_MAX",
    "ACK_EVERY_MAX",
    "POLL_MAX",
    "MAX_HOPS",
    "MAX_BACKOFF",
    "METRES_MAX",
    "INDEX_MAX",
    "NUMBER_MAX",
    "SIZE_MAX",
    "CLASSIC_MOST_RISE",
    "LEAST_LIMIT",
    "OVER_LIMIT",
    "NO_LIMIT",
    "BYTES_MAX",
    "KEYS_MAX",
    "LINE_MAX",
    // Limits of captures, policies and warnings.
    "PACKET_BYTES_MAX",
    "BLOCK_BYTES_MAX",
    "LABELS_MAX",
    "QUEUES_WITH_TIMERS_MAX",
    "SAMPLES_MAX",
    "PROBLEMS_MAX",
    "VALUE_MAX",
    "COUNT_32_MAX",
    "ROUND_TRIPS_MAX",
    "VISITS_MAX",
    "MAX",
    // Limits of suggested names and displayed messages, and the limit of a lossy pool's share.
    "MISSPELT_MAX",
    "SHOWN_MAX",
    "KEY_MAX",
    // The alpha that stands for no limit.
    "ALPHA_MAX",
    "LOSSY_POOL_MAX",
    // Limits of connections to the metrics of a switch.
    "CONNECTION_MAX",
];

/// Every new constant that limits input must be declared for `docs/reference/limits.md`, or listed
/// in `OTHERS`.
#[test]
fn every_constant_that_is_a_bound_is_declared_or_known() {
    let mut unknown = Vec::new();
    let mut declared = String::new();
    let mut sources = Vec::new();
    collect(&root().join("crates"), &mut sources);
    for path in &sources {
        if path.ends_with("src/limits.rs") {
            declared += &fs::read_to_string(path).expect("readable");
        }
    }
    for path in &sources {
        let source = fs::read_to_string(path).expect("readable");
        for line in source.lines().map(str::trim_start) {
            let Some((_, rest)) = line.split_once("const ").filter(|(before, _)| {
                before.is_empty() || before.trim() == "pub" || before.trim().starts_with("pub(")
            }) else {
                continue;
            };
            let name: String = rest
                .chars()
                .take_while(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == '_')
                .collect();
            let is_bound = name.ends_with("_MAX") || name.starts_with("MAX_") || name.ends_with("_LIMIT");
            if is_bound && !OTHERS.contains(&name.as_str()) && !declared.contains(&name) {
                unknown.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(
        unknown.is_empty(),
        "declare these in `limits.rs` of their crate, or name them in OTHERS:\n{}",
        unknown.join("\n")
    );
}

/// Collects the source files below a folder, without tests.
fn collect(folder: &Path, sources: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "tests" && name != "vendor") {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && path.to_string_lossy().contains("/src/")
        {
            sources.push(path);
        }
    }
}
