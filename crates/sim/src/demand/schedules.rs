//! Execution of schedules: a node starts when the events that it waits for have happened.

use crate::world::World;
use crate::world::timers::{Timer, Timers};
use bufferlab_metrics::{NodeKind, ScheduleRow};
use bufferlab_schedule::{Condition, NodeId, Transfer, Work};
use bufferlab_units::Time;
use bufferlab_workload::{FlowSpec, ScaleUp, ScheduleTraffic};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

/// All schedules of a run. Their nodes are numbered in one sequence.
#[derive(Debug, Default)]
pub(crate) struct Schedules {
    running: Vec<Running>,
    /// Nodes that are ready or in progress.
    live: BTreeMap<u32, Live>,
    /// Events that take effect after a delay: the time, the node that waits, and the node whose
    /// event it was (in its schedule).
    delayed: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Rows that are not written yet.
    rows: Vec<ScheduleRow>,
}

/// The node does not wait for another event.
#[derive(Clone, Copy, Debug)]
struct Live {
    step: Step,
    ready: Time,
    start: Option<Time>,
    /// Node of this schedule whose event was the last that ended the wait of the node.
    after: Option<u32>,
    flow: Option<u64>,
}

/// Step of a live node, which ends with its next timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The node has no unfinished parents and waits for its start time.
    Ready,
    /// A computation, or a transfer inside a server whose last byte was sent at the start of this
    /// step.
    Last,
    /// A transfer inside a server is sent. The time is the end of its reception.
    Sending(Time),
    /// A flow, which ends with an event of its hosts.
    Flow,
}

/// A schedule in execution.
#[derive(Debug)]
struct Running {
    traffic: ScheduleTraffic,
    /// Number of the first node in the sequence of all nodes.
    base: u32,
    iteration: u32,
    /// Start time of the schedule's current execution.
    origin: Time,
    /// Events that each node waits for.
    waits: Vec<u32>,
    /// Number of nodes that are not done.
    left: usize,
    /// Busy processors by rank and lane, with the computations that wait.
    processors: BTreeMap<(u32, u8), VecDeque<u32>>,
    /// For each rank, the times at which it can next send and next receive inside its server.
    cards: Vec<[Time; 2]>,
}

impl Running {
    fn new(traffic: ScheduleTraffic, base: u32) -> Self {
        let ranks = if traffic.scale_up.is_some() { traffic.schedule.ranks() as usize } else { 0 };
        Self {
            traffic,
            base,
            iteration: 0,
            origin: Time::ZERO,
            waits: Vec::new(),
            left: 0,
            processors: BTreeMap::new(),
            cards: vec![[Time::ZERO; 2]; ranks],
        }
    }

    /// Begins an execution now. Returns the nodes that wait for no event, with their times.
    fn begin(&mut self, now: Time) -> Vec<(NodeId, Time)> {
        let schedule = &self.traffic.schedule;
        self.left = schedule.len();
        self.origin = now;
        self.waits = schedule.nodes().map(|node| schedule.waits(node)).collect();
        let roots = schedule.nodes().filter(|&node| schedule.waits(node) == 0);
        roots.map(|node| (node, now + schedule.start(node))).collect()
    }

    /// Network inside the server of both ranks of a transfer, if there is one.
    fn scale_up(&self, transfer: Transfer) -> Option<ScaleUp> {
        let inside = self.traffic.scale_up?;
        let server = |rank: u32| rank / inside.ranks_per_server;
        (server(transfer.src) == server(transfer.dst)).then_some(inside)
    }

    /// Reserves the network inside a server for a transfer. Returns the start and the end of the
    /// transmission, and the end of the reception. Every rank sends and receives one transfer at a
    /// time. The latency is the same for all, so that transfers are received in the order of their
    /// starts.
    fn reserve(&mut self, inside: ScaleUp, transfer: Transfer, now: Time) -> [Time; 3] {
        let length = inside.rate.serialization(transfer.bytes);
        let start = now.max(self.cards[transfer.src as usize][0]);
        self.cards[transfer.src as usize][0] = start + length;
        let received = (start + inside.latency).max(self.cards[transfer.dst as usize][1]) + length;
        self.cards[transfer.dst as usize][1] = received;
        [start, start + length, received]
    }

    /// Row of a node; `None` for a barrier.
    fn row(&self, index: usize, number: u32, live: &Live, end: Option<Time>) -> Option<ScheduleRow> {
        let node = NodeId(number - self.base);
        let (kind, rank, peer_rank, class, size_bytes) = match self.traffic.schedule.work(node) {
            Work::Transfer(Transfer { src, dst, bytes, class }) => {
                let class = self.traffic.classes[usize::from(class)];
                (NodeKind::Transfer, src, Some(dst), Some(class), Some(bytes))
            }
            Work::Compute { rank, .. } => (NodeKind::Compute, rank, None, None, None),
            Work::Barrier => return None,
        };
        Some(ScheduleRow {
            schedule: index as u32,
            iteration: self.iteration,
            node: node.0,
            kind,
            rank,
            peer_rank,
            host: self.traffic.hosts[rank as usize],
            class,
            size_bytes,
            flow_id: live.flow,
            after_node: live.after,
            ready_ps: live.ready.0,
            start_ps: live.start.map(|start| start.0),
            end_ps: end.map(|end| end.0),
        })
    }
}

impl Schedules {
    pub(crate) fn new(all: Vec<ScheduleTraffic>) -> Self {
        let mut this = Self::default();
        let mut base = 0;
        for traffic in all {
            let nodes = traffic.schedule.len() as u32;
            this.running.push(Running::new(traffic, base));
            base += nodes;
        }
        this
    }

    /// Whether the run has a schedule.
    pub(super) fn exist(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether every schedule has ended.
    pub(super) fn are_over(&self) -> bool {
        self.running.iter().all(|one| one.iteration == one.traffic.iterations)
    }

    /// Sets a timer for the first execution of every schedule.
    pub(super) fn start(&mut self, timers: &mut Timers) {
        for (index, running) in (0..).zip(&self.running) {
            timers.push(running.traffic.start, Timer::ScheduleBegin(index));
        }
    }

    fn begin(&mut self, timers: &mut Timers, index: usize, now: Time) {
        let running = &mut self.running[index];
        let roots = running.begin(now);
        let base = running.base;
        for (node, at) in roots {
            self.make_ready(timers, base + node.0, at, None);
        }
        if self.running[index].left == 0 {
            // A schedule without nodes.
            self.running[index].iteration = self.running[index].traffic.iterations;
        }
    }

    /// Index of the schedule of a node.
    fn schedule_of(&self, number: u32) -> usize {
        self.running.partition_point(|one| one.base <= number) - 1
    }

    fn make_ready(&mut self, timers: &mut Timers, number: u32, at: Time, after: Option<u32>) {
        let live = Live { step: Step::Ready, ready: at, start: None, after, flow: None };
        self.live.insert(number, live);
        timers.push(at, Timer::ScheduleStep(number));
    }

    /// Lets events take effect whose delay has passed.
    pub(super) fn handle_release(&mut self, world: &mut World) {
        let now = world.now();
        while let Some(&Reverse((time, child, cause))) = self.delayed.peek()
            && time <= now
        {
            self.delayed.pop();
            self.release(world.timers(), child, now, cause);
        }
    }

    /// Begins the next execution of the schedule with this index.
    pub(super) fn handle_begin(&mut self, world: &mut World, index: u32) {
        let now = world.now();
        self.begin(world.timers(), index as usize, now);
    }

    /// Ends a step of a node. Returns the flow that begins now.
    pub(super) fn handle_step(&mut self, world: &mut World, number: u32) -> Option<FlowSpec> {
        let (now, index) = (world.now(), self.schedule_of(number));
        let timers = world.timers();
        match self.live[&number].step {
            Step::Ready => return self.begin_node(timers, index, number, now),
            Step::Last => self.finish(timers, index, number, now),
            Step::Sending(received) => {
                self.set_step(number, Step::Last);
                timers.push(received, Timer::ScheduleStep(number));
                self.tell(timers, index, number, Condition::Sent, (now, now));
            }
            Step::Flow => unreachable!("a flow has no timer"),
        }
        None
    }

    fn set_step(&mut self, number: u32, step: Step) {
        self.live.get_mut(&number).expect("the node is live").step = step;
    }

    /// Starts a node that is ready, or queues it at its processor.
    fn begin_node(&mut self, timers: &mut Timers, index: usize, number: u32, now: Time) -> Option<FlowSpec> {
        let running = &mut self.running[index];
        match running.traffic.schedule.work(NodeId(number - running.base)) {
            Work::Barrier => {
                self.start_node(timers, index, number, (now, now));
                self.finish(timers, index, number, now);
            }
            Work::Compute { rank, lane, .. } => {
                if let Some(waiting) = running.processors.get_mut(&(rank, lane)) {
                    waiting.push_back(number);
                } else {
                    running.processors.insert((rank, lane), VecDeque::new());
                    self.compute(timers, index, number, now);
                }
            }
            Work::Transfer(transfer) => {
                let Some(inside) = running.scale_up(transfer) else {
                    let spec = FlowSpec {
                        start: now,
                        src: running.traffic.hosts[transfer.src as usize],
                        dst: running.traffic.hosts[transfer.dst as usize],
                        size: transfer.bytes,
                        class: running.traffic.classes[usize::from(transfer.class)],
                        query: FlowSpec::NO_QUERY,
                        open: None,
                        data_path: None,
                        ack_path: None,
                        node: number,
                    };
                    self.set_step(number, Step::Flow);
                    self.start_node(timers, index, number, (now, now));
                    return Some(spec);
                };
                let [start, sent, received] = running.reserve(inside, transfer, now);
                self.set_step(number, Step::Sending(received));
                self.start_node(timers, index, number, (now, start));
                timers.push(sent, Timer::ScheduleStep(number));
            }
        }
        None
    }

    /// Starts a computation at an idle processor.
    fn compute(&mut self, timers: &mut Timers, index: usize, number: u32, now: Time) {
        let running = &self.running[index];
        let Work::Compute { duration, .. } = running.traffic.schedule.work(NodeId(number - running.base))
        else {
            unreachable!("only computations wait for a processor")
        };
        self.set_step(number, Step::Last);
        self.start_node(timers, index, number, (now, now));
        timers.push(now + duration, Timer::ScheduleStep(number));
    }

    /// Records the start of a node: the time now, and the start, which may be later.
    fn start_node(&mut self, timers: &mut Timers, index: usize, number: u32, (now, start): (Time, Time)) {
        self.live.get_mut(&number).expect("the node is live").start = Some(start);
        self.tell(timers, index, number, Condition::Started, (now, start));
    }

    /// Ends a node that does not execute a flow.
    fn finish(&mut self, timers: &mut Timers, index: usize, number: u32, now: Time) {
        let running = &mut self.running[index];
        if let Work::Compute { rank, lane, .. } = running.traffic.schedule.work(NodeId(number - running.base))
        {
            match running.processors.get_mut(&(rank, lane)).and_then(VecDeque::pop_front) {
                Some(next) => self.compute(timers, index, next, now),
                None => {
                    running.processors.remove(&(rank, lane));
                }
            }
        }
        self.end(timers, index, number, now);
    }

    /// Records an event of the flow that executes a node.
    #[cold]
    pub(super) fn note_event(&mut self, world: &mut World, number: u32, event: Condition) {
        let (now, index) = (world.now(), self.schedule_of(number));
        match event {
            Condition::Finished => self.end(world.timers(), index, number, now),
            other => self.tell(world.timers(), index, number, other, (now, now)),
        }
    }

    /// Records the number of the flow that executes a node. The flow may have ended already.
    pub(super) fn note_flow(&mut self, number: u32, flow: u64) {
        if let Some(live) = self.live.get_mut(&number) {
            live.flow = Some(flow);
        }
    }

    /// Records the end of a node, and begins the next execution after the last node.
    fn end(&mut self, timers: &mut Timers, index: usize, number: u32, now: Time) {
        let live = self.live.remove(&number).expect("a node ends once");
        self.rows.extend(self.running[index].row(index, number, &live, Some(now)));
        self.tell(timers, index, number, Condition::Finished, (now, now));
        let running = &mut self.running[index];
        running.left -= 1;
        if running.left == 0 {
            running.iteration += 1;
            if running.iteration < running.traffic.iterations {
                timers.push(now + running.traffic.pause, Timer::ScheduleBegin(index as u32));
            }
        }
    }

    /// Tells the nodes that wait for `event` of a node: the time now, and the time of the event.
    fn tell(
        &mut self,
        timers: &mut Timers,
        index: usize,
        number: u32,
        event: Condition,
        (now, at): (Time, Time),
    ) {
        let running = &self.running[index];
        let (schedule, base) = (Arc::clone(&running.traffic.schedule), running.base);
        let node = NodeId(number - base);
        for edge in schedule.children(node).filter(|edge| edge.condition == event) {
            let (child, effect) = (base + edge.node.0, at + edge.delay);
            if effect > now {
                self.delayed.push(Reverse((effect, child, node.0)));
                timers.push(effect, Timer::ScheduleRelease);
            } else {
                self.release(timers, child, now, node.0);
            }
        }
    }

    /// Counts an event that node `number` has waited for. The last such event makes the node ready.
    fn release(&mut self, timers: &mut Timers, number: u32, now: Time, cause: u32) {
        let index = self.schedule_of(number);
        let running = &mut self.running[index];
        let node = NodeId(number - running.base);
        let waits = &mut running.waits[node.index()];
        *waits -= 1;
        if *waits == 0 {
            let at = now.max(running.origin + running.traffic.schedule.start(node));
            self.make_ready(timers, number, at, Some(cause));
        }
    }

    /// Removes and returns the rows of nodes that have ended since the previous call.
    pub(super) fn take_rows(&mut self) -> impl Iterator<Item = ScheduleRow> + '_ {
        self.rows.drain(..)
    }

    /// Rows of the nodes in progress.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = ScheduleRow> + '_ {
        self.live.iter().filter_map(|(&number, live)| {
            let index = self.schedule_of(number);
            self.running[index].row(index, number, live, None)
        })
    }
}
