//! Calculators that answer engineering questions, each answer with its derivation.
//!
//! Each file in `calculators/` defines one calculator with an entry of [`CALCULATORS`]. An entry
//! has the name, the parameters as data, and the function that computes a [`Derivation`] from
//! values of the parameters. Every step of a derivation names the formula, the numbers in the
//! formula, the result and the paper. The command line, the Python package and the documentation
//! are generated from the entries.
//!
//! ```
//! use bufferlab_params::ParamValue;
//! use bufferlab_theory::calculators::CALCULATORS;
//!
//! let shares = CALCULATORS.find("shares").expect("it is built in");
//! let found = shares.calculate(&[("alpha".to_owned(), ParamValue::Ratio(8.0))])?;
//! assert_eq!(found.value("share"), Some(8.0 / 9.0));
//! # Ok::<(), bufferlab_theory::calculators::CalculatorError>(())
//! ```

mod alpha;
mod amount;
mod burst;
mod burst_tolerance;
mod calculator;
mod chips;
mod derivation;
mod drain_time;
mod ecn;
mod guarantees;
mod headroom;
mod input;
mod priorities;
mod shares;
mod tdt_parameters;

pub use amount::{bytes, number, rate, seconds};
pub use calculator::{CalculatorError, CalculatorInfo, Rule};
pub use derivation::{Answer, Derivation, Line, Table};

use bufferlab_params::Registry;

/// Every calculator, in the order of the pages about calculators.
pub static CALCULATORS: Registry<CalculatorInfo> = Registry::new(&[
    &burst_tolerance::INFO,
    &burst::INFO,
    &alpha::INFO,
    &shares::INFO,
    &guarantees::INFO,
    &drain_time::INFO,
    &ecn::INFO,
    &headroom::INFO,
    &chips::INFO,
    &tdt_parameters::INFO,
]);
