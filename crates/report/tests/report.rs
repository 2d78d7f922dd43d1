//! Tests of reports: a report needs only the folder, shows its caveats first, needs no network, and
//! escapes all text from outside.

mod synthetic;

use bufferlab_metrics::{
    DelayRow, DropRow, FlowRow, FlowState, LinkRow, PauseRow, PauseSpanRow, QueueRow, RunSink, RunTotals,
    Scope, SeriesRow,
};
use bufferlab_pages::{assert_all, check_block};
use bufferlab_report::{
    Caveat, Report, ReportError, RunSummary, WIDTH_MAX, metrics_table, steady_from, steady_text,
};
use bufferlab_results::{RunCaveat, RunHeader, RunResult, RunWriter};
use std::fs;
use std::path::Path;
use synthetic::{POLICIES, head, write_comparison, write_run};

fn totals_of(head: &bufferlab_results::RunHeader) -> RunTotals {
    RunTotals {
        classes: head.names.classes.clone(),
        switches: head.names.switches.clone(),
        hosts: head.names.hosts.clone(),
        buffer_bytes: vec![1_000_000; head.names.switches.len()],
        end_ns: 1_000_000,
        ..RunTotals::default()
    }
}

fn background_flow(flow_id: u64, slowdown: Option<f64>) -> FlowRow {
    FlowRow {
        flow_id,
        dst_host: 1,
        size_bytes: if flow_id.is_multiple_of(2) { 1_000 } else { 1_000_000 },
        start_ns: flow_id,
        state: if slowdown.is_some() { FlowState::Finished } else { FlowState::Unfinished },
        fct_ns: slowdown.map(|slowdown| (slowdown * 10_000.0) as u64),
        ideal_ns: 10_000.0,
        slowdown,
        sent_packets: 10,
        retransmitted_packets: 1,
        marked_packets: 2,
        dropped_packets: 1,
        ..FlowRow::default()
    }
}

/// Writes a run with only background flows of the given slowdowns.
fn write_flows(dir: &Path, slowdowns: impl Iterator<Item = Option<f64>>) {
    let head = head(POLICIES[0], 1);
    let totals = totals_of(&head);
    let mut writer = RunWriter::create(dir, head).unwrap();
    for (flow_id, slowdown) in (0..).zip(slowdowns) {
        writer.flow(&background_flow(flow_id, slowdown)).unwrap();
    }
    writer.finish(&totals, Vec::new(), None).unwrap();
}

#[test]
fn a_summary_counts_what_the_tables_say() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    // The first 100 flows have slowdowns of 1 to 100, and three flows are unfinished. Every other
    // flow is short.
    write_flows(&dir, (1..=100).map(|n| Some(f64::from(n))).chain([None, None, None]));
    let summary = RunSummary::from_result(&RunResult::open(&dir).unwrap()).unwrap();
    let all = summary.all();
    assert_eq!((all.flows, all.unfinished, all.sent_packets, all.dropped_packets), (103, 3, 1_030, 103));
    let slowdown = all.slowdown.unwrap();
    assert_eq!((slowdown.mean, slowdown.p50, slowdown.p99, slowdown.p99_9), (50.5, 50.0, 99.0, 100.0));
    // In 1 ms, 50 flows of 1 KB and 50 flows of 1 MB finish. Their payload is 50.05 MB = 400.4
    // Mbit.
    assert!((all.goodput_bps - 400.4e9).abs() < 1.0, "{}", all.goodput_bps);
    let short = &summary.groups[1];
    assert_eq!((short.flows, short.slowdown.unwrap().max), (52, 99.0));
    let metrics = summary.metrics();
    let p99 = metrics.iter().find(|value| value.metric.id == "class.websearch.slowdown_p99").unwrap();
    assert_eq!(p99.value, Some(99.0));
}

#[test]
fn names_of_metrics_are_unique() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    write_run(&dir, POLICIES[0], 1, 400);
    let summary = RunSummary::from_result(&RunResult::open(&dir).unwrap()).unwrap();
    let mut ids: Vec<_> = summary.metrics().into_iter().map(|value| value.metric.id).collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn a_comparison_is_reported_from_its_folder_alone() {
    let temp = tempfile::tempdir().unwrap();
    write_comparison(temp.path(), &POLICIES[..3], 1..=3, 2_000);
    let report = Report::load(temp.path(), &["tdt".to_owned()]).unwrap();
    assert_eq!(report.comparison.policies, ["tdt", "abm", "dt"]);
    assert_eq!(report.comparison.seeds, [1, 2, 3]);
    let cell = &report.comparison.metric("short.slowdown_p99").unwrap().cells[2];
    assert!(cell.change.unwrap().mean > 0.0 && cell.change.unwrap().low.is_some(), "{cell:?}");

    let written = report.write().unwrap();
    let names: Vec<_> = written.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["report.html", "comparison.json", "comparison.csv", "comparison.parquet"]);
    // Without a given order, the order stored in the folder gives an identical page.
    let before = fs::read(&written[0]).unwrap();
    bufferlab_report::write(temp.path()).unwrap();
    assert!(before == fs::read(&written[0]).unwrap(), "the same results give the same page");

    let json = fs::read_to_string(&written[1]).unwrap();
    assert!(json.contains("\"kind\": \"fact\"") && json.contains("nothing was paused"), "{json}");
    let csv = fs::read_to_string(&written[2]).unwrap();
    assert_eq!(csv.lines().count(), 1 + report.comparison.metrics.len() * 3);
    assert!(csv.lines().all(|line| line.split(',').count() >= 11), "every line has every column");
    assert_eq!(&fs::read(&written[3]).unwrap()[..4], b"PAR1");
}

#[test]
fn the_page_has_every_section_and_refers_to_nothing_outside() {
    let temp = tempfile::tempdir().unwrap();
    write_comparison(temp.path(), &POLICIES[..2], 1..=2, 2_000);
    let html = Report::load(temp.path(), &["dt".to_owned()]).unwrap().html().unwrap();
    let order: Vec<&str> =
        html.split("<h2 id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    // Sections with a single chart fill the free places in rows of sections.
    let charts = ["glance", "sizes", "distribution", "queries", "buffer-time", "buffer"];
    assert_eq!(order, [&charts[..], &["comparison", "losses", "links", "runs"]].concat());
    let caveats = html.find("Before you trust these numbers").expect("caveats");
    let finding = html.find("aria-label=\"Finding\"").expect("a finding");
    let ranked = html.find("aria-label=\"Ranking\"").expect("a ranked table");
    assert!(finding < caveats && caveats < ranked, "what was found, what to doubt, then numbers");
    // The script that saves charts contains the SVG namespace, which every SVG file must name.
    let (page, script) = html.rsplit_once("<script>").expect("charts can be saved");
    assert!(!page.contains("http") && script.matches("http").count() == 1, "no reference to the network");
    assert!(!page.contains("NaN") && !page.contains("inf "), "no number is broken");
    assert!(!page.contains("<script"), "nothing else to execute");
    let charts = page.matches("<figure class=\"chart").count();
    assert!(
        charts > 5 && page.matches("<template class=\"data\">").count() == charts,
        "every chart has its numbers"
    );
}

#[test]
fn a_single_run_gets_its_report_inside_and_says_that_there_is_no_interval() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    write_run(&dir, POLICIES[0], 7, 1_000);
    let written = bufferlab_report::write(&dir).unwrap();
    assert_eq!(written, [dir.join("report.html")]);
    let report = Report::load(&dir, &[]).unwrap();
    assert!(report.caveats.contains(&Caveat::SingleSeed));
    assert!(report.text().contains("One run."), "{}", report.text());
    assert!(!report.text().contains('±'), "{}", report.text());
    // The run can be repeated although its folder contains a report.
    write_run(&dir, POLICIES[0], 7, 1_000);
    assert!(!dir.join("report.html").exists());
}

#[test]
fn seeds_of_one_policy_are_found_and_hidden_and_unfinished_folders_are_not() {
    let temp = tempfile::tempdir().unwrap();
    for seed in [2, 10, 1] {
        write_run(&temp.path().join(format!("seed-{seed}")), POLICIES[0], seed, 300);
    }
    fs::create_dir(temp.path().join("seed-3")).unwrap();
    fs::create_dir(temp.path().join(".seed-4.partial")).unwrap();
    let report = Report::load(temp.path(), &[]).unwrap();
    assert_eq!(report.runs.iter().map(|run| run.summary.seed).collect::<Vec<_>>(), [1, 2, 10]);
    assert_eq!(report.comparison.policies, ["dt"]);
}

#[test]
fn a_folder_without_runs_is_an_error_with_advice() {
    let temp = tempfile::tempdir().unwrap();
    let error = Report::load(temp.path(), &[]).unwrap_err();
    assert!(matches!(error, ReportError::NoRuns { .. }), "{error}");
    assert!(error.hint().contains("manifest.json"));
}

#[test]
fn everything_that_comes_from_outside_is_escaped() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let evil = "<b>&\"x\"</b>";
    let mut head = head(POLICIES[0], 1);
    head.scenario_name = evil.into();
    head.scenario_description = evil.into();
    head.scenario_toml = format!("name = '{evil}'");
    head.profile = evil.into();
    head.bufferlab_version = evil.into();
    head.git_commit = Some(evil.into());
    head.policy.name = evil.into();
    head.policy.title = evil.into();
    head.policy.params = vec![(evil.into(), evil.into())];
    head.names.classes[0] = evil.into();
    head.names.switches[0] = evil.into();
    let totals = totals_of(&head);
    let mut writer = RunWriter::create(&dir, head).unwrap();
    for flow_id in 0..50 {
        writer.flow(&background_flow(flow_id, Some(flow_id as f64 + 1.0))).unwrap();
    }
    let caveat = RunCaveat { id: "x".into(), message: evil.into(), advice: evil.into() };
    writer.finish(&totals, vec![caveat], None).unwrap();
    let html = Report::load(&dir, &[]).unwrap().html().unwrap();
    assert!(html.contains("&lt;b&gt;&amp;"), "it is shown");
    assert!(!html.contains("<b>") && !html.contains("\"x\""), "it is escaped");
}

#[test]
fn caveats_name_what_is_wrong_and_what_to_do() {
    let temp = tempfile::tempdir().unwrap();
    write_comparison(temp.path(), &POLICIES[..2], 1..=2, 2_000);
    fs::remove_dir_all(temp.path().join("abm/seed-2")).unwrap();
    let report = Report::load(temp.path(), &["dt".to_owned()]).unwrap();
    let find = |id: &str| {
        let found = report.caveats.iter().find(|caveat| caveat.id() == id);
        found.unwrap_or_else(|| panic!("{id} is missing in {:?}", report.caveats)).record()
    };
    let unfinished = find("unfinished-flows");
    assert!(unfinished.advice.contains("`drain` (now 10 ms)"), "{unfinished:?}");
    let uneven = find("uneven-seeds");
    assert!(uneven.message.starts_with("abm lacks seeds that others have (2)"), "{uneven:?}");
    // The run has 2,000 flows, enough for p99 but not for p99.9, and only 25 queries.
    let few = find("few-queries");
    assert!(few.message.contains("incast: only 25 queries"), "{few:?}");
    let samples: Vec<_> = report.caveats.iter().filter(|caveat| caveat.id() == "too-few-samples").collect();
    let messages: Vec<_> = samples.iter().map(|caveat| caveat.message()).collect();
    assert!(messages.iter().any(|text| text.contains("p99.9") && text.contains("all flows")), "{messages:?}");
    assert!(
        messages.iter().any(|text| text.contains("p95 needs 200") && text.contains("incast queries (25)")),
        "{messages:?}"
    );
}

#[test]
fn the_terminal_table_is_narrow_enough_and_has_no_trailing_blanks() {
    let temp = tempfile::tempdir().unwrap();
    write_comparison(temp.path(), &POLICIES, 1..=3, 1_000);
    let text = Report::load(temp.path(), &["dt".to_owned()]).unwrap().text();
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH_MAX, "{} columns: {line}", line.chars().count());
        assert_eq!(line.trim_end(), line);
    }
    assert!(text.contains("dt (baseline)") && text.contains("FCT slowdown p99 [x]"), "{text}");
    assert!(
        text.find("FCT slowdown").unwrap() < text.find("Before you trust").unwrap(),
        "caveats end the text"
    );
}

/// Returns the first caveat of a run that lost three packets, `lost_lossless` of which were
/// lossless packets.
fn first_caveat_after(lost_lossless: u64) -> Caveat {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let head = head(POLICIES[0], 1);
    let totals = totals_of(&head);
    let mut writer = RunWriter::create(&dir, head).unwrap();
    writer.flow(&background_flow(1, None)).unwrap();
    let reason = "over-port-limit";
    let row = DropRow { switch: 0, port: 0, priority: 1, class: 1, reason, packets: 3, bytes: 4_500 };
    writer.drops(&row).unwrap();
    let row =
        PauseRow { priority: 1, sent_pauses: 1, lost_lossless_packets: lost_lossless, ..PauseRow::default() };
    writer.pause(&row).unwrap();
    writer.finish(&totals, Vec::new(), None).unwrap();
    Report::load(&dir, &[]).unwrap().caveats.swap_remove(0)
}

/// Caveats of a run of 1,000 lost packets, of which `lost_acks` were ACKs.
fn caveats_with_lost_acks(lost_acks: u64) -> Vec<Caveat> {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let head = head(POLICIES[0], 1);
    let totals = RunTotals { lost_acks, ..totals_of(&head) };
    let mut writer = RunWriter::create(&dir, head).unwrap();
    writer.flow(&background_flow(1, Some(2.0))).unwrap();
    let reason = "over-port-limit";
    let row = DropRow { switch: 0, port: 0, priority: 0, class: 1, reason, packets: 1_000, bytes: 66_000 };
    writer.drops(&row).unwrap();
    writer.finish(&totals, Vec::new(), None).unwrap();
    Report::load(&dir, &[]).unwrap().caveats
}

#[test]
fn many_acks_among_the_lost_packets_are_a_caveat() {
    let caveats = caveats_with_lost_acks(100);
    let found = caveats.iter().find(|caveat| caveat.id() == "lost-acks").expect("every tenth is an ACK");
    let message = found.message();
    assert!(message.starts_with("100 of 1,000 lost packets in 1 run were ACKs (dt"), "{message}");
    for rare in [0, 99] {
        assert!(caveats_with_lost_acks(rare).iter().all(|caveat| caveat.id() != "lost-acks"), "{rare}");
    }
}

#[test]
fn a_run_that_lost_lossless_packets_says_so_first() {
    let caveat = first_caveat_after(3);
    assert_eq!(caveat.id(), "lost-lossless");
    assert!(caveat.message().starts_with("3 lossless packets were lost in 1 run ("), "{}", caveat.message());
    assert_ne!(first_caveat_after(0).id(), "lost-lossless");
}

/// A leaf's uplink is paused twice, and a host once, on priorities 1 and 3. The link of h1 is never
/// paused. Priority 2 is lossless and unused.
#[test]
fn pauses_are_counted_by_link_and_priority() {
    let temp = tempfile::tempdir().unwrap();
    let head = RunHeader { lossless_priorities: vec![1, 2, 3], ..head(POLICIES[0], 1) };
    let totals = totals_of(&head);
    let end_ns = totals.end_ns;
    let mut writer = RunWriter::create(&temp.path().join("run"), head).unwrap();
    for (from, to, role) in [
        ("h0", "leaf-0", "host-up"),
        ("h1", "leaf-0", "host-up"),
        ("leaf-0", "spine-0", "up"),
        ("leaf-0", "h0", "host-down"),
    ] {
        writer.link(&LinkRow { from: from.into(), to: to.into(), role, ..LinkRow::default() }).unwrap();
    }
    let spans = [
        ("spine-0", "leaf-0", 1, 1_000, Some(3_000)),
        ("spine-0", "leaf-0", 3, 2_000, Some(7_000)),
        ("leaf-0", "h0", 3, end_ns - 1_000_000, None),
    ];
    for (by, paused, priority, start_ns, end_ns) in spans {
        let (by, paused) = (by.into(), paused.into());
        writer.pause_span(&PauseSpanRow { by, paused, parallel: 0, priority, start_ns, end_ns }).unwrap();
    }
    for (port, max_headroom_bytes) in [(0, 4_500), (1, 3_000)] {
        writer
            .pause(&PauseRow { port, priority: 3, sent_pauses: 1, max_headroom_bytes, ..PauseRow::default() })
            .unwrap();
    }
    writer.finish(&totals, Vec::new(), None).unwrap();
    let report = Report::load(&temp.path().join("run"), &[]).unwrap();
    let metrics = report.runs[0].summary.metrics();
    let found: Vec<_> = metrics
        .iter()
        .filter_map(|metric| Some((metric.metric.id.strip_prefix("pauses.")?, metric.value?)))
        .collect();
    let expected = [
        ("lost_lossless_packets", 0.0),
        ("number", 3.0),
        ("paused_ms", 1.007),
        ("longest_us", 1_000.0),
        ("host-up.number", 1.0),
        ("host-up.paused_ms", 1.0),
        ("up.number", 2.0),
        ("up.paused_ms", 0.007),
        ("priority_1.number", 1.0),
        ("priority_1.paused_ms", 0.002),
        ("priority_2.number", 0.0),
        ("priority_2.paused_ms", 0.0),
        ("priority_3.number", 2.0),
        ("priority_3.paused_ms", 1.005),
        ("headroom_max_kb", 4.5),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((found, value), (id, wanted)) in found.iter().zip(expected) {
        assert!(*found == id && (value - wanted).abs() < 1e-9, "{found} = {value}; expected {id} = {wanted}");
    }
}

/// Writes bursts of 100, 200 … us length. The bursts up to 400 us lost no packet. A port carried
/// half of its offered traffic.
fn write_bursts(dir: &Path) {
    let head = head(POLICIES[0], 1);
    let totals = totals_of(&head);
    let mut writer = RunWriter::create(dir, head).unwrap();
    for n in 1..=10_u64 {
        let whole = n <= 4;
        let row = FlowRow {
            sending_ns: Some(n * 100_000),
            state: if whole { FlowState::Finished } else { FlowState::Lossy },
            fct_ns: whole.then_some(n * 101_000),
            slowdown: whole.then_some(1.01),
            dropped_packets: if whole { 0 } else { 2 },
            ..background_flow(n, None)
        };
        writer.flow(&row).unwrap();
    }
    for (port, offered_bytes, utilisation) in [(0, 50_000_000, 1.0), (1, 2_500_000, 0.05)] {
        let row = LinkRow {
            from: "leaf-0".into(),
            to: format!("h{port}"),
            role: "host-down",
            rate_bps: 10_000_000_000,
            tx_packets: 1,
            tx_bytes: 1_500,
            utilisation,
            offered_bytes: Some(offered_bytes),
            ..LinkRow::default()
        };
        writer.link(&row).unwrap();
    }
    for (from_ns, to_ns, packets, total_ns) in [(0, 63, 90, 0), (1_000_000, 1_015_807, 10, 10_100_000)] {
        let row = DelayRow { from_ns, to_ns, packets, total_ns, ..DelayRow::default() };
        writer.delay(&row).unwrap();
    }
    writer.finish(&totals, Vec::new(), None).unwrap();
}

#[test]
fn bursts_are_judged_by_their_losses_and_are_not_unfinished() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    write_bursts(&dir);
    let report = Report::load(&dir, &[]).unwrap();
    let summary = &report.runs[0].summary;
    assert_eq!((summary.all().flows, summary.all().unfinished, summary.all().lossy), (10, 0, 6));
    assert!(summary.all().slowdown.is_none(), "open-loop flows say nothing about completion times");
    let value = |id: &str| {
        let metrics = summary.metrics();
        metrics.iter().find(|value| value.metric.id == id).unwrap_or_else(|| panic!("{id}")).value.unwrap()
    };
    assert_eq!(value("class.websearch.lossless_percent"), 40.0);
    assert_eq!(value("class.websearch.lossless_percent.250_500us"), 100.0);
    assert_eq!(value("class.websearch.absorbed_us"), 400.0);
    assert_eq!(value("class.websearch.burst_lost_percent"), 12.0);
    assert!((value("class.websearch.delay_mean_us") - 101.0).abs() < 1e-9);
    assert_eq!(value("class.websearch.delay_p90_us"), 0.0);
    assert_eq!(value("class.websearch.delay_p99_us"), 1_015.807);
    // In 20 ms, the first port was offered 20 Gb/s and carried 10 Gb/s. The second port was offered
    // 1 Gb/s and carried 0.5 Gb/s.
    assert!((value("ports.jain") - 2.25 / 2.5).abs() < 1e-9, "{}", value("ports.jain"));

    let text = report.text();
    for wanted in ["websearch (open loop)", "bursts absorbed up to [us]", "Jain's index of throughput"] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(!text.contains("timeouts"), "nothing can time out\n{text}");
    let unfinished = |caveat: &Caveat| matches!(caveat, Caveat::UnfinishedFlows { .. });
    assert!(!report.caveats.iter().any(unfinished), "{:?}", report.caveats);
    let html = report.html().unwrap();
    assert!(
        html.contains("id=\"bursts\"") && html.contains("Queueing delay") && html.contains("leaf-0 to h0")
    );
    assert!(html.contains("0.25 to 0.5 ms"));
}

#[test]
fn runs_without_open_loop_traffic_have_no_section_of_bursts() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    write_flows(&dir, (1..=100).map(|n| Some(f64::from(n))));
    let report = Report::load(&dir, &[]).unwrap();
    assert!(!report.html().unwrap().contains("id=\"bursts\""));
    assert!(report.text().contains("timeouts") && !report.text().contains("Jain"));
}

/// Values of a sample: total bytes in the switch, then length and limit of the queue, if the table
/// has the queue.
type Sample = (u64, Option<(u64, Option<u64>)>);

/// Writes a run of `policy` with samples every microsecond at leaf-0, and its losses by switch. The
/// sampled queue belongs to port 2.
fn write_samples(dir: &Path, policy: &'static str, samples: &[Sample], lost: &[(u32, u64)]) {
    let mut head = head(POLICIES[0], 1);
    head.policy.name = policy.to_owned();
    let totals = totals_of(&head);
    let mut writer = RunWriter::create(dir, head).unwrap();
    for (number, (total, queue)) in (0..).zip(samples) {
        let row = |scope, port, occupancy_bytes, threshold_bytes| SeriesRow {
            time_ns: number * 1_000,
            scope,
            switch: 0,
            port,
            priority: port.map(|_| 1),
            occupancy_bytes,
            threshold_bytes,
        };
        writer.series(&row(Scope::Switch, None, *total, None)).unwrap();
        if let Some((length, limit)) = queue {
            writer.series(&row(Scope::Queue, Some(2), *length, *limit)).unwrap();
        }
    }
    for &(switch, dropped_packets) in lost {
        let row = QueueRow {
            switch,
            priority: 1,
            arrived_packets: 100_000,
            dropped_packets,
            ..QueueRow::default()
        };
        writer.queue(&row).unwrap();
        let drops = DropRow {
            switch,
            port: 0,
            priority: 1,
            class: 0,
            reason: "buffer-full",
            packets: dropped_packets,
            bytes: 0,
        };
        writer.drops(&drops).unwrap();
    }
    writer.finish(&totals, Vec::new(), None).unwrap();
}

/// Returns the section on the buffer over time from the page of a folder.
fn buffer_over_time(folder: &Path) -> String {
    let html = Report::load(folder, &["dt".to_owned()]).unwrap().html().unwrap();
    let from = html.find("id=\"buffer-time\"").expect("the section");
    html[from..].split("</section>").next().unwrap_or_default().to_owned()
}

#[test]
fn a_queue_without_a_row_is_empty_and_no_line_leads_across_the_gap() {
    let temp = tempfile::tempdir().unwrap();
    // One sample has 700 KB of 1 MB, eight samples are empty, and the last has some bytes.
    let mut samples = vec![(0, None); 10];
    samples[0] = (700_000, Some((600_000, Some(800_000))));
    samples[9] = (100_000, Some((100_000, Some(900_000))));
    write_samples(&temp.path().join("dt/seed-1"), "dt", &samples, &[]);
    let section = buffer_over_time(temp.path());
    let path = |class: &str| {
        let group =
            section.split(&format!("<g class=\"{class}\">")).nth(2).expect("the chart's, after the legend's");
        group.split(" d=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let corners = |path: &str| -> Vec<(f64, f64)> {
        let points = path.trim_start_matches('M').split(['L', 'M']);
        points
            .map(|point| point.split_once(' ').unwrap())
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect()
    };
    let queue = corners(&path("queue"));
    // The line consists of steps: each part is horizontal or vertical.
    assert!(queue.windows(2).all(|two| two[0].0 == two[1].0 || two[0].1 == two[1].1), "{queue:?}");
    let (lowest, left, right) = (210.0, queue[0].0, queue[queue.len() - 1].0);
    let empty: f64 = queue
        .windows(2)
        .filter(|two| two[0].1 == lowest && two[1].1 == lowest)
        .map(|two| two[1].0 - two[0].0)
        .sum();
    assert!(
        (empty / (right - left) - 8.0 / 9.0).abs() < 0.01,
        "eight ninths of the time it is empty: {queue:?}"
    );
    assert_eq!(path("threshold").matches('M').count(), 2, "while the queue is empty no threshold is known");
    assert!(section.contains("The vertical axis ends at the buffer (1 MB)"), "{section}");
    assert!(section.contains(">1 MB</text>") && !section.contains(">1.2 MB</text>"), "{section}");
}

#[test]
fn the_chart_says_which_switch_it_shows_and_where_losses_are_that_it_does_not() {
    let temp = tempfile::tempdir().unwrap();
    let samples = [(500_000, Some((400_000, None))), (0, None)];
    write_samples(&temp.path().join("cs/seed-1"), "cs", &samples, &[(0, 3), (2, 255)]);
    let section = buffer_over_time(temp.path());
    assert!(section.contains("cs: leaf-0, queue at port 2, priority 1"), "{section}");
    assert!(section.contains("The sampled switch, <code>leaf-0</code>, lost 3 packets"), "{section}");
    assert!(section.contains("spine-0 lost 255 packets"), "{section}");
    assert!(section.contains("output.sample_switch = &quot;spine-0&quot;"), "{section}");
    assert!(!section.contains("that queue's threshold"), "cs has none: {section}");
    write_samples(&temp.path().join("dt/seed-1"), "dt", &[(1, Some((1, Some(9))))], &[(2, 2)]);
    let section = buffer_over_time(temp.path());
    assert!(section.contains("that queue's threshold (dt)"), "only dt has one: {section}");
}

/// Writes a run of one queue, with completion times of `slowdown` times the ideal. `is_real`
/// selects a run with real packets.
fn write_beside(dir: &Path, slowdown: f64, is_real: bool) {
    let head = head(POLICIES[0], 1);
    let mut totals = totals_of(&head);
    (totals.flows, totals.flows_finished) = (100, 100);
    let mut writer = RunWriter::create(dir, head).unwrap();
    for flow in 0..100 {
        writer.flow(&background_flow(flow, Some(slowdown))).unwrap();
    }
    let queue = QueueRow {
        switch: 0,
        port: 3,
        priority: 1,
        arrived_packets: 1_000,
        enqueued_packets: 990,
        enqueued_bytes: 990_000,
        dropped_packets: 7,
        evicted_packets: 3,
        marked_packets: 41,
        max_bytes: 9_000,
        mean_bytes: 4_000.0,
    };
    writer.queue(&queue).unwrap();
    let caveat = |id: &str| RunCaveat { id: id.to_owned(), message: id.to_owned(), advice: String::new() };
    let caveats = if is_real { vec![caveat("real-packets")] } else { Vec::new() };
    writer.finish(&totals, caveats, None).unwrap();
}

#[test]
fn real_packets_stand_beside_the_simulator_with_a_sentence_on_where_they_differ() {
    let dir = tempfile::tempdir().unwrap();
    write_beside(&dir.path().join("dt/seed-1"), 4.0, true);
    write_beside(&dir.path().join("dt-simulated/seed-1"), 2.0, false);
    let report = Report::load(dir.path(), &["dt".to_owned(), "dt-simulated".to_owned()]).unwrap();
    let text = report.text();
    assert!(text.starts_with("dt, real packets against the simulator: "), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("slowdown mean 4.00 x in the place of 2.00 x (+100 %)"), "{text}");
    let page = report.html().unwrap();
    assert!(page.contains("Real packets beside the simulator") && page.contains("port 3, priority 1"));
    assert!(page.contains("<td class=\"left\">marked</td><td>41</td><td>41</td>"), "marks of both");
    assert!(page.contains("<td class=\"left\">lost</td><td>10</td><td>10</td>"), "losses of both");
}

#[test]
fn what_belongs_together_ran_the_same_scenario_whatever_it_is_called() {
    let dir = tempfile::tempdir().unwrap();
    write_beside(&dir.path().join("switch/seed-1"), 4.0, true);
    write_beside(&dir.path().join("model/seed-1"), 2.0, false);
    let text = Report::load(dir.path(), &[]).unwrap().text();
    assert!(text.starts_with("switch, real packets against the simulator: "), "{text}");
    // The simulated run of another policy has a scenario different from the run with real packets.
    let other = tempfile::tempdir().unwrap();
    write_beside(&other.path().join("dt/seed-1"), 4.0, true);
    let head = RunHeader { scenario_toml: "name = \"other\"".to_owned(), ..head(POLICIES[0], 1) };
    let totals = totals_of(&head);
    let writer = RunWriter::create(&other.path().join("dt-simulated/seed-1"), head).unwrap();
    writer.finish(&totals, Vec::new(), None).unwrap();
    assert!(!Report::load(other.path(), &[]).unwrap().text().contains("against the simulator"));
}

#[test]
fn two_simulations_are_no_pair_whatever_they_are_called() {
    let dir = tempfile::tempdir().unwrap();
    write_beside(&dir.path().join("dt/seed-1"), 4.0, false);
    write_beside(&dir.path().join("dt-simulated/seed-1"), 2.0, false);
    let report = Report::load(dir.path(), &[]).unwrap();
    assert!(!report.text().contains("against the simulator"));
    assert!(!report.html().unwrap().contains("Real packets beside"));
}

#[test]
fn what_some_runs_say_names_them_and_many_of_a_kind_stand_together() {
    let temp = tempfile::tempdir().unwrap();
    for (policy, seed) in POLICIES[..2].iter().flat_map(|policy| [(policy, 1), (policy, 2)]) {
        let head = head(*policy, seed);
        let totals = totals_of(&head);
        let dir = temp.path().join(format!("{}/seed-{seed}", policy.name));
        let writer = RunWriter::create(&dir, head).unwrap();
        let caveat = |id: &str, message: String| RunCaveat { id: id.into(), message, advice: "a".into() };
        let late = caveat("late", format!("late by {} us.", 10 * seed + policy.name.len() as u64));
        let mut caveats = vec![caveat("clock", "The clock was set.".into()), late];
        if policy.name == "abm" {
            caveats.push(caveat("own", "It is slow.".into()));
            caveats.push(caveat("named", "abm has other traffic.".into()));
        }
        if seed == 2 {
            caveats.push(caveat("load", "The machine was busy.".into()));
        }
        writer.finish(&totals, caveats, None).unwrap();
    }
    let report = Report::load(temp.path(), &["dt".to_owned()]).unwrap();
    let said = |id: &str| -> Vec<String> {
        let of_kind = report.caveats.iter().filter(|caveat| caveat.id() == id);
        of_kind.map(|caveat| caveat.record().message).collect()
    };
    assert_eq!(said("clock"), ["The clock was set."], "all of them say so");
    assert_eq!(said("load"), ["dt, seed 2; abm, seed 2: The machine was busy."]);
    assert_eq!(
        (said("own"), said("named")),
        (vec!["abm: It is slow.".to_owned()], vec!["abm has other traffic.".to_owned()])
    );
    assert_eq!(
        said("late"),
        [
            "dt, seed 1: late by 12 us.",
            "dt, seed 2: late by 22 us.",
            "abm, seed 1: late by 13 us. One more of this kind is in the manifests of the other runs."
        ]
    );
}

/// Two hundred flows start into an empty network; then slowdowns of 3 and 4 alternate.
#[test]
fn flows_of_the_beginning_can_be_left_out_and_it_is_said() {
    let temp = tempfile::tempdir().unwrap();
    let slowdown = |at: u64| if at < 200 { 1.0 } else { 3.0 + (at % 2) as f64 };
    write_flows(temp.path(), (0..2_000).map(slowdown).map(Some));
    let whole = Report::load(temp.path(), &[]).unwrap();
    let states = whole.steady_states().unwrap();
    let from = steady_from(&states).expect("it is seen");
    // One flow starts every nanosecond.
    assert_eq!((states.len(), states[0].values, states[0].left_out, from), (1, 2_000, Some(200), 200));
    let text = steady_text(&states, 20_000_000);
    assert!(text.contains("200 of 2,000") && text.contains("Every run is steady from 200 ns on"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH_MAX), "{text}");
    let rest = Report::load_from(temp.path(), &[], from).unwrap();
    let mean = |report: &Report| report.runs[0].summary.all().slowdown.expect("flows ended").mean;
    assert_eq!((mean(&whole), mean(&rest)), (3.25, 3.5));
    assert_eq!(rest.runs[0].summary.all().flows, 1_800);
    let said = |report: &Report| report.caveats.iter().any(|caveat| caveat.id() == "warm-up");
    assert!(said(&rest) && !said(&whole));
}

#[test]
fn the_page_of_metrics_has_every_line_of_the_table() {
    let table = metrics_table();
    assert_all([check_block(
        "docs/reference/metrics.md",
        METRICS_BEGIN,
        METRICS_END,
        &format!("\n{table}\n"),
    )]);
    assert!(table.contains(
        "| `all.slowdown_p99`, `short.slowdown_p99`, `class.….slowdown_p99` | FCT slowdown p99 | x | lower |"
    ));
}

/// Marker before the generated block of `docs/reference/metrics.md`.
const METRICS_BEGIN: &str = "<!-- metrics: begin; cargo xtask generate report -->";
const METRICS_END: &str = "<!-- metrics: end -->";
