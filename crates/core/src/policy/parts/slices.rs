//! Memory in slices that take packets by the port they come from: who holds what of which slice.
//!
//! Chips with several memories store a packet in that of its ingress port. Its ingress queue is
//! accounted there; an egress queue may be fed from all slices, and has an account in each.

use crate::buffer::{Buffer, IngressId, QueueId};
use crate::policy::interface::SwitchShape;

/// What ingress queues hold (bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Outside headroom.
    pub(crate) pool: u64,
    pub(crate) headroom: u64,
}

/// Who holds what where packets of an egress queue are of several slices, or of both classes.
#[derive(Clone, Debug)]
pub(crate) struct Slices {
    number: usize,
    /// By ingress queue: its slice.
    of_queues: Vec<u16>,
    /// Egress queues of the switch.
    queues: usize,
    /// By ingress queue, when it was counted last.
    counted: Vec<Held>,
    /// By slice: of all its ingress queues.
    held: Vec<Held>,
    /// By slice, then by egress queue: bytes of lossy packets.
    lossy: Vec<u64>,
}

impl Slices {
    /// All of a switch, empty.
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

    /// How many there are.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The slice of an ingress queue.
    #[inline]
    pub(crate) fn of(&self, ingress: IngressId) -> usize {
        usize::from(self.of_queues[usize::from(ingress.0)])
    }

    /// What all ingress queues of a slice hold.
    #[inline]
    pub(crate) fn held(&self, slice: usize) -> Held {
        self.held[slice]
    }

    /// Bytes of lossy packets of an egress queue in a slice.
    #[inline]
    pub(crate) fn lossy(&self, slice: usize, queue: QueueId) -> u64 {
        self.lossy[slice * self.queues + usize::from(queue.0)]
    }

    /// What has changed in `ingress` came into `queue` or left it; answers what the ingress queue
    /// held more before, and what it holds more now (bytes, one of them 0).
    pub(crate) fn recount(
        &mut self,
        queue: QueueId,
        ingress: IngressId,
        lossless: bool,
        buffer: &Buffer,
    ) -> (u64, u64) {
        let slice = self.of(ingress);
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
