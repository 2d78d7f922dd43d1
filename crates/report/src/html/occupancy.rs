//! Section on buffer occupancy: a distribution over time, and a table per switch.

use super::parts::{Body, axis_number, drawn, legend, trace};
use crate::load::Report;
use crate::svg::{Axis, Chart, Point, Series};
use maud::{Markup, html};

/// Smallest fraction of time that the occupancy distribution shows.
const FRACTION_MIN: f64 = 1e-4;

/// Formats the distribution of occupancy over time, and a table per switch.
pub(super) fn distribution(report: &Report) -> Option<Body> {
    let series: Vec<Series> = drawn(report)
        .into_iter()
        .map(|one| {
            let mut bins: Vec<(f64, u64)> =
                report.runs_of(one.policy).flat_map(|run| run.samples.occupancy.iter().copied()).collect();
            bins.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series {
                name: one.policy.to_owned(),
                class: one.class,
                mark: trace(report),
                points: exceedance(&bins),
            }
        })
        .collect();
    if series.iter().all(|series| series.points.is_empty()) {
        return None;
    }
    let fullest = series.iter().flat_map(|series| &series.points).map(|point| point.x).fold(0.0, f64::max);
    let chart = Chart {
        title: "All switches, weighed by time".into(),
        x: Axis::linear("buffer in use [% of the buffer]", 0.0, fullest.max(1.0), axis_number),
        y: Axis::log("fraction of time above", FRACTION_MIN, 1.0, axis_number),
        series,
    };
    let markup = html! {
        p.soft {
            "Every change of the occupancy is counted with the time that it lasted. The scale is logarithmic: the rare, full moments decide about losses."
        }
        (legend(report, trace(report)))
        div.charts { (chart.markup()) }
        (switch_table(report))
    };
    Some(Body::new(1, markup))
}

/// Computes the fraction of time in which the occupancy exceeds each value, down to
/// [`FRACTION_MIN`].
pub(super) fn exceedance(bins: &[(f64, u64)]) -> Vec<Point> {
    let total: u128 = bins.iter().map(|bin| u128::from(bin.1)).sum();
    let mut points: Vec<Point> = Vec::new();
    let mut left = total;
    for &(percent, time) in bins {
        left -= u128::from(time);
        let fraction = left as f64 / total as f64;
        let y = fraction.max(FRACTION_MIN);
        // If bins are much finer than a pixel, not every bin needs a point.
        match points.last_mut() {
            Some(last) if percent - last.x < 0.2 => last.y = y,
            _ => points.push(Point::from((percent, y))),
        }
        if fraction <= FRACTION_MIN {
            break;
        }
    }
    points
}

fn switch_table(report: &Report) -> Markup {
    let policies = &report.comparison.policies;
    let switches: Vec<&str> =
        report.runs[0].summary.occupancy.iter().map(|row| row.switch.as_str()).collect();
    let text = |policy: &str, switch: &str| {
        let rows: Vec<_> = report
            .runs_of(policy)
            .flat_map(|run| &run.summary.occupancy)
            .filter(|row| row.switch == switch)
            .collect();
        let mean = |get: fn(&crate::SwitchOccupancy) -> f64| {
            axis_number(rows.iter().map(|row| get(row)).sum::<f64>() / rows.len() as f64)
        };
        let parts = [
            mean(|row| row.mean_percent),
            mean(|row| row.p50_percent),
            mean(|row| row.p99_percent),
            mean(|row| row.max_percent),
        ];
        if rows.is_empty() { "–".to_owned() } else { parts.join(" / ") }
    };
    html! {
        details {
            summary { "Every switch" }
            p.soft { "mean / p50 / p99 / largest, in % of the buffer" @if report.comparison.seeds.len() > 1 { ", mean over seeds" } "." }
            div.scroll tabindex="0" {
                table {
                    thead { tr { th { "Switch" } @for policy in policies { th { (policy) } } } }
                    tbody {
                        @for switch in &switches {
                            tr { th { (switch) } @for policy in policies { td { (text(policy, switch)) } } }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceedance_falls_from_what_is_not_empty_to_nothing() {
        let points = exceedance(&[(0.0, 900), (10.0, 90), (20.0, 10)]);
        let pairs: Vec<_> = points.iter().map(|point| (point.x, (point.y * 1e4).round())).collect();
        assert_eq!(pairs, [(0.0, 1_000.0), (10.0, 100.0), (20.0, 1.0)]);
        assert!(exceedance(&[]).is_empty());
    }
}
