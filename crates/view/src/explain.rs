//! Explains a lost packet: repeats the run up to the loss, with every policy as a shadow.

use crate::ViewError;
use crate::view::View;
use bufferlab_results::{ExplanationRecord, ResultsError, RunResult, SCENARIO_FILE};
use bufferlab_scenario::Scenario;
use bufferlab_sim::{ExplainRequest, ExplainedEvent, Explanations, Simulation};
use bufferlab_units::Time;
use std::fs;

/// Reads the scenario of a run from the run's folder.
pub(crate) fn scenario(run: &RunResult) -> Result<Scenario, ViewError> {
    run.check_scenario()?;
    let path = run.dir().join(SCENARIO_FILE);
    // Read the file here, so that an I/O error is not reported as a mistake in the scenario.
    let text = fs::read_to_string(&path).map_err(|source| ResultsError::Io {
        action: "read",
        path: path.clone(),
        source,
    })?;
    Ok(bufferlab_scenario::load_text(&path, &text, &[])?.scenario)
}

/// Selection of packet losses at a switch that a page explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Losses {
    pub(crate) port: Option<u16>,
    /// Earliest time of the explained losses (ps).
    pub(crate) from: u64,
    /// Number of matching losses that the explanation skips.
    pub(crate) skip: u64,
    /// Number of losses to explain.
    pub(crate) count: u64,
}

/// Repeats the run of `scenario`, and explains the selected losses at `switch`.
pub(crate) fn explain(
    mut scenario: Scenario,
    switch: u32,
    losses: Losses,
) -> Result<Vec<ExplanationRecord>, ViewError> {
    scenario.output.packets = None;
    scenario.output.explain_losses = None;
    let mut simulation = Simulation::new(&scenario)?;
    let classes = simulation.classes().to_vec();
    let Losses { port, from, skip, count } = losses;
    simulation.explain(ExplainRequest {
        event: ExplainedEvent::Loss,
        switch: Some(switch),
        port,
        from: Time(from),
        skip,
        count,
        then_stop: true,
    });
    let mut found = Explanations::default();
    simulation.run(&mut found, &mut |_| {})?;
    let switches = &scenario.topology.switches;
    Ok(found.0.iter().map(|explanation| ExplanationRecord::new(explanation, switches, &classes)).collect())
}

impl View {
    /// Explains the loss of the packet in row `row` of the packet table.
    pub(crate) fn explain_row(&self, row: u64) -> Result<ExplanationRecord, ViewError> {
        let losses = &self.index.losses;
        let at = losses.binary_search_by_key(&row, |loss| loss.row).map_err(|_| ViewError::NoSuchLoss)?;
        let loss = losses[at];
        // Several packets may be lost at one port at one instant.
        let same = losses[..at].iter().rev().take_while(|other| other.time == loss.time);
        let skip = same.filter(|other| other.port == loss.port).count() as u64;
        self.explain_first(Losses { port: Some(loss.port), from: loss.time, skip, count: 1 })
    }

    /// Explains the first loss from an instant on (ps), at one port or at any port.
    pub(crate) fn explain_from(&self, from: u64, port: Option<u16>) -> Result<ExplanationRecord, ViewError> {
        self.explain_first(Losses { port, from, skip: 0, count: 1 })
    }

    fn explain_first(&self, losses: Losses) -> Result<ExplanationRecord, ViewError> {
        let found = explain(scenario(self.run())?, self.index.switch, losses)?;
        found.into_iter().next().ok_or(ViewError::NoSuchLoss)
    }
}
