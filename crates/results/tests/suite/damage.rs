//! Tests that every reader and `inspect` detect changed files.

use crate::folder::write;
use bufferlab_metrics::FlowRow;
use bufferlab_results::{
    FileFault, Group, Inspection, ResultsError, RunResult, inspect, remove_sealed, write_sealed, write_whole,
};
use std::fs;
use std::path::Path;

fn flip_a_bit(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn the_manifest_has_the_sha_256_of_every_file_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let dir = write(&folder.path().join("run"), 1);
    let run = RunResult::open(&dir).unwrap();
    let files = &run.manifest().files;
    // Output of `sha256sum` for a file with "seed = 1" and a newline.
    let scenario = files.iter().find(|file| file.name == "scenario.toml").unwrap();
    assert_eq!(scenario.bytes, 9);
    assert_eq!(scenario.sha256, "46545c629053298cb8b068758bd6cb0ba83f1533f50a054de71575535afea66b");
    let mut there: Vec<_> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.retain(|name| !["manifest.json", "timing.json", "SHA256SUMS"].contains(&name.as_str()));
    there.sort();
    let mut named: Vec<_> = files.iter().map(|file| file.name.clone()).collect();
    named.sort();
    assert_eq!(named, there);
    assert_eq!(run.damage().unwrap(), []);
}

#[test]
fn a_changed_bit_a_short_file_and_a_missing_one_are_named_and_a_damaged_table_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let dir = write(&folder.path().join("run"), 1);
    let run = RunResult::open(&dir).unwrap();
    flip_a_bit(&dir.join("flows.parquet"));
    fs::write(dir.join("scenario.toml"), "seed").unwrap();
    fs::remove_file(dir.join("links.parquet")).unwrap();
    let name = |name: &str| name.to_owned();
    let expected = [
        FileFault::Length { name: name("scenario.toml"), written: 9, found: 4 },
        FileFault::Content { name: name("flows.parquet") },
        FileFault::Missing { name: name("links.parquet") },
    ];
    assert_eq!(run.damage().unwrap(), expected);
    let error = run.load::<FlowRow>().unwrap_err();
    assert!(matches!(&error, ResultsError::Damaged { fault, .. } if *fault == expected[1]), "{error}");
    assert!(error.to_string().ends_with("flows.parquet is not what the run wrote (its SHA-256 differs)"));
    assert_eq!(error.hint(), "the file was changed or damaged after the run: run the scenario again");
}

#[test]
fn the_checksums_are_those_of_every_file_but_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let dir = write(&folder.path().join("run"), 1);
    let text = fs::read_to_string(dir.join("SHA256SUMS")).unwrap();
    assert!(
        text.contains("46545c629053298cb8b068758bd6cb0ba83f1533f50a054de71575535afea66b  scenario.toml\n"),
        "{text}"
    );
    assert!(text.contains("  manifest.json\n") && !text.contains("timing.json"), "{text}");
    // Earlier versions stored no checksums.
    // Runs without checksums are readable, and the manifest is listed as unchecked.
    fs::remove_file(dir.join("SHA256SUMS")).unwrap();
    let found = inspect(&dir).unwrap();
    assert_eq!((found.problems, found.unchecked), (vec![], vec![dir.join("manifest.json")]));
}

#[test]
fn pages_of_other_runs_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("dt/seed-1"), 1);
    let runs = vec!["dt/seed-1".to_owned()];
    write_sealed(folder.path(), &[("comparison.csv", "of the first")], Some(&runs)).unwrap();
    assert_eq!(inspect(folder.path()).unwrap().problems, []);
    write(&folder.path().join("dt/seed-1"), 2);
    let found = inspect(folder.path()).unwrap().problems;
    assert!(found[0].1.contains("the pages were made of another dt/seed-1"), "{found:?}");
    remove_sealed(folder.path(), &["comparison.csv"]).unwrap();
    assert_eq!(inspect(folder.path()).unwrap().problems, []);
    assert!(!folder.path().join("comparison.csv").exists() && !folder.path().join("SHA256SUMS").exists());
}

#[test]
fn a_folder_of_runs_is_inspected_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    for (name, seed) in [("dt/seed-1", 1), ("dt/seed-2", 2), ("abm/seed-1", 1)] {
        write(&place(name), seed);
    }
    let planned = ["dt/seed-1", "dt/seed-2", "abm/seed-1", "abm/seed-2"].map(str::to_owned);
    Group::new(planned.to_vec()).write(folder.path()).unwrap();
    // The folder of another program and an unfinished run are not results.
    fs::create_dir(place(".dt.partial")).unwrap();
    fs::create_dir(place("notes")).unwrap();
    fs::write(place("notes/manifest.json"), "{ \"format\": \"of somebody\", \"format_version\": 1 }")
        .unwrap();
    let found = inspect(folder.path()).unwrap();
    assert_eq!((found.runs, found.files), (3, 3 * 20 + 1));
    assert_eq!(found.problems, [(folder.path().to_path_buf(), "abm/seed-2 has no result".to_owned())]);
    flip_a_bit(&place("dt/seed-2/drops.parquet"));
    fs::write(place("dt/seed-1/manifest.json"), "{").unwrap();
    let Inspection { problems, .. } = inspect(folder.path()).unwrap();
    let [missing, manifest, table] = &problems[..] else { panic!("{problems:?}") };
    assert!(missing.1.contains("abm/seed-2"));
    assert!(manifest.1.contains("manifest.json is not what the run wrote"), "{manifest:?}");
    assert_eq!(
        table,
        &(place("dt/seed-2"), "drops.parquet is not what the run wrote (its SHA-256 differs)".to_owned())
    );
}

#[test]
fn a_run_without_its_manifest_is_replaced_by_the_same_command() {
    let folder = tempfile::tempdir().unwrap();
    let dir = write(&folder.path().join("run"), 1);
    fs::remove_file(dir.join("manifest.json")).unwrap();
    write(&dir, 2);
    assert_eq!(RunResult::open(&dir).unwrap().manifest().seed, 2);
    // If a foreign file is beside the tables, or a table is missing,
    // the folder may belong to a user.
    fs::remove_file(dir.join("manifest.json")).unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    let refused = bufferlab_results::store_run(&dir, &[("scenario.toml".to_owned(), b"x")]);
    assert!(matches!(refused, Err(ResultsError::ForeignFolder { .. })), "{refused:?}");
}

#[test]
fn a_run_with_the_half_of_a_page_that_a_killed_command_left_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let dir = write(&folder.path().join("run"), 1);
    fs::write(dir.join(".report.html.2005-0.partial"), "half").unwrap();
    write(&dir, 2);
    assert_eq!(RunResult::open(&dir).unwrap().manifest().seed, 2);
    // A partial file whose name no run uses is a foreign file.
    fs::write(dir.join(".notes.txt.2005-0.partial"), "mine").unwrap();
    let refused = bufferlab_results::store_run(&dir, &[("scenario.toml".to_owned(), b"x")]);
    assert!(matches!(refused, Err(ResultsError::ForeignFolder { .. })), "{refused:?}");
}

#[test]
fn a_file_that_cannot_be_written_whole_leaves_the_old_one_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("comparison.json");
    // A folder blocks the path: the copy can be written, but not renamed.
    fs::create_dir_all(path.join("inner")).unwrap();
    assert!(write_whole(&path, "new").is_err());
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["comparison.json"]);
}
