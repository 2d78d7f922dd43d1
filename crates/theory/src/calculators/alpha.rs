//! Calculator for the alphas that absorb a given burst (Plasticine's bounds on alpha_low and
//! alpha_high).

use super::input::{self, ALPHAS, BUFFER, PORT_RATE, RATE, SIZE, TIME, param};
use super::{CalculatorInfo, Derivation, Rule, bytes, number, seconds};
use crate::forms::plasticine::{self, BurstToAbsorb};
use crate::forms::{Domain, DomainError, above, check, positive};
use bufferlab_params::{ParamValue, Params};
use std::borrow::Cow;

/// The calculator gives the answers `alpha_low`, `alpha_low_printed`,
/// `alpha_low_without_loss` and `alpha_high`.
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "alpha",
    aliases: &[],
    title: "Alpha for a burst",
    summary: "Find the alphas that absorb a given burst (Plasticine).",
    source: "Plasticine Eqs. 5-7, 40 and 48-52: the tight and the printed bound on alpha, and the power of two on the safe side.",
    params: &[
        BUFFER,
        PORT_RATE,
        param("rate", RATE, ParamValue::Required("\"50 Gb/s\""), "Arrival rate of the burst."),
        param("duration", TIME, ParamValue::Optional, "Duration of the burst."),
        param("burst", SIZE, ParamValue::Optional, "Size of the burst, instead of its duration."),
        param(
            "others",
            ALPHAS,
            ParamValue::List(Cow::Borrowed(&[ParamValue::Ratio(0.5)])),
            "The largest alpha of every other priority.",
        ),
    ],
    rules: &[Rule::OneOf(&["duration", "burst"])],
    examples: &[&[("rate", "50 Gb/s"), ("burst", "1 MB")]],
    run,
};

fn run(params: &Params) -> Domain<Derivation> {
    let rate_bps = input::rate(params, "rate");
    let size = input::given_size(params, "burst");
    let arrives = size.map(|bytes| bytes * 8.0 / rate_bps);
    let duration = params.given_time("duration").map(|time| time.as_secs_f64()).or(arrives);
    let burst = BurstAlpha {
        buffer_bytes: input::size(params, "buffer"),
        port_rate_bps: input::rate(params, "port_rate"),
        rate_bps,
        duration_seconds: duration.expect("one of the two is given"),
        others: params.ratios("others"),
    };
    burst.check().map_err(|error| match size {
        // If the user gave a burst size, the error names that size instead of the duration.
        Some(size) if error.input == "duration" => {
            let ratio = burst.arrival_rate();
            let most = bytes(burst.buffer_bytes * ratio / (ratio - 1.0));
            let valid = format_args!("more than 0, less than {most} (then the burst fills the whole buffer)");
            DomainError::new("burst", size, valid)
        }
        _ => error,
    })?;
    burst_alpha(&burst)
}

/// A burst to one queue of an empty port, and other priorities that compete with the burst.
#[derive(Clone, Debug, PartialEq)]
struct BurstAlpha {
    /// Size of the shared buffer (bytes).
    buffer_bytes: f64,
    /// Rate of the port (bits/s).
    port_rate_bps: f64,
    /// Rate at which the burst arrives (bits/s).
    rate_bps: f64,
    /// Time for which the burst arrives (seconds).
    duration_seconds: f64,
    /// The largest alpha of each priority that competes with the burst.
    others: Vec<f64>,
}

impl BurstAlpha {
    /// The burst's arrival rate, as a multiple of the port rate.
    fn arrival_rate(&self) -> f64 {
        self.rate_bps / self.port_rate_bps
    }

    /// Time in which the port sends the whole buffer (seconds).
    fn buffer_time(&self) -> f64 {
        self.buffer_bytes * 8.0 / self.port_rate_bps
    }

    fn to_absorb(&self) -> BurstToAbsorb {
        BurstToAbsorb {
            buffer_time: self.buffer_time(),
            arrival_rate: self.arrival_rate(),
            duration: self.duration_seconds,
        }
    }

    /// Refuses a burst no faster than the port, and a burst that fills the whole buffer.
    fn check(&self) -> Domain<()> {
        positive("buffer", self.buffer_bytes)?;
        positive("port_rate", self.port_rate_bps)?;
        let port = super::rate(self.port_rate_bps);
        let valid = format_args!("more than {port} (the port rate)");
        check(self.rate_bps > self.port_rate_bps, "rate", self.rate_bps, valid)?;
        positive("duration", self.duration_seconds)?;
        let fits = self.to_absorb().stored() < self.buffer_time();
        let most = seconds(self.buffer_time() / (self.arrival_rate() - 1.0));
        let valid = format_args!("less than {most} (then the burst fills the whole buffer)");
        check(fits, "duration", self.duration_seconds, valid).map(drop)
    }

    fn steps(&self, derivation: &mut Derivation) {
        let (rate, port) = (super::rate(self.rate_bps), super::rate(self.port_rate_bps));
        let (arrival, t) = (self.arrival_rate(), seconds(self.duration_seconds));
        derivation.step("arrival r", "rate / b", format!("{rate} / {port}"), number(arrival), "");
        let numbers = format!("{} / {port}", bytes(self.buffer_bytes));
        derivation.step("buffer B", "B / b", numbers, seconds(self.buffer_time()), "");
        let arrived = self.rate_bps * self.duration_seconds / 8.0;
        let numbers = format!("{rate} * {t}");
        derivation.step("arrives", "r b t", numbers, bytes(arrived), "Plasticine Eq. 49");
        let stored = self.to_absorb().stored() * self.port_rate_bps / 8.0;
        let numbers = format!("{} * {port} * {t}", number(arrival - 1.0));
        derivation.step("must be stored", "(r - 1) b t", numbers, bytes(stored), "");
    }
}

fn burst_alpha(burst: &BurstAlpha) -> Domain<Derivation> {
    let mut derivation = Derivation::new("Alpha for a burst");
    burst.steps(&mut derivation);
    let (absorb, t) = (burst.to_absorb(), seconds(burst.duration_seconds));
    let (arrival_rate, filled) = (absorb.arrival_rate, seconds(absorb.buffer_time));

    let without_loss = plasticine::alpha_low_without_loss(arrival_rate)?;
    let numbers = format!("1 / ({} - 2)", number(arrival_rate));
    let name = "alpha_low without transient loss";
    derivation.step(name, "1 / (r - 2)", numbers, number(without_loss), "Plasticine Eqs. 5, 48");
    let tight = plasticine::alpha_low_for_burst(absorb)?;
    let numbers = format!("{filled} / ({} * {t}) - 1", number(arrival_rate - 2.0));
    let (formula, source) = ("B / ((r - 2) t) - 1", "Plasticine Eq. 50, E-PLA-3");
    derivation.step("alpha_low, tight", formula, numbers, number(tight), source);
    let printed = plasticine::alpha_low_for_burst_printed(absorb)?;
    let numbers = format!("{filled} / ({} * {t}) - 1", number(arrival_rate - 1.0));
    let (formula, source) = ("B / ((r - 1) t) - 1", "Plasticine Eqs. 6, 51");
    derivation.step("alpha_low, as printed", formula, numbers, number(printed), source);
    let low = low(&burst.others, &mut derivation)?;
    let high = plasticine::alpha_high_for_burst(absorb, low)?;
    let (formula, source) = if low <= without_loss {
        ("(1 + aL) s / (B - s), s = (r - 1) t", "Plasticine Eq. 40")
    } else {
        ("1 / (B / ((r - 1) t (1 + aL)) - (r - 2) / (r - 1))", "Plasticine Eqs. 7, 52")
    };
    derivation.step("alpha_high", formula, "", number(high), source);

    let text = format!("less than {}{}", number(tight), shift(tight, f64::floor));
    derivation.answer("alpha_low", tight, text);
    let text = format!("at most {} (sufficient, not necessary)", number(printed));
    derivation.answer("alpha_low_printed", printed, text);
    let text =
        format!("at most {} loses nothing at any duration up to the steady share", number(without_loss));
    derivation.answer("alpha_low_without_loss", without_loss, text);
    let text = if high == f64::INFINITY {
        format!("none: alpha_low = {} leaves too little", number(low))
    } else {
        format!("more than {} with alpha_low = {}{}", number(high), number(low), shift(high, f64::ceil))
    };
    derivation.answer("alpha_high", high, text);
    derivation.note("worst case: one low-priority queue drains while the burst comes to an empty port");
    Ok(derivation)
}

/// Sum of the alphas of all other priorities: `alpha_low` of Plasticine.
fn low(others: &[f64], derivation: &mut Derivation) -> Domain<f64> {
    let low = plasticine::alpha_of_others(others)
        .and_then(|low| above("others", low, 0.0, "the sum of the others' alphas"))
        .map_err(|error| DomainError { input: "others", ..error })?;
    let terms: Vec<_> = others.iter().map(|&alpha| number(alpha)).collect();
    let terms = if terms.len() > 1 { terms.join(" + ") } else { String::new() };
    derivation.step("alpha_low, given", "sum of the others", terms, number(low), "Plasticine B.5");
    Ok(low)
}

/// Text with the alpha rounded to a power of two on the safe side, because switches accept powers
/// of two.
fn shift(alpha: f64, round: fn(f64) -> f64) -> String {
    if !alpha.is_finite() || alpha <= 0.0 {
        return String::new();
    }
    let power = round(alpha.log2());
    format!(" (as a power of two: {}, dynamic_th {power})", number(power.exp2()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst() -> BurstAlpha {
        BurstAlpha {
            buffer_bytes: 1e6,
            port_rate_bps: 1e9,
            rate_bps: 5e9,
            duration_seconds: 0.48e-3,
            others: vec![0.5],
        }
    }

    #[test]
    fn the_worked_burst_has_the_worked_alphas() -> Domain<()> {
        let found = burst_alpha(&burst())?;
        for (name, expected) in [
            ("alpha_low", 4.5556),
            ("alpha_low_printed", 3.1667),
            ("alpha_low_without_loss", 0.3333),
            ("alpha_high", 0.4932),
        ] {
            let value = found.value(name).expect(name);
            assert!((value - expected).abs() < 1e-4, "{name}: {value}");
        }
        let text = found.to_string();
        assert!(text.contains("dynamic_th 2)") && text.contains("dynamic_th -1)"), "{text}");
        Ok(())
    }

    #[test]
    fn a_burst_that_fills_the_buffer_is_refused_with_the_longest_that_does_not() {
        let refused = |burst: BurstAlpha| burst.check().expect_err("out of range");
        let error = refused(BurstAlpha { duration_seconds: 3e-3, ..burst() });
        assert_eq!((error.input, error.valid.contains("less than 2 ms")), ("duration", true), "{error}");
        assert_eq!(refused(BurstAlpha { rate_bps: 1e9, ..burst() }).input, "rate");
        let alone = BurstAlpha { others: vec![], ..burst() };
        assert_eq!(burst_alpha(&alone).expect_err("alone").input, "others");
    }
}
