//! Size limits of imported files.

use bufferlab_params::Limit;

const EFFECT: &str = "refused while the file is read";
const PLACE: &str = "files of `bufferlab import`";

/// Largest size of a file, and of its unpacked content (bytes).
pub(crate) const BYTES: Limit =
    Limit { name: "bytes of an imported file", most: 1_000_000_000, unit: "B", place: PLACE, effect: EFFECT };

/// Largest size of a file that [`crate::import()`] reads, packed or unpacked (bytes).
pub const FILE_BYTES_MAX: u64 = BYTES.most;

/// Largest number of hosts and switches: twice the number of hosts that a run can have.
pub(crate) const NODES: Limit =
    Limit { name: "nodes of an imported network", most: 131_072, unit: "", place: PLACE, effect: EFFECT };

/// Largest number of cables: the number of cables that a run can have.
pub(crate) const CABLES: Limit =
    Limit { name: "cables of an imported network", most: 131_071, unit: "", place: PLACE, effect: EFFECT };

/// Largest number of hosts: the number of hosts that a run can have.
pub(crate) const HOSTS: Limit =
    Limit { name: "hosts of an imported network", most: 65_535, unit: "", place: PLACE, effect: EFFECT };

/// Largest number of flows in an imported file.
pub(crate) const FLOWS: Limit =
    Limit { name: "flows of an imported file", most: 10_000_000, unit: "", place: PLACE, effect: EFFECT };

/// List of the size limits of imported files.
pub const LIMITS: &[Limit] = &[BYTES, NODES, HOSTS, CABLES, FLOWS];
