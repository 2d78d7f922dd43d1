//! Tests that one bad variant, point or run never stops the other runs. A mistake in all runs is
//! reported before the first write.

use crate::support::{Desk, TINY, text};
use std::fs;

/// A variant that cannot run, because its buffer has only 1 B.
const REFUSED: &str = "small: dt + switch.buffer=1 B";

#[test]
fn a_refused_variant_is_named_and_the_others_are_complete() {
    let desk = Desk::with_tiny();
    for (at, variants) in
        [["dt", "cs", REFUSED], [REFUSED, "dt", "cs"], ["dt", REFUSED, "cs"]].iter().enumerate()
    {
        let out = format!("out-{at}");
        let compare =
            [&["compare", "tiny.toml", "--seeds", "2", "--out", &out, "--variants"], &variants[..]].concat();
        let output = desk.output(&compare);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("\"small\" cannot run; the others do"), "{said}");
        assert!(said.contains("without a result:") && said.contains("small: "), "{said}");
        // The first variant that can run is the baseline.
        assert!(text(&output.stdout).contains("dt (baseline)"), "{}", text(&output.stdout));
        for run in ["dt/seed-1", "dt/seed-2", "cs/seed-1", "cs/seed-2"] {
            assert!(desk.path(&format!("{out}/{run}/manifest.json")).is_file(), "{run}");
        }
        assert!(desk.path(&format!("{out}/report.html")).is_file());
    }
    // A single variant is an error, and the program writes no file.
    let output = desk.output(&["compare", "tiny.toml", "--variants", REFUSED, "--out", "deep/alone"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!desk.path("deep").exists());
}

#[test]
fn a_run_that_fails_is_named_and_the_others_are_complete() {
    let desk = Desk::with_tiny();
    // A folder of the user has the hidden name of an unfinished run.
    desk.write("out/cs/.seed-2.partial/thesis.tex", "hard work");
    let output =
        desk.output(&["compare", "tiny.toml", "--policies", "dt,cs", "--seeds", "2", "--out", "out"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cs/seed-2: ") && said.contains("is in the way"), "{said}");
    assert!(text(&output.stdout).contains("cs lacks seeds that others have (2)"), "{}", text(&output.stdout));
    fs::remove_dir_all(desk.path("out/cs/.seed-2.partial")).expect("removable");
    let again = desk.output(&["compare", "tiny.toml", "--policies", "dt,cs", "--seeds", "2", "--out", "out"]);
    assert!(again.status.success() && text(&again.stderr).contains("3 runs are there already"));
}

#[test]
fn a_mistyped_key_of_a_sweep_is_shown_before_anything_is_written() {
    let desk = Desk::with_tiny();
    for vary in ["switch.bufer=50 KB,90 KB", "workload.0.fan=2,3", "switch.buffer=1,2", "duration=1 parsec"] {
        let output = desk.output(&["sweep", "tiny.toml", "--vary", vary, "--out", "results/grid"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(!desk.path("results").exists(), "{vary} has left a folder");
    }
    let args = ["sweep", "tiny.toml", "--vary", "switch.bufer=50 KB,90 KB", "--out", "results/grid"];
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("sweep_mistyped_key", desk.terminal(&args));
    });
    // A misspelt key is also refused beside a second, valid key. An earlier sweep stays unchanged.
    desk.succeed(&["sweep", "tiny.toml", "--vary", "switch.buffer=50 KB", "--out", "grid"]);
    let before = desk.files("grid");
    let output = desk.output(&[
        "sweep",
        "tiny.toml",
        "--vary",
        "switch.buffer=50 KB",
        "--vary",
        "drian=1 ms",
        "--out",
        "grid",
        "--replace",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("did you mean"), "{}", text(&output.stderr));
    assert!(desk.files("grid") == before);
}

#[test]
fn a_study_without_statements_has_a_ledger_of_its_own_and_prints_its_values() {
    let desk = Desk::with_tiny();
    let study = "title = \"Queries and buffers\"\nfigure = \"own\"\nscenario = \"../../tiny.toml\"\npolicies = [\"dt\", \"cs\"]\n\
        [[axis]]\nname = \"buffer\"\nkey = \"switch.buffer\"\nvalues = [\"50 KB\", \"100 KB\"]\n[metrics]\nqct = \"class.incast.qct_mean_ms\"\n\
        [quick]\nseeds = 2\n";
    desk.write("mine/buf/first.toml", study);
    let printed = desk.succeed(&["reproduce", "buf", "--registry", "mine", "--out", "out"]);
    assert!(!printed.contains("315") && printed.contains("have no claims to judge"), "{printed}");
    for words in ["qct (class.incast.qct_mean_ms)", "buffer", "50 KB", "100 KB", "dt", "cs", "±"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    for page in ["out/index.html", "out/ledger.md", "out/verdicts.csv"] {
        let text = fs::read_to_string(desk.path(page)).expect("written");
        assert!(!text.contains("ABM") && !text.contains("papers' statements"), "{page}: {text}");
    }
    let index = fs::read_to_string(desk.path("out/index.html")).expect("written");
    assert!(
        index.contains("buf/first own: Queries and buffers") && index.contains("buf/first/figure.html"),
        "{index}"
    );
}

#[test]
fn a_report_of_a_folder_of_sweeps_names_their_points() {
    let desk = Desk::with_tiny();
    desk.succeed(&["sweep", "tiny.toml", "--vary", "switch.buffer=50 KB,90 KB", "--out", "grid"]);
    desk.succeed(&["report", "grid/switch.buffer=50-KB", "--figures", "figures", "--style", "paper"]);
    let empty = desk.output(&["report", "."]);
    assert!(text(&empty.stderr).contains("grid/switch.buffer=50-KB"), "{}", text(&empty.stderr));
}

#[test]
fn what_a_killed_command_left_is_in_no_other_commands_way() {
    let desk = Desk::with_tiny();
    let slow = TINY.replace("\"10 ms\"", "\"1000 s\"");
    desk.write("slow.toml", &slow);
    let commands: [&[&str]; 4] = [
        &["run", "slow.toml", "--seeds", "2"],
        &["compare", "slow.toml", "--seeds", "1", "--variants", "mine: dt(alpha=2)", "cs"],
        &["sweep", "slow.toml", "--vary", "switch.buffer=50 KB,90 KB"],
        &["run", "slow.toml"],
    ];
    for (at, killed) in commands.iter().enumerate() {
        for (next, after) in commands.iter().enumerate() {
            let out = format!("out-{at}-{next}");
            let mut child = desk.command(&[killed, &["--out", &out][..]].concat());
            let mut child = child.stderr(std::process::Stdio::null()).spawn().expect("it starts");
            std::thread::sleep(std::time::Duration::from_millis(150));
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
            let after: Vec<&str> =
                after.iter().map(|word| if *word == "slow.toml" { "tiny.toml" } else { word }).collect();
            // All commands may use a folder without complete results.
            desk.succeed(&[&after[..], &["--out", &out]].concat());
        }
    }
    // Any command may use a folder that has only the program's lock file. No command may use a
    // folder in which the lock file's name belongs to another file.
    desk.write("lock/.lock", "bufferlab writes here: process 1, claim 0\n");
    desk.succeed(&["run", "tiny.toml", "--out", "lock"]);
    desk.write("theirs/.lock", "apt");
    assert_eq!(desk.output(&["run", "tiny.toml", "--out", "theirs"]).status.code(), Some(1));
    assert_eq!(fs::read_to_string(desk.path("theirs/.lock")).expect("there"), "apt");
}
