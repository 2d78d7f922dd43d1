//! The command `sweep` runs a grid over keys of a scenario, for several policies and seeds. The
//! command reuses finished runs.

use crate::args::SweepArgs;
use crate::execute::{clear_away, count_with_verb, execute_each, load, loader, out, warn};
use crate::{error, inform, interrupt, print};
use bufferlab_lab::{SWEEP_CSV, SWEEP_HTML, SweepPlan, SweepRequest};
use bufferlab_results::Claim;
use miette::{WrapErr, miette};

/// Executes the command `sweep`.
pub(crate) fn sweep(args: &SweepArgs) -> miette::Result<()> {
    let first = load(&args.scenario)?;
    warn(&first);
    let request = SweepRequest {
        scenario_file: args.scenario.file().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        vary: args.vary.clone(),
        policies: args.choices(),
        seeds: args.execution.seeds(),
        out: out(&args.execution, &first.scenario, "-sweep"),
        replace: args.replace,
    };
    let _claim = Claim::folder(&request.out).map_err(error::results)?;
    let plan = SweepPlan::new(&*loader(&args.scenario)?, request)
        .map_err(error::plan)
        .wrap_err("the sweep was not started")?;
    if plan.reused > 0 {
        inform(&format!("{} there already", count_with_verb(plan.reused)));
    }
    let mut failed = plan.failed.clone();
    let results = execute_each(args.scenario.file(), &plan.jobs, &args.execution)?;
    let complete = results.iter().filter(|result| result.is_ok()).count();
    if interrupt::requested() && complete < plan.jobs.len() {
        return Err(interrupt::report(plan.out(), complete + plan.reused, plan.jobs.len() + plan.reused));
    }
    for (job, result) in plan.jobs.iter().zip(results) {
        if let Err(why) = result {
            failed.push(format!("{}: {why}", plan.place(job)));
        }
    }
    let outcome = plan.finish().map_err(error::plan)?;
    print(if args.execution.json { &outcome.json } else { &outcome.text })?;
    clear_away(plan.out());
    inform(&format!("points in {}, means in {SWEEP_CSV}, charts in {SWEEP_HTML}", plan.out().display()));
    if failed.is_empty() {
        return Ok(());
    }
    let help = "the other points are complete; fix the cause and repeat the command, which runs only the missing ones";
    Err(miette!(
        help = help,
        "{} failed:\n{}",
        count_with_verb(failed.len()).replace(" are", "").replace(" is", ""),
        failed.join("\n")
    ))
}
