//! Judges statements under every interpretation of a paper. Every setting that a paper leaves open
//! is changed alone, and compared with the headline interpretation under equal arrivals.
//!
//! `claims/open-readings.csv` has the settings, their values and the sentences that leave the
//! settings open. The table was written from all statements before any of its runs started. The
//! cache stores the runs, so a repeated command resumes.

use crate::expression::compile;
use crate::judge::{contrast, shown as in_units};
use crate::output::write_whole;
use crate::plan::check_runs;
use crate::table::{Cells, CsvRow, rows, to_csv};
use crate::why::{deciding, of_settings, only_asked, shown, with};
use crate::{
    ClaimCheck, Experiment, Judged, Plan, ReproduceError, ScaleName, Standing, TableError, Verdict, judge,
    run,
};
use bufferlab_core::Profile;
use bufferlab_lab::{Execution, Watcher};
use bufferlab_report::Estimate;
use bufferlab_scenario::Setting;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const OPEN: &str = include_str!("../../../claims/open-readings.csv");
/// Separator in a table cell between the values of a setting, between experiments, and between
/// statements.
const SEPARATOR: &str = " | ";
/// Separator between the values of a setting's keys, if each key has its own value.
const PAIRED: &str = " & ";

/// Name of the interpretation that decides the verdict on a statement.
const HEADLINE: &str = "the headline reading";

/// A setting whose value a paper does not state.
#[derive(Clone, Debug)]
pub struct OpenReading {
    /// Names of the experiments whose results the setting may change.
    pub experiments: Vec<String>,
    /// Ids of the statements that the setting affects; empty for all statements of the experiments.
    pub rows: Vec<String>,
    /// Variants that the setting affects; empty for all variants that accept the setting's keys.
    pub variants: Vec<String>,
    /// Keys of the scenario that the setting covers; each alternative gives all these keys one
    /// value, or one value to each key (`10 & 4`), which is a pair of settings.
    pub keys: Vec<String>,
    /// Alternative values for the open setting; each list sets every key of the setting once.
    pub values: Vec<Vec<Setting>>,
    /// Value of the setting in the most literal reading, which decides the verdict.
    pub headline: String,
    /// Sentence of the paper that leaves the setting open, or a note that no sentence exists.
    pub sentence: String,
}

impl OpenReading {
    /// Whether the setting affects a statement of an experiment.
    #[must_use]
    pub fn affects(&self, experiment: &Experiment, claim: &ClaimCheck) -> bool {
        self.experiments.contains(&experiment.id) && (self.rows.is_empty() || self.rows.contains(&claim.id))
    }
}

impl CsvRow for OpenReading {
    const COLUMNS: &'static [&'static str] =
        &["experiments", "rows", "variants", "keys", "values", "headline", "sentence"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        let list = |column: &str| -> Vec<String> {
            let text = cells.text(column);
            text.split(SEPARATOR).filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let keys = list("keys");
        let value = |text: &String| {
            let own: Vec<&str> = text.split(PAIRED).collect();
            let text_of = |index: usize| if own.len() == keys.len() { own[index] } else { text.as_str() };
            let settings = keys.iter().enumerate().map(|(index, key)| Setting::of_text(key, text_of(index)));
            settings
                .collect::<Result<Vec<_>, _>>()
                .map_err(|why| cells.wrong("values", format!("\"{text}\" is not a TOML value: {why}")))
        };
        let values = list("values").iter().map(value).collect::<Result<Vec<_>, _>>()?;
        if values.is_empty() {
            return Err(cells.wrong("values", "expected a value, found nothing".to_owned()));
        }
        Ok(Self {
            experiments: list("experiments"),
            rows: list("rows"),
            variants: list("variants"),
            values,
            headline: cells.text("headline"),
            sentence: cells.text("sentence"),
            keys,
        })
    }
}

/// Returns the settings that the papers leave open.
///
/// # Errors
/// If the embedded table is damaged.
pub fn open_readings() -> Result<Vec<OpenReading>, ReproduceError> {
    Ok(rows("claims/open-readings.csv", OPEN)?)
}

/// A statement of a paper, judged under one other interpretation of an open setting.
#[derive(Clone, Debug)]
pub struct OtherReading {
    /// Changed settings: one setting, or a pair.
    pub settings: Vec<Setting>,
    /// Verdict on the statement under the changed settings.
    pub judged: Judged,
    /// Effect under the changed settings less the effect of the headline interpretation, of the
    /// condition that decides, with its 95 % interval. `None` if an effect has no value.
    pub change: Option<Estimate>,
}

/// A statement of a paper, judged under every interpretation of the open settings.
#[derive(Clone, Debug)]
pub struct Universe {
    /// Verdict on the statement under the headline interpretation of the paper.
    pub headline: Judged,
    /// Verdicts on the statement under changed settings.
    pub readings: Vec<OtherReading>,
    /// Whether the effect of the statement is a part, which is shown in percent.
    pub percent: bool,
    /// Number of seeds for each variant and combination of axis values.
    pub seeds: u64,
}

impl Universe {
    /// Describes the verdicts: `X-1 holds in 7 of 8 readings; FAIL with gamma = 0.99`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let headline = std::iter::once((HEADLINE.to_owned(), self.headline.verdict));
        let all: Vec<(String, Verdict)> = headline
            .chain(self.readings.iter().map(|other| (told(&other.settings), other.judged.verdict)))
            .collect();
        format!("{} {}", self.headline.id, in_words(all.iter().map(|(reading, verdict)| (reading, *verdict))))
    }

    /// Formats a sentence about the settings that decide whether the statement holds.
    #[must_use]
    pub fn answer(&self) -> String {
        let text = format!("{}: {} in the headline reading", self.headline.id, self.headline.verdict);
        let standing = self.headline.verdict.standing();
        let deciding: Vec<_> = self
            .readings
            .iter()
            .filter(|other| other.judged.verdict.standing() != standing)
            .map(|other| {
                let shows =
                    |change: &Estimate| change.half_width.is_some_and(|half| half < change.mean.abs());
                let known = match &other.change {
                    Some(change) if shows(change) => String::new(),
                    _ => format!("; --seeds {} does not show that the effect changes", self.seeds),
                };
                format!(
                    "{} with {} (change of the effect: {}{known})",
                    other.judged.verdict,
                    told(&other.settings),
                    self.change_in_words(other)
                )
            })
            .collect();
        if deciding.is_empty() {
            return format!("{text}, and no other reading changes whether it holds");
        }
        format!("{text}; {}", deciding.join(", "))
    }

    fn change_in_words(&self, other: &OtherReading) -> String {
        other.change.as_ref().map_or_else(|| "no value".to_owned(), |change| in_units(self.percent, change))
    }

    /// Formats the verdicts as a Markdown table; the first row has the headline interpretation.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text =
            String::from("| reading | verdict | measured | change of the effect |\n|---|---|---|---|\n");
        let mut line = |reading: &str, judged: &Judged, change: String| {
            let cells = [reading.to_owned(), judged.verdict.to_string(), judged.measured(), change];
            text.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
        };
        line(HEADLINE, &self.headline, String::new());
        for other in &self.readings {
            line(&format!("`{}`", told(&other.settings)), &other.judged, self.change_in_words(other));
        }
        text
    }

    /// Returns the statement's rows for the table of verdicts under open settings.
    #[must_use]
    pub fn rows(&self, scale: ScaleName, date: &str) -> Vec<UniverseRow> {
        let row = |reading: String, judged: &Judged| UniverseRow {
            id: judged.id.clone(),
            reading,
            verdict: judged.verdict,
            measured: judged.measured(),
            seeds: self.seeds,
            scale: scale.name().to_owned(),
            commit: bufferlab_lab::commit().unwrap_or("unknown").to_owned(),
            date: date.to_owned(),
        };
        let others = self.readings.iter().map(|other| row(told(&other.settings), &other.judged));
        std::iter::once(row(HEADLINE.to_owned(), &self.headline)).chain(others).collect()
    }
}

/// Describes verdicts under several readings: `holds in 7 of 8 readings; FAIL with …`.
fn in_words<'a>(all: impl Iterator<Item = (&'a String, Verdict)> + Clone) -> String {
    let held = all.clone().filter(|(_, verdict)| verdict.holds()).count();
    let mut text = format!("holds in {held} of {} readings", all.clone().count());
    for verdict in Verdict::ALL.into_iter().filter(|verdict| !verdict.holds()) {
        text.push_str(&under(verdict, all.clone()));
    }
    text
}

/// Describes the readings with `verdict`: `; FAIL with gamma = 0.99 or 0.9999 or alpha = 1`. Empty
/// if no reading has the verdict.
fn under<'a>(verdict: Verdict, all: impl Iterator<Item = (&'a String, Verdict)>) -> String {
    let (mut text, mut last_key) = (String::new(), None);
    for (reading, _) in all.filter(|(_, one)| *one == verdict) {
        // A pair of settings has two values, and is named as a whole.
        let setting = reading.split_once(" = ").filter(|(_, value)| !value.contains(" = "));
        let key = setting.map(|(key, _)| key);
        let named = setting.filter(|_| key == last_key).map_or(reading.as_str(), |(_, value)| value);
        text.push_str(if text.is_empty() { "" } else { " or " });
        text.push_str(named);
        last_key = key;
    }
    if text.is_empty() { text } else { format!("; {verdict} with {text}") }
}

/// Formats settings: `key and key = value` if all have the value, and `key = value and key = value`
/// otherwise.
fn told(settings: &[Setting]) -> String {
    let values: Vec<_> = settings.iter().map(|setting| shown(&setting.item.value)).collect();
    let keys = settings.iter().map(|setting| setting.key.as_str());
    match values.first() {
        Some(first) if values.iter().all(|value| value == first) => {
            format!("{} = {first}", keys.collect::<Vec<_>>().join(" and "))
        }
        _ => {
            let pairs = keys.zip(&values).map(|(key, value)| format!("{key} = {value}"));
            pairs.collect::<Vec<_>>().join(" and ")
        }
    }
}

/// A row of the table with verdicts under open settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UniverseRow {
    /// Number of the statement, such as `ABM-F6c-1`.
    pub id: String,
    /// Text of the changed setting, or the name of the headline interpretation.
    pub reading: String,
    /// Verdict on the statement under the changed setting of this row.
    pub verdict: Verdict,
    /// Effect measured under the changed setting of this row, as text.
    pub measured: String,
    /// Number of seeds for each variant and combination of axis values.
    pub seeds: u64,
    /// Scale of the runs: quick or paper.
    pub scale: String,
    /// Git commit of the program that executed the runs.
    pub commit: String,
    /// Date of the recorded verdict: year, month, day.
    pub date: String,
}

impl CsvRow for UniverseRow {
    const COLUMNS: &'static [&'static str] =
        &["id", "reading", "verdict", "measured", "seeds", "scale", "commit", "date"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self {
            id: cells.text("id"),
            reading: cells.text("reading"),
            verdict: cells.verdict("verdict")?,
            measured: cells.text("measured"),
            seeds: cells.count("seeds")?,
            scale: cells.text("scale"),
            commit: cells.text("commit"),
            date: cells.text("date"),
        })
    }
}

impl UniverseRow {
    /// Describes the recorded verdicts on one statement, like [`Universe::sentence`] without its
    /// number.
    pub(crate) fn sentence(rows: &[Self]) -> String {
        in_words(rows.iter().map(|row| (&row.reading, row.verdict)))
    }

    /// Describes how the recorded verdicts on one statement depend on the reading, in three texts:
    /// in how many readings the statement holds, the headline's verdict, and the readings that
    /// decide otherwise, such as `7 of 8`, `PASS` and `FAIL with gamma = 0.99`. If the headline
    /// leaves the statement open, the readings are only counted.
    pub(crate) fn differences(rows: &[Self]) -> [String; 3] {
        let held = rows.iter().filter(|row| row.verdict.holds()).count();
        let headline = rows.iter().find(|row| row.reading == HEADLINE).map(|row| row.verdict);
        let decides = |verdict: &Verdict| {
            let standing = verdict.standing();
            let is_decided = matches!(standing, Standing::Holds | Standing::Against);
            is_decided && headline.is_none_or(|headline| headline.standing() != standing)
        };
        let is_open = headline.is_none_or(|headline| headline.standing() == Standing::Open);
        let told = |verdict: Verdict| {
            let readings = rows.iter().filter(|row| row.verdict == verdict);
            match readings.clone().count() {
                0 => String::new(),
                count if is_open => format!("; {verdict} in {count}"),
                _ => under(verdict, readings.map(|row| (&row.reading, row.verdict))),
            }
        };
        let otherwise: String = Verdict::ALL.into_iter().filter(decides).map(told).collect();
        [
            format!("{held} of {}", rows.len()),
            headline.map(|verdict| verdict.to_string()).unwrap_or_default(),
            otherwise.trim_start_matches("; ").to_owned(),
        ]
    }
}

/// Records the verdicts under open settings in a table. Rows of other statements stay.
///
/// # Errors
/// If the table cannot be read or written.
pub fn record_universes(
    table: &Path,
    found: &[Universe],
    (scale, date): (ScaleName, &str),
) -> Result<(), ReproduceError> {
    let mut known = match std::fs::read_to_string(table) {
        Ok(text) => rows::<UniverseRow>(&table.display().to_string(), &text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(ReproduceError::io("read", table)(error)),
    };
    for universe in found {
        known.retain(|row| row.id != universe.headline.id || row.scale != scale.name());
        known.extend(universe.rows(scale, date));
    }
    known.sort_by(|a, b| a.id.cmp(&b.id));
    write_whole(table, to_csv("multiverse.csv", known.iter())?)
}

/// Judges every statement of an experiment under the headline interpretation and under each open
/// setting. Statements without an open setting are skipped.
///
/// # Errors
/// If the experiment lacks the scale, or the folder cannot be written.
pub fn multiverse<W: Watcher>(
    experiment: &Experiment,
    open: &[OpenReading],
    (scale, seeds): (ScaleName, Option<u32>),
    (folder, how): (&Path, &Execution),
    board: impl FnOnce(usize) -> W,
) -> Result<Vec<Universe>, ReproduceError> {
    check_runs(experiment, scale, seeds)?;
    let plan = Plan::new(experiment, scale, seeds).ok_or(ReproduceError::NoScale(scale.name()))?;
    let plan = plan.under(Profile::Paper);
    let seeds = plan.points.iter().map(|point| point.seed).collect::<BTreeSet<_>>().len() as u64;
    let (readings, claims) = readings_of(experiment, open);
    if readings.is_empty() {
        return Ok(Vec::new());
    }
    let mut plans = vec![asked_by(&plan, &claims)];
    for affected in &readings {
        plans.push(affected.plan(&asked_by(&plan, &affected.claims)));
    }
    let (results, _) = run(plans, folder, how, board)?;
    let judged =
        |claim: &ClaimCheck, place: usize| Judged { beside: Vec::new(), ..judge(claim, &results[place]) };
    let universe = |claim: &&ClaimCheck| {
        let headline = judged(claim, 0);
        let other = |(place, affected): (usize, &Affected<'_>)| {
            let judged = judged(claim, place);
            let condition = claim.conditions.get(deciding(&headline, &judged));
            let runs = [&results[0], &results[place]];
            let change = condition.and_then(|one| contrast(one, runs, |[before, after]| after - before));
            OtherReading { settings: affected.settings.clone(), judged, change }
        };
        let affected =
            (1..).zip(&readings).filter(|(_, affected)| affected.claims.iter().any(|one| one.id == claim.id));
        let readings = affected.map(other).collect();
        let percent = claim.conditions.first().is_some_and(|condition| condition.percent);
        Universe { headline, readings, percent, seeds }
    };
    Ok(claims.iter().map(universe).collect())
}

/// Changed settings, with the variants and statements of the experiment that these settings affect.
struct Affected<'a> {
    settings: Vec<Setting>,
    /// Affected variants; empty for all variants that accept the changed keys.
    variants: Vec<String>,
    claims: Vec<&'a ClaimCheck>,
}

impl Affected<'_> {
    /// Returns the plan with the changed settings, without the runs that do not accept these
    /// settings.
    fn plan(&self, plan: &Plan) -> Plan {
        let named = |variant: usize| {
            let name = plan.experiment.runs().map(|runs| &runs.variants[variant].name);
            self.variants.is_empty() || name.is_some_and(|name| self.variants.contains(name))
        };
        let mut changes = of_settings(plan, &self.settings);
        for change in &mut changes {
            change.settings.retain(|(variant, _), _| named(*variant));
        }
        let all: Vec<usize> = (0..changes.len()).collect();
        with(plan, &changes, &all)
    }
}

/// Returns the open settings of an experiment with the statements that each setting affects, and
/// all affected statements.
fn readings_of<'a>(
    experiment: &'a Experiment,
    open: &[OpenReading],
) -> (Vec<Affected<'a>>, Vec<&'a ClaimCheck>) {
    let judges = |claim: &&ClaimCheck| {
        !claim.conditions.is_empty() && claim.conditions.iter().all(|one| compile(&one.effect).is_ok())
    };
    let (mut readings, mut all) = (Vec::new(), BTreeMap::new());
    for reading in open {
        let affected = |claim: &&ClaimCheck| reading.affects(experiment, claim) && judges(claim);
        let claims: Vec<&ClaimCheck> = experiment.claims().iter().filter(affected).collect();
        if claims.is_empty() {
            continue;
        }
        all.extend(claims.iter().map(|claim| (claim.id.as_str(), *claim)));
        readings.extend(reading.values.iter().map(|value| Affected {
            settings: value.clone(),
            variants: reading.variants.clone(),
            claims: claims.clone(),
        }));
    }
    (readings, all.into_values().collect())
}

/// Restricts a plan to the runs that some of the statements need.
fn asked_by(plan: &Plan, claims: &[&ClaimCheck]) -> Plan {
    let asked: BTreeSet<_> = claims.iter().flat_map(|claim| only_asked(plan.clone(), claim).points).collect();
    let points = plan.points.iter().filter(|point| asked.contains(point)).cloned().collect();
    Plan { points, ..plan.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_counts_the_headline_and_names_what_fails() {
        let judged = |verdict| Judged {
            id: "X-1".to_owned(),
            verdict,
            conditions: Vec::new(),
            beside: Vec::new(),
            note: None,
        };
        let setting = |value: &str| vec![Setting::of_text("switch.policy.gamma", value).expect("a value")];
        let other = |value: &str, verdict, half_width| OtherReading {
            settings: setting(value),
            judged: judged(verdict),
            change: Some(Estimate { seeds: 2, mean: -0.5, half_width: Some(half_width) }),
        };
        let readings = vec![other("0.99", Verdict::Fail, 0.1), other("0.9999", Verdict::Strong, 0.2)];
        let universe = Universe { headline: judged(Verdict::Pass), readings, percent: true, seeds: 2 };
        let answer = "X-1: PASS in the headline reading; FAIL with switch.policy.gamma = 0.99 (change of the effect: -50 % ± 10 %";
        assert_eq!(universe.answer(), format!("{answer})"));
        let mut open = universe.clone();
        open.readings[0].change = Some(Estimate { seeds: 2, mean: -0.5, half_width: Some(0.6) });
        assert_eq!(
            open.answer(),
            format!("{answer}; --seeds 2 does not show that the effect changes)").replace("± 10 %", "± 60 %")
        );
        open.readings.remove(0);
        assert_eq!(
            open.answer(),
            "X-1: PASS in the headline reading, and no other reading changes whether it holds"
        );
        assert_eq!(universe.markdown().lines().count(), 2 + 1 + 2);
        assert_eq!(universe.sentence(), "X-1 holds in 2 of 3 readings; FAIL with switch.policy.gamma = 0.99");
        let rows = universe.rows(ScaleName::Quick, "2026-01-01");
        assert_eq!((rows.len(), rows[0].reading.as_str()), (3, HEADLINE));
        assert_eq!(rows[1].reading, "switch.policy.gamma = 0.99");
        let differences = UniverseRow::differences(&rows);
        assert_eq!(differences, ["2 of 3", "PASS", "FAIL with switch.policy.gamma = 0.99"]);
    }

    #[test]
    fn a_reading_without_values_or_with_a_wrong_one_is_refused() {
        let header = "experiments,rows,variants,keys,values,headline,sentence\n";
        let read = |line: &str| rows::<OpenReading>("t", &format!("{header}{line}\n")).map(|rows| rows.len());
        assert_eq!(read("a/b | a/c,,,k,0.1 | 0.2,0.3,x"), Ok(1));
        assert!(read("a/b,,,k,,0.3,x").is_err());
    }

    #[test]
    fn a_pair_gives_each_key_its_own_value() {
        let header = "experiments,rows,variants,keys,values,headline,sentence\n";
        let line = "a/b,,,k | l,10 & 4.5 | 3,x,x";
        let read = rows::<OpenReading>("t", &format!("{header}{line}\n")).expect("a row");
        let values: Vec<String> = read[0].values.iter().map(|value| told(value)).collect();
        assert_eq!(values, ["k = 10 and l = 4.5", "k and l = 3"]);
    }
}
