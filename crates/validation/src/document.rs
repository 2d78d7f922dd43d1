//! How do the comparisons read in `docs/validation.md`?

use crate::compare::{Comparison, Row};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- measured: begin; UPDATE_DOCS=1 cargo test -p bufferlab-validation -->";
const END: &str = "<!-- measured: end -->";

/// The page.
#[must_use]
pub fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation.md")
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

/// The measured block: one table per case, then one over single flows.
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
    text.push('\n');
    text
}

/// `page` with `block` between the markers; `None` if the markers are missing.
#[must_use]
pub fn with_block(page: &str, block: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{block}{END}{after}"))
}
