//! Multi-get of memcached: a client waits for all answers of a query before its next query.

use crate::durations::Durations;
use crate::traffic::{Answer, ClosedLoop, LoopQuery};
use crate::{QueryNumbers, SourceError};
use bufferlab_params::choices;
use bufferlab_units::{RandomStream, Time};

choices! {
    /// Messages in which a server sends the items of a query.
    pub enum AnswersPer {
        Server = "server": "one message with all of its items",
        Item = "item": "one message per item, each over a separate connection",
    }
}

/// Parameters of a [`MultiGet`].
#[derive(Clone, Debug)]
pub struct MultiGetParams<'a> {
    /// Seed of the run, from which the closed loops derive their random streams.
    pub seed: u64,
    /// Name of the random streams, usually the class name. The name must differ between the
    /// workloads of a run.
    pub label: &'a str,
    /// Numbers of the client hosts, which send queries.
    pub clients: &'a [u32],
    /// Numbers of the server hosts, which answer queries. A client that is also a server sends no
    /// query to itself.
    pub servers: &'a [u32],
    /// Number of threads (closed loops) of each client.
    pub threads: u32,
    /// Number of servers per query. If the workload has more servers, each query draws its servers.
    pub fan_in: u32,
    /// Number of items per query, assigned to the query's servers in turn; at least `fan_in`.
    pub items: u32,
    /// Payload of one item (bytes).
    pub item_bytes: u64,
    /// Division of a server's items into messages: one message for all items, or one per item.
    pub answers_per: AnswersPer,
    /// Think time from the last answer to the next query; `None` for no think time.
    pub think: Option<Durations>,
    /// Total number of queries of all threads; `None` for as many as the time allows.
    pub queries: Option<u64>,
    /// Time at which every thread starts with a query, or in the middle of its think time.
    pub start: Time,
    /// Time at which the queries end; a client sends each query before this time.
    pub end: Time,
    /// Numbers for the field [`crate::FlowSpec::query`] of the queries' flows.
    pub numbers: QueryNumbers,
}

/// Source of closed loops: every thread of every client has exactly one query in progress. The
/// thread sends the next query one think time after the last answer. Threads are numbered from 0;
/// the threads of a client have consecutive numbers.
///
/// Random streams: `workload/<label>/servers` and `…/think`, with the thread's number as index. So
/// a thread's queries do not depend on the speed of other threads.
#[derive(Clone, Debug)]
pub struct MultiGet {
    clients: Vec<u32>,
    /// Servers of each thread, in the order of the thread's last draws.
    servers: Vec<Vec<u32>>,
    threads: u32,
    fan_in: u32,
    items: u32,
    item_bytes: u64,
    answers_per: AnswersPer,
    think: Option<Durations>,
    left: Option<u64>,
    start: Time,
    end: Time,
    numbers: QueryNumbers,
    /// Random streams of each thread: for its servers, and for its think times.
    streams: Vec<(RandomStream, RandomStream)>,
}

impl MultiGet {
    /// Creates the closed loops with their threads.
    ///
    /// # Errors
    /// [`SourceError`] if the workload has no server or nothing to request, or a client has fewer
    /// than `fan_in` servers.
    pub fn new(params: MultiGetParams<'_>) -> Result<Self, SourceError> {
        let MultiGetParams { seed, label, threads, fan_in, items, item_bytes, .. } = params;
        let is_sound = params.think.as_ref().is_none_or(Durations::is_sound);
        if params.clients.is_empty()
            || threads == 0
            || fan_in == 0
            || items < fan_in
            || item_bytes == 0
            || !is_sound
        {
            return Err(SourceError::EmptyLoop);
        }
        let mut servers = Vec::with_capacity(params.clients.len() * threads as usize);
        for &client in params.clients {
            let others: Vec<u32> =
                params.servers.iter().copied().filter(|&server| server != client).collect();
            if others.len() < fan_in as usize {
                return Err(SourceError::LoopFanIn { fan_in, client, available: others.len() });
            }
            servers.extend((0..threads).map(|_| others.clone()));
        }
        let stream = |purpose: &str, thread: u64| {
            RandomStream::new(seed, &format!("workload/{label}/{purpose}"), thread)
        };
        let all = servers.len() as u64;
        Ok(Self {
            clients: params.clients.to_vec(),
            servers,
            threads,
            fan_in,
            items,
            item_bytes,
            answers_per: params.answers_per,
            think: params.think,
            left: params.queries,
            start: params.start,
            end: params.end,
            numbers: params.numbers,
            streams: (0..all).map(|thread| (stream("servers", thread), stream("think", thread))).collect(),
        })
    }
}

impl ClosedLoop for MultiGet {
    fn threads(&self) -> u32 {
        self.streams.len() as u32
    }

    fn connections(&self) -> u32 {
        match self.answers_per {
            AnswersPer::Server => 1,
            AnswersPer::Item => self.items.div_ceil(self.fan_in),
        }
    }

    fn first(&mut self, thread: u32) -> Option<Time> {
        let think = match self.think {
            None => Time::ZERO,
            Some(think) => think.sample_first(&mut self.streams[thread as usize].1),
        };
        Some(self.start.saturating_add(think)).filter(|&first| first < self.end)
    }

    fn ask(&mut self, thread: u32) -> Option<LoopQuery> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let number = self.numbers.take().expect("a run has fewer than 2^32 queries");
        let client = (thread / self.threads) as usize;
        let servers = &mut self.servers[thread as usize];
        let stream = &mut self.streams[thread as usize].0;
        // The method is a Fisher-Yates shuffle, which stops when enough servers are drawn. The
        // shuffle continues from the previous order, which keeps all orders equally likely.
        for position in 0..self.fan_in as usize {
            let other = position + stream.below((servers.len() - position) as u64) as usize;
            servers.swap(position, other);
        }
        let mut answers = Vec::new();
        for item in 0..self.items {
            let server = servers[(item % self.fan_in) as usize];
            match self.answers_per {
                AnswersPer::Item => {
                    answers.push(Answer { server, size: self.item_bytes, connection: item / self.fan_in });
                }
                AnswersPer::Server if item < self.fan_in => {
                    answers.push(Answer { server, size: self.item_bytes, connection: 0 });
                }
                AnswersPer::Server => answers[(item % self.fan_in) as usize].size += self.item_bytes,
            }
        }
        Some(LoopQuery { number, client: self.clients[client], answers })
    }

    fn next(&mut self, thread: u32, now: Time) -> Option<Time> {
        let think = match self.think {
            None => Time::ZERO,
            Some(think) => think.sample(&mut self.streams[thread as usize].1),
        };
        let at = now.saturating_add(think);
        (at < self.end && self.left != Some(0)).then_some(at)
    }

    fn boxed_clone(&self) -> Option<Box<dyn ClosedLoop>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durations::DurationShape;
    use std::collections::BTreeMap;

    fn params() -> MultiGetParams<'static> {
        MultiGetParams {
            seed: 1,
            label: "memcached",
            clients: &[0, 9],
            servers: &[1, 2, 3, 4, 9],
            threads: 3,
            fan_in: 4,
            items: 6,
            item_bytes: 1_000,
            answers_per: AnswersPer::Server,
            think: None,
            queries: None,
            start: Time::from_ms(1),
            end: Time::from_ms(2),
            numbers: QueryNumbers::interleaved(7, 0, 2),
        }
    }

    #[test]
    fn items_are_dealt_to_different_servers_in_turn() {
        let mut gets = MultiGet::new(params()).expect("sound");
        let query = gets.ask(0).expect("queries are left");
        assert_eq!((query.number, query.client), (7, 0));
        let mut sizes: Vec<u64> = query.answers.iter().map(|answer| answer.size).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [1_000, 1_000, 2_000, 2_000]);
        let mut servers: Vec<u32> = query.answers.iter().map(|answer| answer.server).collect();
        servers.sort_unstable();
        servers.dedup();
        assert_eq!(servers.len(), 4, "{query:?}");
        // The next query has the next number of this workload. Thread 3 is the first thread of
        // the second client.
        let query = gets.ask(3).expect("queries are left");
        assert_eq!((query.number, query.client), (9, 9));
        assert!(query.answers.iter().all(|answer| answer.server != 9), "nobody asks itself: {query:?}");
    }

    #[test]
    fn parallel_items_have_connections_of_their_own() {
        let params = MultiGetParams { answers_per: AnswersPer::Item, ..params() };
        let mut gets = MultiGet::new(params).expect("sound");
        let query = gets.ask(1).expect("queries are left");
        assert_eq!((query.answers.len(), gets.connections()), (6, 2));
        let mut ends: Vec<_> =
            query.answers.iter().map(|answer| (answer.server, answer.connection)).collect();
        ends.sort_unstable();
        ends.dedup();
        assert_eq!(ends.len(), 6, "no two answers share a connection: {query:?}");
    }

    #[test]
    fn every_server_is_asked_equally_often_and_threads_do_not_disturb_each_other() {
        let params = MultiGetParams { fan_in: 2, items: 2, ..params() };
        let mut gets = MultiGet::new(params.clone()).expect("sound");
        let mut hits = BTreeMap::new();
        let ask = |gets: &mut MultiGet, thread| {
            let query = gets.ask(thread).expect("queries are left");
            query.answers.iter().map(|answer| answer.server).collect::<Vec<_>>()
        };
        let alone: Vec<_> = (0..20_000).map(|_| ask(&mut gets, 0)).collect();
        for server in alone.concat() {
            *hits.entry(server).or_insert(0_u32) += 1;
        }
        // Queries draw each server 8,000 times on average; five standard deviations
        // of a binomial count are 450.
        assert_eq!(hits.len(), 5);
        assert!(hits.values().all(|&count| count.abs_diff(8_000) < 450), "{hits:?}");
        let mut gets = MultiGet::new(params).expect("sound");
        let _ = (ask(&mut gets, 1), ask(&mut gets, 3));
        assert_eq!(ask(&mut gets, 0), alone[0], "other threads' queries change nothing");
    }

    #[test]
    fn queries_end_with_their_number_or_with_time() {
        let think = Some(Durations { mean: Time::from_us(300), shape: DurationShape::Fixed });
        let mut gets = MultiGet::new(MultiGetParams { think, queries: Some(2), ..params() }).expect("sound");
        let first: Vec<_> = (0..6).map(|thread| gets.first(thread).expect("there is time")).collect();
        assert!(first.iter().all(|at| (Time::from_ms(1)..Time::from_us(1_300)).contains(at)), "{first:?}");
        assert!(first.iter().any(|at| *at != first[0]), "they do not march in step");
        assert!(gets.ask(0).is_some());
        assert_eq!(gets.next(0, Time::from_us(1_500)), Some(Time::from_us(1_800)));
        assert_eq!(gets.next(0, Time::from_us(1_700)), None, "too late");
        assert!(gets.ask(5).is_some());
        assert_eq!(gets.next(0, Time::from_us(1_500)), None, "both have been asked");
        assert_eq!(gets.ask(1), None);
        let mut gets = MultiGet::new(params()).expect("sound");
        assert_eq!([gets.first(0), gets.first(5)], [Some(Time::from_ms(1)); 2]);
    }

    #[test]
    fn impossible_loops_are_refused() {
        let refuse = |params| MultiGet::new(params).unwrap_err();
        assert_eq!(
            refuse(MultiGetParams { fan_in: 5, ..params() }),
            SourceError::LoopFanIn { fan_in: 5, client: 9, available: 4 }
        );
        assert_eq!(refuse(MultiGetParams { items: 3, ..params() }), SourceError::EmptyLoop);
        assert_eq!(refuse(MultiGetParams { threads: 0, ..params() }), SourceError::EmptyLoop);
    }
}
