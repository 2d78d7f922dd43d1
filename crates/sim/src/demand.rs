//! Demand on the network: flows due to start, queries in progress, and closed-loop clients.

mod chronicle;
pub(crate) mod closed_loops;
mod coupling;
pub(crate) mod jitter;
pub(crate) mod queries;
mod rank_times;
pub(crate) mod schedules;
mod share;
mod trail;

use crate::ids::{PoolId, ThreadId};
use crate::world::World;
use crate::world::timers::Timer;
use bufferlab_metrics::{RunSink, ScheduleRow};
use bufferlab_schedule::Condition;
use bufferlab_units::Time;
use bufferlab_workload::{FlowSource, FlowSpec, MergeSource};
use closed_loops::ClosedLoops;
use jitter::Jitter;
use queries::Queries;
use schedules::Schedules;

/// All traffic that a run must send: flows, queries, closed loops and schedules.
pub(crate) struct Demand {
    source: MergeSource,
    jitter: Option<Jitter>,
    next_flow: Option<FlowSpec>,
    /// Start time of the flow `next_flow`. The time is cached because the engine reads it before
    /// every event.
    next_start: Time,
    pub(crate) queries: Queries,
    closed_loops: ClosedLoops,
    pub(crate) schedules: Schedules,
    /// Number of flows of open workloads that have been taken.
    taken: u64,
}

impl Demand {
    /// Combines all traffic of a run into one demand. `noise` is the largest random delay of the
    /// start of an open workload's flow. `seed` is the run's seed.
    pub(crate) fn new(
        mut source: MergeSource,
        queries: Queries,
        (closed_loops, schedules): (ClosedLoops, Schedules),
        (noise, seed): (Time, u64),
    ) -> Self {
        let jitter = (noise > Time::ZERO).then(|| Jitter::new(seed, noise, &mut source));
        let (next_flow, next_start) = (None, Time::MAX);
        let mut this =
            Self { source, jitter, next_flow, next_start, queries, closed_loops, schedules, taken: 0 };
        this.advance();
        this
    }

    /// Copies the demand, so that the copy yields equal flows from now on. `None` if a source of
    /// flows or a closed loop cannot be copied.
    pub(crate) fn try_clone(&self) -> Option<Self> {
        Some(Self {
            source: self.source.try_clone()?,
            jitter: self.jitter.clone(),
            next_flow: self.next_flow.clone(),
            next_start: self.next_start,
            queries: self.queries.clone(),
            closed_loops: self.closed_loops.try_clone()?,
            schedules: self.schedules.clone(),
            taken: self.taken,
        })
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

    /// Start time of the next flow of an open workload. [`Time::MAX`] if no flow is left.
    #[inline]
    pub(crate) fn next_start(&self) -> Time {
        self.next_start
    }

    /// Next flow of the open workloads, whose start time is [`Self::next_start`].
    pub(crate) fn next_flow(&self) -> Option<&FlowSpec> {
        self.next_flow.as_ref()
    }

    /// Removes and returns the next flow of the open workloads, whose start time has come.
    pub(crate) fn take_flow(&mut self) -> FlowSpec {
        let flow = self.next_flow.take().expect("a flow is due");
        self.taken += 1;
        self.schedules.set_open_flow(flow.start, self.taken);
        self.advance();
        flow
    }

    /// Sets the timer that expires now, for the notes of schedules in a shard. `None` if the next
    /// event is a link event.
    pub(crate) fn set_timer(&mut self, now: Time, timer: Option<Timer>) {
        self.schedules.set_timer(now, timer);
    }

    fn advance(&mut self) {
        self.next_flow = self.draw_flow();
        self.next_start = self.next_flow.as_ref().map_or(Time::MAX, |flow| flow.start);
    }

    /// Whether no further flow and no further request will start.
    pub(crate) fn is_over(&self) -> bool {
        self.next_flow.is_none() && self.closed_loops.are_over() && self.schedules.are_over()
    }

    /// Whether the run has closed-loop clients, which send the next request after an answer.
    pub(crate) fn has_closed_loops(&self) -> bool {
        self.closed_loops.exist()
    }

    /// Whether the scenario has a workload that executes a schedule.
    pub(crate) fn has_schedules(&self) -> bool {
        self.schedules.exist()
    }

    /// Sets timers for the first request of every closed-loop thread, and for the first nodes of
    /// every schedule.
    pub(crate) fn start_dependent_traffic(&mut self, world: &mut World) {
        self.closed_loops.start(world.timers());
        self.schedules.start(world.timers());
    }

    /// Releases the schedule nodes whose awaited event was delayed until now.
    pub(crate) fn handle_schedule_release(&mut self, world: &mut World) {
        self.schedules.handle_release(world);
    }

    /// Begins the next execution of a schedule.
    pub(crate) fn handle_schedule_begin(&mut self, world: &mut World, index: u32) {
        self.schedules.handle_begin(world, index);
    }

    /// Ends the current step of a schedule node. Returns the flow that begins now, if any.
    pub(crate) fn handle_schedule_step(&mut self, world: &mut World, node: u32) -> Option<FlowSpec> {
        self.schedules.handle_step(world, node)
    }

    /// Records the number of the flow that executes a schedule node.
    pub(crate) fn note_scheduled_flow(&mut self, node: u32, flow: u64) {
        self.schedules.note_flow(node, flow);
    }

    /// Records an event of the flow that executes a schedule node, if the flow belongs to a
    /// schedule.
    pub(crate) fn note_event(&mut self, world: &mut World, node: u32, event: Condition) {
        if node != FlowSpec::NO_NODE {
            self.schedules.note_event(world, node, event);
        }
    }

    /// Writes the rows of schedules that are complete since the previous call.
    pub(crate) fn flush_schedules(&mut self, sink: &mut dyn RunSink) -> std::io::Result<()> {
        self.schedules.flush(sink)
    }

    /// Result rows of the schedule nodes that are in progress when the run ends.
    pub(crate) fn unfinished_schedule(&self) -> impl Iterator<Item = ScheduleRow> + '_ {
        self.schedules.unfinished()
    }

    /// Sends the next request of a closed-loop thread.
    pub(crate) fn handle_ask(&mut self, world: &mut World, thread: ThreadId) {
        if let Some((number, query)) = self.closed_loops.ask(world, thread) {
            self.queries.open(number, query);
        }
    }

    /// Returns the next flow that answers a request of `thread` at its server, with the flow's
    /// connection pool.
    pub(crate) fn next_answer(&mut self, world: &mut World, thread: ThreadId) -> Option<(FlowSpec, PoolId)> {
        self.closed_loops.next_answer(world, thread)
    }

    /// Records that an answer of `query` has arrived completely.
    pub(crate) fn note_answer(&mut self, world: &mut World, query: u32) {
        self.closed_loops.note_answer(world, query);
    }
}
