//! Warns of settings of switches that have no effect.

use super::{ScenarioCheck, find};
use crate::model::SwitchSpec;
use crate::quantity::format_size;
use crate::read::overrides::matches_glob;
use crate::tree::{Item, Value};
use bufferlab_core::Profile;

/// Names of the built-in policies that pause senders.
const PAUSING: [&str; 3] = ["sonic-dt", "sonic-abm", "reverie"];
pub(super) fn warn(check: &ScenarioCheck<'_>) {
    warn_about_marks(check);
    // If a scenario disables [switch.pfc] explicitly, its author knows about PFC.
    let says_pfc = check.place("switch.pfc").is_some();
    let no_pause = |switch: &SwitchSpec, name: &str| nobody_to_pause(switch, name).filter(|_| !says_pfc);
    let checks: [Check<'_>; 3] = [&long_ramp, &no_pause, &port_limit];
    for look in checks {
        // A mistake of one switch is probably a mistake of other switches, too.
        let found = check.scenario.switches.iter().enumerate().find_map(|(switch, spec)| {
            look(spec, &check.scenario.topology.switches[switch]).map(|note| (switch, note))
        });
        if let Some((switch, Note { key, message, label, help })) = found {
            check.note(&key_at(check, switch, key), message, label, help);
        }
    }
    warn_about_overrides(check);
}

/// Function that checks a switch with a name for a suspicious setting.
type Check<'a> = &'a dyn Fn(&SwitchSpec, &str) -> Option<Note>;

/// Warning about a suspicious setting of a switch.
struct Note {
    /// Dotted key of the setting below the table of the switch.
    key: &'static str,
    message: String,
    label: &'static str,
    help: &'static str,
}

/// Warns of marking without a transport that reacts to marks.
fn warn_about_marks(check: &ScenarioCheck<'_>) {
    // The profile `artifact` copies the setup of a public simulator, so settings without effect get
    // no warning.
    if check.scenario.profile == Profile::Artifact {
        return;
    }
    let Some(switch) = check.scenario.switches.iter().position(|switch| switch.ecn.is_some()) else { return };
    let mut used = check.scenario.transports.iter().zip(check.used).filter(|(_, used)| **used).peekable();
    if used.peek().is_none() || used.any(|(transport, _)| transport.ecn_capable) {
        return;
    }
    // An author who sets transports after the marking rule, in an extending file or on the command
    // line, compares transports on equal switches. This author gets no warning.
    let key = key_at(check, switch, "ecn");
    if check.rank(&key) < check.rank("transport.0.congestion_control") {
        return;
    }
    let message =
        "switches mark packets, and no transport in use sends packets that can be marked".to_owned();
    let help = "set ecn_capable = true in a [[transport]], choose a congestion control that reacts to marks, or remove [switch.ecn]";
    check.note(&key, message, "marks nothing", help);
}

/// Finds a ramp of RED whose end no queue reaches.
fn long_ramp(switch: &SwitchSpec, name: &str) -> Option<Note> {
    let ecn = switch.ecn.as_ref().filter(|ecn| ecn.kind == "red")?;
    let kmax = ecn.params.given_bytes("kmax").filter(|&kmax| kmax > switch.buffer_bytes)?;
    let message = format!(
        "`kmax` ({}) is above the buffer of \"{name}\" ({}): the probability of a mark never reaches `pmax`",
        format_size(kmax),
        format_size(switch.buffer_bytes)
    );
    Some(Note { key: "ecn.kmax", message, label: "above any queue", help: "check the unit, or lower kmax" })
}

/// Finds a policy for lossless traffic on a switch without lossless traffic.
fn nobody_to_pause(switch: &SwitchSpec, name: &str) -> Option<Note> {
    if switch.pfc.is_some() || !PAUSING.contains(&switch.policy.as_str()) {
        return None;
    }
    let message = format!(
        "\"{}\" sets headroom aside and pauses senders of lossless priorities, and \"{name}\" has none",
        switch.policy
    );
    let help = "add [switch.pfc] with priorities = [3] (docs/concepts/lossless.md); for lossy traffic alone, \"dt\" or \"abm\" is the same scheme";
    Some(Note { key: "policy", message, label: "nobody is ever paused", help })
}

/// Finds a port limit that is at least as large as the shared memory, and so has no effect.
fn port_limit(switch: &SwitchSpec, name: &str) -> Option<Note> {
    let limit = switch.hardware.switch.port_limit?;
    let memory = switch.buffer_bytes / u64::from(switch.hardware.slices);
    let message = format!(
        "the limit of a port ({}) is not below the memory that it shares at \"{name}\" ({})",
        format_size(limit),
        format_size(memory)
    );
    let help = "check the unit, lower it, or remove it";
    (limit >= memory).then_some(Note { key: "hardware.port_limit", message, label: "never binds", help })
}

/// Warns about keys of an override that later overrides replace at every switch.
fn warn_about_overrides(check: &ScenarioCheck<'_>) {
    let entries = overrides(check);
    let names = &check.scenario.topology.switches;
    for (index, (patterns, table)) in entries.iter().enumerate() {
        let later = &entries[index + 1..];
        for key in leaves(table, "").iter().filter(|key| *key != "switches") {
            let replaced = |name: &String| {
                later.iter().any(|(patterns, table)| matches_any(patterns, name) && says(table, key))
            };
            let mut mine = names.iter().filter(|name| matches_any(patterns, name)).peekable();
            if mine.peek().is_some() && mine.all(replaced) {
                let message =
                    format!("`{key}` has no effect: later entries set it at every switch of this one");
                let help = "later entries win: remove it, or put the general entry before the particular one";
                check.note(&format!("switch_override.{index}.{key}"), message, "replaced", help);
            }
        }
    }
}

/// Returns the patterns and the table of every `[[switch_override]]`.
fn overrides<'a>(check: &ScenarioCheck<'a>) -> Vec<(Vec<&'a str>, &'a Item)> {
    let Some(Value::Array(entries)) = find(check.root, "switch_override").map(|item| &item.value) else {
        return Vec::new();
    };
    let text = |item: &'a Item| match &item.value {
        Value::String(text) => Some(text.as_str()),
        _ => None,
    };
    let patterns = |entry: &'a Item| match find(entry, "switches").map(|item| &item.value) {
        Some(Value::Array(list)) => list.iter().filter_map(text).collect(),
        _ => find(entry, "switches").and_then(text).into_iter().collect(),
    };
    entries.iter().map(|entry| (patterns(entry), entry)).collect()
}

fn matches_any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| matches_glob(pattern, name))
}

/// Returns the dotted keys of all values in a table that are no tables.
fn leaves(item: &Item, path: &str) -> Vec<String> {
    match &item.value {
        Value::Table(table) => {
            let below = |entry: &crate::tree::Entry| {
                let key = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
                leaves(&entry.item, &key)
            };
            table.entries.iter().flat_map(below).collect()
        }
        _ => vec![path.to_owned()],
    }
}

/// Whether a table sets a key: directly, or by a plain value in place of a table that contains the
/// key.
fn says(table: &Item, key: &str) -> bool {
    let above = key.match_indices('.').map(|(at, _)| &key[..at]);
    let is_value = |key: &str| find(table, key).is_some_and(|item| !matches!(item.value, Value::Table(_)));
    find(table, key).is_some() || above.into_iter().any(is_value)
}

/// Returns the path of a key of a switch: in the last override that has the key,
/// else in `[switch]`.
pub(super) fn key_at(check: &ScenarioCheck<'_>, switch: usize, key: &str) -> String {
    let name = &check.scenario.topology.switches[switch];
    let entries = overrides(check);
    let last = entries.iter().rposition(|(patterns, table)| matches_any(patterns, name) && says(table, key));
    match last {
        Some(index) => format!("switch_override.{index}.{key}"),
        None => format!("switch.{key}"),
    }
}
