//! Reads workloads of AICB, SimAI and ASTRA-sim as text, with a line per layer.
//!
//! A layer has a forward pass, the gradient of its input, and the gradient of its weights. Each
//! pass has a computation, and some passes have a collective.

use crate::imported::Traffic;
use crate::source::{Line, Source, Word};
use crate::{ImportError, ImportOptions, Imported, Notices};
use bufferlab_schedule::{Collective, NodeId, Operation, ScheduleBuilder, Work, expand};
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// Largest number of ranks of a workload.
const RANKS: u64 = 65_535;
/// Largest number of layers of a workload.
const RECORDS: u64 = 1_000_000;

/// Group of ranks that execute a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Tensor,
    Data,
    Expert,
    ExpertData,
}

/// A computation of a layer, and the collective after this computation.
#[derive(Clone, Copy)]
struct Phase {
    compute: Time,
    collective: Option<(Operation, Scope, u64)>,
}

/// A layer of the model in a workload file.
struct Record<'a> {
    line: Line<'a>,
    forward: Phase,
    input: Phase,
    weight: Phase,
    /// Time to update the weights of the layer.
    update: Time,
}

/// Numbers of ranks and sizes of groups in the first line of a workload file.
#[derive(Clone, Copy)]
struct Plan {
    ranks: u32,
    tensor: u32,
    pipeline: u32,
    expert: u32,
    /// Whether all ranks are one group, because the file does not name groups.
    is_flat: bool,
}

/// Reads a workload file with one layer of a model per line.
pub(crate) fn read(
    source: Source<'_>,
    options: &ImportOptions,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    source.notice_line_ends(&mut imported.notices);
    let mut lines = source.lines().filter(|line| line.words().next().is_some());
    let head = lines.next().ok_or_else(|| source.error("an empty file", "expected a type such as MICRO"))?;
    let plan = Plan::read(head, options, &mut imported.notices)?;
    let count_line =
        lines.next().ok_or_else(|| head.error("no number of layers", "add it in the next line"))?;
    let count_word = count_line.words().next().ok_or_else(|| count_line.error("no number", "add it"))?;
    let count = count_word.whole("the number of layers", RECORDS)?;
    let mut records = Vec::new();
    for line in lines.by_ref().take(count as usize) {
        records.push(Record::read(line, &mut imported.notices)?);
    }
    if (records.len() as u64) < count {
        let problem = format!("{count} layers announced, but the file has {}", records.len());
        return Err(count_word.error(problem, "correct the number, or complete the file"));
    }
    if lines.next().is_some() {
        imported.notices.ignore(format!("everything after the {count} announced layers"));
    }
    summarise(&plan, &records, &mut imported.notices);
    let mut iteration = Iteration::new(plan, options, source)?;
    iteration.run(&records)?;
    let schedule = iteration.builder.build();
    let schedule =
        schedule.map_err(|cause| source.error(cause.to_string(), "report this file as a defect"))?;
    imported.hosts = plan.ranks;
    imported.ranks_per_server = (plan.ranks > options.ranks_per_server
        && plan.ranks.is_multiple_of(options.ranks_per_server))
    .then_some(options.ranks_per_server);
    imported.traffic = Some(Traffic::Schedule(schedule));
    Ok(())
}

impl Plan {
    fn read(head: Line<'_>, options: &ImportOptions, notices: &mut Notices) -> Result<Self, ImportError> {
        let mut words = head.words().skip(1).peekable();
        let mut values = BTreeMap::new();
        while let Some(key) = words.next() {
            let Some(name) = key.text.strip_suffix(':') else {
                return Err(key.unexpected("a key that ends in a colon, such as `all_gpus:`"));
            };
            let value = words.next().ok_or_else(|| key.error(format!("`{name}` has no value"), "add one"))?;
            values.insert(name, value);
        }
        let number = |key: &str, default: u32| -> Result<u32, ImportError> {
            match values.get(key) {
                None => Ok(default),
                Some(word) => match word.whole("a number from 1", RANKS)? {
                    0 => Err(word.unexpected("a number from 1")),
                    number => Ok(number as u32),
                },
            }
        };
        let is_new = values.contains_key("model_parallel_NPU_group");
        let ranks = number("all_gpus", options.ranks_per_server)?;
        let plan = Self {
            ranks,
            tensor: number("model_parallel_NPU_group", if is_new { 1 } else { ranks })?,
            pipeline: number("pp", 1)?,
            expert: number("ep", 1)?,
            is_flat: !is_new,
        };
        if !is_new {
            notices.assume(format!("the file names no ranks: {ranks} in one group (--ranks-per-server)"));
        }
        let group = u64::from(plan.tensor) * u64::from(plan.pipeline) * u64::from(plan.expert);
        if !u64::from(plan.ranks).is_multiple_of(group) {
            let problem = format!(
                "{} ranks do not fill groups of {} (tensor) · {} (pipeline) · {} (expert)",
                plan.ranks, plan.tensor, plan.pipeline, plan.expert
            );
            return Err(head.error(problem, "correct one of these numbers"));
        }
        if let Some(bytes) = values.get("pp_comm") {
            notices.ignore(format!(
                "pp_comm {}: the records have no transfers between pipeline stages, so each stage runs alone",
                bytes.text
            ));
        }
        for key in ["vpp", "ga", "checkpoints", "checkpoint_initiates"] {
            if let Some(value) = values.get(key)
                && !matches!(value.text, "0" | "1")
            {
                notices.understand(format!("{key} {}: the records are already unrolled", value.text));
            }
        }
        Ok(plan)
    }

    /// Lists the ranks of the group to which `rank` belongs in `scope`.
    fn group(&self, scope: Scope, rank: u32) -> Vec<u32> {
        if self.is_flat {
            return (0..self.ranks).collect();
        }
        let stage = self.ranks / self.pipeline;
        let begin = rank / stage * stage;
        let (tensor, peers) = (self.tensor, stage / self.tensor);
        let (place, peer) = ((rank - begin) % tensor, (rank - begin) / tensor);
        let at = |peer: u32| begin + peer * tensor + place;
        match scope {
            Scope::Tensor => (0..tensor).map(|place| begin + peer * tensor + place).collect(),
            Scope::Data => (0..peers).map(at).collect(),
            Scope::Expert => (0..self.expert).map(|one| at(peer / self.expert * self.expert + one)).collect(),
            Scope::ExpertData => {
                (0..peers).filter(|one| one % self.expert == peer % self.expert).map(at).collect()
            }
        }
    }
}

impl<'a> Record<'a> {
    fn read(line: Line<'a>, notices: &mut Notices) -> Result<Self, ImportError> {
        let words: Vec<_> = line.words().collect();
        let [
            _,
            _,
            fp,
            fp_comm,
            fp_bytes,
            ig,
            ig_comm,
            ig_bytes,
            wg,
            wg_comm,
            wg_bytes,
            update,
            ref rest @ ..,
        ] = words[..]
        else {
            let expected = "expected 12: name, -1, then time, collective and bytes of the forward pass, of the input's \
                            gradient and of the weights' gradient, and the time of the update";
            return Err(line.error(format!("{} words", words.len()), expected));
        };
        if !rest.is_empty() {
            notices.ignore("words after the twelfth of a layer");
        }
        Ok(Self {
            line,
            forward: phase(fp, fp_comm, fp_bytes, Scope::Tensor)?,
            input: phase(ig, ig_comm, ig_bytes, Scope::Tensor)?,
            weight: phase(wg, wg_comm, wg_bytes, Scope::Data)?,
            update: Time::from_ns(update.whole("a time in nanoseconds", u64::MAX / 1_000)?),
        })
    }

    fn phases(&self) -> [Phase; 3] {
        [self.forward, self.input, self.weight]
    }
}

/// Reads the time, collective and bytes of a phase. Names may end in `_EP` or `_DP_EP`.
fn phase(time: Word<'_>, name: Word<'_>, bytes: Word<'_>, scope: Scope) -> Result<Phase, ImportError> {
    let compute = Time::from_ns(time.whole("a time in nanoseconds", u64::MAX / 1_000)?);
    let bytes = bytes.whole("a size in bytes", u64::MAX)?;
    let (base, scope) = match name.text {
        text if text.ends_with("_DP_EP") => (&text[..text.len() - 6], Scope::ExpertData),
        text if text.ends_with("_EP") => (&text[..text.len() - 3], Scope::Expert),
        text => (text, scope),
    };
    let operation = match base {
        "NONE" => return Ok(Phase { compute, collective: None }),
        "ALLREDUCE" => Operation::AllReduce,
        "ALLGATHER" => Operation::AllGather,
        "REDUCESCATTER" => Operation::ReduceScatter,
        "ALLTOALL" => Operation::AllToAll,
        _ => {
            return Err(name.unexpected(
                "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, maybe with _EP or _DP_EP",
            ));
        }
    };
    Ok(Phase { compute, collective: (bytes > 0).then_some((operation, scope, bytes)) })
}

fn summarise(plan: &Plan, records: &[Record<'_>], notices: &mut Notices) {
    notices.understand(format!(
        "{} layers on {} ranks: tensor groups of {}, {} pipeline stages, data groups of {}, expert groups of {}",
        records.len(),
        plan.ranks,
        plan.tensor,
        plan.pipeline,
        plan.ranks / plan.tensor / plan.pipeline,
        plan.expert
    ));
    let mut counts: BTreeMap<(&str, Scope), u64> = BTreeMap::new();
    for (operation, scope, _) in records.iter().flat_map(Record::phases).filter_map(|phase| phase.collective)
    {
        *counts.entry((operation.name(), scope)).or_default() += 1;
    }
    for ((operation, scope), count) in counts {
        notices.understand(format!("{count} {operation} in {} groups", format!("{scope:?}").to_lowercase()));
    }
    notices.assume(
        "all layers run forward in the order of the file, then backward in reverse: gradient of the input, gradient of \
         the weights, update; every collective blocks its ranks",
    );
    if plan.expert > 1 {
        notices.assume("an expert group has neighbours of a data group");
    }
}

/// State of the conversion of one training iteration to a schedule.
struct Iteration<'a> {
    plan: Plan,
    options: &'a ImportOptions,
    source: Source<'a>,
    builder: ScheduleBuilder,
    /// Last schedule node of every rank so far.
    latest: Vec<Option<NodeId>>,
    /// Time that every rank has computed so far in the iteration.
    computed: Time,
    /// Part of the time `computed` that the schedule nodes of each rank already represent.
    placed: Vec<Time>,
    groups: BTreeMap<Scope, Vec<Vec<u32>>>,
    classes: BTreeMap<Scope, u16>,
    transfers: u64,
}

impl<'a> Iteration<'a> {
    fn new(plan: Plan, options: &'a ImportOptions, source: Source<'a>) -> Result<Self, ImportError> {
        let mut builder = ScheduleBuilder::new(plan.ranks);
        let mut classes = BTreeMap::new();
        let mut groups = BTreeMap::new();
        let names = [
            (Scope::Tensor, "tensor"),
            (Scope::Data, "data"),
            (Scope::Expert, "expert"),
            (Scope::ExpertData, "expert_data"),
        ];
        for (scope, name) in names {
            let class =
                builder.class(name).map_err(|cause| source.error(cause.to_string(), "report a defect"))?;
            classes.insert(scope, class);
            // Every rank belongs to one group. The loop adds a group to the list when it
            // reaches the group's first rank.
            let mut is_listed = vec![false; plan.ranks as usize];
            let mut all = Vec::new();
            for rank in 0..plan.ranks {
                if !is_listed[rank as usize] {
                    let group = plan.group(scope, rank);
                    group.iter().for_each(|rank| is_listed[*rank as usize] = true);
                    // Groups of one rank send no data, so the list omits these groups.
                    if group.len() > 1 {
                        all.push(group);
                    }
                }
            }
            groups.insert(scope, all);
        }
        let ranks = plan.ranks as usize;
        let (latest, placed) = (vec![None; ranks], vec![Time::ZERO; ranks]);
        let computed = Time::ZERO;
        Ok(Self { plan, options, source, builder, latest, computed, placed, groups, classes, transfers: 0 })
    }

    fn run(&mut self, records: &[Record<'_>]) -> Result<(), ImportError> {
        for record in records {
            self.phase(record.line, record.forward)?;
        }
        for record in records.iter().rev() {
            self.phase(record.line, record.input)?;
            self.phase(record.line, record.weight)?;
            if record.weight.collective.is_some() {
                self.compute(record.update);
            }
        }
        for rank in 0..self.plan.ranks {
            self.flush(rank).map_err(|cause| self.source.error(cause, "use a part of the file"))?;
        }
        Ok(())
    }

    fn compute(&mut self, time: Time) {
        self.computed = self.computed.saturating_add(time);
    }

    fn phase(&mut self, line: Line<'_>, phase: Phase) -> Result<(), ImportError> {
        self.compute(phase.compute);
        let Some((operation, scope, bytes)) = phase.collective else { return Ok(()) };
        let groups = self.groups.remove(&scope).unwrap_or_default();
        for group in &groups {
            let result = self.collective(group, operation, scope, bytes);
            result.map_err(|problem| {
                line.error(problem, "choose another --algorithm, or a part of the file")
            })?;
        }
        self.groups.insert(scope, groups);
        Ok(())
    }

    fn collective(
        &mut self,
        group: &[u32],
        operation: Operation,
        scope: Scope,
        bytes: u64,
    ) -> Result<(), String> {
        let n = group.len() as u64;
        self.transfers = self.transfers.saturating_add(2 * n * (n - 1));
        if self.transfers > self.options.transfers_max {
            return Err(format!("more than {} transfers", self.options.transfers_max));
        }
        let mut entry = Vec::with_capacity(group.len());
        for &rank in group {
            entry.push(self.flush(rank)?);
        }
        let algorithm = self.options.algorithm;
        let servers = self.options.ranks_per_server;
        let collective = Collective {
            class: self.classes[&scope],
            ranks_per_server: if group.len().is_multiple_of(servers as usize) { servers } else { 1 },
            ..Collective::new(operation, algorithm, bytes, group)
        };
        let ends = expand(&mut self.builder, &collective, &entry).map_err(|cause| cause.to_string())?;
        for (&rank, end) in group.iter().zip(ends) {
            self.latest[rank as usize] = Some(end);
        }
        Ok(())
    }

    /// Adds the computation of `rank` since the rank's latest node. Returns the rank's latest node.
    fn flush(&mut self, rank: u32) -> Result<NodeId, String> {
        let place = rank as usize;
        let duration = self.computed.saturating_sub(self.placed[place]);
        self.placed[place] = self.computed;
        if let Some(latest) = self.latest[place].filter(|_| duration == Time::ZERO) {
            return Ok(latest);
        }
        let in_words = |cause: bufferlab_schedule::ScheduleError| cause.to_string();
        let node = self.builder.node(Work::Compute { rank, lane: 0, duration }).map_err(in_words)?;
        if let Some(latest) = self.latest[place] {
            self.builder.after(node, latest, bufferlab_schedule::Condition::Finished).map_err(in_words)?;
        }
        self.latest[place] = Some(node);
        Ok(node)
    }
}
