//! Comparisons whose variants continue from one state of the first variant.

use bufferlab_lab::{
    Destination, Execution, Job, Plan, PlanError, PolicySelection, SteppedRun, Unwatched, execute,
    execute_one, plan_compare,
};
use bufferlab_report::Report;
use bufferlab_results::{MANIFEST_FILE, RunResult, SCENARIO_FILE, SUMS_FILE, TIMING_FILE};
use bufferlab_scenario::{Changes, Loaded, Variant, load_changed};
use bufferlab_units::Time;
use std::fs;
use std::num::NonZero;
use std::path::Path;

const TIME: Time = Time::from_us(1_500);

fn load(variant: Option<&Variant>, then: &[(String, String)]) -> Loaded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/star-incast.toml");
    let duration = [("duration", "4 ms"), ("switch.buffer", "400 KB")];
    let overrides = duration.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let changes = Changes { overrides: &overrides, variant, then };
    load_changed(&path, None, &changes).expect("it loads")
}

fn variant(text: &str) -> Variant {
    Variant::parse(text).expect("a variant")
}

fn plan(out: &Path, variants: &[&str], seeds: u32, warm_up: Option<Time>) -> Result<Plan, PlanError> {
    let choices: Vec<_> = variants.iter().map(|text| PolicySelection::One(variant(text))).collect();
    let seeds = NonZero::new(seeds).expect("not 0");
    let to = Destination { out, replace: false };
    plan_compare(&|variant, then| Ok(load(variant, then)), &choices, seeds, warm_up, to)
}

fn run(jobs: &[Job]) {
    let how = Execution { jobs: NonZero::new(1), ..Execution::default() };
    let outcomes = execute(jobs, &how, &Unwatched).expect("threads start");
    outcomes.into_iter().for_each(|outcome| assert!(outcome.expect("it runs").packet_hops > 0));
}

/// Content of the files of a run, except its CPU time and the files in `without`.
fn files(dir: &Path, without: &[&str]) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(dir).expect("readable").map(|entry| entry.expect("readable").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut files: Vec<_> = entries
        .filter(|path| name(path) != TIMING_FILE && !without.contains(&name(path).as_str()))
        .map(|path| (name(&path), fs::read(&path).expect("readable")))
        .collect();
    files.sort();
    assert!(files.len() > 6, "{}", dir.display());
    files
}

#[test]
fn warm_runs_have_the_bytes_of_a_run_that_changes_its_policy_at_that_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("warm");
    let variants = ["dt(alpha=1)", "cs", "abm", "dt(alpha=8)"];
    let mut warm = plan(&out, &variants, 2, Some(TIME)).expect("a plan");
    run(&warm.jobs);
    for job in &warm.jobs {
        let first =
            load(Some(&variant(variants[0])), &[("seed".to_owned(), job.loaded.scenario.seed.to_string())]);
        let new = load(job.loaded.variant.as_ref().map(|name| variant(&name.text)).as_ref(), &[]);
        let by_hand = Job { loaded: first.clone(), dir: folder.path().join("by-hand"), caveats: Vec::new() };
        let spec = &job.loaded.scenario.switches[0];
        assert!(job.loaded.variant.is_none() || spec.policy == new.scenario.switches[0].policy);
        let mut stepped = SteppedRun::new(first.clone()).expect("it fits");
        stepped.run_until(TIME, &mut |_| true).expect("it goes on");
        if spec != &first.scenario.switches[0] {
            stepped.set_policy(0, &spec.policy, &spec.policy_params).expect("it fits");
        }
        stepped.finish(&by_hand, &mut |_| true).expect("it ends");
        let without = [MANIFEST_FILE, SCENARIO_FILE, SUMS_FILE];
        assert!(files(&job.dir, &without) == files(&by_hand.dir, &without), "{}", job.dir.display());
    }
    // The first variant has the bytes of a run without a warm-up.
    let cold = Job {
        loaded: load(Some(&variant(variants[0])), &[]),
        dir: folder.path().join("cold"),
        caveats: Vec::new(),
    };
    execute_one(&cold, false, &mut |_| true).expect("it runs");
    assert!(files(&warm.jobs[0].dir, &[]) == files(&cold.dir, &[]));
    let abm = RunResult::open(&warm.jobs[4].dir).expect("a run");
    assert_eq!(abm.manifest().policy.name, "abm");
    assert!(abm.scenario_toml().expect("text").starts_with("# until 1.5 ms: switch.policy"));
    let caveat = &abm.manifest().caveats[0];
    assert!(caveat.id == "warm-up" && caveat.message.contains("dt(alpha=1) at 1.5 ms"), "{}", caveat.message);
    // The four variants share means, the report names the warm-up, and a repeated command resumes.
    let report = Report::load(&out, &warm.policies).expect("a report");
    assert_eq!(report.comparison.policies.len(), 4);
    assert!(
        report.json().expect("a document").contains("until then, every switch had the policy of dt(alpha=1)")
    );
    assert_eq!(warm.resume(), 8);
}

#[test]
fn warm_and_cold_runs_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path();
    let warm = plan(out, &["dt", "cs"], 1, Some(TIME)).expect("a plan");
    run(&warm.jobs);
    for (time, first) in [(None, "dt"), (Some(Time::from_us(1_600)), "dt"), (Some(TIME), "abm")] {
        let why = plan(out, &[first, "cs"], 1, time).expect_err("another experiment").to_string();
        assert!(why.contains("holds runs of another scenario: in ") && why.contains("# until "), "{why}");
    }
}

#[test]
fn a_variant_that_cannot_continue_is_named_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |variants: &[&str], time| {
        plan(folder.path(), variants, 1, Some(time)).expect_err("refused").to_string()
    };
    let why = refused(&["dt", "cs", "deep: dt + switch.buffer=2 MB"], TIME);
    assert!(why.starts_with("\"deep\" cannot continue after a warm-up: `switch.buffer` was "), "{why}");
    assert!(why.ends_with("only the policies of switches can change during a run"), "{why}");
    for time in [Time::ZERO, Time::from_us(4_000)] {
        assert!(refused(&["dt", "cs"], time).contains("below the duration 4 ms"));
    }
}
