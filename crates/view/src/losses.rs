//! Finds losses that a user requests: the next loss, and the first packet that a query lost.

use crate::ViewError;
use crate::index::{Index, Loss};
use crate::view::View;
use crate::window::LossMark;
use bufferlab_metrics::{FlowRow, QueryRow};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of queries that a page lists.
pub(crate) const QUERIES: usize = 50;

/// Request of a page for the next or previous loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct LossWish {
    /// Time at which the search for a loss starts (ps).
    pub(crate) time: u64,
    /// Row of the packet table at which the search starts; overrides `time`.
    pub(crate) row: Option<u64>,
    /// Whether the search goes towards the start of the run.
    #[serde(default)]
    pub(crate) backwards: bool,
    pub(crate) port: Option<u16>,
    pub(crate) priority: Option<u8>,
}

impl LossWish {
    fn is_for(&self, loss: &Loss) -> bool {
        self.port.is_none_or(|port| port == loss.port)
            && self.priority.is_none_or(|priority| priority == loss.priority)
    }
}

/// A query that lost packets, in a page's list of queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct QueryLine {
    pub(crate) query: u32,
    class: String,
    client: String,
    /// Start time of the query (ps).
    pub(crate) start: u64,
    /// Duration of the query (ps); `None` if the query did not end.
    took: Option<u64>,
    /// Number of the query's packets that were lost at any switch.
    lost: u64,
}

/// Queries of the run that lost packets, and their number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Queries {
    /// The queries with the longest durations, the longest query first.
    /// A query that did not end is listed before all other queries.
    pub(crate) longest: Vec<QueryLine>,
    /// Number of queries that lost packets.
    count: usize,
    /// Number of all queries in the run.
    all: usize,
}

/// Finds the next or previous loss that a page requests.
pub(crate) fn next_loss(index: &Index, wish: &LossWish) -> Option<LossMark> {
    let losses = &index.losses;
    let found = if wish.backwards {
        let end = match wish.row {
            Some(row) => losses.partition_point(|loss| loss.row < row),
            None => losses.partition_point(|loss| loss.time <= wish.time),
        };
        losses[..end].iter().rev().find(|loss| wish.is_for(loss))
    } else {
        let first = match wish.row {
            Some(row) => losses.partition_point(|loss| loss.row <= row),
            None => losses.partition_point(|loss| loss.time < wish.time),
        };
        losses[first..].iter().find(|loss| wish.is_for(loss))
    };
    found.map(LossMark::from)
}

impl View {
    /// The queries that lost packets, longest duration first, at most `most` queries.
    pub(crate) fn queries(&self, most: usize) -> Result<Queries, ViewError> {
        let names = &self.manifest().names;
        let name = |names: &[String], at: usize| names.get(at).cloned().unwrap_or_default();
        let mut queries = Queries::default();
        self.run().visit(|row: QueryRow| {
            queries.all += 1;
            if row.dropped_packets > 0 {
                queries.longest.push(QueryLine {
                    query: row.query_id,
                    class: name(&names.classes, usize::from(row.class)),
                    client: name(&names.hosts, row.client_host as usize),
                    start: row.start_ns * 1_000,
                    took: row.qct_ns.map(|took| took * 1_000),
                    lost: row.dropped_packets,
                });
            }
        })?;
        queries.count = queries.longest.len();
        queries.longest.sort_by_key(|line| (Reverse(line.took.unwrap_or(u64::MAX)), line.query));
        queries.longest.truncate(most);
        Ok(queries)
    }

    /// Returns the first packet that a query lost at this switch; `None` if the switch lost no
    /// packet of the query.
    pub(crate) fn loss_of_query(&self, query: u32) -> Result<Option<LossMark>, ViewError> {
        Ok(self.losses_of_queries(&[query])?.remove(&query))
    }

    /// Finds the first lost packet of each of several queries.
    /// Reads the packet table once, and only the parts with losses.
    pub(crate) fn losses_of_queries(&self, queries: &[u32]) -> Result<BTreeMap<u32, LossMark>, ViewError> {
        let mut begin = u64::MAX;
        let mut flows: BTreeMap<u64, u32> = BTreeMap::new();
        self.run().visit(|row: FlowRow| {
            if let Some(query) = row.query_id.filter(|query| queries.contains(query)) {
                flows.insert(row.flow_id, query);
                begin = begin.min(row.start_ns * 1_000);
            }
        })?;
        let mut waiting: BTreeSet<u32> = queries.iter().copied().collect();
        let mut found = BTreeMap::new();
        let losses = &self.index.losses;
        let mut next = losses.partition_point(|loss| loss.time < begin);
        for group in self.groups() {
            let end = group.first_row + group.rows;
            // Losses in the current row group; most row groups have no losses.
            let last = next + losses[next..].partition_point(|loss| loss.row < end);
            let has_losses = losses[next..last].iter().any(|loss| loss.row >= group.first_row);
            if has_losses && !waiting.is_empty() {
                self.visit_group(&group, |number, row| {
                    if !row.event.is_loss() {
                        return;
                    }
                    let query = row.flow_id.and_then(|flow| flows.get(&flow));
                    if let Some(query) = query.filter(|query| waiting.remove(query))
                        && let Ok(at) = losses.binary_search_by_key(&number, |loss| loss.row)
                    {
                        found.insert(*query, LossMark::from(&losses[at]));
                    }
                })?;
            }
            next = last;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Shape;
    use bufferlab_metrics::PacketEvent;

    /// Creates an index with 5,000 losses at four ports, in which every third instant has two
    /// losses.
    fn index() -> Index {
        let loss = |number: u64| Loss {
            time: 10 * (number - u64::from(number.is_multiple_of(3))),
            row: 7 * number,
            port: (number % 4) as u16,
            priority: (number % 8 / 4) as u8,
            event: PacketEvent::Dropped,
        };
        Index {
            switch: 0,
            shape: Shape { ports: 4, queues_per_port: 2 },
            end: 1_000_000,
            width: 100,
            buckets: Vec::new(),
            losses: (1..=5_000).map(loss).collect(),
            pauses: Vec::new(),
        }
    }

    #[test]
    fn every_loss_is_reached_one_after_the_other_in_both_directions() {
        let index = index();
        for (port, priority) in [(None, None), (Some(2), None), (Some(2), Some(1))] {
            let all: Vec<_> = index.losses.iter().map(LossMark::from).collect();
            let wanted = all.iter().filter(|loss| {
                port.is_none_or(|port| port == loss.port)
                    && priority.is_none_or(|priority| priority == loss.priority)
            });
            let mut wanted: Vec<_> = wanted.map(|loss| loss.row).collect();
            for backwards in [false, true] {
                let time = if backwards { index.end } else { 0 };
                let mut wish = LossWish { time, row: None, backwards, port, priority };
                let mut met = Vec::new();
                while let Some(loss) = next_loss(&index, &wish) {
                    met.push(loss.row);
                    wish.row = Some(loss.row);
                }
                assert_eq!(met, wanted);
                wanted.reverse();
            }
        }
    }

    #[test]
    fn without_a_loss_to_go_on_from_the_time_decides() {
        let index = index();
        let at = |time: u64, backwards: bool| {
            next_loss(&index, &LossWish { time, backwards, ..LossWish::default() }).map(|loss| loss.time)
        };
        assert_eq!((at(15, false), at(15, true)), (Some(20), Some(10)));
        assert_eq!((at(20, false), at(20, true)), (Some(20), Some(20)));
        assert_eq!((at(50_001, false), at(9, true)), (None, None));
    }
}
