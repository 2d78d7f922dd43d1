//! Execution of schedules: a node starts when all events that the node waits for have happened.

use super::chronicle::Chronicle;
use super::share::Share;
use crate::ids::{HostId, LinkId, Table};
use crate::notes::{Cause, Ended, Note};
use crate::world::World;
use crate::world::order::Order;
use crate::world::timers::{Moment, Timer, Timers};
use bufferlab_metrics::{RunSink, ScheduleRow, WaitedFor};
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
    /// Schedule nodes that are ready or in progress, except nodes that flows execute.
    live: BTreeMap<u32, Live>,
    /// Events that take effect after a delay: the time, the node that waits, and the node that
    /// caused the event (its number in its schedule).
    delayed: BinaryHeap<Reverse<(Time, u32, Option<u32>)>>,
    chronicle: Chronicle,
    /// Share of this shard in the schedules. `None` if one thread runs the network.
    share: Option<Box<Share>>,
}

/// A schedule node that is ready or in progress: all events that it waited for have happened.
#[derive(Clone, Copy, Debug)]
struct Live {
    step: Step,
    /// Transfer or computation that caused the last event for which this node waited, directly or
    /// through barriers.
    after: Option<u32>,
}

/// Current step of a live schedule node, which ends with the node's next timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The node has no unfinished parents and waits for its start time.
    Ready,
    /// A computation, or a transfer inside a server whose last byte was sent at the start of this
    /// step.
    Last,
    /// A transfer inside a server is sent. The time is the end of the transfer's reception.
    Sending(Time),
}

/// A schedule in execution.
#[derive(Clone, Debug)]
struct Running {
    traffic: Arc<ScheduleTraffic>,
    /// Number of this schedule's first node in the sequence of all nodes.
    base: u32,
    iteration: u32,
    /// Start time of the schedule's current execution.
    origin: Time,
    /// Number of outstanding events of each node for which some but not all events have happened.
    waits: BTreeMap<u32, u32>,
    /// Number of schedule nodes that are not done in this execution.
    left: usize,
    /// Busy processors by rank and lane, with the computations that wait.
    processors: BTreeMap<(u32, u8), VecDeque<u32>>,
    /// For each rank's network inside its server, the times at which the network can send and
    /// receive again. Each time has the node that uses the network up to this time.
    cards: Vec<[(Time, u32); 2]>,
}

impl Running {
    fn new(traffic: Arc<ScheduleTraffic>, base: u32) -> Self {
        let ranks = if traffic.scale_up.is_some() { traffic.schedule.ranks() as usize } else { 0 };
        Self {
            base,
            iteration: 0,
            origin: Time::ZERO,
            waits: BTreeMap::new(),
            left: 0,
            processors: BTreeMap::new(),
            cards: vec![[(Time::ZERO, 0); 2]; ranks],
            traffic,
        }
    }

    /// Begins an execution now. Returns the nodes that wait for no event, with their times.
    fn begin(&mut self, now: Time) -> Vec<(NodeId, Time)> {
        let schedule = &self.traffic.schedule;
        self.left = schedule.len();
        self.origin = now;
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
    /// transmission, the end of the reception, and the events that delay the transfer. Every rank
    /// sends and receives one transfer at a time. All transfers have an equal latency, so ranks
    /// receive transfers in the order of their starts.
    fn reserve(
        &mut self,
        inside: ScaleUp,
        (node, transfer): (u32, Transfer),
        now: Time,
    ) -> ([Time; 3], [Option<Cause>; 2]) {
        let length = inside.rate.serialization(transfer.bytes);
        let cause = |node, at| Cause { node: Some(node), event: WaitedFor::ScaleUp, at };
        let (free, sender) = self.cards[transfer.src as usize][0];
        let start = now.max(free);
        let sending = (free > now).then(|| cause(sender, free));
        self.cards[transfer.src as usize][0] = (start + length, node);
        let (free, receiver) = self.cards[transfer.dst as usize][1];
        let receiving = (free > start + inside.latency).then(|| cause(receiver, free));
        let received = (start + inside.latency).max(free) + length;
        self.cards[transfer.dst as usize][1] = (received, node);
        ([start, start + length, received], [sending, receiving])
    }

    /// Ends an execution of the schedule, and sets a timer for the next execution.
    fn end_execution(&mut self, timers: &mut Timers, index: usize, now: Time) {
        self.iteration += 1;
        if self.iteration < self.traffic.iterations {
            timers.push(now + self.traffic.pause, Timer::ScheduleBegin(index as u32));
        }
    }

    /// Work of the node with this number in the sequence of all nodes.
    fn work(&self, number: u32) -> Work {
        self.traffic.schedule.work(NodeId(number - self.base))
    }
}

impl Schedules {
    pub(crate) fn new(all: Vec<ScheduleTraffic>) -> Self {
        let mut this = Self::default();
        let mut base = 0;
        for traffic in all.into_iter().map(Arc::new) {
            let nodes = traffic.schedule.len() as u32;
            this.chronicle.add(Arc::clone(&traffic), base);
            this.running.push(Running::new(traffic, base));
            base += nodes;
        }
        this
    }

    /// Gives a note to the chronicle, or to the shard that writes the results.
    fn note(&mut self, note: Note) {
        match &mut self.share {
            Some(share) => share.note(note),
            None => self.chronicle.apply(note),
        }
    }

    /// Traffic of all schedules.
    pub(super) fn traffic(&self) -> impl Iterator<Item = &ScheduleTraffic> {
        self.running.iter().map(|one| &*one.traffic)
    }

    /// Shortest pause between two executions of a schedule. `None` if every schedule is executed
    /// once.
    pub(crate) fn shortest_pause(&self) -> Option<Time> {
        self.traffic().filter(|one| one.iterations > 1).map(|one| one.pause).min()
    }

    /// Restricts the schedules to the ranks on the hosts of one shard of the network. `is_first`
    /// states whether this shard writes the results. `downlinks` has the link to every host.
    pub(crate) fn become_shard(
        &mut self,
        is_first: bool,
        hosts: Table<HostId, bool>,
        downlinks: Table<HostId, LinkId>,
    ) {
        self.share = Some(Box::new(Share::new(is_first, hosts, downlinks)));
    }

    /// Sets the timer that expires now. `None` if the next event is a link event.
    pub(super) fn set_timer(&mut self, now: Time, timer: Option<Timer>) {
        if let Some(share) = &mut self.share {
            share.set_timer(now, timer);
        }
    }

    /// Sets the current event to the start of flow number `flow` of the open workloads.
    pub(super) fn set_open_flow(&mut self, now: Time, flow: u64) {
        if let Some(share) = &mut self.share {
            share.set_open_flow(now, flow);
        }
    }

    /// Position of the current event in the order of the run, if this is one shard of several.
    pub(crate) fn order(&self) -> Option<Order> {
        self.share.as_ref().map(|share| share.order())
    }

    /// Notes and ended nodes of this shard since the previous call.
    pub(crate) fn take_news(&mut self) -> (Vec<(Order, Note)>, Vec<Ended>) {
        match &mut self.share {
            Some(share) => (std::mem::take(&mut share.notes), std::mem::take(&mut share.ended)),
            None => (Vec::new(), Vec::new()),
        }
    }

    /// Earliest time at which an execution may begin because of nodes that have ended.
    pub(crate) fn earliest_begin(&self, ended: &[Ended]) -> Time {
        let repeated = ended.iter().filter(|ended| self.running[ended.index].traffic.iterations > 1);
        let begin = repeated.map(|ended| ended.last + self.running[ended.index].traffic.pause);
        begin.min().unwrap_or(Time::MAX)
    }

    /// Moment after all events of schedules that any shard has counted.
    pub(crate) fn last_moment(&self) -> Moment {
        let last = self.share.as_ref().map_or(Time::ZERO, |share| share.last);
        Moment { at: last, timer: Some(Timer::ScheduleBegin(u32::MAX)) }
    }

    /// Counts nodes that have ended in any shard. After the last node of an execution, sets a timer
    /// for the next execution.
    pub(crate) fn count_ended(&mut self, timers: &mut Timers, ended: &[Ended]) {
        for &Ended { index, nodes, last } in ended {
            self.running[index].left -= nodes;
            if let Some(share) = &mut self.share {
                share.last = share.last.max(last);
            }
        }
        for (index, running) in self.running.iter_mut().enumerate() {
            let last = ended.iter().filter(|ended| ended.index == index).map(|ended| ended.last).max();
            if let Some(last) = last.filter(|_| running.left == 0) {
                running.end_execution(timers, index, last);
            }
        }
    }

    /// Announces the number of the flow that executes a node, before the notes about the node.
    pub(crate) fn expect_flow(&mut self, number: u32, flow: u64) {
        self.chronicle.expect_flow(number, flow);
    }

    /// Applies notes of all shards, in the order of the run.
    pub(crate) fn apply(&mut self, notes: impl Iterator<Item = Note>) {
        notes.for_each(|note| self.chronicle.apply(note));
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
        if self.share.as_ref().is_none_or(|share| share.is_first()) {
            self.note(Note::Begin { index: index as u32, now });
        }
        let running = &mut self.running[index];
        let mut roots = running.begin(now);
        if let Some(share) = &self.share {
            roots.retain(|&(node, _)| share.has_root(&running.traffic, node));
        }
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

    /// Makes a schedule node ready that may start at `at`, with the event that the node waited for
    /// last.
    fn make_ready(
        &mut self,
        timers: &mut Timers,
        number: u32,
        at: Time,
        (after, event): (Option<u32>, WaitedFor),
    ) {
        self.note(Note::Ready { number, at, after, event });
        self.live.insert(number, Live { step: Step::Ready, after });
        timers.push(at, Timer::ScheduleStep(number));
    }

    /// Releases schedule nodes that wait for events whose delay has passed.
    pub(super) fn handle_release(&mut self, world: &mut World) {
        let now = world.now();
        while let Some(&Reverse((time, child, cause))) = self.delayed.peek()
            && time <= now
        {
            self.delayed.pop();
            self.release(world.timers(), child, now, cause);
            let index = self.schedule_of(child) as u32;
            self.note(Note::Release { index, node: cause });
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
                    self.live.remove(&number);
                    self.start_node(timers, index, number, (now, now));
                    return Some(spec);
                };
                let node = number - running.base;
                let ([start, sent, received], causes) = running.reserve(inside, (node, transfer), now);
                for cause in causes.into_iter().flatten() {
                    self.note(Note::Delay { number, cause });
                }
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
        self.note(Note::Start { number, now, start });
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
                    self.note(Note::Delay { number: next, cause });
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
        if let (Some(share), Work::Transfer(transfer)) = (&mut self.share, self.running[index].work(number)) {
            let rank = if event == Condition::Finished { transfer.dst } else { transfer.src };
            share.set_receiver(world, self.running[index].traffic.hosts[rank as usize]);
        }
        match event {
            Condition::Finished => self.end(world.timers(), index, number, now),
            other => self.tell(world.timers(), (index, number), other, (now, now)),
        }
    }

    /// Records the number of the flow that executes a schedule node. The flow may have ended
    /// already.
    pub(super) fn note_flow(&mut self, number: u32, flow: u64) {
        self.note(Note::Flow { number, flow });
    }

    /// Records the end of a schedule node, and begins the next execution of the schedule after the
    /// last node.
    fn end(&mut self, timers: &mut Timers, index: usize, number: u32, now: Time) {
        self.tell(timers, (index, number), Condition::Finished, (now, now));
        self.live.remove(&number);
        self.note(Note::End { number, now });
        let running = &mut self.running[index];
        match &mut self.share {
            Some(share) => share.note_end(index, now),
            None => {
                running.left -= 1;
                if running.left == 0 {
                    running.end_execution(timers, index, now);
                }
            }
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
                self.note(Note::Retain { index: index as u32, node: cause });
                self.delayed.push(Reverse((effect, child, cause)));
                timers.push(effect, Timer::ScheduleRelease);
            } else {
                self.release(timers, child, now, cause);
            }
        }
        if event == Condition::Sent && has_children {
            self.note(Note::Release { index: index as u32, node: cause });
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
        self.chronicle.flush(sink)
    }

    /// Result rows of the schedule nodes that are in progress when the run ends.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = ScheduleRow> + '_ {
        self.chronicle.unfinished()
    }
}
