//! Builds the program bufferlab with equal settings for all steps of CI, so that no crate is built
//! twice.

use crate::{cargo, run as spawn, target};
use std::path::{Path, PathBuf};

/// Build profile of the program and of Python's extension module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// Build profile of the tests: with assertions, and mostly built by `cargo xtask test`.
    Dev,
    /// Build profile of installed packages, without assertions.
    Release,
}

impl Build {
    /// Name of the build profile for Python's extension module.
    pub(crate) fn profile(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => "python",
        }
    }
}

/// Returns the path of the program bufferlab, and builds the program if necessary.
///
/// # Errors
/// If the build fails.
pub fn program(build: Build) -> Result<PathBuf, String> {
    match build {
        Build::Dev => built("dev", "debug", features()),
        Build::Release => built("release", "release", &[]),
    }
}

/// Returns the path of the program that is compared with the Python package. The program is built
/// in the package's profile, so that libraries are not built twice.
///
/// # Errors
/// If the build fails.
pub(crate) fn beside_package(build: Build) -> Result<PathBuf, String> {
    match build {
        Build::Dev => program(build),
        Build::Release => built("python", "python", &[]),
    }
}

/// Builds the program bufferlab with a build profile, whose built programs are in `folder`.
fn built(profile: &str, folder: &str, features: &[&str]) -> Result<PathBuf, String> {
    let mut command = cargo(&["build", "--profile", profile, "--locked", "--package", "bufferlab-cli"]);
    spawn(command.args(features))?;
    Ok(target()?.join(folder).join(format!("bufferlab{}", std::env::consts::EXE_SUFFIX)))
}

/// Returns Cargo's arguments for the feature `dctcp`, if this machine can build this feature. Every
/// step of the development build uses these arguments, so that no crate is built twice.
pub(crate) fn features() -> &'static [&'static str] {
    if dctcp_lacks().is_empty() { &["--features", "bufferlab-cli/dctcp"] } else { &[] }
}

/// Lists requirements of the feature `dctcp` that this machine lacks.
pub(crate) fn dctcp_lacks() -> Vec<&'static str> {
    FOR_DCTCP.iter().filter(|(_, file)| !Path::new(file).exists()).map(|(what, _)| *what).collect()
}

/// Requirements for building and running the testbed's DCTCP, each with a file that exists if the
/// requirement is met.
const FOR_DCTCP: [(&str, &str); 3] = [
    ("the headers of libelf (libelf-dev)", "/usr/include/libelf.h"),
    ("the headers of zlib (zlib1g-dev)", "/usr/include/zlib.h"),
    ("clang", "/usr/bin/clang"),
];
