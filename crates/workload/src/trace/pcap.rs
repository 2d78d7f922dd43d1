//! Packets of a capture: their addresses, if any, and their length on the wire.
//!
//! A capture need not contain whole packets. A snap length (`tcpdump -s 96`) cuts the packets, and
//! the capture records the length on the wire separately.

use super::frame::{Link, Parse};
use super::records::{Records, Stop};
use super::{PacketPlace, RawTrace, TraceError};
use std::io::Read;
use std::path::Path;

/// Reads a capture. An incomplete last packet is omitted and counted.
pub(super) fn read(path: &Path, content: impl Read) -> Result<RawTrace, TraceError> {
    let mut capture = Capture { path, trace: RawTrace::default(), packets: 0 };
    let mut records = match Records::new(content) {
        Ok(records) => records,
        Err(stop) => return capture.stop(stop).and(Ok(capture.trace)),
    };
    loop {
        let record = match records.next() {
            Ok(record) => record,
            Err(stop) => {
                capture.packets += 1;
                return capture.stop(stop).and(Ok(capture.trace));
            }
        };
        capture.packets += 1;
        let link = Link::new(record.link).map_err(|advice| TraceError::LinkType {
            path: path.to_owned(),
            link_type: record.link,
            advice,
        })?;
        match link.parse(&record.data, record.length) {
            Parse::Frame(frame) => {
                let place = PacketPlace::Number(capture.packets);
                let hosts = [frame.source, frame.destination].map(|address| capture.trace.address(address));
                let priority = Some(frame.priority);
                capture.trace.add(path, record.at_ps, hosts, u64::from(frame.bytes), priority, place)?;
            }
            Parse::NoAddress => capture.trace.without_address += 1,
        }
    }
}

/// Packets and addresses that the reader has found in a capture so far.
struct Capture<'a> {
    path: &'a Path,
    trace: RawTrace,
    /// Number of packets read so far, including those without an address.
    packets: u64,
}

impl Capture<'_> {
    /// Converts the reason for the end of a capture's records to success or an error.
    fn stop(&mut self, stop: Stop) -> Result<(), TraceError> {
        let path = self.path.to_owned();
        let place = PacketPlace::Number(self.packets);
        match stop {
            Stop::End => Ok(()),
            Stop::CutOff(bytes) if self.packets > 0 => {
                self.trace.cut_off = bytes;
                Ok(())
            }
            Stop::CutOff(bytes) => {
                let cause = format!("the file ends within its header, after {bytes} B");
                Err(TraceError::Damaged { path, place, cause })
            }
            Stop::Damaged(cause) => Err(TraceError::Damaged { path, place, cause }),
            Stop::Io(cause) => Err(TraceError::io(self.path, cause)),
        }
    }
}
