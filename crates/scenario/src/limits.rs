//! Limits of the scenario format, for the page of limits.

use crate::format::{EXPLAINED_MAX, FRAME_MAX};
use crate::load::EXTENDS_MAX;
use crate::read::{MAX_QUEUES, NAME_BYTES_MAX};
use bufferlab_params::Limit;

const EFFECT: &str = "refused when the scenario is loaded";

const fn limit(name: &'static str, most: u64, unit: &'static str, place: &'static str) -> Limit {
    Limit { name, most, unit, place, effect: EFFECT }
}

/// Maximum number of packet events that one run explains.
pub const EXPLAINED: Limit =
    limit("explained events", EXPLAINED_MAX, "", "`output.explain_losses`, `explain --count`");

/// Limits of scenario files that this crate checks.
pub const LIMITS: &[Limit] = &[
    limit("queues of a switch", MAX_QUEUES as u64, "", "ports × `switch.queues_per_port`"),
    limit("bytes of a frame", FRAME_MAX, "B", "`segment_bytes` and `header_bytes` of transports"),
    limit("bytes of a name", NAME_BYTES_MAX as u64, "B", "`name` of a scenario"),
    limit("files that extend each other", EXTENDS_MAX as u64, "", "`extends`"),
    EXPLAINED,
];
