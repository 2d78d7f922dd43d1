//! Builds the engine's switches from the switches of a scenario.

use crate::SimError;
use crate::ids::{Id, LinkId, SwitchId, Table};
use crate::switch::{PortLinks, Slice, SwitchNode};
use bufferlab_core::{PortSpread, SwitchConfig};
use bufferlab_scenario::Scenario;
use bufferlab_units::{BitRate, mix};

/// Builds all switches of a scenario. `first_links` has the link of port 0 of each switch.
pub(super) fn build_switches(
    scenario: &Scenario,
    first_links: &Table<SwitchId, LinkId>,
) -> Result<Table<SwitchId, SwitchNode>, SimError> {
    let places = first_links.entries().zip(scenario.topology.all_port_rates());
    let build = |((id, &first), rates): ((SwitchId, &LinkId), Vec<BitRate>)| {
        build_switch(scenario, id, first, &rates)
    };
    places.map(build).collect::<Result<Vec<_>, _>>().map(Table::from)
}

fn build_switch(
    scenario: &Scenario,
    id: SwitchId,
    first_link: LinkId,
    port_rates: &[BitRate],
) -> Result<SwitchNode, SimError> {
    let (index, spec) = (id.index(), &scenario.switches[id.index()]);
    let name = || scenario.topology.switches[index].clone();
    let queues_per_port = usize::from(spec.queues_per_port);
    let largest = scenario.transports.iter().map(|t| u64::from(t.segment_bytes + t.header_bytes)).max();
    let ports = port_rates.len();
    let spread = PortSpread::new(ports, usize::from(spec.hardware.slices));
    let mut slices = Vec::with_capacity(usize::from(spec.hardware.slices));
    for (number, range) in spread.ranges().enumerate() {
        let (first_port, rates) = (range.start, &port_rates[range.clone()]);
        let mut config = SwitchConfig {
            capacity: spec.buffer_bytes / u64::from(spec.hardware.slices),
            port_rates: rates.to_vec(),
            queues_per_port,
            max_packet: largest.unwrap_or(1_500) - u64::from(spec.uncharged_bytes),
            scheduler: spec
                .scheduler_of(&range)
                .map_err(|source| SimError::Scheduler { switch: name(), source })?,
            classifier: None,
            marker: None,
            profile: scenario.profile,
            seed: mix(scenario.seed ^ mix(index as u64 + 1) ^ mix_slice(number)),
            hardware: spec.hardware.switch,
            foreign_ports: ports - rates.len(),
            lossless: spec.lossless(),
            lossless_by_port: spec.pfc.as_ref().map_or_else(Vec::new, |pfc| pfc.masks_by_port(rates.len())),
        };
        if let Some(classifier) = &spec.classifier {
            let built = classifier.classifier(queues_per_port);
            config.classifier =
                Some(built.map_err(|source| SimError::Classifier { switch: name(), source })?);
        }
        if let Some(ecn) = &spec.ecn {
            let marker = ecn.marker(&config.shape());
            config.marker = Some(marker.map_err(|source| SimError::Marker { switch: name(), source })?);
        }
        let core = config
            .build_dispatched(&spec.policy, &spec.policy_params)
            .map_err(|source| SimError::Policy { switch: name(), source })?;
        slices.push(Slice {
            core,
            first_port: number_of(first_port),
            first_queue: number_of(first_port * queues_per_port),
            shape: config.shape(),
            policy: (spec.policy.clone(), spec.policy_params.clone()),
            classifier: spec.classifier.as_ref().map(|classifier| classifier.name.clone()),
            marking: spec.ecn.as_ref().map(|ecn| ecn.kind.clone()),
        });
    }
    let links = PortLinks { first: first_link, uncharged: spec.uncharged_bytes };
    Ok(SwitchNode::new(id, slices, links))
}

/// Converts the index of a port or a queue to the core's 16-bit number.
fn number_of(index: usize) -> u16 {
    u16::try_from(index).expect("the scenario's limit on queues was checked")
}

/// Offset of the random seed of a memory slice. The first slice has offset zero, so its random
/// numbers equal the numbers of a switch with one memory.
fn mix_slice(number: usize) -> u64 {
    if number == 0 { 0 } else { mix(number as u64) }
}
