//! Counts of frames that never reach the core switch.

use bufferlab_params::choices;

choices! {
    /// Reason for discarding a frame before its admission to the buffer.
    pub enum Discard {
        Truncated = "truncated": "shorter than its headers say",
        Malformed = "malformed": "its headers contradict themselves",
        Jumbo = "jumbo": "longer than `largest_frame`",
        Vlan = "vlan": "it has more than two VLAN tags, or one that the kernel removed without reporting it",
        GroupSource = "group-source": "its source is a group address",
        LinkLocal = "link-local": "its protocol is between neighbours (IEEE 802.1Q, table 8-1), so no switch forwards it",
        SamePort = "same-port": "its destination is behind its ingress port",
        FloodLimit = "flood-limit": "it would go to all ports, beyond the limit per second",
    }
}

choices! {
    /// State of a port's interface: whether the interface can send and receive.
    #[derive(Default)]
    pub enum LinkState {
        #[default]
        Up = "up": "it sends and receives",
        Down = "down": "it was taken down (`ip link set ... down`)",
        NoCarrier = "no carrier": "the other end of its cable is missing or down",
        Removed = "removed": "the interface no longer exists: restart the switch",
    }
}

#[cfg(target_os = "linux")]
impl LinkState {
    /// Returns the state of a link whose flags in netdevice(7) are `flags`.
    pub(crate) fn from_flags(flags: u32) -> Self {
        const UP: u32 = 1; // IFF_UP
        const CARRIER: u32 = 0x1_0000; // IFF_LOWER_UP
        match flags {
            flags if flags & UP == 0 => Self::Down,
            flags if flags & CARRIER == 0 => Self::NoCarrier,
            _ => Self::Up,
        }
    }
}

/// Counts of one port's frames outside of the core switch, and whether its interface works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// Number of received frames, including discarded frames.
    pub received: u64,
    /// Size of the received frames, without check sequence (bytes).
    pub received_bytes: u64,
    /// Number of frames that the port has sent.
    pub sent: u64,
    /// Size of the sent frames, without check sequence (bytes).
    pub sent_bytes: u64,
    /// Number of frames that the egress interface refused.
    pub refused: u64,
    /// Number of frames that were copied to all other ports.
    pub flooded: u64,
    /// Number of received frames whose checksum the sender left to its card and the
    /// switch completed.
    pub checksums: u64,
    /// Last state that the interface announced.
    pub link: LinkState,
    /// Number of discarded frames by [`Discard`], in the order of the names of its values.
    pub discarded: [u64; Discard::COUNT],
}

impl Discard {
    /// Number of reasons for discarding a frame.
    pub const COUNT: usize = <Self as bufferlab_params::Choice>::WORDS.len();
}

impl Tallies {
    /// Counts a frame that the switch discarded before admission.
    pub fn discard(&mut self, why: Discard) {
        self.discarded[why as usize] += 1;
    }

    /// Number of frames that the switch discarded for the given reason.
    #[must_use]
    pub fn discarded(&self, why: Discard) -> u64 {
        self.discarded[why as usize]
    }
}
