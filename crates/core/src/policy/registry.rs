//! Which policies are there: those of this crate, and those that a program brings along.
//!
//! ```
//! use bufferlab_core::*;
//!
//! #[derive(Debug)]
//! struct Half;
//!
//! impl Policy for Half {
//!     fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
//!         let length = buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.size);
//!         if length > buffer.shared_capacity() / 2 || !buffer.fits(arrival.size) {
//!             return Verdict::Drop(DropReason::OverThreshold);
//!         }
//!         Verdict::Admit(Account::Shared)
//!     }
//! }
//!
//! register_policy(PolicyInfo {
//!     name: "half",
//!     aliases: &[],
//!     title: "Half",
//!     summary: "Half of the buffer for every queue.",
//!     source: "An example.",
//!     cost: "O(1)",
//!     params: &[],
//!     build: &|_, _| Ok(Box::new(Half)),
//! })?;
//! assert_eq!(find_policy("half").expect("registered").title, "Half");
//! assert!(policies().len() > POLICIES.len());
//! # Ok::<(), RegisterError>(())
//! ```

use super::interface::PolicyInfo;
use super::schemes::POLICIES;
use bufferlab_params::{RegisterError, Registry};

/// [`POLICIES`], and what a program brings along.
pub static REGISTRY: Registry<PolicyInfo> = Registry::new(POLICIES);

/// Every policy of this process: the built-in ones, then a program's own in the order of their
/// registration.
#[must_use]
pub fn policies() -> Vec<&'static PolicyInfo> {
    REGISTRY.all()
}

/// The policies that this process has registered, in that order.
#[must_use]
pub fn own_policies() -> Vec<&'static PolicyInfo> {
    REGISTRY.own()
}

/// The policy called `name` (its short name or an alias), built in or registered.
#[must_use]
pub fn find_policy(name: &str) -> Option<&'static PolicyInfo> {
    REGISTRY.find(name)
}

/// Adds a policy from outside of this crate
/// ([`Registry::register`](bufferlab_params::Registry::register)).
///
/// # Errors
/// If a name is taken or breaks the rules of names, a text is missing, or a parameter's default
/// lies outside its domain.
pub fn register_policy(info: PolicyInfo) -> Result<&'static PolicyInfo, RegisterError> {
    REGISTRY.register(info)
}

/// Like [`register_policy`], but takes the place of an own policy of the same name
/// ([`Registry::replace`](bufferlab_params::Registry::replace)).
///
/// # Errors
/// As [`register_policy`]; if one of the names belongs to another policy.
pub fn replace_policy(info: PolicyInfo) -> Result<&'static PolicyInfo, RegisterError> {
    REGISTRY.replace(info)
}
