//! Reads a sweep from the files of its folder.

use super::{SWEEP_JSON, SweepPlan, SweepRequest, Vary, points};
use crate::PlanError;
use bufferlab_results::{ResultsError, SWEEP_FILE, check_sealed};
use serde::Deserialize;
use std::fs;
use std::num::NonZero;
use std::path::Path;

/// Fields of [`SWEEP_JSON`] that describe the grid of the sweep.
#[derive(Deserialize)]
struct Grid {
    name: String,
    vary: Vec<Vary>,
    points: Vec<GridPoint>,
}

#[derive(Deserialize)]
struct GridPoint {
    comparison: Compared,
}

#[derive(Deserialize)]
struct Compared {
    policies: Vec<String>,
}

impl SweepPlan {
    /// Opens the last sweep of a folder, with no runs to execute, to make its pages
    /// and figures again. `None` if the folder has no complete sweep.
    ///
    /// # Errors
    /// If the description of the sweep cannot be read or has changed.
    pub fn reopen(out: &Path) -> Result<Option<Self>, PlanError> {
        let (json, mark) = (out.join(SWEEP_JSON), out.join(SWEEP_FILE));
        if !json.is_file() || !mark.is_file() {
            return Ok(None);
        }
        check_sealed(out, SWEEP_JSON)?;
        let read = |path: &Path| {
            let failed = |source| ResultsError::Io { action: "read", path: path.to_path_buf(), source };
            fs::read_to_string(path).map_err(failed)
        };
        let grid = serde_json::from_str::<Grid>(&read(&json)?);
        let Grid { name, vary, points: compared } =
            grid.map_err(|source| ResultsError::Json { path: json, source })?;
        let mark: toml::Table = read(&mark)?.parse().unwrap_or_default();
        let scenario_file = mark.get("scenario").and_then(toml::Value::as_str).unwrap_or(&name).to_owned();
        let policies = compared.into_iter().next().map_or_else(Vec::new, |first| first.comparison.policies);
        let points = points(&vary)?;
        let request = SweepRequest {
            scenario_file,
            vary,
            policies: Vec::new(),
            seeds: NonZero::<u32>::MIN,
            out: out.to_path_buf(),
            replace: false,
        };
        Ok(Some(Self { jobs: Vec::new(), reused: 0, failed: Vec::new(), request, name, points, policies }))
    }
}
