//! Policies of buffer management: their interface, the schemes and the registry.
//!
//! A policy decides which packets the shared buffer stores. A policy never sees a clock, a socket,
//! a random source or a packet's bytes. A policy uses only its arguments, so the simulator, the
//! theory checks and a real switch run the same code.
//!
//! The interface imports no scheme. A scheme imports only the interface and the modules that
//! several schemes share. Only the registry imports the list of schemes.

mod dispatch;
pub mod interface;
pub(crate) mod parts;
mod registry;
mod schemes;
mod steered;

pub use dispatch::Dispatched;
pub use interface::{
    Account, Arrival, Bound, BoundPlace, BuildError, Departure, DropReason, Hooks, PauseDemand, PauseLevel,
    Policy, PolicyConstructor, PolicyInfo, SwitchShape, Tags, Verdict,
};
pub use registry::{REGISTRY, custom_policies, find_policy, policies, register_policy, replace_policy};
pub use schemes::*;
pub use steered::SteeredThreshold;
