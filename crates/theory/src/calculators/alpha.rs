//! Which factors absorb a given burst (Plasticine's bounds on alpha_low and alpha_high).

use super::{Derivation, bytes, number, seconds};
use crate::forms::plasticine::{self, BurstToAbsorb};
use crate::forms::{Domain, above, check, positive};

/// A burst to one queue of an empty port, and what competes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct BurstAlpha {
    /// Shared buffer (bytes).
    pub buffer_bytes: f64,
    /// Rate of the port (bits/s).
    pub port_rate_bps: f64,
    /// Arrival rate of the burst (bits/s).
    pub rate_bps: f64,
    /// How long it arrives (seconds).
    pub duration_seconds: f64,
    /// The largest alpha of each other priority.
    pub others: Vec<f64>,
}

/// The factors, derived: answers `alpha_low`, `alpha_low_printed`, `alpha_low_without_loss`, `alpha_high`.
///
/// # Errors
/// An input not positive, a rate that the port can send, a burst that fills the whole buffer.
pub fn burst_alpha(burst: &BurstAlpha) -> Domain<Derivation> {
    positive("buffer", burst.buffer_bytes)?;
    positive("port_rate", burst.port_rate_bps)?;
    let port = super::rate(burst.port_rate_bps);
    check(
        burst.rate_bps > burst.port_rate_bps,
        "rate",
        burst.rate_bps,
        format_args!("more than {port} (the port rate)"),
    )?;
    positive("duration", burst.duration_seconds)?;
    let arrival_rate = burst.rate_bps / burst.port_rate_bps;
    let buffer_time = burst.buffer_bytes * 8.0 / burst.port_rate_bps;
    let most = seconds(buffer_time / (arrival_rate - 1.0));
    let absorb = BurstToAbsorb { buffer_time, arrival_rate, duration: burst.duration_seconds };
    let fits = absorb.stored() < buffer_time;
    check(
        fits,
        "duration",
        burst.duration_seconds,
        format_args!("less than {most} (then the burst fills the whole buffer)"),
    )?;

    let mut derivation = Derivation::new("Alpha for a burst");
    let rate = super::rate(burst.rate_bps);
    derivation.step("arrival r", "rate / b", format!("{rate} / {port}"), number(arrival_rate), "");
    derivation.step(
        "buffer B",
        "B / b",
        format!("{} / {port}", bytes(burst.buffer_bytes)),
        seconds(buffer_time),
        "",
    );
    let t = seconds(burst.duration_seconds);
    let arrived = burst.rate_bps * burst.duration_seconds / 8.0;
    derivation.step("arrives", "r b t", format!("{rate} * {t}"), bytes(arrived), "Plasticine Eq. 49");
    let stored = absorb.stored() * burst.port_rate_bps / 8.0;
    derivation.step(
        "must be stored",
        "(r - 1) b t",
        format!("{} * {port} * {t}", number(arrival_rate - 1.0)),
        bytes(stored),
        "",
    );

    let without_loss = plasticine::alpha_low_without_loss(arrival_rate)?;
    let numbers = format!("1 / ({} - 2)", number(arrival_rate));
    derivation.step(
        "alpha_low without transient loss",
        "1 / (r - 2)",
        numbers,
        number(without_loss),
        "Plasticine Eqs. 5, 48",
    );
    let tight = plasticine::alpha_low_for_burst(absorb)?;
    let numbers = format!("{} / ({} * {t}) - 1", seconds(buffer_time), number(arrival_rate - 2.0));
    derivation.step(
        "alpha_low, tight",
        "B / ((r - 2) t) - 1",
        numbers,
        number(tight),
        "Plasticine Eq. 50, E-PLA-3",
    );
    let printed = plasticine::alpha_low_for_burst_printed(absorb)?;
    let numbers = format!("{} / ({} * {t}) - 1", seconds(buffer_time), number(arrival_rate - 1.0));
    derivation.step(
        "alpha_low, as printed",
        "B / ((r - 1) t) - 1",
        numbers,
        number(printed),
        "Plasticine Eqs. 6, 51",
    );
    let low = plasticine::alpha_of_others(&burst.others)?;
    above("alpha_low", low, 0.0, "the sum of the others' alphas")?;
    let terms: Vec<_> = burst.others.iter().map(|&alpha| number(alpha)).collect();
    let terms = if terms.len() > 1 { terms.join(" + ") } else { String::new() };
    derivation.step("alpha_low, given", "sum of the others", terms, number(low), "Plasticine B.5");
    let high = plasticine::alpha_high_for_burst(absorb, low)?;
    let formula = if low <= without_loss {
        "(1 + aL) s / (B - s), s = (r - 1) t"
    } else {
        "1 / (B / ((r - 1) t (1 + aL)) - (r - 2) / (r - 1))"
    };
    let source = if low <= without_loss { "Plasticine Eq. 40" } else { "Plasticine Eqs. 7, 52" };
    derivation.step("alpha_high", formula, "", number(high), source);

    derivation.answer("alpha_low", tight, format!("less than {}{}", number(tight), shift(tight, f64::floor)));
    derivation.answer(
        "alpha_low_printed",
        printed,
        format!("at most {} (sufficient, not necessary)", number(printed)),
    );
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

/// The power of two on the safe side, as switches are configured.
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
        let error = burst_alpha(&BurstAlpha { duration_seconds: 3e-3, ..burst() }).expect_err("too long");
        assert_eq!((error.input, error.valid.contains("less than 2 ms")), ("duration", true), "{error}");
        assert_eq!(burst_alpha(&BurstAlpha { rate_bps: 1e9, ..burst() }).expect_err("slow").input, "rate");
        assert_eq!(
            burst_alpha(&BurstAlpha { others: vec![], ..burst() }).expect_err("alone").input,
            "alpha_low"
        );
    }
}
