//! Builds one schedule from the traces of all ranks.

use super::{Kind, Trace, TraceNode};
use crate::{ImportError, ImportOptions, Notices};
use bufferlab_schedule::{
    Collective, Condition, NodeId, Operation, Schedule, ScheduleBuilder, ScheduleError, Transfer, Work,
    expand,
};
use bufferlab_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// Name of the traffic class of all transfers of a Chakra schedule.
const CLASS: &str = "message";

/// Key of a channel of messages: sender, receiver and tag.
type Channel = (u32, u32, i64);

/// A rank in a collective: the nodes before and after the collective, and the collective's
/// properties.
struct Part {
    rank: u32,
    begin: NodeId,
    end: NodeId,
    kind: i64,
    bytes: u64,
}

/// State of the conversion of Chakra traces to a schedule.
struct Build<'a> {
    options: &'a ImportOptions,
    builder: ScheduleBuilder,
    class: u16,
    sends: BTreeMap<Channel, VecDeque<NodeId>>,
    receives: BTreeMap<Channel, VecDeque<NodeId>>,
    /// Collectives of all ranks, by group and by their number in the group.
    collectives: BTreeMap<(String, usize), Vec<Part>>,
    missing: u64,
    counts: [u64; 4],
    /// Whether the schedule includes the control dependencies of the traces.
    has_controls: bool,
}

/// Builds one schedule from the traces of all ranks.
///
/// In some PyTorch traces, control dependencies contradict data dependencies.
/// The schedule then has only the data dependencies.
pub(crate) fn build(
    traces: &[Trace],
    groups: &BTreeMap<String, Vec<u32>>,
    options: &ImportOptions,
    notices: &mut Notices,
) -> Result<Schedule, ImportError> {
    let mut first = Notices::default();
    let with_controls = attempt(traces, groups, options, &mut first, true)?;
    match with_controls.build() {
        Err(ScheduleError::Cycle { waiting, .. }) => {
            let without = attempt(traces, groups, options, notices, false)?.build().map_err(refuse)?;
            notices.assume(format!(
                "control dependencies contradict data dependencies ({waiting} nodes would never start); only data \
                 dependencies count"
            ));
            Ok(without)
        }
        built => {
            notices.understood.append(&mut first.understood);
            notices.ignored.append(&mut first.ignored);
            notices.assumed.append(&mut first.assumed);
            built.map_err(refuse)
        }
    }
}

fn attempt(
    traces: &[Trace],
    groups: &BTreeMap<String, Vec<u32>>,
    options: &ImportOptions,
    notices: &mut Notices,
    has_controls: bool,
) -> Result<ScheduleBuilder, ImportError> {
    let ranks = traces.iter().map(|trace| trace.rank + 1).max().unwrap_or(0);
    let peers = traces.iter().flat_map(|trace| &trace.nodes).filter_map(|node| {
        let peers = [node.numbers.get("comm_src"), node.numbers.get("comm_dst")];
        peers.into_iter().flatten().max().copied()
    });
    let ranks = u64::from(ranks).max(peers.max().unwrap_or(0).max(0) as u64 + 1);
    let ranks =
        u32::try_from(ranks).map_err(|_| plain("a rank beyond 32 bits", "correct comm_src and comm_dst"))?;
    let mut builder = ScheduleBuilder::new(ranks);
    let class = builder.class(CLASS).map_err(refuse)?;
    let mut build = Build {
        options,
        builder,
        class,
        sends: BTreeMap::new(),
        receives: BTreeMap::new(),
        collectives: BTreeMap::new(),
        missing: 0,
        counts: [0; 4],
        has_controls,
    };
    for trace in traces {
        build.add(trace)?;
    }
    build.join_messages(notices)?;
    build.join_collectives(groups, notices)?;
    build.summarise(traces, notices);
    Ok(build.builder)
}

fn refuse(cause: ScheduleError) -> ImportError {
    plain(&cause.to_string(), "correct the traces")
}

fn plain(problem: &str, advice: &str) -> ImportError {
    ImportError {
        path: None,
        line: None,
        column: None,
        problem: problem.to_owned(),
        advice: advice.to_owned(),
    }
}

impl Build<'_> {
    /// Adds the nodes of one rank, then the dependencies of these nodes.
    fn add(&mut self, trace: &Trace) -> Result<(), ImportError> {
        // First and last schedule node for every node of the trace.
        let mut ids: BTreeMap<u64, (NodeId, NodeId)> = BTreeMap::new();
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut placed = Vec::with_capacity(trace.nodes.len());
        for node in &trace.nodes {
            let ends = self.add_node(trace.rank, node, &mut numbers)?;
            if ids.insert(node.id, ends).is_some() {
                return Err(plain(
                    &format!("rank {} has two nodes {}", trace.rank, node.id),
                    "give them different ids",
                ));
            }
            self.builder.name(ends.0, &format!("r{}.{}", trace.rank, node.id));
            placed.push(ends.0);
        }
        for (node, &begin) in trace.nodes.iter().zip(&placed) {
            let has_controls = self.has_controls;
            let controls = node.controls.iter().filter(|_| has_controls);
            for parent in node.parents.iter().chain(controls) {
                let Some(&(_, end)) = ids.get(parent) else {
                    self.missing += 1;
                    continue;
                };
                let condition = if self.is_send(end) { Condition::Sent } else { Condition::Finished };
                self.builder.after(begin, end, condition).map_err(refuse)?;
            }
        }
        Ok(())
    }

    fn is_send(&self, node: NodeId) -> bool {
        matches!(self.builder.work(node), Some(Work::Transfer(_)))
    }

    fn add_node(
        &mut self,
        rank: u32,
        node: &TraceNode,
        numbers: &mut BTreeMap<String, usize>,
    ) -> Result<(NodeId, NodeId), ImportError> {
        let number = |name: &str| node.numbers.get(name).copied().unwrap_or(0);
        let bytes = number("comm_size").max(0) as u64;
        let one = |node: NodeId| (node, node);
        match node.kind() {
            Some(Kind::Send) => {
                let dst = number("comm_dst");
                let dst = u32::try_from(dst)
                    .map_err(|_| plain(&format!("rank {dst} in comm_dst"), "correct it"))?;
                let work =
                    Work::Transfer(Transfer { src: rank, dst, bytes: bytes.max(1), class: self.class });
                let id = self.builder.node(work).map_err(refuse)?;
                self.sends.entry((rank, dst, number("comm_tag"))).or_default().push_back(id);
                self.counts[0] += 1;
                Ok(one(id))
            }
            Some(Kind::Receive) => {
                let src = number("comm_src");
                let src = u32::try_from(src)
                    .map_err(|_| plain(&format!("rank {src} in comm_src"), "correct it"))?;
                let id = self.builder.node(Work::Barrier).map_err(refuse)?;
                self.receives.entry((src, rank, number("comm_tag"))).or_default().push_back(id);
                self.counts[1] += 1;
                Ok(one(id))
            }
            Some(Kind::Collective) => {
                let begin = self.builder.node(Work::Barrier).map_err(refuse)?;
                let end = self.builder.node(Work::Barrier).map_err(refuse)?;
                self.builder.after(end, begin, Condition::Finished).map_err(refuse)?;
                let group = node.group.clone().unwrap_or_default();
                let count = numbers.entry(group.clone()).or_default();
                let part = Part { rank, begin, end, kind: number("comm_type"), bytes };
                self.collectives.entry((group, *count)).or_default().push(part);
                *count += 1;
                self.counts[2] += 1;
                Ok((begin, end))
            }
            Some(Kind::Compute) => {
                // Old traces lack the attribute `is_cpu_op`; their computations run on a CPU.
                let lane = u8::from(node.numbers.get("is_cpu_op").copied().unwrap_or(1) != 0);
                let micros = node.micros.min(u64::MAX / 1_000_000);
                let work = Work::Compute { rank, lane, duration: Time::from_us(micros) };
                self.counts[3] += 1;
                self.builder.node(work).map(one).map_err(refuse)
            }
            Some(Kind::Metadata | Kind::Memory) | None => {
                self.builder.node(Work::Barrier).map(one).map_err(refuse)
            }
        }
    }

    /// Joins sends and receives of one channel in the order first in, first out.
    fn join_messages(&mut self, notices: &mut Notices) -> Result<(), ImportError> {
        let mut unread = 0;
        for (channel, receives) in std::mem::take(&mut self.receives) {
            let sends = self.sends.entry(channel).or_default();
            for receive in receives {
                let (src, dst, tag) = channel;
                let problem = || {
                    format!(
                        "rank {dst} waits for a message of rank {src} with tag {tag}, which no file sends"
                    )
                };
                let send = sends.pop_front();
                let send = send.ok_or_else(|| plain(&problem(), "import the files of all ranks together"))?;
                self.builder.after(receive, send, Condition::Finished).map_err(refuse)?;
            }
        }
        unread += self.sends.values().map(VecDeque::len).sum::<usize>();
        if unread > 0 {
            notices.assume(format!("{unread} messages are never received; they are sent anyway"));
        }
        Ok(())
    }

    fn join_collectives(
        &mut self,
        groups: &BTreeMap<String, Vec<u32>>,
        notices: &mut Notices,
    ) -> Result<(), ImportError> {
        let mut transfers = 0_u64;
        if self.collectives.values().any(|parts| parts.len() == 1) {
            notices
                .assume("collectives of a single rank send nothing: import the traces of all ranks together");
        }
        for ((group, _), parts) in std::mem::take(&mut self.collectives) {
            let Some(first) = parts.first() else { continue };
            if let Some(known) = groups.get(&group).filter(|known| known.len() != parts.len()) {
                notices.assume(format!(
                    "group {group} has {} ranks, but {} files have the collective; it runs among these",
                    known.len(),
                    parts.len()
                ));
            }
            let operation = match first.kind {
                0 => Operation::AllReduce,
                2 => Operation::AllGather,
                5 => Operation::Broadcast,
                6 => Operation::AllToAll,
                7 | 8 => Operation::ReduceScatter,
                _ => {
                    notices.ignore(format!(
                        "collectives of type {}: their ranks wait for each other only",
                        first.kind
                    ));
                    let all: Vec<_> = parts.iter().map(|part| part.begin).collect();
                    self.barrier(&all, &parts)?;
                    continue;
                }
            };
            let n = parts.len() as u64;
            transfers = transfers.saturating_add(2 * n * n.saturating_sub(1));
            if transfers > self.options.transfers_max {
                return Err(plain(
                    &format!("more than {} transfers", self.options.transfers_max),
                    "use a part",
                ));
            }
            let ranks: Vec<_> = parts.iter().map(|part| part.rank).collect();
            let entry: Vec<_> = parts.iter().map(|part| part.begin).collect();
            let servers = self.options.ranks_per_server;
            let collective = Collective {
                class: self.class,
                ranks_per_server: if ranks.len().is_multiple_of(servers as usize) { servers } else { 1 },
                ..Collective::new(operation, self.options.algorithm, first.bytes.max(1), &ranks)
            };
            let ends = expand(&mut self.builder, &collective, &entry);
            let ends = ends.map_err(|cause| plain(&cause.to_string(), "choose another --algorithm"))?;
            for (part, end) in parts.iter().zip(ends) {
                self.builder.after(part.end, end, Condition::Finished).map_err(refuse)?;
            }
        }
        Ok(())
    }

    /// Adds edges, so that no rank leaves a collective before all ranks have entered the
    /// collective.
    fn barrier(&mut self, begins: &[NodeId], parts: &[Part]) -> Result<(), ImportError> {
        let barrier = self.builder.node(Work::Barrier).map_err(refuse)?;
        for &begin in begins {
            self.builder.after(barrier, begin, Condition::Finished).map_err(refuse)?;
        }
        parts
            .iter()
            .try_for_each(|part| self.builder.after(part.end, barrier, Condition::Finished).map_err(refuse))
    }

    fn summarise(&self, traces: &[Trace], notices: &mut Notices) {
        let nodes: usize = traces.iter().map(|trace| trace.nodes.len()).sum();
        let [sends, receives, collectives, computations] = self.counts;
        notices.understand(format!(
            "{} ranks, {nodes} nodes: {sends} sends, {receives} receives, {collectives} collectives, {computations} \
             computations",
            traces.len()
        ));
        if self.missing > 0 {
            notices.assume(format!(
                "{} dependencies name nodes that no file has; they count as done",
                self.missing
            ));
        }
        if collectives > 0 {
            notices.assume(format!("collectives are executed as {} (--algorithm)", self.options.algorithm));
        }
        notices.assume("computations of the CPU and of the GPU run side by side, one of each at a time");
    }
}
