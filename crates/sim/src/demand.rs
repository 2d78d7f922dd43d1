//! Demand on the network: flows due to start, queries in progress, and closed-loop clients.

pub(crate) mod closed_loops;
pub(crate) mod jitter;
pub(crate) mod queries;

use crate::ids::{PoolId, ThreadId};
use crate::world::World;
use bufferlab_units::Time;
use bufferlab_workload::{FlowSource, FlowSpec, MergeSource};
use closed_loops::ClosedLoops;
use jitter::Jitter;
use queries::Queries;

/// All traffic that a run must send.
pub(crate) struct Demand {
    source: MergeSource,
    jitter: Option<Jitter>,
    next_flow: Option<FlowSpec>,
    /// Start of `next_flow`. It is cached because the engine reads it before every event.
    next_start: Time,
    pub(crate) queries: Queries,
    closed_loops: ClosedLoops,
}

impl Demand {
    /// Merges the demand of a run. `noise` is the largest random delay of the start of an open
    /// workload's flow. `seed` is the run's seed.
    pub(crate) fn new(
        mut source: MergeSource,
        queries: Queries,
        closed_loops: ClosedLoops,
        (noise, seed): (Time, u64),
    ) -> Self {
        let jitter = (noise > Time::ZERO).then(|| Jitter::new(seed, noise, &mut source));
        let mut this = Self { source, jitter, next_flow: None, next_start: Time::MAX, queries, closed_loops };
        this.advance();
        this
    }

    fn draw_flow(&mut self) -> Option<FlowSpec> {
        match &mut self.jitter {
            None => self.source.next_flow(),
            Some(jitter) => jitter.next_flow(&mut self.source, |flow| self.queries.note_due(flow)),
        }
    }

    /// Whether more flows wait for their jittered start than the memory limit allows.
    pub(crate) fn is_overfull(&self) -> bool {
        self.jitter.as_ref().is_some_and(Jitter::is_overfull)
    }

    /// Start of the next flow of an open workload. [`Time::MAX`] if there is no next flow.
    #[inline]
    pub(crate) fn next_start(&self) -> Time {
        self.next_start
    }

    /// Removes and returns the flow that is due.
    pub(crate) fn take_flow(&mut self) -> FlowSpec {
        let flow = self.next_flow.take().expect("a flow is due");
        self.advance();
        flow
    }

    fn advance(&mut self) {
        self.next_flow = self.draw_flow();
        self.next_start = self.next_flow.as_ref().map_or(Time::MAX, |flow| flow.start);
    }

    /// Whether no further flow and no further request will start.
    pub(crate) fn is_over(&self) -> bool {
        self.next_flow.is_none() && self.closed_loops.are_over()
    }

    /// Whether the run has closed-loop clients, which send the next request after an answer.
    pub(crate) fn has_closed_loops(&self) -> bool {
        self.closed_loops.exist()
    }

    /// Schedules the first request of every closed-loop thread.
    pub(crate) fn start_closed_loops(&mut self, world: &mut World) {
        self.closed_loops.start(world.timers());
    }

    /// Sends the next request of a closed-loop thread.
    pub(crate) fn handle_ask(&mut self, world: &mut World, thread: ThreadId) {
        if let Some((number, query)) = self.closed_loops.ask(world, thread) {
            self.queries.open(number, query);
        }
    }

    /// Next answer to a request of `thread` that has reached its server,
    /// with the answer's connection pool.
    pub(crate) fn next_answer(&mut self, world: &mut World, thread: ThreadId) -> Option<(FlowSpec, PoolId)> {
        self.closed_loops.next_answer(world, thread)
    }

    /// Records that an answer of `query` has arrived completely.
    pub(crate) fn note_answer(&mut self, world: &mut World, query: u32) {
        self.closed_loops.note_answer(world, query);
    }
}
