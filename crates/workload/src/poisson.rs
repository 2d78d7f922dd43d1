//! Which flows come if every host starts them at random, independent of all others?

use crate::arrivals::{Arrivals, streams};
use crate::pattern::Racks;
use crate::{FlowSource, FlowSpec, Pattern, SizeDistribution, SourceError};
use bufferlab_units::{RandomStream, Time};

/// Parameters of a [`PoissonSource`].
#[derive(Clone, Debug)]
pub struct PoissonParams<'a> {
    /// The run's seed.
    pub seed: u64,
    /// Names the random streams, so it must differ between the sources of a run: two sources with the
    /// same label send at the same instants. The class name serves.
    pub label: &'a str,
    /// Hosts of every rack, in the order that [`Pattern::NextRack`] follows. Racks without hosts are
    /// passed over.
    pub racks: &'a [Vec<u32>],
    /// Who sends to whom.
    pub pattern: Pattern,
    /// Mean flows per second that every host starts; see [`crate::arrivals_per_second_per_host`]. Zero:
    /// no flows.
    pub flows_per_second_per_host: f64,
    /// Flow sizes.
    pub sizes: SizeDistribution,
    /// [`FlowSpec::class`] of the flows.
    pub class: u16,
    /// Flows start in `0..end`.
    pub end: Time,
}

/// Poisson arrivals at every host: the open-loop background traffic of all five papers.
///
/// Every host has its own process and streams `workload/<label>/arrivals`, `…/sizes` and
/// `…/destinations`, each with the host's number as index.
#[derive(Clone, Debug)]
pub struct PoissonSource {
    arrivals: Arrivals,
    racks: Racks,
    pattern: Pattern,
    sizes: SizeDistribution,
    size_streams: Vec<RandomStream>,
    destination_streams: Vec<RandomStream>,
    class: u16,
}

impl PoissonSource {
    /// Prepares the processes.
    ///
    /// # Errors
    /// [`SourceError`] when the pattern does not fit the racks or the rate is not a rate.
    pub fn new(params: PoissonParams<'_>) -> Result<Self, SourceError> {
        let PoissonParams { seed, label, pattern, class, .. } = params;
        let racks = Racks::new(params.racks, pattern)?;
        let hosts = racks.hosts();
        Ok(Self {
            arrivals: Arrivals::new(seed, label, hosts, params.flows_per_second_per_host, params.end)?,
            size_streams: streams(seed, label, "sizes", hosts),
            destination_streams: streams(seed, label, "destinations", hosts),
            sizes: params.sizes,
            racks,
            pattern,
            class,
        })
    }
}

impl FlowSource for PoissonSource {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let (start, slot) = self.arrivals.pop()?;
        Some(FlowSpec {
            start,
            src: self.racks.hosts()[slot],
            dst: self.racks.partner(slot, self.pattern, &mut self.destination_streams[slot]),
            size: self.sizes.sample(&mut self.size_streams[slot]),
            class: self.class,
            query: FlowSpec::NO_QUERY,
            open: None,
            data_path: None,
            ack_path: None,
        })
    }
}
