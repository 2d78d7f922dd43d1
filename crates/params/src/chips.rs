//! Families of switch chips: the public differences between their memories.
//!
//! The page docs/evidence/silicon.md has the sources of the numbers,
//! and comparisons with measurements.

use crate::choices;

choices! {
    /// A family of switch chips.
    pub enum ChipFamily {
        Trident2 = "trident2": "Broadcom Trident 2: cells of 208 B, one memory",
        Tomahawk = "tomahawk": "Broadcom Tomahawk: cells of 208 B, 4 slices",
        Tomahawk2 = "tomahawk2": "Broadcom Tomahawk 2: cells of 208 B, 4 slices",
        Trident3 = "trident3": "Broadcom Trident 3: cells of 256 B, one memory",
        Tomahawk3 = "tomahawk3": "Broadcom Tomahawk 3: cells of 254 B, 2 slices",
        Tomahawk4 = "tomahawk4": "Broadcom Tomahawk 4: cells of 254 B, 2 slices",
        Tomahawk5 = "tomahawk5": "Broadcom Tomahawk 5: cells of 254 B, 2 slices",
        Jericho2 = "jericho2": "Broadcom Jericho 2: byte allocation, 2 slices, 48 B overhead per packet",
        Spectrum1 = "spectrum1": "NVIDIA Spectrum: cells of 96 B, one memory",
        Spectrum2 = "spectrum2": "NVIDIA Spectrum-2: cells of 144 B, one memory",
        Spectrum3 = "spectrum3": "NVIDIA Spectrum-3: cells of 144 B, one memory",
        Spectrum4 = "spectrum4": "NVIDIA Spectrum-4: cells of 192 B, one memory",
    }
}

/// Known facts about the memory of a chip family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipFacts {
    /// Size of a memory cell (bytes); 1 means that memory is allocated in bytes.
    pub cell_bytes: u32,
    /// Number of slices of the memory. Each slice stores the packets of some ingress ports.
    pub slices: u16,
    /// Memory that a packet needs beyond its bytes (bytes).
    pub packet_overhead: u32,
    /// Whether the reserved minimums of egress queues are taken from the ingress queues' memory in
    /// every slice.
    pub queue_minimums_in_every_slice: bool,
}

impl ChipFamily {
    /// Known facts about the memory of the chip family.
    #[must_use]
    pub const fn facts(self) -> ChipFacts {
        match self {
            Self::Trident2 => ChipFacts::of_cells(208, 1),
            Self::Tomahawk | Self::Tomahawk2 => ChipFacts::of_cells(208, 4),
            Self::Trident3 => ChipFacts::of_cells(256, 1),
            Self::Tomahawk3 | Self::Tomahawk4 | Self::Tomahawk5 => ChipFacts::of_cells(254, 2),
            Self::Jericho2 => ChipFacts {
                packet_overhead: 48,
                queue_minimums_in_every_slice: false,
                ..ChipFacts::of_cells(1, 2)
            },
            Self::Spectrum1 => ChipFacts::of_one_pool(96),
            Self::Spectrum2 | Self::Spectrum3 => ChipFacts::of_one_pool(144),
            Self::Spectrum4 => ChipFacts::of_one_pool(192),
        }
    }
}

impl ChipFacts {
    const fn of_cells(cell_bytes: u32, slices: u16) -> Self {
        Self { cell_bytes, slices, packet_overhead: 0, queue_minimums_in_every_slice: true }
    }

    const fn of_one_pool(cell_bytes: u32) -> Self {
        Self { queue_minimums_in_every_slice: false, ..Self::of_cells(cell_bytes, 1) }
    }
}
