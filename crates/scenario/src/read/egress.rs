//! Reads `[[switch.egress]]`: ports with another scheduler or a limited rate.

use super::scheduler::{self, queue_numbers};
use crate::context::{Complaint, Context};
use crate::format::EgressKeys;
use crate::model::EgressSpec;
use crate::reader::Reader;
use crate::tree::Origin;

/// The tables `[[switch.egress]]` of a switch, each with its path and the place of its ports in the
/// file.
#[derive(Clone, Debug)]
pub(crate) struct EgressChoice(Vec<(EgressSpec, String, Origin)>);

/// Reads the tables `[[switch.egress]]` of a switch. The result is `None` after a mistake.
pub(crate) fn read(switch: &mut Reader<'_>, queues_per_port: Option<u8>) -> Option<EgressChoice> {
    let (mut all, mut resolved) = (Vec::new(), Vec::new());
    for mut entry in switch.tables("egress") {
        all.push(read_entry(&mut entry, queues_per_port));
        resolved.push(entry.finish());
    }
    switch.put_all("egress", resolved);
    all.into_iter().collect::<Option<_>>().map(EgressChoice)
}

fn read_entry(entry: &mut Reader<'_>, queues_per_port: Option<u8>) -> Option<(EgressSpec, String, Origin)> {
    let mut keys = EgressKeys::read(entry);
    let mark = entry.context.mark();
    keys.ports = Some(listed(entry, "ports", "leave it out for all ports"));
    keys.queues = Some(listed(entry, "queues", "leave it out to limit the port as a whole"));
    // The key `scheduler` counts as read, even if the number of queues is not known.
    entry.spec_of("scheduler");
    let queues = queues_per_port?;
    keys.scheduler =
        if entry.has("scheduler") { Some(Some(scheduler::read(entry, queues)?)) } else { Some(None) };
    if let Some(beyond) = keys.queues.iter().flatten().find(|&&queue| queue >= queues) {
        let complaint = Complaint::new(format!("there is no queue {beyond}"), queue_numbers(queues));
        let help = format!("queues_per_port is {queues}; queues are numbered from 0");
        entry.error("queues", complaint.help(help));
    }
    let (has_rate, has_scheduler) = (entry.has("rate"), entry.has("scheduler"));
    if !has_rate && !has_scheduler {
        let complaint = Complaint::new("the table changes nothing", "without `scheduler` and `rate`");
        entry.error("ports", complaint.help("add scheduler = \"strict_priority\", or rate = \"1 Gb/s\""));
    }
    for key in ["queues", "burst"].into_iter().filter(|key| entry.has(key) && !has_rate) {
        let complaint = Complaint::new(format!("`{key}` belongs to `rate`"), "without meaning here");
        entry.error(key, complaint.help("add rate = \"1 Gb/s\", or remove the key"));
    }
    let (path, place) = (entry.path("ports"), entry.place("ports"));
    if entry.context.failed_since(mark) { None } else { Some((keys.complete()?, path, place)) }
}

/// Reads a list of numbers. The list may be absent from the file, but must not be empty.
fn listed<T: TryFrom<u64>>(entry: &mut Reader<'_>, key: &'static str, help: &str) -> Vec<T> {
    let list = entry.small_counts(key);
    if list.as_ref().is_some_and(Vec::is_empty) {
        entry.error(key, Complaint::new("the list is empty", "expected at least one number").help(help));
    }
    list.unwrap_or_default()
}

impl EgressChoice {
    /// Returns the tables `[[switch.egress]]` for a switch with `ports` ports. The context records
    /// an error for a port that the switch lacks.
    pub(crate) fn specs(&self, context: &Context, name: &str, ports: usize) -> Option<Vec<EgressSpec>> {
        for (spec, path, place) in &self.0 {
            if let Some(beyond) = spec.ports.iter().find(|&&port| usize::from(port) >= ports) {
                let complaint = Complaint::new(
                    format!("\"{name}\" has no port {beyond}"),
                    format!("the switch has {ports} ports, numbered from 0"),
                );
                let help = "list ports of the switch, or leave `ports` out for all";
                context.error(path, *place, complaint.help(help));
                return None;
            }
        }
        Some(self.0.iter().map(|(spec, ..)| spec.clone()).collect())
    }
}
