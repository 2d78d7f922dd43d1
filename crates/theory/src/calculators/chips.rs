//! Calculator for buffer per port and Gb/s, with the figures of known chips and switches.

use super::input::{self, PORT_RATE, PORTS, SIZE, param};
use super::{CalculatorInfo, Derivation, Table, bytes, number};
use crate::forms::Domain;
use crate::forms::dimensions::{buffer_bytes, buffer_per_port_per_gbps};
use bufferlab_params::{ParamValue, Params};

/// The calculator gives the answer `per port and Gb/s` for a buffer.
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "chips",
    aliases: &[],
    title: "Buffers of chips",
    summary: "List the buffer per port and Gb/s of known chips.",
    source: "The papers, vendors' documents and a public list of switch buffers; each row of the table names its source.",
    params: &[
        PORTS,
        PORT_RATE,
        param("buffer", SIZE, ParamValue::Optional, "Buffer of your switch, to rank it among the others."),
    ],
    rules: &[],
    examples: &[&[("ports", "40"), ("buffer", "3.84 MB")]],
    run,
};

/// A chip with a published buffer size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chip {
    /// Name of the chip in the table.
    name: &'static str,
    /// Buffer per port and Gb/s (bytes).
    per_port_per_gbps_bytes: f64,
    /// Source of the published figure.
    source: &'static str,
}

/// Known chips, in descending order of buffer per port and Gb/s.
const CHIPS: [Chip; 5] = [
    Chip {
        name: "Broadcom Trident+",
        per_port_per_gbps_bytes: 19_200.0,
        source: "public list of switch buffers",
    },
    Chip { name: "Broadcom Trident2", per_port_per_gbps_bytes: 9_600.0, source: "ABM section 4.1" },
    Chip {
        name: "Broadcom Tomahawk",
        per_port_per_gbps_bytes: 5_120.0,
        source: "ABM section 4.4, Reverie section 4.1",
    },
    Chip {
        name: "Occamy prototype",
        per_port_per_gbps_bytes: 5_120.0,
        source: "its artifact: 410 KB, 8 ports of 10 Gb/s",
    },
    Chip { name: "Intel Tofino", per_port_per_gbps_bytes: 3_440.0, source: "ABM Fig. 11" },
];

/// Switches with only a published total buffer:
/// name and megabytes. Both texts are ranges if models differ.
const SWITCHES: [(&str, &str); 8] = [
    ("QFX5100", "12"),
    ("QFX5200", "16 or 22"),
    ("QFX5120", "32"),
    ("QFX5210", "42"),
    ("QFX5220", "64"),
    ("QFX5230", "112"),
    ("QFX5130", "132"),
    ("QFX5240", "165"),
];

fn run(params: &Params) -> Domain<Derivation> {
    let (ports, port_rate_bps) = (params.small_count("ports"), input::rate(params, "port_rate"));
    let gigabits = port_rate_bps / 1e9;
    let mut derivation =
        Derivation::new(format!("Buffer of {ports} ports of {}", super::rate(port_rate_bps)));
    let mut rows = Vec::new();
    for chip in CHIPS {
        let total = buffer_bytes(ports, gigabits, chip.per_port_per_gbps_bytes)?;
        rows.push((chip.per_port_per_gbps_bytes, chip.name, total, chip.source));
    }
    let all = f64::from(ports) * gigabits;
    derivation.step("all ports", "ports * rate", "", format!("{} Gb/s", number(all)), "");
    if let Some(buffer) = input::given_size(params, "buffer") {
        let figure = buffer_per_port_per_gbps(buffer, ports, gigabits)?;
        let numbers = format!("{} / {}", bytes(buffer), number(all));
        derivation.step("per port and Gb/s", "B / (ports * rate)", numbers, bytes(figure), "");
        derivation.answer("per port and Gb/s", figure, bytes(figure));
        rows.push((figure, "this switch", buffer, "given"));
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut table = Table::new(&["chip", "per port and Gb/s", "buffer", "source"]);
    for (figure, name, total, source) in rows {
        table.rows.push(vec![name.to_owned(), bytes(figure), bytes(total), source.to_owned()]);
    }
    derivation.table = Some(table);
    let switches: Vec<_> =
        SWITCHES.iter().map(|(name, megabytes)| format!("{name} {megabytes} MB")).collect();
    derivation.note(format!("whole switches as Juniper documents them: {}", switches.join(", ")));
    Ok(derivation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calculators::CalculatorError;
    use crate::calculators::input::given;

    #[test]
    fn forty_ports_of_10_gigabit_have_3_84_megabytes_on_trident2() -> Result<(), CalculatorError> {
        let asked = [("ports", ParamValue::Count(40)), ("buffer", ParamValue::Bytes(3_840_000))];
        let found = INFO.calculate(&given(&asked))?;
        assert!((found.value("per port and Gb/s").expect("answered") - 9_600.0).abs() < 1e-9);
        let text = found.to_string();
        assert!(text.contains("3.84 MB") && text.contains("this switch"), "{text}");
        let none = INFO.calculate(&given(&[("ports", ParamValue::Count(0))])).expect_err("no port");
        assert_eq!(none.to_string(), "ports is 0, expected a whole number of at least 1");
        Ok(())
    }
}
