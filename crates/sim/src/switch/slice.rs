//! One memory of a switch (a slice), with the ports whose packets the memory stores.

use bufferlab_core::{Dispatched, Packet, ParamValue, QueueId, Switch, SwitchShape};

/// One memory of a switch (a slice), with the ports whose packets the memory stores.
#[derive(Debug)]
#[repr(C)] // The core's first fields follow those of the switch.
pub(crate) struct Slice {
    pub(crate) core: Switch<Dispatched>,
    /// Number of the slice's first port in the switch.
    pub(crate) first_port: u16,
    /// Number of the slice's first queue in the switch.
    pub(crate) first_queue: u16,
    /// Shape of the memory for which its policy was built.
    pub(crate) shape: SwitchShape,
    /// Name and parameters of the slice's policy.
    pub(crate) policy: (String, Vec<(String, ParamValue)>),
    /// Name of the scenario's classifier. `None` if the policy chooses the classifier.
    pub(crate) classifier: Option<String>,
    /// Name of the marking rule. `None` if the switch marks no packets.
    pub(crate) marking: Option<String>,
}

impl Slice {
    /// Copy of the packet whose egress port is numbered within the slice.
    pub(super) fn localised(&self, packet: &Packet) -> Packet {
        Packet { egress_port: packet.egress_port - self.first_port, ..*packet }
    }

    /// Port (numbered over the switch) and priority of a queue of this slice.
    pub(crate) fn port_and_priority(&self, local: QueueId) -> (u16, u8) {
        let (port, priority) = self.core.buffer().port_and_priority(local);
        (self.first_port + port, priority)
    }
}

/// A queue with its numbers in the slice and in the whole switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuePlace<'a> {
    pub(crate) slice: &'a Slice,
    /// Number of the queue within its slice.
    pub(crate) local: QueueId,
    /// Number of the queue within the whole switch.
    pub(crate) queue: QueueId,
    /// Number of the queue's port within the whole switch.
    pub(crate) port: u16,
    pub(crate) priority: u8,
}
