//! Claims that must hold for every policy. Each claim is checked by one function.

use crate::bench::{Bench, Outcome};
use crate::script::{Operation, Script};
use crate::subject::Subject;
use bufferlab_core::{Accounting, BuildError, DropReason, Hardware, QueueId, Reserves, ResumeBelow, Tags};
use std::fmt;

/// A claim that must hold for every policy, with the function that checks the claim.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// Text of the claim in plain words.
    pub claim: &'static str,
    /// Function that runs a script on devices of a subject, and returns the failure of the claim.
    pub check: fn(&Subject, &Script) -> Result<(), Failure>,
}

/// Claims that only some policies make.
pub(crate) const MONOTONE: &str = "is monotone in alpha";
pub(crate) const EXACT: &str = "admits up to its threshold and not beyond";

/// Properties that the suite checks for every policy.
pub const PROPERTIES: &[Property] = &[
    Property { claim: "stays within the buffer", check: stays_within_the_buffer },
    Property { claim: "conserves packets, and its ledger is right", check: conserves_packets },
    Property { claim: "is deterministic", check: is_deterministic },
    Property { claim: "is work conserving", check: is_work_conserving },
    Property { claim: MONOTONE, check: is_monotone_in_alpha },
    Property { claim: EXACT, check: threshold_agrees_with_admission },
    Property {
        claim: "keeps its timers: they advance and arrivals never hasten them",
        check: keeps_its_timers,
    },
    Property { claim: "tolerates early and repeated timeouts", check: tolerates_early_timeouts },
    Property { claim: "refuses packets larger than the buffer", check: refuses_oversized_packets },
    Property {
        claim: "evicts only for packets that it then stores, and no more than it claims",
        check: evicts_only_for_what_it_stores,
    },
    Property {
        claim: "keeps reserves, limits and the buffer on a chip with cells, stale thresholds and rounded alphas",
        check: keeps_its_promises_on_a_chip,
    },
];

/// Index of the operation at which a check failed, and the reason. An index equal to the number of
/// operations means that the check failed after the last operation.
pub type Failure = (usize, String);

/// A violated claim, with a script that shows the violation.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Name of the subject that violates the claim.
    pub subject: String,
    /// Text of the violated claim.
    pub claim: &'static str,
    /// Script of operations that shows the violation.
    pub script: Box<Script>,
    /// Index of the operation after which the violation is visible.
    pub at: usize,
    /// Description of the violation in plain words.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, claim, script, at, what } = self;
        let config = &script.config;
        writeln!(f, "{subject}: the claim \"{claim}\" fails at operation {at}: {what}")?;
        writeln!(
            f,
            "  buffer of {} B, {} ports x {} queues, seed {}, {} between operations:",
            config.capacity,
            config.port_rates.len(),
            config.queues_per_port,
            config.seed,
            script.gap
        )?;
        for (index, operation) in script.operations.iter().enumerate().take(at + 1) {
            writeln!(f, "  {index}: {operation:?}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Violation {}

fn unbuildable(error: &BuildError) -> Failure {
    (0, format!("it cannot be built: {error}"))
}

fn bench(subject: &Subject, script: &Script) -> Result<Bench, Failure> {
    let device = subject.build(&script.config).map_err(|error| unbuildable(&error))?;
    Ok(Bench::new(device, script))
}

/// Applies every operation of a script. The function calls `observe` before the first operation
/// (with `None`) and after each operation.
fn replay(
    mut bench: Bench,
    script: &Script,
    mut observe: impl FnMut(&mut Bench, &Operation, Option<&Outcome>) -> Result<(), String>,
) -> Result<Bench, Failure> {
    for (index, operation) in script.operations.iter().enumerate() {
        let mut step = || {
            observe(&mut bench, operation, None)?;
            let outcome = bench.apply(operation)?;
            observe(&mut bench, operation, Some(&outcome))
        };
        step().map_err(|what| (index, what))?;
    }
    Ok(bench)
}

/// Checks that the buffer never stores more than its capacity, and that the policy makes no
/// impossible request. Impossible requests are for missing space, or for an eviction from an empty
/// queue.
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn stays_within_the_buffer(subject: &Subject, script: &Script) -> Result<(), Failure> {
    replay(bench(subject, script)?, script, |bench, _, outcome| {
        let stored: u64 = bench.queues().map(|queue| bench.expected_bytes(queue)).sum();
        if stored > script.config.capacity {
            return Err(format!("{stored} B are stored"));
        }
        match outcome {
            Some(Outcome::Dropped(DropReason::PolicyFault)) => {
                Err("the policy admitted beyond the buffer or evicted from an empty queue".to_owned())
            }
            _ => Ok(()),
        }
    })
    .map(|_| ())
}

/// Checks after every operation that each arrived packet was sent, dropped or evicted, or is
/// stored. The ledger must equal the content of the queues. Every queue must send in order of
/// arrival.
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn conserves_packets(subject: &Subject, script: &Script) -> Result<(), Failure> {
    replay(bench(subject, script)?, script, |bench, _, _| bench.audit()).map(|_| ())
}

/// Checks that equal operations give equal verdicts, thresholds and deadlines in every run.
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn is_deterministic(subject: &Subject, script: &Script) -> Result<(), Failure> {
    let mut first = Vec::with_capacity(script.operations.len());
    replay(bench(subject, script)?, script, |bench, operation, outcome| {
        first.extend(outcome.map(|outcome| snapshot(bench, operation, outcome)));
        Ok(())
    })?;
    let mut index = 0;
    replay(bench(subject, script)?, script, |bench, operation, outcome| {
        let Some(outcome) = outcome else { return Ok(()) };
        let second = snapshot(bench, operation, outcome);
        index += 1;
        same(&first[index - 1], &second, "the first run", "the second run")
    })
    .map(|_| ())
}

/// Observable state of the device after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Snapshot {
    outcome: Outcome,
    threshold: Option<u64>,
    deadline: Option<bufferlab_units::Time>,
}

fn snapshot(bench: &Bench, operation: &Operation, outcome: &Outcome) -> Snapshot {
    let queue = match (operation, outcome) {
        (Operation::Arrive { queue, .. }, _) => QueueId(*queue),
        (_, Outcome::Sent(sent)) => sent.queue,
        _ => QueueId(0),
    };
    Snapshot {
        outcome: *outcome,
        threshold: bench.device.threshold(queue, Tags::NONE),
        deadline: bench.device.poll_timeout(),
    }
}

fn same(one: &Snapshot, other: &Snapshot, one_name: &str, other_name: &str) -> Result<(), String> {
    if one == other { Ok(()) } else { Err(format!("{one_name}: {one:?}; {other_name}: {other:?}")) }
}

/// Checks that a port with a packet in an unpaused queue always sends, and that all stored packets
/// leave at the end.
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn is_work_conserving(subject: &Subject, script: &Script) -> Result<(), Failure> {
    let mut owed = false;
    let mut bench = replay(bench(subject, script)?, script, |bench, operation, outcome| {
        let Operation::Depart { port } = operation else { return Ok(()) };
        match outcome {
            None => owed = bench.may_send(*port),
            Some(Outcome::Idle) if owed => return Err(format!("port {port} has a packet and sends nothing")),
            Some(_) => {}
        }
        Ok(())
    })?;
    let mut drain = || {
        for queue in bench.queues() {
            let queues_per_port = script.config.queues_per_port as u16;
            let (port, priority) = (queue.0 / queues_per_port, (queue.0 % queues_per_port) as u8);
            bench.apply(&Operation::Pause { port, priority, paused: false })?;
        }
        for port in 0..script.config.port_rates.len() as u16 {
            while bench.may_send(port) {
                if bench.apply(&Operation::Depart { port })? == Outcome::Idle {
                    return Err(format!("port {port} has a packet and sends nothing"));
                }
            }
        }
        bench.audit()
    };
    drain().map_err(|what| (script.operations.len(), what))
}

/// Checks that, in equal states, a larger alpha gives no smaller threshold. The larger alpha must
/// also admit every packet that the smaller alpha admits.
///
/// Two devices get equal operations as long as their answers and contents are equal (a policy may
/// expel packets according to alpha). During these operations, the states of the devices differ
/// only in alpha. The check ends at the first other difference, because a packet more in one queue
/// may cost another queue a packet.
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn is_monotone_in_alpha(subject: &Subject, script: &Script) -> Result<(), Failure> {
    let Some(build) = &subject.build_with_alpha else { return Ok(()) };
    let new = |alpha| match build(&script.config, alpha) {
        Ok(device) => Ok(Bench::new(device, script)),
        Err(error) => Err(unbuildable(&error)),
    };
    let (mut low, mut high) = (new(script.alphas.0)?, new(script.alphas.1)?);
    for (index, operation) in script.operations.iter().enumerate() {
        let mut step = || {
            let outcomes = (low.apply(operation)?, high.apply(operation)?);
            if outcomes.0 != outcomes.1 {
                return match outcomes {
                    (Outcome::Dropped(_), Outcome::Stored | Outcome::Dropped(_)) => Ok(false),
                    _ => Err(format!("alpha {:?} answer {outcomes:?}", script.alphas)),
                };
            }
            if low.queues().any(|queue| low.expected_bytes(queue) != high.expected_bytes(queue)) {
                return Ok(false);
            }
            for queue in low.queues() {
                let limits = [&low, &high].map(|bench| bench.device.threshold(queue, Tags::NONE));
                if limits[1] < limits[0] {
                    return Err(format!(
                        "alpha {:?} give {queue:?} the thresholds {limits:?}",
                        script.alphas
                    ));
                }
            }
            Ok(true)
        };
        if !step().map_err(|what| (index, what))? {
            break;
        }
    }
    Ok(())
}

/// Checks policies with a threshold. A packet is admitted if it fits in the buffer, and the queue
/// with the packet is at most as long as the threshold. A packet beyond the threshold is dropped,
/// unless the policy removes other packets to store this packet.
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn threshold_agrees_with_admission(subject: &Subject, script: &Script) -> Result<(), Failure> {
    if !subject.exact_threshold {
        return Ok(());
    }
    let mut bench = bench(subject, script)?;
    for (index, operation) in script.operations.iter().enumerate() {
        let mut step = || {
            let Operation::Arrive { queue, size, tags } = *operation else {
                return bench.apply(operation).map(|_| ());
            };
            // Expired timers are handled first, because a timer might move the threshold between
            // the query and the arrival.
            bench.apply(&Operation::Wait(bufferlab_units::Time::ZERO))?;
            let id = QueueId(queue);
            let free = script.config.capacity - bench.queues().map(|q| bench.expected_bytes(q)).sum::<u64>();
            let length = bench.expected_bytes(id) + u64::from(size);
            let due_before_arrival =
                bench.device.poll_timeout().is_some_and(|due| due <= bench.now() + script.gap);
            let limit = bench.device.threshold(id, tags);
            let outcome = bench.apply(operation)?;
            let (Some(limit), false) = (limit, due_before_arrival) else { return Ok(()) };
            let within = length <= limit && u64::from(size) <= free;
            match (within, outcome) {
                (true, Outcome::Stored) | (false, Outcome::Dropped(_)) => Ok(()),
                (false, Outcome::Stored) if bench.removed() > 0 => Ok(()),
                _ => {
                    Err(format!("threshold {limit} B, q + len = {length} B, {free} B free, yet {outcome:?}"))
                }
            }
        };
        step().map_err(|what| (index, what))?;
    }
    Ok(())
}

/// Checks the timers of a policy. After a deadline is handled, the next deadline is later or
/// absent. No operation moves a deadline to an earlier time. Only an arrival starts a timer, and no
/// deadline is in the past.
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn keeps_its_timers(subject: &Subject, script: &Script) -> Result<(), Failure> {
    // The test bench itself checks the device's deadline before and after every operation.
    replay(bench(subject, script)?, script, |_, _, _| Ok(())).map(|_| ())
}

/// Checks that `handle_timeout` before the deadline, or twice at the deadline, changes no state.
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn tolerates_early_timeouts(subject: &Subject, script: &Script) -> Result<(), Failure> {
    let (mut plain, mut eager) = (bench(subject, script)?, bench(subject, script)?.with_early_timeouts());
    for (index, operation) in script.operations.iter().enumerate() {
        let mut step = || {
            let (one, other) = (plain.apply(operation)?, eager.apply(operation)?);
            let (one, other) = (snapshot(&plain, operation, &one), snapshot(&eager, operation, &other));
            same(&one, &other, "with timeouts when due", "with early ones too")
        };
        step().map_err(|what| (index, what))?;
    }
    Ok(())
}

/// Checks that a packet larger than the buffer is dropped in any state and with any tags. The
/// accounts must stay correct.
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn refuses_oversized_packets(subject: &Subject, script: &Script) -> Result<(), Failure> {
    let capacity = script.config.capacity;
    let sizes = [u32::try_from(capacity + 1).ok(), (capacity < u64::from(u32::MAX)).then_some(u32::MAX)];
    let mut turn = 0_usize;
    replay(bench(subject, script)?, script, |bench, _, outcome| {
        if outcome.is_none() {
            return Ok(());
        }
        turn += 1;
        let queue = (turn % bench.queues().count()) as u16;
        let tags = if turn.is_multiple_of(3) { Tags::UNSCHEDULED } else { Tags::NONE };
        for size in sizes.into_iter().flatten() {
            let outcome = bench.apply(&Operation::Arrive { queue, size, tags })?;
            if !matches!(outcome, Outcome::Dropped(reason) if reason != DropReason::PolicyFault) {
                return Err(format!("a packet of {size} B for queue {queue}: {outcome:?}"));
            }
            bench.audit()?;
        }
        Ok(())
    })
    .map(|_| ())
}

/// Checks that a dropped arrival removes no stored packet, and that no arrival removes more packets
/// than the subject claims ([`Subject::with_at_most_evictions`]).
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn evicts_only_for_what_it_stores(subject: &Subject, script: &Script) -> Result<(), Failure> {
    replay(bench(subject, script)?, script, |bench, _, outcome| match (outcome, subject.most_evictions) {
        (Some(Outcome::Dropped(reason)), _) if bench.removed() > 0 => {
            Err(format!("{} packets were evicted for one that was then dropped: {reason:?}", bench.removed()))
        }
        (Some(Outcome::Stored), Some(most)) if bench.removed() > most => {
            Err(format!("{} packets were evicted for one; at most {most} are claimed", bench.removed()))
        }
        _ => Ok(()),
    })
    .map(|_| ())
}

/// Checks policies on a chip with whole cells, reserves, a limit per port, refreshed thresholds and
/// rounded alphas. The chip stores a packet that fits in its queue's reserve, and no port exceeds
/// its limit. The policy makes no impossible request, and the ledger is correct after every
/// operation.
///
/// # Errors
/// The operation at which the claim fails, and the reason.
pub fn keeps_its_promises_on_a_chip(subject: &Subject, script: &Script) -> Result<(), Failure> {
    let chip = on_a_chip(script);
    let Hardware { reserves, port_limit, .. } = chip.config.hardware;
    let queues_per_port = chip.config.queues_per_port;
    let mut owed = false;
    replay(bench(subject, &chip)?, &chip, |bench, operation, outcome| {
        let Operation::Arrive { queue, size, .. } = *operation else { return bench.audit() };
        match outcome {
            None => owed = bench.expected_bytes(QueueId(queue)) + u64::from(size) <= reserves.queue,
            Some(Outcome::Dropped(DropReason::PolicyFault)) => {
                return Err("the policy asked for the impossible".to_owned());
            }
            Some(Outcome::Dropped(reason)) if owed => {
                return Err(format!("a packet within the reserve of queue {queue} was lost: {reason:?}"));
            }
            Some(_) => {}
        }
        let lengths: Vec<_> = bench.queues().map(|queue| bench.expected_bytes(queue)).collect();
        let ports = lengths.chunks(queues_per_port).map(|port| port.iter().sum::<u64>());
        match ports.max().zip(port_limit).filter(|(most, limit)| most > limit) {
            Some((most, limit)) => Err(format!("a port holds {most} B, its limit is {limit} B")),
            None => bench.audit(),
        }
    })
    .map(|_| ())
}

/// Converts a script to a script for a chip whose details derive from the seed. Packet sizes are
/// rounded to whole cells, so that the bench's accounts stay valid.
fn on_a_chip(script: &Script) -> Script {
    let mut chip = script.clone();
    let seed = script.config.seed;
    let cell_bytes = [1, 50, 208][(seed % 3) as usize].min(script.config.max_packet as u32);
    let whole = |size: u32| size.div_ceil(cell_bytes) * cell_bytes;
    for operation in &mut chip.operations {
        if let Operation::Arrive { size, .. } = operation {
            *size = whole(*size);
        }
    }
    let packet = u64::from(whole(script.config.max_packet as u32));
    let reserves = Reserves { queue: packet * (seed % 2), port: packet / 2 * (seed % 5 / 2) };
    let set_aside = reserves.total(script.config.port_rates.len(), script.config.queues_per_port);
    // The chip keeps the number of packets that fit in the policy's part of the buffer, so that
    // every policy can be built.
    let scaled = (script.config.capacity * packet).div_ceil(script.config.max_packet);
    chip.config.capacity = scaled + set_aside;
    chip.config.max_packet = packet;
    chip.config.hardware = Hardware {
        cell_bytes,
        // The bench counts whole cells, so packets have no overhead.
        packet_overhead: 0,
        accounting: Accounting {
            resume_below: if seed % 11 < 5 { ResumeBelow::PausePoint } else { ResumeBelow::Threshold },
            ..Accounting::IDEAL
        },
        reserves,
        // The port limit is above the port's reserves, so that packets can reach the limit.
        port_limit: (seed % 7 < 3)
            .then_some(packet + reserves.total(1, script.config.queues_per_port) + chip.config.capacity / 4),
        threshold_refresh: (seed % 4 < 2).then_some(bufferlab_units::Time::from_ns(700)),
        quantised_alpha: seed.is_multiple_of(2),
        uncharged_priorities: 0,
    };
    chip
}
