//! News of a shard about flows that have started, and about the schedules.
//!
//! Only runs with schedules have news. Without schedules, all shards know all flows beforehand.

use crate::host::FlowStart;
use crate::ids::ShardId;
use crate::notes::{Ended, Note};
use crate::world::order::Order;
use crate::{SimError, Simulation};
use bufferlab_workload::FlowSpec;

/// News of one shard in a window.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) starts: Vec<(Order, FlowStart)>,
    pub(super) ended: Vec<Ended>,
    pub(super) notes: Vec<(Order, Note)>,
}

/// Lists of flows that have started, and of notes, by shard.
type Lists = (Vec<Vec<(Order, FlowStart)>>, Vec<Vec<(Order, Note)>>);

impl Simulation {
    /// News of this shard since the previous call.
    pub(super) fn take_news(&mut self) -> News {
        let Some(starts) = self.starts.as_mut().map(std::mem::take) else { return News::default() };
        let (notes, ended) = self.demand.schedules.take_news();
        News { starts, ended, notes }
    }

    /// Applies the news of all shards. Every shard numbers the flows. The shard that writes the
    /// results applies the notes.
    pub(super) fn take_all_news(&mut self, (starts, notes): Lists, ended: &[Ended]) -> Result<(), SimError> {
        let is_first = self.part.as_ref().is_some_and(|shard| shard.part == ShardId::FIRST);
        for (_, start) in merge(starts) {
            let node = start.node();
            let number = self.hosts.take_start(start)?;
            if is_first && node != FlowSpec::NO_NODE {
                self.demand.schedules.expect_flow(node, number);
            }
        }
        if is_first {
            self.demand.schedules.apply(merge(notes).into_iter().map(|(_, note)| note));
        }
        self.demand.schedules.count_ended(self.world.timers(), ended);
        Ok(())
    }
}

/// Merges the lists of all shards. Equal events keep the order of the lists.
fn merge<T>(lists: Vec<Vec<(Order, T)>>) -> Vec<(Order, T)> {
    let mut all: Vec<_> = lists.into_iter().flatten().collect();
    all.sort_by_key(|(order, _)| *order);
    all
}
