//! Reads `switch.scheduler`: a name, or groups of queues.

use crate::context::{Complaint, suggestion};
use crate::convert;
use crate::format::{GroupKeys, SCHEDULER_GROUP};
use crate::reader::Reader;
use crate::resolved::{OutValue, quote};
use crate::tree::{Item, Value};
use bufferlab_core::{Discipline, DisciplineName, Group, SchedulerName};
use bufferlab_params::Choice;

pub(crate) fn read(switch: &mut Reader<'_>, queues_per_port: u8) -> Option<Vec<Group>> {
    let item = switch.value_of("scheduler")?;
    match &item.value {
        Value::String(name) => named(switch, name, queues_per_port),
        Value::Array(groups) => grouped(switch, groups, queues_per_port),
        _ => {
            let wanted = switch.spec_of("scheduler").expected();
            switch.error("scheduler", convert::wrong_kind(&item, &wanted));
            None
        }
    }
}

fn named(switch: &mut Reader<'_>, name: &str, queues_per_port: u8) -> Option<Vec<Group>> {
    let Some(known) = SchedulerName::from_word(name) else {
        let names = || SchedulerName::WORDS.iter().map(|word| word.name);
        let quoted: Vec<_> = names().map(quote).collect();
        let list = "scheduler = [{ queues = [0] }, { queues = [1, 2], discipline = \"round_robin\" }]";
        let known = format!("known: {}, or a list of groups:\n{list}", quoted.join(", "));
        let near = || suggestion(name, names()).map(|near| format!("did you mean \"{near}\"?\n{known}"));
        let help = other_name(name).or_else(near).unwrap_or_else(|| known.clone());
        let complaint = Complaint::new(format!("unknown scheduler \"{name}\""), "no such scheduler");
        switch.error("scheduler", complaint.help(help));
        return None;
    };
    switch.out.set("scheduler", quote(name));
    Some(known.groups(queues_per_port))
}

/// Advice for a scheduler under the name that other programs use.
fn other_name(name: &str) -> Option<String> {
    let group = |discipline: &str, shares: &str| {
        format!(
            "write scheduler = [{{ queues = [0, 1], discipline = \"{discipline}\", {shares} }}], with all queues of a port"
        )
    };
    Some(match name.to_ascii_lowercase().as_str() {
        "drr" | "dwrr" | "wdrr" => group("deficit_round_robin", "quanta = [\"3 KB\", \"1500 B\"]"),
        "wrr" => group("weighted_round_robin", "weights = [2, 1]"),
        "rr" => "did you mean \"round_robin\"?".to_owned(),
        "sp" | "pq" | "strict" | "priority" => "did you mean \"strict_priority\"?".to_owned(),
        _ => return None,
    })
}

fn grouped(switch: &mut Reader<'_>, items: &[Item], queues_per_port: u8) -> Option<Vec<Group>> {
    let mark = switch.context.mark();
    let (mut groups, mut resolved) = (Vec::new(), Vec::new());
    let mut named = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{}.{index}", switch.path("scheduler"));
        let Some(mut reader) = Reader::open(switch.context, &SCHEDULER_GROUP, path, Some(item)) else {
            continue;
        };
        let mut keys = GroupKeys::read(&mut reader);
        if let Some(queues) = &keys.queues {
            check_queues(&reader, queues, &mut named, queues_per_port);
        }
        let discipline = discipline(&mut reader, &mut keys);
        groups.extend(keys.queues.map(|queues| Group { queues, discipline }));
        resolved.push(reader.finish());
    }
    switch.out.put("scheduler", OutValue::Tables(resolved));
    if switch.context.failed_since(mark) {
        return None;
    }
    let missing: Vec<_> = (0..queues_per_port).filter(|queue| !named.contains(queue)).collect();
    if let Some(first) = missing.first() {
        let shown = missing.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
        let queues = if missing.len() == 1 { "queue" } else { "queues" };
        let complaint = Complaint::new(
            format!("{queues} {shown} would never send: no group names it"),
            format!("expected every queue from 0 to {} in one group", queues_per_port - 1),
        );
        let help = format!(
            "add {{ queues = [{first}] }} where it belongs (groups come highest first), or lower queues_per_port"
        );
        switch.error("scheduler", complaint.help(help));
        return None;
    }
    Some(groups)
}

fn check_queues(reader: &Reader<'_>, queues: &[u8], named: &mut Vec<u8>, queues_per_port: u8) {
    if queues.is_empty() {
        reader.error("queues", Complaint::new("the group is empty", "expected at least one queue"));
    }
    for &queue in queues {
        if queue >= queues_per_port {
            let complaint =
                Complaint::new(format!("there is no queue {queue}"), queue_numbers(queues_per_port));
            reader.error(
                "queues",
                complaint.help(format!("queues_per_port is {queues_per_port}; queues are numbered from 0")),
            );
        } else if named.contains(&queue) {
            let complaint = Complaint::new(format!("queue {queue} is named twice"), "named before");
            reader.error("queues", complaint.help("every queue belongs to exactly one group"));
        } else {
            named.push(queue);
        }
    }
}

/// Rejects a priority under `priorities` that the switch has no queue for.
pub(super) fn check_priorities(reader: &Reader<'_>, priorities: Option<&[u8]>, queues_per_port: Option<u8>) {
    let (Some(priorities), Some(queues)) = (priorities, queues_per_port) else { return };
    if let Some(beyond) = priorities.iter().find(|&&priority| priority >= queues) {
        let complaint = Complaint::new(format!("there is no priority {beyond}"), queue_numbers(queues));
        reader.error(
            "priorities",
            complaint.help(format!("queues_per_port is {queues}; priorities are its queues")),
        );
    }
}

/// Formats the numbers of the accepted queues: "expected 0", "expected 0 to 3".
pub(crate) fn queue_numbers(queues_per_port: u8) -> String {
    match queues_per_port {
        1 => "expected 0, the only queue".to_owned(),
        queues => format!("expected 0 to {}", queues - 1),
    }
}

fn discipline(reader: &mut Reader<'_>, keys: &mut GroupKeys) -> Discipline {
    let name = keys.discipline.unwrap_or_default();
    let queues = keys.queues.as_ref().map_or(0, Vec::len);
    let (weights, quanta) = (keys.weights.take(), keys.quanta.take());
    check_shares(reader, name, "weights", DisciplineName::WeightedRoundRobin, weights.as_deref(), queues);
    check_shares(reader, name, "quanta", DisciplineName::DeficitRoundRobin, quanta.as_deref(), queues);
    match name {
        DisciplineName::Fifo => Discipline::Fifo,
        DisciplineName::RoundRobin => Discipline::RoundRobin,
        DisciplineName::WeightedRoundRobin => Discipline::WeightedRoundRobin(weights.unwrap_or_default()),
        DisciplineName::DeficitRoundRobin => Discipline::DeficitRoundRobin(quanta.unwrap_or_default()),
    }
}

/// Checks that the file has shares under `key` if, and only if, the group's discipline needs
/// shares. The file must have one share for each queue of the group.
fn check_shares(
    reader: &mut Reader<'_>,
    name: DisciplineName,
    key: &'static str,
    belongs_to: DisciplineName,
    values: Option<&[u32]>,
    queues: usize,
) {
    let (word, of) = (name.word(), belongs_to.word());
    if name != belongs_to && reader.has(key) {
        let complaint = Complaint::new(
            format!("`{key}` belongs to \"{of}\", and this group is \"{word}\""),
            "without meaning here",
        );
        reader.error(key, complaint.help(format!("set discipline = \"{of}\", or remove {key}")));
    } else if name == belongs_to && !reader.has(key) {
        let complaint = Complaint::new(format!("`{key}` is missing"), format!("\"{word}\" needs {key}"));
        let example = reader.spec_of(key).example;
        reader
            .error("discipline", complaint.help(format!("add {key} = {example}, one for each of `queues`")));
    } else if let Some(values) = values.filter(|values| values.len() != queues && queues > 0) {
        let complaint = Complaint::new(
            format!("{} values for {queues} queues", values.len()),
            "expected one for each of `queues`",
        );
        reader.error(key, complaint.help(format!("write {queues} values in the order of `queues`")));
    }
}
