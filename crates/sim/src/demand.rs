//! What is asked of the network: flows as they are due, queries in progress, clients that ask
//! again.

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

/// All traffic of a run.
pub(crate) struct Demand {
    source: MergeSource,
    jitter: Option<Jitter>,
    next_flow: Option<FlowSpec>,
    /// When it starts: the engine asks before every event.
    next_start: Time,
    pub(crate) queries: Queries,
    closed_loops: ClosedLoops,
}

impl Demand {
    /// `noise`: how much later flows of open workloads may start, and the run's seed.
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

    /// Whether more flows would wait for their jittered start than may be in memory.
    pub(crate) fn is_overfull(&self) -> bool {
        self.jitter.as_ref().is_some_and(Jitter::is_overfull)
    }

    /// When the next flow of an open workload starts; [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next_start(&self) -> Time {
        self.next_start
    }

    /// Takes the flow that is due.
    pub(crate) fn take_flow(&mut self) -> FlowSpec {
        let flow = self.next_flow.take().expect("a flow is due");
        self.advance();
        flow
    }

    fn advance(&mut self) {
        self.next_flow = self.draw_flow();
        self.next_start = self.next_flow.as_ref().map_or(Time::MAX, |flow| flow.start);
    }

    /// Nobody will ask for anything any more.
    pub(crate) fn is_over(&self) -> bool {
        self.next_flow.is_none() && self.closed_loops.are_over()
    }

    /// Whether anybody asks again once it is answered.
    pub(crate) fn has_closed_loops(&self) -> bool {
        self.closed_loops.exist()
    }

    /// Threads of closed loops ask for the first time.
    pub(crate) fn start_closed_loops(&mut self, world: &mut World) {
        self.closed_loops.start(world.timers());
    }

    /// A thread of a closed loop asks.
    pub(crate) fn handle_ask(&mut self, world: &mut World, thread: ThreadId) {
        if let Some((number, query)) = self.closed_loops.ask(world, thread) {
            self.queries.open(number, query);
        }
    }

    /// The next answer to a request of a thread that has reached its server by now, and the pool of
    /// its connection.
    pub(crate) fn next_answer(&mut self, world: &mut World, thread: ThreadId) -> Option<(FlowSpec, PoolId)> {
        self.closed_loops.next_answer(world, thread)
    }

    /// An answer has arrived as a whole.
    pub(crate) fn note_answer(&mut self, world: &mut World, query: u32) {
        self.closed_loops.note_answer(world, query);
    }
}
