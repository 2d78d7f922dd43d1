//! Explains drops, marks, evictions and pauses: runs a scenario until the requested event.

use crate::errors;
use crate::runs::{Relay, attend};
use crate::scenario::Loaded;
use bufferlab_lab::{RunError, Watcher, explanation_text};
use bufferlab_metrics::{Explanation, RunSink};
use bufferlab_results::{ExplanationRecord, explanations_json};
use bufferlab_scenario::Scenario;
use bufferlab_sim::{ExplainRequest, ExplainedEvent, Simulation};
use bufferlab_units::Time;
use pyo3::prelude::*;
use std::io;

/// Events that the caller wants explained: kind, place, earliest time (ns), and numbers of events.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    event: String,
    switch: Option<String>,
    port: Option<u16>,
    after_ns: u64,
    nth: u64,
    count: u64,
}

/// Records the explanations of events and discards all other output of a run.
#[derive(Default)]
struct Explanations(Vec<Explanation>);

impl RunSink for Explanations {
    fn explanation(&mut self, explanation: &Explanation) -> io::Result<()> {
        self.0.push(explanation.clone());
        Ok(())
    }
}

/// Runs a scenario and explains the requested events. Returns the explanations as published JSON
/// and as text. The list of explanations is empty if no requested event occurs.
#[pyfunction]
pub(crate) fn explain(
    py: Python<'_>,
    loaded: PyRef<'_, Loaded>,
    wanted: Wanted,
) -> PyResult<(String, String)> {
    let scenario = loaded.inner.scenario.clone();
    let request = request(py, &wanted, &scenario.topology.switches)?;
    let relay = Relay::empty();
    relay.expect(1);
    let done = attend(py, &relay, None, || explained(&scenario, request, &relay))?;
    let records = done.map_err(|error| errors::run(py, &error))?;
    let text = records.iter().map(explanation_text).collect::<Vec<_>>().join("\n");
    Ok((explanations_json(&records).expect("explanations are plain data"), text))
}

fn explained(
    scenario: &Scenario,
    request: ExplainRequest,
    relay: &Relay,
) -> Result<Vec<ExplanationRecord>, RunError> {
    bufferlab_lab::fits(scenario)?;
    let mut simulation = Simulation::new(scenario)?;
    let classes = simulation.classes().to_vec();
    simulation.explain(request);
    let mut sink = Explanations::default();
    simulation.run_while(&mut sink, &mut |_| relay.goes_on())?;
    let switches = &scenario.topology.switches;
    Ok(sink.0.iter().map(|one| ExplanationRecord::new(one, switches, &classes)).collect())
}

/// Kinds of events that a caller can have explained, by their names in Python.
const EVENTS: [&str; 5] = ["drop", "mark", "eviction", "loss", "pause"];

fn request(py: Python<'_>, wanted: &Wanted, switches: &[String]) -> PyResult<ExplainRequest> {
    let event = match wanted.event.as_str() {
        "drop" => ExplainedEvent::Drop,
        "mark" => ExplainedEvent::Mark,
        "eviction" => ExplainedEvent::Eviction,
        "loss" => ExplainedEvent::Loss,
        "pause" => ExplainedEvent::Pause,
        other => return Err(errors::unknown(py, "event", "event", other, EVENTS)),
    };
    let index = |name: &String| {
        let found = switches.iter().position(|known| known == name);
        let missing = || errors::unknown(py, "switch", "switch", name, switches.iter().map(String::as_str));
        found.map(|at| at as u32).ok_or_else(missing)
    };
    Ok(ExplainRequest {
        event,
        switch: wanted.switch.as_ref().map(index).transpose()?,
        port: wanted.port,
        from: Time::from_ns(wanted.after_ns),
        skip: wanted.nth.max(1) - 1,
        count: wanted.count.max(1),
        then_stop: true,
    })
}
