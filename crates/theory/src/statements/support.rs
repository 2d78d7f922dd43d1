//! Helpers of the tests: comparisons within a tolerance, random states, and a fluid integration
//! that is independent of the closed forms.

use crate::figures::{Figure, Series, find};
use crate::forms::transient::{NewQueues, OldQueues};
use bufferlab_units::RandomStream;

/// Asserts that `found` is within `tolerance` of `expected`.
/// The tolerance is relative if `expected` is above 1.
#[track_caller]
pub fn assert_close(found: f64, expected: f64, tolerance: f64) {
    let scale = expected.abs().max(1.0);
    assert!((found - expected).abs() <= tolerance * scale, "{found}, expected {expected} within {tolerance}");
}

/// Asserts that `found` is within the relative tolerance `tolerance` of an `expected` of any size.
#[track_caller]
pub fn assert_ratio(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found}, expected {expected} within {tolerance}");
}

/// Draws a random number, uniform between two numbers.
pub fn between(stream: &mut RandomStream, low: f64, high: f64) -> f64 {
    low + (high - low) * stream.next_f64()
}

/// Draws an alpha that switches support: a power of two from 1/128 to 64.
pub fn some_alpha(stream: &mut RandomStream) -> f64 {
    between(stream, -7.0, 6.0).exp2()
}

/// Draws a whole number from `low` to `high`, with `low` and `high` included.
pub fn some_count(stream: &mut RandomStream, low: u32, high: u32) -> u32 {
    low + u32::try_from(stream.below(u64::from(high - low) + 1)).expect("small")
}

/// Draws one to five groups of old queues. The burst affects some of the groups if `affected` is
/// true.
pub fn some_queues(stream: &mut RandomStream, affected: bool) -> Vec<OldQueues> {
    let count = some_count(stream, 1, 5);
    let queue = |stream: &mut RandomStream| {
        let omega = between(stream, -5.0, 2.0).exp2();
        let drain_rate = between(stream, 0.1, 1.0);
        let falls = affected && stream.below(3) == 0;
        let omega_before = if falls { omega * between(stream, 1.1, 3.0) } else { omega };
        OldQueues { count: some_count(stream, 1, 3), omega_before, omega, drain_rate }
    };
    (0..count).map(|_| queue(stream)).collect()
}

/// Computes the time of the first loss by integration in small steps. Each old queue drains, and
/// arrivals fill the queue up to its threshold.
pub fn integrate(buffer: f64, old: &[OldQueues], new: &NewQueues, step: f64) -> f64 {
    let flat: Vec<OldQueues> = old
        .iter()
        .flat_map(|q| std::iter::repeat_n(OldQueues { count: 1, ..*q }, q.count as usize))
        .collect();
    let sum_before: f64 = flat.iter().map(|q| q.omega_before).sum();
    let mut lengths: Vec<f64> = flat.iter().map(|q| q.omega_before * buffer / (1.0 + sum_before)).collect();
    let (mut time, mut fresh) = (0.0, 0.0);
    for _ in 0..10_000_000 {
        let new_total = f64::from(new.count) * fresh;
        let mut occupancy: f64 = lengths.iter().sum::<f64>() + new_total;
        let limit = new.omega * (buffer - occupancy);
        if fresh >= limit {
            return time;
        }
        time += step;
        fresh += (new.arrival_rate - new.drain_rate) * step;
        for (queue, length) in flat.iter().zip(&mut lengths) {
            let others = occupancy - *length;
            let at_threshold = queue.omega * (buffer - others) / (1.0 + queue.omega);
            *length = (*length - queue.drain_rate * step).max(at_threshold);
            occupancy = others + *length;
        }
    }
    panic!("no loss within the steps");
}

/// Computes the panels of the figure called `name`.
pub fn panels(name: &str) -> Vec<Figure> {
    find(name).expect("it is listed").panels().expect("in domain")
}

/// Computes the panel `name` of the figure called `figure`.
pub fn panel(figure: &str, name: &str) -> Figure {
    panels(figure).into_iter().find(|panel| panel.name == name).unwrap_or_else(|| panic!("no panel {name}"))
}

/// Value of a line of a panel at `x`.
pub fn at(figure: &Figure, series: &str, x: f64) -> f64 {
    let find = |found: &&Series| found.name == series;
    let series =
        figure.series.iter().find(find).unwrap_or_else(|| panic!("no series {series} in {}", figure.name));
    series.at(x).expect("it has points")
}
