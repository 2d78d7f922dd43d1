//! Tests that the switch reports the failure of a policy with place and time, and that the switch
//! continues correctly.

use bufferlab_core::*;
use bufferlab_units::{BitRate, Time};

/// A policy whose verdicts and expulsions from a queue are set by the test.
#[derive(Debug)]
struct Scripted {
    answer: fn(&Arrival) -> Verdict,
    expel: Option<QueueId>,
    own: Option<PolicyFailure>,
}

impl Policy for Scripted {
    fn admit(&mut self, arrival: &Arrival, _: &Buffer) -> Verdict {
        (self.answer)(arrival)
    }

    fn hooks(&self) -> Hooks {
        if self.expel.is_some() { Hooks::EXPEL } else { Hooks::NONE }
    }

    fn poll_expulsion(&mut self, _: Time, _: &Buffer) -> Option<(QueueId, End)> {
        self.expel.map(|queue| (queue, End::Head))
    }

    fn take_failure(&mut self) -> Option<PolicyFailure> {
        self.own.take()
    }
}

fn answering(answer: fn(&Arrival) -> Verdict) -> Switch<Scripted> {
    let config = SwitchConfig::new(2_500, vec![BitRate::gbps(10); 2]).with_queues(2);
    Switch::new(&config, Scripted { answer, expel: None, own: None })
}

/// Offers three packets of 1000 B to queue 2, one packet per nanosecond.
fn offer(switch: &mut Switch<Scripted>) -> [Admission; 3] {
    [1, 2, 3].map(|at| {
        let packet = Packet { id: at, header: Header::new(1_000), egress_port: 1, ..Packet::default() };
        switch.handle_arrival(Time::from_ns(u64::from(at)), &packet, &mut ())
    })
}

const STORED: Admission = Admission::Stored { marked: false };
const FAULT: Admission = Admission::dropped(DropReason::PolicyFault);

fn shared(_: &Arrival) -> Verdict {
    Verdict::Admit(Account::Shared)
}

#[test]
fn an_admission_beyond_the_buffer_is_refused_and_told_once() {
    let mut switch = answering(shared);
    assert_eq!(offer(&mut switch), [STORED, STORED, FAULT]);
    switch.verify().expect("the accounts are right");
    let failure = switch.take_failure().expect("there is one");
    assert_eq!(failure.to_string(), "admit: admitted 1000 B where 500 B of 2500 B are free");
    assert_eq!((failure.now, failure.queue), (Time::from_ns(3), Some(QueueId(2))));
    assert!(switch.take_failure().is_none());
}

#[test]
fn an_eviction_from_an_empty_queue_or_from_none_is_refused_and_names_the_queue() {
    let mut switch = answering(|_| Verdict::Evict { victim: QueueId(1), end: End::Tail });
    assert_eq!(offer(&mut switch), [FAULT; 3]);
    let failure = switch.take_failure().expect("there is one");
    assert_eq!(failure.now, Time::from_ns(1), "the first one counts");
    assert_eq!(failure.what, "asked to remove a packet from queue 1 (port 0, priority 1), which is empty");
    let mut switch = answering(|_| Verdict::Evict { victim: QueueId(4), end: End::Head });
    assert_eq!(offer(&mut switch)[0], FAULT);
    assert_eq!(
        switch.take_failure().expect("there is one").what,
        "asked to remove a packet from queue 4, and the switch has 4, numbered from 0"
    );
}

#[test]
fn evicting_without_end_ends_when_the_victim_is_empty() {
    let mut switch = answering(|arrival| match arrival.now.as_ns() {
        1 | 2 => Verdict::Admit(Account::Shared),
        _ => Verdict::Evict { victim: arrival.queue, end: End::Tail },
    });
    assert_eq!(offer(&mut switch), [STORED, STORED, FAULT]);
    switch.verify().expect("the accounts are right");
    let failure = switch.take_failure().expect("there is one");
    assert!(failure.what.ends_with("which is empty; 2 were evicted for this arrival before"), "{failure}");
}

#[test]
fn an_impossible_expulsion_is_told() {
    let mut switch = answering(shared);
    let config = SwitchConfig::new(2_500, vec![BitRate::gbps(10); 2]).with_queues(2);
    let policy = Scripted { answer: shared, expel: Some(QueueId(0)), own: None };
    assert!(switch.take_failure().is_none());
    switch = Switch::new(&config, policy);
    assert_eq!(offer(&mut switch)[0], STORED);
    let failure = switch.take_failure().expect("queue 0 is empty");
    assert_eq!((failure.hook, failure.queue), ("poll_expulsion", None));
}

#[test]
fn an_error_inside_the_policy_comes_before_what_it_led_to_and_keeps_its_cause() {
    let mut switch = answering(|_| Verdict::Drop(DropReason::PolicyFault));
    let cause: std::sync::Arc<dyn std::error::Error + Send + Sync> =
        std::sync::Arc::new(std::io::Error::other("the table is gone"));
    let _ = offer(&mut switch);
    assert!(switch.take_failure().is_none(), "refusing so without a failure is the policy's own affair");
    let own = PolicyFailure {
        now: Time::from_ns(7),
        queue: None,
        hook: "handle_timeout",
        what: "could not update".to_owned(),
        cause: Some(cause),
    };
    switch = Switch::new(
        &SwitchConfig::new(2_500, vec![BitRate::gbps(10)]),
        Scripted { answer: shared, expel: None, own: Some(own) },
    );
    let failure = switch.take_failure().expect("it has one");
    assert_eq!(failure.to_string(), "handle_timeout: could not update");
    let source = std::error::Error::source(&failure).expect("a cause");
    assert_eq!(source.to_string(), "the table is gone");
}
