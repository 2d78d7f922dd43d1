//! Chip families: size of a cell, slices of the memory, and accounting of packets.

use crate::config::{Config, Profile, Threshold};
use bufferlab_params::{ChipFacts, ChipFamily};

/// Rule by which a chip family accounts packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The chip counts cells in slices. It accounts a port's groups in the slice of the port, and
    /// the port's queues in every slice.
    Cells,
    /// The chip counts bytes, and charges an additional number of bytes (the value) for each
    /// packet.
    Bytes(u64),
    /// The chip counts cells in one memory; the size of a pool is its shared memory.
    OneLevel,
    /// The chip counts cells like `OneLevel`, but the limit of a group is a share of
    /// its port's limit.
    TwoLevels,
}

/// A family of switch chips.
#[derive(Clone, Copy, Debug)]
pub struct Chip {
    /// Name of the chip family on the command line.
    pub name: &'static str,
    /// Chip family in `[switch.hardware]`; `None` for a memory that counts bytes and has no slices.
    pub family: Option<ChipFamily>,
    /// Name of the chip family in sentences.
    pub title: &'static str,
    /// Size of a memory cell (bytes); 1 if the chip counts bytes.
    pub cell: u64,
    /// Number of memory slices; slices do not share memory.
    pub slices: u64,
    /// Rule by which the chip accounts packets in its memory.
    pub rule: Rule,
    /// Private headroom that a group leaves unused at its first loss (cells): the usual value, then
    /// the value on ports of 400 Gb/s. Source: `headroom_overhead` of sonic-mgmt,
    /// `qos_param_generator.py`. At 400 Gb/s, Spectrum-3 fills two buffer units unevenly.
    pub headroom_overhead: [u64; 2],
    /// Bytes that the chip stores with each packet in its cells: the descriptor of Spectrum-6.
    /// Source: `descriptor_size` of sonic-mgmt, `tests/qos/files/mellanox/qos_param_generator.py`.
    pub descriptor: u64,
    /// Memory for packets (bytes), if known. The source is the largest limits of SONiC's device
    /// files (Broadcom) or data sheets.
    pub memory: Option<u64>,
    /// Parts of hardware model names that identify the chip family.
    pub models: &'static [&'static str],
    /// Whether the accounting rule of the chip family was compared with measured values.
    pub measured: bool,
}

impl Chip {
    /// Whether the chip family is known. The entry for unknown chips is one memory that counts
    /// bytes.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.name != GENERIC.name
    }

    /// Memory that a packet of `bytes` takes on the chip (bytes, in whole cells).
    #[must_use]
    pub fn packet_bytes(&self, bytes: u64) -> u64 {
        match self.rule {
            Rule::Bytes(more) => bytes + more,
            _ => (bytes + self.descriptor).div_ceil(self.cell).max(1) * self.cell,
        }
    }

    /// Bytes that a packet takes in addition to its own, before its memory is rounded up to cells.
    #[must_use]
    pub fn packet_overhead(&self) -> u64 {
        match self.rule {
            Rule::Bytes(more) => more,
            _ => self.descriptor,
        }
    }

    /// Binary exponent of the alpha that the chip uses for a configured `dynamic_th`. On chips with
    /// two levels, 7 means 64, as 6 does. Source: `calculate_alpha` of sonic-mgmt,
    /// `tests/qos/qos_sai_base.py`, which the testers use for SN5400 and SN5600 only. All other
    /// chips use 2^`dynamic_th`.
    #[must_use]
    pub fn exponent(&self, dynamic_th: i8) -> i8 {
        if matches!(self.rule, Rule::TwoLevels) && dynamic_th == 7 { 6 } else { dynamic_th }
    }

    /// Returns the alpha (a multiple of the free pool) that the chip has for a `dynamic_th`.
    #[must_use]
    pub fn alpha(&self, dynamic_th: i8) -> f64 {
        2f64.powi(i32::from(self.exponent(dynamic_th)))
    }

    /// Headroom of a priority group before its first loss (cells, or bytes), without the limit of a
    /// headroom pool. Source: `pkts_num_trig_ingr_drp` of the testers' generator (sonic-mgmt,
    /// `qos_param_generator.py`).
    #[must_use]
    pub fn group_headroom(&self, config: &Config, profile: &Profile, speed_mbps: Option<u64>) -> u64 {
        let xoff = profile.xoff.as_ref().map_or(0, |xoff| xoff.value);
        if config.shared_headroom() {
            // According to the testers' programs, a priority group on these switches gets twice its
            // `xoff`.
            let twice = matches!(self.rule, Rule::OneLevel);
            return (if twice { 2 * xoff } else { xoff }).div_ceil(self.cell);
        }
        let [usual, at_400_gbps] = self.headroom_overhead;
        let overhead = if speed_mbps == Some(400_000) { at_400_gbps } else { usual };
        xoff.div_ceil(self.cell).saturating_sub(overhead)
    }

    /// Returns a caveat for a family whose rules were not compared with measurements.
    #[must_use]
    pub fn caveat(&self) -> Option<String> {
        (!self.measured).then(|| format!("The rules of {} were not compared with measurements.", self.title))
    }
}

/// All chip families, with the cell sizes of SONiC's qualification and device files.
pub static CHIPS: &[Chip] = &[
    cells(
        ChipFamily::Trident2,
        "trident2",
        "Broadcom Trident 2",
        Some(61_440 * 208),
        &["7050QX", "7050-QX", "S6000", "NEXUS-3164"],
        false,
    ),
    cells(
        ChipFamily::Tomahawk,
        "tomahawk",
        "Broadcom Tomahawk",
        None,
        &["7060CX", "S6100", "Z9100", "DX010", "D7032Q28B", "D7054Q28B", "QFX5200", "AS7712"],
        false,
    ),
    cells(
        ChipFamily::Tomahawk2,
        "tomahawk2",
        "Broadcom Tomahawk 2",
        Some(4 * 53_248 * 208),
        &["7260CX3", "Z9264", "QFX5210"],
        true,
    ),
    cells(
        ChipFamily::Trident3,
        "trident3",
        "Broadcom Trident 3",
        Some(131_072 * 256),
        &[
            "7050CX3",
            "7050SX3",
            "S5212",
            "S5224",
            "S5232",
            "S5248",
            "S5296",
            "DS2000",
            "DS3000",
            "SEASTONE_2",
            "IX7",
            "IX8",
            "D6332",
            "D6356",
            "N3248PXE",
        ],
        true,
    ),
    cells(
        ChipFamily::Tomahawk3,
        "tomahawk3",
        "Broadcom Tomahawk 3",
        None,
        &["Z9332", "DCS-7060PX4", "SILVERSTONE", "IX9", "SNJ60D0"],
        false,
    ),
    cells(
        ChipFamily::Tomahawk4,
        "tomahawk4",
        "Broadcom Tomahawk 4",
        None,
        &["Z9664", "IXR7220-H4", "7060DX5"],
        false,
    ),
    cells(
        ChipFamily::Tomahawk5,
        "tomahawk5",
        "Broadcom Tomahawk 5",
        Some(659_632 * 254),
        &["7060X6", "IXR7220-H5", "Z9864", "M2-W6940", "NH-4010", "NH-4020"],
        true,
    ),
    Chip {
        name: "jericho2",
        family: Some(ChipFamily::Jericho2),
        title: "Broadcom Jericho 2",
        cell: ChipFamily::Jericho2.facts().cell_bytes as u64,
        slices: ChipFamily::Jericho2.facts().slices as u64,
        rule: Rule::Bytes(ChipFamily::Jericho2.facts().packet_overhead as u64),
        memory: None,
        models: &["7800R3", "7280R3", "7280CR3", "7280DR3", "IXR7250E", "IXR7250-X3"],
        measured: true,
        headroom_overhead: [0; 2],
        descriptor: 0,
    },
    spectrum(
        ChipFamily::Spectrum1,
        "spectrum1",
        "NVIDIA Spectrum",
        Rule::OneLevel,
        (14_024_599, [95; 2]),
        &["MSN2", "SN2"],
    ),
    spectrum(
        ChipFamily::Spectrum2,
        "spectrum2",
        "NVIDIA Spectrum-2",
        Rule::OneLevel,
        (34_340_832, [64; 2]),
        &["MSN3", "SN3"],
    ),
    spectrum(
        ChipFamily::Spectrum3,
        "spectrum3",
        "NVIDIA Spectrum-3",
        Rule::OneLevel,
        (60_817_392, [64, 64 + 59]),
        &["MSN4", "SN4"],
    ),
    spectrum(
        ChipFamily::Spectrum4,
        "spectrum4",
        "NVIDIA Spectrum-4",
        Rule::TwoLevels,
        (158_229_504, [47; 2]),
        &["SN5400", "SN5600", "SN5610"],
    ),
    public(
        "tomahawk6",
        "Broadcom Tomahawk 6",
        (420, 1),
        Rule::Cells,
        Some(636_183 * 420),
        &["NH-4210", "IXR7220-H6"],
    ),
    public("trident4", "Broadcom Trident 4", (318, 1), Rule::Cells, None, &["IXR7220-D4", "S5448", "Z9432"]),
    public(
        "trident3x3",
        "Broadcom Trident 3-X3",
        (256, 1),
        Rule::Cells,
        Some(32_768 * 256),
        &["E3224", "N3248TE", "S3248T"],
    ),
    public(
        "jericho3",
        "Broadcom Jericho 3 (Qumran 3D)",
        (1, 8),
        Rule::Bytes(48),
        None,
        &["7280R4", "NH-5010", "IXR7250-X4"],
    ),
    Chip {
        headroom_overhead: [47; 2],
        ..public("spectrum5", "NVIDIA Spectrum-5", (192, 1), Rule::TwoLevels, Some(136_209_408), &["SN5640"])
    },
    Chip {
        headroom_overhead: [47; 2],
        descriptor: 32,
        ..public(
            "spectrum6",
            "NVIDIA Spectrum-6",
            (256, 1),
            Rule::TwoLevels,
            Some(226_492_416),
            &["SN6600", "SN6810"],
        )
    },
];

/// Parts of hardware model names with a chip outside [`CHIPS`]. Another part of such a name may
/// match a chip family. Each entry has the name of the chip, and its accounting according to the
/// vendor's files.
const OTHERS: &[(&str, &str, &str)] = &[
    ("7050QX2", "Broadcom Trident 2+", "as Trident 2, with another memory"),
    ("E1031", "Broadcom Helix 4", NOT_PUBLIC),
    ("N3132", "chip of Broadcom", NOT_PUBLIC),
    ("8101", "Cisco Silicon One (GB)", CISCO_GB),
    ("8102", "Cisco Silicon One (GB)", CISCO_GB),
    ("CISCO-88", "Cisco Silicon One (GB)", CISCO_GB),
    ("CISCO-8800", "Cisco Silicon One (PAC)", CISCO_GB),
    ("8111", "Cisco Silicon One (GR)", CISCO_GB),
    ("8122", "Cisco Silicon One (G200)", CISCO_G200),
    ("8223", "Cisco Silicon One (P200)", CISCO_G200),
    ("WISTRON_SW", "Marvell Teralynx 7", TERALYNX),
    ("WISTRON_6512", "Marvell Teralynx 7", TERALYNX),
    ("SSE_T7132S", "Marvell Teralynx 7", TERALYNX),
    ("DBMVTX9180", "Marvell Teralynx 10", TERALYNX),
    ("D64P512T", "Marvell Teralynx 10", TERALYNX),
    ("NOKIA-7215", "Marvell Prestera", NOT_PUBLIC),
    ("ET6448M", "Marvell Prestera", NOT_PUBLIC),
    ("DB98CX85", "Marvell Prestera", NOT_PUBLIC),
    ("RD98DX", "Marvell Prestera", NOT_PUBLIC),
    ("7170", "Barefoot Tofino", TOFINO),
    ("MONTARA", "Barefoot Tofino", TOFINO),
    ("MAVERICKS", "Barefoot Tofino", TOFINO),
    ("NEWPORT", "Barefoot Tofino 2", "cells of 176 B, headroom private to each group"),
    ("AS7116", "Nephos Taurus", NOT_PUBLIC),
    ("S9130", "Nephos Taurus", NOT_PUBLIC),
    ("S9230", "Nephos Taurus", NOT_PUBLIC),
    ("AS7512", "Cavium XPliant", NOT_PUBLIC),
    ("XP-SIM", "Cavium XPliant", NOT_PUBLIC),
];

const NOT_PUBLIC: &str = "its accounting is in no public file";
const CISCO_GB: &str =
    "buffers of 384 B; a group pauses at alpha times its pool, or at 0.925 of the queue depth less xoff";
const CISCO_G200: &str = "buffers of 512 B; thresholds are rounded to a mantissa of 5 bits";
const TERALYNX: &str = "one egress pool for lossless and lossy queues; the pool's xoff is separate";
const TOFINO: &str = "headroom private to each group";

/// A memory that counts bytes and has no slices, for rules that are valid on any chip.
pub static GENERIC: Chip = Chip {
    name: "generic",
    family: None,
    title: "a chip that is not known: one memory, counted in bytes",
    cell: 1,
    slices: 1,
    rule: Rule::Cells,
    memory: None,
    models: &[],
    measured: false,
    headroom_overhead: [0; 2],
    descriptor: 0,
};

const fn cells(
    family: ChipFamily,
    name: &'static str,
    title: &'static str,
    memory: Option<u64>,
    models: &'static [&'static str],
    measured: bool,
) -> Chip {
    let ChipFacts { cell_bytes, slices, .. } = family.facts();
    let (cell, slices) = (cell_bytes as u64, slices as u64);
    let (family, rule, headroom_overhead) = (Some(family), Rule::Cells, [0; 2]);
    Chip {
        name,
        family,
        title,
        cell,
        slices,
        rule,
        memory,
        models,
        measured,
        headroom_overhead,
        descriptor: 0,
    }
}

/// Creates a chip family that the simulator has no name for, from public files without
/// measurements.
const fn public(
    name: &'static str,
    title: &'static str,
    (cell, slices): (u64, u64),
    rule: Rule,
    memory: Option<u64>,
    models: &'static [&'static str],
) -> Chip {
    let (family, measured, headroom_overhead) = (None, false, [0; 2]);
    Chip {
        name,
        family,
        title,
        cell,
        slices,
        rule,
        memory,
        models,
        measured,
        headroom_overhead,
        descriptor: 0,
    }
}

const fn spectrum(
    family: ChipFamily,
    name: &'static str,
    title: &'static str,
    rule: Rule,
    (memory, headroom_overhead): (u64, [u64; 2]),
    models: &'static [&'static str],
) -> Chip {
    let (cell, memory) = (family.facts().cell_bytes as u64, Some(memory));
    let (family, slices, measured) = (Some(family), 1, false);
    Chip {
        name,
        family,
        title,
        cell,
        slices,
        rule,
        memory,
        models,
        measured,
        headroom_overhead,
        descriptor: 0,
    }
}

/// Returns the chip family called `name`.
#[must_use]
pub fn chip(name: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.name == name)
}

/// Returns the chip family of the switch, by its hardware model. If several parts of the name
/// match, the longest part counts. The result is `None` if the model has a chip outside [`CHIPS`].
#[must_use]
pub fn chip_of(config: &Config) -> Option<&'static Chip> {
    let model = model(config)?;
    let listed = CHIPS.iter().flat_map(|chip| chip.models.iter().map(move |part| (*part, chip)));
    let (part, chip) =
        listed.filter(|(part, _)| has_part(&model, part)).max_by_key(|(part, _)| part.len())?;
    other_part(&model).is_none_or(|(other, ..)| other.len() <= part.len()).then_some(chip)
}

/// Returns name and accounting of the switch's chip, if the hardware model is known but the chip is
/// not in [`CHIPS`].
pub(crate) fn other_chip(config: &Config) -> Option<(&'static str, &'static str)> {
    let model = model(config)?;
    let (_, chip, accounting) = other_part(&model).filter(|_| chip_of(config).is_none())?;
    Some((chip, accounting))
}

fn model(config: &Config) -> Option<String> {
    Some(config.device.hwsku.as_ref()?.value.to_ascii_uppercase())
}

fn other_part(model: &str) -> Option<(&'static str, &'static str, &'static str)> {
    OTHERS.iter().copied().filter(|(part, ..)| has_part(model, part)).max_by_key(|(part, ..)| part.len())
}

/// Whether a word of the hardware model begins with `part`: `SN2` does not match `MSN2700`, and
/// `S6000` does not match `AS6000`.
fn has_part(model: &str, part: &str) -> bool {
    let begins = |at: usize| !model[..at].ends_with(|before: char| before.is_ascii_alphanumeric());
    model.match_indices(part).any(|(at, _)| begins(at))
}

/// Whether the switch is made by NVIDIA, by its platform or hardware model.
pub(super) fn is_nvidia(config: &Config) -> bool {
    let platform = config.device.platform.as_ref().map(|platform| platform.value.to_ascii_lowercase());
    let of_platform =
        platform.is_some_and(|platform| platform.contains("mlnx") || platform.contains("nvidia"));
    let digits = |model: &str, part: &str| {
        model
            .match_indices(part)
            .any(|(at, _)| model[at + part.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    let of_model = |model: String| {
        model.contains("MELLANOX")
            || ["MSN", "SN"].iter().any(|part| has_part(&model, part) && digits(&model, part))
    };
    of_platform || model(config).map_or_else(|| has_lists_of_ports(config), of_model)
}

/// Whether ports have lists of buffer profiles with alphas only, as on NVIDIA switches. The lists
/// identify the vendor of a dump without a hardware model.
fn has_lists_of_ports(config: &Config) -> bool {
    let names = config.ingress_lists.values().flat_map(|list| &list.value);
    let mut limits = names.filter_map(|name| config.profiles.get(name)?.threshold.as_ref()).peekable();
    limits.peek().is_some() && limits.all(|limit| matches!(limit.value, Threshold::Dynamic(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;
    use bufferlab_params::Choice;

    #[test]
    fn families_follow_from_hardware_models() {
        for (model, expected) in [
            ("Arista-7060CX-32S-C32", Some("tomahawk")),
            ("Arista-7060X6-64PE-B-O128", Some("tomahawk5")),
            ("Arista-7050CX3-32S-C32", Some("trident3")),
            ("Mellanox-SN4600C-C64", Some("spectrum3")),
            ("ACS-MSN2700", Some("spectrum1")),
            ("Mellanox-SN5600-V256", Some("spectrum4")),
            ("Nokia-IXR7220-H5-64O", Some("tomahawk5")),
            ("Some-Other-Switch", None),
            ("Nokia-IXR7250E-36x100G", Some("jericho2")),
            ("Nokia-IXR7250-X4", Some("jericho3")),
            ("Nokia-IXR7250-X9", None),
            ("Mellanox-SN5640-C512S2", Some("spectrum5")),
            ("Mellanox-SN5610N-C224O8", Some("spectrum4")),
            ("Mellanox-SN5800", None),
            ("Arista-7050QX2-32S", None),
            ("Arista-7050QX32S-Q32", Some("trident2")),
            ("Nokia-IXR7220-H6-O256", Some("tomahawk6")),
            ("Celestica-DX010-C32", Some("tomahawk")),
            ("Cisco-8101-T32", None),
            ("Vendor-AS6000", None),
        ] {
            let text = format!(r#"{{"DEVICE_METADATA": {{"localhost": {{"hwsku": "{model}"}}}}}}"#);
            let config = read("c.json", text.as_bytes()).expect("JSON");
            assert_eq!(chip_of(&config).map(|chip| chip.name), expected, "{model}");
        }
    }

    #[test]
    fn parts_of_models_lead_to_one_family_each() {
        let all: Vec<_> =
            CHIPS.iter().flat_map(|chip| chip.models.iter().map(|part| (*part, chip.name))).collect();
        for (part, chip) in &all {
            let same = all.iter().filter(|(other, _)| other == part).count();
            assert_eq!(same, 1, "{part} of {chip}");
            assert!(OTHERS.iter().all(|(other, ..)| other != part), "{part}");
        }
    }

    #[test]
    fn names_of_families_are_unique() {
        let mut names: Vec<_> = CHIPS.iter().map(|chip| chip.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHIPS.len());
    }

    #[test]
    fn every_family_of_the_simulator_is_listed_under_its_name() {
        for family in ChipFamily::ALL {
            let chip = chip(family.word()).expect("listed");
            assert_eq!(chip.family, Some(*family), "{}", chip.name);
        }
        let of_simulator = CHIPS.iter().filter(|chip| chip.family.is_some());
        assert_eq!(ChipFamily::ALL.len(), of_simulator.count());
    }
}
