//! Execution of schedules: a node starts when all events that the node waits for have happened.

use super::rank_times::{Collectives, Ranks};
use super::trail::{Cause, PathStep, Trail};
use crate::world::World;
use crate::world::timers::{Timer, Timers};
use bufferlab_metrics::{CollectiveRow, NodeKind, PathRow, RankRow, RunSink, ScheduleRow, WaitedFor};
use bufferlab_schedule::{Condition, NodeId, Transfer, Work};
use bufferlab_units::Time;
use bufferlab_workload::{FlowSpec, ScaleUp, ScheduleTraffic};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;

/// All schedules of a run. The nodes of all schedules are numbered in one sequence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedules {
    running: Vec<Running>,
    /// Schedule nodes that are ready or in progress.
    live: BTreeMap<u32, Live>,
    /// Events that take effect after a delay: the time, the node that waits, and the node that
    /// caused the event (its number in its schedule).
    delayed: BinaryHeap<Reverse<(Time, u32, Option<u32>)>>,
    rows: Rows,
}

/// Rows of schedule results that are not written to the sink yet.
#[derive(Clone, Debug, Default)]
struct Rows {
    nodes: Vec<ScheduleRow>,
    collectives: Vec<CollectiveRow>,
    ranks: Vec<RankRow>,
    path: Vec<PathRow>,
}

/// A schedule node that is ready or in progress: all events that it waited for have happened.
#[derive(Clone, Copy, Debug)]
struct Live {
    step: Step,
    ready: Time,
    start: Option<Time>,
    /// Cause of the last event of this node's wait: a transfer or computation. Barriers between the
    /// cause and this node do not count.
    after: Option<u32>,
    flow: Option<u64>,
}

/// Current step of a live schedule node, which ends with the node's next timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The schedule node has no unfinished parents and waits for its start time.
    Ready,
    /// A computation, or the rest of a transfer inside a server after its last byte was sent.
    Last,
    /// The schedule node sends a transfer inside a server. The time is the end
    /// of the transfer's reception.
    Sending(Time),
    /// A flow executes the schedule node. The flow's hosts report the end of the step.
    Flow,
}

/// A schedule in execution.
#[derive(Clone, Debug)]
struct Running {
    traffic: ScheduleTraffic,
    /// Number of this schedule's first node in the sequence of all nodes.
    base: u32,
    iteration: u32,
    /// Start time of the schedule's current execution.
    origin: Time,
    /// Number of outstanding events, for each schedule node with some but not all events.
    waits: BTreeMap<u32, u32>,
    /// Number of schedule nodes that are not done in this execution.
    left: usize,
    /// Busy processors by rank and lane, with the computations that wait for each processor.
    processors: BTreeMap<(u32, u8), VecDeque<u32>>,
    /// For each rank's network inside its server, the times at which the network can send and
    /// receive again. Each time is stored with the number of the node that occupies
    /// the network until this time.
    cards: Vec<[(Time, u32); 2]>,
    trail: Trail,
    ranks: Ranks,
    collectives: Collectives,
}

impl Running {
    fn new(traffic: ScheduleTraffic, base: u32) -> Self {
        let ranks = if traffic.scale_up.is_some() { traffic.schedule.ranks() as usize } else { 0 };
        Self {
            base,
            iteration: 0,
            origin: Time::ZERO,
            waits: BTreeMap::new(),
            left: 0,
            processors: BTreeMap::new(),
            cards: vec![[(Time::ZERO, 0); 2]; ranks],
            trail: Trail::default(),
            ranks: Ranks::default(),
            collectives: Collectives::new(&traffic.schedule),
            traffic,
        }
    }

    /// Begins an execution of the schedule now. Returns the nodes that wait for no event, with
    /// their start times.
    fn begin(&mut self, now: Time) -> Vec<(NodeId, Time)> {
        let schedule = &self.traffic.schedule;
        self.left = schedule.len();
        self.origin = now;
        self.ranks.begin(schedule.ranks(), now);
        let roots = schedule.nodes().filter(|&node| schedule.waits(node) == 0);
        roots.map(|node| (node, now + schedule.start(node))).collect()
    }

    /// Network inside the server, if both ranks of the transfer are in one server with such a
    /// network.
    fn scale_up(&self, transfer: Transfer) -> Option<ScaleUp> {
        let inside = self.traffic.scale_up?;
        let server = |rank: u32| rank / inside.ranks_per_server;
        (server(transfer.src) == server(transfer.dst)).then_some(inside)
    }

    /// Reserves the network inside a server for a transfer. Returns the start and the end of the
    /// transmission, and the end of the reception. Every rank sends and receives one transfer at a
    /// time. All transfers have an equal latency, so ranks receive transfers in the order of their
    /// starts.
    fn reserve(&mut self, inside: ScaleUp, (node, transfer): (u32, Transfer), now: Time) -> [Time; 3] {
        let length = inside.rate.serialization(transfer.bytes);
        let event = WaitedFor::ScaleUp;
        let (free, sender) = self.cards[transfer.src as usize][0];
        let start = now.max(free);
        if free > now {
            self.trail.delay(node, Cause { node: Some(sender), event, at: free });
        }
        self.cards[transfer.src as usize][0] = (start + length, node);
        let (free, receiver) = self.cards[transfer.dst as usize][1];
        if free > start + inside.latency {
            self.trail.delay(node, Cause { node: Some(receiver), event, at: free });
        }
        let received = (start + inside.latency).max(free) + length;
        self.cards[transfer.dst as usize][1] = (received, node);
        [start, start + length, received]
    }

    /// Work of a schedule node (such as a transfer). `number` is in the sequence of all nodes.
    fn work(&self, number: u32) -> Work {
        self.traffic.schedule.work(NodeId(number - self.base))
    }

    /// Rows of the critical path of the execution that has ended.
    fn take_path(&mut self, index: u32) -> Vec<PathRow> {
        let path = self.trail.take_path();
        let starts = path.iter().skip(1).map(|(_, step)| step.cause.at);
        let until: Vec<Time> = starts.chain(path.last().map(|(_, step)| step.end)).collect();
        let schedule = &self.traffic.schedule;
        let row = |((place, (node, step)), until): ((u32, &(u32, PathStep)), Time)| {
            let (kind, rank, peer_rank) = match schedule.work(NodeId(*node)) {
                Work::Transfer(Transfer { src, dst, .. }) => (NodeKind::Transfer, src, Some(dst)),
                Work::Compute { rank, .. } => (NodeKind::Compute, rank, None),
                Work::Barrier => unreachable!("a barrier has no step"),
            };
            PathRow {
                schedule: index,
                iteration: self.iteration,
                step: place,
                node: *node,
                kind,
                rank,
                peer_rank,
                collective: schedule.collective(NodeId(*node)),
                flow_id: step.flow,
                waited_for: step.cause.event,
                start_ps: step.cause.at.0,
                end_ps: step.end.0,
                critical_ps: until.0.saturating_sub(step.cause.at.0),
            }
        };
        (0..).zip(&path).zip(until).map(row).collect()
    }

    /// Result row of a schedule node. `None` for a barrier.
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

    /// Whether the scenario has a workload that executes a schedule.
    pub(super) fn exist(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether all executions of every schedule have ended.
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
            self.make_ready(timers, base + node.0, at, (None, WaitedFor::Start));
        }
        if self.running[index].left == 0 {
            // A schedule without nodes ends at once, after all its iterations.
            self.running[index].iteration = self.running[index].traffic.iterations;
        }
    }

    /// Index of the schedule that contains the node with this number.
    fn schedule_of(&self, number: u32) -> usize {
        self.running.partition_point(|one| one.base <= number) - 1
    }

    /// Makes a schedule node ready to start at `at`. `after` and `event` describe the
    /// last event of the node's wait.
    fn make_ready(
        &mut self,
        timers: &mut Timers,
        number: u32,
        at: Time,
        (after, event): (Option<u32>, WaitedFor),
    ) {
        let index = self.schedule_of(number);
        let running = &mut self.running[index];
        if running.work(number) == Work::Barrier {
            running.trail.retain(after);
        } else {
            let node = if event == WaitedFor::Start { None } else { after };
            let ready = NodeId(number - running.base);
            running.trail.add(ready.0, Cause { node, event, at });
            // The sender of a flow may be done after the receiver has the last byte.
            let mut children = running.traffic.schedule.children(ready);
            if children.any(|edge| edge.condition == Condition::Sent) {
                running.trail.retain(Some(ready.0));
            }
        }
        let live = Live { step: Step::Ready, ready: at, start: None, after, flow: None };
        self.live.insert(number, live);
        timers.push(at, Timer::ScheduleStep(number));
    }

    /// Releases the schedule nodes whose awaited event was delayed until now.
    pub(super) fn handle_release(&mut self, world: &mut World) {
        let now = world.now();
        while let Some(&Reverse((time, child, cause))) = self.delayed.peek()
            && time <= now
        {
            self.delayed.pop();
            self.release(world.timers(), child, now, cause);
            let index = self.schedule_of(child);
            self.running[index].trail.release(cause);
        }
    }

    /// Begins the next execution of the schedule with this index.
    pub(super) fn handle_begin(&mut self, world: &mut World, index: u32) {
        let now = world.now();
        self.begin(world.timers(), index as usize, now);
    }

    /// Ends the current step of a schedule node. Returns the flow that begins now, if any.
    pub(super) fn handle_step(&mut self, world: &mut World, number: u32) -> Option<FlowSpec> {
        let (now, index) = (world.now(), self.schedule_of(number));
        let timers = world.timers();
        match self.live[&number].step {
            Step::Ready => return self.begin_node(timers, index, number, now),
            Step::Last => self.finish(timers, index, number, now),
            Step::Sending(received) => {
                self.set_step(number, Step::Last);
                timers.push(received, Timer::ScheduleStep(number));
                self.tell(timers, (index, number), Condition::Sent, (now, now));
            }
            Step::Flow => unreachable!("a flow has no timer"),
        }
        None
    }

    fn set_step(&mut self, number: u32, step: Step) {
        self.live.get_mut(&number).expect("the node is live").step = step;
    }

    /// Starts a schedule node that is ready, or queues the node at its processor.
    fn begin_node(&mut self, timers: &mut Timers, index: usize, number: u32, now: Time) -> Option<FlowSpec> {
        let running = &mut self.running[index];
        match running.work(number) {
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
                let node = number - running.base;
                let [start, sent, received] = running.reserve(inside, (node, transfer), now);
                self.set_step(number, Step::Sending(received));
                self.start_node(timers, index, number, (now, start));
                timers.push(sent, Timer::ScheduleStep(number));
            }
        }
        None
    }

    /// Starts a computation at the idle processor of its rank.
    fn compute(&mut self, timers: &mut Timers, index: usize, number: u32, now: Time) {
        let running = &self.running[index];
        let Work::Compute { duration, .. } = running.work(number) else {
            unreachable!("only computations wait for a processor")
        };
        self.set_step(number, Step::Last);
        self.start_node(timers, index, number, (now, now));
        timers.push(now + duration, Timer::ScheduleStep(number));
    }

    /// Records the start of a schedule node. The start may be later than the current time.
    fn start_node(&mut self, timers: &mut Timers, index: usize, number: u32, (now, start): (Time, Time)) {
        self.live.get_mut(&number).expect("the node is live").start = Some(start);
        let running = &mut self.running[index];
        running.ranks.start(running.work(number), now);
        self.tell(timers, (index, number), Condition::Started, (now, start));
    }

    /// Ends a schedule node that does not execute a flow.
    fn finish(&mut self, timers: &mut Timers, index: usize, number: u32, now: Time) {
        let running = &mut self.running[index];
        if let Work::Compute { rank, lane, .. } = running.work(number) {
            match running.processors.get_mut(&(rank, lane)).and_then(VecDeque::pop_front) {
                Some(next) => {
                    let node = Some(number - running.base);
                    let cause = Cause { node, event: WaitedFor::Processor, at: now };
                    running.trail.delay(next - running.base, cause);
                    self.compute(timers, index, next, now);
                }
                None => {
                    running.processors.remove(&(rank, lane));
                }
            }
        }
        self.end(timers, index, number, now);
    }

    /// Records an event of the flow that executes a schedule node.
    #[cold]
    pub(super) fn note_event(&mut self, world: &mut World, number: u32, event: Condition) {
        let (now, index) = (world.now(), self.schedule_of(number));
        match event {
            Condition::Finished => self.end(world.timers(), index, number, now),
            other => self.tell(world.timers(), (index, number), other, (now, now)),
        }
    }

    /// Records the number of the flow that executes a schedule node. The flow may have ended
    /// already.
    pub(super) fn note_flow(&mut self, number: u32, flow: u64) {
        if let Some(live) = self.live.get_mut(&number) {
            live.flow = Some(flow);
        }
    }

    /// Records the end of a schedule node, and begins the next execution of the schedule after the
    /// last node.
    fn end(&mut self, timers: &mut Timers, index: usize, number: u32, now: Time) {
        self.tell(timers, (index, number), Condition::Finished, (now, now));
        let live = self.live.remove(&number).expect("a node ends once");
        let running = &mut self.running[index];
        self.rows.nodes.extend(running.row(index, number, &live, Some(now)));
        let (node, work) = (NodeId(number - running.base), running.work(number));
        if work == Work::Barrier {
            running.trail.release(live.after);
        } else {
            running.trail.end(node.0, now, live.flow);
            running.ranks.end(work, now);
        }
        if matches!(work, Work::Transfer(_)) {
            let (numbers, schedule) = ((index as u32, running.iteration), &running.traffic.schedule);
            self.rows.collectives.extend(running.collectives.end(numbers, schedule, node, (live.ready, now)));
        }
        running.left -= 1;
        if running.left == 0 {
            self.end_execution(timers, index, now);
        }
    }

    /// Ends an execution of a schedule, and sets a timer for the next execution.
    fn end_execution(&mut self, timers: &mut Timers, index: usize, now: Time) {
        let running = &mut self.running[index];
        let (numbers, span) = ((index as u32, running.iteration), Time(now.0 - running.origin.0));
        self.rows.ranks.extend(running.ranks.rows(numbers, &running.traffic.hosts, span));
        self.rows.path.extend(running.take_path(index as u32));
        running.iteration += 1;
        if running.iteration < running.traffic.iterations {
            timers.push(now + running.traffic.pause, Timer::ScheduleBegin(index as u32));
        }
    }

    /// Reports `event` of a live node to all nodes that wait for this event, with the time now and
    /// the time of the event.
    fn tell(
        &mut self,
        timers: &mut Timers,
        (index, number): (usize, u32),
        event: Condition,
        (now, at): (Time, Time),
    ) {
        let running = &self.running[index];
        let (schedule, base) = (Arc::clone(&running.traffic.schedule), running.base);
        let node = NodeId(number - base);
        let is_barrier = schedule.work(node) == Work::Barrier;
        // A barrier reports the event that opened the barrier as the cause.
        let cause = if is_barrier { self.live[&number].after } else { Some(node.0) };
        let mut has_children = false;
        for edge in schedule.children(node).filter(|edge| edge.condition == event) {
            has_children = true;
            let (child, effect) = (base + edge.node.0, at + edge.delay);
            if effect > now {
                self.running[index].trail.retain(cause);
                self.delayed.push(Reverse((effect, child, cause)));
                timers.push(effect, Timer::ScheduleRelease);
            } else {
                self.release(timers, child, now, cause);
            }
        }
        if event == Condition::Sent && has_children {
            self.running[index].trail.release(cause);
        }
    }

    /// Counts an event for which node `number` has waited. After the last awaited event, the node
    /// is ready.
    fn release(&mut self, timers: &mut Timers, number: u32, now: Time, cause: Option<u32>) {
        let index = self.schedule_of(number);
        let running = &mut self.running[index];
        let node = NodeId(number - running.base);
        let events = running.traffic.schedule.waits(node);
        if events > 1 {
            let left = running.waits.entry(node.0).or_insert(events);
            *left -= 1;
            if *left > 0 {
                return;
            }
            running.waits.remove(&node.0);
        }
        let at = now.max(running.origin + running.traffic.schedule.start(node));
        let event = if at > now || cause.is_none() { WaitedFor::Start } else { WaitedFor::Node };
        self.make_ready(timers, number, at, (cause, event));
    }

    /// Writes the rows of nodes, collectives and executions that have ended since the previous
    /// call.
    pub(super) fn flush(&mut self, sink: &mut dyn RunSink) -> io::Result<()> {
        let Rows { nodes, collectives, ranks, path } = &mut self.rows;
        nodes.drain(..).try_for_each(|row| sink.schedule(&row))?;
        collectives.drain(..).try_for_each(|row| sink.collective(&row))?;
        ranks.drain(..).try_for_each(|row| sink.rank(&row))?;
        path.drain(..).try_for_each(|row| sink.path(&row))
    }

    /// Result rows of the schedule nodes that are in progress when the run ends.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = ScheduleRow> + '_ {
        self.live.iter().filter_map(|(&number, live)| {
            let index = self.schedule_of(number);
            self.running[index].row(index, number, live, None)
        })
    }
}
