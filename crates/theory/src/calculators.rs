//! Answers to engineering questions, each with the lines by which it was derived.
//!
//! A calculator is a struct of inputs in physical units and a function that answers a [`Derivation`]: every line names the formula, the
//! numbers put into it, the result and the paper it comes from.

pub mod alpha;
mod amount;
pub mod burst_state;
pub mod burst_tolerance;
pub mod chips;
mod derivation;
pub mod guarantees;
pub mod headroom;
pub mod marking;
pub mod shares;
pub mod tdt_parameters;

pub use amount::{bytes, number, rate, seconds};
pub use derivation::{Answer, Derivation, Line, Table};
