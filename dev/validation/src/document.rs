//! Tables of comparisons with the ns-3 reference for `docs/evidence/validation.md`.

use crate::by_size::{self, SizeClass};
use crate::compare::Comparison;
use crate::explained::{RANGES, explained_size};
use crate::ranges::{JITTER, Range, Spread, orders};
use crate::row::ComparedMetric;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- measured: begin; cargo xtask generate validation -->";
const END: &str = "<!-- measured: end -->";
const RANGES_BEGIN: &str = "<!-- ranges: begin; cargo xtask generate validation -->";
const RANGES_END: &str = "<!-- ranges: end -->";

/// Returns the path of the page `docs/evidence/validation.md`.
#[must_use]
pub fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/validation.md")
}

fn value(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.3}") }
}

fn verdict(comparison: &Comparison, row: &ComparedMetric) -> String {
    match (row.is_within(), comparison.explanation(row)) {
        (true, _) => "yes".to_owned(),
        (false, Some(explained)) => format!("no: {}", explained.name),
        (false, None) => "no, unexplained".to_owned(),
    }
}

fn agreement(case: &str, class: &SizeClass) -> String {
    match (class.agrees(), explained_size(case, class)) {
        (true, _) => "yes".to_owned(),
        (false, Some(name)) => format!("no: {name}"),
        (false, None) => "no, unexplained".to_owned(),
    }
}

/// Formats the measured block of the page: the metrics and median completion times that do not
/// agree with ns-3. The CSV files have all compared values.
#[must_use]
pub fn block(comparisons: &[Comparison]) -> String {
    let mut text = String::from("\n### Numbers beyond the expectation\n\n");
    text.push_str("| | number | bufferlab | ns-3 | expected | why |\n|---|---|--:|--:|--:|---|\n");
    for comparison in comparisons {
        for row in comparison.rows.iter().filter(|row| !row.is_within()) {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {:.0} % | {} |",
                comparison.case.name,
                row.metric,
                value(row.ours),
                value(row.theirs),
                100.0 * row.tolerance,
                comparison.explanation(row).map_or("**unexplained**", |explained| explained.name)
            );
        }
    }
    text.push_str(&sizes_block(comparisons));
    text.push('\n');
    text
}

/// Formats the workload and size classes whose median completion times do not agree with ns-3, and
/// the number of classes.
fn sizes_block(comparisons: &[Comparison]) -> String {
    let mut text = String::from("\n### By size\n\n");
    let all: Vec<_> = sizes(comparisons).collect();
    let _ = writeln!(
        text,
        "`median` is the median over flows of bufferlab's completion time divided by ns-3's. `mean` is the \
         ratio of mean completion times. Median completion times agree within {:.0} % for {} of {} classes with \
         at least {} flows. Classes with larger differences:\n",
        100.0 * by_size::TOLERANCE,
        all.iter().filter(|(_, class)| class.agrees()).count(),
        all.len(),
        by_size::FLOWS_MIN
    );
    text.push_str("| | class | sizes | flows | median | mean | why |\n|---|---|---|--:|--:|--:|---|\n");
    for (case, class) in all.iter().filter(|(_, class)| !class.agrees()) {
        let SizeClass { class: name, flows, median_ratio, mean_ratio, .. } = class;
        let (sizes, why) = (class.sizes(), explained_size(case, class).unwrap_or("**unexplained**"));
        let _ = writeln!(
            text,
            "| {case} | {name} | {sizes} | {flows} | {median_ratio:.3} | {mean_ratio:.3} | {why} |"
        );
    }
    text
}

/// Returns every size class of at least [`by_size::FLOWS_MIN`] flows with the name of its case.
fn sizes(comparisons: &[Comparison]) -> impl Iterator<Item = (&str, &SizeClass)> {
    let all = comparisons.iter().flat_map(|of| of.by_size.iter().map(|class| (of.case.name, class)));
    all.filter(|(_, class)| class.flows >= by_size::FLOWS_MIN)
}

/// Formats the CSV tables of all compared values: for each table, the path in the repository and
/// the content.
///
/// # Errors
/// If a row cannot be written as CSV.
pub fn tables(
    comparisons: &[Comparison],
    ranges: &[Range],
) -> Result<[(&'static str, String); 4], csv::Error> {
    let mut numbers =
        vec![["case", "number", "bufferlab", "ns3", "difference", "expected", "within"].map(str::to_owned)];
    for comparison in comparisons {
        numbers.extend(comparison.rows.iter().map(|row| {
            [
                comparison.case.name.to_owned(),
                row.metric.to_owned(),
                value(row.ours),
                value(row.theirs),
                percent(row.difference()),
                format!("{:.0} %", 100.0 * row.tolerance),
                verdict(comparison, row),
            ]
        }));
    }
    let mut classes =
        vec![["case", "class", "sizes", "flows", "median", "mean", "agrees"].map(str::to_owned)];
    classes.extend(sizes(comparisons).map(|(case, class)| {
        [
            case.to_owned(),
            class.class.clone(),
            class.sizes().to_owned(),
            class.flows.to_string(),
            format!("{:.3}", class.median_ratio),
            format!("{:.3}", class.mean_ratio),
            agreement(case, class),
        ]
    }));
    let mut spans = vec![["run", "metric", "ns3", "bufferlab", "gap"].map(str::to_owned)];
    spans.extend(ranges.iter().map(|range| {
        let Spread { run, metric, min, max, .. } = &range.theirs;
        [run.clone(), metric.clone(), span(*min, *max), span(range.min, range.max), percent(range.gap())]
    }));
    Ok([
        ("docs/evidence/validation/cases.csv", to_csv(&cases(comparisons))?),
        ("docs/evidence/validation/numbers.csv", to_csv(&numbers)?),
        ("docs/evidence/validation/sizes.csv", to_csv(&classes)?),
        ("docs/evidence/validation/ranges.csv", to_csv(&spans)?),
    ])
}

/// Returns a table row for each compared case: the number of metrics that agree with ns-3, and the
/// differences of single flows.
fn cases(comparisons: &[Comparison]) -> Vec<[String; 10]> {
    let mut rows = vec![
        [
            "case",
            "numbers",
            "within",
            "largest_difference",
            "largest_difference_of",
            "flows",
            "flows_median_deviation",
            "flows_largest_deviation",
            "flows_within_1_percent",
            "flows_within_3_percent",
        ]
        .map(str::to_owned),
    ];
    for Comparison { case, rows: numbers, scatter, .. } in comparisons {
        let largest = numbers.iter().max_by(|a, b| a.difference().abs().total_cmp(&b.difference().abs()));
        rows.push([
            case.name.to_owned(),
            numbers.len().to_string(),
            numbers.iter().filter(|row| row.is_within()).count().to_string(),
            largest.map_or_else(String::new, |row| percent(row.difference())),
            largest.map_or_else(String::new, |row| row.metric.to_owned()),
            scatter.flows.to_string(),
            format!("{:.2} %", 100.0 * scatter.median),
            format!("{:.2} %", 100.0 * scatter.largest),
            scatter.within_one_percent.to_string(),
            scatter.within_three_percent.to_string(),
        ]);
    }
    rows
}

fn to_csv<const N: usize>(rows: &[[String; N]]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.write_record(row))?;
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn percent(fraction: f64) -> String {
    format!("{:+.1} %", 100.0 * fraction)
}

/// Formats the block about ranges of metrics: the number of ranges that agree with ns-3, then a
/// table of ranges that do not agree.
#[must_use]
pub fn ranges_block(ranges: &[Range]) -> String {
    let agree = ranges.iter().filter(|range| range.agrees()).count();
    let mut text = format!(
        "\nFlows start with a jitter of {JITTER} in both simulators. Of {} metric ranges, {agree} agree with ns-3.\n",
        ranges.len()
    );
    let (right, pairs) = orders(ranges);
    let _ = writeln!(
        text,
        "\nIn the artifact, {pairs} pairs of policies differ by more than 5 % in a metric. In {right} of these pairs, bufferlab has the same policy ahead as the artifact."
    );
    text.push_str("\nMetrics with disagreeing ranges:\n\n| run | metric | ns-3 | bufferlab | gap | why |\n|---|---|--:|--:|--:|---|\n");
    for range in ranges.iter().filter(|range| !range.agrees()) {
        let Spread { run, metric, min, max, .. } = &range.theirs;
        let known = RANGES.iter().find(|known| known.run == run && known.metric == metric);
        let why = known.map_or("**unexplained**", |known| known.why);
        let (theirs, ours) = (span(*min, *max), span(range.min, range.max));
        let _ =
            writeln!(text, "| `{run}` | {metric} | {theirs} | {ours} | {} | {why} |", percent(range.gap()));
    }
    text.push('\n');
    text
}

fn span(min: f64, max: f64) -> String {
    if min == max { value(min) } else { format!("{}–{}", value(min), value(max)) }
}

/// Inserts the tables of comparisons and of ranges between their markers in `page`. Returns `None`
/// if markers are missing.
#[must_use]
pub fn with_blocks(page: &str, block: &str, ranges: &str) -> Option<String> {
    let replaced = |page: &str, begin: &str, end: &str, block: &str| {
        let (before, rest) = page.split_once(begin)?;
        let (_, after) = rest.split_once(end)?;
        Some(format!("{before}{begin}\n{block}{end}{after}"))
    };
    let page = replaced(page, BEGIN, END, block)?;
    replaced(&page, RANGES_BEGIN, RANGES_END, ranges)
}
