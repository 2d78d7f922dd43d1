//! Profiles of queues. The policies for lossless traffic have the parameter `profiles`, which this
//! module resolves for a switch.

use crate::policy::interface::{BuildError, SwitchShape};
use crate::weight::Weight;
use bufferlab_params::profiles::{BufferProfile, Direction, ThresholdRule};
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params};
use std::borrow::Cow;

/// Parameter `profiles`: exceptions of some queues from the other parameters.
pub(crate) const PROFILES: ParamInfo = ParamInfo {
    name: "profiles",
    kind: ParamKind::Profiles,
    default: ParamValue::Profiles(Cow::Borrowed(&[])),
    artifact_default: None,
    doc: "Exceptions to the other parameters for some queues, by `ports` and `priorities` (default: all) and \
          `direction` (`ingress` or `egress`): `alpha`, `dynamic_th` (alpha = 2^n) or `static_threshold`; \
          `reserved`; at ingress `headroom`, `xon`, `xon_offset`. If several profiles cover a queue, the \
          last one applies, key by key (`docs/concepts/lossless.md`).",
};

/// Limit of the length of an ingress or egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The limit is a factor of the free space of the queue's pool.
    Dynamic(Weight),
    /// The limit is a fixed length (bytes).
    Static(u64),
}

impl Limit {
    /// Limit of the queue length (bytes), if the pool has `free` free bytes.
    #[inline]
    pub(crate) fn at_free(self, free: u64) -> u64 {
        match self {
            Self::Dynamic(weight) => weight.apply(free),
            Self::Static(bytes) => bytes,
        }
    }
}

impl From<ThresholdRule> for Limit {
    fn from(rule: ThresholdRule) -> Self {
        match rule {
            ThresholdRule::Dynamic(alpha) => Self::Dynamic(Weight::from_f64(alpha)),
            ThresholdRule::Static(bytes) => Self::Static(bytes),
        }
    }
}

/// The value of a setting for each ingress or egress queue. The last buffer profile that sets the
/// value decides. If no profile sets the value, `general(port, priority)` is the value.
pub(crate) fn resolve<T>(
    params: &Params,
    shape: &SwitchShape,
    direction: Direction,
    of: impl Fn(&BufferProfile) -> Option<T>,
    general: impl Fn(usize, usize) -> T,
) -> Vec<T> {
    let profiles = params.profiles("profiles");
    let ports = match direction {
        Direction::Ingress => shape.ingress_ports(),
        Direction::Egress => shape.ports(),
    };
    let queues = (0..ports).flat_map(|port| (0..shape.queues_per_port).map(move |priority| (port, priority)));
    let value = |(port, priority): (usize, usize)| {
        let mut given = profiles.iter().rev().filter(|profile| profile.covers(direction, port, priority));
        given.find_map(&of).unwrap_or_else(|| general(port, priority))
    };
    queues.map(value).collect()
}

/// Refuses profiles that set a parameter which this policy does not use. `unfit` describes the
/// reason.
pub(crate) fn refuse(
    params: &Params,
    unfit: impl Fn(&BufferProfile) -> Option<&'static str>,
) -> Result<(), BuildError> {
    let mut profiles = params.profiles("profiles").iter().enumerate();
    match profiles.find_map(|(index, profile)| Some((index, unfit(profile)?))) {
        None => Ok(()),
        Some((index, why)) => {
            Err(BuildError { param: "profiles", message: format!("profile {index}: {why}") })
        }
    }
}

/// Refuses a profile that covers a lossy ingress queue with a value that only lossless queues use.
pub(crate) fn refuse_at_lossy_ingress(
    params: &Params,
    shape: &SwitchShape,
    has: impl Fn(&BufferProfile) -> bool,
    why: &str,
) -> Result<(), BuildError> {
    for (index, profile) in params.profiles("profiles").iter().enumerate().filter(|(_, one)| has(one)) {
        for port in 0..shape.ports() {
            let is_lossy = |priority: &usize| shape.lossless_at(port) >> priority & 1 == 0;
            let mut queues = (0..shape.queues_per_port).filter(is_lossy);
            // A profile for all priorities applies only to the priorities that can use its values.
            if let Some(priority) =
                queues.find(|&priority| profile.covers(Direction::Ingress, port, priority))
                && !profile.priorities.is_empty()
            {
                let message = format!("profile {index}: priority {priority} of port {port}: {why}");
                return Err(BuildError { param: "profiles", message });
            }
        }
    }
    Ok(())
}
