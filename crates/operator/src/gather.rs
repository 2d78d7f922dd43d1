//! Joins equal settings of ports to short lists for scenario files.

use std::collections::{BTreeMap, BTreeSet};

/// Joins scenario entries with equal settings into one entry with priorities and a list of ports.
/// An entry without a list of ports is for all ports.
pub(crate) fn gathered(
    all_ports: usize,
    entries: &[(usize, u8, String)],
    direction: &str,
    key: &str,
) -> Vec<String> {
    let mut contents: Vec<&String> = Vec::new();
    for (_, _, content) in entries {
        if !contents.contains(&content) {
            contents.push(content);
        }
    }
    contents
        .into_iter()
        .flat_map(|content| {
            // Ports with equal sets of priorities share one scenario entry.
            let mut by_port: BTreeMap<usize, BTreeSet<u8>> = BTreeMap::new();
            for (port, priority, _) in entries.iter().filter(|entry| &entry.2 == content) {
                by_port.entry(*port).or_default().insert(*priority);
            }
            let mut by_set: BTreeMap<BTreeSet<u8>, Vec<usize>> = BTreeMap::new();
            for (port, set) in by_port {
                by_set.entry(set).or_default().push(port);
            }
            by_set.into_iter().map(move |(set, ports)| {
                let set: Vec<_> = set.into_iter().collect();
                let ports =
                    if ports.len() == all_ports { String::new() } else { format!("ports = {ports:?}, ") };
                format!("{{ {direction}{ports}{key} = {set:?}, {content} }}")
            })
        })
        .collect()
}
