//! Figures of transients: queue lengths and thresholds over time.

use super::{Axis, Figure, Series};
use crate::fluid::{Fluid, FluidError, Law, Shape, Source, Trajectory};

/// A chart line with a point for every event of the fluid run. Between two events the line is
/// straight.
fn line(run: &Trajectory, name: &str, time_unit: f64, size_unit: f64, value: Value) -> Series {
    let mut points: Vec<_> = run
        .breakpoints()
        .iter()
        .map(|at| {
            let value = match value {
                Value::Length(queue) => at.lengths[queue],
                Value::Limit(queue) => at.limits[queue],
            };
            (at.time / time_unit, value / size_unit)
        })
        .collect();
    points.dedup();
    Series { name: name.to_owned(), points }
}

#[derive(Clone, Copy)]
enum Value {
    Length(usize),
    Limit(usize),
}

/// Panel of Plasticine Fig. 3, for claim PLA-F3-1.
pub(super) fn plasticine_3() -> Result<Vec<Figure>, FluidError> {
    let shape = Shape::new(60.0, vec![1.0; 2], 1)?;
    let law = Law::dynamic_threshold_by_queue(&shape, vec![1.0, 2.0])?;
    let (rate, end) = (5.0, f64::INFINITY);
    let run = Fluid::new(shape, law)?
        .starting_with(&[30.0, 0.0])?
        .with(Source { queue: 0, rate, start: 0.0, end })?
        .with(Source { queue: 1, rate, start: 2.0, end })?
        .run(20.0)?;
    let line = |name, value| line(&run, name, 1.0, 1.0, value);
    Ok(vec![Figure {
        name: "plasticine-3".to_owned(),
        title: "A burst lowers the threshold faster than the old queue can drain".to_owned(),
        note: "Plasticine Fig. 3. 60 packets, alpha 1 (Q1) and 2 (Q2); Q2 arrives at 5 times the line rate from t0 = 2 (the rate is not \
               stated in the paper). First drop of Q2 at t1 = 8, steady from t2 = 17."
            .to_owned(),
        x: Axis::linear("time (packet times)"),
        y: Axis::linear("length (packets)"),
        series: vec![
            line("Q1", Value::Length(0)),
            line("threshold of Q1", Value::Limit(0)),
            line("Q2", Value::Length(1)),
            line("threshold of Q2", Value::Limit(1)),
        ],
    }])
}

/// Panels of TDT Fig. 3 with one old and one new queue, and alpha 1. The paper's two cases meet at
/// an arrival rate of three port rates.
pub(super) fn tdt_3() -> Result<Vec<Figure>, FluidError> {
    let panel = |letter: &str, factor: f64, title: &str| {
        let (line_rate, buffer) = (125e6, 1e6);
        let shape = Shape::new(buffer, vec![line_rate; 2], 1)?;
        let law = Law::dynamic_threshold(&shape, &[1.0])?;
        let (rate, start, end) = (factor * line_rate, 1e-3, f64::INFINITY);
        let run = Fluid::new(shape, law)?
            .starting_with(&[buffer / 2.0, 0.0])?
            .with(Source { queue: 0, rate, start: 0.0, end })?
            .with(Source { queue: 1, rate, start, end })?
            .run(6e-3)?;
        let line = |name, value| line(&run, name, 1e-3, 1e3, value);
        Ok(Figure {
            name: format!("tdt-3{letter}"),
            title: title.to_owned(),
            note: format!(
                "TDT Fig. 3{letter}. N = M = 1, alpha 1; 1 MB, 1 Gb/s, R = {factor} C (not stated in the paper); the burst begins at 1 ms."
            ),
            x: Axis::linear("time (ms)"),
            y: Axis::linear("length (KB)"),
            series: vec![
                line("old queue", Value::Length(0)),
                line("new queue", Value::Length(1)),
                line("threshold", Value::Limit(0)),
            ],
        })
    };
    Ok(vec![
        panel("a", 2.0, "A slow burst: the old queue follows the threshold")?,
        panel("b", 6.0, "A fast burst: the old queue cannot follow")?,
    ])
}
