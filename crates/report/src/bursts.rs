//! Statistics of open-loop traffic: bursts without loss, queueing delays, and carried traffic of
//! ports.

use crate::error::ReportError;
use bufferlab_metrics::{DelayRow, FlowRow, FlowState, LinkRow};
use bufferlab_results::RunResult;
use serde::Serialize;
use std::collections::BTreeMap;

/// Width of a bin of burst lengths (ns), as in TDT, Fig. 9.
const BIN_NS: u64 = 250_000;
/// Number of bins of burst lengths; the last bin has no upper limit.
const BINS: usize = 9;

/// Statistics of the open-loop flows of a traffic class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BurstGroup {
    /// Traffic class of the bursts.
    pub class: String,
    /// Number of bursts with a known result: all packets arrived, or some were lost.
    pub bursts: u64,
    /// Number of bursts without a lost packet.
    pub lossless: u64,
    /// Whether half of the bursts last for a tenth of the run or longer, so that the class is a
    /// continuous load.
    pub long_lived: bool,
    /// Number of packets that the bursts sent.
    pub sent_packets: u64,
    /// Number of lost packets of the bursts.
    pub lost_packets: u64,
    /// Burst length that best separates absorbed bursts from bursts with losses (ns). Most bursts
    /// up to this length are absorbed.
    pub absorbed_ns: u64,
    /// Bursts by length, in bins of 0.25 ms; the last bin has no upper limit, and empty
    /// bins are omitted.
    pub bins: Vec<BurstBin>,
}

/// A bin of bursts with similar length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BurstBin {
    /// Shortest length of the bin's bursts (ns).
    pub from_ns: u64,
    /// Upper limit of the bursts' length, excluded (ns); `None` for no limit.
    pub to_ns: Option<u64>,
    /// Number of bursts with a length in the bin.
    pub bursts: u64,
    /// Number of the bin's bursts without a lost packet.
    pub lossless: u64,
}

impl BurstGroup {
    /// Fraction of the class's bursts without a lost packet; `None` without bursts.
    #[must_use]
    pub fn lossless_fraction(&self) -> Option<f64> {
        (self.bursts > 0).then(|| self.lossless as f64 / self.bursts as f64)
    }

    /// Lost packets divided by sent packets of the bursts; `None` if the bursts sent no packets.
    #[must_use]
    pub fn lost_fraction(&self) -> Option<f64> {
        (self.sent_packets > 0).then(|| self.lost_packets as f64 / self.sent_packets as f64)
    }
}

impl BurstBin {
    /// Fraction of the bin's bursts without a lost packet.
    #[must_use]
    pub fn lossless_fraction(&self) -> f64 {
        self.lossless as f64 / self.bursts as f64
    }

    /// Returns the bins of burst lengths, with zero bursts in every bin.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..BINS as u64).map(|at| Self {
            from_ns: at * BIN_NS,
            to_ns: (at + 1 < BINS as u64).then(|| (at + 1) * BIN_NS),
            bursts: 0,
            lossless: 0,
        })
    }

    /// Name of a bin of burst lengths in metric ids: `250_500us`, and `2000us_up` for the last bin.
    pub(crate) fn key(&self) -> String {
        let us = |ns: u64| ns / 1_000;
        match self.to_ns {
            Some(to) => format!("{}_{}us", us(self.from_ns), us(to)),
            None => format!("{}us_up", us(self.from_ns)),
        }
    }

    /// Name of a bin of burst lengths in tables: `0.25 to 0.5 ms`, and `2 ms and longer` for the
    /// last bin.
    #[must_use]
    pub fn label(&self) -> String {
        let ms = |ns: u64| ns as f64 * 1e-6;
        match self.to_ns {
            Some(to) => format!("{} to {} ms", ms(self.from_ns), ms(to)),
            None => format!("{} ms and longer", ms(self.from_ns)),
        }
    }
}

/// Queueing delays of a class's packets in switches, over all queues.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DelayGroup {
    /// Traffic class of the measured packets.
    pub class: String,
    /// Number of the class's packets that the switches sent.
    pub packets: u64,
    /// Exact mean of the queueing delays (ns).
    pub mean_ns: f64,
    /// Median of the queueing delays (ns). A quantile is the upper edge of its bin, at most 1.6 %
    /// above the exact value.
    pub p50_ns: u64,
    /// 90th percentile of the queueing delays (ns).
    pub p90_ns: u64,
    /// 99th percentile of the queueing delays (ns).
    pub p99_ns: u64,
    /// Upper edge of the bin with the longest queueing delay (ns).
    pub max_ns: u64,
}

/// Offered and carried traffic of a switch port while flows started.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortShare {
    /// Name of the switch with the port.
    pub from: String,
    /// Name of the neighbour at the other end of the port's link.
    pub to: String,
    /// Rate of the port (bit/s).
    pub rate_bps: u64,
    /// Traffic offered to the port (bit/s).
    pub offered_bps: f64,
    /// Traffic that the port carried (bit/s).
    pub carried_bps: f64,
}

impl PortShare {
    /// Carried traffic divided by the offered traffic, or by the port rate if this rate is lower.
    /// `None` if no traffic was offered.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let ideal = self.offered_bps.min(self.rate_bps as f64);
        (ideal > 0.0).then(|| self.carried_bps / ideal)
    }
}

/// Jain's fairness index, (Σx)² / (n Σx²). The index is 1 if all values are equal, and 1/n if only
/// one value is not zero. The result is `None` without values, or if all values are zero.
#[must_use]
pub fn jain(values: &[f64]) -> Option<f64> {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Collector of the open-loop flows of a traffic class.
#[derive(Debug, Default)]
pub(crate) struct Bursts {
    /// Length of each burst, and whether the burst lost no packet.
    fates: Vec<(u64, bool)>,
    sent_packets: u64,
    lost_packets: u64,
}

impl Bursts {
    /// Adds an open-loop flow as a burst of its class, and ignores a flow with congestion control.
    pub(crate) fn add(&mut self, row: &FlowRow) {
        let Some(length_ns) = row.sending_ns else { return };
        self.sent_packets += row.sent_packets;
        self.lost_packets += row.dropped_packets;
        match row.state {
            FlowState::Finished => self.fates.push((length_ns, true)),
            FlowState::Lossy => self.fates.push((length_ns, false)),
            // The end of the run cut off the burst: its result is known only if packets were lost.
            FlowState::Unfinished if row.dropped_packets > 0 => self.fates.push((length_ns, false)),
            FlowState::Unfinished => {}
        }
    }

    /// Returns the statistics of the class; `None` if the class has no open-loop flow.
    pub(crate) fn finish(mut self, class: String, duration_ns: u64) -> Option<BurstGroup> {
        if self.sent_packets == 0 {
            return None;
        }
        self.fates.sort_unstable();
        let mut bins = [(0, 0); BINS];
        for &(length, lossless) in &self.fates {
            let bin = &mut bins[((length / BIN_NS) as usize).min(BINS - 1)];
            bin.0 += 1;
            bin.1 += u64::from(lossless);
        }
        let bins = BurstBin::all().zip(bins).filter(|(_, (bursts, _))| *bursts > 0);
        let median = self.fates.get(self.fates.len() / 2).map_or(0, |fate| fate.0);
        Some(BurstGroup {
            class,
            bursts: self.fates.len() as u64,
            lossless: self.fates.iter().filter(|fate| fate.1).count() as u64,
            long_lived: median * 10 >= duration_ns,
            sent_packets: self.sent_packets,
            lost_packets: self.lost_packets,
            absorbed_ns: best_cut(&self.fates),
            bins: bins.map(|(bin, (bursts, lossless))| BurstBin { bursts, lossless, ..bin }).collect(),
        })
    }
}

/// Returns the length L that best separates absorbed bursts (up to L) from longer bursts with
/// losses: the fewest bursts are exceptions. L is a burst's length, or 0. If several lengths are
/// equally good, the smallest length is returned.
fn best_cut(sorted: &[(u64, bool)]) -> u64 {
    // With a separating length of 0, every absorbed burst is an exception.
    let mut exceptions = sorted.iter().filter(|fate| fate.1).count() as i64;
    let (mut least, mut best) = (exceptions, 0);
    for group in sorted.chunk_by(|a, b| a.0 == b.0) {
        exceptions += group.iter().map(|fate| if fate.1 { -1 } else { 1 }).sum::<i64>();
        if exceptions < least {
            (least, best) = (exceptions, group[0].0);
        }
    }
    best
}

/// Number of packets in every bin of queueing delays, for every traffic class. Bins are given by
/// their upper edges (ns), ascending.
pub(crate) type DelaySamples = Vec<(String, Vec<(u64, u64)>)>;

/// Computes the queueing delays by class, over all queues. The results are empty if the run did not
/// measure delays.
pub(crate) fn delays(result: &RunResult) -> Result<(Vec<DelayGroup>, DelaySamples), ReportError> {
    let mut classes: BTreeMap<u16, (BTreeMap<u64, u64>, u128)> = BTreeMap::new();
    result.visit(|row: DelayRow| {
        let (bins, total_ns) = classes.entry(row.class).or_default();
        // If no packet of the queue waited, the delay is 0, although the bin's upper edge is above
        // 0.
        let delay_ns = if row.total_ns == 0 { 0 } else { row.to_ns };
        *bins.entry(delay_ns).or_default() += row.packets;
        *total_ns += u128::from(row.total_ns);
    })?;
    let (mut groups, mut samples) = (Vec::new(), Vec::new());
    for (class, (bins, total_ns)) in classes {
        let class = result.manifest().names.classes[usize::from(class)].clone();
        let packets: u64 = bins.values().sum();
        // The function computes quantiles of delays by nearest rank. Hundredths are whole numbers,
        // so the comparison with the rank is exact.
        let quantile = |hundredths: u64| {
            let mut seen = 0;
            let at = bins.iter().find(|(_, count)| {
                seen += **count;
                seen * 100 >= packets * hundredths
            });
            at.map_or(0, |(to, _)| *to)
        };
        groups.push(DelayGroup {
            class: class.clone(),
            packets,
            mean_ns: total_ns as f64 / packets as f64,
            p50_ns: quantile(50),
            p90_ns: quantile(90),
            p99_ns: quantile(99),
            max_ns: quantile(100),
        });
        samples.push((class, bins.into_iter().collect()));
    }
    Ok((groups, samples))
}

/// Returns the switch ports for which packets arrived in the arrival phase.
pub(crate) fn ports(result: &RunResult) -> Result<Vec<PortShare>, ReportError> {
    let seconds = result.manifest().duration_ns as f64 * 1e-9;
    let mut ports = Vec::new();
    result.visit(|row: LinkRow| {
        if let Some(offered) = row.offered_bytes.filter(|bytes| *bytes > 0) {
            ports.push(PortShare {
                from: row.from,
                to: row.to,
                rate_bps: row.rate_bps,
                offered_bps: offered as f64 * 8.0 / seconds,
                carried_bps: row.utilisation * row.rate_bps as f64,
            });
        }
    })?;
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_by_hand() {
        // The expected Jain index is (1 + 1 + 0.5)² / (3 · 2.25) = 6.25 / 6.75.
        assert!((jain(&[1.0, 1.0, 0.5]).unwrap() - 0.925_926).abs() < 1e-6);
        assert_eq!(jain(&[2.0; 7]), Some(1.0));
        assert_eq!(jain(&[3.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!((jain(&[]), jain(&[0.0])), (None, None));
    }

    #[test]
    fn a_port_could_have_carried_the_lesser_of_offer_and_rate() {
        let port = |offered_bps, carried_bps| PortShare {
            from: "switch".into(),
            to: "h0".into(),
            rate_bps: 1_000,
            offered_bps,
            carried_bps,
        };
        assert_eq!(port(2_000.0, 900.0).share(), Some(0.9));
        assert_eq!(port(200.0, 200.0).share(), Some(1.0));
        assert_eq!(port(0.0, 0.0).share(), None);
    }

    #[test]
    fn the_absorbed_length_has_the_fewest_exceptions() {
        assert_eq!(best_cut(&[(100, true), (200, true), (300, false)]), 200);
        assert_eq!(best_cut(&[(100, true), (200, true)]), 200);
        assert_eq!(best_cut(&[(100, false), (200, false)]), 0);
        // One short burst arrived at a full buffer, one long burst at an empty buffer.
        let fates =
            [(100, true), (110, false), (120, true), (130, true), (140, false), (150, false), (160, true)];
        assert_eq!(best_cut(&fates), 130);
        // All bursts have equal lengths. The best limit is 0 if most of the bursts lost packets.
        assert_eq!(best_cut(&[(250, false), (250, false), (250, true)]), 0);
        assert_eq!(best_cut(&[(250, false), (250, true), (250, true)]), 250);
        assert_eq!(best_cut(&[]), 0);
    }

    #[test]
    fn bursts_fall_into_quarters_of_a_millisecond() {
        let fates = vec![(0, true), (249_999, false), (250_000, true), (9_000_000, false)];
        let bursts = Bursts { fates, sent_packets: 10, lost_packets: 4 };
        let group = bursts.finish("burst".into(), 1_000_000_000).unwrap();
        let bins: Vec<_> = group.bins.iter().map(|bin| (bin.label(), bin.bursts, bin.lossless)).collect();
        let wanted = [("0 to 0.25 ms", 2, 1), ("0.25 to 0.5 ms", 1, 1), ("2 ms and longer", 1, 0)];
        assert_eq!(bins, wanted.map(|(label, bursts, lossless)| (label.to_owned(), bursts, lossless)));
        assert_eq!((group.lossless_fraction(), group.lost_fraction()), (Some(0.5), Some(0.4)));
        assert!(!group.long_lived);
        assert_eq!(Bursts::default().finish("tcp".into(), 1), None);
    }
}
