//! Peak occupancy of the packet buffer and of its queues.

/// Peak occupancy of the packet buffer and its queues, since the previous reading and since the
/// start (bytes).
#[derive(Debug, Default)]
pub struct Peaks {
    queues: Vec<[u64; 2]>,
    buffer: [u64; 2],
}

impl Peaks {
    /// Records that queue `index` has `bytes` bytes, and that the packet buffer has `occupancy`
    /// bytes.
    pub(crate) fn see(&mut self, index: usize, bytes: u64, occupancy: u64) {
        if index >= self.queues.len() {
            self.queues.resize(index + 1, [0; 2]);
        }
        self.queues[index] = self.queues[index].map(|most| most.max(bytes));
        self.buffer = self.buffer.map(|most| most.max(occupancy));
    }

    /// Peak length of a queue since the previous reading (bytes).
    pub(crate) fn queue(&self, index: usize) -> u64 {
        self.queues.get(index).map_or(0, |most| most[0])
    }

    /// Peak occupancy of the packet buffer since the previous reading (bytes).
    pub(crate) fn buffer(&self) -> u64 {
        self.buffer[0]
    }

    /// Peak length of a queue since the start of the switch (bytes).
    #[must_use]
    pub fn queue_ever(&self, index: usize) -> u64 {
        self.queues.get(index).map_or(0, |most| most[1])
    }

    /// Peak occupancy of the packet buffer since the start of the switch (bytes).
    #[must_use]
    pub fn buffer_ever(&self) -> u64 {
        self.buffer[1]
    }

    /// Starts a new interval for the peaks since the previous reading.
    pub(crate) fn clear(&mut self) {
        self.queues.iter_mut().for_each(|most| most[0] = 0);
        self.buffer[0] = 0;
    }
}
