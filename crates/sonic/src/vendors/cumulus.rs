//! Cumulus Linux: `qos_features.conf`, `qos_infra.conf`, their predecessors `traffic.conf` and
//! `datapath.conf`, and `ports.conf`.
//!
//! Source: Cumulus Linux User Guide, "Quality of Service" (5.x) and "Buffer and Queue Management"
//! (4.x). A PFC buffer has `port_buffer_bytes`. PFC begins at `xoff_size` and ends `xon_delta`
//! below `xoff_size`, so the headroom is the buffer above `xoff_size`. Rates are in kb/s; a
//! bandwidth of 0 % is strict priority. Priorities map to the queues of their numbers unless
//! `cos_egr_queue` changes a queue.

use super::{Import, speed};
use crate::place::Weight;
use crate::raw::RawField;
use crate::resolve::LOSSLESS_POOL;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// First components of the keys in Cumulus' configuration files.
const ROOTS: [&str; 19] = [
    "cos_egr_queue",
    "default_ecn_conf",
    "default_ecn_red_conf",
    "default_egress_sched",
    "ecn",
    "ecn_red",
    "egress_sched",
    "egress_service_pool",
    "flow_control",
    "ingress_service_pool",
    "link_pause",
    "pfc",
    "port",
    "priority_group",
    "remark",
    "scheduling",
    "shaping",
    "source",
    "traffic",
];

/// Prefix of the names of lossless profiles; the name of the port group follows.
pub(super) const PFC_PROFILE: &str = "pfc_";

type Settings = BTreeMap<String, (u32, String)>;

/// Returns key and value of a configuration line without its comment.
fn pair(line: &str) -> Option<(&str, &str)> {
    let line = line.split('#').next().unwrap_or_default();
    let (key, value) = line.split_once('=')?;
    Some((key.trim(), value.trim()))
}

/// Returns the number of a port in `ports.conf` and its speed, as in `1=100G` and `2=4x25G`.
fn port_speed(key: &str, value: &str) -> Option<(u64, u64, u64)> {
    let number = key.parse().ok()?;
    let (parts, rate) = value.split_once('x').unwrap_or(("1", value));
    Some((number, parts.parse().ok().filter(|parts| *parts <= 8)?, speed(rate)?))
}

pub(super) fn detect(text: &str) -> bool {
    let mut pairs = text.lines().filter(|line| !line.trim_start().starts_with('#')).filter_map(pair);
    pairs.any(|(key, value)| {
        let root = key.split('.').next().unwrap_or_default();
        (key.contains('.') && ROOTS.contains(&root)) || port_speed(key, value).is_some()
    })
}

/// Splits the text of a list, `[a, b]` or `a,b`, into its items.
fn list(text: &str) -> Vec<&str> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    inner.split(',').map(str::trim).filter(|item| !item.is_empty()).collect()
}

fn numbers(text: &str) -> Vec<u8> {
    list(text).into_iter().filter_map(|item| item.parse().ok()).filter(|number| *number < 64).collect()
}

/// Settings of Cumulus' configuration files, and the keys that the reader has used.
struct File<'i, 'a> {
    import: &'i mut Import<'a>,
    settings: Settings,
    read: BTreeSet<String>,
    /// Ports that at least one setting or file names; `allports` is the only port if no port is
    /// named.
    all: Vec<String>,
}

impl File<'_, '_> {
    /// Takes the value of the setting `key`. Later problems and values have the line of this
    /// setting.
    fn take(&mut self, key: &str) -> Option<String> {
        let (line, text) = self.settings.get(key)?.clone();
        self.import.line = line;
        self.read.insert(key.to_owned());
        Some(text)
    }

    fn number(&mut self, key: &str) -> Option<u64> {
        let text = self.take(key)?;
        let number = text.parse::<f64>().ok().filter(|number| (0.0..1e12).contains(number));
        if number.is_none() {
            self.import.refuse(&format!("{key} = {text}"), "a number from 0");
        }
        number.map(|number| number.round() as u64)
    }

    fn truth(&mut self, key: &str, default: bool) -> bool {
        self.take(key).map_or(default, |text| text.eq_ignore_ascii_case("true") || text == "1")
    }

    /// Returns the names of the port groups of a feature.
    fn groups(&mut self, feature: &str) -> Vec<String> {
        let names = self.take(&format!("{feature}.port_group_list")).unwrap_or_default();
        list(&names).into_iter().map(str::to_owned).collect()
    }

    fn port_set(&mut self, group: &str) -> Vec<String> {
        match self.take(&format!("{group}.port_set")) {
            Some(text) if text == "allports" => self.import.counted(self.all.clone()),
            Some(text) => self.import.ports(&text),
            None => {
                let message = "the port group has no port_set";
                self.import.problem(Weight::Refused, group, message, "name its ports; it is left out");
                Vec::new()
            }
        }
    }
}

pub(super) fn read(import: &mut Import<'_>, text: &str) {
    let mut settings = Settings::new();
    let mut all: BTreeSet<String> = BTreeSet::new();
    for (line, content) in (1..).zip(text.lines()) {
        import.line = line;
        match pair(content) {
            Some((key, value)) => {
                if let Some((port, parts, rate)) = port_speed(key, value) {
                    for part in 0..parts {
                        let sub = if parts > 1 { format!("s{part}") } else { String::new() };
                        import.set("PORT", &format!("swp{port}{sub}"), "speed", rate.to_string());
                    }
                } else {
                    if key.ends_with(".port_set") && value != "allports" {
                        all.extend(import.ports(value));
                    }
                    // The last value of a key counts, as in Cumulus' daemon switchd.
                    settings.insert(key.to_owned(), (line, value.to_owned()));
                }
            }
            None if content.split('#').next().is_some_and(|text| !text.trim().is_empty()) => {
                import.not_understood(content);
            }
            None => {}
        }
    }
    if let Some(known) = import.raw.tables.get("PORT") {
        all.extend(known.keys().filter(|port| port.starts_with("swp")).cloned());
    }
    let all = if all.is_empty() { vec!["allports".to_owned()] } else { all.into_iter().collect() };
    let mut file = File { import, settings, read: BTreeSet::new(), all };
    pools(&mut file);
    for group in file.groups("pfc") {
        pfc(&mut file, &format!("pfc.{group}"), &group);
    }
    marking(&mut file);
    scheduling(&mut file);
    classes(&mut file);
    rest(file);
}

/// Records the settings that the reader did not use.
fn rest(file: File<'_, '_>) {
    let File { import, settings, read, .. } = file;
    for (key, (line, value)) in settings.into_iter().filter(|(key, _)| !read.contains(key)) {
        import.line = line;
        import.not_understood(&format!("{key} = {value}"));
    }
}

/// Returns the exponent of an alpha such as `ALPHA_8` or `ALPHA_1_2`; infinity is the largest
/// exponent.
fn quota(text: &str) -> Option<String> {
    let name = text.strip_prefix("ALPHA_")?;
    if name == "INFINITY" {
        return Some("8".to_owned());
    }
    super::exponent(&name.replace('_', "/")).map(|exponent| exponent.to_string())
}

fn pools(file: &mut File<'_, '_>) {
    let lossless =
        file.take("flow_control.ingress_service_pool").or_else(|| file.take("flow_control.service_pool"));
    if let Some(alpha) = file.take("flow_control.ingress_buffer.dynamic_quota").and_then(|text| quota(&text))
    {
        let (line, from) = (file.import.line, Arc::clone(file.import.file));
        file.import.raw.lossless_alpha = Some(RawField { text: alpha, line, file: from });
    }
    for side in ["ingress", "egress"] {
        for number in 0..4 {
            let root = format!("{side}_service_pool.{number}");
            let Some(percent) = file.number(&format!("{root}.percent")) else { continue };
            let is_lossless = side == "ingress" && lossless.as_deref() == Some(&number.to_string());
            let name = if is_lossless { LOSSLESS_POOL.to_owned() } else { format!("{side}_pool{number}") };
            file.import.set("BUFFER_POOL", &name, "type", side);
            file.import.set("BUFFER_POOL", &name, "percentage", percent.to_string());
            let fixed = file.take(&format!("{root}.mode")).is_some_and(|mode| mode == "0");
            file.import.set("BUFFER_POOL", &name, "mode", if fixed { "static" } else { "dynamic" });
            let profile = format!("port_{name}");
            let key = format!("port.service_pool.{number}.{side}_buffer.");
            let quota_key = if side == "egress" {
                format!("{key}uc.dynamic_quota")
            } else {
                format!("{key}dynamic_quota")
            };
            let Some(exponent) = file.take(&quota_key).and_then(|text| quota(&text)) else { continue };
            file.import.set("BUFFER_PROFILE", &profile, "pool", name);
            file.import.set("BUFFER_PROFILE", &profile, "size", "0");
            file.import.set("BUFFER_PROFILE", &profile, "dynamic_th", exponent);
            let table = format!("BUFFER_PORT_{}_PROFILE_LIST", side.to_uppercase());
            for port in file.all.clone() {
                file.import.set(&table, &port, "profile_list", profile.clone());
            }
        }
    }
}

/// Reads a group of ports with PFC.
fn pfc(file: &mut File<'_, '_>, root: &str, name: &str) {
    let set = file.port_set(root);
    let priorities = file.take(&format!("{root}.cos_list")).map(|text| numbers(&text)).unwrap_or_default();
    if priorities.is_empty() {
        let message = "the port group has no priorities";
        file.import.problem(Weight::Note, root, message, "PFC has no effect until cos_list names some");
    }
    let profile = format!("{PFC_PROFILE}{name}");
    let (buffer, xoff) =
        (file.number(&format!("{root}.port_buffer_bytes")), file.number(&format!("{root}.xoff_size")));
    let delta = file.number(&format!("{root}.xon_delta"));
    if let (Some(buffer), Some(xoff)) = (buffer, xoff) {
        if xoff > buffer {
            let message = format!("PFC begins at {xoff} B in a buffer of {buffer} B");
            file.import.problem(
                Weight::Refused,
                root,
                message,
                "xoff_size must leave headroom in the buffer",
            );
        }
        file.import.set("BUFFER_PROFILE", &profile, "size", buffer.to_string());
        file.import.set("BUFFER_PROFILE", &profile, "xoff", buffer.saturating_sub(xoff).to_string());
        file.import.set(
            "BUFFER_PROFILE",
            &profile,
            "xon",
            xoff.saturating_sub(delta.unwrap_or(0)).to_string(),
        );
    }
    if buffer.is_some() && xoff.is_some() {
        file.import.set_each("BUFFER_PG", &set, &priorities, "profile", &profile);
    }
    if priorities.len() > 1 {
        let message = "Cumulus has one lossless group per port, which these priorities share";
        file.import.problem(Weight::Note, root, message, "each is read as a group with the whole buffer");
    }
    let sends = file.truth(&format!("{root}.tx_enable"), true);
    let obeys = file.truth(&format!("{root}.rx_enable"), true);
    if !obeys {
        let message = "the ports send pauses and obey none";
        file.import.problem(
            Weight::Note,
            root,
            message,
            "a pause of the neighbour is lost: set rx_enable if it sends some",
        );
    }
    let text: Vec<_> = priorities.iter().map(u8::to_string).collect();
    let metres = file.take(&format!("{root}.cable_length"));
    for port in set {
        if sends && !text.is_empty() {
            file.import.set("PORT_QOS_MAP", &port, "pfc_enable", text.join(","));
        }
        if let Some(metres) = &metres {
            file.import.set("CABLE_LENGTH", "AZURE", &port, format!("{metres}m"));
        }
    }
}

fn marking(file: &mut File<'_, '_>) {
    let mut all = vec![];
    for (feature, default) in [("ecn_red", "default_ecn_red_conf"), ("ecn", "default_ecn_conf")] {
        for group in file.groups(feature) {
            let root = format!("{feature}.{group}");
            let set = file.port_set(&root);
            all.push((root, group, set));
        }
        let set = file.all.clone();
        all.push((default.to_owned(), default.to_owned(), set));
    }
    for (root, name, set) in all {
        let queues = file
            .take(&format!("{root}.egress_queue_list"))
            .or_else(|| file.take(&format!("{root}.cos_list")));
        let Some(queues) = queues.map(|text| numbers(&text)) else { continue };
        let min = file.number(&format!("{root}.min_threshold_bytes"));
        let max = file.number(&format!("{root}.max_threshold_bytes"));
        let percent = file.number(&format!("{root}.probability"));
        let marks = file.truth(&format!("{root}.ecn_enable"), true);
        let drops = file.truth(&format!("{root}.red_enable"), false);
        let import = &mut *file.import;
        import.set("WRED_PROFILE", &name, "ecn", if marks { "ecn_all" } else { "ecn_none" });
        for colour in ["green", "yellow", "red"] {
            let on = if marks || drops { "true" } else { "false" };
            import.set("WRED_PROFILE", &name, &format!("wred_{colour}_enable"), on);
            let fields = [("min_threshold", min), ("max_threshold", max), ("drop_probability", percent)];
            for (field, value) in fields {
                if let Some(value) = value {
                    import.set("WRED_PROFILE", &name, &format!("{colour}_{field}"), value.to_string());
                }
            }
        }
        if marks && !drops {
            let message = "packets that cannot be marked are not dropped (red_enable is false)";
            import.problem(
                Weight::Note,
                &root,
                message,
                "the marking profile of SONiC drops them; ECN-capable traffic is equal",
            );
        }
        for (port, queue) in set.iter().flat_map(|port| queues.iter().map(move |queue| (port, queue))) {
            import.set_default("QUEUE", &format!("{port}|{queue}"), "wred_profile", name.as_str());
        }
    }
}

/// Reads the bandwidths and shapers of egress queues.
fn scheduling(file: &mut File<'_, '_>) {
    // Settings of a queue by the name of their field, each with its line.
    type Settings = BTreeMap<&'static str, (u32, String)>;
    let mut queues: BTreeMap<(String, u8), Settings> = BTreeMap::new();
    let mut roots = Vec::new();
    for feature in ["egress_sched", "shaping"] {
        for group in file.groups(feature) {
            let root = format!("{feature}.{group}");
            let set = file.port_set(&root);
            roots.push((root, set));
        }
    }
    let set = file.all.clone();
    roots.push(("default_egress_sched".to_owned(), set));
    for (root, set) in roots {
        for queue in 0..8 {
            let mut found: Vec<(&'static str, String)> = Vec::new();
            if let Some(percent) = file.number(&format!("{root}.egr_queue_{queue}.bw_percent")) {
                found.push(("type", if percent == 0 { "STRICT" } else { "DWRR" }.to_owned()));
                if percent > 0 {
                    found.push(("weight", percent.to_string()));
                }
            }
            if let Some(text) = file.take(&format!("{root}.egr_queue_{queue}.shaper")) {
                let rates: Vec<u64> = list(&text).into_iter().filter_map(|rate| rate.parse().ok()).collect();
                if let [least, most] = rates[..] {
                    found.push(("meter_type", "bytes".to_owned()));
                    found.push(("cir", bytes_per_second(least)));
                    found.push(("pir", bytes_per_second(most)));
                } else {
                    file.import.refuse(&text, "[min, max] in kb/s");
                }
            }
            let line = file.import.line;
            for port in &set {
                let fields = queues.entry((port.clone(), queue)).or_default();
                // The setting of a port group has precedence over the default of all ports.
                found.iter().for_each(|(field, text)| {
                    fields.entry(field).or_insert_with(|| (line, text.clone()));
                });
            }
        }
        if let Some(rate) = file.number(&format!("{root}.port.shaper")) {
            let name = format!("port_{rate}kbps");
            file.import.set("SCHEDULER", &name, "meter_type", "bytes");
            file.import.set("SCHEDULER", &name, "pir", bytes_per_second(rate));
            for port in &set {
                file.import.set_default("PORT_QOS_MAP", port, "scheduler", name.clone());
            }
        }
    }
    for ((port, queue), fields) in queues.into_iter().filter(|(_, fields)| !fields.is_empty()) {
        let values: Vec<_> = fields.values().map(|(_, text)| text.as_str()).collect();
        let name = format!("sched_{}", values.join("_"));
        for (field, (line, text)) in &fields {
            file.import.line = *line;
            file.import.set("SCHEDULER", &name, field, text.clone());
        }
        file.import.set("QUEUE", &format!("{port}|{queue}"), "scheduler", name);
    }
}

fn bytes_per_second(kilobits: u64) -> String {
    kilobits.saturating_mul(125).to_string()
}

/// Reads the maps from packets to priorities and queues.
fn classes(file: &mut File<'_, '_>) {
    let mut found = BTreeSet::new();
    for class in 0..8 {
        for (source, table) in [("dscp", "DSCP_TO_TC_MAP"), ("8021p", "DOT1P_TO_TC_MAP")] {
            let Some(text) = file.take(&format!("traffic.cos_{class}.priority_source.{source}")) else {
                continue;
            };
            for value in numbers(&text) {
                file.import.set(table, "cumulus", &value.to_string(), class.to_string());
            }
            found.insert(table);
        }
        if let Some(queue) = file.number(&format!("cos_egr_queue.cos_{class}.uc")) {
            file.import.set("TC_TO_QUEUE_MAP", "cumulus", &class.to_string(), queue.to_string());
            found.insert("TC_TO_QUEUE_MAP");
        }
    }
    for class in 0..8 {
        let is_set = file.settings.contains_key(&format!("cos_egr_queue.cos_{class}.uc"));
        if found.contains("TC_TO_QUEUE_MAP") && !is_set {
            file.import.set("TC_TO_QUEUE_MAP", "cumulus", &class.to_string(), class.to_string());
        }
    }
    let fields = [
        ("DSCP_TO_TC_MAP", "dscp_to_tc_map"),
        ("DOT1P_TO_TC_MAP", "dot1p_to_tc_map"),
        ("TC_TO_QUEUE_MAP", "tc_to_queue_map"),
    ];
    let _ = file.take("traffic.packet_priority_source_set");
    for (_, field) in fields.into_iter().filter(|(table, _)| found.contains(table)) {
        for port in file.all.clone() {
            file.import.set("PORT_QOS_MAP", &port, field, "cumulus");
        }
    }
}
