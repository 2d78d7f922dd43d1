//! Section on open-loop traffic: bursts without loss, queues during bursts, delays, and
//! the ports' shares.

use super::parts::{Body, axis_number, drawn, in_glance, legend, pooled, row_class, trace};
use super::queues;
use crate::bursts::{BurstBin, BurstGroup};
use crate::error::ReportError;
use crate::format;
use crate::load::Report;
use crate::svg::{self, Axis, Chart, Dot, Mark, Point, Series};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Number of bursts that a bin of burst lengths needs for a reliable share without loss.
const BURSTS_WANTED: u64 = 20;
/// Maximum number of ports in the table of port shares.
const PORTS_SHOWN: usize = 64;

/// Formats the section on open-loop traffic; `None` if no run has open-loop traffic.
pub(super) fn section(report: &Report) -> Result<Option<Body>, ReportError> {
    let mut classes: Vec<(&str, bool)> = Vec::new();
    for group in report.runs.iter().flat_map(|run| &run.summary.bursts) {
        if !classes.iter().any(|(class, _)| *class == group.class) {
            classes.push((&group.class, group.long_lived));
        }
    }
    if classes.is_empty() {
        return Ok(None);
    }
    let several = report.comparison.policies.len() > 1;
    let short: Vec<&str> = classes.iter().filter(|(_, long)| !long).map(|(class, _)| *class).collect();
    let by_length: Vec<Markup> = short.iter().filter_map(|class| by_length(report, class)).collect();
    let dots = if several { dots(report, &short) } else { Vec::new() };
    let queues = queues::over_time(report)?;
    let delays: Vec<Markup> = delays(report);
    let charts =
        by_length.len() + dots.len() + queues.as_ref().map_or(0, |queues| queues.charts) + delays.len();
    let markup = html! {
        p.soft {
            "Traffic without congestion control: packets leave at a fixed rate, without feedback. A burst came through if none of its packets was lost."
            (pooled(report))
        }
        (legend(report, Mark::Points))
        @if !by_length.is_empty() || !dots.is_empty() {
            div.charts { @for chart in by_length.iter().chain(&dots) { (chart) } }
        }
        @for class in &short { (bins(report, class)) }
        @if let Some(queues) = &queues { h3 { "Queues over time" } (queues.markup) }
        @if !delays.is_empty() {
            h3 { "Queueing delay" }
            p.soft { "Fraction of packets that waited for at most so long, arrival to the start of transmission, over all queues." }
            div.charts { @for chart in &delays { (chart) } }
        }
        h3 { "Ports" }
        (ports(report))
    };
    Ok(Some(Body::new(charts, markup)))
}

fn groups<'a>(report: &'a Report, policy: &'a str, class: &'a str) -> impl Iterator<Item = &'a BurstGroup> {
    let runs = report.runs_of(policy);
    runs.flat_map(|run| &run.summary.bursts).filter(move |group| group.class == class)
}

/// Returns a policy's bins of burst lengths by their lower edge, summed over all seeds.
fn pooled_bins(report: &Report, policy: &str, class: &str) -> BTreeMap<u64, BurstBin> {
    let mut bins: BTreeMap<u64, BurstBin> = BTreeMap::new();
    for bin in groups(report, policy, class).flat_map(|group| &group.bins) {
        let sum = bins.entry(bin.from_ns).or_insert(BurstBin { bursts: 0, lossless: 0, ..*bin });
        sum.bursts += bin.bursts;
        sum.lossless += bin.lossless;
    }
    bins
}

/// Draws the share of bursts without loss, by length; `None` if all bursts have similar lengths.
fn by_length(report: &Report, class: &str) -> Option<Markup> {
    let series: Vec<Series> = drawn(report)
        .into_iter()
        .map(|one| Series {
            name: one.policy.to_owned(),
            class: one.class,
            mark: Mark::Points,
            points: pooled_bins(report, one.policy, class)
                .values()
                .map(|bin| Point {
                    x: (bin.from_ns as f64 + bin.to_ns.map_or(bin.from_ns as f64 + 250e3, |to| to as f64))
                        / 2e6,
                    y: bin.lossless_fraction(),
                    half: None,
                    weak: bin.bursts < BURSTS_WANTED,
                    lifted: false,
                })
                .collect(),
        })
        .collect();
    let points = || series.iter().flat_map(|series| &series.points);
    let longest = points().map(|point| point.x).fold(0.0, f64::max);
    if series.iter().all(|series| series.points.len() < 2) {
        return None;
    }
    let chart = Chart {
        title: format!("{class}: bursts without loss"),
        x: Axis::linear("length of the burst [ms]", 0.0, longest, axis_number),
        y: Axis::linear("fraction of bursts", 0.0, 1.0, axis_number),
        series,
    };
    Some(chart.markup())
}

/// Draws headline numbers of the bursts, and fairness, with a row per policy.
fn dots(report: &Report, classes: &[&str]) -> Vec<Markup> {
    let mut wanted: Vec<(String, String, &str)> = Vec::new();
    for class in classes {
        let id = |name: &str| format!("class.{class}.{name}");
        wanted.push((
            id("lossless_percent"),
            format!("{class}: bursts without loss, all lengths"),
            "bursts [%]",
        ));
        wanted.push((id("absorbed_us"), format!("{class}: absorbed up to"), "length of the burst [us]"));
        wanted.push((id("burst_lost_percent"), format!("{class}: packets lost"), "packets [%]"));
    }
    wanted.push(("ports.jain".into(), "Fairness among ports".into(), "Jain's index"));
    let drawn = drawn(report);
    let chart = |(id, title, unit): (String, String, &str)| {
        let row = report.comparison.metric(&id)?;
        if in_glance(report, row) {
            return None;
        }
        let dot = |(number, cell): (usize, &crate::Cell)| {
            let estimate = cell.estimate?;
            Some(Dot {
                name: cell.policy.clone(),
                class: row_class(&drawn, number),
                mean: estimate.mean,
                half_width: estimate.half_width,
            })
        };
        let dots: Vec<Dot> = row.cells.iter().enumerate().filter_map(dot).collect();
        (!dots.is_empty()).then(|| svg::dots(&title, unit, &dots, axis_number, false))
    };
    wanted.into_iter().filter_map(chart).collect()
}

fn bins(report: &Report, class: &str) -> Markup {
    let policies = &report.comparison.policies;
    let pooled: Vec<_> = policies.iter().map(|policy| pooled_bins(report, policy, class)).collect();
    let mut rows: BTreeMap<u64, BurstBin> = BTreeMap::new();
    for bin in pooled.iter().flat_map(BTreeMap::values) {
        let row = rows.entry(bin.from_ns).or_insert(*bin);
        row.bursts = row.bursts.max(bin.bursts);
    }
    let text = |bin: Option<&BurstBin>| {
        bin.map_or_else(|| "–".to_owned(), |bin| format::number(bin.lossless_fraction() * 100.0))
    };
    html! {
        details {
            summary { (class) ": bursts by length" }
            div.scroll tabindex="0" {
                table {
                    thead { tr { th { "Length" } th { "Bursts" } @for policy in policies { th { (policy) br; "without loss [%]" } } } }
                    tbody {
                        @for (from, row) in &rows {
                            tr {
                                th { (row.label()) }
                                td { (format::count(row.bursts)) }
                                @for bins in &pooled { td { (text(bins.get(from))) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Draws the distributions of queueing delays, one chart per class.
fn delays(report: &Report) -> Vec<Markup> {
    let mut classes: Vec<&str> = Vec::new();
    for (class, _) in report.runs.iter().flat_map(|run| &run.samples.delays) {
        if !classes.contains(&class.as_str()) {
            classes.push(class);
        }
    }
    let chart = |class: &&str| {
        let mut series: Vec<Series> = drawn(report)
            .into_iter()
            .map(|one| {
                let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
                let samples = report.runs_of(one.policy).flat_map(|run| &run.samples.delays);
                for (to, packets) in samples.filter(|(name, _)| name == class).flat_map(|(_, bins)| bins) {
                    *bins.entry(*to).or_default() += packets;
                }
                Series {
                    name: one.policy.to_owned(),
                    class: one.class,
                    mark: trace(report),
                    points: distribution(&bins),
                }
            })
            .collect();
        let most = series.iter().flat_map(|series| &series.points).map(|point| point.x).fold(0.0, f64::max);
        let (scale, unit) = if most < 0.5 { (1e3, "us") } else { (1.0, "ms") };
        series.iter_mut().flat_map(|series| &mut series.points).for_each(|point| point.x *= scale);
        let chart = Chart {
            title: (*class).to_owned(),
            x: Axis::linear(format!("queueing delay [{unit}]"), 0.0, most * scale, axis_number),
            y: Axis::linear("fraction of packets", 0.0, 1.0, axis_number),
            series,
        };
        chart.markup()
    };
    classes.iter().map(chart).collect()
}

/// Computes the distribution of queueing delays (ms) from the number of packets in every bin of
/// delays. A bin is given by its upper edge (ns).
fn distribution(bins: &BTreeMap<u64, u64>) -> Vec<Point> {
    let total: u64 = bins.values().sum();
    let mut seen = 0;
    let mut points: Vec<Point> = Vec::new();
    for (to, packets) in bins {
        let before = seen as f64 / total as f64;
        seen += packets;
        let x = *to as f64 * 1e-6;
        if points.is_empty() {
            points.push(Point::from((x, before)));
        }
        points.push(Point::from((x, seen as f64 / total as f64)));
    }
    points
}

fn ports(report: &Report) -> Markup {
    let policies = &report.comparison.policies;
    let first = &report.runs[0].summary.ports;
    let text = |policy: &str, from: &str, to: &str| {
        let ports = report.runs_of(policy).flat_map(|run| &run.summary.ports);
        let shares: Vec<f64> =
            ports.filter(|port| port.from == from && port.to == to).filter_map(|port| port.share()).collect();
        match shares.len() {
            0 => "–".to_owned(),
            seeds => format::number(shares.iter().sum::<f64>() / seeds as f64 * 100.0),
        }
    };
    html! {
        p.soft {
            "What a port carried while flows started, in % of what it could have: the lesser of offer and rate"
            @if report.comparison.seeds.len() > 1 { ", mean over seeds" }
            @if first.len() > PORTS_SHOWN { "; the first " (PORTS_SHOWN) " of " (format::count(first.len() as u64)) " ports" }
            "."
        }
        div.scroll tabindex="0" {
            table {
                thead { tr { th { "Port" } th { "Rate [Gb/s]" } th { "Offered [Gb/s]" } @for policy in policies { th { (policy) " [%]" } } } }
                tbody {
                    @for port in first.iter().take(PORTS_SHOWN) {
                        tr {
                            th { (port.from) " to " (port.to) }
                            td { (format::number(port.rate_bps as f64 * 1e-9)) }
                            td { (format::number(port.offered_bps * 1e-9)) }
                            @for policy in policies { td { (text(policy, &port.from, &port.to)) } }
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
    fn a_distribution_of_delays_rises_from_its_least_to_one() {
        let bins = BTreeMap::from([(1_000_000, 3), (4_000_000, 1)]);
        let points: Vec<_> = distribution(&bins).iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(1.0, 0.0), (1.0, 0.75), (4.0, 1.0)]);
        assert!(distribution(&BTreeMap::new()).is_empty());
    }
}
