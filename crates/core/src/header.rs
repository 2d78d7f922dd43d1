//! The header of a packet: the fields that hosts set and that switches, policies and records read.
//!
//! [`crate::Packet`], [`crate::Arrival`], [`crate::Stored`], [`crate::Departure`],
//! [`crate::Markable`] and [`crate::Unclassified`] contain a header. The packets of the simulator
//! and of the switch for real frames do so, too. All forms pass the header on as a whole, so only
//! code that sets or reads a new field has to name it.

use crate::tags::Tags;

/// Header of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Size of the packet (bytes). On a link it includes all overhead of the link; in a switch it
    /// is the size that the switch charges.
    pub size: u32,
    /// Flow of the packet, constant over the flow's life.
    pub flow: u32,
    /// Marks set by hosts and classifiers.
    pub tags: Tags,
    /// Priority, mapped to a queue by the [`crate::Classifier`].
    pub priority: u8,
    /// ECN state.
    pub ecn: Ecn,
}

impl Header {
    /// Header of a packet of `size` bytes; all other fields are zero or empty.
    #[must_use]
    pub fn new(size: u32) -> Self {
        Self { size, ..Self::default() }
    }
}

/// A packet's ECN state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// The packet's transport does not understand marks: it is never marked (nor dropped instead).
    #[default]
    NotCapable,
    /// The packet may be marked.
    Capable,
    /// The packet has been marked.
    Marked,
}
