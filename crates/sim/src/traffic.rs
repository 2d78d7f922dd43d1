//! Builds the traffic of a run from the scenario's workloads.

use bufferlab_scenario::Scenario;
use bufferlab_workload::{Carriage, Entry, Replay, RunFacts, SourceError, Traffic};

/// Creates the traffic of a run from the workloads of `scenario`.
pub(crate) fn start(scenario: &Scenario) -> Result<Traffic, SourceError> {
    let racks = scenario.topology.racks();
    let transports: Vec<_> = scenario.transports.iter().map(|spec| spec.name.as_str()).collect();
    let workloads = scenario.workloads.iter();
    let entries: Vec<_> = workloads
        .map(|spec| Entry { class: &spec.class, transport: spec.transport, workload: &*spec.workload })
        .collect();
    let (seed, end) = (scenario.seed, scenario.duration);
    Traffic::new(RunFacts { seed, end, racks: &racks, transports: &transports }, &entries)
}

/// Transports that replay packets of traces unchanged: the transport's index in the scenario,
/// and the replay mode.
pub(crate) type Replayed = Vec<(u32, Replay)>;

/// Replaying transports, and the transport index of every class.
/// Indices beyond the scenario's transports select an entry of the list of replaying transports.
pub(crate) fn carriages(scenario: &Scenario, traffic: &Traffic) -> (Replayed, Vec<u32>) {
    let mut replayed = Replayed::new();
    let transport = |Carriage { transport, replay }: Carriage| match replay {
        None => transport,
        Some(replay) => {
            replayed.push((transport, replay));
            (scenario.transports.len() + replayed.len() - 1) as u32
        }
    };
    let transports = traffic.classes.iter().map(|class| class.carriage).map(transport).collect();
    (replayed, transports)
}
