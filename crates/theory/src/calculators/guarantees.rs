//! What every priority gets at least and at most under ABM, and how long its queues take to drain.

use super::{Derivation, Table, bytes, number, seconds};
use crate::forms::{Domain, abm, at_least_one, check, positive, share};

/// The priorities that use the buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Priorities {
    /// Shared buffer (bytes).
    pub buffer_bytes: f64,
    /// The alpha of each.
    pub alphas: Vec<f64>,
}

impl Priorities {
    fn check(&self) -> Domain<()> {
        positive("buffer", self.buffer_bytes)?;
        check(!self.alphas.is_empty(), "alphas", 0.0, "one alpha or more")?;
        self.alphas.iter().try_for_each(|&alpha| positive("alpha", alpha).map(drop))
    }

    fn steps(&self, derivation: &mut Derivation) {
        derivation.step("buffer", "", "", bytes(self.buffer_bytes), "");
        let alphas: Vec<_> = self.alphas.iter().map(|&alpha| number(alpha)).collect();
        derivation.step("alphas", "", "", alphas.join(", "), "");
    }
}

/// Guarantee and maximum of every priority whose congested queues drain at `gamma_min` of the port rate or more.
///
/// Answers `minimum N` and `maximum N` for priority N.
///
/// # Errors
/// A buffer or alpha not positive, no alpha, `gamma_min` not in (0, 1].
pub fn guarantees(priorities: &Priorities, gamma_min: f64) -> Domain<Derivation> {
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

/// The longest time a queue of each priority takes to drain under ABM; `congested` queues of it are congested, at most one on a port.
///
/// Answers `drain time N` for priority N.
///
/// # Errors
/// A buffer, rate or alpha not positive, no alpha, `congested` 0.
pub fn drain_times(priorities: &Priorities, port_rate_bps: f64, congested: u32) -> Domain<Derivation> {
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
        assert!((guarantees(&one, 1.0)?.value("maximum 0").expect("answered") - 1.28e6).abs() < 1e-6);
        let time = drain_times(&one, 10e9, 1)?.value("drain time 0").expect("answered");
        assert!((time - 1.024e-3).abs() < 1e-15);
        let two = Priorities { buffer_bytes: 1e6, alphas: vec![20.0, 0.5] };
        let text = drain_times(&two, 1e9, 1)?.to_string();
        assert!(
            text.contains("106.7 ms") && text.contains("7.619 ms") && text.contains("unequal alphas"),
            "{text}"
        );
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
        assert_eq!(drain_times(&one, 1.0, 0).expect_err("none congested").input, "congested");
    }
}
