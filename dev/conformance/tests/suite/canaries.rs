//! Canaries: deliberately broken policies, switches and ledgers. The suite must detect each defect
//! by the claim that the defect violates.

use bufferlab_conformance::*;
use bufferlab_core::policy::{CompleteSharing, DynamicThreshold};
use bufferlab_core::*;
use bufferlab_units::Time;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs the suite over `subject` and returns the first violation.
fn caught(subject: &Subject) -> Box<Violation> {
    let small = exhaustive(subject, 5).err();
    let large = random(subject, 0..10).err();
    Box::new(large.or(small).unwrap_or_else(|| panic!("{} was not caught", subject.name())))
}

/// Whether the given claim fails for `subject`. Other claims of the suite may fail, too.
fn breaks(subject: &Subject, claim: &str) -> bool {
    let property = PROPERTIES.iter().find(|property| property.claim == claim).expect("a claim");
    let scripts = (0..10).map(random_script);
    scripts.into_iter().any(|script| (property.check)(subject, &script).is_err())
}

fn random_script(seed: u64) -> Script {
    Script::random(seed, 600)
}

#[derive(Debug)]
struct AdmitsEverything;

impl Policy for AdmitsEverything {
    fn admit(&mut self, _: &Arrival, _: &Buffer) -> Verdict {
        Verdict::Admit(Account::Shared)
    }
}

#[test]
fn a_policy_that_admits_beyond_the_buffer_is_caught() {
    let subject = Subject::policy("admits-everything", |_| Ok(Box::new(AdmitsEverything)));
    let violation = caught(&subject);
    assert_eq!(violation.claim, "stays within the buffer");
    assert!(breaks(&subject, "refuses packets larger than the buffer"));
    // The script of the violation is minimal: without its smallest packet, the other packets would
    // fit into the buffer.
    let arrivals = violation.script.operations.iter().filter(|op| matches!(op, Operation::Arrive { .. }));
    let sizes: Vec<u64> = arrivals
        .map(|op| if let Operation::Arrive { size, .. } = op { u64::from(*size) } else { 0 })
        .collect();
    let (total, smallest) = (sizes.iter().sum::<u64>(), sizes.iter().min().copied().unwrap_or(0));
    assert_eq!(sizes.len(), violation.script.operations.len(), "nothing but arrivals is needed: {violation}");
    assert!(total > violation.script.config.capacity);
    assert!(total - smallest <= violation.script.config.capacity, "{violation}");
}

#[derive(Debug)]
struct EvictsFromEmptyQueues;

impl Policy for EvictsFromEmptyQueues {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if buffer.fits(arrival.header.size) {
            return Verdict::Admit(Account::Shared);
        }
        Verdict::Evict { victim: arrival.queue, end: End::Tail }
    }
}

#[test]
fn a_policy_that_evicts_from_an_empty_queue_is_caught() {
    let subject = Subject::policy("evicts-from-empty", |_| Ok(Box::new(EvictsFromEmptyQueues)));
    assert_eq!(caught(&subject).claim, "stays within the buffer");
}

/// A policy that evicts the tail of the first nonempty queue until the arriving packet
/// fits, up to a limit.
#[derive(Debug)]
struct Evicts {
    evicted: usize,
    patience: usize,
}

impl Policy for Evicts {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let victim = buffer.queue_ids().find(|&queue| buffer.queue_packets(queue) > 0);
        match victim {
            Some(victim) if !buffer.fits(arrival.header.size) && self.evicted < self.patience => {
                self.evicted += 1;
                return Verdict::Evict { victim, end: End::Tail };
            }
            _ => self.evicted = 0,
        }
        if buffer.fits(arrival.header.size) {
            Verdict::Admit(Account::Shared)
        } else {
            Verdict::Drop(DropReason::BufferFull)
        }
    }
}

#[test]
fn a_policy_that_evicts_in_vain_or_more_than_it_claims_is_caught() {
    let claim = "evicts only for packets that it then stores, and no more than it claims";
    let subject =
        |patience| Subject::policy("evicts", move |_| Ok(Box::new(Evicts { evicted: 0, patience })));
    assert!(breaks(&subject(1), claim), "one eviction is not always enough");
    assert!(!breaks(&subject(usize::MAX), claim));
    assert!(breaks(&subject(usize::MAX).with_at_most_evictions(1), claim));
}

static ASKED: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct Moody;

impl Policy for Moody {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if buffer.fits(arrival.header.size) && !ASKED.fetch_add(1, Ordering::Relaxed).is_multiple_of(7) {
            Verdict::Admit(Account::Shared)
        } else {
            Verdict::Drop(DropReason::BufferFull)
        }
    }
}

#[test]
fn a_policy_with_a_hidden_counter_is_caught() {
    let subject = Subject::policy("moody", |_| Ok(Box::new(Moody)));
    assert!(breaks(&subject, "is deterministic"));
}

/// Wraps a policy and replaces one of its answers by a wrong answer.
#[derive(Debug)]
struct Spoiled<P> {
    inner: P,
    spoil: Spoil,
    deadline: Time,
    timeouts: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spoil {
    Threshold,
    BackwardTimer,
    StuckTimer,
    CountsEveryTimeout,
    PanicsOnLargePackets,
}

fn spoiled(spoil: Spoil) -> Subject {
    Subject::policy(&format!("{spoil:?}"), move |shape| {
        let inner = DynamicThreshold::new(&vec![1.0; shape.queues_per_port]);
        Ok(Box::new(Spoiled { inner, spoil, deadline: Time::from_us(50), timeouts: 0 }))
    })
}

impl Policy for Spoiled<DynamicThreshold> {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if self.spoil == Spoil::PanicsOnLargePackets {
            assert!(u64::from(arrival.header.size) <= buffer.capacity(), "no such packet");
        }
        if self.spoil == Spoil::BackwardTimer && buffer.occupancy() > buffer.capacity() / 3 {
            self.deadline = self.deadline.min(arrival.now + Time::from_ns(5));
        }
        if self.spoil == Spoil::CountsEveryTimeout && self.timeouts % 2 == 1 {
            return Verdict::Drop(DropReason::Early);
        }
        self.inner.admit(arrival, buffer)
    }
    fn next_timeout(&self) -> Option<Time> {
        (!matches!(self.spoil, Spoil::Threshold | Spoil::PanicsOnLargePackets)).then_some(self.deadline)
    }
    fn handle_timeout(&mut self, now: Time, _: &Buffer) {
        self.timeouts += 1;
        if now >= self.deadline && self.spoil != Spoil::StuckTimer {
            self.deadline = now + Time::from_us(50);
        }
    }
    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        let factor = if self.spoil == Spoil::Threshold { 2 } else { 1 };
        self.inner.threshold(queue, tags, buffer).map(|limit| limit * factor)
    }
}

#[test]
fn a_threshold_that_is_not_the_one_in_force_is_caught() {
    assert!(breaks(&spoiled(Spoil::Threshold), "admits up to its threshold and not beyond"));
}

#[test]
fn timers_that_run_backwards_or_stand_still_are_caught() {
    let claim = "keeps its timers: they advance and arrivals never hasten them";
    assert!(breaks(&spoiled(Spoil::BackwardTimer), claim));
    assert!(breaks(&spoiled(Spoil::StuckTimer), claim));
}

#[test]
fn a_policy_that_counts_early_timeouts_is_caught() {
    assert!(breaks(&spoiled(Spoil::CountsEveryTimeout), "tolerates early and repeated timeouts"));
}

#[test]
fn a_policy_that_panics_is_caught_with_its_script() {
    let violation = caught(&spoiled(Spoil::PanicsOnLargePackets));
    assert_eq!(violation.claim, "refuses packets larger than the buffer");
    assert!(violation.what.contains("panicked: no such packet"), "{violation}");
}

#[test]
fn a_policy_that_is_not_monotone_in_alpha_is_caught() {
    let build = |alpha: f64| move |shape: &SwitchShape| vec![1.0 / alpha; shape.queues_per_port];
    let subject =
        Subject::policy("inverse", move |shape| Ok(Box::new(DynamicThreshold::new(&build(1.0)(shape)))))
            .monotone_in_alpha(move |config, alpha| {
                let policy = DynamicThreshold::new(&build(alpha)(&config.shape()));
                Ok(Box::new(SwitchDevice::new(Switch::new(config, policy))))
            });
    assert_eq!(caught(&subject).claim, "is monotone in alpha");
}

/// A switch under test that has one defect.
struct Defective {
    inner: SwitchDevice<CompleteSharing>,
    defect: Defect,
    departures: u64,
    /// Size of departed packets that the ledger did not release (bytes).
    leaked: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    /// The ledger does not release the bytes of every third departing packet.
    LeakyLedger,
    /// The switch loses every fifth packet on its departure.
    LosesPackets,
    /// The switch reports another packet than the head of the queue.
    Reorders,
    /// A port does not send at every fifth poll.
    Lazy,
    /// Pause frames have no effect on the switch.
    IgnoresPauses,
}

fn defective(defect: Defect) -> Subject {
    Subject::device(&format!("{defect:?}"), move |config| {
        let inner = SwitchDevice::new(Switch::new(config, CompleteSharing));
        Ok(Box::new(Defective { inner, defect, departures: 0, leaked: 0 }))
    })
}

impl Device for Defective {
    fn handle_arrival(&mut self, now: Time, packet: &Packet) -> Admission {
        self.inner.handle_arrival(now, packet)
    }
    fn poll_transmit(&mut self, now: Time, port: u16) -> Option<Transmission> {
        self.departures += 1;
        if self.defect == Defect::Lazy && self.departures.is_multiple_of(5) {
            return None;
        }
        let mut sent = self.inner.poll_transmit(now, port)?;
        match self.defect {
            Defect::LeakyLedger if self.departures.is_multiple_of(3) => self.leaked += u64::from(sent.size),
            Defect::LosesPackets if self.departures.is_multiple_of(5) => {
                return self.inner.poll_transmit(now, port);
            }
            Defect::Reorders if self.departures.is_multiple_of(5) => sent.packet += 1,
            _ => {}
        }
        Some(sent)
    }
    fn handle_pause(&mut self, port: u16, priority: u8, paused: bool) {
        if self.defect != Defect::IgnoresPauses {
            self.inner.handle_pause(port, priority, paused);
        }
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.inner.poll_timeout()
    }
    fn handle_timeout(&mut self, now: Time) {
        self.inner.handle_timeout(now);
    }
    fn take_removed(&mut self) -> Vec<(QueueId, u32)> {
        self.inner.take_removed()
    }
    fn queue_bytes(&self, queue: QueueId) -> u64 {
        self.inner.queue_bytes(queue)
    }
    fn occupancy(&self) -> u64 {
        self.inner.occupancy() + self.leaked
    }
    fn threshold(&self, _: QueueId, _: Tags) -> Option<u64> {
        None
    }
    fn verify(&self) -> Result<(), String> {
        self.inner.verify()
    }
}

#[test]
fn a_ledger_that_forgets_to_release_is_caught() {
    let violation = caught(&defective(Defect::LeakyLedger));
    assert_eq!(violation.claim, "conserves packets, and its ledger is right");
}

#[test]
fn a_switch_that_loses_packets_is_caught() {
    assert!(breaks(&defective(Defect::LosesPackets), "conserves packets, and its ledger is right"));
}

#[test]
fn a_switch_that_reorders_a_queue_is_caught() {
    assert!(breaks(&defective(Defect::Reorders), "conserves packets, and its ledger is right"));
}

#[test]
fn a_port_that_rests_with_packets_waiting_is_caught() {
    assert!(breaks(&defective(Defect::Lazy), "is work conserving"));
}

#[test]
fn a_switch_that_ignores_pauses_is_caught() {
    assert!(breaks(&defective(Defect::IgnoresPauses), "is work conserving"));
}

#[test]
fn random_scripts_meet_every_kind_of_outcome() {
    let dt = find_policy("dt").expect("registered");
    let subject = Subject::registered(dt, &[("alpha", ParamValue::RatioPerPriority(vec![4.0].into()))]);
    let mut seen = [0_u64; 5];
    for seed in 0..10 {
        let script = random_script(seed);
        let mut bench = Bench::new(subject.build(&script.config).expect("it fits"), &script);
        for operation in &script.operations {
            let kind = match bench.apply(operation).expect("no violation") {
                Outcome::Stored => 0,
                Outcome::Dropped(DropReason::BufferFull) => 1,
                Outcome::Dropped(_) => 2,
                Outcome::Sent(_) => 3,
                Outcome::Idle => 4,
                Outcome::Done => continue,
            };
            seen[kind] += 1;
        }
    }
    assert!(seen.iter().all(|&count| count > 20), "{seen:?}");
}

#[test]
fn a_switch_that_ignores_its_reserves_or_the_limits_of_its_ports_is_caught() {
    let ideal = |config: &SwitchConfig| SwitchConfig { hardware: Hardware::IDEAL, ..config.clone() };
    let subject = Subject::device("ignores-hardware", move |config| {
        Ok(Box::new(SwitchDevice::new(Switch::new(&ideal(config), CompleteSharing))))
    });
    let claim = PROPERTIES.last().expect("a claim");
    let failures: Vec<_> = (0..20)
        .filter_map(|seed| (claim.check)(&subject, &random_script(seed)).err())
        .map(|(_, what)| what)
        .collect();
    assert!(failures.iter().any(|what| what.contains("within the reserve")), "{failures:?}");
    assert!(failures.iter().any(|what| what.contains("its limit is")), "{failures:?}");
}
