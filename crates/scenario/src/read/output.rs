//! Reads `[host]` and `[output]`: network cards, and the records of a run.

use super::hardware::device_queue_unpaused;
use super::topology::Networks;
use crate::context::{Complaint, first_names, suggestion};
use crate::format::{HostKeys, OutputKeys};
use crate::model::{HostSpec, OutputSpec, RecordedSwitches};
use crate::quantity::format_time;
use crate::reader::Reader;
use crate::resolved::quote;

/// Reads the table `[host]`; `lossless` is whether some switch has lossless priorities.
pub(crate) fn host(root: &mut Reader<'_>, lossless: bool) -> Option<HostSpec> {
    let mut reader = root.table("host")?;
    let mut keys = HostKeys::read(&mut reader);
    if lossless && keys.device_queue.is_some_and(|packets| packets > 0) {
        let complaint = device_queue_unpaused().help("remove `device_queue`, or [switch.pfc]");
        reader.error("device_queue", complaint);
    }
    keys.applications = Some(reader.choice("applications").unwrap_or_default());
    root.put("host", reader.finish());
    keys.complete()
}

/// Reads the table `[output]`; `open_loop` is whether some traffic has no congestion control.
pub(crate) fn output(
    root: &mut Reader<'_>,
    networks: Option<&Networks>,
    open_loop: bool,
) -> Option<OutputSpec> {
    let mut reader = root.table("output")?;
    let mut keys = OutputKeys::read(&mut reader);
    if let (Some(from), Some(Some(until))) = (keys.sample_from, keys.sample_until)
        && until <= from
    {
        let complaint = Complaint::new(
            format!("sampling would end at {} and start at {}", format_time(until), format_time(from)),
            "expected a time after `sample_from`",
        );
        reader.error("sample_until", complaint.help("swap them, or leave `sample_until` out"));
    }
    keys.sample_switch = sample_switch(&mut reader, networks);
    keys.sample_ports = Some(sample_ports(&mut reader, networks, keys.sample_switch));
    let delays = reader.flag("delays").unwrap_or(open_loop);
    reader.out.set("delays", delays.to_string());
    keys.delays = Some(delays);
    keys.packets = Some(recorded_switches(&mut reader, networks));
    root.put("output", reader.finish());
    keys.complete()
}

fn sample_ports(
    reader: &mut Reader<'_>,
    networks: Option<&Networks>,
    switch: Option<u32>,
) -> Option<Vec<u16>> {
    let ports: Vec<u16> = reader.small_counts("sample_ports")?;
    let count = networks?.as_built.ports_of(switch?).len();
    if let Some(beyond) = ports.iter().find(|&&port| usize::from(port) >= count) {
        let complaint = Complaint::new(
            format!("the sampled switch has no port {beyond}"),
            format!("expected ports from 0 to {}", count - 1),
        );
        reader.error("sample_ports", complaint.help("ports are numbered in the order of their cables"));
        return None;
    }
    Some(ports)
}

/// Reads the switches whose data are recorded. The result is also `None` if the network is unknown,
/// because the context already has an error.
fn recorded_switches(reader: &mut Reader<'_>, networks: Option<&Networks>) -> Option<RecordedSwitches> {
    let written = reader.text("packets")?;
    if written == "all" {
        return Some(RecordedSwitches::All);
    }
    named_switch(reader, networks, "packets", &written).map(RecordedSwitches::One)
}

fn sample_switch(reader: &mut Reader<'_>, networks: Option<&Networks>) -> Option<u32> {
    let index = match reader.text("sample_switch") {
        None => 0,
        Some(name) => named_switch(reader, networks, "sample_switch", &name)?,
    };
    reader.out.set("sample_switch", quote(networks?.as_built.switches.get(index as usize)?));
    Some(index)
}

/// Returns the index of the switch whose name is the value of `key`.
fn named_switch(reader: &mut Reader<'_>, networks: Option<&Networks>, key: &str, name: &str) -> Option<u32> {
    let switches = &networks?.as_built.switches;
    let Some(index) = switches.iter().position(|known| known == name) else {
        let names = || switches.iter().map(String::as_str);
        let help = match suggestion(name, names()) {
            Some(near) => format!("did you mean \"{near}\"? switches here: {}", first_names(names())),
            None => format!("switches here: {}", first_names(names())),
        };
        let complaint = Complaint::new(format!("there is no switch \"{name}\""), "no such switch");
        reader.error(key, complaint.help(help));
        return None;
    };
    Some(index as u32)
}
