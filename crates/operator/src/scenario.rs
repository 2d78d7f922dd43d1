//! Writes the scenario file of a configuration: ports and cables, buffer, and traffic.

use crate::OperatorError;
use crate::gather::gathered;
use crate::model::{GroupModel, Limit, Model, PRIORITIES};
use crate::qos::{Marking, not_simulated};
use crate::schedule::Schedule;
use crate::traffic::{Planned, Traffic};
use bufferlab_core::Accounting;
use bufferlab_sonic::PortName;
use bufferlab_sonic::config::{Config, MapKind};
use bufferlab_theory::forms::sonic_headroom::tabulated_quanta;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A dotted key of a scenario, and its value as TOML.
pub(crate) type Change = (&'static str, String);

/// Speed of light in a cable (metres per second), as in SONiC's calculation.
pub(crate) const METRES_PER_SECOND: f64 = 198e6;
/// Duration of a pause quantum (bit times).
const QUANTUM_BITS: f64 = 512.0;
/// Assumed response time of a peer at a speed without a tabulated value (quanta).
const QUANTA: f64 = 394.0;

/// Formats the scenario file of a configuration under some traffic.
///
/// # Errors
/// If the traffic does not fit the switch.
pub fn scenario(
    name: &str,
    config: &Config,
    model: &Model,
    traffic: &Traffic,
) -> Result<String, OperatorError> {
    let lossy = lossy_queue(config, model);
    let planned = Planned::new(model, traffic, lossy)?;
    let marking = Marking::from_config(config, model);
    let mut text = String::new();
    // Writing into a string cannot fail.
    let files: Vec<_> = config.files.iter().map(|file| one_line(file)).collect();
    let _ = writeln!(text, "# {} with the configuration of {}", model.chip.title, files.join(", "));
    let omitted = not_simulated(config, model);
    for note in model.notes.iter().chain(&omitted).chain(&traffic.network.note()) {
        let _ = writeln!(text, "# {}", one_line(note));
    }
    let _ = writeln!(
        text,
        "\nname = {}\ndescription = {}\nseed = 1\nduration = \"{:.0} us\"\ndrain = \"20 ms\"\n",
        quoted(name),
        quoted(&format!("{} under {}", model.chip.title, traffic.kind.name())),
        (planned.duration_seconds * 1e6).max(1.0)
    );
    traffic.network.toml(&mut text, model);
    switch(&mut text, config, model, &marking, reaction(model));
    let lossy_marks = marking.marks(lossy);
    text.push_str(&planned.toml(lossy_marks));
    let _ = writeln!(text, "[output]\nshort_flow = \"100 KB\"");
    Ok(text)
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if bufferlab_units::is_hidden(c) { ' ' } else { c }).collect()
}

/// Formats a text as a TOML string on one line.
pub(crate) fn quoted(text: &str) -> String {
    let escaped = one_line(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// Returns the queue of lossy packets: the queue to which DSCP 0 maps, if this queue is lossy,
/// otherwise the first lossy queue.
fn lossy_queue(config: &Config, model: &Model) -> u8 {
    let port = model.ports.first().map(|port| PortName::new(&port.name));
    let by_dscp = port.and_then(|port| {
        let (_, to_class) = config.map(&port, MapKind::DscpToTc)?;
        let (_, to_queue) = config.map(&port, MapKind::TcToQueue)?;
        to_queue.get(to_class.get(0)?)
    });
    let is_lossy = |queue: &u8| usize::from(*queue) < PRIORITIES && !model.lossless.contains(queue);
    let known = model.ports.iter().find_map(|port| port.lossy.keys().copied().find(is_lossy));
    by_dscp.filter(is_lossy).or(known).unwrap_or_else(|| (0..PRIORITIES as u8).find(is_lossy).unwrap_or(0))
}

/// Appends the switch to a scenario. The switch's neighbours obey a pause after `reaction_ps`
/// (picoseconds).
pub(crate) fn switch(text: &mut String, config: &Config, model: &Model, marking: &Marking, reaction_ps: u64) {
    let _ = writeln!(
        text,
        "[switch]\nbuffer = \"{} B\"                # shared {} + headroom {} + reserves {}\nqueues_per_port = {PRIORITIES}",
        model.buffer(),
        model.shared,
        model.headroom(),
        model.reserves()
    );
    let Schedule { groups, egress, .. } = Schedule::from_config(config, model);
    if let Some(groups) = groups {
        let _ = writeln!(text, "scheduler = [{groups}]");
    }
    if !egress.is_empty() {
        let lines: String = egress.iter().map(|one| format!("  {one},\n")).collect();
        let _ = writeln!(text, "egress = [\n{lines}]");
    }
    let _ = writeln!(text, "hardware = {}", hardware(model));
    let _ = writeln!(text, "\n[switch.policy]\nname = \"sonic-dt\"");
    for (key, value) in policy_parameters(model, "sonic-dt", &|_, limit| limit) {
        let value = value.replace("}, {", "},\n  {").replace("[{", "[\n  {").replace("}]", "},\n]");
        let _ = writeln!(text, "{key} = {value}");
    }
    text.push('\n');
    if !model.lossless.is_empty() {
        let _ = writeln!(text, "[switch.pfc]");
        let is_usual = reaction_ps == reaction(model);
        for (key, value) in pfc_keys(model, is_usual) {
            let _ = writeln!(text, "{key} = {value}");
        }
        let why = if is_usual { "the response that IEEE 802.1Qbb allows" } else { "of the neighbours" };
        let _ = writeln!(text, "reaction = \"{reaction_ps} ps\"            # {why}\n");
    }
    text.push_str(&marking.toml());
}

/// Returns the keys of `[switch.pfc]` about lossless priorities. `by_speed`: neighbours react in
/// the time that IEEE 802.1Qbb allows for their speed.
fn pfc_keys(model: &Model, by_speed: bool) -> Vec<(&'static str, String)> {
    let sets = model.lossless_sets();
    let (usual, on) = &sets[0];
    let mut keys = vec![("priorities", format!("{:?}", usual.iter().collect::<Vec<_>>()))];
    if sets.len() > 1 {
        keys.push(("ports", format!("{on:?}")));
    }
    let mut others = Vec::new();
    for (set, ports) in sets.iter().skip(1).filter(|(set, _)| !set.is_empty()) {
        let set: Vec<_> = set.iter().collect();
        others.push(format!("{{ ports = {ports:?}, priorities = {set:?} }}"));
    }
    if by_speed {
        let mut by_reaction: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, port) in model.ports.iter().enumerate().filter(|(_, port)| !port.groups.is_empty()) {
            by_reaction.entry(response(port.speed_mbps)).or_default().push(number);
        }
        by_reaction.remove(&reaction(model));
        let entry = |(time, ports)| format!("{{ ports = {ports:?}, reaction = \"{time} ps\" }}");
        others.extend(by_reaction.into_iter().map(entry));
    }
    if !others.is_empty() {
        keys.push(("by_port", format!("[{}]", others.join(", "))));
    }
    keys
}

/// Returns the value of `[switch.hardware]`: the family of the chip, or the assumptions
/// about an unknown chip.
fn hardware(model: &Model) -> String {
    if model.chip.family.is_some() {
        return format!("{{ family = {} }}", quoted(model.chip.name));
    }
    let hardware = model.hardware();
    let Accounting { resume_below, queue_minimums, .. } = hardware.accounting;
    let overhead = match hardware.packet_overhead {
        0 => String::new(),
        bytes => format!("packet_overhead = \"{bytes} B\", "),
    };
    let cell = if model.cell > 1 { format!("cell = \"{} B\", ", model.cell) } else { String::new() };
    let slices = if model.slices > 1 { format!("slices = {}, ", model.slices) } else { String::new() };
    format!(
        "{{ {cell}{overhead}{slices}slice_by = \"ingress\", resume_below = {}, queue_minimums = {} }}",
        quoted(resume_below.word()),
        quoted(queue_minimums.word())
    )
}

/// Returns the scenario keys that differ between two configurations of one switch, without the
/// policy.
pub(crate) fn changes(config: &Config, model: &Model) -> Vec<Change> {
    let mut changes = vec![("switch.buffer", bytes(model.buffer()))];
    changes.push((
        "switch.pfc",
        if model.lossless.is_empty() {
            "{ enabled = false, priorities = [0] }".to_owned()
        } else {
            let keys = pfc_keys(model, true).into_iter().map(|(key, value)| format!("{key} = {value}, "));
            format!("{{ {}reaction = \"{} ps\" }}", keys.collect::<String>(), reaction(model))
        },
    ));
    changes.push(("switch.ecn", Marking::from_config(config, model).inline()));
    let Schedule { groups, egress, .. } = Schedule::from_config(config, model);
    if let Some(groups) = groups {
        changes.push(("switch.scheduler", format!("[{groups}]")));
    }
    changes.push(("switch.egress", format!("[{}]", egress.join(", "))));
    changes
}

/// Returns the time that neighbours take to obey a pause (ps), at the speed of most ports with
/// lossless groups.
fn reaction(model: &Model) -> u64 {
    let mut speeds: BTreeMap<u64, usize> = BTreeMap::new();
    for port in model.ports.iter().filter(|port| !port.groups.is_empty()) {
        *speeds.entry(port.speed_mbps).or_default() += 1;
    }
    let Some((speed, _)) = speeds.into_iter().max_by_key(|(_, number)| *number) else { return 0 };
    response(speed)
}

/// Time that IEEE 802.1Qbb allows a neighbour at a speed (Mb/s) until it obeys a pause (ps).
fn response(speed: u64) -> u64 {
    let quanta = tabulated_quanta(speed as f64).unwrap_or(QUANTA);
    (quanta * QUANTUM_BITS / (speed as f64 * 1e6) * 1e12).round() as u64
}

/// Returns parameters of a policy that follow from the model, as keys and TOML values. The function
/// `limit` may change the limits of lossless or of lossy queues. The first argument of `limit` is
/// whether the queues are lossless.
#[must_use]
pub fn policy_parameters(
    model: &Model,
    policy: &str,
    limit: &dyn Fn(bool, Limit) -> Limit,
) -> Vec<(&'static str, String)> {
    let knows_thresholds = policy == "sonic-dt";
    let mut parameters = Vec::new();
    if !model.lossless.is_empty() {
        let largest =
            model.ports.iter().flat_map(|port| port.groups.values()).map(|group| group.headroom).max();
        parameters.push(("headroom", bytes(largest.unwrap_or(0))));
        if model.headroom_pool > 0 {
            parameters.push(("headroom_pool", bytes(model.headroom_pool)));
        }
    }
    if policy != "reverie" {
        parameters.push(("ingress_pool", bytes(model.shared)));
        parameters.push(("lossy_pool", format!("{:.12}", model.lossy_pool)));
    }
    if !knows_thresholds {
        parameters.push(("alpha", alphas(model, limit)));
    } else if let Some(alpha) = model.port_alpha {
        parameters.push(("port_alpha", number(alpha)));
    }
    let mut profiles = lossless_profiles(model, policy, limit);
    if policy != "reverie" {
        profiles.extend(egress_profiles(model, policy, limit));
    }
    if !profiles.is_empty() {
        parameters.push(("profiles", format!("[{}]", profiles.join(", "))));
    }
    parameters
}

fn bytes(bytes: u64) -> String {
    format!("\"{bytes} B\"")
}

/// Formats alphas by priority, for policies with one list of alphas. The first port with a limit
/// for a priority gives the alpha.
fn alphas(model: &Model, limit: &dyn Fn(bool, Limit) -> Limit) -> String {
    let of = |priority: u8| {
        let lossless = model.lossless.contains(&priority);
        let mut found = model.ports.iter().filter_map(|port| {
            if lossless {
                port.groups.get(&priority).map(|group| group.limit)
            } else {
                port.lossy.get(&priority).map(|queue| queue.limit)
            }
        });
        match found.next().map(|found| limit(lossless, found)) {
            // The port has the alpha `a_p`, and the group has the alpha `a_q`. A single limit with
            // the alpha `a_p a_q / (1 + a_q)` gives a lone group as much memory as the two limits.
            Some(Limit::Alpha(alpha)) if lossless => {
                number(model.port_alpha.map_or(alpha, |of_port| of_port * alpha / (1.0 + alpha)))
            }
            Some(Limit::Alpha(alpha)) => number(alpha),
            _ => "1".to_owned(),
        }
    };
    let all: Vec<_> = (0..PRIORITIES as u8).map(of).collect();
    format!("[{}]", all.join(", "))
}

fn number(alpha: f64) -> String {
    format!("{alpha}")
}

fn threshold(limit: Limit) -> String {
    match limit {
        Limit::Alpha(alpha) => format!("alpha = {}", number(alpha)),
        Limit::Bytes(limit) => format!("static_threshold = {}", bytes(limit)),
    }
}

fn lossless_profiles(model: &Model, policy: &str, limit: &dyn Fn(bool, Limit) -> Limit) -> Vec<String> {
    let content = |group: &GroupModel| {
        let mut parts = Vec::new();
        if policy == "sonic-dt" {
            parts.push(threshold(limit(true, group.limit)));
        }
        if policy != "reverie" && group.reserve > 0 {
            parts.push(format!("reserved = {}", bytes(group.reserve)));
        }
        parts.push(format!("headroom = {}", bytes(group.headroom)));
        for (key, value) in [("xon", group.xon), ("xon_offset", group.xon_offset)] {
            if value > 0 {
                parts.push(format!("{key} = {}", bytes(value)));
            }
        }
        parts.join(", ")
    };
    let mut entries = Vec::new();
    for (number, port) in model.ports.iter().enumerate() {
        entries.extend(port.groups.iter().map(|(priority, group)| (number, *priority, content(group))));
    }
    gathered(model.ports.len(), &entries, "", "priorities")
}

fn egress_profiles(model: &Model, policy: &str, limit: &dyn Fn(bool, Limit) -> Limit) -> Vec<String> {
    let knows_thresholds = policy == "sonic-dt";
    let (mut lossy, mut lossless) = (Vec::new(), Vec::new());
    for (number, port) in model.ports.iter().enumerate() {
        for (priority, queue) in port.lossy_queues() {
            let mut parts = Vec::new();
            if knows_thresholds {
                parts.push(threshold(limit(false, queue.limit)));
            }
            if queue.minimum > 0 {
                parts.push(format!("reserved = {}", bytes(queue.minimum)));
            }
            if !parts.is_empty() {
                lossy.push((number, priority, parts.join(", ")));
            }
        }
        for (priority, own) in port
            .lossless_queues
            .iter()
            .filter(|(priority, _)| knows_thresholds && model.lossless.contains(priority))
        {
            lossless.push((number, *priority, threshold(Limit::Bytes(*own))));
        }
    }
    let (direction, ports) = ("direction = \"egress\", ", model.ports.len());
    [&lossy, &lossless].map(|entries| gathered(ports, entries, direction, "priorities")).concat()
}
