//! What a memory with reserves, or with stale thresholds, keeps beyond its plain ledger: the pool
//! that policies divide.
//!
//! A queue uses its own reserve first, then its port's, then the pool, and gives back in the
//! opposite order. So what a queue or port holds of the pool follows from its length alone, and no
//! packet needs to know where its bytes are.

use crate::buffer::ACCOUNTS;

/// Bytes set aside, the same for every queue and for every port of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserves {
    /// Of each egress queue (bytes).
    pub queue: u64,
    /// Of each egress port, for its queues together once their own are used up (bytes).
    pub port: u64,
}

impl Reserves {
    /// All bytes that are set aside in a memory of `ports` × `queues_per_port` queues.
    #[must_use]
    pub const fn total(self, ports: usize, queues_per_port: usize) -> u64 {
        ports as u64 * (self.port + queues_per_port as u64 * self.queue)
    }
}

/// The ledger at one instant, which policies see until the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Of the pool (bytes).
    pub(crate) occupancy: u64,
    /// Bytes by [`crate::Account`].
    pub(crate) used: [u64; ACCOUNTS],
}

/// The pool's accounts.
#[derive(Clone, Debug)]
pub(crate) struct SharedPool {
    pub(crate) reserves: Reserves,
    pub(crate) capacity: u64,
    pub(crate) occupancy: u64,
    /// What policies see of the ledger; `None`: as it is.
    pub(crate) shown: Option<Shown>,
    /// By port: what its queues hold beyond their own reserves (bytes).
    pub(crate) beyond_queues: Vec<u64>,
}

impl SharedPool {
    /// An empty pool of `capacity` bytes for `ports` ports.
    pub(crate) fn new(capacity: u64, reserves: Reserves, ports: usize) -> Self {
        Self { reserves, capacity, occupancy: 0, shown: None, beyond_queues: vec![0; ports] }
    }

    /// What policies see of the occupancy.
    pub(crate) fn shown_occupancy(&self) -> u64 {
        self.shown.map_or(self.occupancy, |shown| shown.occupancy)
    }

    /// Of a port: bytes beyond all reserves.
    pub(crate) fn of_port(&self, port: u16) -> u64 {
        self.beyond_queues[usize::from(port)].saturating_sub(self.reserves.port)
    }

    /// Whether `size` more bytes of a queue with `length` bytes are covered by its reserve and its
    /// port's.
    pub(crate) fn fits_reserve(&self, port: u16, length: u64, size: u64) -> bool {
        let beyond_queue = (length + size).saturating_sub(length.max(self.reserves.queue));
        beyond_queue == 0 || self.beyond_queues[usize::from(port)] + beyond_queue <= self.reserves.port
    }

    /// A queue of `port` has grown from `before` to `after` bytes, or shrunk.
    #[cold]
    pub(crate) fn change(&mut self, port: u16, before: u64, after: u64) {
        let beyond = |length: u64| length.saturating_sub(self.reserves.queue);
        let of_port_before = self.of_port(port);
        let account = self.beyond_queues[usize::from(port)] + beyond(after) - beyond(before);
        self.beyond_queues[usize::from(port)] = account;
        self.occupancy = self.occupancy + self.of_port(port) - of_port_before;
    }

    /// From now on policies see the occupancy of this moment and what accounts hold now, until the
    /// next call.
    pub(crate) fn refresh(&mut self, used: [u64; ACCOUNTS]) {
        self.shown = Some(Shown { occupancy: self.occupancy, used });
    }
}
