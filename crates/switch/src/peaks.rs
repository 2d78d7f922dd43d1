//! Peak occupancy of the buffer and its queues.

/// The most that was stored: since somebody looked, and ever (bytes).
#[derive(Debug, Default)]
pub struct Peaks {
    queues: Vec<[u64; 2]>,
    buffer: [u64; 2],
}

impl Peaks {
    /// Queue `index` holds `bytes`, and the buffer `occupancy`.
    pub(crate) fn see(&mut self, index: usize, bytes: u64, occupancy: u64) {
        if index >= self.queues.len() {
            self.queues.resize(index + 1, [0; 2]);
        }
        self.queues[index] = self.queues[index].map(|most| most.max(bytes));
        self.buffer = self.buffer.map(|most| most.max(occupancy));
    }

    /// Of a queue, since somebody looked.
    pub(crate) fn queue(&self, index: usize) -> u64 {
        self.queues.get(index).map_or(0, |most| most[0])
    }

    /// Of the buffer, since somebody looked.
    pub(crate) fn buffer(&self) -> u64 {
        self.buffer[0]
    }

    /// Of a queue, ever.
    #[must_use]
    pub fn queue_ever(&self, index: usize) -> u64 {
        self.queues.get(index).map_or(0, |most| most[1])
    }

    /// Of the buffer, ever.
    #[must_use]
    pub fn buffer_ever(&self) -> u64 {
        self.buffer[1]
    }

    /// Somebody has looked.
    pub(crate) fn clear(&mut self) {
        self.queues.iter_mut().for_each(|most| most[0] = 0);
        self.buffer[0] = 0;
    }
}
