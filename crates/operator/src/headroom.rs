//! Answer of the command `check` to the question whether the lossless queues of a scenario have
//! enough headroom. The commands `explain`, `lint`, `predict` and `what-if` use the same model of
//! headroom.

use bufferlab_core::ParamValue;
use bufferlab_scenario::{Scenario, SwitchSpec};
use bufferlab_theory::forms::headroom::{HeadroomNeeds, SONIC_METRES_PER_SECOND, needs};
use bufferlab_units::headroom::{PacketMemory, PausedCable};
use std::collections::BTreeMap;

/// Largest frame of a port (bytes): SONiC's default. The packets of a scenario may all be smaller.
const MTU: u32 = 9_100;
/// Smallest packet that a peer may send (bytes).
const SMALLEST: u32 = 64;

/// Headroom of a lossless queue in a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueHeadroom {
    /// Speed of the cable at the queue's port (Mb/s).
    pub speed_mbps: u64,
    /// Length of the cable, at the speed of light that SONiC's calculation assumes (metres).
    pub cable_metres: f64,
    /// Headroom that the queue can use (bytes): at most the headroom pool of its slice.
    pub usable: u64,
    /// Headroom that the cable needs, for frames up to SONiC's default MTU.
    pub needs: HeadroomNeeds,
}

impl QueueHeadroom {
    /// Returns the headroom of a queue; `None` for a lossy queue, or if the policy has no headroom.
    #[must_use]
    pub fn new(scenario: &Scenario, switch: u32, port: u16, priority: u8) -> Option<Self> {
        let cable = scenario.paused_cable(switch, port, priority)?;
        let asked = scenario.configured_headroom(switch, port, priority)?;
        let pool = pool_of_slice(scenario.switches.get(switch as usize)?);
        let largest = MTU.max(cable.packets.largest);
        let packets = PacketMemory { smallest: SMALLEST, largest, ..cable.packets };
        Some(Self {
            speed_mbps: cable.arrivals.0 / 1_000_000,
            cable_metres: cable.delay.0 as f64 * 1e-12 * SONIC_METRES_PER_SECOND,
            usable: pool.map_or(asked, |pool| asked.min(pool)),
            needs: needs(PausedCable { packets, largest_back: largest, ..cable }),
        })
    }

    /// Answers in one sentence whether the headroom of the queue is enough.
    #[must_use]
    pub fn answer(&self) -> String {
        format!("{} B of headroom: {}", self.usable, self.needs.answer(self.usable))
    }
}

/// Shared headroom pool of a slice in whole cells (bytes); absent if queues do not share headroom.
fn pool_of_slice(spec: &SwitchSpec) -> Option<u64> {
    let named = spec.policy_params.iter().find(|(name, _)| name == "headroom_pool");
    let pool = match named?.1 {
        ParamValue::Bytes(pool) if pool > 0 => pool,
        _ => return None,
    };
    let cell = u64::from(spec.hardware.switch.cell_bytes.max(1));
    let slices = u64::from(spec.hardware.switch.accounting.slices.max(1));
    Some(pool / cell / slices * cell)
}

/// Returns a sentence for each kind of lossless queues of a scenario: number of queues, speed,
/// cable, and whether the headroom is enough.
#[must_use]
pub fn headroom_answers(scenario: &Scenario) -> Vec<String> {
    let mut kinds: BTreeMap<(u64, String, String), usize> = BTreeMap::new();
    for (switch, spec) in (0..).zip(&scenario.switches) {
        let ports = scenario.topology.ports_of(switch).len() as u16;
        let lossless = (0..spec.queues_per_port).filter(|priority| spec.lossless() >> priority & 1 != 0);
        for (port, priority) in lossless.flat_map(|priority| (0..ports).map(move |port| (port, priority))) {
            if let Some(headroom) = QueueHeadroom::new(scenario, switch, port, priority) {
                let metres = format!("{:.1}", headroom.cable_metres);
                *kinds.entry((headroom.speed_mbps, metres, headroom.answer())).or_default() += 1;
            }
        }
    }
    let sentence = |((speed, metres, answer), queues): ((u64, String, String), usize)| {
        let noun = if queues == 1 { "queue" } else { "queues" };
        let metres = metres.strip_suffix(".0").unwrap_or(&metres);
        format!("{queues} lossless {noun}, {speed} Mb/s over {metres} m: {answer}")
    };
    kinds.into_iter().map(sentence).collect()
}
