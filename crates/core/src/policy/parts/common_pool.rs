//! A pool that all queues share, beside memory that is set aside for reserved packets: `abm` and
//! `ib`.

use crate::buffer::Buffer;
use crate::policy::interface::{Account, Bound, BoundPlace};

/// The memory without what is set aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonPool {
    /// Its size (bytes).
    pub(crate) bytes: u64,
}

impl CommonPool {
    /// What thresholds see of the free part (bytes).
    #[inline]
    pub(crate) fn remaining(self, buffer: &Buffer) -> u64 {
        let used = buffer.shared_occupancy().saturating_sub(buffer.shared_used(Account::Reserved));
        self.bytes.saturating_sub(used)
    }

    /// Whether `size` bytes fit into the pool as it is: what is set aside is never judged by old
    /// numbers.
    #[inline]
    pub(crate) fn has_room(self, size: u64, buffer: &Buffer) -> bool {
        Self::held(buffer) + size <= self.bytes
    }

    /// The comparison behind [`Self::has_room`].
    pub(crate) fn bound(self, size: u64, buffer: &Buffer) -> Bound {
        Bound { place: BoundPlace::SharedPool, held: Self::held(buffer), size, limit: self.bytes }
    }

    #[inline]
    fn held(buffer: &Buffer) -> u64 {
        buffer.pool_occupancy().saturating_sub(buffer.used(Account::Reserved))
    }
}
