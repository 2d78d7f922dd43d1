//! The interface of a policy: its inputs, its decisions and its description. A scheme imports from
//! `policy` only this interface and the modules that several schemes share.

mod bound;
mod hooks;
mod info;
mod packet;
mod pause_level;
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
pub use pause_level::PauseLevel;
pub use policy::Policy;
pub use shape::SwitchShape;
pub use verdict::{DropReason, PauseDemand, Verdict};
