//! Runs scenarios with real hosts: the simulator's scenario files, with the TCP of the Linux
//! kernel.
//!
//! ```text
//!   scenario ──► Plan ──► sandbox: new namespaces ────────► hosts, links, rates (ip, tc, ethtool)
//!                                                               │
//!                flows of its workloads ──► sockets of hosts ───┴──► the switch ──► record
//!                                                                                     │
//!                            tables of a simulation ◄── flows, queries, record ◄──────┘
//! ```
//!
//! All resources of a run are in namespaces that end with their processes, so a run leaves no
//! traces, even after a crash.

#[cfg(target_os = "linux")]
mod apps;
mod check;
#[cfg(target_os = "linux")]
mod clock;
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
mod dctcp;
#[cfg(target_os = "linux")]
mod drive;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod lab;
mod machine;
mod outcome;
pub mod parity;
mod plan;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
pub mod sandbox;
mod tables;

pub use check::{Finding, check};
#[cfg(target_os = "linux")]
pub use error::TestbedError;
pub use outcome::{FlowOutcome, Outcome, ProgressSample, QueryOutcome};
pub use plan::{Plan, PlanError};
#[cfg(target_os = "linux")]
pub use run::{RealRun, Watching, hold, run_real};

/// Text of the scenario of `bufferlab testbed run demo`.
pub const DEMO: &str = include_str!("../demo/demo.toml");
