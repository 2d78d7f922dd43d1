//! Tests that a defect in one run ends only this run.

use crate::{STAR, loaded};
use bufferlab_core::{
    Account, Arrival, Buffer, BuildError, Hooks, ParamInfo, ParamKind, ParamValue, Params, Policy,
    PolicyInfo, QueueId, SwitchShape, Tags, Verdict, register_policy,
};
use bufferlab_lab::{Execution, Job, RunError, Unwatched, execute};
use bufferlab_metrics::RunSink;
use bufferlab_sim::Simulation;
use bufferlab_units::Time;
use std::num::NonZero;
use std::path::Path;
use std::sync::Once;

/// A policy that admits every packet and panics at its first timer.
#[derive(Debug)]
struct Panicking {
    due: Time,
}

impl Policy for Panicking {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        assert!(buffer.fits(arrival.header.size), "the buffer of the test is large");
        Verdict::Admit(Account::Shared)
    }

    fn threshold(&self, _: QueueId, _: Tags, _: &Buffer) -> Option<u64> {
        None
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn next_timeout(&self) -> Option<Time> {
        Some(self.due)
    }

    fn handle_timeout(&mut self, _: Time, _: &Buffer) {
        let pools: Vec<u64> = vec![0; 3];
        let asked = usize::from(self.due > Time::ZERO) * 3;
        assert_eq!(pools[asked], 0);
    }
}

fn build(params: &Params, _: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(Panicking { due: params.time("due") }))
}

const PARAMS: &[ParamInfo] = &[ParamInfo::with_default(
    "due",
    ParamKind::SPAN,
    ParamValue::Time(Time::from_us(100)),
    "When the first timer fires.",
)];

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let info = PolicyInfo {
            name: "panicking",
            aliases: &[],
            title: "Panicking",
            summary: "Meets a defect at its first timer.",
            source: "a test",
            cost: "O(1)",
            params: PARAMS,
            build: &build,
        };
        register_policy(info).expect("the name is free");
    });
}

fn job(folder: &Path, name: &str, text: &str) -> Job {
    let loaded = loaded(None, &[], text).unwrap_or_else(|error| panic!("{error}"));
    Job { loaded, dir: folder.join(name), caveats: Vec::new() }
}

#[test]
fn a_panic_is_the_failure_of_its_run_and_the_others_are_complete() {
    register();
    let folder = tempfile::tempdir().expect("a folder");
    let broken = STAR.replace("\"dt\"", "\"panicking\"");
    for at_once in [1, 2] {
        let jobs = [
            job(folder.path(), &format!("first-{at_once}"), STAR),
            job(folder.path(), &format!("broken-{at_once}"), &broken),
            job(folder.path(), &format!("last-{at_once}"), STAR),
        ];
        let how = Execution { jobs: NonZero::new(at_once), ..Execution::default() };
        let results = execute(&jobs, &how, &Unwatched).expect("threads start");
        assert!(results[0].is_ok() && results[2].is_ok(), "{results:?}");
        let Err(RunError::Panicked(panicked)) = &results[1] else { panic!("{results:?}") };
        assert!(panicked.message.contains("the len is 3 but the index is 3"), "{panicked}");
        assert!(panicked.place.as_ref().is_some_and(|place| place.contains("panics.rs:")), "{panicked}");
        assert!(
            panicked.to_string().starts_with("seed 1, policy panicking: the program panicked"),
            "{panicked}"
        );
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("readable").flatten().collect();
        let left = left.iter().filter(|entry| entry.file_name().to_string_lossy().contains("broken"));
        assert_eq!(left.count(), 0, "what the broken run had begun is cleared away");
    }
}

/// A scenario with two racks, which can be divided among threads. The policy of the switches panics
/// at `due` (ns).
fn racks(due: u64) -> String {
    STAR.replace(
        "kind = \"single_switch\"\nhosts = 4\nrate = \"10 Gb/s\"",
        "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 2\nspines = 1\nhost_rate = \"10 Gb/s\"\nfabric_rate = \"10 Gb/s\"",
    )
    .replace("\"dt\"", &format!("{{ name = \"panicking\", due = \"{due} ns\" }}"))
}

/// A sink of results that discards all rows.
struct Forget;

impl RunSink for Forget {}

/// Compares runs with different numbers of threads, because several threads simulate past the end
/// of the run before they notice the end.
#[test]
fn the_number_of_threads_does_not_change_what_becomes_of_a_run() {
    register();
    let folder = tempfile::tempdir().expect("a folder");
    let whole = job(folder.path(), "whole", &racks(500_000_000));
    let simulation = Simulation::new(&whole.loaded.scenario).unwrap_or_else(|error| panic!("{error}"));
    let end = simulation.run(&mut Forget, &mut |_| ()).unwrap_or_else(|error| panic!("{error}")).end_ns;
    let outcome = |due: u64, threads: usize| {
        let jobs = [job(folder.path(), &format!("{due}-{threads}"), &racks(due))];
        let how = Execution { threads: NonZero::new(threads), ..Execution::default() };
        let results = execute(&jobs, &how, &Unwatched).expect("threads start");
        results
            .into_iter()
            .map(|result| result.map(|_| ()).map_err(|error| error.to_string()))
            .collect::<Vec<_>>()
    };
    let mut ended_well = 0;
    for due in [end - 50_000, end - 1, end, end + 1, end + 300, end + 2_000, end + 20_000, end + 90_000] {
        let alone = outcome(due, 1);
        ended_well += usize::from(alone[0].is_ok());
        assert_eq!(alone, outcome(due, 2), "{due} ns, and the run ends at {end} ns");
    }
    assert!((4..8).contains(&ended_well), "{ended_well} of 8 end before the defect");
}
