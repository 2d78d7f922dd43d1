//! Single statements as targets of a command: `REV-F7a-1` selects only the runs and tests that
//! judge this statement.

use crate::expression::{Traced, ValueError, Values, evaluate};
use crate::figures::{name_of, places};
use crate::{ClaimCheck, Experiment, Ledger, LedgerRow, Plan, Point, Registry, ReproduceError, Verdict};
use bufferlab_lab::caught;
use bufferlab_params::suggestion;
use bufferlab_theory::statements;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Statements and experiments that the arguments of the command `reproduce` select.
#[derive(Clone, Debug, Default)]
pub struct Selection<'a> {
    /// Experiments for which the command judges all statements.
    pub experiments: Vec<&'a Experiment>,
    /// Experiments for which the command judges only some statements, with the numbers of these
    /// statements.
    pub parts: Vec<(&'a Experiment, Vec<String>)>,
    /// Statements that only tests judge, not simulation runs.
    pub tested: Vec<&'a LedgerRow>,
}

impl<'a> Selection<'a> {
    /// Selects experiments and statements by name. A name is `abm/fig6`, a whole paper (`abm`),
    /// `all`, or a statement (`ABM-F6a-1`, in any case).
    ///
    /// # Errors
    /// If a name matches nothing; the error suggests the most similar name.
    pub fn new(names: &[String], registry: &'a Registry, ledger: &'a Ledger) -> Result<Self, ReproduceError> {
        let mut selected = Self::default();
        let mut whole = Vec::new();
        for name in names {
            if registry.is_name(name) {
                whole.push(name.clone());
            } else if let Some((experiment, id)) = registry.judging(name) {
                let known = selected.parts.iter_mut().find(|(one, _)| one.id == experiment.id);
                match known {
                    Some((_, ids)) if ids.contains(&id) => {}
                    Some((_, ids)) => ids.push(id),
                    None => selected.parts.push((experiment, vec![id])),
                }
            } else if let Some(row) = tested(ledger, name) {
                if !selected.tested.iter().any(|known| known.claim.id == row.claim.id) {
                    selected.tested.push(row);
                }
            } else {
                return Err(unknown(name, registry, ledger));
            }
        }
        selected.experiments = registry.select(&whole)?;
        let is_whole = |one: &Experiment| selected.experiments.iter().any(|whole| whole.id == one.id);
        selected.parts.retain(|(one, _)| !is_whole(one));
        Ok(selected)
    }
}

/// Returns the ledger row of a statement that a test judges.
fn tested<'a>(ledger: &'a Ledger, name: &str) -> Option<&'a LedgerRow> {
    let is = |row: &&LedgerRow| row.test.is_some() && row.claim.id.eq_ignore_ascii_case(name);
    ledger.rows.iter().find(is)
}

/// Returns the error for an unknown name. The suggestion is a statement's number if only its end
/// differs.
fn unknown(name: &str, registry: &Registry, ledger: &Ledger) -> ReproduceError {
    if let Err(error @ ReproduceError::Unknown { near: Some(_), .. }) = registry.select(&[name.to_owned()])
        && !name.contains('-')
    {
        return error;
    }
    let claims = registry.experiments.iter().flat_map(Experiment::claims).map(|claim| claim.id.as_str());
    let claims: Vec<&str> = ledger.rows.iter().map(|row| row.claim.id.as_str()).chain(claims).collect();
    let others = registry.experiments.iter().flat_map(|one| [one.id.as_str(), one.paper()]);
    let common = |id: &&&str| {
        let pairs = id.bytes().zip(name.bytes());
        pairs.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
    };
    // Statements of one figure differ only in their last letters, so the longest common prefix
    // counts.
    let longest = claims.iter().rev().max_by_key(common).filter(|id| common(id) >= "ABM-F".len());
    let near = longest.map(|id| (*id).to_owned());
    let near = near.or_else(|| suggestion(name, claims.iter().copied().chain(others)));
    ReproduceError::Unknown { name: name.to_owned(), near }
}

impl Registry {
    /// Whether a name is `all`, or the name of an experiment or a paper.
    fn is_name(&self, name: &str) -> bool {
        name == "all" || self.experiments.iter().any(|one| one.id == name || one.paper() == name)
    }

    /// Returns the experiment that judges a statement, and the statement's number as the experiment
    /// writes it.
    fn judging(&self, name: &str) -> Option<(&Experiment, String)> {
        let pairs =
            self.experiments.iter().flat_map(|one| one.claims().iter().map(move |claim| (one, claim)));
        let mut pairs = pairs.filter(|(_, claim)| claim.id.eq_ignore_ascii_case(name));
        pairs.next().map(|(one, claim)| (one, claim.id.clone()))
    }
}

impl Experiment {
    /// Returns the experiment with only the statements whose numbers are in `ids`.
    #[must_use]
    pub fn only_claims(&self, ids: &[String]) -> Self {
        let mut part = self.clone();
        if let Some(runs) = part.runs_mut() {
            runs.claims.retain(|claim| ids.contains(&claim.id));
        }
        part
    }
}

impl Plan {
    /// Restricts the plan to the statements `ids`: to the runs of these statements, and to the
    /// charts of their metrics.
    ///
    /// A statement needs the runs of all compared schemes at every combination of axis values in
    /// its scripts. The reason is the negative controls, which exchange the schemes.
    #[must_use]
    pub fn only_rows(mut self, ids: &[String]) -> Self {
        let mut experiment = self.experiment.only_claims(ids);
        let (mut places, mut metrics) = (BTreeSet::new(), BTreeSet::new());
        for claim in experiment.claims() {
            let asked = asked(&self, claim);
            metrics.extend(asked.iter().map(|(metric, ..)| metric.clone()));
            places.extend(asked.into_iter().map(|(_, variant, places)| (variant, places)));
        }
        let labels: Vec<_> = self.points.iter().map(|point| self.labels(point)).collect();
        let mut kept = labels.iter().map(|label| places.contains(label));
        self.points.retain(|_| kept.next().unwrap_or(false));
        if let Some(runs) = experiment.runs_mut() {
            runs.panels.retain(|panel| metrics.contains(&panel.metric));
        }
        self.experiment = Arc::new(experiment);
        self.rows = ids.to_vec();
        self
    }

    /// Returns the labels of a run in the plan: name of its variant, and labels of its axis values.
    fn labels(&self, point: &Point) -> (String, Vec<String>) {
        let Some(runs) = self.experiment.runs() else { return (String::new(), Vec::new()) };
        let places = runs.axes.iter().zip(&point.places);
        let places = places.map(|(axis, &place)| axis.values[place].label.clone());
        (runs.variants[point.variant].name.clone(), places.collect())
    }
}

/// A query of an expression for a number of a run: metric, variant and axis values.
type Asked = (String, String, Vec<String>);

/// Returns the queries of a statement's expressions. The expressions of conditions need every
/// variant at every queried combination of axis values. The effects under alternative
/// interpretations need only the queries in the expressions of the effects.
fn asked(plan: &Plan, claim: &ClaimCheck) -> BTreeSet<Asked> {
    let mut all = BTreeSet::new();
    for condition in &claim.conditions {
        let of_one = queries(plan, std::iter::once(&condition.effect).chain(&condition.guard));
        for (metric, _, places) in &of_one {
            for (_, variant, _) in &of_one {
                all.insert((metric.clone(), variant.clone(), places.clone()));
            }
        }
    }
    all.extend(queries(plan, claim.beside.iter().map(|one| &one.effect)));
    all
}

/// Returns the queries of expressions when every metric has one constant value. The first axis has
/// the plan's values.
pub(crate) fn queries<'a>(plan: &Plan, scripts: impl Iterator<Item = &'a String>) -> BTreeSet<Asked> {
    /// A source of metric values that answers every query with one value.
    struct Same(Vec<(String, f64)>);
    impl Values for Same {
        fn value(&self, _: &str, _: &str, _: &[String]) -> Result<f64, ValueError> {
            Ok(1.0)
        }
        fn first_axis(&self) -> Vec<(String, f64)> {
            self.0.clone()
        }
    }
    let Some(runs) = plan.experiment.runs() else { return BTreeSet::new() };
    let first: BTreeSet<usize> =
        plan.points.iter().filter_map(|point| point.places.first().copied()).collect();
    let of_axis = |place: usize| (runs.axes[0].values[place].label.clone(), runs.axes[0].values[place].x);
    let traced = Arc::new(Traced::new(Arc::new(Same(first.into_iter().map(of_axis).collect()))));
    let values: Arc<dyn Values> = Arc::clone(&traced) as Arc<dyn Values>;
    for script in scripts {
        // An effect that fails on equal values (a correlation) has still recorded all of its
        // queries.
        let _ = evaluate(script, &values);
    }
    traced.questions()
}

/// Answer of the command `reproduce` about a statement that tests judge.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    /// Row of the statement in the ledger, with the recorded result of its tests.
    pub row: &'a LedgerRow,
    /// Tests that the command ran: name of the test, and description of a failure.
    pub ran: Vec<(String, Result<(), String>)>,
    /// Names of the tests that need the source tree of bufferlab.
    pub others: Vec<String>,
    /// Names of the experiments that show the figure of the statement.
    pub shown_by: Vec<String>,
}

impl<'a> Checked<'a> {
    /// Runs the tests of a statement that are part of the program.
    #[must_use]
    pub fn new(row: &'a LedgerRow, registry: &Registry) -> Self {
        let tests = row.test.as_ref().map_or("", |test| test.test.as_str());
        let (mut ran, mut others) = (Vec::new(), Vec::new());
        for test in tests.split("; ") {
            match statements::find(test) {
                Some(check) => {
                    let found = match caught(check.run) {
                        Ok(found) => found.map_err(|why| why.to_string()),
                        Err(panicked) => Err(panicked.to_string()),
                    };
                    ran.push((test.to_owned(), found));
                }
                None => others.push(test.to_owned()),
            }
        }
        let paper = name_of(&row.claim.paper);
        let named = places(&row.claim.figure_table_section);
        let shows = |one: &&Experiment| {
            one.paper() == paper
                && places(&one.figure).iter().any(|of| named.iter().any(|place| place.meets(of)))
        };
        let shown_by = registry.experiments.iter().filter(shows).map(|one| one.id.clone()).collect();
        Self { row, ran, others, shown_by }
    }

    /// Returns the recorded verdict, or FAIL if a test that the command ran failed.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let recorded = self.row.test.as_ref().map_or(Verdict::NotRun, |test| test.verdict);
        if self.ran.iter().any(|(_, found)| found.is_err()) { Verdict::Fail } else { recorded }
    }

    /// Formats the findings, one per line. Findings are the results of the tests that ran, the
    /// recorded result, and commands for the tests that need the source tree.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let words = |test: &str| test.rsplit("::").next().unwrap_or(test).replace('_', " ");
        let mut lines = Vec::new();
        for (test, found) in &self.ran {
            lines.push(match found {
                Ok(()) => format!("computed here, holds: {}", words(test)),
                Err(why) => format!("computed here, does not hold: {}: {why}", words(test)),
            });
        }
        let measured = self.row.test.as_ref().map_or("", |test| test.measured.as_str());
        if !measured.is_empty() {
            lines.push(format!("recorded: {measured}"));
        }
        for test in &self.others {
            lines.push(format!("only a test of the repository shows: {} ({})", words(test), command(test)));
        }
        if !self.others.is_empty() && !self.shown_by.is_empty() {
            let shown = self.shown_by.iter().map(|id| format!("bufferlab reproduce {id}"));
            lines.push(format!("its figure: {}", shown.collect::<Vec<_>>().join(", ")));
        }
        lines
    }
}

/// Returns the command that runs a test in a checkout of the repository.
fn command(test: &str) -> String {
    let (file, name) = test.split_once("::").unwrap_or((test, ""));
    let folder = file.split('/').nth(1).unwrap_or_default();
    format!("cargo test -p bufferlab-{folder} {name}")
}
