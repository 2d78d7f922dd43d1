//! Replay of the calculator `alpha`: sends a burst to a switch with the stated alphas.

use crate::burst_tolerance::layout::{Layout, Scheme};
use crate::burst_tolerance::{BurstResult, replay};
use crate::{Asked, Check, Relation, ReplayInfo, Unit, Verification};
use bufferlab_theory::calculators::number;

/// Replay of `alpha` with one queue that drains while the burst arrives at an empty port.
pub(crate) const REPLAY: ReplayInfo = ReplayInfo {
    calculator: "alpha",
    summary: "a burst is sent at the stated alphas until it loses a packet, which should be at the stated duration",
    run,
};

/// Range of alphas that the policies of the core accept.
const FACTORS: std::ops::RangeInclusive<f64> = 1e-6..=65_536.0;
/// Value of alpha so large that the queue's limit does not constrain the burst.
const UNLIMITED: f64 = 65_536.0;
/// Value of alpha with which a burst reaches its steady share of the buffer.
const SOME_HIGH: f64 = 8.0;

fn run(asked: &Asked<'_>) -> Verification {
    let mut found = Verification::default();
    for part in [low, low_printed, low_without_loss, high] {
        if let Err(reason) = part(asked, &mut found) {
            found.left_out.push(reason);
        }
    }
    found
}

/// Returns the duration of the burst that the user gave (s).
fn duration(asked: &Asked<'_>) -> f64 {
    let rate = asked.params.rate("rate").0 as f64;
    let of_size = asked.params.given_bytes("burst").map(|bytes| bytes as f64 * 8.0 / rate);
    let of_time = asked.params.given_time("duration").map(bufferlab_units::Time::as_secs_f64);
    of_size.or(of_time).expect("one of the two is given")
}

/// Finds the first loss of the burst on a switch with the alphas `low` and `high`.
fn first_loss(asked: &Asked<'_>, name: &str, (low, high): (f64, f64)) -> Result<BurstResult, String> {
    for alpha in [low, high] {
        if !FACTORS.contains(&alpha) {
            return Err(format!("{name} = {}: policies take factors from 1e-6 to 65536", number(alpha)));
        }
    }
    let layout = Layout {
        buffer: asked.params.bytes("buffer"),
        port_rate: asked.params.rate("port_rate"),
        ports: 2,
        congested: 1,
        congested_queues: 1,
        priorities: 1,
        alpha: low,
        rate: asked.params.rate("rate"),
        burst_alpha: high,
        burst_ports: 1,
        beside: 0,
        same_priority: false,
        tau: 1.0,
    };
    replay(&layout, Scheme::Plasticine).map_err(|reason| format!("{name}: {reason}"))
}

fn add(found: &mut Verification, (low, high): (f64, f64), seen: &BurstResult, check: Check, more: &str) {
    let what = format!(
        "plasticine, {} B each; a queue with alpha {} drains, a burst with alpha {} comes to an empty port",
        seen.packet,
        number(low),
        number(high)
    );
    found.add(what, format!("{}{more}", seen.bound_in_words()), vec![check]);
}

/// Checks `alpha_low`, with a burst that only the size of the buffer limits.
fn low(asked: &Asked<'_>, found: &mut Verification) -> Result<(), String> {
    let (stated, time) = (asked.stated("alpha_low"), duration(asked));
    if stated == f64::INFINITY {
        return Err("alpha_low is unbounded".to_owned());
    }
    let alphas = (stated, UNLIMITED);
    let seen = first_loss(asked, "alpha_low", alphas)?;
    // The calculator assumes an infinite alpha for the burst; the replay uses a large, finite
    // alpha.
    let ratio = asked.params.rate("rate").0 as f64 / asked.params.rate("port_rate").0 as f64;
    let finite = (ratio - 1.0) / (UNLIMITED * (ratio - 2.0));
    let bound = time * (seen.part() + finite);
    let check = Check::equal("duration at alpha_low", (time, seen.first.seconds), bound, Unit::Seconds);
    let more = format!("; a factor of {UNLIMITED} in place of an unlimited burst: {:.3} %", 100.0 * finite);
    add(found, alphas, &seen, check, &more);
    Ok(())
}

/// Checks that the `alpha_low` of the paper's printed formula is sufficient for the burst.
fn low_printed(asked: &Asked<'_>, found: &mut Verification) -> Result<(), String> {
    let time = duration(asked);
    let alphas = (asked.stated("alpha_low_printed"), UNLIMITED);
    let seen = first_loss(asked, "alpha_low_printed", alphas)?;
    let bound = time * seen.part();
    let check =
        Check::equal("duration at alpha_low_printed", (time, seen.first.seconds), bound, Unit::Seconds);
    add(found, alphas, &seen, check.with(Relation::AtLeast), "");
    Ok(())
}

/// Checks `alpha_low_without_loss`, up to which the burst reaches its steady share before any loss.
fn low_without_loss(asked: &Asked<'_>, found: &mut Verification) -> Result<(), String> {
    let stated = asked.stated("alpha_low_without_loss");
    if stated == f64::INFINITY {
        return Err(
            "alpha_low_without_loss is unbounded: what is sent frees as much as the burst takes".to_owned()
        );
    }
    let alphas = (stated, SOME_HIGH);
    let seen = first_loss(asked, "alpha_low_without_loss", alphas)?;
    let share = asked.params.bytes("buffer") as f64 * SOME_HIGH / (1.0 + SOME_HIGH + stated);
    let bound = share * seen.part() + 2.0 * f64::from(seen.packet);
    let check = Check::equal(
        "steady share of the burst at alpha_low_without_loss",
        (share, seen.first.stored),
        bound,
        Unit::Bytes,
    );
    add(found, alphas, &seen, check, "");
    Ok(())
}

/// Checks `alpha_high`, on a switch on which the other priorities are also congested.
fn high(asked: &Asked<'_>, found: &mut Verification) -> Result<(), String> {
    let (stated, time) = (asked.stated("alpha_high"), duration(asked));
    let others: f64 = asked.params.ratios("others").iter().sum();
    let none = stated == f64::INFINITY;
    let alphas = (others, if none { UNLIMITED } else { stated });
    let seen = first_loss(asked, "alpha_high", alphas)?;
    let (name, relation) = if none {
        ("duration at any alpha_high", Relation::AtMost)
    } else {
        ("duration at alpha_high", Relation::Equal)
    };
    let check = Check::equal(name, (time, seen.first.seconds), time * seen.part(), Unit::Seconds);
    add(found, alphas, &seen, check.with(relation), "");
    Ok(())
}
