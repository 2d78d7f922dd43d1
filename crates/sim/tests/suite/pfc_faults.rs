//! Tests of pause storms and deadlocks: detection at the calculated times, reported members,
//! recovery by both watchdog rules, and the end of cycles that dissolve.

use crate::support::{Rows, run};
use bufferlab_metrics::WatchdogRow;
use bufferlab_scenario::{load, load_text};
use bufferlab_sim::{ExplainRequest, Simulation};
use std::path::{Path, PathBuf};

fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name)
}

/// Runs a scenario of the repository with changes.
fn scenario(name: &str, changes: &[(&str, &str)]) -> Rows {
    let path = path_of(name);
    let changes: Vec<_> =
        changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    run(&load(&path, &changes).unwrap_or_else(|error| panic!("{error}")).scenario)
}

fn deadlock(watchdog: &str) -> Rows {
    let changes: &[_] = if watchdog.is_empty() { &[] } else { &[("switch.pfc.watchdog", watchdog)] };
    scenario("deadlock.toml", changes)
}

fn delivered(rows: &Rows) -> u64 {
    rows.links.iter().filter(|link| link.role == "host-down").map(|link| link.tx_packets).sum()
}

#[test]
fn a_ring_of_three_switches_with_routes_round_it_deadlocks_and_without_them_does_not() {
    let rows = deadlock("");
    assert_eq!(rows.pause_cycles.len(), 1, "{:?}", rows.pause_cycles);
    let cycle = &rows.pause_cycles[0];
    assert_eq!(cycle.members, ["s0", "s1", "s2"]);
    // The first cycles of paused links end at once, because a resume frame was in flight when the
    // cycles formed.
    assert!(cycle.lasted() && cycle.times > 1 && cycle.time_ns < cycle.last_ns, "{cycle:?}");
    let lasting_ns = 20_000_000 - cycle.last_ns;
    assert!((lasting_ns..20_000_000 - cycle.time_ns).contains(&cycle.total_ns), "{cycle:?}");
    assert!(!rows.all_finished(), "a deadlock ends no flow");
    assert_eq!((rows.switch_losses(), rows.storms.len()), (0, 0));
    let short = scenario("deadlock.toml", &[("topology.route", "[]")]);
    assert!(short.pause_cycles.is_empty() && short.all_finished());
}

#[test]
fn either_rule_breaks_the_deadlock_and_the_circle_is_told_as_ended() {
    for rule in ["mellanox", "broadcom"] {
        let rows = deadlock(&format!(
            "{{ rule = \"{rule}\", detection_time = \"1 ms\", poll_interval = \"100 us\" }}"
        ));
        assert!(
            rows.storms.iter().all(|storm| (storm.rule, storm.action) == (rule, "drop")),
            "{:?}",
            rows.storms
        );
        let cycle = &rows.pause_cycles[0];
        let first = rows.storms.iter().map(|storm| storm.detected_ns).min().expect("it was noticed");
        // The watchdog's rule must be true in ten polls in a row. The first of the ten polls is up
        // to 100 us after the cycle formed for the last time.
        let closed = deadlock("").pause_cycles[0].last_ns;
        assert!(
            (closed + 1_000_000..=closed + 1_100_000).contains(&first),
            "{rule}: {first}, closed at {closed}"
        );
        assert!(cycle.ended_ns.is_some_and(|at| at >= first), "{rule}: {cycle:?}");
        let lost: u64 = rows.storms.iter().map(|storm| storm.flushed_packets + storm.discarded_packets).sum();
        assert!(lost > 0 && lost == rows.switch_losses(), "{rule}: all losses are the watchdog's");
        assert!(rows.drops.iter().all(|row| row.reason == "pfc-watchdog"), "{:?}", rows.drops);
        assert!(
            rows.flows.iter().all(|flow| flow.state != bufferlab_metrics::FlowState::Unfinished),
            "{rule}"
        );
    }
}

#[test]
fn action_forward_breaks_the_deadlock_and_alert_only_tells_of_it() {
    let forward = deadlock("{ action = \"forward\", detection_time = \"1 ms\" }");
    assert!(forward.storms.iter().any(|storm| storm.sent_packets > 0), "{:?}", forward.storms);
    assert!(forward.pause_cycles.iter().all(|cycle| !cycle.lasted()));
    assert!(delivered(&forward) > delivered(&deadlock("")));
    let alert = deadlock("{ action = \"alert\", detection_time = \"1 ms\" }");
    assert_eq!(alert.storms.len(), 3, "one for each cable of the ring: {:?}", alert.storms);
    assert!(alert.storms.iter().all(|storm| storm.restored_ns.is_none() && storm.flushed_packets == 0));
    assert!(alert.pause_cycles[0].lasted() && alert.switch_losses() == 0);
}

#[test]
fn broadcoms_rule_sees_no_deadlock_of_pauses_that_nobody_repeats() {
    let text = std::fs::read_to_string(path_of("deadlock.toml")).expect("readable");
    let (before, after) = text.split_once("quanta = 1000").expect("pauses are repeated");
    let text = format!("{before}{after}");
    let once = |rule: &str| {
        let watchdog = format!("{{ rule = \"{rule}\", detection_time = \"1 ms\" }}");
        let changes = [("switch.pfc.watchdog".to_owned(), watchdog)];
        let loaded =
            load_text(Path::new("test.toml"), &text, &changes).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.warnings.len(), usize::from(rule == "broadcom"), "a warning says so");
        run(&loaded.scenario)
    };
    assert!(!once("mellanox").storms.is_empty());
    let unseen = once("broadcom");
    assert!(unseen.storms.is_empty() && unseen.pause_cycles[0].lasted(), "{:?}", unseen.storms);
}

fn storm(changes: &[(&str, &str)]) -> Rows {
    scenario("pfc-storm.toml", changes)
}

fn innocent(rows: &Rows) -> u64 {
    rows.link("s0", "h1").tx_packets
}

#[test]
fn a_storming_host_stops_everybody_unless_a_watchdog_contains_it() {
    let all = 2 * 9_000_000 * 3 / 8 / 1_500;
    let without = storm(&[("switch.pfc.watchdog.enabled", "false")]);
    let with = storm(&[]);
    assert_eq!(without.switch_losses(), 0);
    let stopped = without.pauses.iter().find(|row| (row.switch, row.port) == (1, 1)).expect("h3 is paused");
    assert!(stopped.neighbour_paused_ns > 3_000_000, "{stopped:?}");
    let free = with.pauses.iter().find(|row| (row.switch, row.port) == (1, 1));
    assert!(free.is_none_or(|row| row.neighbour_paused_ns < 500_000), "{free:?}");
    assert_eq!(innocent(&with), all, "nothing is lost of what does not go to the storming host");
    // By Mellanox's rule, packets wait from the first poll after 1 ms on, and the fifth poll after
    // the first poll detects the storm.
    let WatchdogRow { detected_ns, restored_ns, rule, action, .. } = with.storms[0];
    assert_eq!((with.storms.len(), rule, action), (1, "mellanox", "drop"));
    assert_eq!((detected_ns, with.storms[0].switch, with.storms[0].port), (1_600_000, 0, 0));
    // The last pause frame arrives before 7 ms and pauses the queue until 7.04 ms. Polls from 7.1
    // ms on find neither a frame nor a pause, and the fifth of these polls restores the queue.
    assert_eq!(restored_ns, Some(7_500_000));
    let lost = with.storms[0].flushed_packets + with.storms[0].discarded_packets;
    assert_eq!((lost, lost * 1_500), (with.switch_losses(), with.storms[0].lost_bytes));
}

#[test]
fn action_forward_lets_the_storming_host_have_its_packets_and_loses_nothing() {
    for rule in ["mellanox", "broadcom"] {
        let rows = storm(&[
            ("switch.pfc.watchdog.action", "\"forward\""),
            ("switch.pfc.watchdog.rule", &format!("\"{rule}\"")),
        ]);
        assert_eq!((rows.switch_losses(), rows.all_finished(), rows.storms.len()), (0, true, 1), "{rule}");
        assert!(rows.storms[0].sent_packets > 1_000, "{:?}", rows.storms);
        assert_eq!(rows.storms[0].rule, rule);
    }
}

#[test]
fn a_storm_shorter_than_the_detection_time_is_none() {
    let rows = storm(&[(
        "fault",
        "[{ kind = \"pause_storm\", host = \"h0\", priorities = [1], from = \"1 ms\", until = \"1.4 ms\", quanta = 1000 }]",
    )]);
    assert!(rows.storms.is_empty(), "{:?}", rows.storms);
    assert_eq!((rows.switch_losses(), rows.all_finished()), (0, true));
    assert!(rows.pause_spans.iter().any(|span| span.by == "h0" && span.paused == "s0"));
}

/// A storm of h0 that never ends, with a watchdog that counts pause frames by `counts`.
fn endless_storm(counts: &str, zero_from: &str) -> Vec<WatchdogRow> {
    let fault = format!(
        "[{{ kind = \"pause_storm\", host = \"h0\", priorities = [1], from = \"1 ms\", quanta = 1000{zero_from} }}]"
    );
    storm(&[("switch.pfc.watchdog.counts", &format!("\"{counts}\"")), ("fault", &fault)]).storms
}

#[test]
fn a_storm_that_turns_into_zero_quanta_ends_only_if_frames_that_pause_are_counted() {
    let zero = ", zero_from = \"5 ms\"";
    let fixed = endless_storm("pauses", zero);
    // The first frame with zero quanta is sent within 25.6 us after 5 ms. Polls from 5.1 ms on see
    // at most the last pause before this frame. The fifth or sixth of these polls restores the
    // queue.
    assert!(matches!(fixed[0].restored_ns, Some(5_500_000 | 5_600_000)), "{fixed:?}");
    assert_eq!(fixed.len(), 1, "{fixed:?}");
    // sonic-swss#4581: every received frame counts, so the storm never ends.
    let old = endless_storm("frames", zero);
    assert_eq!((old.len(), old[0].restored_ns), (1, None), "{old:?}");
}

#[test]
fn a_storm_of_all_priorities_begins_and_ends_in_turn_if_its_port_stops_counting() {
    let fixed = endless_storm("pauses", "");
    assert_eq!((fixed.len(), fixed[0].restored_ns), (1, None), "{fixed:?}");
    // sonic-buildimage#29203: the counter of the port stops, so the watchdog restores the queue
    // after 500 us and finds the storm again after another 500 us.
    let old = endless_storm("enabled_ports", "");
    assert!(old.len() >= 6, "{old:?}");
    for pair in old.windows(2) {
        let restored = pair[0].restored_ns.expect("only the last one may go on");
        assert_eq!(restored - pair[0].detected_ns, 500_000, "{pair:?}");
        assert!((500_000..=700_000).contains(&(pair[1].detected_ns - restored)), "{pair:?}");
    }
}

/// Times (ms) at which a watchdog detects and ends the storms of a shipped scenario. `counts`
/// selects the pause frames that the watchdog counts.
fn shipped_storms(file: &str, counts: &str) -> Vec<(u64, Option<u64>)> {
    let rows = scenario(file, &[("switch.pfc.watchdog.counts", &format!("\"{counts}\""))]);
    let ms = |ns: u64| ns / 1_000_000;
    rows.storms.iter().map(|row| (ms(row.detected_ns), row.restored_ns.map(ms))).collect()
}

#[test]
fn the_scenario_of_zero_quanta_restores_with_the_storm_or_with_its_last_frame() {
    let file = "watchdog-zero-quanta.toml";
    // The host sends the last frame that pauses just before 3 s, and its last frame just before 5
    // s. The second poll after the last counted frame restores the queue.
    assert_eq!(shipped_storms(file, "pauses"), [(1_200, Some(3_200))]);
    assert_eq!(shipped_storms(file, "frames"), [(1_200, Some(5_200))]);
}

#[test]
fn the_scenario_of_all_priorities_has_170_cycles_in_20_minutes_or_one_storm() {
    let file = "watchdog-all-priorities.toml";
    let fixed = shipped_storms(file, "pauses");
    assert!(fixed.len() == 2 && fixed.iter().all(|storm| storm.1.is_none()), "{fixed:?}");
    // Each of the two queues has 170 storms, which all end although the host never stops.
    let old = shipped_storms(file, "enabled_ports");
    assert_eq!(old.len(), 2 * 170);
    assert!(old.iter().all(|storm| storm.1.is_some_and(|end| end < 1_200_000)), "{old:?}");
}

#[test]
fn a_loss_to_the_watchdog_is_explained_as_such() {
    #[derive(Default)]
    struct Found(Vec<bufferlab_metrics::Explanation>);
    impl bufferlab_metrics::RunSink for Found {
        fn explanation(&mut self, row: &bufferlab_metrics::Explanation) -> std::io::Result<()> {
            self.0.push(row.clone());
            Ok(())
        }
    }
    let path = path_of("pfc-storm.toml");
    let loaded = load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&loaded.scenario).unwrap_or_else(|error| panic!("{error}"));
    simulation.explain(ExplainRequest::losses(2_000));
    let mut found = Found::default();
    simulation.run(&mut found, &mut |_| ()).unwrap_or_else(|error| panic!("{error}"));
    for event in ["eviction", "drop"] {
        let row = found.0.iter().find(|row| row.event == event).unwrap_or_else(|| panic!("no {event}"));
        assert_eq!(row.reason, "pfc-watchdog");
        assert!(row.because().contains("watchdog"), "{}", row.because());
    }
}
