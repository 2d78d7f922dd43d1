//! Every closed form of the papers, in its corrected form, with the printed one beside it where
//! they differ.
//!
//! A function is named after its result. Its documentation names the paper, the equation and, where
//! the printed equation is wrong or not tight, the erratum (`E-ABM-1`). A function with `printed`
//! in its name is the equation as printed: only for comparison with the paper, never for a
//! decision.
//!
//! **Units.** A form has one unit of size and one of rate; a time is a size divided by a rate. With
//! sizes in bytes and rates in bytes per second, times are in seconds. Times are also in seconds
//! with sizes in units of port rate × second and rates in multiples of the port rate. Where a form
//! needs physical units, the names of its inputs include them: `buffer_bytes`, `rate_bps`,
//! `delay_seconds`. `alpha`, `omega` and `gamma` (normalised drain rate) are plain numbers.
//!
//! **Model.** Fluid: arrivals and departures are rates, packets are infinitely small, and every
//! congested queue has enough arrivals to stay at its threshold. A packet switch differs by about a
//! packet per queue.
//!
//! **Domain.** An input for which the form is not defined returns a [`DomainError`]. An
//! unbounded result is [`f64::INFINITY`], if the form documents it.

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
