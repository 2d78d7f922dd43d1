//! Calculator for the buffer that absorbs an incast without loss, and for the largest incast that a
//! buffer absorbs.

use super::burst_tolerance::{EvenSwitch, PORTS_MAX, Policy, burst_tolerance};
use super::input::{self, ALPHA, PORT_RATE, RATE, SIZE, TAU, count, param};
use super::{CalculatorInfo, Derivation, Rule, Table, bytes, number, rate};
use crate::forms::{Domain, check, positive};
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params};

/// The calculator gives the answers `buffer needed` for a burst, or `largest burst` for a buffer,
/// and `stored`. Without a policy the calculator gives a table of all policies.
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "burst",
    aliases: &[],
    title: "Buffer for a burst",
    summary: "Calculate the buffer that a burst of many senders needs, or the largest burst that a buffer absorbs, without loss.",
    source: "The burst tolerance of each policy (ABM section 2.3 and Eqs. 5-42, Plasticine Eq. 10, TDT section VI-A and Eq. 5, LossPass Eq. 6), solved for the buffer: in the fluid model the tolerance grows in proportion to the buffer.",
    params: PARAMS,
    rules: &[Rule::OneOf(&["burst", "buffer"])],
    examples: &[&[
        ("burst", "4 MB"),
        ("fan_in", "32"),
        ("port_rate", "100 Gb/s"),
        ("policy", "dt"),
        ("alpha", "1"),
    ]],
    run,
};

const PARAMS: &[ParamInfo] = &[
    param(
        "policy",
        ParamKind::Choice(Policy::WORDS),
        ParamValue::Computed("all of them side by side"),
        "The policy to derive.",
    ),
    param("burst", SIZE, ParamValue::Optional, "Bytes of all senders together, to find the buffer for them."),
    param("buffer", SIZE, ParamValue::Optional, "Shared buffer, to find the largest burst."),
    param("fan_in", count(1), ParamValue::Count(16), "Senders of the burst, all at the same time."),
    param(
        "sender_rate",
        RATE,
        ParamValue::Computed("the rate of the port"),
        "Rate at which the packets of each sender arrive.",
    ),
    PORT_RATE,
    param(
        "ports",
        ParamKind::Count { min: 1, max: PORTS_MAX as u64 },
        ParamValue::Count(32),
        "Ports of the switch.",
    ),
    param(
        "congested",
        count(0),
        ParamValue::Count(0),
        "Other ports with a congested queue when the burst arrives.",
    ),
    param("alpha", ALPHA, ParamValue::Ratio(0.5), "Alpha of the queues."),
    param("burst_alpha", ALPHA, ParamValue::Computed("alpha"), "Alpha of the burst."),
    param(
        "same_priority",
        ParamKind::Flag,
        ParamValue::Flag(false),
        "The burst has the priority of the congested queues instead of a separate priority.",
    ),
    TAU,
];

/// A burst of many senders to one port, and the switch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Incast {
    /// Number of senders of the incast.
    fan_in: u32,
    /// Rate of each sender of the incast (bits/s).
    sender_rate_bps: f64,
    /// The switch of the incast. `solve` sets the size of its buffer.
    switch: EvenSwitch,
}

/// The quantity that the user gives to the calculator: the burst or the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    /// The size of the burst (bytes): the buffer is unknown.
    Burst(f64),
    /// The size of the buffer (bytes): the burst is unknown.
    Buffer(f64),
}

/// The burst and the buffer of one policy: one is given, the other computed.
#[derive(Clone, Debug, PartialEq)]
struct Solution {
    /// Size of the shared buffer (bytes).
    buffer_bytes: f64,
    /// Bytes of the burst from all senders together.
    burst_bytes: f64,
    /// Bytes of the burst in the buffer when the last byte of the burst arrives.
    stored_bytes: f64,
    /// Derivation of the burst that the given buffer absorbs.
    derivation: Derivation,
}

fn run(params: &Params) -> Domain<Derivation> {
    let port_rate_bps = input::rate(params, "port_rate");
    let alpha = params.ratio("alpha");
    let fan_in = params.small_count("fan_in");
    let sender_rate_bps = params.given_rate("sender_rate").map_or(port_rate_bps, |rate| rate.0 as f64);
    let switch = EvenSwitch {
        buffer_bytes: 1.0,
        port_rate_bps,
        ports: params.small_count("ports"),
        queues: 1,
        congested: params.small_count("congested"),
        congested_queues: 1,
        priorities: 1,
        alpha,
        burst_ports: 1,
        queues_beside_burst: 0,
        burst_alpha: params.given_ratio("burst_alpha").unwrap_or(alpha),
        same_priority: params.flag("same_priority"),
        rate_bps: f64::from(fan_in) * sender_rate_bps,
        tau: params.ratio("tau"),
    };
    let incast = Incast { fan_in, sender_rate_bps, switch };
    let given = match (input::given_size(params, "burst"), input::given_size(params, "buffer")) {
        (Some(burst), _) => Given::Burst(burst),
        (None, buffer) => Given::Buffer(positive("buffer", buffer.unwrap_or(0.0))?),
    };
    let valid = format_args!(
        "more than {} for {fan_in} senders (what the port sends)",
        rate(port_rate_bps / f64::from(fan_in))
    );
    check(switch.rate_bps > port_rate_bps, "sender_rate", sender_rate_bps, valid)?;
    match params.given_choice("policy") {
        Some(policy) => one(&incast, policy, given),
        None => all(&incast, given),
    }
}

/// Solves the burst tolerance of `policy` for the unknown buffer or burst.
fn solve(incast: &Incast, policy: Policy, given: Given) -> Domain<Solution> {
    let arrived = |buffer_bytes: f64| -> Domain<_> {
        burst_tolerance(&EvenSwitch { buffer_bytes, ..incast.switch }.state()?, policy)
    };
    let buffer_bytes = match given {
        Given::Buffer(buffer) => buffer,
        Given::Burst(burst) => burst / (arrived(UNIT_BYTES)?.arrived_bytes / UNIT_BYTES),
    };
    let found = arrived(buffer_bytes)?;
    Ok(Solution {
        buffer_bytes,
        burst_bytes: found.arrived_bytes,
        stored_bytes: found.stored_bytes,
        derivation: found.derivation,
    })
}

/// Buffer size for which the burst per byte of buffer is computed (bytes). The ratio does not
/// depend on the size.
const UNIT_BYTES: f64 = 1e6;

fn title(incast: &Incast, given: Given) -> String {
    let senders = format!("{} senders of {} each", incast.fan_in, rate(incast.sender_rate_bps));
    match given {
        Given::Burst(burst) => format!("Buffer for a burst of {} from {senders}", bytes(burst)),
        Given::Buffer(buffer) => format!("Largest burst from {senders} in a buffer of {}", bytes(buffer)),
    }
}

/// Derivation of the unknown burst or buffer for one policy.
fn one(incast: &Incast, policy: Policy, given: Given) -> Domain<Derivation> {
    let found = solve(incast, policy, given)?;
    let mut derivation = Derivation::new(format!("{}, under {}", title(incast, given), policy.word()));
    let numbers = format!("{} * {}", incast.fan_in, rate(incast.sender_rate_bps));
    derivation.step("arrival", "senders * their rate", numbers, rate(incast.switch.rate_bps), "");
    derivation.lines.extend(found.derivation.lines);
    if let Given::Burst(burst) = given {
        let share = burst / found.buffer_bytes;
        let numbers = format!("{} / {}", bytes(burst), number(share));
        derivation.step(
            "buffer needed",
            "burst / (burst per byte of buffer)",
            numbers,
            bytes(found.buffer_bytes),
            "proportional to the burst",
        );
        derivation.answer("buffer needed", found.buffer_bytes, bytes(found.buffer_bytes));
    } else {
        derivation.answer("largest burst", found.burst_bytes, bytes(found.burst_bytes));
    }
    derivation.answer("stored", found.stored_bytes, bytes(found.stored_bytes));
    let each = found.burst_bytes / f64::from(incast.fan_in);
    derivation.answer("per sender", each, bytes(each));
    derivation.notes.extend(found.derivation.notes);
    conditions(&mut derivation);
    Ok(derivation)
}

/// Derivation with a table of all policies. A policy without an answer is in the table with the
/// reason.
fn all(incast: &Incast, given: Given) -> Domain<Derivation> {
    let mut derivation = Derivation::new(title(incast, given));
    let numbers = format!("{} * {}", incast.fan_in, rate(incast.sender_rate_bps));
    derivation.step("arrival", "senders * their rate", numbers, rate(incast.switch.rate_bps), "");
    let unknown = if matches!(given, Given::Burst(_)) { "buffer needed" } else { "largest burst" };
    let mut table = Table::new(&["policy", unknown, "stored", "of the buffer", "per sender"]);
    for policy in Policy::ALL.iter().copied() {
        let name = policy.word().to_owned();
        match solve(incast, policy, given) {
            Ok(found) => {
                let answer =
                    if matches!(given, Given::Burst(_)) { found.buffer_bytes } else { found.burst_bytes };
                let share = 100.0 * found.stored_bytes / found.buffer_bytes;
                let each = found.burst_bytes / f64::from(incast.fan_in);
                let cells = [bytes(answer), bytes(found.stored_bytes), format!("{share:.1} %"), bytes(each)];
                table.rows.push(std::iter::once(name).chain(cells).collect());
            }
            // The switch itself is invalid, so no policy can be calculated.
            Err(error) if policy == Policy::DynamicThreshold => return Err(error),
            Err(error) => {
                derivation.note(format!("{name}: {error}"));
                table
                    .rows
                    .push(std::iter::once(name).chain(std::iter::repeat_n("-".to_owned(), 4)).collect());
            }
        }
    }
    derivation.table = Some(table);
    derivation.note("edt: the port is uncontrolled from the first packet; tdt: congested ports are evacuated before; losspass: an even split of the buffer, the port full, small flows first; ideal: the whole buffer, as under cs");
    conditions(&mut derivation);
    Ok(derivation)
}

fn conditions(derivation: &mut Derivation) {
    derivation.note("every sender sends its part at once, whatever its congestion control; sizes are bytes on the wire, with headers");
    derivation.note("fluid model: add about a packet for each congested queue, and two for the burst");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calculators::CalculatorError;
    use crate::calculators::input::given;

    fn asked(policy: &'static str, known: (&'static str, u64)) -> Result<Derivation, CalculatorError> {
        INFO.calculate(&given(&[
            ("policy", ParamValue::Choice(policy.into())),
            (known.0, ParamValue::Bytes(known.1)),
            ("fan_in", ParamValue::Count(8)),
            ("alpha", ParamValue::Ratio(1.0)),
            ("congested", ParamValue::Count(2)),
        ]))
    }

    /// Seven eighths of the burst are still in the buffer at the burst's end. Under Dynamic
    /// Thresholds a lone queue gets alpha / (1 + alpha) of the buffer.
    #[test]
    fn a_burst_that_is_alone_needs_twice_its_queue_under_dt_with_alpha_1() -> Result<(), CalculatorError> {
        let mut values = vec![("burst", ParamValue::Bytes(800_000)), ("fan_in", ParamValue::Count(8))];
        values.extend([("alpha", ParamValue::Ratio(1.0)), ("policy", ParamValue::Choice("dt".into()))]);
        let found = INFO.calculate(&given(&values))?;
        let needed = found.value("buffer needed").expect("answered");
        assert!((needed - 1_400_000.0).abs() < 1.0, "{found}");
        assert!((found.value("stored").expect("answered") - 700_000.0).abs() < 1.0, "{found}");
        Ok(())
    }

    #[test]
    fn the_buffer_for_a_burst_absorbs_this_burst() -> Result<(), CalculatorError> {
        for word in Policy::WORDS {
            let burst = asked(word.name, ("buffer", 4_000_000))?.value("largest burst").expect("answered");
            let back = asked(word.name, ("burst", burst as u64))?.value("buffer needed").expect("answered");
            assert!((back / 4e6 - 1.0).abs() < 1e-5, "{}: {burst}, {back}", word.name);
        }
        Ok(())
    }

    #[test]
    fn slow_senders_and_two_unknowns_are_refused() {
        let slow = [
            ("burst", ParamValue::Bytes(1_000)),
            ("sender_rate", ParamValue::Rate(bufferlab_units::BitRate(1_000_000))),
        ];
        let error = INFO.calculate(&given(&slow)).expect_err("no queue grows");
        assert!(error.to_string().starts_with("sender_rate is"), "{error}");
        let both = [("burst", ParamValue::Bytes(1_000)), ("buffer", ParamValue::Bytes(1_000))];
        assert!(INFO.calculate(&given(&both)).is_err());
    }
}
