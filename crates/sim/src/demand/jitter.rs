//! Noise in the start of flows: each flow draws a delay, so that senders are not synchronised
//! to the picosecond.

use bufferlab_units::{RandomStream, Time};
use bufferlab_workload::{FlowSource, FlowSpec};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Largest number of flows that wait in memory between their random draw and their start.
pub(crate) const WAITING_MAX: usize = 1 << 20;

/// Delays the start of every flow by a draw from [0, bound], and returns flows in the order
/// of their new starts.
#[derive(Clone, Debug)]
pub(crate) struct Jitter {
    bound: Time,
    draws: RandomStream,
    /// Next flow of the source, with its start time before the random delay.
    head: Option<FlowSpec>,
    /// Flows that have drawn a random start time but have not started.
    waiting: BinaryHeap<Reverse<Waiting>>,
    drawn: u64,
    /// Whether the source has ended early, because more than [`WAITING_MAX`]
    /// flows would have had to wait.
    is_overfull: bool,
}

/// A flow with its delayed start, and the number of earlier draws, which orders flows with equal
/// starts.
#[derive(Clone, Debug)]
struct Waiting(FlowSpec, u64);

impl Waiting {
    fn key(&self) -> (Time, u64) {
        (self.0.start, self.1)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Jitter {
    /// Draws delays up to `bound` from a separate random stream.
    pub(crate) fn new(seed: u64, bound: Time, source: &mut impl FlowSource) -> Self {
        let draws = RandomStream::new(seed, "start jitter", 0);
        Self {
            bound,
            draws,
            head: source.next_flow(),
            waiting: BinaryHeap::new(),
            drawn: 0,
            is_overfull: false,
        }
    }

    /// Returns the next flow in the order of the delayed starts. Before the function returns a
    /// flow, it calls `note` for every flow of `source` with an earlier or equal start. So all
    /// flows of a query are known before the query's first flow starts.
    pub(crate) fn next_flow(
        &mut self,
        source: &mut impl FlowSource,
        mut note: impl FnMut(&FlowSpec),
    ) -> Option<FlowSpec> {
        // If the next flow of the source starts after the first waiting flow, the delayed start of
        // the next flow is also later.
        while let Some(head) = &self.head
            && self.waiting.peek().is_none_or(|Reverse(first)| head.start <= first.0.start)
        {
            self.is_overfull |= self.waiting.len() >= WAITING_MAX;
            if self.is_overfull {
                return None;
            }
            let mut flow = std::mem::replace(&mut self.head, source.next_flow()).expect("it was just seen");
            note(&flow);
            flow.start += Time(self.draws.below(self.bound.0 + 1));
            self.waiting.push(Reverse(Waiting(flow, self.drawn)));
            self.drawn += 1;
        }
        self.waiting.pop().map(|Reverse(Waiting(flow, _))| flow)
    }

    /// Whether flows are missing because more than [`WAITING_MAX`] flows would have had to wait.
    pub(crate) const fn is_overfull(&self) -> bool {
        self.is_overfull
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_workload::ListSource;

    fn flows(count: u32, gap: u64) -> Vec<FlowSpec> {
        let flow = |src: u32| FlowSpec {
            start: Time(u64::from(src) * gap),
            src,
            dst: 99,
            size: 1,
            class: 0,
            query: FlowSpec::NO_QUERY,
            open: None,
            data_path: None,
            ack_path: None,
            node: FlowSpec::NO_NODE,
        };
        (0..count).map(flow).collect()
    }

    fn drawn(seed: u64, bound: u64, flows: Vec<FlowSpec>) -> Vec<(u64, u32)> {
        let mut source = ListSource::new(flows);
        let mut jitter = Jitter::new(seed, Time(bound), &mut source);
        std::iter::from_fn(|| jitter.next_flow(&mut source, |_| ()))
            .map(|flow| (flow.start.0, flow.src))
            .collect()
    }

    #[test]
    fn every_flow_moves_by_a_draw_of_its_own_and_starts_stay_in_order() {
        let found = drawn(1, 20, flows(1_000, 3));
        assert_eq!(found.len(), 1_000);
        assert!(found.is_sorted_by_key(|&(start, _)| start));
        let shift = |&(start, src): &(u64, u32)| start - u64::from(src) * 3;
        let mut seen = [0_u32; 21];
        found.iter().for_each(|entry| seen[shift(entry) as usize] += 1);
        // Each of the 21 delays is expected 48 times. Four standard deviations of a count are 27.
        assert!(seen.iter().all(|count| (21..=75).contains(count)), "{seen:?}");
        assert!(!found.is_sorted_by_key(|&(_, src)| src), "some flows overtake others");
    }

    #[test]
    fn draws_follow_the_seed_and_flows_of_one_instant_are_all_known_before_the_first_of_them_starts() {
        assert_eq!(drawn(1, 20, flows(50, 3)), drawn(1, 20, flows(50, 3)));
        assert_ne!(drawn(1, 20, flows(50, 3)), drawn(2, 20, flows(50, 3)));
        let mut source = ListSource::new(flows(8, 0));
        let mut jitter = Jitter::new(1, Time(1_000_000), &mut source);
        let mut known = 0;
        let first = jitter.next_flow(&mut source, |_| known += 1);
        assert!(first.is_some());
        assert_eq!(known, 8);
    }
}
