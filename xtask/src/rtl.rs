//! Are the circuits of `rtl/` right, and what do they cost?
//!
//! The steps are in `rtl/flow.py`. This module only finds what they need: a virtual
//! environment below the target folder, Verilator and a C++ compiler.

use crate::python::Environment;
use crate::skips::{self, Outcome};
use crate::{root, run as spawn, target};
use std::process::{Command, Stdio};

/// What the circuits need, with exact versions.
const REQUIREMENTS: &str = "rtl/requirements.txt";

/// Programs of the system, how they say their version, and the package of Debian that has them.
const PROGRAMS: [(&str, &str); 3] = [("verilator", "verilator"), ("g++", "g++"), ("make", "make")];

/// The steps of `rtl/flow.py`; without one, all of them.
const STEPS: [&str; 7] = ["lint", "cosim", "prove", "mutants", "cost", "depth", "all"];

/// Steps that need nothing but Verilator and the standard library of Python.
const BY_VERILATOR: [&str; 3] = ["lint", "cosim", "mutants"];

/// Runs a step, by default all; `--quick` leaves out what takes long, and names of circuits all
/// others.
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

/// The step of CI: no warning in any circuit, and none differs from its policy in vectors, random
/// operations and a run. Where Verilator is missing it is skipped: no other part of the project
/// needs it.
///
/// # Errors
/// As [`run`].
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

/// Whether a program answers.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// The arguments of `rtl/flow.py`: a step comes first.
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
