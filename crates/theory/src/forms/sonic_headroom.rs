//! Headroom and thresholds as SONiC computes them on NVIDIA switches (dynamic buffer model,
//! Mellanox flavour).
//!
//! The steps follow the published design document and script (`sonic-swss`,
//! buffer headroom for Mellanox). Values that the script reads from the switch's state (cell,
//! pipeline latency, MAC and PHY delay) are inputs of this module.

use super::{Domain, at_least_one, check, not_negative, positive};
use bufferlab_params::choices;

const KIBIBYTE: f64 = 1024.0;

/// Speed of a signal in a cable, as in the script (metres per second).
const METRES_PER_SECOND: f64 = 198e6;

choices! {
    /// Generations of NVIDIA's Spectrum switch chip.
    #[derive(Default)]
    pub enum Generation {
        #[default]
        Spectrum1To3 = "spectrum-1-to-3": "Spectrum-1, Spectrum-2 and Spectrum-3",
        Spectrum4 = "spectrum-4": "a tile adds its latency",
        Spectrum5 = "spectrum-5": "as Spectrum-4",
        Spectrum6 = "spectrum-6": "18 KiB more",
    }
}

/// Inputs of SONiC's headroom calculation for a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortInputs {
    /// Speed of the port (Mb/s).
    pub speed_mbps: f64,
    /// Length of the port's cable (metres).
    pub cable_metres: f64,
    /// MTU of the port (bytes).
    pub port_mtu_bytes: f64,
    /// MTU of lossless traffic (bytes).
    pub lossless_mtu_bytes: f64,
    /// Share of packets of 64 B in lossless traffic (percent).
    pub small_packet_percent: f64,
    /// Size of a buffer cell (bytes).
    pub cell_bytes: f64,
    /// Latency of the chip's pipeline (bytes).
    pub pipeline_latency_bytes: f64,
    /// Delay of the port's MAC and PHY (bytes).
    pub mac_phy_delay_bytes: f64,
    /// Delay of the port's gearbox, in the script's unit (nanoseconds). With 0, the port has no
    /// gearbox.
    pub gearbox_delay: f64,
    /// Number of lanes of the port. A port of 8 lanes has two pipelines.
    pub lanes: u32,
    /// Generation of the switch chip.
    pub generation: Generation,
    /// Whether the ports of the switch share a headroom pool.
    pub shared_headroom_pool: bool,
    /// Pause quanta for which the peer still sends after a pause frame,
    /// for speeds that are not tabulated.
    pub peer_response_quanta: Option<f64>,
}

/// SONiC's headroom profile of a port, with every intermediate term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Worst factor: bytes of cells that a byte of the worst small packet occupies, rounded up.
    pub worst_factor: f64,
    /// Fraction of bytes that belong to small packets (percent).
    pub small_bytes_percent: f64,
    /// Mean number of bytes in cells per byte of traffic.
    pub cell_occupancy: f64,
    /// Data in flight on the cable in both directions (bytes).
    pub cable_bytes: f64,
    /// Delay of the gearbox in one direction (bytes).
    pub gearbox_bytes: f64,
    /// Bytes that the peer still sends after a pause frame.
    pub peer_response_bytes: f64,
    /// Size of a tile of the switch chip (bytes).
    pub tile_bytes: f64,
    /// Sum of the cable's propagation and all delays (bytes).
    pub delay_bytes: f64,
    /// Headroom of the port (bytes).
    pub xoff_bytes: f64,
    /// Threshold at which the port resumes its sender (bytes).
    pub xon_bytes: f64,
    /// Reserved size of the priority group (bytes).
    pub size_bytes: f64,
}

/// Pause quanta for which a peer of this speed still sends.
/// `None` if the script does not tabulate the speed.
#[must_use]
pub fn tabulated_quanta(speed_mbps: f64) -> Option<f64> {
    let table = [
        (100.0, 1.0),
        (1_000.0, 2.0),
        (10_000.0, 67.0),
        (25_000.0, 80.0),
        (40_000.0, 118.0),
        (50_000.0, 147.0),
        (100_000.0, 394.0),
        (200_000.0, 453.0),
        (400_000.0, 905.0),
        (800_000.0, 905.0),
    ];
    table.iter().find(|row| row.0 == speed_mbps).map(|row| row.1)
}

fn kibibytes(bytes: f64) -> f64 {
    (bytes / KIBIBYTE).ceil() * KIBIBYTE
}

impl PortInputs {
    fn check(&self) -> Domain<f64> {
        positive("speed_mbps", self.speed_mbps)?;
        not_negative("cable_metres", self.cable_metres)?;
        positive("port_mtu_bytes", self.port_mtu_bytes)?;
        check(self.lossless_mtu_bytes >= 64.0, "lossless_mtu_bytes", self.lossless_mtu_bytes, "64 or more")?;
        let percent = self.small_packet_percent;
        check((0.0..=100.0).contains(&percent), "small_packet_percent", percent, "0 to 100")?;
        check(self.cell_bytes >= 1.0, "cell_bytes", self.cell_bytes, "1 or more")?;
        not_negative("pipeline_latency_bytes", self.pipeline_latency_bytes)?;
        not_negative("mac_phy_delay_bytes", self.mac_phy_delay_bytes)?;
        not_negative("gearbox_delay", self.gearbox_delay)?;
        at_least_one("lanes", self.lanes)?;
        match self.peer_response_quanta.or_else(|| tabulated_quanta(self.speed_mbps)) {
            Some(quanta) => not_negative("peer_response_quanta", quanta),
            None => {
                let valid = "a tabulated speed (100, 1000, 10000, 25000, 40000, 50000, 100000, 200000, 400000, \
                    800000), or peer_response_quanta with it";
                check(false, "speed_mbps", self.speed_mbps, valid)
            }
        }
    }

    /// The profile that SONiC would configure for the port.
    ///
    /// # Errors
    /// If an input is out of its range, or the peer's response is not tabulated for the speed.
    pub fn profile(&self) -> Domain<Profile> {
        let peer_response_bytes = self.check()? * 64.0;
        let (cell, mtu, small) = (self.cell_bytes, self.lossless_mtu_bytes, self.small_packet_percent);
        let worst_factor =
            if cell > 128.0 { (cell / 64.0).ceil() } else { (2.0 * cell / (1.0 + cell)).ceil() };
        let mean_packet = (64.0 * small + (100.0 - small) * mtu) / 100.0;
        let small_bytes_percent = 100.0 * 64.0 / mean_packet;
        let cell_occupancy = (100.0 - small_bytes_percent + small_bytes_percent * worst_factor) / 100.0;
        let cable_bytes = 2.0 * self.cable_metres * self.speed_mbps * 1e9 / METRES_PER_SECOND / 8000.0;
        let gearbox_bytes = self.speed_mbps * self.gearbox_delay / 8192.0;
        let tile_bytes = match self.generation {
            Generation::Spectrum4 | Generation::Spectrum5 => self.speed_mbps / 1000.0 * 120.0 / 8.0,
            Generation::Spectrum1To3 | Generation::Spectrum6 => 0.0,
        };
        let delay_bytes = self.port_mtu_bytes
            + cable_bytes
            + 2.0 * gearbox_bytes
            + self.mac_phy_delay_bytes
            + peer_response_bytes
            + tile_bytes;
        let mut xoff_bytes = kibibytes(mtu + delay_bytes * cell_occupancy);
        if self.generation == Generation::Spectrum6 {
            xoff_bytes += 18.0 * KIBIBYTE;
        }
        // The margin is 2 KiB if the mean occupancy is below the occupancy of small packets only.
        let worst_xoff = kibibytes(mtu + delay_bytes * worst_factor);
        if !self.shared_headroom_pool && small != 100.0 && xoff_bytes + 2.0 * KIBIBYTE < worst_xoff {
            xoff_bytes += 2.0 * KIBIBYTE;
        }
        let wide = self.lanes == 8;
        let latency = if wide { 2.0 * self.pipeline_latency_bytes } else { self.pipeline_latency_bytes };
        let xon_bytes = kibibytes(latency);
        let size_bytes = if self.shared_headroom_pool {
            xon_bytes
        } else {
            kibibytes(xoff_bytes + xon_bytes + if wide { self.port_mtu_bytes } else { 0.0 })
        };
        Ok(Profile {
            worst_factor,
            small_bytes_percent,
            cell_occupancy,
            cable_bytes,
            gearbox_bytes,
            peer_response_bytes,
            tile_bytes,
            delay_bytes,
            xoff_bytes,
            xon_bytes,
            size_bytes,
        })
    }
}

/// Size of a shared headroom pool: `⌈Σ(xon + xoff − size) / ratio⌉`, at least 655,360 B.
/// `profiles` has each profile with its number of priority groups (bytes).
///
/// # Errors
/// If `over_subscribe_ratio` is not positive.
pub fn shared_headroom_pool_bytes(profiles: &[(Profile, u32)], over_subscribe_ratio: f64) -> Domain<f64> {
    let demand: f64 = profiles
        .iter()
        .map(|(p, count)| f64::from(*count) * (p.xon_bytes + p.xoff_bytes - p.size_bytes))
        .sum();
    Ok((demand / positive("over_subscribe_ratio", over_subscribe_ratio)?).ceil().max(655_360.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port of 100 Gb/s with 5 m of cable and the usual values of the second generation.
    const PORT: PortInputs = PortInputs {
        speed_mbps: 100_000.0,
        cable_metres: 5.0,
        port_mtu_bytes: 9_100.0,
        lossless_mtu_bytes: 1_024.0,
        small_packet_percent: 50.0,
        cell_bytes: 144.0,
        pipeline_latency_bytes: 18.0 * KIBIBYTE,
        mac_phy_delay_bytes: 0.8 * KIBIBYTE,
        gearbox_delay: 0.0,
        lanes: 4,
        generation: Generation::Spectrum1To3,
        shared_headroom_pool: false,
        peer_response_quanta: None,
    };

    #[test]
    fn each_step_is_that_of_the_script() -> Domain<()> {
        let profile = PORT.profile()?;
        assert_eq!(profile.worst_factor, 3.0);
        assert!((profile.small_bytes_percent - 6400.0 / 544.0).abs() < 1e-9);
        assert!((profile.cell_occupancy - (1.0 + 2.0 * 64.0 / 544.0)).abs() < 1e-12);
        assert!((profile.cable_bytes - 631.313).abs() < 1e-3);
        assert_eq!(profile.peer_response_bytes, 394.0 * 64.0);
        // The headroom is 1024 + 35766.5 * 1.235294 = 45206.2 -> 45 KiB.
        // With small packets only, the headroom would be 106 KiB, so 2 KiB are added.
        assert!((profile.delay_bytes - (9_100.0 + 631.313 + 819.2 + 25_216.0)).abs() < 1e-3);
        assert_eq!(profile.xoff_bytes, 47.0 * KIBIBYTE);
        assert_eq!(profile.xon_bytes, 18.0 * KIBIBYTE);
        assert_eq!(profile.size_bytes, 65.0 * KIBIBYTE);
        Ok(())
    }

    #[test]
    fn small_packets_only_need_more_and_a_shared_pool_reserves_less() -> Domain<()> {
        let small = PortInputs { small_packet_percent: 100.0, ..PORT }.profile()?;
        assert_eq!(small.xoff_bytes, kibibytes(1024.0 + 3.0 * small.delay_bytes));
        assert!(small.xoff_bytes > 2.0 * PORT.profile()?.xoff_bytes);
        let shared = PortInputs { shared_headroom_pool: true, ..PORT }.profile()?;
        assert_eq!((shared.size_bytes, shared.xoff_bytes), (shared.xon_bytes, 45.0 * KIBIBYTE));
        assert_eq!(shared_headroom_pool_bytes(&[(shared, 64)], 2.0)?, 64.0 * 45.0 * KIBIBYTE / 2.0);
        assert_eq!(shared_headroom_pool_bytes(&[(shared, 2)], 2.0)?, 655_360.0);
        Ok(())
    }

    #[test]
    fn eight_lanes_double_the_pipeline_and_generations_add_what_they_need() -> Domain<()> {
        let wide = PortInputs { lanes: 8, speed_mbps: 400_000.0, ..PORT }.profile()?;
        assert_eq!(wide.xon_bytes, 36.0 * KIBIBYTE);
        assert_eq!(wide.size_bytes, kibibytes(wide.xoff_bytes + wide.xon_bytes + 9_100.0));
        let tiled = PortInputs { generation: Generation::Spectrum4, ..PORT }.profile()?;
        assert_eq!(tiled.tile_bytes, 1500.0);
        let newest = PortInputs { generation: Generation::Spectrum6, ..PORT }.profile()?;
        assert_eq!(newest.xoff_bytes, PORT.profile()?.xoff_bytes + 18.0 * KIBIBYTE);
        let unknown = PortInputs { speed_mbps: 123.0, ..PORT };
        assert_eq!(unknown.profile().expect_err("not tabulated").input, "speed_mbps");
        assert!(PortInputs { peer_response_quanta: Some(10.0), ..unknown }.profile().is_ok());
        Ok(())
    }

    #[test]
    fn a_cell_of_at_most_128_bytes_has_a_worst_factor_of_2() -> Domain<()> {
        assert_eq!(PortInputs { cell_bytes: 96.0, ..PORT }.profile()?.worst_factor, 2.0);
        Ok(())
    }
}
