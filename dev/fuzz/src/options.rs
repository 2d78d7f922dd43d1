//! Every option of the scenario format as data.
//! An option is a key of the scenario with a value, or a word that a key accepts.
//!
//! The list of options follows from the declaration of the scenario format and from the registries.
//! So the search draws and counts a new key, policy or parameter without a change of this module.

use bufferlab_document::spec::{KeySpec, Kind, Presence, TableSpec};
use bufferlab_params::{Card, ParamInfo, ParamKind, ParamValue};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// An option that a fuzzing case can set: a key of the scenario, and the kind of value for the key.
#[derive(Debug)]
pub(crate) struct Choice {
    /// Name of the option in reports, such as `switch.policy=dt` or `switch.policy=dt.alpha`.
    pub(crate) label: String,
    /// Dotted key of the scenario that the option sets.
    pub(crate) path: String,
    /// Index of the option that must be set before this option.
    pub(crate) parent: Option<usize>,
    /// Kind of value that the option gives to its key.
    pub(crate) what: What,
}

/// Kind of value that an option gives to a scenario key.
#[derive(Debug)]
pub(crate) enum What {
    /// A random value that the given scenario key accepts.
    Key(&'static KeySpec),
    /// A random value that the given parameter of a registry entry accepts.
    Param(&'static ParamInfo),
    /// A constant value of the scenario key, as TOML.
    Fixed(String),
    /// A registry entry with its required parameters, as a table. The key `key` of the table names
    /// the registry entry.
    Entry {
        key: &'static str,
        params: &'static [ParamInfo],
        name: &'static str,
        /// Keys of the table that do not depend on the registry entry and must be kept.
        keep: &'static [KeySpec],
    },
    /// A list of tables with one table of random values.
    List(&'static TableSpec),
    /// A list with one buffer profile.
    Profiles,
}

/// All options of the scenario format, parents before children.
pub(crate) static OPTIONS: LazyLock<Vec<Choice>> = LazyLock::new(|| {
    let mut all = Vec::new();
    table(&mut all, bufferlab_scenario::format(), "", None);
    all
});

/// Options by the dotted key that they set. A case sets at most one option of each key.
pub(crate) static SLOTS: LazyLock<BTreeMap<&'static str, Vec<usize>>> = LazyLock::new(|| {
    let mut slots: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
    for (index, choice) in OPTIONS.iter().enumerate() {
        slots.entry(choice.path.as_str()).or_default().push(index);
    }
    slots
});

/// Whether two options can be part of one case. Two options are incompatible if one option replaces
/// the other option or the parent of the other option.
pub(crate) fn can_meet(first: usize, second: usize) -> bool {
    let line = |from: usize| std::iter::successors(Some(from), |&at| OPTIONS[at].parent);
    let excludes = |a: usize, b: usize| a != b && OPTIONS[a].path == OPTIONS[b].path;
    first != second && !line(first).any(|a| line(second).any(|b| excludes(a, b)))
}

fn table(all: &mut Vec<Choice>, spec: &'static TableSpec, path: &str, parent: Option<usize>) {
    for spec_key in spec.keys {
        key(all, spec_key, spec, path, parent);
    }
    for variant in spec.variants {
        for spec_key in variant.keys {
            key(all, spec_key, spec, path, parent);
        }
    }
}

fn key(
    all: &mut Vec<Choice>,
    key: &'static KeySpec,
    spec: &'static TableSpec,
    at: &str,
    parent: Option<usize>,
) {
    let path = if at.is_empty() { key.name.to_owned() } else { format!("{at}.{}", key.name) };
    let fixed = |all: &mut Vec<Choice>, word: &str, value: String| {
        let what = What::Fixed(value);
        all.push(Choice { label: format!("{path}={word}"), path: path.clone(), parent, what });
    };
    match key.kind {
        Kind::Table(below) => table(all, below, &path, parent),
        Kind::Tables(below) => {
            let mut parent = parent;
            if !matches!(key.presence, Presence::Required) {
                let what = What::List(below);
                all.push(Choice { label: path.clone(), path: path.clone(), parent, what });
                parent = Some(all.len() - 1);
            }
            table(all, below, &format!("{path}.0"), parent);
        }
        // A different registry entry starts a new table of parameters. So the option repeats keys
        // of the table that do not depend on the registry entry.
        Kind::Tag(catalog) => {
            for card in catalog.cards(false) {
                let what =
                    What::Entry { key: key.name, params: card.params, name: card.name, keep: spec.keys };
                entry(
                    all,
                    &card,
                    Choice { label: format!("{path}={}", card.name), path: at.to_owned(), parent, what },
                );
            }
        }
        Kind::Entry(catalog) => {
            for card in catalog.cards(false) {
                let what = What::Entry { key: "name", params: card.params, name: card.name, keep: &[] };
                let label = format!("{path}={}", card.name);
                entry(all, &card, Choice { label, path: path.clone(), parent, what });
            }
        }
        Kind::Name(catalog) => {
            for card in catalog.cards(false) {
                fixed(all, card.name, format!("\"{}\"", card.name));
            }
        }
        Kind::Words(words) => {
            words.iter().for_each(|word| fixed(all, word.name, format!("\"{}\"", word.name)))
        }
        Kind::WordOrTables { words, .. } => {
            words.iter().for_each(|word| fixed(all, word.name, format!("\"{}\"", word.name)));
            all.push(Choice { label: path.clone(), path: path.clone(), parent, what: What::Key(key) });
        }
        Kind::CountOrWord { words, .. } => {
            words.iter().for_each(|word| fixed(all, word, format!("\"{word}\"")));
            all.push(Choice { label: path.clone(), path: path.clone(), parent, what: What::Key(key) });
        }
        Kind::Flag => ["true", "false"].into_iter().for_each(|word| fixed(all, word, word.to_owned())),
        _ => all.push(Choice { label: path.clone(), path: path.clone(), parent, what: What::Key(key) }),
    }
}

/// Adds the options for a registry entry and its parameters.
fn entry(all: &mut Vec<Choice>, card: &Card, choice: Choice) {
    let (label, path) = (choice.label.clone(), choice.path.clone());
    all.push(choice);
    let parent = Some(all.len() - 1);
    for param in card.params.iter().filter(|param| !matches!(param.default, ParamValue::Required(_))) {
        let path = format!("{path}.{}", param.name);
        let mut push = |label: String, what| all.push(Choice { label, path: path.clone(), parent, what });
        let label = format!("{label}.{}", param.name);
        match param.kind {
            ParamKind::Choice(words) => {
                for word in words {
                    push(format!("{label}={}", word.name), What::Fixed(format!("\"{}\"", word.name)));
                }
            }
            ParamKind::Flag => {
                for word in ["true", "false"] {
                    push(format!("{label}={word}"), What::Fixed(word.to_owned()));
                }
            }
            ParamKind::Profiles => push(label, What::Profiles),
            _ => push(label, What::Param(param)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_policy_family_and_key_of_the_format_is_an_option() {
        let labels: BTreeSet<_> = OPTIONS.iter().map(|choice| choice.label.as_str()).collect();
        assert_eq!(labels.len(), OPTIONS.len(), "two options have one label");
        for info in bufferlab_core::POLICIES.iter() {
            assert!(labels.contains(format!("switch.policy={}", info.name).as_str()), "{}", info.name);
        }
        for wanted in [
            "switch.hardware.slices",
            "switch.hardware.slice_by=ingress",
            "switch.hardware.family=tomahawk",
            "switch.pfc.priorities",
            "topology.kind=leaf_spine",
            "workload.0.kind=poisson",
            "transport.0.congestion_control=dctcp",
            "switch.policy=sonic-dt.profiles",
            "fault.0.interval",
        ] {
            assert!(labels.contains(wanted), "{wanted} is no option: {labels:#?}");
        }
    }

    #[test]
    fn options_that_replace_each_other_cannot_meet() {
        let find = |label: &str| OPTIONS.iter().position(|choice| choice.label == label).expect(label);
        let (dt, alpha) = (find("switch.policy=dt"), find("switch.policy=dt.alpha"));
        let (abm, slices) = (find("switch.policy=abm"), find("switch.hardware.slices"));
        assert!(can_meet(dt, alpha) && can_meet(alpha, slices) && can_meet(abm, slices));
        assert!(!can_meet(dt, abm) && !can_meet(alpha, abm) && !can_meet(dt, dt));
    }
}
