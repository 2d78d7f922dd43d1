//! Tests that shapes and values of the computed figures agree with the papers. Comments contain
//! claim ids.

use crate::fluid_support::{near, sonic};
use bufferlab_theory::figures::{FIGURES, Figure, Scale, Series, find};
use bufferlab_theory::statements::support::{at, panel, panels};

fn falls(series: &Series) -> bool {
    series.points.windows(2).all(|pair| pair[1].1 < pair[0].1)
}

#[test]
fn every_figure_is_complete_ordered_and_finite() {
    for entry in FIGURES {
        let panels = entry.panels().expect("in domain");
        assert!(!panels.is_empty() && !entry.summary.is_empty());
        for panel in panels {
            assert!(panel.name.starts_with(entry.name), "{}", panel.name);
            assert!(!panel.title.is_empty() && !panel.note.is_empty() && !panel.series.is_empty());
            assert!(
                panel.y.title.contains('(') || panel.y.title.contains("queues"),
                "a unit: {}",
                panel.y.title
            );
            for series in &panel.series {
                assert!(series.points.len() > 1 && !series.name.is_empty());
                assert!(series.points.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{}", panel.name);
                assert!(series.points.iter().all(|point| point.0.is_finite() && point.1.is_finite()));
                assert!(panel.x.scale == Scale::Linear || series.points[0].0 > 0.0);
            }
        }
    }
    assert!(find("abm-6").is_none());
}

#[test]
fn abm_figure_4_shows_a_vanishing_rest_and_a_high_alpha_that_does_not_isolate() {
    // ABM-F4-1.
    let top = panel("abm-4", "abm-4a");
    assert!(top.series.iter().all(falls));
    assert!(near(at(&top, "alpha = 0.5", 100.0), 1.961, 1e-3));
    // ABM-F4-2.
    let bottom = panel("abm-4", "abm-4b");
    for (n, percent) in [(0.0, 66.7), (1.0, 50.0), (3.0, 33.3), (10.0, 15.4), (100.0, 1.94)] {
        assert!(near(at(&bottom, "AF, alpha = 2", n), percent, 2e-3), "{n}");
    }
    assert!(bottom.series.iter().all(falls));
}

/// Checks the stored bursts (kB) of docs/concepts/algorithms.md section 3.9 at r = 2, 3, 5,
/// 10, 20, 40.
#[test]
fn abm_figure_5_has_the_worked_values() {
    let table = [
        ("abm-5a", "1 port", [999.0, 999.0, 888.0, 749.0, 703.0, 684.0]),
        ("abm-5a", "4 ports", [997.0, 997.0, 997.0, 599.0, 422.0, 371.0]),
        ("abm-5a", "16 ports", [991.0, 991.0, 991.0, 991.0, 699.0, 188.0]),
        ("abm-5b", "4 queues", [997.0, 665.0, 444.0, 375.0, 351.0, 342.0]),
        ("abm-5b", "8 queues", [995.0, 399.0, 266.0, 225.0, 211.0, 205.0]),
        ("abm-5c", "4 ports", [999.0, 999.0, 999.0, 999.0, 843.0, 742.0]),
        ("abm-5c", "16 ports", [999.0, 999.0, 999.0, 999.0, 999.0, 999.0]),
        ("abm-5d", "4 queues", [999.0, 999.0, 999.0, 999.0, 937.0, 911.0]),
        ("abm-5d", "8 queues", [999.0, 999.0, 999.0, 999.0, 992.0, 965.0]),
    ];
    let all = panels("abm-5");
    for (name, series, values) in table {
        let panel = all.iter().find(|panel| panel.name == name).expect("it exists");
        for (rate, kilobytes) in [2.0, 3.0, 5.0, 10.0, 20.0, 40.0].into_iter().zip(values) {
            let found = at(panel, series, rate);
            assert!(
                (found - kilobytes).abs() < 1.0,
                "{name}, {series}, r = {rate}: {found}, not {kilobytes}"
            );
        }
    }
    let arrived = all.iter().find(|panel| panel.name == "abm-5a-arrived").expect("it exists");
    assert!((at(arrived, "1 port", 40.0) - 701.0).abs() < 1.0);
}

#[test]
fn plasticine_figure_3_has_its_two_phases() {
    // PLA-F3-1, with a burst that starts at t0 = 2.
    let figure = panel("plasticine-3", "plasticine-3");
    for (time, q1, q2) in [(1.0, 30.0, 0.0), (8.0, 24.0, 24.0), (17.0, 15.0, 30.0), (20.0, 15.0, 30.0)] {
        assert!(
            (at(&figure, "Q1", time) - q1).abs() < 1e-9 && (at(&figure, "Q2", time) - q2).abs() < 1e-9,
            "{time}"
        );
    }
    for time in [3.0, 7.0, 10.0, 16.0] {
        assert!(at(&figure, "Q1", time) > at(&figure, "threshold of Q1", time));
    }
    assert!(
        (at(&figure, "Q2", 12.0) - at(&figure, "threshold of Q2", 12.0)).abs() < 1e-9,
        "it follows from t1 on"
    );
}

#[test]
fn plasticine_figure_4_tends_to_nothing() {
    // PLA-F4-1: the share of the high priority is aH / (1 + aH + n aL).
    let figure = panel("plasticine-4", "plasticine-4");
    assert!(falls(&figure.series[0]));
    for n in [0.0_f64, 7.0, 50.0] {
        assert!(near(at(&figure, "Dynamic Thresholds", n), 200.0 / (3.0 + n), 1e-9));
    }
}

#[test]
fn tdt_figure_3_parts_where_the_old_queue_leaves_the_threshold() {
    let (slow, fast) = (panel("tdt-3", "tdt-3a"), panel("tdt-3", "tdt-3b"));
    for time in [0.5, 2.0, 3.0, 5.0] {
        let gap = at(&slow, "old queue", time) - at(&slow, "threshold", time);
        assert!(gap.abs() < 1e-6, "a slow burst: it follows, {time} ms");
    }
    assert!(at(&fast, "old queue", 1.5) > at(&fast, "threshold", 1.5) + 10.0, "a fast one: it lags");
    // By TDT Eq. 3, the new queue gets a third of the buffer, after the time B / (3 C). By TDT Eq.
    // 7, t2 - t0 = B / (2 (2 (R - C) - C)) = B / 18 C.
    let met = |figure: &Figure| {
        let meets = |&&(time, length): &&(f64, f64)| {
            time > 1.0 && (length - at(figure, "threshold", time)).abs() < 1e-6
        };
        figure.series[1].points.iter().find(meets).expect("the new queue meets the threshold").0 - 1.0
    };
    assert!(near(met(&slow), 8.0 / 3.0, 1e-9), "{}", met(&slow));
    assert!(near(met(&fast), 8.0 / 18.0, 1e-9), "{}", met(&fast));
}

#[test]
fn reverie_figures_4_and_5_have_the_worked_values() {
    let ratio = panel("reverie-4", "reverie-4");
    // REV-F4-1.
    for (queues, name, expected) in [
        (1.0, "1 lossy queue", 1.27),
        (5.0, "5 lossy queues", 2.21),
        (10.0, "10 lossy queues", 2.66),
        (20.0, "20 lossy queues", 3.0),
    ] {
        assert!(
            (at(&ratio, name, queues) - expected).abs() < 0.006,
            "{queues}: {}",
            at(&ratio, name, queues)
        );
    }
    // REV-F4-2: the condition for many queues is not exact for few queues, because 10 lossless
    // queues and 1 lossy queue have the ratio 0.7.
    assert!((at(&ratio, "1 lossy queue", 10.0) - 0.7).abs() < 0.005);
    // REV-F5a-1.
    let pause = panel("reverie-5", "reverie-5a");
    for (n, name, expected) in [
        (1.0, "1 lossy queue", 5.5),
        (10.0, "1 lossy queue", 1.0),
        (1.0, "10 lossy queues", 2.636),
        (10.0, "10 lossy queues", 0.479),
    ] {
        assert!(near(at(&pause, name, n), expected, 2e-3), "{n}, {name}: {}", at(&pause, name, n));
    }
    assert!(pause.series.iter().all(falls));
    // REV-F5b-1: the line of the drop threshold is flat.
    let drop = panel("reverie-5", "reverie-5b");
    for n in [1.0, 7.0, 20.0] {
        assert!(
            near(at(&drop, "1 lossy queue", n), 7.0, 1e-6)
                && near(at(&drop, "10 lossy queues", n), 14.0 / 11.0, 1e-6)
        );
    }
    for n in 1..=20 {
        let (lossless, lossy) = sonic(18.0, 14.0, (f64::from(n), 1.0), (5.0, 1.0));
        assert!(near(at(&ratio, "5 lossy queues", f64::from(n)), lossy / lossless, 1e-6));
    }
}
