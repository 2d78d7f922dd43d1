//! Builds the Python wheel for systems with an old glibc, and tries the wheel where neither Rust
//! nor the repository is.

use crate::python::{Environment, the_only};
use crate::{output, renew, run as spawn, skips, target};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// File with the Python packages that build and check the wheel, with exact versions.
const REQUIREMENTS: &str = "python/requirements-wheel.txt";

/// Platform of the wheel: Linux with glibc 2.28 or newer (Debian 10, Ubuntu 20.04, RHEL 8).
const PLATFORM: &str = "manylinux_2_28";

/// Maximum size of the wheel (bytes).
const SIZE_MAX: u64 = 12_000_000;

/// Commands that a new user tries first.
const TRIALS: [&[&str]; 3] =
    [&["--version"], &["compare", "first", "--seeds", "3"], &["reproduce", "tdt/fig9"]];

/// Builds the wheel in `target/wheel/wheels`, checks its symbols and size, installs it in a new
/// virtual environment, and executes commands in an empty folder without Cargo.
///
/// # Errors
/// If the build or a check fails. If zig cannot be installed, the build is skipped by name.
pub fn build() -> Result<(), String> {
    let folder = target()?.join("wheel");
    let environment = match Environment::prepare(&folder, REQUIREMENTS) {
        Ok(environment) => environment,
        Err(why) => {
            skips::note(&format!("the wheel for {PLATFORM}: {why}"));
            return Ok(());
        }
    };
    let wheels = folder.join("wheels");
    renew(&wheels)?;
    let mut maturin = environment.python("maturin");
    maturin.args(["build", "--locked", "--zig", "--compatibility", PLATFORM]);
    maturin.args(["--compression-level", "9", "--out"]);
    // Maturin looks for zig only in the folders of PATH, and with the Python interpreter there.
    maturin.env("PATH", environment.path()?);
    spawn(maturin.arg(&wheels))?;
    check(&environment, &the_only(&wheels, "whl")?)?;
    try_out(&folder)
}

/// Checks the wheel's size, and the versions of the symbols that the wheel needs.
fn check(environment: &Environment, wheel: &Path) -> Result<(), String> {
    let size = fs::metadata(wheel).map_err(|error| format!("{}: {error}", wheel.display()))?.len();
    println!("{}: {:.1} MB", wheel.display(), size as f64 / 1e6);
    if size > SIZE_MAX {
        return Err(format!("the wheel has {size} bytes; expected at most {SIZE_MAX}"));
    }
    let shown = output(environment.python("auditwheel").arg("show").arg(wheel))?;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    println!("{}", shown.trim());
    if needs_at_most(&shown, 28) {
        Ok(())
    } else {
        Err(format!("auditwheel: the wheel does not fit {PLATFORM}"))
    }
}

/// Whether a report of auditwheel names glibc 2.`minor` or an older version. Auditwheel names the
/// oldest platform that the wheel's symbols allow. No older version than 2.5 has a platform.
fn needs_at_most(report: &str, minor: u32) -> bool {
    (5..=minor).any(|minor| report.contains(&format!("manylinux_2_{minor}_")))
}

/// Installs the wheel in a new virtual environment, and executes the commands [`TRIALS`] and the
/// example of README.
fn try_out(folder: &Path) -> Result<(), String> {
    let (venv, place) = (folder.join("trial"), folder.join("empty"));
    renew(&venv)?;
    renew(&place)?;
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    spawn(Command::new(python).args(["-m", "venv"]).arg(&venv))?;
    let wheel = the_only(&folder.join("wheels"), "whl")?;
    let bin = venv.join("bin");
    let with_plots = format!("{}[plot]", wheel.display());
    timed("pip install", Command::new(bin.join("pip")).args(["install", "--quiet", &with_plots]))?;
    let in_place = |program: &str| {
        let mut command = Command::new(bin.join(program));
        command
            .current_dir(&place)
            .env_clear()
            .env("PATH", &bin)
            .env("HOME", &place)
            .env("MPLBACKEND", "agg");
        command
    };
    for words in TRIALS {
        timed(&format!("bufferlab {}", words.join(" ")), in_place("bufferlab").args(words))?;
    }
    let example = example(&crate::read("README.md")?)?;
    timed("README's Python example", in_place("python").args(["-c", &example]))?;
    println!("{:.1} MB in {}", bytes(&place)? as f64 / 1e6, place.display());
    println!("{:.1} MB in {}", bytes(&venv)? as f64 / 1e6, venv.display());
    Ok(())
}

/// Executes a command, and prints its wall time (seconds).
fn timed(what: &str, command: &mut Command) -> Result<(), String> {
    let started = Instant::now();
    spawn(command)?;
    println!("== {what}: {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Returns the first Python program of a page.
fn example(page: &str) -> Result<String, String> {
    let program = page.split_once("```python\n").and_then(|(_, rest)| rest.split_once("```"));
    program.map(|(program, _)| program.to_owned()).ok_or_else(|| "README.md has no Python program".to_owned())
}

/// Sum of the sizes of all files in a folder (bytes).
fn bytes(folder: &Path) -> Result<u64, String> {
    let mut open = vec![folder.to_path_buf()];
    let mut sum = 0;
    while let Some(folder) = open.pop() {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(failed)?.flatten() {
            let about = entry.metadata().map_err(failed)?;
            if about.is_dir() { open.push(entry.path()) } else { sum += about.len() }
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_for_a_newer_glibc_is_found() {
        let report = "is consistent with the following platform tag: \"manylinux_2_35_x86_64\".";
        assert!(needs_at_most(report, 35) && !needs_at_most(report, 28));
        assert!(!needs_at_most("linux_x86_64", 28));
    }

    #[test]
    fn readme_has_an_example() {
        let program = example(&crate::read("README.md").expect("README exists")).expect("an example");
        assert!(program.starts_with("import bufferlab\n") && program.contains("compare("), "{program}");
    }
}
