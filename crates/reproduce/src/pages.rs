//! A page per paper for readers new to bufferlab: claims of the paper, statements that held or
//! failed, reasons, sentences to correct, and commands to repeat the runs.

use crate::figures::name_of;
use crate::reasons::result;
use crate::table::{Cells, CsvRow, rows};
use crate::{Cost, Evidence, Ledger, LedgerRow, ReproduceError, Standing, TableError, UniverseRow, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;

const PAPERS: &str = include_str!("../../../claims/papers.csv");
/// Largest number of confirmed statements that a paper's page quotes.
const QUOTED: usize = 5;

/// A line of `claims/papers.csv`.
struct Paper {
    /// Name of the paper in the ids of experiments, such as abm.
    name: String,
    /// Claims of the paper, in a few sentences.
    claims: String,
    /// Settings of bufferlab on which the results of the paper depend.
    setting: String,
}

impl CsvRow for Paper {
    const COLUMNS: &'static [&'static str] = &["paper", "claims", "setting"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self { name: cells.text("paper"), claims: cells.text("claims"), setting: cells.text("setting") })
    }
}

/// Formats the page of a paper of the ledger in Markdown, from the title on. `errata` is the text
/// of `docs/evidence/errata.md`.
///
/// # Errors
/// If the table of papers is damaged or lacks the paper.
pub fn paper_page(
    paper: &str,
    ledger: &Ledger,
    costs: &[Cost],
    errata: &str,
) -> Result<String, ReproduceError> {
    let name = name_of(paper);
    let known = rows::<Paper>("claims/papers.csv", PAPERS)?.into_iter().find(|one| one.name == name);
    let about = known.ok_or_else(|| TableError {
        file: "claims/papers.csv".to_owned(),
        line: 1,
        column: Some("paper".to_owned()),
        why: format!("there is no {name}"),
    })?;
    let of_paper: Vec<&LedgerRow> = ledger.rows.iter().filter(|row| row.claim.paper == paper).collect();
    let parts = [
        format!("{}\n", about.claims),
        format!("## What held\n\n{}", held(&of_paper)),
        format!("## What did not hold, and why\n\n{}", not_held(&of_paper)),
        under_readings(&of_paper),
        format!("## Sentences to correct\n\n{}", corrections(paper, errata)),
        format!("## How to repeat it\n\n{}\n\n{}", about.setting, commands(&name, &of_paper, costs)),
    ];
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// Kinds of evidence for a verdict, the strictest kind first.
const KINDS: [&str; 4] = ["algebra", "packets through one switch", "simulation in tests", "recorded runs"];

/// Index of the kind of evidence for a statement's verdict; `None` without evidence.
fn kind(row: &LedgerRow) -> Option<usize> {
    match row.evidence() {
        Evidence::Test(test) if test.test.starts_with("crates/theory/") => Some(0),
        Evidence::Test(test) if test.test.starts_with("crates/sim/") => Some(2),
        Evidence::Test(_) => Some(1),
        Evidence::Runs(_) => Some(3),
        Evidence::None => None,
    }
}

/// Whether the verdict of a row has no valid evidence, so that the row waits for a run.
fn waits(row: &LedgerRow) -> bool {
    matches!(row.evidence().verdict(), Verdict::Void | Verdict::NotRun)
}

/// Formats the counts of statements by kind of evidence, then the statements that runs confirm.
fn held(of_paper: &[&LedgerRow]) -> String {
    let is_judged = |row: &&&LedgerRow| !waits(row) && row.evidence().verdict() != Verdict::NotCheckable;
    let judged: Vec<_> = of_paper.iter().filter(is_judged).collect();
    let holds = judged.iter().filter(|row| row.evidence().verdict().holds()).count();
    let corrected = judged.iter().filter(|row| row.evidence().verdict() == Verdict::Corrected).count();
    let mut text = format!(
        "{holds} of {} judged statements hold as printed, {corrected} hold as corrected, {} wait for a run.\n\n",
        judged.len(),
        of_paper.iter().filter(|row| waits(row)).count()
    );
    text.push_str(
        "| evidence | statements | hold | corrected | do not hold | undecided |\n|---|---|---|---|---|---|\n",
    );
    for (place, name) in KINDS.iter().enumerate() {
        let of_kind: Vec<Verdict> = judged
            .iter()
            .filter(|row| kind(row) == Some(place))
            .map(|row| row.evidence().verdict())
            .collect();
        if of_kind.is_empty() {
            continue;
        }
        let count = |is: &dyn Fn(Verdict) -> bool| of_kind.iter().filter(|verdict| is(**verdict)).count();
        let open = |verdict| verdict == Verdict::Inconclusive;
        let corrected = |verdict| verdict == Verdict::Corrected;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} |",
            of_kind.len(),
            count(&Verdict::holds),
            count(&corrected),
            count(&|verdict| !verdict.holds() && !corrected(verdict) && !open(verdict)),
            count(&open)
        );
    }
    text.push_str(&quoted(&judged));
    text
}

/// Formats the statements that runs confirm; statements confirmed at the paper's size are first.
fn quoted(judged: &[&&LedgerRow]) -> String {
    let mut best: Vec<_> = judged
        .iter()
        .filter(|row| row.evidence().verdict().holds() && kind(row) == Some(3))
        .map(|row| (row.evidence().verdict(), **row))
        .collect();
    best.sort_by_key(|(verdict, _)| *verdict);
    let more = best.len().saturating_sub(QUOTED);
    let mut text = String::new();
    for (verdict, row) in best.iter().take(QUOTED) {
        let claim = &row.claim;
        let what = format!("{}, {}", claim.scheme_and_baseline, claim.metric);
        let cells = [
            format!("{verdict} {} ({}): {what}", claim.id, claim.figure_table_section),
            claim.paper_value.clone(),
            result(row),
        ];
        text.push_str(&line_of(&cells));
    }
    let head = "| statement | paper | here |\n|---|---|---|";
    match (text.is_empty(), more) {
        (true, _) => text,
        (false, 0) => format!("\nRuns confirm these statements:\n\n{head}\n{text}"),
        (false, more) => format!("\nRuns confirm these statements and {more} others:\n\n{head}\n{text}"),
    }
}

/// Formats the statements that do not hold with their reasons, then the numbers of undecided
/// statements.
fn not_held(of_paper: &[&LedgerRow]) -> String {
    let mut text = String::new();
    let against = |row: &&&LedgerRow| {
        let verdict = row.evidence().verdict();
        verdict.needs_reason() && verdict != Verdict::Inconclusive
    };
    let mut sorted: Vec<_> = of_paper.iter().filter(against).collect();
    sorted.sort_by_key(|row| std::cmp::Reverse(row.evidence().verdict()));
    if !sorted.is_empty() {
        text.push_str("| statement | paper | here | why (owner) |\n|---|---|---|---|\n");
    }
    for row in sorted {
        let claim = &row.claim;
        let what = format!("{}, {}", claim.scheme_and_baseline, claim.metric);
        let why = row.reason().map_or_else(String::new, |one| format!("{} ({})", one.why, one.owner));
        let cells = [
            format!("{} {}: {what}", row.evidence().verdict(), claim.id),
            claim.paper_value.clone(),
            result(row),
            why,
        ];
        text.push_str(&line_of(&cells));
    }
    let mut others = String::new();
    for verdict in [Verdict::Inconclusive, Verdict::NotCheckable, Verdict::NotRun, Verdict::Void] {
        let ids: Vec<_> = of_paper
            .iter()
            .filter(|row| row.evidence().verdict() == verdict)
            .map(|row| row.claim.id.as_str())
            .collect();
        if !ids.is_empty() {
            others.push_str(&line_of(&[verdict.to_string(), ids.join(", ")]));
        }
    }
    if !others.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}| verdict | statements |\n|---|---|\n{others}"));
    }
    text
}

/// Formats how verdicts depend on the settings that the paper leaves open. Empty if no such verdict
/// is recorded.
fn under_readings(of_paper: &[&LedgerRow]) -> String {
    let judged: Vec<_> = of_paper.iter().filter(|row| !row.readings.is_empty()).collect();
    let seeds = judged.iter().flat_map(|row| &row.readings).map(|row| row.seeds);
    let (Some(least), Some(most)) = (seeds.clone().min(), seeds.max()) else { return String::new() };
    let seeds = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let (mut always, mut never) = (0, 0);
    let (mut open, mut changing) = (Vec::new(), Vec::new());
    for row in &judged {
        let has = |standing| row.readings.iter().any(|one| one.verdict.standing() == standing);
        match (has(Standing::Holds), has(Standing::Against), has(Standing::Open)) {
            (true, true, _) => changing.push(row),
            (true, false, true) => open.push(row.claim.id.as_str()),
            (true, false, false) => always += 1,
            (false, ..) => never += 1,
        }
    }
    let mut text = format!(
        "## Under other readings\n\n{} statements were judged under each setting that the paper leaves open, one setting at a time and in pairs named before, with {seeds} seeds ([all verdicts](../../../claims/multiverse.csv); few seeds leave some open). {always} hold in all readings, {never} in none.",
        judged.len(),
    );
    if !open.is_empty() {
        let _ = write!(
            text,
            " {} hold in some readings and are open in the others: {}.",
            open.len(),
            open.join(", ")
        );
    }
    text.push('\n');
    if !changing.is_empty() {
        text.push_str(
            "\n| the setting decides | holds in | headline reading | decided otherwise |\n|---|---|---|---|\n",
        );
    }
    for row in changing {
        let [held, headline, otherwise] = UniverseRow::differences(&row.readings);
        text.push_str(&line_of(&[row.claim.id.clone(), held, headline, otherwise]));
    }
    text
}

/// Formats a line of a Markdown table.
fn line_of(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Formats the errata of a paper: place in the paper, title and link.
fn corrections(paper: &str, errata: &str) -> String {
    let section = paper.split(' ').next().unwrap_or(paper);
    let of_paper = errata.split("\n## ").find(|part| part.starts_with(&format!("{section}\n")));
    let mut text = String::new();
    for entry in of_paper.unwrap_or_default().split("\n### ").skip(1) {
        let title = entry.lines().next().unwrap_or_default();
        let Some((id, about)) = title.split_once(": ") else { continue };
        let printed = entry.split_once("*Printed* (").and_then(|(_, rest)| rest.split_once(')'));
        let place = printed.map_or_else(String::new, |(place, _)| one_line(place));
        let link = format!("[{id}](../errata.md#{})", anchor(title));
        text.push_str(&line_of(&[link, place, about.to_owned()]));
    }
    let head = "| erratum | place in the paper | subject |\n|---|---|---|\n";
    if text.is_empty() { text } else { format!("{head}{text}") }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the anchor of a Markdown heading, as GitHub generates anchors.
fn anchor(title: &str) -> String {
    let kept = title.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Formats the commands that repeat a paper's runs, with their cost and the paths of the data.
fn commands(name: &str, of_paper: &[&LedgerRow], costs: &[Cost]) -> String {
    let mut by_profile: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    let is_of = |cost: &&Cost| cost.scale == "quick" && cost.experiment.starts_with(&format!("{name}/"));
    for cost in costs.iter().filter(is_of) {
        let sum = by_profile.entry(cost.profile.as_str()).or_default();
        *sum = (sum.0 + cost.runs, sum.1 + cost.cpu_seconds);
    }
    let (runs, seconds) = by_profile.get("paper").copied().unwrap_or_default();
    let of_run = of_paper.iter().find(|row| kind(row) == Some(3) && !waits(row));
    let of_test = of_paper.iter().find(|row| kind(row) == Some(0));
    let mut text = String::from("```console\n");
    for (row, what) in [(of_run, "one statement"), (of_test, "the algebra of one statement")] {
        if let Some(row) = row {
            let command = format!("bufferlab reproduce {}", row.claim.id);
            let _ = writeln!(text, "$ {command:<48} # {what}");
        }
    }
    let command = format!("bufferlab reproduce {name}");
    let _ = writeln!(text, "$ {command:<48} # all figures: {runs} runs, {:.0} CPU minutes", seconds / 60.0);
    let command = format!("bufferlab reproduce {name} --values recorded");
    let _ = writeln!(text, "$ {command:<48} # recorded charts and effects\n```\n");
    let _ = writeln!(
        text,
        "[`{name}.csv`]({name}.csv) has every statement with its evidence, and the verdicts of other scales and readings. [`figures.csv`](figures.csv) has every figure. [How verdicts are formed](../reproduction.md#verdicts)."
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errata_are_named_by_place_and_title() {
        let errata = "# Errata\n\n## ABM\n\n### E-ABM-1: the minimum α needs\n\n*Printed* (Theorem 1,\nsection 3): x\n\n### E-ABM-2: a proof\n\nx\n\n## TDT\n\n### E-TDT-1: y\n";
        assert_eq!(
            corrections("ABM (SIGCOMM 2022)", errata),
            "| erratum | place in the paper | subject |\n|---|---|---|\n\
             | [E-ABM-1](../errata.md#e-abm-1-the-minimum-α-needs) | Theorem 1, section 3 | the minimum α needs |\n\
             | [E-ABM-2](../errata.md#e-abm-2-a-proof) |  | a proof |\n"
        );
    }
}
