//! Arista EOS: running configuration with `platform trident mmu`, `qos profile`, `qos map`,
//! `priority-flow-control` and interfaces.
//!
//! Source: Arista EOS user manual, "Quality of Service" and "Priority Flow Control", and the
//! templates of Arista AVD for `platform trident mmu`. Thresholds are alphas (`1/8`). Bandwidths
//! and shapers are in percent or kb/s, times of the watchdog in seconds.

use super::{Import, exponent, speed};
use crate::place::Weight;
use crate::raw::RawEntry;
// Every MMU profile limits this pool. EOS has no statement for the pool's size.
use crate::resolve::LOSSLESS_POOL as POOL;
use std::collections::{BTreeMap, BTreeSet};

const EGRESS_POOL: &str = "egress_lossy_pool";

pub(super) fn detect(text: &str) -> bool {
    const MARKS: [&str; 5] =
        ["platform trident mmu ", "qos profile ", "qos map ", "priority-flow-control ", "interface Ethernet"];
    text.lines().any(|line| MARKS.iter().any(|mark| line.trim_start().starts_with(mark)))
}

/// Block of the configuration that a line belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Block {
    None,
    Mmu(String),
    Qos(String),
    Interface(Vec<String>),
    /// The block of the configuration is not about buffers.
    Other,
}

/// Settings of a `qos profile` block or of interfaces in the EOS configuration.
#[derive(Clone, Debug, Default)]
struct Qos {
    priorities: BTreeSet<u8>,
    pauses: bool,
    line: u32,
    /// Scheduler fields and marking fields, by number of the queue.
    schedulers: BTreeMap<u8, BTreeMap<&'static str, String>>,
    marking: BTreeMap<u8, BTreeMap<&'static str, String>>,
}

#[derive(Default)]
struct File {
    profiles: BTreeMap<String, Qos>,
    own: BTreeMap<String, Qos>,
    /// Names of the QoS profile and of the MMU profile, by port.
    services: BTreeMap<String, String>,
    memories: BTreeMap<String, String>,
    /// Name of the MMU profile that applies to all ports.
    applied: Option<String>,
    /// Queues that have a threshold, by MMU profile.
    queues: BTreeMap<String, BTreeSet<u8>>,
    watchdog: BTreeMap<&'static str, String>,
    maps: BTreeSet<&'static str>,
}

pub(super) fn read(import: &mut Import<'_>, text: &str) {
    let (mut file, mut block, mut queue) = (File::default(), Block::None, None);
    for (line, content) in (1..).zip(text.lines()) {
        import.line = line;
        let words: Vec<&str> = content.split_whitespace().collect();
        let indent = content.len() - content.trim_start().len();
        if words.is_empty() || words[0].starts_with('!') {
            continue;
        }
        if indent == 0 {
            (block, queue) = (Block::None, None);
        }
        let is_read = match words[..] {
            ["platform", "trident", "mmu", "queue", "profile", name, "apply"] => {
                file.applied = Some(name.to_owned());
                true
            }
            ["platform", "trident", "mmu", "queue", "profile", name] => {
                block = Block::Mmu(name.to_owned());
                true
            }
            ["platform", "trident", "mmu", "headroom-pool", "limit", unit, number] => {
                size(import, content, unit, number).is_none_or(|bytes| {
                    import.set("BUFFER_POOL", POOL, "xoff", bytes);
                    true
                })
            }
            ["qos", "profile", name] => {
                block = Block::Qos(name.to_owned());
                true
            }
            ["interface", ref names @ ..] => {
                block = Block::Interface(import.ports(&names.concat()));
                true
            }
            ["qos", "map", ref rest @ ..] => map(import, rest, &mut file),
            ["priority-flow-control", "pause", "watchdog", ref rest @ ..] if block == Block::None => {
                watchdog(rest, &mut file)
            }
            _ if indent == 0 => {
                block = Block::Other;
                true
            }
            _ => inside(import, &words, &block, &mut queue, &mut file),
        };
        if !is_read {
            import.not_understood(content);
        }
    }
    finish(import, &file);
}

/// Reads a line of a configuration block; returns false if the line has no counterpart in SONiC.
fn inside(
    import: &mut Import<'_>,
    words: &[&str],
    block: &Block,
    queue: &mut Option<u8>,
    file: &mut File,
) -> bool {
    let line = import.line;
    match block {
        Block::None | Block::Other => true,
        Block::Mmu(name) => memory(import, words, name, file),
        Block::Qos(name) => {
            let qos = file.profiles.entry(name.clone()).or_default();
            qos.line = line;
            class(words, queue, qos)
        }
        Block::Interface(names) => {
            let mut all = true;
            for port in names {
                all = match *words {
                    ["speed", .., rate] => speed(rate).is_some_and(|rate| {
                        import.set("PORT", port, "speed", rate.to_string());
                        true
                    }),
                    ["mtu", mtu] => {
                        import.set("PORT", port, "mtu", mtu);
                        true
                    }
                    ["service-profile", name] => {
                        file.services.insert(port.clone(), name.to_owned());
                        true
                    }
                    ["mmu", "queue", "profile", name] => {
                        file.memories.insert(port.clone(), name.to_owned());
                        true
                    }
                    // The following statements do not change buffers or queues.
                    ["description" | "switchport" | "ip" | "ipv6" | "no" | "spanning-tree" | "dcbx", ..]
                    | ["qos", "trust", ..]
                    | ["channel-group", ..] => true,
                    _ => {
                        let qos = file.own.entry(port.clone()).or_default();
                        qos.line = line;
                        class(words, queue, qos)
                    }
                };
            }
            all
        }
    }
}

/// Returns a size in bytes. Sizes in cells need the size of a cell, which EOS does not state.
fn size(import: &mut Import<'_>, content: &str, unit: &str, number: &str) -> Option<String> {
    if unit == "bytes" && number.parse::<u64>().is_ok() {
        return Some(number.to_owned());
    }
    let message = "a number of cells; the configuration does not state the size of a cell";
    import.problem(Weight::Note, content, message, "it is left out: write the size in bytes");
    None
}

/// Reads a line of `platform trident mmu queue profile`.
fn memory(import: &mut Import<'_>, words: &[&str], name: &str, file: &mut File) -> bool {
    let content = words.join(" ");
    let group = format!("{name}_ingress");
    match *words {
        ["ingress", "threshold", alpha] => threshold(import, &content, &group, POOL, alpha),
        ["ingress", "priority-group", number, "threshold", alpha] => {
            threshold(import, &content, &format!("{group}_{number}"), POOL, alpha);
        }
        ["ingress", key @ ("reserved" | "headroom"), unit, number] => {
            if let Some(bytes) = size(import, &content, unit, number) {
                let field = if key == "reserved" { "size" } else { "xoff" };
                import.set("BUFFER_PROFILE", &group, field, bytes);
            }
        }
        ["egress", "unicast", "queue", number, "threshold", alpha] => {
            let Ok(queue) = number.parse::<u8>() else { return false };
            threshold(import, &content, &format!("{name}_queue_{queue}"), EGRESS_POOL, alpha);
            file.queues.entry(name.to_owned()).or_default().insert(queue);
        }
        ["egress", "unicast", "queue", number, "reserved", unit, bytes] => {
            let Ok(queue) = number.parse::<u8>() else { return false };
            if let Some(bytes) = size(import, &content, unit, bytes) {
                import.set("BUFFER_PROFILE", &format!("{name}_queue_{queue}"), "size", bytes);
            }
        }
        _ => return false,
    }
    true
}

fn threshold(import: &mut Import<'_>, content: &str, profile: &str, pool: &str, alpha: &str) {
    match exponent(alpha) {
        Some(exponent) => {
            import.set("BUFFER_PROFILE", profile, "pool", pool);
            import.set("BUFFER_PROFILE", profile, "dynamic_th", exponent.to_string());
        }
        None => import.refuse(content, "a power of two such as 1/8 or 4"),
    }
}

/// Reads a line of a QoS block that is about PFC or a queue.
fn class(words: &[&str], queue: &mut Option<u8>, qos: &mut Qos) -> bool {
    match *words {
        ["priority-flow-control", "on"] | ["priority-flow-control", "mode", "on"] => qos.pauses = true,
        ["priority-flow-control", "priority", number, "no-drop"] => match number.parse() {
            Ok(priority) if priority < 8 => {
                qos.priorities.insert(priority);
            }
            _ => return false,
        },
        ["uc-tx-queue" | "tx-queue", number] => *queue = number.parse().ok(),
        // Lines with `no` turn settings off, and `count` changes no threshold, so the reader
        // ignores them.
        ["no", ..] | ["random-detect", "ecn", "count"] => {}
        _ => {
            let Some(queue) = *queue else { return false };
            return of_queue(words, queue, qos);
        }
    }
    true
}

/// Reads a statement below the line `tx-queue` of a queue.
fn of_queue(words: &[&str], queue: u8, qos: &mut Qos) -> bool {
    let bytes_per_second =
        |rate: &str| rate.parse::<u64>().ok().map(|rate| rate.saturating_mul(125).to_string());
    match *words {
        ["priority", "strict"] => {
            qos.schedulers.entry(queue).or_default().insert("type", "STRICT".to_owned());
        }
        ["bandwidth", "percent", percent] => {
            let fields = qos.schedulers.entry(queue).or_default();
            fields.entry("type").or_insert_with(|| "DWRR".to_owned());
            fields.insert("weight", percent.to_owned());
        }
        ["bandwidth", "guaranteed", rate] => match bytes_per_second(rate) {
            Some(rate) => {
                let fields = qos.schedulers.entry(queue).or_default();
                fields.insert("meter_type", "bytes".to_owned());
                fields.insert("cir", rate);
            }
            None => return false,
        },
        ["shape", "rate", rate] | ["shape", "rate", rate, "kbps"] => match bytes_per_second(rate) {
            Some(rate) => {
                let fields = qos.schedulers.entry(queue).or_default();
                fields.insert("meter_type", "bytes".to_owned());
                fields.insert("pir", rate);
            }
            None => return false,
        },
        [
            "random-detect",
            "ecn",
            "minimum-threshold",
            min,
            min_unit,
            "maximum-threshold",
            max,
            max_unit,
            ref rest @ ..,
        ] => {
            let scaled = |number: &str, unit: &str| {
                let scale = match unit {
                    "bytes" => 1,
                    "kbytes" => 1_000,
                    "mbytes" => 1_000_000,
                    _ => return None,
                };
                number.parse::<u64>().ok()?.checked_mul(scale)
            };
            let (Some(min), Some(max)) = (scaled(min, min_unit), scaled(max, max_unit)) else { return false };
            let fields = qos.marking.entry(queue).or_default();
            fields.insert("min_threshold", min.to_string());
            fields.insert("max_threshold", max.to_string());
            let percent = match rest {
                ["max-mark-probability", percent, ..] => percent,
                _ => "100",
            };
            fields.insert("drop_probability", percent.to_owned());
        }
        _ => return false,
    }
    true
}

/// Reads `qos map dscp 24 26 to traffic-class 3`.
fn map(import: &mut Import<'_>, words: &[&str], file: &mut File) -> bool {
    let Some(at) = words.iter().position(|word| *word == "to") else { return false };
    let (from, to) = (&words[..at], &words[at + 1..]);
    let (table, field) = match (from.first(), to.first()) {
        (Some(&"dscp"), Some(&"traffic-class")) => ("DSCP_TO_TC_MAP", "dscp_to_tc_map"),
        (Some(&"cos"), Some(&"traffic-class")) => ("DOT1P_TO_TC_MAP", "dot1p_to_tc_map"),
        (Some(&"traffic-class"), Some(&("tx-queue" | "uc-tx-queue"))) => {
            ("TC_TO_QUEUE_MAP", "tc_to_queue_map")
        }
        _ => return false,
    };
    let Some(to) = to.get(1) else { return false };
    for value in &from[1..] {
        import.set(table, "eos", value, *to);
    }
    file.maps.insert(field);
    true
}

fn watchdog(words: &[&str], file: &mut File) -> bool {
    let milliseconds = |text: &str| {
        let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..1e6).contains(seconds))?;
        Some(format!("{:.0}", seconds * 1e3))
    };
    let (field, text) = match *words {
        ["default", "timeout", time] => ("detection_time", milliseconds(time)),
        ["default", "recovery-time", time] => ("restoration_time", milliseconds(time)),
        ["default", "polling-interval", time] => ("POLL_INTERVAL", milliseconds(time)),
        ["action", "drop"] => ("action", Some("drop".to_owned())),
        _ => return false,
    };
    let Some(text) = text else { return false };
    file.watchdog.insert(field, text);
    true
}

/// Applies QoS and MMU profiles to the ports that name these profiles.
fn finish(import: &mut Import<'_>, file: &File) {
    let mut all: BTreeSet<String> = file.services.keys().chain(file.own.keys()).cloned().collect();
    all.extend(file.memories.keys().cloned());
    if !file.queues.is_empty() || import.raw.tables.contains_key("BUFFER_PROFILE") {
        for (pool, side) in [(POOL, "ingress"), (EGRESS_POOL, "egress")] {
            import.set("BUFFER_POOL", pool, "type", side);
            import.set("BUFFER_POOL", pool, "mode", "dynamic");
        }
    }
    for port in &all {
        let profile = file.services.get(port);
        let shared = profile.and_then(|name| file.profiles.get(name));
        if let (Some(name), None) = (profile, shared) {
            import.refuse(&format!("{port} service-profile {name}"), "the name of a `qos profile`");
        }
        let own = file.own.get(port);
        for qos in own.into_iter().chain(shared) {
            import.line = qos.line;
            queues(import, port, qos);
        }
        // A statement of the port has priority over a statement of its profile.
        let memory = file.memories.get(port).or(file.applied.as_ref());
        let lossless = own.filter(|qos| !qos.priorities.is_empty()).or(shared);
        if let Some(qos) = lossless.filter(|qos| qos.pauses || own.is_some_and(|own| own.pauses)) {
            pauses(import, port, qos, memory, file);
        }
        for queue in memory.and_then(|name| file.queues.get(name)).into_iter().flatten() {
            let name = memory.map(String::as_str).unwrap_or_default();
            import.set(
                "BUFFER_QUEUE",
                &format!("{port}|{queue}"),
                "profile",
                format!("{name}_queue_{queue}"),
            );
        }
        for field in &file.maps {
            import.set("PORT_QOS_MAP", port, field, "eos");
        }
    }
    if let Some(poll) = file.watchdog.get("POLL_INTERVAL") {
        import.set("PFC_WD", "GLOBAL", "POLL_INTERVAL", poll.as_str());
    }
}

/// Copies the missing fields of a group's profile, such as the headroom, from the profile of all
/// groups. Returns false if the group has no profile.
fn inherit(profiles: &mut BTreeMap<String, RawEntry>, all: &str, own: &str) -> bool {
    let shared = profiles.get(all).map(|entry| entry.fields.clone()).unwrap_or_default();
    let Some(entry) = profiles.get_mut(own) else { return false };
    for (name, field) in shared {
        entry.fields.entry(name).or_insert(field);
    }
    true
}

fn pauses(import: &mut Import<'_>, port: &str, qos: &Qos, memory: Option<&String>, file: &File) {
    let list: Vec<_> = qos.priorities.iter().map(u8::to_string).collect();
    import.line = qos.line;
    import.set("PORT_QOS_MAP", port, "pfc_enable", list.join(","));
    for (field, text) in file.watchdog.iter().filter(|(field, _)| **field != "POLL_INTERVAL") {
        import.set("PFC_WD", port, field, text.as_str());
    }
    let Some(name) = memory else { return };
    let all = format!("{name}_ingress");
    for priority in &qos.priorities {
        let own = format!("{name}_ingress_{priority}");
        let known = import.raw.tables.get_mut("BUFFER_PROFILE");
        let has_own = known.is_some_and(|profiles| inherit(profiles, &all, &own));
        let profile = if has_own { own } else { all.clone() };
        import.set("BUFFER_PG", &format!("{port}|{priority}"), "profile", profile);
    }
}

/// Sets the schedulers and the marking of a port's queues.
fn queues(import: &mut Import<'_>, port: &str, qos: &Qos) {
    for (queue, fields) in &qos.schedulers {
        let values: Vec<_> = fields.values().map(String::as_str).collect();
        let name = format!("sched_{}", values.join("_"));
        for (field, text) in fields {
            import.set("SCHEDULER", &name, field, text.as_str());
        }
        import.set_default("QUEUE", &format!("{port}|{queue}"), "scheduler", name);
    }
    for (queue, fields) in &qos.marking {
        let values: Vec<_> = fields.values().map(String::as_str).collect();
        let name = format!("ecn_{}", values.join("_"));
        import.set("WRED_PROFILE", &name, "ecn", "ecn_all");
        for colour in ["green", "yellow", "red"] {
            import.set("WRED_PROFILE", &name, &format!("wred_{colour}_enable"), "true");
            for (field, text) in fields {
                import.set("WRED_PROFILE", &name, &format!("{colour}_{field}"), text.as_str());
            }
        }
        import.set_default("QUEUE", &format!("{port}|{queue}"), "wred_profile", name);
    }
}
