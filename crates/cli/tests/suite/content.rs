//! Tests of commands that add runs to a folder of results. Each command is repeated with a
//! different scenario or version. No result may be a mean over runs of different content.
//!
//! The test is a matrix of commands, changes and kills. A new command needs a row in [`COMMANDS`],
//! and a new kind of content needs a row in [`CHANGES`].

use crate::kill::{assert_same, timeless};
use crate::support::{Desk, text};
use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

/// A scenario that extends another scenario and reads a flow list, a table of sizes and a packet
/// trace.
const MIXED: &str = r#"extends = "base.toml"
name = "mixed"
duration = "2 ms"

[[transport]]
name = "loop"
congestion_control = "newreno"
initial_window = "whole"

[[transport]]
name = "open"
congestion_control = "none"
rate = "8 Gb/s"

[[workload]]
kind = "incast"
transport = "loop"
request = "60 KB"
fan_in = 3
queries_per_second_per_host = 500.0

[[workload]]
kind = "flow_list"
transport = "loop"
file = "flows.csv"

[[workload]]
kind = "poisson"
transport = "loop"
sizes = "sizes.csv"
load = 0.1

[[workload]]
kind = "trace"
transport = "open"
file = "trace.csv"
"#;

const BASE: &str = r#"name = "base"
drain = "50 ms"

[topology]
kind = "single_switch"
hosts = 4
rate = "10 Gb/s"
delay = "10 us"

[switch]
buffer = "100 KB"
policy = { name = "dt", alpha = 1 }

[output]
sample_interval = "100 us"
"#;

const STUDY: &str = r#"title = "Queries and buffers"
figure = "own"
scenario = "../../mixed.toml"
policies = ["dt", "cs"]
[[axis]]
name = "buffer"
key = "switch.buffer"
values = ["50 KB", "100 KB"]
[metrics]
qct = "class.incast.qct_mean_ms"
[quick]
seeds = 3
[paper]
seeds = 3
[[panel]]
title = "mean QCT (ms)"
metric = "qct"
"#;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("mixed.toml", MIXED);
    desk.write("base.toml", BASE);
    desk.write("flows.csv", "src,dst,size_bytes,start_ns\nh0,h1,30000,0\nh2,h1,30000,1000\n");
    desk.write("sizes.csv", "bytes,cumulative\n1000,0.5\n20000,1\n");
    desk.write("trace.csv", "time_us,src,dst,size_bytes\n5,h0,h3,1000\n6,h1,h3,1000\n");
    desk.write("own/study/buffers.toml", STUDY);
    let switch = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/sonic/switch");
    for entry in fs::read_dir(switch).expect("the configuration is there").flatten() {
        let text = fs::read_to_string(entry.path()).expect("readable");
        desk.write(&format!("switch/{}", entry.file_name().to_string_lossy()), &text);
    }
    desk
}

/// A command that adds runs to a folder of results.
struct Command {
    /// The command line with all seeds, policies or points.
    all: &'static [&'static str],
    /// The command line with fewer seeds, policies or points. A folder could mix runs of this
    /// command line with runs of the complete command.
    fewer: &'static [&'static str],
    /// Whether the command stores runs by their content, so that no earlier run blocks the command.
    by_content: bool,
}

const COMMANDS: [Command; 6] = [
    Command { all: &["run", "mixed.toml"], fewer: &["run", "mixed.toml"], by_content: false },
    Command {
        all: &["run", "mixed.toml", "--seeds", "3"],
        fewer: &["run", "mixed.toml", "--seeds", "2"],
        by_content: false,
    },
    Command {
        all: &[
            "compare",
            "mixed.toml",
            "--variants",
            "dt",
            "big: cs + switch.queues_per_port=4",
            "--seeds",
            "3",
        ],
        fewer: &["compare", "mixed.toml", "--variants", "dt", "abm", "--seeds", "2"],
        by_content: false,
    },
    Command {
        all: &[
            "sweep",
            "mixed.toml",
            "--vary",
            "switch.uncharged_bytes=0 B,18 B",
            "--policies",
            "dt,cs",
            "--seeds",
            "3",
        ],
        fewer: &[
            "sweep",
            "mixed.toml",
            "--vary",
            "switch.uncharged_bytes=0 B",
            "--policies",
            "dt",
            "--seeds",
            "2",
        ],
        by_content: false,
    },
    Command {
        all: &["sonic", "what-if", "switch", "--chip", "trident3", "--duration", "50 us", "--seeds", "2"],
        fewer: &["sonic", "what-if", "switch", "--chip", "trident3", "--duration", "50 us", "--seeds", "1"],
        by_content: false,
    },
    Command {
        all: &["reproduce", "study/buffers", "--registry", "own"],
        fewer: &["reproduce", "study/buffers", "--registry", "own", "--seeds", "2"],
        by_content: true,
    },
];

impl Command {
    fn is_what_if(&self) -> bool {
        self.all[0] == "sonic"
    }

    fn takes_keys(&self) -> bool {
        !self.is_what_if() && !self.by_content
    }
}

/// Difference between two executions of a command.
enum Change {
    /// The second execution has an additional argument.
    Argument(&'static [&'static str]),
    /// Name of a file, its old text and its new text.
    File(&'static str, &'static str, &'static str),
    /// Version of the program that executed the earlier runs.
    Version,
}

/// Changes between two executions, each with words of the message by which the program refuses the
/// change.
const CHANGES: [(Change, &str); 9] = [
    (Change::Argument(&["--set", "duration=3 ms"]), "`duration` was \"2 ms\" and is \"3 ms\""),
    (Change::Argument(&["--load", "0.3"]), "`workload."),
    (Change::File("mixed.toml", "60 KB", "50 KB"), "`workload.0.request` was \"60 KB\" and is \"50 KB\""),
    (Change::File("base.toml", "100 KB", "90 KB"), "`switch.buffer` was \"100 KB\" and is \"90 KB\""),
    (Change::File("flows.csv", "h2,h1", "h3,h1"), "the input file `flows.csv` has changed"),
    (Change::File("sizes.csv", "0.5", "0.6"), "the input file `sizes.csv` has changed"),
    (Change::File("trace.csv", "h1,h3", "h2,h3"), "the input file `trace.csv` has changed"),
    (Change::File("switch/buffers.json", "\"dynamic_th\": \"1\"", "\"dynamic_th\": \"2\""), "`"),
    (Change::Version, "bufferlab was 0.0.9"),
];

impl Change {
    /// Whether the change affects the content of the runs of `command`.
    fn concerns(&self, command: &Command) -> bool {
        match self {
            Self::Argument(["--load", _]) => command.is_what_if(),
            Self::Argument(_) => command.takes_keys(),
            Self::File("switch/buffers.json", ..) => command.is_what_if(),
            Self::File(..) => !command.is_what_if(),
            // The version matters to a single run, which is executed again as a whole. The
            // version does not matter to a reproduction, whose fingerprint contains the version.
            Self::Version => {
                command.takes_keys() && !command.all.contains(&"--seeds") || command.all.contains(&"--seeds")
            }
        }
    }

    /// Makes the change in the folder, and returns the arguments to add to the command line.
    fn make(&self, desk: &Desk, out: &str) -> &'static [&'static str] {
        match self {
            Self::Argument(more) => return more,
            Self::File(name, old, new) => {
                let before = fs::read_to_string(desk.path(name)).expect("readable");
                assert!(before.contains(old), "{name} has no {old}");
                desk.write(name, &before.replace(old, new));
            }
            Self::Version => {
                for name in desk.files(out).keys().filter(|name| name.ends_with("manifest.json")) {
                    let path = desk.path(&format!("{out}/{name}"));
                    let text = fs::read_to_string(&path).expect("readable");
                    let (before, rest) =
                        text.split_once("\"bufferlab_version\": \"").expect("it has a version");
                    let (_, after) = rest.split_once('"').expect("it ends");
                    let older = format!("{before}\"bufferlab_version\": \"0.0.9\"{after}");
                    fs::write(&path, older).expect("writable");
                }
                // The test changes the folder into a folder of an earlier version.
                for name in desk.files(out).keys().filter(|name| name.ends_with("SHA256SUMS")) {
                    fs::remove_file(desk.path(&format!("{out}/{name}"))).expect("removable");
                }
            }
        }
        &[]
    }
}

fn into<'a>(command: &[&'a str], more: &[&'a str], out: &'a str) -> Vec<&'a str> {
    [command, more, &["--out", out]].concat()
}

/// Asserts that all seeds of every label in a folder are runs of one scenario with the same inputs,
/// by one version of the program. The check does not use the program under test.
fn assert_unmixed(desk: &Desk, out: &str) {
    let mut contents: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    let files = desk.files(out);
    for name in files.keys().filter(|name| name.ends_with("/manifest.json") && name.contains("seed-")) {
        let run = name.trim_end_matches("/manifest.json");
        let (label, _) = run.rsplit_once('/').unwrap_or(("", run));
        if run.split('/').any(|part| part.starts_with('.')) {
            continue;
        }
        let mut content: Vec<String> = Vec::new();
        for (file, bytes) in
            files.iter().filter(|(file, _)| file.rsplit_once('/').is_some_and(|(dir, _)| dir == run))
        {
            let text = String::from_utf8_lossy(bytes);
            if file.ends_with(".csv") || file.ends_with("scenario.toml") {
                content.extend(text.lines().filter(|line| !line.starts_with("seed = ")).map(str::to_owned));
            }
            if file.ends_with("manifest.json") {
                content.extend(
                    text.lines().filter(|line| line.contains("bufferlab_version")).map(str::to_owned),
                );
            }
        }
        let (first, expected) =
            contents.entry(label.to_owned()).or_insert_with(|| (run.to_owned(), content.clone()));
        assert_eq!(*expected, content, "{out}: {first} and {run} would share a mean");
    }
}

/// Repeats a command in its folder after a change. Either the program refuses the command and
/// changes no file, or the results equal the results in a fresh folder. With `--replace`, the
/// results equal the results in a fresh folder in every case.
fn repeat(command: &Command, (change, words): &(Change, &str)) {
    let desk = desk();
    desk.succeed(&into(command.all, &[], "out"));
    let more = change.make(&desk, "out");
    let before = desk.files("out");
    let again = into(command.fewer, more, "out");
    let output = desk.output(&again);
    desk.succeed(&into(command.fewer, more, "fresh"));
    let what = again.join(" ");
    // The test joins the wrapped lines of an error message.
    let said = text(&output.stderr).replace("\n  │ ", " ").replace("\n        ", " ");
    let is_single = command.fewer == ["run", "mixed.toml"];
    if command.by_content || matches!(change, Change::Version) && is_single {
        assert!(output.status.success(), "{what}: {said}");
    } else {
        assert_eq!(output.status.code(), Some(1), "{what} was not refused: {said}");
        assert!(
            said.contains(words) && said.contains("--replace") && said.contains("--out"),
            "{what}: {said}"
        );
        assert!(before == desk.files("out"), "{what} was refused and has changed something");
        assert_unmixed(&desk, "out");
        desk.succeed(&[&again[..], &["--replace"]].concat());
    }
    assert_unmixed(&desk, "out");
    if command.by_content {
        let values = "study/buffers/values.csv";
        assert_eq!(desk.files("out")[values], desk.files("fresh")[values], "{what}");
        return;
    }
    desk.succeed(&["verify", "out"]);
    assert_as_fresh(&desk, command);
}

/// Asserts that the folder has the files that a fresh folder has after the second command.
fn assert_as_fresh(desk: &Desk, command: &Command) {
    let (fresh, mut out) = (timeless(desk, "fresh"), timeless(desk, "out"));
    if command.all[0] == "sweep" {
        // Grid points of only the first sweep stay in the folder, because no mean combines them
        // with grid points of the second sweep.
        out.retain(|name, _| !name.starts_with("switch.uncharged_bytes=18-B/"));
    }
    if command.is_what_if() {
        // A seed of a policy that the change does not affect stays in the folder, and the report
        // shows the seed.
        let is_run = |name: &String| name.contains("/seed-");
        out.retain(|name, _| fresh.contains_key(name) && is_run(name));
        assert_same(&fresh.into_iter().filter(|(name, _)| is_run(name)).collect(), &out);
        return;
    }
    assert_same(&fresh, &out);
}

#[test]
fn no_command_mixes_contents_whatever_has_changed() {
    for command in &COMMANDS {
        let changes: Vec<_> = CHANGES.iter().filter(|(change, _)| change.concerns(command)).collect();
        assert!(changes.len() >= 2, "{:?}", command.all);
        changes.into_iter().for_each(|change| repeat(command, change));
    }
}

#[test]
fn other_seeds_of_the_same_content_are_added() {
    for command in COMMANDS.iter().filter(|command| command.takes_keys() && command.all.contains(&"--seeds"))
    {
        let desk = desk();
        desk.succeed(&into(command.fewer, &[], "out"));
        desk.succeed(&into(command.all, &["--set", "seed=2"], "out"));
        assert_unmixed(&desk, "out");
        desk.succeed(&["verify", "out"]);
    }
}

/// Starts a command and kills it after the given number of milliseconds.
fn kill_after(desk: &Desk, args: &[&str], milliseconds: u64) {
    let mut child =
        desk.command(args).stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(milliseconds));
    drop(child.kill());
    child.wait().expect("it ends");
}

#[test]
fn no_command_mixes_contents_wherever_it_is_killed() {
    for command in &COMMANDS {
        let change = CHANGES.iter().find(|(change, _)| change.concerns(command)).map(|(change, _)| change);
        for round in 0..6_u64 {
            let desk = desk();
            // The test executes the first command, then the second command, which it kills at early
            // and late moments of the replacement.
            kill_after(&desk, &into(command.all, &[], "out"), 15 + round * 53 % 120);
            let more = change.map_or(&[][..], |change| change.make(&desk, "out"));
            let again = into(command.fewer, more, "out");
            drop(desk.output(&again));
            if desk.path("out").is_dir() {
                assert_unmixed(&desk, "out");
            }
            let replace: &[&str] = if command.by_content { &[] } else { &["--replace"] };
            let again = [&again[..], replace].concat();
            kill_after(&desk, &again, 15 + round * 37 % 110);
            if desk.path("out").is_dir() {
                assert_unmixed(&desk, "out");
            }
            desk.succeed(&again);
            assert_unmixed(&desk, "out");
            desk.succeed(&into(command.fewer, more, "fresh"));
            if command.by_content {
                let values = "study/buffers/values.csv";
                assert_eq!(desk.files("out")[values], desk.files("fresh")[values]);
                continue;
            }
            assert_as_fresh(&desk, command);
        }
    }
}

/// Writes the files of a sweep that mixes durations. Versions that did not compare contents wrote
/// such sweeps.
fn mixed_sweep() -> Desk {
    let desk = desk();
    let sweep = |more: &[&'static str]| {
        let grid =
            ["sweep", "mixed.toml", "--vary", "switch.buffer=90 KB", "--policies", "dt", "--seeds", "2"];
        desk.succeed(&[&grid[..], more].concat());
    };
    sweep(&["--out", "mix"]);
    sweep(&["--set", "duration=3 ms", "--out", "other"]);
    let run = "switch.buffer=90-KB/dt/seed-2";
    fs::remove_dir_all(desk.path(&format!("mix/{run}"))).expect("it is there");
    fs::rename(desk.path(&format!("other/{run}")), desk.path(&format!("mix/{run}"))).expect("movable");
    desk
}

#[test]
fn readers_of_a_mixed_folder_say_so_and_print_no_mean() {
    let desk = mixed_sweep();
    let point = "mix/switch.buffer=90-KB";
    let words = "from dt/seed-1 to dt/seed-2, `duration` was \"2 ms\" and is \"3 ms\"";
    for args in [
        &["report", point][..],
        &["report", point, "--json"],
        &["report", point, "--steady"],
        &["verify", "mix"],
    ] {
        let output = desk.output(args);
        let said = (text(&output.stdout) + text(&output.stderr).as_str()).replace("\n  │ ", " ");
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains(words) && !said.contains("Mean over"), "{args:?}: {said}");
    }
    // The sweep does not resume in this folder without `--replace`, and its pages stay unchanged.
    let sweep = ["sweep", "mixed.toml", "--vary", "switch.buffer=90 KB", "--policies", "dt", "--out", "mix"];
    for seeds in ["1", "2", "3"] {
        let output = desk.output(&[&sweep[..], &["--seeds", seeds, "--json"]].concat());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
        assert!(output.stdout.is_empty());
    }
    desk.succeed(&[&sweep[..], &["--seeds", "2", "--replace"]].concat());
    desk.succeed(&["verify", "mix"]);
    assert_unmixed(&desk, "mix");
}

#[test]
fn sweeps_over_other_keys_share_a_folder() {
    let desk = desk();
    let sweep = |vary: &str| {
        desk.succeed(&["sweep", "mixed.toml", "--vary", vary, "--policies", "dt", "--out", "all"])
    };
    sweep("switch.buffer=80 KB,90 KB");
    sweep("workload.0.fan_in=2,3");
    let again = desk.output(&[
        "sweep",
        "mixed.toml",
        "--vary",
        "switch.buffer=80 KB",
        "--policies",
        "dt",
        "--out",
        "all",
    ]);
    assert!(text(&again.stderr).contains("1 run is there already"), "{}", text(&again.stderr));
}
