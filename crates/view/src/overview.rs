//! Overview of a run, which a page shows before any window.

use crate::ViewError;
use crate::index::Kind;
use crate::losses::{QUERIES, Queries};
use crate::view::View;
use bufferlab_metrics::DropRow;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of points for a sampled value of the policy at one queue.
const VALUES_MAX: usize = 4_000;
/// Number of different values up to which a sampled value is drawn as states instead of a curve.
const STATES_MAX: usize = 6;

/// Overview of a run and of the switch that a page shows.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunOverview {
    pub(crate) name: String,
    /// Label of the run's variant, or the name of the policy.
    pub(crate) label: String,
    pub(crate) policy: String,
    pub(crate) seed: u64,
    pub(crate) switch: String,
    /// Names of the switches that the page can show.
    pub(crate) switches: Vec<String>,
    pub(crate) ports: u16,
    pub(crate) queues_per_port: u8,
    pub(crate) buffer_bytes: u64,
    /// Start of the first window (ps): the time of the first sample.
    pub(crate) begin: u64,
    /// End of the run, or time of the last sample (ps).
    pub(crate) end: u64,
    /// Whether the run recorded packets. Otherwise only samples exist.
    pub(crate) is_recorded: bool,
    /// Interval between two samples of a switch (ns).
    pub(crate) sample_interval_ns: u64,
    /// Kinds of events, in the order of the event counts of a time window.
    pub(crate) kinds: Vec<Kind>,
    pub(crate) classes: Vec<String>,
    /// Number of lost packets of the whole run, by reason.
    pub(crate) lost: BTreeMap<&'static str, u64>,
    /// Number of losses with details; 0 if the run did not record packets.
    pub(crate) losses: usize,
    /// Queries of the run that lost packets.
    pub(crate) queries: Queries,
    /// Names of the policy's sampled values, with their queues.
    pub(crate) values: BTreeMap<&'static str, Vec<String>>,
    /// Number of rows of the packet table for this switch.
    pub(crate) events: u64,
}

/// Values over time that a probe of the policy returned.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Values {
    pub(crate) times: Vec<u64>,
    pub(crate) values: Vec<f64>,
    /// Whether the value is one of a few whole numbers, which are drawn as bands.
    pub(crate) is_state: bool,
}

impl RunOverview {
    pub(crate) fn new(view: &View, viewable: &[String]) -> Result<Self, ViewError> {
        let manifest = view.manifest();
        let index = &view.index;
        let mut lost = BTreeMap::new();
        view.run().visit(|row: DropRow| {
            if row.switch == index.switch {
                *lost.entry(row.reason).or_default() += row.packets;
            }
        })?;
        let mut values: BTreeMap<&'static str, BTreeSet<(u16, u8)>> = BTreeMap::new();
        for probe in &view.probes {
            values.entry(probe.name).or_default().insert((probe.port, probe.priority));
        }
        let names = |places: BTreeSet<(u16, u8)>| {
            places.into_iter().map(|(port, priority)| format!("{port}.{priority}")).collect()
        };
        let counts = index.buckets.iter().flat_map(|(_, bucket)| bucket.counts);
        Ok(Self {
            name: manifest.scenario_name.clone(),
            label: manifest.label().to_owned(),
            policy: manifest.policy.name.clone(),
            seed: manifest.seed,
            switch: view.switch().to_owned(),
            switches: viewable.to_vec(),
            ports: index.shape.ports,
            queues_per_port: index.shape.queues_per_port,
            buffer_bytes: manifest
                .totals
                .buffer_bytes
                .get(index.switch as usize)
                .copied()
                .unwrap_or_default(),
            begin: view.begin(),
            end: index.end,
            is_recorded: view.is_recorded(),
            sample_interval_ns: manifest.sample_interval_ns,
            kinds: Kind::all(),
            classes: manifest.names.classes.clone(),
            lost,
            losses: index.losses.len(),
            queries: if view.is_recorded() { view.queries(QUERIES)? } else { Queries::default() },
            values: values.into_iter().map(|(name, places)| (name, names(places))).collect(),
            events: counts.map(u64::from).sum(),
        })
    }
}

impl View {
    /// Returns the sampled values `name` of a queue such as `3.1` between two instants (ps).
    pub(crate) fn values(&self, name: &str, queue: &str, (from, until): (u64, u64)) -> Values {
        let of_queue = self
            .probes
            .iter()
            .filter(|probe| probe.name == name && format!("{}.{}", probe.port, probe.priority) == queue);
        let all: Vec<_> = of_queue.collect();
        let different: BTreeSet<u64> = all.iter().map(|probe| probe.value.to_bits()).collect();
        let is_state = different.len() <= STATES_MAX
            && all.iter().all(|probe| probe.value.fract() == 0.0 && probe.value.abs() < 10.0);
        let shown: Vec<_> =
            all.into_iter().filter(|probe| (from..=until).contains(&(probe.time_ns * 1_000))).collect();
        let step = shown.len().div_ceil(VALUES_MAX).max(1);
        let shown = || shown.iter().step_by(step);
        Values {
            times: shown().map(|probe| probe.time_ns * 1_000).collect(),
            values: shown().map(|probe| probe.value).collect(),
            is_state,
        }
    }
}
