//! Headroom formulas in use: bytes that a switch must still store after it has sent a pause frame.
//!
//! Sources are IEEE 802.1Qbb (as quoted by switch vendors), the shorthand of the vendors, and the
//! released code of ABM, Reverie and HPCC. All formulas use physical units. SONiC's calculation is
//! [`super::sonic_headroom`].

use super::sonic_headroom::tabulated_quanta;
use super::{Domain, check, not_negative, positive};
use bufferlab_units::headroom::{PacketMemory, PausedCable, QUANTUM_BYTES};
use bufferlab_units::{BitRate, Time};

/// Propagation time of a signal in a cable (seconds per metre).
pub const CABLE_SECONDS_PER_METRE: f64 = 5e-9;

/// Size of a pause frame with preamble and gap (bits).
pub const PAUSE_FRAME_BITS: f64 = 672.0;

/// A link whose receiver needs headroom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Rate of the link (bits/s).
    pub rate_bps: f64,
    /// Length of the link's cable (metres).
    pub cable_metres: f64,
    /// Size of the largest frame in either direction (bytes).
    pub mtu_bytes: f64,
}

impl Link {
    fn check(&self) -> Domain<()> {
        positive("rate_bps", self.rate_bps)?;
        not_negative("cable_metres", self.cable_metres)?;
        positive("mtu_bytes", self.mtu_bytes).map(drop)
    }

    /// Propagation time from one end of the link to the other (seconds).
    #[must_use]
    pub fn delay_seconds(&self) -> f64 {
        self.cable_metres * CABLE_SECONDS_PER_METRE
    }

    /// Data in flight on the link's cable in both directions (bytes).
    #[must_use]
    pub fn round_trip_bytes(&self) -> f64 {
        2.0 * self.rate_bps * self.delay_seconds() / 8.0
    }
}

/// Delays of the two ends of a link, in the time of a bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndDelays {
    /// Delay of the MAC and PHY at one end (bits).
    pub interface_bits: f64,
    /// Delay from the pause frame's arrival to the last bit sent (bits).
    pub response_bits: f64,
}

/// Tabulated delays for the speeds 10, 25, 40 and 100 Gb/s.
/// The result is `None` for any other speed, whose delays the manufacturers must state.
#[must_use]
pub fn tabulated_delays(rate_bps: f64) -> Option<EndDelays> {
    let table = [
        (10e9, 8_192.0, 30_720.0),
        (25e9, 6_144.0, 40_960.0),
        (40e9, 24_576.0, 60_416.0),
        (100e9, 122_880.0, 201_728.0),
    ];
    let row = table.iter().find(|row| row.0 == rate_bps)?;
    Some(EndDelays { interface_bits: row.1, response_bits: row.2 })
}

/// Headroom by the terms of IEEE 802.1Qbb: two maximum frames, the pause frame, both interfaces,
/// the response, and the cable in both directions (bytes).
///
/// The formula counts the interface delay once per end. The formula does not count the packet that
/// triggers the pause, because the standard assumes that this packet is stored already. A bufferlab
/// switch puts the packet into headroom, so its headroom needs one more frame.
///
/// # Errors
/// If a rate or frame is not positive, or a cable or delay is negative.
pub fn ieee_bytes(link: Link, delays: EndDelays) -> Domain<f64> {
    link.check()?;
    let interfaces = 2.0 * not_negative("interface_bits", delays.interface_bits)?;
    let ends = interfaces + not_negative("response_bits", delays.response_bits)? + PAUSE_FRAME_BITS;
    Ok(2.0 * link.mtu_bytes + link.round_trip_bytes() + ends / 8.0)
}

/// Headroom by the vendors' shorthand: `MTU + MTU + 3840 B + 130 B per 100 m and Gb/s` (bytes).
///
/// The 3840 B are the response of a peer at 10 Gb/s, so the result is too small at higher speeds.
///
/// # Errors
/// Returns the errors of [`ieee_bytes`].
pub fn shorthand_bytes(link: Link) -> Domain<f64> {
    link.check()?;
    Ok(2.0 * link.mtu_bytes + 3_840.0 + 130.0 * link.cable_metres / 100.0 * link.rate_bps / 1e9)
}

/// Headroom by the released code of ABM and Reverie: `2·MTU + 3860 B + 2·rate·delay/8`,
/// with 48 B of headers in the MTU (bytes).
///
/// # Errors
/// Returns the errors of [`ieee_bytes`].
pub fn artifact_bytes(link: Link) -> Domain<f64> {
    link.check()?;
    Ok(2.0 * link.mtu_bytes + 3_860.0 + link.round_trip_bytes())
}

/// Headroom by HPCC's released code: `3·rate·delay/8` (bytes). The formula has no term for frames
/// in flight, so the result is too small for a short cable.
///
/// # Errors
/// Returns the errors of [`ieee_bytes`].
pub fn hpcc_bytes(link: Link) -> Domain<f64> {
    link.check()?;
    Ok(1.5 * link.round_trip_bytes())
}

/// Number of bytes `bytes`, rounded up to whole memory cells (bytes).
///
/// # Errors
/// If the size is negative, or a cell has 0 bytes.
pub fn in_cells(bytes: f64, cell_bytes: f64) -> Domain<f64> {
    let cell = check(cell_bytes >= 1.0, "cell_bytes", cell_bytes, "1 or more")?;
    Ok((not_negative("bytes", bytes)? / cell).ceil() * cell)
}

/// Size of `bytes` bytes on the wire in whole cells, with every packet rounded up separately
/// (bytes). `largest` is the number of frames of the largest size. All other packets have the size
/// that occupies most memory per byte.
///
/// # Errors
/// If a size is negative.
pub fn in_cells_by_packet(bytes: f64, largest: u32, packets: PacketMemory) -> Domain<f64> {
    let frames = f64::from(largest) * f64::from(packets.largest);
    let rest = (not_negative("bytes", bytes)? - frames).max(0.0);
    let worst = packets.worst();
    let factor = packets.occupied(worst) as f64 / f64::from(worst);
    Ok((f64::from(largest) * packets.occupied(packets.largest) as f64 + rest * factor).ceil())
}

/// Usual size of a large packet in a network without jumbo frames (bytes).
const ORDINARY: u32 = 1_500;

/// Headroom that three kinds of traffic need on one cable. Commands that judge a switch's headroom
/// compare the headroom with these three needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadroomNeeds {
    /// Headroom needed with ordinary packets (1,500 B), a pause frame that never waits and a peer
    /// that stops at once (bytes). Less headroom is never enough.
    pub least: u64,
    /// Headroom needed with packets and frames of full size, and the reaction time of the peer
    /// (bytes).
    pub full_size: u64,
    /// Headroom needed with the packet size that wastes most memory (bytes).
    pub worst: u64,
    /// Packet size that wastes most memory in cells and overhead (bytes).
    pub worst_packet: u32,
}

impl HeadroomNeeds {
    /// Answers in one sentence whether a headroom of `bytes` bytes is enough.
    #[must_use]
    pub fn answer(&self, bytes: u64) -> String {
        let Self { least, full_size, worst, worst_packet } = *self;
        let small = || format!("{} B short for packets of {worst_packet} B", worst - bytes);
        if bytes >= worst {
            "enough for packets of every size".to_owned()
        } else if bytes >= full_size {
            format!("enough for full-size packets; {}", small())
        } else if bytes >= least {
            format!(
                "enough only if the peer stops at once; {} B short for full-size packets, {}",
                full_size - bytes,
                small()
            )
        } else {
            format!(
                "{} B short even if the peer stops at once; {} B short for full-size packets, {}",
                least - bytes,
                full_size - bytes,
                small()
            )
        }
    }
}

/// Headroom that a cable needs, for packets of full size and for the worst packets.
#[must_use]
pub fn needs(cable: PausedCable) -> HeadroomNeeds {
    let of = |packets: PacketMemory| PausedCable { packets, ..cable }.headroom().bytes();
    let only = |size: u32| PacketMemory { smallest: size, largest: size, ..cable.packets };
    let ordinary = only(ORDINARY.min(cable.packets.largest));
    let at_once = PausedCable { packets: ordinary, reaction: Time::ZERO, largest_back: 0, ..cable };
    let full_size = of(only(cable.packets.largest));
    HeadroomNeeds {
        least: at_once.headroom().bytes().min(full_size),
        full_size,
        worst: of(cable.packets).max(full_size),
        worst_packet: cable.packets.worst(),
    }
}

/// Speed of light in a cable, as in SONiC's calculation (metres per second).
pub const SONIC_METRES_PER_SECOND: f64 = 198e6;

/// Size of the smallest packet that a peer may send (bytes).
const SMALLEST: u32 = 64;

/// A port of a switch whose headroom is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PausedPort {
    /// Speed of the port (Mb/s), above 0.
    pub speed_mbps: u64,
    /// Length of the port's cable (metres).
    pub cable_metres: f64,
    /// Size of the largest frame on the port (bytes).
    pub mtu_bytes: u64,
    /// Size of a memory cell (bytes). With 1, the switch allocates memory in bytes.
    pub cell_bytes: u64,
    /// Memory overhead of each packet (bytes).
    pub packet_overhead: u64,
}

impl PausedPort {
    /// The port's cable, with a peer that responds as slowly as IEEE 802.1Qbb allows.
    /// At a speed without a tabulated response, the peer stops at once.
    #[must_use]
    pub fn cable(&self) -> PausedCable {
        let speed = self.speed_mbps.max(1);
        let quanta = tabulated_quanta(speed as f64).unwrap_or(0.0);
        let response = quanta * QUANTUM_BYTES as f64 * 8.0 / (speed as f64 * 1e6);
        let rate = BitRate(speed.saturating_mul(1_000_000));
        let small = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let largest = small(self.mtu_bytes.max(1));
        let packets = PacketMemory {
            smallest: SMALLEST.min(largest),
            largest,
            uncharged: 0,
            overhead: small(self.packet_overhead),
            cell: small(self.cell_bytes),
        };
        let seconds = |seconds: f64| Time((seconds * 1e12) as u64);
        PausedCable {
            arrivals: rate,
            frames: rate,
            delay: seconds(self.cable_metres / SONIC_METRES_PER_SECOND),
            reaction: seconds(response),
            packets,
            largest_back: largest,
        }
    }

    /// Headroom that three kinds of traffic need at the port. Commands that judge a port compare
    /// its headroom with these three needs.
    #[must_use]
    pub fn needs(&self) -> HeadroomNeeds {
        needs(self.cable())
    }
}

/// Duration of a pause of `quanta` quanta of 512 bit times each (seconds).
///
/// # Errors
/// If `rate_bps` is not positive.
pub fn pause_seconds(quanta: u16, rate_bps: f64) -> Domain<f64> {
    Ok(f64::from(quanta) * 512.0 / positive("rate_bps", rate_bps)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_artifacts_formula_gives_18456_bytes_for_25_gigabit_and_2_us() -> Domain<()> {
        let link = Link { rate_bps: 25e9, cable_metres: 400.0, mtu_bytes: 1048.0 };
        assert!((link.delay_seconds() - 2e-6).abs() < 1e-18);
        assert!((artifact_bytes(link)? - 18_456.0).abs() < 1e-6);
        Ok(())
    }

    #[test]
    fn the_shorthand_is_the_ieee_sum_without_interfaces_at_10_gigabit() -> Domain<()> {
        let link = Link { rate_bps: 10e9, cable_metres: 100.0, mtu_bytes: 1518.0 };
        let response_only = EndDelays { interface_bits: 0.0, ..tabulated_delays(10e9).expect("tabulated") };
        let difference = shorthand_bytes(link)? - ieee_bytes(link, response_only)?;
        // For 100 m at 10 Gb/s, the shorthand counts 1300 B instead of 1250 B for the cable, and no
        // pause frame (84 B).
        assert!((difference - (50.0 - 84.0)).abs() < 1e-9, "{difference}");
        assert!(tabulated_delays(400e9).is_none());
        Ok(())
    }

    #[test]
    fn the_longest_pause_is_3_36_ms_at_10_gigabit() -> Domain<()> {
        assert!((pause_seconds(u16::MAX, 10e9)? - 3.355_392e-3).abs() < 1e-12);
        assert_eq!(in_cells(18_456.0, 208.0)?, 18_512.0);
        assert!(in_cells(1.0, 0.0).is_err());
        Ok(())
    }

    #[test]
    fn one_sentence_answers_whether_headroom_is_enough() {
        let port = PausedPort {
            speed_mbps: 100_000,
            cable_metres: 0.0,
            mtu_bytes: 1_500,
            cell_bytes: 144,
            packet_overhead: 0,
        };
        let needs = port.needs();
        // The sum has 394 quanta of 64 B after the frame and the packet that the frame waits for.
        let wire = 1_500 + 64 + 394 * 64;
        assert_eq!(needs.full_size, 2 * 1_584 + wire * 1_584 / 1_500);
        assert_eq!((needs.worst, needs.worst_packet), (2 * 1_584 + wire * 144 / 64, 64));
        assert_eq!(needs.least, 2 * 1_584 + 128 * 1_584 / 1_500);
        assert_eq!(needs.answer(needs.worst), "enough for packets of every size");
        let some = needs.answer(needs.worst - 5);
        assert_eq!(some, "enough for full-size packets; 5 B short for packets of 64 B");
        let little = needs.answer(needs.full_size - 5);
        assert!(
            little.starts_with("enough only if the peer stops at once; 5 B short for full-size"),
            "{little}"
        );
        assert!(needs.answer(needs.least - 1).starts_with("1 B short even if the peer stops at once"));
    }

    #[test]
    fn packets_of_a_byte_more_than_a_cell_occupy_nearly_twice_their_bytes() -> Domain<()> {
        let packets = PacketMemory { smallest: 145, largest: 9_100, uncharged: 0, overhead: 0, cell: 144 };
        let cells = in_cells_by_packet(79_220.0, 2, packets)?;
        assert_eq!(cells, (2.0 * 9_216.0 + 61_020.0 * 288.0 / 145.0_f64).ceil());
        assert!(cells > in_cells(79_220.0, 144.0)?);
        Ok(())
    }
}
