//! Reads the part of YAML that qualification files use: maps and lists by indentation, flow lists,
//! anchors and aliases.

use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Map(BTreeMap<String, Node>),
    List(Vec<Node>),
    Text(String),
}

impl Node {
    pub(crate) fn get(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| match node {
            Self::Map(map) => map.get(*key),
            _ => None,
        })
    }

    pub(crate) fn number(&self, path: &[&str]) -> Option<u64> {
        match self.get(path)? {
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn numbers(&self, path: &[&str]) -> Option<Vec<u64>> {
        match self.get(path)? {
            Self::List(list) => list.iter().map(|node| node.number(&[])).collect(),
            _ => None,
        }
    }
}

struct Reader {
    lines: Vec<(usize, String)>,
    at: usize,
    anchors: BTreeMap<String, Node>,
}

pub(crate) fn read(text: &str) -> Node {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim_end();
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        match lines.last_mut() {
            // A flow list ends with its bracket, which may be on a later line.
            Some((_, open)) if open.contains('[') && !open.contains(']') => open.push_str(content),
            _ => lines.push((line.len() - content.len(), content.to_owned())),
        }
    }
    Reader { lines, at: 0, anchors: BTreeMap::new() }.block(0)
}

impl Reader {
    fn block(&mut self, indent: usize) -> Node {
        let is_list = self.lines.get(self.at).is_some_and(|(_, line)| line.starts_with("- "));
        let (mut list, mut map) = (Vec::new(), BTreeMap::new());
        while let Some((depth, line)) = self.lines.get(self.at).cloned() {
            if depth < indent || (is_list != line.starts_with("- ")) {
                break;
            }
            self.at += 1;
            if let Some(item) = line.strip_prefix("- ") {
                list.push(scalar(item));
                continue;
            }
            let (key, rest) = line.split_once(':').unwrap_or_else(|| panic!("no key: {line}"));
            let rest = rest.trim();
            let (anchor, rest) = match rest.strip_prefix('&') {
                Some(named) => {
                    let (name, rest) = named.split_once(' ').unwrap_or((named, ""));
                    (Some(name.to_owned()), rest.trim())
                }
                None => (None, rest),
            };
            let node = match rest.strip_prefix('*') {
                Some(alias) => self.anchors[alias].clone(),
                None if rest.is_empty() => self.nested(depth),
                None => scalar(rest),
            };
            if let Some(anchor) = anchor {
                self.anchors.insert(anchor, node.clone());
            }
            map.insert(key.trim().to_owned(), node);
        }
        if is_list { Node::List(list) } else { Node::Map(map) }
    }

    /// Returns the node below a key at depth `depth`; lists may have the depth of the key.
    fn nested(&mut self, depth: usize) -> Node {
        match self.lines.get(self.at) {
            Some(&(next, ref line)) if next > depth || (next == depth && line.starts_with("- ")) => {
                self.block(next)
            }
            _ => Node::Text(String::new()),
        }
    }
}

fn scalar(text: &str) -> Node {
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(list) => Node::List(list.split(',').map(|item| Node::Text(item.trim().to_owned())).collect()),
        None => Node::Text(text.trim_matches(['\'', '"']).to_owned()),
    }
}

#[test]
fn anchors_lists_and_depth_are_read() {
    let node = read("a: &x\n    b: [1, 2]\n    c:\n    - 3\n    - 4\nd: *x\n# e\nf: 5 # g\n");
    assert_eq!(node.numbers(&["d", "b"]), Some(vec![1, 2]));
    assert_eq!(node.numbers(&["a", "c"]), Some(vec![3, 4]));
    assert_eq!(node.number(&["f"]), Some(5));
}
