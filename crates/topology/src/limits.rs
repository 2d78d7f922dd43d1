//! Size limits of networks that a few numbers describe.

use crate::kinds::leaf_spine::MAX_LINKS;
use crate::kinds::scale_up::MAX_ROUTES;
use crate::kinds::{MAX_NODES, MAX_PORTS};
use bufferlab_params::Limit;

const EFFECT: &str = "refused when the scenario is loaded";

/// All limits of input that the topologies check.
pub const LIMITS: &[Limit] = &[
    Limit {
        name: "switches of a kind",
        most: MAX_NODES,
        unit: "",
        place: "`leaves`, `spines` and the like",
        effect: EFFECT,
    },
    Limit {
        name: "ports of a switch",
        most: MAX_PORTS,
        unit: "",
        place: "`hosts`, `hosts_per_leaf` and the like",
        effect: EFFECT,
    },
    Limit {
        name: "hosts, or cables in the fabric, of a leaf-spine network, rails, planes or Dragonfly",
        most: MAX_LINKS,
        unit: "",
        place: "`leaves` × `hosts_per_leaf`, `leaves` × `spines` × `links_per_pair` and the like",
        effect: EFFECT,
    },
    Limit {
        name: "routes of servers with a scale-up switch",
        most: MAX_ROUTES,
        unit: "",
        place: "`servers` × `servers` × `gpus_per_server`",
        effect: EFFECT,
    },
];
