//! Measures with simulated packets whether the answers of calculators are right.
//!
//! Every calculator of [`bufferlab_theory::calculators`] has an entry in [`REPLAYS`]. The entry
//! builds a switch of [`bufferlab_core`] from the calculator's parameters, sends packets through
//! the switch, and compares the measured with the stated quantity. Because packets are discrete,
//! the quantities may differ by a packet, a serialization time or an update interval. Every
//! comparison includes the allowed difference.
//!
//! ```
//! use bufferlab_theory::calculators::CALCULATORS;
//!
//! let guarantees = CALCULATORS.find("guarantees").expect("it is built in");
//! let found = bufferlab_theory_check::verify(guarantees, &[])?;
//! assert!(found.holds(), "{found}");
//! # Ok::<(), bufferlab_theory::calculators::CalculatorError>(())
//! ```

mod alpha;
mod bench;
mod burst;
mod burst_tolerance;
mod chips;
mod drain_time;
mod ecn;
mod finding;
mod guarantees;
mod headroom;
mod priorities;
mod schemes;
mod shares;
mod tdt_parameters;

pub use finding::{Check, Relation, Replay, Unit, Verification};

use bufferlab_params::{ParamValue, Params};
use bufferlab_theory::calculators::{CalculatorError, CalculatorInfo, Derivation};

/// Replay of a calculator's answers with simulated packets.
#[derive(Clone, Copy, Debug)]
pub struct ReplayInfo {
    /// Name of the calculator whose answers the replay checks.
    pub calculator: &'static str,
    /// Describes in one line the replay and its measurement, or why packets cannot check the
    /// answer.
    pub summary: &'static str,
    /// Function that runs the replay of an answer.
    pub run: fn(&Asked<'_>) -> Verification,
}

/// A question to a calculator, and the calculator's answer.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// Calculator whose answer is checked.
    pub info: &'static CalculatorInfo,
    /// Parameters of the calculator that the user gave.
    pub given: &'a [(String, ParamValue)],
    /// All parameters of the calculator, including defaults.
    pub params: Params,
    /// Answer of the calculator with these parameters.
    pub answer: Derivation,
}

impl Asked<'_> {
    /// Returns the value of the calculator's answer `name`.
    ///
    /// # Panics
    /// If the calculator has no answer `name`, which is a defect of the replay.
    pub(crate) fn stated(&self, name: &str) -> f64 {
        self.answer.value(name).unwrap_or_else(|| panic!("{} answers {name}", self.info.name))
    }
}

/// Replays of all built-in calculators, in the order of the calculators.
pub static REPLAYS: &[ReplayInfo] = &[
    burst_tolerance::REPLAY,
    burst::REPLAY,
    alpha::REPLAY,
    shares::REPLAY,
    guarantees::REPLAY,
    drain_time::REPLAY,
    ecn::REPLAY,
    headroom::REPLAY,
    chips::REPLAY,
    tdt_parameters::REPLAY,
];

/// Replays the answer of a calculator for the parameters `given`. The other parameters have their
/// default values.
///
/// A calculator that a program registers has no replay. The list of omitted answers names such a
/// calculator.
///
/// # Errors
/// The errors of [`CalculatorInfo::calculate`].
pub fn verify(
    info: &'static CalculatorInfo,
    given: &[(String, ParamValue)],
) -> Result<Verification, CalculatorError> {
    let answer = info.calculate(given)?;
    let params = info.resolve(given)?;
    let Some(replay) = REPLAYS.iter().find(|replay| replay.calculator == info.name) else {
        return Ok(Verification::nothing(format!("no replay belongs to {}", info.name)));
    };
    Ok((replay.run)(&Asked { info, given, params, answer }))
}
