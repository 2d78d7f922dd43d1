//! Reads connection matrices of htsim (`connection_matrix.cpp`).
//!
//! A matrix is a header with counts, then connections (`SRC->DST key value …`), triggers and
//! failures. A connection starts at a time or after a trigger. Other connections fire the trigger
//! when their data is sent or received.

mod trigger;

use crate::imported::Traffic;
use crate::limits::{FLOWS, HOSTS};
use crate::source::{Line, Source, Word, short, too_many};
use crate::{ImportError, ImportOptions, Imported, Notices};
use bufferlab_schedule::{Condition, Schedule, ScheduleBuilder, Transfer, Work};
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use std::collections::BTreeMap;
use trigger::Trigger;

/// Name of the traffic class of all connections in a matrix.
const CLASS: &str = "flow";

/// A connection in a connection matrix of htsim.
struct Connection<'a> {
    line: Line<'a>,
    src: u32,
    dst: u32,
    /// Size of the connection (bytes); 0 for an endless connection.
    bytes: u64,
    start: Option<Time>,
    /// Number of the trigger that starts the connection.
    trigger: Option<u64>,
    /// Triggers that the connection fires when its data is sent, and when its data is received.
    fires: [Option<u64>; 2],
    id: Option<u64>,
}

impl Connection<'_> {
    /// Refuses a connection with no start or two starts, or whose source is also its destination.
    fn check(&self, ends: Word<'_>) -> Result<(), ImportError> {
        let one = self;
        if one.start.is_some() == one.trigger.is_some() {
            let problem = if one.start.is_some() {
                "both `start` and `trigger`"
            } else {
                "no `start` and no `trigger`"
            };
            return Err(ends.error(problem, "expected exactly one of them"));
        }
        if one.src == one.dst {
            return Err(ends.error("the connection ends at its own source", "expected two nodes"));
        }
        Ok(())
    }
}

/// Kind of a trigger in a connection matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    OneShot,
    MultiShot,
    Barrier(u64),
}

/// Counts of connections, triggers and nodes in the header of a connection matrix.
#[derive(Default)]
struct Header<'a> {
    counts: BTreeMap<&'static str, (u64, Option<Line<'a>>)>,
}

/// Content of a connection matrix: header, connections, triggers and failures.
#[derive(Default)]
struct Matrix<'a> {
    header: Header<'a>,
    connections: Vec<Connection<'a>>,
    triggers: BTreeMap<u64, (Kind, Line<'a>)>,
    failures: u64,
}

const COUNTS: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

/// Reads a connection matrix of htsim.
pub(crate) fn read(
    source: Source<'_>,
    options: &ImportOptions,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    source.notice_line_ends(&mut imported.notices);
    let matrix = Matrix::read(source, options, &mut imported.notices)?;
    matrix.check(source, &mut imported.notices)?;
    imported.hosts = matrix.nodes() as u32;
    let endless = matrix.connections.iter().filter(|one| one.bytes == 0).count();
    let bytes: u64 = matrix.connections.iter().map(|one| one.bytes).sum();
    imported.notices.understand(format!(
        "{} nodes, {} connections of {bytes} B in all{}, {} triggers",
        matrix.nodes(),
        matrix.connections.len(),
        if endless > 0 { format!(" ({endless} endless)") } else { String::new() },
        matrix.triggers.len()
    ));
    if matrix.failures > 0 {
        imported
            .notices
            .ignore(format!("{} failures: slow the cables with [[topology.change]]", matrix.failures));
    }
    imported.traffic = Some(if matrix.triggers.is_empty() {
        Traffic::Flows { flows: matrix.flows(), classes: vec![CLASS.to_owned()] }
    } else {
        Traffic::Schedule(matrix.schedule(source, &mut imported.notices)?)
    });
    Ok(())
}

impl<'a> Matrix<'a> {
    fn read(source: Source<'a>, options: &ImportOptions, notices: &mut Notices) -> Result<Self, ImportError> {
        let mut matrix = Self::default();
        let mut is_header = true;
        for line in source.lines() {
            let text = line.text.trim();
            let first = line.words().next();
            let Some(first) = first.filter(|_| !text.starts_with('#')) else {
                if !is_header && text.starts_with('#') {
                    notices.assume("comments between connections, which htsim refuses, are ignored");
                }
                continue;
            };
            if text.contains("->") || matches!(first.text, "trigger" | "failure") {
                is_header = false;
            }
            if line.text.trim_end().contains("  ") || text.contains('\t') {
                notices.assume("words are separated by several blanks or tabs, which htsim refuses");
            }
            match first.text {
                _ if is_header => matrix.header.read(line, notices)?,
                "trigger" => matrix.read_trigger(line)?,
                "failure" => matrix.failures += 1,
                _ if text.contains("->") => matrix.read_connection(line, options, notices)?,
                _ => return Err(first.unexpected("`SRC->DST …`, `trigger id …` or `failure …`")),
            }
            if matrix.connections.len() as u64 > FLOWS.most {
                return Err(too_many(source.path, FLOWS, "more"));
            }
        }
        let unit = if options.start_unit == Time(1) {
            "picoseconds, as since November 2023"
        } else {
            "microseconds"
        };
        let has_start =
            matrix.connections.iter().any(|one| one.start.is_some_and(|start| start > Time::ZERO));
        if has_start {
            notices.assume(format!("`start` is in {unit}; --start-unit chooses ps or us"));
        }
        if matrix.connections.is_empty() {
            return Err(source.error("no connection", "expected lines such as `0->1 start 0 size 65536`"));
        }
        Ok(matrix)
    }

    fn nodes(&self) -> u64 {
        self.header.count("Nodes").map_or_else(
            || self.connections.iter().map(|one| u64::from(one.src.max(one.dst)) + 1).max().unwrap_or(0),
            |(nodes, _)| nodes,
        )
    }

    fn read_connection(
        &mut self,
        line: Line<'a>,
        options: &ImportOptions,
        notices: &mut Notices,
    ) -> Result<(), ImportError> {
        let mut words = line.words().peekable();
        let ends = words.next().ok_or_else(|| line.error("an empty line", "expected `SRC->DST`"))?;
        let (src, dst) = ends.text.split_once("->").ok_or_else(|| ends.unexpected("`SRC->DST`"))?;
        let node = |text: &'a str| -> Result<u32, ImportError> {
            let word = Word { line, text };
            word.whole("a node", HOSTS.most - 1).map(|node| node as u32)
        };
        let mut one = Connection {
            line,
            src: node(src)?,
            dst: node(dst)?,
            bytes: 0,
            start: None,
            trigger: None,
            fires: [None; 2],
            id: None,
        };
        while let Some(key) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| key.error(format!("`{}` has no value", key.text), "add one"));
            match key.text {
                "id" => one.id = Some(value()?.whole("the number of a connection", u64::MAX)?),
                "size" => {
                    one.bytes = value()?.whole("a size in bytes", u64::MAX - 1)?;
                    if one.bytes > i32::MAX as u64 {
                        notices.assume(
                            "sizes above 2147483647 B, which htsim cuts to 32 bits, are read as written",
                        );
                    }
                }
                "start" => one.start = Some(start(value()?, options)?),
                "trigger" => one.trigger = Some(value()?.whole("a trigger", u64::MAX)?),
                "send_done_trigger" => one.fires[0] = Some(value()?.whole("a trigger", u64::MAX)?),
                "recv_done_trigger" => one.fires[1] = Some(value()?.whole("a trigger", u64::MAX)?),
                "prio" => {
                    value()?.whole("a priority", u64::MAX)?;
                    notices.ignore("`prio`: set priorities in [[transport]]");
                }
                "addon" => notices.ignore("`addon` of csg-htsim"),
                "msg" => {
                    if words.peek().is_some_and(|next| next.text.parse::<u64>().is_ok()) {
                        words.next();
                    }
                    notices.ignore("`msg`: connections are not reused, so every message is a connection");
                }
                _ => {
                    return Err(key.unexpected(
                        "start, trigger, size, id, send_done_trigger, recv_done_trigger, prio, msg or addon",
                    ));
                }
            }
        }
        one.check(ends)?;
        self.connections.push(one);
        Ok(())
    }

    /// Reads a line of the form `trigger id K TYPE`.
    fn read_trigger(&mut self, line: Line<'a>) -> Result<(), ImportError> {
        let mut words = line.words().skip(1);
        let form = "`trigger id K oneshot`, `… multishot` or `… barrier count N`";
        let mut next =
            || words.next().ok_or_else(|| line.error("the line is incomplete", format!("expected {form}")));
        let id = next()?;
        if id.text != "id" {
            return Err(id.unexpected(form));
        }
        let number_word = next()?;
        let number = number_word.whole("the number of a trigger from 1", u64::MAX)?;
        if number == 0 {
            return Err(number_word.unexpected("the number of a trigger, from 1"));
        }
        let kind_word = next()?;
        let kind = match kind_word.text {
            "oneshot" => Kind::OneShot,
            "multishot" => Kind::MultiShot,
            "barrier" => {
                let count = next()?;
                let count = if count.text == "count" { next()? } else { count };
                Kind::Barrier(count.whole("the count of the barrier", u64::MAX)?)
            }
            _ => return Err(kind_word.unexpected("`oneshot`, `multishot` or `barrier`")),
        };
        if let Some((_, first)) = self.triggers.insert(number, (kind, line)) {
            let problem = format!("trigger {number} is defined in line {}, too", first.number);
            return Err(number_word.error(problem, "give the triggers different numbers"));
        }
        Ok(())
    }

    /// Compares the header's counts with the matrix, and finds unknown triggers and nodes.
    fn check(&self, source: Source<'_>, notices: &mut Notices) -> Result<(), ImportError> {
        let nodes = self.nodes();
        if nodes > HOSTS.most {
            return Err(too_many(source.path, HOSTS, nodes));
        }
        if self.header.count("Nodes").is_none() {
            notices.assume(format!("no `Nodes`: {nodes}, one more than the largest number"));
        }
        let found = [
            ("Connections", self.connections.len() as u64),
            ("Triggers", self.triggers.len() as u64),
            ("Failures", self.failures),
        ];
        for (key, found) in found {
            match self.header.count(key) {
                Some((count, Some(line))) if count != found => {
                    let problem = format!("`{key} {count}`, but the file has {found}");
                    return Err(line.error(problem, "correct the number, or complete the file"));
                }
                None if key == "Connections" => notices.assume("no `Connections`: all lines are read"),
                _ => {}
            }
        }
        for one in &self.connections {
            if u64::from(one.src.max(one.dst)) >= nodes {
                let problem = format!("node {} of {nodes}", one.src.max(one.dst));
                return Err(one
                    .line
                    .error(problem, format!("expected nodes from 0 to {}", nodes.saturating_sub(1))));
            }
            for trigger in one.fires.iter().flatten().chain(&one.trigger) {
                if !self.triggers.contains_key(trigger) {
                    let problem = format!("trigger {trigger} is not defined");
                    return Err(one
                        .line
                        .error(problem, format!("add a line `trigger id {trigger} oneshot`")));
                }
            }
        }
        let mut ids = BTreeMap::new();
        for one in &self.connections {
            if one.id.is_some_and(|id| ids.insert(id, ()).is_some()) {
                notices.assume("several lines have one `id`; each is a connection");
            }
        }
        Ok(())
    }

    fn flows(&self) -> Vec<FlowSpec> {
        let mut flows: Vec<_> = self.connections.iter().map(flow).collect();
        flows.sort_by_key(|flow| flow.start);
        flows
    }

    /// Converts connections to transfers. A connection waits for the connections that fire its
    /// trigger.
    fn schedule(&self, source: Source<'_>, notices: &mut Notices) -> Result<Schedule, ImportError> {
        let refuse = |cause: bufferlab_schedule::ScheduleError| {
            source.error(cause.to_string(), "correct the triggers")
        };
        let mut builder = ScheduleBuilder::new(self.nodes() as u32);
        let class = builder.class(CLASS).map_err(refuse)?;
        let mut nodes = Vec::with_capacity(self.connections.len());
        for one in &self.connections {
            if one.bytes == 0 {
                return Err(one.line.error("an endless connection beside triggers", "give it a `size`"));
            }
            let node = builder
                .node(Work::Transfer(Transfer { src: one.src, dst: one.dst, bytes: one.bytes, class }))
                .map_err(refuse)?;
            builder.not_before(node, one.start.unwrap_or(Time::ZERO)).map_err(refuse)?;
            nodes.push(node);
        }
        let mut triggers: BTreeMap<u64, Trigger<'_>> = BTreeMap::new();
        for (&number, &(kind, line)) in &self.triggers {
            triggers.insert(number, Trigger { number, kind, line, targets: Vec::new(), sources: Vec::new() });
        }
        for (one, &node) in self.connections.iter().zip(&nodes) {
            if let Some(trigger) = one.trigger.and_then(|number| triggers.get_mut(&number)) {
                trigger.targets.push(node);
            }
            for (fires, condition) in one.fires.iter().zip([Condition::Sent, Condition::Finished]) {
                if let Some(trigger) = fires.and_then(|number| triggers.get_mut(&number)) {
                    trigger.sources.push((node, condition));
                }
            }
        }
        for trigger in triggers.into_values() {
            trigger.connect(&mut builder, notices)?;
        }
        builder.build().map_err(refuse)
    }
}

impl<'a> Header<'a> {
    fn read(&mut self, line: Line<'a>, notices: &mut Notices) -> Result<(), ImportError> {
        let mut words = line.words();
        let Some(key) = words.next() else { return Ok(()) };
        let Some(known) = COUNTS.iter().find(|known| **known == key.text) else {
            notices.ignore(format!("`{}` in the header, as htsim does", short(key.text)));
            return Ok(());
        };
        let value =
            words.next().ok_or_else(|| key.error(format!("`{known}` has no value"), "add the number"))?;
        self.counts.insert(known, (value.whole("a count", u64::from(u32::MAX))?, Some(line)));
        Ok(())
    }

    fn count(&self, key: &str) -> Option<(u64, Option<Line<'a>>)> {
        self.counts.get(key).copied()
    }
}

/// Reads a start time, which htsim stores as a 32-bit float.
fn start(word: Word<'_>, options: &ImportOptions) -> Result<Time, ImportError> {
    let number = word.real("a time")?;
    let time = f64::from(number as f32) * options.start_unit.0 as f64;
    // A start time of one day or more indicates a wrong time unit.
    if time < 1e17 { Ok(Time(time.round() as u64)) } else { Err(word.unexpected("a time below a day")) }
}

fn flow(one: &Connection<'_>) -> FlowSpec {
    FlowSpec {
        start: one.start.unwrap_or(Time::ZERO),
        src: one.src,
        dst: one.dst,
        size: if one.bytes == 0 { FlowSpec::UNLIMITED } else { one.bytes },
        class: 0,
        query: FlowSpec::NO_QUERY,
        open: None,
        data_path: None,
        ack_path: None,
        node: FlowSpec::NO_NODE,
    }
}
