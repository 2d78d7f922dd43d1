//! Replay of the calculator `guarantees`: states of a switch under ABM that reach the stated
//! bounds, and random states, which must satisfy the bounds.

use crate::priorities::{Congested, Priorities};
use crate::{Asked, Check, Relation, ReplayInfo, Unit, Verification};
use bufferlab_units::RandomStream;

/// Replay of `guarantees` with steady states of queues under ABM.
pub(crate) const REPLAY: ReplayInfo = ReplayInfo {
    calculator: "guarantees",
    summary: "queues are kept at ABM's limits, in the states that attain the bounds and in random ones",
    run,
};

/// Number of random states of the switch, in addition to the extreme states.
const RANDOM_STATES: u64 = 12;
/// Maximum number of congested queues of a priority in a random state.
const QUEUES: u64 = 4;

fn run(asked: &Asked<'_>) -> Verification {
    let count = asked.params.ratios("alphas").len();
    match Priorities::new(&asked.params, count * QUEUES as usize) {
        Ok(priorities) => replay(asked, &priorities).unwrap_or_else(Verification::nothing),
        Err(reason) => Verification::nothing(reason),
    }
}

fn replay(asked: &Asked<'_>, priorities: &Priorities) -> Result<Verification, String> {
    let gamma = asked.params.ratio("gamma");
    let count = priorities.alphas.len();
    let (mut extremes, mut found) = (Vec::new(), Verification::default());
    for priority in 0..count {
        // In the random state, every congested queue except one drains at the full port rate.
        let all: Vec<_> = (0..count)
            .map(|other| Congested { priority: other, gamma: if other == priority { gamma } else { 1.0 } })
            .collect();
        let alone = [Congested { priority, gamma: 1.0 }];
        for (name, queues) in [("minimum", &all[..]), ("maximum", &alone[..])] {
            let name = format!("{name} {priority}");
            let measured = priorities.held(queues)?[priority];
            extremes.push(Check::equal(
                name.clone(),
                (asked.stated(&name), measured),
                priorities.slack(queues, priority),
                Unit::Bytes,
            ));
        }
    }
    let what =
        format!("abm, packets of {} B; one queue of each priority, or the priority alone", priorities.packet);
    let words = "a queue with factor w ends from a packet below to w + 1 packets above its limit, as a packet more that is \
                 free moves limits by w: w (W + n) / (1 + W) packets of n queues whose factors sum to W, and w + 1";
    found.add(what, words, extremes);
    let what = format!("the same, {RANDOM_STATES} random states with up to {QUEUES} queues of a priority");
    found.add(what, words, random(asked, priorities)?);
    Ok(found)
}

/// Checks the least and the greatest occupancy of each priority in random states.
fn random(asked: &Asked<'_>, priorities: &Priorities) -> Result<Vec<Check>, String> {
    let mut stream = RandomStream::new(1, "guarantees", 0);
    let slowest = asked.params.ratio("gamma");
    let count = priorities.alphas.len();
    let (mut least, mut most) = (vec![f64::INFINITY; count], vec![0.0_f64; count]);
    let mut bounds = vec![0.0_f64; count];
    for _ in 0..RANDOM_STATES {
        let mut queues = Vec::new();
        for priority in 0..count {
            for _ in 0..stream.below(QUEUES + 1) {
                let gamma = slowest + (1.0 - slowest) * stream.next_f64();
                queues.push(Congested { priority, gamma });
            }
        }
        let held = priorities.held(&queues)?;
        for (priority, bound) in bounds.iter_mut().enumerate() {
            *bound = bound.max(priorities.slack(&queues, priority));
        }
        for queue in &queues {
            let held = held[queue.priority];
            least[queue.priority] = least[queue.priority].min(held);
            most[queue.priority] = most[queue.priority].max(held);
        }
    }
    let mut checks = Vec::new();
    for priority in (0..count).filter(|&priority| most[priority] > 0.0) {
        for (name, measured, relation) in
            [("minimum", least[priority], Relation::AtLeast), ("maximum", most[priority], Relation::AtMost)]
        {
            let name = format!("{name} {priority}");
            let stated = asked.stated(&name);
            checks.push(Check::equal(name, (stated, measured), bounds[priority], Unit::Bytes).with(relation));
        }
    }
    Ok(checks)
}
