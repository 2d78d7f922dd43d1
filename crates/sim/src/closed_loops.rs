//! When does a client ask again? The feedback of closed loops: query complete, think, ask, request on its way, answers.

use crate::SimError;
use crate::ids::{HostId, PoolId, Table, ThreadId};
use crate::simulation::{Query, Simulation};
use crate::timers::Timer;
use bufferlab_units::Time;
use bufferlab_workload::{FlowSpec, MultiGet};
use std::collections::{BTreeMap, VecDeque};

/// A workload of closed loops.
#[derive(Debug)]
pub(crate) struct ClosedLoop {
    pub(crate) gets: MultiGet,
    pub(crate) class: u16,
    /// From a query to its answers; `None`: half of the unloaded round trip.
    pub(crate) request_delay: Option<Time>,
}

/// One client's thread.
#[derive(Debug)]
struct Thread {
    /// Which workload, and its number there.
    of: usize,
    number: u32,
    /// Number of its first pool of connections.
    pool: PoolId,
    /// Answers of its query that are not complete.
    missing: u32,
    /// Requests that are on their way: when they arrive, what is then sent, and over which connection. Ordered by time.
    requests: VecDeque<(Time, FlowSpec, PoolId)>,
}

/// All closed loops of a run.
#[derive(Debug, Default)]
pub(crate) struct ClosedLoops {
    loops: Vec<ClosedLoop>,
    threads: Table<ThreadId, Thread>,
    /// By query under way: its thread.
    queries: BTreeMap<u32, ThreadId>,
    /// Threads that have not ended.
    active: usize,
}

impl ClosedLoops {
    pub(crate) fn new(loops: Vec<ClosedLoop>) -> Self {
        let (mut threads, mut pool) = (Table::default(), crate::connections::COMMON.0 + 1);
        for (of, closed) in loops.iter().enumerate() {
            for number in 0..closed.gets.threads() {
                threads.push(Thread {
                    of,
                    number,
                    pool: PoolId(pool),
                    missing: 0,
                    requests: VecDeque::new(),
                });
                pool += closed.gets.connections();
            }
        }
        Self { loops, threads, queries: BTreeMap::new(), active: 0 }
    }

    /// Whether every thread has ended.
    pub(crate) fn are_over(&self) -> bool {
        self.active == 0
    }
}

impl Simulation {
    /// Every thread's first question.
    pub(crate) fn start_closed_loops(&mut self) {
        for index in self.closed_loops.threads.ids() {
            let Thread { of, number, .. } = self.closed_loops.threads[index];
            if let Some(first) = self.closed_loops.loops[of].gets.first(number) {
                self.closed_loops.active += 1;
                self.timers.push(first, Timer::Ask(index));
            }
        }
    }

    /// A thread asks.
    pub(crate) fn handle_ask(&mut self, index: ThreadId) {
        let thread = &mut self.closed_loops.threads[index];
        let closed = &mut self.closed_loops.loops[thread.of];
        let Some(query) = closed.gets.ask(thread.number) else {
            self.closed_loops.active -= 1;
            return;
        };
        thread.missing = query.answers.len() as u32;
        for answer in &query.answers {
            let round_trip = || self.routes.base_rtt(HostId::new(answer.server), HostId::new(query.client));
            let arrival = self.now + closed.request_delay.unwrap_or_else(|| Time(round_trip().0 / 2));
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
            };
            // Requests that arrive together are answered in the order of the query.
            let place = thread.requests.partition_point(|request| request.0 <= arrival);
            thread.requests.insert(place, (arrival, spec, PoolId(thread.pool.0 + answer.connection)));
        }
        let first = thread.requests.front().expect("a query asks for something").0;
        self.closed_loops.queries.insert(query.number, index);
        let noted = Query {
            class: closed.class,
            client: query.client,
            start: self.now,
            started: 0,
            finished: 0,
            expected: Some(query.answers.len() as u32),
            bytes: 0,
            last: Time::ZERO,
            dropped: 0,
            timeouts: 0,
            lossy: false,
        };
        self.queries.insert(query.number, noted);
        self.timers.push(first, Timer::Request(index));
    }

    /// A thread's request has reached one server or several.
    pub(crate) fn handle_request(&mut self, index: ThreadId) -> Result<(), SimError> {
        while let Some(next) = self.closed_loops.threads[index].requests.front() {
            if next.0 > self.now {
                self.timers.push(next.0, Timer::Request(index));
                break;
            }
            let request = self.closed_loops.threads[index].requests.pop_front();
            let (_, spec, pool) = request.expect("it was just seen");
            self.start_message(spec, pool)?;
        }
        Ok(())
    }

    /// An answer has arrived as a whole: with the last one of its query, the thread begins to think about the next.
    #[cold]
    pub(crate) fn note_answer(&mut self, query: u32) {
        let Some(&index) = self.closed_loops.queries.get(&query) else { return };
        let thread = &mut self.closed_loops.threads[index];
        thread.missing -= 1;
        if thread.missing > 0 {
            return;
        }
        let next = self.closed_loops.loops[thread.of].gets.next(thread.number, self.now);
        self.closed_loops.queries.remove(&query);
        match next {
            Some(at) => self.timers.push(at, Timer::Ask(index)),
            None => self.closed_loops.active -= 1,
        }
    }
}
