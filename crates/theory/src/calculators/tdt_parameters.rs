//! TDT's counters for a switch, as its paper suggests them.

use super::{Derivation, bytes, number};
use crate::forms::{Domain, above, at_least_one, check, positive, traffic_aware};

/// The switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdtSwitch {
    /// Shared buffer (bytes).
    pub buffer_bytes: f64,
    /// Size of a packet, the unit of the counters (bytes).
    pub packet_bytes: f64,
    /// Ports.
    pub ports: u32,
    /// Slowest burst that is to be recognised (port rates).
    pub burst_ratio: f64,
}

/// The parameters, derived (answers `NEC`, `OC1`, `DC`, `DEC`, `OC2`, `lower bound`; packets).
///
/// # Errors
/// A size not positive, a packet larger than the buffer, no port, a burst ratio of 1 or less.
pub fn tdt_parameters(switch: TdtSwitch) -> Domain<Derivation> {
    let buffer = positive("buffer", switch.buffer_bytes)?;
    let packet = positive("packet", switch.packet_bytes)?;
    check(packet <= buffer, "packet", packet, format_args!("at most {} (the buffer)", bytes(buffer)))?;
    at_least_one("ports", switch.ports)?;
    above("burst_ratio", switch.burst_ratio, 1.0, "the port rate")?;
    let size = buffer / packet;
    let found = traffic_aware::parameters(size, switch.ports, switch.burst_ratio)?;
    let mut derivation =
        Derivation::new(format!("TDT's parameters for {} and {} ports", bytes(buffer), switch.ports));
    let numbers = format!("{} / {}", bytes(buffer), bytes(packet));
    derivation.step("B", "buffer / packet", numbers, format!("{} packets", number(size)), "");
    let (b, n) = (number(size), switch.ports);
    let source = "TDT section V-C";
    derivation.step("NEC", "B / n", format!("{b} / {n}"), number(found.net_enqueues), source);
    let numbers = format!("{} / ({} - 1)", number(found.net_enqueues), number(switch.burst_ratio));
    derivation.step("OC1", "NEC / (k - 1)", numbers, number(found.output_1), source);
    derivation.step("DC", "B / 2", format!("{b} / 2"), number(found.drops), source);
    derivation.step("DEC", "3 to 5", "", number(found.dequeues), source);
    derivation.step("OC2", "2 B", format!("2 * {b}"), number(found.output_2), source);
    derivation.step(
        "lower bound",
        "B / (2 n)",
        format!("{b} / (2 * {n})"),
        number(found.lower_bound),
        source,
    );
    for (name, value) in [
        ("NEC", found.net_enqueues.round()),
        ("OC1", found.output_1.round()),
        ("DC", found.drops.floor()),
        ("DEC", found.dequeues),
        ("OC2", found.output_2.round()),
        ("lower bound", found.lower_bound),
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

    #[test]
    fn the_papers_switch_has_the_papers_parameters() -> Domain<()> {
        let switch = TdtSwitch { buffer_bytes: 1e6, packet_bytes: 1500.0, ports: 16, burst_ratio: 2.0 };
        let found = tdt_parameters(switch)?;
        for (name, value) in [("NEC", 42.0), ("OC1", 42.0), ("DC", 333.0), ("DEC", 3.0), ("OC2", 1333.0)] {
            assert_eq!(found.value(name), Some(value), "{name}");
        }
        assert!(found.to_string().contains("here 1344"));
        let refused = |switch| tdt_parameters(switch).expect_err("out of range").input;
        assert_eq!(refused(TdtSwitch { burst_ratio: 1.0, ..switch }), "burst_ratio");
        assert_eq!(refused(TdtSwitch { packet_bytes: 2e6, ..switch }), "packet");
        Ok(())
    }
}
