//! Conformance checks for buffer-management policies and for switches with these policies. The
//! implementation may be in this repository or elsewhere.
//!
//! * [`Device`] is the interface of a switch under test: arrivals, departures, timers, queue
//!   lengths. The core's [`Switch`](bufferlab_core::Switch) is such a device ([`SwitchDevice`]). A
//!   hardware model, or a policy in another language, implements ten methods to become a device.
//! * [`PROPERTIES`] are claims that hold for every policy. Each claim is a function of a
//!   [`Subject`] (how to build the device) and a [`Script`] (the operations). [`exhaustive`] checks
//!   the claims with all short scripts of a tiny buffer, and [`random`] with long random scripts. A
//!   violation is reported with the shortest script found.
//! * [`vectors`] are golden vectors, data in `testdata/policy/`: events with their time, the
//!   expected verdicts, queue lengths and thresholds.
//!
//! * [`mod@claims`] are statements of papers. Each claim has a test with the claim's number in its
//!   name, and a row on a page of findings. [`open_loop`] is the test bench for measurements of
//!   claims.
//! * [`competitive`] compares the losses of policies on fixed arrivals, with Longest Queue Drop and
//!   with an offline optimum.
//!
//! [`check`] runs the whole suite for a registered policy, including custom policies, and returns
//! a [`Report`] of every claim with any counterexample. The parts of the suite can also test
//! other implementations:
//!
//! ```
//! use bufferlab_conformance::{Subject, exhaustive, random};
//! use bufferlab_core::policy::DynamicThreshold;
//!
//! let subject = Subject::policy("my-policy", |shape| {
//!     Ok(Box::new(DynamicThreshold::new(&vec![0.5; shape.queues_per_port])))
//! });
//! exhaustive(&subject, 4).unwrap_or_else(|violation| panic!("{violation}"));
//! random(&subject, 0..3).unwrap_or_else(|violation| panic!("{violation}"));
//! ```

mod bench;
pub mod claims;
pub mod competitive;
mod device;
pub mod open_loop;
mod properties;
mod report;
mod script;
mod subject;
mod suite;
pub mod vectors;

pub use bench::{Bench, Outcome};
pub use device::{Device, SwitchDevice};
pub use properties::{
    Failure, PROPERTIES, Property, Violation, conserves_packets, evicts_only_for_what_it_stores,
    is_deterministic, is_monotone_in_alpha, is_work_conserving, keeps_its_promises_on_a_chip,
    keeps_its_timers, refuses_oversized_packets, stays_within_the_buffer, threshold_agrees_with_admission,
    tolerates_early_timeouts,
};
pub use report::{Check, Effort, Finding, Options, Report, check, check_subject};
pub use script::{Operation, Script};
pub use subject::Subject;
pub use suite::{check_script, exhaustive, minimised, random};
