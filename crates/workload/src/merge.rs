//! Merges the flows of several sources into one sequence.

use crate::{FlowSource, FlowSpec};
use bufferlab_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

/// Source that returns the flows of a given list in the order of their starts.
#[derive(Clone, Debug)]
pub struct ListSource {
    flows: std::vec::IntoIter<FlowSpec>,
}

impl ListSource {
    /// Creates a source that returns `flows` by start. Flows with equal starts keep
    /// the given order.
    #[must_use]
    pub fn new(mut flows: Vec<FlowSpec>) -> Self {
        flows.sort_by_key(|flow| flow.start);
        Self { flows: flows.into_iter() }
    }
}

impl FlowSource for ListSource {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        self.flows.next()
    }

    fn boxed_clone(&self) -> Option<Box<dyn FlowSource>> {
        Some(Box::new(self.clone()))
    }
}

/// Several sources merged by start; flows with equal starts are in the order of their sources.
///
/// The flows are unchanged: classes must already be indices into one table. Queries must have
/// distinct numbers ([`crate::QueryNumbers::interleaved`], [`crate::renumber_queries`]).
pub struct MergeSource {
    sources: Vec<Box<dyn FlowSource>>,
    /// Next flow of every source; `None` after its last flow.
    heads: Vec<Option<FlowSpec>>,
    /// Start of each flow in `heads`, with the index of its source.
    order: BinaryHeap<Reverse<(Time, usize)>>,
}

impl MergeSource {
    /// Merges sources, and takes the first flow of each source.
    #[must_use]
    pub fn new(sources: Vec<Box<dyn FlowSource>>) -> Self {
        let heads = sources.iter().map(|_| None).collect();
        let mut this = Self { order: BinaryHeap::with_capacity(sources.len()), sources, heads };
        for index in 0..this.sources.len() {
            this.refill(index);
        }
        this
    }

    /// Copies the source, so that the copy returns equal flows from now on. `None` if one of the
    /// merged sources cannot be copied ([`FlowSource::boxed_clone`]).
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        let sources = self.sources.iter().map(|source| source.boxed_clone()).collect::<Option<_>>()?;
        Some(Self { sources, heads: self.heads.clone(), order: self.order.clone() })
    }

    /// Removes the next flow of source `index`, and requests the following flow from the source.
    fn refill(&mut self, index: usize) -> Option<FlowSpec> {
        let next = self.sources[index].next_flow();
        if let Some(flow) = &next {
            self.order.push(Reverse((flow.start, index)));
        }
        std::mem::replace(&mut self.heads[index], next)
    }
}

impl FlowSource for MergeSource {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let Reverse((start, index)) = self.order.pop()?;
        let flow = self.refill(index);
        debug_assert!(
            self.heads[index].as_ref().is_none_or(|next| next.start >= start),
            "source {index} went back in time"
        );
        flow
    }
}

impl fmt::Debug for MergeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeSource").field("heads", &self.heads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(start: u64, src: u32) -> FlowSpec {
        FlowSpec {
            start: Time(start),
            src,
            dst: 99,
            size: 1,
            class: 0,
            query: FlowSpec::NO_QUERY,
            open: None,
            data_path: None,
            ack_path: None,
            node: FlowSpec::NO_NODE,
        }
    }

    fn drain(mut source: impl FlowSource) -> Vec<(u64, u32)> {
        let flows = std::iter::from_fn(|| source.next_flow()).map(|flow| (flow.start.0, flow.src)).collect();
        assert!(source.next_flow().is_none(), "an exhausted source stays exhausted");
        flows
    }

    #[test]
    fn a_list_is_sorted_by_start_and_keeps_the_order_of_ties() {
        let list = ListSource::new(vec![flow(5, 0), flow(3, 1), flow(5, 2), flow(3, 3)]);
        assert_eq!(drain(list), [(3, 1), (3, 3), (5, 0), (5, 2)]);
    }

    #[test]
    fn a_merge_is_ordered_by_start_and_then_by_source() {
        let lists = [
            vec![flow(2, 0), flow(4, 0), flow(4, 1)],
            vec![],
            vec![flow(1, 10), flow(4, 10), flow(9, 10)],
            vec![flow(4, 20)],
        ];
        let sources =
            lists.into_iter().map(|list| Box::new(ListSource::new(list)) as Box<dyn FlowSource>).collect();
        assert_eq!(
            drain(MergeSource::new(sources)),
            [(1, 10), (2, 0), (4, 0), (4, 1), (4, 10), (4, 20), (9, 10)]
        );
        assert_eq!(drain(MergeSource::new(Vec::new())), []);
    }
}
