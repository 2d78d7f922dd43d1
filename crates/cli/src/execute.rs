//! The commands `run`, `compare` and `report`: from a scenario to folders of results.

use crate::args::{CompareArgs, ExecutionArgs, ReportArgs, RunArgs, ScenarioArgs};
use crate::progress::Board;
use crate::{error, inform, interrupt, metrics, print, say, say_report};
use bufferlab_lab::{
    Destination, Execution, FigureRequest, Job, Load, Plan, SWEEP_HTML, SweepPlan, plan_compare, plan_run,
};
use bufferlab_report::{Change, FIGURE_FILES, Look, Report, Stopping, steady_from, steady_text, write_hpcc};
use bufferlab_results::{Claim, Group, RunCaveat, RunResult, remove_leftovers};
use bufferlab_scenario::{Changes, Loaded, Scenario, Variant, load_changed};
use bufferlab_sim::Simulation;
use miette::miette;
use std::collections::BTreeSet;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Executes the command `run`.
pub(crate) fn run(args: &RunArgs) -> miette::Result<()> {
    let variant = args.variant.as_ref();
    let first = load_as(&args.scenario, variant)?;
    warn(&first);
    let seeds = if args.execution.seeds().get() == 1 { "" } else { "-seeds" };
    let ending = variant.map_or(String::new(), |variant| format!("-{}", variant.folder())) + seeds;
    let out = out(&args.execution, &first.scenario, &ending);
    let to = Destination { out: &out, replace: args.replace };
    // A single run reserves its folder when it replaces an earlier run in this folder. For several
    // runs, `run` reserves the common folder of the runs.
    let single = args.execution.seeds().get() == 1;
    let _claim = if single { None } else { Some(Claim::folder(&out).map_err(error::results)?) };
    let load = loader(&args.scenario)?;
    let load = |_: Option<&Variant>, then: &[(String, String)]| load(variant, then);
    let mut plan = plan_run(&load, args.execution.seeds(), to).map_err(error::plan)?;
    // A single run is always executed again, because a user who repeats `run` wants to see the run.
    let finished = if single { 0 } else { resume(&mut plan, &args.execution) };
    let hidden = take_hidden(args.with_earlier, &mut plan);
    execute(args.scenario.file(), &out, (&plan, &hidden), finished, &args.execution)
}

/// Executes the command `compare`.
pub(crate) fn compare(args: &CompareArgs) -> miette::Result<()> {
    let first = load(&args.scenario)?;
    warn(&first);
    let out = out(&args.execution, &first.scenario, "-compare");
    let load = loader(&args.scenario)?;
    let to = Destination { out: &out, replace: args.replace };
    let _claim = Claim::folder(&out).map_err(error::results)?;
    if let Some(half_width) = args.until_interval {
        return compare_until(args, &first, half_width, to);
    }
    let mut plan =
        plan_compare(&*load, &args.choices(), args.seeds(), args.warm_up, to).map_err(error::plan)?;
    warn_of_variants(&first, &plan);
    say_warm_up(args, &plan);
    for (policy, why) in &plan.left_out {
        say(&format!("left out: {policy}: {why}"));
    }
    say_what_is_refused(&plan);
    let finished = resume(&mut plan, &args.execution);
    let hidden = take_hidden(args.with_earlier, &mut plan);
    execute(args.scenario.file(), &out, (&plan, &hidden), finished, &args.execution)
}

/// Names the time and the policy from which the variants continue.
fn say_warm_up(args: &CompareArgs, plan: &Plan) {
    if let (Some(time), Some(first)) = (args.warm_up, plan.policies.first()) {
        inform(&format!("warm-up: all variants continue from the state of {first} at {time}"));
    }
}

/// Removes from the plan the earlier runs that the report does not show. These are all earlier
/// runs, unless the option `--with-earlier` adds them to the report.
pub(crate) fn take_hidden(with_earlier: bool, plan: &mut Plan) -> Vec<PathBuf> {
    if with_earlier { Vec::new() } else { std::mem::take(&mut plan.reused) }
}

/// Removes finished runs from the plan, and returns the number of removed runs.
pub(crate) fn resume(plan: &mut Plan, how: &ExecutionArgs) -> usize {
    // Only a new run checks invariants, so with `--verify` the command reuses no finished run.
    let finished = if how.verify { 0 } else { plan.resume() };
    if finished > 0 {
        inform(&format!("{} there already", count_with_verb(finished)));
    }
    finished
}

/// Executes `compare --until-interval`: adds seeds until the intervals are narrow enough.
fn compare_until(
    args: &CompareArgs,
    first: &Loaded,
    half_width: f64,
    to: Destination<'_>,
) -> miette::Result<()> {
    const MOST: u32 = 160;
    let load = loader(&args.scenario)?;
    let out = to.out;
    let most = args.execution.seeds.map_or(MOST, NonZero::get);
    let stopping = Stopping { half_width, most, metric: args.metric.clone() };
    for (number, seeds) in stopping.looks().into_iter().enumerate() {
        let seeds = NonZero::new(seeds).expect("there is at least one");
        let mut plan = plan_compare(&*load, &args.choices(), seeds, args.warm_up, to).map_err(error::plan)?;
        if number == 0 {
            warn_of_variants(first, &plan);
            say_warm_up(args, &plan);
            say_what_is_refused(&plan);
        }
        let finished = if args.execution.verify && number == 0 { 0 } else { plan.resume() };
        let hidden = take_hidden(args.with_earlier, &mut plan);
        let failures = execute_all(args.scenario.file(), out, &plan, finished, &args.execution)?;
        if !failures.is_empty() {
            finish(out, (&plan.policies, &hidden), args.execution.json)?;
            return failed(&plan, &failures);
        }
        let report = Report::load_without(out, &plan.policies, &hidden).map_err(error::report)?;
        if let Some(metric) = &args.metric
            && report.comparison.metric(metric).is_none()
        {
            return Err(metrics::unknown(metric, &metrics::of(&report), out));
        }
        let look = stopping.look(&report.comparison).map_err(|why| miette!("--until-interval: {why}"))?;
        inform(&in_words(&look));
        if look.is_enough || seeds.get() == most {
            let mut group =
                Group::read(out).map_err(error::results)?.unwrap_or_else(|| Group::new(Vec::new()));
            group.caveats.push(chosen_seeds(&stopping, &look));
            group.write(out).map_err(error::results)?;
            return finish(out, (&plan.policies, &hidden), args.execution.json);
        }
    }
    unreachable!("the last look ends it")
}

/// Describes the changes against the baseline at an interim check of the seeds: "20 seeds:
/// queries.qct_mean_ms: abm -48.1 % ± 12.0".
fn in_words(look: &Look) -> String {
    let change = |(policy, change): &(String, Change)| format!("{policy} {}", change.in_words());
    let changes: Vec<String> = look.changes.iter().map(change).collect();
    format!("{} seeds: {} against the baseline: {}", look.seeds, look.metric, changes.join(", "))
}

/// Note for readers of the report: the number of seeds, and the rule that stopped adding seeds.
fn chosen_seeds(stopping: &Stopping, look: &Look) -> RunCaveat {
    let looks: Vec<String> = stopping.looks().iter().map(u32::to_string).collect();
    let wanted = 100.0 * stopping.half_width;
    let end = if look.is_enough { "was reached" } else { "was not reached" };
    RunCaveat {
        id: "seeds-by-interval".to_owned(),
        message: format!(
            "Seeds were added until half of the interval was at most {wanted} % of the baseline's mean, which {end}: {}. Together these intervals have 95 % over all looks (at {} seeds). \
             Those below have 95 % each and ignore the looks.",
            in_words(look),
            looks.join(", ")
        ),
        advice: format!("Quote the wider interval for {}; other metrics decided nothing.", look.metric),
    }
}

/// Formats a number of runs and a verb: "2 runs are".
pub(crate) fn count_with_verb(runs: usize) -> String {
    if runs == 1 { "1 run is".to_owned() } else { format!("{runs} runs are") }
}

/// Executes the planned runs, and reports their results.
/// The report includes the `finished` runs and omits the `hidden` runs.
fn execute(
    scenario: &Path,
    out: &Path,
    (plan, hidden): (&Plan, &[PathBuf]),
    finished: usize,
    how: &ExecutionArgs,
) -> miette::Result<()> {
    let failures = execute_all(scenario, out, plan, finished, how)?;
    finish(out, (&plan.policies, hidden), how.json)?;
    failed(plan, &failures)
}

/// Shows why some variants cannot run, before the other variants run.
pub(crate) fn say_what_is_refused(plan: &Plan) {
    for (label, why) in &plan.failed {
        let report = error::plan_part(why).wrap_err(format!("\"{label}\" cannot run; the others do"));
        say(format!("{report:?}").trim_end());
    }
}

/// Returns an error that names the runs without a result. The other runs of the comparison are
/// complete before this call.
pub(crate) fn failed(plan: &Plan, failures: &[String]) -> miette::Result<()> {
    let refused = plan.failed.iter().map(|(label, why)| format!("{label}: {why}"));
    let all: Vec<String> = refused.chain(failures.iter().cloned()).collect();
    if all.is_empty() {
        return Ok(());
    }
    let help =
        "the other runs are complete; fix the cause and repeat the command, which runs only the missing ones";
    Err(miette!(help = help, "without a result:\n{}", all.join("\n")))
}

/// Executes the planned runs without a report, and returns the failed runs with their causes.
/// The command fails if a run fails and no other run has a result.
pub(crate) fn execute_all(
    scenario: &Path,
    out: &Path,
    plan: &Plan,
    finished: usize,
    how: &ExecutionArgs,
) -> miette::Result<Vec<String>> {
    if !plan.reused.is_empty() {
        let names: Vec<_> = plan.reused.iter().filter_map(|dir| dir.strip_prefix(out).ok()).collect();
        let names: Vec<_> = names.iter().map(|dir| dir.display().to_string()).collect();
        say(&format!(
            "earlier runs of this scenario in {} are shown too: {}",
            out.display(),
            names.join(", ")
        ));
    }
    let earlier = RunResult::is_complete(out);
    let results = execute_each(scenario, &plan.jobs, how)?;
    let complete = results.iter().filter(|result| result.is_ok()).count();
    if interrupt::requested() && complete < plan.jobs.len() {
        return Err(match plan.jobs.as_slice() {
            [one] if one.dir == out => interrupt::report_single(out, earlier),
            jobs => interrupt::report(out, finished + complete, finished + jobs.len()),
        });
    }
    let there_is_more = complete + finished + plan.reused.len() > 0;
    let mut failures = Vec::new();
    for (job, result) in plan.jobs.iter().zip(results) {
        match result {
            Ok(()) => {}
            Err(why) if !there_is_more => return Err(why),
            Err(why) => {
                let place = job.dir.strip_prefix(out).unwrap_or(&job.dir).display();
                let help = why.help().map_or_else(String::new, |help| format!(" ({help})"));
                failures.push(format!("{place}: {why}{help}"));
            }
        }
    }
    Ok(failures)
}

/// Executes the command `report`.
pub(crate) fn report(args: &ReportArgs) -> miette::Result<()> {
    if let Some(sweep) = SweepPlan::reopen(&args.dir).map_err(error::plan)? {
        return report_sweep(&sweep, args);
    }
    if !args.metrics.is_empty() && args.table.is_none() {
        let help = "the figures of a run or a comparison are completion times: leave out --metric";
        return Err(miette!(help = help, "{} is no sweep", args.dir.display()));
    }
    let mut report = Report::load(&args.dir, &[]).map_err(error::report)?;
    if args.steady {
        return without_beginning(report, args.json);
    }
    if args.list_metrics {
        return print(&metrics::list(&metrics::of(&report)));
    }
    bufferlab_view::embed(&mut report).map_err(error::results)?;
    let written = report.write().map_err(error::report)?;
    let names = [report.comparison.policies.clone(), report.shown_labels()].concat();
    check_labels(&args.labels, &names)?;
    if let Some(folder) = &args.figures {
        let figures = report.write_figures(folder, args.style.of_figures(), &args.labels);
        say_figures(figures.map_err(error::report)?.len(), folder, "no flow outlived its run");
    }
    if let Some(folder) = &args.hpcc {
        let [run] = &report.runs[..] else {
            let help = "give the folder of one of its runs";
            return Err(miette!(
                help = help,
                "{} has several runs, and --hpcc writes one",
                args.dir.display()
            ));
        };
        let files = write_hpcc(&run.result, folder).map_err(error::report)?;
        inform(&format!(
            "fct.txt with {} flows and pfc.txt with {} pauses are in {}",
            files.flows,
            files.pauses,
            folder.display()
        ));
    }
    if let Some(table) = args.table {
        let text = report.document_table(table.format(), &args.metrics, &args.labels);
        return print(&text.map_err(|name| metrics::unknown(name, &metrics::of(&report), &args.dir))?);
    }
    if args.json {
        return print(&report.json().map_err(error::report)?);
    }
    print(&format!("{}\n", written[0].display()))
}

/// Executes the command `report` for the folder of a sweep.
fn report_sweep(sweep: &SweepPlan, args: &ReportArgs) -> miette::Result<()> {
    if args.hpcc.is_some() {
        let help = "give the folder of one of its runs";
        return Err(miette!(help = help, "{} is a sweep, and --hpcc writes one run", args.dir.display()));
    }
    if args.steady {
        let help = "give the folder of one of its points";
        return Err(miette!(help = help, "{} is a sweep, and --steady applies to runs", args.dir.display()));
    }
    let outcome = sweep.finish().map_err(error::plan)?;
    let known = metrics::of_sweep(sweep.out())?;
    if args.list_metrics {
        return print(&metrics::list(&known));
    }
    if let Some(name) = args.metrics.iter().find(|name| known.iter().all(|metric| metric.id != **name)) {
        return Err(metrics::unknown(name, &known, sweep.out()));
    }
    if let Some(folder) = &args.figures {
        let (metrics, labels) = (args.metrics.clone(), args.labels.clone());
        let wanted = FigureRequest { style: args.style.of_figures(), metrics, labels };
        let figures = sweep.write_figures(folder, &wanted).map_err(error::plan)?;
        say_figures(figures.len(), folder, "no metric has two points that differ from zero");
    }
    if let Some(table) = args.table {
        let tables = sweep.document_tables(table.format(), &args.metrics, &args.labels);
        return print(&tables.map_err(error::plan)?);
    }
    if args.json {
        return print(&outcome.json);
    }
    print(&format!("{}\n", sweep.out().join(SWEEP_HTML).display()))
}

/// Refuses labels of policies that the results do not have.
fn check_labels(labels: &[(String, String)], policies: &[String]) -> miette::Result<()> {
    match labels.iter().find(|(name, _)| !policies.contains(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let known: BTreeSet<&str> = policies.iter().map(String::as_str).collect();
            let known: Vec<&str> = known.into_iter().collect();
            let help = format!("the policies are {}", known.join(", "));
            Err(miette!(help = help, "no policy of the results is called \"{name}\""))
        }
    }
}

/// Prints the folder of the figures, or the reason why the command drew no figure.
fn say_figures(files: usize, folder: &Path, why_none: &str) {
    inform(&match files / FIGURE_FILES.len() {
        0 => format!("no figure in {}: {why_none}", folder.display()),
        1 => format!("1 figure in {}, as SVG, PDF, PNG and CSV", folder.display()),
        count => format!("{count} figures in {}, each as SVG, PDF, PNG and CSV", folder.display()),
    });
}

/// Executes `report --steady`, which excludes the warm-up from the results.
fn without_beginning(report: Report, as_json: bool) -> miette::Result<()> {
    let states = report.steady_states().map_err(error::report)?;
    let duration = report.runs.iter().map(|run| run.summary.duration_ns).max().unwrap_or(0);
    let steady = match steady_from(&states) {
        Some(from) if from > 0 => Report::load_from(&report.dir, &[], from).map_err(error::report)?,
        _ => report,
    };
    let text = steady_text(&states, duration);
    if as_json {
        inform(text.trim_end());
        return print(&steady.json().map_err(error::report)?);
    }
    print(&text)?;
    print("\n")?;
    print(&steady.text())
}

/// The folder of the results: `--out`, or the scenario's name and `ending` below `results/`.
pub(crate) fn out(args: &ExecutionArgs, scenario: &Scenario, ending: &str) -> PathBuf {
    let default = || Path::new("results").join(format!("{}{ending}", scenario.name));
    args.out.clone().unwrap_or_else(default)
}

/// Loads the scenario with the overrides of the command line.
pub(crate) fn load(args: &ScenarioArgs) -> miette::Result<Loaded> {
    load_as(args, None)
}

/// Loads the scenario with the overrides of the command line, then with a variant.
pub(crate) fn load_as(args: &ScenarioArgs, variant: Option<&Variant>) -> miette::Result<Loaded> {
    Ok(loader(args)?(variant, &[])?)
}

/// Returns the function by which a planner of runs loads the scenario. The function applies the
/// overrides of the command line, a variant, then further overrides.
pub(crate) fn loader(args: &ScenarioArgs) -> miette::Result<Box<Load<'_>>> {
    let text = if args.is_stdin() { Some(standard_input()?) } else { None };
    let shipped = if args.is_stdin() { None } else { shipped(args.file())? };
    Ok(Box::new(move |variant, then| {
        let overrides = args.changes();
        let file = shipped.as_ref().map_or(args.file(), |(_, file)| file);
        load_changed(file, text, &Changes { overrides: &overrides, variant, then })
    }))
}

/// Writes the scenario that the program contains to a temporary folder, if `path` is the name of
/// the scenario and no file has this path. Returns the folder and the path of the scenario.
fn shipped(path: &Path) -> miette::Result<Option<(TempDir, PathBuf)>> {
    let Some(name) = path.to_str().filter(|name| !path.exists() && bufferlab_reproduce::is_shipped(name))
    else {
        return Ok(None);
    };
    let folder = tempfile::tempdir().map_err(|why| miette!("cannot create a temporary folder: {why}"))?;
    bufferlab_reproduce::unpack_scenarios(folder.path()).map_err(|why| miette!("{why}"))?;
    let file = folder.path().join(format!("{name}.toml"));
    Ok(Some((folder, file)))
}

/// Reads all of standard input. The text is stored, because standard input can be read only once.
fn standard_input() -> miette::Result<&'static str> {
    static TEXT: OnceLock<String> = OnceLock::new();
    if let Some(text) = TEXT.get() {
        return Ok(text);
    }
    let text = bufferlab_document::files::document(io::stdin().lock()).map_err(|why| {
        let help = "expected a scenario in TOML; for a file named `-`, write ./-";
        miette!(help = help, "cannot read <stdin>: {why}")
    })?;
    Ok(TEXT.get_or_init(|| text))
}

/// Prints the warnings of a scenario on stderr.
pub(crate) fn warn(loaded: &Loaded) {
    for warning in &loaded.warnings {
        say_report(&miette::Report::new(warning.clone()));
    }
}

/// Shows each warning of the variants once, except for warnings of the scenario itself.
fn warn_of_variants(first: &Loaded, plan: &Plan) {
    let mut said: Vec<_> = first.warnings.iter().map(ToString::to_string).collect();
    for job in plan.jobs.iter().filter(|job| job.loaded.variant.is_some()) {
        for warning in &job.loaded.warnings {
            if !said.contains(&warning.to_string()) {
                said.push(warning.to_string());
                say_report(&miette::Report::new(warning.clone()));
            }
        }
    }
}

/// Executes all jobs, several at a time, until Ctrl-C. Returns the outcome of each job,
/// in the order of the jobs.
pub(crate) fn execute_each(
    scenario: &Path,
    jobs: &[Job],
    args: &ExecutionArgs,
) -> miette::Result<Vec<miette::Result<()>>> {
    interrupt::listen();
    say_what_needs_one_thread(jobs, args);
    let board = Board::new(jobs.len());
    let how = Execution { jobs: args.jobs, threads: args.threads, verify: args.verify };
    let results = bufferlab_lab::execute(jobs, &how, &board);
    board.clear();
    let of = |error| error::run(scenario, &error);
    Ok(results.map_err(of)?.into_iter().map(|result| result.map(|_| ()).map_err(of)).collect())
}

/// Prints why each run gets one thread although the option `--threads` requests several threads.
fn say_what_needs_one_thread(jobs: &[Job], args: &ExecutionArgs) {
    if args.threads.is_none_or(|threads| threads.get() == 1) {
        return;
    }
    let why = |job: &Job| {
        bufferlab_lab::fits(&job.loaded.scenario).ok()?;
        let mut simulation = Simulation::new(&job.loaded.scenario).ok()?;
        simulation.set_verify(args.verify);
        simulation.needs_one_thread(&job.loaded.scenario)
    };
    let mut reasons: Vec<_> = jobs.iter().filter_map(why).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for why in reasons {
        inform(&format!("one thread per run, although --threads asks for more: {why}"));
    }
}

/// Writes the report without the `hidden` runs, and prints the summary.
fn finish(out: &Path, (order, hidden): (&[String], &[PathBuf]), as_json: bool) -> miette::Result<()> {
    let mut report = Report::load_without(out, order, hidden).map_err(error::report)?;
    bufferlab_view::embed(&mut report).map_err(error::results)?;
    let written = report.write().map_err(error::report)?;
    print(&if as_json { report.json().map_err(error::report)? } else { report.text() })?;
    say_others(&report);
    clear_away(out);
    inform(&format!("results in {}, report in {}", out.display(), written[0].display()));
    Ok(())
}

/// Mentions the runs of the folder that the report omits.
pub(crate) fn say_others(report: &Report) {
    if let Some(others) = report.others_text() {
        say(&format!("{others}; --with-earlier shows them"));
    }
}

/// Removes unfinished runs that killed commands left in a folder of results, and reports the number
/// of removed runs.
pub(crate) fn clear_away(out: &Path) {
    match remove_leftovers(out) {
        0 => {}
        1 => inform("removed 1 unfinished run of a killed command"),
        runs => inform(&format!("removed {runs} unfinished runs of killed commands")),
    }
}
