//! Poisson traffic: every host starts flows at random times, independently of all other hosts.

use crate::arrivals::{Arrivals, streams};
use crate::pattern::Racks;
use crate::{FlowSource, FlowSpec, Pattern, SizeDistribution, SourceError};
use bufferlab_units::{RandomStream, Time};

/// Parameters of a [`PoissonSource`].
#[derive(Clone, Debug)]
pub struct PoissonParams<'a> {
    /// Seed of the run, from which the source derives its random streams.
    pub seed: u64,
    /// Name of the random streams, usually the class name. The name must differ between the sources
    /// of a run, because two sources with equal names send at equal times.
    pub label: &'a str,
    /// Hosts of every rack, in the order that [`Pattern::NextRack`] follows. Racks without
    /// hosts are skipped.
    pub racks: &'a [Vec<u32>],
    /// Pattern that selects the receivers of each sender.
    pub pattern: Pattern,
    /// Sending and receiving hosts, instead of `racks` and `pattern`. A host sends to every
    /// receiver except itself with equal probability.
    pub between: Option<(&'a [u32], &'a [u32])>,
    /// Mean number of flows per second that every host starts, or zero for none; see
    /// [`crate::arrivals_per_second_per_host`].
    pub flows_per_second_per_host: f64,
    /// Distribution of the sizes of the source's flows.
    pub sizes: SizeDistribution,
    /// Class of the source's flows: [`FlowSpec::class`].
    pub class: u16,
    /// End of the period `0..end` in which flows start.
    pub end: Time,
}

/// Poisson arrivals at every host. The papers that bufferlab reproduces use this open-loop
/// background traffic.
///
/// Every host has an independent process and the random streams `workload/<label>/arrivals`,
/// `…/sizes` and `…/destinations`, each with the host's number as index.
#[derive(Clone, Debug)]
pub struct PoissonSource {
    arrivals: Arrivals,
    partners: Partners,
    sizes: SizeDistribution,
    size_streams: Vec<RandomStream>,
    destination_streams: Vec<RandomStream>,
    class: u16,
}

/// Senders and receivers of a source of flows.
#[derive(Clone, Debug)]
enum Partners {
    Pattern(Racks, Pattern),
    Between { senders: Vec<u32>, receivers: Vec<u32> },
}

impl Partners {
    fn senders(&self) -> &[u32] {
        match self {
            Self::Pattern(racks, _) => racks.hosts(),
            Self::Between { senders, .. } => senders,
        }
    }

    /// Draws sender and receiver of a flow of the sender in `slot`; takes exactly
    /// one random number.
    fn draw(&self, slot: usize, stream: &mut RandomStream) -> (u32, u32) {
        match self {
            Self::Pattern(racks, pattern) => (racks.hosts()[slot], racks.partner(slot, *pattern, stream)),
            Self::Between { senders, receivers } => {
                let src = senders[slot];
                let own = receivers.iter().position(|&host| host == src);
                let drawn = stream.below((receivers.len() - usize::from(own.is_some())) as u64) as usize;
                let skips = own.is_some_and(|own| drawn >= own);
                (src, receivers[drawn + usize::from(skips)])
            }
        }
    }
}

impl PoissonSource {
    /// Creates the Poisson processes of all hosts.
    ///
    /// # Errors
    /// [`SourceError`] if the pattern does not fit the racks, a sender has no receiver, or
    /// the rate is invalid.
    pub fn new(params: PoissonParams<'_>) -> Result<Self, SourceError> {
        let PoissonParams { seed, label, pattern, class, .. } = params;
        let partners = match params.between {
            None => Partners::Pattern(Racks::new(params.racks, pattern)?, pattern),
            Some((senders, receivers)) => {
                let is_lonely = |sender: &u32| receivers.iter().all(|receiver| receiver == sender);
                if senders.is_empty() || senders.iter().any(is_lonely) {
                    return Err(SourceError::TooFewHosts { hosts: receivers.len() });
                }
                Partners::Between { senders: senders.to_vec(), receivers: receivers.to_vec() }
            }
        };
        let hosts = partners.senders();
        Ok(Self {
            arrivals: Arrivals::new(seed, label, hosts, params.flows_per_second_per_host, params.end)?,
            size_streams: streams(seed, label, "sizes", hosts),
            destination_streams: streams(seed, label, "destinations", hosts),
            sizes: params.sizes,
            partners,
            class,
        })
    }
}

impl FlowSource for PoissonSource {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let (start, slot) = self.arrivals.pop()?;
        let (src, dst) = self.partners.draw(slot, &mut self.destination_streams[slot]);
        Some(FlowSpec {
            start,
            src,
            dst,
            size: self.sizes.sample(&mut self.size_streams[slot]),
            class: self.class,
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
