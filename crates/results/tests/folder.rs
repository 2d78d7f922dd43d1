//! What a result folder promises: it comes back as written, byte for byte the same, all at once, and never at the
//! cost of somebody else's files.

use bufferlab_metrics::{
    DelayRow, DropRow, FlowRow, FlowState, HistogramRow, LinkRow, PauseCycleRow, PauseRow, PauseSpanRow,
    ProbeRow, ProgressRow, QueryRow, QueueRow, RunSink, RunTotals, Scope, SeriesRow, WatchdogRow,
};
use bufferlab_results::{
    NameTables, PolicyHead, ResultsError, RunCaveat, RunHead, RunResult, RunWriter, Table, Timing,
    scenario_hash, store_run,
};
use std::fs;
use std::path::{Path, PathBuf};

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|&word| word.to_owned()).collect()
}

fn names() -> NameTables {
    NameTables {
        classes: words(&["websearch", "incast"]),
        switches: words(&["leaf-0", "leaf-1"]),
        hosts: words(&["h0", "h1", "h2", "h3"]),
    }
}

fn head(seed: u64) -> RunHead {
    RunHead {
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
        duration_ns: 1_000_000,
        drain_ns: 500_000,
        short_flow_bytes: 100_000,
        sample_interval_ns: 1_000,
        sample_switch: Some("leaf-0".into()),
        names: names(),
    }
}

fn totals() -> RunTotals {
    let NameTables { classes, switches, hosts } = names();
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
    }
}

fn flow(n: u64) -> FlowRow {
    let finished = n % 7 != 3;
    FlowRow {
        flow_id: n,
        class: (n % 2) as u16,
        query_id: (n % 2 == 1).then_some((n / 16) as u32),
        src_host: (n % 4) as u32,
        dst_host: ((n + 1) % 4) as u32,
        size_bytes: n * 1_000 + 1,
        start_ns: n * 50,
        sending_ns: n.is_multiple_of(5).then_some(n * 1_000),
        state: FlowState::ALL[if finished { 0 } else { 1 + (n % 2) as usize }],
        fct_ns: finished.then_some(n * 3 + 10),
        ideal_ns: n as f64 + 0.25,
        slowdown: finished.then_some((n * 3 + 10) as f64 / (n as f64 + 0.25)),
        sent_packets: n + 1,
        retransmitted_packets: n % 3,
        timeouts: (n % 5) as u32,
        marked_packets: n % 11,
        dropped_packets: n % 13,
    }
}

fn query() -> QueryRow {
    QueryRow {
        query_id: 4,
        class: 1,
        client_host: 3,
        fan_in: 16,
        request_bytes: 1 << 18,
        start_ns: 99,
        qct_ns: None,
        ideal_ns: 1.5,
        slowdown: None,
        dropped_packets: 2,
        timeouts: 1,
    }
}

fn series(scope: Scope) -> SeriesRow {
    SeriesRow {
        time_ns: 5,
        scope,
        switch: 0,
        port: (scope != Scope::Switch).then_some(3),
        priority: (scope == Scope::Queue).then_some(1),
        occupancy_bytes: 1_000,
        threshold_bytes: (scope == Scope::Queue).then_some(5_000),
    }
}

fn histogram() -> HistogramRow {
    HistogramRow {
        scope: Scope::Switch,
        switch: 1,
        port: None,
        priority: None,
        from_bytes: 64,
        to_bytes: 127,
        time_ns: 1_000,
    }
}

fn queue() -> QueueRow {
    QueueRow {
        switch: 1,
        port: 2,
        priority: 7,
        arrived_packets: 10,
        enqueued_packets: 8,
        enqueued_bytes: 9_000,
        dropped_packets: 2,
        evicted_packets: 1,
        marked_packets: 4,
        max_bytes: 5_000,
        mean_bytes: 12.75,
    }
}

fn drops() -> DropRow {
    DropRow { switch: 0, port: 1, priority: 0, class: 1, reason: "over-threshold", packets: 3, bytes: 4_500 }
}

fn link() -> LinkRow {
    LinkRow {
        from: "h0".into(),
        to: "leaf-0".into(),
        parallel: 0,
        role: "host-up",
        rate_bps: 10_000_000_000,
        tx_packets: 100,
        tx_bytes: 150_000,
        marked_packets: 2,
        utilisation: 0.4,
        offered_bytes: Some(151_500),
        lost_packets: 0,
    }
}

fn probe() -> ProbeRow {
    ProbeRow { time_ns: 7, switch: 1, port: 2, priority: 0, name: "state", value: 2.0 }
}

fn pause() -> PauseRow {
    PauseRow {
        switch: 1,
        port: 2,
        priority: 3,
        sent_pauses: 5,
        sent_resumes: 4,
        demanded_ns: 900,
        received_pauses: 7,
        received_resumes: 6,
        paused_ns: 1_100,
        neighbour_paused_ns: 890,
    }
}

fn pause_spans() -> [PauseSpanRow; 2] {
    let span = |end_ns| PauseSpanRow {
        by: "leaf-0".into(),
        paused: "h1".into(),
        parallel: 0,
        priority: 3,
        start_ns: 800,
        end_ns,
    };
    [span(Some(1_900)), span(None)]
}

fn pause_cycles() -> [PauseCycleRow; 2] {
    let cycle = |times, ended_ns| PauseCycleRow {
        time_ns: 800,
        priority: 3,
        members: words(&["leaf-0", "leaf-1"]),
        times,
        last_ns: 1_000,
        total_ns: 100 * times,
        ended_ns,
    };
    [cycle(1, None), cycle(3, Some(1_900))]
}

fn watchdog() -> WatchdogRow {
    WatchdogRow {
        switch: 1,
        port: 2,
        priority: 3,
        rule: "broadcom",
        action: "drop",
        detected_ns: 1_000,
        restored_ns: Some(2_000),
        flushed_packets: 4,
        discarded_packets: 5,
        lost_bytes: 9_000,
        sent_packets: 0,
    }
}

fn delay() -> DelayRow {
    DelayRow { switch: 1, port: 2, priority: 0, class: 1, from_ns: 64, to_ns: 127, packets: 3, total_ns: 300 }
}

fn progress() -> ProgressRow {
    ProgressRow { time_ns: 100, flow_id: 5, class: 1, delivered_bytes: 14_000 }
}

/// More rows than a batch, so that encoding happens in the middle too.
const FLOWS: u64 = 20_000;

fn fill(writer: &mut RunWriter) {
    for n in 0..FLOWS {
        writer.flow(&flow(n)).unwrap();
    }
    writer.query(&query()).unwrap();
    for scope in [Scope::Switch, Scope::Port, Scope::Queue] {
        writer.series(&series(scope)).unwrap();
    }
    writer.histogram(&histogram()).unwrap();
    writer.queue(&queue()).unwrap();
    writer.drops(&drops()).unwrap();
    writer.link(&link()).unwrap();
    writer.probe(&probe()).unwrap();
    writer.delay(&delay()).unwrap();
    writer.progress(&progress()).unwrap();
    writer.pause(&pause()).unwrap();
    for (span, cycle) in pause_spans().iter().zip(pause_cycles()) {
        writer.pause_span(span).unwrap();
        writer.pause_cycle(&cycle).unwrap();
    }
    writer.watchdog(&watchdog()).unwrap();
}

fn write(dir: &Path, seed: u64) -> PathBuf {
    let mut writer = RunWriter::create(dir, head(seed)).unwrap();
    fill(&mut writer);
    let caveat = RunCaveat { id: "test".into(), message: "m".into(), advice: "a".into() };
    let timing = Timing { wall_seconds: 1.5, ..Timing::default() };
    writer.finish(&totals(), vec![caveat], Some(&timing)).unwrap()
}

/// Names of everything in `dir`, hidden ones included, sorted.
fn listing(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_table_comes_back_as_it_was_written() {
    let temp = tempfile::tempdir().unwrap();
    let run = RunResult::open(&write(&temp.path().join("run"), 1)).unwrap();
    assert_eq!(run.load::<FlowRow>().unwrap(), (0..FLOWS).map(flow).collect::<Vec<_>>());
    assert_eq!(run.load::<QueryRow>().unwrap(), [query()]);
    assert_eq!(run.load::<SeriesRow>().unwrap(), [Scope::Switch, Scope::Port, Scope::Queue].map(series));
    assert_eq!(run.load::<HistogramRow>().unwrap(), [histogram()]);
    assert_eq!(run.load::<QueueRow>().unwrap(), [queue()]);
    assert_eq!(run.load::<DropRow>().unwrap(), [drops()]);
    assert_eq!(run.load::<LinkRow>().unwrap(), [link()]);
    assert_eq!(run.load::<ProbeRow>().unwrap(), [probe()]);
    assert_eq!(run.load::<DelayRow>().unwrap(), [delay()]);
    assert_eq!(run.load::<ProgressRow>().unwrap(), [progress()]);
    assert_eq!(run.load::<PauseRow>().unwrap(), [pause()]);
    assert_eq!(run.load::<PauseSpanRow>().unwrap(), pause_spans());
    assert_eq!(run.load::<PauseCycleRow>().unwrap(), pause_cycles());
    assert_eq!(run.load::<WatchdogRow>().unwrap(), [watchdog()]);
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
    assert_eq!(manifest.rows(Table::Flows), FLOWS);
    assert_eq!(manifest.rows(Table::Series), 3);
    assert_eq!(manifest.tables.len(), Table::ALL.len());
    assert_eq!(manifest.names, names());
    assert_eq!(manifest.totals.packet_hops, 123_456);
    assert_eq!(manifest.caveats[0].id, "test");
    assert_eq!(run.timing().unwrap().unwrap().wall_seconds, 1.5);
    let text = fs::read_to_string(run.dir().join("manifest.json")).unwrap();
    assert!(!text.contains("wall_seconds"), "times belong to timing.json");
}

#[test]
fn every_column_is_described_and_named_as_its_field() {
    for table in Table::ALL {
        for column in table.columns() {
            assert!(!column.description.is_empty(), "{} {}", table.name(), column.name);
            let field = table.schema();
            let field = field.field_with_name(column.name).unwrap();
            assert_eq!(
                field.metadata().get("description").map(|text| text.as_str()),
                Some(column.description)
            );
        }
    }
    // The names of a struct's fields, as its Debug output gives them.
    let fields = |debug: String| -> Vec<String> {
        debug
            .lines()
            .filter_map(|line| line.strip_prefix("    "))
            .filter(|line| !line.starts_with(' '))
            .filter_map(|line| line.split_once(": "))
            .map(|(name, _)| name.to_owned())
            .collect()
    };
    let rows = [
        (Table::Flows, format!("{:#?}", flow(0))),
        (Table::Queries, format!("{:#?}", query())),
        (Table::Series, format!("{:#?}", series(Scope::Queue))),
        (Table::Occupancy, format!("{:#?}", histogram())),
        (Table::Queues, format!("{:#?}", queue())),
        (Table::Drops, format!("{:#?}", drops())),
        (Table::Links, format!("{:#?}", link())),
        (Table::Probes, format!("{:#?}", probe())),
        (Table::Delays, format!("{:#?}", delay())),
        (Table::Progress, format!("{:#?}", progress())),
        (Table::Pauses, format!("{:#?}", pause())),
    ];
    for (table, debug) in rows {
        let columns: Vec<_> = table.columns().iter().map(|column| column.name.to_owned()).collect();
        assert_eq!(columns, fields(debug), "{}", table.name());
    }
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

#[test]
fn what_a_killed_run_left_is_replaced() {
    let temp = tempfile::tempdir().unwrap();
    let stale = temp.path().join(".run.partial");
    fs::create_dir(&stale).unwrap();
    fs::write(stale.join("flows.parquet"), "half a table").unwrap();
    let dir = write(&temp.path().join("run"), 1);
    assert_eq!(RunResult::open(&dir).unwrap().load::<FlowRow>().unwrap().len() as u64, FLOWS);
    assert_eq!(listing(temp.path()), ["run"]);
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
    let error = writer.drops(&DropRow { class: 2, ..drops() }).unwrap_err();
    assert!(error.to_string().contains("`class` is 2, but only 2 names"), "{error}");
}

#[test]
fn two_classes_of_the_same_name_are_refused() {
    let temp = tempfile::tempdir().unwrap();
    let mut head = head(1);
    head.names.classes = words(&["websearch", "websearch"]);
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
    fs::write(&manifest, text.replace(r#""format_version": 2"#, r#""format_version": 99"#)).unwrap();
    assert!(matches!(RunResult::open(&dir).unwrap_err(), ResultsError::FormatVersion { found: 99, .. }));
}

/// The files of a folder, as another machine would send them.
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
