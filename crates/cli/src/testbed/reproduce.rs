//! The command `testbed reproduce` repeats the papers' experiments with real packets.
//!
//! Each run takes place with real hosts and in the simulator, from one scenario.
//! The numbers of each run are stored immediately, so an interrupted command can resume.

use super::real::{failed, inside, plan};
use crate::args::TestbedReproduceArgs;
use crate::execute::clear_away;
use crate::progress::{Board, seconds};
use crate::{error, inform, interrupt, print};
use bufferlab_lab::{Execution, Finished};
use bufferlab_reproduce::{
    Cache, MOST_LATENESS_US, Missing, Numbers, Plan, RealStudy, Registry, Results, ScaleName, gather,
    missing, real_keys, real_verdicts_json, record_real, run,
};
use bufferlab_results::Claim;
use bufferlab_testbed::{RealRun, Watching, run_real};
use miette::miette;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZero;
use std::path::Path;

/// Maximum number of attempts if the switch forwards packets too late in a run.
const TRIES: u32 = 3;
/// Time to set up and remove hosts, switch and tables, in addition to a run's duration (s).
const AROUND_S: f64 = 2.5;

/// Executes the command `testbed reproduce`.
pub(super) fn reproduce(args: &TestbedReproduceArgs) -> miette::Result<()> {
    let registry = match &args.registry {
        Some(folder) => Registry::load(folder),
        None => Registry::unpack_real(&args.out.join("registry")),
    };
    let registry = registry.map_err(error::reproduce)?;
    let seeds = args.seeds.map(NonZero::get);
    if args.list {
        return list(&registry, seeds);
    }
    let selected = registry.select(&args.names).map_err(error::reproduce)?;
    let plans = Plan::all(selected, ScaleName::Quick, seeds, None).map_err(error::reproduce)?;
    let real = args.out.join("real");
    // Runs of an earlier command whose switch was late are repeated.
    let late = |numbers: &Numbers| {
        numbers.metrics.get(real_keys::LATENESS_P999_US).is_some_and(|us| *us > MOST_LATENESS_US)
    };
    Cache::open_in(&real).and_then(|cache| cache.forget(late)).map_err(error::reproduce)?;
    let mut todo = missing(&plans, &real).map_err(error::reproduce)?;
    // The command reports all mistakes before it creates hosts.
    for one in &todo {
        let _ = plan(one.job.loaded.clone())?;
    }
    if !todo.is_empty() {
        inside()?;
    }
    let _claim = Claim::folder(&args.out).map_err(error::results)?;
    interrupt::listen();
    // All runs of a seed are neighbours in the list, so that disturbances of this machine affect
    // all runs that are compared.
    todo.sort_by_key(|one| one.job.loaded.scenario.seed);
    let failures = run_all(&todo, &real)?;
    let results = gather(plans.clone(), &real, failures).map_err(error::reproduce)?;
    let how = Execution { jobs: None, threads: Some(NonZero::<usize>::MIN), verify: false };
    let (simulated, board) =
        run(plans, &args.out.join("simulated"), &how, Board::new).map_err(error::reproduce)?;
    board.clear();
    conclude(args, results, simulated)
}

/// Executes all runs with real hosts, and returns the causes of failed runs.
fn run_all(todo: &[Missing], folder: &Path) -> miette::Result<BTreeMap<String, String>> {
    let cache = Cache::open_in(folder).map_err(error::reproduce)?;
    let (mut failures, mut left) = (BTreeMap::new(), todo.iter().map(duration).sum::<f64>());
    for (number, one) in todo.iter().enumerate() {
        let scenario = &one.job.loaded.scenario;
        inform(&format!(
            "{} of {}: {}, seed {}, {}; about {} to go",
            number + 1,
            todo.len(),
            scenario.name,
            scenario.seed,
            scenario.switches[0].policy,
            seconds(left)
        ));
        left -= duration(one);
        match run_one(one) {
            Ok(numbers) => cache.keep(&one.key, numbers).map_err(|why| miette!("{why}"))?,
            Err(_) if interrupt::requested() => {
                return Err(interrupt::report(folder, number, todo.len()));
            }
            Err(why) => {
                failures.insert(one.key.clone(), why.to_string());
            }
        }
    }
    Ok(failures)
}

fn duration(one: &Missing) -> f64 {
    one.job.loaded.scenario.duration.as_secs_f64() + AROUND_S
}

/// Executes a run with real hosts, and repeats it if the switch was late. The result is the last
/// attempt's.
fn run_one(one: &Missing) -> miette::Result<Numbers> {
    let plan = plan(one.job.loaded.clone())?;
    let mut tries = 0;
    let done = loop {
        tries += 1;
        let done = run_real(&plan, &one.job.dir, Watching::default(), &|| !interrupt::requested())
            .map_err(failed)?;
        let late = done.lateness_ns[2] as f64 / 1e3;
        if late <= MOST_LATENESS_US || tries == TRIES {
            break done;
        }
        inform(&format!("the switch was late (p99.9 {late:.0} us): the run is repeated"));
    };
    let finished = Finished { packet_hops: done.packet_hops, cpu_seconds: 0.0 };
    let mut numbers = one.wanted.take(&one.job, finished).map_err(|why| miette!("{why}"))?;
    numbers.metrics.extend(quality(&done));
    std::fs::remove_dir_all(&one.job.dir)
        .map_err(|why| miette!("cannot remove {}: {why}", one.job.dir.display()))?;
    Ok(numbers)
}

/// Returns measures of a run's quality, such as the lateness of frames.
fn quality(done: &RealRun) -> impl Iterator<Item = (String, f64)> {
    let us = |ns: u64| ns as f64 / 1e3;
    let parity = done.parity.as_ref();
    let values = [
        (real_keys::LATENESS_P99_US, us(done.lateness_ns[1])),
        (real_keys::LATENESS_P999_US, us(done.lateness_ns[2])),
        (real_keys::DIFFERENCES, parity.map_or(0.0, |parity| parity.differences as f64)),
        (real_keys::PACKETS, (done.packet_hops / 2) as f64),
    ];
    values.into_iter().map(|(key, value)| (key.to_owned(), value))
}

fn conclude(
    args: &TestbedReproduceArgs,
    results: Vec<Results>,
    simulated: Vec<Results>,
) -> miette::Result<()> {
    let studies: Vec<_> =
        results.into_iter().zip(simulated).map(|(real, simulated)| RealStudy { real, simulated }).collect();
    let date = args.date.as_deref().unwrap_or("not recorded");
    let mut text = String::new();
    for study in &studies {
        study.write(&args.out, date).map_err(error::reproduce)?;
        text.push_str(&study.markdown(date));
    }
    let failures: Vec<String> = studies
        .iter()
        .flat_map(|study| study.real.failures().chain(study.simulated.failures()))
        .map(ToString::to_string)
        .collect();
    if let (Some(table), true) = (&args.record, failures.is_empty()) {
        record_real(table, &studies, date).map_err(error::reproduce)?;
    }
    if args.json {
        print(&real_verdicts_json(&studies, date))?;
    } else {
        print(&text)?;
    }
    clear_away(&args.out);
    inform(&format!("values, charts and verdicts are in {}", args.out.display()));
    if failures.is_empty() {
        return Ok(());
    }
    let help =
        "the other runs are complete; fix the cause and repeat the command, which runs only the missing ones";
    Err(miette!(help = help, "{} runs failed:\n{}", failures.len(), failures.join("\n")))
}

/// Prints one line per experiment: runs, claims and duration.
fn list(registry: &Registry, seeds: Option<u32>) -> miette::Result<()> {
    let plans = Plan::all(&registry.experiments, ScaleName::Quick, seeds, None).map_err(error::reproduce)?;
    let width = plans.iter().map(|plan| plan.experiment.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for plan in &plans {
        let mut took = 0.0;
        for point in &plan.points {
            let loaded = plan.load(point).map_err(|why| miette!("{why}"))?;
            took += loaded.scenario.duration.as_secs_f64() + AROUND_S;
        }
        let (one, runs, took) = (&plan.experiment, plan.points.len(), seconds(took));
        let _ = writeln!(
            text,
            "{:<width$}  {:<14} {runs:>4} runs  {:>2} claims  {took:>9}  {}",
            one.id,
            one.figure,
            one.claims().len(),
            one.title
        );
    }
    print(&text)
}
