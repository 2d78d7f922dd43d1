//! What a policy may know of its switch.

use crate::hardware::{Accounting, PortSpread};
use bufferlab_params::Profile;
use bufferlab_units::BitRate;
use std::ops::Range;

/// What a policy may know of the switch when it is built.
#[derive(Clone, Debug)]
pub struct SwitchShape {
    /// The shared buffer B (bytes): what is set aside for queues and ports is not part of it.
    pub capacity: u64,
    /// Rate of every port.
    pub port_rates: Vec<BitRate>,
    /// Queues (priorities) per port.
    pub queues_per_port: usize,
    /// Largest packet that will be charged (bytes).
    pub max_packet: u64,
    /// The reading of under-specified details.
    pub profile: Profile,
    /// Seed for a policy that draws random numbers.
    pub seed: u64,
    /// Bit p: priority p is lossless (PFC).
    pub lossless: u32,
    /// The same by port, where ports differ: what of `lossless` holds for packets that arrive
    /// there. Empty: all of it everywhere.
    pub lossless_by_port: Vec<u32>,
    /// Ports of the switch whose packets are stored here although their own egress queues are in
    /// another memory (slices). Ingress queues count all ports of the switch.
    pub foreign_ports: usize,
    /// How the chip accounts lossless traffic.
    pub accounting: Accounting,
}

impl SwitchShape {
    /// Number of ports.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.port_rates.len()
    }

    /// Bit p: packets of priority p that arrive at `port` are lossless.
    #[must_use]
    pub fn lossless_at(&self, port: usize) -> u32 {
        self.lossless_by_port.get(port).map_or(self.lossless, |mask| self.lossless & mask)
    }

    /// Parts of the memory by ingress port.
    #[must_use]
    pub fn slices(&self) -> usize {
        usize::from(self.accounting.slices).max(1)
    }

    /// Ingress queues of each of them.
    pub fn ingress_queues_by_slice(&self) -> impl Iterator<Item = Range<usize>> {
        let queues = self.queues_per_port;
        let ports = PortSpread::new(self.ingress_ports(), self.slices()).ranges();
        ports.map(move |ports| ports.start * queues..ports.end * queues)
    }

    /// By ingress queue: its slice.
    #[must_use]
    pub fn slices_of_ingress_queues(&self) -> Vec<u16> {
        let slices = self.ingress_queues_by_slice().enumerate();
        slices.flat_map(|(slice, queues)| queues.map(move |_| slice as u16)).collect()
    }

    /// Number of lossless ingress queues.
    #[must_use]
    pub fn lossless_queues(&self) -> u64 {
        (0..self.ports()).map(|port| u64::from(self.lossless_at(port).count_ones())).sum()
    }

    /// Number of ports that packets may come from.
    #[must_use]
    pub fn ingress_ports(&self) -> usize {
        self.ports() + self.foreign_ports
    }

    /// Number of ingress queues: ports that packets may come from × queues per port.
    #[must_use]
    pub fn ingress_queues(&self) -> usize {
        self.ingress_ports() * self.queues_per_port
    }

    /// Number of egress queues: ports × queues per port.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.ports() * self.queues_per_port
    }
}
