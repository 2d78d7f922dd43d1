//! Tasks for developers of the repository, which `cargo xtask` runs and tests repeat.
//!
//! * [`mod@bench`]: runs a fixed set of benchmarks, and writes a page and a data file;
//! * [`ci`]: runs the checks that a change must pass, all together or step by step;
//! * [`container`]: executes the steps of the container file without a container engine;
//! * [`debian`]: builds and tries the Debian packages;
//! * [`dist`]: builds the program and the Python wheel with the profile of training runs;
//! * [`generate`]: writes files derived from the registries, or checks that they are up to date;
//! * [`rtl`]: checks that the circuits equal their policies, and measures their cost;
//! * [`instructions`]: compares the instructions per packet-hop with recorded counts;
//! * [`mutants`]: checks that the tests detect wrong code;
//! * [`notices`]: lists the licences of the libraries in all packages;
//! * [`python`]: checks that the Python package builds, installs and passes its tests;
//! * [`same_tables`]: checks that results equal the results of an older checkout, byte for byte;
//! * [`site`]: builds the documentation as a website, with a gallery of figures;
//! * [`skips`]: collects the skipped parts of a CI step;
//! * [`tidy`]: checks properties that no compiler checks: links, references, sizes,
//!   long functions, words, dependencies between crates;
//! * [`wheel`]: builds the Python wheel for an old glibc, and tries the wheel without Rust.
//!
//! Errors of the tasks are sentences for people at the terminal; no code reads these sentences.

pub mod bench;
mod chroot;
pub mod ci;
pub mod commits;
pub mod container;
pub mod debian;
pub mod dist;
pub mod generate;
pub mod instructions;
pub mod mutants;
pub mod notices;
pub mod program;
pub mod prose;
mod publishing;
pub mod python;
pub mod rtl;
pub mod same_tables;
pub mod site;
pub mod skips;
pub mod tidy;
pub mod wheel;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the path of the repository's root folder.
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
/// If the command cannot be started or fails; the command's standard error goes to the terminal.
pub fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let result = command.stderr(Stdio::inherit()).output();
    let result = result.map_err(|error| format!("{command:?} cannot start: {error}"))?;
    if result.status.success() {
        Ok(result.stdout)
    } else {
        Err(format!("{command:?} failed: {}", result.status))
    }
}

/// Returns Cargo's metadata of the workspace: packages, their dependencies and their folders.
///
/// # Errors
/// If cargo fails.
pub fn metadata() -> Result<serde_json::Value, String> {
    let text = output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]))?;
    serde_json::from_slice(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// Returns the path of the target folder that Cargo reports.
///
/// # Errors
/// If cargo does not report the target folder.
pub fn target() -> Result<PathBuf, String> {
    let target = metadata()?["target_directory"].as_str().map(PathBuf::from);
    target.ok_or_else(|| "cargo metadata names no target directory".to_owned())
}

/// Reads a text file by its path relative to the repository's root.
///
/// # Errors
/// If the file cannot be read.
pub fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Creates an empty folder in place of an earlier one.
///
/// # Errors
/// If the folder cannot be replaced.
pub(crate) fn renew(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(failed)?;
    }
    std::fs::create_dir_all(folder).map_err(failed)
}
