//! Replay of the calculator `burst`: the bench sends a burst into the calculated or given buffer
//! until a packet of the burst is lost.

use crate::burst_tolerance::layout::{Layout, Scheme};
use crate::burst_tolerance::replay;
use crate::{Asked, ReplayInfo, Verification};
use bufferlab_params::{ParamKind, ParamValue};
use bufferlab_units::BitRate;

/// Replay of `burst` with a burst that arrives at the core's switch.
pub(crate) const REPLAY: ReplayInfo = ReplayInfo {
    calculator: "burst",
    summary: "a burst is sent into a switch with the calculated buffer until it loses a packet: it must be the given burst",
    run,
};

fn run(asked: &Asked<'_>) -> Verification {
    let mut found = Verification::default();
    let words = match asked.info.param("policy").map(|param| param.kind) {
        Some(ParamKind::Choice(words)) => words,
        _ => &[],
    };
    let given = asked.given.iter().find_map(|(name, value)| match value {
        ParamValue::Choice(word) if name == "policy" => Some(word.clone()),
        _ => None,
    });
    for word in words.iter().filter(|word| given.as_deref().is_none_or(|given| given == word.name)) {
        let mut values: Vec<_> = asked.given.iter().filter(|(name, _)| name != "policy").cloned().collect();
        values.push(("policy".to_owned(), ParamValue::Choice(word.name.into())));
        match check(asked, word.name, &values) {
            Ok((what, bound, checks)) => found.add(what, bound, checks),
            Err(reason) => found.left_out.push(format!("{}: {reason}", word.name)),
        }
    }
    found
}

/// Sends the burst to a switch with the policy `policy`. Returns the description of the replay, an
/// explanation of the allowed difference, and the checks.
fn check(
    asked: &Asked<'_>,
    policy: &str,
    values: &[(String, ParamValue)],
) -> Result<(String, String, Vec<crate::Check>), String> {
    let answer = asked.info.calculate(values).map_err(|error| error.to_string())?;
    let buffer = match asked.params.given_bytes("buffer") {
        Some(buffer) => buffer,
        None => answer.value("buffer needed").expect("the calculator answers it").round() as u64,
    };
    let value = |name| answer.value(name).expect("the calculator answers it");
    let layout = layout(asked, buffer);
    let scheme = Scheme::named(policy).ok_or("no switch of it is known")?;
    let seen = replay(&layout, scheme)?;
    let burst = value("per sender") * f64::from(asked.params.small_count("fan_in"));
    let time = burst * 8.0 / layout.rate.0 as f64;
    let what = format!(
        "{policy}, {} B each into {buffer} B; the burst's first loss after queues were steady",
        seen.packet
    );
    Ok((what, seen.bound_in_words(), seen.checks(policy, [time, burst, value("stored")])))
}

/// Describes the calculator's switch with a buffer of `buffer` bytes.
fn layout(asked: &Asked<'_>, buffer: u64) -> Layout {
    let params = &asked.params;
    let port_rate = params.rate("port_rate");
    let sender = params.given_rate("sender_rate").unwrap_or(port_rate);
    let alpha = params.ratio("alpha");
    Layout {
        buffer,
        port_rate,
        ports: params.small_count("ports"),
        congested: params.small_count("congested"),
        congested_queues: 1,
        priorities: 1,
        alpha,
        rate: BitRate(sender.0.saturating_mul(params.count("fan_in"))),
        burst_alpha: params.given_ratio("burst_alpha").unwrap_or(alpha),
        burst_ports: 1,
        beside: 0,
        same_priority: params.flag("same_priority"),
        tau: params.ratio("tau"),
    }
}

#[cfg(test)]
mod tests {
    use bufferlab_params::ParamValue;
    use bufferlab_theory::calculators::CALCULATORS;
    use bufferlab_units::BitRate;

    /// Questions of a network architect: which buffer does a burst need, and which burst fits into
    /// a buffer?
    #[test]
    fn packets_find_the_burst_that_the_buffer_was_calculated_for() {
        let info = CALCULATORS.find("burst").expect("it is built in");
        let cases = [
            ("burst", 4_000_000, 0, 32, 100),
            ("burst", 2_000_000, 3, 8, 10),
            ("buffer", 16_000_000, 2, 16, 25),
        ];
        for (known, size, congested, fan_in, gbps) in cases {
            for alpha in [0.5, 1.0, 8.0] {
                let given = [
                    (known, ParamValue::Bytes(size)),
                    ("congested", ParamValue::Count(congested)),
                    ("fan_in", ParamValue::Count(fan_in)),
                    ("port_rate", ParamValue::Rate(BitRate::gbps(gbps))),
                    ("alpha", ParamValue::Ratio(alpha)),
                ]
                .map(|(name, value)| (name.to_owned(), value));
                let found = crate::verify(info, &given).expect("it is answered");
                assert!(found.holds(), "{known} {size}, alpha {alpha}: {found}");
                assert!(found.left_out.is_empty(), "{found}");
            }
        }
    }
}
