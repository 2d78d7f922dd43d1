//! Subject of a test: a function that builds a device, and the claims that the device makes.

use crate::device::{Device, SwitchDevice};
use bufferlab_core::{
    BuildError, ParamKind, ParamValue, Policy, PolicyInfo, Switch, SwitchConfig, SwitchShape,
};
use std::fmt;

type Build = dyn Fn(&SwitchConfig) -> Result<Box<dyn Device>, BuildError>;
type BuildWithAlpha = dyn Fn(&SwitchConfig, f64) -> Result<Box<dyn Device>, BuildError>;

/// Subject of a test: a policy, or a whole device.
pub struct Subject {
    pub(crate) name: String,
    pub(crate) build: Box<Build>,
    pub(crate) build_with_alpha: Option<Box<BuildWithAlpha>>,
    pub(crate) exact_threshold: bool,
    pub(crate) most_evictions: Option<usize>,
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Subject {
    /// Creates a test subject for any device.
    pub fn device(
        name: &str,
        build: impl Fn(&SwitchConfig) -> Result<Box<dyn Device>, BuildError> + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            build: Box::new(build),
            build_with_alpha: None,
            exact_threshold: true,
            most_evictions: None,
        }
    }

    /// Creates a subject for a policy in the core's switch.
    pub fn policy(
        name: &str,
        build: impl Fn(&SwitchShape) -> Result<Box<dyn Policy>, BuildError> + 'static,
    ) -> Self {
        Self::device(name, move |config| Ok(in_switch(config, build(&config.shape())?)))
    }

    /// Creates a subject for a registered policy, with some parameters set. If the policy has a
    /// parameter `alpha`, the suite checks monotonicity in alpha, too.
    #[must_use]
    pub fn registered(info: &'static PolicyInfo, params: &[(&str, ParamValue)]) -> Self {
        let params: Vec<_> = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let name =
            params.iter().fold(info.name.to_owned(), |name, (key, value)| format!("{name} {key}={value}"));
        let own = params.clone();
        let subject = Self::device(&name, move |config| {
            Ok(Box::new(SwitchDevice::new(config.build(info.name, &own)?)))
        });
        let alpha_of: fn(f64) -> ParamValue =
            match info.params.iter().find(|param| param.name == "alpha").map(|param| param.kind) {
                Some(ParamKind::RatioPerPriority { .. }) => {
                    |alpha| ParamValue::RatioPerPriority(vec![alpha].into())
                }
                Some(ParamKind::Ratio { .. }) => ParamValue::Ratio,
                _ => return subject,
            };
        subject.monotone_in_alpha(move |config, alpha| {
            let mut params = params.clone();
            params.push(("alpha".to_owned(), alpha_of(alpha)));
            Ok(Box::new(SwitchDevice::new(config.build(info.name, &params)?)))
        })
    }

    /// Declares that a larger alpha never makes a threshold smaller; `build` receives the alpha.
    #[must_use]
    pub fn monotone_in_alpha(
        mut self,
        build: impl Fn(&SwitchConfig, f64) -> Result<Box<dyn Device>, BuildError> + 'static,
    ) -> Self {
        self.build_with_alpha = Some(Box::new(build));
        self
    }

    /// Declares that admission depends on more than the threshold and the size of the buffer:
    /// reserves, early drops, port limits.
    #[must_use]
    pub fn with_other_limits(mut self) -> Self {
        self.exact_threshold = false;
        self
    }

    /// Declares that an arrival never evicts more than `count` stored packets.
    #[must_use]
    pub fn with_at_most_evictions(mut self, count: usize) -> Self {
        self.most_evictions = Some(count);
        self
    }

    /// Name of the tested policy or device in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Builds a fresh device of this subject for a test.
    ///
    /// # Errors
    /// If the policy does not fit the switch.
    pub fn build(&self, config: &SwitchConfig) -> Result<Box<dyn Device>, BuildError> {
        (self.build)(config)
    }
}

/// Builds the core's switch with `policy` as a device under test.
fn in_switch(config: &SwitchConfig, policy: Box<dyn Policy>) -> Box<dyn Device> {
    Box::new(SwitchDevice::new(Switch::new(config, policy)))
}
