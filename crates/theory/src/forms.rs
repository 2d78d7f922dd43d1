//! Closed forms of the papers. If a printed form is wrong, a function has the corrected form, and a
//! second function has the printed form.
//!
//! A function is named after its result. The function's documentation names the paper and the
//! equation. If the printed equation is wrong or not tight, the documentation also names the
//! erratum (`E-ABM-1`). A function with `printed` in its name computes the equation as printed. The
//! printed equation serves only for comparison with the paper, never for a decision.
//!
//! **Units.** Each form has one unit of size and one unit of rate. A time is a size divided by a
//! rate. With sizes in bytes and rates in bytes per second, times are in seconds. Times are also in
//! seconds with sizes in units of port rate × second and rates in multiples of the port rate. If a
//! form needs physical units, the names of its inputs include the units: `buffer_bytes`,
//! `rate_bps`, `delay_seconds`. `alpha`, `omega` and `gamma` (normalised drain rate) are plain
//! numbers.
//!
//! **Model.** The model is fluid: arrivals and departures are rates, packets are infinitely small,
//! and every congested queue has enough arrivals to stay at its threshold. The queues of a packet
//! switch differ from the fluid by about a packet.
//!
//! **Domain.** An input for which the form is not defined returns a [`DomainError`]. A result may
//! be unbounded ([`f64::INFINITY`]), if the documentation of the form states so.

pub mod abm;
pub mod dimensions;
mod domain;
pub mod dynamic_threshold;
pub mod headroom;
pub mod losspass;
pub mod plasticine;
pub mod plasticine_pisa;
pub mod reverie;
pub mod sonic;
pub mod sonic_headroom;
pub mod traffic_aware;
pub mod transient;

pub use domain::{Domain, DomainError};
pub(crate) use domain::{
    above, all_positive, at_least_one, at_most, check, fraction, not_negative, positive, share,
};
