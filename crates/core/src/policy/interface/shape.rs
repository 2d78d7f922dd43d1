//! The shape of a switch: its buffer, ports and queues, for policies.

use crate::hardware::{Accounting, PortSpread};
use bufferlab_params::Profile;
use bufferlab_units::BitRate;
use std::ops::Range;

/// Properties of a switch that its policy sees when the policy is built.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchShape {
    /// Size B of the shared buffer (bytes), without the reserves of queues and ports.
    pub capacity: u64,
    /// Rate of every port of the switch.
    pub port_rates: Vec<BitRate>,
    /// Number of queues (priorities) per port.
    pub queues_per_port: usize,
    /// Largest size that the switch charges for a packet (bytes).
    pub max_packet: u64,
    /// Profile that decides details which the paper leaves open.
    pub profile: Profile,
    /// Seed for a policy that draws random numbers.
    pub seed: u64,
    /// Lossless priorities (PFC): bit p is set if priority p is lossless.
    pub lossless: u32,
    /// Lossless priorities of packets that arrive at each port, if ports differ. Each value is a
    /// subset of `lossless`. If the list is empty, `lossless` applies to every port.
    pub lossless_by_port: Vec<u32>,
    /// Number of ports whose egress queues are in another memory of the switch (slices), but whose
    /// arriving packets this memory may store. Ingress queues cover all ports of the switch.
    pub foreign_ports: usize,
    /// Accounting of lossless traffic in the chip.
    pub accounting: Accounting,
}

impl SwitchShape {
    /// Number of ports whose egress queues are in this memory.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.port_rates.len()
    }

    /// Lossless priorities of packets that arrive at `port`: bit p is set if priority p is
    /// lossless.
    #[must_use]
    pub fn lossless_at(&self, port: usize) -> u32 {
        self.lossless_by_port.get(port).map_or(self.lossless, |mask| self.lossless & mask)
    }

    /// Number of memory slices, each of which stores the packets of some ingress ports.
    #[must_use]
    pub fn slices(&self) -> usize {
        usize::from(self.accounting.slices).max(1)
    }

    /// Ranges of ingress queues, one range per memory slice.
    pub fn ingress_queues_by_slice(&self) -> impl Iterator<Item = Range<usize>> {
        let queues = self.queues_per_port;
        let ports = PortSpread::new(self.ingress_ports(), self.slices()).ranges();
        ports.map(move |ports| ports.start * queues..ports.end * queues)
    }

    /// Slice of each ingress queue, in the order of the queues.
    #[must_use]
    pub fn slices_of_ingress_queues(&self) -> Vec<u16> {
        let slices = self.ingress_queues_by_slice().enumerate();
        slices.flat_map(|(slice, queues)| queues.map(move |_| slice as u16)).collect()
    }

    /// Number of lossless ingress queues of the switch.
    #[must_use]
    pub fn lossless_queues(&self) -> u64 {
        (0..self.ports()).map(|port| u64::from(self.lossless_at(port).count_ones())).sum()
    }

    /// Number of ingress ports, from which packets may arrive.
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
