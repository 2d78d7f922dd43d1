//! Recorded ablations: scenario keys on which a paper's text, public code and figures disagree.
//!
//! `claims/why.csv` has the rows of every recorded [`Ablation`]. `claims/readings.csv` has a row
//! per scenario key: the sentence of the paper and the behaviour of the paper's public code.

use crate::judge::is_known;
use crate::output::write_whole;
use crate::reasons::without_criteria;
use crate::table::{Cells, CsvRow, TableError, rows, to_csv};
use crate::{Ablation, Claim, Ledger, Record, ReproduceError, Trial, Verdict};
use bufferlab_report::Estimate;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const READINGS: &str = include_str!("../../../claims/readings.csv");

/// A scenario key that a paper's text and its public code set differently, with a quote of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyQuote {
    /// Last parts of a dotted scenario key, such as `policy.congestion`.
    pub key: String,
    /// Sentence of the paper about the scenario key, with its place in the paper.
    pub paper: String,
    /// Description of how the paper's public code treats the scenario key.
    pub artifact: String,
}

/// Returns the quotes of paper and public code for every recorded scenario key.
///
/// # Errors
/// If the embedded table is damaged.
pub fn key_quotes() -> Result<Vec<KeyQuote>, ReproduceError> {
    Ok(rows("claims/readings.csv", READINGS)?)
}

/// Returns the quotes of the recorded scenario key that is the longest suffix of `key`.
#[must_use]
pub(crate) fn quote_of<'a>(key: &str, known: &'a [KeyQuote]) -> Option<&'a KeyQuote> {
    let is_end = |one: &&KeyQuote| {
        key.strip_suffix(one.key.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    known.iter().filter(is_end).max_by_key(|one| one.key.len())
}

/// A line of `claims/why.csv`: the verdict on a statement when some scenario keys are changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AblationRow {
    /// Number of the statement, such as `ABM-F6c-1`.
    pub id: String,
    /// Name of the second interpretation of the paper: `artifact`, or the keys that the user gave.
    pub against: String,
    /// Names of the changed keys, joined by `and`. The column is empty for the settings of the
    /// paper's text, and has `everything` for the second interpretation.
    pub changes: String,
    /// Values of the changed scenario keys according to the paper's text.
    pub from: String,
    /// Values of the changed scenario keys in the second interpretation of the paper.
    pub to: String,
    /// Verdict on the statement when the scenario has the changed keys.
    pub verdict: Verdict,
    /// Effect of the statement in the runs with the changed keys, as text.
    pub measured: String,
    /// Share of the difference between two interpretations of the paper that the changed keys
    /// explain (%). The share is empty if both interpretations have equal effects.
    pub share: String,
    /// Half-width of the share's 95 % interval (%); empty if the share has no interval.
    pub share_half_width: String,
    /// Number of seeds for each variant and combination of axis values.
    pub seeds: u64,
    /// Git commit of the program that recorded the row.
    pub commit: String,
    /// Date of the recorded verdict: year, month, day.
    pub date: String,
}

/// Value of the column `changes` in a row with all changed keys.
const EVERYTHING: &str = "everything";

impl AblationRow {
    /// Reads the rows of a table of ablations (`why.csv`).
    ///
    /// # Errors
    /// If the text is not a valid `why.csv`.
    pub fn read_all(file: &Path, text: &str) -> Result<Vec<Self>, ReproduceError> {
        Ok(rows(&file.display().to_string(), text)?)
    }

    fn part(&self) -> Option<f64> {
        self.share.parse().ok()
    }

    /// Estimate of the share, if it has an interval.
    fn estimate(&self) -> Option<Estimate> {
        let half_width = Some(self.share_half_width.parse().ok()?);
        Some(Estimate { seeds: self.seeds, mean: self.part()?, half_width })
    }

    /// Formats the share in percent, with its interval if it has one.
    fn share_in_words(&self) -> String {
        match (self.share.as_str(), self.share_half_width.as_str()) {
            ("", _) => String::new(),
            (share, "") => format!("{share} %"),
            (share, half) => format!("{share} % ± {half} %"),
        }
    }

    /// Whether the changed keys explain a smaller share of the difference than [`SHARE_MIN`]. The
    /// page of ablations only counts these rows.
    fn is_small(&self) -> bool {
        let is_change = !self.changes.is_empty() && self.changes != EVERYTHING;
        is_change && self.part().is_some_and(|part| part.abs() < SHARE_MIN)
    }
}

impl CsvRow for KeyQuote {
    const COLUMNS: &'static [&'static str] = &["key", "paper", "artifact"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self { key: cells.text("key"), paper: cells.text("paper"), artifact: cells.text("artifact") })
    }
}

impl CsvRow for AblationRow {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "against",
        "changes",
        "from",
        "to",
        "verdict",
        "measured",
        "share",
        "share_half_width",
        "seeds",
        "commit",
        "date",
    ];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self {
            id: cells.text("id"),
            against: cells.text("against"),
            changes: cells.text("changes"),
            from: cells.text("from"),
            to: cells.text("to"),
            verdict: cells.verdict("verdict")?,
            measured: cells.text("measured"),
            share: cells.text("share"),
            share_half_width: cells.text("share_half_width"),
            seeds: cells.count("seeds")?,
            commit: cells.text("commit"),
            date: cells.text("date"),
        })
    }
}

impl Ablation {
    /// Returns the rows of an ablation's table: first the row for the paper's text, last the row
    /// for the second interpretation.
    fn rows(&self, against: &str, date: &str) -> Vec<AblationRow> {
        let percent =
            |part: Option<f64>| part.map_or_else(String::new, |part| format!("{:.0}", part * 100.0));
        let row = |changes: String, (from, to): (String, String), trial: &Trial| AblationRow {
            id: self.claim.id.clone(),
            against: against.to_owned(),
            changes,
            from,
            to,
            verdict: trial.judged.verdict,
            measured: trial.judged.measured(),
            share: percent(trial.share.map(|share| share.mean)),
            share_half_width: percent(trial.share.and_then(|share| share.half_width)),
            seeds: self.seeds,
            commit: bufferlab_lab::commit().unwrap_or("unknown").to_owned(),
            date: date.to_owned(),
        };
        let none = || (String::new(), String::new());
        let mut rows = vec![row(String::new(), none(), &self.base)];
        rows.extend(self.trials.iter().map(|trial| {
            let (keys, from, to) = self.keys_and_values(trial);
            row(keys.join(" and "), (from, to), trial)
        }));
        rows.push(row(EVERYTHING.to_owned(), none(), &self.other));
        rows
    }
}

/// Records ablations in a `why.csv`. Rows of other statements or of other second interpretations
/// stay.
///
/// # Errors
/// If the table cannot be read or written.
pub fn record_ablations(
    table: &Path,
    found: &[Ablation],
    against: &str,
    date: &str,
) -> Result<(), ReproduceError> {
    let mut rows = match std::fs::read_to_string(table) {
        Ok(text) => AblationRow::read_all(table, &text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(ReproduceError::io("read", table)(error)),
    };
    for ablation in found {
        rows.retain(|row| (row.id.as_str(), row.against.as_str()) != (&ablation.claim.id, against));
        rows.extend(ablation.rows(against, date));
    }
    // The sort is stable, so the rows of a statement stay ordered by effect, the largest effect
    // first.
    rows.sort_by(|a, b| (&a.id, &a.against).cmp(&(&b.id, &b.against)));
    write_whole(table, to_csv("why.csv", rows.iter())?)
}

/// Returns the statements whose recorded verdicts at quick scale differ between the settings of the
/// paper's text and of its public code.
#[must_use]
pub fn disagreements(ledger: &Ledger) -> Vec<String> {
    let of = |records: &[Record], is_paper: bool| {
        let found = records.iter().find(|record| record.scale == "quick" && record.is_of_paper() == is_paper);
        found.map(|record| record.verdict)
    };
    let differ = |records: &[Record]| matches!((of(records, true), of(records, false)), (Some(paper), Some(artifact)) if paper != artifact);
    ledger.rows.iter().filter(|row| differ(&row.records)).map(|row| row.claim.id.clone()).collect()
}

/// Formats the page of recorded ablations. First is a table with the main result per statement,
/// then a section per statement with all trials of changed keys. The quotes of paper and public
/// code on these keys follow.
#[must_use]
pub fn ablations_markdown(rows: &[AblationRow], ledger: &Ledger, said: &[KeyQuote]) -> String {
    let mut groups: BTreeMap<(&str, &str), Vec<&AblationRow>> = BTreeMap::new();
    for row in rows {
        groups.entry((&row.id, &row.against)).or_default().push(row);
    }
    let mut text = String::from(
        "| statement | paper's reading | other reading | what carries it | share |\n|---|---|---|---|--:|\n",
    );
    for ((id, against), rows) in &groups {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { continue };
        let most = carrying(rows);
        let cells = [
            format!("[{id}](#{})", anchor(id, against)),
            first.verdict.to_string(),
            last.verdict.to_string(),
            most.map_or_else(|| format!("`--seeds {}` cannot tell", first.seeds), |row| keys(&row.changes)),
            most.map_or_else(String::new, AblationRow::share_in_words),
        ];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    for ((id, against), rows) in &groups {
        text.push_str(&section((id, against), rows, ledger.claim(id)));
    }
    text.push_str("\n## What either side says\n\n| key | the paper | the public code |\n|---|---|---|\n");
    for one in said {
        let _ = writeln!(text, "| `{}` | {} | {} |", one.key, cell(&one.paper), cell(&one.artifact));
    }
    text
}

/// Smallest share (%) for which the page of ablations has a row for a changed key.
const SHARE_MIN: f64 = 20.0;

/// Returns the row whose changed keys have the largest effect, among the rows whose share is known
/// to a quarter of its size. Of rows with equal effects, the row with the fewest changed keys is
/// returned.
fn carrying<'a>(rows: &[&'a AblationRow]) -> Option<&'a AblationRow> {
    let changed = rows.iter().filter(|row| !row.changes.is_empty() && row.changes != EVERYTHING);
    changed.copied().filter(|row| row.estimate().as_ref().is_some_and(is_known)).max_by(|a, b| {
        let size = |row: &AblationRow| row.part().unwrap_or(0.0);
        let keys = |row: &AblationRow| row.changes.matches(" and ").count();
        size(a).total_cmp(&size(b)).then(keys(b).cmp(&keys(a)))
    })
}

/// Formats the section of a statement on the page of ablations.
fn section((id, against): (&str, &str), rows: &[&AblationRow], claim: Option<&Claim>) -> String {
    let mut text = format!("\n## {}\n\n", heading(id, against));
    if let (Some(claim), Some(row)) = (claim, rows.first()) {
        let _ = writeln!(
            text,
            "| statement of the paper | place | seeds | date | commit |\n|---|---|--:|---|---|\n\
             | {} | {} | {} | {} | `{}` |",
            cell(&claim.statement()),
            claim.figure_table_section,
            row.seeds,
            row.date,
            row.commit
        );
    }
    text.push_str("\n| what differs | from | to | verdict | measured | share |\n|---|---|---|---|---|--:|\n");
    let (small, shown): (Vec<&AblationRow>, Vec<_>) = rows.iter().partition(|row| row.is_small());
    for row in shown {
        let what = match row.changes.as_str() {
            "" => "nothing: the paper's reading".to_owned(),
            EVERYTHING => "everything: the other reading".to_owned(),
            changes => keys(changes),
        };
        let _ = writeln!(
            text,
            "| {what} | {} | {} | {} | {} | {} |",
            cell(&row.from),
            cell(&row.to),
            row.verdict,
            cell(&without_criteria(&row.measured)),
            row.share_in_words()
        );
    }
    if !small.is_empty() {
        let _ = writeln!(
            text,
            "\nOther changes ({}) cause less than {SHARE_MIN} % of the difference each.",
            small.len()
        );
    }
    text
}

fn heading(id: &str, against: &str) -> String {
    if against == "artifact" { id.to_owned() } else { format!("{id}, against {against}") }
}

/// Anchor of a statement's heading in Markdown, as GitHub generates anchors.
fn anchor(id: &str, against: &str) -> String {
    let kept = heading(id, against).to_lowercase();
    let kept = kept.chars().filter_map(|sign| match sign {
        ' ' => Some('-'),
        '-' | '_' => Some(sign),
        sign if sign.is_alphanumeric() => Some(sign),
        _ => None,
    });
    kept.collect()
}

fn keys(changes: &str) -> String {
    changes.split(" and ").map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
