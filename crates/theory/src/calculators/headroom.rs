//! Calculator for PFC headroom, which compares every formula in use.

use super::input::{self, RATE, SIZE, count, param};
use super::{CalculatorInfo, Derivation, Rule, Table, bytes, number};
use crate::forms::headroom::{
    CABLE_SECONDS_PER_METRE, EndDelays, Link, PAUSE_FRAME_BITS, PausedPort, artifact_bytes, hpcc_bytes,
    ieee_bytes, in_cells, in_cells_by_packet, shorthand_bytes, tabulated_delays,
};
use crate::forms::sonic_headroom::{Generation, PortInputs, Profile};
use crate::forms::{Domain, DomainError, check, not_negative, positive};
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::headroom::{PacketMemory, PausedCable};
use bufferlab_units::{BitRate, Time};
use std::borrow::Cow;

/// The calculator gives the answers `peer stops at once`, `full-size packets` and `worst packets`.
/// `sonic explain`, `lint`, `predict` and `what-if` compare headroom with these needs. The
/// calculator also gives `bufferlab's switch`, `IEEE 802.1Qbb` (also `with the trigger`),
/// `shorthand`, `ABM/Reverie code`, `HPCC code`, `SONiC xoff`, and `SONiC xon`, `SONiC size`. If a
/// formula has no tabulated value for the port's speed, a note replaces the answer.
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "headroom",
    aliases: &[],
    title: "PFC headroom",
    summary: "Compare the PFC headroom of every formula in use.",
    source: "IEEE 802.1Qbb; the vendors' rule; the public code of ABM, Reverie and HPCC; SONiC's dynamic buffer model.",
    params: PARAMS,
    rules: &[Rule::Together(&["interface_bits", "response_bits"])],
    examples: &[&[]],
    run,
};

/// Declares a parameter whose value is not negative.
const fn measure(
    name: &'static str,
    unit: &'static str,
    default: ParamValue,
    doc: &'static str,
) -> ParamInfo {
    param(name, ParamKind::Measure { unit, min: 0.0, max: f64::MAX }, default, doc)
}

const PARAMS: &[ParamInfo] = &[
    param("rate", RATE, ParamValue::Rate(BitRate(100_000_000_000)), "Rate of the link."),
    measure("cable", "metres", ParamValue::Ratio(40.0), "Length of the cable in metres."),
    param("mtu", SIZE, ParamValue::Bytes(9_100), "Largest frame of the port."),
    param(
        "reaction",
        ParamKind::DELAY,
        ParamValue::Time(Time::ZERO),
        "bufferlab: from a pause's arrival to the moment at which the sender starts no more packets (`switch.pfc.reaction`).",
    ),
    param("cell", SIZE, ParamValue::Bytes(144), "Cell of the buffer."),
    param(
        "lossless_mtu",
        ParamKind::Bytes { min: 64 },
        ParamValue::Bytes(1_024),
        "SONiC: largest frame of lossless traffic.",
    ),
    param(
        "small_packets",
        ParamKind::Measure { unit: "percent", min: 0.0, max: 100.0 },
        ParamValue::Ratio(50.0),
        "SONiC: share of packets of 64 B in lossless traffic, in percent; below 100, xoff is an average and not a bound.",
    ),
    measure(
        "pipeline_latency",
        "KiB",
        ParamValue::Ratio(18.0),
        "SONiC: latency of the pipeline in KiB, from the switch's ASIC table: the default is an example.",
    ),
    measure(
        "mac_phy_delay",
        "KiB",
        ParamValue::Ratio(0.8),
        "SONiC: delay of MAC and PHY in KiB, from the switch's ASIC table: the default is an example.",
    ),
    measure("gearbox_delay", "ns", ParamValue::Ratio(0.0), "SONiC: delay of a gearbox, 0 without."),
    param("lanes", count(1), ParamValue::Count(4), "SONiC: lanes of the port."),
    param(
        "generation",
        ParamKind::Choice(Generation::WORDS),
        ParamValue::Choice(Cow::Borrowed("spectrum-1-to-3")),
        "SONiC: generation of the chip.",
    ),
    param(
        "shared_headroom_pool",
        ParamKind::Flag,
        ParamValue::Flag(false),
        "SONiC: the switch shares a headroom pool.",
    ),
    measure(
        "peer_response",
        "quanta",
        ParamValue::Optional,
        "SONiC: pause quanta that the peer still sends, for a speed that is not tabulated.",
    ),
    param(
        "has",
        ParamKind::Bytes { min: 0 },
        ParamValue::Optional,
        "Headroom that the port has; a note answers whether it is enough.",
    ),
    measure(
        "interface_bits",
        "bits",
        ParamValue::Optional,
        "IEEE: MAC and PHY delay of one end in bit times, for a speed that is not tabulated.",
    ),
    measure(
        "response_bits",
        "bits",
        ParamValue::Optional,
        "IEEE: response of the peer in bit times, for a speed that is not tabulated.",
    ),
];

/// Number of bytes in a KiB. SONiC's tables have delays in KiB.
const KIBIBYTE: f64 = 1024.0;

fn run(params: &Params) -> Domain<Derivation> {
    let port = PortInputs {
        speed_mbps: input::rate(params, "rate") / 1e6,
        cable_metres: params.ratio("cable"),
        port_mtu_bytes: input::size(params, "mtu"),
        lossless_mtu_bytes: input::size(params, "lossless_mtu"),
        small_packet_percent: params.ratio("small_packets"),
        cell_bytes: input::size(params, "cell"),
        pipeline_latency_bytes: params.ratio("pipeline_latency") * KIBIBYTE,
        mac_phy_delay_bytes: params.ratio("mac_phy_delay") * KIBIBYTE,
        gearbox_delay: params.ratio("gearbox_delay"),
        lanes: params.small_count("lanes"),
        generation: params.choice("generation"),
        shared_headroom_pool: params.flag("shared_headroom_pool"),
        peer_response_quanta: params.given_ratio("peer_response"),
    };
    let both = params.given_ratio("interface_bits").zip(params.given_ratio("response_bits"));
    let delays = both.map(|(interface_bits, response_bits)| EndDelays { interface_bits, response_bits });
    let has = params.given_bytes("has");
    headroom(&Headroom { port, delays, reaction: params.time("reaction"), has }).map_err(as_parameter)
}

/// Renames an input of the closed forms to its parameter, in the unit of the parameter.
fn as_parameter(error: DomainError) -> DomainError {
    let (input, factor) = match error.input {
        "speed_mbps" => ("rate", 1e6),
        "cable_metres" => ("cable", 1.0),
        "port_mtu_bytes" => ("mtu", 1.0),
        "lossless_mtu_bytes" => ("lossless_mtu", 1.0),
        "small_packet_percent" => ("small_packets", 1.0),
        "pipeline_latency_bytes" => ("pipeline_latency", 1.0 / KIBIBYTE),
        "mac_phy_delay_bytes" => ("mac_phy_delay", 1.0 / KIBIBYTE),
        "peer_response_quanta" => ("peer_response", 1.0),
        input => (input, 1.0),
    };
    DomainError { input, value: error.value * factor, ..error }
}

/// Values of the parameters of the headroom calculator.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Headroom {
    /// The port as SONiC describes it. All other formulas use the port's speed, cable, MTU and cell
    /// size.
    port: PortInputs,
    /// Delays of the two ends of the cable, for speeds that IEEE 802.1Qbb does not tabulate.
    delays: Option<EndDelays>,
    /// Reaction time of the sender in bufferlab's model.
    reaction: Time,
    /// Headroom that the user configured for the port (bytes), if given.
    has: Option<u64>,
}

/// Name of the answer for the headroom in bufferlab's own model.
const MODEL: &str = "bufferlab's switch";
/// Size of the smallest Ethernet frame (bytes).
const SMALLEST_FRAME: u32 = 64;
/// Size of the largest frame or cell that the model counts in integers (bytes).
const MOST_BYTES: f64 = 1e6;
/// Longest cable that the calculator accepts (metres). The delay of a longer cable would overflow
/// the engine's time.
const MOST_METRES: f64 = 1e9;

/// The headroom of the cable according to each formula.
///
/// # Errors
/// If an input is out of range. The error names the input as the closed forms do.
fn headroom(asked: &Headroom) -> Domain<Derivation> {
    let port = asked.port;
    let (link, packets) = link_and_packets(port)?;
    let mut derivation = Derivation::new(format!(
        "PFC headroom of {} over {} m, frames up to {}",
        super::rate(link.rate_bps),
        number(link.cable_metres),
        bytes(link.mtu_bytes)
    ));
    // Each entry is a formula: its name, its headroom (bytes), and the number of largest frames
    // that it counts.
    let mut found: Vec<(&str, f64, u32)> = Vec::new();
    let (rate, cable) = (super::rate(link.rate_bps), number(link.cable_metres));
    let numbers = format!("2 * {rate} * {cable} m * 5 ns/m / 8");
    let wire = bytes(link.round_trip_bytes());
    derivation.step("on the wire, both ways", "2 rate delay / 8", numbers, wire, "");
    if let Some(delays) = asked.delays.or_else(|| tabulated_delays(link.rate_bps)) {
        found.extend(ieee(link, delays, &mut derivation)?);
    } else {
        derivation.note("IEEE 802.1Qbb: delays are tabulated for 10, 25, 40 and 100 Gb/s; give interface and response for others");
    }
    let [shorthand, artifact, hpcc] = rules_of_thumb(link, &mut derivation)?;
    found.extend([(shorthand.0, shorthand.1, 2), (artifact.0, artifact.1, 2), (hpcc.0, hpcc.1, 0)]);
    match port.profile() {
        Ok(profile) => {
            sonic(port, &profile, &mut derivation);
            found.push(("SONiC xoff", profile.xoff_bytes, 0));
            if port.small_packet_percent < 100.0 {
                derivation.note(format!(
                    "SONiC xoff is an average, no bound: more than {} % of small packets need more; give 100 for a bound",
                    number(port.small_packet_percent)
                ));
            }
        }
        Err(error) if error.input == "speed_mbps" => derivation.note(format!("SONiC: {error}")),
        Err(error) => return Err(error),
    }
    let mut table = Table::new(&["formula", "bytes", "in whole cells, by packet"]);
    let model = model(link, asked.reaction, packets, &mut derivation);
    table.rows.push(vec![MODEL.to_owned(), number_of_bytes(model.0), number_of_bytes(model.1)]);
    derivation.answer(MODEL, model.0, bytes(model.0));
    for (name, total, frames) in found {
        // SONiC's formula for `xoff` already rounds up to whole cells.
        let cells = match name {
            "SONiC xoff" => in_cells(total, port.cell_bytes)?,
            _ => in_cells_by_packet(total, frames, packets)?,
        };
        table.rows.push(vec![name.to_owned(), number_of_bytes(total), number_of_bytes(cells)]);
        derivation
            .answers
            .insert(0, super::Answer { name: name.to_owned(), value: total, text: bytes(total) });
    }
    needs(asked, &mut table, &mut derivation);
    derivation.answers.sort_by(|a, b| b.value.total_cmp(&a.value));
    derivation.table = Some(table);
    derivation.note("whole cells, by packet: every packet rounds up by itself, and all but the largest frames are of the worst size from 64 B");
    derivation.note("IEEE counts from the packet after the one that triggers the pause; a switch that stores that one in headroom needs one frame more");
    derivation.note("per priority group and port; HPCC's term has no frames in flight, the shorthand has the response of 10 Gb/s at every speed");
    Ok(derivation)
}

/// Adds the headroom that the port needs with three kinds of packets. Also adds whether the
/// headroom that the user configured is enough.
fn needs(asked: &Headroom, table: &mut Table, derivation: &mut Derivation) {
    let port = PausedPort {
        speed_mbps: asked.port.speed_mbps.round().max(1.0) as u64,
        cable_metres: asked.port.cable_metres,
        mtu_bytes: asked.port.port_mtu_bytes as u64,
        cell_bytes: asked.port.cell_bytes as u64,
        packet_overhead: 0,
    };
    let in_bytes = PausedPort { cell_bytes: 1, ..port }.needs();
    let needs = port.needs();
    for (name, bytes_on_wire, cells) in [
        ("peer stops at once", in_bytes.least, needs.least),
        ("full-size packets", in_bytes.full_size, needs.full_size),
        ("worst packets", in_bytes.worst, needs.worst),
    ] {
        let cells = cells as f64;
        table.rows.push(vec![name.to_owned(), number_of_bytes(bytes_on_wire as f64), number_of_bytes(cells)]);
        derivation.answer(name, cells, bytes(cells));
    }
    derivation.notes.insert(
        0,
        format!(
            "configure {} for full-size packets, or {} for packets of any size (worst: {} B each); sonic explain, lint, \
             predict and what-if judge by these two needs, with the response of IEEE 802.1Qbb; the other rows are \
             formulas to compare",
            bytes(needs.full_size as f64),
            bytes(needs.worst as f64),
            needs.worst_packet
        ),
    );
    if let Some(has) = asked.has {
        derivation.note(format!("headroom of {has} B: {}", needs.answer(has)));
    }
}

/// Headroom of bufferlab's switch in bytes and in cells,
/// by the model of `bufferlab check` and `headroom = "auto"`.
fn model(link: Link, reaction: Time, packets: PacketMemory, derivation: &mut Derivation) -> (f64, f64) {
    let rate = BitRate(link.rate_bps.round().max(1.0) as u64);
    let cable = PausedCable {
        arrivals: rate,
        frames: rate,
        delay: Time((link.cable_metres * CABLE_SECONDS_PER_METRE * 1e12).round() as u64),
        reaction,
        packets: PacketMemory { cell: 1, ..packets },
        largest_back: packets.largest,
    };
    let needed = cable.headroom();
    for term in needed.terms.iter().filter(|term| term.bytes > 0) {
        derivation.step(term.name, term.formula, "", number_of_bytes(term.bytes as f64), MODEL);
    }
    let in_cells = PausedCable { packets, ..cable }.headroom();
    (needed.bytes() as f64, in_cells.bytes() as f64)
}

/// The headroom by the terms of IEEE 802.1Qbb, and by a variant in which the packet that triggers
/// the pause also needs headroom.
fn ieee(link: Link, delays: EndDelays, derivation: &mut Derivation) -> Domain<[(&'static str, f64, u32); 2]> {
    let total = ieee_bytes(link, delays)?;
    let numbers = format!(
        "2 * {} + {} + ({PAUSE_FRAME_BITS} + 2 * {} + {}) / 8",
        bytes(link.mtu_bytes),
        bytes(link.round_trip_bytes()),
        number(delays.interface_bits),
        number(delays.response_bits)
    );
    let formula = "2 MTU + wire + (pause frame + 2 interfaces + response) / 8";
    derivation.step("IEEE 802.1Qbb", formula, numbers, bytes(total), "IEEE terms");
    let with_trigger = total + link.mtu_bytes;
    let numbers = format!("{} + {}", bytes(total), bytes(link.mtu_bytes));
    derivation.step("IEEE, with the trigger", "IEEE + MTU", numbers, bytes(with_trigger), "IEEE terms");
    Ok([("IEEE 802.1Qbb", total, 2), ("IEEE, with the trigger", with_trigger, 3)])
}

/// Converts the user's values for the port to the link and the packet sizes that the formulas use.
fn link_and_packets(port: PortInputs) -> Domain<(Link, PacketMemory)> {
    positive("rate", port.speed_mbps)?;
    let cable_metres = not_negative("cable_metres", port.cable_metres)?;
    let mtu_bytes = positive("mtu", port.port_mtu_bytes)?;
    check(port.cell_bytes >= 1.0, "cell", port.cell_bytes, "1 B or more")?;
    check(mtu_bytes <= MOST_BYTES, "mtu", mtu_bytes, "1 MB or less")?;
    check(cable_metres <= MOST_METRES, "cable_metres", cable_metres, "a million kilometres or less")?;
    check(port.cell_bytes <= MOST_BYTES, "cell", port.cell_bytes, "1 MB or less")?;
    let link = Link { rate_bps: port.speed_mbps * 1e6, cable_metres, mtu_bytes };
    let largest = mtu_bytes as u32;
    let (smallest, cell) = (SMALLEST_FRAME.min(largest), port.cell_bytes as u32);
    Ok((link, PacketMemory { smallest, largest, uncharged: 0, overhead: 0, cell }))
}

/// Headroom by the formulas that depend only on rate, cable and MTU.
fn rules_of_thumb(link: Link, derivation: &mut Derivation) -> Domain<[(&'static str, f64); 3]> {
    let (frames, wire) = (format!("2 * {}", bytes(link.mtu_bytes)), bytes(link.round_trip_bytes()));
    let per_cable = 130.0 * link.cable_metres / 100.0 * link.rate_bps / 1e9;
    let shorthand = shorthand_bytes(link)?;
    let numbers = format!("{frames} + 3840 B + {}", bytes(per_cable));
    let formula = "2 MTU + 3840 B + 130 B per 100 m and Gb/s";
    derivation.step("shorthand", formula, numbers, bytes(shorthand), "vendors' rule");
    let artifact = artifact_bytes(link)?;
    let (formula, numbers) = ("2 MTU + 3860 B + wire", format!("{frames} + 3860 B + {wire}"));
    derivation.step("ABM/Reverie code", formula, numbers, bytes(artifact), "public artifact");
    let hpcc = hpcc_bytes(link)?;
    let (formula, numbers) = ("3 rate delay / 8", format!("1.5 * {wire}"));
    derivation.step("HPCC code", formula, numbers, bytes(hpcc), "public artifact");
    Ok([("shorthand", shorthand), ("ABM/Reverie code", artifact), ("HPCC code", hpcc)])
}

/// Formats a number of bytes with all digits, because configuration files need exact values.
fn number_of_bytes(value: f64) -> String {
    format!("{:.0} B", value.ceil())
}

/// Source that the steps of SONiC's formulas cite.
const SONIC: &str = "SONiC dynamic model";

/// Adds SONiC's steps and the answers `SONiC xon` and `SONiC size`.
fn sonic(port: PortInputs, profile: &Profile, derivation: &mut Derivation) {
    cell_occupancy(port, profile, derivation);
    let (cable, rate) = (number(port.cable_metres), super::rate(port.speed_mbps * 1e6));
    let (formula, numbers) = ("2 length speed / 1.98e8 m/s", format!("2 * {cable} m * {rate} / 1.98e8 m/s"));
    derivation.step("SONiC: cable", formula, numbers, bytes(profile.cable_bytes), SONIC);
    let response = bytes(profile.peer_response_bytes);
    derivation.step("SONiC: response of the peer", "quanta * 64 B", "", response, SONIC);
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
    derivation.step("SONiC: delay D", formula, numbers, bytes(profile.delay_bytes), SONIC);
    let (mtu, delay) = (number(port.lossless_mtu_bytes), bytes(profile.delay_bytes));
    let numbers = format!("{mtu} B + {delay} * {}", number(profile.cell_occupancy));
    let formula = "lossless MTU + D o, up to KiB, and margins";
    derivation.step("SONiC: xoff", formula, numbers, number_of_bytes(profile.xoff_bytes), SONIC);
    let lanes = if port.lanes == 8 { "2 * " } else { "" };
    let numbers = format!("{lanes}{}", bytes(port.pipeline_latency_bytes));
    let formula = "pipeline latency, up to KiB";
    derivation.step("SONiC: xon", formula, numbers, number_of_bytes(profile.xon_bytes), SONIC);
    let formula = if port.shared_headroom_pool { "xon (shared headroom pool)" } else { "xoff + xon" };
    derivation.step("SONiC: size", formula, "", number_of_bytes(profile.size_bytes), SONIC);
    derivation.answer("SONiC xon", profile.xon_bytes, bytes(profile.xon_bytes));
    derivation.answer("SONiC size", profile.size_bytes, bytes(profile.size_bytes));
}

/// Adds the mean number of bytes that a byte of lossless traffic occupies in memory cells.
fn cell_occupancy(port: PortInputs, profile: &Profile, derivation: &mut Derivation) {
    let cell = number(port.cell_bytes);
    let (formula, numbers) = if port.cell_bytes > 128.0 {
        ("ceil(cell / 64)", format!("ceil({cell} / 64)"))
    } else {
        ("ceil(2 cell / (1 + cell))", format!("ceil(2 * {cell} / (1 + {cell}))"))
    };
    derivation.step("SONiC: worst factor", formula, numbers, number(profile.worst_factor), SONIC);
    let (small, mtu) = (number(port.small_packet_percent), number(port.lossless_mtu_bytes));
    let numbers = format!("100 * 64 / ((64 * {small} + (100 - {small}) * {mtu}) / 100)");
    let percent = format!("{} %", number(profile.small_bytes_percent));
    derivation.step("SONiC: bytes in small packets", "100 * 64 / mean packet", numbers, percent, SONIC);
    let share = number(profile.small_bytes_percent);
    let numbers = format!("(100 - {share} + {share} * {}) / 100", number(profile.worst_factor));
    let (formula, occupancy) = ("small ones at the worst factor", number(profile.cell_occupancy));
    derivation.step("SONiC: cell occupancy o", formula, numbers, occupancy, SONIC);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Headroom = Headroom {
        port: PortInputs {
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
            generation: Generation::Spectrum1To3,
            shared_headroom_pool: false,
            peer_response_quanta: None,
        },
        delays: None,
        reaction: Time::ZERO,
        has: None,
    };

    #[test]
    fn the_artifacts_worked_number_stands_beside_the_others() -> Domain<()> {
        let found = headroom(&ASKED)?;
        assert!((found.value("ABM/Reverie code").expect("answered") - 18_456.0).abs() < 1e-6);
        assert!((found.value("HPCC code").expect("answered") - 18_750.0).abs() < 1e-6);
        let ieee = 2096.0 + 12_500.0 + (672.0 + 12_288.0 + 40_960.0) / 8.0;
        assert!((found.value("IEEE 802.1Qbb").expect("answered") - ieee).abs() < 1e-6);
        assert_eq!(found.value("SONiC xoff"), Some(ASKED.port.profile()?.xoff_bytes));
        let rows = &found.table.as_ref().expect("a table").rows;
        // The sum has 2 frames of 8 cells each, and 16,360 B in packets of 64 B,
        // each in a cell of 144 B.
        assert_eq!(rows[4], ["ABM/Reverie code", "18456 B", "39114 B"]);
        // The sum has 3 frames, the pause frame itself, and 2 * 2 us at 25 Gb/s.
        let model = 3 * 1_048 + 64 + 12_500;
        assert_eq!(found.value("bufferlab's switch"), Some(f64::from(model)));
        let in_cells = 2 * 1_152 + (model - 2 * 1_048) * 144 / 64;
        assert_eq!(rows[0], ["bufferlab's switch".to_owned(), format!("{model} B"), format!("{in_cells} B")]);
        let trigger = found.value("IEEE, with the trigger").zip(found.value("IEEE 802.1Qbb"));
        assert!(trigger.is_some_and(|(with, without)| (with - without - 1_048.0).abs() < 1e-9));
        Ok(())
    }

    #[test]
    fn an_untabulated_speed_leaves_formulas_out_and_says_so() -> Domain<()> {
        let odd = Headroom { port: PortInputs { speed_mbps: 56_000.0, ..ASKED.port }, ..ASKED };
        let found = headroom(&odd)?;
        assert_eq!((found.value("IEEE 802.1Qbb"), found.value("SONiC xoff")), (None, None));
        assert!(found.value("shorthand").is_some() && found.notes.len() == 6, "{:?}", found.notes);
        let delays = Some(EndDelays { interface_bits: 1e4, response_bits: 1e5 });
        let port = PortInputs { peer_response_quanta: Some(200.0), ..odd.port };
        let found = headroom(&Headroom { delays, port, ..ASKED })?;
        assert!(found.value("IEEE 802.1Qbb").is_some() && found.value("SONiC xoff").is_some());
        Ok(())
    }

    #[test]
    fn a_percentage_above_100_is_refused() {
        let port = PortInputs { small_packet_percent: 101.0, ..ASKED.port };
        assert_eq!(
            headroom(&Headroom { port, ..ASKED }).expect_err("more than all").input,
            "small_packet_percent"
        );
    }
}
