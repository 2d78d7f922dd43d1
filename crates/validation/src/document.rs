//! Tables of the comparisons for `docs/evidence/validation.md`.

use crate::by_size::{self, SizeClass};
use crate::compare::Comparison;
use crate::explained::{RANGES, explained_size};
use crate::ranges::{JITTER, Range, Spread, orders};
use crate::row::Row;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- measured: begin; cargo xtask generate validation -->";
const END: &str = "<!-- measured: end -->";
const RANGES_BEGIN: &str = "<!-- ranges: begin; cargo xtask generate validation -->";
const RANGES_END: &str = "<!-- ranges: end -->";

/// Path of the page.
#[must_use]
pub fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/validation.md")
}

fn value(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.3}") }
}

fn verdict(comparison: &Comparison, row: &Row) -> String {
    match (row.is_within(), comparison.explanation(row)) {
        (true, _) => "yes".to_owned(),
        (false, Some(explained)) => format!("no: {}", explained.name),
        (false, None) => "**no, unexplained**".to_owned(),
    }
}

/// The measured block: one table per case, then one for single flows.
#[must_use]
pub fn block(comparisons: &[Comparison]) -> String {
    let mut text = String::new();
    for comparison in comparisons {
        let _ = writeln!(text, "\n### {}\n", comparison.case.name);
        text.push_str("| | bufferlab | ns-3 | difference | expected | within |\n|---|--:|--:|--:|--:|---|\n");
        for row in &comparison.rows {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:+.1} % | {:.0} % | {} |",
                row.metric,
                value(row.ours),
                value(row.theirs),
                100.0 * row.difference(),
                100.0 * row.tolerance,
                verdict(comparison, row)
            );
        }
    }
    text.push_str("\n### Flow by flow\n\n");
    text.push_str("Completion time of the same flow on both sides; deviation = |ours / theirs − 1|.\n\n");
    text.push_str("| | flows | median | largest | within 1 % | within 3 % |\n|---|--:|--:|--:|--:|--:|\n");
    for comparison in comparisons {
        let scatter = &comparison.scatter;
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} % | {:.2} % | {} | {} |",
            comparison.case.name,
            scatter.flows,
            100.0 * scatter.median,
            100.0 * scatter.largest,
            scatter.within_one_percent,
            scatter.within_three_percent
        );
    }
    text.push_str(&sizes_block(comparisons));
    text.push('\n');
    text
}

/// A table by class and size of flows; only classes with at least [`by_size::FLOWS_MIN`] flows.
fn sizes_block(comparisons: &[Comparison]) -> String {
    let mut text = String::from("\n### By size\n\n");
    let _ = writeln!(
        text,
        "Median of ours / theirs over completion times of single flows, and the ratio of the means. A median agrees within {:.0} %.\n",
        100.0 * by_size::TOLERANCE
    );
    text.push_str("| | class | sizes | flows | median | mean | agrees |\n|---|---|---|--:|--:|--:|---|\n");
    for comparison in comparisons {
        for class in comparison.by_size.iter().filter(|class| class.flows >= by_size::FLOWS_MIN) {
            let case = comparison.case.name;
            let agrees = match (class.agrees(), explained_size(case, class)) {
                (true, _) => "yes".to_owned(),
                (false, Some(name)) => format!("no: {name}"),
                (false, None) => "**no, unexplained**".to_owned(),
            };
            let SizeClass { class: name, flows, median_ratio, mean_ratio, .. } = class;
            let sizes = class.sizes();
            let _ = writeln!(
                text,
                "| {case} | {name} | {sizes} | {flows} | {median_ratio:.3} | {mean_ratio:.3} | {agrees} |"
            );
        }
    }
    text
}

/// The block of ranges: one line per run, then tables of the metrics that disagree and of all.
#[must_use]
pub fn ranges_block(ranges: &[Range]) -> String {
    let runs = ranges.chunk_by(|one, other| one.theirs.run == other.theirs.run);
    let mut text = format!("\nStarts jittered by {JITTER} on both sides. Metrics that agree, of all:\n\n");
    text.push_str("| run | their runs | ours | agree | of |\n|---|--:|--:|--:|--:|\n");
    for run in runs.clone() {
        let agree = run.iter().filter(|range| range.agrees()).count();
        let most = run.iter().map(|range| range.theirs.runs).max().unwrap_or(0);
        let _ = writeln!(
            text,
            "| `{}` | {most} | {} | {agree} | {} |",
            run[0].theirs.run,
            run[0].runs,
            run.len()
        );
    }
    let (right, pairs) = orders(ranges);
    let _ = writeln!(
        text,
        "\nOf {pairs} pairs of policies that the artifact separates in a metric by more than 5 %, {right} are in its order here."
    );
    text.push_str("\nThose that do not:\n\n| run | metric | ns-3 | bufferlab | gap | why |\n|---|---|--:|--:|--:|---|\n");
    for range in ranges.iter().filter(|range| !range.agrees()) {
        let Spread { run, metric, min, max, .. } = &range.theirs;
        let known = RANGES.iter().find(|known| known.run == run && known.metric == metric);
        let why = known.map_or("**unexplained**", |known| known.why);
        let (theirs, ours) = (span(*min, *max), span(range.min, range.max));
        let _ = writeln!(
            text,
            "| `{run}` | {metric} | {theirs} | {ours} | {:+.1} % | {why} |",
            100.0 * range.gap()
        );
    }
    text.push_str("\n<details><summary>All ranges</summary>\n\n| run | metric | ns-3 | bufferlab | gap |\n|---|---|--:|--:|--:|\n");
    for range in ranges {
        let Spread { run, metric, min, max, .. } = &range.theirs;
        let (theirs, ours) = (span(*min, *max), span(range.min, range.max));
        let _ = writeln!(text, "| `{run}` | {metric} | {theirs} | {ours} | {:+.1} % |", 100.0 * range.gap());
    }
    text.push_str("\n</details>\n\n");
    text
}

fn span(min: f64, max: f64) -> String {
    if min == max { value(min) } else { format!("{}–{}", value(min), value(max)) }
}

/// Inserts both blocks between their markers in `page`; `None` if markers are missing.
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
