//! Copies of a switch, and changes of the policy during a run.

use super::{Slice, SwitchNode};
use bufferlab_core::{BuildError, Dispatched, ParamValue, Policy, SteeredThreshold, Weight, build_policy};
use bufferlab_units::Time;

impl SwitchNode {
    /// Copies the switch with its packets and policies.
    ///
    /// # Errors
    /// Returns the name of a policy that cannot be copied.
    pub(crate) fn try_clone(&self) -> Result<Self, String> {
        let more = self.more.iter().map(try_clone).collect::<Result<_, _>>()?;
        let panels = self.panels.iter().map(|panel| panel.try_clone().map_err(str::to_owned));
        Ok(Self {
            first: try_clone(&self.first)?,
            more,
            panels: panels.collect::<Result<_, _>>()?,
            record: self.record.clone(),
            slice_of_port: self.slice_of_port.clone(),
            rate_timers: self.rate_timers.clone(),
            ..*self
        })
    }

    /// Builds the policy `name` for every memory of the switch.
    pub(crate) fn build_policies(
        &self,
        name: &str,
        params: &[(String, ParamValue)],
    ) -> Result<Vec<Dispatched>, BuildError> {
        let build = |slice: &Slice| {
            let policy = build_policy(&slice.shape, slice.core.hardware(), name, params)?;
            if slice.shape.lossless != 0 && !policy.hooks().contains(bufferlab_core::Hooks::PAUSE) {
                let message = format!("{name} never pauses, and the switch has lossless priorities");
                return Err(BuildError { param: "policy", message });
            }
            Ok(policy.into())
        };
        self.slices().map(build).collect()
    }

    /// Replaces the policy of every memory. `policy` has the name and the parameters of the new
    /// policy.
    pub(crate) fn replace_policies(
        &mut self,
        now: Time,
        policies: Vec<Dispatched>,
        policy: &(String, Vec<(String, ParamValue)>),
    ) {
        for (index, built) in policies.into_iter().enumerate() {
            let (slice, mut listener) = self.slice_with_listener(index);
            slice.core.replace_policy(now, built, &mut listener);
            slice.policy = policy.clone();
        }
    }

    /// Requests the timer of the new policies. The caller has removed the timer of the old
    /// policies.
    pub(crate) fn arm_timer(&mut self) {
        self.timer_set = self.is_timeless();
        self.want_timer();
    }

    /// Sets alpha of every queue, if the policy is `SteeredThreshold`. Returns false otherwise.
    pub(crate) fn set_alphas(&mut self, alphas: &[f64]) -> bool {
        std::iter::once(&mut self.first).chain(&mut self.more).all(|slice| {
            let alphas = alphas_of(slice, alphas);
            let steered = slice.core.policy_mut().downcast_mut::<SteeredThreshold>();
            steered.map(|policy| policy.set_alphas(&alphas)).is_some()
        })
    }

    /// Replaces the policy of every memory of the switch by Dynamic Thresholds with these alphas.
    pub(crate) fn steer(&mut self, now: Time, alphas: &[f64]) {
        let build = |slice: &Slice| {
            let policy: Box<dyn Policy> = Box::new(SteeredThreshold::new(alphas_of(slice, alphas)));
            policy.into()
        };
        let policies = self.slices().map(build).collect();
        self.replace_policies(now, policies, &("dt".to_owned(), Vec::new()));
    }
}

fn try_clone(slice: &Slice) -> Result<Slice, String> {
    Ok(Slice {
        core: slice.core.try_clone().ok_or_else(|| slice.policy.0.clone())?,
        shape: slice.shape.clone(),
        policy: slice.policy.clone(),
        classifier: slice.classifier.clone(),
        marking: slice.marking.clone(),
        ..*slice
    })
}

/// Alphas of the queues of one memory, rounded to alphas that the chip supports. `alphas` has the
/// alphas of all queues of the switch.
fn alphas_of(slice: &Slice, alphas: &[f64]) -> Vec<Weight> {
    let is_quantised = slice.core.hardware().quantised_alpha;
    let exact = |&alpha: &f64| Weight::from_f64(alpha);
    let first = usize::from(slice.first_queue);
    let own = alphas[first..first + slice.shape.queues()].iter().map(exact);
    own.map(|alpha| if is_quantised { alpha.nearest_power_of_two() } else { alpha }).collect()
}
