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
use bufferlab_reproduce::expression::Values;
use bufferlab_reproduce::output::{checked, panels, values_text, write_panels, write_whole};
use bufferlab_reproduce::{
    Checked, ClaimCheck, Conclusion, Cost, Estimates, Evidence, Experiment, Keep, Ledger, Plan, Registry,
    ReproduceError, Results, ScaleName, Selection, Survival, Verdict, conclude_with_sets, disagreements,
    effects_of_means, estimated_costs, key_quotes, multiverse, open_readings, record_ablations,
    record_universes, recorded_costs, run, verdicts_json, why, write_package,
};
use bufferlab_results::Claim;
use bufferlab_scenario::Setting;
use bufferlab_sim::Simulation;
use cpu_time::ThreadTime;
use miette::miette;
use std::fmt::Write;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

/// Executes the command `reproduce`.
pub(crate) fn reproduce(args: &ReproduceArgs) -> miette::Result<()> {
    if let Some(folder) = &args.package {
        let files = write_package(folder).map_err(error::reproduce)?;
        inform(&format!("{files} files are in {0}; `bufferlab verify {0}` checks them", folder.display()));
        return Ok(());
    }
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
    let ledger = Ledger::recorded().map_err(error::reproduce)?;
    let selected = Selection::new(&args.names, &registry, &ledger).map_err(error::reproduce)?;
    let tested: Vec<_> = selected.tested.iter().map(|row| Checked::new(row, &registry)).collect();
    if let Some(values) = &args.values {
        return redraw(args, (&selected, scale, profile), (&ledger, &tested), values);
    }
    if args.readings {
        return readings(args, &selected, scale);
    }
    let plans = plans(&selected, (scale, profile), args).map_err(error::reproduce)?;
    judge_runs(args, &registry, &plans, (&ledger, &tested))
}

/// Executes the runs of all sets of seeds, judges the statements on these runs, and prints the
/// verdicts.
fn judge_runs(
    args: &ReproduceArgs,
    registry: &Registry,
    plans: &[Plan],
    recorded: (&Ledger, &[Checked<'_>]),
) -> miette::Result<()> {
    let how = Execution { jobs: args.jobs, threads: Some(NonZero::<usize>::MIN), verify: false };
    interrupt::listen();
    let sets = 0..args.seed_sets.get();
    let of_sets = sets.flat_map(|set| plans.iter().map(move |plan| plan.clone().from_set(set))).collect();
    let (mut results, board) = run(of_sets, &args.out, &how, Board::new).map_err(error::reproduce)?;
    board.clear();
    let failures: Vec<String> = results.iter().flat_map(Results::failures).map(ToString::to_string).collect();
    if interrupt::requested() && !failures.is_empty() {
        let runs = results.iter().map(|result| result.runs.len()).sum();
        return Err(interrupt::report(&args.out, runs - failures.len(), runs));
    }
    let mut others: Vec<Vec<Results>> = Vec::new();
    while results.len() > plans.len() {
        others.insert(0, results.split_off(results.len() - plans.len()));
    }
    let keep =
        args.record.as_deref().map(|table| Keep { table, date: args.date.as_deref().unwrap_or_default() });
    let found = conclude_with_sets(registry, (&results, &others), &args.out, keep);
    let found = found.map_err(error::reproduce)?;
    report(args, (&results, &found), recorded)?;
    clear_away(&args.out);
    if !results.is_empty() {
        inform(&format!("figures, values and the ledger are in {}", args.out.display()));
    }
    complete(&failures, recorded.1)
}

/// Plans the runs of whole experiments, then the runs of single statements.
fn plans(
    selected: &Selection<'_>,
    (scale, profile): (ScaleName, Option<Profile>),
    args: &ReproduceArgs,
) -> Result<Vec<Plan>, ReproduceError> {
    let seeds = args.seeds.map(|seeds| seeds.get());
    let mut plans = Plan::all(selected.experiments.iter().copied(), scale, seeds, profile)?;
    for (experiment, ids) in &selected.parts {
        let of_part = Plan::all([*experiment], scale, seeds, profile)?;
        plans.extend(of_part.into_iter().map(|plan| plan.only_rows(ids)));
    }
    Ok(plans.into_iter().map(|plan| plan.from_seed(args.first_seed)).collect())
}

/// Prints the verdicts on the statements that a command judged.
fn report(
    args: &ReproduceArgs,
    (results, found): (&[Results], &Conclusion),
    (recorded, tested): (&Ledger, &[Checked<'_>]),
) -> miette::Result<()> {
    if args.json {
        return print(&verdicts_json(results, found, tested));
    }
    print(&describe(results, found, recorded))?;
    print(&describe_tested(tested))?;
    let is_own = args.registry.is_some();
    for result in results.iter().filter(|result| is_own || result.experiment().claims().is_empty()) {
        print(&values_text(&Estimates::from_results(result)))?;
    }
    if results.iter().any(|result| result.plan.rows.is_empty()) {
        print(&verdict_counts(found, results))?;
    }
    print(&survival(&found.survivals))
}

/// Formats the number of verdicts that change with other sets of seeds, and lists the statements
/// with these verdicts.
fn survival(survivals: &[Survival]) -> String {
    if survivals.is_empty() {
        return String::new();
    }
    let changed: Vec<_> = survivals.iter().filter(|one| one.changes()).collect();
    let turned = survivals.iter().filter(|one| one.turns()).count();
    let all = survivals.len();
    let mut text = format!(
        "\n{} of {all} statements change with other seeds, {turned} of them from PASS to FAIL\n",
        changed.len()
    );
    for one in changed {
        let verdicts: Vec<_> = one.verdicts.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "  {:<12} {}", one.id, verdicts.join(", "));
    }
    text
}

/// Returns an error if runs failed, or if a test of the program has a wrong result.
fn complete(failures: &[String], tested: &[Checked<'_>]) -> miette::Result<()> {
    if !failures.is_empty() {
        let help = "the other runs are complete; fix the cause and repeat the command, which runs only the missing ones";
        return Err(miette!(help = help, "{} runs failed:\n{}", failures.len(), failures.join("\n")));
    }
    let wrong = tested.iter().find(|one| one.ran.iter().any(|(_, found)| found.is_err()));
    wrong.map_or(Ok(()), |one| {
        let help = "this is a bug in bufferlab, please report it";
        Err(miette!(help = help, "{} does not hold as its test says", one.row.claim.id))
    })
}

/// Executes `reproduce NAMES --values FILE`: draws experiments from recorded means, and computes
/// the effects of their statements from these means.
fn redraw(
    args: &ReproduceArgs,
    (selected, scale, profile): (&Selection<'_>, ScaleName, Option<Profile>),
    (ledger, tested): (&Ledger, &[Checked<'_>]),
    values: &Path,
) -> miette::Result<()> {
    let whole = selected.experiments.iter().map(|one| (*one, Vec::new()));
    let all: Vec<_> = whole.chain(selected.parts.iter().cloned()).collect();
    let is_file = values.as_os_str() != RECORDED && !values.is_dir();
    if is_file && all.len() > 1 {
        let help = "name one experiment, or give `recorded` or a folder such as claims/values";
        return Err(miette!(help = help, "--values FILE draws one experiment, and {} are named", all.len()));
    }
    let (mut missing, mut at_paper_scale) = (Vec::new(), Vec::new());
    for (experiment, rows) in &all {
        let profile = profile.unwrap_or(Profile::Paper);
        let estimates = match values {
            recorded if recorded.as_os_str() == RECORDED => Estimates::recorded(experiment, scale, profile),
            folder if folder.is_dir() => Estimates::in_folder(experiment, folder, scale, profile),
            file => Estimates::read(experiment, file).map(Some),
        };
        let Some(estimates) = estimates.map_err(error::reproduce)? else {
            missing.push(experiment.id.as_str());
            continue;
        };
        let is_void = |id: &str| {
            let mut records =
                ledger.records().filter(|record| record.id == id && record.scale == scale.name());
            !is_file && records.any(|one| one.verdict == Verdict::Void && one.profile == profile.word())
        };
        draw(args, &estimates, rows, is_void)?;
        if scale == ScaleName::Quick && values.as_os_str() == RECORDED {
            let of_paper = Estimates::recorded(experiment, ScaleName::Paper, profile);
            at_paper_scale.extend(of_paper.map_err(error::reproduce)?.map(|_| experiment.id.as_str()));
        }
    }
    if !at_paper_scale.is_empty() {
        let names = at_paper_scale.join(", ");
        inform(&format!("values at the paper's scale are recorded for {names}: add --scale paper"));
    }
    print(&describe_tested(tested))?;
    clear_away(&args.out);
    if !missing.is_empty() {
        let text = format!("no values are recorded at scale {} for {}", scale.name(), missing.join(", "));
        if missing.len() == all.len() {
            let help = "leave --values out to run it; a computed figure needs no values";
            return Err(miette!(help = help, "{text}"));
        }
        inform(&text);
    }
    Ok(())
}

/// Value of `--values` that selects the recorded values inside the program.
const RECORDED: &str = "recorded";

/// Draws the panels of an experiment, and prints the effects of the statements in `rows` (of all
/// statements if `rows` is empty). `is_void` returns whether the values of a statement are from an
/// earlier version of the experiment.
fn draw(
    args: &ReproduceArgs,
    estimates: &Estimates,
    rows: &[String],
    is_void: impl Fn(&str) -> bool,
) -> miette::Result<()> {
    let experiment = estimates.experiment();
    let panels = panels(estimates);
    let folder = args.out.join(&experiment.id);
    write_panels(&folder, &panels).map_err(error::reproduce)?;
    let means: Arc<dyn Values> = Arc::new(estimates.clone());
    let mut text = format!("{} {}: {}\n", experiment.id, experiment.figure, experiment.title);
    for claim in experiment.claims().iter().filter(|claim| rows.is_empty() || rows.contains(&claim.id)) {
        let void = if is_void(&claim.id) { "; VOID: these values are of an earlier experiment" } else { "" };
        let _ = writeln!(text, "  {:<12} {}{void}", claim.id, effects_of_means(claim, &means));
    }
    print(&text)?;
    inform(&format!("{} panels are in {}", panels.len(), folder.display()));
    Ok(())
}

/// Executes `reproduce NAMES --readings`, which judges statements under each reading that a paper
/// leaves open.
fn readings(args: &ReproduceArgs, selected: &Selection<'_>, scale: ScaleName) -> miette::Result<()> {
    let open = open_readings().map_err(error::reproduce)?;
    let how = Execution { jobs: args.jobs, threads: Some(NonZero::<usize>::MIN), verify: false };
    let seeds = args.seeds.map(|seeds| seeds.get());
    interrupt::listen();
    let mut judged = 0;
    let parts = selected.parts.iter().map(|(one, ids)| one.only_claims(ids));
    let whole = selected.experiments.iter().copied().cloned();
    let all: Vec<Experiment> = whole.chain(parts).collect();
    for experiment in all.iter().filter(|one| !one.claims().is_empty()) {
        let found = multiverse(experiment, &open, (scale, seeds), (&args.out, &how), Board::new)
            .map_err(error::reproduce)?;
        judged += found.len();
        refuse_interrupted(experiment)?;
        for universe in &found {
            print(&format!("{}\n", universe.sentence()))?;
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

/// Refuses the verdicts of an interrupted command, which lacks runs.
fn refuse_interrupted(experiment: &Experiment) -> miette::Result<()> {
    if interrupt::requested() {
        let help = "repeat the command: it reuses the finished runs";
        return Err(miette!(help = help, "interrupted in {}", experiment.id));
    }
    Ok(())
}

/// Executes `reproduce --why CLAIM`, which explains the verdict on a claim.
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
        let has_code = experiment.runs().is_some_and(|runs| runs.artifact.is_some());
        if against.is_empty() && !has_code {
            why_of_readings(args, experiment, &claim.id, scale)?;
            continue;
        }
        let found = why((experiment, claim), &against, (scale, seeds), (&args.out, &how), Board::new)
            .map_err(error::reproduce)?;
        refuse_interrupted(experiment)?;
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

/// Explains the verdict on a claim of a paper without public code, by the settings that the paper
/// leaves open.
fn why_of_readings(
    args: &ReproduceArgs,
    experiment: &Experiment,
    id: &str,
    scale: ScaleName,
) -> miette::Result<()> {
    let open = open_readings().map_err(error::reproduce)?;
    let how = Execution { jobs: args.jobs, threads: Some(NonZero::<usize>::MIN), verify: false };
    let seeds = args.seeds.map(|seeds| seeds.get());
    let one = experiment.only_claims(&[id.to_owned()]);
    let found =
        multiverse(&one, &open, (scale, seeds), (&args.out, &how), Board::new).map_err(error::reproduce)?;
    refuse_interrupted(experiment)?;
    let Some(universe) = found.first() else {
        let help = "give one: --against KEY=VALUE";
        return Err(miette!(help = help, "claims/open-readings.csv has no other reading for {id}"));
    };
    print(&format!("# {id}\n\n{}.\n\n{}\n", universe.answer(), universe.markdown()))?;
    if let Some(table) = &args.record {
        let date = args.date.as_deref().unwrap_or_default();
        record_universes(&table.with_file_name("multiverse.csv"), &found, (scale, date))
            .map_err(error::reproduce)?;
    }
    clear_away(&args.out);
    Ok(())
}

/// Returns the claims that the option `--why` names, each with its experiment.
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
fn describe(results: &[Results], found: &Conclusion, recorded: &Ledger) -> String {
    let mut text = String::new();
    for (result, verdicts) in results.iter().zip(&found.judged) {
        let (experiment, plan) = (result.experiment(), &result.plan);
        let is_part = !plan.rows.is_empty();
        let runs = if is_part { format!(" ({} runs)", plan.points.len()) } else { String::new() };
        let _ = writeln!(text, "{} {}: {}{runs}", experiment.id, experiment.figure, experiment.title);
        for judged in verdicts {
            let _ = writeln!(text, "  {:<13} {:<12} {}", judged.verdict, judged.id, judged.measured());
            if let Some(claim) = found.ledger.claim(&judged.id) {
                let _ = writeln!(text, "  {:<26} {}", "", claim.statement());
            }
            if is_part && let Some(line) = recorded_line(recorded, &judged.id) {
                let _ = writeln!(text, "  {:<26} {line}", "");
            }
        }
        let tested = if is_part { 0 } else { checked(experiment) };
        if tested > 0 {
            let verb = if tested == 1 { "statement about it is" } else { "statements about it are" };
            let _ = writeln!(text, "  {tested} {verb} checked by tests; its page says what they found");
        }
    }
    text
}

/// Formats the recorded verdict on a statement in a line.
fn recorded_line(recorded: &Ledger, id: &str) -> Option<String> {
    let row = recorded.rows.iter().find(|row| row.claim.id == id)?;
    match row.evidence() {
        Evidence::Runs(record) => Some(format!(
            "recorded: {} {} ({} seeds, scale {}, {})",
            record.verdict, record.measured, record.seeds, record.scale, record.date
        )),
        Evidence::Test(test) => Some(format!("recorded by a test: {} {}", test.verdict, test.measured)),
        Evidence::None => None,
    }
}

/// Formats the statements that tests judge, each with the findings of its test.
fn describe_tested(tested: &[Checked<'_>]) -> String {
    let mut text = String::new();
    for one in tested {
        let claim = &one.row.claim;
        let _ = writeln!(text, "{} {}: {}", claim.paper, claim.figure_table_section, claim.statement());
        let mut lines = one.lines().into_iter();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "  {:<13} {:<12} {first}", one.verdict(), claim.id);
        for line in lines {
            let _ = writeln!(text, "  {:<26} {line}", "");
        }
    }
    text
}

/// Packet-hops per second of one core of this machine, from a shortened run of the first
/// experiment.
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
            // The recorded runs may have another number of seeds, so the estimate scales the
            // recorded packet-hops.
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

/// Formats the number of each verdict, in this command's runs and in the whole ledger of verdicts.
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
