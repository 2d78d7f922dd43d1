//! The answers of calculators, measured packet by packet.
//!
//! For every calculator of [`bufferlab_theory::calculators`] an entry of [`REPLAYS`] builds, from
//! the calculator's own parameters, a switch in which the stated quantity shows, drives packets
//! through that of [`bufferlab_core`], and compares. How far stated and measured may be apart
//! follows from discretisation (a packet, a serialization time, a refresh) and is stated with every
//! comparison.
//!
//! ```
//! use bufferlab_theory::calculators::CALCULATORS;
//!
//! let guarantees = CALCULATORS.find("guarantees").expect("it is built in");
//! let found = bufferlab_replay::verify(guarantees, &[])?;
//! assert!(found.holds(), "{found}");
//! # Ok::<(), bufferlab_theory::calculators::CalculatorError>(())
//! ```

mod alpha;
mod bench;
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

/// How the answers of a calculator are replayed.
#[derive(Clone, Copy, Debug)]
pub struct ReplayInfo {
    /// The calculator's name.
    pub calculator: &'static str,
    /// What is replayed and measured, or why packets cannot say anything, in one line.
    pub summary: &'static str,
    /// Replays.
    pub run: fn(&Asked<'_>) -> Verification,
}

/// What was asked of a calculator, and its answer.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The calculator.
    pub info: &'static CalculatorInfo,
    /// As they were given.
    pub given: &'a [(String, ParamValue)],
    /// All parameters.
    pub params: Params,
    /// The answer.
    pub answer: Derivation,
}

impl Asked<'_> {
    /// The value of the answer `name`.
    ///
    /// # Panics
    /// If the calculator does not answer it: a defect of the replay.
    pub(crate) fn stated(&self, name: &str) -> f64 {
        self.answer.value(name).unwrap_or_else(|| panic!("{} answers {name}", self.info.name))
    }
}

/// The replay of every built-in calculator, in the calculators' order.
pub static REPLAYS: &[ReplayInfo] = &[
    burst_tolerance::REPLAY,
    alpha::REPLAY,
    shares::REPLAY,
    guarantees::REPLAY,
    drain_time::REPLAY,
    ecn::REPLAY,
    headroom::REPLAY,
    chips::REPLAY,
    tdt_parameters::REPLAY,
];

/// Replays the answer of a calculator for `given`; the other parameters have their defaults.
///
/// A calculator that a program has registered has no replay; what is left out says so.
///
/// # Errors
/// As [`CalculatorInfo::calculate`].
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
