//! Reads the part of YAML that qualification files use: maps by indentation, flow lists, anchors
//! and aliases.

use crate::OperatorError;
use bufferlab_units::printable;
use std::collections::BTreeMap;

/// Size of the largest qualification file (bytes); public qualification files have up to 0.5 MB.
const BYTES_MAX: usize = 8 << 20;
/// Depth of the most deeply nested map that the reader accepts.
const DEPTH_MAX: usize = 16;
/// Largest number of values to which aliases may expand.
const NODES_MAX: usize = 500_000;

/// A value of a qualification file, with the number of its line.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Map(Vec<(String, Node)>),
    Text(String),
}

impl Node {
    /// Returns the entries of a YAML map, or an empty list if the YAML node is a text.
    pub(super) fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Text(_) => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(super) fn number(&self) -> Option<u64> {
        match &self.value {
            Value::Text(text) => text.parse().ok(),
            Value::Map(_) => None,
        }
    }

    fn size(&self) -> usize {
        1 + self.entries().iter().map(|(_, node)| node.size()).sum::<usize>()
    }
}

struct Reader {
    /// Depth, number and content of the lines of the file, the last line first.
    lines: Vec<(usize, usize, String)>,
    anchors: BTreeMap<String, Node>,
    nodes: usize,
}

/// Reads a qualification file.
///
/// # Errors
/// If the file is too large or too deep, or a line is neither a key nor an item of a list.
pub(super) fn read(text: &str) -> Result<Node, OperatorError> {
    if text.len() > BYTES_MAX {
        return Err(wrong(0, format!("{} bytes; a qualification file has {BYTES_MAX} at most", text.len())));
    }
    let mut lines: Vec<(usize, usize, String)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split(" #").next().unwrap_or_default().trim_end();
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') || content == "---" {
            continue;
        }
        match lines.last_mut() {
            // A flow list ends with its bracket, which may be on a later line.
            Some((_, _, open)) if open.contains('[') && !open.contains(']') => open.push_str(content),
            _ => lines.push((line.len() - content.len(), number, content.to_owned())),
        }
    }
    lines.reverse();
    let mut reader = Reader { lines, anchors: BTreeMap::new(), nodes: 0 };
    reader.block(0, 0)
}

fn wrong(line: usize, message: String) -> OperatorError {
    let place = if line > 0 { format!("line {line}: ") } else { String::new() };
    OperatorError::new(
        format!("{place}{message}"),
        "give a file with qos_params of sonic-mgmt (tests/qos/files)",
    )
}

impl Reader {
    fn block(&mut self, indent: usize, depth: usize) -> Result<Node, OperatorError> {
        let mut entries = Vec::new();
        let first = self.lines.last().map_or(0, |(_, line, _)| *line);
        while self.lines.last().is_some_and(|(at, ..)| *at >= indent) {
            let Some((at, line, content)) = self.lines.pop() else { break };
            // The lists in qualification files name ports and groups. No expectation depends on the
            // lists.
            if content.starts_with("- ") {
                continue;
            }
            let Some((key, rest)) = content.split_once(':') else {
                return Err(wrong(line, format!("\"{}\" has no key", printable(&content))));
            };
            if depth >= DEPTH_MAX {
                return Err(wrong(line, format!("deeper than {DEPTH_MAX} maps")));
            }
            let node = self.value(rest.trim(), (at, line, depth))?;
            self.nodes += node.size();
            if self.nodes > NODES_MAX {
                return Err(wrong(line, format!("more than {NODES_MAX} values")));
            }
            entries.push((key.trim().trim_matches(['\'', '"']).to_owned(), node));
        }
        Ok(Node { line: first, value: Value::Map(entries) })
    }

    fn value(&mut self, rest: &str, (at, line, depth): (usize, usize, usize)) -> Result<Node, OperatorError> {
        let (anchor, rest) = match rest.strip_prefix('&') {
            Some(named) => {
                let (name, rest) = named.split_once(' ').unwrap_or((named, ""));
                (Some(name.to_owned()), rest.trim())
            }
            None => (None, rest),
        };
        let node = match rest.strip_prefix('*') {
            Some(alias) => {
                let known = self.anchors.get(alias.trim()).cloned();
                known.ok_or_else(|| wrong(line, format!("no anchor is called {}", printable(alias))))?
            }
            None if rest.is_empty() => match self.lines.last() {
                Some((next, _, content)) if *next > at || (*next == at && content.starts_with("- ")) => {
                    let indent = if *next > at { *next } else { at + 1 };
                    while self
                        .lines
                        .last()
                        .is_some_and(|(next, _, item)| *next == at && item.starts_with("- "))
                    {
                        self.lines.pop();
                    }
                    self.block(indent, depth + 1)?
                }
                _ => Node { line, value: Value::Text(String::new()) },
            },
            None => Node { line, value: Value::Text(rest.trim_matches(['\'', '"']).to_owned()) },
        };
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_anchors_and_lists_are_read_with_their_lines() {
        let node =
            read("a: &x\n    b: 1\n    c:\n    - 3\n    l: [1,\n     2]\nd: *x\nf: 5 # g\n").expect("YAML");
        let number = |path: [&str; 2]| node.get(path[0])?.get(path[1])?.number();
        assert_eq!((number(["a", "b"]), number(["d", "b"])), (Some(1), Some(1)));
        assert_eq!(node.get("f").map(|node| (node.number(), node.line)), Some((Some(5), 8)));
    }

    #[test]
    fn hostile_files_end_in_an_error() {
        let deep: String = (0..100).map(|depth| format!("{:1$}a:\n", "", depth)).collect();
        assert!(read(&deep).expect_err("depth").message.contains("deeper"));
        let laughs: String =
            (1..40).map(|n| format!("a{n}: &a{n}\n  b: *a{0}\n  c: *a{0}\n", n - 1)).collect();
        assert!(read(&format!("a0: &a0 1\n{laughs}")).is_err());
        assert!(read("just words").expect_err("no key").message.contains("has no key"));
        assert!(read("a: *b").expect_err("alias").message.contains("no anchor"));
    }
}
