//! Sweeps: a grid that can be interrupted, continued and extended, and that says which of its points failed.

mod support;

use support::{Desk, text};

fn desk() -> Desk {
    Desk::with_tiny()
}

const GRID: [&str; 8] = [
    "sweep",
    "tiny.toml",
    "--vary",
    "switch.buffer=[\"50 KB\", \"100 KB\"]",
    "--policies",
    "dt,abm",
    "--seeds",
    "2",
];

#[test]
fn an_interrupted_sweep_ends_with_the_bytes_of_an_uninterrupted_one() {
    let desk = desk();
    desk.succeed(&[&GRID[..], &["--out", "whole"]].concat());
    desk.succeed(&[&GRID[..], &["--out", "broken"]].concat());
    // As a kill leaves it: runs that are missing, one that was in the making, no summaries.
    let broken = desk.path("broken");
    std::fs::remove_dir_all(broken.join("switch.buffer=50-KB/abm")).expect("it was run");
    std::fs::remove_dir_all(broken.join("switch.buffer=100-KB/dt/seed-2")).expect("it was run");
    std::fs::create_dir(broken.join("switch.buffer=100-KB/dt/.seed-2.partial")).expect("a folder");
    std::fs::remove_file(broken.join("sweep.csv")).expect("it was written");
    let again = desk.output(&[&GRID[..], &["--out", "broken"]].concat());
    assert!(text(&again.stderr).contains("5 runs are there already"), "{}", text(&again.stderr));
    let files = |folder: &str| {
        let mut files = desk.files(folder);
        files.retain(|name, _| !name.ends_with("timing.json"));
        files
    };
    let (whole, broken) = (files("whole"), files("broken"));
    assert_eq!(whole.keys().collect::<Vec<_>>(), broken.keys().collect::<Vec<_>>());
    for (name, content) in &whole {
        assert!(broken[name] == *content, "{name} differs");
    }
}

#[test]
fn values_policies_and_seeds_can_be_added_but_no_other_sweep_mixed_in() {
    let desk = desk();
    desk.succeed(&[&GRID[..], &["--out", "out"]].concat());
    let wider = [
        "sweep",
        "tiny.toml",
        "--vary",
        "switch.buffer=[\"50 KB\", \"200 KB\"]",
        "--policies",
        "dt",
        "--out",
        "out",
    ];
    let more = desk.output(&wider);
    assert!(text(&more.stderr).contains("1 run is there already"), "{}", text(&more.stderr));
    let other = desk.output(&["sweep", "tiny.toml", "--vary", "seed=1,2", "--out", "out"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other.stderr).contains("does not hold this sweep"));
}

#[test]
fn failing_points_are_named_and_the_others_are_complete() {
    let desk = desk();
    let args = ["sweep", "tiny.toml", "--vary", "switch.buffer=[\"1 B\", \"100 KB\"]", "--out", "out"];
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("failing_point", desk.terminal(&args));
    });
    assert!(desk.path("out/switch.buffer=100-KB/dt/seed-1/manifest.json").is_file());
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("no_values", desk.terminal(&["sweep", "tiny.toml", "--vary", "switch.buffer"]));
    });
}
