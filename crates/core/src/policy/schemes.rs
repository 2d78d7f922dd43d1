//! The built-in policies, each in a separate file, and the list of all built-in policies.
//!
//! To add a built-in policy, write a file in `schemes/` and add its module and its `INFO` to this
//! file (`docs/extend/policy.md`). A custom policy is part of the program that registers it:
//! [`crate::register_policy`].

mod abm;
mod abm_dt;
mod bshare_like;
mod complete_sharing;
mod credence;
mod dynamic_threshold;
mod enhanced_dynamic_threshold;
mod flow_aware;
mod follow_lqd;
mod harmonic;
mod intelligent_buffer;
mod l2bm_like;
mod longest_queue_drop;
mod losspass;
mod maximum_queue;
mod occamy;
mod plasticine;
mod plasticine_pisa;
mod reverie;
mod sonic_abm;
mod sonic_dt;
mod static_partition;
mod traffic_aware;

use crate::policy::interface::PolicyInfo;

pub use abm::Abm;
pub use abm_dt::AbmOnDt;
pub use bshare_like::BshareLike;
pub use complete_sharing::CompleteSharing;
pub use credence::Credence;
pub use dynamic_threshold::DynamicThreshold;
pub use enhanced_dynamic_threshold::EnhancedDynamicThreshold;
pub use flow_aware::FlowAwareBuffer;
pub use follow_lqd::FollowLqd;
pub use harmonic::Harmonic;
pub use intelligent_buffer::IntelligentBuffer;
pub use l2bm_like::L2bmLike;
pub use longest_queue_drop::LongestQueueDrop;
pub use losspass::LossPass;
pub use occamy::Occamy;
pub use plasticine::Plasticine;
pub use plasticine_pisa::{PlasticinePisa, shift};
pub use reverie::Reverie;
pub use sonic_abm::SonicAbm;
pub use sonic_dt::SonicDt;
pub use static_partition::StaticPartition;
pub use traffic_aware::TrafficAware;

/// All built-in policies. The command line, the scenario schema,
/// the documentation, the reports and the conformance tests all read this list.
/// [`crate::policies`] adds the custom policies of a program.
pub static POLICIES: &[&PolicyInfo] = &[
    &complete_sharing::INFO,
    &static_partition::COMPLETE_PARTITIONING,
    &static_partition::EVENLY_SPLIT,
    &dynamic_threshold::INFO,
    &abm::INFO,
    &enhanced_dynamic_threshold::INFO,
    &traffic_aware::INFO,
    &occamy::INFO,
    &losspass::INFO,
    &longest_queue_drop::INFO,
    &harmonic::INFO,
    &follow_lqd::INFO,
    &credence::INFO,
    &l2bm_like::INFO,
    &bshare_like::INFO,
    &abm_dt::INFO,
    &flow_aware::INFO,
    &intelligent_buffer::INFO,
    &plasticine::MULTI_QUEUE,
    &plasticine::SINGLE_QUEUE,
    &plasticine_pisa::INFO,
    &maximum_queue::INFO,
    &sonic_dt::INFO,
    &reverie::INFO,
    &sonic_abm::INFO,
];
