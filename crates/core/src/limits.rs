//! Limits of the core, which the documentation lists on its page of limits.

use crate::flows::FLOW_ENTRIES_MAX;
use crate::schedule::MAX_QUEUES_PER_PORT;
use bufferlab_params::Limit;

/// Limits that registry entries and the scheduler check.
pub const LIMITS: &[Limit] = &[
    Limit {
        name: "queues of a port",
        most: MAX_QUEUES_PER_PORT as u64,
        unit: "",
        place: "`switch.queues_per_port`",
        effect: "refused when the scenario is loaded",
    },
    Limit {
        name: "entries of a table of flows",
        most: FLOW_ENTRIES_MAX,
        unit: "",
        place: "`flow_entries` of policies and classifiers",
        effect: "refused when the scenario is loaded; the tables of all switches count towards the memory \
              limit",
    },
];
