//! Tests of `compare --warm-up` on the command line.

use crate::support::{Desk, text};
use serde_json::Value;

const COMPARE: [&str; 7] = ["compare", "tiny.toml", "--policies", "dt,cs", "--seeds", "2", "--json"];

#[test]
fn a_warm_comparison_says_so_and_resumes_and_mixes_with_no_other() {
    let desk = Desk::with_tiny();
    let warm = [&COMPARE[..], &["--warm-up", "3 ms"]].concat();
    let output = desk.output(&warm);
    let told = text(&output.stderr);
    assert!(told.contains("warm-up: all variants continue from the state of dt at 3 ms\n"), "{told}");
    let comparison: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let caveats = comparison["caveats"].as_array().expect("a list");
    let caveat = caveats.iter().find(|caveat| caveat["id"] == "warm-up").expect("a caveat");
    assert!(
        caveat["message"].as_str().is_some_and(|text| text.contains("one state of dt at 3 ms")),
        "{caveat}"
    );
    let page = std::fs::read_to_string(desk.path("results/tiny-compare/report.html")).expect("a report");
    assert!(page.contains("one state of dt at 3 ms"));
    let again = text(&desk.output(&warm).stderr);
    assert!(again.contains("4 runs are there already"), "{again}");
    for other in [&["--warm-up", "4 ms"][..], &[]] {
        let output = desk.output(&[&COMPARE[..], other].concat());
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(1) && told.contains("holds runs of another scenario"), "{told}");
    }
}

#[test]
fn a_variant_with_another_buffer_cannot_continue_and_says_why() {
    let desk = Desk::with_tiny();
    let variants = ["--variants", "deep: cs + buffer=300 KB", "--warm-up", "3 ms"];
    let output = desk.output(&[&COMPARE[..], &variants].concat());
    let told = text(&output.stderr).replace("\n  │", "");
    assert_eq!(output.status.code(), Some(1), "{told}");
    for part in
        ["\"deep\" cannot continue after a warm-up", "`switch.buffer` was \"200 KB\" and is \"300 KB\""]
    {
        assert!(told.contains(part), "{told}");
    }
    assert!(!desk.path("results/tiny-compare/dt").exists());
}

#[test]
fn all_policies_that_can_continue_are_compared() {
    let desk = Desk::with_tiny();
    let words = ["compare", "tiny.toml", "--policies", "all", "--seeds", "1", "--warm-up", "3 ms"];
    let told = text(&desk.output(&words).stderr);
    assert!(desk.path("results/tiny-compare/abm/seed-1/flows.parquet").exists(), "{told}");
}
