//! One memory of a switch, with the ports that it serves.

use bufferlab_core::{Dispatched, Packet, ParamValue, QueueId, Switch, SwitchShape};

/// One memory of a switch, with the ports that it serves.
#[derive(Debug)]
#[repr(C)] // The core's first fields lie behind those of the switch.
pub(crate) struct Slice {
    pub(crate) core: Switch<Dispatched>,
    /// Number of its first port within the switch.
    pub(crate) first_port: u16,
    /// Number of its first queue within the switch.
    pub(crate) first_queue: u16,
    /// What its policy was told of it when it was built.
    pub(crate) shape: SwitchShape,
    /// The policy's name and parameters.
    pub(crate) policy: (String, Vec<(String, ParamValue)>),
    /// The marking rule's name; `None`: nothing is marked.
    pub(crate) marking: Option<String>,
}

impl Slice {
    /// The packet with its egress port counted within the slice.
    pub(super) fn localised(&self, packet: &Packet) -> Packet {
        Packet { egress_port: packet.egress_port - self.first_port, ..*packet }
    }

    /// Port of the switch, and priority, of a queue of this slice.
    pub(crate) fn port_and_priority(&self, local: QueueId) -> (u16, u8) {
        let (port, priority) = self.core.buffer().port_and_priority(local);
        (self.first_port + port, priority)
    }
}

/// A queue and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuePlace<'a> {
    pub(crate) slice: &'a Slice,
    /// Number within the slice.
    pub(crate) local: QueueId,
    /// Number within the switch.
    pub(crate) queue: QueueId,
    /// Port of the switch.
    pub(crate) port: u16,
    pub(crate) priority: u8,
}
