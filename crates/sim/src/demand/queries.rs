//! Queries: groups of flows. A query is complete when all its flows are complete.

use crate::host::FlowAccount;
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use std::collections::BTreeMap;

/// A query in progress: some of its flows are not complete.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) class: u16,
    pub(crate) client: u32,
    pub(crate) start: Time,
    pub(crate) started: u32,
    pub(crate) finished: u32,
    /// Number of flows of the query, if the number is known before the flows start.
    pub(crate) expected: Option<u32>,
    pub(crate) bytes: u64,
    pub(crate) last: Time,
    pub(crate) dropped: u64,
    pub(crate) timeouts: u32,
    /// Whether an answer will never be complete, because packets of an open-loop flow were lost.
    pub(crate) lossy: bool,
}

impl Query {
    /// A query without started flows. `expected` is its number of flows, if known beforehand.
    pub(super) fn new(class: u16, client: u32, start: Time, expected: Option<u32>) -> Self {
        let (started, finished, bytes, dropped, timeouts) = (0, 0, 0, 0, 0);
        let (last, lossy) = (Time::ZERO, false);
        Self { class, client, start, started, finished, expected, bytes, last, dropped, timeouts, lossy }
    }
}

/// All queries of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queries {
    /// Number of flows per query of the flow lists.
    /// The flows of a query of a flow list need not start together.
    listed: BTreeMap<u32, u32>,
    /// Number of flows per query that are announced but not started. Random delays spread the
    /// starts of flows. So a query in progress can have flows that have not started.
    due: BTreeMap<u32, u32>,
    open: BTreeMap<u32, Query>,
    finished: Vec<(u32, Query)>,
}

impl Queries {
    /// Creates the set of queries. `listed` has the number of flows per query of the flow lists.
    pub(crate) fn new(listed: BTreeMap<u32, u32>) -> Self {
        Self { listed, ..Self::default() }
    }

    /// Adds a query that a closed-loop client starts.
    pub(super) fn open(&mut self, number: u32, query: Query) {
        self.open.insert(number, query);
    }

    /// Announces a flow that will start, whether or not it belongs to a query.
    /// Every announced flow must start.
    pub(crate) fn note_due(&mut self, spec: &FlowSpec) {
        if spec.query != FlowSpec::NO_QUERY {
            *self.due.entry(spec.query).or_insert(0) += 1;
        }
    }

    /// Records the start of a flow, whether or not it belongs to a query.
    pub(crate) fn note_start(&mut self, spec: &FlowSpec) {
        if spec.query == FlowSpec::NO_QUERY {
            return;
        }
        let expected = self.listed.get(&spec.query).copied();
        let new = || Query::new(spec.class, spec.dst, spec.start, expected);
        let query = self.open.entry(spec.query).or_insert_with(new);
        query.started += 1;
        query.bytes += spec.size;
        if let Some(due) = self.due.get_mut(&spec.query) {
            *due -= 1;
            if *due == 0 {
                self.due.remove(&spec.query);
            }
        }
    }

    /// Records the end of a flow, whether or not it belongs to a query.
    pub(crate) fn note_end(&mut self, account: &FlowAccount) {
        let number = account.spec.query;
        let Some(query) = self.open.get_mut(&number) else { return };
        query.finished += 1;
        query.last = query.last.max(account.completed.unwrap_or(Time::ZERO));
        query.dropped += u64::from(account.dropped_packets);
        query.timeouts += account.counters.timeouts;
        query.lossy |= account.completed.is_none();
        let is_due = self.due.contains_key(&number);
        if !is_due && query.finished == query.expected.unwrap_or(query.started) {
            let query = self.open.remove(&number).expect("it was just found");
            self.finished.push((number, query));
        }
    }

    /// Removes and returns the queries that have ended since the previous call.
    pub(crate) fn take_finished(&mut self) -> Vec<(u32, Query)> {
        std::mem::take(&mut self.finished)
    }

    /// Queries whose flows are not all complete, each with the query's number.
    pub(crate) fn in_progress(&self) -> impl Iterator<Item = (u32, &Query)> {
        self.open.iter().map(|(&number, query)| (number, query))
    }
}
