//! The command `reproduce`: figures and tables of the papers, and verdicts on the papers' claims.

use crate::args::ReproduceArgs;
use crate::error;
use crate::execute::clear_away;
use crate::progress::{Board, seconds};
use crate::speed::Forget;
use crate::{inform, interrupt, print};
use bufferlab_core::Profile;
use bufferlab_lab::Execution;
use bufferlab_params::suggestion;
use bufferlab_reproduce::output::{checked, panels, values_text, write_panels, write_whole};
use bufferlab_reproduce::{
    ClaimCheck, Conclusion, Cost, Estimates, Experiment, Keep, Ledger, Plan, Registry, Results, ScaleName,
    Verdict, conclude, disagreements, estimated_costs, key_quotes, multiverse, open_readings,
    record_ablations, record_universes, recorded_costs, run, verdicts_json, why,
};
use bufferlab_results::Claim;
use bufferlab_scenario::Setting;
use bufferlab_sim::Simulation;
use cpu_time::ThreadTime;
use miette::miette;
use std::fmt::Write;
use std::num::NonZero;
use std::path::Path;

/// `reproduce`.
pub(crate) fn reproduce(args: &ReproduceArgs) -> miette::Result<()> {
    let _claim = if args.list { None } else { Some(Claim::folder(&args.out).map_err(error::results)?) };
    let registry = match &args.registry {
        Some(folder) => Registry::load(folder),
        None => Registry::unpack(&args.out.join("registry")),
    };
    let registry = registry.map_err(error::reproduce)?;
    let scale = if args.scale == "paper" { ScaleName::Paper } else { ScaleName::Quick };
    let seeds = args.seeds.map(|seeds| seeds.get());
    let profile = args.profile.as_deref().map(|name| match name {
        "artifact" => Profile::Artifact,
        _ => Profile::Paper,
    });
    if args.list {
        let rate = packet_hops_per_second(&registry)?;
        let jobs = args.jobs.map_or(0, |jobs| jobs.get());
        let plans = Plan::all(&registry.experiments, scale, seeds, profile).map_err(error::reproduce)?;
        return print(&list(&plans, rate, jobs)?);
    }
    if !args.why.is_empty() {
        return ablations(args, &registry, scale);
    }
    let selected = registry.select(&args.names).map_err(error::reproduce)?;
    if let Some(values) = &args.values {
        return redraw(args, &selected, values);
    }
    if args.readings {
        return readings(args, &selected, scale);
    }
    let plans = Plan::all(selected, scale, seeds, profile).map_err(error::reproduce)?;
    let plans = plans.into_iter().map(|plan| plan.from_seed(args.first_seed)).collect();
    let how = Execution { jobs: args.jobs, threads: Some(NonZero::<usize>::MIN), verify: false };
    interrupt::listen();
    let (results, board) = run(plans, &args.out, &how, Board::new).map_err(error::reproduce)?;
    board.clear();
    let failed = results.iter().flat_map(Results::failures).count();
    if interrupt::requested() && failed > 0 {
        let runs = results.iter().map(|result| result.runs.len()).sum();
        return Err(interrupt::report(&args.out, runs - failed, runs));
    }
    let keep =
        args.record.as_deref().map(|table| Keep { table, date: args.date.as_deref().unwrap_or_default() });
    let found = conclude(&registry, &results, &args.out, keep).map_err(error::reproduce)?;
    let text = describe(&results, &found);
    let failures: Vec<String> = results.iter().flat_map(Results::failures).map(ToString::to_string).collect();
    if args.json {
        print(&verdicts_json(&results, &found))?;
    } else {
        print(&text)?;
        let is_own = args.registry.is_some();
        for result in results.iter().filter(|result| is_own || result.experiment().claims().is_empty()) {
            print(&values_text(&Estimates::from_results(result)))?;
        }
        print(&verdict_counts(&found, &results))?;
    }
    clear_away(&args.out);
    inform(&format!("figures, values and the ledger are in {}", args.out.display()));
    if failures.is_empty() {
        return Ok(());
    }
    let help =
        "the other runs are complete; fix the cause and repeat the command, which runs only the missing ones";
    Err(miette!(help = help, "{} runs failed:\n{}", failures.len(), failures.join("\n")))
}

/// Executes `reproduce NAME --values FILE`.
fn redraw(args: &ReproduceArgs, selected: &[&Experiment], values: &Path) -> miette::Result<()> {
    let [experiment] = selected else {
        let help =
            "for example `bufferlab reproduce abm/fig6 --values results/reproduce/abm/fig6/values.csv`";
        return Err(miette!(help = help, "--values draws one experiment, and {} are named", selected.len()));
    };
    let panels = panels(&Estimates::read(experiment, values).map_err(error::reproduce)?);
    let folder = args.out.join(&experiment.id);
    write_panels(&folder, &panels).map_err(error::reproduce)?;
    clear_away(&args.out);
    inform(&format!("{} panels are in {}", panels.len(), folder.display()));
    Ok(())
}

/// Executes `reproduce NAMES --readings`.
fn readings(args: &ReproduceArgs, selected: &[&Experiment], scale: ScaleName) -> miette::Result<()> {
    let open = open_readings().map_err(error::reproduce)?;
    let how = Execution { jobs: args.jobs, threads: Some(NonZero::<usize>::MIN), verify: false };
    let seeds = args.seeds.map(|seeds| seeds.get());
    interrupt::listen();
    let mut judged = 0;
    for experiment in selected.iter().filter(|one| !one.claims().is_empty()) {
        let found = multiverse(experiment, &open, (scale, seeds), (&args.out, &how), Board::new)
            .map_err(error::reproduce)?;
        judged += found.len();
        for universe in &found {
            print(&format!("{}\n", universe.sentence()))?;
        }
        if interrupt::requested() {
            let help = "repeat the command: it reuses the finished runs";
            return Err(miette!(help = help, "interrupted in {}", experiment.id));
        }
        if let Some(table) = &args.record {
            let date = args.date.as_deref().unwrap_or_default();
            record_universes(table, &found, (scale, date)).map_err(error::reproduce)?;
        }
    }
    clear_away(&args.out);
    if judged == 0 {
        inform("claims/open-readings.csv has no reading of these experiments");
    }
    Ok(())
}

/// Executes `reproduce --why CLAIM`.
fn ablations(args: &ReproduceArgs, registry: &Registry, scale: ScaleName) -> miette::Result<()> {
    let setting = |(key, value): &(String, String)| {
        Setting::of_text(key, value).map_err(|why| {
            let help = "for example --against switch.policy.filter=events; a bare word stands for a string";
            miette!(help = help, "--against {key}={value}: not a TOML value: {why}")
        })
    };
    let against = args.against.iter().map(setting).collect::<miette::Result<Vec<_>>>()?;
    let said = key_quotes().map_err(error::reproduce)?;
    let how = Execution { jobs: args.jobs, threads: Some(NonZero::<usize>::MIN), verify: false };
    interrupt::listen();
    let seeds = args.seeds.map(|seeds| seeds.get());
    for (experiment, claim) in named_claims(&args.why, registry)? {
        let found = why((experiment, claim), &against, (scale, seeds), (&args.out, &how), Board::new)
            .map_err(error::reproduce)?;
        let text = format!("# {}\n\n{}.\n\n{}", claim.id, found.answer(&said), found.markdown());
        let folder = args.out.join("why");
        std::fs::create_dir_all(&folder)
            .map_err(|source| miette!("cannot make {}: {source}", folder.display()))?;
        let path = folder.join(format!("{}.md", claim.id));
        write_whole(&path, text.clone()).map_err(error::reproduce)?;
        if let Some(table) = &args.record {
            let told: Vec<_> = args.against.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let against = if told.is_empty() { "artifact".to_owned() } else { told.join(", ") };
            let date = args.date.as_deref().unwrap_or_default();
            record_ablations(table, &[found], &against, date).map_err(error::reproduce)?;
        }
        print(&format!("{text}\n"))?;
        clear_away(&args.out);
        inform(&format!("the table is in {}", path.display()));
    }
    Ok(())
}

/// The claims that `--why` names, each with its experiment.
fn named_claims<'a>(
    names: &[String],
    registry: &'a Registry,
) -> miette::Result<Vec<(&'a Experiment, &'a ClaimCheck)>> {
    let known =
        || registry.experiments.iter().flat_map(|one| one.claims().iter().map(move |claim| (one, claim)));
    let mut found = Vec::new();
    for name in names {
        if name == "disputed" {
            let ledger = Ledger::recorded().map_err(error::reproduce)?;
            let disagreements = disagreements(&ledger);
            found.extend(known().filter(|(_, claim)| disagreements.contains(&claim.id)));
            continue;
        }
        let Some(pair) = known().find(|(_, claim)| claim.id.eq_ignore_ascii_case(name)) else {
            let help = match suggestion(name, known().map(|(_, claim)| claim.id.as_str())) {
                Some(near) => format!("did you mean {near}?"),
                None => {
                    "claims/claims.csv lists the statements; those that tests check have no readings to compare"
                        .to_owned()
                }
            };
            return Err(miette!(help = help, "no experiment judges a statement \"{name}\""));
        };
        found.push(pair);
    }
    Ok(found)
}

/// Text with the verdicts of each experiment about its claims,
/// and the number of claims that tests check.
fn describe(results: &[Results], found: &Conclusion) -> String {
    let mut text = String::new();
    for (result, verdicts) in results.iter().zip(&found.judged) {
        let experiment = result.experiment();
        let _ = writeln!(text, "{} {}: {}", experiment.id, experiment.figure, experiment.title);
        for judged in verdicts {
            let _ = writeln!(text, "  {:<13} {:<12} {}", judged.verdict, judged.id, judged.measured());
            if let Some(claim) = found.ledger.claim(&judged.id) {
                let _ = writeln!(text, "  {:<26} {}", "", claim.statement());
            }
        }
        let tested = checked(experiment);
        if tested > 0 {
            let verb = if tested == 1 { "statement about it is" } else { "statements about it are" };
            let _ = writeln!(text, "  {tested} {verb} checked by tests; its page says what they found");
        }
    }
    text
}

/// Packet-hops per second of one core of this machine, measured by a shortened run of
/// the first experiment.
fn packet_hops_per_second(registry: &Registry) -> miette::Result<f64> {
    let Some(first) = registry.experiments.iter().find_map(Experiment::runs) else { return Ok(f64::NAN) };
    let overrides = [("duration".to_owned(), "30 ms".to_owned())];
    let loaded = bufferlab_scenario::load(&first.scenario, &overrides)?;
    let simulation =
        Simulation::new(&loaded.scenario).map_err(|why| error::simulation(&first.scenario, why))?;
    let start = ThreadTime::now();
    let totals =
        simulation.run(&mut Forget, &mut |_| ()).map_err(|why| error::simulation(&first.scenario, why))?;
    Ok(totals.packet_hops as f64 / start.elapsed().as_secs_f64())
}

/// Prints one line per experiment: runs, claims, and the time estimated for this machine from
/// the recorded cost.
fn list(plans: &[Plan], rate: f64, jobs: usize) -> miette::Result<String> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let cores = if jobs == 0 { cores } else { jobs.min(cores) };
    let (known, estimates) = (recorded_costs(), estimated_costs());
    let (known, estimates) = (known.map_err(error::reproduce)?, estimates.map_err(error::reproduce)?);
    let width = plans.iter().map(|plan| plan.experiment.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for plan in plans {
        let (one, runs, profile) = (&plan.experiment, plan.points.len(), plan.profile_name());
        let of = |costs: &[Cost]| {
            let cost = costs.iter().find(|cost| cost.key() == (&one.id, plan.scale.name(), profile))?;
            // The record may have another number of seeds, so the estimate scales
            // the recorded packet-hops.
            let packet_hops = cost.packet_hops as f64 / cost.runs.max(1) as f64 * runs as f64;
            Some(seconds(packet_hops / rate / cores as f64))
        };
        let time = match (of(&known), of(&estimates)) {
            (Some(time), _) => time,
            (None, Some(time)) => format!("~{time}"),
            (None, None) if one.analytical().is_some() => "at once".to_owned(),
            (None, None) => "never run".to_owned(),
        };
        let _ = writeln!(
            text,
            "{:<width$}  {:<14} {runs:>4} runs  {:>2} claims  {time:>9}  {}",
            one.id,
            one.figure,
            one.claims().len(),
            one.title
        );
    }
    Ok(text)
}

/// Text with the counts of verdicts, of these runs and of the whole ledger.
fn verdict_counts(found: &Conclusion, results: &[Results]) -> String {
    let ledger = &found.ledger;
    if ledger.rows.is_empty() {
        return "\nthese experiments have no claims to judge\n".to_owned();
    }
    let mut of_these = [0_usize; Verdict::COUNT];
    for judged in found.judged.iter().flatten() {
        of_these[Verdict::ALL.iter().position(|known| *known == judged.verdict).unwrap_or(0)] += 1;
    }
    let words = |counts: &[usize; Verdict::COUNT]| {
        let words = Verdict::ALL.iter().zip(counts).filter(|(_, count)| **count > 0);
        words.map(|(verdict, count)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", ")
    };
    let none = of_these.iter().all(|count| *count == 0);
    let own = if none { "no statements of their own".to_owned() } else { words(&of_these) };
    let mut text = format!("\nthese experiments: {own}\n");
    for paper in ledger.papers() {
        let named = results.iter().any(|result| {
            let name = result.experiment().paper();
            paper.to_lowercase().contains(name)
        });
        if named {
            let _ =
                writeln!(text, "{}, with what tests prove: {}", paper, words(&ledger.counts(Some(paper))));
        }
    }
    let _ = writeln!(text, "all {} statements: {}", ledger.rows.len(), words(&ledger.counts(None)));
    text
}
