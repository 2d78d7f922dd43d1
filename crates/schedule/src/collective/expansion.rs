//! Expands one collective to the transfers of its messages.

use super::Collective;
use crate::{Condition, NodeId, ScheduleBuilder, ScheduleError, Transfer, Work};

/// Adds transfers between positions of a group, and collects the last transfers of every rank.
pub(super) struct Expansion<'a> {
    builder: &'a mut ScheduleBuilder,
    group: &'a [u32],
    class: u16,
    entry: &'a [NodeId],
    /// For each position, the transfers that the position received last.
    received: Vec<Vec<NodeId>>,
    /// For each position, the transfers that the position sent last.
    sent: Vec<Vec<NodeId>>,
}

/// A message between two positions of the collective's group.
#[derive(Clone, Copy)]
pub(super) struct Message {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) bytes: u64,
}

impl<'a> Expansion<'a> {
    pub(super) fn new(
        builder: &'a mut ScheduleBuilder,
        collective: &Collective<'a>,
        entry: &'a [NodeId],
    ) -> Self {
        let lists = vec![Vec::new(); collective.group.len()];
        Self {
            builder,
            group: collective.group,
            class: collective.class,
            entry,
            received: lists.clone(),
            sent: lists,
        }
    }

    /// Adds a transfer that waits until its sender has received all transfers in `after`.
    /// If `after` is empty, the transfer waits for the sender's entry.
    pub(super) fn send(&mut self, message: Message, after: &[NodeId]) -> Result<NodeId, ScheduleError> {
        let Message { from, to, bytes } = message;
        let (src, dst) = (self.group[from as usize], self.group[to as usize]);
        let node = self.builder.node(Work::Transfer(Transfer {
            src,
            dst,
            bytes: bytes.max(1),
            class: self.class,
        }))?;
        for &parent in after {
            self.builder.after(node, parent, Condition::Finished)?;
        }
        if after.is_empty()
            && let Some(&entry) = self.entry.get(from as usize)
        {
            self.builder.after(node, entry, Condition::Finished)?;
        }
        Ok(node)
    }

    /// Makes `node` wait for an event of another node.
    pub(super) fn after(
        &mut self,
        node: NodeId,
        parent: NodeId,
        condition: Condition,
    ) -> Result<(), ScheduleError> {
        self.builder.after(node, parent, condition)
    }

    /// Adds a barrier that waits for all of `parents`.
    pub(super) fn join(&mut self, parents: &[NodeId]) -> Result<NodeId, ScheduleError> {
        let node = self.builder.node(Work::Barrier)?;
        for &parent in parents {
            self.builder.after(node, parent, Condition::Finished)?;
        }
        Ok(node)
    }

    /// Records `node` as a last transfer of its sender and of its receiver.
    pub(super) fn last(&mut self, node: NodeId, message: Message) {
        self.received[message.to as usize].push(node);
        self.sent[message.from as usize].push(node);
    }

    /// Adds one final barrier per rank, which waits for the rank's last messages.
    pub(super) fn finish(self) -> Result<Vec<NodeId>, ScheduleError> {
        let mut ends = Vec::with_capacity(self.group.len());
        for (position, (received, sent)) in self.received.iter().zip(&self.sent).enumerate() {
            let end = self.builder.node(Work::Barrier)?;
            for &node in received {
                self.builder.after(end, node, Condition::Finished)?;
            }
            if received.is_empty() {
                for &node in sent {
                    self.builder.after(end, node, Condition::Sent)?;
                }
            }
            if received.is_empty()
                && sent.is_empty()
                && let Some(&entry) = self.entry.get(position)
            {
                self.builder.after(end, entry, Condition::Finished)?;
            }
            ends.push(end);
        }
        Ok(ends)
    }
}

/// Size of part `index` of `bytes` divided into `parts`. Sizes of parts differ by at most one byte.
pub(super) fn part(bytes: u64, parts: u32, index: u32) -> u64 {
    let parts = u64::from(parts);
    bytes / parts + u64::from(u64::from(index) < bytes % parts)
}
