//! Tests that the what-if analysis recommends a setting exactly if the measured metrics support the
//! setting.

use crate::support::{model, switch};
use bufferlab_operator::what_if::{recommend, text};
use bufferlab_operator::{Kind, Traffic, WhatIf};
use bufferlab_report::{Cell, Change, Comparison, Estimate, Metric, MetricComparison};

const SEEDS: usize = 8;

/// Values of one metric for every seed, by label of the setting. A setting without values has the
/// values of today's setting.
type MetricValues<'a> = (&'a str, &'a [(&'a str, [f64; SEEDS])]);

fn comparison(plan: &WhatIf, rows: &[MetricValues<'_>]) -> Comparison {
    let policies: Vec<String> = plan.choices.iter().map(|choice| choice.label.clone()).collect();
    let metrics = rows.iter().map(|(id, values)| {
        let of = |label: &str| {
            let found = values.iter().find(|(name, _)| *name == label);
            found.or_else(|| values.iter().find(|(name, _)| *name == "today")).expect("today has values").1
        };
        let base = of("today");
        let cells = policies.iter().map(|policy| {
            let own = of(policy);
            let pairs: Vec<(f64, f64)> = base.iter().copied().zip(own).collect();
            Cell {
                policy: policy.clone(),
                values: own.iter().copied().map(Some).collect(),
                estimate: Estimate::from_values(&own),
                change: Change::from_pairs(&pairs),
            }
        });
        let mut metric = Metric::find(id).unwrap_or_else(|| panic!("the table has no {id}"));
        metric.headline = true;
        MetricComparison { metric, cells: cells.collect() }
    });
    Comparison {
        metrics: metrics.collect(),
        seeds: (1..=SEEDS as u64).collect(),
        policies,
        nearest_pause: None,
    }
}

fn plan() -> WhatIf {
    let config = switch(|_, text| text);
    let model = model(&config, "trident3");
    WhatIf::new("w", (&config, &model), None, &Traffic::new(Kind::RdmaTcp)).expect("it fits")
}

const TEN: [f64; SEEDS] = [10.0, 11.0, 10.5, 9.5, 10.2, 9.8, 10.9, 10.1];
/// Metric values about a tenth below the values of `TEN`, with small deviations.
const NINE: [f64; SEEDS] = [9.0, 9.91, 9.44, 8.56, 9.17, 8.83, 9.8, 9.1];
/// Metric values about a tenth above the values of `TEN`, with small deviations.
const ELEVEN: [f64; SEEDS] = [11.0, 12.09, 11.56, 10.44, 11.23, 10.77, 12.0, 11.1];

#[test]
fn a_setting_that_is_better_and_nowhere_worse_is_recommended_with_its_interval() {
    let plan = plan();
    let found =
        comparison(&plan, &[("class.incast.qct_mean_ms", &[("today", TEN), ("lossless alpha x2", NINE)])]);
    let recommendation = recommend(&found, &plan);
    assert_eq!(recommendation.choice, "lossless alpha x2");
    assert!(
        recommendation.reasons[0].contains("-1 -> 0") && recommendation.reasons[0].contains("±"),
        "{recommendation:?}"
    );
}

#[test]
fn one_that_is_worse_elsewhere_or_a_policy_that_the_chip_lacks_is_not() {
    let plan = plan();
    let rows: [MetricValues<'_>; 2] = [
        (
            "class.incast.qct_mean_ms",
            &[("today", TEN), ("lossless alpha x2", NINE), ("policy Reverie", NINE)],
        ),
        ("pauses.paused_ms", &[("today", TEN), ("lossless alpha x2", ELEVEN)]),
    ];
    let recommendation = recommend(&comparison(&plan, &rows), &plan);
    assert_eq!(recommendation.choice, "today");
    let all = recommendation.reasons.join("\n");
    assert!(all.contains("worse: pauses.paused_ms") && all.contains("policy Reverie is no setting"), "{all}");
}

#[test]
fn one_that_loses_lossless_packets_never_is() {
    let plan = plan();
    let (none, mut one) = ([0.0; SEEDS], [0.0; SEEDS]);
    one[3] = 1.0;
    let rows: [MetricValues<'_>; 2] = [
        ("class.incast.qct_mean_ms", &[("today", TEN), ("lossless alpha x2", NINE)]),
        ("pauses.lost_lossless_packets", &[("today", none), ("lossless alpha x2", one)]),
    ];
    let recommendation = recommend(&comparison(&plan, &rows), &plan);
    assert_eq!(recommendation.choice, "today");
    assert!(
        recommendation.reasons.iter().any(|reason| reason.contains("loses 0.12 lossless packets, and none")),
        "{recommendation:?}"
    );
}

#[test]
fn noise_moves_nothing_and_what_only_looks_better_is_left_open() {
    let plan = plan();
    let mut noisy = TEN;
    noisy.rotate_left(1);
    let found =
        comparison(&plan, &[("class.incast.qct_mean_ms", &[("today", TEN), ("lossless alpha x2", noisy)])]);
    let recommendation = recommend(&found, &plan);
    assert_eq!(recommendation.choice, "today");
    assert!(recommendation.reasons[0].starts_with("Keep today's setting"), "{recommendation:?}");
}

/// Builds a comparison in which the settings of the plan lose the given numbers of lossless
/// packets. Queries are a tenth faster with twice the lossless alpha.
fn losing(losses: &[(&str, [f64; SEEDS])]) -> (WhatIf, Comparison) {
    let plan = plan();
    let rows: [MetricValues<'_>; 2] = [
        ("class.incast.qct_mean_ms", &[("today", TEN), ("lossless alpha x2", NINE)]),
        ("pauses.lost_lossless_packets", losses),
    ];
    let found = comparison(&plan, &rows);
    (plan, found)
}

#[test]
fn a_setting_that_loses_lossless_packets_today_is_said_first_and_never_kept() {
    let (plan, found) = losing(&[("today", [6_479.0; SEEDS]), ("lossless alpha x1/2", [9_124.0; SEEDS])]);
    let recommendation = recommend(&found, &plan);
    let shown = text(&found, &plan, &recommendation);
    assert!(shown.starts_with("today loses 6479 lossless packets"), "{shown}");
    assert_eq!(recommendation.choice, "none");
    assert!(!shown.contains("Keep today's"), "{shown}");
    let all = recommendation.reasons.join("\n");
    assert!(all.contains("lossless alpha x1/2: loses 9124 lossless packets, today 6479."), "{all}");
    assert!(!all.contains("none is lost today") && !all.contains("not lost today"), "{all}");
    assert!(recommendation.reasons[0].starts_with("Fix the headroom first"), "{all}");
}

#[test]
fn a_setting_that_loses_nothing_may_replace_one_that_does() {
    let (plan, found) = losing(&[("today", [3.0; SEEDS]), ("lossless alpha x2", [0.0; SEEDS])]);
    let recommendation = recommend(&found, &plan);
    assert_eq!(recommendation.choice, "lossless alpha x2");
    assert!(text(&found, &plan, &recommendation).starts_with("today loses 3.00 lossless packets"));
}

#[test]
fn a_setting_that_loses_fewer_packets_than_today_is_no_recommendation_either() {
    let (plan, found) = losing(&[("today", [30.0; SEEDS]), ("lossless alpha x2", [1.0; SEEDS])]);
    let recommendation = recommend(&found, &plan);
    assert_eq!(recommendation.choice, "none");
    assert!(
        recommendation.reasons.iter().any(|reason| reason.contains("loses 1.00 lossless packets, today 30"))
    );
}

#[test]
fn without_losses_the_table_comes_first() {
    let (plan, found) = losing(&[("today", [0.0; SEEDS])]);
    let recommendation = recommend(&found, &plan);
    assert!(recommendation.losses_today.is_none());
    assert!(!text(&found, &plan, &recommendation).contains("today loses"));
}
