//! Reads algorithms of MSCCL (`.mscclang.xml`): the steps of every thread block of every GPU.
//!
//! Source: the interpreter of microsoft/msccl. A step sends (`s`), receives (`r`), copies (`cpy`)
//! or reduces (`re`) `cnt` chunks. The letters of `rcs`, `rrc`, `rrs` and `rrcs` name the
//! successive actions of a step: receive, reduce, copy, send. A thread block executes its steps in
//! order. A step with `depid` and `deps` also waits for a step of another thread block.

use crate::imported::Traffic;
use crate::source::{Line, Source, short};
use crate::{ImportError, ImportOptions, Imported};
use bufferlab_schedule::{Condition, NodeId, Schedule, ScheduleBuilder, Transfer, Work};
use std::collections::{BTreeMap, VecDeque};

/// Name of the traffic class of all transfers of an algorithm.
const CLASS: &str = "mscclang";
/// Largest number of GPUs, chunks or thread blocks in an algorithm.
const MOST: u64 = 65_535;

/// A step that a thread block of a GPU executes.
#[derive(Clone, Copy)]
struct Step<'a> {
    line: Line<'a>,
    receives: bool,
    sends: bool,
    chunks: u64,
    /// Thread block and step for which the step waits.
    waits: Option<(u64, u64)>,
}

/// A thread block with its steps and its peers: one GPU to send to, and one GPU to receive from.
struct Block<'a> {
    line: Line<'a>,
    gpu: u32,
    id: u64,
    send: Option<u32>,
    receive: Option<u32>,
    channel: u64,
    steps: Vec<Step<'a>>,
}

/// Value of the attribute `key` of the XML element in `line`.
fn attribute<'a>(line: Line<'a>, key: &str) -> Option<&'a str> {
    let mut rest = line.text;
    while let Some(at) = rest.find(key) {
        let is_name = rest[..at].ends_with(char::is_whitespace);
        rest = &rest[at + key.len()..];
        if let Some(value) = rest.strip_prefix("=\"").filter(|_| is_name) {
            return value.split_once('"').map(|(value, _)| value);
        }
    }
    None
}

/// Parses the whole number in the attribute `key`; `None` for -1.
fn number(line: Line<'_>, key: &str) -> Result<Option<u64>, ImportError> {
    let text = attribute(line, key).ok_or_else(|| line.error(format!("no `{key}`"), "add the attribute"))?;
    if text == "-1" {
        return Ok(None);
    }
    let number = text.parse().ok().filter(|number| *number <= MOST);
    let wrong = || {
        let problem = format!("{key}=\"{}\" is unexpected", short(text));
        line.error(problem, format!("expected -1, or a whole number up to {MOST}"))
    };
    number.map(Some).ok_or_else(wrong)
}

fn required(line: Line<'_>, key: &str) -> Result<u64, ImportError> {
    number(line, key)?.ok_or_else(|| line.error(format!("{key}=\"-1\""), "expected a whole number"))
}

/// Lists the XML elements of the file, without the opening bracket.
fn elements(source: Source<'_>) -> impl Iterator<Item = Line<'_>> {
    source.lines().flat_map(|line| line.text.split('<').skip(1).map(move |text| Line { text, ..line }))
}

/// Reads an algorithm file of MSCCL.
pub(crate) fn read(
    source: Source<'_>,
    options: &ImportOptions,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let mut head = None;
    let mut gpu = 0;
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for line in elements(source) {
        let name = line.text.split_whitespace().next().unwrap_or_default();
        if name == "algo" {
            head = Some(line);
        } else if name == "gpu" {
            gpu = required(line, "id")? as u32;
        } else if name == "tb" {
            let peer = |key| Ok::<_, ImportError>(number(line, key)?.map(|peer| peer as u32));
            let (send, receive) = (peer("send")?, peer("recv")?);
            let (id, channel) = (required(line, "id")?, required(line, "chan")?);
            blocks.push(Block { line, gpu, id, send, receive, channel, steps: Vec::new() });
        } else if name == "step" {
            let block = blocks
                .last_mut()
                .ok_or_else(|| line.error("a step outside a thread block", "expected `<tb …>` before it"))?;
            block.steps.push(step(line)?);
        }
    }
    let head = head.ok_or_else(|| source.error("no `<algo …>`", "expected an algorithm of MSCCL"))?;
    let gpus = required(head, "ngpus")?.max(1) as u32;
    let chunks = required(head, "nchunksperloop")?.max(1);
    let bytes = options.collective_bytes.div_ceil(chunks).max(1);
    let collective = short(attribute(head, "coll").unwrap_or("collective")).into_owned();
    let (mut transfers, mut steps) = (0_u64, 0_u64);
    for step in blocks.iter().flat_map(|block| &block.steps) {
        steps += 1;
        transfers += u64::from(step.sends);
    }
    imported.notices.understand(format!(
        "{collective} on {gpus} GPUs: {} thread blocks, {steps} steps, {transfers} transfers",
        blocks.len()
    ));
    imported.notices.assume(format!(
        "{} B in {chunks} chunks, because the file has no size (`--size`)",
        options.collective_bytes
    ));
    imported.notices.ignore("protocol, copies and reductions: they take no time");
    imported.hosts = gpus;
    imported.traffic = Some(Traffic::Schedule(build(source, &blocks, gpus, bytes)?));
    Ok(())
}

fn step(line: Line<'_>) -> Result<Step<'_>, ImportError> {
    let kind = attribute(line, "type").unwrap_or_default();
    let (receives, sends) = match kind {
        "s" => (false, true),
        "r" | "rrc" => (true, false),
        "rcs" | "rrs" | "rrcs" => (true, true),
        "nop" | "cpy" | "re" => (false, false),
        _ => {
            let problem = format!("type=\"{}\" is unexpected", short(kind));
            return Err(line.error(problem, "expected s, r, rrc, rcs, rrs, rrcs, re, cpy or nop"));
        }
    };
    let waits = match (number(line, "depid")?, number(line, "deps")?) {
        (Some(block), Some(step)) => Some((block, step)),
        _ => None,
    };
    Ok(Step { line, receives, sends, chunks: required(line, "cnt")?.max(1), waits })
}

/// Schedule nodes of a step: the end of the step, and the transfer that the step sends.
#[derive(Clone, Copy)]
struct Nodes {
    end: NodeId,
    send: Option<NodeId>,
}

/// Builds the schedule of the algorithm. The n-th send of a channel between two GPUs matches the
/// n-th receive.
fn build(source: Source<'_>, blocks: &[Block<'_>], gpus: u32, bytes: u64) -> Result<Schedule, ImportError> {
    let refuse =
        |cause: bufferlab_schedule::ScheduleError| source.error(cause.to_string(), "correct the steps");
    let mut builder = ScheduleBuilder::new(gpus);
    let class = builder.class(CLASS).map_err(refuse)?;
    let mut nodes: BTreeMap<(u32, u64, u64), Nodes> = BTreeMap::new();
    let mut sent: BTreeMap<(u32, u32, u64), VecDeque<NodeId>> = BTreeMap::new();
    for block in blocks {
        for (index, step) in (0..).zip(&block.steps) {
            let end = builder.node(Work::Barrier).map_err(refuse)?;
            let mut send = None;
            if step.sends {
                let dst = block.send.filter(|dst| *dst < gpus && *dst != block.gpu && block.gpu < gpus);
                let dst = dst.ok_or_else(|| block.line.error("no GPU to send to", "correct `send`"))?;
                let transfer =
                    Transfer { src: block.gpu, dst, bytes: bytes.saturating_mul(step.chunks), class };
                let node = builder.node(Work::Transfer(transfer)).map_err(refuse)?;
                sent.entry((block.gpu, dst, block.channel)).or_default().push_back(node);
                send = Some(node);
            }
            nodes.insert((block.gpu, block.id, index), Nodes { end, send });
        }
    }
    for block in blocks {
        let mut before: Option<NodeId> = None;
        for (index, step) in (0..).zip(&block.steps) {
            let Nodes { end, send } = nodes[&(block.gpu, block.id, index)];
            let mut parents = before.map(|node| (node, Condition::Finished)).into_iter().collect::<Vec<_>>();
            if let Some((other, index)) = step.waits {
                let found = nodes.get(&(block.gpu, other, index));
                let missing = || {
                    step.line.error(
                        format!("no step {index} of thread block {other}"),
                        "correct `depid` and `deps`",
                    )
                };
                parents.push((found.ok_or_else(missing)?.end, Condition::Finished));
            }
            if step.receives {
                let key = block.receive.map(|src| (src, block.gpu, block.channel));
                let node = key.and_then(|key| sent.get_mut(&key)?.pop_front());
                let missing =
                    || step.line.error("a receive without a send", "correct `send`, `recv` and `chan`");
                parents.push((node.ok_or_else(missing)?, Condition::Finished));
            }
            // The node `end` is done when the data of the step has arrived. The step's
            // transfer starts after this node.
            for (parent, condition) in parents {
                builder.after(end, parent, condition).map_err(refuse)?;
            }
            if let Some(send) = send {
                builder.after(send, end, Condition::Finished).map_err(refuse)?;
            }
            before = Some(end);
        }
    }
    builder.build().map_err(refuse)
}
