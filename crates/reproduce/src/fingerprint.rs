//! Fingerprints of recorded verdicts. A fingerprint shows whether a record still belongs to the
//! current experiment, scenarios and engine.
//!
//! A fingerprint covers the judged condition, and the metrics and resolved scenarios that the
//! condition reads. A fingerprint also covers the versions of the engine's rules that these
//! scenarios use (`claims/behaviours.csv`). The version of a rule changes only if results change,
//! so refactoring keeps every fingerprint. A fingerprint ignores the seed, names and texts, because
//! seed, names and texts change no number.

use crate::ledger::rank;
use crate::table::{Cells, CsvRow, rows};
use crate::why::{leaves, only_asked, shown};
use crate::{ClaimCheck, Ledger, Plan, Record, Registry, ReproduceError, RunFailure, TableError, Verdict};
use bufferlab_core::Profile;
use bufferlab_document::tree::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

const BEHAVIOURS: &str = include_str!("../../../claims/behaviours.csv");
/// Number of hexadecimal digits that a fingerprint has.
const DIGITS: usize = 16;
/// Keys of a scenario that do not change the results of its run.
const TEXTS: [&str; 4] = ["name", "description", "title", "seed"];

/// A line of `claims/behaviours.csv`: a version of a rule, or a later scenario key.
struct Behaviour {
    /// `rule` for a rule of the engine, or `key` for a scenario key that a later version added.
    kind: String,
    /// Name of the rule, such as `policy.dt`, or the dotted key of a scenario.
    name: String,
    /// Version of the rule, or the value with which the key keeps the earlier behaviour.
    value: String,
}

impl CsvRow for Behaviour {
    const COLUMNS: &'static [&'static str] = &["kind", "name", "value", "since", "why"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        let kind = cells.text("kind");
        if !["rule", "key"].contains(&kind.as_str()) {
            return Err(cells.wrong("kind", format!("expected \"rule\" or \"key\", found \"{kind}\"")));
        }
        Ok(Self { kind, name: cells.text("name"), value: cells.text("value") })
    }
}

/// Versions of the engine's rules, and scenario keys that later versions of bufferlab added.
pub struct Behaviours(Vec<Behaviour>);

impl Behaviours {
    /// Returns the versions of the engine's rules in this program, from the embedded table.
    ///
    /// # Errors
    /// If the embedded table is damaged.
    pub fn recorded() -> Result<Self, ReproduceError> {
        Ok(Self(rows("claims/behaviours.csv", BEHAVIOURS)?))
    }

    /// Returns the version of an engine's rule; 1 if the table lacks the rule.
    fn version(&self, rule: &str) -> &str {
        let known = self.0.iter().rfind(|one| one.kind == "rule" && one.name == rule);
        known.map_or("1", |one| one.value.as_str())
    }

    /// Whether the value of a scenario key gives the behaviour of versions that lacked the key.
    fn is_added(&self, key: &str, value: &str) -> bool {
        let is_key = |one: &&Behaviour| {
            one.kind == "key"
                && key
                    .strip_suffix(one.name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.0.iter().filter(is_key).any(|one| one.value == value)
    }
}

/// Properties of a run in a plan on which the run's results depend.
struct PointPrint {
    hash: String,
    rules: BTreeSet<String>,
}

/// Fingerprints of an experiment's statements at one scale and under one profile.
pub struct Fingerprints<'a> {
    plan: &'a Plan,
    behaviours: &'a Behaviours,
    points: BTreeMap<(usize, Vec<usize>), PointPrint>,
}

impl<'a> Fingerprints<'a> {
    /// Loads the scenarios of a plan's runs, each with its first seed.
    ///
    /// # Errors
    /// If a scenario cannot be loaded.
    pub fn new(plan: &'a Plan, behaviours: &'a Behaviours) -> Result<Self, RunFailure> {
        let mut points = BTreeMap::new();
        for point in plan.points.iter().filter(|point| point.seed == 0) {
            let loaded = plan.load(point)?;
            let values = leaves(&loaded.resolved);
            let rules = rules(&values);
            let mut hash = Sha256::new();
            for (key, value) in &values {
                let value = shown(value);
                if !TEXTS.contains(&key.as_str()) && !behaviours.is_added(key, &value) {
                    hash.update(format!("{key} = {value}\n"));
                }
            }
            for input in &loaded.inputs {
                hash.update(&input.content);
            }
            let print = PointPrint { hash: format!("{:x}", hash.finalize()), rules };
            points.insert((point.variant, point.places.clone()), print);
        }
        Ok(Self { plan, behaviours, points })
    }

    /// Returns the fingerprint for the record of a statement's verdict.
    #[must_use]
    pub fn of_claim(&self, claim: &ClaimCheck) -> String {
        let asked = only_asked(self.plan.clone(), claim);
        let mut hash = Sha256::new();
        for one in &claim.conditions {
            hash.update(format!(
                "{} {:?} {:?} {:?} {:?} {:?} {:?}\n",
                one.effect, one.at_least, one.at_most, one.neutral, one.paper, one.over_seeds, one.guard
            ));
        }
        hash.update(claim.not_checkable.as_deref().unwrap_or_default());
        let runs = self.plan.experiment.runs();
        let scripts: Vec<&String> =
            claim.conditions.iter().flat_map(|one| std::iter::once(&one.effect).chain(&one.guard)).collect();
        let names = |name: &&String| scripts.iter().any(|script| script.contains(&format!("\"{name}\"")));
        for (_, metric) in runs.iter().flat_map(|runs| &runs.metrics).filter(|(name, _)| names(name)) {
            hash.update(format!("{}\n", metric.key()));
        }
        let mut rules = BTreeSet::new();
        let places: BTreeSet<_> =
            asked.points.iter().map(|point| (point.variant, point.places.clone())).collect();
        for (variant, places) in places {
            let Some(print) = self.points.get(&(variant, places.clone())) else { continue };
            let Some(runs) = runs else { continue };
            let labels: Vec<_> = runs
                .axes
                .iter()
                .zip(&places)
                .map(|(axis, &place)| axis.values[place].label.as_str())
                .collect();
            hash.update(format!("{} {labels:?} {}\n", runs.variants[variant].name, print.hash));
            rules.extend(&print.rules);
        }
        for rule in rules {
            hash.update(format!("{rule} {}\n", self.behaviours.version(rule)));
        }
        format!("{:x}", hash.finalize())[..DIGITS].to_owned()
    }
}

/// Returns the names of the engine's rules that a scenario uses.
fn rules(values: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let mut rules = BTreeSet::from(["engine".to_owned(), "host".to_owned(), "metrics".to_owned()]);
    for (key, value) in values {
        let Value::String(word) = value else { continue };
        let parts: Vec<_> = key.split('.').collect();
        let of = match parts[..] {
            [.., "policy"] | [.., "policy", "name"] => "policy",
            ["transport", _, "congestion_control"] | ["transport", _, "congestion_control", "name"] => {
                "transport"
            }
            ["workload", _, "kind"] => "workload",
            [.., "ecn", "kind"] => "ecn",
            [.., "scheduler"] | [.., "discipline"] => "scheduler",
            _ => continue,
        };
        rules.insert(format!("{of}.{word}"));
    }
    if values.keys().any(|key| key.contains(".pfc.")) {
        rules.insert("pfc".to_owned());
    }
    rules
}

/// Checks the records of `ledger` against the experiments and returns all records. A record whose
/// fingerprint differs from the experiment's current fingerprint has the verdict VOID.
///
/// # Errors
/// The orphans: records whose experiment, statement, scale or profile no longer exists.
pub fn void_changed(ledger: &Ledger, registry: &Registry) -> Result<Vec<Record>, Vec<String>> {
    let behaviours = Behaviours::recorded().map_err(|why| vec![why.to_string()])?;
    let mut prints: BTreeMap<(String, String, String), BTreeMap<String, String>> = BTreeMap::new();
    let (mut records, mut orphans) = (Vec::new(), Vec::new());
    for row in &ledger.rows {
        let mut of_row = Vec::with_capacity(row.records.len());
        for record in &row.records {
            let key = (record.experiment.clone(), record.scale.clone(), record.profile.clone());
            if !prints.contains_key(&key) {
                let known = fingerprints(registry, &key, &behaviours).map_err(|why| vec![why])?;
                prints.insert(key.clone(), known);
            }
            match prints[&key].get(&record.id) {
                Some(today) if *today == record.fingerprint => of_row.push(record.clone()),
                Some(_) => of_row.push(record.clone().void()),
                None => orphans.push(format!(
                    "{}: {} does not judge it at scale {}, profile {}",
                    record.id, record.experiment, record.scale, record.profile
                )),
            }
        }
        // A ledger row has its VOID records last. A ledger that is loaded again has this order,
        // too.
        of_row.sort_by_key(rank);
        records.extend(of_row);
    }
    if orphans.is_empty() { Ok(records) } else { Err(orphans) }
}

/// Returns the current fingerprints of an experiment's statements. The map is empty if the
/// experiment lacks the scale or the profile.
fn fingerprints(
    registry: &Registry,
    (id, scale, profile): &(String, String, String),
    behaviours: &Behaviours,
) -> Result<BTreeMap<String, String>, String> {
    use crate::ScaleName;
    let Some(experiment) = registry.experiments.iter().find(|one| one.id == *id) else {
        return Ok(BTreeMap::new());
    };
    let scale = if scale == "paper" { ScaleName::Paper } else { ScaleName::Quick };
    let profile = if profile == "artifact" { Profile::Artifact } else { Profile::Paper };
    let reads = profile == Profile::Paper || experiment.runs().is_some_and(|runs| runs.artifact.is_some());
    let Some(plan) = Plan::new(experiment, scale, Some(1)).filter(|_| reads) else {
        return Ok(BTreeMap::new());
    };
    let plan = plan.under(profile);
    let prints = Fingerprints::new(&plan, behaviours).map_err(|why| why.to_string())?;
    Ok(experiment.claims().iter().map(|claim| (claim.id.clone(), prints.of_claim(claim))).collect())
}

impl Record {
    /// Removes the verdict of a record and keeps its measured result.
    #[must_use]
    pub fn void(mut self) -> Self {
        if self.verdict != Verdict::Void {
            self.measured = format!("was {}: {}", self.verdict, self.measured);
            self.verdict = Verdict::Void;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    fn print_of(text: &str, behaviours: &str) -> String {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/tdt/x.toml");
        let experiment = Experiment::from_text(&path, "tdt/x", text).unwrap_or_else(|why| panic!("{why}"));
        let plan = Plan::new(&experiment, crate::ScaleName::Quick, Some(1)).expect("it runs");
        let plan = plan.under(Profile::Paper);
        let behaviours = Behaviours(rows("t", behaviours).unwrap_or_else(|why| panic!("{why}")));
        let prints = Fingerprints::new(&plan, &behaviours).unwrap_or_else(|why| panic!("{why}"));
        prints.of_claim(&experiment.claims()[0])
    }

    const TEXT: &str = r#"
title = "a"
figure = "Fig. 14"
scenario = "../../scenarios/tdt-fig14.toml"
[[variant]]
name = "dt"
set = { "switch.policy" = { name = "dt", alpha = 1.0 } }
[[variant]]
name = "tdt"
[metrics]
fct = { flows = ["web_search"], of = "time_ms", take = "mean" }
[quick]
seeds = 2
[[claim]]
id = "X-1"
statement = "b"
effect = 'v("fct", "dt")'
at_least = 0.0
"#;
    const NONE: &str = "kind,name,value,since,why\n";

    #[test]
    fn a_fingerprint_changes_with_what_the_statement_reads_and_with_nothing_else() {
        let base = print_of(TEXT, NONE);
        for (from, to, same) in [
            ("title = \"a\"", "title = \"another\"", true),
            ("seeds = 2", "seeds = 3", true),
            ("name = \"tdt\"", "name = \"other\"", true),
            ("alpha = 1.0", "alpha = 2.0", false),
            ("at_least = 0.0", "at_least = 0.1", false),
            ("take = \"mean\"", "take = \"p99\"", false),
            ("seeds = 2", "seeds = 2\n[quick.set]\nduration = \"1 s\"", false),
        ] {
            assert!(TEXT.contains(from), "{from}");
            assert_eq!(print_of(&TEXT.replace(from, to), NONE) == base, same, "{from} -> {to}");
        }
    }

    #[test]
    fn a_new_version_of_a_rule_voids_what_uses_it_only() {
        let base = print_of(TEXT, NONE);
        let with = |line: &str| print_of(TEXT, &format!("{NONE}{line}\n"));
        assert_ne!(with("rule,policy.dt,2,2026-01-01,x"), base);
        assert_ne!(with("rule,engine,2,2026-01-01,x"), base);
        assert_eq!(with("rule,policy.tdt,2,2026-01-01,x"), base);
        assert_eq!(with("rule,pfc,2,2026-01-01,x"), base);
    }
}
