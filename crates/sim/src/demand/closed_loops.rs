//! Closed loops: a client thread sends the requests of a query, and servers answer. After a
//! complete query, the thread waits for its think time before the next query.

use super::queries::Query;
use crate::ids::{HostId, PoolId, Table, ThreadId};
use crate::world::World;
use crate::world::timers::{Timer, Timers};
use bufferlab_units::Time;
use bufferlab_workload::{FlowSpec, LoopTraffic};
use std::collections::{BTreeMap, VecDeque};

/// A thread of a closed-loop client.
#[derive(Clone, Debug)]
struct Thread {
    /// Index of the thread's workload (`of`), and number of the thread within the workload.
    of: usize,
    number: u32,
    /// Number of the first connection pool of the thread.
    pool: PoolId,
    /// Number of incomplete answers of the current query.
    missing: u32,
    /// Requests in flight, ordered by time. Each request has its arrival time at the server, the
    /// flow that answers the request, and the flow's connection pool.
    requests: VecDeque<(Time, FlowSpec, PoolId)>,
}

/// All closed loops of a run, with their threads.
#[derive(Debug, Default)]
pub(crate) struct ClosedLoops {
    loops: Vec<LoopTraffic>,
    threads: Table<ThreadId, Thread>,
    /// Thread of each query in progress, by the number of the query.
    queries: BTreeMap<u32, ThreadId>,
    /// Number of client threads that will send another query or wait for answers.
    active: usize,
}

impl ClosedLoops {
    pub(crate) fn new(loops: Vec<LoopTraffic>) -> Self {
        let (mut threads, mut pool) = (Table::default(), crate::host::connections::COMMON.0 + 1);
        for (of, closed) in loops.iter().enumerate() {
            for number in 0..closed.queries.threads() {
                threads.push(Thread {
                    of,
                    number,
                    pool: PoolId(pool),
                    missing: 0,
                    requests: VecDeque::new(),
                });
                pool += closed.queries.connections();
            }
        }
        Self { loops, threads, queries: BTreeMap::new(), active: 0 }
    }

    /// Copies all closed loops with their state. `None` if a loop cannot be copied.
    pub(super) fn try_clone(&self) -> Option<Self> {
        Some(Self {
            loops: self.loops.iter().map(LoopTraffic::try_clone).collect::<Option<_>>()?,
            threads: self.threads.clone(),
            queries: self.queries.clone(),
            active: self.active,
        })
    }

    /// Whether the scenario has a closed-loop client.
    pub(super) fn exist(&self) -> bool {
        !self.loops.is_empty()
    }

    /// Whether every thread of the closed loop is finished.
    pub(super) fn are_over(&self) -> bool {
        self.active == 0
    }

    /// Sets the timer for the first request of every client thread.
    pub(super) fn start(&mut self, timers: &mut Timers) {
        for (id, thread) in self.threads.entries() {
            if let Some(first) = self.loops[thread.of].queries.first(thread.number) {
                self.active += 1;
                timers.push(first, Timer::Ask(id));
            }
        }
    }

    /// Lets a thread send its next query. Returns the query and its number.
    /// `None` if the thread is finished.
    pub(super) fn ask(&mut self, world: &mut World, id: ThreadId) -> Option<(u32, Query)> {
        let now = world.now();
        let thread = &mut self.threads[id];
        let closed = &mut self.loops[thread.of];
        let Some(query) = closed.queries.ask(thread.number) else {
            self.active -= 1;
            return None;
        };
        let answers =
            u32::try_from(query.answers.len()).expect("a query asks fewer servers than there are hosts");
        thread.missing = answers;
        for answer in &query.answers {
            let ends = || (HostId::new(answer.server), HostId::new(query.client));
            let round_trip = || world.routes().base_rtt(ends().0, ends().1);
            let arrival = now + closed.request_delay.unwrap_or_else(|| Time(round_trip().0 / 2));
            let spec = FlowSpec {
                start: arrival,
                src: answer.server,
                dst: query.client,
                size: answer.size,
                class: closed.class,
                query: query.number,
                open: None,
                data_path: None,
                ack_path: None,
                node: FlowSpec::NO_NODE,
            };
            // Requests with equal arrival times keep the order of their answers in the query.
            let place = thread.requests.partition_point(|request| request.0 <= arrival);
            thread.requests.insert(place, (arrival, spec, PoolId(thread.pool.0 + answer.connection)));
        }
        let first = thread.requests.front().expect("a query asks for something").0;
        self.queries.insert(query.number, id);
        world.timers().push(first, Timer::Request(id));
        Some((query.number, Query::new(closed.class, query.client, now, Some(answers))))
    }

    /// Returns the next flow that answers a request of the thread at its server.
    pub(super) fn next_answer(&mut self, world: &mut World, id: ThreadId) -> Option<(FlowSpec, PoolId)> {
        let requests = &mut self.threads[id].requests;
        let due = requests.front()?.0;
        if due > world.now() {
            world.timers().push(due, Timer::Request(id));
            return None;
        }
        requests.pop_front().map(|(_, spec, pool)| (spec, pool))
    }

    /// Records a complete answer. After the last answer of its query,
    /// the thread begins to think before the next query.
    #[cold]
    pub(super) fn note_answer(&mut self, world: &mut World, query: u32) {
        let Some(&id) = self.queries.get(&query) else { return };
        let thread = &mut self.threads[id];
        thread.missing -= 1;
        if thread.missing > 0 {
            return;
        }
        let next = self.loops[thread.of].queries.next(thread.number, world.now());
        self.queries.remove(&query);
        match next {
            Some(at) => world.timers().push(at, Timer::Ask(id)),
            None => self.active -= 1,
        }
    }
}
