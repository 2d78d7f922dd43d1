//! Registry entry of a policy: its names, its parameters and its constructor.

use super::policy::Policy;
use super::shape::SwitchShape;
use crate::hardware::Accounting;
use bufferlab_params::{BuildError, ParamValue, Params};

/// Builds a policy for a switch. The type is a boxed closure, because constructors of custom
/// policies may need state.
pub type PolicyConstructor =
    &'static (dyn Fn(&Params, &SwitchShape) -> Result<Box<dyn Policy>, BuildError> + Send + Sync);

bufferlab_params::entry! {
    /// Registry entry of a policy. [`crate::POLICIES`] lists the built-in policies,
    /// and [`crate::register_policy`] adds custom policies.
    pub struct PolicyInfo("policy") {
        /// Computing time of one decision of the policy, and the quantities on which the time
        /// depends, such as "O(1)".
        pub cost: &'static str,
        /// The constructor of the policy. `Params` is complete and every value is in its domain.
        /// The constructor refuses only values that do not fit the switch.
        pub build: PolicyConstructor,
    }
}

impl PolicyInfo {
    /// Builds the policy for a switch, after the parameter checks that all policies share.
    ///
    /// # Errors
    /// Returns the parameter that does not fit the switch.
    pub fn construct(&self, params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
        for (param, value) in params.iter() {
            if let ParamValue::RatioPerPriority(list) = value
                && list.len() > shape.queues_per_port
                && !params.is_default(param)
            {
                let (found, queues) = (list.len(), shape.queues_per_port);
                let message = format!(
                    "{found} values, one for each priority, are more than queues_per_port = {queues}: give at most {queues}"
                );
                return Err(BuildError { param, message });
            }
            if let ParamValue::BytesPerPort(list) = value
                && list.len() > shape.ports()
            {
                let (found, ports) = (list.len(), shape.ports());
                let message = format!("{found} values, one for each port, and the switch has {ports} ports");
                return Err(BuildError { param, message });
            }
            if let ParamValue::Profiles(list) = value
                && let Some(message) = list.iter().enumerate().find_map(|(index, profile)| {
                    let port = profile.ports.iter().find(|&&port| usize::from(port) >= shape.ports());
                    let beyond = |&&priority: &&u8| usize::from(priority) >= shape.queues_per_port;
                    let (ports, queues) = (shape.ports(), shape.queues_per_port);
                    port.map(|port| {
                        format!(
                            "profile {index} is for port {port}, and the switch has {ports}, numbered from 0"
                        )
                    })
                    .or_else(|| {
                        let priority = profile.priorities.iter().find(beyond)?;
                        Some(format!(
                            "profile {index} is for priority {priority}, and queues_per_port is {queues}"
                        ))
                    })
                })
            {
                return Err(BuildError { param, message });
            }
            if let ParamValue::Profiles(list) = value
                && shape.foreign_ports > 0
                && let Some(index) = list.iter().position(|profile| !profile.ports.is_empty())
            {
                let message = format!(
                    "profile {index} is for some ports, and the memory is in slices with ports of their own: leave `ports` out, \
                     or set hardware.slices = 1"
                );
                return Err(BuildError { param, message });
            }
        }
        let policy = (self.build)(params, shape)?;
        let Accounting { slices, threshold_bits, .. } = shape.accounting;
        if (slices > 1 || threshold_bits > 0) && !policy.supports_accounting() {
            let message = format!(
                "{} does not account by ingress port, as slices by ingress port and threshold_bits want it",
                self.name
            );
            return Err(BuildError { param: "hardware", message });
        }
        Ok(policy)
    }
}
