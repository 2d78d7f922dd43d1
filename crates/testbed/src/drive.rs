//! Starts each flow at its start time on a connection between hosts. When a query is complete,
//! starts the next query.

use crate::apps::{AppEvent, Connection};
use crate::clock::{duration, now_ns, since};
use crate::error::TestbedError;
use crate::outcome::{FlowOutcome, Outcome, ProgressSample, QueryOutcome};
use crate::plan::Plan;
use crate::programs::{Programs, traffic};
use bufferlab_scenario::Applications;
use bufferlab_units::Time;
use bufferlab_workload::{FlowSource, FlowSpec, LoopQuery, LoopTraffic, Traffic, TrafficClass};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

/// An action of the testbed's driver that is due at a certain time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A thread of a closed-loop workload sends its next query.
    Ask { of: usize, thread: u32 },
    /// A request has reached its server, which answers.
    Answer { of: usize, thread: u32, answer: usize },
}

/// Identity of a connection: transport, source and destination. A connection of a closed loop also
/// has the number of the loop, of the loop's thread, and of the connection in the thread.
type Key = (u32, u32, u32, Option<(usize, u32, u32)>);

/// A query for which some answers have not arrived.
struct Asked {
    index: usize,
    missing: usize,
    flows: Vec<(FlowSpec, u32)>,
}

/// Connection that carries a flow, and its state before the flow.
struct Carried {
    key: Key,
    /// Index of the flow's connection among the connections of its key;
    /// `None` while the flow waits for a connection.
    place: Option<usize>,
    /// Number of bytes that the connection had delivered before the flow.
    before: u64,
}

struct Driver<'a> {
    plan: &'a Plan,
    loops: Vec<LoopTraffic>,
    classes: Vec<TrafficClass>,
    connections: BTreeMap<Key, Vec<Connection>>,
    /// Idle connections, by index in `connections`.
    idle: BTreeMap<Key, Vec<usize>>,
    /// Flows that wait for a connection, by the key of the connection.
    waiting: BTreeMap<Key, VecDeque<usize>>,
    /// For each flow: its connection, and the bytes that the connection received before the flow.
    keys: Vec<Carried>,
    due: BinaryHeap<Reverse<(Time, Due)>>,
    asked: BTreeMap<(usize, u32), Asked>,
    /// For each flow, the thread that sent the flow's query.
    thread_of: Vec<Option<(usize, u32)>>,
    /// Indices of the flows that have started and not ended.
    open_flows: BTreeSet<usize>,
    outcome: Outcome,
    events: Sender<AppEvent>,
    stop: Arc<AtomicBool>,
    /// Programs that carry flows in place of the built-in applications.
    programs: Option<Programs>,
    failed: Option<TestbedError>,
}

/// Runs the workloads of the plan until `go_on` returns false.
pub(crate) fn drive(plan: &Plan, go_on: &dyn Fn() -> bool) -> Result<Outcome, TestbedError> {
    let traffic = traffic(plan.scenario()).map_err(|error| TestbedError::Workload(error.to_string()))?;
    let has_programs = plan.scenario().host.applications == Applications::Programs;
    let programs = has_programs.then(|| Programs::start(plan)).transpose()?;
    let Traffic { mut source, closed_loops, classes, .. } = traffic;
    let (events, arrivals) = channel();
    let outcome =
        Outcome { classes: classes.iter().map(|class| class.name.clone()).collect(), ..Outcome::default() };
    let mut driver = Driver {
        plan,
        loops: closed_loops,
        classes,
        connections: BTreeMap::new(),
        idle: BTreeMap::new(),
        waiting: BTreeMap::new(),
        keys: Vec::new(),
        due: BinaryHeap::new(),
        asked: BTreeMap::new(),
        thread_of: Vec::new(),
        open_flows: BTreeSet::new(),
        outcome,
        events,
        stop: Arc::new(AtomicBool::new(false)),
        programs,
        failed: None,
    };
    driver.open_loops();
    if has_programs {
        driver.connect_beforehand()?;
    }
    driver.outcome.began_ns = now_ns();
    driver.run(&mut source, &arrivals, go_on)?;
    Ok(driver.outcome)
}

impl Driver<'_> {
    /// Schedules the first query of every thread of a closed loop.
    fn open_loops(&mut self) {
        for of in 0..self.loops.len() {
            for thread in 0..self.loops[of].queries.threads() {
                if let Some(first) = self.loops[of].queries.first(thread) {
                    self.due.push(Reverse((first, Due::Ask { of, thread })));
                }
            }
        }
    }

    fn now(&self) -> Time {
        since(self.outcome.began_ns)
    }

    fn run(
        &mut self,
        source: &mut dyn FlowSource,
        arrivals: &Receiver<AppEvent>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), TestbedError> {
        const LONGEST: Time = Time::from_ms(50);
        let scenario = self.plan.scenario();
        let (end, last) = (scenario.duration, scenario.duration + scenario.drain);
        let mut next_flow = source.next_flow();
        let interval = scenario.output.sample_interval;
        let samples = scenario.output.sample_flows && interval > Time::ZERO;
        let mut next_sample = if samples { interval } else { Time::MAX };
        loop {
            if !go_on() {
                return Err(TestbedError::Interrupted);
            }
            let now = self.now();
            if now >= next_sample {
                self.sample(now);
                next_sample = Time(now.0 - now.0 % interval.0) + interval;
            }
            if now >= end && !self.stop.swap(true, Ordering::Relaxed) {
                self.programs.iter_mut().for_each(Programs::stop);
            }
            while let Some(flow) = next_flow.take_if(|flow| flow.start <= now) {
                self.start(flow, None)?;
                next_flow = source.next_flow();
            }
            while self.due.peek().is_some_and(|Reverse((at, _))| *at <= now) {
                let Some(Reverse((_, due))) = self.due.pop() else { break };
                self.handle(due, now)?;
            }
            if let Some(failed) = self.failed.take() {
                return Err(failed);
            }
            let is_over = now >= end && self.open_flows.is_empty() && self.due.is_empty();
            if is_over || now >= last {
                return Ok(());
            }
            let at = self.due.peek().map_or(Time::MAX, |Reverse((at, _))| *at);
            let at =
                next_flow.as_ref().map_or(at, |flow| at.min(flow.start)).min(now + LONGEST).min(next_sample);
            match arrivals.recv_timeout(duration(at.saturating_sub(now))) {
                Ok(event) => self.note(event)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Records the number of received bytes of every active flow.
    fn sample(&mut self, at: Time) {
        for &flow in &self.open_flows {
            let carried = &self.keys[flow];
            // The flow waits for a connection, or iperf3 carries the flow and takes the samples.
            let Some(place) = carried.place else {
                if self.programs.is_none() {
                    self.outcome.progress.push(ProgressSample { at, flow, bytes: 0 });
                }
                continue;
            };
            let received = self.connections[&carried.key][place].received().saturating_sub(carried.before);
            let bytes = received.min(self.outcome.flows[flow].spec.size);
            self.outcome.progress.push(ProgressSample { at, flow, bytes });
        }
    }

    fn handle(&mut self, due: Due, now: Time) -> Result<(), TestbedError> {
        match due {
            Due::Ask { of, thread } => self.ask(of, thread, now),
            Due::Answer { of, thread, answer } => {
                let Some(asked) = self.asked.get(&(of, thread)) else { return Ok(()) };
                let (spec, connection) = asked.flows[answer].clone();
                self.start(spec, Some((of, thread, connection)))
            }
        }
    }

    /// Opens the connections that a query lacks, and stores the requested values in memcached.
    fn connect(&mut self, query: &LoopQuery, (of, thread): (usize, u32)) -> Result<(), TestbedError> {
        let transport = self.classes[usize::from(self.loops[of].class)].carriage.transport;
        for answer in &query.answers {
            let key = (transport, answer.server, query.client, Some((of, thread, answer.connection)));
            if self.connections.get(&key).is_none_or(Vec::is_empty) {
                let place = self.open(key)?;
                self.idle.entry(key).or_default().push(place);
            }
        }
        match &mut self.programs {
            Some(programs) => query.answers.iter().try_for_each(|one| programs.hold(one.server, one.size)),
            None => Ok(()),
        }
    }

    /// Starts memcached, and connects its clients for the first query of every thread. A copy of
    /// the traffic with an equal seed gives the first queries.
    fn connect_beforehand(&mut self) -> Result<(), TestbedError> {
        let Ok(Traffic { mut closed_loops, .. }) = traffic(self.plan.scenario()) else { return Ok(()) };
        for (of, one) in closed_loops.iter_mut().enumerate() {
            for thread in 0..one.queries.threads() {
                if let Some(query) = one.queries.first(thread).and_then(|_| one.queries.ask(thread)) {
                    self.connect(&query, (of, thread))?;
                }
            }
        }
        Ok(())
    }

    fn ask(&mut self, of: usize, thread: u32, now: Time) -> Result<(), TestbedError> {
        if now >= self.plan.scenario().duration {
            return Ok(());
        }
        let (delay, class) = (self.loops[of].request_delay, self.loops[of].class);
        let Some(query) = self.loops[of].queries.ask(thread) else { return Ok(()) };
        let delay = delay.unwrap_or(Time(self.plan.base_rtt().0 / 2));
        // The first query of a thread waits until its connections are open. In the simulator,
        // connections exist from the start, so this wait is not counted.
        self.connect(&query, (of, thread))?;
        let now = self.now().max(now);
        let spec = |answer: &bufferlab_workload::Answer| FlowSpec {
            start: now + delay,
            src: answer.server,
            dst: query.client,
            size: answer.size,
            class,
            query: query.number,
            open: None,
            data_path: None,
            ack_path: None,
            node: FlowSpec::NO_NODE,
        };
        let flows: Vec<_> = query.answers.iter().map(|answer| (spec(answer), answer.connection)).collect();
        // Memcached clients send real requests over the network now, so the driver adds no delay
        // for a request.
        let due = if self.programs.is_some() { now } else { now + delay };
        for answer in 0..flows.len() {
            self.due.push(Reverse((due, Due::Answer { of, thread, answer })));
        }
        self.outcome.queries.push(QueryOutcome {
            number: query.number,
            class,
            client: query.client,
            started: now,
            answers: flows.len() as u32,
            bytes: flows.iter().map(|(spec, _)| spec.size).sum(),
            completed: None,
        });
        let index = self.outcome.queries.len() - 1;
        self.asked.insert((of, thread), Asked { index, missing: flows.len(), flows });
        Ok(())
    }

    /// Starts a flow whose data the sending application has.
    fn start(&mut self, spec: FlowSpec, of_loop: Option<(usize, u32, u32)>) -> Result<(), TestbedError> {
        let transport = self.classes[usize::from(spec.class)].carriage.transport;
        let key = (transport, spec.src, spec.dst, of_loop);
        let flow = self.outcome.flows.len();
        let mut started = self.now();
        if self.programs.is_some() && of_loop.is_some() {
            // An answer starts when the server has received the request.
            started += Time(self.plan.base_rtt().0 / 2);
        }
        self.outcome.flows.push(FlowOutcome { spec, started, completed: None, hash: 0 });
        self.thread_of.push(of_loop.map(|(of, thread, _)| (of, thread)));
        self.keys.push(Carried { key, place: None, before: 0 });
        self.open_flows.insert(flow);
        let left = self.plan.scenario().duration.saturating_sub(self.now());
        match &mut self.programs {
            Some(programs) if of_loop.is_none() => {
                let transport = &self.plan.scenario().transports[transport as usize];
                self.outcome.flows[flow].hash = programs.begin(flow, left, transport, &self.events)?;
                Ok(())
            }
            _ => self.carry(key, flow),
        }
    }

    /// Opens another connection with the transport and hosts of `key`; returns the connection's
    /// index.
    fn open(&mut self, key: Key) -> Result<usize, TestbedError> {
        let (transport, src, dst, _) = key;
        let spec = &self.plan.scenario().transports[transport as usize];
        let name = |host: u32| (host, self.plan.hosts[host as usize].name.as_str());
        let ends = (name(src), name(dst));
        let connection = match &mut self.programs {
            Some(programs) => programs.connect(ends, spec, &self.events)?,
            None => Connection::open(ends, spec, &self.events, &self.stop)?,
        };
        let open = self.connections.entry(key).or_default();
        open.push(connection);
        Ok(open.len() - 1)
    }

    /// Maximum number of connections with the transport and hosts in `key`.
    fn most(&self, key: Key) -> usize {
        match (key.3, self.plan.scenario().transports[key.0 as usize].persistent) {
            (Some(_), _) => 1,
            (None, Some(persistent)) => {
                persistent.connections_per_pair.map_or(usize::MAX, |most| most as usize)
            }
            (None, None) => usize::MAX,
        }
    }

    /// Sends `flow` over an idle connection with the transport and hosts of `key`. If no connection
    /// is idle and more connections are allowed, opens a new connection.
    fn carry(&mut self, key: Key, flow: usize) -> Result<(), TestbedError> {
        let place = match self.idle.get_mut(&key).and_then(Vec::pop) {
            Some(place) => place,
            None if self.connections.get(&key).map_or(0, Vec::len) >= self.most(key) => {
                self.waiting.entry(key).or_default().push_back(flow);
                return Ok(());
            }
            None => self.open(key)?,
        };
        let connection = &self.connections[&key][place];
        self.keys[flow] = Carried { key, place: Some(place), before: connection.received() };
        self.outcome.flows[flow].hash = connection.hash;
        if !connection.send(flow, self.outcome.flows[flow].spec.size) {
            self.failed = Some(TestbedError::Broken);
        }
        Ok(())
    }

    fn note(&mut self, event: AppEvent) -> Result<(), TestbedError> {
        let (flow, at_ns, bytes) = match event {
            AppEvent::Arrived { flow, at_ns, bytes } => (flow, at_ns, bytes),
            AppEvent::Measured(measured) => {
                self.open_flows.remove(&measured.flow);
                self.outcome.measured.push(measured);
                return Ok(());
            }
            AppEvent::Broken => return Err(TestbedError::Broken),
            AppEvent::Failed { program, why } => {
                return Err(TestbedError::Program { program: program.to_owned(), why });
            }
        };
        let at = Time::from_ns(at_ns.saturating_sub(self.outcome.began_ns));
        let done = &mut self.outcome.flows[flow];
        done.completed = Some(at);
        let is_unlimited = done.spec.size == FlowSpec::UNLIMITED;
        done.spec.size = bytes;
        self.open_flows.remove(&flow);
        let Carried { key, place: Some(place), .. } = self.keys[flow] else { return Ok(()) };
        let transport = &self.plan.scenario().transports[key.0 as usize];
        if !is_unlimited && (transport.persistent.is_some() || key.3.is_some()) {
            self.idle.entry(key).or_default().push(place);
            if let Some(next) = self.waiting.get_mut(&key).and_then(VecDeque::pop_front) {
                self.carry(key, next)?;
            }
        }
        self.note_answer(flow, at);
        Ok(())
    }

    /// Records the arrival of an answer to a query.
    fn note_answer(&mut self, flow: usize, at: Time) {
        let Some((of, thread)) = self.thread_of[flow] else { return };
        let Some(asked) = self.asked.get_mut(&(of, thread)) else { return };
        asked.missing -= 1;
        if asked.missing > 0 {
            return;
        }
        self.outcome.queries[asked.index].completed = Some(at);
        self.asked.remove(&(of, thread));
        if let Some(next) = self.loops[of].queries.next(thread, at) {
            self.due.push(Reverse((next, Due::Ask { of, thread })));
        }
    }
}
