//! On-off sources: each source alternates between silence and a burst at its rate.

use crate::durations::Durations;
use crate::pattern::Racks;
use crate::{FlowSource, FlowSpec, Pattern, SourceError};
use bufferlab_units::{BitRate, RandomStream, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Senders and receivers of the bursts.
#[derive(Clone, Copy, Debug)]
pub enum OnOffPartners<'a> {
    /// Every pair (from, to) of hosts is an on-off source.
    Pairs(&'a [(u32, u32)]),
    /// Every host is a source, and draws a partner for each of its bursts.
    Pattern {
        /// Hosts of every rack, in the order that [`Pattern::NextRack`] follows.
        racks: &'a [Vec<u32>],
        /// Pattern that selects the partners of a sender.
        pattern: Pattern,
    },
}

/// A kind of burst that on-off sources send: its class, durations, rate and packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstKind {
    /// Class of the burst's flows ([`FlowSpec::class`]).
    pub class: u16,
    /// Frequency of this kind of burst relative to the source's other kinds.
    pub weight: f64,
    /// Distribution of the burst's duration.
    pub on: Durations,
    /// Sending rate during the burst, with headers.
    pub rate: BitRate,
    /// Size of a full packet on the wire (bytes).
    pub packet_bytes: u32,
    /// Payload of a full packet of the burst (bytes).
    pub payload_bytes: u32,
}

impl BurstKind {
    /// Payload of a burst that lasts for `on`: the nearest number of whole packets, at least one.
    #[must_use]
    pub fn size(&self, on: Time) -> u64 {
        let bits_ps = u128::from(on.0) * u128::from(self.rate.0);
        let packet = u128::from(self.packet_bytes) * 8_000_000_000_000;
        let packets = (bits_ps + packet / 2) / packet;
        packets.clamp(1, u128::from(u32::MAX)) as u64 * u64::from(self.payload_bytes)
    }
}

/// Parameters of an [`OnOffSource`].
#[derive(Clone, Debug)]
pub struct OnOffParams<'a> {
    /// Seed of the run, from which the sources derive their random streams.
    pub seed: u64,
    /// Name of the random streams, usually the class name. The name must differ between the sources
    /// of a run.
    pub label: &'a str,
    /// Senders and receivers of the bursts.
    pub partners: OnOffPartners<'a>,
    /// Kinds of bursts; a source draws the kind of each burst.
    pub kinds: Vec<BurstKind>,
    /// Distribution of the duration of the silence between bursts.
    pub off: Durations,
    /// Time at which bursts stop starting: all bursts start in `0..end`.
    pub end: Time,
}

/// Set of independent on-off sources. A burst is one flow of whole packets.
///
/// Every source begins silent. Random streams: `workload/<label>/on`, `…/off`, `…/kinds` and
/// `…/destinations`. The index of a stream consists of the hosts of a pair, or of the sending host.
/// So other sources of the workload do not change a source's draws.
#[derive(Clone, Debug)]
pub struct OnOffSource {
    /// Start of the next burst of every source with a burst before the end.
    next: BinaryHeap<Reverse<(Time, u32)>>,
    sources: Vec<Source>,
    racks: Option<(Racks, Pattern)>,
    kinds: Vec<BurstKind>,
    weight: f64,
    off: Durations,
    end: Time,
}

#[derive(Clone, Debug)]
struct Source {
    src: u32,
    /// Receiving host; `None` if the source draws a receiver for every burst.
    dst: Option<u32>,
    on: RandomStream,
    off: RandomStream,
    kinds: RandomStream,
    destinations: RandomStream,
}

impl OnOffSource {
    /// Creates the on-off sources.
    ///
    /// # Errors
    /// [`SourceError`] if `partners` has no pair, a pair is listed twice or sends to itself, or the
    /// pattern does not fit the racks. Also if `kinds` has no kind of burst, or a duration is
    /// invalid.
    pub fn new(params: OnOffParams<'_>) -> Result<Self, SourceError> {
        let OnOffParams { seed, label, partners, kinds, off, end } = params;
        let weight: f64 = kinds.iter().map(|kind| kind.weight).sum();
        let sound = |kind: &BurstKind| {
            kind.on.is_sound() && kind.weight > 0.0 && kind.packet_bytes > 0 && kind.rate.0 > 0
        };
        if kinds.is_empty() || !kinds.iter().all(sound) || !off.is_sound() || !weight.is_finite() {
            return Err(SourceError::Bursts);
        }
        let (racks, ends) = match partners {
            OnOffPartners::Pairs(pairs) => {
                check_pairs(pairs)?;
                (None, pairs.iter().map(|&(src, dst)| (src, Some(dst))).collect::<Vec<_>>())
            }
            OnOffPartners::Pattern { racks, pattern } => {
                let racks = Racks::new(racks, pattern)?;
                let ends = racks.hosts().iter().map(|&host| (host, None)).collect();
                (Some((racks, pattern)), ends)
            }
        };
        let stream = |purpose: &str, src: u32, dst: Option<u32>| {
            let index = u64::from(src) << 32 | u64::from(dst.unwrap_or(u32::MAX));
            RandomStream::new(seed, &format!("workload/{label}/{purpose}"), index)
        };
        let source = |(src, dst)| Source {
            src,
            dst,
            on: stream("on", src, dst),
            off: stream("off", src, dst),
            kinds: stream("kinds", src, dst),
            destinations: stream("destinations", src, dst),
        };
        let mut this = Self {
            next: BinaryHeap::with_capacity(ends.len()),
            sources: ends.into_iter().map(source).collect(),
            racks,
            kinds,
            weight,
            off,
            end,
        };
        for index in 0..this.sources.len() {
            let first = this.off.sample_first(&mut this.sources[index].off);
            this.schedule(index, first);
        }
        Ok(this)
    }

    fn schedule(&mut self, index: usize, start: Time) {
        if start < self.end {
            self.next.push(Reverse((start, index as u32)));
        }
    }

    /// Draws the kind of a source's next burst. A source with a single kind takes no random number.
    fn choose(&mut self, index: usize) -> BurstKind {
        if let [only] = self.kinds[..] {
            return only;
        }
        let mut left = self.sources[index].kinds.next_f64() * self.weight;
        let (last, others) = self.kinds.split_last().expect("there is a kind");
        for kind in others {
            if left < kind.weight {
                return *kind;
            }
            left -= kind.weight;
        }
        *last
    }
}

fn check_pairs(pairs: &[(u32, u32)]) -> Result<(), SourceError> {
    let mut seen = BTreeSet::new();
    for &(src, dst) in pairs {
        if src == dst {
            return Err(SourceError::SelfPair { host: src });
        }
        if !seen.insert((src, dst)) {
            return Err(SourceError::PairTwice { src, dst });
        }
    }
    if pairs.is_empty() { Err(SourceError::NoPairs) } else { Ok(()) }
}

impl FlowSource for OnOffSource {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let Reverse((start, index)) = self.next.pop()?;
        let index = index as usize;
        let kind = self.choose(index);
        let source = &mut self.sources[index];
        let on = kind.on.sample(&mut source.on);
        let off = self.off.sample(&mut source.off);
        let dst = match (source.dst, &self.racks) {
            (Some(dst), _) => dst,
            // With a pattern, every host is a source, so the index of a source is the host's slot.
            (None, Some((racks, pattern))) => racks.partner(index, *pattern, &mut source.destinations),
            (None, None) => unreachable!("a source without a partner has a pattern"),
        };
        let src = source.src;
        self.schedule(index, start.saturating_add(on).saturating_add(off));
        Some(FlowSpec {
            start,
            src,
            dst,
            size: kind.size(on),
            class: kind.class,
            query: FlowSpec::NO_QUERY,
            open: None,
            data_path: None,
            ack_path: None,
            node: FlowSpec::NO_NODE,
        })
    }

    fn boxed_clone(&self) -> Option<Box<dyn FlowSource>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durations::DurationShape;

    fn kind(on: Time, shape: DurationShape) -> BurstKind {
        BurstKind {
            class: 4,
            weight: 1.0,
            on: Durations { mean: on, shape },
            rate: BitRate::gbps(8),
            packet_bytes: 1_500,
            payload_bytes: 1_446,
        }
    }

    fn params<'a>(pairs: &'a [(u32, u32)], kinds: Vec<BurstKind>) -> OnOffParams<'a> {
        OnOffParams {
            seed: 1,
            label: "burst",
            partners: OnOffPartners::Pairs(pairs),
            kinds,
            off: Durations { mean: Time::from_us(19_750), shape: DurationShape::Exponential },
            end: Time::from_ms(100_000),
        }
    }

    fn drain(params: OnOffParams<'_>) -> Vec<FlowSpec> {
        let mut source = OnOffSource::new(params).expect("sound");
        std::iter::from_fn(|| source.next_flow()).collect()
    }

    #[test]
    fn bursts_have_the_mean_length_and_come_at_the_mean_rate() {
        let pairs: Vec<_> = (0..16).map(|host| (host, host + 16)).collect();
        let flows = drain(params(&pairs, vec![kind(Time::from_us(250), DurationShape::Exponential)]));
        // A pair has 5,000 bursts. The number of all bursts has a standard deviation of 0.35 %, and
        // the load has a standard deviation of 0.5 %.
        assert!((78_900..81_100).contains(&flows.len()), "{}", flows.len());
        let bytes: u64 = flows.iter().map(|flow| flow.size / 1_446 * 1_500).sum();
        // A burst has 8 Gb/s for 250 us of every 20 ms, so each source sends 100 Mb/s.
        let load = bytes as f64 * 8.0 / 100.0 / 16.0;
        assert!((load - 100e6).abs() < 2e6, "{load}");
        assert!(flows.iter().all(|flow| pairs.contains(&(flow.src, flow.dst)) && flow.class == 4));
        assert!(flows.windows(2).all(|pair| pair[0].start <= pair[1].start));
    }

    #[test]
    fn bursts_of_one_source_do_not_overlap() {
        let flows = drain(params(&[(0, 8)], vec![kind(Time::from_ms(20), DurationShape::Pareto(1.5))]));
        let end = |flow: &FlowSpec| flow.start + BitRate::gbps(8).serialization(flow.size / 1_446 * 1_500);
        // Rounding to whole packets changes a burst by at most half a packet.
        let slack = Time::from_us(1);
        assert!(flows.windows(2).all(|pair| pair[1].start + slack > end(&pair[0])));
    }

    #[test]
    fn a_source_does_not_notice_its_neighbours() {
        let kinds = || vec![kind(Time::from_us(250), DurationShape::Exponential)];
        let alone = drain(params(&[(3, 4)], kinds()));
        let mut together = drain(params(&[(0, 1), (3, 4), (5, 6)], kinds()));
        together.retain(|flow| flow.src == 3);
        assert_eq!(alone, together);
    }

    #[test]
    fn kinds_are_chosen_by_their_weights() {
        let mut rare = kind(Time::from_ms(1), DurationShape::Fixed);
        (rare.class, rare.weight) = (5, 0.1);
        let mut common = kind(Time::from_us(250), DurationShape::Fixed);
        common.weight = 0.9;
        let flows = drain(params(&[(0, 1), (2, 3)], vec![common, rare]));
        let share = flows.iter().filter(|flow| flow.class == 5).count() as f64 / flows.len() as f64;
        assert!((share - 0.1).abs() < 0.01, "{share}");
        // A burst of 8 Gb/s for 1 ms has 1 MB on the wire, in 667 packets.
        assert!(flows.iter().all(|flow| flow.class == 4 || flow.size == 667 * 1_446));
    }

    #[test]
    fn with_a_pattern_every_host_sends_to_others() {
        let racks = [(0..4).collect::<Vec<u32>>()];
        let mut params = params(&[], vec![kind(Time::from_us(250), DurationShape::Fixed)]);
        params.partners = OnOffPartners::Pattern { racks: &racks, pattern: Pattern::AllToAll };
        let flows = drain(params);
        let pairs: BTreeSet<_> = flows.iter().map(|flow| (flow.src, flow.dst)).collect();
        assert_eq!(pairs.len(), 12);
        assert!(pairs.iter().all(|(src, dst)| src != dst));
    }

    #[test]
    fn nonsense_is_refused() {
        let refused = |params| OnOffSource::new(params).err();
        let kinds = || vec![kind(Time::from_us(250), DurationShape::Fixed)];
        assert_eq!(refused(params(&[], kinds())), Some(SourceError::NoPairs));
        assert_eq!(refused(params(&[(1, 1)], kinds())), Some(SourceError::SelfPair { host: 1 }));
        let twice = [(0, 1), (0, 1)];
        assert_eq!(refused(params(&twice, kinds())), Some(SourceError::PairTwice { src: 0, dst: 1 }));
        let never = vec![kind(Time::ZERO, DurationShape::Fixed)];
        assert_eq!(refused(params(&[(0, 1)], never)), Some(SourceError::Bursts));
        assert_eq!(refused(params(&[(0, 1)], Vec::new())), Some(SourceError::Bursts));
    }
}
