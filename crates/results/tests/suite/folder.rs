//! Tests the guarantees of a result folder: reading returns the written rows, and equal runs have
//! equal bytes. A folder appears only when complete, and never replaces foreign files.

use crate::rows::{EachTable, count, for_each_table, names, row, rows};
use bufferlab_metrics::{DropRow, FlowRow, LinkRow, RunSink, RunTotals, Table, TableRow};
use bufferlab_results::{
    Claim, NameTables, PolicyHead, ResultsError, RunCaveat, RunHeader, RunResult, RunWriter, Timing,
    remove_leftovers, scenario_hash, store_run,
};
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

fn head(seed: u64) -> RunHeader {
    RunHeader {
        bufferlab_version: "0.1.0".into(),
        git_commit: Some("abc123".into()),
        scenario_name: "test".into(),
        scenario_description: "A test.".into(),
        scenario_toml: format!("seed = {seed}\n"),
        inputs: Vec::new(),
        profile: "paper".into(),
        seed,
        policy: PolicyHead {
            name: "dt".into(),
            title: "Dynamic Thresholds".into(),
            params: vec![("alpha".into(), "0.5".into())],
        },
        variant: None,
        lossless_priorities: Vec::new(),
        duration_ns: 1_000_000,
        drain_ns: 500_000,
        short_flow_bytes: 100_000,
        sample_interval_ns: 1_000,
        sample_switch: Some("leaf-0".into()),
        names: names(),
    }
}

fn totals() -> RunTotals {
    let NameTables { classes, switches, hosts, .. } = names();
    RunTotals {
        classes,
        switches,
        hosts,
        buffer_bytes: vec![1 << 20; 2],
        end_ns: 1_200_000,
        packet_hops: 123_456,
        events: 200_000,
        flows: 20_000,
        flows_finished: 19_999,
        peak_packets: 77,
        peak_flows: 12,
        lost_acks: 3,
        nearest_pause: None,
    }
}

/// Writes the rows of every table to a run.
struct Fill<'a>(&'a mut RunWriter);

impl EachTable for Fill<'_> {
    fn table<R: TableRow + PartialEq + Debug>(&mut self) {
        rows::<R>().for_each(|row| self.0.push(&row).unwrap());
    }
}

fn fill(writer: &mut RunWriter) {
    for_each_table(&mut Fill(writer));
}

/// Writes a run with rows in every table and returns its folder.
pub(crate) fn write(dir: &Path, seed: u64) -> PathBuf {
    let mut writer = RunWriter::create(dir, head(seed)).unwrap();
    fill(&mut writer);
    let caveat = RunCaveat { id: "test".into(), message: "m".into(), advice: "a".into() };
    let timing = Timing { wall_seconds: 1.5, ..Timing::default() };
    writer.finish(&totals(), vec![caveat], Some(&timing)).unwrap()
}

/// Sorted names of all entries of `dir`, including hidden entries.
fn listing(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_manifest_says_what_was_run_and_what_there_is() {
    let temp = tempfile::tempdir().unwrap();
    let run = RunResult::open(&write(&temp.path().join("run"), 9)).unwrap();
    let manifest = run.manifest();
    assert_eq!((manifest.seed, manifest.policy.name.as_str(), manifest.profile.as_str()), (9, "dt", "paper"));
    assert_eq!(manifest.policy.params, [("alpha".to_owned(), "0.5".to_owned())]);
    assert_eq!(manifest.scenario_sha256, scenario_hash("seed = 9\n", &head(9).inputs));
    assert_eq!(run.scenario_toml().unwrap(), "seed = 9\n");
    for table in Table::ALL {
        assert_eq!(manifest.rows(table), count(table.name()), "{}", table.name());
    }
    assert_eq!(manifest.tables.len(), Table::ALL.len());
    assert_eq!(manifest.names, names());
    assert_eq!(manifest.totals.packet_hops, 123_456);
    assert_eq!(manifest.caveats[0].id, "test");
    assert_eq!(run.timing().unwrap().unwrap().wall_seconds, 1.5);
    let text = fs::read_to_string(run.dir().join("manifest.json")).unwrap();
    assert!(!text.contains("wall_seconds"), "times belong to timing.json");
}

#[test]
fn two_equal_runs_give_equal_bytes() {
    let temp = tempfile::tempdir().unwrap();
    let (a, b) = (write(&temp.path().join("a"), 1), write(&temp.path().join("b"), 1));
    assert_eq!(listing(&a), listing(&b));
    for name in listing(&a) {
        assert!(fs::read(a.join(&name)).unwrap() == fs::read(b.join(&name)).unwrap(), "{name} differs");
    }
}

#[test]
fn an_unfinished_run_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(&temp.path().join("run"), head(1)).unwrap();
    fill(&mut writer);
    assert!(!temp.path().join("run").exists(), "nothing is in place before the end");
    drop(writer);
    assert_eq!(listing(temp.path()), [""; 0]);
}

#[test]
fn an_unfinished_run_leaves_the_earlier_result_alone() {
    let temp = tempfile::tempdir().unwrap();
    let dir = write(&temp.path().join("run"), 1);
    drop(RunWriter::create(&dir, head(2)).unwrap());
    assert_eq!(RunResult::open(&dir).unwrap().manifest().seed, 1);
}

/// Creates the hidden folder of a killed run. The test forgets the writer, like a process that
/// dies.
fn killed(run: &Path) -> PathBuf {
    let partial = run.with_file_name(format!(".{}.partial", run.file_name().unwrap().to_str().unwrap()));
    let writer = RunWriter::create(run, head(1)).unwrap();
    let saved: Vec<_> = fs::read_dir(&partial)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap()))
        .collect();
    drop(writer);
    fs::create_dir(&partial).unwrap();
    for (name, content) in saved {
        fs::write(partial.join(name), content).unwrap();
    }
    partial
}

#[test]
fn what_a_killed_run_left_is_replaced() {
    let temp = tempfile::tempdir().unwrap();
    killed(&temp.path().join("run"));
    let dir = write(&temp.path().join("run"), 1);
    assert_eq!(RunResult::open(&dir).unwrap().load::<FlowRow>().unwrap().len() as u64, count("flows"));
    assert_eq!(listing(temp.path()), ["run"]);
}

#[test]
fn a_folder_of_somebody_with_the_name_of_a_hidden_one_is_never_touched() {
    let temp = tempfile::tempdir().unwrap();
    let mine = temp.path().join(".run.partial");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("flows.parquet"), "mine").unwrap();
    let error = RunWriter::create(&temp.path().join("run"), head(1)).err().expect("refused");
    assert!(matches!(error, ResultsError::InTheWay { .. }), "{error}");
    assert_eq!(remove_leftovers(temp.path()), 0);
    assert_eq!(fs::read_to_string(mine.join("flows.parquet")).unwrap(), "mine");
    // A run may use an existing hidden folder if the folder is empty.
    fs::remove_file(mine.join("flows.parquet")).unwrap();
    write(&temp.path().join("run"), 1);
    assert_eq!(listing(temp.path()), ["run"]);
}

#[test]
fn leftovers_of_killed_runs_go_and_those_of_living_ones_stay() {
    let temp = tempfile::tempdir().unwrap();
    let at = |name: &str| temp.path().join(name);
    fs::create_dir_all(at("dt")).unwrap();
    let (left, deep) = (killed(&at("seed-3")), killed(&at("dt/seed-4")));
    let alive = RunWriter::create(&at("seed-5"), head(1)).unwrap();
    // The test writes files of runs that were killed before they created their hidden folder, or
    // after they renamed it.
    fs::write(at(".seed-6.writing"), "bufferlab writes here: process 1, claim 0\n").unwrap();
    let placed = write(&at("seed-7"), 7);
    fs::write(placed.join(".made-by-bufferlab"), "").unwrap();
    fs::write(at(".mine.writing"), "hard work").unwrap();
    for name in ["report.html", ".report.html.77-0.partial", ".notes.77-0.partial"] {
        fs::write(at(name), "half").unwrap();
    }
    assert_eq!(remove_leftovers(temp.path()), 2);
    assert!(!left.exists() && !deep.exists());
    alive.finish(&totals(), Vec::new(), None).unwrap();
    assert_eq!(
        listing(temp.path()),
        [".mine.writing", ".notes.77-0.partial", "dt", "report.html", "seed-5", "seed-7"]
    );
    assert!(!placed.join(".made-by-bufferlab").exists());
}

#[test]
fn a_folder_of_runs_is_claimed_by_one_at_a_time() {
    let temp = tempfile::tempdir().unwrap();
    let out = temp.path().join("deep/all");
    let claim = Claim::folder(&out).unwrap();
    let error = Claim::folder(&out).expect_err("refused");
    assert!(matches!(error, ResultsError::Busy { .. }), "{error}");
    drop(claim);
    assert!(!out.exists(), "nothing was put there");
    // Many threads try to claim the folder at the same time, but only one claim at a time succeeds.
    let held = AtomicU32::new(0);
    let seen = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let Ok(claim) = Claim::folder(temp.path()) else { continue };
                    assert_eq!(held.fetch_add(1, Ordering::SeqCst), 0, "two have it");
                    seen.fetch_add(1, Ordering::SeqCst);
                    held.fetch_sub(1, Ordering::SeqCst);
                    drop(claim);
                }
            });
        }
    });
    assert!(seen.into_inner() > 0, "nobody ever had it");
    assert!(listing(temp.path()).is_empty(), "nor above it");
}

#[test]
fn a_kill_between_the_two_renames_loses_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let dir = write(&temp.path().join("run"), 1);
    fs::rename(&dir, temp.path().join(".run.replaced")).unwrap();
    drop(RunWriter::create(&dir, head(2)).unwrap());
    assert_eq!(RunResult::open(&dir).unwrap().manifest().seed, 1);
}

#[test]
fn two_runs_cannot_write_the_same_result_at_once() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let first = RunWriter::create(&dir, head(1)).unwrap();
    let second = RunWriter::create(&dir, head(2)).err().expect("the second is refused");
    assert!(matches!(second, ResultsError::Busy { .. }), "{second}");
    first.finish(&totals(), Vec::new(), None).unwrap();
    assert_eq!(RunResult::open(&dir).unwrap().manifest().seed, 1);
}

#[test]
fn a_result_and_its_report_are_replaced_and_an_empty_folder_is_used() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    fs::create_dir(&dir).unwrap();
    write(&dir, 1);
    fs::write(dir.join("report.html"), "about seed 1").unwrap();
    write(&dir, 2);
    assert_eq!(RunResult::open(&dir).unwrap().manifest().seed, 2);
    assert!(!dir.join("report.html").exists(), "a report about other tables would mislead");
    assert_eq!(listing(temp.path()), ["run"]);
}

#[test]
fn a_foreign_folder_is_refused_untouched() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("thesis");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("chapter-1.tex"), "hard work").unwrap();
    let error = RunWriter::create(&dir, head(1)).err().expect("refused");
    assert!(error.to_string().contains("chapter-1.tex"), "{error}");
    assert!(error.hint().contains("--out"), "{}", error.hint());
    assert_eq!(listing(temp.path()), ["thesis"]);
    assert_eq!(fs::read_to_string(dir.join("chapter-1.tex")).unwrap(), "hard work");
}

#[test]
fn notes_in_a_result_folder_and_a_strangers_manifest_are_respected() {
    let temp = tempfile::tempdir().unwrap();
    let dir = write(&temp.path().join("run"), 1);
    fs::write(dir.join("notes.md"), "look at flow 7").unwrap();
    let error = RunWriter::create(&dir, head(2)).err().expect("refused");
    assert!(error.to_string().contains("notes.md"), "{error}");

    let web = temp.path().join("web");
    fs::create_dir(&web).unwrap();
    fs::write(web.join("manifest.json"), r#"{"name": "a web app"}"#).unwrap();
    assert!(matches!(RunWriter::create(&web, head(1)).err(), Some(ResultsError::ForeignFolder { .. })));

    let file = temp.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(RunWriter::create(&file, head(1)).err(), Some(ResultsError::NotAFolder { .. })));
}

#[test]
fn files_that_appear_during_a_run_are_not_lost_and_neither_is_the_run() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let writer = RunWriter::create(&dir, head(1)).unwrap();
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("notes.md"), "x").unwrap();
    assert!(writer.finish(&totals(), Vec::new(), None).is_err());
    assert!(dir.join("notes.md").exists());
    assert!(RunResult::open(&temp.path().join(".run.partial")).is_ok(), "the work of the run is kept");
}

#[test]
fn an_index_without_a_name_is_an_error_that_says_which() {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(&temp.path().join("run"), head(1)).unwrap();
    let error = writer.drops(&DropRow { class: 2, ..row(0) }).unwrap_err();
    assert!(error.to_string().contains("`class` is 2, but only 2 names"), "{error}");
}

#[test]
fn two_classes_of_the_same_name_are_refused() {
    let temp = tempfile::tempdir().unwrap();
    let mut head = head(1);
    head.names.classes = vec!["websearch".to_owned(); 2];
    let error = RunWriter::create(&temp.path().join("run"), head).err().expect("refused");
    assert_eq!(error.to_string(), "two classes have the name `websearch`");
}

#[test]
fn reading_something_else_says_what_is_wrong() {
    let temp = tempfile::tempdir().unwrap();
    let error = RunResult::open(temp.path()).unwrap_err();
    assert!(matches!(error, ResultsError::Incomplete { .. }), "{error}");

    let dir = write(&temp.path().join("run"), 1);
    fs::write(dir.join("links.parquet"), "not a table").unwrap();
    let error = RunResult::open(&dir).unwrap().load::<LinkRow>().unwrap_err();
    assert!(error.to_string().contains("links.parquet"), "{error}");

    let manifest = dir.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    // A manifest of another version would have a different checksum.
    fs::remove_file(dir.join("SHA256SUMS")).unwrap();
    fs::write(&manifest, text.replace(r#""format_version": 2"#, r#""format_version": 99"#)).unwrap();
    assert!(matches!(RunResult::open(&dir).unwrap_err(), ResultsError::FormatVersion { found: 99, .. }));
}

/// Reads the names and contents of a run's files, which another machine would send.
fn sent(dir: &Path) -> Vec<(String, Vec<u8>)> {
    listing(dir).into_iter().map(|name| (name.clone(), fs::read(dir.join(name)).unwrap())).collect()
}

#[test]
fn a_run_from_elsewhere_is_stored_as_it_was_there() {
    let temp = tempfile::tempdir().unwrap();
    let there = write(&temp.path().join("there"), 1);
    let here = store_run(&temp.path().join("deep/here"), &sent(&there)).unwrap();
    assert_eq!(sent(&here), sent(&there));
    assert_eq!(listing(&temp.path().join("deep")), ["here"]);
}

#[test]
fn half_a_run_from_elsewhere_is_not_stored_and_no_name_leads_out_of_the_folder() {
    let temp = tempfile::tempdir().unwrap();
    let files = sent(&write(&temp.path().join("there"), 1));
    let here = temp.path().join("here");
    for missing in ["manifest.json", "flows.parquet"] {
        let mut half = files.clone();
        half.retain(|(name, _)| name != missing);
        assert!(half.len() < files.len(), "the run has a file {missing}");
        store_run(&here, &half).expect_err(missing);
    }
    for path in ["../loot", "a/b", "..", "/loot"] {
        let mut more = files.clone();
        more.push((path.to_owned(), b"x".to_vec()));
        store_run(&here, &more).expect_err(path);
    }
    assert_eq!(listing(temp.path()), ["there"]);
}
