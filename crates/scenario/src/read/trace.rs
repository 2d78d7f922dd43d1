//! `kind = "trace"`: packets of a file, replayed at their times.

use super::files::Inputs;
use super::on_off::{host, open_loop};
use super::traffic_files::{locate, read_file};
use super::transport::Transports;
use super::workload::Facts;
use crate::context::{Complaint, quoted_list};
use crate::model::TrafficProcess;
use crate::quantity::format_time;
use crate::reader::Reader;
use crate::resolved::quote;
use bufferlab_workload::{AddressBook, AddressRule, Trace, TraceError, TraceOptions, Unmapped, read_trace};

pub(crate) fn trace(
    reader: &mut Reader<'_>,
    facts: &Facts<'_>,
    transports: &Transports,
    transport: Option<u32>,
    inputs: &mut Inputs,
) -> Option<TrafficProcess> {
    let spec = transport.and_then(|index| open_loop(reader, transports, index));
    let rules = rules(reader, facts);
    let unmapped = if reader.has("addresses") { "refuse" } else { "round_robin" };
    let unmapped = match reader.word_or("unmapped", unmapped) {
        "refuse" => Unmapped::Refuse,
        _ => Unmapped::RoundRobin,
    };
    let (start, stretch) = (reader.time("start"), reader.ratio("stretch"));
    let by_trace = reader.word("priority") == Some("trace");
    let written = reader.text("file")?;
    let path = locate(reader, "file", &written);
    let content = read_file(reader, "file", &path)?;
    let name = inputs.keep(&path, content);
    reader.out.set("file", quote(&name));
    let (spec, rules, network) = (spec?, rules?, &facts.networks?.as_built);
    let queues = facts.switches?.iter().map(|switch| switch.queues_per_port).min();
    let options = TraceOptions {
        start: start?,
        stretch: stretch?,
        largest: spec.segment_bytes + spec.header_bytes,
        queues: queues.filter(|_| by_trace),
    };
    let mut book = AddressBook::new(&network.hosts, &rules, unmapped);
    let trace = match read_trace(&path, &mut book, &options) {
        Ok(trace) => trace,
        Err(error) => {
            refuse(reader, &path, &error);
            return None;
        }
    };
    warn(reader, &trace);
    let duration = facts.duration?;
    let late = trace.packets.iter().filter(|packet| packet.start >= duration).count();
    if late > 0 {
        let complaint = Complaint::new(
            format!(
                "{late} of {} packets come after `duration` ({})",
                trace.packets.len(),
                format_time(duration)
            ),
            "packets that would be left out",
        );
        let last = trace.packets.last().map_or(duration, |packet| packet.start);
        let help = format!(
            "the last one comes at {}; raise `duration` above it, or lower `start` or `stretch`",
            format_time(last)
        );
        reader.error("file", complaint.help(help));
        return None;
    }
    Some(TrafficProcess::Trace { path: name, packets: trace.packets, priorities: trace.priorities })
}

fn rules(reader: &mut Reader<'_>, facts: &Facts<'_>) -> Option<Vec<AddressRule>> {
    let (mut rules, mut resolved, mut complete) = (Vec::new(), Vec::new(), true);
    for mut entry in reader.tables("addresses") {
        let (address, name) = (entry.text("address"), entry.text("host"));
        let origin = entry.place("host");
        let found = name.and_then(|name| host(&entry, facts, "host", &name, origin));
        match address.zip(found).map(|(address, host)| AddressRule::new(&address, host)) {
            Some(Ok(rule)) => rules.push(rule),
            Some(Err(why)) => {
                entry.error("address", Complaint::new(why, "no range").help("a single address has no /"));
                complete = false;
            }
            None => complete = false,
        }
        resolved.push(entry.finish());
    }
    reader.put_all("addresses", resolved);
    complete.then_some(rules)
}

/// Shows what is wrong where it stands: in the lines of a text file, else at the key.
fn refuse(reader: &Reader<'_>, path: &std::path::Path, error: &TraceError) {
    let message = match error {
        TraceError::Packet { place, problem, .. } => format!("{place}: {problem}"),
        other => other.to_string(),
    };
    let (message, help) = match message.split_once("; ") {
        Some((message, help)) => (message.to_owned(), help.to_owned()),
        None => (message, "see kind = \"trace\" in docs/scenarios.md for what a trace holds".to_owned()),
    };
    match (error.line(), std::fs::read_to_string(path)) {
        (Some(line), Ok(text)) => {
            let (key, origin) = (reader.path("file"), reader.place("file"));
            let complaint = Complaint::new(message, "here").help(help);
            reader.context.error_in_file(&key, origin, path, &text, Some(line as usize), complaint);
        }
        _ => reader.error("file", Complaint::new(message, "this file").help(help)),
    }
}

fn warn(reader: &Reader<'_>, trace: &Trace) {
    if !trace.ignored_columns.is_empty() {
        let names = quoted_list(trace.ignored_columns.iter().map(String::as_str));
        let complaint = Complaint::new(format!("columns that nobody reads: {names}"), "this file");
        let known = "read are: time_ps (or time_ns, time_us, time_s), src, dst, size_bytes, priority";
        reader.warn("file", complaint.help(known));
    }
    let sent = trace.packets.len();
    if trace.stayed > 0 {
        let message = format!("{} packets stay at one host and are left out; {sent} are sent", trace.stayed);
        let help = "their addresses belong to the same host: map them with `addresses`, or use more hosts";
        reader.warn("file", Complaint::new(message, "this trace").help(help));
    }
    if trace.without_address > 0 {
        let message =
            format!("{} frames without an IP address are left out; {sent} are sent", trace.without_address);
        reader.warn(
            "file",
            Complaint::new(message, "this trace").help("ARP and the like; nothing to do if they are few"),
        );
    }
}
