//! What every buffer-management policy, and every switch that runs one, must do: checks for any
//! implementation, in this repository or elsewhere.
//!
//! * [`Device`] is a switch as the checks see it: arrivals, departures, timers, queue lengths. The
//!   core's [`Switch`](bufferlab_core::Switch) is one ([`SwitchDevice`]); a hardware model or a
//!   policy written in another language becomes one by implementing ten methods.
//! * [`PROPERTIES`] are claims that hold for every policy: one function each, over a [`Subject`]
//!   (how to build the device) and a [`Script`] (what happens to it). [`exhaustive`] runs them over
//!   all short scripts of a tiny buffer, [`random`] over long random ones; a violation comes back
//!   as the shortest script found.
//! * [`vectors`] are golden vectors, data in `testdata/policy/`: events with their time, the
//!   expected verdicts, queue lengths and thresholds.
//!
//! * [`mod@claims`] are statements of papers, each with a test that carries its number and a line
//!   of a page that says what was found; [`open_loop`] is the bench on which they are measured.
//! * [`competitive`] compares what policies lose of the same arrivals, with Longest Queue Drop and
//!   with an optimum that knows the future.
//!
//! [`check`] runs all of it over a registered policy, a program's own included, and answers with a
//! [`Report`] of every claim and its counterexample. The parts are there for subjects of another
//! make:
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
