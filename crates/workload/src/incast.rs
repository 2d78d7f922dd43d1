//! Incast: hosts query many servers at once, and all servers answer at one instant.

use crate::arrivals::{Arrivals, streams};
use crate::pattern::Racks;
use crate::{FlowSource, FlowSpec, Pattern, SourceError};
use bufferlab_units::{RandomStream, Time};

/// Numbers for the queries of one source: an arithmetic sequence that no other source
/// of the run shares.
///
/// Several incast sources get disjoint numbers without coordination: each source takes its part of
/// [`QueryNumbers::interleaved`]. So the numbers of a source never depend on the number of queries
/// of another source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryNumbers {
    first: u32,
    stride: u32,
}

impl QueryNumbers {
    /// Returns the numbers of source `index` of `sources`: `base + index`, `base + index + sources`
    /// … `base` must be above every number that a flow list of the run uses;
    /// [`crate::renumber_queries`] returns this number. Without lists, `base` is 0.
    ///
    /// # Panics
    /// If `index` is not below `sources`, or the first number does not fit into 32 bits.
    #[must_use]
    pub const fn interleaved(base: u32, index: u32, sources: u32) -> Self {
        assert!(index < sources, "index counts the sources that share the numbers");
        Self { first: base.checked_add(index).expect("query numbers fit into 32 bits"), stride: sources }
    }

    /// Returns the next query number; `None` if all numbers below [`FlowSpec::NO_QUERY`] are used.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let number = Some(self.first).filter(|&number| number != FlowSpec::NO_QUERY)?;
        self.first = number.checked_add(self.stride).unwrap_or(FlowSpec::NO_QUERY);
        Some(number)
    }

    /// Whether about `expected` query numbers exist below [`FlowSpec::NO_QUERY`], with room for ten
    /// standard deviations of a Poisson count.
    fn suffice_for(self, expected: f64) -> bool {
        let most = expected + 10.0 * expected.sqrt() + 10.0;
        f64::from(self.first) + f64::from(self.stride) * most < f64::from(FlowSpec::NO_QUERY)
    }
}

/// The default numbers 0, 1, 2 … are for the only incast source of a run without flow lists.
impl Default for QueryNumbers {
    fn default() -> Self {
        Self::interleaved(0, 0, 1)
    }
}

/// Parameters of an [`IncastSource`].
#[derive(Clone, Debug)]
pub struct IncastParams<'a> {
    /// Seed of the run, from which the source derives its random streams.
    pub seed: u64,
    /// Name of the random streams, usually the class name. The name must differ between the sources
    /// of a run.
    pub label: &'a str,
    /// Hosts of every rack, in the order that [`Pattern::NextRack`] follows. Racks without
    /// hosts are skipped.
    pub racks: &'a [Vec<u32>],
    /// Pattern that selects the servers of each client; see [`IncastSource`].
    pub pattern: Pattern,
    /// Number of servers that answer each query.
    pub fan_in: u32,
    /// Size of all answers of one query (bytes). Every server sends `request_bytes / fan_in`,
    /// rounded up, so a query has at most `fan_in − 1` bytes more.
    pub request_bytes: u64,
    /// Mean number of queries per second that every host sends as a client; zero for none.
    pub queries_per_second_per_host: f64,
    /// Whether connections exist before their data arrives (no handshake): the papers' clients keep
    /// their connections open.
    pub persistent: bool,
    /// Class of the source's flows: [`FlowSpec::class`].
    pub class: u16,
    /// Numbers for the field [`FlowSpec::query`] of the flows.
    pub queries: QueryNumbers,
    /// Time at which queries stop starting: clients send all queries in `0..end`.
    pub end: Time,
}

/// Partition-aggregate traffic: every host is a client that sends queries in a Poisson process. A
/// query makes `fan_in` distinct servers answer at one instant. The request itself is not modelled,
/// as in the public ns-3 artifacts.
///
/// Servers of a query:
/// * [`Pattern::NextRack`]: `fan_in` hosts of the client's next rack, hence all of its hosts when
///   `fan_in` is the rack's size (the public ABM artifact);
/// * [`Pattern::OtherRack`]: one other rack is drawn (each with equal probability), then `fan_in`
///   of its hosts (the text of ABM);
/// * [`Pattern::AllToAll`]: `fan_in` hosts other than the client.
///
/// Answers of a query are in the order in which the servers were drawn, so no server is
/// always first. Random streams: `workload/<label>/arrivals` and `…/destinations`, with the
/// client's number as index.
#[derive(Clone, Debug)]
pub struct IncastSource {
    arrivals: Arrivals,
    racks: Racks,
    pattern: Pattern,
    fan_in: usize,
    answer_bytes: u64,
    open: Option<Time>,
    class: u16,
    streams: Vec<RandomStream>,
    /// Query numbers that the source has not used yet.
    numbers: QueryNumbers,
    /// Query whose answers the source is returning.
    current: Query,
}

#[derive(Clone, Debug, Default)]
struct Query {
    start: Time,
    client: u32,
    number: u32,
    servers: Vec<u32>,
    /// Number of servers in `servers` that have answered.
    answered: usize,
}

impl IncastSource {
    /// Creates the source with its clients.
    ///
    /// # Errors
    /// [`SourceError`] if the pattern does not fit the racks, a query would be empty, or
    /// some client could not reach `fan_in` servers. Also if the rate is invalid, or query
    /// numbers would run out.
    pub fn new(params: IncastParams<'_>) -> Result<Self, SourceError> {
        let IncastParams { seed, label, pattern, fan_in, request_bytes, .. } = params;
        if fan_in == 0 || request_bytes == 0 {
            return Err(SourceError::EmptyQuery { fan_in, request_bytes });
        }
        let racks = Racks::new(params.racks, pattern)?;
        let rack_sizes = (0..racks.rack_count()).map(|rack| racks.slots(rack).len());
        // Any rack may have to answer some client, so the smallest rack limits `fan_in`.
        let available = match pattern {
            Pattern::NextRack | Pattern::OtherRack => rack_sizes.min().unwrap_or(0),
            Pattern::AllToAll => racks.hosts().len() - 1,
        };
        if fan_in as usize > available {
            return Err(SourceError::FanIn { fan_in, pattern, available });
        }
        let rate = params.queries_per_second_per_host;
        let arrivals = Arrivals::new(seed, label, racks.hosts(), rate, params.end)?;
        let expected = rate * racks.hosts().len() as f64 * params.end.as_secs_f64();
        if !params.queries.suffice_for(expected) {
            return Err(SourceError::TooManyQueries { expected });
        }
        Ok(Self {
            arrivals,
            streams: streams(seed, label, "destinations", racks.hosts()),
            racks,
            pattern,
            fan_in: fan_in as usize,
            answer_bytes: request_bytes.div_ceil(u64::from(fan_in)),
            open: params.persistent.then_some(Time::ZERO),
            class: params.class,
            numbers: params.queries,
            current: Query::default(),
        })
    }

    /// Starts to return the answers of the next query; `None` after the last query.
    fn ask(&mut self) -> Option<()> {
        let (start, slot) = self.arrivals.pop()?;
        self.draw_servers(slot);
        let number = self.numbers.first;
        let next = number.checked_add(self.numbers.stride);
        self.numbers.first = next.expect("`suffice_for` has left room beyond the expected number of queries");
        let query = &mut self.current;
        (query.start, query.client, query.number) = (start, self.racks.hosts()[slot], number);
        query.answered = 0;
        Some(())
    }

    /// Draws `fan_in` distinct servers for the client in `slot`. The method is a Fisher-Yates
    /// shuffle of the candidates, which stops when enough servers are drawn.
    fn draw_servers(&mut self, slot: usize) {
        let hosts = self.racks.hosts();
        let stream = &mut self.streams[slot];
        let servers = &mut self.current.servers;
        servers.clear();
        match self.pattern {
            Pattern::NextRack => servers.extend(&hosts[self.racks.slots(self.racks.next_rack(slot))]),
            Pattern::OtherRack => {
                let own = self.racks.rack_of(slot);
                let draw = stream.below(self.racks.rack_count() as u64 - 1) as usize;
                let rack = if draw < own { draw } else { draw + 1 };
                servers.extend(&hosts[self.racks.slots(rack)]);
            }
            Pattern::AllToAll => {
                servers.extend(&hosts[..slot]);
                servers.extend(&hosts[slot + 1..]);
            }
        }
        for position in 0..self.fan_in {
            let other = position + stream.below((servers.len() - position) as u64) as usize;
            servers.swap(position, other);
        }
        servers.truncate(self.fan_in);
    }
}

impl FlowSource for IncastSource {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        if self.current.answered == self.current.servers.len() {
            self.ask()?;
        }
        let query = &mut self.current;
        let src = query.servers[query.answered];
        query.answered += 1;
        Some(FlowSpec {
            start: query.start,
            src,
            dst: query.client,
            size: self.answer_bytes,
            class: self.class,
            query: query.number,
            open: self.open,
            data_path: None,
            ack_path: None,
            node: FlowSpec::NO_NODE,
        })
    }

    fn boxed_clone(&self) -> Option<Box<dyn FlowSource>> {
        Some(Box::new(self.clone()))
    }
}
