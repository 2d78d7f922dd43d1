//! `sonic tune`: the loop around the tuner, with a clock and an end.

mod ending;

use super::what_if::wrong;
use super::{load_from, warn};
use crate::sonic_args::TuneArgs;
use crate::{inform, print};
use bufferlab_operator::store::Store;
use bufferlab_operator::tune::{Daemon, Event, Settings, recover};
use ending::Ending;
use miette::miette;
use std::time::{Duration, Instant};

/// Ctrl-C is noticed within this time.
const NAP: Duration = Duration::from_millis(100);

pub(super) fn tune(args: &TuneArgs) -> miette::Result<()> {
    if args.apply {
        let mut store = Store::new(&args.redis);
        let recovered = recover(&mut store, &args.journal).map_err(wrong)?;
        events(&recovered, 0.0, args.json)?;
    }
    let (_, config) = load_from(&[], Some(&args.redis))?.remove(0);
    warn(&config);
    let settings = Settings {
        down: args.down,
        up: args.up,
        hold: args.hold,
        faults_max: args.faults,
        lossless: args.lossless,
    };
    let mut daemon =
        Daemon::new(Store::new(&args.redis), &config, settings, args.apply, &args.journal).map_err(wrong)?;
    for tracked in &daemon.tuner().tracked {
        inform(&format!(
            "{}: dynamic_th {} within {} to {}, {} queues",
            tracked.profile,
            tracked.original,
            tracked.bounds.0,
            tracked.bounds.1,
            tracked.members.len()
        ));
    }
    inform(if args.apply { "Ctrl-C puts back what was configured" } else { "a dry run: --apply writes" });
    let mut ending = Ending::listen();
    let start = Instant::now();
    let watched = watch(args, &mut daemon, start, &mut ending);
    let failed = daemon.must_end();
    // Whatever ended the loop, what was configured comes back.
    let reverted = daemon.revert();
    watched?;
    events(&reverted, start.elapsed().as_secs_f64(), args.json)?;
    if failed {
        let help =
            "see what it said; what could not be put back is in the journal, and the next start puts it back";
        return Err(miette!(help = help, "{} faults in a row: tuning has ended", args.faults));
    }
    Ok(())
}

/// Intervals until somebody or something ends them.
fn watch(args: &TuneArgs, daemon: &mut Daemon, start: Instant, ending: &mut Ending) -> miette::Result<()> {
    let interval = Duration::from_secs_f64(args.interval.max(0.001));
    let mut round: u64 = 0;
    while !ending.requested() && !daemon.must_end() && args.rounds.is_none_or(|rounds| round < rounds) {
        let at = start.elapsed().as_secs_f64();
        events(&daemon.step(at), at, args.json)?;
        round += 1;
        let next = Instant::now() + interval;
        while !ending.requested() && Instant::now() < next && !daemon.must_end() {
            std::thread::sleep(NAP.min(interval));
        }
    }
    Ok(())
}

fn events(events: &[Event], at: f64, json: bool) -> miette::Result<()> {
    events.iter().try_for_each(|event| report(event, at, json))
}

/// A line for each event.
fn report(event: &Event, at: f64, json: bool) -> miette::Result<()> {
    if json {
        let line = serde_json::json!({ "at_s": (at * 1e3).round() / 1e3, "what": event });
        return print(&format!("{line}\n"));
    }
    let text = match event {
        Event::Change { decision, applied } => {
            let did = if *applied { "" } else { " (not written)" };
            format!(
                "{}: dynamic_th {} -> {}{did}: {}",
                decision.profile, decision.from, decision.to, decision.reason
            )
        }
        Event::Reverted { profile, to } => format!("{profile}: dynamic_th {to} again, as configured"),
        Event::LeftAlone { profile, found } => {
            format!("{profile}: left alone, because somebody else has set dynamic_th to \"{found}\"")
        }
        Event::Fault { message, in_a_row } => format!("fault {in_a_row}: {message}"),
    };
    print(&format!("{at:9.1} s  {text}\n"))
}
