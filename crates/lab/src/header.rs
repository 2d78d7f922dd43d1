//! Creates the data of a manifest that is known before the run starts.

use crate::RunError;
use bufferlab_core::{Params, find_policy};
use bufferlab_results::{NameTables, PolicyHead, RunHeader, VariantHead};
use bufferlab_scenario::{Loaded, Scenario};

/// Returns the header of a run's manifest; `classes` has the order of
/// [`bufferlab_sim::Simulation::classes`].
///
/// # Errors
/// If the scenario has no switch, or its policy is not registered.
pub fn header(loaded: &Loaded, classes: &[String]) -> Result<RunHeader, RunError> {
    let scenario = &loaded.scenario;
    let topology = &scenario.topology;
    let variant = loaded.variant.clone();
    Ok(RunHeader {
        bufferlab_version: env!("CARGO_PKG_VERSION").to_owned(),
        git_commit: crate::commit().map(str::to_owned),
        scenario_name: scenario.name.clone(),
        scenario_description: scenario.description.clone(),
        scenario_toml: loaded.resolved.clone(),
        inputs: loaded.inputs.iter().map(|input| (input.name.clone(), input.content.clone())).collect(),
        profile: scenario.profile.word().to_owned(),
        seed: scenario.seed,
        policy: policy_head(scenario)?,
        variant: variant.map(|name| VariantHead { label: name.label, text: name.text }),
        lossless_priorities: lossless_priorities(scenario),
        duration_ns: scenario.duration.as_ns(),
        drain_ns: scenario.drain.as_ns(),
        short_flow_bytes: scenario.output.short_flow_bytes,
        sample_interval_ns: scenario.output.sample_interval.as_ns(),
        sample_switch: topology.switches.get(scenario.output.sample_switch as usize).cloned(),
        names: NameTables {
            classes: classes.to_vec(),
            switches: topology.switches.clone(),
            hosts: topology.hosts.clone(),
            schedules: schedules(scenario),
        },
    })
}

/// Returns descriptions of the workloads that execute schedules. Each of these workloads has one
/// schedule, and the list is in the order of the schedules' numbers.
#[must_use]
pub fn schedules(scenario: &Scenario) -> Vec<String> {
    let workloads = scenario.workloads.iter();
    let scheduled = workloads.filter(|spec| matches!(spec.kind.as_str(), "collective" | "schedule"));
    scheduled.map(|spec| spec.workload.in_words()).collect()
}

/// Returns all priorities that are lossless on at least one switch, ascending.
fn lossless_priorities(scenario: &Scenario) -> Vec<u8> {
    let mask = scenario.switches.iter().fold(0, |mask, switch| mask | switch.lossless());
    (0..32).filter(|priority| mask >> priority & 1 != 0).collect()
}

/// The policy of the first switch with every parameter.
/// If other switches have different policies, their names are listed.
fn policy_head(scenario: &Scenario) -> Result<PolicyHead, RunError> {
    let missing = |what: String| RunError::Head(what);
    let first = scenario.switches.first().ok_or_else(|| missing("the scenario has no switch".to_owned()))?;
    let info = find_policy(&first.policy)
        .ok_or_else(|| missing(format!("the loaded scenario names the unknown policy {}", first.policy)))?;
    let params = Params::resolve(info.params, scenario.profile, &first.policy_params)
        .map_err(|error| missing(error.to_string()))?;
    let mut names = vec![info.name];
    for switch in &scenario.switches {
        if !names.contains(&switch.policy.as_str()) {
            names.push(&switch.policy);
        }
    }
    Ok(PolicyHead {
        name: names.join("+"),
        title: info.title.to_owned(),
        params: params.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect(),
    })
}
