//! Registry of policies: the built-in policies, and the custom policies of a program.
//!
//! ```
//! use bufferlab_core::*;
//!
//! #[derive(Debug)]
//! struct Half;
//!
//! impl Policy for Half {
//!     fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
//!         let length = buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.header.size);
//!         if length > buffer.shared_capacity() / 2 || !buffer.fits(arrival.header.size) {
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

/// All policies: [`POLICIES`], and the custom policies of a program.
pub static REGISTRY: Registry<PolicyInfo> = Registry::new(POLICIES);

/// All policies of this process: the built-in policies, then the custom policies in the
/// order of registration.
#[must_use]
pub fn policies() -> Vec<&'static PolicyInfo> {
    REGISTRY.all()
}

/// The custom policies of this process, in the order of registration.
#[must_use]
pub fn custom_policies() -> Vec<&'static PolicyInfo> {
    REGISTRY.custom()
}

/// The policy called `name` (its short name or an alias), built in or registered.
#[must_use]
pub fn find_policy(name: &str) -> Option<&'static PolicyInfo> {
    REGISTRY.find(name)
}

/// Registers a custom policy ([`Registry::register`](bufferlab_params::Registry::register)).
///
/// # Errors
/// If a name is taken or invalid, a text is missing, or a parameter's default is outside its
/// domain.
pub fn register_policy(info: PolicyInfo) -> Result<&'static PolicyInfo, RegisterError> {
    REGISTRY.register(info)
}

/// Registers a policy like [`register_policy`], but replaces a custom policy that has the name
/// already ([`Registry::replace`](bufferlab_params::Registry::replace)).
///
/// # Errors
/// Returns the errors of [`register_policy`]. Also fails if a different policy has one of the
/// names.
pub fn replace_policy(info: PolicyInfo) -> Result<&'static PolicyInfo, RegisterError> {
    REGISTRY.replace(info)
}
