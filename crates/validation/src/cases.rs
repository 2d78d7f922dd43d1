//! Which runs are compared, and how closely must they agree?

use crate::ValidationError;
use crate::measure::Outcome;
use crate::reference::{RunKey, folder};
use std::path::Path;

/// A scenario of ours and a run of theirs.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Short name, as in [`crate::explained::EXPLAINED`].
    pub name: &'static str,
    /// File in `scenarios/`.
    pub scenario: &'static str,
    /// Registry name of the policy.
    pub policy: &'static str,
    /// File of the flow list, in the reference folder.
    pub flow_list: &'static str,
    /// The reference's run.
    pub key: RunKey,
}

const fn incast(
    name: &'static str,
    policy: (&'static str, &'static str),
    traffic: &'static str,
    flow_list: &'static str,
    request: &'static str,
) -> Case {
    let key =
        RunKey { variant: "clean", policy: policy.1, transport: "dctcp", traffic, load: "0.0001", request };
    Case { name, scenario: "artifact-incast.toml", policy: policy.0, flow_list, key }
}

const QUARTER: &str = "L0.0001_R0.25_Q1_W0.2";
const HALF: &str = "L0.0001_R0.5_Q1_W0.2";
const THREE_QUARTERS: &str = "L0.0001_R0.75_Q1_W0.2";

/// All comparisons.
pub const CASES: &[Case] = &[
    incast("DT, R = 0.25", ("dt", "DT"), QUARTER, "flows_L0.0001_R0.25_Q1_W0.2.csv.gz", "0.25"),
    incast("ABM, R = 0.25", ("abm", "ABM"), QUARTER, "flows_L0.0001_R0.25_Q1_W0.2.csv.gz", "0.25"),
    incast("ABM, R = 0.5", ("abm", "ABM"), HALF, "flows_L0.0001_R0.5_Q1_W0.2.csv.gz", "0.5"),
    incast("ABM, R = 0.75", ("abm", "ABM"), THREE_QUARTERS, "flows_L0.0001_R0.75_Q1_W0.2.csv.gz", "0.75"),
    incast("DT, R = 0.5", ("dt", "DT"), HALF, "flows_L0.0001_R0.5_Q1_W0.2.csv.gz", "0.5"),
    incast("DT, R = 0.75", ("dt", "DT"), THREE_QUARTERS, "flows_L0.0001_R0.75_Q1_W0.2.csv.gz", "0.75"),
    Case {
        name: "unloaded",
        scenario: "artifact-unloaded.toml",
        policy: "dt",
        flow_list: "flows_L0.005_R0_Q0_W1.csv.gz",
        key: RunKey {
            variant: "asis",
            policy: "DT",
            transport: "dctcp",
            traffic: "L0.005_R0_Q0_W1",
            load: "0.005",
            request: "0.0",
        },
    },
];

impl Case {
    /// Runs our side.
    ///
    /// # Errors
    /// If the scenario does not load or run.
    pub fn run(&self) -> Result<Outcome, ValidationError> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(self.scenario);
        let flow_list = folder().join(self.flow_list).display().to_string();
        let overrides =
            [("switch.policy".to_owned(), self.policy.to_owned()), ("workload.0.file".to_owned(), flow_list)];
        let loaded = bufferlab_scenario::load(&path, &overrides)
            .map_err(|error| ValidationError::Scenario(format!("{error:?}")))?;
        Outcome::of(&loaded.scenario)
    }
}
