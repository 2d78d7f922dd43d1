//! Figures of burst absorption: the part of a burst that the switch stores before the
//! burst's first drop.
//!
//! One new queue with α_H is on an empty port. n old low-priority queues with α_L are each on a
//! separate port, or all on one port. The old queues are at their limits when the burst begins.

use super::{Axis, Figure, Series};
use crate::fluid::{Fluid, FluidError, Law, Shape, Source};

const BUFFER: f64 = 1e6;
/// Line rate of 1 Gb/s in the figures (bytes per second).
const LINE: f64 = 125e6;
const LOW: f64 = 0.5;
const HIGH: f64 = 1_024.0;

/// Rates of the burst, as multiples of the line rate. The list is denser in ranges in which curves
/// bend.
const RATES: [f64; 22] = [
    1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 17.0, 20.0, 24.0, 28.0,
    32.0, 36.0, 40.0,
];

/// Distribution of the old queues: on separate ports, or as several queues of one port.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Old {
    Ports,
    Queues,
}

/// Rule for a queue's weight: α, or α divided by the number of congested queues and scaled by
/// the drain rate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    DynamicThresholds,
    Scaled,
}

/// Value that a figure plots at the first drop: data that arrived (r t1, ABM Eq. 42),
/// or data that is stored ((r - 1) t1, ABM section 2.3).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Arrived,
    Stored,
}

/// Size of the burst when its first packet is dropped (KB).
fn burst(scheme: Scheme, old: Old, n: usize, rate: f64, measure: Measure) -> Result<f64, FluidError> {
    let (ports, queues, gamma) = match old {
        Old::Ports => (n, 1, 1.0),
        Old::Queues => (1, n, 1.0 / n as f64),
    };
    // n low-priority queues are congested. The burst is alone in its priority.
    let weight = match scheme {
        Scheme::DynamicThresholds => LOW,
        Scheme::Scaled => LOW * gamma / n as f64,
    };
    let shape = Shape::new(BUFFER, vec![LINE; ports + 1], queues)?;
    let new = shape.queue(ports, 0)?;
    let limit = BUFFER * weight / (1.0 + n as f64 * weight);
    let by_queue = |of_old: f64, of_new: f64| -> Vec<f64> {
        (0..shape.queues())
            .map(|queue| match queue {
                queue if queue < n => of_old,
                queue if queue == new => of_new,
                _ => 0.0,
            })
            .collect()
    };
    let law = Law::frozen_weights(&shape, by_queue(weight, HIGH))?;
    let end = f64::INFINITY;
    let mut fluid = Fluid::new(shape.clone(), law)?.without_record().starting_with(&by_queue(limit, 0.0))?;
    for queue in 0..n {
        fluid = fluid.with(Source { queue, rate: 2.0 * LINE, start: 0.0, end })?;
    }
    fluid = fluid.with(Source { queue: new, rate: rate * LINE, start: 0.0, end })?;
    // The run ends after twice the time in which the burst alone would fill the buffer.
    let run = fluid.run_to_first_refusal(new, 2.0 * BUFFER / ((rate - 1.0) * LINE))?;
    let first = run.first_refusal(new).unwrap_or_else(|| panic!("a burst of {rate} line rates never drops"));
    Ok(if measure == Measure::Arrived { first.arrived } else { first.stored } / 1e3)
}

fn panel(
    name: &str,
    source: &str,
    scheme: (Scheme, &str),
    old: Old,
    measure: Measure,
) -> Result<Figure, FluidError> {
    let counts: &[usize] = if old == Old::Ports { &[1, 2, 4, 8, 16] } else { &[1, 2, 4, 8] };
    let (kind, one, many) = match old {
        Old::Ports => ("ports", "port", "ports"),
        Old::Queues => ("queues on one port", "queue", "queues"),
    };
    let series = |&n: &usize| {
        let point = |&rate: &f64| Ok((rate, burst(scheme.0, old, n, rate, measure)?));
        let points = RATES.iter().map(point).collect::<Result<_, FluidError>>()?;
        Ok(Series { name: if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }, points })
    };
    let (verb, y) = match measure {
        Measure::Arrived => ("lasts", "arrived at the first drop (KB)"),
        Measure::Stored => ("is stored", "stored at the first drop (KB)"),
    };
    Ok(Figure {
        name: name.to_owned(),
        title: format!("{}: how far a burst {verb} beside congested {kind}", scheme.1),
        note: format!("{source} 1 MB, 1 Gb/s, alpha 0.5 of old queues and 1024 of the burst."),
        x: Axis::log("arrival rate of the burst (line rates)"),
        y: Axis::linear(y),
        series: counts.iter().map(series).collect::<Result<_, FluidError>>()?,
    })
}

fn panels(
    stem: &str,
    source: &str,
    order: [(Scheme, &str, Old); 4],
    measures: &[(Measure, &str)],
) -> Result<Vec<Figure>, FluidError> {
    let mut figures = Vec::new();
    for &(measure, suffix) in measures {
        for (letter, (scheme, name, old)) in ["a", "b", "c", "d"].iter().zip(order) {
            let panel_name = format!("{stem}{letter}{suffix}");
            figures.push(panel(&panel_name, source, (scheme, name), old, measure)?);
        }
    }
    Ok(figures)
}

/// Panels of ABM Fig. 5: stored bursts, then arrived bursts. Claims ABM-F5a-1 to ABM-F5d-1.
pub(super) fn abm_5() -> Result<Vec<Figure>, FluidError> {
    let order = [
        (Scheme::DynamicThresholds, "Dynamic Thresholds", Old::Ports),
        (Scheme::DynamicThresholds, "Dynamic Thresholds", Old::Queues),
        (Scheme::Scaled, "ABM", Old::Ports),
        (Scheme::Scaled, "ABM", Old::Queues),
    ];
    let source = "ABM Fig. 5; the parameters, not stated there, are those of Plasticine Fig. 16:";
    panels("abm-5", source, order, &[(Measure::Stored, ""), (Measure::Arrived, "-arrived")])
}

/// Panels of Plasticine Fig. 16, for claims PLA-F16-1 and PLA-F16-2.
pub(super) fn plasticine_16() -> Result<Vec<Figure>, FluidError> {
    let order = [
        (Scheme::DynamicThresholds, "Dynamic Thresholds", Old::Ports),
        (Scheme::Scaled, "Plasticine", Old::Ports),
        (Scheme::DynamicThresholds, "Dynamic Thresholds", Old::Queues),
        (Scheme::Scaled, "Plasticine", Old::Queues),
    ];
    panels("plasticine-16", "Plasticine Fig. 16.", order, &[(Measure::Stored, "")])
}
