//! Headroom of a lossless ingress queue: the bytes that still arrive over a cable after the
//! receiver has decided to pause the sender. The module also computes the shortest pause that does
//! not end before its refresh.
//!
//! The receiver stores the packet that causes the pause. The pause frame waits for the packet that
//! the port is sending, crosses the cable and takes effect after the reaction time. Until the pause
//! takes effect, the sender starts packets, and later the sender finishes the last started packet.
//! All counted bytes arrive one cable delay later. Between the first and the last counted packet,
//! the sender cannot exceed its rate. Each packet is rounded up to whole cells separately, so small
//! packets may need more memory than bytes on the wire.
//!
//! A pause frame waits for one packet or one other frame, whichever is longer. If the demand on the
//! sender changes while a frame waits, the frame changes. So two frames never wait at one time.

use crate::{BitRate, Time};

/// Length of a pause or resume frame on the wire (bytes).
pub const PAUSE_FRAME_BYTES: u32 = 64;
/// Length of a pause quantum of 512 bit times (bytes).
pub const QUANTUM_BYTES: u64 = 64;

/// Sizes of a queue's packets, and the memory that the packets occupy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMemory {
    /// Smallest packet on the wire (bytes), at least 1.
    pub smallest: u32,
    /// Largest packet on the wire (bytes), at least `smallest`.
    pub largest: u32,
    /// Number of bytes of each packet on the wire that the switch does not store.
    pub uncharged: u32,
    /// Overhead bytes of each packet, added before the size is rounded to cells.
    pub overhead: u32,
    /// Size of a memory cell (bytes); 0 or 1 means that memory is allocated in bytes.
    pub cell: u32,
}

impl PacketMemory {
    /// Memory that a packet of `wire` bytes on the wire occupies (bytes).
    #[must_use]
    pub const fn occupied(&self, wire: u32) -> u64 {
        let stored = wire.saturating_sub(self.uncharged) as u64 + self.overhead as u64;
        let cell = self.cell as u64;
        if cell <= 1 { stored } else { stored.div_ceil(cell) * cell }
    }

    /// Packet size that occupies most memory per byte on the wire (bytes). Candidates are the
    /// smallest packet, the first and the last size that begin another cell, and the largest
    /// packet.
    #[must_use]
    pub fn worst(&self) -> u32 {
        let (smallest, largest) = (self.smallest.max(1), self.largest.max(self.smallest).max(1));
        let cell = u64::from(self.cell.max(1));
        let (uncharged, overhead) = (u64::from(self.uncharged), u64::from(self.overhead));
        let below = |size: u32| (u64::from(size) + overhead).saturating_sub(uncharged + 1);
        let first = (below(smallest).next_multiple_of(cell) + 1 + uncharged).saturating_sub(overhead);
        let last = (below(largest) / cell * cell + 1 + uncharged).saturating_sub(overhead);
        let mut worst = smallest;
        for size in [first, last, u64::from(largest)].into_iter().filter_map(|size| u32::try_from(size).ok())
        {
            let is_a_size = (smallest..=largest).contains(&size);
            let new = u128::from(self.occupied(size)) * u128::from(worst);
            let old = u128::from(self.occupied(worst)) * u128::from(size);
            if is_a_size && new > old {
                worst = size;
            }
        }
        worst
    }

    /// Maximum memory of packets with a total of at most `wire` bytes on the wire (bytes).
    #[must_use]
    pub fn most_occupied(&self, wire: u64) -> u64 {
        let worst = self.worst();
        let occupied = u128::from(wire) * u128::from(self.occupied(worst));
        u64::try_from(occupied / u128::from(worst)).unwrap_or(u64::MAX)
    }
}

/// A cable whose receiver may pause one priority of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PausedCable {
    /// Rate at which packets arrive at the receiver.
    pub arrivals: BitRate,
    /// Rate at which the receiver sends pause frames back.
    pub frames: BitRate,
    /// Propagation delay of the cable in one direction.
    pub delay: Time,
    /// Time from a pause frame's arrival until the sender starts no more packets.
    pub reaction: Time,
    /// Sizes of the paused priority's packets.
    pub packets: PacketMemory,
    /// Largest packet that may delay a pause frame on the way back (bytes on the wire);
    /// 0 means that no packet goes back.
    pub largest_back: u32,
}

/// A part of the headroom of an ingress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadroomTerm {
    /// Purpose of the part of the headroom, in words.
    pub name: &'static str,
    /// Formula of this part of the headroom. C is the rate of arrivals, F the rate of pause frames,
    /// m the largest packet, and b the largest packet in the opposite direction.
    pub formula: &'static str,
    /// Memory that this part of the headroom needs (bytes).
    pub bytes: u64,
}

/// The computed headroom of one ingress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Parts of the headroom. The size of the headroom is the sum of the parts' `bytes`.
    pub terms: [HeadroomTerm; 7],
    /// Smallest number of quanta with which a pause does not end before its refresh. The refresh
    /// may wait as long as the first pause frame.
    pub least_quanta: u64,
}

impl Headroom {
    /// Total size of the headroom: the sum of its parts (bytes).
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.terms.iter().map(|term| term.bytes).fold(0, u64::saturating_add)
    }
}

impl PausedCable {
    /// Maximum memory of packets that arrive after the decision to pause.
    /// With the computed headroom, no packet is lost.
    ///
    /// Link failures are not covered.
    /// When a link is up again, its sender does not know of a pause for one more round-trip time.
    ///
    /// # Panics
    /// If a rate of the cable is zero.
    #[must_use]
    pub fn headroom(&self) -> Headroom {
        let largest = self.packets.occupied(self.packets.largest);
        let frame = self.frames.serialization(u64::from(PAUSE_FRAME_BYTES));
        let waits = self.frames.serialization(u64::from(self.largest_back.max(PAUSE_FRAME_BYTES)));
        // Cumulative bytes on the wire at the end of each span of time. Rounding affects only the
        // cumulative numbers, so the sum of the parts is exact.
        let mut end = Time::ZERO;
        let mut in_span = |span: Time| {
            let before = self.arrivals.bytes_in(end);
            end = Time(end.0.saturating_add(span.0));
            self.arrivals.bytes_in(end).saturating_sub(before)
        };
        let wire = [waits, frame, Time(self.delay.0.saturating_mul(2)), self.reaction].map(&mut in_span);
        let on_wire = wire.iter().fold(0, |sum: u64, part| sum.saturating_add(*part));
        let rounded = self.packets.most_occupied(on_wire);
        // If the switch stores fewer bytes than the sender sent, the surplus belongs to no single
        // part of the headroom. So subtract the surplus from the last parts first.
        let mut wire = wire;
        let mut surplus = on_wire.saturating_sub(rounded);
        for part in wire.iter_mut().rev() {
            let taken = surplus.min(*part);
            (*part, surplus) = (*part - taken, surplus - taken);
        }
        let term = |name, formula, bytes| HeadroomTerm { name, formula, bytes };
        let least = u128::from(waits.0) * 2 * u128::from(self.arrivals.0);
        Headroom {
            terms: [
                term("the packet that asks for the pause", "m", largest),
                term("what the port is sending", "max(b, 64 B) C / F", wire[0]),
                term("the frame", "64 B C / F", wire[1]),
                term("the cable both ways", "2 delay C / 8", wire[2]),
                term("the reaction time", "reaction C / 8", wire[3]),
                term("cells of small packets", "rounding up", rounded.saturating_sub(on_wire)),
                term("the packet that cannot be stopped", "m", largest),
            ],
            least_quanta: u64::try_from(least.div_ceil(8_000_000_000_000 * u128::from(QUANTUM_BYTES)))
                .unwrap_or(u64::MAX)
                .max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cable with 10 Gb/s in each direction and a delay of 1 us, with packets of 1,500 B and
    /// memory in bytes.
    const CABLE: PausedCable = PausedCable {
        arrivals: BitRate::gbps(10),
        frames: BitRate::gbps(10),
        delay: Time::from_us(1),
        reaction: Time::ZERO,
        packets: PacketMemory { smallest: 1_500, largest: 1_500, uncharged: 0, overhead: 0, cell: 1 },
        largest_back: 1_500,
    };

    fn bytes(cable: PausedCable) -> u64 {
        cable.headroom().bytes()
    }

    #[test]
    fn headroom_is_three_packets_a_frame_and_the_way_there_and_back() {
        assert_eq!(bytes(CABLE), 3 * 1_500 + 64 + 2_500);
        // If no packet goes back, the pause frame may still wait for another frame.
        assert_eq!(bytes(PausedCable { largest_back: 0, ..CABLE }), 2 * 1_500 + 2 * 64 + 2_500);
        let slow = PausedCable { reaction: Time::from_us(3), ..CABLE };
        assert_eq!(bytes(slow), 3 * 1_500 + 64 + 2_500 + 3_750);
    }

    #[test]
    fn what_waits_for_a_slow_way_back_counts_in_the_time_of_the_fast_way_here() {
        let uneven = PausedCable { arrivals: BitRate::gbps(100), ..CABLE };
        assert_eq!(bytes(uneven), 2 * 1_500 + 10 * (1_500 + 64) + 25_000);
    }

    #[test]
    fn every_packet_rounds_up_to_cells_by_itself() {
        let mixed = PacketMemory { smallest: 64, largest: 1_500, uncharged: 0, overhead: 0, cell: 144 };
        assert_eq!(mixed.worst(), 64);
        let uniform = PacketMemory { smallest: 145, ..mixed };
        assert_eq!((uniform.worst(), uniform.occupied(145)), (145, 288));
        let between = PacketMemory { smallest: 100, ..mixed };
        assert_eq!(between.worst(), 145);
        let cable = PausedCable { packets: mixed, ..CABLE };
        assert_eq!(bytes(cable), 2 * 1_584 + (1_500 + 64 + 2_500) * 144 / 64);
    }

    #[test]
    fn no_size_occupies_more_per_byte_than_the_worst_one() {
        for (cell, uncharged, overhead) in [
            (1, 0, 0),
            (1, 14, 0),
            (1, 0, 48),
            (80, 0, 0),
            (80, 14, 48),
            (144, 14, 0),
            (208, 54, 0),
            (208, 0, 200),
            (256, 300, 0),
        ] {
            for smallest in [1, 14, 55, 64, 144, 145, 208, 400, 1_500] {
                let packets = PacketMemory { smallest, largest: 1_500, uncharged, overhead, cell };
                let worst = packets.worst();
                for size in smallest..=1_500 {
                    let (one, other) = (
                        packets.occupied(size) * u64::from(worst),
                        packets.occupied(worst) * u64::from(size),
                    );
                    assert!(one <= other, "{packets:?}: {size} is worse than {worst}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_charged_needs_no_headroom() {
        let packets = PacketMemory { smallest: 1_500, uncharged: 54, overhead: 0, ..CABLE.packets };
        assert_eq!(bytes(PausedCable { packets, ..CABLE }), 2 * 1_446 + (1_500 + 64 + 2_500) * 1_446 / 1_500);
    }

    #[test]
    fn a_pause_outlives_a_refresh_that_waits_behind_a_packet() {
        // A refresh may wait for 1,500 B in the opposite direction, and half of the pause must last
        // so long. The pause needs 46.9 quanta of 64 B.
        assert_eq!(CABLE.headroom().least_quanta, 47);
        assert_eq!(PausedCable { arrivals: BitRate::gbps(100), ..CABLE }.headroom().least_quanta, 469);
        assert_eq!(PausedCable { largest_back: 0, ..CABLE }.headroom().least_quanta, 2);
    }
}
