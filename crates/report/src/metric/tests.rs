use super::table::{self, Scope};
use super::{BUFFER_P99, LOST_LOSSLESS, LOST_PERCENT, Metric, PAUSED, Statistic, UNFINISHED};
use std::collections::BTreeSet;

fn found(id: &str) -> Metric {
    Metric::find(id).unwrap_or_else(|| panic!("the table has no {id}"))
}

#[test]
fn every_line_is_found_by_the_ids_that_it_makes() {
    for (scope, _, kinds) in table::scopes() {
        for kind in kinds {
            for subject in scope.subjects("a.c") {
                let part = if scope == Scope::BurstBins { "250_500us" } else { "7" };
                let id = format!("{}.{}", subject.prefix(), kind.name.replace("{}", part));
                let metric = found(&id);
                assert_eq!(metric.pattern(), format!("{}.{}", subject.pattern(), kind.name));
                assert_eq!((&metric.id, metric.kind), (&id, kind), "{id} is another line");
                let texts = [metric.label.clone(), metric.axis_label(), metric.full_label()];
                assert!(texts.iter().all(|text| !text.contains(['{', '_'])), "{id}: {texts:?}");
            }
        }
    }
}

#[test]
fn every_id_is_made_by_one_line() {
    let mut seen = BTreeSet::new();
    for (scope, _, kinds) in table::scopes() {
        for subject in scope.subjects("") {
            for kind in &kinds {
                let id = format!("{}.{}", subject.pattern(), kind.name);
                assert!(seen.insert(id.clone()), "two lines make {id}");
            }
        }
    }
}

#[test]
fn the_words_of_an_axis_say_what_the_table_says() {
    let axis = |id: &str| found(id).axis_label();
    assert_eq!(axis("class.incast.slowdown_p99"), "p99 FCT slowdown");
    assert_eq!(axis("class.incast.query_slowdown_p50"), "median QCT slowdown");
    assert_eq!(axis("class.incast.qct_mean_ms"), "mean QCT (ms)");
    assert_eq!(axis("class.bg.delay_p90_us"), "p90 queueing delay (us)");
    assert_eq!(axis("schedule.0.iteration_mean_ms"), "mean iteration time (ms)");
    assert_eq!(axis("short.fct_p99_9_us"), "p99.9 FCT (us)");
    assert_eq!(axis("ports.jain"), "Jain's index of throughput");
    assert_eq!(axis("switches.lost_percent"), "packets lost (%)");
    assert_eq!(axis("links.host-up.utilisation_percent"), "utilisation (%)");
    assert_eq!(axis("class.overload.lossless_percent.250_500us"), "bursts without loss, 0.25 to 0.5 ms (%)");
    assert_eq!(axis("class.overload.lossless_percent.2000us_up"), "bursts without loss, 2 ms and longer (%)");
    assert_eq!(axis("pauses.priority_3.paused_ms"), "time paused, priority 3 (ms)");
    assert_eq!(axis("pauses.host-up.number"), "pauses, host-up links");
    let full = |id: &str| found(id).full_label();
    assert_eq!(full("switches.buffer_p99_percent"), "buffer in use, p99, fullest (%), switches");
    assert_eq!(full("switch.leaf0.buffer_mean_percent"), "mean buffer in use (%), leaf0");
    assert_eq!(full("short.slowdown_p99_9"), "p99.9 FCT slowdown, short flows");
    assert_eq!(full("class.web_search.qct_mean_ms"), "mean QCT (ms), web_search");
    assert_eq!(full("schedule.0.exposed_mean_ms"), "mean exposed communication (ms), schedule 0");
}

#[test]
fn a_metric_knows_its_pattern_and_what_it_is_of() {
    let part = |id: &str| found(id).part().map(str::to_owned);
    assert_eq!(part("class.incast.qct_mean_ms").as_deref(), Some("incast"));
    assert_eq!(part("switches.lost_packets.web").as_deref(), Some("web"));
    assert_eq!(part("switches.lost_percent"), None);
    assert_eq!(found("switches.lost_packets.web").pattern(), "switches.lost_packets.{}");
}

#[test]
fn an_id_of_an_earlier_version_is_found_and_others_are_not() {
    let old = found("class.a_b.lossless_percent.2000_upus");
    assert_eq!(old.id, "class.a_b.lossless_percent.2000us_up");
    assert_eq!(Metric::current_id("class.a_b.qct_mean_ms"), "class.a_b.qct_mean_ms");
    for wrong in [
        "",
        "class.incast",
        "class..qct_mean_ms",
        "class.incast.qct_p98_ms",
        "incast.qct_mean_ms",
        "class.burst.lossless_percent.100_200us",
        "switches.lost_percent.x",
        "links.utilisation_percent",
    ] {
        assert_eq!(Metric::find(wrong), None, "{wrong}");
    }
}

#[test]
fn the_metrics_that_sentences_are_about_are_in_the_table() {
    for id in [LOST_PERCENT, BUFFER_P99, LOST_LOSSLESS, PAUSED, UNFINISHED] {
        assert_eq!(found(id).id, id);
    }
}

#[test]
fn only_the_mean_and_the_p99_of_one_quantity_of_one_subject_are_a_pair() {
    let mean = found("class.web.qct_mean_ms");
    assert!(mean.has_tail(&found("class.web.qct_p99_ms")));
    for other in ["class.other.qct_p99_ms", "class.web.qct_p95_ms", "class.web.query_slowdown_p99"] {
        assert!(!mean.has_tail(&found(other)), "{other}");
    }
    assert_eq!(mean.kind.statistic, Some(Statistic::Mean));
}

#[test]
fn judged_metrics_have_a_place_that_depends_on_their_subject() {
    let place = |id: &str| found(id).importance();
    assert_eq!(place("pauses.lost_lossless_packets"), Some(0));
    assert_eq!((place("short.slowdown_p99"), place("short.slowdown_mean")), (Some(2), None));
    assert_eq!((place("class.a.slowdown_p99"), place("class.a.slowdown_mean")), (None, Some(3)));
    assert_eq!(place("switches.lost_packets.a"), None);
}
