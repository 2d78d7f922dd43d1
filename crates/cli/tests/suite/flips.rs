//! Tests that `verify` finds one changed bit anywhere in a tree of results,
//! and that the program draws no page from changed files.

use crate::support::{Desk, TINY};
use bufferlab_report::Report;
use bufferlab_results::inspect;
use std::fs;
use std::path::Path;

/// Number of positions in a file that the test tries.
const POSITIONS: usize = 8;

/// Writes folders with all kinds of results: a run with input file, packets, explanations and
/// report, several seeds, a comparison, a sweep and a what-if.
fn tree() -> Desk {
    let desk = Desk::with_tiny();
    desk.write("flows.csv", "src,dst,size_bytes,start_ns\nh0,h1,30000,0\nh2,h1,30000,1000\n");
    desk.write("listed.toml", &format!("{TINY}\n[[workload]]\nkind = \"flow_list\"\nfile = \"flows.csv\"\n"));
    let packets = ["--packets", "--set", "output.explain_losses=2", "--set", "switch.buffer=20 KB"];
    desk.succeed(&[&["run", "listed.toml", "--out", "all/run"], &packets[..]].concat());
    desk.succeed(&["run", "tiny.toml", "--seeds", "2", "--out", "all/seeds"]);
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt,cs", "--seeds", "1", "--out", "all/compare"]);
    desk.succeed(&["sweep", "tiny.toml", "--vary", "switch.buffer=90 KB,80 KB", "--out", "all/sweep"]);
    let switch = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/sonic/switch");
    let what_if = ["sonic", "what-if", switch, "--chip", "trident3", "--duration", "20 us", "--seeds", "1"];
    desk.succeed(&[&what_if[..], &["--out", "all/what-if"]].concat());
    desk
}

/// Returns the bits of a file that the test flips: the first bit, the last bit, and bits between
/// them.
fn bits(length: usize) -> impl Iterator<Item = usize> {
    let bits = 8 * length;
    // The shift by up to two bits makes the test flip bits at different positions in a byte.
    (0..POSITIONS).map(move |at| at * (bits - 1) / (POSITIONS - 1)).map(move |bit| (bit + bit / 8 % 3) % bits)
}

fn problems(folder: &Path) -> usize {
    inspect(folder).expect("readable").problems.len()
}

#[test]
fn verify_sees_every_flipped_bit_and_every_missing_file() {
    let desk = tree();
    let all = desk.path("all");
    let found = inspect(&all).expect("readable");
    assert_eq!((found.problems.as_slice(), found.unchecked.as_slice()), (&[][..], &[][..]));
    let mut tried = 0;
    for (name, content) in desk.files("all") {
        // Files of a parent folder can protect a file, too:
        // the pages of a comparison cover its runs.
        let top = all.join(name.split('/').next().expect("it is in a folder"));
        let path = all.join(&name);
        for bit in bits(content.len()) {
            let mut bytes = content.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).expect("writable");
            assert!(problems(&top) > 0, "{name}: bit {bit} was flipped unnoticed");
            tried += 1;
        }
        fs::remove_file(&path).expect("removable");
        // No checksum covers the elapsed time. Without checksums,
        // a folder looks like a folder of an earlier version.
        let is_told = !name.ends_with("timing.json") && !name.ends_with("SHA256SUMS");
        let is_only_manifest = name == "run/manifest.json";
        assert!(!is_told || problems(&top) > 0 || is_only_manifest, "{name} went unnoticed");
        fs::write(&path, &content).expect("writable");
    }
    assert!(tried > 600, "{tried}");
    assert_eq!(problems(&all), 0);
}

#[test]
fn no_report_is_drawn_from_a_flipped_file() {
    let desk = tree();
    for folder in ["all/run", "all/seeds", "all/compare"] {
        let dir = desk.path(folder);
        let pages = || -> Option<(String, String)> {
            let report = Report::load(&dir, &[]).ok()?;
            let text = (report.text(), report.json().ok()?);
            // The program reads some files only when it writes the page, so the test writes the
            // page, too.
            report.write().ok()?;
            Some(text)
        };
        let page_of = || fs::read(dir.join("report.html")).expect("drawn");
        let expected = pages().expect("a report");
        let page = page_of();
        let sums = fs::read(dir.join("SHA256SUMS")).expect("written");
        for (name, content) in desk.files(folder) {
            // The command writes pages and comparisons again. From an old comparison, the program
            // reads only the order of the policies.
            if name.ends_with("report.html") || ["comparison.csv", "comparison.parquet"].contains(&&*name) {
                continue;
            }
            for bit in bits(content.len()).step_by(3) {
                let mut bytes = content.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                fs::write(dir.join(&name), &bytes).expect("writable");
                if let Some(drawn) = pages() {
                    assert!(drawn == expected, "{folder}/{name}, bit {bit}: another text");
                    assert!(page_of() == page, "{folder}/{name}, bit {bit}: another page");
                }
                fs::write(dir.join(&name), &content).expect("writable");
                fs::write(dir.join("SHA256SUMS"), &sums).expect("writable");
            }
        }
    }
}

#[test]
fn no_view_shows_a_flipped_table_of_packets() {
    let desk = tree();
    let table = desk.path("all/run/packets.parquet");
    let content = fs::read(&table).expect("recorded");
    desk.succeed(&["view", "all/run", "--out", "whole.html"]);
    for bit in bits(content.len()) {
        let mut bytes = content.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&table, bytes).expect("writable");
        let output = desk.output(&["view", "all/run", "--out", "flipped.html"]);
        assert_eq!(output.status.code(), Some(1), "bit {bit}");
    }
}
