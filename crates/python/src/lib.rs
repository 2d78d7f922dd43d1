//! The extension module `bufferlab._bufferlab`: access to the libraries for Python.
//!
//! The module only converts values. The Python package (`python/bufferlab`) has the public types,
//! names and defaults, and other crates compute the results. Functions take and return plain
//! values. Errors are raised as exceptions of `bufferlab.exceptions`. Other Python threads can run
//! during a simulation.

mod classifier;
mod control;
mod custom;
mod errors;
mod explanations;
mod marking;
mod plans;
mod policy;
mod registry;
mod reproduction;
mod results;
mod runs;
mod scenario;
mod sonic;
mod stepping;
mod theory;
mod topology;
mod words;
mod workload;

use pyo3::prelude::*;
use std::ffi::OsString;
use std::time::{Duration, UNIX_EPOCH};

/// Contents of the extension module. The stub is `python/bufferlab/_bufferlab.pyi`.
#[pymodule]
mod _bufferlab {
    #[pymodule_export]
    use super::classifier::{Unclassified, register_classifier};
    #[pymodule_export]
    use super::control::{Ack, Hop, PlainWindow, register_congestion_control};
    #[pymodule_export]
    use super::explanations::explain;
    #[pymodule_export]
    use super::marking::{Markable, register_marking_rule};
    #[pymodule_export]
    use super::plans::{Claim, SweepPlan, is_finished, plan, vary_values};
    #[pymodule_export]
    use super::policy::{
        Arrival, Buffer, Departure, Verdict, Weight, check_policy, register_policy, run_trial,
    };
    #[pymodule_export]
    use super::registry::{PolicyInfo, is_policy, policies};
    #[pymodule_export]
    use super::reproduction::{ReproductionPlan, experiments, reproduce, take, unpack_scenarios};
    #[pymodule_export]
    use super::results::{estimate, metric_id, report, store, summary};
    #[pymodule_export]
    use super::runs::execute;
    #[pymodule_export]
    use super::scenario::{Loaded, check_variant, load, schema};
    #[pymodule_export]
    use super::sonic::{SonicConfiguration, SonicProbe, SonicTuner, SonicWhatIf, sonic_read};
    #[pymodule_export]
    use super::stepping::Stepper;
    #[pymodule_export]
    use super::theory::{calculate, quantity, replay, theory_figure, theory_figures};
    #[pymodule_export]
    use super::topology::{Cable, register_topology};
    #[pymodule_export]
    use super::workload::{Flow, register_workload};
    #[pymodule_export]
    use super::{command_line, in_python_words, set_custom_code, suggestion, version};
}

/// Sets the time of the last change of custom code (Unix time, s). Runs from before this time are
/// not reused.
#[pyfunction]
fn set_custom_code(seconds: f64) {
    if let Ok(since) = Duration::try_from_secs_f64(seconds) {
        bufferlab_lab::set_custom_code(UNIX_EPOCH + since);
    }
}

/// Exit code of a Rust program after a panic.
const PANICKED: u8 = 101;

/// Executes the command line: see [`bufferlab_cli::main_with`]. Returns the exit code, or ends the
/// process.
#[pyfunction]
fn command_line(py: Python<'_>, program: Vec<OsString>, args: Vec<OsString>) -> u8 {
    let main = || std::panic::catch_unwind(|| bufferlab_cli::main_with(program, args));
    py.detach(main).unwrap_or(PANICKED)
}

/// Version of the program. The version contains the source revision if it was known at the build.
#[pyfunction]
fn version() -> (&'static str, Option<&'static str>) {
    (env!("CARGO_PKG_VERSION"), bufferlab_lab::commit())
}

/// Returns the known name that is most similar to `written`, if a known name is similar enough.
#[pyfunction]
fn suggestion(written: &str, known: Vec<String>) -> Option<String> {
    bufferlab_params::suggestion(written, known.iter().map(String::as_str))
}

/// Translates a hint about the command line to terms of the Python package.
#[pyfunction]
fn in_python_words(hint: &str) -> String {
    words::in_python(hint)
}
