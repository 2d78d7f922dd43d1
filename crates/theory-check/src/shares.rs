//! Replay of the calculator `shares`: measures equal queues at the limit of Dynamic Thresholds.

use crate::bench::{Bench, PortQueue};
use crate::schemes::{packet_size, ratios, settled, switch};
use crate::{Asked, Check, ReplayInfo, Unit, Verification};
use bufferlab_theory::calculators::number;
use bufferlab_units::BitRate;

/// Replay of `shares` with queues on separate ports.
pub(crate) const REPLAY: ReplayInfo = ReplayInfo {
    calculator: "shares",
    summary: "the stated number of queues is kept at the limits of Dynamic Thresholds, for every alpha of the table",
    run,
};

/// Exponents of the alphas in the calculator's table, which are powers of two.
const POWERS: std::ops::RangeInclusive<i32> = -8..=8;
/// Default size of the buffer (bytes), which is ten thousand packets.
/// Every share is a fraction of the buffer.
const SOME_BUFFER: u64 = 10_000_000;
/// Largest number of queues in a replay. More queues would show no other behaviour.
const QUEUES_MAX: u64 = 512;
const FACTORS: std::ops::RangeInclusive<f64> = 1e-6..=65_536.0;
const BOUND: &str =
    "equal queues grow together until the next packet would be above the limit: a packet each, and one";

fn run(asked: &Asked<'_>) -> Verification {
    let buffer = asked.params.given_bytes("buffer").unwrap_or(SOME_BUFFER);
    let mut found = Verification::default();
    for count in asked.params.counts("queues") {
        match row(buffer, count) {
            Ok((what, check)) => found.add(what, BOUND, vec![check]),
            Err(reason) => found.left_out.push(format!("{count} queues: {reason}")),
        }
    }
    let share = asked.answer.value("share").zip(asked.params.given_ratio("alpha"));
    let alpha = asked.params.given_ratio("share").zip(asked.answer.value("alpha"));
    for (name, pair) in [("share of alpha", share), ("share at the alpha of a share", alpha)] {
        let Some((share, alpha)) = pair else { continue };
        match longest(buffer, 1, alpha) {
            Ok((held, packet)) => {
                let check =
                    Check::equal(name, (share * buffer as f64, held), f64::from(2 * packet), Unit::Bytes);
                found.add(
                    format!("dt, a queue with alpha {}, packets of {packet} B", number(alpha)),
                    BOUND,
                    vec![check],
                );
            }
            Err(reason) => found.left_out.push(format!("{name}: {reason}")),
        }
    }
    found
}

/// Checks the alpha with the largest difference in one column of the calculator's table.
fn row(buffer: u64, count: u64) -> Result<(String, Check), String> {
    if count > QUEUES_MAX {
        return Err(format!("at most {QUEUES_MAX} are replayed"));
    }
    let mut worst: Option<Check> = None;
    let mut size = 0;
    for power in POWERS {
        let alpha = f64::from(power).exp2();
        let (held, packet) = longest(buffer, count as usize, alpha)?;
        let stated = buffer as f64 * alpha / (1.0 + count as f64 * alpha);
        let name = format!("each of {count} at alpha {}, where they differ most", number(alpha));
        let check = Check::equal(name, (stated, held), f64::from(2 * packet), Unit::Bytes);
        size = packet;
        if worst.as_ref().is_none_or(|worst| check.difference().abs() > worst.difference().abs()) {
            worst = Some(check);
        }
    }
    let what = format!("dt, {count} queues at 17 alphas from 1/256 to 256, packets of {size} B");
    Ok((what, worst.expect("the table has rows")))
}

/// Returns the length (bytes) of the queue that differs most from the mean of `count` equal queues,
/// and the size of a packet.
fn longest(buffer: u64, count: usize, alpha: f64) -> Result<(f64, u32), String> {
    if !FACTORS.contains(&alpha) {
        return Err(format!("alpha {}: policies take factors from 1e-6 to 65536", number(alpha)));
    }
    let packet = packet_size(buffer, 2.0 * count as f64 + 200.0)?;
    let config = switch(buffer, vec![BitRate::gbps(10); count], 1);
    let bench = Bench::new(&config, "dt", &[("alpha", ratios(&[alpha]))], packet)?;
    let places: Vec<_> = (0..count as u16).map(|port| PortQueue { port, priority: 0 }).collect();
    let bench = settled(bench, &places)?;
    let stated = buffer as f64 * alpha / (1.0 + count as f64 * alpha);
    let off = |held: &f64| (held - stated).abs();
    let held = places.iter().map(|&place| bench.held(place) as f64);
    let farthest = held.max_by(|a, b| off(a).total_cmp(&off(b))).expect("a queue");
    Ok((farthest, packet))
}
