//! What switches report to transports that ask: in-band network telemetry.

use bufferlab_units::{BitRate, Time};

/// More switches than this on a path are not reported. HPCC's header has room for five; a
/// three-tier network has five.
pub const MAX_HOPS: usize = 8;

/// What one switch reported when it began to send a packet (HPCC, SIGCOMM 2019, figure 4; PowerTCP,
/// NSDI 2022, section 3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopReport {
    /// What the packet left behind in its egress port, or in its own queue there, as the transport
    /// asked for (bytes).
    pub queue_bytes: u32,
    /// Names the egress port in the whole network: reports of different ports cannot be compared.
    pub port: u32,
    /// Bytes that the port had sent before.
    pub sent_bytes: u64,
    /// When.
    pub at: Time,
    /// The port's rate.
    pub rate: BitRate,
}

/// HPCC's header counts nanoseconds in so many values before it begins again with 0 (24 bits).
const HEADER_NS: u64 = 1 << 24;
/// It counts bytes in units of 128 B, in 20 bits.
const HEADER_UNIT_BYTES: u64 = 128;
const HEADER_BYTES: u64 = HEADER_UNIT_BYTES << 20;

/// The reports of the previous ACK, to compare the next ones with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastReports {
    hops: [HopReport; MAX_HOPS],
    count: u8,
    /// No ACK has come yet, and the first one is compared with zeros.
    from_zeros: bool,
}

impl LastReports {
    /// The first ACK is compared with reports of zeros, as in the public code of Reverie, which
    /// reads reports that nobody has set (on a heap of zeros): no queue and nothing received at
    /// time 0. What a zero means depends on the header there, which is HPCC's: time and bytes begin
    /// again with 0, so that the difference to zero is what the header says.
    pub(crate) fn of_zeros() -> Self {
        Self { from_zeros: true, ..Self::default() }
    }

    /// Calls `compare` with what the header of each hop says and zeros. There, a header has the
    /// bytes *received* for the port.
    fn compare_with_zeros(reports: &[HopReport], compare: &mut impl FnMut(&HopReport, &HopReport, Time)) {
        for report in reports {
            let at = Time::from_ns(report.at.as_ns() % HEADER_NS);
            let received = (report.sent_bytes + u64::from(report.queue_bytes)) % HEADER_BYTES;
            let now =
                HopReport { sent_bytes: received / HEADER_UNIT_BYTES * HEADER_UNIT_BYTES, at, ..*report };
            // Received bytes have the queue's growth in them already.
            let zeros = HopReport { sent_bytes: 0, at: Time::ZERO, ..*report };
            if at > Time::ZERO {
                compare(&now, &zeros, at);
            }
        }
    }

    /// Calls `compare` with every hop's rate of change since the last ACK and remembers `reports`.
    /// Hops that were not on the path then, and those without a departure in between, are left out.
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
        // An older report (its ACK was overtaken) must not replace a newer one of the same port.
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
        // An ACK that was overtaken: nothing to compare, and nothing forgotten.
        assert_eq!(compared(&mut last, &[report(1, 11), report(3, 22)]), []);
        assert_eq!(compared(&mut last, &[report(1, 14)]), [(1, Time::from_us(1))]);
    }

    #[test]
    fn the_first_reports_are_compared_with_zeros_in_the_widths_of_the_header_if_that_is_asked_for() {
        let mut last = LastReports::of_zeros();
        // 2^24 ns are 16.777 ms, and 2^20 x 128 B 134 MB: both have begun again once.
        let first = HopReport { sent_bytes: (1 << 27) + 1_000, queue_bytes: 300, ..report(1, 17_777) };
        let mut found = Vec::new();
        last.update(&[first], |now, before, gap| {
            let growth = now.queue_bytes - before.queue_bytes;
            found.push((now.sent_bytes - before.sent_bytes, growth, now.queue_bytes, gap));
        });
        // 1,300 B received, in whole units of 128 B.
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
