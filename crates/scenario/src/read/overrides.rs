//! Reads `[[switch_override]]`, and finds the entries that apply to each switch.

use crate::context::{Complaint, first_names, suggestion};
use crate::format::{OverrideKeys, SWITCH_OVERRIDE};
use crate::reader::Reader;
use crate::tree::{Item, Origin, Table, Value};

pub(crate) struct Override {
    patterns: Vec<String>,
    /// Table of a `[[switch_override]]`, without the key `switches`.
    pub(crate) table: Item,
    origin: Origin,
}

pub(crate) fn overrides(root: &mut Reader<'_>) -> Vec<Override> {
    let Some(item) = root.item("switch_override") else { return Vec::new() };
    let Value::Array(items) = &item.value else {
        let found = item.value.kind_in_words();
        let complaint = Complaint::new(format!("expected a list of tables, found {found}"), "not a list");
        root.error(
            "switch_override",
            complaint.help("write the header with two brackets: [[switch_override]]"),
        );
        return Vec::new();
    };
    let mut overrides = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let mut only_switches = Table::default();
        let mut table = item.clone();
        if let Value::Table(table) = &mut table.value {
            only_switches.entries.extend(table.remove("switches"));
        }
        let head = Item { value: Value::Table(only_switches), origin: item.origin };
        let path = format!("switch_override.{index}");
        let Some(mut reader) = Reader::open(root.context, &SWITCH_OVERRIDE, path, Some(&head)) else {
            continue;
        };
        let patterns = OverrideKeys::read(&mut reader).switches;
        reader.finish();
        let origin = head_origin(&head);
        overrides.push(Override { patterns: patterns.unwrap_or_default(), table, origin });
    }
    overrides
}

fn head_origin(head: &Item) -> Origin {
    match &head.value {
        Value::Table(table) => table.get("switches").map_or(head.origin, |item| item.origin),
        _ => head.origin,
    }
}

/// Groups the switches by the overrides that apply to them. Each group has the indices of its
/// overrides and of its switches. Groups are in the order of their first switch.
pub(crate) fn select(
    root: &Reader<'_>,
    overrides: &[Override],
    names: Option<&[String]>,
) -> Vec<(Vec<usize>, Vec<u32>)> {
    let Some(names) = names else {
        let alone = (0..overrides.len()).map(|index| (vec![index], Vec::new()));
        return std::iter::once((Vec::new(), Vec::new())).chain(alone).collect();
    };
    for (index, entry) in overrides.iter().enumerate() {
        for pattern in &entry.patterns {
            if !names.iter().any(|name| matches_glob(pattern, name)) {
                let complaint =
                    Complaint::new(format!("no switch is called \"{pattern}\""), "matches nothing");
                let help = match suggestion(pattern, names.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("switches here: {}", first_names(names.iter().map(String::as_str))),
                };
                root.context.error(
                    &format!("switch_override.{index}.switches"),
                    entry.origin,
                    complaint.help(help),
                );
            }
        }
    }
    let mut selections: Vec<(Vec<usize>, Vec<u32>)> = Vec::new();
    for (switch, name) in (0..).zip(names) {
        let applies = |entry: &Override| entry.patterns.iter().any(|pattern| matches_glob(pattern, name));
        let chosen: Vec<_> = (0..overrides.len()).filter(|&index| applies(&overrides[index])).collect();
        match selections.iter_mut().find(|known| known.0 == chosen) {
            Some(known) => known.1.push(switch),
            None => selections.push((chosen, vec![switch])),
        }
    }
    selections
}

/// Whether a name matches a pattern: `*` means any characters, `?` means one character.
pub(crate) fn matches_glob(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // `reached[i]` is true if the processed part of the pattern matches the first i characters of
    // the name.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for symbol in pattern {
        let mut next = vec![false; name.len() + 1];
        for i in 0..=name.len() {
            next[i] = match symbol {
                '*' => reached[i] || (i > 0 && next[i - 1]),
                '?' => i > 0 && reached[i - 1],
                c => i > 0 && reached[i - 1] && name[i - 1] == c,
            };
        }
        reached = next;
    }
    reached[name.len()]
}

/// Whether `origin` is the place of `item` or of a value in `item`.
pub(crate) fn contains(item: &Item, origin: Origin) -> bool {
    item.origin == origin
        || match &item.value {
            Value::Array(list) => list.iter().any(|item| contains(item, origin)),
            Value::Table(table) => {
                table.entries.iter().any(|entry| entry.key_origin == origin || contains(&entry.item, origin))
            }
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names() {
        let matches = |pattern, names: &[&str]| names.iter().all(|name| matches_glob(pattern, name));
        assert!(matches("spine*", &["spine", "spine0", "spine12"]));
        assert!(matches("*", &["", "anything"]));
        assert!(matches("edge?_*", &["edge0_1", "edge3_"]));
        assert!(!matches_glob("spine*", "leaf0"));
        assert!(!matches_glob("spine?", "spine12"));
        assert!(!matches_glob("spine", "spine1"));
        assert!(matches_glob("a*b*c", "a-bb-c") && !matches_glob("a*b*c", "a-bb-d"));
    }
}
