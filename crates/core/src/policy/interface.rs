//! Everything that a policy is made of: what it sees, what it answers, what it says of itself.
//! Schemes import nothing else of `policy`, but for the parts that several of them share.

mod bound;
mod hooks;
mod info;
mod packet;
mod policy;
mod shape;
mod verdict;

pub use crate::buffer::Account;
pub use crate::tags::Tags;
pub use bound::{Bound, BoundPlace};
pub use bufferlab_params::BuildError;
pub use hooks::Hooks;
pub use info::{PolicyConstructor, PolicyInfo};
pub use packet::{Arrival, Departure};
pub use policy::Policy;
pub use shape::SwitchShape;
pub use verdict::{DropReason, PauseDemand, Verdict};
