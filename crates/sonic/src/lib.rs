//! Reads, explains, checks and compares SONiC's buffer and QoS configurations, and predicts the
//! thresholds of a chip.
//!
//! The reader keeps the place of every value and records values that it does not understand; see
//! [`Reader`]. This crate does not depend on the simulator.

pub mod calibrate;
pub mod config;
pub mod diff;
pub mod explain;
mod ini;
mod json;
pub mod keys;
mod limits;
pub mod lint;
pub mod memo;
mod namespaces;
pub mod nvidia;
pub mod place;
mod raw;
mod read;
pub mod resolve;
mod show;
pub mod silicon;
mod tables;
mod vendors;

pub use config::Config;
pub use keys::PortName;
pub use limits::LIMITS;
pub use namespaces::Namespaces;
pub use place::{ConfigPlace, Placed, Problem, Refusal, Weight};
pub use raw::{BYTES_MAX, KEYS_MAX};
pub use read::{Reader, read};
pub use resolve::Resolved;
pub use tables::TABLES;
