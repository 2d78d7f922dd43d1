//! Protects the scenario file of an earlier what-if analysis. Only an equal scenario may replace
//! the file, unless the user demands the replacement.

use crate::OperatorError;
use bufferlab_results::{Content, describe_differences, write_sealed};
use bufferlab_scenario::load_text;
use std::fs;
use std::io;
use std::path::Path;

/// Name of the scenario file in the folder of results.
pub const SCENARIO_NAME: &str = "what-if.toml";

/// Refuses to replace a different scenario file in `folder`. The folder has simulation runs of the
/// old scenario, and a user may have edited the file.
///
/// # Errors
/// If the folder has a different scenario and `replace` is `false`. The message names the
/// differences.
pub fn check_scenario(folder: &Path, scenario: &str, replace: bool) -> Result<(), OperatorError> {
    let path = folder.join(SCENARIO_NAME);
    let there = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if !replace => {
            return Err(OperatorError::new(
                format!("{}: cannot read: {error}", path.display()),
                "choose another folder with --out, or give --replace to remove the old results first; nothing was deleted",
            ));
        }
        there => String::from_utf8_lossy(&there.unwrap_or_default()).into_owned(),
    };
    if replace || there == scenario {
        return Ok(());
    }
    let why = differences(&path, &there, scenario).unwrap_or_else(|| "its text has changed".to_owned());
    Err(OperatorError::new(
        format!("{} holds another scenario: {why}", path.display()),
        "choose another folder with --out, or give --replace to remove the old results first; nothing was deleted",
    ))
}

/// Writes the scenario file into `folder`, with a checksum of the file.
///
/// # Errors
/// If the file cannot be written.
pub fn write_scenario(folder: &Path, scenario: &str) -> Result<(), OperatorError> {
    write_sealed(folder, &[(SCENARIO_NAME, scenario)], None)
        .map_err(|error| OperatorError::new(error.to_string(), error.hint()))
}

/// Lists the differences between two scenarios. The result is `None` if the scenarios are equal, or
/// if the old scenario does not load.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_that_cannot_be_read_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(check_scenario(folder.path(), "a = 1", false).map_err(|error| error.to_string()), Ok(()));
        // A folder that has the name of the file cannot be read, like a file on a failing disk.
        fs::create_dir(folder.path().join(SCENARIO_NAME)).expect("writable");
        let error = check_scenario(folder.path(), "a = 1", false).expect_err("it may hold another scenario");
        assert!(error.to_string().contains("what-if.toml: cannot read"), "{error}");
        assert!(check_scenario(folder.path(), "a = 1", true).is_ok());
    }
}
