//! The header of a packet: the fields that hosts set and that switches, policies and records read.
//!
//! [`crate::Packet`], [`crate::Arrival`], [`crate::Stored`], [`crate::Departure`],
//! [`crate::Markable`] and [`crate::Unclassified`] contain a header. The packets of the simulator
//! and of the switch for real frames contain a header, too. All these types copy the header as a
//! whole, so only code that sets or reads a new field has to name the field.

use crate::tags::Tags;

/// Header of a packet in a switch or a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Size of the packet (bytes). On a link the size includes all overhead of the link. In a
    /// switch the size is the number of bytes that the switch charges for the packet.
    pub size: u32,
    /// Handle of the packet's flow, constant during the flow.
    pub flow: u32,
    /// Marks of the packet, set by hosts and classifiers.
    pub tags: Tags,
    /// Priority of the packet. The [`crate::Classifier`] maps the priority to a queue.
    pub priority: u8,
    /// ECN state of the packet.
    pub ecn: Ecn,
}

impl Header {
    /// Header of a packet of `size` bytes, with all other fields zero or empty.
    #[must_use]
    pub fn new(size: u32) -> Self {
        Self { size, ..Self::default() }
    }
}

/// State of Explicit Congestion Notification (ECN) of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// The packet's transport does not understand ECN. Switches neither mark the packet nor drop it
    /// instead of a mark.
    #[default]
    NotCapable,
    /// Switches may mark the packet, because the packet's transport supports ECN.
    Capable,
    /// A switch has marked the packet.
    Marked,
}
