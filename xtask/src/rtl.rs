//! Checks the circuits (RTL) of `rtl/`, and measures their cost.
//!
//! The steps of the checks are in `rtl/flow.py`. This module only provides their requirements: a
//! virtual environment below the target folder, Verilator and a C++ compiler.

use crate::python::Environment;
use crate::skips::{self, Outcome};
use crate::{root, run as spawn, target};
use std::process::{Command, Stdio};

/// File with the Python packages for the circuits, with exact versions.
const REQUIREMENTS: &str = "rtl/requirements.txt";

/// Programs that the checks of circuits need, with their Debian packages.
const PROGRAMS: [(&str, &str); 3] = [("verilator", "verilator"), ("g++", "g++"), ("make", "make")];

/// Names of the steps of `rtl/flow.py`; the default is `all`.
const STEPS: [&str; 7] = ["lint", "cosim", "prove", "mutants", "cost", "depth", "all"];

/// Steps of `rtl/flow.py` that need only Verilator and the standard library of Python.
const BY_VERILATOR: [&str; 3] = ["lint", "cosim", "mutants"];

/// Runs a step of `rtl/flow.py`, by default all steps. The argument `--quick` skips slow parts of
/// the step. Names of circuits restrict the step to these circuits.
///
/// # Errors
/// If a program is missing, or a step fails.
pub fn run(arguments: &[&str]) -> Result<(), String> {
    for (program, package) in PROGRAMS {
        if !has(program) {
            return Err(format!(
                "{program} is missing\nhint: the circuits are compared with Verilator 5; on Debian: apt-get install {package}"
            ));
        }
    }
    let steps = with_step(arguments);
    if BY_VERILATOR.contains(&steps[0]) {
        return spawn(Command::new("python3").arg("rtl/flow.py").args(steps).current_dir(root()));
    }
    let target = target()?;
    let environment = Environment::prepare(&target.join("rtl"), REQUIREMENTS)?;
    spawn(environment.interpreter().arg("rtl/flow.py").args(steps))
}

/// Runs the CI step of the circuits: no circuit has warnings, and each circuit equals its policy.
/// Test vectors, random operations and a simulation run are compared. Without Verilator the step is
/// skipped, because no other part of the project needs Verilator.
///
/// # Errors
/// The errors of [`run`].
pub fn check() -> Result<Outcome, String> {
    if !has("verilator") {
        skips::note(
            "the circuits of rtl/ are not compared with their policies without verilator \
             (on Debian: apt-get install verilator g++ make)",
        );
        return Ok(Outcome::Skipped);
    }
    run(&["lint"])?;
    run(&["cosim", "--quick"])?;
    Ok(Outcome::Passed)
}

/// Whether the program with the name `program` can be started.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// Returns the arguments of `rtl/flow.py`, beginning with the name of a step.
fn with_step<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let named = arguments.first().is_some_and(|first| STEPS.contains(first));
    let step = if named { None } else { Some("all") };
    step.into_iter().chain(arguments.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_step_all_of_them_run() {
        assert_eq!(with_step(&[]), ["all"]);
        assert_eq!(with_step(&["--quick"]), ["all", "--quick"]);
        assert_eq!(with_step(&["cosim", "dt"]), ["cosim", "dt"]);
    }

    #[test]
    fn the_steps_are_those_of_the_script() {
        let script = crate::read("rtl/flow.py").expect("part of the repository");
        let listed = STEPS.map(|step| format!("\"{step}\"")).join(", ");
        assert!(script.contains(&format!("choices=[{listed}]")), "{listed}");
    }
}
