//! Assignment of a value to a key, which may name an entry of a list.

use crate::context::Complaint;
use crate::format::MERGING;
use crate::tree::{self, Entry, Item, Origin, Table, Value, merge};

/// Merges `value` into the item at `keys` below `item`.
pub(crate) fn assign(
    item: &mut Item,
    keys: &[&str],
    value: Item,
    key_origin: Origin,
    depth: usize,
) -> Result<(), (String, Complaint)> {
    let here = || keys[..depth].join(".");
    let rest = &keys[depth..];
    match &mut item.value {
        Value::Array(list) => {
            let Some(index) = find_entry(list, rest[0]) else {
                let complaint =
                    Complaint::new(format!("`{}` has no entry \"{}\"", here(), rest[0]), "no such entry");
                let show = |(index, item): (usize, &Item)| match entry_name(item) {
                    Some(name) => format!("{index} or {name}"),
                    None => index.to_string(),
                };
                let entries: Vec<_> = list.iter().enumerate().map(show).collect();
                return Err((here(), complaint.help(format!("entries: {}", entries.join(", ")))));
            };
            if rest.len() == 1 {
                merge(&MERGING, "", &mut list[index], value);
                return Ok(());
            }
            assign(&mut list[index], keys, value, key_origin, depth + 1)
        }
        Value::Table(table) => {
            if rest.len() > 1
                && let Some(below) = table.get_mut(rest[0])
            {
                if MERGING.named.contains(&rest[0]) {
                    tree::expand_name(below);
                }
                if matches!(below.value, Value::Table(_) | Value::Array(_)) {
                    return assign(below, keys, value, key_origin, depth + 1);
                }
            }
            let (last, above) = rest.split_last().expect("a key has at least one part");
            let wrap = |key: &str, item: Item| Item {
                origin: item.origin,
                value: Value::Table(Table { entries: vec![Entry { key: key.to_owned(), key_origin, item }] }),
            };
            let nested = above.iter().rev().fold(wrap(last, value), |item, key| wrap(key, item));
            let origin = item.origin;
            merge(&MERGING, "", item, nested);
            item.origin = origin;
            Ok(())
        }
        _ => unreachable!("only tables and lists are entered"),
    }
}

fn entry_name(item: &Item) -> Option<&str> {
    let Value::Table(table) = &item.value else { return None };
    // `kind` and `congestion_control` are the defaults of `class` and of a transport's `name`.
    let keys = ["name", "class", "link", "switches", "kind", "congestion_control"];
    keys.iter().find_map(|key| match table.get(key).map(|item| &item.value) {
        Some(Value::String(name)) => Some(name.as_str()),
        _ => None,
    })
}

fn find_entry(list: &[Item], written: &str) -> Option<usize> {
    match written.parse::<usize>() {
        Ok(index) => (index < list.len()).then_some(index),
        Err(_) => list.iter().position(|item| entry_name(item) == Some(written)),
    }
}
