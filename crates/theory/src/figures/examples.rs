//! Plasticine's worked examples for a buffer of 60 packets. The examples show the occupancy per
//! queue, and the space for a burst.

use super::{Axis, Figure, Series};
use crate::fluid::{Fluid, FluidError, Law, Shape, Source};

const BUFFER: f64 = 60.0;
/// Alphas of the low priority (yellow) and of the high priority (red).
const LOW: f64 = 1.0;
const HIGH: f64 = 2.0;

/// Occupancy of each kind of queue in the steady state, by the number of yellow queues: all yellow
/// queues, red queue, free space. By Eq. 2, a queue of weight ω occupies ω times the free space.
fn steady(yellow_weight: impl Fn(f64) -> f64, red: f64) -> Vec<Series> {
    let states: Vec<_> = (0..=8)
        .map(|count| {
            let n = f64::from(count);
            let yellow = if count == 0 { 0.0 } else { n * yellow_weight(n) };
            let rest = BUFFER / (1.0 + yellow + red);
            (n, [yellow * rest, red * rest, rest])
        })
        .collect();
    let line = |name: &str, place: usize| Series {
        name: name.to_owned(),
        points: states.iter().map(|(n, held)| (*n, held[place])).collect(),
    };
    let mut lines = vec![line("yellow, together", 0)];
    if red > 0.0 {
        lines.push(line("red", 1));
    }
    lines.push(line("remaining", 2));
    lines
}

fn shares(name: &str, title: &str, note: &str, series: Vec<Series>) -> Figure {
    Figure {
        name: name.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        x: Axis::linear("yellow queues"),
        y: Axis::linear("buffer (packets of 60)"),
        series,
    }
}

/// Panels of Plasticine Fig. 2, for claims PLA-F2a-1 to PLA-F2d-1.
pub(super) fn plasticine_2() -> Result<Vec<Figure>, FluidError> {
    Ok(vec![
        shares(
            "plasticine-2a",
            "Yellow queues alone",
            "Plasticine Fig. 2a: one yellow queue (alpha 1) holds 30 of 60 packets, Dynamic Thresholds.",
            steady(|_| LOW, 0.0),
        ),
        shares(
            "plasticine-2bc",
            "Beside one red queue",
            "Plasticine Figs. 2b and 2c: with one yellow queue 15 and 30, with three 30 and 20. Red has alpha 2.",
            steady(|_| LOW, HIGH),
        ),
    ])
}

/// A red burst of five times the line rate that meets `count` yellow queues, each with `weight` and
/// the drain rate `rate`. Returns the red queue's length and limit until the steady state.
fn burst(count: usize, weight: f64, rate: f64, ports: usize) -> Result<Vec<Series>, FluidError> {
    // The yellow queues of a port share its rate.
    // The fluid model gives each queue a separate port with its part of the rate.
    let mut rates = vec![rate; count];
    rates.push(1.0);
    let shape = Shape::new(BUFFER, rates, 1)?;
    let mut weights = vec![weight; count];
    weights.push(HIGH);
    let held = weight * BUFFER / (1.0 + count as f64 * weight);
    let mut start = vec![held; count];
    start.push(0.0);
    let law = Law::frozen_weights(&shape, weights)?;
    let mut fluid = Fluid::new(shape, law)?.starting_with(&start)?;
    let end = f64::INFINITY;
    for queue in 0..count {
        fluid = fluid.with(Source { queue, rate: 5.0, start: 0.0, end })?;
    }
    let run = fluid.with(Source { queue: count, rate: 5.0, start: 0.0, end })?.run(40.0)?;
    let on = if ports == 1 { "one port".to_owned() } else { format!("{ports} ports") };
    let line = |name: String, limit: bool| {
        let value = |at: &crate::fluid::Breakpoint| if limit { at.limits[count] } else { at.lengths[count] };
        let mut points: Vec<_> = run.breakpoints().iter().map(|at| (at.time, value(at))).collect();
        points.dedup();
        Series { name, points }
    };
    Ok(vec![
        line(format!("burst, yellow on {on}"), false),
        line(format!("its threshold, yellow on {on}"), true),
    ])
}

fn course(name: &str, title: &str, note: &str, series: Vec<Series>) -> Figure {
    Figure {
        name: name.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        x: Axis::linear("time (packet times)"),
        y: Axis::linear("length (packets)"),
        series,
    }
}

/// Panels of Plasticine Fig. 5, for claims PLA-F5a-1 to PLA-F5b-3.
pub(super) fn plasticine_5() -> Result<Vec<Figure>, FluidError> {
    let mut lines = burst(5, LOW, 0.2, 1)?;
    lines.extend(burst(5, LOW, 1.0, 5)?);
    Ok(vec![
        shares(
            "plasticine-5a",
            "Queues of one port hold as much as queues of many",
            "Plasticine Fig. 5a: five yellow queues hold 10 each, whether they share a port or not, Dynamic Thresholds.",
            steady(|_| LOW, 0.0),
        ),
        course(
            "plasticine-5b",
            "What a burst finds beside five yellow queues",
            "Plasticine Fig. 5b: a 5:1 burst loses its first packet with 8 stored where the yellow queues share a port, and with 15, its steady share, where each \
             has its own. The figure's 17 packets belong to four yellow queues (erratum).",
            lines,
        ),
    ])
}

/// Panels of Plasticine Fig. 6 by Eq. 3. The weight is divided by the number of queues of the
/// priority, and multiplied by the queue's share of the port's rate. Claims PLA-F6a-1 to PLA-F6c-1.
pub(super) fn plasticine_6() -> Result<Vec<Figure>, FluidError> {
    let mut lines = burst(5, LOW / 25.0, 0.2, 1)?;
    for (line, name) in lines.iter_mut().zip(["burst, Eq. 3", "its threshold, Eq. 3"]) {
        line.name = name.to_owned();
    }
    let mut one_factor = burst(5, LOW / 5.0, 0.2, 1)?;
    for (line, name) in one_factor.iter_mut().zip(["burst, one factor", "its threshold, one factor"]) {
        line.name = name.to_owned();
    }
    lines.append(&mut one_factor);
    Ok(vec![
        shares(
            "plasticine-6a",
            "Yellow queues on ports of their own, beside red",
            "Plasticine Fig. 6a: three yellow queues hold 5 each and red 30, however many yellow ones there are.",
            steady(|n| LOW / n, HIGH),
        ),
        shares(
            "plasticine-6b",
            "Yellow queues of one port",
            "Plasticine Fig. 6b: by Eq. 3 five queues hold 2 each; the figure's 6 follow from one of its two factors only (erratum).",
            steady(|n| LOW / (n * n), 0.0),
        ),
        course(
            "plasticine-6c",
            "The same burst under Plasticine",
            "Plasticine Fig. 6c: 37.5 packets before the first loss by Eq. 3, 24 with one factor, 8 under Dynamic Thresholds.",
            lines,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(figure: &Figure, line: usize, x: f64) -> f64 {
        figure.series[line].at(x).unwrap_or(f64::NAN)
    }

    #[test]
    fn the_shares_are_those_that_the_paper_prints() {
        let found = plasticine_2().expect("in domain");
        assert_eq!((at(&found[0], 0, 1.0), at(&found[0], 1, 1.0)), (30.0, 30.0));
        assert_eq!([0, 1, 2].map(|line| at(&found[1], line, 1.0)), [15.0, 30.0, 15.0]);
        assert_eq!([0, 1, 2].map(|line| at(&found[1], line, 3.0)), [30.0, 20.0, 10.0]);
        let five = plasticine_5().expect("in domain");
        assert_eq!((at(&five[0], 0, 5.0), at(&five[0], 1, 5.0)), (50.0, 10.0));
        let six = plasticine_6().expect("in domain");
        assert_eq!([0, 1, 2].map(|line| at(&six[0], line, 3.0)), [15.0, 30.0, 15.0]);
        assert!((at(&six[1], 0, 5.0) - 10.0).abs() < 1e-9);
    }

    /// Time at which a burst first reaches its threshold.
    fn first_loss(burst: &Series, threshold: &Series) -> f64 {
        let meets = |&&(time, length): &&(f64, f64)| {
            threshold.at(time).is_some_and(|limit| time > 0.0 && length >= limit - 1e-6)
        };
        burst.points.iter().find(meets).map_or(f64::NAN, |point| point.1)
    }

    #[test]
    fn a_burst_loses_its_first_packet_where_the_paper_or_its_correction_says() {
        let (five, six) = (plasticine_5().expect("in domain"), plasticine_6().expect("in domain"));
        let of =
            |figure: &Figure, pair: usize| first_loss(&figure.series[2 * pair], &figure.series[2 * pair + 1]);
        for (found, wanted) in
            [(of(&five[1], 0), 8.0), (of(&five[1], 1), 15.0), (of(&six[2], 0), 37.5), (of(&six[2], 1), 24.0)]
        {
            assert!((found - wanted).abs() < 1e-6, "{found} instead of {wanted}");
        }
    }
}
