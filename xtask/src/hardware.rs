//! Are the circuits of `hardware/` right, and what do they cost?
//!
//! The steps are in `hardware/flow.py`. This module only finds what they need: a virtual environment below the target
//! folder, Verilator and a C++ compiler.

use crate::python::Environment;
use crate::{run as spawn, target};
use std::process::{Command, Stdio};

/// What the circuits need, with exact versions.
const REQUIREMENTS: &str = "hardware/requirements.txt";

/// Programs of the system, how they say their version, and the package of Debian that has them.
const PROGRAMS: [(&str, &str); 3] = [("verilator", "verilator"), ("g++", "g++"), ("make", "make")];

/// The steps of `hardware/flow.py`; without one, all of them.
const STEPS: [&str; 6] = ["lint", "cosim", "prove", "mutants", "cost", "all"];

/// Runs a step, by default all; `--quick` leaves out what takes long, and names of circuits all others.
///
/// # Errors
/// If a program is missing, or a step fails.
pub fn run(arguments: &[&str]) -> Result<(), String> {
    for (program, package) in PROGRAMS {
        let found =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            return Err(format!(
                "{program} is missing\nhint: the circuits are compared with Verilator 5; on Debian: apt-get install {package}"
            ));
        }
    }
    let target = target()?;
    let environment = Environment::prepare(&target.join("hardware"), REQUIREMENTS)?;
    spawn(environment.interpreter().arg("hardware/flow.py").args(with_step(arguments)))
}

/// The arguments of `hardware/flow.py`: a step comes first.
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
        let script = crate::read("hardware/flow.py").expect("part of the repository");
        let listed = STEPS.map(|step| format!("\"{step}\"")).join(", ");
        assert!(script.contains(&format!("choices=[{listed}]")), "{listed}");
    }
}
