//! Limits on the size of the configuration files that the reader accepts.

use crate::keys::PORTS_MAX;
use crate::raw::{BYTES_MAX, KEYS_MAX, PROBLEMS_MAX};
use crate::vendors;
use bufferlab_params::Limit;

const fn limit(
    name: &'static str,
    most: usize,
    unit: &'static str,
    place: &'static str,
    effect: &'static str,
) -> Limit {
    Limit { name, most: most as u64, unit, place, effect }
}

const FILES: &str = "files of `bufferlab sonic`";
const REFUSED: &str = "refused when the configuration is read";

/// Limits that the reader of configuration files checks.
pub const LIMITS: &[Limit] = &[
    limit("bytes of a switch's configuration", BYTES_MAX, "B", FILES, REFUSED),
    limit("bytes of another vendor's configuration", vendors::BYTES_MAX, "B", FILES, REFUSED),
    limit("keys of a switch's configuration", KEYS_MAX, "", FILES, REFUSED),
    limit("ports in one key", PORTS_MAX, "", "keys such as `Ethernet0,Ethernet4|3-4`", REFUSED),
    limit(
        "problems of a configuration",
        PROBLEMS_MAX,
        "",
        FILES,
        "the first are shown, and how many more there are",
    ),
];
