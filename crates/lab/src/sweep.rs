//! A sweep: a grid over keys of a scenario, for several policies and seeds. What is there already
//! is not run again.

mod output;
mod page;

pub use output::sweep_schema;

use crate::choice::{PolicyChoice, chosen, other_traffic, own_policy, refuse_twins};
use crate::group::{self, Layout, Present};
use crate::kept::is_kept;
use crate::limits::RUNS;
use crate::plan::{Load, of_seed, seeds_of, variant_of};
use crate::{Job, PlanError};
use bufferlab_report::ReportError;
use bufferlab_results::{SWEEP_FILE, write_sealed};
use bufferlab_scenario::{LoadError, Scenario, Variant};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// The points' means, one line per point, metric and policy.
pub const SWEEP_CSV: &str = "sweep.csv";
/// The same for programs.
pub const SWEEP_JSON: &str = "sweep.json";
/// The same to look at.
pub const SWEEP_HTML: &str = "sweep.html";

/// A key of the scenario and the values that it takes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Vary {
    /// Dotted, as for an override.
    pub key: String,
    /// As for an override.
    pub values: Vec<String>,
}

/// One point of the grid: a value for every varied key.
#[derive(Clone, Debug)]
struct Point {
    overrides: Vec<(String, String)>,
    folder: String,
}

/// What a sweep asks for.
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// Name of the scenario's file, for readers.
    pub scenario_file: String,
    /// The keys of the grid, the last one fastest.
    pub vary: Vec<Vary>,
    /// What is compared at every point, the baseline first; the scenario's own policy if there is
    /// none.
    pub policies: Vec<PolicyChoice>,
    /// Seeds of every point: the scenario's and the ones that follow it.
    pub seeds: NonZero<u32>,
    /// Folder of the results.
    pub out: PathBuf,
    /// Whether runs of other content at the points of this sweep are removed. Without it they are
    /// refused.
    pub replace: bool,
}

/// A sweep that can begin, or go on.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    /// The runs that are missing. They may be done in any order, anywhere, and some of them may
    /// fail.
    pub jobs: Vec<Job>,
    /// Runs that are there already.
    pub kept: usize,
    /// Points that cannot run, and why.
    pub failed: Vec<String>,
    request: SweepRequest,
    /// Name of the scenario.
    name: String,
    points: Vec<Point>,
    /// Labels of what is compared.
    policies: Vec<String>,
}

impl SweepPlan {
    /// Plans the sweep, and claims its folder.
    ///
    /// # Errors
    /// If the scenario loads at no point, two points are the same, the folder holds something else
    /// than a sweep, or a point has runs of other content.
    pub fn new(load: &Load<'_>, request: SweepRequest) -> Result<Self, PlanError> {
        let first = load(None, &[])?;
        let grid = grid_size(&request.vary);
        RUNS.check(grid).map_err(PlanError::beyond)?;
        let points = points(&request.vary)?;
        refuse_other_files(&request.out)?;
        // Where nothing is asked for, the scenario stays as it is, whatever its other switches
        // have.
        let changes = !request.policies.is_empty();
        let variants: Vec<Variant> = if changes {
            chosen(&request.policies, &first.scenario).0
        } else {
            own_policy(&first.scenario).into_iter().collect()
        };
        refuse_twins(&variants)?;
        refuse_two_hands(&request.vary, &variants)?;
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
        // First: it says whose folder this is, should the command be killed.
        write_sealed(&request.out, &[(SWEEP_FILE, description(&request))], None)?;
        for point in checked {
            point.carry_out()?;
        }
        let planned = jobs.len();
        jobs.retain(|job| !is_kept(job));
        let kept = planned - jobs.len();
        let policies = variants.iter().map(Variant::label).collect();
        Ok(Self { jobs, kept, failed, request, name: first.scenario.name, points, policies })
    }

    /// Where the results are.
    #[must_use]
    pub fn out(&self) -> &Path {
        &self.request.out
    }

    /// What a run is called within the sweep: point, policy and seed.
    #[must_use]
    pub fn place(&self, job: &Job) -> String {
        job.dir.strip_prefix(&self.request.out).unwrap_or(&job.dir).display().to_string()
    }

    /// Puts together what has results: a report per point, [`SWEEP_CSV`], [`SWEEP_JSON`],
    /// [`SWEEP_HTML`]; answers the headline metrics as text, and everything as JSON, as
    /// [`sweep_schema`] says.
    ///
    /// # Errors
    /// If a result cannot be read or a file not be written.
    pub fn finish(&self) -> Result<SweepOutcome, PlanError> {
        let Self { request: SweepRequest { out, vary, .. }, points, policies, .. } = self;
        let (compared, notes) = output::compared(out, points, policies)?;
        let page = page::page((&self.name, &self.request.scenario_file), vary, &compared, &notes);
        let json = output::json(&self.name, vary, (&compared, &notes))
            .map_err(ReportError::encode(&out.join(SWEEP_JSON)))?;
        let files = [(SWEEP_CSV, &output::csv(vary, &compared)), (SWEEP_HTML, &page), (SWEEP_JSON, &json)];
        write_sealed(out, &files, None)?;
        Ok(SweepOutcome { text: output::table(vary, &compared), json })
    }
}

/// What a sweep ends in.
#[derive(Clone, Debug)]
pub struct SweepOutcome {
    /// The headline metrics, for a terminal.
    pub text: String,
    /// Everything, for programs.
    pub json: String,
}

/// All runs of the grid, and what cannot run.
#[derive(Default)]
struct Found {
    jobs: Vec<Job>,
    failed: Vec<String>,
    first_error: Option<LoadError>,
}

impl Found {
    /// Loads all runs of a point, whose folder is `dir`.
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

/// Points of the grid, before any is made.
fn grid_size(vary: &[Vary]) -> u64 {
    vary.iter().fold(1, |points, vary| points.saturating_mul(vary.values.len() as u64))
}

impl Point {
    /// What a run at this point sets behind its variant.
    fn overrides_of(&self, seed: u64) -> Vec<(String, String)> {
        std::iter::once(of_seed(seed)).chain(self.overrides.iter().cloned()).collect()
    }
}

/// The grid in the order of the keys, the last one fastest.
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

/// Refuses a key that both the grid and a variant set: the variant's name would say what is not so.
fn refuse_two_hands(vary: &[Vary], variants: &[Variant]) -> Result<(), PlanError> {
    let within =
        |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    for variant in variants.iter().filter(|variant| !variant.is_plain()) {
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

/// The part of a key that tells it from others: `workload.web_search.load` becomes
/// `web_search.load`.
fn short(key: &str) -> &str {
    key.match_indices('.').rev().nth(1).map_or(key, |(at, _)| &key[at + 1..])
}

/// A key as a chart says it: `workload.web_search.load` is the load of web_search,
/// `transport.0.congestion_control` the congestion control of transport 0. Where there is one of a
/// kind, its name goes without saying: `switch.policy.alpha` is alpha.
fn words(key: &str) -> String {
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

/// What charts call the varied keys: words, or the keys themselves where two would be called the
/// same.
fn spoken(vary: &[Vary]) -> Vec<String> {
    let all: Vec<String> = vary.iter().map(|vary| words(&vary.key)).collect();
    let twice = |name: &String| all.iter().filter(|other| *other == name).count() > 1;
    let choose = |(name, vary): (&String, &Vary)| if twice(name) { vary.key.clone() } else { name.clone() };
    all.iter().zip(vary).map(choose).collect()
}

/// A value as a part of a folder's name.
fn in_a_name(value: &str) -> String {
    let value = value.trim_matches('"');
    value.chars().map(|c| if c.is_alphanumeric() || "._+-".contains(c) { c } else { '-' }).collect()
}

/// The scenario's file and the varied keys, for readers of the folder. The content of runs decides
/// what is reused.
fn description(request: &SweepRequest) -> String {
    let mut text = String::from("# The last sweep in this folder.\n");
    let _ = writeln!(text, "scenario = {:?}", request.scenario_file);
    let keys: Vec<_> = request.vary.iter().map(|vary| vary.key.as_str()).collect();
    let _ = writeln!(text, "keys = {keys:?}");
    text
}

/// A folder that no sweep has filled belongs to somebody else.
fn refuse_other_files(out: &Path) -> Result<(), PlanError> {
    // Hidden files are in the making: a sweep that was killed before its first run left nothing
    // else.
    let hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
    let unreadable = |error: io::Error| {
        PlanError::refused(
            format!("{}: cannot read: {error}", out.display()),
            "choose another folder with --out",
        )
    };
    let entries = match fs::read_dir(out) {
        // What is no folder is refused when the folder is made.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(());
        }
        entries => entries.map_err(unreadable)?.collect::<io::Result<Vec<_>>>().map_err(unreadable)?,
    };
    let occupied = entries.iter().any(|entry| !hidden(entry));
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
