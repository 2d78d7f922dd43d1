//! Selects the variants of a scenario to compare, in order, each with a name and a folder.

use crate::PlanError;
use bufferlab_core::{POLICIES, find_policy};
use bufferlab_results::RunCaveat;
use bufferlab_scenario::{Scenario, Variant};

/// A selection of a variant, or of all policies.
#[derive(Clone, Debug)]
pub enum PolicySelection {
    /// A registered policy, with the changes of a variant.
    One(Variant),
    /// The selection of every built-in policy.
    /// Custom policies must be named, so that `all` means equal policies in every process.
    All,
}

impl PolicySelection {
    /// Name that selects every built-in policy.
    pub const ALL: &'static str = "all";

    /// Finds a policy by its name, or [`Self::ALL`]; `None` if no policy has this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            Self::ALL => Some(Self::All),
            name => find_policy(name).map(Variant::from_policy).map(Self::One),
        }
    }
}

/// Returns the policy of the scenario's first switch.
pub(crate) fn scenario_policy(scenario: &Scenario) -> Option<Variant> {
    let first = scenario.switches.first()?;
    find_policy(&first.policy).map(Variant::from_policy)
}

/// Returns the requested variants, and whether all policies are requested. If all are requested,
/// the scenario's policy is the baseline and keeps its parameters from the scenario.
pub(crate) fn select(choices: &[PolicySelection], scenario: &Scenario) -> (Vec<Variant>, bool) {
    let named = choices.iter().filter_map(|choice| match choice {
        PolicySelection::One(variant) => Some(variant.clone()),
        PolicySelection::All => None,
    });
    if !choices.iter().any(|choice| matches!(choice, PolicySelection::All)) {
        return (named.collect(), false);
    }
    // Put the named variants first, in the order of the command line.
    let mut variants: Vec<Variant> = Vec::new();
    let others =
        scenario_policy(scenario).into_iter().chain(POLICIES.iter().map(|info| Variant::from_policy(info)));
    for variant in named.chain(others) {
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    (variants, true)
}

/// Rejects variants that share a label or a folder.
pub(crate) fn reject_duplicates(variants: &[Variant]) -> Result<(), PlanError> {
    for (index, variant) in variants.iter().enumerate() {
        let earlier = &variants[..index];
        if variant.is_plain() && earlier.contains(variant) {
            let message = format!("policy \"{}\" is named twice", variant.policy().name);
            return Err(PlanError::refused(message, "name each policy once"));
        }
        if earlier.iter().any(|known| known.label() == variant.label()) {
            let message = format!("two variants are called \"{}\"", variant.label());
            let help = if earlier.contains(variant) {
                "name each variant once"
            } else {
                "tables know a variant by its label: choose another for one of them"
            };
            return Err(PlanError::refused(message, help));
        }
        if let Some(known) = earlier.iter().find(|known| known.means_the_same(variant)) {
            let message = format!("\"{}\" and \"{}\" are the same variant", known.label(), variant.label());
            return Err(PlanError::refused(
                message,
                "name each variant once, or write a label before one of them, such as 'second: …'",
            ));
        }
        if let Some(known) = earlier.iter().find(|known| known.folder() == variant.folder()) {
            let (first, second) = (known.label(), variant.label());
            let message = format!("\"{first}\" and \"{second}\" would share the folder {}", variant.folder());
            return Err(PlanError::refused(
                message,
                "write another label before one of them, such as 'second: …'",
            ));
        }
    }
    Ok(())
}

/// Returns a caveat if a variant changes the network or the traffic. With equal seeds, the arrivals
/// of this variant differ from the arrivals of the baseline.
pub(crate) fn other_traffic(
    (baseline, first): (&Variant, &Scenario),
    (variant, changed): (&Variant, &Scenario),
) -> Option<RunCaveat> {
    // Compare the computed workloads, since a request size may be a fraction of the buffer.
    let sent = |scenario: &Scenario| {
        let workloads = scenario.workloads.iter().map(|spec| format!("{}: {:?}", spec.class, spec.workload));
        (workloads.collect::<Vec<_>>(), scenario.duration, scenario.start_jitter)
    };
    if sent(first) == sent(changed) && first.topology == changed.topology {
        return None;
    }
    let (label, baseline) = (variant.label(), baseline.label());
    Some(RunCaveat {
        id: "other-traffic".to_owned(),
        message: format!(
            "\"{label}\" has another network or other traffic than \"{baseline}\": with equal seeds they do not see the same \
             arrivals, and a difference between them is not one of buffers alone."
        ),
        advice:
            "Vary traffic with a sweep, and name sizes in bytes where they follow the buffer (`request` for \
                 `request_fraction_of_buffer`)."
                .to_owned(),
    })
}
