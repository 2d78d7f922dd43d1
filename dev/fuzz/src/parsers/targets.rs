//! The readers that the fuzzer tests, with small valid inputs for each reader.

use super::Target;
use super::mutate::packed;
use super::requests;
use bufferlab_import::{ImportOptions, Input, Traffic, import, scenario_text};
use bufferlab_lab::{Job, execute_one};
use bufferlab_metrics::{DropRow, FlowRow, HistogramRow, LinkRow, PacketRow, QueueRow, SeriesRow};
use bufferlab_operator::probe::Executor;
use bufferlab_operator::{Model, Vectors};
use bufferlab_results::{Group, RunResult, inspect};
use bufferlab_scenario::{LoadError, Variant, load_text};
use bufferlab_schedule::{parse_schedule, write_schedule};
use bufferlab_sonic::config::Config;
use bufferlab_sonic::silicon::chip;
use bufferlab_sonic::{Reader, diff, explain, lint, silicon};
use bufferlab_units::Time;
use bufferlab_workload::{
    AddressBook, AddressRule, SizeDistribution, TraceOptions, Unmapped, parse_flow_list, parse_trace,
};
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::io;
use std::path::{Path, PathBuf};
use std::{fs, str};
use tempfile::TempDir;

/// Environment of the tested readers: a folder, and test servers that start when first used.
pub(crate) struct Desk {
    folder: TempDir,
    pub(super) servers: requests::Servers,
}

impl Desk {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { folder: tempfile::tempdir()?, servers: requests::Servers::default() })
    }

    /// Path of the folder of a run that has every table. The first call runs the simulation.
    pub(super) fn run(&self) -> Result<PathBuf, String> {
        let run = self.folder.path().join("run");
        if !run.exists() {
            let text = include_str!("../bases/star.toml");
            let set =
                [("output.packets", "all"), ("output.sample_interval", "20 us"), ("duration", "100 us")];
            let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
            let loaded = load_text(&self.folder.path().join("star.toml"), text, &set).map_err(in_lines)?;
            let job = Job { loaded, dir: run.clone(), caveats: Vec::new() };
            execute_one(&job, false, &mut |_| true).map_err(|error| error.to_string())?;
        }
        Ok(run)
    }
}

const CSV: &[&str] = &[
    ",",
    "\n",
    "\r\n",
    "\"",
    "#",
    "src,dst",
    "size_bytes",
    "time_ps",
    "start_ns",
    "class",
    "h0",
    "h99",
    "10.0.0.1",
    "::1",
    "\u{feff}",
    "\0",
    "priority",
];
const CAPTURE: &[&str] = &[
    "\u{0}\u{0}",
    "\u{1}\u{0}\u{0}\u{0}",
    "\u{a}\u{d}\u{d}\u{a}",
    "\u{6}\u{0}\u{0}\u{0}",
    "\u{8}\u{0}",
    "E",
    "\u{0}\u{0}\u{0}\u{0}",
    "\u{81}\u{0}",
];
const TOML: &[&str] = &[
    "=",
    "\n",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "\"",
    "'''",
    ".",
    "# ",
    "true",
    "nan",
    "1979-05-27",
    "\\u0000",
    "\u{202e}",
    "[switch]\n",
    "[[workload]]\n",
    "policy = ",
    "extends = \"x.toml\"\n",
    "kind = ",
    "\"10 Gb/s\"",
    "[topology]\nkind = \"graph\"\n",
];
const SONIC: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "null",
    "|",
    "BUFFER_PG",
    "BUFFER_POOL",
    "Ethernet0",
    "Ethernet0,Ethernet4",
    "0-7",
    "7-0",
    "3-99999999",
    "dynamic_th",
    "static_th",
    "size",
    "xoff",
    "[BUFFER_PROFILE|x]",
    "5m",
    "\\ud800",
    "# speed cable size",
];
const IMPORT: &[&str] = &[
    "->",
    "start",
    "trigger id 1 barrier count",
    "recv_done_trigger",
    "Tier 1",
    "Radix_Up",
    "rank 0 {",
    "requires",
    "recv 1b from -1 tag -1",
    "ALLGATHER_DP_EP",
    "all_gpus:",
    "100Gbps",
    "1us",
    "4294967295",
    "18446744073709551615",
    "\u{1f}\u{8b}",
    "\u{52}\u{a}",
];
const RESULT: &[&str] = &[
    "manifest.json\n",
    "flows.parquet\n",
    "PAR1",
    "{",
    "}",
    "\"rows\":",
    "null",
    "\"format_version\":",
    "\u{15}\u{4}",
];

/// List of all readers that the fuzzer tests.
pub(super) const TARGETS: &[Target] = &[
    Target { name: "trace", seeds: traces, words: CAPTURE, inputs: 200, seconds: 1, read: trace },
    Target { name: "trace-csv", seeds: trace_lists, words: CSV, inputs: 200, seconds: 1, read: trace },
    Target { name: "flow-list", seeds: flow_lists, words: CSV, inputs: 200, seconds: 1, read: flow_list },
    Target { name: "import", seeds: imports, words: IMPORT, inputs: 200, seconds: 1, read: imported },
    Target { name: "schedule", seeds: schedules, words: CSV, inputs: 200, seconds: 1, read: schedule },
    Target { name: "sizes", seeds: sizes, words: CSV, inputs: 200, seconds: 1, read: size_table },
    Target { name: "scenario", seeds: scenarios, words: TOML, inputs: 100, seconds: 1, read: scenario },
    Target { name: "variant", seeds: variants, words: TOML, inputs: 200, seconds: 1, read: variant },
    Target { name: "experiment", seeds: experiments, words: TOML, inputs: 60, seconds: 1, read: experiment },
    Target {
        name: "switch-file",
        seeds: switch_files,
        words: TOML,
        inputs: 100,
        seconds: 1,
        read: switch_file,
    },
    Target {
        name: "sonic",
        seeds: configurations,
        words: SONIC,
        inputs: 100,
        seconds: 1,
        read: configuration,
    },
    Target { name: "probe", seeds: probes, words: SONIC, inputs: 40, seconds: 1, read: probe },
    Target { name: "record", seeds: records, words: CSV, inputs: 200, seconds: 1, read: record },
    Target { name: "result", seeds: results, words: RESULT, inputs: 60, seconds: 1, read: result },
    Target {
        name: "redis",
        seeds: requests::answers,
        words: requests::RESP,
        inputs: 40,
        seconds: 1,
        read: requests::redis,
    },
    Target {
        name: "play",
        seeds: requests::bodies,
        words: requests::JSON,
        inputs: 30,
        seconds: 10,
        read: requests::play,
    },
    Target {
        name: "view",
        seeds: requests::queries,
        words: requests::QUERY,
        inputs: 60,
        seconds: 1,
        read: requests::view,
    },
];

fn in_lines(error: LoadError) -> String {
    error.in_lines()
}

/// Renders an error of the scenario loader as the command line does, and returns the error as plain
/// lines.
fn drawn(error: &LoadError) -> String {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(100);
    handler.render_report(&mut text, error).expect("a string takes everything");
    error.in_lines()
}

fn shown(error: impl ToString) -> String {
    error.to_string()
}

fn text(input: &[u8]) -> Result<&str, String> {
    str::from_utf8(input).map_err(|_| "not UTF-8".to_owned())
}

fn with_packed(mut plain: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let first = packed(&plain[0]);
    plain.push(first);
    plain
}

fn traces() -> Vec<Vec<u8>> {
    with_packed(vec![
        include_bytes!("../../../../testdata/traces/tcpdump-nano-snap80.pcap").to_vec(),
        include_bytes!("../../../../testdata/traces/tcpdump-snap96.pcap").to_vec(),
        include_bytes!("../../../../testdata/traces/editcap.pcapng").to_vec(),
        include_bytes!("../../../../testdata/traces/mergecap.pcapng").to_vec(),
    ])
}

fn trace_lists() -> Vec<Vec<u8>> {
    with_packed(vec![include_bytes!("../bases/packets.csv").to_vec()])
}

fn trace(_: &mut Desk, input: &[u8]) -> Result<(), String> {
    let hosts: Vec<_> = (0..6).map(|host| format!("h{host}")).collect();
    let rules: Result<Vec<_>, _> =
        ["10.0.1.0/24", "fe80::3"].iter().zip(0..).map(|(rule, host)| AddressRule::new(rule, host)).collect();
    let rules = rules?;
    let mut book = AddressBook::new(&hosts, &rules, Unmapped::RoundRobin);
    let options = TraceOptions { start: Time::ZERO, stretch: 1.0, largest: 9_216, queues: Some(8) };
    parse_trace(Path::new("trace"), input, &mut book, &options).map(drop).map_err(shown)
}

fn flow_lists() -> Vec<Vec<u8>> {
    with_packed(vec![include_bytes!("../bases/flow-list.csv").to_vec()])
}

fn flow_list(_: &mut Desk, input: &[u8]) -> Result<(), String> {
    let hosts: Vec<_> = (0..6).map(|host| format!("h{host}")).collect();
    parse_flow_list(Path::new("flows.csv"), input, hosts.len(), &hosts).map(drop).map_err(shown)
}

/// Valid input files of other simulators, one file of each supported format.
fn imports() -> Vec<Vec<u8>> {
    let texts = [
        "Nodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 0 size 65536 recv_done_trigger 1\n\
         1->2 id 2 trigger 1 size 65536\n2->3 id 3 trigger 1 size 65536\ntrigger id 1 oneshot\n",
        "Nodes 16\nTiers 3\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nTier 1\n\
         Downlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\n",
        "num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 65536b to 1 tag 7\nl2 requires l1\n}\nrank 1 {\n\
         r1: recv 65536b from 0 tag 7 cpu 0\nc1: calc 500 cpu 1\nc1 irequires r1\n}\n",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4\n2\n\
         grad -1 1 NONE 0 1 NONE 0 1 ALLGATHER 1048576 100\nl -1 5 ALLREDUCE 262144 5 NONE 0 1 NONE 0 100\n",
        "4 1 3\n2\n0 2 100Gbps 1us 0\n1 2 25000000000.0 1000ns 0\n3 2 40Gb/s 0.001ms 0.1\n",
        "2\n0 1 3 100 2000 2.000001\n3 1 3 100 1000000000000 2\n",
        "ENABLE_QCN 1\nKMAX_MAP 2 100 400 200 800\nCC_MODE 3\nBUFFER_SIZE 32\n",
        "0b000101 0b000201 10000 100 1000 2000000000 5000 4000\n",
        "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 7, \"comm_size\": 64, \"ctrlDeps\": []}]}",
    ];
    let trace = b"\x07\x0a\x050.0.4\x11\x18\x07\x52\x0d\x0a\x09comm_size\x48\x64\x06\x08\x01\x18\x04\x2a\x00"
        .to_vec();
    let texts = texts.iter().map(|text| text.as_bytes().to_vec());
    with_packed(texts.chain([trace]).collect())
}

/// Imports a file of another simulator, and checks that its schedule can be written and read again.
fn imported(_: &mut Desk, input: &[u8]) -> Result<(), String> {
    let options = ImportOptions { transfers_max: 2_000, ..ImportOptions::default() };
    let file = Input { path: Path::new("file.0.et"), content: input, format: None };
    let imported = import(&[file], &options).map_err(shown)?;
    let _ = scenario_text(&imported, "name", "traffic.csv");
    if let Some(Traffic::Schedule(schedule)) = &imported.traffic {
        let mut text = Vec::new();
        write_schedule(&mut text, schedule).map_err(shown)?;
        let read = parse_schedule(Path::new("schedule.csv"), &text, Some(schedule.ranks()));
        let read = read.unwrap_or_else(|error| panic!("a schedule that was written: {error}"));
        assert_eq!(read.len(), schedule.len(), "nodes of {}", String::from_utf8_lossy(&text));
    }
    Ok(())
}

fn schedules() -> Vec<Vec<u8>> {
    let text = "node,kind,src,dst,size_bytes,duration_ns,start_ns,lane,class,after\na,transfer,0,1,65536,,5,,forward,\n\
                b,compute,1,,,5000.25,,2,,a\nc,transfer,1,2,65536,,,,forward,b a:sent+500.5\nd,barrier,,,,,,,,c\n";
    vec![text.as_bytes().to_vec()]
}

fn schedule(_: &mut Desk, input: &[u8]) -> Result<(), String> {
    parse_schedule(Path::new("schedule.csv"), input, None).map(drop).map_err(shown)
}

fn sizes() -> Vec<Vec<u8>> {
    vec![include_bytes!("../bases/sizes.csv").to_vec(), b"1 0\n2 0.5\n1000000000000 1\n".to_vec()]
}

fn size_table(_: &mut Desk, input: &[u8]) -> Result<(), String> {
    let sizes = SizeDistribution::from_csv("sizes", text(input)?).map_err(shown)?;
    for p in [0.0, 0.1, 0.5, 0.999, 1.0] {
        assert!(sizes.quantile(p) >= 0.0, "quantile {p} of {sizes:?}");
    }
    assert!(sizes.mean() >= 0.0, "the mean of {sizes:?}");
    Ok(())
}

fn scenarios() -> Vec<Vec<u8>> {
    let texts = [
        include_str!("../bases/star.toml"),
        include_str!("../bases/leaf-spine.toml"),
        include_str!("../bases/lossless.toml"),
        include_str!("../bases/graph.toml"),
        include_str!("../bases/open-loop.toml"),
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn scenario(desk: &mut Desk, input: &[u8]) -> Result<(), String> {
    let path = desk.folder.path().join("scenario.toml");
    load_text(&path, text(input)?, &[]).map(drop).map_err(|error| drawn(&error))
}

fn variants() -> Vec<Vec<u8>> {
    ["dt(alpha=0.5)", "long: abm + duration=1 s + switch.buffer=1 MB", "sonic-dt(headroom=auto, alpha=1/4)"]
        .map(|text| text.as_bytes().to_vec())
        .into()
}

fn variant(desk: &mut Desk, input: &[u8]) -> Result<(), String> {
    let variant = Variant::parse(text(input)?).map_err(|mistake| format!("{mistake:?}"))?;
    let (_, _) = (variant.label(), variant.folder());
    let path = desk.folder.path().join("scenario.toml");
    let changes =
        bufferlab_scenario::Changes { variant: Some(&variant), ..bufferlab_scenario::Changes::default() };
    let base = include_str!("../bases/star.toml");
    match bufferlab_scenario::load_changed(&path, Some(base), &changes) {
        Ok(_) => Ok(()),
        // Lossless variants need a different base scenario. The check also accepts a refusal with a
        // reason.
        Err(error) if drawn(&error).is_empty() => Err("refused without a word".to_owned()),
        Err(_) => Ok(()),
    }
}

fn experiments() -> Vec<Vec<u8>> {
    let texts = [
        include_str!("../../../../experiments/abm/fig4.toml"),
        include_str!("../../../../experiments/losspass/table1.toml"),
        include_str!("../../../../experiments/reverie/fig5.toml"),
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn experiment(_: &mut Desk, input: &[u8]) -> Result<(), String> {
    // The path of a scenario is relative to the experiment's file.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/abm/figure.toml");
    bufferlab_reproduce::Experiment::from_text(&path, "own/figure", text(input)?)
        .map(drop)
        .map_err(|error| drawn(&error))
}

fn switch_files() -> Vec<Vec<u8>> {
    let text = "[[port]]\ninterface = \"a\"\nrate = \"100 Mb/s\"\naddresses = [\"02:00:00:00:00:01\"]\n\
        [[port]]\ninterface = \"b\"\nrate = \"1 Gb/s\"\n[switch]\nbuffer = \"128 KB\"\nqueues_per_port = 2\n\
        scheduler = \"strict_priority\"\npolicy = { name = \"dt\", alpha = 1 }\n";
    vec![text.as_bytes().to_vec()]
}

fn switch_file(_: &mut Desk, input: &[u8]) -> Result<(), String> {
    bufferlab_dataplane::load_text(Path::new("switch.toml"), text(input)?)
        .map(drop)
        .map_err(|error| drawn(&error))
}

const CONFIG_DB: &str = r#"{
  "DEVICE_METADATA": { "localhost": { "hwsku": "Own-SKU", "platform": "x86_64-own" } },
  "PORT": {
    "Ethernet0": { "lanes": "1,2", "speed": "100000", "admin_status": "up", "mtu": "9100", "pfc_asym": "off" },
    "Ethernet4": { "lanes": "5,6", "speed": "25000", "admin_status": "up" }
  },
  "CABLE_LENGTH": { "AZURE": { "Ethernet0": "5m", "Ethernet4": "300m" } },
  "PORT_QOS_MAP": { "Ethernet0": { "pfc_enable": "3,4", "tc_to_queue_map": "AZURE" } },
  "TC_TO_QUEUE_MAP": { "AZURE": { "0": "0", "3": "3" } },
  "BUFFER_POOL": {
    "ingress_lossless_pool": { "type": "ingress", "mode": "dynamic", "size": "4000000", "xoff": "800000" },
    "egress_lossy_pool": { "type": "egress", "mode": "dynamic", "size": "3000000" },
    "egress_lossless_pool": { "type": "egress", "mode": "static", "size": "4000000" }
  },
  "BUFFER_PROFILE": {
    "ingress_lossy_profile": { "pool": "ingress_lossless_pool", "size": "0", "static_th": "4000000" },
    "pg_lossless_100000_5m_profile": { "pool": "ingress_lossless_pool", "size": "1536", "xon": "0", "xoff": "90112", "xon_offset": "3584", "dynamic_th": "-1" },
    "egress_lossy_profile": { "pool": "egress_lossy_pool", "size": "1536", "dynamic_th": "1" },
    "egress_lossless_profile": { "pool": "egress_lossless_pool", "size": "0", "static_th": "4000000" }
  },
  "BUFFER_PG": {
    "Ethernet0|0": { "profile": "ingress_lossy_profile" },
    "Ethernet0|3-4": { "profile": "pg_lossless_100000_5m_profile" },
    "Ethernet4|3-4": { "profile": "pg_lossless_100000_5m_profile" }
  },
  "BUFFER_QUEUE": {
    "Ethernet0,Ethernet4|0-2": { "profile": "egress_lossy_profile" },
    "Ethernet0,Ethernet4|3-4": { "profile": "egress_lossless_profile" }
  },
  "WRED_PROFILE": { "AZURE_LOSSLESS": { "ecn": "ecn_all", "green_min_threshold": "100000", "green_max_threshold": "200000", "green_drop_probability": "5" } }
}"#;

fn configurations() -> Vec<Vec<u8>> {
    vec![
        CONFIG_DB.as_bytes().to_vec(),
        include_bytes!("../../../../testdata/sonic/switch/buffers.json").to_vec(),
        include_bytes!("../../../../testdata/sonic/switch/qos.json").to_vec(),
        include_bytes!("../../../../testdata/sonic/switch/pg_profile_lookup.ini").to_vec(),
        include_bytes!("../../../../testdata/sonic/switch/port_config.ini").to_vec(),
        include_bytes!("../../../../testdata/sonic/show-buffer.txt").to_vec(),
    ]
}

fn read_config(input: &[u8]) -> Result<Config, String> {
    let mut reader = Reader::default();
    reader.add("input", input).map_err(shown)?;
    if !input.starts_with(b"#") {
        let lookup = include_bytes!("../../../../testdata/sonic/switch/pg_profile_lookup.ini");
        reader.add("pg_profile_lookup.ini", lookup).map_err(shown)?;
    }
    Ok(reader.finish())
}

/// Runs the commands for operators (`bufferlab sonic`) on a switch configuration.
fn configuration(_: &mut Desk, input: &[u8]) -> Result<(), String> {
    let config = read_config(input)?;
    for name in [None, Some("tomahawk2"), Some("trident3")] {
        let found = name.and_then(chip);
        let _ = explain::text(&explain::explain(&config, found));
        let _ = lint::check(&config, &lint::Options { chip: found, ..lint::Options::default() });
        let _ = diff::diff(&config, &config, found).map(|difference| diff::text(&difference));
        if let Some(chip) = found {
            let _ = silicon::predict(&config, chip, 1_500).map(|prediction| silicon::text(&prediction));
            let _ = Vectors::new(&config, chip, 1_500);
        }
    }
    Ok(())
}

fn probes() -> Vec<Vec<u8>> {
    let lines = [
        r#"{"op":"ports"}"#,
        r#"{"op":"send","from":0,"to":1,"priority":3,"packets":10}"#,
        r#"{"op":"paused","port":0,"priority":3}"#,
        r#"{"op":"release","port":1,"packets":5}"#,
        r#"{"op":"drain"}"#,
    ];
    vec![lines.join("\n").into_bytes()]
}

fn probe(_: &mut Desk, input: &[u8]) -> Result<(), String> {
    let config = read_config(CONFIG_DB.as_bytes())?;
    let chip = chip("trident3").ok_or("no such chip")?;
    let model = Model::new(&config, chip).map_err(shown)?;
    let mut executor = Executor::new(&model, 1_500).map_err(shown)?;
    for line in text(input)?.lines().take(20) {
        let _ = executor.answer_line(line);
    }
    Ok(())
}

fn records() -> Vec<Vec<u8>> {
    let text = "time_ps,src,dst,size_bytes,priority,flow,ecn,queue,fate,reason,marked,at_ps\n\
        1000,a,b,1518,0,7,capable,0,sent,,1,2000\n2000,b,a,64,1,8,no,1,dropped,over-threshold,0,\n\
        3000,a,b,1518,0,7,marked,0,evicted,evicted,0,9000\n";
    let text = match bufferlab_core::DropReason::ALL {
        [first, ..] => text
            .replace("over-threshold", first.name())
            .replace(",evicted,evicted,", &format!(",evicted,{},", first.name())),
        [] => text.to_owned(),
    };
    vec![text.into_bytes()]
}

fn record(desk: &mut Desk, input: &[u8]) -> Result<(), String> {
    let folder = desk.folder.path();
    fs::write(folder.join(bufferlab_dataplane::RECORD_FILE), input).map_err(shown)?;
    let names = ["a", "b"].map(str::to_owned);
    bufferlab_dataplane::read_record(folder, &names).map(drop).map_err(shown)
}

/// Content of every file of a run, after a line with the name of the file.
fn results() -> Vec<Vec<u8>> {
    let collect = || -> Result<Vec<Vec<u8>>, String> {
        let desk = Desk::new().map_err(shown)?;
        let mut entries: Vec<_> =
            fs::read_dir(desk.run()?).map_err(shown)?.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        entries
            .iter()
            .map(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                Ok([name.as_bytes(), b"\n", &fs::read(path).map_err(shown)?].concat())
            })
            .collect()
    };
    collect().unwrap_or_else(|error| panic!("a run for seeds: {error}"))
}

/// Reads the result folder of a run with one damaged file.
fn result(desk: &mut Desk, input: &[u8]) -> Result<(), String> {
    let run = desk.run()?;
    let at = input.iter().position(|byte| *byte == b'\n').ok_or("no line with a name")?;
    let path = run.join(text(&input[..at])?);
    if path.parent() != Some(&run) || !path.is_file() {
        return Err("no file of the run".to_owned());
    }
    let original = fs::read(&path).map_err(shown)?;
    fs::write(&path, &input[at + 1..]).map_err(shown)?;
    let answer = read_result(&run);
    fs::write(&path, original).map_err(shown)?;
    answer
}

fn read_result(run: &Path) -> Result<(), String> {
    let _ = inspect(run);
    let _ = Group::read(run);
    let result = RunResult::open(run).map_err(shown)?;
    let damage = result.damage().map_err(shown)?;
    let tables = [
        result.load::<FlowRow>().map(drop),
        result.load::<QueueRow>().map(drop),
        result.load::<LinkRow>().map(drop),
        result.load::<DropRow>().map(drop),
        result.load::<HistogramRow>().map(drop),
        result.load::<SeriesRow>().map(drop),
        result.load::<PacketRow>().map(drop),
        result.explanations().map(drop),
        result.timing().map(drop),
        result.scenario_toml().map(drop),
    ];
    tables.into_iter().collect::<Result<(), _>>().map_err(shown)?;
    if damage.is_empty() { Ok(()) } else { Err(format!("{damage:?}")) }
}
