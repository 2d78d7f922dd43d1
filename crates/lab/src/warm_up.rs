//! Warm starts: all variants of a comparison continue from one state of the first variant's run, so
//! the warm-up is simulated once per seed.
//!
//! A variant may differ from the first variant only in the policies of switches, which a run can
//! change ([`bufferlab_sim::Simulation::set_policy`]).

use crate::stepped::SteppedRun;
use crate::{Finished, Job, PlanError, RunError};
use bufferlab_results::{Content, Difference, RunCaveat, UNTIL};
use bufferlab_scenario::{Loaded, Variant, WarmUp};
use bufferlab_sim::{Progress, SimError, Simulation};
use bufferlab_units::Time;
use cpu_time::ThreadTime;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Advice for a variant that cannot continue from the state of the first variant.
const WAYS_OUT: &str = "compare this variant without --warm-up, in another folder";

/// Returns the scenario of a run that continues at `time` from the run of `first`. The resolved
/// text names every key that has another value until this time, so the run differs from a run of
/// the scenario alone.
pub(crate) fn continued(mut loaded: Loaded, first: &Arc<Loaded>, time: Time) -> Loaded {
    let mut lines = String::new();
    for difference in differences(first, &loaded) {
        if let Difference::Key { key, old, .. } = difference {
            // Writing into a string cannot fail.
            let _ = writeln!(lines, "{UNTIL}{time}: {key} = {}", old.as_deref().unwrap_or("(absent)"));
        }
    }
    loaded.resolved.insert_str(0, &lines);
    loaded.warm_up = Some(WarmUp { time, first: Arc::clone(first) });
    loaded
}

fn differences(first: &Loaded, other: &Loaded) -> Vec<Difference> {
    let content = |loaded: &Loaded| {
        let inputs: Vec<_> = loaded.inputs.iter().map(|input| (input.name.clone(), &input.content)).collect();
        Content::new(&loaded.resolved, &inputs, "", None)
    };
    content(first).differences(&content(other), |key| key.starts_with(UNTIL))
}

/// Creates the caveat of a run that continues from the run of the variant `first`.
pub(crate) fn caveat(first: &Variant, time: Time) -> RunCaveat {
    let first = first.label();
    RunCaveat {
        id: "warm-up".to_owned(),
        message: format!(
            "The variants continue from one state of {first} at {time}: until then, every switch had the policy of {first}."
        ),
        advice: "Judge the time after the warm-up, or compare without --warm-up.".to_owned(),
    }
}

/// Checks that the runs of a comparison can continue from the first variant's run at `time`.
/// `variants` are the compared variants, each with its first run. The first variant is the first
/// element.
///
/// # Errors
/// If the run is over at this time, or a variant cannot continue. The error names the variant.
pub(crate) fn check(variants: &[(&Variant, &Job)]) -> Result<(), PlanError> {
    let Some((first, job)) = variants.first() else { return Ok(()) };
    let Some(WarmUp { time, first: base }) = &job.loaded.warm_up else { return Ok(()) };
    if *time == Time::ZERO || *time >= base.scenario.duration {
        return Err(PlanError::refused(
            format!(
                "the warm-up is {time}; expected a time above 0 and below the duration {}",
                base.scenario.duration
            ),
            "give a shorter --warm-up, or a longer duration with --set",
        ));
    }
    let simulation = Simulation::new(&base.scenario).map_err(|why| refusal(first, &why.to_string()))?;
    for (variant, job) in &variants[1..] {
        if let Some(why) = obstacle(&simulation, base, &job.loaded) {
            return Err(refusal(variant, &why));
        }
    }
    Ok(())
}

fn refusal(variant: &Variant, why: &str) -> PlanError {
    PlanError::refused(format!("\"{}\" cannot continue after a warm-up: {why}", variant.label()), WAYS_OUT)
}

/// Returns the reason why a run of `first` cannot continue as a run of `other`.
pub(crate) fn obstacle(simulation: &Simulation, first: &Loaded, other: &Loaded) -> Option<String> {
    let mut same = other.scenario.clone();
    for (switch, old) in same.switches.iter_mut().zip(&first.scenario.switches) {
        switch.policy.clone_from(&old.policy);
        switch.policy_params.clone_from(&old.policy_params);
    }
    if same != first.scenario {
        let all = differences(first, other);
        let other_key = all.iter().find(|difference| {
            !matches!(difference, Difference::Key { key, .. } if key.starts_with("switch.policy"))
        });
        let what = other_key.map_or_else(|| "a key of its switches differs".to_owned(), ToString::to_string);
        return Some(format!("{what}, and only the policies of switches can change during a run"));
    }
    let mut copy = match simulation.fork() {
        Ok(copy) => copy,
        Err(why) => return Some(why.to_string()),
    };
    exchange(&mut copy, first, other).err().map(|why| why.to_string())
}

/// Replaces the policies of the switches that have another policy in `other`.
fn exchange(simulation: &mut Simulation, first: &Loaded, other: &Loaded) -> Result<(), SimError> {
    for (index, (old, new)) in first.scenario.switches.iter().zip(&other.scenario.switches).enumerate() {
        if (&old.policy, &old.policy_params) != (&new.policy, &new.policy_params) {
            simulation.set_policy(index, &new.policy, &new.policy_params)?;
        }
    }
    Ok(())
}

/// The states from which the runs of a plan continue, each computed at its first use.
#[derive(Debug, Default)]
pub(crate) struct WarmStarts(Vec<WarmStart>);

#[derive(Debug)]
struct WarmStart {
    warm_up: WarmUp,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The run at the end of the warm-up.
    run: Option<SteppedRun>,
    /// Number of runs that will still continue from this state.
    users: usize,
}

impl WarmStarts {
    /// Groups the runs that share a warm-up.
    pub(crate) fn new<'a>(runs: impl Iterator<Item = &'a Loaded>) -> Self {
        let mut this = Self::default();
        for warm_up in runs.filter_map(|loaded| loaded.warm_up.as_ref()) {
            let known = this.0.iter_mut().find(|start| is_same(&start.warm_up, warm_up));
            match known {
                Some(start) => start.state.get_mut().unwrap_or_else(PoisonError::into_inner).users += 1,
                None => {
                    let state = Mutex::new(State { run: None, users: 1 });
                    this.0.push(WarmStart { warm_up: warm_up.clone(), state });
                }
            }
        }
        this
    }

    /// Returns a run at the end of its warm-up. Other runs of the warm-up wait for the first run.
    fn begin(
        &self,
        warm_up: &WarmUp,
        verify: bool,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<SteppedRun, RunError> {
        let warm = |go_on: &mut dyn FnMut(&Progress) -> bool| {
            let mut run = SteppedRun::new(Loaded::clone(&warm_up.first))?;
            run.set_verify(verify);
            run.run_until(warm_up.time, go_on)?;
            Ok::<_, RunError>(run)
        };
        let Some(start) = self.0.iter().find(|start| is_same(&start.warm_up, warm_up)) else {
            return warm(go_on);
        };
        let mut state = start.state.lock().unwrap_or_else(PoisonError::into_inner);
        let run = match state.run.take() {
            Some(run) => run,
            None => warm(go_on)?,
        };
        state.users = state.users.saturating_sub(1);
        if state.users == 0 {
            return Ok(run);
        }
        let copy = run.fork()?;
        state.run = Some(run);
        Ok(copy)
    }
}

fn is_same(one: &WarmUp, other: &WarmUp) -> bool {
    let (first, second) = (&one.first, &other.first);
    let inputs_are_equal = first.inputs.len() == second.inputs.len()
        && first
            .inputs
            .iter()
            .zip(&second.inputs)
            .all(|(a, b)| (&a.name, &a.content) == (&b.name, &b.content));
    one.time == other.time && first.resolved == second.resolved && inputs_are_equal
}

/// Executes a job with a warm-up, and writes its folder. The bytes are those of a run that changes
/// its policies at the end of the warm-up.
pub(crate) fn run(
    job: &Job,
    warm_up: &WarmUp,
    starts: &WarmStarts,
    verify: bool,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Finished, RunError> {
    let began = (Instant::now(), ThreadTime::now());
    let mut run = starts.begin(warm_up, verify, go_on)?;
    run.exchange_policies(|simulation| exchange(simulation, &warm_up.first, &job.loaded))?;
    run.finish_as(job, began, go_on)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_warm_up_is_simulated_once_and_its_state_is_freed_after_the_last_run() {
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/star-incast.toml");
        let first = bufferlab_scenario::load(&scenario, &[]).expect("it loads");
        let first = Arc::new(first);
        // Each run has a copy of the first scenario.
        let run = |_| continued(Loaded::clone(&first), &Arc::new(Loaded::clone(&first)), Time::from_us(100));
        let runs: Vec<_> = (0..3).map(run).collect();
        let starts = WarmStarts::new(runs.iter());
        assert_eq!(starts.0.len(), 1);
        for (run, left) in runs.iter().zip([2, 1, 0]) {
            let warm_up = run.warm_up.as_ref().expect("a warm-up");
            let warm = starts.begin(warm_up, false, &mut |_| true).expect("it runs");
            assert_eq!(warm.simulation().now(), warm_up.time);
            let state = starts.0[0].state.lock().expect("no panic");
            assert_eq!((state.users, state.run.is_some()), (left, left > 0));
        }
    }
}
