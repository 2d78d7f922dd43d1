//! A pool that all queues share, beside memory reserved for some packets. The policies `abm` and
//! `ib` use the pool.

use crate::buffer::Buffer;
use crate::policy::interface::{Account, Bound, BoundPlace};

/// The memory of a switch without its reserved part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonPool {
    /// Size of the common pool (bytes).
    pub(crate) bytes: u64,
}

impl CommonPool {
    /// Free part of the common pool (bytes), as thresholds see it.
    #[inline]
    pub(crate) fn remaining(self, buffer: &Buffer) -> u64 {
        let used = buffer.shared_occupancy().saturating_sub(buffer.shared_used(Account::Reserved));
        self.bytes.saturating_sub(used)
    }

    /// Whether `size` bytes fit into the pool at its current occupancy.
    /// An older occupancy would let packets into reserved memory.
    #[inline]
    pub(crate) fn has_room(self, size: u64, buffer: &Buffer) -> bool {
        Self::held(buffer) + size <= self.bytes
    }

    /// Occupancy and limit of the common pool that [`Self::has_room`] compares.
    pub(crate) fn bound(self, size: u64, buffer: &Buffer) -> Bound {
        Bound { place: BoundPlace::SharedPool, held: Self::held(buffer), size, limit: self.bytes }
    }

    #[inline]
    fn held(buffer: &Buffer) -> u64 {
        buffer.pool_occupancy().saturating_sub(buffer.used(Account::Reserved))
    }
}
