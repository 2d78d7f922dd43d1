//! `run`, `compare` and `report`: from a scenario to folders of results.

use crate::args::{CompareArgs, ExecutionArgs, PolicyChoice, ReportArgs, RunArgs, ScenarioArgs};
use crate::group::{self, Layout};
use crate::progress::Board;
use crate::{error, print, say};
use bufferlab_lab::{Execution, Job};
use bufferlab_report::Report;
use bufferlab_results::RunCaveat;
use bufferlab_scenario::{Loaded, Scenario};
use bufferlab_sim::Simulation;
use std::fs;
use std::path::{Path, PathBuf};

/// `run`.
pub(crate) fn run(args: &RunArgs) -> miette::Result<()> {
    let first = load(&args.scenario, &[])?;
    warn(&first);
    let seeds = seeds(&first.scenario, &args.execution);
    let single = seeds.len() == 1;
    let ending = if single { "" } else { "-seeds" };
    let out = out(&args.execution, &first.scenario, ending);
    let load_seed = |seed: u64| load(&args.scenario, &[("seed".to_owned(), seed.to_string())]);
    let mut jobs = Vec::with_capacity(seeds.len());
    for &seed in &seeds {
        let dir = if single { out.clone() } else { out.join(format!("seed-{seed}")) };
        jobs.push(Job { loaded: load_seed(seed)?, dir, caveats: Vec::new() });
    }
    if single {
        refuse_to_replace_the_ground(&out)?;
    } else {
        keep(&out, Layout::Seeds, &jobs, |_, seed| load_seed(seed))?;
    }
    execute(&args.scenario.scenario, &jobs, &args.execution)?;
    finish(&out, &[])
}

/// `compare`.
pub(crate) fn compare(args: &CompareArgs) -> miette::Result<()> {
    let first = load(&args.scenario, &[])?;
    warn(&first);
    let out = out(&args.execution, &first.scenario, "-compare");
    let (mut policies, all) = named(&args.policies, &first.scenario);
    if let Some(twice) = repeated(&policies) {
        return Err(miette::miette!(help = "name each policy once", "policy \"{twice}\" is named twice"));
    }
    let scenario_policy = first.scenario.switches.first().map(|switch| switch.policy.as_str());
    let load_variant = |policy: &str, seed: u64| {
        let mut overrides = vec![("seed".to_owned(), seed.to_string())];
        // The scenario's own policy keeps the parameters that the scenario gives it.
        if scenario_policy != Some(policy) {
            overrides.push(("switch.policy".to_owned(), policy.to_owned()));
        }
        load(&args.scenario, &overrides)
    };
    if all {
        policies.retain(|policy| match unfit(policy, first.scenario.seed, &load_variant) {
            None => true,
            Some(why) => {
                say(&format!("left out: {policy}: {why}"));
                false
            }
        });
    }
    let mut jobs = Vec::new();
    for policy in &policies {
        for seed in seeds(&first.scenario, &args.execution) {
            let loaded = load_variant(policy, seed)?;
            let caveats = overridden(&loaded.scenario, policy)?.into_iter().collect();
            jobs.push(Job { loaded, dir: out.join(policy).join(format!("seed-{seed}")), caveats });
        }
    }
    keep(&out, Layout::Policies, &jobs, |policy, seed| load_variant(policy.unwrap_or_default(), seed))?;
    execute(&args.scenario.scenario, &jobs, &args.execution)?;
    finish(&out, &policies)
}

/// The policies that the command line names, and whether that is all of them: then the scenario's own is the baseline, which keeps the
/// parameters that the scenario gives it.
pub(crate) fn named(choices: &[PolicyChoice], scenario: &Scenario) -> (Vec<String>, bool) {
    if !choices.iter().any(|choice| matches!(choice, PolicyChoice::All)) {
        let one = |choice: &PolicyChoice| match choice {
            PolicyChoice::One(info) => Some(info.name.to_owned()),
            PolicyChoice::All => None,
        };
        return (choices.iter().filter_map(one).collect(), false);
    }
    // Named ones come first, in their order, the others follow.
    let named = choices.iter().filter_map(|choice| match choice {
        PolicyChoice::One(info) => Some(info.name),
        PolicyChoice::All => None,
    });
    let own = scenario.switches.first().map(|switch| switch.policy.as_str());
    let mut policies: Vec<String> = Vec::new();
    for name in named.chain(own).chain(bufferlab_core::policies().iter().map(|info| info.name)) {
        if !policies.iter().any(|known| known == name) {
            policies.push(name.to_owned());
        }
    }
    (policies, true)
}

/// Why `policy` cannot run in this scenario; `None` if it can.
fn unfit(policy: &str, seed: u64, load: &impl Fn(&str, u64) -> miette::Result<Loaded>) -> Option<String> {
    let loaded = match load(policy, seed) {
        Ok(loaded) => loaded,
        Err(error) => return Some(error.to_string()),
    };
    Simulation::new(&loaded.scenario).err().map(|error| error.to_string())
}

/// `report`.
pub(crate) fn report(args: &ReportArgs) -> miette::Result<()> {
    let written = bufferlab_report::write(&args.dir).map_err(error::report)?;
    print(&format!("{}\n", written[0].display()))
}

/// A comparison sets `switch.policy`; switches whose policy stands in a `[[switch_override]]` keep theirs.
fn overridden(scenario: &Scenario, policy: &str) -> miette::Result<Option<RunCaveat>> {
    let kept = scenario.switches.iter().zip(&scenario.topology.switches);
    let kept: Vec<&str> =
        kept.filter(|(switch, _)| switch.policy != policy).map(|(_, name)| name.as_str()).collect();
    if kept.is_empty() {
        return Ok(None);
    }
    let advice = "Take `policy` out of [[switch_override]] if every switch is meant.";
    if kept.len() == scenario.switches.len() {
        return Err(miette::miette!(
            help = advice,
            "no switch would use the policy \"{policy}\": all of them have another one by a [[switch_override]]"
        ));
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

/// The folder of the results: what the user says, or `results/`, the scenario's name and `ending`.
pub(crate) fn out(args: &ExecutionArgs, scenario: &Scenario, ending: &str) -> PathBuf {
    let default = || Path::new("results").join(format!("{}{ending}", scenario.name));
    args.out.clone().unwrap_or_else(default)
}

/// A finished run takes the place of its folder: the user must not stand in it.
fn refuse_to_replace_the_ground(out: &Path) -> miette::Result<()> {
    let here = std::env::current_dir().and_then(fs::canonicalize);
    match (here, fs::canonicalize(out)) {
        (Ok(here), Ok(real)) if here.starts_with(&real) => Err(miette::miette!(
            help = "name a folder in it, for example --out results/first",
            "`{}` is the folder that you are in or above it, and a finished run replaces the whole folder",
            out.display()
        )),
        _ => Ok(()),
    }
}

/// Checks what lies in the folder of several runs, and says which of them stay.
fn keep(
    out: &Path,
    layout: Layout,
    jobs: &[Job],
    load: impl Fn(Option<&str>, u64) -> miette::Result<Loaded>,
) -> miette::Result<()> {
    let new: Vec<&Path> = jobs.iter().map(|job| job.dir.as_path()).collect();
    let kept = group::check(out, layout, &new, load)?;
    if !kept.is_empty() {
        let names: Vec<_> = kept.iter().filter_map(|dir| dir.strip_prefix(out).ok()).collect();
        let names: Vec<_> = names.iter().map(|dir| dir.display().to_string()).collect();
        say(&format!(
            "earlier runs of this scenario in {} are shown too: {}",
            out.display(),
            names.join(", ")
        ));
    }
    Ok(())
}

fn repeated(names: &[String]) -> Option<&str> {
    (1..names.len()).find(|&i| names[..i].contains(&names[i])).map(|i| names[i].as_str())
}

pub(crate) fn seeds(scenario: &Scenario, execution: &ExecutionArgs) -> Vec<u64> {
    (0..u64::from(execution.seeds.get())).map(|offset| scenario.seed + offset).collect()
}

/// Loads the scenario with the overrides of the command line, then `more`.
pub(crate) fn load(args: &ScenarioArgs, more: &[(String, String)]) -> miette::Result<Loaded> {
    let overrides: Vec<_> = args.overrides.iter().chain(more).cloned().collect();
    Ok(bufferlab_scenario::load(&args.scenario, &overrides)?)
}

/// Shows what to check before trusting the numbers.
pub(crate) fn warn(loaded: &Loaded) {
    for warning in &loaded.warnings {
        say(format!("{:?}", miette::Report::new(warning.clone())).trim_end());
    }
}

/// Does all jobs, several at a time; fails if one does.
fn execute(scenario: &Path, jobs: &[Job], args: &ExecutionArgs) -> miette::Result<()> {
    execute_each(scenario, jobs, args)?.into_iter().collect()
}

/// The same; what became of each job, in their order.
pub(crate) fn execute_each(
    scenario: &Path,
    jobs: &[Job],
    args: &ExecutionArgs,
) -> miette::Result<Vec<miette::Result<()>>> {
    let board = Board::new(jobs.len());
    let how = Execution { threads: args.jobs, verify: args.verify };
    let results = bufferlab_lab::execute(jobs, &how, &board);
    board.clear();
    let of = |error| error::run(scenario, &error);
    Ok(results.map_err(of)?.into_iter().map(|result| result.map(|_| ()).map_err(of)).collect())
}

/// Writes the report and prints the summary.
fn finish(out: &Path, order: &[String]) -> miette::Result<()> {
    let report = Report::load(out, order).map_err(error::report)?;
    let written = report.write().map_err(error::report)?;
    print(&report.text())?;
    say(&format!("results in {}, report in {}", out.display(), written[0].display()));
    Ok(())
}
