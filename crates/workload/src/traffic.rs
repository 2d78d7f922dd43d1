//! From workloads to the traffic of one run: one stream of flows, classes, closed loops.

use crate::workload::{Queries, Workload};
use crate::{FlowSource, FlowSpec, ListSource, MergeSource, QueryNumbers, SourceError, renumber_queries};
use bufferlab_units::Time;
use std::collections::BTreeMap;
use std::fmt;

/// The traffic of a run, and what must be known of it before it starts.
#[derive(Debug)]
pub struct Traffic {
    /// All flows that do not wait for others, by start.
    pub source: MergeSource,
    /// Workloads whose flows start when others are complete.
    pub closed_loops: Vec<LoopTraffic>,
    /// Classes of flows; [`FlowSpec::class`] is an index into it.
    pub classes: Vec<TrafficClass>,
    /// Flows per query of the lists, where a query's flows need not start together.
    pub listed_queries: BTreeMap<u32, u32>,
}

/// A class of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficClass {
    /// Name in tables and reports, unique in the run.
    pub name: String,
    /// What carries it.
    pub carriage: Carriage,
}

/// What carries the flows of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carriage {
    /// Index into the scenario's transports.
    pub transport: u32,
    /// Its flows are packets that leave as they are.
    pub replay: Option<Replay>,
}

/// Flows that are packets: [`FlowSpec::size`] is their size on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The priority of the packets; `None`: the transport's.
    pub priority: Option<u8>,
}

/// A workload of closed loops.
#[derive(Debug)]
pub struct LoopTraffic {
    /// Who asks what, and when.
    pub queries: Box<dyn ClosedLoop>,
    /// [`FlowSpec::class`] of the answers.
    pub class: u16,
    /// From a query to its answers; `None`: half of the unloaded round trip.
    pub request_delay: Option<Time>,
}

/// Threads that each have one query under way, and ask the next one when the last answer is
/// complete. Threads are numbered from 0.
///
/// The driver calls [`Self::first`], then in turn [`Self::ask`] at that time and [`Self::next`]
/// when all answers are complete. What a thread asks must not depend on when others are asked.
pub trait ClosedLoop: fmt::Debug + Send {
    /// How many threads there are.
    fn threads(&self) -> u32;

    /// Connections between a thread and a server.
    fn connections(&self) -> u32;

    /// When `thread` asks for the first time. `None`: never.
    fn first(&mut self, thread: u32) -> Option<Time>;

    /// What `thread` asks now. `None` when all queries have been asked: the thread ends.
    fn ask(&mut self, thread: u32) -> Option<LoopQuery>;

    /// The last answer of `thread`'s query was complete at `now`: when does it ask again? `None`:
    /// never.
    fn next(&mut self, thread: u32, now: Time) -> Option<Time>;
}

/// One query of a closed loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopQuery {
    /// Its number, unique in the run.
    pub number: u32,
    /// Who asks.
    pub client: u32,
    /// What is sent for it. The order is random, so that no server is always first.
    pub answers: Vec<Answer>,
}

/// What one server sends for a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Who sends it.
    pub server: u32,
    /// Payload (bytes).
    pub size: u64,
    /// Which of the connections between the thread and that server carries it, from 0; below
    /// [`ClosedLoop::connections`].
    pub connection: u32,
}

/// What all workloads of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// The run's seed.
    pub seed: u64,
    /// Flows start in `0..end`.
    pub end: Time,
    /// Hosts of every rack.
    pub racks: &'a [Vec<u32>],
    /// Names of the scenario's transports.
    pub transports: &'a [&'a str],
}

/// A workload of a run.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its class.
    pub class: &'a str,
    /// Index into the scenario's transports.
    pub transport: u32,
    /// What it sends.
    pub workload: &'a dyn Workload,
}

impl Traffic {
    /// Starts all workloads of a run: first those that list their queries, as these have the lowest
    /// numbers.
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
                // Two workloads of one class need streams of their own.
                let twins = entries[..index].iter().filter(|other| other.class == entry.class).count();
                let label =
                    if twins == 0 { entry.class.to_owned() } else { format!("{}#{twins}", entry.class) };
                entry.workload.start(&mut TrafficBuilder { run, entry, label, parts: &mut parts })?;
            }
        }
        let Parts { sources, closed_loops, classes, listed_queries, .. } = parts;
        Ok(Self { source: MergeSource::new(sources), closed_loops, classes, listed_queries })
    }
}

/// The traffic so far.
#[derive(Default)]
struct Parts {
    sources: Vec<Box<dyn FlowSource>>,
    closed_loops: Vec<LoopTraffic>,
    classes: Vec<TrafficClass>,
    listed_queries: BTreeMap<u32, u32>,
    /// The first number above those of listed queries.
    query_base: u32,
    /// Workloads that take numbers for their queries: how many, and how many have.
    askers: u32,
    asked: u32,
}

/// Takes what one workload sends in a run.
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
    /// The run's seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.run.seed
    }

    /// Names the workload's random streams: no other workload of the run has the same.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Flows start in `0..end`.
    #[must_use]
    pub const fn end(&self) -> Time {
        self.run.end
    }

    /// Hosts of every rack.
    #[must_use]
    pub const fn racks(&self) -> &'a [Vec<u32>] {
        self.run.racks
    }

    /// [`FlowSpec::class`] of the workload's own class.
    pub fn class(&mut self) -> u16 {
        self.named_class(self.entry.class)
    }

    /// [`FlowSpec::class`] of another class over the workload's transport.
    pub fn named_class(&mut self, name: &str) -> u16 {
        self.class_over(name, self.entry.transport)
    }

    /// [`FlowSpec::class`] of another class over another transport, by its index.
    pub fn class_over(&mut self, name: &str, transport: u32) -> u16 {
        self.class_with(name, Carriage { transport, replay: None })
    }

    /// [`FlowSpec::class`] of packets that leave as they are, over the workload's transport. Those
    /// of each priority are a class.
    pub fn replay_class(&mut self, priority: Option<u8>) -> u16 {
        let class = self.entry.class;
        let name = priority.map_or_else(|| class.to_owned(), |priority| format!("{class} p{priority}"));
        let replay = Some(Replay { priority });
        self.class_with(&name, Carriage { transport: self.entry.transport, replay })
    }

    /// A class is carried in one way: the same name in another way is another class.
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

    /// Numbers for the workload's queries. Once per workload, which must say so
    /// ([`Queries::Numbered`]).
    ///
    /// # Panics
    /// If it is called more often.
    pub fn queries(&mut self) -> QueryNumbers {
        let number = self.parts.asked;
        self.parts.asked += 1;
        QueryNumbers::interleaved(self.parts.query_base, number, self.parts.askers)
    }

    /// Adds flows that come one by one.
    pub fn add_source(&mut self, source: impl FlowSource + 'static) {
        self.parts.sources.push(Box::new(source));
    }

    /// Adds flows that are all known, in any order. Where they answer queries, the workload says so
    /// ([`Queries::Listed`]); queries are numbered anew, and the flows of one need not start
    /// together.
    pub fn add_list(&mut self, mut flows: Vec<FlowSpec>) {
        self.parts.query_base = renumber_queries(&mut flows, self.parts.query_base);
        for flow in flows.iter().filter(|flow| flow.query != FlowSpec::NO_QUERY) {
            *self.parts.listed_queries.entry(flow.query).or_insert(0) += 1;
        }
        self.add_source(ListSource::new(flows));
    }

    /// Adds a closed loop, whose answers are flows of `class` and begin `request_delay` after their
    /// query (`None`: half of the unloaded round trip).
    pub fn add_closed_loop(
        &mut self,
        queries: impl ClosedLoop + 'static,
        class: u16,
        request_delay: Option<Time>,
    ) {
        self.parts.closed_loops.push(LoopTraffic { queries: Box::new(queries), class, request_delay });
    }
}
