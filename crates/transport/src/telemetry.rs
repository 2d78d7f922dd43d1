//! In-band network telemetry: reports of switches to transports that request reports.

use bufferlab_units::{BitRate, Time};

/// Largest number of switches on a path that send reports. HPCC's header has space for five
/// reports, and a path of a three-tier network has five switches.
pub const MAX_HOPS: usize = 8;

/// Telemetry report of one switch at the start of a packet's transmission (HPCC, SIGCOMM 2019,
/// figure 4; PowerTCP, NSDI 2022, section 3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopReport {
    /// Bytes in the egress port after the packet's departure, or in the packet's queue of this
    /// port. The transport chooses port or queue.
    pub queue_bytes: u32,
    /// Id of the egress port in the whole network. Reports of different ports cannot be compared.
    pub port: u32,
    /// Bytes that the port had sent before this packet.
    pub sent_bytes: u64,
    /// Time at which the switch created the report.
    pub at: Time,
    /// Rate of the egress port that the report describes.
    pub rate: BitRate,
}

/// Nanoseconds after which the time in HPCC's header wraps around to 0 (24 bits).
const HEADER_NS: u64 = 1 << 24;
/// Unit of the byte count in HPCC's header, which has 20 bits (bytes).
const HEADER_UNIT_BYTES: u64 = 128;
const HEADER_BYTES: u64 = HEADER_UNIT_BYTES << 20;

/// Reports of the previous ACK, with which the next reports are compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastReports {
    hops: [HopReport; MAX_HOPS],
    count: u8,
    /// Whether no ACK has arrived yet and the first ACK will be compared with zeros.
    from_zeros: bool,
}

impl LastReports {
    /// Compares the first ACK with reports of zeros, as in the public code of Reverie. Reverie's
    /// code reads reports that were never set and are zero: no queue, and no bytes received at time
    /// 0. In HPCC's header, time and bytes wrap around to 0, so the difference from zero is the
    /// header's value.
    pub(crate) fn of_zeros() -> Self {
        Self { from_zeros: true, ..Self::default() }
    }

    /// Calls `compare` with the header's values of each hop and with zeros.
    /// In Reverie's code a header has the bytes *received* for the port.
    fn compare_with_zeros(reports: &[HopReport], compare: &mut impl FnMut(&HopReport, &HopReport, Time)) {
        for report in reports {
            let at = Time::from_ns(report.at.as_ns() % HEADER_NS);
            let received = (report.sent_bytes + u64::from(report.queue_bytes)) % HEADER_BYTES;
            let now =
                HopReport { sent_bytes: received / HEADER_UNIT_BYTES * HEADER_UNIT_BYTES, at, ..*report };
            // The bytes received already include the growth of the queue.
            let zeros = HopReport { sent_bytes: 0, at: Time::ZERO, ..*report };
            if at > Time::ZERO {
                compare(&now, &zeros, at);
            }
        }
    }

    /// Calls `compare` with every hop's rate of change since the last ACK and stores `reports`. The
    /// function skips hops that were not on the path of the last ACK, and hops without a departure
    /// since the last ACK.
    pub(crate) fn update(
        &mut self,
        reports: &[HopReport],
        mut compare: impl FnMut(&HopReport, &HopReport, Time),
    ) {
        let reports = &reports[..reports.len().min(MAX_HOPS)];
        if std::mem::take(&mut self.from_zeros) {
            Self::compare_with_zeros(reports, &mut compare);
        }
        for (now, before) in reports.iter().zip(&self.hops[..usize::from(self.count)]) {
            if now.port == before.port && now.at > before.at {
                compare(now, before, now.at - before.at);
            }
        }
        // A report in a late ACK must not replace a newer report of its port.
        for (index, &report) in reports.iter().enumerate() {
            let kept = &mut self.hops[index];
            if index >= usize::from(self.count) || kept.port != report.port || kept.at < report.at {
                *kept = report;
            }
        }
        self.count = reports.len() as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(port: u32, at_us: u64) -> HopReport {
        HopReport { port, at: Time::from_us(at_us), rate: BitRate::gbps(10), ..HopReport::default() }
    }

    fn compared(last: &mut LastReports, reports: &[HopReport]) -> Vec<(u32, Time)> {
        let mut found = Vec::new();
        last.update(reports, |now, _, gap| found.push((now.port, gap)));
        found
    }

    #[test]
    fn only_reports_of_one_port_in_the_order_of_time_are_compared() {
        let mut last = LastReports::default();
        assert_eq!(compared(&mut last, &[report(1, 10), report(2, 20)]), []);
        assert_eq!(compared(&mut last, &[report(1, 13), report(3, 25)]), [(1, Time::from_us(3))]);
        // An ACK that arrives after an ACK with newer reports has no effect.
        assert_eq!(compared(&mut last, &[report(1, 11), report(3, 22)]), []);
        assert_eq!(compared(&mut last, &[report(1, 14)]), [(1, Time::from_us(1))]);
    }

    #[test]
    fn the_first_reports_are_compared_with_zeros_in_the_widths_of_the_header_if_that_is_asked_for() {
        let mut last = LastReports::of_zeros();
        // The time of 2^24 ns is 16.777 ms, and 2^20 x 128 B are 134 MB. The counters of time and
        // bytes have both wrapped around once.
        let first = HopReport { sent_bytes: (1 << 27) + 1_000, queue_bytes: 300, ..report(1, 17_777) };
        let mut found = Vec::new();
        last.update(&[first], |now, before, gap| {
            let growth = now.queue_bytes - before.queue_bytes;
            found.push((now.sent_bytes - before.sent_bytes, growth, now.queue_bytes, gap));
        });
        // The header counts units of 128 B, so 1,300 B become 1,280 B.
        assert_eq!(found, [(1_280, 0, 300, Time::from_ns(17_777_000 - (1 << 24)))]);
        assert_eq!(compared(&mut last, &[report(1, 17_780)]), [(1, Time::from_us(3))], "only the first");
    }

    #[test]
    fn hops_beyond_the_limit_are_left_out() {
        let many = |at| (0..12).map(|port| report(port, at)).collect::<Vec<_>>();
        let mut last = LastReports::default();
        assert_eq!(compared(&mut last, &many(1)), []);
        assert_eq!(compared(&mut last, &many(2)).len(), MAX_HOPS);
    }
}
