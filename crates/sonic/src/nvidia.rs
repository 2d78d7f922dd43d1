//! Headroom of NVIDIA switches: compares every row of `pg_profile_lookup.ini` with the calculation
//! of SONiC's dynamic model.
//!
//! The calculation also reads the state of a running switch: cell, MAC and PHY delay, MTU and share
//! of small packets of lossless traffic. The lookup file does not have these values. The inputs in
//! `INPUTS` reproduce published rows. `docs/evidence/silicon.md` has the number of the reproduced
//! rows, and explains the other rows.

use crate::config::{self, Config, LookupRow, Threshold};
use crate::keys::PortName;
use crate::place::{Placed, printable};
use crate::resolve::LOSSLESS_POOL;
use crate::silicon::{Chip, PredictError, Rule};
use bufferlab_theory::forms::sonic_headroom::{Generation, PortInputs, Profile, tabulated_quanta};
use serde::Serialize;
use std::fmt::Write as _;

const KIBIBYTE: i64 = 1_024;

/// Inputs of the headroom calculation that reproduce the published rows of some switches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inputs {
    /// Name by which the command line selects these inputs.
    pub name: &'static str,
    /// Parts of hardware model names for which the calculation uses these inputs.
    #[serde(skip)]
    models: &'static [&'static str],
    /// MTU of lossless traffic that the calculation assumes (bytes).
    pub lossless_mtu: u32,
    /// MTU of the port that the calculation assumes (bytes).
    pub port_mtu: u32,
    /// Share of packets of 64 B in lossless traffic (percent).
    pub small_percent: u32,
    /// Size of a memory cell of the chip (bytes).
    pub cell: u32,
    /// Delay of MAC and PHY, as the amount of data that arrives during the delay (bytes).
    pub mac_phy_bytes: f64,
    /// Whether the latency of a tile of the chip adds to the headroom.
    pub tile: bool,
    /// Response time of the peer at 800 Gb/s (quanta), if it differs from the response time in
    /// SONiC's script.
    pub quanta_800g: Option<u32>,
}

/// Delay of MAC and PHY of 0.8 KiB. The file `platform/mellanox/asic_table.j2` of sonic-buildimage
/// has this value for all generations of chips.
const MAC_PHY: f64 = 0.8 * 1024.0;

/// Pipeline latency of 19 KiB, and of 42 KiB on Spectrum-6 (cells of 256 B). The latency is in
/// `asic_table.j2`, and in `xon` of every published row of chips with one pipeline.
fn pipeline_bytes(cell: u64) -> f64 {
    if cell == 256 { 42.0 * 1024.0 } else { 19.0 * 1024.0 }
}

/// Inputs of the calculation by hardware model. A model's name comes before its prefixes, because
/// the first match wins.
static INPUTS: &[Inputs] = &[
    Inputs {
        name: "spectrum3-old",
        models: &["SN4700-C128", "SN3800"],
        lossless_mtu: 1_500,
        port_mtu: 9_100,
        small_percent: 90,
        cell: 144,
        mac_phy_bytes: MAC_PHY,
        tile: false,
        quanta_800g: None,
    },
    Inputs {
        name: "spectrum3-jumbo",
        models: &["SN4700", "SN4280"],
        lossless_mtu: 9_216,
        port_mtu: 1_024,
        small_percent: 20,
        cell: 144,
        mac_phy_bytes: 1_024.0,
        tile: false,
        quanta_800g: None,
    },
    Inputs {
        name: "spectrum3",
        models: &["SN4600"],
        lossless_mtu: 1_024,
        port_mtu: 9_216,
        small_percent: 16,
        cell: 144,
        mac_phy_bytes: MAC_PHY,
        tile: false,
        quanta_800g: None,
    },
    // The traffic has only packets of 64 B, each in two cells. SONiC's script uses this factor for
    // cells of up to 128 B.
    Inputs {
        name: "spectrum4-small",
        models: &["SN5600-V256"],
        lossless_mtu: 4_096,
        port_mtu: 9_216,
        small_percent: 100,
        cell: 96,
        mac_phy_bytes: MAC_PHY,
        tile: true,
        quanta_800g: None,
    },
    Inputs {
        name: "spectrum4",
        models: &["SN5"],
        lossless_mtu: 4_096,
        port_mtu: 9_216,
        small_percent: 50,
        cell: 192,
        mac_phy_bytes: MAC_PHY,
        tile: true,
        quanta_800g: None,
    },
    Inputs {
        name: "spectrum6",
        models: &["SN6"],
        lossless_mtu: 4_096,
        port_mtu: 9_216,
        small_percent: 50,
        cell: 256,
        mac_phy_bytes: MAC_PHY,
        tile: false,
        quanta_800g: Some(1_810),
    },
    // Current SONiC files have these inputs of the calculation, but no test compares the inputs
    // with published rows.
    Inputs {
        name: "spectrum1",
        models: &["SN2"],
        lossless_mtu: 1_024,
        port_mtu: 9_100,
        small_percent: 50,
        cell: 96,
        mac_phy_bytes: MAC_PHY,
        tile: false,
        quanta_800g: None,
    },
    Inputs {
        name: "spectrum2",
        models: &["SN3"],
        lossless_mtu: 1_024,
        port_mtu: 9_100,
        small_percent: 50,
        cell: 144,
        mac_phy_bytes: MAC_PHY,
        tile: false,
        quanta_800g: None,
    },
];

/// Headroom of a row in the lookup file, as published and as computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadroomRow {
    /// Speed of the row's ports (Mb/s).
    pub speed_mbps: u64,
    /// Length of the row's cables (metres).
    pub cable_metres: f64,
    /// Headroom of the row in the file (bytes).
    pub published: u64,
    /// Headroom that the calculation gives for the row (bytes).
    pub computed: u64,
    /// Explanation of the difference; empty if published and computed headroom are equal.
    pub why: String,
}

impl HeadroomRow {
    /// Returns computed minus published headroom of the row (bytes).
    #[must_use]
    pub fn difference(&self) -> i64 {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        signed(self.computed) - signed(self.published)
    }
}

/// Comparison of published and computed headroom for all rows of a lookup file.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Inputs that the headroom calculation used.
    pub inputs: &'static Inputs,
    /// Compared rows, in the order of the lookup file.
    pub rows: Vec<HeadroomRow>,
}

/// Compares the headroom rows of a configuration with the calculation. The inputs follow from
/// `device` (a hardware model, or a file name that contains one), unless `name` selects them.
///
/// # Errors
/// If the configuration has no row, the device has no inputs, or the calculation refuses
/// an input or speed.
pub fn table(config: &Config, device: &str, name: Option<&str>) -> Result<Table, PredictError> {
    let error = |message: String, help: String| PredictError { message, help };
    let names = || INPUTS.iter().map(|inputs| inputs.name).collect::<Vec<_>>().join(", ");
    let found = match name {
        Some(name) => INPUTS.iter().find(|inputs| inputs.name == name),
        None => {
            let device = device.to_ascii_uppercase();
            INPUTS.iter().find(|inputs| inputs.models.iter().any(|model| device.contains(model)))
        }
    };
    let inputs = found.ok_or_else(|| {
        let message =
            format!("\"{}\" is not an NVIDIA switch with known inputs", printable(name.unwrap_or(device)));
        error(message, format!("choose one with --chip: {}", names()))
    })?;
    if config.lookup.is_empty() {
        let message = format!("{}: no row of speed and cable", printable(device));
        return Err(error(message, "give pg_profile_lookup.ini".to_owned()));
    }
    let mut rows = Vec::new();
    for row in &config.lookup {
        let profile = inputs.profile(row.speed_mbps, row.cable_metres).map_err(|domain| {
            error(format!("{}: {domain}", row.place), "take the row out, or correct its speed".to_owned())
        })?;
        rows.push((row, profile));
    }
    let shown = rows.iter().map(|(row, profile)| HeadroomRow {
        speed_mbps: row.speed_mbps,
        cable_metres: row.cable_metres,
        published: row.xoff,
        computed: profile.xoff_bytes as u64,
        why: inputs.why(row, profile, &config.lookup),
    });
    Ok(Table { inputs, rows: shown.collect() })
}

impl Inputs {
    /// Computes the profile for a speed (Mb/s) and a cable (metres).
    fn profile(
        &self,
        speed_mbps: u64,
        cable_metres: f64,
    ) -> Result<Profile, bufferlab_theory::forms::DomainError> {
        let peer = match (speed_mbps, self.quanta_800g) {
            (800_000, Some(quanta)) => Some(f64::from(quanta)),
            _ => tabulated_quanta(speed_mbps as f64),
        };
        PortInputs {
            speed_mbps: speed_mbps as f64,
            cable_metres,
            port_mtu_bytes: f64::from(self.port_mtu),
            lossless_mtu_bytes: f64::from(self.lossless_mtu),
            small_packet_percent: f64::from(self.small_percent),
            cell_bytes: f64::from(self.cell),
            pipeline_latency_bytes: pipeline_bytes(self.cell.into()),
            mac_phy_delay_bytes: self.mac_phy_bytes,
            gearbox_delay: 0.0,
            lanes: 4,
            generation: if self.tile { Generation::Spectrum4 } else { Generation::Spectrum1To3 },
            shared_headroom_pool: true,
            peer_response_quanta: peer,
        }
        .profile()
    }

    /// Explains why a published row of headroom differs from the calculation.
    fn why(&self, row: &LookupRow, profile: &Profile, all: &[LookupRow]) -> String {
        let off = profile.xoff_bytes as i64 - i64::try_from(row.xoff).unwrap_or(i64::MAX);
        if off == 0 {
            return String::new();
        }
        if off.abs() <= KIBIBYTE {
            return "a KiB: where the sum is rounded".to_owned();
        }
        // A copied row repeats a published row that the calculation reproduces.
        let is_right = |other: &LookupRow| {
            let computed =
                self.profile(other.speed_mbps, other.cable_metres).map(|profile| profile.xoff_bytes as i64);
            computed.is_ok_and(|bytes| (bytes - i64::try_from(other.xoff).unwrap_or(0)).abs() <= KIBIBYTE)
        };
        let same = |other: &&LookupRow| other.xoff == row.xoff && *other != row && is_right(other);
        let copies = all.iter().filter(same);
        if let Some(other) = copies.clone().find(|other| other.cable_metres == row.cable_metres) {
            return format!("the file repeats the row of {} Mb/s", other.speed_mbps);
        }
        if let Some(other) = copies.clone().find(|other| other.speed_mbps == row.speed_mbps) {
            return format!("the file repeats the row of {} m", other.cable_metres);
        }
        let mtu = (f64::from(self.port_mtu) * profile.cell_occupancy) as i64;
        if (off - mtu).abs() <= 2 * KIBIBYTE {
            return "the row leaves out the port's MTU".to_owned();
        }
        let shorter = all.iter().find(|other| {
            other.speed_mbps == row.speed_mbps
                && other.cable_metres < row.cable_metres
                && other.xoff >= row.xoff
        });
        if let Some(other) = shorter {
            return format!("less than the file has for {} m: an older row", other.cable_metres);
        }
        let per_metre = profile.cable_bytes / row.cable_metres.max(1e-9) * profile.cell_occupancy;
        let metres = row.cable_metres - off as f64 / per_metre;
        if row.cable_metres >= 250.0 && metres > 0.0 {
            return format!("as for a cable of {metres:.0} m");
        }
        let bytes = -off as f64 / profile.cell_occupancy;
        format!("{bytes:+.0} B on the wire: another response of the peer, or other inputs")
    }
}

/// Returns the profile that the switch computes for a port in the dynamic model, for an exponent of
/// alpha. The script for the family of `chip` derives the profile from the port's speed, cable, MTU
/// and lanes. The script also reads the configured pattern of lossless traffic. The result is
/// `None` for other vendors, and if speed or cable are not known.
#[must_use]
pub fn computed_profile(
    config: &Config,
    port: &PortName,
    exponent: i8,
    chip: &Chip,
) -> Option<config::Profile> {
    let tile = match chip.rule {
        Rule::OneLevel => false,
        Rule::TwoLevels => true,
        Rule::Cells | Rule::Bytes(_) => return None,
    };
    let info = config.ports.get(port)?;
    let (speed, cable) = (info.speed_mbps.as_ref()?, config.cables.get(port)?);
    let or = |value: &Option<Placed<u64>>, default: u64| {
        value.as_ref().map_or(default, |value| value.value) as f64
    };
    let profile = PortInputs {
        speed_mbps: speed.value as f64,
        cable_metres: cable.value,
        port_mtu_bytes: or(&info.mtu, 9_100),
        lossless_mtu_bytes: or(&config.lossless_mtu, 1_024),
        small_packet_percent: or(&config.small_packet_percent, 50),
        cell_bytes: chip.cell as f64,
        pipeline_latency_bytes: pipeline_bytes(chip.cell),
        mac_phy_delay_bytes: MAC_PHY,
        gearbox_delay: 0.0,
        lanes: info.lanes.as_ref().map_or(4, |lanes| lanes.value).max(1),
        generation: if tile { Generation::Spectrum4 } else { Generation::Spectrum1To3 },
        shared_headroom_pool: config.shared_headroom(),
        peer_response_quanta: None,
    };
    let profile = profile.profile().ok()?;
    let place = cable.place.clone();
    let placed = |value: f64| Some(Placed { value: value as u64, place: place.clone() });
    Some(config::Profile {
        name: format!("pg_lossless_{}_{}m_profile (computed)", speed.value, cable.value),
        pool: Some(Placed { value: LOSSLESS_POOL.to_owned(), place: place.clone() }),
        size: placed(profile.size_bytes),
        threshold: Some(Placed { value: Threshold::Dynamic(exponent), place: place.clone() }),
        xon: placed(profile.xon_bytes),
        xon_offset: None,
        xoff: placed(profile.xoff_bytes),
        dynamic_headroom: true,
        discard_action: None,
        place,
    })
}

/// Formats the published and the computed headroom of all rows as text.
#[must_use]
pub fn text(table: &Table) -> String {
    let mut text = String::new();
    let Inputs { name, lossless_mtu, port_mtu, small_percent, cell, mac_phy_bytes, tile, .. } = table.inputs;
    // Writing into a string cannot fail.
    let _ = writeln!(
        text,
        "{name}: lossless MTU {lossless_mtu} B, port MTU {port_mtu} B, {small_percent} % small packets, cells \
         of {cell} B, \
         MAC and PHY {mac_phy_bytes:.0} B{}",
        if *tile { ", tile" } else { "" }
    );
    let _ = writeln!(
        text,
        "{:>8} {:>7} {:>10} {:>10} {:>9}  why",
        "Mb/s", "cable", "published", "computed", "differs"
    );
    for row in &table.rows {
        let cable = format!("{} m", row.cable_metres);
        let _ = writeln!(
            text,
            "{:>8} {cable:>7} {:>10} {:>10} {:>+9}  {}",
            row.speed_mbps,
            row.published,
            row.computed,
            row.difference(),
            row.why
        );
    }
    let exact = table.rows.iter().filter(|row| row.difference() == 0).count();
    let near = table.rows.iter().filter(|row| row.difference().abs() <= KIBIBYTE).count();
    let _ = writeln!(text, "{} rows: {exact} exact, {near} within a KiB", table.rows.len());
    text
}
