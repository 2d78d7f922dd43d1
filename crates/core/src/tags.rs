//! Marks on packets, set by hosts and classifiers and read by policies.

use std::fmt;

/// Marks of a packet that a policy may read: a set of flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Tags(pub u16);

impl Tags {
    /// The empty set of marks.
    pub const NONE: Self = Self(0);
    /// The packet is sent in the first round-trip time of its flow, before any feedback (ABM,
    /// Reverie).
    pub const UNSCHEDULED: Self = Self(1);
    /// The packet belongs to a short flow, or to the first bytes of any flow (PIAS, FAB, LossPass).
    pub const SMALL: Self = Self(1 << 1);
    /// The packet carries no data (ACK, handshake).
    pub const CONTROL: Self = Self(1 << 2);
    /// The packet is a retransmission of earlier data.
    pub const RETRANSMISSION: Self = Self(1 << 3);
    /// The packet belongs to a lossless class: it may pause its sender,
    /// but no threshold may drop the packet.
    pub const LOSSLESS: Self = Self(1 << 4);

    /// Whether the set `self` has all flags of `other`.
    #[inline]
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Union of two sets of flags.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Union of the flags of `self` and `other` if `condition` is true, otherwise `self`.
    #[inline]
    #[must_use]
    pub const fn with_if(self, condition: bool, other: Self) -> Self {
        if condition { self.with(other) } else { self }
    }

    /// Flags of `self` that are not in `other`.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl Tags {
    /// Names of the flags in `self`.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        const NAMES: [&str; 5] = ["unscheduled", "small", "control", "retransmission", "lossless"];
        NAMES.into_iter().enumerate().filter(move |(bit, _)| self.0 & (1 << bit) != 0).map(|(_, name)| name)
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
