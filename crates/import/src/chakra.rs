//! Reads Chakra execution traces, version 0.0.4 (`et_def.proto`), with a file per rank.
//!
//! A file is a sequence of messages with their lengths: metadata, then nodes.
//! The rank of a trace is in the name of its file, `PREFIX.RANK.et`.

mod build;
mod wire;

pub(crate) use build::build;

use crate::ImportError;
use std::collections::BTreeMap;
use std::path::Path;
use wire::{Damage, Value, fields, message, repeated, zigzag};

/// Kind of a node in a Chakra trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Metadata,
    Memory,
    Compute,
    Send,
    Receive,
    Collective,
}

/// A node of a trace: a computation, a message or a collective.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TraceNode {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) kind: u64,
    /// Ids of the nodes whose data this node needs.
    pub(crate) parents: Vec<u64>,
    /// Ids of nodes that precede this node in time, although this node does not need their data.
    pub(crate) controls: Vec<u64>,
    pub(crate) micros: u64,
    pub(crate) numbers: BTreeMap<String, i64>,
    pub(crate) group: Option<String>,
}

/// A Chakra trace of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trace {
    pub(crate) rank: u32,
    pub(crate) version: String,
    pub(crate) nodes: Vec<TraceNode>,
}

impl TraceNode {
    pub(crate) fn kind(&self) -> Option<Kind> {
        Some(match self.kind {
            1 => Kind::Metadata,
            2 | 3 => Kind::Memory,
            4 => Kind::Compute,
            5 => Kind::Send,
            6 => Kind::Receive,
            7 => Kind::Collective,
            _ => return None,
        })
    }

    fn read(bytes: &[u8]) -> Result<Self, Damage> {
        let mut node = Self::default();
        fields(bytes, |field, value| {
            match (field, value) {
                (1, Value::Varint(id)) => node.id = id,
                (2, Value::Bytes(name)) => node.name = String::from_utf8_lossy(name).into_owned(),
                (3, Value::Varint(kind)) => node.kind = kind,
                (4, value) => repeated(&mut node.controls, value)?,
                (5, value) => repeated(&mut node.parents, value)?,
                (7, Value::Varint(micros)) => node.micros = micros,
                (10, Value::Bytes(attribute)) => node.read_attribute(attribute)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(node)
    }

    /// Reads an attribute: a name, and a value whose field states its type.
    fn read_attribute(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        let (mut name, mut number, mut text) = (String::new(), None, None);
        fields(bytes, |field, value| {
            match (field, value) {
                (1, Value::Bytes(bytes)) => name = String::from_utf8_lossy(bytes).into_owned(),
                (15 | 17, Value::Varint(value)) => number = Some(zigzag(value)),
                (7 | 9 | 11 | 13 | 27, Value::Varint(value)) => number = Some(value as i64),
                (21 | 25, Value::Fixed64(value)) => number = Some(value as i64),
                (19 | 23, Value::Fixed32(value)) => number = Some(i64::from(value)),
                (29, Value::Bytes(bytes)) => text = Some(String::from_utf8_lossy(bytes).into_owned()),
                _ => {}
            }
            Ok(())
        })?;
        if name == "pg_name" {
            self.group = text.or_else(|| number.map(|number| number.to_string()));
        } else if let Some(number) = number {
            self.numbers.insert(name, number);
        }
        Ok(())
    }
}

/// Reads the Chakra trace of one rank.
pub(crate) fn read(path: &Path, content: &[u8], rank: u32) -> Result<Trace, ImportError> {
    let mut rest = content;
    let damaged = |rest: &[u8]| {
        let problem = format!("damaged at byte {}", content.len() - rest.len());
        ImportError::in_file(path, problem, "expected messages with their lengths; copy the file again")
    };
    let mut trace = Trace { rank, ..Trace::default() };
    let head = message(&mut rest).map_err(|_| damaged(rest))?;
    fields(head, |field, value| {
        if let (1, Value::Bytes(version)) = (field, value) {
            trace.version = String::from_utf8_lossy(version).into_owned();
        }
        Ok(())
    })
    .map_err(|_| damaged(rest))?;
    while !rest.is_empty() {
        let before = rest;
        let bytes = message(&mut rest).map_err(|_| damaged(before))?;
        trace.nodes.push(TraceNode::read(bytes).map_err(|_| damaged(before))?);
    }
    Ok(trace)
}

/// Rank in the name of a trace file, such as 3 in `all_reduce.3.et`.
pub(crate) fn rank_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let mut parts = name.rsplit('.').filter(|part| !matches!(*part, "et" | "gz" | "json"));
    let last = parts.next()?;
    let digits = last.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    if last.len() == digits.len() { last.parse().ok().filter(|rank| *rank < 65_535) } else { None }
}

/// Reads groups of ranks in the form `{"1": [0, 1, 2, 3]}`.
pub(crate) fn read_groups(path: &Path, content: &[u8]) -> Result<BTreeMap<String, Vec<u32>>, ImportError> {
    let form = "expected an object of lists of ranks, such as {\"1\": [0, 1]}";
    serde_json::from_slice(content).map_err(|cause| ImportError {
        line: Some(cause.line() as u64),
        column: Some(cause.column() as u64),
        ..ImportError::in_file(path, cause.to_string(), form)
    })
}

/// Reads a trace as JSON: an object with the list `workload_graph`, or only this list.
pub(crate) fn read_json(path: &Path, content: &[u8], rank: u32) -> Result<Trace, ImportError> {
    let document: serde_json::Value = serde_json::from_slice(content).map_err(|cause| ImportError {
        line: Some(cause.line() as u64),
        column: Some(cause.column() as u64),
        ..ImportError::in_file(path, cause.to_string(), "expected a Chakra trace as JSON")
    })?;
    let graph = document.get("workload_graph").unwrap_or(&document).as_array();
    let missing =
        || ImportError::in_file(path, "no list `workload_graph`", "expected a Chakra trace as JSON");
    let mut nodes = Vec::new();
    for entry in graph.ok_or_else(missing)? {
        let get = |names: &[&str]| names.iter().find_map(|name| entry.get(*name));
        let number = |names: &[&str]| {
            let value = get(names)?;
            value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))
        };
        let mut node = TraceNode {
            id: number(&["Id", "id"]).unwrap_or(0) as u64,
            name: get(&["Name", "name"]).and_then(|name| name.as_str()).unwrap_or_default().to_owned(),
            kind: number(&["NodeType", "type"]).unwrap_or(0) as u64,
            micros: number(&["runtime", "duration_micros"]).unwrap_or(0).max(0) as u64,
            group: get(&["pg_name"]).and_then(|name| name.as_str()).map(str::to_owned),
            ..TraceNode::default()
        };
        let list = |key: &str| {
            let list = entry.get(key).and_then(|list| list.as_array()).into_iter().flatten();
            list.filter_map(serde_json::Value::as_u64)
        };
        node.controls.extend(list("ctrlDeps").chain(list("ctrl_deps")));
        node.parents.extend(list("data_deps").chain(list("dataDeps")));
        for key in ["comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag"] {
            if let Some(value) = number(&[key]) {
                node.numbers.insert(key.to_owned(), value);
            }
        }
        if let Some(flag) = get(&["is_cpu_op"]).and_then(serde_json::Value::as_bool) {
            node.numbers.insert("is_cpu_op".to_owned(), i64::from(flag));
        }
        nodes.push(node);
    }
    Ok(Trace { rank, version: "JSON".to_owned(), nodes })
}
