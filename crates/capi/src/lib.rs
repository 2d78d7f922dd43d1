//! C interface of `bufferlab-core`: `include/bufferlab.h` in Rust.
//!
//! ```text
//!   C, C++ ──► exports   pointers, panics, last error      the only module with `unsafe`
//!                 │
//!                 ├─► config   SwitchConfig from a policy's name, or from a scenario's text
//!                 └─► handle   one switch: checked arguments, events for the callback
//! ```
//!
//! `abi` has the types and codes of the header. [`EXPORTS`] lists the symbols, which carry the
//! version of the interface: a changed layout or meaning gets a new version.

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
