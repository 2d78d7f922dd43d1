//! Ledger of the shared pool that policies divide, for a memory with reserves or stale thresholds.
//!
//! A queue first uses its own reserve, then its port's reserve, then the pool. The queue releases
//! space in the opposite order. So the queue's or port's share of the pool follows from its length
//! alone, and no packet needs to record its account.

/// Number of accounts ([`Account`](crate::Account)) that the ledger of a memory has.
pub(crate) const ACCOUNTS: usize = 4;

/// Reserves of a memory, equal for every queue and for every port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserves {
    /// Reserve of each egress queue (bytes).
    pub queue: u64,
    /// Reserve of each egress port (bytes). The port's queues share this reserve once the reserves
    /// of the queues are used up.
    pub port: u64,
}

impl Reserves {
    /// Sum of all reserves in a memory of `ports` × `queues_per_port` queues (bytes).
    #[must_use]
    pub const fn total(self, ports: usize, queues_per_port: usize) -> u64 {
        ports as u64 * (self.port + queues_per_port as u64 * self.queue)
    }
}

/// The ledger at the last refresh, which policies see until the next refresh.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Occupancy of the shared pool (bytes).
    pub(crate) occupancy: u64,
    /// Bytes that each [`crate::Account`] is charged for.
    pub(crate) used: [u64; ACCOUNTS],
}

/// The shared pool's capacity, occupancy and reserves.
#[derive(Clone, Debug)]
pub(crate) struct SharedPool {
    pub(crate) reserves: Reserves,
    pub(crate) capacity: u64,
    pub(crate) occupancy: u64,
    /// The delayed ledger that policies see. `None` if policies see the current ledger.
    pub(crate) shown: Option<Shown>,
    /// Bytes of each port's queues beyond the queues' reserves.
    pub(crate) beyond_queues: Vec<u64>,
}

impl SharedPool {
    /// An empty pool of `capacity` bytes for `ports` ports.
    pub(crate) fn new(capacity: u64, reserves: Reserves, ports: usize) -> Self {
        Self { reserves, capacity, occupancy: 0, shown: None, beyond_queues: vec![0; ports] }
    }

    /// Occupancy of the shared pool that policies see, perhaps at the last refresh (bytes).
    pub(crate) fn shown_occupancy(&self) -> u64 {
        self.shown.map_or(self.occupancy, |shown| shown.occupancy)
    }

    /// Bytes of a port in the pool, beyond all reserves.
    pub(crate) fn of_port(&self, port: u16) -> u64 {
        self.beyond_queues[usize::from(port)].saturating_sub(self.reserves.port)
    }

    /// Whether the reserves of a queue with `length` bytes and of its port cover `size` more bytes.
    pub(crate) fn fits_reserve(&self, port: u16, length: u64, size: u64) -> bool {
        let beyond_queue = (length + size).saturating_sub(length.max(self.reserves.queue));
        beyond_queue == 0 || self.beyond_queues[usize::from(port)] + beyond_queue <= self.reserves.port
    }

    /// Records that a queue of `port` has changed from `before` to `after` bytes.
    #[cold]
    pub(crate) fn change(&mut self, port: u16, before: u64, after: u64) {
        let beyond = |length: u64| length.saturating_sub(self.reserves.queue);
        let of_port_before = self.of_port(port);
        let account = self.beyond_queues[usize::from(port)] + beyond(after) - beyond(before);
        self.beyond_queues[usize::from(port)] = account;
        self.occupancy = self.occupancy + self.of_port(port) - of_port_before;
    }

    /// Copies the current occupancy and accounts. Policies see the copies until the next call.
    pub(crate) fn refresh(&mut self, used: [u64; ACCOUNTS]) {
        self.shown = Some(Shown { occupancy: self.occupancy, used });
    }
}
