//! SONiC's buffer and QoS configurations: read, explained, checked, compared, and what a chip makes
//! of them.
//!
//! Reading keeps the place of every value and names whatever is not understood; see [`Reader`].
//! Nothing here knows of simulators.

pub mod config;
pub mod diff;
pub mod explain;
mod ini;
mod json;
pub mod keys;
mod limits;
pub mod lint;
mod namespaces;
pub mod nvidia;
pub mod place;
mod raw;
mod read;
pub mod resolve;
mod show;
pub mod silicon;
mod tables;

pub use config::Config;
pub use keys::Port;
pub use limits::LIMITS;
pub use namespaces::Namespaces;
pub use place::{Place, Placed, Problem, Refusal, Weight};
pub use raw::{BYTES_MAX, KEYS_MAX};
pub use read::{Reader, read};
pub use resolve::Resolved;
pub use tables::TABLES;
