//! May the scenario file of an earlier what-if be replaced? Only by the same one, or on demand.

use crate::OperatorError;
use bufferlab_results::{Content, describe_differences, write_sealed};
use bufferlab_scenario::load_text;
use std::fs;
use std::path::Path;

/// Name of the scenario file in the folder of results.
pub const SCENARIO_NAME: &str = "what-if.toml";

/// Refuses to replace another scenario file in `folder`: its runs lie beside it, and a user may
/// have edited it.
///
/// # Errors
/// If another scenario is there and `replace` is `false`. The message names what differs.
pub fn check_scenario(folder: &Path, scenario: &str, replace: bool) -> Result<(), OperatorError> {
    let path = folder.join(SCENARIO_NAME);
    let Ok(there) = fs::read_to_string(&path) else { return Ok(()) };
    if replace || there == scenario {
        return Ok(());
    }
    let why = differences(&path, &there, scenario).unwrap_or_else(|| "its text has changed".to_owned());
    Err(OperatorError::new(
        format!("{} holds another scenario: {why}", path.display()),
        "choose another folder with --out, or give --replace to remove the old results first; nothing was deleted",
    ))
}

/// Writes the scenario file into `folder`, with its checksum.
///
/// # Errors
/// If it cannot be written.
pub fn write_scenario(folder: &Path, scenario: &str) -> Result<(), OperatorError> {
    write_sealed(folder, &[(SCENARIO_NAME, scenario)], None)
        .map_err(|error| OperatorError::new(error.to_string(), error.hint()))
}

/// What the scenarios say differently; `None` if it is nothing, or the old one does not load.
fn differences(path: &Path, old: &str, new: &str) -> Option<String> {
    let content = |text: &str| {
        let loaded = load_text(path, text, &[]).ok()?;
        let inputs: Vec<_> =
            loaded.inputs.iter().map(|input| (input.name.clone(), input.content.clone())).collect();
        Some(Content::new(&loaded.resolved, &inputs, "", None))
    };
    let found = content(old)?.differences(&content(new)?, |_| false);
    (!found.is_empty()).then(|| describe_differences(&found))
}
