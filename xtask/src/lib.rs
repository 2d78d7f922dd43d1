//! The repository's own chores, as `cargo xtask` runs them and as tests repeat them.
//!
//! * [`mod@bench`]: a fixed set of runs, as a page and as data;
//! * [`ci`]: what must pass before a change lands, as a whole or step by step;
//! * [`dist`]: the program and the wheel, compiled with the profile of a training run;
//! * [`generate`]: files that are derived from the registries, and whether they are fresh;
//! * [`rtl`]: whether the circuits answer as the policies do, and what they cost;
//! * [`instructions`]: how many instructions a packet-hop takes, and whether they are as many as
//!   recorded;
//! * [`mutants`]: whether the tests notice when the code is wrong;
//! * [`python`]: whether the Python package builds, installs and passes;
//! * [`same_tables`]: whether results are those of an older checkout, byte for byte;
//! * [`site`]: the documentation as a site, with a gallery of figures;
//! * [`skips`]: what a step left out;
//! * [`tidy`]: what no compiler checks: links, references, sizes, long functions, words, the arrows
//!   between crates.
//!
//! Errors are sentences for the person at the terminal: nothing else reads them.

pub mod bench;
pub mod ci;
pub mod commits;
pub mod dist;
pub mod generate;
pub mod rtl;
pub mod instructions;
pub mod mutants;
pub mod prose;
pub mod python;
pub mod same_tables;
pub mod site;
pub mod skips;
pub mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository.
///
/// # Panics
/// If this crate is not a folder of the repository any more.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository").to_owned()
}

/// The cargo that runs this program, at the root of the repository.
#[must_use]
pub fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(root());
    command
}

/// Runs `command` with its output on the terminal.
///
/// # Errors
/// If it cannot be started or fails.
pub fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?} cannot start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}")) }
}

/// Runs `command` and returns what it printed.
///
/// # Errors
/// If it cannot be started or fails; what it said on stderr has gone to the terminal.
pub fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let result = command.stderr(Stdio::inherit()).output();
    let result = result.map_err(|error| format!("{command:?} cannot start: {error}"))?;
    if result.status.success() {
        Ok(result.stdout)
    } else {
        Err(format!("{command:?} failed: {}", result.status))
    }
}

/// What cargo knows of the workspace: its packages with what they depend on, its folders.
///
/// # Errors
/// If cargo fails.
pub fn metadata() -> Result<serde_json::Value, String> {
    let text = output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]))?;
    serde_json::from_slice(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// The folder of what cargo builds.
///
/// # Errors
/// If cargo does not say.
pub fn target() -> Result<PathBuf, String> {
    let target = metadata()?["target_directory"].as_str().map(PathBuf::from);
    target.ok_or_else(|| "cargo metadata names no target directory".to_owned())
}

/// Reads a text file, named relative to the root.
///
/// # Errors
/// If it cannot be read.
pub fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}
