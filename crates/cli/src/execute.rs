//! `run`, `compare` and `report`: from a scenario to folders of results.

use crate::args::{CompareArgs, ExecutionArgs, ReportArgs, RunArgs, ScenarioArgs};
use crate::progress::Board;
use crate::{error, print};
use bufferlab_core::{Params, find_policy};
use bufferlab_report::Report;
use bufferlab_results::{NameTables, PolicyHead, RunHead, RunWriter, Timing};
use bufferlab_scenario::{Loaded, Scenario};
use bufferlab_sim::Simulation;
use cpu_time::ThreadTime;
use miette::{IntoDiagnostic, WrapErr};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One run to be done.
struct Job {
    loaded: Loaded,
    dir: PathBuf,
}

/// `run`.
pub(crate) fn run(args: &RunArgs) -> miette::Result<()> {
    let first = load(&args.scenario, &[])?;
    warn(&first);
    let out = args.execution.out.clone().unwrap_or_else(|| Path::new("results").join(&first.scenario.name));
    let seeds = seeds(&first.scenario, &args.execution);
    let mut jobs = Vec::with_capacity(seeds.len());
    for &seed in &seeds {
        let loaded = load(&args.scenario, &[("seed".to_owned(), seed.to_string())])?;
        let dir = if seeds.len() == 1 { out.clone() } else { out.join(format!("seed-{seed}")) };
        jobs.push(Job { loaded, dir });
    }
    execute(&args.scenario.scenario, &jobs, &args.execution)?;
    finish(&out, &[])
}

/// `compare`.
pub(crate) fn compare(args: &CompareArgs) -> miette::Result<()> {
    let first = load(&args.scenario, &[])?;
    warn(&first);
    let default_out = || Path::new("results").join(format!("{}-compare", first.scenario.name));
    let out = args.execution.out.clone().unwrap_or_else(default_out);
    if let Some(twice) = repeated(&args.policies) {
        return Err(miette::miette!(help = "name each policy once", "policy \"{twice}\" is named twice"));
    }
    let scenario_policy = first.scenario.switches.first().map(|switch| switch.policy.as_str());
    let mut jobs = Vec::new();
    for policy in &args.policies {
        for seed in seeds(&first.scenario, &args.execution) {
            let mut overrides = vec![("seed".to_owned(), seed.to_string())];
            // The scenario's own policy keeps the parameters that the scenario gives it.
            if scenario_policy != Some(policy.as_str()) {
                overrides.push(("switch.policy".to_owned(), policy.clone()));
            }
            let loaded = load(&args.scenario, &overrides)?;
            jobs.push(Job { loaded, dir: out.join(policy).join(format!("seed-{seed}")) });
        }
    }
    execute(&args.scenario.scenario, &jobs, &args.execution)?;
    finish(&out, &args.policies)
}

/// `report`.
pub(crate) fn report(args: &ReportArgs) -> miette::Result<()> {
    let written = bufferlab_report::write(&args.dir).map_err(error::report)?;
    print(&format!("{}\n", written[0].display()))
}

fn repeated(names: &[String]) -> Option<&str> {
    (1..names.len()).find(|&i| names[..i].contains(&names[i])).map(|i| names[i].as_str())
}

fn seeds(scenario: &Scenario, execution: &ExecutionArgs) -> Vec<u64> {
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
        eprintln!("{:?}", miette::Report::new(warning.clone()));
    }
}

/// Does all jobs, several at a time. Each job's result depends on the job alone, not on its company.
fn execute(scenario: &Path, jobs: &[Job], args: &ExecutionArgs) -> miette::Result<()> {
    let threads = args.jobs.map_or(0, |jobs| jobs.get());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().into_diagnostic()?;
    let board = Board::new(jobs.len());
    let results: Vec<miette::Result<()>> = pool.install(|| {
        let work = |(index, job): (usize, &Job)| execute_one(scenario, index, job, args.verify, &board);
        jobs.par_iter().enumerate().map(work).collect()
    });
    board.clear();
    results.into_iter().collect()
}

fn execute_one(
    scenario_path: &Path,
    index: usize,
    job: &Job,
    verify: bool,
    board: &Board,
) -> miette::Result<()> {
    let scenario = &job.loaded.scenario;
    let (wall, cpu) = (Instant::now(), ThreadTime::now());
    let mut simulation = Simulation::new(scenario).map_err(|e| error::simulation(scenario_path, e))?;
    simulation.set_verify(verify);
    let head = head(&job.loaded, simulation.classes()).wrap_err("this is a bug in bufferlab")?;
    let mut writer = RunWriter::create(&job.dir, head).map_err(error::results)?;
    let totals = simulation
        .run(&mut writer, &mut |progress| board.update(index, progress))
        .map_err(|e| error::simulation(scenario_path, e))?;
    let cpu_seconds = cpu.elapsed().as_secs_f64();
    let timing = Timing {
        cpu_seconds: Some(cpu_seconds),
        wall_seconds: wall.elapsed().as_secs_f64(),
        packet_hops_per_cpu_second: Some(totals.packet_hops as f64 / cpu_seconds),
        peak_rss_bytes: None,
    };
    writer.finish(&totals, Vec::new(), Some(&timing)).map_err(error::results)?;
    board.complete(index, totals.packet_hops);
    Ok(())
}

/// What is known before the run.
fn head(loaded: &Loaded, classes: &[String]) -> miette::Result<RunHead> {
    let scenario = &loaded.scenario;
    let topology = &scenario.topology;
    Ok(RunHead {
        bufferlab_version: env!("CARGO_PKG_VERSION").to_owned(),
        git_commit: option_env!("BUFFERLAB_COMMIT").map(str::to_owned),
        scenario_name: scenario.name.clone(),
        scenario_description: scenario.description.clone(),
        scenario_toml: loaded.resolved.clone(),
        inputs: loaded.inputs.iter().map(|input| (input.name.clone(), input.content.clone())).collect(),
        profile: scenario.profile.name().to_owned(),
        seed: scenario.seed,
        policy: policy_head(scenario)?,
        duration_ns: scenario.duration.as_ns(),
        drain_ns: scenario.drain.as_ns(),
        short_flow_bytes: scenario.output.short_flow_bytes,
        sample_interval_ns: scenario.output.sample_interval.as_ns(),
        sample_switch: topology.switches.get(scenario.output.sample_switch as usize).cloned(),
        names: NameTables {
            classes: classes.to_vec(),
            switches: topology.switches.clone(),
            hosts: topology.hosts.clone(),
        },
    })
}

/// The policy of the first switch, with every parameter; other switches' policies are named beside it.
fn policy_head(scenario: &Scenario) -> miette::Result<PolicyHead> {
    let first = scenario.switches.first();
    let first = first.ok_or_else(|| miette::miette!("the scenario has no switch"))?;
    let info = find_policy(&first.policy)
        .ok_or_else(|| miette::miette!("the loaded scenario names the unknown policy {}", first.policy))?;
    let params = Params::resolve(info.params, scenario.profile, &first.policy_params)
        .map_err(|(_, why)| miette::miette!("{why}"))?;
    let mut names = vec![info.name];
    for switch in &scenario.switches {
        if !names.contains(&switch.policy.as_str()) {
            names.push(&switch.policy);
        }
    }
    Ok(PolicyHead {
        name: names.join("+"),
        title: info.title.to_owned(),
        params: params.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect(),
    })
}

/// Writes the report and prints the summary.
fn finish(out: &Path, order: &[String]) -> miette::Result<()> {
    let report = Report::load(out, order).map_err(error::report)?;
    let written = report.write().map_err(error::report)?;
    print(&report.text())?;
    eprintln!("results in {}, report in {}", out.display(), written[0].display());
    Ok(())
}
