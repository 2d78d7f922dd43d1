//! Calculator for the minimum and maximum buffer of every priority under ABM.

use super::input::{BUFFER, PRIORITY_ALPHAS, param};
use super::priorities::Priorities;
use super::{CalculatorInfo, Derivation, Table, bytes, number};
use crate::forms::{Domain, abm, share};
use bufferlab_params::{ParamKind, ParamValue};

/// The calculator gives the answers `minimum N` and `maximum N` for each priority N.
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "guarantees",
    aliases: &[],
    title: "Guarantees",
    summary: "Calculate the minimum and maximum buffer of every priority (ABM).",
    source: "ABM Theorems 1 and 2, corrected (E-ABM-1) and as printed; Plasticine Eq. 21.",
    params: &[
        BUFFER,
        PRIORITY_ALPHAS,
        param(
            "gamma",
            ParamKind::RatioAbove { min: 0.0, max: 1.0 },
            ParamValue::Ratio(1.0),
            "Smallest drain rate of a congested queue, as a fraction of the port rate.",
        ),
    ],
    rules: &[],
    examples: &[&[("alphas", "0.5,20"), ("gamma", "0.25")]],
    run: |params| guarantees(&Priorities::new(params), params.ratio("gamma")),
};

/// Guarantee and maximum of every priority whose congested queues each drain at `gamma_min` of the
/// port rate or more.
fn guarantees(priorities: &Priorities, gamma_min: f64) -> Domain<Derivation> {
    priorities.check()?;
    share("gamma", gamma_min)?;
    let (buffer, alphas) = (priorities.buffer_bytes, &priorities.alphas);
    let mut derivation = Derivation::new("What every priority gets under ABM");
    priorities.steps(&mut derivation);
    derivation.step("smallest gamma g", "", "", number(gamma_min), "");
    derivation.step(
        "minimum",
        "B a g / (1 + a g + sum of the other alphas)",
        "",
        "",
        "ABM Theorem 1, E-ABM-1",
    );
    derivation.step("maximum", "B a / (1 + a)", "", "", "ABM Theorem 2");
    let sum: f64 = alphas.iter().sum();
    let free = buffer / (1.0 + sum);
    let numbers = format!("{} / (1 + {})", bytes(buffer), number(sum));
    derivation.step("always free", "B / (1 + sum of alphas)", numbers, bytes(free), "Plasticine Eq. 21");
    let mut table = Table::new(&[
        "priority",
        "alpha",
        "minimum",
        "of the buffer",
        "as printed",
        "maximum",
        "of the buffer",
    ]);
    for (index, &alpha) in alphas.iter().enumerate() {
        let least = abm::guarantee(buffer, alphas, index, gamma_min)?;
        let printed = abm::guarantee_printed(buffer, alphas, index)?;
        let most = abm::maximum(buffer, alpha)?;
        let percent = |size: f64| format!("{} %", number(size / buffer * 100.0));
        table.rows.push(vec![
            index.to_string(),
            number(alpha),
            bytes(least),
            percent(least),
            bytes(printed),
            bytes(most),
            percent(most),
        ]);
        derivation.answer(format!("minimum {index}"), least, bytes(least));
        derivation.answer(format!("maximum {index}"), most, bytes(most));
    }
    derivation.table = Some(table);
    if gamma_min < 1.0 {
        derivation
            .note("the printed minimum holds only if every congested queue drains at the full port rate");
    }
    derivation.note("held by all congested queues of a priority together, each at its threshold");
    Ok(derivation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_buffer_has_the_worked_bounds() -> Domain<()> {
        let one = Priorities { buffer_bytes: 3.84e6, alphas: vec![0.5] };
        assert!((guarantees(&one, 1.0)?.value("maximum 0").expect("answered") - 1.28e6).abs() < 1e-6);
        let two = Priorities { buffer_bytes: 1e6, alphas: vec![20.0, 0.5] };
        let least = guarantees(&two, 0.5)?.value("minimum 1").expect("answered");
        assert!((least - 1e6 * 0.25 / 21.25).abs() < 1e-6);
        Ok(())
    }

    #[test]
    fn no_alpha_and_a_gamma_above_1_are_refused() {
        let none = Priorities { buffer_bytes: 1.0, alphas: vec![] };
        assert_eq!(guarantees(&none, 1.0).expect_err("none").input, "alphas");
        let one = Priorities { alphas: vec![1.0], ..none };
        assert_eq!(guarantees(&one, 1.5).expect_err("gamma").input, "gamma");
    }
}
