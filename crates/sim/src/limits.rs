//! Limits of the engine (hosts, cables, flows, packets and others), which the documentation lists.

use crate::demand::jitter::WAITING_MAX;
use crate::host::PACKETS_MAX;
use crate::ids::FlowSlot;
use crate::world::calendar::Calendar;
use bufferlab_params::Limit;

/// Largest number of packets alive at once, in switches, on links and at NICs. This number of
/// packets of usual size carries 50 GB of data and takes some 5 GB of memory.
pub(crate) const ALIVE_MAX: usize = 1 << 25;

const fn limit(
    name: &'static str,
    most: usize,
    unit: &'static str,
    place: &'static str,
    effect: &'static str,
) -> Limit {
    Limit { name, most: most as u64, unit, place, effect }
}

const BEFORE: &str = "refused before the first packet";

/// Limits that the engine checks before or during a run.
pub const LIMITS: &[Limit] = &[
    limit("hosts", u16::MAX as usize, "", "`[topology]`", BEFORE),
    limit("cables", Calendar::MAX_LINK as usize / 2, "", "`[topology]`", BEFORE),
    limit(
        "flows alive at once",
        FlowSlot::COUNT,
        "",
        "`[[workload]]`: load, lists, traces (every packet of a trace is a flow)",
        "the run ends with an error",
    ),
    limit(
        "flows that wait for their jittered start",
        WAITING_MAX,
        "",
        "`start_jitter`",
        "the run ends with an error",
    ),
    limit(
        "packets that are made and wait at network cards",
        PACKETS_MAX,
        "",
        "`host.nic`, windows of transports",
        "the run ends with an error",
    ),
    limit(
        "packets alive at once",
        ALIVE_MAX,
        "",
        "`switch.buffer` of all switches",
        "the run ends with an error",
    ),
];
