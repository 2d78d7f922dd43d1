//! Buffer-management policies: interface, schemes, registry.
//!
//! A policy decides who may occupy the shared buffer. It never sees a clock, a socket, a random
//! source or a packet's bytes: everything that it may use is in the arguments, so the simulator,
//! the theory checks and a real switch run the same code.
//!
//! The interface imports no scheme, a scheme imports the interface and the parts that several
//! schemes share, and only the registry imports the list of schemes.

mod dispatch;
pub mod interface;
pub(crate) mod parts;
mod registry;
mod schemes;

pub use dispatch::Dispatched;
pub use interface::{
    Account, Arrival, Bound, BoundPlace, BuildError, Departure, DropReason, Hooks, PauseDemand, Policy,
    PolicyConstructor, PolicyInfo, SwitchShape, Tags, Verdict,
};
pub use registry::{REGISTRY, find_policy, own_policies, policies, register_policy, replace_policy};
pub use schemes::*;
