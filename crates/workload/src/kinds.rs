//! Built-in workloads, one file each: a registry entry with parameters, and the construction of
//! flow sources from the parameters.

pub(crate) mod bursts;
pub(crate) mod collective;
pub(crate) mod flow_list;
pub(crate) mod incast;
pub(crate) mod multi_get;
pub(crate) mod on_off;
mod parts;
pub(crate) mod poisson;
mod ranks;
pub(crate) mod schedule;
pub(crate) mod trace;

pub use flow_list::FlowListWorkload;
pub use poisson::LoadReference;
