//! What is said of a packet: the same words for real packets and for those of the simulator.

use std::fmt;

/// What became of a packet, and what the buffer held right after it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Remark<'a> {
    /// What became of it, in a word.
    pub event: &'a str,
    /// Port and priority of its queue, such as `eth1.0`.
    pub queue: &'a str,
    /// More about the packet; may be empty.
    pub about: &'a str,
    /// Bytes in its queue after the event.
    pub queue_bytes: u64,
    /// Bytes in the buffer after the event.
    pub buffer_bytes: u64,
    /// The policy's limit of the queue (bytes), if it has one.
    pub limit: Option<u64>,
    /// Why it was lost.
    pub reason: Option<&'a str>,
    /// It has a mark of the switch, for this reason.
    pub marked: Option<&'a str>,
    /// Which limit bound, what it held and what it allows (bytes).
    pub bound: Option<(&'a str, u64, u64)>,
}

impl fmt::Display for Remark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at queue {}", self.event, self.queue)?;
        if !self.about.is_empty() {
            write!(f, ", {}", self.about)?;
        }
        write!(f, "; queue {} B, buffer {} B after it", self.queue_bytes, self.buffer_bytes)?;
        if let Some(limit) = self.limit {
            write!(f, ", limit {limit} B")?;
        }
        if let Some(reason) = self.reason {
            write!(f, "; reason: {reason}")?;
        }
        if let Some(reason) = self.marked {
            write!(f, "; marked: {reason}")?;
        }
        if let Some((bound, held, limit)) = self.bound {
            write!(f, " (the {bound} held {held} B of {limit} B)")?;
        }
        Ok(())
    }
}
