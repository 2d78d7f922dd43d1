//! The comparison as text for a terminal: at most 110 columns, fewer on a narrow terminal, without
//! colours.

use crate::caveat::{Caveat, CaveatRecord};
use crate::compare::{Cell, Comparison, MetricComparison};
use crate::finding::{Sentence, finding};
use crate::format::{self, wrapped};
use crate::metric::{Metric, Unit};
use crate::ranking::{Ranking, Standing};
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of characters in a line of the report on the terminal.
pub const WIDTH_MAX: usize = 110;
/// Smallest width of a line. Tables of fewer characters would have no space for numbers.
const WIDTH_MIN: usize = 60;
/// Number of characters in a line of texts for a terminal.
static WIDTH: AtomicUsize = AtomicUsize::new(WIDTH_MAX);

/// Sets the width of the terminal that prints the texts of reports (characters). Lines have at
/// least 60 and at most [`WIDTH_MAX`] characters, also on narrower and wider terminals.
pub fn set_terminal_width(columns: usize) {
    WIDTH.store(columns.clamp(WIDTH_MIN, WIDTH_MAX), Ordering::Relaxed);
}

fn line_width() -> usize {
    WIDTH.load(Ordering::Relaxed)
}

/// Number of policies above which policies are rows instead of columns.
pub(crate) const POLICIES_SIDE_BY_SIDE: usize = 6;
/// Width at which headers of narrow columns are broken between words (characters).
const HEADER_WIDTH: usize = 11;

/// Text of a table cell: mean and half-width in the metric's unit. A count of a single run is a
/// whole number.
pub(crate) fn estimate_text(metric: &Metric, cell: &Cell) -> String {
    match cell.estimate {
        None => "–".into(),
        Some(estimate) => match estimate.half_width {
            None if metric.unit == Unit::Count => format::count(estimate.mean.round() as u64),
            None => format::number(estimate.mean),
            Some(half) if metric.unit == Unit::Count => {
                let whole = estimate.mean.abs() >= 99.95;
                let half = format::mean_count(if whole { half.round() } else { half });
                format!("{} ±{half}", format::mean_count(estimate.mean))
            }
            Some(half) => format::estimate(estimate.mean, half),
        },
    }
}

/// Text of a change in a table: percent, and the distances to the ends of the interval in
/// percentage points. A star marks an interval that excludes zero.
pub(crate) fn change_text(cell: &Cell) -> String {
    match cell.change {
        None => String::new(),
        Some(change) if change.excludes_zero() => change.in_words() + " *",
        Some(change) => change.in_words(),
    }
}

/// Formats a comparison for the terminal: the findings, a ranked table of three schemes or more,
/// the headline metrics, then the caveats.
#[must_use]
pub fn comparison_text(comparison: &Comparison, caveats: &[Caveat]) -> String {
    let mut out = finding_text(&finding(comparison), caveats.len());
    ranked(&mut out, comparison);
    if !out.is_empty() {
        out.push('\n');
    }
    if comparison.policies.len() > POLICIES_SIDE_BY_SIDE {
        out.push_str(&a_line_per_policy(comparison));
    } else {
        side_by_side(&mut out, comparison);
    }
    out.push_str(&caveats_text(caveats));
    out
}

/// Formats findings as lines, and states how many caveats follow the numbers; empty
/// without findings.
#[must_use]
pub fn finding_text(finding: &[Sentence], caveats: usize) -> String {
    let mut out = String::new();
    for sentence in finding {
        wrap(&mut out, "", &sentence.text);
    }
    if !out.is_empty() && caveats > 0 {
        let reasons = if caveats == 1 { "One reason".to_owned() } else { format!("{caveats} reasons") };
        wrap(&mut out, "", &format!("{reasons} to doubt these numbers: see the end."));
    }
    out
}

/// Formats a table of schemes ranked by the headline metric, if there are more than two schemes.
fn ranked(out: &mut String, comparison: &Comparison) {
    let Some(ranking) = Ranking::of(comparison).filter(|_| comparison.policies.len() > 2) else { return };
    let name =
        |&at: &usize| format!("{}{}", comparison.policies[at], if at == 0 { " (baseline)" } else { "" });
    let names: Vec<String> = ranking.order.iter().map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let columns: Vec<Column> = ranking
        .columns
        .iter()
        .enumerate()
        .map(|(column, row)| {
            let cell = |&policy: &usize| {
                let sign = ranking.standing(column, policy).map_or("", Standing::sign);
                format!("{} {}", estimate_text(&row.metric, &row.cells[policy]), pad(sign, 1))
            };
            (
                broken(&format!("{}: {}", row.metric.group, row.metric.title())),
                ranking.order.iter().map(cell).collect(),
            )
        })
        .collect();
    columns_text(out, &names, &columns);
    let signs = if comparison.seeds.len() > 1 {
        "Ranked by the first column. ● best mean; ○ not told apart from it (paired interval includes zero)."
    } else {
        "Ranked by the first column. ● best in this seed; ○ equal."
    };
    wrap(out, "", signs);
}

/// Formats the headline metrics as rows, with a column per policy.
fn side_by_side(out: &mut String, comparison: &Comparison) {
    let rows: Vec<_> = comparison.metrics.iter().filter(|row| row.metric.headline).collect();
    let label_width = rows.iter().map(|row| width(&row.metric.title()) + 2).max().unwrap_or(0).min(60);
    // Each policy has a table column with a header, means and changes.
    let columns: Vec<Vec<[String; 2]>> = (0..comparison.policies.len())
        .map(|policy| {
            rows.iter()
                .map(|row| [estimate_text(&row.metric, &row.cells[policy]), change_text(&row.cells[policy])])
                .collect()
        })
        .collect();
    let header = |at: usize| match (at, comparison.policies.len()) {
        (0, 2..) => format!("{} (baseline)", comparison.policies[0]),
        _ => comparison.policies[at].clone(),
    };
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(at, cells)| {
            cells.iter().flatten().map(|text| width(text)).chain([width(&header(at))]).max().unwrap_or(0)
        })
        .collect();
    explain(out, comparison);
    for block in blocks(&widths, label_width, line_width()) {
        out.push('\n');
        out.push_str(&" ".repeat(label_width));
        for &at in &block {
            let _ = write!(out, "  {}", pad(&header(at), widths[at]));
        }
        end_line(out);
        let mut group = "";
        for (number, row) in rows.iter().enumerate() {
            if row.metric.group != group {
                group = &row.metric.group;
                let _ = writeln!(out, "{group}");
            }
            let mut line = |label: &str, part: usize| {
                let _ = write!(out, "{}", pad(label, label_width));
                for &at in &block {
                    let _ = write!(out, "  {}", pad(&columns[at][number][part], widths[at]));
                }
                end_line(out);
            };
            line(&format!("  {}", row.metric.title()), 0);
            if block.iter().any(|&at| !columns[at][number][1].is_empty()) {
                line("", 1);
            }
        }
    }
}

/// A column of a table: lines of the column header, and the cells below the header.
type Column = (Vec<String>, Vec<String>);

/// Formats the headline metrics that the ranked table lacks, with a row per policy. The columns are
/// in as many blocks as needed. Only the report shows changes.
fn a_line_per_policy(comparison: &Comparison) -> String {
    let mut out = String::new();
    let text = match comparison.seeds.len() {
        1 => "One seed, so without confidence intervals.".to_owned(),
        seeds => format!("Mean over {seeds} seeds ± half of its 95 % confidence interval."),
    };
    wrap(&mut out, "", &format!("{text} The report has the changes against {}.", comparison.baseline()));
    // The ranked table, which is already printed, has the first metrics, and sets the order of the
    // policies.
    let ranking = Ranking::of(comparison);
    let ranked = |row: &&MetricComparison| {
        ranking
            .as_ref()
            .is_some_and(|ranking| ranking.columns.iter().any(|column| column.metric == row.metric))
    };
    let order = ranking
        .as_ref()
        .map_or_else(|| (0..comparison.policies.len()).collect(), |known| known.order.clone());
    let names: Vec<&str> = order.iter().map(|&at| comparison.policies[at].as_str()).collect();
    let columns: Vec<Column> = comparison
        .metrics
        .iter()
        .filter(|row| row.metric.headline && !ranked(row))
        .map(|row| {
            let title = format!("{}: {}", row.metric.group, row.metric.title());
            (broken(&title), order.iter().map(|&at| estimate_text(&row.metric, &row.cells[at])).collect())
        })
        .collect();
    columns_text(&mut out, &names, &columns);
    out
}

/// Formats a line per name, in as many blocks of columns as the width needs.
fn columns_text(out: &mut String, names: &[&str], columns: &[Column]) {
    let name_width = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let widths: Vec<usize> = columns
        .iter()
        .map(|(header, cells)| header.iter().chain(cells).map(|text| width(text)).max().unwrap_or(0))
        .collect();
    let mut start = 0;
    while start < columns.len() {
        let mut used = name_width;
        let fits = widths[start..].iter().take_while(|width| {
            used += **width + 2;
            used <= line_width()
        });
        let end = start + fits.count().max(1);
        let block = &columns[start..end];
        let height = block.iter().map(|(header, _)| header.len()).max().unwrap_or(0);
        let empty = String::new();
        out.push('\n');
        for line in 0..height {
            out.push_str(&" ".repeat(name_width));
            for ((header, _), width) in block.iter().zip(&widths[start..end]) {
                // Align the last line of every header with the line above the numbers.
                let above = height - header.len();
                let text = line.checked_sub(above).map_or(&empty, |line| &header[line]);
                let _ = write!(out, "  {}", pad_left(text, *width));
            }
            end_line(out);
        }
        for (at, name) in names.iter().enumerate() {
            out.push_str(&pad(name, name_width));
            for ((_, cells), width) in block.iter().zip(&widths[start..end]) {
                let _ = write!(out, "  {}", pad_left(&cells[at], *width));
            }
            end_line(out);
        }
        start = end;
    }
}

/// Breaks a text into lines of at most [`HEADER_WIDTH`], unless a single word is longer.
fn broken(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= HEADER_WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Formats caveats as a list of lines; empty without caveats.
#[must_use]
pub fn caveats_text(caveats: &[Caveat]) -> String {
    noted_text(&caveats.iter().map(|caveat| (caveat.record(), String::new())).collect::<Vec<_>>())
}

/// Formats caveats as a list of lines; empty without caveats. Each caveat names the affected grid
/// points, unless all points are affected.
#[must_use]
pub fn noted_text(noted: &[(CaveatRecord, String)]) -> String {
    let mut out = String::new();
    if !noted.is_empty() {
        out.push_str("\nBefore you trust these numbers:\n");
    }
    for (caveat, place) in noted {
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        wrap(&mut out, "  - ", &format!("{place}{} {}", caveat.message, caveat.advice));
    }
    out
}

fn explain(out: &mut String, comparison: &Comparison) {
    let seeds = comparison.seeds.len();
    let text = match (comparison.policies.len(), seeds) {
        (1, 1) => "One run.".to_owned(),
        (1, _) => format!("Mean over {seeds} seeds ± half of its 95 % confidence interval."),
        (_, 1) => format!(
            "One seed, so without confidence intervals; second line: change against {}.",
            comparison.baseline()
        ),
        _ => format!(
            "Mean over {seeds} seeds ± half of its 95 % confidence interval; second line: change against {}, paired \
             by seed, with the distances to the ends of its interval in percentage points; * the interval leaves out zero.",
            comparison.baseline()
        ),
    };
    wrap(out, "", &text);
}

/// Returns columns that fit side by side; the baseline is the first column of every block.
fn blocks(widths: &[usize], label_width: usize, line_width: usize) -> Vec<Vec<usize>> {
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut used = usize::MAX;
    for (at, width) in widths.iter().enumerate() {
        if used.saturating_add(width + 2) > line_width {
            // A block that continues the table repeats the baseline, if the table has one.
            let lead: Vec<usize> = if at == 0 { Vec::new() } else { vec![0] };
            used = label_width + lead.iter().map(|&lead| widths[lead] + 2).sum::<usize>();
            blocks.push(lead);
        }
        used += width + 2;
        blocks.last_mut().expect("a block was opened").push(at);
    }
    blocks
}

/// Number of characters of a text, which equals its columns for all printed text.
fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(width(text))))
}

fn pad_left(text: &str, to: usize) -> String {
    format!("{}{text}", " ".repeat(to.saturating_sub(width(text))))
}

/// Removes the blanks at the end of the line and appends a line break.
fn end_line(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
}

/// Writes `text` in lines of the terminal's width. The first line begins with `lead`, and the
/// width of `lead` indents the other lines.
pub(crate) fn wrap(out: &mut String, lead: &str, text: &str) {
    let indent = " ".repeat(width(lead));
    for (index, line) in wrapped(text, line_width().saturating_sub(width(lead))).iter().enumerate() {
        let _ = writeln!(out, "{}{line}", if index == 0 { lead } else { &indent });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_tables_continue_in_blocks_led_by_the_baseline() {
        assert_eq!(blocks(&[10, 10, 10], 40, WIDTH_MAX), [vec![0, 1, 2]]);
        assert_eq!(blocks(&[30, 30, 30, 30], 40, WIDTH_MAX), [vec![0, 1], vec![0, 2], vec![0, 3]]);
        assert_eq!(blocks(&[10], 40, WIDTH_MAX), [vec![0]]);
        assert_eq!(blocks(&[10, 10, 10], 40, 70), [vec![0, 1], vec![0, 2]]);
    }

    #[test]
    fn headers_of_narrow_columns_are_broken_between_words() {
        assert_eq!(broken("burst: bursts without loss [%]"), ["burst:", "bursts", "without", "loss [%]"]);
        assert_eq!(broken("a b c d e f g"), ["a b c d e f", "g"]);
    }

    #[test]
    fn long_sentences_are_wrapped_and_indented() {
        let mut out = String::new();
        wrap(&mut out, "  - ", &"word ".repeat(40));
        assert_eq!(out.lines().count(), 2);
        assert!(out.lines().all(|line| width(line) <= WIDTH_MAX));
        assert!(out.lines().nth(1).unwrap().starts_with("    word"));
    }
}
