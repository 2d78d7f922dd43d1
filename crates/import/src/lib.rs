//! Readers for input files of other simulators.
//!
//! [`recognise`] finds the format of a file by its content. [`import()`] reads files that belong
//! together, such as a topology and a list of flows. The result has a network, traffic, or both,
//! and notices about understood, ignored and assumed content. [`scenario_text`] writes an ordinary
//! scenario for the imported content.
//!
//! Readers accept all files that the original parsers accept.
//! If a file deviates from its format, the reader adds a notice.
//! Files may be hostile: every reader checks sizes before it allocates memory.

mod archive;
mod chakra;
mod error;
mod format;
mod goal;
mod hpcc;
mod htsim;
mod import;
mod imported;
mod layers;
mod limits;
mod mscclang;
mod scenario;
mod source;

pub use error::ImportError;
pub use format::{Format, recognise};
pub use import::{Input, import};
pub use imported::{ImportOptions, Imported, Network, Notices, Setting, Traffic};
pub use limits::{FILE_BYTES_MAX, LIMITS};
pub use scenario::{endless_bytes, scenario_text};
