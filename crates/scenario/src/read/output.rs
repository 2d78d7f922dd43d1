//! `[host]` and `[output]`.

use super::topology::{Networks, first_names};
use crate::context::{Complaint, suggestion};
use crate::model::{HostSpec, NicQueueing, OutputSpec};
use crate::reader::Reader;
use crate::resolved::quote;

pub(crate) fn host(root: &mut Reader<'_>) -> Option<HostSpec> {
    let mut reader = root.table("host")?;
    let nic = match reader.choice("nic")? {
        "fifo" => NicQueueing::Fifo,
        _ => NicQueueing::Fair,
    };
    let resolved = reader.finish();
    root.put("host", resolved);
    Some(HostSpec { nic })
}

pub(crate) fn output(root: &mut Reader<'_>, networks: Option<&Networks>) -> Option<OutputSpec> {
    let mut reader = root.table("output")?;
    let sample_interval = reader.time("sample_interval");
    let sample_switch = sample_switch(&mut reader, networks);
    let short_flow_bytes = reader.size("short_flow");
    let base_rtt = reader.time("base_rtt");
    let resolved = reader.finish();
    root.put("output", resolved);
    Some(OutputSpec {
        sample_interval: sample_interval?,
        sample_switch: sample_switch?,
        short_flow_bytes: short_flow_bytes?,
        base_rtt,
    })
}

fn sample_switch(reader: &mut Reader<'_>, networks: Option<&Networks>) -> Option<u32> {
    let written = reader.text("sample_switch");
    let switches = &networks?.as_built.switches;
    let index = match &written {
        None => Some(0),
        Some(name) => switches.iter().position(|known| known == name),
    };
    let Some(index) = index else {
        let name = written.unwrap_or_default();
        let names = || switches.iter().map(String::as_str);
        let help = match suggestion(&name, names()) {
            Some(near) => format!("did you mean \"{near}\"? switches here: {}", first_names(names())),
            None => format!("switches here: {}", first_names(names())),
        };
        let complaint = Complaint::new(format!("there is no switch \"{name}\""), "no such switch");
        reader.error("sample_switch", complaint.help(help));
        return None;
    };
    reader.out.set("sample_switch", quote(&switches[index]));
    Some(index as u32)
}
