//! How much buffer known chips and switches have, and per port and Gb/s.

use super::{Derivation, Table, bytes, number};
use crate::forms::Domain;
use crate::forms::dimensions::{buffer_bytes, buffer_per_port_per_gbps};

/// A chip with a published figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// Its name.
    pub name: &'static str,
    /// Buffer per port and Gb/s (bytes).
    pub per_port_per_gbps_bytes: f64,
    /// Where that is stated.
    pub source: &'static str,
}

/// The chips, by falling figure.
pub const CHIPS: [Chip; 5] = [
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

/// Switches of which only the whole buffer is published: name and megabytes, where models differ both.
pub const SWITCHES: [(&str, &str); 8] = [
    ("QFX5100", "12"),
    ("QFX5200", "16 or 22"),
    ("QFX5120", "32"),
    ("QFX5210", "42"),
    ("QFX5220", "64"),
    ("QFX5230", "112"),
    ("QFX5130", "132"),
    ("QFX5240", "165"),
];

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chips {
    /// Ports of the switch.
    pub ports: u32,
    /// Rate of a port (bits/s).
    pub port_rate_bps: f64,
    /// Its buffer, to be placed among the others (bytes).
    pub buffer_bytes: Option<f64>,
}

/// The chips with the buffer that a switch of these ports would have (answer `per port and Gb/s` for a given buffer).
///
/// # Errors
/// No port, a rate or buffer not positive.
pub fn chips(asked: Chips) -> Domain<Derivation> {
    let gigabits = asked.port_rate_bps / 1e9;
    let mut derivation =
        Derivation::new(format!("Buffer of {} ports of {}", asked.ports, super::rate(asked.port_rate_bps)));
    let mut rows = Vec::new();
    for chip in CHIPS {
        let total = buffer_bytes(asked.ports, gigabits, chip.per_port_per_gbps_bytes)?;
        rows.push((chip.per_port_per_gbps_bytes, chip.name, total, chip.source));
    }
    let all = f64::from(asked.ports) * gigabits;
    derivation.step("all ports", "ports * rate", "", format!("{} Gb/s", number(all)), "");
    if let Some(buffer) = asked.buffer_bytes {
        let figure = buffer_per_port_per_gbps(buffer, asked.ports, gigabits)?;
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

    #[test]
    fn forty_ports_of_10_gigabit_have_3_84_megabytes_on_trident2() -> Domain<()> {
        let asked = Chips { ports: 40, port_rate_bps: 10e9, buffer_bytes: Some(3.84e6) };
        let found = chips(asked)?;
        assert!((found.value("per port and Gb/s").expect("answered") - 9_600.0).abs() < 1e-9);
        let text = found.to_string();
        assert!(text.contains("3.84 MB") && text.contains("this switch"), "{text}");
        assert_eq!(chips(Chips { ports: 0, ..asked }).expect_err("no port").input, "ports");
        Ok(())
    }
}
