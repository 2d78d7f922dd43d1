//! Tests that a failing policy ends its run with the kind, place and time of the failure, and
//! affects no other run. The tests are a separate binary, because registered policies stay
//! registered.

use crate::support::{Lab, Rows, flow, star};
use bufferlab_core::{
    Account, Arrival, Buffer, DropReason, End, Hooks, Policy, PolicyFailure, PolicyInfo, QueueId, Verdict,
    register_policy,
};
use bufferlab_metrics::RunTotals;
use bufferlab_sim::{SimError, Simulation};
use bufferlab_units::Time;
use std::sync::Once;

/// Kind of defect of the test policy.
#[derive(Clone, Copy, Debug)]
enum Defect {
    AdmitsEverything,
    EvictsFromNowhere,
    FailsInside,
    FailsOnDeparture,
    TimerStands,
}

#[derive(Debug)]
struct Broken {
    defect: Defect,
    arrivals: u32,
    failure: Option<PolicyFailure>,
}

impl Policy for Broken {
    fn admit(&mut self, arrival: &Arrival, _: &Buffer) -> Verdict {
        self.arrivals += 1;
        match self.defect {
            Defect::EvictsFromNowhere if self.arrivals > 3 => {
                Verdict::Evict { victim: QueueId(60_000), end: End::Head }
            }
            Defect::FailsInside if self.arrivals > 3 => {
                self.failure = Some(PolicyFailure {
                    now: arrival.now,
                    queue: Some(arrival.queue),
                    hook: "admit",
                    what: "the table is gone".to_owned(),
                    cause: None,
                });
                Verdict::Drop(DropReason::PolicyFault)
            }
            _ => Verdict::Admit(Account::Shared),
        }
    }

    fn hooks(&self) -> Hooks {
        Hooks::DEQUEUE
    }

    fn on_dequeue(&mut self, departure: &bufferlab_core::Departure, _: &Buffer) {
        if matches!(self.defect, Defect::FailsOnDeparture) && self.failure.is_none() {
            self.failure = Some(PolicyFailure {
                now: departure.now,
                queue: Some(departure.queue),
                hook: "on_dequeue",
                what: "lost count".to_owned(),
                cause: None,
            });
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        matches!(self.defect, Defect::TimerStands).then_some(Time::from_us(1))
    }

    fn take_failure(&mut self) -> Option<PolicyFailure> {
        self.failure.take()
    }
}

fn entry(name: &'static str, build: bufferlab_core::PolicyConstructor) -> PolicyInfo {
    PolicyInfo {
        name,
        aliases: &[],
        title: "Broken",
        summary: "Fails.",
        source: "A test.",
        cost: "O(1)",
        params: &[],
        build,
    }
}

fn broken(defect: Defect) -> Result<Box<dyn Policy>, bufferlab_core::BuildError> {
    Ok(Box::new(Broken { defect, arrivals: 0, failure: None }))
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for entry in [
            entry("admits-everything", &|_, _| broken(Defect::AdmitsEverything)),
            entry("evicts-from-nowhere", &|_, _| broken(Defect::EvictsFromNowhere)),
            entry("fails-inside", &|_, _| broken(Defect::FailsInside)),
            entry("fails-on-departure", &|_, _| broken(Defect::FailsOnDeparture)),
            entry("timer-stands", &|_, _| broken(Defect::TimerStands)),
        ] {
            register_policy(entry).expect("the name is free");
        }
    });
}

fn run(policy: &str) -> Result<RunTotals, SimError> {
    register();
    let switch = format!("buffer = \"60 KB\"\npolicy = \"{policy}\"");
    let transport = "congestion_control = \"newreno\"\ninitial_window = \"whole\"";
    let lab = Lab::new(&star(3, "10 Gb/s", "1 us"), &switch, transport);
    let flows = lab.flows(vec![flow(1, 0, 100_000, Time::ZERO), flow(2, 0, 100_000, Time::ZERO)]);
    Simulation::new(&flows).expect("it fits").run(&mut Rows::default(), &mut |_| {})
}

/// Error message of the run without its time, and the time of the error.
fn failure(policy: &str) -> (String, Time) {
    match run(policy).expect_err(policy) {
        SimError::PolicyFailed(failed) => {
            (failed.to_string().replace(&failed.time.to_string(), "T"), failed.time)
        }
        other => panic!("{policy}: {other}"),
    }
}

#[test]
fn a_run_ends_at_an_admission_beyond_the_buffer() {
    let (message, time) = failure("admits-everything");
    assert_eq!(
        message,
        "policy admits-everything failed in switch switch (port 0, priority 0) at T: \
         admit: admitted 1454 B where 386 B of 60000 B are free"
    );
    assert!(time > Time::from_us(2), "{time}");
}

#[test]
fn a_run_ends_at_an_eviction_that_no_queue_can_serve() {
    // The fourth packet is the answer to the handshake of the second host.
    let (message, _) = failure("evicts-from-nowhere");
    assert_eq!(
        message,
        "policy evicts-from-nowhere failed in switch switch (port 2, priority 0) at T: \
         admit: asked to remove a packet from queue 60000, and the switch has 3, numbered from 0"
    );
}

#[test]
fn a_run_ends_with_an_error_inside_the_policy_and_one_in_a_hook_is_not_lost() {
    let (message, _) = failure("fails-inside");
    assert_eq!(
        message,
        "policy fails-inside failed in switch switch (port 2, priority 0) at T: admit: the table is gone"
    );
    // A departure refuses no packet. So the run reports its failure at the end,
    // but with the time of the failure.
    let (message, time) = failure("fails-on-departure");
    assert!(message.ends_with("on_dequeue: lost count"), "{message}");
    assert!(time < Time::from_us(10), "{time}");
}

#[test]
fn a_run_ends_at_a_timer_that_does_not_advance() {
    let (message, time) = failure("timer-stands");
    assert!(message.ends_with("the deadline T was followed by T: the timer does not advance"), "{message}");
    assert_eq!(time, Time::from_us(1));
}

/// During a second with samples but without packets, the run still receives the request to end.
#[test]
fn a_run_of_timers_only_can_be_given_up() {
    let lab = Lab::new(
        &star(2, "10 Gb/s", "1 us"),
        "buffer = \"60 KB\"\npolicy = \"dt\"",
        "congestion_control = \"none\"\nrate = \"1 Gb/s\"",
    );
    let scenario = lab.times("2 s", "1 s").more("[output]\nsample_interval = \"1 us\"").workloads(
        "[[workload]]\nkind = \"bursts\"\nclass = \"late\"\nbursts = [{ src = \"h0\", dst = \"h1\", start = \"1900 ms\", duration = \"1 us\" }]",
    );
    let mut asked = 0_u32;
    let result = Simulation::new(&scenario).expect("it fits").run_while(&mut Rows::default(), &mut |at| {
        asked += 1;
        at.now < Time::from_ms(1_000)
    });
    assert!(matches!(result, Err(SimError::Interrupted)), "{result:?}");
    assert!(asked > 1, "{asked}");
}

#[test]
fn a_failed_policy_harms_no_other_run() {
    let _ = failure("evicts-from-nowhere");
    assert!(run("dt").expect("it runs").flows_finished == 2);
}
