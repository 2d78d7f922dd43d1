//! Modules of policies that several schemes share.

pub(crate) mod common_pool;
pub(crate) mod congestion;
pub(crate) mod decay;
pub(crate) mod dynamic_headroom;
pub(crate) mod longest;
pub(crate) mod lossless;
pub(crate) mod parameters;
pub(crate) mod pools;
pub(crate) mod port_limit;
pub(crate) mod queue_profiles;
pub(crate) mod short_flows;
pub(crate) mod slices;
pub(crate) mod sonic;
pub(crate) mod virtual_lqd;
