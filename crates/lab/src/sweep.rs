//! Sweeps: a grid over keys of a scenario, with several policies and seeds.
//! Finished runs are reused.

mod figures;
mod output;
mod page;
mod reopen;

pub use figures::FigureRequest;
pub use output::sweep_schema;

use crate::group::{self, Layout, Present};
use crate::limits::RUNS;
use crate::plan::{Load, of_seed, seeds_of, variant_of};
use crate::resume::is_finished;
use crate::selection::{PolicySelection, other_traffic, reject_duplicates, scenario_policy, select};
use crate::{Job, PlanError};
use bufferlab_report::ReportError;
use bufferlab_results::{SWEEP_FILE, write_sealed};
use bufferlab_scenario::{LoadError, Scenario, Variant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Name of the file with the means, one line per point, metric and policy.
pub const SWEEP_CSV: &str = "sweep.csv";
/// Name of the file with the full results, for programs.
pub const SWEEP_JSON: &str = "sweep.json";
/// Name of the file with the page of charts.
pub const SWEEP_HTML: &str = "sweep.html";

/// A key of the scenario with its values in the sweep.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Vary {
    /// Dotted key that the sweep varies, as for an override.
    pub key: String,
    /// Values of the key, in the syntax of an override.
    pub values: Vec<String>,
}

/// One point of the grid: a value for every varied key.
#[derive(Clone, Debug)]
struct Point {
    overrides: Vec<(String, String)>,
    folder: String,
}

/// Definition of a sweep: varied keys, policies, seeds and folder.
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// Name of the scenario's file, as shown to readers.
    pub scenario_file: String,
    /// Keys of the grid with their values; the last key varies fastest.
    pub vary: Vec<Vary>,
    /// Policies compared at every point, the baseline first.
    /// If empty, only the scenario's policy runs.
    pub policies: Vec<PolicySelection>,
    /// Number of seeds per point: the scenario's seed and the following seeds.
    pub seeds: NonZero<u32>,
    /// Folder that receives the results of the sweep.
    pub out: PathBuf,
    /// Whether runs of a different scenario at the points of this sweep are removed. Without this
    /// flag, existing runs of a different scenario are an error.
    pub replace: bool,
}

/// A planned sweep whose missing runs can be executed.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    /// The missing runs of the sweep. A caller may execute them in any order and on any machine,
    /// and some runs may fail.
    pub jobs: Vec<Job>,
    /// Number of finished runs that the sweep reuses.
    pub reused: usize,
    /// Points of the grid that cannot run, with the reason.
    pub failed: Vec<String>,
    request: SweepRequest,
    name: String,
    points: Vec<Point>,
    policies: Vec<String>,
}

impl SweepPlan {
    /// Plans the sweep, and marks the folder as the folder of a sweep.
    ///
    /// # Errors
    /// If the scenario loads at no point, or two points are equal. Also if the folder contains
    /// files that no sweep writes, or a point has runs of other content.
    pub fn new(load: &Load<'_>, request: SweepRequest) -> Result<Self, PlanError> {
        let first = load(None, &[])?;
        let grid = grid_size(&request.vary);
        RUNS.check(grid).map_err(PlanError::beyond)?;
        let points = points(&request.vary)?;
        refuse_other_files(&request.out)?;
        // Without a requested policy, the scenario stays unchanged, including
        // policies of other switches.
        let changes = !request.policies.is_empty();
        let variants: Vec<Variant> = if changes {
            select(&request.policies, &first.scenario).0
        } else {
            scenario_policy(&first.scenario).into_iter().collect()
        };
        reject_duplicates(&variants)?;
        if changes {
            refuse_two_hands(&request.vary, &variants)?;
        }
        let load_point = |variant: Option<&Variant>, overrides: &[(String, String)]| {
            load(variant.filter(|_| changes), overrides)
        };
        let seeds = seeds_of(&first, request.seeds, points.len() * variants.len())?;
        let mut found = Found::default();
        let mut ends = Vec::with_capacity(points.len());
        for point in &points {
            found.look_at(point, &request.out.join(&point.folder), &variants, &seeds, &load_point);
            ends.push(found.jobs.len());
        }
        let Found { mut jobs, failed, first_error } = found;
        if let (true, Some(error)) = (jobs.is_empty(), first_error) {
            return Err(error.into());
        }
        let mut checked = Vec::new();
        let mut start = 0;
        for (point, end) in points.iter().zip(ends) {
            let dir = request.out.join(&point.folder);
            let known = |run: &Present| {
                let (variant, overrides) = (variant_of(run, &variants)?, point.overrides_of(run.seed));
                let is_asked = variants.contains(&variant);
                let load = if is_asked { &load_point as &Load<'_> } else { load };
                Some(load(Some(&variant), &overrides))
            };
            if start < end {
                checked.push(group::check(
                    &dir,
                    Layout::Policies,
                    &jobs[start..end],
                    request.replace,
                    known,
                )?);
            }
            start = end;
        }
        // Write the description of the sweep first. So the folder is marked as the folder of a
        // sweep even if the command is killed.
        write_sealed(&request.out, &[(SWEEP_FILE, description(&request))], None)?;
        for point in checked {
            point.prepare()?;
        }
        let planned = jobs.len();
        jobs.retain(|job| !is_finished(job));
        let reused = planned - jobs.len();
        let policies = variants.iter().map(Variant::label).collect();
        Ok(Self { jobs, reused, failed, request, name: first.scenario.name, points, policies })
    }

    /// Path of the folder with the results of the sweep.
    #[must_use]
    pub fn out(&self) -> &Path {
        &self.request.out
    }

    /// Name of a run within the sweep: its point, policy and seed.
    #[must_use]
    pub fn place(&self, job: &Job) -> String {
        job.dir.strip_prefix(&self.request.out).unwrap_or(&job.dir).display().to_string()
    }

    /// Writes a report per point that has results, then [`SWEEP_CSV`],
    /// [`SWEEP_JSON`] and [`SWEEP_HTML`]. Returns findings, headline metrics and caveats as text,
    /// and the full results as JSON (see [`sweep_schema`]).
    ///
    /// # Errors
    /// If a result of a run cannot be read, or a file cannot be written.
    pub fn finish(&self) -> Result<SweepOutcome, PlanError> {
        let Self { request: SweepRequest { out, vary, .. }, points, policies, .. } = self;
        let (compared, notes) = output::compared(out, points, policies, true)?;
        let (shown, common) = output::shown(&compared, policies);
        let notes = notes.with_common(&common);
        let page = page::page((&self.name, &self.request.scenario_file), vary, &shown, &notes);
        let json = output::json(&self.name, vary, (&compared, &notes))
            .map_err(ReportError::encode(&out.join(SWEEP_JSON)))?;
        let files = [(SWEEP_CSV, &output::csv(vary, &compared)), (SWEEP_HTML, &page), (SWEEP_JSON, &json)];
        write_sealed(out, &files, None)?;
        Ok(SweepOutcome { text: output::text(vary, (&shown, &notes)), json })
    }
}

/// Results of a sweep as text and as JSON.
#[derive(Clone, Debug)]
pub struct SweepOutcome {
    /// Findings, headline metrics and caveats as text, for a terminal.
    pub text: String,
    /// Full results as JSON, for programs.
    pub json: String,
}

/// All runs of the grid, and the points of the grid that cannot run.
#[derive(Default)]
struct Found {
    jobs: Vec<Job>,
    failed: Vec<String>,
    first_error: Option<LoadError>,
}

impl Found {
    /// Loads all runs of a point; `dir` is the folder of the point.
    fn look_at(&mut self, point: &Point, dir: &Path, variants: &[Variant], seeds: &[u64], load: &Load<'_>) {
        let mut baselines: BTreeMap<u64, Scenario> = BTreeMap::new();
        for (number, variant) in variants.iter().enumerate() {
            for &seed in seeds {
                let loaded = match load(Some(variant), &point.overrides_of(seed)) {
                    Ok(loaded) => loaded,
                    Err(why) => {
                        let label = variant.label();
                        self.failed.push(format!("{}, {label}, seed {seed}: {why}", point.folder));
                        self.first_error.get_or_insert(why);
                        continue;
                    }
                };
                let baseline = baselines.get(&seed).filter(|_| !variant.is_plain());
                let caveat = baseline.and_then(|baseline| {
                    other_traffic((&variants[0], baseline), (variant, &loaded.scenario))
                });
                if number == 0 && variants.len() > 1 {
                    baselines.insert(seed, loaded.scenario.clone());
                }
                let dir = dir.join(variant.folder()).join(format!("seed-{seed}"));
                self.jobs.push(Job { loaded, dir, caveats: caveat.into_iter().collect() });
            }
        }
    }
}

/// Number of points in the grid, computed before the points are created.
fn grid_size(vary: &[Vary]) -> u64 {
    vary.iter().fold(1, |points, vary| points.saturating_mul(vary.values.len() as u64))
}

impl Point {
    /// Overrides for a run at this point, which are applied after the run's variant.
    fn overrides_of(&self, seed: u64) -> Vec<(String, String)> {
        std::iter::once(of_seed(seed)).chain(self.overrides.iter().cloned()).collect()
    }
}

/// Returns the points of the grid, with the last key varying fastest.
fn points(vary: &[Vary]) -> Result<Vec<Point>, PlanError> {
    let mut points = vec![Point { overrides: Vec::new(), folder: String::new() }];
    for Vary { key, values } in vary {
        let extend = |point: &Point| -> Vec<Point> {
            let with = |value: &String| {
                let mut next = point.clone();
                next.overrides.push((key.clone(), value.clone()));
                let separator = if next.folder.is_empty() { "" } else { "," };
                let _ = write!(next.folder, "{separator}{}={}", short(key), in_a_name(value));
                next
            };
            values.iter().map(with).collect()
        };
        points = points.iter().flat_map(extend).collect();
    }
    let names: BTreeSet<_> = points.iter().map(|point| &point.folder).collect();
    if names.len() < points.len() {
        return Err(PlanError::refused(
            "two points of the sweep are the same",
            "name each value of a key once",
        ));
    }
    Ok(points)
}

/// Rejects a key that both the grid and a variant set, because the value in the variant's name
/// would be wrong.
fn refuse_two_hands(vary: &[Vary], variants: &[Variant]) -> Result<(), PlanError> {
    let within =
        |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    for variant in variants {
        for path in variant.paths().chain(["switch.policy.name".to_owned()]) {
            if let Some(Vary { key, .. }) =
                vary.iter().find(|vary| within(&path, &vary.key) || within(&vary.key, &path))
            {
                let message = format!("the sweep varies `{key}`, and \"{}\" sets it, too", variant.label());
                return Err(PlanError::refused(message, "leave it to one of the two"));
            }
        }
    }
    Ok(())
}

/// Shortens a dotted key to its last two parts: `workload.web_search.load` becomes
/// `web_search.load`.
fn short(key: &str) -> &str {
    key.match_indices('.').rev().nth(1).map_or(key, |(at, _)| &key[at + 1..])
}

/// Label of a key in a chart. `workload.web_search.load` becomes "load of web_search",
/// and `transport.0.congestion_control` becomes "congestion control of transport 0". If a key's
/// table exists only once, the label is the key's last part: `switch.policy.alpha` becomes "alpha".
fn key_label(key: &str) -> String {
    let parts: Vec<&str> = key.split('.').collect();
    let spoken = |part: &str| part.replace('_', " ");
    match parts.as_slice() {
        [.., list, number, last] if number.parse::<usize>().is_ok() => {
            format!("{} of {} {number}", spoken(last), spoken(list))
        }
        ["workload", name, last] => format!("{} of {name}", spoken(last)),
        [.., last] => spoken(last),
        [] => String::new(),
    }
}

/// Labels of the varied keys in charts. If two labels would be equal, the labels are the full keys.
fn spoken(vary: &[Vary]) -> Vec<String> {
    let all: Vec<String> = vary.iter().map(|vary| key_label(&vary.key)).collect();
    let twice = |name: &String| all.iter().filter(|other| *other == name).count() > 1;
    let choose = |(name, vary): (&String, &Vary)| if twice(name) { vary.key.clone() } else { name.clone() };
    all.iter().zip(vary).map(choose).collect()
}

/// Converts a value to a part of a folder's name.
fn in_a_name(value: &str) -> String {
    let value = value.trim_matches('"');
    value.chars().map(|c| if c.is_alphanumeric() || "._+-".contains(c) { c } else { '-' }).collect()
}

/// Describes the sweep for readers of the folder: scenario file and varied keys.
/// The description does not affect which runs are reused; only their content does.
fn description(request: &SweepRequest) -> String {
    let mut text = String::from("# The last sweep in this folder.\n");
    let _ = writeln!(text, "scenario = {:?}", request.scenario_file);
    let keys: Vec<_> = request.vary.iter().map(|vary| vary.key.as_str()).collect();
    let _ = writeln!(text, "keys = {keys:?}");
    text
}

/// Rejects a folder with files that no sweep has written.
fn refuse_other_files(out: &Path) -> Result<(), PlanError> {
    // A sweep killed before its first run leaves hidden files only.
    let occupied = !group::visible(out)?.is_empty();
    if occupied && !out.join(SWEEP_FILE).is_file() {
        return Err(PlanError::refused(
            format!("{} is not empty and does not hold a sweep", out.display()),
            "choose another folder with --out; nothing was deleted",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_call_keys_by_words_unless_two_would_be_called_the_same() {
        let names = |keys: &[&str]| {
            let vary = |key: &&str| Vary { key: (*key).to_owned(), values: Vec::new() };
            spoken(&keys.iter().map(vary).collect::<Vec<_>>())
        };
        assert_eq!(
            names(&["workload.web_search.load", "transport.0.congestion_control", "switch.policy.alpha"]),
            ["load of web_search", "congestion control of transport 0", "alpha"]
        );
        assert_eq!(names(&["buffer", "switch.buffer", "drain"]), ["buffer", "switch.buffer", "drain"]);
    }
}
