//! Buffer-management policies: interface, schemes, registry.
//!
//! A policy decides who may occupy the shared buffer. A policy never sees a clock, a socket, a
//! random source or a packet's bytes: it uses only its arguments, so the simulator, the theory
//! checks and a real switch run the same code.
//!
//! The interface imports no scheme, and a scheme imports only the interface and the parts shared by
//! several schemes. Only the registry imports the list of schemes.

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
pub use registry::{REGISTRY, custom_policies, find_policy, policies, register_policy, replace_policy};
pub use schemes::*;
