//! Plans of runs and their folders: a scenario with several seeds, or a comparison of policies.

use crate::group::{self, Layout, Present};
use crate::limits::{RUNS, SEEDS};
use crate::memory::{fits, plan_fits};
use crate::resume::is_finished;
use crate::selection::{PolicySelection, other_traffic, reject_duplicates, select};
use crate::warm_up;
use crate::{Job, PlanError};
use bufferlab_core::find_policy;
use bufferlab_results::RunCaveat;
use bufferlab_scenario::{LoadError, Loaded, Scenario, Variant};
use bufferlab_sim::Simulation;
use bufferlab_units::Time;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Function that loads the scenario of a run. The function applies the user's changes, then the
/// changes of a variant, then the overrides (in the form of [`bufferlab_scenario::load`]).
pub type Load<'a> = dyn Fn(Option<&Variant>, &[(String, String)]) -> Result<Loaded, LoadError> + 'a;

/// Function that loads the scenario of a run, given the name of its folder and its seed. The
/// function returns `None` for an unknown name of a folder.
pub type LoadNamed<'a> = dyn Fn(&str, u64) -> Option<Result<Loaded, LoadError>> + 'a;

/// A plan of runs whose results are stored in one folder.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Runs that the command must execute.
    pub jobs: Vec<Job>,
    /// Labels of the compared variants, the baseline first; empty without a comparison.
    pub policies: Vec<String>,
    /// Earlier runs of the experiment in the folder, shown together with the new runs.
    pub reused: Vec<PathBuf>,
    /// Policies that cannot run in this scenario, with the reason.
    /// Empty unless all policies were requested.
    pub left_out: Vec<(String, String)>,
    /// Named variants whose scenario is invalid, with the error. The other variants run.
    pub failed: Vec<(String, Arc<PlanError>)>,
}

impl Plan {
    /// Removes finished runs (see [`is_finished`]) from the plan and returns their number,
    /// so that an interrupted comparison resumes.
    pub fn resume(&mut self) -> usize {
        let all = self.jobs.len();
        self.jobs.retain(|job| !is_finished(job));
        all - self.jobs.len()
    }
}

/// Destination folder for the results of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// Folder that receives the results of the plan.
    pub out: &'a Path,
    /// Whether results of another scenario in the folder are removed before the first run.
    /// Without this flag, results of another scenario are an error.
    pub replace: bool,
}

/// Plans runs of the scenario's policy with its seed and the following seeds. A single run is
/// stored in the folder itself. Several runs are stored in the subfolders `seed-<n>`.
///
/// # Errors
/// If the scenario does not load, or the folder contains other files.
pub fn plan_run(load: &Load<'_>, seeds: NonZero<u32>, to: Destination<'_>) -> Result<Plan, PlanError> {
    let out = to.out;
    let first = load(None, &[])?;
    let seeds = seeds_of(&first, seeds, 1)?;
    let single = seeds.len() == 1;
    let load_seed = |seed: u64| load(None, &[of_seed(seed)]);
    let mut jobs = Vec::with_capacity(seeds.len());
    for &seed in &seeds {
        let dir = if single { out.to_owned() } else { out.join(format!("seed-{seed}")) };
        jobs.push(Job { loaded: load_seed(seed)?, dir, caveats: Vec::new() });
    }
    let reused = if single {
        protect_cwd(out)?;
        if !to.replace {
            group::check_single(out, &jobs[0].loaded)?;
        }
        Vec::new()
    } else {
        group::check(out, Layout::Seeds, &jobs, to.replace, |run| Some(load_seed(run.seed)))?.prepare()?
    };
    Ok(Plan { jobs, policies: Vec::new(), reused, left_out: Vec::new(), failed: Vec::new() })
}

/// Plans a comparison of variants on the same traffic, paired by seed, in the subfolders
/// `<variant>/seed-<n>`.
///
/// The scenario's policy keeps its parameters from the scenario, and all other policies have their
/// defaults. Then the changes of the variant are applied.
///
/// With `warm_up`, the runs of all variants continue from the state that the first variant's run of
/// the seed has at this time.
///
/// # Errors
/// If no variant can run, two variants have one name, or the folder contains files that no
/// comparison writes. With `warm_up`, also if a variant cannot continue from the first variant.
pub fn plan_compare(
    load: &Load<'_>,
    choices: &[PolicySelection],
    seeds: NonZero<u32>,
    warm_up: Option<Time>,
    to: Destination<'_>,
) -> Result<Plan, PlanError> {
    let first = load(None, &[])?;
    let (mut variants, all) = select(choices, &first.scenario);
    reject_duplicates(&variants)?;
    let baseline = variants.first().cloned();
    let load_variant = |variant: &Variant, seed: u64| {
        let loaded = load(Some(variant), &[of_seed(seed)])?;
        let (Some(time), Some(baseline)) = (warm_up, &baseline) else { return Ok(loaded) };
        let base = if variant == baseline { loaded.clone() } else { load(Some(baseline), &[of_seed(seed)])? };
        Ok(warm_up::continued(loaded, &Arc::new(base), time))
    };
    let mut left_out = Vec::new();
    if all {
        variants.retain(|variant| match unfit(load_variant(variant, first.scenario.seed)) {
            None => true,
            Some(why) => {
                left_out.push((variant.label(), why));
                false
            }
        });
    }
    let seeds = seeds_of(&first, seeds, variants.len())?;
    let (mut jobs, mut failed): (Vec<Job>, Vec<(String, Arc<PlanError>)>) = (Vec::new(), Vec::new());
    let mut compared: Vec<Variant> = Vec::new();
    for variant in &variants {
        let baseline = compared.first().map(|baseline| (baseline, &jobs[..seeds.len()]));
        match jobs_of(variant, &seeds, baseline, to.out, &load_variant) {
            Ok(more) => {
                jobs.extend(more);
                compared.push(variant.clone());
            }
            Err(why) => failed.push((variant.label(), Arc::new(why))),
        }
    }
    if jobs.is_empty() && !failed.is_empty() {
        let (_, why) = failed.swap_remove(0);
        // The `Arc` of the error was just created, so no other reference to the error exists.
        return Err(Arc::into_inner(why).expect("it was just made"));
    }
    if let (Some(time), Some(baseline)) = (warm_up, compared.first()) {
        let firsts = compared.iter().zip(jobs.iter().step_by(seeds.len()));
        warm_up::check(&firsts.collect::<Vec<_>>())?;
        let caveat = warm_up::caveat(baseline, time);
        jobs.iter_mut().skip(seeds.len()).for_each(|job| job.caveats.push(caveat.clone()));
    }
    let known = |run: &Present| Some(load_variant(&variant_of(run, &variants)?, run.seed));
    let reused = group::check(to.out, Layout::Policies, &jobs, to.replace, known)?.prepare()?;
    Ok(Plan { jobs, policies: compared.iter().map(Variant::label).collect(), reused, left_out, failed })
}

/// Returns the runs of a variant, one run per seed. `baseline` is the variant to compare with, and
/// the runs of that variant.
fn jobs_of(
    variant: &Variant,
    seeds: &[u64],
    baseline: Option<(&Variant, &[Job])>,
    out: &Path,
    load: &dyn Fn(&Variant, u64) -> Result<Loaded, LoadError>,
) -> Result<Vec<Job>, PlanError> {
    let mut jobs = Vec::with_capacity(seeds.len());
    for (index, seed) in seeds.iter().enumerate() {
        let loaded = load(variant, *seed)?;
        let mut caveats: Vec<_> = overridden(&loaded.scenario, variant.policy().name)?.into_iter().collect();
        if let (false, Some((first, runs))) = (variant.is_plain(), baseline) {
            caveats.extend(other_traffic((first, &runs[index].loaded.scenario), (variant, &loaded.scenario)));
        }
        let dir = out.join(variant.folder()).join(format!("seed-{seed}"));
        jobs.push(Job { loaded, dir, caveats });
    }
    Ok(jobs)
}

pub(crate) fn of_seed(seed: u64) -> (String, String) {
    ("seed".to_owned(), seed.to_string())
}

/// Returns the reason why a variant cannot run; `None` if the variant can run.
fn unfit(loaded: Result<Loaded, LoadError>) -> Option<String> {
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return Some(error.to_string()),
    };
    if let Err(error) = fits(&loaded.scenario) {
        return Some(error.to_string());
    }
    if let Err(error) = Simulation::new(&loaded.scenario) {
        return Some(error.to_string());
    }
    let warm_up = loaded.warm_up.as_ref()?;
    let simulation = Simulation::new(&warm_up.first.scenario).ok()?;
    warm_up::obstacle(&simulation, &warm_up.first, &loaded)
}

/// Returns a caveat for switches that do not use the compared policy.
/// A comparison sets `switch.policy`, which does not affect a policy in a `[[switch_override]]`.
fn overridden(scenario: &Scenario, policy: &str) -> Result<Option<RunCaveat>, PlanError> {
    let kept = scenario.switches.iter().zip(&scenario.topology.switches);
    let kept: Vec<&str> =
        kept.filter(|(switch, _)| switch.policy != policy).map(|(_, name)| name.as_str()).collect();
    if kept.is_empty() {
        return Ok(None);
    }
    let advice = "Take `policy` out of [[switch_override]] if every switch is meant.";
    if kept.len() == scenario.switches.len() {
        let message = format!(
            "no switch would use the policy \"{policy}\": all of them have another one by a [[switch_override]]"
        );
        return Err(PlanError::refused(message, advice));
    }
    let names = if kept.len() > 4 { format!("{}, {} …", kept[0], kept[1]) } else { kept.join(", ") };
    Ok(Some(RunCaveat {
        id: "policy-overridden".to_owned(),
        message: format!(
            "{} of {} switches ({names}) keep the policy of a [[switch_override]] whichever policy is compared.",
            kept.len(),
            scenario.switches.len()
        ),
        advice: advice.to_owned(),
    }))
}

/// Protects the working directory, because a finished run replaces its whole folder.
fn protect_cwd(out: &Path) -> Result<(), PlanError> {
    let here = std::env::current_dir().and_then(fs::canonicalize);
    match (here, fs::canonicalize(out)) {
        (Ok(here), Ok(real)) if here.starts_with(&real) => Err(PlanError::refused(
            format!(
                "`{}` is the folder that you are in or above it, and a finished run replaces the whole folder",
                out.display()
            ),
            "name a folder in it, for example --out results/first",
        )),
        _ => Ok(()),
    }
}

/// Returns the variant that a run should have. This is the compared variant of the run's folder,
/// or else the variant in its manifest, or else the policy after which the folder is named.
pub(crate) fn variant_of(run: &Present, compared: &[Variant]) -> Option<Variant> {
    let now = compared.iter().find(|variant| variant.folder() == run.folder);
    let stored = || run.variant.clone().or_else(|| find_policy(&run.folder).map(Variant::from_policy));
    now.cloned().or_else(stored)
}

/// Prepares a folder for runs in `<name>/seed-<n>` that a front end plans. An earlier run stays
/// if its content equals the scenario that `load` returns for its name and seed.
/// Returns the earlier runs that are reused.
///
/// # Errors
/// Returns the errors of [`plan_compare`].
pub fn prepare_group(
    to: Destination<'_>,
    jobs: &[Job],
    load: &LoadNamed<'_>,
) -> Result<Vec<PathBuf>, PlanError> {
    let known = |run: &Present| load(&run.folder, run.seed);
    group::check(to.out, Layout::Policies, jobs, to.replace, known)?.prepare()
}

/// Returns the scenario's seed and the following seeds. For each seed, the plan has `others` runs:
/// variants × points.
///
/// # Errors
/// If the plan has more seeds or runs than one command may plan, or exceeds memory.
pub(crate) fn seeds_of(first: &Loaded, seeds: NonZero<u32>, others: usize) -> Result<Vec<u64>, PlanError> {
    let seeds = u64::from(seeds.get());
    SEEDS.check(seeds).map_err(PlanError::beyond)?;
    let runs = seeds.saturating_mul(others as u64);
    RUNS.check(runs).map_err(PlanError::beyond)?;
    plan_fits(first, runs)?;
    Ok((0..seeds).map(|offset| first.scenario.seed + offset).collect())
}
