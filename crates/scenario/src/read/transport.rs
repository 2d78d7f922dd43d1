//! Reads the table `[[transport]]`: the protocol and the congestion control that carry flows.

use super::congestion::{self, ControlChoice};
use super::switch::Group;
use super::{persistent, priority, rdma};
use crate::context::{Complaint, suggestion};
use crate::convert;
use crate::format::{FRAME_MAX, TransportKeys};
use crate::model::{InitialWindow, Pacing, SwitchSpec, TransportSpec};
use crate::reader::Reader;
use crate::resolved::quote;
use crate::tree::{Origin, Value};
use bufferlab_core::Profile;
use bufferlab_transport::{Spacing, UNRESPONSIVE, find_congestion_control};
use bufferlab_workload::{Carrier, Carriers};

/// Default number of segments before the first ACK (RFC 6928).
const DEFAULT_WINDOW: u32 = 10;

/// All entries of the table `[[transport]]`, including invalid entries.
pub(crate) struct Transports {
    entries: Vec<Entry>,
    /// Whether two transports have equal names; the context already has the error about equal
    /// names.
    ambiguous: bool,
}

struct Entry {
    name: String,
    name_origin: Origin,
    path: String,
    origin: Origin,
    spec: Option<TransportSpec>,
    used: bool,
}

impl Transports {
    /// Returns the specifications of all transports; `None` if a transport is invalid or there are
    /// no transports.
    pub(crate) fn specs(self) -> Option<Vec<TransportSpec>> {
        let specs: Option<Vec<_>> = self.entries.into_iter().map(|entry| entry.spec).collect();
        specs.filter(|specs| !specs.is_empty())
    }

    /// For each transport, returns whether a workload uses the transport.
    pub(crate) fn used(&self) -> Vec<bool> {
        self.entries.iter().map(|entry| entry.used).collect()
    }

    /// Whether at least one transport has no congestion control.
    pub(crate) fn any_open_loop(&self) -> bool {
        self.packets().any(|spec| spec.pacing.is_some())
    }

    /// Returns the properties of all transports that workloads need to know.
    pub(crate) fn carriers(&self) -> Carriers {
        let carrier = |(index, spec): (usize, &TransportSpec)| Carrier {
            name: spec.name.clone(),
            index: index as u32,
            rate: spec.pacing.map(|pacing| pacing.rate),
            segment_bytes: spec.segment_bytes,
            header_bytes: spec.header_bytes,
            is_rdma: spec.rdma.is_some(),
        };
        let entries = self.entries.iter().enumerate();
        let entries = entries.map(|(index, entry)| {
            (entry.name.clone(), entry.spec.as_ref().map(|spec| carrier((index, spec))))
        });
        Carriers { entries: entries.collect(), ambiguous: self.ambiguous }
    }

    /// Records that workloads use the transports with the given indices.
    pub(crate) fn mark_used(&mut self, indices: &[u32]) {
        for &index in indices {
            self.entries[index as usize].used = true;
        }
    }

    /// Returns the specifications of the valid transports.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &TransportSpec> {
        self.entries.iter().filter_map(|entry| entry.spec.as_ref())
    }

    /// Size of the largest frame that any transport sends (bytes).
    pub(crate) fn largest_packet_bytes(&self) -> Option<u64> {
        let largest = |spec: &TransportSpec| {
            let data = u64::from(spec.segment_bytes) + u64::from(spec.header_bytes);
            data.max(u64::from(spec.ack_bytes))
        };
        self.packets().map(largest).max()
    }

    /// Size of the smallest frame that a transport sends (bytes): an ACK, or one byte of data.
    pub(crate) fn smallest_packet_bytes(&self) -> Option<u64> {
        self.packets().map(|spec| u64::from(spec.ack_bytes.min(spec.header_bytes.saturating_add(1)))).min()
    }

    /// Returns the index of the entry that a workload uses: the entry called `written`,
    /// or the only entry.
    pub(crate) fn index_for(&mut self, workload: &mut Reader<'_>, written: Option<&str>) -> Option<u32> {
        let names = || self.entries.iter().map(|entry| entry.name.as_str());
        let index = match written {
            Some(name) => names().position(|known| known == name),
            None if workload.has("transport") => return None,
            None if self.entries.len() == 1 => Some(0),
            None if self.entries.is_empty() || self.ambiguous => return None,
            None => {
                let complaint = Complaint::new("`transport` is missing", "which of them carries it?");
                let help = format!("there are several transports: {}", crate::context::quoted_list(names()));
                workload.error("transport", complaint.help(help));
                return None;
            }
        };
        let Some(index) = index else {
            let name = written.unwrap_or_default();
            let known = format!("known: {}", crate::context::quoted_list(names()));
            let help = match suggestion(name, names()) {
                Some(near) => format!("did you mean \"{near}\"? {known}"),
                None => known,
            };
            if !self.entries.is_empty() {
                let complaint =
                    Complaint::new(format!("there is no transport \"{name}\""), "no such [[transport]]");
                workload.error("transport", complaint.help(help));
            }
            return None;
        };
        let entry = &mut self.entries[index];
        entry.used = true;
        workload.out.set("transport", quote(&entry.name));
        Some(index as u32)
    }
}

pub(crate) fn read(root: &mut Reader<'_>, groups: Option<&[Group]>, profile: Profile) -> Transports {
    let queues_per_port = groups.and_then(|groups| groups.iter().map(|group| group.queues_per_port).min());
    let mut entries: Vec<Entry> = Vec::new();
    let (mut resolved, mut ambiguous) = (Vec::new(), false);
    for mut reader in root.tables("transport") {
        let (name, spec) = transport(&mut reader, queues_per_port, profile);
        if let Some(twin) = entries.iter().find(|entry| entry.name == name && !name.is_empty()) {
            let complaint = Complaint::new(format!("two transports are called \"{name}\""), "the second one");
            let complaint = complaint.also(twin.name_origin, "the first one");
            ambiguous = true;
            reader.error(
                "name",
                complaint.help("give each a `name` of its own; the default is its congestion control"),
            );
        }
        let (path, origin) = (reader.path("name"), reader.origin);
        let name_origin = reader.place(if reader.has("name") { "name" } else { "congestion_control" });
        entries.push(Entry { name, name_origin, path, origin, spec, used: false });
        resolved.push(reader.finish());
    }
    root.put_all("transport", resolved);
    Transports { entries, ambiguous }
}

fn transport(
    reader: &mut Reader<'_>,
    queues_per_port: Option<u8>,
    profile: Profile,
) -> (String, Option<TransportSpec>) {
    let control = congestion::read(reader, profile);
    let control = control.as_ref();
    let mut keys = TransportKeys::read(reader);
    let name = reader.text_or("name", control.map_or("", ControlChoice::name));
    keys.name = Some(name.clone());
    keys.congestion_control = control.map(|control| control.name().to_owned());
    keys.control_params = control.map(ControlChoice::values);
    keys.pacing = pacing(reader, control);
    keys.rdma = rdma::read(reader, control, profile);
    let is_rdma = matches!(keys.rdma, Some(Some(_)));
    check_frame(reader, &mut keys);
    keys.initial_window = window(reader, control);
    keys.persistent = persistent::read(reader);
    let is_persistent = keys.persistent.is_some_and(|persistent| persistent.is_some());
    keys.full_connection = persistent::read_full_connection(reader, is_persistent, profile);
    let ecn_capable = reader.flag("ecn_capable").unwrap_or_else(|| control.is_some_and(uses_ecn));
    reader.out.set("ecn_capable", ecn_capable.to_string());
    keys.ecn_capable = Some(ecn_capable);
    keys.base_rtt = Some(congestion::read_base_rtt(reader, control, keys.initial_window));
    let (telemetry, telemetry_path) = congestion::read_telemetry(reader, control, is_rdma, profile);
    (keys.telemetry, keys.telemetry_path) = (Some(telemetry), Some(telemetry_path));
    if let Some(priorities) = priority::read(reader, queues_per_port) {
        keys.data_priorities = Some(priorities.data);
        keys.pias_thresholds_bytes = Some(priorities.thresholds_bytes);
        keys.control_priority = Some(priorities.control);
    }
    leave_out(reader, control, is_rdma);
    if is_rdma {
        keys.full_connection = keys.full_connection.map(|_| false);
        keys.persistent = keys.persistent.map(|_| None);
        keys.lso_bytes = Some(0);
    }
    (name, keys.complete())
}

/// Checks that payload and headers of a full segment together fit into a frame.
fn check_frame(reader: &Reader<'_>, keys: &mut TransportKeys) {
    if let (Some(payload), Some(headers)) = (keys.segment_bytes, keys.header_bytes)
        && u64::from(payload) + u64::from(headers) > FRAME_MAX
    {
        let message = format!("a full segment has {payload} B and {headers} B of headers");
        let complaint = Complaint::new(message, format!("expected at most {FRAME_MAX} B together"));
        let most = FRAME_MAX - u64::from(headers);
        reader.error("segment_bytes", complaint.help(format!("choose at most \"{most} B\"")));
        keys.segment_bytes = None;
    }
}

/// Warns of keys that have no meaning for a transport of this kind.
fn leave_out(reader: &mut Reader<'_>, control: Option<&ControlChoice>, is_rdma: bool) {
    if control.is_some_and(ControlChoice::is_open_loop) {
        leave_out_tcp(reader);
    }
    if is_rdma {
        rdma::leave_out_tcp(reader);
    }
}

/// Reads the rate of a transport without congestion control. Other transports have no rate, and
/// give `Some(None)`.
fn pacing(reader: &mut Reader<'_>, control: Option<&ControlChoice>) -> Option<Option<Pacing>> {
    let rate = reader.rate("rate");
    let spacing = reader.choice("spacing");
    let control = control?;
    if !control.is_open_loop() {
        for key in ["rate", "spacing"] {
            if reader.has(key) {
                let complaint = Complaint::new(
                    format!("`{key}` goes with congestion_control = \"{UNRESPONSIVE}\" only"),
                    format!("\"{}\" decides itself when packets are sent", control.name()),
                );
                reader.error(key, complaint.help(format!("remove `{key}`, or use \"{UNRESPONSIVE}\"")));
            }
        }
        return (!reader.has("rate") && !reader.has("spacing")).then_some(None);
    }
    if !reader.has("rate") {
        let complaint = Complaint::new(
            "`rate` is missing",
            "without congestion control, nothing else says when packets are sent",
        );
        let help = "add rate = \"8 Gb/s\": bits per second on the wire, headers included";
        reader.error("rate", complaint.help(help));
    }
    let spacing: Spacing = spacing.unwrap_or_default();
    reader.out.set("spacing", quote(spacing.word()));
    Some(Some(Pacing { rate: rate?, spacing }))
}

/// Omits keys of TCP from the resolved scenario. Open-loop packets are not acknowledged, so each
/// key of TCP in the file gets a warning.
fn leave_out_tcp(reader: &mut Reader<'_>) {
    const KEYS: [&str; 13] = [
        "kind",
        "ack_bytes",
        "initial_window",
        "min_rto",
        "initial_rto",
        "ack_every",
        "delayed_ack_timeout",
        "handshake",
        "full_connection",
        "persistent",
        "connections_per_pair",
        "idle_restart",
        "lso",
    ];
    for key in KEYS {
        if reader.has(key) {
            let complaint = Complaint::new(
                format!("`{key}` has no effect without congestion control"),
                "nobody acknowledges these packets",
            );
            reader.warn(key, complaint.help(format!("remove `{key}`")));
        }
        reader.out.remove(key);
    }
}

fn window(reader: &mut Reader<'_>, control: Option<&ControlChoice>) -> Option<InitialWindow> {
    let window = reader.read("initial_window", |item, wanted| match &item.value {
        Value::String(word) if word == "whole" => Ok((InitialWindow::Whole, quote("whole"))),
        Value::String(word) if word == "bdp" => Ok((InitialWindow::BandwidthDelay, quote("bdp"))),
        Value::Integer(_) => {
            let segments = convert::count(item, wanted, 1, u64::from(u32::MAX) - 1)?;
            Ok((InitialWindow::Segments(segments as u32), segments.to_string()))
        }
        _ => Err(convert::wrong_kind(item, wanted)),
    });
    if window.is_some() || reader.has("initial_window") {
        return window;
    }
    let info = control.and_then(ControlChoice::info);
    if info.is_some_and(|info| info.starts_at_line_rate) {
        reader.out.set("initial_window", quote("bdp"));
        return Some(InitialWindow::BandwidthDelay);
    }
    reader.out.set("initial_window", DEFAULT_WINDOW.to_string());
    Some(InitialWindow::Segments(DEFAULT_WINDOW))
}

/// Warns of a transport that no workload uses, which is probably a misunderstanding.
pub(crate) fn warn_about_unused(root: &Reader<'_>, transports: &Transports) {
    if !transports.entries.iter().any(|entry| entry.used) {
        return;
    }
    for entry in transports.entries.iter().filter(|entry| !entry.used) {
        let complaint =
            Complaint::new(format!("no workload uses the transport \"{}\"", entry.name), "unused");
        root.context.warn(
            &entry.path,
            entry.origin,
            complaint.help("refer to it by transport = \"…\" in a [[workload]], or remove it"),
        );
    }
}

fn uses_ecn(control: &ControlChoice) -> bool {
    control.info().is_some_and(|info| info.uses_ecn)
}

/// Warns of a congestion control that waits for marks, on switches that do not mark.
pub(crate) fn warn_about_ecn(root: &Reader<'_>, transports: &Transports, switches: &[SwitchSpec]) {
    if switches.iter().any(|switch| switch.ecn.is_some()) {
        return;
    }
    for entry in &transports.entries {
        let name = entry.spec.as_ref().map_or("", |spec| &spec.congestion_control);
        if find_congestion_control(name).is_some_and(|info| info.uses_ecn) {
            let message = format!("\"{name}\" reacts to marks, and no switch marks packets");
            let help =
                "without marks it only reacts to loss; add [switch.ecn] with kind = \"step\" and a threshold";
            let key = entry.path.replace(".name", ".congestion_control");
            root.context.warn(
                &key,
                entry.name_origin,
                Complaint::new(message, "never sees a mark").help(help),
            );
        }
    }
}
