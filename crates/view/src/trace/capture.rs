//! Writes a pcapng file for Wireshark: packets with comments about their treatment.
//!
//! A packet has one frame for its arrival, and one frame for its departure or eviction. The frame
//! at which the switch marks the packet mentions the mark, and so do later frames of the packet.
//! The file has no frames for pauses.
//!
//! The simulator has no bytes of packets. The file contains an Ethernet frame with the true length,
//! and with an IPv4 and a UDP header that identify flow and queue. Hosts are 10.x.y.z by the number
//! of the flow. The DSCP is the priority, and the IPv4 identification is the number of the packet.

use super::each;
use crate::ViewError;
use crate::view::View;
use bufferlab_metrics::{PacketEvent, PacketRow};
use bufferlab_pcapng::{Capture, Frame, Interface, Remark};
use std::collections::BTreeMap;
use std::io::Write;

/// Number of bytes that the file contains per frame: only the headers.
const HEADERS: usize = 14 + 20 + 8;

pub(super) fn write(view: &View, to: &mut dyn Write) -> Result<(), ViewError> {
    let failed = || ViewError::io("write the capture");
    let mut file = Capture::new(to).map_err(failed())?;
    for port in 0..view.index.shape.ports {
        let name = format!("{} port {port}", view.switch());
        file.interface(&Interface { name: &name, ..Interface::default() }).map_err(failed())?;
    }
    let classes = view.manifest().names.classes.clone();
    let mut marks = Marks::default();
    let mut put = |row: &PacketRow, marked: Option<&'static str>| {
        let Some(port) = row.port else { return Ok(()) };
        let data = frame(row, marked.is_some());
        let packet = Frame {
            // The interface is the ingress port for an arrival, and the egress
            // port for a departure.
            interface: u32::from(if row.event == PacketEvent::Departed { port } else { row.ingress_port }),
            at_ns: row.time_ps / 1_000,
            original_bytes: row.size_bytes,
            data: &data,
            ..Frame::default()
        };
        file.frame(&packet, Some(&comment(row, marked, &classes))).map_err(failed())
    };
    each(view, |row| match row.event {
        event if event.is_pause() => Ok(()),
        PacketEvent::Marked => {
            marks.mark(row);
            Ok(())
        }
        _ => match marks.next(row) {
            Some((earlier, marked)) => put(&earlier, marked),
            None => Ok(()),
        },
    })?;
    match marks.waiting.take() {
        Some((last, marked)) => put(&last, marked),
        None => Ok(()),
    }
}

/// Identity of a packet: its flow, its number and its kind.
type PacketName = (Option<u64>, Option<u32>, Option<&'static str>);

/// Collects the marks of packets. The row of a mark follows the row of its packet's arrival or
/// departure. So the collector keeps each packet row until it has read the next row.
#[derive(Default)]
struct Marks {
    waiting: Option<(PacketRow, Option<&'static str>)>,
    /// Marked packets in the buffer, by flow, number and kind, with the reason of the mark.
    stored: BTreeMap<PacketName, &'static str>,
}

impl Marks {
    /// Adds a packet row that is not a mark. Returns the previous packet row, and the reason of its
    /// packet's mark, if any.
    fn next(&mut self, row: &PacketRow) -> Option<(PacketRow, Option<&'static str>)> {
        let key = (row.flow_id, row.packet, row.kind);
        let reason = if row.event.leaves() { self.stored.remove(&key) } else { None };
        self.waiting.replace((row.clone(), reason))
    }

    /// Records the mark of the packet in the previous row.
    fn mark(&mut self, mark: &PacketRow) {
        let Some((row, reason)) = &mut self.waiting else { return };
        let why = mark.reason.unwrap_or("marked");
        *reason = Some(why);
        if row.event == PacketEvent::Admitted {
            self.stored.insert((row.flow_id, row.packet, row.kind), why);
        }
    }
}

/// Formats a comment about the switch's treatment of a packet.
fn comment(row: &PacketRow, marked: Option<&str>, classes: &[String]) -> String {
    let class = row.class.and_then(|class| classes.get(usize::from(class))).map_or("", String::as_str);
    let about = format!(
        "flow {} ({class}), {} {}",
        row.flow_id.unwrap_or_default(),
        row.kind.unwrap_or_default(),
        row.packet.unwrap_or_default()
    );
    Remark {
        event: row.event.name(),
        queue: &format!("{}.{}", row.port.unwrap_or_default(), row.priority),
        about: &about,
        queue_bytes: row.queue_bytes,
        buffer_bytes: row.occupancy_bytes,
        limit: row.threshold_bytes,
        reason: row.reason,
        marked,
        bound: row
            .bound
            .zip(row.held_bytes)
            .zip(row.limit_bytes)
            .map(|((bound, held), limit)| (bound, held, limit)),
    }
    .to_string()
}

/// Returns frame headers that identify the flow, queue and packet.
fn frame(row: &PacketRow, is_marked: bool) -> Vec<u8> {
    let flow = row.flow_id.unwrap_or_default() as u32;
    let mut frame = Vec::with_capacity(HEADERS);
    frame.extend([2, 0, 0, 0, (row.port.unwrap_or_default() >> 8) as u8, row.port.unwrap_or_default() as u8]);
    frame.extend([2, 0, 0, 1, (row.ingress_port >> 8) as u8, row.ingress_port as u8, 0x08, 0x00]);
    let length = row.size_bytes.saturating_sub(14).clamp(28, 65_535) as u16;
    let ecn = if is_marked { 3 } else { 0 };
    let mut ip = vec![0x45, (row.priority << 5) | ecn];
    ip.extend(length.to_be_bytes());
    ip.extend((row.packet.unwrap_or_default() as u16).to_be_bytes());
    ip.extend([0, 0, 64, 17, 0, 0]);
    let [_, a, b, c] = flow.to_be_bytes();
    ip.extend([10, a, b, c, 11, a, b, c]);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(ip);
    let source = 1_024 + (flow % 60_000) as u16;
    frame.extend(source.to_be_bytes());
    frame.extend(9_u16.to_be_bytes());
    frame.extend((length - 20).to_be_bytes());
    // The checksum is zero, because the file has no payload to check.
    frame.extend([0, 0]);
    frame
}

/// Computes the Internet checksum of a header (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
