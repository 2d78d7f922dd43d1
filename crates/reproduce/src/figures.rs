//! The papers' figures and tables (`claims/figures.csv`), and the experiments and tests that cover
//! these figures.

use crate::table::{Cells, CsvRow, rows};
use crate::{Experiment, Ledger, LedgerRow, ReproduceError, TableError};
use std::fmt::Write;

const FIGURES: &str = include_str!("../../../claims/figures.csv");

/// A figure, table or algorithm of a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperFigure {
    /// Name of the paper in the ids of experiments, such as `abm`.
    pub paper: String,
    /// Name of the figure in the paper: `Fig. 6`, `Table 1` or `Alg. 1`.
    pub figure: String,
    /// Content of the paper's figure or table in one line.
    pub shows: String,
    /// Reason why the figure has nothing to reproduce; otherwise empty.
    pub conceptual: String,
}

impl CsvRow for PaperFigure {
    const COLUMNS: &'static [&'static str] = &["paper", "figure", "shows", "conceptual"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self {
            paper: cells.text("paper"),
            figure: cells.text("figure"),
            shows: cells.text("shows"),
            conceptual: cells.text("conceptual"),
        })
    }
}

/// Kind of a numbered part of a paper: figure, table or algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FigureKind {
    /// A figure with a number, such as `Fig. 6`.
    Figure,
    /// A table with a number, such as `Table 1`.
    Table,
    /// An algorithm with a number, such as `Alg. 1`.
    Algorithm,
}

/// A reference to a figure, table or algorithm: `Fig. 12a` is panel a of Fig. 12.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FigureRef {
    /// Whether the reference is to a table of the paper.
    pub kind: FigureKind,
    /// Number of the figure or table in the paper.
    pub number: u32,
    /// Letter of the figure's panel; `None` for the whole figure.
    pub letter: Option<char>,
}

impl FigureRef {
    /// Name of the figure without the panel, as in [`PaperFigure::figure`].
    #[must_use]
    pub fn full_label(&self) -> String {
        let kind = match self.kind {
            FigureKind::Figure => "Fig.",
            FigureKind::Table => "Table",
            FigureKind::Algorithm => "Alg.",
        };
        format!("{kind} {}", self.number)
    }

    /// Whether two references name one figure. A reference to a figure also matches a reference to
    /// a panel of this figure.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let letters = self.letter.is_none() || other.letter.is_none() || self.letter == other.letter;
        (self.kind, self.number) == (other.kind, other.number) && letters
    }
}

/// Returns the figures and tables of the papers.
///
/// # Errors
/// If the table is damaged.
pub fn paper_figures() -> Result<Vec<PaperFigure>, ReproduceError> {
    Ok(rows("claims/figures.csv", FIGURES)?)
}

/// Finds the figures, tables and algorithms that a text names: `Figs. 10b,10e`, `§8, Fig. 11`,
/// `Fig. 9d vs 9a`.
#[must_use]
pub fn places(text: &str) -> Vec<FigureRef> {
    let (mut found, mut kind): (Vec<FigureRef>, _) = (Vec::new(), None);
    for word in text.split([' ', ',', ';', '/']).filter(|word| !word.is_empty()) {
        match word {
            "Fig." | "Figs." => kind = Some(FigureKind::Figure),
            "Table" | "Tables" => kind = Some(FigureKind::Table),
            "Alg." => kind = Some(FigureKind::Algorithm),
            "and" | "vs" | "to" => {}
            _ => match (kind, numbered(word), found.last()) {
                (Some(kind), Some((number, letters)), _) => {
                    let place = |letter| FigureRef { kind, number, letter };
                    if letters.is_empty() {
                        found.push(place(None));
                    }
                    found.extend(letters.into_iter().map(|letter| place(Some(letter))));
                }
                // A letter without a number belongs to the preceding figure: `Fig. 16a,c`.
                (Some(_), None, Some(last)) if word.len() == 1 => {
                    let letter = word.chars().next();
                    found.push(FigureRef { letter, ..last.clone() });
                }
                _ => kind = None,
            },
        }
    }
    found
}

/// Parses a figure's number with optional letters: `12` has none, `9b-c` has the letters b and c.
fn numbered(word: &str) -> Option<(u32, Vec<char>)> {
    let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    let number = word[..end].parse().ok()?;
    match word[end..].chars().collect::<Vec<_>>()[..] {
        [] => Some((number, Vec::new())),
        [letter] if letter.is_ascii_lowercase() => Some((number, vec![letter])),
        [first, '-', last] if first.is_ascii_lowercase() => Some((number, (first..=last).collect())),
        _ => None,
    }
}

/// Returns a paper's name in experiments from its name in the ledger: `abm` for
/// `ABM (SIGCOMM 2022)`.
#[must_use]
pub fn name_of(paper: &str) -> String {
    paper.split(' ').next().unwrap_or_default().to_lowercase()
}

/// Whether the paper of a ledger row has the name `name` in the ids of experiments.
fn is_of(row: &LedgerRow, name: &str) -> bool {
    name_of(&row.claim.paper) == name
}

/// Returns the ledger rows whose statements are about one of the figures in `shown`.
pub fn statements<'a>(ledger: &'a Ledger, paper: &str, shown: &[FigureRef]) -> Vec<&'a LedgerRow> {
    let about = |row: &&LedgerRow| {
        let named = places(&row.claim.figure_table_section);
        is_of(row, paper) && named.iter().any(|place| shown.iter().any(|other| other.meets(place)))
    };
    ledger.rows.iter().filter(about).collect()
}

/// Formats a Markdown table of every figure and table of a paper (`abm`), with the experiment that
/// shows each figure or table.
///
/// # Errors
/// If the table of figures is damaged.
pub fn figures_csv(experiments: &[Experiment], ledger: &Ledger) -> Result<String, ReproduceError> {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = String::from("paper,figure,shows,experiments,conceptual,statements,judged_by_tests\n");
    for figure in paper_figures()? {
        let names: Vec<_> = showing(experiments, &figure).map(|one| one.id.as_str()).collect();
        let rows = statements(ledger, &figure.paper, &places(&figure.figure));
        let tests = rows.iter().filter(|row| row.test.is_some()).count();
        let (shows, conceptual) = (quoted(&figure.shows), quoted(&figure.conceptual));
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{shows},{},{conceptual},{},{tests}",
            figure.paper,
            figure.figure,
            names.join(" "),
            rows.len()
        );
    }
    Ok(text)
}

/// Returns the experiments that show a figure or some of its panels.
pub fn showing<'a>(
    experiments: &'a [Experiment],
    figure: &'a PaperFigure,
) -> impl Iterator<Item = &'a Experiment> {
    experiments.iter().filter(move |one| {
        let of_paper = one.paper() == figure.paper;
        of_paper && places(&one.figure).iter().any(|place| place.full_label() == figure.figure)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> String {
        let word = |place: FigureRef| {
            format!(
                "{}{}",
                place.full_label(),
                place.letter.map_or_else(String::new, |letter| letter.to_string())
            )
        };
        places(text).into_iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_name_figures_in_many_ways() {
        assert_eq!(labels("Fig. 6a, abstract"), "Fig. 6a");
        assert_eq!(labels("Figs. 10b,10e"), "Fig. 10b Fig. 10e");
        assert_eq!(labels("Fig. 16a,c"), "Fig. 16a Fig. 16c");
        assert_eq!(labels("Figs. 9b-c"), "Fig. 9b Fig. 9c");
        assert_eq!(labels("Fig. 9d vs 9a"), "Fig. 9d Fig. 9a");
        assert_eq!(labels("§8 (case study), Fig. 11"), "Fig. 11");
        assert_eq!(labels("Table 1"), "Table 1");
        assert_eq!(labels("Fig. 9c, §I"), "Fig. 9c");
        assert_eq!(labels("Fig. 4 top"), "Fig. 4");
        assert_eq!(labels("Alg. 1 l.6-10"), "Alg. 1");
        assert_eq!(labels("Eqs. 33-34,44-45"), "");
    }

    #[test]
    fn a_panel_meets_its_figure_and_no_other_panel() {
        let place = |text: &str| places(text).remove(0);
        assert!(place("Fig. 12").meets(&place("Fig. 12a")));
        assert!(!place("Fig. 12b").meets(&place("Fig. 12a")));
        assert!(!place("Table 1").meets(&place("Fig. 1")));
    }
}
