//! Comments about packets in a capture, with equal words for real and simulated packets.

use std::fmt;

/// A comment about a packet: the outcome of the packet, and the state of the buffer right after
/// this outcome.
#[derive(Clone, Copy, Debug, Default)]
pub struct Remark<'a> {
    /// Outcome of the packet in a word, such as `dropped`.
    pub event: &'a str,
    /// Port and priority of the packet's queue, such as `eth1.0`.
    pub queue: &'a str,
    /// Further text about the packet in the comment; may be empty.
    pub about: &'a str,
    /// Number of bytes in the packet's queue right after the outcome.
    pub queue_bytes: u64,
    /// Number of bytes in the switch's buffer right after the outcome.
    pub buffer_bytes: u64,
    /// Limit of the policy for the packet's queue (bytes); `None` without a limit.
    pub limit: Option<u64>,
    /// Reason for the loss, if the packet was lost.
    pub reason: Option<&'a str>,
    /// Reason why the switch marked the packet, if it has a mark.
    pub marked: Option<&'a str>,
    /// Part of the buffer that had no room for the packet, with the bytes in this part, and its
    /// limit (bytes).
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
