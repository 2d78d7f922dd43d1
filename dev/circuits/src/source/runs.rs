//! Records operations from simulated runs.

use crate::{Recorded, Scheme, SharedSheet};
use bufferlab_metrics::RunSink;
use bufferlab_sim::Simulation;
use std::path::Path;

/// Simulates a scenario with the recorded policy, and records the operations of its first switch.
///
/// # Errors
/// If the scenario is invalid with this policy, or the run fails.
pub fn run(
    scheme: Scheme,
    scenario: &Path,
    changes: &[(String, String)],
    sheet: &SharedSheet,
) -> Result<(), String> {
    /// Sink that discards the result rows of a run.
    struct Nowhere;
    impl RunSink for Nowhere {}

    let name = Recorded::register(scheme, sheet);
    let mut all = vec![("switch.policy".to_owned(), name.to_owned())];
    if scheme.shifts_alpha() {
        all.push(("switch.hardware.quantised_alpha".to_owned(), "true".to_owned()));
    }
    for (key, value) in scheme.parameters() {
        all.push((format!("switch.policy.{key}"), value.to_string()));
    }
    all.extend_from_slice(changes);
    let loaded = bufferlab_scenario::load(scenario, &all).map_err(|error| error.to_string())?;
    let simulation = Simulation::new(&loaded.scenario).map_err(|error| error.to_string())?;
    match simulation.run_while(&mut Nowhere, &mut |_| !sheet.lock().is_full()) {
        Ok(_) | Err(bufferlab_sim::SimError::Interrupted) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
