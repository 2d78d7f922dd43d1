//! Times in which the ranks of a schedule compute, communicate and wait.

use bufferlab_metrics::{CollectiveRow, RankRow};
use bufferlab_schedule::{NodeId, Schedule, Transfer, Work};
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// Times that one rank spent on computation and communication in the current execution of a
/// schedule.
#[derive(Clone, Copy, Debug, Default)]
struct RankTimes {
    computations: u32,
    transfers: u32,
    /// Time up to which the rank's times of computation and communication are summed.
    until: Time,
    computing: Time,
    exposed: Time,
    end: Time,
}

impl RankTimes {
    fn advance(&mut self, now: Time) {
        let passed = Time(now.0.saturating_sub(self.until.0));
        if self.computations > 0 {
            self.computing += passed;
        } else if self.transfers > 0 {
            self.exposed += passed;
        }
        self.until = now;
    }
}

/// All ranks in the current execution of a schedule. A rank communicates while a transfer that it
/// sends or receives is under way, or waits for the network inside a server.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranks(Vec<RankTimes>);

impl Ranks {
    /// Resets the times of all ranks at the start of an execution of the schedule.
    pub(super) fn begin(&mut self, ranks: u32, now: Time) {
        self.0 = vec![RankTimes { until: now, end: now, ..RankTimes::default() }; ranks as usize];
    }

    pub(super) fn start(&mut self, work: Work, now: Time) {
        self.for_each(work, |rank, is_computation| {
            rank.advance(now);
            *(if is_computation { &mut rank.computations } else { &mut rank.transfers }) += 1;
        });
    }

    pub(super) fn end(&mut self, work: Work, now: Time) {
        self.for_each(work, |rank, is_computation| {
            rank.advance(now);
            *(if is_computation { &mut rank.computations } else { &mut rank.transfers }) -= 1;
            rank.end = now;
        });
    }

    fn for_each(&mut self, work: Work, mut change: impl FnMut(&mut RankTimes, bool)) {
        match work {
            Work::Transfer(Transfer { src, dst, .. }) => {
                for rank in [src, dst] {
                    change(&mut self.0[rank as usize], false);
                }
            }
            Work::Compute { rank, .. } => change(&mut self.0[rank as usize], true),
            Work::Barrier => {}
        }
    }

    /// Result rows of all ranks for an execution of length `span`, with the numbers of schedule and
    /// iteration.
    pub(super) fn rows(
        &self,
        (schedule, iteration): (u32, u32),
        hosts: &[u32],
        span: Time,
    ) -> impl Iterator<Item = RankRow> {
        (0..).zip(&self.0).zip(hosts).map(move |((rank, times), &host)| RankRow {
            schedule,
            iteration,
            rank,
            host,
            end_ps: times.end.0,
            compute_ps: times.computing.0,
            exposed_ps: times.exposed.0,
            idle_ps: span.0.saturating_sub(times.computing.0 + times.exposed.0),
        })
    }
}

/// A collective operation in progress: its start time and its unfinished transfers.
#[derive(Clone, Copy, Debug)]
struct InProgress {
    left: u32,
    begin: Time,
}

/// Collective operations in the current execution of a schedule.
#[derive(Clone, Debug)]
pub(super) struct Collectives {
    /// Number of transfers of every collective operation.
    transfers: Vec<u32>,
    live: BTreeMap<u32, InProgress>,
}

impl Collectives {
    pub(super) fn new(schedule: &Schedule) -> Self {
        let mut transfers = vec![0; schedule.collectives().len()];
        if !transfers.is_empty() {
            for node in schedule.nodes().filter(|&node| matches!(schedule.work(node), Work::Transfer(_))) {
                if let Some(collective) = schedule.collective(node) {
                    transfers[collective as usize] += 1;
                }
            }
        }
        Self { transfers, live: BTreeMap::new() }
    }

    /// Ends a transfer that was ready at `ready`. After the last transfer of a collective, returns
    /// the collective's row, with the numbers of schedule and iteration.
    pub(super) fn end(
        &mut self,
        (index, iteration): (u32, u32),
        schedule: &Schedule,
        node: NodeId,
        (ready, now): (Time, Time),
    ) -> Option<CollectiveRow> {
        if self.transfers.is_empty() {
            return None;
        }
        let number = schedule.collective(node)?;
        let left = self.transfers[number as usize];
        let live = self.live.entry(number).or_insert(InProgress { left, begin: ready });
        live.begin = live.begin.min(ready);
        live.left -= 1;
        if live.left > 0 {
            return None;
        }
        let begin = live.begin;
        self.live.remove(&number);
        let collective = schedule.collectives()[number as usize];
        let time = Time(now.0 - begin.0);
        Some(CollectiveRow {
            schedule: index,
            iteration,
            collective: number,
            operation: collective.operation.name(),
            algorithm: collective.algorithm.name(),
            ranks: collective.ranks,
            size_bytes: collective.bytes,
            start_ps: begin.0,
            end_ps: now.0,
            algorithm_bps: collective.algorithm_bps(time),
            bus_bps: collective.bus_bps(time),
        })
    }
}
