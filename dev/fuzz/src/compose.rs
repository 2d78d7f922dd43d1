//! Fuzzing cases that combine options: two scheduled pairs of options and some random options. The
//! networks of the cases have random numbers of ports.

use crate::bases::BASES;
use crate::case::Case;
use crate::options::{Choice, OPTIONS, SLOTS, What};
use crate::pairs::scheduled;
use crate::values::{Dice, inline, modest, of_param, value};
use bufferlab_document::spec::KeySpec;
use bufferlab_params::{AUTO, ParamInfo, ParamKind, ParamValue};
use bufferlab_units::RandomStream;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use toml::{Table, Value};

/// Maximum number of random options of a fuzzing case, besides the scheduled pairs of options.
const MOST_OTHERS: u64 = 8;
/// Smallest and largest number of hosts, and of switch ports, of a single-switch network.
const PORTS: (u64, u64) = (2, 13);

/// The base scenarios as parsed TOML, in the order of the list of base scenarios.
static PARSED: LazyLock<Vec<Table>> =
    LazyLock::new(|| BASES.iter().map(|base| base.text.parse().expect("bases are TOML")).collect());

/// Creates the fuzzing case `number` of a seed, which combines options.
pub(crate) fn compose(seed: u64, number: u64) -> Case {
    let mut stream = RandomStream::new(seed, "combined", number);
    let mut dice = Dice(&mut stream);
    let mut chosen = BTreeSet::new();
    for pair in [2 * number, 2 * number + 1] {
        let (first, second) = scheduled(seed, pair);
        for option in [first, second] {
            add(&mut chosen, option);
        }
    }
    if dice.one_in(3) {
        memory(&mut dice, &mut chosen);
    }
    let slots: Vec<_> = SLOTS.values().collect();
    for _ in 0..dice.0.below(MOST_OTHERS + 1) {
        let slot = *dice.pick(&slots);
        add(&mut chosen, *dice.pick(slot));
    }
    let index = base(&mut dice, &chosen);
    let (base, parsed) = (&BASES[index], &PARSED[index]);
    let mut set = ports(&mut dice, parsed);
    let is_override = dice.one_in(12);
    // Parents of options are set before the options. A parent has a smaller number than its
    // children.
    for choice in chosen.iter().map(|&option| &OPTIONS[option]) {
        for (key, value) in settings(&mut dice, choice, parsed) {
            match key.strip_prefix("switch.").filter(|_| is_override) {
                Some(key) => set.push((format!("switch_override.0.{key}"), value)),
                None => set.push((key, value)),
            }
        }
    }
    if is_override {
        set.insert(0, ("switch_override".to_owned(), "[{ switches = \"*\" }]".to_owned()));
    }
    Case { base: base.name.to_owned(), set, splices: Vec::new() }
}

/// Chooses a memory layout and a policy, so that cases combine divided memory with policies that
/// count bytes per part of the memory. Half of the chosen policies pause senders.
fn memory(dice: &mut Dice<'_>, chosen: &mut BTreeSet<usize>) {
    let policies = &SLOTS["switch.policy"];
    let pauses = |option: &usize| match &OPTIONS[*option].what {
        What::Entry { params, .. } => params.iter().any(|param| param.name == "headroom"),
        _ => false,
    };
    let pausing: Vec<_> = policies.iter().copied().filter(pauses).collect();
    let policy = if dice.one_in(2) { *dice.pick(&pausing) } else { *dice.pick(policies) };
    add(chosen, policy);
    let parts = if dice.one_in(2) { &["family"][..] } else { &["slices", "slice_by"] };
    for key in parts {
        add(chosen, *dice.pick(&SLOTS[format!("switch.hardware.{key}").as_str()]));
    }
    let others: Vec<_> = SLOTS.iter().filter(|(path, _)| path.starts_with("switch.hardware.")).collect();
    for _ in 0..dice.0.below(3) {
        let (_, slot) = *dice.pick(&others);
        add(chosen, *dice.pick(slot));
    }
}

/// Options of a fuzzing case that are complete: the loader has refused none of the settings.
pub(crate) fn options_of(case: &Case) -> Vec<usize> {
    let has = |choice: &Choice| {
        case.set.iter().any(|(key, value)| {
            let key = key
                .strip_prefix("switch_override.0")
                .map_or_else(|| key.clone(), |rest| format!("switch{rest}"));
            key == choice.path
                && match &choice.what {
                    What::Fixed(word) => value == word,
                    What::Entry { key, name, .. } => value.starts_with(&head(key, name)),
                    _ => !is_word_of(choice, value),
                }
        })
    };
    (0..OPTIONS.len()).filter(|&option| has(&OPTIONS[option])).collect()
}

/// Whether a value is one of the words that a key accepts. Each accepted word is a separate option.
fn is_word_of(choice: &Choice, value: &str) -> bool {
    SLOTS[choice.path.as_str()].iter().any(|&other| match &OPTIONS[other].what {
        What::Fixed(word) => word == value,
        _ => false,
    })
}

/// Adds an option and its parents to the case, unless the option excludes a chosen option.
fn add(chosen: &mut BTreeSet<usize>, option: usize) {
    let line: Vec<_> = std::iter::successors(Some(option), |&at| OPTIONS[at].parent).collect();
    let is_free = |at: &usize| {
        SLOTS[OPTIONS[*at].path.as_str()].iter().all(|other| other == at || !chosen.contains(other))
    };
    if line.iter().all(is_free) {
        chosen.extend(line);
    }
}

/// Chooses the base scenario: a lossless base scenario if an option needs lossless priorities,
/// otherwise any base scenario.
fn base(dice: &mut Dice<'_>, chosen: &BTreeSet<usize>) -> usize {
    let is_lossless = |choice: &Choice| {
        ["switch.pfc", "fault"].iter().any(|path| choice.path.starts_with(path))
            || choice.label.contains("=sonic-")
            || choice.label.contains("slice_by=ingress")
    };
    let lossless = chosen.iter().any(|&option| is_lossless(&OPTIONS[option]));
    if lossless && !dice.one_in(4) {
        let fitting: Vec<_> =
            (0..BASES.len()).filter(|&index| PARSED[index]["switch"].get("pfc").is_some()).collect();
        return *dice.pick(&fitting);
    }
    dice.0.below(BASES.len() as u64) as usize
}

/// Draws the number of ports of a single-switch base scenario.
fn ports(dice: &mut Dice<'_>, parsed: &Table) -> Vec<(String, String)> {
    let is_star = parsed["topology"]["kind"].as_str() == Some("single_switch");
    if !is_star || dice.one_in(4) {
        return Vec::new();
    }
    let hosts = PORTS.0 + dice.0.below(PORTS.1 - PORTS.0 + 1);
    let workloads = parsed["workload"].as_array().into_iter().flatten().enumerate();
    let smaller = workloads.filter(|(_, workload)| {
        workload.get("fan_in").and_then(Value::as_integer).is_some_and(|fan_in| fan_in as u64 >= hosts)
    });
    let mut set: Vec<_> = smaller.map(|(at, _)| (format!("workload.{at}.fan_in"), "1".to_owned())).collect();
    set.push(("topology.hosts".to_owned(), hosts.to_string()));
    set
}

/// Keys that an option sets, with randomly drawn values.
fn settings(dice: &mut Dice<'_>, choice: &Choice, parsed: &Table) -> Vec<(String, String)> {
    let value = match &choice.what {
        What::Key(key) => value(dice, key),
        What::Param(param) => of_param(dice, param.kind),
        What::Fixed(value) => value.clone(),
        What::Entry { key, params, name, keep } => {
            let mut parts = vec![head(key, name)];
            parts.extend(kept(parsed, &choice.path, key, keep));
            parts.extend(required(dice, params));
            // Lossless priorities need headroom for packets that arrive after a pause.
            let is_lossless = choice.path == "switch.policy" && parsed["switch"].get("pfc").is_some();
            let rooms = params.iter().filter(|param| matches!(param.kind, ParamKind::BytesPerPort { .. }));
            let is_asked = is_lossless && !dice.one_in(4);
            parts.extend(rooms.filter(|_| is_asked).map(|param| format!("{} = \"{AUTO}\"", param.name)));
            return vec![(choice.path.clone(), format!("{} }}", parts.join(", ")))];
        }
        What::List(spec) => format!("[{}]", inline(dice, spec)),
        What::Profiles => format!("[{}]", inline(dice, bufferlab_scenario::profile_format())),
    };
    vec![(choice.path.clone(), value)]
}

/// First characters of the TOML table that selects a registry entry.
fn head(key: &str, name: &str) -> String {
    format!("{{ {key} = \"{name}\"")
}

/// Keys that a table of the base scenario keeps when another registry entry is selected.
fn kept(parsed: &Table, path: &str, tag: &str, keep: &[KeySpec]) -> Vec<String> {
    let below = |value: &Value, part: &str| match part.parse::<usize>() {
        Ok(index) => value.get(index).cloned(),
        Err(_) => value.get(part).cloned(),
    };
    let found = path.split('.').try_fold(Value::Table(parsed.clone()), |value, part| below(&value, part));
    let Some(Value::Table(table)) = found else { return Vec::new() };
    let kept = keep.iter().filter(|key| key.name != tag);
    kept.filter_map(|key| {
        Some(format!("{} = {}", key.name, table.get(key.name)?.as_str().map(|text| format!("\"{text}\""))?))
    })
    .collect()
}

/// Required parameters of a registry entry, with values that make a small network with little
/// traffic.
fn required(dice: &mut Dice<'_>, params: &'static [ParamInfo]) -> Vec<String> {
    let must = params.iter().filter(|param| matches!(param.default, ParamValue::Required(_)));
    must.map(|param| format!("{} = {}", param.name, modest(dice, param))).collect()
}
