//! Tasks of the repository, which `cargo xtask` runs and tests repeat.
//!
//! * [`mod@bench`]: a fixed set of runs, as a page and as data;
//! * [`ci`]: the checks that a change must pass, as a whole or step by step;
//! * [`dist`]: the program and the wheel, compiled with the profile of a training run;
//! * [`generate`]: files derived from the registries, and whether they are up to date;
//! * [`rtl`]: whether the circuits equal their policies, and their cost;
//! * [`instructions`]: instructions per packet-hop, compared with the recorded figures;
//! * [`mutants`]: whether the tests detect wrong code;
//! * [`python`]: whether the Python package builds, installs and passes its tests;
//! * [`same_tables`]: whether results equal the results of an older checkout, byte for byte;
//! * [`site`]: the documentation as a site, with a gallery of figures;
//! * [`skips`]: the skipped parts of a step;
//! * [`tidy`]: properties that no compiler checks: links, references, sizes,
//!   long functions, words, dependencies between crates.
//!
//! Errors are sentences for people at the terminal; no code reads them.

pub mod bench;
pub mod ci;
pub mod commits;
pub mod dist;
pub mod generate;
pub mod instructions;
pub mod mutants;
pub mod program;
pub mod prose;
pub mod python;
pub mod rtl;
pub mod same_tables;
pub mod site;
pub mod skips;
pub mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Path of the root of the repository.
///
/// # Panics
/// If this crate is not in a folder of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository").to_owned()
}

/// Creates a cargo command that runs at the root of the repository.
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
/// If the command cannot be started or fails.
pub fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?} cannot start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}")) }
}

/// Runs `command` and returns its standard output.
///
/// # Errors
/// If the command cannot be started or fails; its standard error goes to the terminal.
pub fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let result = command.stderr(Stdio::inherit()).output();
    let result = result.map_err(|error| format!("{command:?} cannot start: {error}"))?;
    if result.status.success() {
        Ok(result.stdout)
    } else {
        Err(format!("{command:?} failed: {}", result.status))
    }
}

/// Cargo's metadata of the workspace: packages, their dependencies and their folders.
///
/// # Errors
/// If cargo fails.
pub fn metadata() -> Result<serde_json::Value, String> {
    let text = output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]))?;
    serde_json::from_slice(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// Path of the target folder that Cargo reports.
///
/// # Errors
/// If cargo does not report the target folder.
pub fn target() -> Result<PathBuf, String> {
    let target = metadata()?["target_directory"].as_str().map(PathBuf::from);
    target.ok_or_else(|| "cargo metadata names no target directory".to_owned())
}

/// Reads a text file by its path relative to the root.
///
/// # Errors
/// If the file cannot be read.
pub fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}
