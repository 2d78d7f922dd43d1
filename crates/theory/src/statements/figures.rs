//! Statements about the figures of papers, checked with computed figures.

use super::Tested;
use super::support::{at, panel};
use crate::figures::Figure;

super::checks! {
    abm_figure_5_spreads_for_dynamic_thresholds_and_has_a_floor_for_abm,
    plasticine_figure_16_has_no_floor_for_dynamic_thresholds_and_one_for_plasticine,
}

/// Claim: ABM-F5a-1, ABM-F5b-1, ABM-F5c-1, ABM-F5d-1
#[cfg_attr(test, test)]
fn abm_figure_5_spreads_for_dynamic_thresholds_and_has_a_floor_for_abm() -> Tested {
    let at_40 = |panel: &Figure| panel.series.iter().map(|s| s.at(40.0).expect("points")).collect::<Vec<_>>();
    // ABM-F5a-1: the burst tolerances differ by at least a factor of two. The curve is not
    // monotone, because more ports drain faster.
    let ports = panel("abm-5", "abm-5a");
    let values = at_40(&ports);
    assert!(values.iter().copied().fold(0.0, f64::max) > 2.0 * values.iter().copied().fold(1e9, f64::min));
    assert!(
        at(&ports, "16 ports", 20.0) > at(&ports, "4 ports", 20.0),
        "not monotone in the number of ports"
    );
    // ABM-F5b-1: the burst tolerances are 684, 513, 342 and 205 kB.
    let values = at_40(&panel("abm-5", "abm-5b"));
    for (found, expected) in values.iter().zip([684.0, 513.0, 342.0, 205.0]) {
        assert!((found - expected).abs() < 1.0, "{values:?}");
    }
    // ABM-F5c-1, ABM-F5d-1: no curve is below the curve of one queue.
    for name in ["abm-5c", "abm-5d"] {
        let panel = panel("abm-5", name);
        for (index, &(rate, floor)) in panel.series[0].points.iter().enumerate() {
            let others = panel.series.iter().map(|series| series.points[index].1);
            assert!(others.into_iter().all(|value| value >= floor - 1e-6), "{name}, r = {rate}");
        }
    }
    let values = at_40(&panel("abm-5", "abm-5d"));
    for (found, expected) in values.iter().zip([684.0, 820.0, 911.0, 965.0]) {
        assert!((found - expected).abs() < 1.0, "{values:?}");
    }
    Ok(())
}

/// Claim: PLA-F16-1, PLA-F16-2
#[cfg_attr(test, test)]
fn plasticine_figure_16_has_no_floor_for_dynamic_thresholds_and_one_for_plasticine() -> Tested {
    // PLA-F16-1: at r = 40, the largest burst is more than three times the smallest burst.
    let values: Vec<f64> = ["plasticine-16a", "plasticine-16c"]
        .into_iter()
        .flat_map(|name| panel("plasticine-16", name).series)
        .map(|series| series.at(40.0).expect("points"))
        .collect();
    assert!(values.iter().copied().fold(0.0, f64::max) > 3.0 * values.iter().copied().fold(1e9, f64::min));
    // PLA-F16-2.
    for name in ["plasticine-16b", "plasticine-16d"] {
        let panel = panel("plasticine-16", name);
        assert!((panel.series[0].at(40.0).expect("points") - 684.0).abs() < 1.0);
        for (index, &(_, floor)) in panel.series[0].points.iter().enumerate() {
            assert!(panel.series.iter().all(|series| series.points[index].1 >= floor - 1e-6));
        }
    }
    Ok(())
}
