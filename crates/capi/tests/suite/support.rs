//! Finds a C compiler and the built libraries, and reports skipped tests.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Folder of the crate `bufferlab-capi`.
pub(crate) fn crate_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Folder with the shared and the static library, which cargo builds with the tests.
pub(crate) fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folders = test.ancestors().skip(1).take(2);
    let mut known = folders.filter(|folder| folder.join("libbufferlab_capi.so").is_file());
    known.next().expect("cargo builds the shared library with the tests").to_owned()
}

/// Prints that a test was skipped, with the reason.
pub(crate) fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}

/// Whether the program `program` can run; otherwise prints that `test` is skipped.
pub(crate) fn has(program: &str, test: &str) -> bool {
    let runs = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !runs {
        skip(test, &format!("{program} is not installed"));
    }
    runs
}

/// Compiles C files with `cc -Wall -Werror` against a library below `libraries`.
pub(crate) fn compile(sources: &[&Path], more: &[&str], program: &Path) -> Output {
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-I"]);
    command.arg(crate_folder().join("include")).args(sources).args(more).arg("-o").arg(program);
    command.output().expect("the C compiler starts")
}

/// Arguments with which a C compiler links the shared library.
pub(crate) fn shared() -> Vec<String> {
    // The library file in `deps` has no version in its name, but the program loads a library whose
    // name has the version.
    vec![format!("{}/libbufferlab_capi.so", libraries().display())]
}

/// Runs a program with the shared library, whose versioned name is a link in `folder`.
pub(crate) fn run(program: &Path, folder: &Path, args: &[&str]) -> Output {
    let link = folder.join("libbufferlab_capi.so.1");
    if !link.exists() {
        std::os::unix::fs::symlink(libraries().join("libbufferlab_capi.so"), link).expect("a new link");
    }
    let mut command = Command::new(program);
    command.args(args).env("LD_LIBRARY_PATH", folder).output().expect("the program starts")
}

/// Returns the standard output of a program that must succeed.
pub(crate) fn stdout(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
