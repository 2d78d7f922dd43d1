//! Tables of results as Markdown and LaTeX, for documents and papers.

use crate::compare::MetricComparison;
use crate::curves::PageTable;
use crate::figures::{Labels, labelled};
use crate::finding::headlines;
use crate::load::Report;
use crate::ranking::Ranking;
use crate::terminal::{POLICIES_SIDE_BY_SIDE, estimate_text};
use std::fmt::Write;

/// Notation of a table in a document: Markdown or LaTeX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// A Markdown table with pipes, as GitHub and pandoc read it.
    Markdown,
    /// A LaTeX `tabular` with the rules of `booktabs`.
    Latex,
}

impl PageTable {
    /// Formats the table in the given notation. The first `left` columns are names, the other
    /// columns numbers.
    #[must_use]
    pub fn document(&self, format: TableFormat, left: usize) -> String {
        match format {
            TableFormat::Markdown => self.markdown(left),
            TableFormat::Latex => self.latex(left),
        }
    }

    fn markdown(&self, left: usize) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: String = (0..self.header.len()).map(|at| if at < left { "|---" } else { "|--:" }).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}{rule}|\n{rows}", line(&self.header))
    }

    fn latex(&self, left: usize) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
            format!("  {} \\\\\n", cells.join(" & "))
        };
        let columns: String = (0..self.header.len()).map(|at| if at < left { 'l' } else { 'r' }).collect();
        let mut text = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(text, "% {}", self.title.replace('\n', " "));
        }
        let _ =
            write!(text, "\\begin{{tabular}}{{{columns}}}\n  \\toprule\n{}  \\midrule\n", line(&self.header));
        text.extend(self.rows.iter().map(|row| line(row)));
        text + "  \\bottomrule\n\\end{tabular}\n"
    }
}

/// Returns a text with the special characters of LaTeX removed, and with its signs as commands.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(character);
            }
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '\\' => out.push_str("\\textbackslash{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '±' => out.push_str("$\\pm$ "),
            '−' => out.push_str("$-$"),
            '≤' => out.push_str("$\\le$"),
            '≥' => out.push_str("$\\ge$"),
            '×' => out.push_str("$\\times$"),
            'µ' | 'μ' => out.push_str("$\\mu$"),
            '–' => out.push_str("--"),
            other => out.push(other),
        }
    }
    out
}

impl Report {
    /// Formats means and 95 % confidence intervals as a table for a document. The table has a
    /// column per policy, or a row per policy if there are many policies. `metrics` are names of
    /// metrics. If `metrics` is empty, the table has the headline metrics. With many policies, the
    /// table has the metrics that rank policies instead. `labels` rename policies. `Err` has the
    /// name of an unknown metric.
    ///
    /// # Errors
    /// If a metric is unknown.
    pub fn document_table<'a>(
        &self,
        format: TableFormat,
        metrics: &'a [String],
        labels: &Labels,
    ) -> Result<String, &'a str> {
        let comparison = &self.comparison;
        let (count, shown) = (comparison.policies.len(), self.shown_labels());
        let is_wide = count <= POLICIES_SIDE_BY_SIDE;
        let ranking = Ranking::of(comparison);
        let rows: Vec<&MetricComparison> = match (metrics, &ranking) {
            ([], Some(ranking)) if !is_wide => ranking.columns.clone(),
            ([], _) => headlines(comparison),
            (names, _) => {
                names.iter().map(|id| comparison.metric(id).ok_or(id.as_str())).collect::<Result<_, _>>()?
            }
        };
        let name = |at: usize| {
            let whole = comparison.policies[at].as_str();
            let text = labelled(labels, whole);
            if text == whole { labelled(labels, &shown[at]) } else { text }.to_owned()
        };
        let title = |row: &MetricComparison| format!("{}: {}", row.metric.group, row.metric.title());
        let cell = |row: &MetricComparison, at: usize| estimate_text(&row.metric, &row.cells[at]);
        let order = match ranking {
            Some(ranking) if !is_wide => ranking.order,
            _ => (0..count).collect(),
        };
        let (mut header, mut lines) = (Vec::new(), Vec::new());
        if is_wide {
            header.push("Metric".to_owned());
            header.extend(order.iter().map(|at| name(*at)));
            for row in rows {
                let cells = order.iter().map(|at| cell(row, *at));
                lines.push(std::iter::once(title(row)).chain(cells).collect());
            }
        } else {
            header.push("Policy".to_owned());
            header.extend(rows.iter().map(|row| title(row)));
            for at in order {
                let cells = rows.iter().map(|row| cell(row, at));
                lines.push(std::iter::once(name(at)).chain(cells).collect());
            }
        }
        Ok(PageTable { title: String::new(), header, rows: lines }.document(format, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> PageTable {
        let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        PageTable {
            title: "QCT".to_owned(),
            header: texts(&["switch.buffer", "dt|x"]),
            rows: vec![texts(&["50_KB & more", "3.83 ±0.21"]), texts(&["< 100 %", "–"])],
        }
    }

    #[test]
    fn markdown_aligns_numbers_and_keeps_pipes() {
        let wanted =
            "| switch.buffer | dt\\|x |\n|---|--:|\n| 50_KB & more | 3.83 ±0.21 |\n| < 100 % | – |\n";
        assert_eq!(table().document(TableFormat::Markdown, 1), wanted);
    }

    #[test]
    fn latex_escapes_what_has_a_meaning() {
        let text = table().document(TableFormat::Latex, 1);
        assert!(
            text.starts_with("% QCT\n\\begin{tabular}{lr}\n  \\toprule\n  switch.buffer & dt|x \\\\\n"),
            "{text}"
        );
        assert!(text.contains("50\\_KB \\& more & 3.83 $\\pm$ 0.21 \\\\"), "{text}");
        assert!(
            text.contains("$<$ 100 \\% & -- \\\\") && text.ends_with("\\bottomrule\n\\end{tabular}\n"),
            "{text}"
        );
    }
}
