//! What is counted outside of the core: frames that never ask it for space.

use bufferlab_params::choices;

choices! {
    /// Why a frame is discarded before the policy is asked.
    pub enum Discard {
        Truncated = "truncated": "shorter than its headers say",
        Malformed = "malformed": "its headers contradict themselves",
        Jumbo = "jumbo": "longer than `largest_frame`",
        Vlan = "vlan": "it has more than two VLAN tags, or one that the kernel took off without saying which",
        GroupSource = "group-source": "its source is a group address",
        LinkLocal = "link-local": "of a protocol between neighbours (IEEE 802.1Q, table 8-1), which a switch does not forward",
        SamePort = "same-port": "its destination is where it came from",
        FloodLimit = "flood-limit": "it would go to all ports, and so many already did in this second",
    }
}

choices! {
    /// Whether a port's interface can send and receive.
    #[derive(Default)]
    pub enum LinkState {
        #[default]
        Up = "up": "it sends and receives",
        Down = "down": "it was taken down (`ip link set ... down`)",
        NoCarrier = "no carrier": "nothing is at the other end of its cable, or that end is down",
        Removed = "removed": "there is no such interface any more: the switch has to be started again",
    }
}

/// Counts of one port's frames outside of the core, and whether its interface works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// Frames received, discarded ones included.
    pub received: u64,
    /// Bytes of these, without check sequence.
    pub received_bytes: u64,
    /// Frames sent.
    pub sent: u64,
    /// Bytes of these, without check sequence.
    pub sent_bytes: u64,
    /// Frames that the interface refused.
    pub refused: u64,
    /// Frames that were copied to all other ports.
    pub flooded: u64,
    /// Received frames whose checksum the sender had left to its card, and the switch has finished.
    pub checksums: u64,
    /// The interface as the kernel announced it last.
    pub link: LinkState,
    /// By [`Discard`], in the order of its words.
    pub discarded: [u64; Discard::COUNT],
}

impl Discard {
    /// How many reasons there are.
    pub const COUNT: usize = <Self as bufferlab_params::Choice>::WORDS.len();
}

impl Tallies {
    /// Counts a discarded frame.
    pub fn discard(&mut self, why: Discard) {
        self.discarded[why as usize] += 1;
    }

    /// How many frames were discarded for this reason.
    #[must_use]
    pub fn discarded(&self, why: Discard) -> u64 {
        self.discarded[why as usize]
    }
}
