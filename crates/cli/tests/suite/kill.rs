//! Tests that a killed or interrupted run leaves no file that looks like a result,
//! damages no earlier result, and can start again. Two commands at once do not disturb each other.

use crate::support::{Desk, TINY, text};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Starts a run of several minutes, and waits until the run writes into the
/// hidden folder `partial`.
fn start_and_wait(desk: &Desk, args: &[&str], partial: &str) -> Child {
    let mut command = desk.command(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let is_writing = |folder: &Path| {
        let tables = fs::read_dir(folder).map(|entries| {
            entries
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().ends_with(".parquet"))
                .count()
        });
        tables.is_ok_and(|tables| tables >= 7)
    };
    let start = Instant::now();
    while !is_writing(&desk.path(partial)) {
        assert!(start.elapsed() < Duration::from_secs(30), "the run does not begin to write");
        assert!(child.try_wait().expect("it can be asked").is_none(), "the run is over before it was killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().expect("it can be asked").is_none(), "the run is over before it was killed");
    child
}

/// Kills a run while the run writes into the folder `partial`.
fn kill_in_the_middle(desk: &Desk, args: &[&str], partial: &str) {
    let mut child = start_and_wait(desk, args, partial);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
}

const LONG: [&str; 4] = ["--set", "duration=1000 s", "--set", "drain=1 ms"];

#[test]
fn a_killed_run_leaves_no_result_and_can_be_run_again() {
    let desk = Desk::with_tiny();
    kill_in_the_middle(
        &desk,
        &[&["run", "tiny.toml", "--out", "out/first"], &LONG[..]].concat(),
        "out/.first.partial",
    );
    assert!(!desk.path("out/first").exists(), "nothing has the name of the result");
    assert!(!desk.output(&["report", "out/first"]).status.success());
    assert!(!desk.output(&["report", "out"]).status.success(), "what was left is not taken for a run");
    desk.succeed(&["run", "tiny.toml", "--out", "out/first"]);
    assert!(desk.path("out/first/manifest.json").is_file());
    let left: Vec<_> = fs::read_dir(desk.path("out")).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "the new run has cleared away what the killed one left: {left:?}");
}

#[test]
fn a_killed_run_leaves_the_earlier_result_as_it_was() {
    let desk = Desk::with_tiny();
    desk.succeed(&["run", "tiny.toml", "--out", "out"]);
    let before = desk.files("out");
    let args = [&["run", "tiny.toml", "--out", "out", "--replace"], &LONG[..]].concat();
    kill_in_the_middle(&desk, &args, ".out.partial");
    assert_eq!(desk.files("out"), before);
}

#[test]
fn a_killed_comparison_keeps_its_finished_runs_and_can_be_completed() {
    let desk = Desk::with_tiny();
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt", "--out", "all"]);
    let before = desk.files("all/dt");
    let policies = ["--policies", "cs", "--out", "all"];
    // A longer duration makes a different scenario, so the slow run has a separate folder.
    desk.write("long.toml", &TINY.replace("\"10 ms\"", "\"1000 s\""));
    let args = [&["compare", "long.toml"], &policies[..]].concat();
    assert!(!desk.output(&args).status.success(), "a longer run is not compared with a shorter one");
    let args = [&["compare", "long.toml", "--policies", "cs"], &["--out", "long"][..]].concat();
    kill_in_the_middle(&desk, &args, "long/cs/.seed-1.partial");
    assert!(!desk.output(&["report", "long"]).status.success());
    assert_eq!(desk.files("all/dt"), before);
    desk.succeed(&[&["compare", "tiny.toml"], &policies[..]].concat());
    assert_eq!(desk.files("all/dt"), before);
}

/// Starts and kills a command `times` times, after different delays. Then the command runs without
/// a kill.
fn kill_again_and_again(desk: &Desk, args: &[&str], times: u32) {
    for round in 0..times {
        let mut child =
            desk.command(args).stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
        // Early and late kills alternate. A command that ends before its kill needs no kill.
        std::thread::sleep(Duration::from_millis(u64::from(round * 37 % 90)));
        drop(child.kill());
        child.wait().expect("it ends");
    }
    desk.succeed(args);
}

/// The files of a folder, except the files with elapsed times.
pub(crate) fn timeless(desk: &Desk, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = desk.files(folder);
    files.retain(|name, _| !name.ends_with("timing.json") && !name.starts_with("runs/"));
    files
}

pub(crate) fn assert_same(whole: &BTreeMap<String, Vec<u8>>, killed: &BTreeMap<String, Vec<u8>>) {
    let surplus: Vec<_> = killed.keys().filter(|name| !whole.contains_key(*name)).collect();
    let missing: Vec<_> = whole.keys().filter(|name| !killed.contains_key(*name)).collect();
    assert!(surplus.is_empty() && missing.is_empty(), "surplus: {surplus:?}, missing: {missing:?}");
    for (name, content) in whole {
        assert!(killed[name] == *content, "{name} differs");
    }
}

#[test]
fn a_sweep_that_is_killed_twenty_times_ends_with_the_bytes_of_an_undisturbed_one() {
    let desk = Desk::with_tiny();
    let grid = ["sweep", "tiny.toml", "--vary", "switch.buffer=[\"50 KB\", \"75 KB\", \"100 KB\"]"];
    let grid = [&grid[..], &["--policies", "dt,abm,cs", "--seeds", "3", "--out"]].concat();
    desk.succeed(&[&grid[..], &["whole"]].concat());
    kill_again_and_again(&desk, &[&grid[..], &["killed"]].concat(), 20);
    assert_same(&timeless(&desk, "whole"), &timeless(&desk, "killed"));
}

#[test]
fn a_comparison_that_is_killed_ten_times_ends_with_the_bytes_of_an_undisturbed_one() {
    let desk = Desk::with_tiny();
    let command = ["compare", "tiny.toml", "--seeds", "6", "--variants", "dt", "abm", "cs", "--out"];
    desk.succeed(&[&command[..], &["whole"]].concat());
    kill_again_and_again(&desk, &[&command[..], &["killed"]].concat(), 10);
    assert_same(&timeless(&desk, "whole"), &timeless(&desk, "killed"));
}

#[test]
fn a_reproduction_that_is_killed_twenty_times_ends_with_the_bytes_of_an_undisturbed_one() {
    let desk = Desk::with_tiny();
    desk.write(
        "own/study/buffers.toml",
        r#"
title = "Queries and buffers"
figure = "own"
scenario = "../../tiny.toml"
policies = ["dt", "abm", "cs"]
[[axis]]
name = "buffer"
key = "switch.buffer"
values = ["50 KB", "75 KB", "100 KB"]
[metrics]
qct = "class.incast.qct_mean_ms"
[quick]
seeds = 3
[paper]
seeds = 3
[[panel]]
title = "mean QCT (ms)"
metric = "qct"
"#,
    );
    let study = ["reproduce", "study/buffers", "--registry", "own", "--out"];
    desk.succeed(&[&study[..], &["whole"]].concat());
    kill_again_and_again(&desk, &[&study[..], &["killed"]].concat(), 20);
    assert_same(&timeless(&desk, "whole"), &timeless(&desk, "killed"));
    assert!(desk.path("killed/study/buffers/figure.html").is_file());
}

/// Presses Ctrl-C while the run writes into the folder `partial`.
/// Returns the run's messages on stderr.
#[cfg(unix)]
fn interrupt_in_the_middle(desk: &Desk, args: &[&str], partial: &str) -> String {
    let output = interrupt(start_and_wait(desk, args, partial));
    // The test joins the wrapped lines of the message.
    text(&output.stderr).replace("\n  │ ", " ").replace("\n        ", " ")
}

/// Presses Ctrl-C. Returns the output of the command.
#[cfg(unix)]
fn interrupt(child: Child) -> std::process::Output {
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("there is kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    output
}

#[test]
#[cfg(unix)]
fn interrupted_readings_give_no_verdicts() {
    let desk = Desk::new();
    let args = ["reproduce", "tdt/fig14", "--readings", "--seeds", "3", "--jobs", "1", "--out", "all"];
    let mut command = desk.command(&args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (start, runs) = (Instant::now(), desk.path("all/runs"));
    while fs::read_dir(&runs).map_or(0, Iterator::count) < 2 {
        assert!(start.elapsed() < Duration::from_secs(60), "no run ends");
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = interrupt(child);
    assert!(text(&output.stderr).contains("interrupted in tdt/fig14"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_clears_away_what_it_had_begun_and_says_what_is_kept() {
    let desk = Desk::with_tiny();
    let args = [&["run", "tiny.toml", "--out", "out/first"], &LONG[..]].concat();
    let said = interrupt_in_the_middle(&desk, &args, "out/.first.partial");
    assert!(said.contains("interrupted: the run was not complete and has no result"), "{said}");
    assert!(said.contains("repeat the command"), "{said}");
    assert_eq!(fs::read_dir(desk.path("out")).expect("a folder").count(), 0, "nothing is left");
    desk.succeed(&["run", "tiny.toml", "--out", "out/first"]);
    let before = desk.files("out");
    let said = interrupt_in_the_middle(&desk, &[&args[..], &["--replace"]].concat(), "out/.first.partial");
    assert!(said.contains("the earlier result in out/first is unchanged"), "{said}");
    assert_eq!(desk.files("out"), before);
}

#[test]
#[cfg(unix)]
fn an_interrupted_sweep_keeps_what_is_complete_and_goes_on() {
    let desk = Desk::with_tiny();
    let sweep = |buffers: &str| {
        let vary = format!("duration=[\"10 ms\", {buffers}]");
        ["sweep", "tiny.toml", "--jobs", "1", "--out", "grid", "--vary", &vary].map(str::to_owned)
    };
    let args = sweep("\"1000 s\"");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let said = interrupt_in_the_middle(&desk, &args, "grid/duration=1000-s/dt/.seed-1.partial");
    assert!(said.contains("interrupted: 1 of 2 runs is complete and stays in grid"), "{said}");
    assert!(said.contains("complete runs are not repeated"), "{said}");
    assert!(!desk.path("grid/.lock").exists());
    assert!(!desk.path("grid/duration=1000-s/dt/.seed-1.partial").exists());
    let again = sweep("\"20 ms\"");
    let again = desk.output(&again.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(text(&again.stderr).contains("1 run is there already"), "{}", text(&again.stderr));
}

#[test]
#[cfg(unix)]
fn an_interrupted_comparison_keeps_what_is_complete_and_goes_on() {
    let desk = Desk::with_tiny();
    let args = [
        "compare",
        "tiny.toml",
        "--seeds",
        "1",
        "--jobs",
        "1",
        "--out",
        "all",
        "--variants",
        "dt",
        "long: dt + duration=1000 s",
    ];
    let said = interrupt_in_the_middle(&desk, &args, "all/long/.seed-1.partial");
    assert!(said.contains("interrupted: 1 of 2 runs is complete and stays in all"), "{said}");
    assert!(said.contains("complete runs are not repeated"), "{said}");
    let finished = desk.files("all/dt");
    let said = interrupt_in_the_middle(&desk, &args, "all/long/.seed-1.partial");
    assert!(said.contains("1 run is there already"), "{said}");
    assert!(said.contains("interrupted: 1 of 2 runs is complete"), "{said}");
    assert_eq!(desk.files("all/dt"), finished, "not even the time that it took is another one");
}

#[test]
fn a_run_of_several_seeds_that_is_killed_ten_times_ends_with_the_bytes_of_an_undisturbed_one() {
    let desk = Desk::with_tiny();
    let command = ["run", "tiny.toml", "--seeds", "12", "--jobs", "1", "--out"];
    desk.succeed(&[&command[..], &["whole"]].concat());
    kill_again_and_again(&desk, &[&command[..], &["killed"]].concat(), 10);
    assert_same(&timeless(&desk, "whole"), &timeless(&desk, "killed"));
}

#[test]
fn a_later_command_clears_away_what_killed_ones_left_and_nothing_else() {
    let desk = Desk::with_tiny();
    let both = ["compare", "tiny.toml", "--policies", "dt", "--jobs", "1", "--out", "all"];
    kill_in_the_middle(&desk, &[&both[..], &["--seeds", "3"], &LONG[..]].concat(), "all/dt/.seed-1.partial");
    desk.write("all/dt/.mine.partial/thesis.tex", "hard work");
    let output = desk.output(&["compare", "tiny.toml", "--policies", "cs", "--out", "all"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("1 unfinished run"), "{}", text(&output.stderr));
    assert!(!desk.path("all/dt/.seed-1.partial").exists());
    assert!(desk.path("all/dt/.mine.partial/thesis.tex").is_file(), "somebody's folder stays");
    // The next run keeps this folder, because the folder is not the remainder of a killed run.
    desk.write("own/.first.partial/thesis.tex", "hard work");
    let output = desk.output(&["run", "tiny.toml", "--out", "own/first"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("is in the way"), "{}", text(&output.stderr));
    assert!(desk.path("own/.first.partial/thesis.tex").is_file());
}

#[test]
fn of_two_equal_commands_at_once_at_least_one_succeeds() {
    let desk = Desk::with_tiny();
    for round in 0..8 {
        let out = format!("out-{round}");
        let args = ["run", "tiny.toml", "--seeds", "2", "--set", "duration=100 ms", "--out", &out];
        let start = || {
            let mut command = desk.command(&args);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        };
        let outputs = [start(), start()].map(|child| child.wait_with_output().expect("it ends"));
        let failed: Vec<_> = outputs.iter().filter(|output| !output.status.success()).collect();
        assert!(failed.len() < 2, "{}", failed.iter().map(|output| text(&output.stderr)).collect::<String>());
        for output in failed {
            let said = text(&output.stderr);
            assert!(said.contains(&format!("another command is writing {out}")), "{said}");
            assert!(said.contains("wait for it to end"), "{said}");
        }
        desk.succeed(&["verify", &out]);
        assert!(!desk.path(&format!("{out}/.lock")).exists());
    }
}
