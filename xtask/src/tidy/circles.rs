//! Finds modules of a crate that import each other in a circle.
//!
//! A circle of imports usually means that a name is defined in the wrong module. A top-level module
//! includes all modules below it. Module A imports module B if A has a path `crate::b` outside unit
//! tests. Names that the root of the crate re-exports do not count as imports.

use std::collections::{BTreeMap, BTreeSet};

/// Known circles of imports: a crate, and the modules of the circle. The list may only shrink.
pub(super) const KNOWN: &[(&str, &[&str])] = &[
    ("core", &["classify", "event", "flows", "policy"]),
    ("params", &["info", "params", "profiles", "value"]),
    ("report", &["html", "load", "real_vs_simulated", "steady"]),
    ("report", &["metric", "pauses", "summary"]),
    ("results", &["claim", "folder"]),
    ("scenario", &["format", "model"]),
    ("sim", &["build", "engine", "transports"]),
    ("sim", &["host", "pfc", "shards", "switch", "world"]),
    ("sonic", &["explain", "lint", "nvidia", "silicon"]),
    ("testbed", &["apps", "lab", "outcome", "plan", "programs", "sandbox"]),
    ("view", &["explain", "losses", "overview", "view"]),
    ("workload", &["kinds", "traffic", "workload"]),
];

/// Imports between the modules of one crate: each module with the modules that it imports.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Returns circles of imports that [`KNOWN`] lacks, and entries of [`KNOWN`] without a circle.
pub(super) fn problems(sources: &[(&str, String)], known: &[(&str, &[&str])]) -> Vec<String> {
    let found: BTreeSet<(String, Vec<String>)> = graphs(sources)
        .into_iter()
        .flat_map(|(name, graph)| circles(&graph).into_iter().map(move |circle| (name.clone(), circle)))
        .collect();
    let known: BTreeSet<(String, Vec<String>)> = known
        .iter()
        .map(|(name, modules)| {
            ((*name).to_owned(), modules.iter().map(|module| (*module).to_owned()).collect())
        })
        .collect();
    let shown = |(name, modules): &(String, Vec<String>)| format!("{name}: {}", modules.join(", "));
    let new = found.difference(&known).map(|circle| {
        format!("{}: these modules import each other; hint: move a name to the lower one", shown(circle))
    });
    let gone = known.difference(&found).map(|circle| {
        format!("{}: no such circle; hint: correct KNOWN in xtask/src/tidy/circles.rs", shown(circle))
    });
    new.chain(gone).collect()
}

/// Returns the graph of imports between modules, for every crate.
fn graphs(sources: &[(&str, String)]) -> BTreeMap<String, Graph> {
    let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
    for (path, text) in sources {
        let member = super::in_crate(path);
        let Some((name, file)) = member.and_then(|(name, rest)| Some((name, rest.strip_prefix("src/")?)))
        else {
            continue;
        };
        let module = file.split('/').next().unwrap_or(file).trim_end_matches(".rs");
        if file.ends_with("tests.rs") || ["lib", "main", "bin"].contains(&module) {
            continue;
        }
        // The unit tests at the end of a file are ignored.
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let imports = graphs.entry(name.to_owned()).or_default().entry(module.to_owned()).or_default();
        imports.extend(imported(text).into_iter().filter(|other| other != module));
    }
    graphs
}

/// Returns the first names of the paths in a source text that begin with `crate::`.
fn imported(text: &str) -> BTreeSet<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line.trim(), " "])
        .collect();
    let mut names = BTreeSet::new();
    for (place, _) in code.match_indices("crate::") {
        let is_part = code[..place].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        if is_part || code[..place].ends_with('$') {
            continue;
        }
        let rest = &code[place + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(heads(group)),
            None => names.extend(head(rest)),
        }
    }
    names
}

/// Returns the first names of a group of imports `{a::{b, c}, d}`, without its opening brace.
fn heads(group: &str) -> Vec<String> {
    let (mut depth, mut member, mut names) = (0_u32, String::new(), Vec::new());
    for letter in group.chars() {
        match letter {
            '}' if depth == 0 => break,
            ',' if depth == 0 => names.extend(head(std::mem::take(&mut member).trim())),
            _ => member.push(letter),
        }
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    names.extend(head(member.trim()));
    names
}

fn head(path: &str) -> Option<String> {
    let name: String = path.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// Returns sorted groups of modules that import each other directly or indirectly.
fn circles(graph: &Graph) -> BTreeSet<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (module.as_str(), reachable(graph, module))).collect();
    let is_mutual = |a: &str, b: &str| reached[a].contains(b) && reached[b].contains(a);
    graph
        .keys()
        .filter(|module| reached[module.as_str()].contains(module.as_str()))
        .map(|module| graph.keys().filter(|other| is_mutual(module, other)).cloned().collect())
        .collect()
}

/// Returns the modules that `start` imports, directly or through other modules.
fn reachable<'a>(graph: &'a Graph, start: &str) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(module) = open.pop() {
        for (next, _) in graph.get(module).into_iter().flatten().filter_map(|name| graph.get_key_value(name))
        {
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the problems that the check of imports finds in an invented crate of five files.
    fn problems_of_x(known: &[(&str, &[&str])]) -> Vec<String> {
        let files = [
            ("lib.rs", "use crate::a::A;"),
            ("a.rs", "use crate::{Error, b::{self, B}, d::D};"),
            ("b/part.rs", "fn f() -> crate::c::C {}"),
            ("c.rs", "use crate::a::A;\n#[cfg(test)]\nmod tests { use crate::d; }"),
            ("d.rs", "// crate::a is not used.\nuse crate::Error;"),
        ];
        let files = files.map(|(file, text)| (["crates/x/src", file].join("/"), text.to_owned()));
        let sources: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
        problems(&sources, known)
    }

    #[test]
    fn a_circle_through_a_folder_is_found_and_a_test_or_comment_makes_none() {
        let found = problems_of_x(&[]);
        assert!(found.len() == 1 && found[0].starts_with("x: a, b, c: these modules"), "{found:?}");
        assert_eq!(problems_of_x(&[("x", &["a", "b", "c"])]), [""; 0]);
    }

    #[test]
    fn an_entry_of_a_circle_that_is_gone_is_found() {
        let known: &[(&str, &[&str])] = &[("x", &["a", "b", "c"]), ("x", &["a", "d"])];
        let found = problems_of_x(known);
        assert!(found.len() == 1 && found[0].starts_with("x: a, d: no such circle"), "{found:?}");
    }
}
