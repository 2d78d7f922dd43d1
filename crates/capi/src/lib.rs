//! C interface of `bufferlab-core`: the Rust implementation of `include/bufferlab.h`.
//!
//! ```text
//!   C, C++ ──► exports   pointers, panics, last error      the only module with `unsafe`
//!                 │
//!                 ├─► config   SwitchConfig from a policy's name, or from a scenario's text
//!                 └─► handle   one switch: checked arguments, events for the callback
//! ```
//!
//! `abi` has the types and codes of the C header. [`EXPORTS`] lists the symbols, whose names
//! contain the version of the interface. A changed layout or meaning gets a new version.

mod abi;
mod config;
mod error;
mod exports;
mod handle;

pub use abi::{
    ABI, Callback, Code, Config, Departure, EVENTS, Event, NO_REASON, OTHER, Packet, Param, REASONS, Verdict,
    event_code, reason_code,
};
pub use exports::*;
pub use handle::Handle;
