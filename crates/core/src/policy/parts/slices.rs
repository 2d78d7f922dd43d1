//! Memory slices that store packets by ingress port.
//! The module counts each queue's bytes per slice.
//!
//! Chips with several memories store a packet in the memory of its ingress port,
//! and account for the packet's ingress queue in that memory.
//! An egress queue may send packets of all slices, and has an account in each slice.

use crate::buffer::{Buffer, IngressId, QueueId};
use crate::policy::interface::SwitchShape;

/// Bytes of one or more ingress queues in a memory slice, outside headroom and in headroom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Bytes of ingress queues outside headroom.
    pub(crate) pool: u64,
    pub(crate) headroom: u64,
}

/// Bytes by queue and memory slice. Needed if an egress queue has packets of several slices, or
/// both lossless and lossy packets.
#[derive(Clone, Debug)]
pub(crate) struct Slices {
    number: usize,
    /// Memory slice of each ingress queue.
    of_queues: Vec<u16>,
    /// Number of egress queues of the switch.
    queues: usize,
    /// Bytes of each ingress queue at its last count.
    counted: Vec<Held>,
    /// Bytes of all ingress queues together, for each memory slice.
    held: Vec<Held>,
    /// Bytes of lossy packets by slice, then by egress queue.
    lossy: Vec<u64>,
}

impl Slices {
    /// The state of a switch whose memory slices are empty.
    pub(crate) fn new(shape: &SwitchShape) -> Self {
        let number = shape.slices();
        Self {
            number,
            of_queues: shape.slices_of_ingress_queues(),
            queues: shape.queues(),
            counted: vec![Held::default(); shape.ingress_queues()],
            held: vec![Held::default(); number],
            lossy: vec![0; number * shape.queues()],
        }
    }

    /// Number of slices of the memory.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The memory slice that stores an ingress queue's packets.
    #[inline]
    pub(crate) fn slice_of(&self, ingress: IngressId) -> usize {
        usize::from(self.of_queues[usize::from(ingress.0)])
    }

    /// Bytes of all ingress queues of a memory slice together.
    #[inline]
    pub(crate) fn held(&self, slice: usize) -> Held {
        self.held[slice]
    }

    /// Bytes of an egress queue's lossy packets in a slice.
    #[inline]
    pub(crate) fn lossy(&self, slice: usize, queue: QueueId) -> u64 {
        self.lossy[slice * self.queues + usize::from(queue.0)]
    }

    /// Counts the change of `ingress`'s bytes since the last count as a change of the egress queue
    /// `queue`. Returns the decrease and the increase of the ingress queue (bytes). One of these
    /// two numbers is 0.
    pub(crate) fn recount(
        &mut self,
        queue: QueueId,
        ingress: IngressId,
        lossless: bool,
        buffer: &Buffer,
    ) -> (u64, u64) {
        let slice = self.slice_of(ingress);
        let headroom = buffer.ingress_headroom_bytes(ingress);
        let now = Held { pool: buffer.ingress_bytes(ingress) - headroom, headroom };
        let before = std::mem::replace(&mut self.counted[usize::from(ingress.0)], now);
        let held = &mut self.held[slice];
        held.pool = held.pool + now.pool - before.pool;
        held.headroom = held.headroom + now.headroom - before.headroom;
        let (before, now) = (before.pool + before.headroom, now.pool + now.headroom);
        if !lossless {
            let bytes = &mut self.lossy[slice * self.queues + usize::from(queue.0)];
            *bytes = *bytes + now - before;
        }
        (before.saturating_sub(now), now.saturating_sub(before))
    }
}
