//! Builds the traffic of one run from workloads: one stream of flows, traffic classes, and closed
//! loops.

use crate::workload::{Queries, Workload};
use crate::{FlowSource, FlowSpec, ListSource, MergeSource, QueryNumbers, SourceError, renumber_queries};
use bufferlab_schedule::Schedule;
use bufferlab_units::{BitRate, Time};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Traffic of a run, with facts that the driver needs before the run starts.
#[derive(Debug)]
pub struct Traffic {
    /// Source of all flows that do not wait for other flows, ordered by start.
    pub source: MergeSource,
    /// Workloads whose flows start when other flows are complete.
    pub closed_loops: Vec<LoopTraffic>,
    /// Schedules, whose transfers start when other transfers or computations are complete.
    pub schedules: Vec<ScheduleTraffic>,
    /// Traffic classes of the run, indexed by [`FlowSpec::class`].
    pub classes: Vec<TrafficClass>,
    /// Number of flows of each query in flow lists. The flows of a listed query need not start
    /// together.
    pub listed_queries: BTreeMap<u32, u32>,
}

/// A traffic class: flows with a common name and transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficClass {
    /// Name of the class in tables and reports, unique in the run.
    pub name: String,
    /// Transport of the flows in the class.
    pub carriage: Carriage,
}

/// Transport of the flows of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carriage {
    /// Index of the transport among the scenario's transports.
    pub transport: u32,
    /// Replay settings if the flows are packets that are sent unchanged.
    pub replay: Option<Replay>,
}

/// Replay of flows that are single packets; [`FlowSpec::size`] is the size of the
/// packet on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Priority of the replayed packets; `None` uses the transport's priority.
    pub priority: Option<u8>,
}

/// Traffic of a workload that consists of closed loops.
#[derive(Debug)]
pub struct LoopTraffic {
    /// Generator of the queries of the closed loops.
    pub queries: Box<dyn ClosedLoop>,
    /// Class of the flows that answer queries ([`FlowSpec::class`]).
    pub class: u16,
    /// Time from a query to its answers; `None` for half of the unloaded round trip.
    pub request_delay: Option<Time>,
}

impl LoopTraffic {
    /// Copies the traffic with its state. `None` if the loop cannot be copied
    /// ([`ClosedLoop::boxed_clone`]).
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        let (class, request_delay) = (self.class, self.request_delay);
        Some(Self { queries: self.queries.boxed_clone()?, class, request_delay })
    }
}

/// A schedule that the hosts of a run execute.
#[derive(Clone, Debug)]
pub struct ScheduleTraffic {
    /// Transfers and computations of the schedule, with the dependencies between these.
    pub schedule: Arc<Schedule>,
    /// Host of every rank. Transfers between ranks on one host use no network.
    pub hosts: Vec<u32>,
    /// Traffic class ([`FlowSpec::class`]) for every class of the schedule.
    pub classes: Vec<u16>,
    /// Start of the first execution. Start times in the schedule are relative to their execution's
    /// start.
    pub start: Time,
    /// Number of successive executions of the schedule, at least 1.
    pub iterations: u32,
    /// Time between the end of an execution and the start of the next execution.
    pub pause: Time,
    /// Fast network inside servers; `None` if all transfers pass the simulated network.
    pub scale_up: Option<ScaleUp>,
}

/// Network inside a server that is not simulated packet by packet. Each rank sends one transfer at
/// a time at `rate`, receives one transfer at a time at `rate`, and nothing else delays a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleUp {
    /// Number of consecutive ranks that share a server.
    pub ranks_per_server: u32,
    /// Rate at which each rank sends, and at which each rank receives.
    pub rate: BitRate,
    /// Time from the first byte sent to the first byte received.
    pub latency: Time,
}

/// Threads that each have one query in progress, and send the next query when the last answer is
/// complete. Threads are numbered from 0.
///
/// The driver calls [`Self::first`]. Then the driver alternates two calls: [`Self::ask`] at the
/// returned time, and [`Self::next`] when all answers are complete. A thread's queries must not
/// depend on the times of other threads.
pub trait ClosedLoop: fmt::Debug + Send {
    /// Number of threads in the closed loop.
    fn threads(&self) -> u32;

    /// Number of connections between a thread and a server.
    fn connections(&self) -> u32;

    /// Time of the first query of `thread`; `None` if the thread sends no query.
    fn first(&mut self, thread: u32) -> Option<Time>;

    /// Query that `thread` sends now; `None` if all queries are sent, so that the thread ends.
    fn ask(&mut self, thread: u32) -> Option<LoopQuery>;

    /// Time of the next query of `thread`, whose last answer was complete at `now`; `None`
    /// after its last query.
    fn next(&mut self, thread: u32, now: Time) -> Option<Time>;

    /// Copies the loop with its state, for a simulation that is forked. `None` means that the loop
    /// cannot be copied, so that forks are refused.
    fn boxed_clone(&self) -> Option<Box<dyn ClosedLoop>> {
        None
    }
}

/// A query that a thread of a closed loop sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopQuery {
    /// Number of the query, which is unique in the run.
    pub number: u32,
    /// Number of the client host, which sends the query.
    pub client: u32,
    /// Answers of the servers to the query. Their order is random, so that no
    /// server is always first.
    pub answers: Vec<Answer>,
}

/// Answer of one server to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Number of the server host, which sends the answer.
    pub server: u32,
    /// Payload of the answer (bytes).
    pub size: u64,
    /// Connection between the thread and the server, from 0; below [`ClosedLoop::connections`].
    pub connection: u32,
}

/// Facts about a run that all its workloads share.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// Seed of the run, from which all random streams are derived.
    pub seed: u64,
    /// End of the period `0..end` in which flows start.
    pub end: Time,
    /// Numbers of the hosts of every rack.
    pub racks: &'a [Vec<u32>],
    /// Names of the scenario's transports.
    pub transports: &'a [&'a str],
}

/// A workload of a run, with its class and transport.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Traffic class of the workload.
    pub class: &'a str,
    /// Index of the workload's transport among the scenario's transports.
    pub transport: u32,
    /// The workload whose traffic the run starts.
    pub workload: &'a dyn Workload,
}

impl Traffic {
    /// Starts all workloads of a run. Workloads that list their queries come first, because listed
    /// queries have the lowest numbers.
    ///
    /// # Errors
    /// If a workload's sources cannot be built for this run.
    pub fn new(run: RunFacts<'_>, entries: &[Entry<'_>]) -> Result<Self, SourceError> {
        let is_listed = |entry: &Entry<'_>| entry.workload.queries() == Queries::Listed;
        let is_numbered = |entry: &&Entry<'_>| entry.workload.queries() == Queries::Numbered;
        let mut parts =
            Parts { askers: entries.iter().filter(is_numbered).count() as u32, ..Parts::default() };
        for listed in [true, false] {
            for (index, &entry) in entries.iter().enumerate().filter(|(_, entry)| is_listed(entry) == listed)
            {
                // Two workloads with one class name need separate random streams, so the label gets
                // a number.
                let twins = entries[..index].iter().filter(|other| other.class == entry.class).count();
                let label =
                    if twins == 0 { entry.class.to_owned() } else { format!("{}#{twins}", entry.class) };
                entry.workload.start(&mut TrafficBuilder { run, entry, label, parts: &mut parts })?;
            }
        }
        let Parts { sources, closed_loops, schedules, classes, listed_queries, .. } = parts;
        Ok(Self { source: MergeSource::new(sources), closed_loops, schedules, classes, listed_queries })
    }
}

/// Traffic that the builder has collected so far.
#[derive(Default)]
struct Parts {
    sources: Vec<Box<dyn FlowSource>>,
    closed_loops: Vec<LoopTraffic>,
    schedules: Vec<ScheduleTraffic>,
    classes: Vec<TrafficClass>,
    listed_queries: BTreeMap<u32, u32>,
    /// Smallest number above the numbers of all listed queries.
    query_base: u32,
    /// Number of workloads that take query numbers. `asked` is the number of workloads that have
    /// already taken query numbers.
    askers: u32,
    asked: u32,
}

/// Builder that collects the traffic of one workload in a run.
pub struct TrafficBuilder<'a> {
    run: RunFacts<'a>,
    entry: Entry<'a>,
    label: String,
    parts: &'a mut Parts,
}

impl fmt::Debug for TrafficBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrafficBuilder")
            .field("run", &self.run)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

impl<'a> TrafficBuilder<'a> {
    /// Returns the seed of the run, from which all random streams are derived.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.run.seed
    }

    /// Name of the workload's random streams, unique in the run.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// End of the period `0..end` in which flows start.
    #[must_use]
    pub const fn end(&self) -> Time {
        self.run.end
    }

    /// Numbers of the hosts of every rack.
    #[must_use]
    pub const fn racks(&self) -> &'a [Vec<u32>] {
        self.run.racks
    }

    /// Returns the [`FlowSpec::class`] of the workload's main class.
    pub fn class(&mut self) -> u16 {
        self.named_class(self.entry.class)
    }

    /// Returns the [`FlowSpec::class`] of the class `name`, whose flows use the workload's
    /// transport.
    pub fn named_class(&mut self, name: &str) -> u16 {
        self.class_over(name, self.entry.transport)
    }

    /// Returns the [`FlowSpec::class`] for flows of class `name` over the transport of this index.
    pub fn class_over(&mut self, name: &str, transport: u32) -> u16 {
        self.class_with(name, Carriage { transport, replay: None })
    }

    /// Returns the [`FlowSpec::class`] of packets that are sent unchanged, over the workload's
    /// transport. Packets of each priority are a separate class.
    pub fn replay_class(&mut self, priority: Option<u8>) -> u16 {
        let class = self.entry.class;
        let name = priority.map_or_else(|| class.to_owned(), |priority| format!("{class} p{priority}"));
        let replay = Some(Replay { priority });
        self.class_with(&name, Carriage { transport: self.entry.transport, replay })
    }

    /// Returns the index of a traffic class with this name, transport and replay. A name with two
    /// transports means two classes.
    fn class_with(&mut self, name: &str, carriage: Carriage) -> u16 {
        let classes = &mut self.parts.classes;
        let name = match classes.iter().find(|known| known.name == name) {
            Some(known) if known.carriage != carriage => {
                format!("{name} ({})", self.run.transports[carriage.transport as usize])
            }
            _ => name.to_owned(),
        };
        let known = classes.iter().position(|known| known.name == name);
        known.unwrap_or_else(|| {
            classes.push(TrafficClass { name, carriage });
            classes.len() - 1
        }) as u16
    }

    /// Returns numbers for the workload's queries. A workload may call this function once, and must
    /// return [`Queries::Numbered`].
    ///
    /// # Panics
    /// If a workload calls this method twice.
    pub fn queries(&mut self) -> QueryNumbers {
        let number = self.parts.asked;
        self.parts.asked += 1;
        QueryNumbers::interleaved(self.parts.query_base, number, self.parts.askers)
    }

    /// Adds a source of flows to the traffic of the run.
    pub fn add_source(&mut self, source: impl FlowSource + 'static) {
        self.parts.sources.push(Box::new(source));
    }

    /// Adds flows that are all known before the run, in any order. If the flows answer queries, the
    /// workload must return [`Queries::Listed`]. The queries get new numbers, and the flows of a
    /// query need not start together.
    pub fn add_list(&mut self, mut flows: Vec<FlowSpec>) {
        self.parts.query_base = renumber_queries(&mut flows, self.parts.query_base);
        for flow in flows.iter().filter(|flow| flow.query != FlowSpec::NO_QUERY) {
            *self.parts.listed_queries.entry(flow.query).or_insert(0) += 1;
        }
        self.add_source(ListSource::new(flows));
    }

    /// Adds a closed loop. The loop's answers are flows of `class` and begin `request_delay` after
    /// their query (`None` for half of the unloaded round trip).
    pub fn add_closed_loop(
        &mut self,
        queries: impl ClosedLoop + 'static,
        class: u16,
        request_delay: Option<Time>,
    ) {
        self.parts.closed_loops.push(LoopTraffic { queries: Box::new(queries), class, request_delay });
    }

    /// Adds a schedule to the traffic of the run.
    pub fn add_schedule(&mut self, schedule: ScheduleTraffic) {
        self.parts.schedules.push(schedule);
    }
}
