//! Closed forms with which tests compare the fluid model, in the notation of the papers.
//!
//! All sizes share one unit, and rates are in that unit per unit of time.

#![allow(dead_code)]

use bufferlab_theory::fluid::{Fluid, Law, Shape, Source};
use bufferlab_units::RandomStream;

/// ABM Eq. 15–17: the free buffer, and the limit of every queue.
pub(crate) fn steady(buffer: f64, weights: &[f64]) -> (f64, Vec<f64>) {
    let rest = buffer / (1.0 + weights.iter().sum::<f64>());
    (rest, weights.iter().map(|weight| weight * rest).collect())
}

/// A queue that was at its limit before the burst (an old queue): its weight ω and its drain rate
/// γ.
pub(crate) type Old = (f64, f64);

/// A burst at rate r to `count` new queues of weight ω, each on an empty port of rate 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    pub(crate) weight: f64,
    pub(crate) rate: f64,
    pub(crate) count: usize,
}

/// First instant at which a new queue meets its limit, and the old queues that fall behind their
/// limits. The function solves ABM Eq. 29 to 39 for any mix of old queues that follow their limit
/// or fall behind.
pub(crate) fn first_drop(buffer: f64, old: &[Old], burst: Burst) -> (f64, Vec<Old>) {
    let sum: f64 = old.iter().map(|(weight, _)| weight).sum();
    let inflow = burst.count as f64 * (burst.rate - 1.0);
    let (mut following, mut lagging) = (old.to_vec(), Vec::new());
    let growth = loop {
        let drained: f64 = lagging.iter().map(|(_, gamma)| gamma).sum();
        let growth = (inflow - drained) / (1.0 + following.iter().map(|(weight, _)| weight).sum::<f64>());
        let before = lagging.len();
        following.retain(|&(weight, gamma)| {
            let follows = weight * growth <= gamma * (1.0 + 1e-12);
            if !follows {
                lagging.push((weight, gamma));
            }
            follows
        });
        if lagging.len() == before {
            break growth;
        }
    };
    let rest = buffer / (1.0 + sum);
    (burst.weight * rest / ((burst.rate - 1.0) + burst.weight * growth), lagging)
}

/// First drop by ABM Eq. 34 (Plasticine Eq. 40), if every old queue follows its limit.
pub(crate) fn first_drop_case_1(buffer: f64, old: &[Old], burst: Burst) -> f64 {
    let sum: f64 = old.iter().map(|(weight, _)| weight).sum();
    burst.weight * buffer / ((burst.rate - 1.0) * (1.0 + sum + burst.weight * burst.count as f64))
}

/// First drop by ABM Eq. 39 (Plasticine Eq. 46), if every old queue falls behind its limit.
pub(crate) fn first_drop_case_2(buffer: f64, old: &[Old], burst: Burst) -> f64 {
    let (sum, drained) = old.iter().fold((0.0, 0.0), |(w, g), (weight, gamma)| (w + weight, g + gamma));
    let net = burst.count as f64 * (burst.rate - 1.0) - drained;
    burst.weight * buffer / ((1.0 + sum) * ((burst.rate - 1.0) + burst.weight * net))
}

/// Burst durations by TDT Eq. 4 to 13, with N overloaded ports, M new ports at rate R,
/// and line rate C.
pub(crate) struct Tdt {
    pub(crate) dt: f64,
    pub(crate) edt: f64,
    pub(crate) ideal: f64,
    pub(crate) tdt: f64,
    pub(crate) case_2: bool,
}

pub(crate) fn tdt(rate: f64, old: f64, new: f64, buffer: f64, alpha: f64, line: f64, ports: f64) -> Tdt {
    let case_2 = rate > line * (1.0 + (1.0 + alpha * old) / (alpha * new));
    let ideal = buffer / (new * (rate - line));
    let (dt, edt) = if case_2 {
        (
            alpha * buffer
                / ((1.0 + alpha * old) * ((1.0 + alpha * new) * (rate - line) - alpha * old * line)),
            buffer / ((1.0 + alpha * old) * (new * rate - (new + old) * line)),
        )
    } else {
        (alpha * buffer / ((1.0 + alpha * (new + old)) * (rate - line)), ideal)
    };
    Tdt { dt, edt, ideal, tdt: (buffer - old * buffer / ports) / (new * (rate - line)), case_2 }
}

/// Occupancy of lossless and lossy traffic in SONiC's pools by Reverie Eq. 10 and 11.
pub(crate) fn sonic(
    ingress: f64,
    lossy: f64,
    (n, alpha): (f64, f64),
    (m, lossy_alpha): (f64, f64),
) -> (f64, f64) {
    let (x, y) = (n * alpha / (1.0 + n * alpha), m * lossy_alpha / (1.0 + m * lossy_alpha));
    (ingress * x - lossy * x * y, lossy * y)
}

/// A switch with `old` queues at their limits and new, empty queues, each on a separate port.
/// Several old queues share a port if γ is a fraction: queues with γ = 1/k are in groups of k.
/// The queues' weights stay constant, and all queues are overloaded.
pub(crate) fn scene(buffer: f64, old: &[Old], burst: Burst, end: f64) -> (Fluid, usize) {
    let most = old.iter().map(|(_, gamma)| (1.0 / gamma).round() as usize).max().unwrap_or(1);
    let mut slots = Vec::new();
    let (mut index, mut port) = (0, 0);
    while index < old.len() {
        let k = (1.0 / old[index].1).round() as usize;
        slots.extend((0..k).map(|priority| port * most + priority));
        index += k;
        port += 1;
    }
    assert_eq!(slots.len(), old.len(), "old queues of one port stand together");
    let shape = Shape::new(buffer, vec![1.0; port + burst.count], most).expect("in domain");
    let new = port * most;
    let (_, limits) = steady(buffer, &old.iter().map(|(weight, _)| *weight).collect::<Vec<_>>());
    let (mut weights, mut lengths) = (vec![0.0; shape.queues()], vec![0.0; shape.queues()]);
    for (number, &slot) in slots.iter().enumerate() {
        (weights[slot], lengths[slot]) = (old[number].0, limits[number]);
    }
    for burst_port in 0..burst.count {
        weights[new + burst_port * most] = burst.weight;
    }
    let law = Law::frozen_weights(&shape, weights).expect("in domain");
    let mut fluid = Fluid::new(shape, law).and_then(|fluid| fluid.starting_with(&lengths)).expect("it fits");
    for &queue in &slots {
        fluid = fluid.with(Source { queue, rate: 5.0, start: 0.0, end }).expect("in domain");
    }
    for burst_port in 0..burst.count {
        let queue = new + burst_port * most;
        fluid = fluid.with(Source { queue, rate: burst.rate, start: 0.0, end }).expect("in domain");
    }
    (fluid, new)
}

/// Draws a random number in a range, uniform on a logarithmic scale.
pub(crate) fn between(stream: &mut RandomStream, low: f64, high: f64) -> f64 {
    (low.ln() + stream.next_f64() * (high / low).ln()).exp()
}

/// Whether `found` agrees with `expected` within the relative tolerance `share`.
pub(crate) fn near(found: f64, expected: f64, share: f64) -> bool {
    (found - expected).abs() <= share * expected.abs().max(1e-300)
}
