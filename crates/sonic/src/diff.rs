//! Differences between two switch configurations, as numbers of bytes and consequences for packets.

use crate::config::Config;
use crate::explain::{Explanation, Headroom, Limit, Way, explain};
use crate::lint::{self, Finding, LintError, Options, Severity};
use crate::silicon::Chip;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A change between two configurations, with its consequence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Subject of the change: the memory, a kind of port with its traffic class, or a pool.
    pub what: String,
    /// Value in the old configuration; empty if only the new configuration has the subject.
    pub before: String,
    /// Value in the new configuration; empty if only the old configuration has the subject.
    pub after: String,
    /// Consequence of the change for packets.
    pub consequence: String,
}

/// Differences between two configurations of a switch.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Changed values of the configuration; changes of the memory are first.
    pub changes: Vec<Change>,
    /// Lint findings that only the new configuration has: severity, rule, place, message.
    pub new_findings: Vec<String>,
    /// Lint findings that only the old configuration has.
    pub gone_findings: Vec<String>,
    /// Lint findings that both configurations have, with different figures.
    pub moved_findings: Vec<String>,
    /// Whether a finding that only the new configuration has is an error.
    pub new_errors: bool,
}

/// Compares two configurations of one switch.
///
/// # Errors
/// See [`lint::check`].
pub fn diff(old: &Config, new: &Config, chip: Option<&'static Chip>) -> Result<Difference, LintError> {
    let (before, after) = (explain(old, chip), explain(new, chip));
    let mut changes = memory(&before, &after);
    changes.extend(pools(&before, &after));
    changes.extend(lossless_ports(old, new));
    changes.extend(ways(&before, &after));
    let options = Options { chip, ..Options::default() };
    let (was, is) = (lint::check(old, &options)?, lint::check(new, &options)?);
    let missing = |from: &[Finding], other: &[Finding]| -> Vec<Finding> {
        // The comparison of two findings ignores their line numbers, because an edit of the file
        // moves lines.
        let same = |a: &Finding, b: &Finding| {
            (a.rule.code, a.place.path(), &a.message) == (b.rule.code, b.place.path(), &b.message)
        };
        from.iter().filter(|finding| !other.iter().any(|of_other| same(finding, of_other))).cloned().collect()
    };
    let (mut added, mut gone) = (missing(&is, &was), missing(&was, &is));
    let moved = take_moved(&mut added, &mut gone);
    let line = |finding: &Finding| {
        format!("{} {}: {}: {}", finding.severity, finding.rule.code, finding.place, finding.message)
    };
    Ok(Difference {
        changes,
        new_errors: lint::fails(&added, Severity::Error),
        new_findings: added.iter().map(line).collect(),
        gone_findings: gone.iter().map(line).collect(),
        moved_findings: moved
            .iter()
            .map(|(was, is)| format!("{} (before: {})", line(is), was.message))
            .collect(),
    })
}

/// Removes the findings that are in both `added` and `gone` and differ only in figures. Rule,
/// severity, place and words of these findings are equal.
fn take_moved(added: &mut Vec<Finding>, gone: &mut Vec<Finding>) -> Vec<(Finding, Finding)> {
    let words = |finding: &Finding| -> String {
        finding.message.chars().filter(|c| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+')).collect()
    };
    let mut moved = Vec::new();
    added.retain(|new| {
        let same = |old: &Finding| {
            (old.rule.code, old.severity, old.place.path()) == (new.rule.code, new.severity, new.place.path())
                && words(old) == words(new)
        };
        match gone.iter().position(same) {
            Some(at) => {
                moved.push((gone.remove(at), new.clone()));
                false
            }
            None => true,
        }
    });
    moved
}

/// Formats the differences of two configurations as text.
#[must_use]
pub fn text(difference: &Difference) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    if difference.changes.is_empty() {
        let _ = writeln!(text, "nothing changes for buffers");
    }
    for Change { what, before, after, consequence } in &difference.changes {
        let (before, after) = (or_none(before), or_none(after));
        let _ = writeln!(text, "{what}: {before} -> {after}");
        if !consequence.is_empty() {
            let _ = writeln!(text, "  {consequence}");
        }
    }
    for (title, findings) in [
        ("new", &difference.new_findings),
        ("gone", &difference.gone_findings),
        ("moved", &difference.moved_findings),
    ] {
        for finding in findings {
            let _ = writeln!(text, "{title}: {finding}");
        }
    }
    text
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn bytes_change(what: String, before: u64, after: u64, more: &str, less: &str) -> Option<Change> {
    let by = i128::from(after) - i128::from(before);
    let share =
        if before > 0 { format!(" ({:+.1} %)", 100.0 * by as f64 / before as f64) } else { String::new() };
    (by != 0).then(|| Change {
        what,
        before: format!("{before} B"),
        after: format!("{after} B"),
        consequence: format!("{by:+} B{share}: {}", if by > 0 { more } else { less }),
    })
}

fn memory(before: &Explanation, after: &Explanation) -> Vec<Change> {
    let by_name = |explanation: &Explanation| -> BTreeMap<String, u64> {
        explanation.parts.iter().map(|part| (part.name.clone(), part.bytes)).collect()
    };
    let (was, is) = (by_name(before), by_name(after));
    let names: BTreeSet<_> = was.keys().chain(is.keys()).collect();
    let of = |parts: &BTreeMap<String, u64>, name: &String| parts.get(name).copied().unwrap_or(0);
    let change = |name: &String| {
        let (more, less) = match name.as_str() {
            "shared" => {
                ("every dynamic threshold rises in proportion", "every dynamic threshold falls in proportion")
            }
            "headroom pool" | "headroom" => (
                "more groups may pause at once without a loss",
                "fewer groups may pause at once without a loss",
            ),
            _ => ("more is set aside and not shared", "less is set aside, more is shared"),
        };
        bytes_change(format!("memory, {name}"), of(&was, name), of(&is, name), more, less)
    };
    let mut changes: Vec<_> = names.into_iter().filter_map(change).collect();
    if before.accounting.split(':').next() != after.accounting.split(':').next() {
        changes.push(Change {
            what: "accounting of pools".to_owned(),
            before: before.accounting.clone(),
            after: after.accounting.clone(),
            consequence: "sizes mean something else than before: check that this is meant".to_owned(),
        });
    }
    changes
}

fn pools(before: &Explanation, after: &Explanation) -> Vec<Change> {
    let by_name = |explanation: &Explanation| -> BTreeMap<String, (u64, String)> {
        explanation.pools.iter().map(|pool| (pool.name.clone(), (pool.bytes, pool.note.clone()))).collect()
    };
    let (was, is) = (by_name(before), by_name(after));
    let names: BTreeSet<_> = was.keys().chain(is.keys()).collect();
    let change = |name: &String| {
        let what = format!("pool {name}");
        match (was.get(name), is.get(name)) {
            (Some((old, old_note)), Some((new, new_note))) => {
                let size = bytes_change(
                    what.clone(),
                    *old,
                    *new,
                    "limits of its queues rise",
                    "limits of its queues fall; packets may be dropped here first",
                );
                let note = (old_note != new_note).then(|| Change {
                    what,
                    before: old_note.clone(),
                    after: new_note.clone(),
                    consequence: String::new(),
                });
                size.into_iter().chain(note).collect::<Vec<_>>()
            }
            (old, new) => vec![Change {
                what,
                before: old.map_or_else(String::new, |(bytes, _)| format!("{bytes} B")),
                after: new.map_or_else(String::new, |(bytes, _)| format!("{bytes} B")),
                consequence: "profiles of the pool follow it".to_owned(),
            }],
        }
    };
    names.into_iter().flat_map(change).collect()
}

/// Lists the ports whose set of lossless priorities changes.
fn lossless_ports(old: &Config, new: &Config) -> Vec<Change> {
    let ports: BTreeSet<_> = old.named_ports().into_iter().chain(new.named_ports()).collect();
    let mut changes: BTreeMap<(Vec<u8>, Vec<u8>), Vec<crate::PortName>> = BTreeMap::new();
    for port in ports {
        let sorted = |config: &Config| config.lossless_priorities(&port).into_iter().collect::<Vec<_>>();
        let key = (sorted(old), sorted(new));
        if key.0 != key.1 {
            changes.entry(key).or_default().push(port);
        }
    }
    let change = |((before, after), ports): ((Vec<u8>, Vec<u8>), Vec<crate::PortName>)| {
        let lost: Vec<_> = before.iter().filter(|priority| !after.contains(priority)).collect();
        let won: Vec<_> = after.iter().filter(|priority| !before.contains(priority)).collect();
        let mut consequence = Vec::new();
        if !lost.is_empty() {
            consequence.push(format!("priorities {lost:?} drop instead of pausing"));
        }
        if !won.is_empty() {
            consequence.push(format!(
                "priorities {won:?} pause their senders, and need headroom and a lossless queue"
            ));
        }
        Change {
            what: format!("lossless priorities of {}", lint::some(&ports)),
            before: if before.is_empty() { String::new() } else { format!("{before:?}") },
            after: if after.is_empty() { String::new() } else { format!("{after:?}") },
            consequence: consequence.join("; "),
        }
    };
    changes.into_iter().map(change).collect()
}

/// Lists the changes of limits on the ways of packets, by port and traffic class. Ports with equal
/// changes share an entry.
fn ways(before: &Explanation, after: &Explanation) -> Vec<Change> {
    let by_port = |explanation: &Explanation| {
        let mut found = BTreeMap::new();
        for kind in &explanation.kinds {
            for port in &kind.ports {
                for way in &kind.ways {
                    found.insert((crate::PortName::new(port), way.class), way.clone());
                }
            }
        }
        found
    };
    let (was, is) = (by_port(before), by_port(after));
    let mut told: Vec<(Change, u8, Vec<crate::PortName>)> = Vec::new();
    for ((port, class), old) in &was {
        let Some(new) = is.get(&(port.clone(), *class)) else { continue };
        for change in way(old, new) {
            match told.iter_mut().find(|(other, of, _)| *other == change && of == class) {
                Some((_, _, ports)) => ports.push(port.clone()),
                None => told.push((change, *class, vec![port.clone()])),
            }
        }
    }
    // Traffic classes with equal changes on equal ports share an entry.
    let mut merged: Vec<(Change, Vec<u8>, Vec<crate::PortName>)> = Vec::new();
    for (change, class, ports) in told {
        match merged.iter_mut().find(|(other, _, of)| *other == change && *of == ports) {
            Some((_, classes, _)) => classes.push(class),
            None => merged.push((change, vec![class], ports)),
        }
    }
    merged
        .into_iter()
        .map(|(change, classes, ports)| Change {
            what: format!("{}, class {classes:?}: {}", lint::some(&ports), change.what),
            ..change
        })
        .collect()
}

fn way(old: &Way, new: &Way) -> Vec<Change> {
    let mut changes = Vec::new();
    let number = |number: Option<u8>| number.map_or_else(String::new, |number| number.to_string());
    for (what, before, after) in [("priority group", old.group, new.group), ("queue", old.queue, new.queue)] {
        if before != after {
            changes.push(Change {
                what: what.to_owned(),
                before: number(before),
                after: number(after),
                consequence: "packets meet the limits of another one".to_owned(),
            });
        }
    }
    if old.dscp != new.dscp {
        changes.push(Change {
            what: "DSCP".to_owned(),
            before: format!("{:?}", old.dscp),
            after: format!("{:?}", new.dscp),
            consequence: "other packets enter the class".to_owned(),
        });
    }
    for limit in &new.limits {
        let before = old.limits.iter().find(|before| before.name == limit.name);
        changes.extend(before.into_iter().flat_map(|before| limits(before, limit)));
    }
    changes.extend(headroom(old, new));
    changes.extend(others(old, new));
    changes
}

fn headroom(old: &Way, new: &Way) -> Option<Change> {
    let (before, after) = (old.headroom.as_ref()?, new.headroom.as_ref()?);
    let words = |headroom: &Headroom| format!("{} B, margin {:+} B", headroom.bytes, headroom.margin_bytes);
    (before != after).then(|| Change {
        what: "headroom".to_owned(),
        before: words(before),
        after: words(after),
        consequence: if after.margin_bytes < 0 {
            format!("{} B of lossless packets may be lost at each pause", -after.margin_bytes)
        } else {
            format!("covers {:.0} m of cable more than there are", after.margin_metres)
        },
    })
}

/// Lists the changes of trimming, of resume points and of marking thresholds.
fn others(old: &Way, new: &Way) -> Vec<Change> {
    let mut changes = Vec::new();
    if old.trim != new.trim {
        let words = |way: &Way| way.trim.as_ref().map_or_else(String::new, ToString::to_string);
        changes.push(Change {
            what: "trimmed packets".to_owned(),
            before: words(old),
            after: words(new),
            consequence: if new.trim.is_some() {
                "senders learn of an excess packet from its rest".to_owned()
            } else {
                "excess packets are lost".to_owned()
            },
        });
    }
    if old.resume_below != new.resume_below {
        let bytes = |bytes: Option<u64>| bytes.map_or_else(String::new, |bytes| format!("{bytes} B"));
        changes.push(Change {
            what: "resume below the pause point".to_owned(),
            before: bytes(old.resume_below),
            after: bytes(new.resume_below),
            consequence: "a larger distance means fewer and longer pauses".to_owned(),
        });
    }
    if old.wred != new.wred {
        let mark = |way: &Way| {
            way.wred.as_ref().map_or_else(String::new, |wred| {
                format!("{} {:?}", wred.ecn, wred.thresholds.map(|bytes| bytes.unwrap_or(0)))
            })
        };
        changes.push(Change {
            what: "marking".to_owned(),
            before: mark(old),
            after: mark(new),
            consequence: "senders slow down at another queue length".to_owned(),
        });
    }
    changes
}

fn limits(before: &Limit, after: &Limit) -> Option<Change> {
    let describe = |limit: &Limit| {
        let alpha =
            if limit.alpha.ends_with(" B") { limit.alpha.clone() } else { format!("alpha {}", limit.alpha) };
        match limit.alone {
            Some(alone) => format!("{alone} B ({alpha}, reserve {} B)", limit.reserve),
            None => format!("{alpha}, reserve {} B", limit.reserve),
        }
    };
    if describe(before) == describe(after) && before.then == after.then {
        return None;
    }
    let consequence = match (before.alone, after.alone) {
        _ if before.then != after.then => {
            format!("a full {} now means {} instead of {}", after.name, after.then, before.then)
        }
        (Some(old), Some(new)) if new < old => {
            format!("alone it reaches {} B less before a {}: shorter bursts fit", old - new, after.then)
        }
        (Some(old), Some(new)) if new > old => {
            format!(
                "alone it reaches {} B more before a {}: longer bursts fit, and less is left for others",
                new - old,
                after.then
            )
        }
        _ => String::new(),
    };
    Some(Change {
        what: format!("limit of the {}", after.name),
        before: describe(before),
        after: describe(after),
        consequence,
    })
}
