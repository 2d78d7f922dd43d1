//! The command `explain` explains why a packet was dropped, marked or evicted. The command runs the
//! scenario up to the event.

mod path;

use crate::args::{EventKind, ExplainArgs, ScenarioArgs};
use crate::execute::{load_as, warn};
use crate::progress::Board;
use crate::{error, print};
use bufferlab_lab::{Watcher, explanation_text, fits};
use bufferlab_report::nearest_pause_text;
use bufferlab_results::{ExplanationRecord, RunResult, SCENARIO_FILE, Totals, explanations_json};
use bufferlab_scenario::{EXPLAINED, Scenario};
use bufferlab_sim::{ExplainRequest, ExplainedEvent, Explanations, Simulation};
use bufferlab_units::Time;
use miette::{IntoDiagnostic, miette};

/// Executes the command `explain`.
pub(crate) fn explain(args: &ExplainArgs) -> miette::Result<()> {
    let place = scenario_of(&args.scenario)?;
    let loaded = load_as(&place, args.variant.as_ref())?;
    warn(&loaded);
    let scenario = &loaded.scenario;
    if args.critical_path {
        return path::explain(args, place.file(), scenario);
    }
    let request = request(args, &scenario.topology.switches)?;
    fits(&watched(scenario)).map_err(|why| error::run(place.file(), &why))?;
    let mut simulation = Simulation::new(scenario).map_err(|e| error::simulation(place.file(), e))?;
    let classes = simulation.classes().to_vec();
    simulation.explain(request);
    let board = Board::new(1);
    let mut sink = Explanations::default();
    let done = simulation.run(&mut sink, &mut |progress| board.update(0, progress));
    board.clear();
    let totals = done.map_err(|e| error::simulation(place.file(), e))?;
    if sink.0.is_empty() {
        let event = ExplainedEvent::from(args.event).name();
        if let (EventKind::Pause, Some(nearest)) = (args.event, Totals::from(&totals).nearest_pause) {
            return Err(miette!(
                help = "raise the load, or choose a smaller alpha or a smaller buffer",
                "{}",
                nearest_pause_text(&nearest)
            ));
        }
        let help = "choose another --event, --switch, --port or --after, or a smaller --nth";
        return Err(match args.nth.get() {
            1 => miette!(help = help, "the run has no such {event}"),
            nth => miette!(help = help, "the run has no such {event} with number {nth}: it has fewer"),
        });
    }
    let records = sink.0.iter().map(|e| ExplanationRecord::new(e, &scenario.topology.switches, &classes));
    let records: Vec<ExplanationRecord> = records.collect();
    if args.json {
        return print(&explanations_json(&records).into_diagnostic()?);
    }
    print(&records.iter().map(explanation_text).collect::<Vec<_>>().join("\n"))
}

/// Returns the scenario with which the command estimates the memory of a run with shadow policies.
fn watched(scenario: &Scenario) -> Scenario {
    let mut watched = scenario.clone();
    watched.output.explain_losses = Some(1);
    watched
}

/// Returns the scenario and seed of a folder of results, so that the run repeats the folder's
/// packets. If the path is not a folder of results, the arguments are returned unchanged.
fn scenario_of(args: &ScenarioArgs) -> miette::Result<ScenarioArgs> {
    let inside = args.file().join(SCENARIO_FILE);
    if args.is_stdin() || !inside.is_file() {
        return Ok(args.clone());
    }
    if RunResult::is_complete(args.file()) {
        RunResult::open(args.file()).and_then(|run| run.check_scenario()).map_err(error::results)?;
    }
    Ok(args.with_file(inside))
}

fn request(args: &ExplainArgs, switches: &[String]) -> miette::Result<ExplainRequest> {
    let switch = match &args.switch {
        None => None,
        Some(name) => Some(switches.iter().position(|known| known == name).ok_or_else(|| {
            miette!(help = format!("switches: {}", switches.join(", ")), "there is no switch \"{name}\"")
        })? as u32),
    };
    EXPLAINED.check(args.count.get()).map_err(|beyond| {
        miette!(help = "explain fewer, then those behind them with --nth", "--count: {beyond}")
    })?;
    let from = match &args.after {
        None => Time::ZERO,
        Some(text) => bufferlab_scenario::parse_time(text)
            .map_err(|e| miette!(help = "write a time with its unit: --after \"12.5 ms\"", "--after: {e}"))?,
    };
    Ok(ExplainRequest {
        event: args.event.into(),
        switch,
        port: args.port,
        from,
        skip: args.nth.get() - 1,
        count: args.count.get(),
        then_stop: true,
    })
}
