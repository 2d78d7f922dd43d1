//! The command `sonic tune` runs the tuner in a loop, with a clock, until a signal or an error.

mod ending;

use super::what_if::wrong;
use super::{load_store, warn};
use crate::sonic_args::TuneArgs;
use crate::{inform, print, say};
use bufferlab_operator::store::Store;
use bufferlab_operator::tune::{Daemon, DaemonEvent, JournalFile, Keeper, Settings, recover};
use ending::Ending;
use miette::miette;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Longest time until the loop of the daemon notices a signal.
const NAP: Duration = Duration::from_millis(100);
/// Maximum time for the attempts to restore all values.
const BACK: Duration = Duration::from_secs(10);

pub(super) fn tune(args: &TuneArgs) -> miette::Result<()> {
    // Signals are caught before the first change, so that no signal leaves a change in the switch.
    let ending = Ending::listen().map_err(|error| {
        miette!(help = "start it where signals can be caught", "cannot listen for signals: {error}")
    })?;
    let mut store = Store::new(&args.redis);
    store.interrupt_by(Some(ending.flag()));
    let path = args.journal.clone().unwrap_or_else(|| JournalFile::default_path(&store));
    let mut keeper = None;
    if args.apply {
        let mut file = JournalFile::claim(&path).map_err(wrong)?;
        let recovered = recover(&mut store, &mut file).map_err(wrong)?;
        events(&recovered, 0.0, args.json)?;
        keeper = Some(file);
    }
    let (_, config) = load_store(&[], Some(&mut store))?.remove(0);
    warn(&config);
    let settings = Settings {
        down: args.down,
        up: args.up,
        hold: args.hold,
        faults_max: args.faults,
        lossless: args.lossless,
    };
    let keeper = keeper.map(|file| -> Box<dyn Keeper> { Box::new(file) });
    let mut daemon = Daemon::new(store, &config, settings, keeper).map_err(wrong)?;
    introduce(&daemon, args.apply);
    let start = Instant::now();
    let watched = watch(args, &mut daemon, start, &ending);
    let failed = daemon.must_end();
    // The daemon restores the configured values when the loop ends for any reason.
    let reverted = put_back(&mut daemon, &ending);
    let said = events(&reverted, start.elapsed().as_secs_f64(), args.json);
    if !daemon.is_restored() {
        return Err(not_restored(&path));
    }
    watched.and(said)?;
    if failed {
        let help = "see the faults above; all values are restored";
        return Err(miette!(help = help, "{} faults in a row: tuning has ended", args.faults));
    }
    Ok(())
}

fn introduce(daemon: &Daemon, apply: bool) {
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
    inform(if apply { "Ctrl-C restores the configured values" } else { "a dry run: --apply writes" });
}

/// Restores all values. Several attempts are needed, because a server that restarts answers again
/// only after a moment.
fn put_back(daemon: &mut Daemon, ending: &Ending) -> Vec<DaemonEvent> {
    let again = ending.next_press();
    daemon.interrupt_by(Some(again.clone()));
    let start = Instant::now();
    let (mut all, mut is_told) = (Vec::new(), false);
    loop {
        let events = daemon.revert();
        let is_over = daemon.is_restored() || start.elapsed() >= BACK || again.load(Ordering::Relaxed);
        // Only the last attempt to restore values reports faults, because a later attempt may
        // correct an earlier fault.
        all.extend(events.into_iter().filter(|event| is_over || !matches!(event, DaemonEvent::Fault { .. })));
        if is_over {
            return all;
        }
        if !std::mem::replace(&mut is_told, true) {
            say("not all values are restored yet; Ctrl-C stops restoring and leaves the journal");
        }
        std::thread::sleep(NAP * 5);
    }
}

fn not_restored(journal: &std::path::Path) -> miette::Report {
    let help = format!(
        "{} has the configured values: the next start with --apply and this journal restores them, or set them by hand",
        journal.display()
    );
    miette!(help = help, "not all values were restored")
}

/// Runs intervals of the tuner until a signal, a limit or too many faults end the loop.
fn watch(args: &TuneArgs, daemon: &mut Daemon, start: Instant, ending: &Ending) -> miette::Result<()> {
    let interval = Duration::from_secs_f64(args.interval.max(0.001));
    let mut round: u64 = 0;
    while !ending.requested() && !daemon.must_end() && args.rounds.is_none_or(|rounds| round < rounds) {
        let at = start.elapsed().as_secs_f64();
        let mut happened = daemon.step(at);
        if ending.requested() {
            // A wait that a signal interrupts is not a fault of the switch.
            happened.retain(|event| !matches!(event, DaemonEvent::Fault { .. }));
        }
        events(&happened, at, args.json)?;
        round += 1;
        let next = Instant::now() + interval;
        while !ending.requested() && Instant::now() < next && !daemon.must_end() {
            std::thread::sleep(NAP.min(interval));
        }
    }
    Ok(())
}

fn events(events: &[DaemonEvent], at: f64, json: bool) -> miette::Result<()> {
    events.iter().try_for_each(|event| report(event, at, json))
}

/// Prints one line for an event of the daemon.
fn report(event: &DaemonEvent, at: f64, json: bool) -> miette::Result<()> {
    if json {
        let line = serde_json::json!({ "at_s": (at * 1e3).round() / 1e3, "what": event });
        return print(&format!("{line}\n"));
    }
    let text = match event {
        DaemonEvent::Change { decision, applied } => {
            let did = if *applied { "" } else { " (not written)" };
            format!(
                "{}: dynamic_th {} -> {}{did}: {}",
                decision.profile, decision.from, decision.to, decision.reason
            )
        }
        DaemonEvent::Reverted { profile, to } => format!("{profile}: dynamic_th {to} again, as configured"),
        DaemonEvent::LeftAlone { profile, found } => {
            format!("{profile}: left alone, because another program has set dynamic_th to \"{found}\"")
        }
        DaemonEvent::Fault { message, in_a_row } => format!("fault {in_a_row}: {message}"),
    };
    print(&format!("{at:9.1} s  {text}\n"))
}
