//! Ablations: which difference between two interpretations explains a statement's verdict? Each
//! difference is tried alone and with equal arrivals, then in pairs.
//!
//! The settings of the paper's text are the base of an ablation. The second interpretation is split
//! into single changes. Changes are the keys whose values `profile = "artifact"` changes (a
//! policy's `filter`, a transport's recovery) and the entries of the experiment's `[artifact.set]`.
//! A caller can give other keys instead. If a paper has no public code, [`crate::multiverse()`]
//! tries the settings that the paper leaves open. Each change is applied alone to all variants, and
//! the statement is judged again. If no single change explains half of the difference between the
//! interpretations, the four changes with the largest effects are tried in pairs.

use crate::ablations::{KeyQuote, quote_of};
use crate::judge::{contrast, is_known};
use crate::plan::check_runs;
use crate::rows::queries;
use crate::{
    ClaimCheck, Experiment, Judged, Overrides, Plan, Point, ReproduceError, Results, ScaleName, judge, run,
};
use bufferlab_core::Profile;
use bufferlab_document::tree::{Item, Value, parse};
use bufferlab_lab::{Execution, Watcher};
use bufferlab_report::Estimate;
use bufferlab_scenario::Setting;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Number of single changed keys that are also tried in pairs.
const PAIRED: usize = 4;
/// Smallest share of the difference between two interpretations that counts as an explanation.
const CARRIES: f64 = 0.5;

/// A scenario key whose value differs between two interpretations of a paper.
#[derive(Clone, Debug)]
pub struct Change {
    /// Scenario key whose value differs, such as `switch.policy.filter`, even if the difference
    /// affects only some switches.
    pub key: String,
    /// Values of the key according to the paper's text and in the second interpretation, as TOML.
    /// The values are from the first run in which they differ.
    pub values: (String, String),
    /// Overrides of scenario keys that make the change, by variant and axis values.
    pub(crate) settings: BTreeMap<(usize, Vec<usize>), Overrides>,
}

/// A trial of an ablation: the verdict on a statement with some changed keys.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Indices of the changed keys: none for the paper's text, all for the second interpretation.
    pub changes: Vec<usize>,
    /// Verdict and measured result with the changed keys of the trial.
    pub judged: Judged,
    /// Share of the difference between the two interpretations that the changed keys of the trial
    /// explain, measured by the effect of the deciding condition, with its 95 % interval.
    pub share: Option<Estimate>,
}

impl Trial {
    /// Mean of the share; 0 if the share has no value.
    fn size(&self) -> f64 {
        self.share.map_or(0.0, |share| share.mean)
    }

    /// Whether the interval of the share is at most a quarter of the share.
    fn is_known(&self) -> bool {
        self.share.is_some_and(|share| is_known(&share))
    }
}

/// Explanation why the verdicts under two interpretations of a paper differ.
#[derive(Clone, Debug)]
pub struct Ablation {
    /// Statement of the paper whose verdict the ablation explains.
    pub claim: ClaimCheck,
    /// Changed keys between the two interpretations of the experiment.
    pub changes: Vec<Change>,
    /// Verdict without changed keys: the settings of the paper's text.
    pub base: Trial,
    /// Verdict with all changed keys: the second interpretation of the paper.
    pub other: Trial,
    /// Number of seeds for each variant and combination of axis values.
    pub seeds: u64,
    /// Trials of single changed keys, ordered by share, the largest share first, then trials of
    /// pairs.
    pub trials: Vec<Trial>,
}

/// Explains the difference between the verdict under the paper's text and under a second
/// interpretation. The second interpretation is the paper's public code, or the keys and values in
/// `given`.
///
/// # Errors
/// If the experiment lacks the scale or a second interpretation, or the folder cannot be written.
pub fn why<W: Watcher>(
    (experiment, claim): (&Experiment, &ClaimCheck),
    given: &[Setting],
    (scale, seeds): (ScaleName, Option<u32>),
    (folder, how): (&Path, &Execution),
    mut board: impl FnMut(usize) -> W,
) -> Result<Ablation, ReproduceError> {
    check_runs(experiment, scale, seeds)?;
    let plan = Plan::new(experiment, scale, seeds).ok_or(ReproduceError::NoScale(scale.name()))?;
    let plan = plan.under(Profile::Paper);
    let mut trial = |plans: Vec<Plan>| -> Result<Vec<(Judged, Results)>, ReproduceError> {
        let (results, _) = run(plans, folder, how, &mut board)?;
        // Effects under alternative interpretations need variants that an ablation does not run.
        let judged = |result: &Results| Judged { beside: Vec::new(), ..judge(claim, result) };
        Ok(results.into_iter().map(|result| (judged(&result), result)).collect())
    };
    let plan = only_asked(plan, claim);
    let changes = if given.is_empty() { of_artifact(&plan)? } else { of_settings(&plan, given) };
    let all: Vec<usize> = (0..changes.len()).collect();
    let other =
        if given.is_empty() { plan.clone().under(Profile::Artifact) } else { with(&plan, &changes, &all) };
    let mut plans = vec![plan.clone(), other];
    plans.extend(all.iter().map(|change| with(&plan, &changes, &[*change])));
    let mut judged = trial(plans)?.into_iter();
    let (Some(base), Some(other)) = (judged.next(), judged.next()) else {
        return Err(ReproduceError::NoReading);
    };
    let condition = claim.conditions.get(deciding(&base.0, &other.0));
    let made = |changes: Vec<usize>, (judged, results): (Judged, Results)| {
        let runs = [&base.1, &other.1, &results];
        let share = |[from, to, here]: [f64; 3]| (here - from) / (to - from);
        Trial { changes, judged, share: condition.and_then(|one| contrast(one, runs, share)) }
    };
    let mut trials: Vec<Trial> =
        all.iter().zip(judged).map(|(change, judged)| made(vec![*change], judged)).collect();
    trials.sort_by(|a, b| b.size().total_cmp(&a.size()));
    if trials.first().is_none_or(|most| most.size() < CARRIES) {
        let most: Vec<usize> = trials.iter().take(PAIRED).flat_map(|trial| trial.changes.clone()).collect();
        let pairs: Vec<Vec<usize>> = (0..most.len())
            .flat_map(|a| (a + 1..most.len()).map(move |b| (a, b)))
            .map(|(a, b)| vec![most[a], most[b]])
            .collect();
        let plans = pairs.iter().map(|pair| with(&plan, &changes, pair)).collect();
        let mut paired: Vec<Trial> =
            pairs.into_iter().zip(trial(plans)?).map(|(pair, judged)| made(pair, judged)).collect();
        paired.sort_by(|a, b| b.size().total_cmp(&a.size()));
        trials.extend(paired);
    }
    let exact = |mean| Some(Estimate { seeds: base.1.seeds(), mean, half_width: None });
    let none = Trial { changes: Vec::new(), judged: base.0.clone(), share: exact(0.0) };
    let whole = Trial { changes: all, judged: other.0.clone(), share: exact(1.0) };
    let seeds = plan.points.iter().map(|point| point.seed).collect::<BTreeSet<_>>().len() as u64;
    Ok(Ablation { claim: claim.clone(), changes, base: none, other: whole, seeds, trials })
}

/// Restricts a plan to the runs that a statement needs.
pub(crate) fn only_asked(plan: Plan, claim: &ClaimCheck) -> Plan {
    let Some(runs) = plan.experiment.runs() else { return plan };
    let scripts = claim.conditions.iter().flat_map(|one| std::iter::once(&one.effect).chain(&one.guard));
    let asked: BTreeSet<(String, Vec<String>)> =
        queries(&plan, scripts).into_iter().map(|(_, variant, places)| (variant, places)).collect();
    let label = |point: &Point| -> (String, Vec<String>) {
        let places =
            runs.axes.iter().zip(&point.places).map(|(axis, &place)| axis.values[place].label.clone());
        (runs.variants[point.variant].name.clone(), places.collect())
    };
    let points = plan.points.iter().filter(|point| asked.contains(&label(point))).cloned().collect();
    Plan { points, ..plan }
}

/// Returns the plan with some of the changed keys applied.
pub(crate) fn with(plan: &Plan, changes: &[Change], made: &[usize]) -> Plan {
    let mut extra = plan.extra.clone();
    for change in made {
        for (place, settings) in &changes[*change].settings {
            extra.entry(place.clone()).or_default().extend(settings.iter().cloned());
        }
    }
    Plan { extra, ..plan.clone() }
}

/// Turns the caller's keys into changes, restricted to the runs that accept each key. For example,
/// a policy lacks the parameters of other policies. A key that no run accepts stays in all runs, so
/// that the runs report the mistake.
pub(crate) fn of_settings(plan: &Plan, given: &[Setting]) -> Vec<Change> {
    let first: Vec<&Point> = plan.points.iter().filter(|point| point.seed == 0).collect();
    let place = |point: &&Point| (point.variant, point.places.clone());
    let takes = |point: &&Point, setting: &Setting| {
        let extra = BTreeMap::from([(place(point), vec![setting.clone()])]);
        Plan { extra, ..plan.clone() }.load(point).is_ok()
    };
    let settings = |setting: &Setting| -> BTreeMap<_, _> {
        let all = || first.iter().copied().map(|point| (place(&point), vec![setting.clone()]));
        let fitting: BTreeMap<_, _> = first
            .iter()
            .copied()
            .filter(|point| takes(point, setting))
            .map(|point| (place(&point), vec![setting.clone()]))
            .collect();
        if fitting.is_empty() { all().collect() } else { fitting }
    };
    given
        .iter()
        .map(|setting| Change {
            key: setting.key.clone(),
            values: ("as it is".to_owned(), shown(&setting.item.value)),
            settings: settings(setting),
        })
        .collect()
}

/// Returns the scenario keys whose values the profile of the paper's public code changes.
fn of_artifact(plan: &Plan) -> Result<Vec<Change>, ReproduceError> {
    let runs = plan.experiment.runs().ok_or(ReproduceError::NoReading)?;
    let reading = runs.artifact.as_ref().ok_or(ReproduceError::NoReading)?;
    let mut changes: BTreeMap<String, Change> = BTreeMap::new();
    let mut places = BTreeSet::new();
    for point in plan.points.iter().filter(|point| point.seed == 0) {
        let place = (point.variant, point.places.clone());
        places.insert(place.clone());
        let profile = Setting::new("profile", Value::String(Profile::Artifact.word().to_owned()));
        let switched = Plan { extra: BTreeMap::from([(place.clone(), vec![profile])]), ..plan.clone() };
        let (Ok(paper), Ok(artifact)) = (plan.load(point), switched.load(point)) else { continue };
        let (paper, artifact) = (leaves(&paper.resolved), leaves(&artifact.resolved));
        for (key, value) in artifact.into_iter().filter(|(key, _)| key != "profile") {
            let before = paper.get(&key).map(shown).unwrap_or_else(|| "not set".to_owned());
            if before == shown(&value) {
                continue;
            }
            let name = grouped(&everywhere(&key)).0;
            let change = changes.entry(name.clone()).or_insert_with(|| Change {
                key: name,
                values: (before, shown(&value)),
                settings: BTreeMap::new(),
            });
            change.settings.entry(place.clone()).or_default().push(Setting::new(&key, value));
        }
    }
    let mut changes: Vec<Change> = changes.into_values().collect();
    let mut of_reading: Vec<Change> = Vec::new();
    for setting in &reading.set {
        let (key, part) = grouped(&setting.key);
        let to = match part {
            Some(part) => format!("{part} = {}", shown(&setting.item.value)),
            None => shown(&setting.item.value),
        };
        let known = of_reading.iter().position(|change| change.key == key);
        let change = match known {
            Some(place) => {
                let change = &mut of_reading[place];
                if !change.values.1.split(", ").any(|told| told == to) {
                    change.values.1.push_str(&format!(", {to}"));
                }
                change
            }
            None => {
                let values = ("the paper's".to_owned(), to);
                of_reading.push(Change { key, values, settings: BTreeMap::new() });
                of_reading.last_mut().ok_or(ReproduceError::NoReading)?
            }
        };
        for place in &places {
            change.settings.entry(place.clone()).or_default().push(setting.clone());
        }
    }
    changes.extend(of_reading);
    Ok(changes)
}

/// Groups the keys of an interpretation into changes, each of which is tried alone. Returns the
/// name of the group, and the component of the group that the key belongs to. A key of several
/// transports is a single change. The topology is a single change, because some of its keys make no
/// sense without other keys.
fn grouped(key: &str) -> (String, Option<&str>) {
    if let Some(part) = key.strip_prefix("topology.") {
        return ("topology".to_owned(), Some(part));
    }
    let of_transport = key.strip_prefix("transport.").and_then(|rest| rest.split_once('.'));
    match of_transport {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            (format!("transport.*.{rest}"), None)
        }
        _ => (key.to_owned(), None),
    }
}

/// Turns a scenario key of some switches into the key of all switches:
/// `switch_override.0.policy.filter` becomes `switch.policy.filter`.
fn everywhere(key: &str) -> String {
    let rest = key.strip_prefix("switch_override.").and_then(|rest| rest.split_once('.'));
    rest.map_or_else(|| key.to_owned(), |(_, rest)| format!("switch.{rest}"))
}

/// Flattens a resolved scenario into values by dotted key. The keys number the entries of
/// a list of tables.
pub(crate) fn leaves(resolved: &str) -> BTreeMap<String, Value> {
    fn walk(key: &str, item: Item, into: &mut BTreeMap<String, Value>) {
        let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
        match item.value {
            Value::Table(table) => {
                for entry in table.entries {
                    walk(&below(&entry.key), entry.item, into);
                }
            }
            Value::Array(items) if items.iter().any(|item| matches!(item.value, Value::Table(_))) => {
                for (number, item) in items.into_iter().enumerate() {
                    walk(&below(&number.to_string()), item, into);
                }
            }
            value => {
                into.insert(key.to_owned(), value);
            }
        }
    }
    let mut into = BTreeMap::new();
    if let Ok(root) = parse(0, resolved) {
        walk("", root, &mut into);
    }
    into
}

/// Formats the value of a scenario key as TOML.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => bufferlab_document::resolved::float(*number),
        Value::Boolean(flag) => flag.to_string(),
        Value::Datetime => "a date".to_owned(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(|item| shown(&item.value)).collect::<Vec<_>>().join(", "))
        }
        Value::Table(table) => {
            let entries =
                table.entries.iter().map(|entry| format!("{} = {}", entry.key, shown(&entry.item.value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Index of the deciding condition: the first condition whose verdict differs under the second
/// interpretation, or else the first condition.
pub(crate) fn deciding(base: &Judged, other: &Judged) -> usize {
    let pairs = base.conditions.iter().zip(&other.conditions);
    pairs.enumerate().find(|(_, (a, b))| a.verdict != b.verdict).map_or(0, |(place, _)| place)
}

/// Formats a share in percent, with its interval if it has one.
fn share_in_words(share: &Estimate) -> String {
    match share.half_width {
        Some(half) => format!("{:.0} % ± {:.0} %", share.mean * 100.0, half * 100.0),
        None => format!("{:.0} %", share.mean * 100.0),
    }
}

impl Ablation {
    /// Returns the keys that a trial changes, and their values under the paper's text and the
    /// second interpretation.
    pub(crate) fn keys_and_values(&self, trial: &Trial) -> (Vec<&str>, String, String) {
        let changes = || trial.changes.iter().map(|change| &self.changes[*change]);
        let of = |part: fn(&Change) -> &str| changes().map(part).collect::<Vec<_>>().join(", ");
        (
            changes().map(|change| change.key.as_str()).collect(),
            of(|change| &change.values.0),
            of(|change| &change.values.1),
        )
    }

    /// Formats the trials of changed keys as a Markdown table. The first row has the settings of
    /// the paper's text, the last row the second interpretation.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "| what differs | from | to | verdict | measured | share |\n|---|---|---|---|---|---|\n",
        );
        let mut line = |what: String, from: &str, to: &str, trial: &Trial| {
            let share = trial.share.as_ref().map_or_else(String::new, share_in_words);
            let cells = [
                what,
                from.to_owned(),
                to.to_owned(),
                trial.judged.verdict.to_string(),
                trial.judged.measured(),
                share,
            ];
            text.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
        };
        line("nothing: the paper's reading".to_owned(), "", "", &self.base);
        for trial in &self.trials {
            let (keys, from, to) = self.keys_and_values(trial);
            let what: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
            line(what.join(" and "), &from, &to, trial);
        }
        line("everything: the other reading".to_owned(), "", "", &self.other);
        text
    }

    /// Formats a sentence about the changed keys that explain the verdict. For the most important
    /// keys, the sentence adds the known quotes of paper and public code.
    #[must_use]
    pub fn answer(&self, said: &[KeyQuote]) -> String {
        let id = &self.claim.id;
        let (from, to) = (self.base.judged.verdict, self.other.judged.verdict);
        let readings = format!("{id}: {from} in the paper's reading, {to} in the other");
        let known = self.trials.iter().filter(|trial| trial.is_known());
        let Some(most) =
            known.max_by(|a, b| a.size().total_cmp(&b.size()).then(b.changes.len().cmp(&a.changes.len())))
        else {
            if self.trials.is_empty() {
                return format!("{id}: the readings do not differ");
            }
            return format!(
                "{readings}; --seeds {} cannot tell which change causes the difference: no share is known to a quarter of its size. Repeat with more --seeds",
                self.seeds
            );
        };
        let keys: Vec<_> = most
            .changes
            .iter()
            .map(|change| {
                let change = &self.changes[*change];
                format!("{} ({} -> {})", change.key, change.values.0, change.values.1)
            })
            .collect();
        let carries =
            if most.size() >= CARRIES { "carries it" } else { "does most, and carries it not alone" };
        let share = most.share.as_ref().map_or_else(String::new, share_in_words);
        let mut text = format!("{readings}; {} {carries}: {share} of the difference", keys.join(" and "));
        for change in &most.changes {
            if let Some(said) = quote_of(&self.changes[*change].key, said) {
                text.push_str(&format!(". The paper: {}. The public code: {}", said.paper, said.artifact));
            }
        }
        text
    }
}
