//! Figures of steady states: the buffer occupancy per queue or priority.

use super::{Axis, Figure, Series};
use crate::fluid::{FluidError, Sonic, Source};

fn over(name: &str, counts: impl Iterator<Item = usize>, value: impl Fn(f64) -> f64) -> Series {
    Series { name: name.to_owned(), points: counts.map(|n| (n as f64, value(n as f64))).collect() }
}

/// Panels of ABM Fig. 4 by Eq. 6: `T_i = α_i B / (1 + sum α)`. Claims ABM-F4-1, ABM-F4-2.
pub(super) fn abm_4() -> Result<Vec<Figure>, FluidError> {
    let remaining = |alpha: f64| {
        let name = format!("alpha = {alpha}");
        over(&name, 0..=100, move |n| 100.0 / (1.0 + n * alpha))
    };
    let (high, low) = (2.0, 1.0);
    let x = || Axis::linear("congested queues");
    Ok(vec![
        Figure {
            name: "abm-4a".to_owned(),
            title: "Dynamic Thresholds leave less and less".to_owned(),
            note: "ABM Fig. 4 top. alpha is not stated in the paper.".to_owned(),
            x: x(),
            y: Axis::linear("remaining buffer (% of B)"),
            series: vec![remaining(0.5), remaining(1.0), remaining(2.0)],
        },
        Figure {
            name: "abm-4b".to_owned(),
            title: "A high alpha does not isolate".to_owned(),
            note: "ABM Fig. 4 bottom. One AF queue, alpha 2; n BE queues, alpha 1; not stated in the paper."
                .to_owned(),
            x: Axis::linear("congested BE queues"),
            y: Axis::linear("threshold (% of B)"),
            series: vec![
                over("AF, alpha = 2", 0..=100, |n| 100.0 * high / (1.0 + high + n * low)),
                over("BE, alpha = 1", 0..=100, |n| 100.0 * low / (1.0 + high + n * low)),
            ],
        },
    ])
}

/// Panel of Plasticine Fig. 4 by Eq. 2, for claim PLA-F4-1.
pub(super) fn plasticine_4() -> Result<Vec<Figure>, FluidError> {
    let (high, low) = (2.0, 1.0);
    let share = move |n: f64| 100.0 * high / (1.0 + high + n * low);
    Ok(vec![Figure {
        name: "plasticine-4".to_owned(),
        title: "What a high-priority queue gets beside low-priority ones".to_owned(),
        note: "Plasticine Fig. 4. Alphas of the paper's example: 2 and 1; not stated for the figure."
            .to_owned(),
        x: Axis::linear("low-priority queues"),
        y: Axis::linear("high-priority queue (% of B)"),
        series: vec![over("Dynamic Thresholds", 0..=50, share)],
    }])
}

const INGRESS_MB: f64 = 18.0;
const LOSSY_MB: f64 = 14.0;
/// Largest number of queues in Reverie's figures.
const QUEUES: usize = 20;

/// SONiC's pools in the steady state: occupancy of lossless and lossy traffic, and the thresholds
/// of lossless and lossy queues (MB).
struct Pools {
    lossless: f64,
    lossy: f64,
    pause: f64,
    drop: f64,
}

/// Runs the fluid model to a steady state. A class without queues also has a threshold:
/// the threshold that its first queue would have.
fn pools(lossless_queues: usize, lossy_queues: usize) -> Result<Pools, FluidError> {
    let model = Sonic {
        ingress_pool: INGRESS_MB,
        lossy_pool: LOSSY_MB,
        lossless_queues,
        lossy_queues,
        lossless_alpha: 1.0,
        lossy_alpha: 1.0,
        drain_rate: 1.0,
    };
    let end = 200.0;
    let mut fluid = model.fluid()?.without_record();
    for queue in 0..lossless_queues + lossy_queues {
        fluid = fluid.with(Source { queue, rate: 3.0, start: 0.0, end })?;
    }
    let run = fluid.run(end)?;
    let (lossless, lossy) = model.held(&run, end);
    // The lossless and the lossy alpha are 1, so a threshold equals the free space of its pool.
    Ok(Pools { lossless, lossy, pause: INGRESS_MB - lossless - lossy, drop: LOSSY_MB - lossy })
}

fn by_lossy(lossy: &[usize], value: fn(&Pools) -> f64) -> Result<Vec<Series>, FluidError> {
    let series = |&m: &usize| {
        let points = (1..=QUEUES).map(|n| Ok((n as f64, value(&pools(n, m)?)))).collect::<Result<_, _>>()?;
        let name = if m == 1 { "1 lossy queue".to_owned() } else { format!("{m} lossy queues") };
        Ok(Series { name, points })
    };
    lossy.iter().map(series).collect()
}

const PARAMETERS: &str =
    "Ingress pool 18 MB, egress lossy pool 14 MB; alpha 1 everywhere (not stated in the paper).";

/// Panels of Reverie Fig. 4 by Eq. 2 and 3 as corrected (erratum E-REV-2).
/// Claims REV-F4-1, REV-F4-2.
pub(super) fn reverie_4() -> Result<Vec<Figure>, FluidError> {
    Ok(vec![Figure {
        name: "reverie-4".to_owned(),
        title: "Lossy traffic holds more than lossless traffic".to_owned(),
        note: format!("Reverie Fig. 4. {PARAMETERS} Tends to 14 / (18 - 14) = 3.5 for many queues of both."),
        x: Axis::linear("lossless queues"),
        y: Axis::linear("lossy / lossless buffer (ratio)"),
        series: by_lossy(&[1, 5, 10, 20], |at| at.lossy / at.lossless)?,
    }])
}

/// Panels of Reverie Fig. 5 by Eq. 10 and 11. Claims REV-F5a-1, REV-F5b-1.
pub(super) fn reverie_5() -> Result<Vec<Figure>, FluidError> {
    let panel = |letter: &str, title: &str, y: &str, value: fn(&Pools) -> f64| {
        Ok(Figure {
            name: format!("reverie-5{letter}"),
            title: title.to_owned(),
            note: format!("Reverie Fig. 5{letter}. {PARAMETERS}"),
            x: Axis::linear("lossless queues"),
            y: Axis::linear(y),
            series: by_lossy(&[1, 5, 10, 20], value)?,
        })
    };
    Ok(vec![
        panel("a", "Both kinds of queues lower the PFC threshold", "PFC threshold (MB)", |at| at.pause)?,
        panel("b", "Only lossy queues lower the drop threshold", "drop threshold (MB)", |at| at.drop)?,
    ])
}
