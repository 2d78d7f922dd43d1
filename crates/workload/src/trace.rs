//! Replay of packet traces: reads packets from files, and maps their addresses to hosts.

mod addresses;
mod csv;
mod error;
mod frame;
mod pcap;
mod records;

pub use addresses::{AddressBook, AddressRule, Unmapped};
pub use error::{PacketPlace, PacketProblem, TraceError};
pub(crate) use records::is_capture;

use crate::FlowSpec;
use crate::flow_list::{LimitedLines, unpacked};
use crate::limits::{ADDRESSES, PACKETS};
use bufferlab_params::Beyond;
use bufferlab_units::Time;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::path::Path;

/// Options for the conversion of a trace into traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceOptions {
    /// Time at which the replay sends the first packet.
    pub start: Time,
    /// Factor for the time between any two packets: with 2, the replay has half the speed of the
    /// trace.
    pub stretch: f64,
    /// Size of the largest packet that can be sent (bytes on the wire).
    pub largest: u32,
    /// Number of queues of a port, if the trace selects a packet's queue. `None` if the priorities
    /// in the trace are ignored.
    pub queues: Option<u8>,
}

/// A packet trace, ready to be replayed. Every packet is a separate flow, whose [`FlowSpec::size`]
/// is the size of the packet on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Packets of the trace, ordered by time; packets with equal times keep their order.
    pub packets: Vec<FlowSpec>,
    /// Priority of the packets of each [`FlowSpec::class`]; `None` if the trace has no priorities.
    pub priorities: Vec<Option<u8>>,
    /// Number of omitted packets whose sender and receiver map to one host.
    pub stayed: usize,
    /// Number of omitted packets of a capture that have no network address (such as ARP).
    pub without_address: usize,
    /// Names of the ignored columns, in the order of the file.
    pub ignored_columns: Vec<String>,
    /// Number of omitted bytes at the end of a capture that form no whole packet.
    pub cut_off: u64,
}

/// A packet of a trace before its addresses are mapped.
#[derive(Clone, Debug)]
struct RawPacket {
    /// Time of the packet since an arbitrary instant of the file (ps). A date in picoseconds needs
    /// more than 64 bits.
    at_ps: i128,
    /// Index of the packet's source address in [`RawTrace::addresses`].
    source: u32,
    destination: u32,
    /// Size of the trace packet on the wire (bytes).
    size: u64,
    priority: Option<u8>,
    place: PacketPlace,
}

/// Packets and addresses that a reader found in a trace file.
#[derive(Default)]
struct RawTrace {
    packets: Vec<RawPacket>,
    without_address: usize,
    ignored_columns: Vec<String>,
    cut_off: u64,
    /// All addresses in the trace file, each once.
    addresses: Vec<String>,
    by_text: BTreeMap<String, u32>,
    by_address: BTreeMap<IpAddr, u32>,
}

impl RawTrace {
    /// Returns the index of an address in a capture, and adds a new address to the list.
    fn address(&mut self, address: IpAddr) -> u32 {
        if let Some(&known) = self.by_address.get(&address) {
            return known;
        }
        let number = self.name(&address.to_string());
        self.by_address.insert(address, number);
        number
    }

    /// Returns the index of an address as written in a text file.
    fn name(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.by_text.get(text) {
            return known;
        }
        let number = self.addresses.len() as u32;
        self.addresses.push(text.to_owned());
        self.by_text.insert(text.to_owned(), number);
        number
    }

    /// Checks the number of packets, and the number of addresses so far, against their limits.
    fn check(&self, packets: u64) -> Result<(), Beyond> {
        PACKETS.check(packets)?;
        ADDRESSES.check(self.addresses.len() as u64)
    }

    /// Adds a packet whose source and destination addresses have the given indices.
    fn add(
        &mut self,
        path: &Path,
        at_ps: i128,
        [source, destination]: [u32; 2],
        size: u64,
        priority: Option<u8>,
        place: PacketPlace,
    ) -> Result<(), TraceError> {
        self.check(self.packets.len() as u64 + 1).map_err(|beyond| TraceError::TooMany {
            path: path.to_owned(),
            place,
            beyond,
        })?;
        self.packets.push(RawPacket { at_ps, source, destination, size, priority, place });
        Ok(())
    }
}

/// Reads a packet trace: CSV, or a capture (pcap, pcapng); plain or gzipped. The content decides
/// the format. `path` is for messages.
///
/// A CSV file has a header with the columns
///
/// | column | meaning |
/// |---|---|
/// | `time_ps`, `time_ns`, `time_us` or `time_s` | send time of the packet, decimals included; any instant may be zero |
/// | `src`, `dst` | host number (from 0), host name, or an address |
/// | `size_bytes` | size on the wire, at least 1 |
/// | `priority` | optional: queue of the packet, from 0 |
///
/// A capture contains Ethernet frames (VLAN tags and MPLS labels are skipped), IP packets, or
/// packets of all interfaces of Linux (`tcpdump -i any`). Times may have any resolution, in
/// either byte order. An incomplete last packet is omitted. Sources and destinations are IPv4
/// and IPv6 addresses. The size of a packet is its size on the wire, even if the capture cuts
/// the packet. The priority of a packet is the priority in its VLAN tag, or else the first three
/// bits of the DSCP.
///
/// # Errors
/// [`TraceError`], with the file and the line or the number of the packet.
pub fn parse_trace(
    path: &Path,
    content: &[u8],
    book: &mut AddressBook<'_>,
    options: &TraceOptions,
) -> Result<Trace, TraceError> {
    let mut content = BufReader::new(unpacked(content));
    let start = content.fill_buf().map_err(|cause| TraceError::io(path, cause))?;
    let raw = if is_capture(start) {
        pcap::read(path, content)?
    } else {
        csv::read(path, LimitedLines::new(content))?
    };
    replay(path, raw, book, options)
}

fn replay(
    path: &Path,
    mut raw: RawTrace,
    book: &mut AddressBook<'_>,
    options: &TraceOptions,
) -> Result<Trace, TraceError> {
    // Captures from several NICs may have packets out of order.
    raw.packets.sort_by_key(|packet| packet.at_ps);
    let Some(first) = raw.packets.first().map(|packet| packet.at_ps) else {
        let path = path.to_owned();
        return Err(match raw.without_address {
            0 => TraceError::Empty { path },
            frames => TraceError::NoAddresses { path, frames },
        });
    };
    let mut trace = Trace {
        packets: Vec::with_capacity(raw.packets.len()),
        priorities: Vec::new(),
        stayed: 0,
        without_address: raw.without_address,
        ignored_columns: raw.ignored_columns,
        cut_off: raw.cut_off,
    };
    for packet in &raw.packets {
        let fault = |problem| TraceError::Packet { path: path.to_owned(), place: packet.place, problem };
        let src = book.host(&raw.addresses[packet.source as usize]).map_err(fault)?;
        let dst = book.host(&raw.addresses[packet.destination as usize]).map_err(fault)?;
        if src == dst {
            trace.stayed += 1;
            continue;
        }
        if packet.size > u64::from(options.largest) {
            return Err(fault(PacketProblem::TooLong { bytes: packet.size, largest: options.largest }));
        }
        let priority = match (options.queues, packet.priority) {
            (Some(queues), Some(priority)) if priority >= queues => {
                return Err(fault(PacketProblem::NoSuchQueue { priority, queues }));
            }
            (Some(_), priority) => priority,
            (None, _) => None,
        };
        let class = trace.priorities.iter().position(|known| *known == priority).unwrap_or_else(|| {
            trace.priorities.push(priority);
            trace.priorities.len() - 1
        });
        let start = stretched((packet.at_ps - first).unsigned_abs(), options.stretch)
            .and_then(|after| options.start.0.checked_add(after))
            .ok_or_else(|| fault(PacketProblem::TooLate))?;
        trace.packets.push(FlowSpec {
            start: Time(start),
            src,
            dst,
            size: packet.size,
            class: class as u16,
            query: FlowSpec::NO_QUERY,
            open: None,
            data_path: None,
            ack_path: None,
            node: FlowSpec::NO_NODE,
        });
    }
    if trace.packets.is_empty() {
        return Err(TraceError::NothingToSend { path: path.to_owned(), packets: raw.packets.len() });
    }
    Ok(trace)
}

/// Multiplies a time span (ps) by a factor, and rounds to nearest; exact for the factor 1.
/// The result is `None` if the time exceeds 64 bits of picoseconds.
fn stretched(span: u128, stretch: f64) -> Option<u64> {
    if stretch == 1.0 {
        return u64::try_from(span).ok();
    }
    let product = span as f64 * stretch;
    (product < u64::MAX as f64).then(|| product.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_of_too_many_packets_is_refused() {
        let trace = RawTrace::default();
        assert_eq!(trace.check(PACKETS.most), Ok(()));
        let beyond = trace.check(PACKETS.most + 1).expect_err("one too many").to_string();
        assert_eq!(beyond, "10000001 are too many packets of a trace, expected at most 10000000");
    }
}
