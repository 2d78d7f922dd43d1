//! The artifact profile next to the public ns-3 artifacts of ABM and Reverie.
//!
//! `UPDATE_DOCS=1 cargo test -p bufferlab-validation` rewrites the measured block of `docs/validation.md`.

use bufferlab_validation::explained::EXPLAINED;
use bufferlab_validation::measure::{Flow, mean, percentile, slowdowns};
use bufferlab_validation::reference::{Expected, flows};
use bufferlab_validation::{CASES, Comparison, Row, Scatter, document};
use std::sync::LazyLock;

static COMPARISONS: LazyLock<Vec<Comparison>> = LazyLock::new(|| {
    let compare = |case| Comparison::of(case).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    CASES.iter().map(compare).collect()
});

fn page() -> String {
    std::fs::read_to_string(document::page()).expect("docs/validation.md can be read")
}

#[test]
fn every_difference_beyond_the_tolerance_is_explained_and_every_explanation_is_needed() {
    let surprises: Vec<_> = COMPARISONS.iter().flat_map(Comparison::surprises).collect();
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    for entry in EXPLAINED {
        let is_row = |comparison: &Comparison| {
            comparison.case.name == entry.case && comparison.rows.iter().any(|row| row.metric == entry.metric)
        };
        assert!(COMPARISONS.iter().any(is_row), "{entry:?} explains no row");
        assert!(page().contains(&format!("\n### {}\n", entry.name)), "{} is no heading", entry.name);
    }
}

#[test]
fn without_drops_p50_and_mean_agree_within_three_percent_and_with_drops_losses_and_p99_within_a_quarter() {
    // What was asked for, independent of the list of explanations.
    let with_drops = ["drops, leaf to host", "incast slowdown, p99"];
    let without_drops = ["incast slowdown, p50", "incast slowdown, mean"];
    for comparison in
        COMPARISONS.iter().filter(|comparison| comparison.case.scenario == "artifact-incast.toml")
    {
        let find = |metric: &str| comparison.rows.iter().find(|row| row.metric == metric).expect("a row");
        let drops = find("drops, leaf to host").theirs > 0.0;
        for metric in if drops { with_drops } else { without_drops } {
            let difference = find(metric).difference().abs();
            let limit = if drops { 0.25 } else { 0.03 };
            assert!(difference <= limit, "{}: {metric}: {difference}", comparison.case.name);
        }
    }
}

#[test]
fn unloaded_flows_of_every_transport_agree_within_five_percent() {
    let unloaded =
        COMPARISONS.iter().filter(|comparison| comparison.case.scenario == "artifact-unloaded.toml");
    let mut transports = 0;
    for comparison in unloaded {
        transports += 1;
        for row in comparison.rows.iter().filter(|row| row.metric.contains("slowdown")) {
            assert!(row.difference().abs() <= 0.05, "{}: {row:?}", comparison.case.name);
        }
        // Three or four flows share an uplink for a while; all others are alone.
        let Scatter { flows, within_five_percent, .. } = comparison.scatter;
        assert!(within_five_percent + 4 >= flows, "{}: {:?}", comparison.case.name, comparison.scatter);
    }
    assert_eq!(transports, 5);
}

#[test]
fn pauses_agree_within_half_and_in_order_and_incasts_of_ten_runs_within_fifteen_percent() {
    // What was asked for, independent of the list of explanations.
    let lossless: Vec<_> = COMPARISONS.iter().filter(|comparison| comparison.case.is_lossless()).collect();
    assert_eq!(lossless.len(), 12);
    let find = |comparison: &Comparison, metric: &str| {
        comparison.rows.iter().find(|row| row.metric == metric).expect("a row").clone()
    };
    for comparison in &lossless {
        let name = comparison.case.name;
        let pauses = find(comparison, "pauses");
        let is_near = pauses.ours <= 1.5 * pauses.theirs && pauses.theirs <= 1.5 * pauses.ours;
        assert!(is_near, "{name}: {pauses:?}");
        assert_eq!(find(comparison, "lossless packets lost").ours, 0.0, "{name}");
    }
    // Two of twelve fall short of what was asked for: by 0.9 and by 13 percent.
    let misses =
        |comparison: &&&Comparison| find(comparison, "incast slowdown, mean").difference().abs() > 0.15;
    let missing: Vec<_> = lossless.iter().filter(misses).map(|comparison| comparison.case.name).collect();
    assert_eq!(missing, ["PowerTCP and Cubic, ABM", "TCP incasts, Reverie"]);
    for group in lossless.chunks(3) {
        // DT, ABM, Reverie.
        let order = |of: fn(&Row) -> f64| {
            let mut order: Vec<usize> = (0..3).collect();
            order.sort_by(|&a, &b| of(&find(group[a], "pauses")).total_cmp(&of(&find(group[b], "pauses"))));
            order
        };
        assert_eq!(order(|row| row.ours), order(|row| row.theirs), "{}", group[0].case.name);
    }
}

#[test]
fn the_page_shows_what_is_measured() {
    let wanted =
        document::with_block(&page(), &document::block(&COMPARISONS)).expect("the page has its markers");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(document::page(), wanted).expect("docs/validation.md can be written");
    } else {
        assert!(
            page() == wanted,
            "docs/validation.md is stale: UPDATE_DOCS=1 cargo test -p bufferlab-validation"
        );
    }
}

#[test]
fn the_recorded_summary_agrees_with_the_recorded_flows() {
    for case in CASES.iter().filter(|case| case.scenario != "artifact-unloaded.toml") {
        let (expected, flows) = (Expected::load(&case.key).expect("a row"), flows(&case.key).expect("flows"));
        let sorted = slowdowns(&flows, |flow| flow.incast);
        let column = |name| expected.number(name).expect("a number").expect("not empty");
        let is_near = |a: f64, b: f64| (a - b).abs() < 1e-3;
        assert!(is_near(mean(&sorted).expect("flows"), column("incast_mean")), "{}", case.name);
        // Nearest rank, where the artifact's parser takes the element before: see the folder's README.
        let recorded: &[_] = &[(0.5, "incast_p50"), (0.99, "incast_p99"), (0.95, "incast_p95")];
        // Reverie's runs have no p95.
        for &(p, name) in &recorded[..if case.is_lossless() { 2 } else { 3 }] {
            let rank = (sorted.len() as f64 * p).ceil() as usize;
            assert!(is_near(sorted[rank - 1], column(name)), "{}: {name}", case.name);
        }
    }
}

#[test]
fn percentiles_follow_the_artifacts_parser() {
    let values: Vec<f64> = (1..=512).map(f64::from).collect();
    assert_eq!(percentile(&values, 0.99), Some(506.0), "int(512 * 0.99) - 1 is index 505");
    assert_eq!(percentile(&values, 0.5), Some(256.0));
    assert_eq!(percentile(&values[..1], 0.5), Some(1.0));
    assert_eq!(percentile(&[], 0.5), None);
}

#[test]
fn a_changed_result_would_be_noticed() {
    let mut changed: Vec<_> = COMPARISONS.clone();
    let row = &mut changed[0].rows[0];
    row.ours *= 1.0 + row.tolerance * 1.5;
    assert_eq!(changed[0].surprises().len(), 1, "a row outside its tolerance");
    assert_ne!(document::block(&changed), document::block(&COMPARISONS), "the page would be stale");
    let listed = EXPLAINED[0];
    let changed = changed.iter_mut().find(|comparison| comparison.case.name == listed.case).expect("a case");
    let row = changed.rows.iter_mut().find(|row| row.metric == listed.metric).expect("a row");
    row.ours = row.theirs;
    assert_eq!(changed.surprises().len(), 1, "an explanation without need");
}

#[test]
fn flows_of_the_reference_are_complete() {
    for case in CASES {
        let flows: Vec<Flow> = flows(&case.key).expect("flows");
        let expected = Expected::load(&case.key).expect("a row").number("n_done").expect("a number");
        assert_eq!(Some(flows.len() as f64), expected, "{}", case.name);
    }
}
