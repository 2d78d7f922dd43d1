//! Calculator for the limits of TDT's counters on a switch, as TDT's paper suggests these limits.

use super::input::{self, BUFFER, PORTS, packet, param};
use super::{CalculatorInfo, Derivation, bytes, number};
use crate::forms::{Domain, above, check, traffic_aware};
use bufferlab_params::{ParamKind, ParamValue, Params};

/// The calculator gives the answers `NEC`, `OC1`, `DC`, `DEC`, `OC2` and `lower bound` (packets).
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "tdt-parameters",
    aliases: &[],
    title: "TDT's counters",
    summary: "Calculate TDT's counters for a switch.",
    source: "TDT section V-C, E-TDT-4.",
    params: &[
        BUFFER,
        packet("Size of a packet, the unit of the counters."),
        PORTS,
        param(
            "burst_ratio",
            ParamKind::RatioAbove { min: 1.0, max: f64::MAX },
            ParamValue::Ratio(2.0),
            "Slowest burst to recognise, in port rates.",
        ),
    ],
    rules: &[],
    examples: &[&[("buffer", "1 MB"), ("ports", "16")]],
    run,
};

fn run(params: &Params) -> Domain<Derivation> {
    let (buffer, packet) = (input::size(params, "buffer"), input::size(params, "packet"));
    let (ports, burst_ratio) = (params.small_count("ports"), params.ratio("burst_ratio"));
    check(packet <= buffer, "packet", packet, format_args!("at most {} (the buffer)", bytes(buffer)))?;
    above("burst_ratio", burst_ratio, 1.0, "the port rate")?;
    // The paper and the policy round to packets: 1 MB is 667 packets, a sixteenth of the 667
    // packets is 42 packets, and OC1 follows from the 42 packets. The lower bound is a length in
    // bytes and is not rounded.
    let size = (buffer / packet).round();
    let found = traffic_aware::parameters(size, ports, burst_ratio)?;
    let net_enqueues = found.net_enqueues.round().max(1.0);
    let lower_bound = traffic_aware::parameters(buffer / packet, ports, burst_ratio)?.lower_bound;
    let mut derivation =
        Derivation::new(format!("TDT's parameters for {} and {} ports", bytes(buffer), ports));
    let numbers = format!("{} / {}", bytes(buffer), bytes(packet));
    derivation.step("B", "buffer / packet, to nearest", numbers, format!("{} packets", number(size)), "");
    let (b, n) = (number(size), ports);
    let source = "TDT section V-C";
    derivation.step("NEC", "B / n", format!("{b} / {n}"), number(found.net_enqueues), source);
    let output_1 = net_enqueues / (burst_ratio - 1.0);
    let numbers = format!("{} / ({} - 1)", number(net_enqueues), number(burst_ratio));
    derivation.step("OC1", "NEC / (k - 1)", numbers, number(output_1), source);
    derivation.step("DC", "B / 2", format!("{b} / 2"), number(found.drops), source);
    derivation.step("DEC", "3 to 5", "", number(found.dequeues), source);
    derivation.step("OC2", "2 B", format!("2 * {b}"), number(found.output_2), source);
    let numbers = format!("{} / {} / (2 * {n})", bytes(buffer), bytes(packet));
    derivation.step("lower bound", "buffer / packet / (2 n)", numbers, number(lower_bound), source);
    for (name, value) in [
        ("NEC", net_enqueues),
        ("OC1", output_1.round().max(1.0)),
        ("DC", found.drops.floor().max(1.0)),
        ("DEC", found.dequeues),
        ("OC2", found.output_2),
        ("lower bound", lower_bound),
    ] {
        derivation.answer(name, value, format!("{} packets", number(value)));
    }
    let printed = traffic_aware::output_2_printed(size, n)?;
    derivation.note(format!("the paper's experiments use OC2 = 2 n NEC, here {} (E-TDT-4)", number(printed)));
    derivation.note("DC is for alpha = 1; with responsive traffic DEC a little above 3");
    Ok(derivation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calculators::CalculatorError;
    use crate::calculators::input::given;

    #[test]
    fn the_papers_switch_has_the_papers_parameters() -> Result<(), CalculatorError> {
        let switch = [("buffer", ParamValue::Bytes(1_000_000)), ("ports", ParamValue::Count(16))];
        let found = INFO.calculate(&given(&switch))?;
        for (name, value) in [("NEC", 42.0), ("OC1", 42.0), ("DC", 333.0), ("DEC", 3.0), ("OC2", 1334.0)] {
            assert_eq!(found.value(name), Some(value), "{name}");
        }
        assert!(found.to_string().contains("here 1344"));
        let refused = |name: &str, value| {
            let asked = [&switch[..], &[(name, value)]].concat();
            INFO.calculate(&given(&asked)).expect_err("out of range").to_string()
        };
        let slow = refused("burst_ratio", ParamValue::Ratio(1.0));
        assert_eq!(slow, "burst_ratio is 1, expected a number above 1");
        let large = refused("packet", ParamValue::Bytes(2_000_000));
        assert_eq!(large, "packet is 2000000, expected at most 1 MB (the buffer)");
        Ok(())
    }
}
