//! Calculator for the longest time that a queue takes to drain under ABM.

use super::input::{self, BUFFER, PORT_RATE, PRIORITY_ALPHAS, count, param};
use super::priorities::Priorities;
use super::{CalculatorInfo, Derivation, Table, number, seconds};
use crate::forms::{Domain, abm, at_least_one, positive};
use bufferlab_params::ParamValue;

/// The calculator gives the answer `drain time N` for each priority N.
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "drain-time",
    aliases: &[],
    title: "Drain time",
    summary: "Bound the time that a queue takes to drain (ABM).",
    source: "ABM Theorem 3, corrected (E-ABM-3) and as printed.",
    params: &[
        BUFFER,
        PORT_RATE,
        PRIORITY_ALPHAS,
        param(
            "congested",
            count(1),
            ParamValue::Count(1),
            "Congested queues of the priority, each on a different port.",
        ),
    ],
    rules: &[],
    examples: &[&[("alphas", "20,0.5"), ("port_rate", "25 Gb/s")]],
    run: |params| {
        let rate = input::rate(params, "port_rate");
        drain_times(&Priorities::new(params), rate, params.small_count("congested"))
    },
};

/// Longest drain time of a queue of each priority.
/// `congested` queues of the priority are congested, at most one on each port.
fn drain_times(priorities: &Priorities, port_rate_bps: f64, congested: u32) -> Domain<Derivation> {
    priorities.check()?;
    positive("port_rate", port_rate_bps)?;
    at_least_one("congested", congested)?;
    let (bits, alphas) = (priorities.buffer_bytes * 8.0, &priorities.alphas);
    let mut derivation = Derivation::new("How long a queue takes to drain under ABM");
    priorities.steps(&mut derivation);
    derivation.step("port rate b", "", "", super::rate(port_rate_bps), "");
    let smallest = alphas.iter().copied().fold(f64::INFINITY, f64::min);
    derivation.step("smallest alpha a_min", "", "", number(smallest), "");
    derivation.step("congested queues n", "", "", congested.to_string(), "");
    derivation.step("drain time", "B a / ((1 + a_min) b n)", "", "", "ABM Theorem 3, E-ABM-3");
    let mut table = Table::new(&["priority", "alpha", "at most", "as printed"]);
    for (index, &alpha) in alphas.iter().enumerate() {
        let bound = abm::drain_time(bits, port_rate_bps, alphas, index, congested)?;
        let printed = abm::drain_time_printed(bits, port_rate_bps, alpha)?;
        table.rows.push(vec![index.to_string(), number(alpha), seconds(bound), seconds(printed)]);
        derivation.answer(format!("drain time {index}"), bound, seconds(bound));
    }
    derivation.table = Some(table);
    if alphas.iter().any(|&alpha| alpha != smallest) {
        derivation.note("the printed bound, B a / ((1 + a) b), fails for unequal alphas");
    }
    derivation.note("holds for ports whose rate goes to congested queues, with at most one congested queue of a priority on a port");
    Ok(derivation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_buffer_has_the_worked_bounds() -> Domain<()> {
        let one = Priorities { buffer_bytes: 3.84e6, alphas: vec![0.5] };
        let time = drain_times(&one, 10e9, 1)?.value("drain time 0").expect("answered");
        assert!((time - 1.024e-3).abs() < 1e-15);
        let two = Priorities { buffer_bytes: 1e6, alphas: vec![20.0, 0.5] };
        let text = drain_times(&two, 1e9, 1)?.to_string();
        assert!(
            text.contains("106.7 ms") && text.contains("7.619 ms") && text.contains("unequal alphas"),
            "{text}"
        );
        assert_eq!(drain_times(&one, 1.0, 0).expect_err("none congested").input, "congested");
        Ok(())
    }
}
