//! Answers whether the headroom of a lossless group is enough. The commands `explain`, `lint`,
//! `predict` and `what-if` use this model.
//!
//! A priority group has the headroom of its profile, at most the headroom pool of its slice. The
//! needed headroom follows from port speed, cable length, largest packet and cell size
//! ([`PausedPort`]).
//!
//! The answer judges `xoff` as the file has it. The loss points of `predict` and `what-if` also
//! subtract the overhead of NVIDIA's chips, or double `xoff` ([`Chip::group_headroom`]).

use crate::config::{Config, Profile};
use crate::keys::PortName;
use crate::lint::some;
use crate::resolve::LOSSLESS_POOL;
use crate::silicon::{Chip, Class, classes};
use bufferlab_theory::forms::headroom::{HeadroomNeeds, PausedPort, SONIC_METRES_PER_SECOND};

/// Size of the largest frame if a port does not set its MTU (bytes): SONiC's default.
const MTU: u64 = 9_100;

/// Usable headroom of a lossless priority group, and the headroom that the group needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupHeadroom {
    /// Speed of the port that has the priority group (Mb/s).
    pub speed_mbps: u64,
    /// Length of the port's cable (metres).
    pub cable_metres: f64,
    /// Size of the largest lossless packet (bytes).
    pub mtu: u64,
    /// Headroom of the priority group's buffer profile (bytes).
    pub asked: u64,
    /// Headroom that one priority group can use (bytes): at most the headroom pool of its slice.
    pub usable: u64,
    /// Headroom that the priority group needs on this cable.
    pub needs: HeadroomNeeds,
}

impl GroupHeadroom {
    /// Computes the headroom of a profile on ports with a speed (Mb/s) and a cable (metres). The
    /// result is `None` if the profile has no headroom or the ports have no speed.
    #[must_use]
    pub fn new(
        config: &Config,
        chip: Option<&Chip>,
        ports: &[PortName],
        profile: &Profile,
        (speed_mbps, cable_metres): (u64, f64),
    ) -> Option<Self> {
        let asked = profile.xoff.as_ref().filter(|xoff| xoff.value > 0)?.value;
        if speed_mbps == 0 {
            return None;
        }
        let mtu = mtu(config, ports);
        let usable = pool_of_slice(config, chip).map_or(asked, |pool| asked.min(pool));
        let needs = needs(chip, speed_mbps, cable_metres, mtu);
        Some(Self { speed_mbps, cable_metres, mtu, asked, usable, needs })
    }

    pub(crate) fn of_class(config: &Config, chip: Option<&Chip>, class: &Class) -> Option<Self> {
        let way = (class.speed_mbps?, class.cable_metres?);
        Self::new(config, chip, &class.ports, &class.profile, way)
    }

    /// Answers in one sentence whether the headroom of the group is enough.
    #[must_use]
    pub fn answer(&self) -> String {
        let Self { asked, usable, .. } = *self;
        let bound = if usable < asked {
            format!(" (of {asked} B in the profile: the headroom pool of a slice has no more)")
        } else {
            String::new()
        };
        format!("{usable} B of headroom{bound}: {}", self.needs.answer(usable))
    }

    /// Returns the usable headroom minus the headroom that full-size packets need (bytes).
    #[must_use]
    pub fn margin_bytes(&self) -> i64 {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        signed(self.usable) - signed(self.needs.full_size)
    }

    /// Returns the length of cable that the margin covers (metres); negative if headroom is
    /// missing.
    #[must_use]
    pub fn margin_metres(&self) -> f64 {
        // A metre of cable adds 2 C / v bits to the headroom, for both directions (port speed C,
        // signal speed v).
        let bits_per_metre = 2.0 * self.speed_mbps.max(1) as f64 * 1e6 / SONIC_METRES_PER_SECOND;
        self.margin_bytes() as f64 * 8.0 / bits_per_metre
    }
}

/// Computes the headroom that a port on a chip needs. Without a chip, memory is allocated in bytes.
pub(crate) fn needs(chip: Option<&Chip>, speed_mbps: u64, cable_metres: f64, mtu: u64) -> HeadroomNeeds {
    let packet_overhead = chip.map_or(0, Chip::packet_overhead);
    let cell_bytes = chip.map_or(1, |chip| chip.cell);
    PausedPort { speed_mbps, cable_metres, mtu_bytes: mtu, cell_bytes, packet_overhead }.needs()
}

/// Computes the headroom that a port needs, with the default MTU and memory allocated in bytes.
pub(crate) fn usual_needs(speed_mbps: u64, cable_metres: f64) -> HeadroomNeeds {
    needs(None, speed_mbps, cable_metres, MTU)
}

/// Headroom pool of one slice in whole cells (bytes); absent if groups do not share headroom.
pub(crate) fn pool_of_slice(config: &Config, chip: Option<&Chip>) -> Option<u64> {
    let xoff = config.pools.get(LOSSLESS_POOL)?.xoff.as_ref().filter(|xoff| xoff.value > 0)?;
    let (cell, slices) = chip.map_or((1, 1), |chip| (chip.cell, chip.slices));
    Some(xoff.value / cell / slices * cell)
}

/// Size of the largest lossless packet on some ports (bytes).
pub(crate) fn mtu(config: &Config, ports: &[PortName]) -> u64 {
    let written = |port: &PortName| config.ports.get(port)?.mtu.as_ref().map(|mtu| mtu.value);
    let of_ports = ports.iter().filter_map(written).max().unwrap_or(MTU);
    // Lossless packets may be smaller than the largest packets of the ports.
    config.lossless_mtu.as_ref().map_or(of_ports, |mtu| mtu.value.min(of_ports))
}

/// Returns each kind of lossless groups with its speed and cable: profile, ports, and headroom.
pub(crate) fn kinds(config: &Config, chip: Option<&Chip>) -> Vec<(String, String, GroupHeadroom)> {
    let kind = |class: Class| {
        let headroom = GroupHeadroom::of_class(config, chip, &class)?;
        Some((class.profile.name.clone(), some(&class.ports), headroom))
    };
    classes(config, &mut Vec::new()).into_values().filter_map(kind).collect()
}

/// Returns a sentence for each kind of lossless groups: profile, ports, and whether
/// headroom is enough.
#[must_use]
pub fn answers(config: &Config, chip: Option<&Chip>) -> Vec<String> {
    let sentence = |(profile, ports, headroom): (String, String, GroupHeadroom)| {
        let GroupHeadroom { speed_mbps, cable_metres, .. } = headroom;
        format!("{profile} of {ports}, {speed_mbps} Mb/s over {cable_metres} m: {}", headroom.answer())
    };
    kinds(config, chip).into_iter().map(sentence).collect()
}
