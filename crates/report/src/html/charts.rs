//! Charts of completion times: by flow size, as distributions, and of queries.

use super::parts::{Body, Drawn, axis_number, drawn, in_glance, legend, pooled, row_class, trace};
use crate::format;
use crate::load::Report;
use crate::samples::{FlowSample, SIZE_BINS, size_bin_label, size_bin_middle};
use crate::statistics::Percentile;
use crate::svg::{self, Axis, Chart, Dot, Mark, Point, Series};
use maud::{Markup, html};

/// Number of points on the curve of a distribution.
const CURVE_POINTS: usize = 160;
/// Maximum number of traffic classes with a separate chart.
const CLASSES_SHOWN: usize = 5;

/// Returns the charts of this module for separate files. Each chart has the style of its series and
/// a distinguishing part of the file name.
pub(crate) fn figures(report: &Report) -> Vec<(String, Mark, Chart)> {
    let (bins, used) = used_bins(report);
    let by_size = by_size(report, &bins, &used).into_iter().zip(BY_SIZE);
    let by_size = by_size
        .map(|(chart, percentile)| (format!("slowdown-by-size-{}", percentile.name()), Mark::Points, chart));
    let pooled = distributions(report).into_iter().map(|chart| ("slowdown", chart));
    let pooled =
        pooled.chain(query_distributions(report).into_iter().map(|chart| ("completion-time", chart)));
    let pooled = pooled.map(|(what, chart)| (format!("{what}-{}", chart.title), trace(report), chart));
    by_size.chain(pooled).collect()
}

/// Percentiles of the slowdown that have a chart by flow size.
const BY_SIZE: [Percentile; 3] = [Percentile::P50, Percentile::P95, Percentile::P99];

/// Returns slowdowns by policy and size bin, and the bins that are not empty.
fn used_bins(report: &Report) -> (Vec<Vec<Vec<f64>>>, Vec<usize>) {
    let bins = binned_slowdowns(report);
    let used = (0..SIZE_BINS).filter(|&bin| bins.iter().any(|policy| !policy[bin].is_empty())).collect();
    (bins, used)
}

/// Draws a chart for each percentile of [`BY_SIZE`]; none if no flow outside queries finished.
fn by_size(report: &Report, bins: &[Vec<Vec<f64>>], used: &[usize]) -> Vec<Chart> {
    if used.is_empty() {
        return Vec::new();
    }
    let drawn = drawn(report);
    BY_SIZE.map(|percentile| percentile_by_size(&drawn, bins, used, percentile)).into()
}

/// Formats percentiles of the slowdown by flow size, with their table; `None` if no flow outside
/// queries finished.
pub(super) fn slowdown_by_size(report: &Report) -> Option<Body> {
    let (bins, used) = used_bins(report);
    let charts = by_size(report, &bins, &used);
    let policies = &report.comparison.policies;
    let markup = || {
        html! {
            p.soft {
                "Flows outside queries in half-decade bins of size, drawn at the bin's middle. A hollow mark has fewer samples than its percentile needs."
                (pooled(report))
            }
            (legend(report, Mark::Points))
            div.charts { @for chart in &charts { (chart.markup()) } }
            details { summary { "Table of bins" } (table_of_bins(policies, &bins, &used)) }
        }
    };
    (!charts.is_empty()).then(|| Body::new(charts.len(), markup()))
}

/// Returns slowdowns of flows outside queries, by policy and size bin, sorted.
fn binned_slowdowns(report: &Report) -> Vec<Vec<Vec<f64>>> {
    let of_policy = |policy: &String| {
        let mut bins = vec![Vec::new(); SIZE_BINS];
        for flow in report.runs_of(policy).flat_map(|run| &run.samples.flows).filter(|flow| !flow.of_query) {
            bins[usize::from(flow.size_bin)].push(f64::from(flow.slowdown));
        }
        bins.iter_mut().for_each(|bin| bin.sort_unstable_by(f64::total_cmp));
        bins
    };
    report.comparison.policies.iter().map(of_policy).collect()
}

/// Draws one percentile of the slowdown over the flow-size bins in `used`, which are not empty.
fn percentile_by_size(
    drawn: &[Drawn<'_>],
    bins: &[Vec<Vec<f64>>],
    used: &[usize],
    percentile: Percentile,
) -> Chart {
    let points = |bins: &[Vec<f64>]| {
        let point = |&bin: &usize| {
            let y = percentile.of(&bins[bin])?;
            let weak = (bins[bin].len() as u64) < percentile.samples_needed();
            Some(Point { x: size_bin_middle(bin), y, half: None, weak, lifted: false })
        };
        used.iter().filter_map(point).collect()
    };
    let series: Vec<Series> = drawn
        .iter()
        .map(|one| Series {
            name: one.policy.to_owned(),
            class: one.class.clone(),
            mark: Mark::Points,
            points: points(&bins[one.at]),
        })
        .collect();
    let (first, last) = (size_bin_middle(used[0]), size_bin_middle(used[used.len() - 1]));
    let (low, high) = (lowest(&series, |point| point.y), highest(&series) * 1.1);
    Chart {
        title: format!("{} of FCT slowdown", percentile.name()),
        x: Axis::log("flow size", first * 0.7, last * 1.4, format::bytes),
        // A figure in a paper has no caption of bufferlab, so the axis names the percentile.
        y: Axis::log(format!("{} slowdown [x ideal]", percentile.name()), low, high, axis_number),
        series,
    }
}

fn table_of_bins(policies: &[String], bins: &[Vec<Vec<f64>>], used: &[usize]) -> Markup {
    let counts = |bin: usize| bins.iter().map(|policy| policy[bin].len() as u64).max().unwrap_or(0);
    html! {
        div.scroll tabindex="0" {
            table {
                thead {
                    tr {
                        th { "Flow size" } th { "Flows" }
                        @for policy in policies { th { (policy) br; "p50 / p95 / p99 [x]" } }
                    }
                }
                tbody {
                    @for &bin in used {
                        tr {
                            th { (size_bin_label(bin)) }
                            td { (format::count(counts(bin))) }
                            @for policy in bins {
                                td { (three(&policy[bin])) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn three(sorted: &[f64]) -> String {
    [Percentile::P50, Percentile::P95, Percentile::P99]
        .map(|percentile| percentile.of(sorted).map_or_else(|| "–".to_owned(), format::number))
        .join(" / ")
}

/// Draws the distributions of the slowdown: of short flows, and of every class.
fn distributions(report: &Report) -> Vec<Chart> {
    let classes = &report.runs[0].result.manifest().names.classes;
    let short = report.runs[0].result.manifest().short_flow_bytes;
    let mut charts: Vec<Chart> = Vec::new();
    let short_title = format!("short flows (< {})", format::bytes(short as f64));
    charts.extend(distribution(report, short_title, |flow| flow.short));
    for (number, class) in classes.iter().enumerate().take(CLASSES_SHOWN) {
        charts
            .extend(distribution(report, format!("{class} flows"), |flow| usize::from(flow.class) == number));
    }
    charts
}

pub(super) fn slowdown_distribution(report: &Report) -> Option<Body> {
    let charts = distributions(report);
    let markup = html! {
        p.soft { "Fraction of finished flows whose slowdown is at most the value." (pooled(report)) }
        (legend(report, trace(report)))
        div.charts { @for chart in &charts { (chart.markup()) } }
    };
    (!charts.is_empty()).then(|| Body::new(charts.len(), markup))
}

/// Draws the slowdown distribution of the flows that `which` selects; `None` if no policy finished
/// any of these flows.
fn distribution(report: &Report, title: String, which: impl Fn(&FlowSample) -> bool) -> Option<Chart> {
    let series = by_policy(report, |policy| {
        let runs = report.runs_of(policy);
        runs.flat_map(|run| &run.samples.flows)
            .filter(|flow| which(flow))
            .map(|flow| f64::from(flow.slowdown))
            .collect()
    })?;
    let x = Axis::log(
        "slowdown [x ideal]",
        lowest(&series, |point| point.x),
        furthest(&series) * 1.04,
        axis_number,
    );
    Some(Chart { title, x, y: Axis::linear("fraction of flows", 0.0, 1.0, fraction), series })
}

/// Returns the query classes of all runs.
fn query_classes(report: &Report) -> Vec<&str> {
    let mut classes: Vec<&str> = Vec::new();
    for (class, _) in report.runs.iter().flat_map(|run| &run.samples.qct_ns) {
        if !classes.contains(&class.as_str()) {
            classes.push(class);
        }
    }
    classes
}

/// Draws the distributions of query completion times, one per class of queries.
fn query_distributions(report: &Report) -> Vec<Chart> {
    query_classes(report)
        .iter()
        .filter_map(|class| {
            let series = by_policy(report, |policy| {
                let runs = report.runs_of(policy);
                let of_class = runs.flat_map(|run| &run.samples.qct_ns).filter(|(name, _)| name == class);
                of_class.flat_map(|(_, times)| times).map(|ns| ns * 1e-6).collect()
            })?;
            let lowest =
                series.iter().filter_map(|s| s.points.first()).map(|p| p.x).fold(f64::INFINITY, f64::min);
            Some(Chart {
                title: format::queries_of(class),
                x: Axis::log(
                    "query completion time [ms]",
                    lowest * 0.9,
                    furthest(&series) * 1.04,
                    axis_number,
                ),
                y: Axis::linear("fraction of queries", 0.0, 1.0, fraction),
                series,
            })
        })
        .collect()
}

pub(super) fn queries(report: &Report) -> Option<Body> {
    let charts = query_distributions(report);
    // A page of a single policy contains no comparison.
    let several = report.comparison.policies.len() > 1;
    let dots = if several { query_dots(report, &query_classes(report)) } else { Vec::new() };
    (!charts.is_empty()).then(|| {
        let markup = html! {
            p.soft {
                "Time from a query to the end of its last answer."
                @if !dots.is_empty() && report.comparison.seeds.len() > 1 { " Bars are 95 % confidence intervals over seeds." }
                (pooled(report))
            }
            (legend(report, trace(report)))
            div.charts { @for chart in &charts { (chart.markup()) } @for chart in &dots { (chart) } }
        };
        Body::new(charts.len() + dots.len(), markup)
    })
}

/// Draws means and p99s of completion times with their intervals, one row per policy.
fn query_dots(report: &Report, classes: &[&str]) -> Vec<Markup> {
    let drawn = drawn(report);
    classes
        .iter()
        .flat_map(|class| {
            [("qct_mean_ms", "mean"), ("qct_p99_ms", "p99")].map(|(id, name)| (class, id, name))
        })
        .filter_map(|(class, id, name)| {
            let row = report.comparison.metric(&format!("class.{class}.{id}"))?;
            if in_glance(report, row) {
                return None;
            }
            let mut dots: Vec<Dot> = row
                .cells
                .iter()
                .enumerate()
                .filter_map(|(number, cell)| {
                    let estimate = cell.estimate?;
                    Some(Dot {
                        name: cell.policy.clone(),
                        class: row_class(&drawn, number),
                        mean: estimate.mean,
                        half_width: estimate.half_width,
                    })
                })
                .collect();
            // With many schemes, a reader finds a scheme faster by value than by name.
            if drawn.len() < dots.len() {
                dots.sort_by(|a, b| a.mean.total_cmp(&b.mean));
            }
            let title = format!("{class} queries, {name}");
            (!dots.is_empty())
                .then(|| svg::dots(&title, "query completion time [ms]", &dots, axis_number, false))
        })
        .collect()
}

/// Draws one distribution curve per policy over the values from `samples`; `None` without values.
fn by_policy(report: &Report, samples: impl Fn(&str) -> Vec<f64>) -> Option<Vec<Series>> {
    let series: Vec<Series> = drawn(report)
        .into_iter()
        .map(|one| {
            let mut sorted = samples(one.policy);
            sorted.sort_unstable_by(f64::total_cmp);
            Series {
                name: one.policy.to_owned(),
                class: one.class,
                mark: trace(report),
                points: curve(&sorted),
            }
        })
        .collect();
    series.iter().any(|series| !series.points.is_empty()).then_some(series)
}

/// Computes the empirical distribution of sorted samples, as steps: the curve rises only at
/// samples. More than [`CURVE_POINTS`] samples are thinned at equal steps of the fraction. The
/// thinned steps are then finer than a pixel of the drawing.
fn curve(sorted: &[f64]) -> Vec<Point> {
    let steps = sorted.len().min(CURVE_POINTS);
    let mut points: Vec<Point> = sorted.first().map(|least| Point::from((*least, 0.0))).into_iter().collect();
    let mut before = 0.0;
    for step in 1..=steps {
        let rank = (sorted.len() * step).div_ceil(steps);
        let (at, fraction) = (sorted[rank - 1], rank as f64 / sorted.len() as f64);
        if steps == sorted.len() && points.last().is_some_and(|last| last.x < at) {
            points.push(Point::from((at, before)));
        }
        points.push(Point::from((at, fraction)));
        before = fraction;
    }
    points
}

/// Start of an axis of slowdowns: the ideal slowdown 1, or lower if a flow was faster. (The ideal
/// completion time includes a whole round-trip time, but the last byte may arrive after half of a
/// round-trip time.)
fn lowest(series: &[Series], get: fn(&Point) -> f64) -> f64 {
    series.iter().flat_map(|series| &series.points).map(get).fold(1.0, f64::min)
}

fn highest(series: &[Series]) -> f64 {
    series.iter().flat_map(|series| &series.points).map(|point| point.y).fold(1.0, f64::max)
}

fn furthest(series: &[Series]) -> f64 {
    series.iter().flat_map(|series| &series.points).map(|point| point.x).fold(0.0, f64::max)
}

fn fraction(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_at_the_largest_sample_and_at_one() {
        let samples: Vec<f64> = (1..=1_000).map(f64::from).collect();
        let points = curve(&samples);
        assert_eq!(points.len(), CURVE_POINTS + 1);
        let last = points.last().unwrap();
        assert_eq!((last.x, last.y), (1_000.0, 1.0));
        assert_eq!(curve(&[5.0]).len(), 2);
        assert!(curve(&[]).is_empty());
    }

    #[test]
    fn a_curve_of_few_samples_rises_at_samples_only() {
        let points: Vec<_> = curve(&[1.0, 2.0, 2.0, 4.0]).iter().map(|point| (point.x, point.y)).collect();
        let wanted = [(1.0, 0.0), (1.0, 0.25), (2.0, 0.25), (2.0, 0.5), (2.0, 0.75), (4.0, 0.75), (4.0, 1.0)];
        assert_eq!(points, wanted);
    }
}
