//! Tests that a scenario from standard input equals the scenario in a file,
//! and that `--seed` equals the key `seed`.

use crate::support::{Desk, TINY, text};
use std::path::Path;

/// Runs a command that must succeed with [`TINY`] on standard input. Returns stdout and stderr.
fn succeed(desk: &Desk, args: &[&str]) -> (String, String) {
    let output = desk.output_of(args, TINY.as_bytes());
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_command_reads_it_as_it_reads_the_file() {
    let desk = Desk::with_tiny();
    for command in ["run", "check", "explain"] {
        let (piped, _) = succeed(&desk, &[command, "-", "--seed", "7"]);
        assert_eq!(piped, desk.succeed(&[command, "tiny.toml", "--set", "seed=7"]), "{command}");
    }
    let pair = ["--policies", "dt,cs", "--seeds", "2", "--seed", "3", "--out"];
    let (piped, _) = succeed(&desk, &[&["compare", "-"], &pair[..], &["piped"]].concat());
    assert_eq!(piped, desk.succeed(&[&["compare", "tiny.toml"], &pair[..], &["read"]].concat()));
    assert!(desk.path("piped/cs/seed-4/manifest.json").is_file(), "the seed that is named is the first");
    let grid = ["--vary", "switch.buffer=100 KB,200 KB", "--out"];
    let (piped, _) = succeed(&desk, &[&["sweep", "-"], &grid[..], &["grid"]].concat());
    assert_eq!(piped, desk.succeed(&[&["sweep", "tiny.toml"], &grid[..], &["other"]].concat()));
}

#[test]
fn results_are_called_after_the_scenario_or_after_where_it_came_from() {
    let desk = Desk::new();
    assert!(succeed(&desk, &["run", "-"]).1.starts_with("results in results/tiny,"));
    let nameless = TINY.replace("name = \"tiny\"\n", "");
    let output = desk.output_of(&["compare", "-", "--policies", "dt"], nameless.as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(desk.path("results/stdin-compare/report.html").is_file(), "{}", text(&output.stderr));
}

#[test]
fn errors_name_it_and_its_paths_are_those_of_the_folder_one_is_in() {
    let desk = Desk::with_tiny();
    let wrong = desk.output_of(&["run", "-"], TINY.replace("fan_in = 3", "fan_in = 0").as_bytes());
    let said = text(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(said.contains("<stdin>:24:10") && said.contains("workload.0.fan_in"), "{said}");
    // A scenario on standard input can extend a file, and can refer to a file.
    let child = b"extends = \"tiny.toml\"\nname = \"child\"\n";
    let output = desk.output_of(&["check", "-"], child);
    assert!(text(&output.stdout).starts_with("child: Queries"), "{}", text(&output.stderr));
    let missing = desk.output_of(&["check", "-"], b"extends = \"no.toml\"\n");
    assert!(text(&missing.stderr).contains("cannot read no.toml"), "{}", text(&missing.stderr));
    let binary = desk.output_of(&["check", "-"], b"\xff\xfe");
    assert!(text(&binary.stderr).contains("cannot read <stdin>"), "{}", text(&binary.stderr));
    let empty = desk.output_of(&["check", "-"], b"");
    assert!(text(&empty.stderr).contains("<stdin>"), "{}", text(&empty.stderr));
    assert!(!Path::new(&desk.path("results")).exists(), "nothing was run");
}

#[test]
fn a_seed_that_is_no_number_is_refused_by_name() {
    let desk = Desk::with_tiny();
    let output = desk.output(&["run", "tiny.toml", "--seed", "seven"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("'--seed <N>'"), "{}", text(&output.stderr));
}
