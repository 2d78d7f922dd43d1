//! PFC headroom by every formula in use, side by side.

use super::{Derivation, Table, bytes, number};
use crate::forms::headroom::{
    EndDelays, Link, PAUSE_FRAME_BITS, artifact_bytes, hpcc_bytes, ieee_bytes, in_cells, shorthand_bytes,
    tabulated_delays,
};
use crate::forms::sonic_headroom::Port;
use crate::forms::{Domain, check, not_negative, positive};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headroom {
    /// The port as SONiC sees it; speed, cable, MTU and cell serve the other formulas, too.
    pub port: Port,
    /// Delays of both ends where the speed is not tabulated.
    pub delays: Option<EndDelays>,
}

/// The headroom by each formula, derived: answers `IEEE 802.1Qbb`, `shorthand`, `ABM/Reverie code`, `HPCC code`, `SONiC xoff`, and
/// `SONiC xon`, `SONiC size`. A formula whose tables do not know the speed is left out with a note.
///
/// # Errors
/// An input out of its range.
pub fn headroom(asked: &Headroom) -> Domain<Derivation> {
    let port = asked.port;
    positive("rate", port.speed_mbps)?;
    not_negative("cable_metres", port.cable_metres)?;
    positive("mtu", port.port_mtu_bytes)?;
    check(port.cell_bytes >= 1.0, "cell", port.cell_bytes, "1 B or more")?;
    let link = Link {
        rate_bps: port.speed_mbps * 1e6,
        cable_metres: port.cable_metres,
        mtu_bytes: port.port_mtu_bytes,
    };
    let mut derivation = Derivation::new(format!(
        "PFC headroom of {} over {} m, frames up to {}",
        super::rate(link.rate_bps),
        number(link.cable_metres),
        bytes(link.mtu_bytes)
    ));
    let mut found: Vec<(&str, f64)> = Vec::new();
    let wire = link.round_trip_bytes();
    let numbers =
        format!("2 * {} * {} m * 5 ns/m / 8", super::rate(link.rate_bps), number(link.cable_metres));
    derivation.step("on the wire, both ways", "2 rate delay / 8", numbers, bytes(wire), "");
    let frames = format!("2 * {}", bytes(link.mtu_bytes));
    if let Some(delays) = asked.delays.or_else(|| tabulated_delays(link.rate_bps)) {
        let total = ieee_bytes(link, delays)?;
        let numbers = format!(
            "{frames} + {} + ({PAUSE_FRAME_BITS} + 2 * {} + {}) / 8",
            bytes(wire),
            number(delays.interface_bits),
            number(delays.response_bits)
        );
        let formula = "2 MTU + wire + (pause frame + 2 interfaces + response) / 8";
        derivation.step("IEEE 802.1Qbb", formula, numbers, bytes(total), "IEEE terms");
        found.push(("IEEE 802.1Qbb", total));
    } else {
        derivation.note("IEEE 802.1Qbb: delays are tabulated for 10, 25, 40 and 100 Gb/s; give interface and response for others");
    }
    let total = shorthand_bytes(link)?;
    let per_cable = 130.0 * link.cable_metres / 100.0 * link.rate_bps / 1e9;
    let numbers = format!("{frames} + 3840 B + {}", bytes(per_cable));
    derivation.step(
        "shorthand",
        "2 MTU + 3840 B + 130 B per 100 m and Gb/s",
        numbers,
        bytes(total),
        "vendors' rule",
    );
    found.push(("shorthand", total));
    let total = artifact_bytes(link)?;
    derivation.step(
        "ABM/Reverie code",
        "2 MTU + 3860 B + wire",
        format!("{frames} + 3860 B + {}", bytes(wire)),
        bytes(total),
        "public artifact",
    );
    found.push(("ABM/Reverie code", total));
    let total = hpcc_bytes(link)?;
    derivation.step(
        "HPCC code",
        "3 rate delay / 8",
        format!("1.5 * {}", bytes(wire)),
        bytes(total),
        "public artifact",
    );
    found.push(("HPCC code", total));
    let mut table = Table::new(&["formula", "bytes", "in whole cells"]);
    match sonic(port, &mut derivation) {
        Ok(xoff) => found.push(("SONiC xoff", xoff)),
        Err(error) if error.input == "speed_mbps" => derivation.note(format!("SONiC: {error}")),
        Err(error) => return Err(error),
    }
    for (name, total) in found {
        let cells = in_cells(total, port.cell_bytes)?;
        table.rows.push(vec![name.to_owned(), number_of_bytes(total), number_of_bytes(cells)]);
        derivation
            .answers
            .insert(0, super::Answer { name: name.to_owned(), value: total, text: bytes(total) });
    }
    derivation.answers.sort_by(|a, b| b.value.total_cmp(&a.value));
    derivation.table = Some(table);
    derivation.note("per priority group and port; HPCC's term has no frames in flight, the shorthand has the response of 10 Gb/s at every speed");
    Ok(derivation)
}

/// All digits: configurations want them.
fn number_of_bytes(value: f64) -> String {
    format!("{:.0} B", value.ceil())
}

/// SONiC's steps; answers xoff.
fn sonic(port: Port, derivation: &mut Derivation) -> Domain<f64> {
    let profile = port.profile()?;
    let source = "SONiC dynamic model";
    let cell = number(port.cell_bytes);
    let (formula, numbers) = if port.cell_bytes > 128.0 {
        ("ceil(cell / 64)", format!("ceil({cell} / 64)"))
    } else {
        ("ceil(2 cell / (1 + cell))", format!("ceil(2 * {cell} / (1 + {cell}))"))
    };
    derivation.step("SONiC: worst factor", formula, numbers, number(profile.worst_factor), source);
    let small = number(port.small_packet_percent);
    let mtu = number(port.lossless_mtu_bytes);
    let numbers = format!("100 * 64 / ((64 * {small} + (100 - {small}) * {mtu}) / 100)");
    let percent = format!("{} %", number(profile.small_bytes_percent));
    derivation.step("SONiC: bytes in small packets", "100 * 64 / mean packet", numbers, percent, source);
    let share = number(profile.small_bytes_percent);
    let numbers = format!("(100 - {share} + {share} * {}) / 100", number(profile.worst_factor));
    derivation.step(
        "SONiC: cell occupancy o",
        "small ones at the worst factor",
        numbers,
        number(profile.cell_occupancy),
        source,
    );
    let numbers =
        format!("2 * {} m * {} / 1.98e8 m/s", number(port.cable_metres), super::rate(port.speed_mbps * 1e6));
    derivation.step(
        "SONiC: cable",
        "2 length speed / 1.98e8 m/s",
        numbers,
        bytes(profile.cable_bytes),
        source,
    );
    derivation.step(
        "SONiC: response of the peer",
        "quanta * 64 B",
        "",
        bytes(profile.peer_response_bytes),
        source,
    );
    let numbers = format!(
        "{} + {} + 2 * {} + {} + {} + {}",
        bytes(port.port_mtu_bytes),
        bytes(profile.cable_bytes),
        bytes(profile.gearbox_bytes),
        bytes(port.mac_phy_delay_bytes),
        bytes(profile.peer_response_bytes),
        bytes(profile.tile_bytes)
    );
    let formula = "MTU + cable + 2 gearbox + MAC-PHY + peer + tile";
    derivation.step("SONiC: delay D", formula, numbers, bytes(profile.delay_bytes), source);
    let numbers = format!("{mtu} B + {} * {}", bytes(profile.delay_bytes), number(profile.cell_occupancy));
    let formula = "lossless MTU + D o, up to KiB, and margins";
    derivation.step("SONiC: xoff", formula, numbers, number_of_bytes(profile.xoff_bytes), source);
    let lanes = if port.lanes == 8 { "2 * " } else { "" };
    let numbers = format!("{lanes}{}", bytes(port.pipeline_latency_bytes));
    derivation.step(
        "SONiC: xon",
        "pipeline latency, up to KiB",
        numbers,
        number_of_bytes(profile.xon_bytes),
        source,
    );
    let formula = if port.shared_headroom_pool { "xon (shared headroom pool)" } else { "xoff + xon" };
    derivation.step("SONiC: size", formula, "", number_of_bytes(profile.size_bytes), source);
    derivation.answer("SONiC xon", profile.xon_bytes, bytes(profile.xon_bytes));
    derivation.answer("SONiC size", profile.size_bytes, bytes(profile.size_bytes));
    Ok(profile.xoff_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::sonic_headroom::Generation;

    const ASKED: Headroom = Headroom {
        port: Port {
            speed_mbps: 25_000.0,
            cable_metres: 400.0,
            port_mtu_bytes: 1_048.0,
            lossless_mtu_bytes: 1_024.0,
            small_packet_percent: 100.0,
            cell_bytes: 144.0,
            pipeline_latency_bytes: 18_432.0,
            mac_phy_delay_bytes: 819.2,
            gearbox_delay: 0.0,
            lanes: 4,
            generation: Generation::Before4,
            shared_headroom_pool: false,
            peer_response_quanta: None,
        },
        delays: None,
    };

    #[test]
    fn the_artifacts_worked_number_stands_beside_the_others() -> Domain<()> {
        let found = headroom(&ASKED)?;
        assert!((found.value("ABM/Reverie code").expect("answered") - 18_456.0).abs() < 1e-6);
        assert!((found.value("HPCC code").expect("answered") - 18_750.0).abs() < 1e-6);
        let ieee = 2096.0 + 12_500.0 + (672.0 + 12_288.0 + 40_960.0) / 8.0;
        assert!((found.value("IEEE 802.1Qbb").expect("answered") - ieee).abs() < 1e-6);
        assert_eq!(found.value("SONiC xoff"), Some(ASKED.port.profile()?.xoff_bytes));
        let rows = found.table.expect("a table").rows;
        assert_eq!(rows[2], ["ABM/Reverie code", "18456 B", "18576 B"]);
        Ok(())
    }

    #[test]
    fn an_untabulated_speed_leaves_formulas_out_and_says_so() -> Domain<()> {
        let odd = Headroom { port: Port { speed_mbps: 56_000.0, ..ASKED.port }, ..ASKED };
        let found = headroom(&odd)?;
        assert_eq!((found.value("IEEE 802.1Qbb"), found.value("SONiC xoff")), (None, None));
        assert!(found.value("shorthand").is_some() && found.notes.len() == 3, "{:?}", found.notes);
        let delays = Some(EndDelays { interface_bits: 1e4, response_bits: 1e5 });
        let port = Port { peer_response_quanta: Some(200.0), ..odd.port };
        let found = headroom(&Headroom { delays, port })?;
        assert!(found.value("IEEE 802.1Qbb").is_some() && found.value("SONiC xoff").is_some());
        Ok(())
    }

    #[test]
    fn a_percentage_above_100_is_refused() {
        let port = Port { small_packet_percent: 101.0, ..ASKED.port };
        assert_eq!(
            headroom(&Headroom { port, ..ASKED }).expect_err("more than all").input,
            "small_packet_percent"
        );
    }
}
