//! `reproduce`: figures and tables of the papers, and what becomes of their statements.

use crate::args::ReproduceArgs;
use crate::error;
use crate::progress::Board;
use crate::{print, say};
use bufferlab_lab::Execution;
use bufferlab_reproduce::output::{records, write_experiment, write_ledger, write_whole};
use bufferlab_reproduce::{Experiment, Ledger, Plan, Registry, Results, ScaleName, Verdict, judge, run};
use miette::miette;
use std::fmt::Write;

/// `reproduce`.
pub(crate) fn reproduce(args: &ReproduceArgs) -> miette::Result<()> {
    let registry = match &args.registry {
        Some(folder) => Registry::load(folder),
        None => Registry::unpack(&args.out.join("registry")),
    };
    let registry = registry.map_err(error::reproduce)?;
    let scale = if args.scale == "paper" { ScaleName::Paper } else { ScaleName::Quick };
    let seeds = args.seeds.map(|seeds| seeds.get());
    if args.list {
        return print(&list(&registry.experiments, scale));
    }
    let mut ledger = Ledger::recorded().map_err(error::reproduce)?;
    let selected = registry.select(&args.names).map_err(error::reproduce)?;
    let plans: Vec<Plan> = selected.iter().map(|experiment| Plan::new(experiment, scale, seeds)).collect();
    let how = Execution { threads: args.jobs, verify: false };
    let (results, board) = run(plans, &args.out, &how, Board::new).map_err(error::reproduce)?;
    board.clear();
    let (mut text, mut failures) = (String::new(), Vec::new());
    for result in &results {
        let experiment = result.experiment();
        let verdicts: Vec<_> = experiment.claims.iter().map(|claim| judge(claim, result)).collect();
        write_experiment(&args.out.join(&experiment.id), result, &verdicts).map_err(error::reproduce)?;
        let _ = writeln!(text, "{} {}: {}", experiment.id, experiment.figure, experiment.title);
        for judged in &verdicts {
            let _ = writeln!(text, "  {:<13} {:<12} {}", judged.verdict, judged.id, judged.measured());
        }
        ledger.update(&records(result, &verdicts, args.date.as_deref().unwrap_or("not recorded")));
        failures.extend(result.failures().map(str::to_owned));
    }
    write_ledger(&args.out, &ledger).map_err(error::reproduce)?;
    if let Some(path) = &args.record {
        write_whole(path, &ledger.records_csv().map_err(error::reproduce)?).map_err(error::reproduce)?;
    }
    print(&text)?;
    print(&counted(&ledger, &results))?;
    say(&format!("figures, values and the ledger are in {}", args.out.display()));
    if failures.is_empty() {
        return Ok(());
    }
    let help =
        "the other runs are complete; mend the cause and repeat the command: only what is missing will run";
    Err(miette!(help = help, "{} runs failed:\n{}", failures.len(), failures.join("\n")))
}

/// One line per experiment: runs, statements.
fn list(experiments: &[Experiment], scale: ScaleName) -> String {
    let width = experiments.iter().map(|one| one.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for one in experiments {
        let runs = Plan::new(one, scale, None).points.len();
        let _ = writeln!(
            text,
            "{:<width$}  {:<10} {runs:>4} runs  {:>2} claims  {}",
            one.id,
            one.figure,
            one.claims.len(),
            one.title
        );
    }
    text
}

/// The verdicts of these experiments, and of the whole ledger.
fn counted(ledger: &Ledger, results: &[Results]) -> String {
    let here: Vec<_> = results
        .iter()
        .flat_map(|result| &result.experiment().claims)
        .map(|claim| claim.id.as_str())
        .collect();
    let mut of_these = [0_usize; Verdict::ALL.len()];
    for row in &ledger.rows {
        if here.contains(&row.claim.id.as_str()) {
            let verdict = row.evidence.verdict();
            let place = Verdict::ALL.iter().position(|known| *known == verdict).unwrap_or(0);
            of_these[place] += 1;
        }
    }
    let words = |counts: &[usize; 7]| {
        let words = Verdict::ALL.iter().zip(counts).filter(|(_, count)| **count > 0);
        words.map(|(verdict, count)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", ")
    };
    format!(
        "\nthese: {}\nall {} statements: {}\n",
        words(&of_these),
        ledger.rows.len(),
        words(&ledger.counts(None))
    )
}
