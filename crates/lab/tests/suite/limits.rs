//! Tests that limits are checked before memory runs out.

use crate::{STAR, loaded};
use bufferlab_lab::{
    Destination, Execution, Job, PlanError, PolicySelection, RUNS, RunError, SEEDS, SweepPlan, SweepRequest,
    Unwatched, Vary, execute, fits, plan_compare, plan_run, set_memory_limit,
};
use bufferlab_scenario::Variant;
use std::num::NonZero;
use std::path::Path;
use std::time::{Duration, Instant};

fn seeds(count: u64) -> NonZero<u32> {
    NonZero::new(count as u32).expect("some")
}

fn refusal<T>(result: Result<T, PlanError>) -> String {
    match result {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn sweep(out: &Path, vary: &[usize], count: u64) -> SweepRequest {
    let values = |count: usize| (1..=count).map(|value| format!("{value} KB")).collect();
    let keys = ["switch.buffer", "workload.0.request", "duration"];
    SweepRequest {
        scenario_file: "limits.toml".to_owned(),
        vary: keys
            .iter()
            .zip(vary)
            .map(|(key, count)| Vary { key: (*key).to_owned(), values: values(*count) })
            .collect(),
        policies: Vec::new(),
        seeds: seeds(count),
        out: out.to_owned(),
        replace: false,
    }
}

#[test]
fn seeds_points_and_runs_beyond_the_limits_are_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = |name: &str| folder.path().join(name);
    let load = |variant: Option<&Variant>, then: &[(String, String)]| loaded(variant, then, STAR);
    let begin = Instant::now();
    for count in [SEEDS.most + 1, u64::from(u32::MAX)] {
        let out = to("run");
        let to = Destination { out: &out, replace: false };
        let wanted = format!("{count} are too many seeds, expected at most {}", SEEDS.most);
        assert_eq!(refusal(plan_run(&load, seeds(count), to)), wanted);
        let choices = [
            PolicySelection::from_name("dt").expect("a policy"),
            PolicySelection::from_name("abm").expect("a policy"),
        ];
        assert_eq!(refusal(plan_compare(&load, &choices, seeds(count), None, to)), wanted);
        assert_eq!(refusal(SweepPlan::new(&load, sweep(&out, &[2], count))), wanted);
        assert!(!out.exists(), "nothing is begun");
    }
    let too_many = |runs: u64| format!("{runs} are too many runs, expected at most {}", RUNS.most);
    let out = to("sweep");
    assert_eq!(refusal(SweepPlan::new(&load, sweep(&out, &[1_001, 100], 1))), too_many(100_100));
    assert_eq!(refusal(SweepPlan::new(&load, sweep(&out, &[11], 9_091))), too_many(100_001));
    let all = refusal(SweepPlan::new(&load, sweep(&out, &[9_999, 9_999, 5_000], 1)));
    assert_eq!(all, too_many(9_999 * 9_999 * 5_000));
    let many: Vec<_> = (1..=11)
        .map(|n| {
            Variant::parse(&format!("v{n}: dt(alpha={n})")).map(PolicySelection::One).expect("a variant")
        })
        .collect();
    let to = Destination { out: &out, replace: false };
    assert_eq!(refusal(plan_compare(&load, &many, seeds(9_091), None, to)), too_many(100_001));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

/// Tests the memory limit in a single test, because the limit is global to the process.
#[test]
fn a_run_beyond_memory_is_refused_and_names_what_takes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = |name: &str, entries: u64| {
        let text = STAR
            .replace("policy = \"dt\"", &format!("policy = {{ name = \"fab\", flow_entries = {entries} }}"));
        let loaded = loaded(None, &[], &text).unwrap_or_else(|error| panic!("{error}"));
        Job { loaded, dir: folder.path().join(name), caveats: Vec::new() }
    };
    let jobs = [job("small", 1 << 10), job("large", 1 << 24), job("other", 1 << 11)];
    set_memory_limit(300_000_000);
    let refused = fits(&jobs[1].loaded.scenario).expect_err("half a gigabyte").to_string();
    assert!(
        refused.contains("about 537.1 MB of memory before its first packet (tables of flows 536.9 MB"),
        "{refused}"
    );
    assert!(
        refused.contains("`flow_entries`") && refused.contains("--memory-limit allows 300.0 MB"),
        "{refused}"
    );
    let results = execute(&jobs, &Execution::default(), &Unwatched).expect("threads start");
    assert!(results[0].is_ok() && results[2].is_ok(), "the others run: {results:?}");
    assert!(matches!(results[1], Err(RunError::Memory(_))), "{results:?}");
    assert!(!jobs[1].dir.exists());
    set_memory_limit(u64::MAX);
}
