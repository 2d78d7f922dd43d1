//! Junos: class of service as `set` commands or in braces, and the output of
//! `show class-of-service shared-buffer`.
//!
//! Source: Juniper CLI reference (buffer-partition, buffer-dynamic-threshold,
//! congestion-notification-profile) and "QFX5K-Series Switches Packet Buffer Architecture". A
//! threshold n from 0 to 10 means alpha = 2^(n - 7). The partitions of ingress, and those of
//! egress, add up to 100 %; otherwise the commit fails. The switch computes the headroom of
//! lossless priorities from cable and MRU.

use super::{Import, speed};
use crate::place::Weight;
use std::collections::BTreeMap;

/// Nesting depth of the deepest statement that the reader accepts.
const DEPTH_MAX: usize = 32;
/// Difference between a Junos dynamic threshold and the binary exponent of alpha.
const EXPONENT_OF_ONE: i64 = 7;

pub(super) fn detect(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        line.starts_with("set class-of-service ")
            || line.starts_with("class-of-service {")
            || line == "shared-buffer {"
            || line.starts_with("Lossless Headroom ")
    })
}

/// A Junos statement: number of its line, and its words.
type Statement = (u32, Vec<String>);

/// Returns the Junos statements of a text; each statement begins with the words of the enclosing
/// blocks.
fn statements(import: &mut Import<'_>, text: &str) -> Vec<Statement> {
    let (mut found, mut open, mut words) = (Vec::new(), Vec::<usize>::new(), Vec::<String>::new());
    let mut path: Vec<String> = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        import.line = line;
        let content = content.split('#').next().unwrap_or_default().trim();
        if let Some(command) = content.strip_prefix("set ") {
            found.push((
                line,
                command.replace(['[', ']'], " ").split_whitespace().map(str::to_owned).collect(),
            ));
            continue;
        }
        let spaced =
            content.replace('{', " { ").replace('}', " } ").replace(';', " ; ").replace(['[', ']'], " ");
        for word in spaced.split_whitespace() {
            match word {
                "{" => {
                    open.push(words.len());
                    path.append(&mut words);
                }
                "}" => {
                    let length = path.len() - open.pop().unwrap_or(0).min(path.len());
                    path.truncate(length);
                }
                ";" if path.len() + words.len() <= DEPTH_MAX => {
                    found.push((line, path.iter().cloned().chain(words.drain(..)).collect()));
                }
                ";" => words.clear(),
                word => words.push(word.to_owned()),
            }
        }
        if !content.ends_with(['{', '}', ';']) && open.is_empty() {
            words.clear();
        }
    }
    found
}

/// Junos settings to which other statements refer.
#[derive(Default)]
struct Classes {
    /// Queue of each forwarding class, and whether the forwarding class is lossless.
    queues: BTreeMap<String, (u8, bool)>,
    /// Forwarding class and scheduler of each scheduler map.
    maps: BTreeMap<String, Vec<(String, String)>>,
    /// Dynamic threshold of each scheduler.
    thresholds: BTreeMap<String, String>,
    /// Priorities and cable (metres) of each congestion notification profile.
    pauses: BTreeMap<String, (Vec<u8>, Option<String>)>,
    /// Statements about interfaces: line, interface, keyword and name.
    interfaces: Vec<(u32, String, String, String)>,
    /// DSCP values of each classifier, with forwarding class and line.
    classifiers: BTreeMap<String, Vec<(u32, String, String)>>,
    /// Percentages of the buffer partitions, by side (ingress or egress).
    partitions: BTreeMap<&'static str, BTreeMap<String, (u32, u64)>>,
    /// Share of the packet memory that is shared, by side (percent).
    shared: BTreeMap<&'static str, u64>,
    /// Thresholds of buffer partitions, by side and partition.
    limits: BTreeMap<(&'static str, String), String>,
}

pub(super) fn read(import: &mut Import<'_>, text: &str) {
    if text.lines().any(|line| line.trim_start().starts_with("Lossless Headroom ")) {
        shown(import, text);
        return;
    }
    let mut classes = Classes::default();
    // Every QFX switch has these forwarding classes, until statements replace them.
    for (name, queue, no_loss) in
        [("best-effort", 0, false), ("fcoe", 3, true), ("no-loss", 4, true), ("network-control", 7, false)]
    {
        classes.queues.insert(name.to_owned(), (queue, no_loss));
    }
    for (line, words) in statements(import, text) {
        import.line = line;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let is_read = match words[..] {
            ["class-of-service", ref rest @ ..] => statement(import, rest, &mut classes),
            ["interfaces", port, "speed", rate] => {
                let rate = speed(rate);
                rate.is_some_and(|rate| {
                    import.set("PORT", port, "speed", rate.to_string());
                    true
                })
            }
            // The other statements of a Junos configuration are not about buffers.
            _ if words.first().is_some_and(|word| *word != "shared-buffer" && *word != "schedulers") => true,
            _ => statement(import, &words, &mut classes),
        };
        if !is_read {
            import.not_understood(&words.join(" "));
        }
    }
    let schedulers = import.raw.tables.get("SCHEDULER").into_iter().flat_map(BTreeMap::keys);
    for name in schedulers.cloned().collect::<Vec<_>>() {
        import.set_default("SCHEDULER", &name, "type", "DWRR");
    }
    partitions(import, &classes);
    interfaces(import, &classes);
}

fn side(word: &str) -> Option<&'static str> {
    match word {
        "ingress" => Some("ingress"),
        "egress" => Some("egress"),
        _ => None,
    }
}

/// Reads a statement below `class-of-service`; returns false if the statement has no counterpart in
/// SONiC.
fn statement(import: &mut Import<'_>, words: &[&str], classes: &mut Classes) -> bool {
    let line = import.line;
    match *words {
        ["shared-buffer", way, "percent", percent] => {
            let (Some(way), Ok(percent)) = (side(way), percent.parse()) else { return false };
            classes.shared.insert(way, percent);
        }
        ["shared-buffer", way, "buffer-partition", part, key, value] => {
            let (Some(way), Ok(number)) = (side(way), value.parse::<u64>()) else { return false };
            match key {
                "percent" => {
                    classes.partitions.entry(way).or_default().insert(part.to_owned(), (line, number));
                }
                "dynamic-threshold" => {
                    let Some(exponent) = exponent(import, words, number) else { return true };
                    classes.limits.insert((way, part.to_owned()), exponent);
                }
                _ => return false,
            }
        }
        ["forwarding-classes", "class", name, "queue-num", queue, ref loss @ ..] => {
            let Ok(queue) = queue.parse() else { return false };
            classes.queues.insert(name.to_owned(), (queue, loss.contains(&"no-loss")));
        }
        ["schedulers", name, ref rest @ ..] => return scheduler(import, name, rest, classes),
        ["scheduler-maps", map, "forwarding-class", class, "scheduler", scheduler] => {
            classes.maps.entry(map.to_owned()).or_default().push((class.to_owned(), scheduler.to_owned()));
        }
        ["congestion-notification-profile", name, "input", "ieee-802.1", "code-point", bits, "pfc", ..] => {
            let Ok(priority) = u8::from_str_radix(bits, 2) else { return false };
            classes.pauses.entry(name.to_owned()).or_default().0.push(priority);
        }
        ["congestion-notification-profile", name, "input", "cable-length", metres] => {
            classes.pauses.entry(name.to_owned()).or_default().1 = Some(metres.to_owned());
        }
        [
            "classifiers",
            "dscp",
            name,
            "forwarding-class",
            class,
            "loss-priority",
            _,
            "code-points",
            ref points @ ..,
        ] => {
            let all = classes.classifiers.entry(name.to_owned()).or_default();
            all.extend(points.iter().map(|bits| (line, class.to_owned(), (*bits).to_owned())));
        }
        ["interfaces", port, key @ ("scheduler-map" | "congestion-notification-profile"), name] => {
            classes.interfaces.push((line, port.to_owned(), key.to_owned(), name.to_owned()));
        }
        ["interfaces", port, "unit", _, "classifiers", "dscp", name]
        | ["interfaces", port, "classifiers", "dscp", name] => {
            classes.interfaces.push((line, port.to_owned(), "dscp".to_owned(), name.to_owned()));
        }
        _ => return false,
    }
    true
}

/// Returns the exponent of alpha that a Junos threshold means.
fn exponent(import: &mut Import<'_>, words: &[&str], threshold: u64) -> Option<String> {
    if threshold > 10 {
        import.refuse(&words.join(" "), "a threshold from 0 to 10");
        return None;
    }
    i64::try_from(threshold).ok().map(|threshold| (threshold - EXPONENT_OF_ONE).to_string())
}

fn scheduler(import: &mut Import<'_>, name: &str, words: &[&str], classes: &mut Classes) -> bool {
    match *words {
        ["transmit-rate", "percent", percent] => {
            import.set("SCHEDULER", name, "weight", percent);
        }
        ["priority", "strict-high"] => import.set("SCHEDULER", name, "type", "STRICT"),
        ["priority", "low"] => {}
        ["shaping-rate", rate] => {
            let Some(rate) = bits(rate) else { return false };
            import.set("SCHEDULER", name, "meter_type", "bytes");
            import.set("SCHEDULER", name, "pir", (rate / 8).to_string());
        }
        ["buffer-dynamic-threshold", threshold] => {
            let Ok(threshold) = threshold.parse() else { return false };
            if let Some(exponent) = exponent(import, words, threshold) {
                classes.thresholds.insert(name.to_owned(), exponent);
            }
        }
        _ => return false,
    }
    true
}

/// Parses a rate such as `10g` or `500m` to bits per second.
fn bits(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

/// Sets the pools of the buffer partitions. Partitions without a statement have no size.
fn partitions(import: &mut Import<'_>, classes: &Classes) {
    for (way, parts) in &classes.partitions {
        let total: u64 = parts.values().map(|(_, percent)| *percent).fold(0, u64::saturating_add);
        if let Some((line, _)) = parts.values().next_back() {
            import.line = *line;
        }
        if total != 100 {
            let message = format!("the partitions add up to {total} %, not to 100 %");
            let help = "Junos refuses the commit: correct the percentages";
            import.problem(Weight::Refused, &format!("shared-buffer {way}"), message, help);
        }
        let shared = classes.shared.get(way).copied().unwrap_or(100).min(100);
        for (part, (line, percent)) in parts {
            import.line = *line;
            if part == "lossless-headroom" {
                let message =
                    format!("{percent} % of the shared memory is headroom; its bytes depend on the chip");
                let help = "add the output of `show class-of-service shared-buffer`";
                import.problem(Weight::Note, "shared-buffer ingress lossless-headroom", message, help);
                continue;
            }
            let of_memory = shared.saturating_mul(*percent) / 100;
            pool(import, way, part, "percentage", &of_memory.to_string());
        }
    }
    for ((way, part), exponent) in &classes.limits {
        limit(import, way, part, exponent);
    }
}

fn pool_name(way: &str, part: &str) -> String {
    format!("{way}_{part}_pool")
}

fn pool(import: &mut Import<'_>, way: &str, part: &str, field: &str, text: &str) {
    let name = pool_name(way, part);
    import.set("BUFFER_POOL", &name, "type", way);
    import.set("BUFFER_POOL", &name, "mode", "dynamic");
    import.set("BUFFER_POOL", &name, field, text);
}

/// Sets the buffer profile of a partition, and returns the profile's name.
fn limit(import: &mut Import<'_>, way: &str, part: &str, exponent: &str) -> String {
    let name = format!("{way}_{part}_profile");
    import.set("BUFFER_PROFILE", &name, "pool", pool_name(way, part));
    import.set("BUFFER_PROFILE", &name, "size", "0");
    import.set("BUFFER_PROFILE", &name, "dynamic_th", exponent);
    if way == "ingress" && part == "lossless" {
        import.set("BUFFER_PROFILE", &name, "headroom_type", "dynamic");
    }
    name
}

/// Sets queues, pauses and QoS maps of the interfaces.
fn interfaces(import: &mut Import<'_>, classes: &Classes) {
    for (line, port, key, name) in &classes.interfaces {
        import.line = *line;
        match key.as_str() {
            "scheduler-map" => scheduled(import, port, name, classes),
            "congestion-notification-profile" => {
                let Some((priorities, metres)) = classes.pauses.get(name) else {
                    import.refuse(&format!("{port} {key} {name}"), "the name of a profile with statements");
                    continue;
                };
                let list: Vec<_> = priorities.iter().map(u8::to_string).collect();
                import.set("PORT_QOS_MAP", port, "pfc_enable", list.join(","));
                if let Some(metres) = metres {
                    import.set("CABLE_LENGTH", "AZURE", port, format!("{metres}m"));
                }
                let key = ("ingress", "lossless".to_owned());
                let exponent = classes.limits.get(&key).map_or("0", String::as_str);
                let profile = limit(import, "ingress", "lossless", exponent);
                import.set_each("BUFFER_PG", std::slice::from_ref(port), priorities, "profile", &profile);
            }
            _ => {
                import.set("PORT_QOS_MAP", port, "dscp_to_tc_map", name.as_str());
            }
        }
    }
    for (name, points) in &classes.classifiers {
        for (line, class, bits) in points {
            import.line = *line;
            match (u8::from_str_radix(bits, 2), classes.queues.get(class)) {
                // The queue of a forwarding class is its traffic class.
                (Ok(dscp), Some((queue, _))) => {
                    import.set("DSCP_TO_TC_MAP", name, &dscp.to_string(), queue.to_string());
                }
                _ => import.not_understood(&format!("classifiers dscp {name} {class} {bits}")),
            }
        }
    }
}

fn scheduled(import: &mut Import<'_>, port: &str, map: &str, classes: &Classes) {
    let Some(entries) = classes.maps.get(map) else {
        import.refuse(&format!("{port} scheduler-map {map}"), "the name of a map with statements");
        return;
    };
    for (class, scheduler) in entries {
        let Some((queue, no_loss)) = classes.queues.get(class) else {
            import.refuse(&format!("forwarding-class {class}"), "a class with a queue");
            continue;
        };
        let key = format!("{port}|{queue}");
        import.set("QUEUE", &key, "scheduler", scheduler.as_str());
        let part = if *no_loss { "lossless" } else { "lossy" };
        let shared = classes.limits.get(&("egress", part.to_owned()));
        // The threshold of a scheduler has priority over the threshold of the partition.
        if let Some(own) = classes.thresholds.get(scheduler) {
            let profile = format!("egress_{part}_{scheduler}");
            import.set("BUFFER_PROFILE", &profile, "pool", pool_name("egress", part));
            import.set("BUFFER_PROFILE", &profile, "size", "0");
            import.set("BUFFER_PROFILE", &profile, "dynamic_th", own.as_str());
            import.set("BUFFER_QUEUE", &key, "profile", profile);
        } else if let Some(exponent) = shared {
            let profile = limit(import, "egress", part, exponent);
            import.set("BUFFER_QUEUE", &key, "profile", profile);
        }
    }
}

/// Reads `show class-of-service shared-buffer`. A KB has 1,024 bytes.
fn shown(import: &mut Import<'_>, text: &str) {
    let mut way = "ingress";
    let mut sizes: BTreeMap<(&'static str, &'static str), (u32, u64)> = BTreeMap::new();
    for (line, content) in (1..).zip(text.lines()) {
        import.line = line;
        let content = content.trim();
        if let Some(named) = content.strip_suffix(':').and_then(|name| side(&name.to_lowercase())) {
            way = named;
            continue;
        }
        let Some((name, value)) = content.split_once(" :").map(|(name, value)| (name.trim(), value.trim()))
        else {
            continue;
        };
        if let Some(part) = name.strip_suffix(" dynamic threshold") {
            let threshold = value.parse().ok().filter(|threshold| *threshold <= 10);
            if let Some(threshold) = threshold.and_then(|number| exponent(import, &[name], number)) {
                limit(import, way, &part.to_lowercase(), &threshold);
            }
            continue;
        }
        let kilobytes = value.strip_suffix("KB").and_then(|number| number.trim().parse::<f64>().ok());
        let Some(bytes) =
            kilobytes.filter(|number| (0.0..1e9).contains(number)).map(|number| (number * 1024.0) as u64)
        else {
            continue;
        };
        let part = match name {
            "Total Buffer" => {
                if way == "ingress" {
                    import.set("BUFFER_MAX_PARAM_TABLE", "global", "mmu_size", bytes.to_string());
                }
                continue;
            }
            "Lossless" => "lossless",
            "Lossless Headroom" => "headroom",
            "Lossy" => "lossy",
            "Multicast" => "multicast",
            _ => continue,
        };
        sizes.entry((way, part)).or_insert((line, bytes));
    }
    for ((way, part), (line, bytes)) in &sizes {
        import.line = *line;
        let headroom =
            sizes.get(&(way, "headroom")).filter(|_| *part == "lossless").map_or(0, |(_, bytes)| *bytes);
        if *part == "headroom" {
            continue;
        }
        // In SONiC, the size of a pool includes the pool's headroom.
        pool(import, way, part, "size", &(bytes + headroom).to_string());
        if headroom > 0 {
            pool(import, way, part, "xoff", &headroom.to_string());
        }
    }
}
