//! Size limits of flow lists and packet traces.

use bufferlab_params::Limit;

const EFFECT: &str = "refused when the scenario is loaded";

/// Largest number of packets in a trace. A packet takes 64 bytes while the trace is read, 64 bytes
/// in the scenario, and 64 bytes in every run.
pub(crate) const PACKETS: Limit = Limit {
    name: "packets of a trace",
    most: 10_000_000,
    unit: "",
    place: "`file` of `kind = \"trace\"`",
    effect: EFFECT,
};

/// Largest number of addresses in a trace; many addresses may map to one host.
pub(crate) const ADDRESSES: Limit = Limit {
    name: "addresses of a trace",
    most: 1 << 20,
    unit: "",
    place: "`file` of `kind = \"trace\"`",
    effect: EFFECT,
};

/// Largest unpacked size of a gzipped list or trace (bytes). The limit is checked while reading, so
/// the unpacked text is never all in memory.
pub(crate) const UNPACKED: Limit = Limit {
    name: "bytes of an unpacked list or trace",
    most: 4_000_000_000,
    unit: "B",
    place: "`file` of `kind = \"flow_list\"` and `kind = \"trace\"`, gzipped",
    effect: EFFECT,
};

/// Largest number of flows in a list. A flow takes [`FLOW_BYTES`](crate::FLOW_BYTES) of memory for
/// the scenario, and as much again in every concurrent run: 1.3 GB at the limit, with one run.
pub const FLOWS_MAX: usize = 10_000_000;

/// Largest length of a line in a flow list or trace (bytes): some hundred times the length of a
/// usual line.
pub const LINE_BYTES_MAX: usize = 65_536;

/// Limit [`FLOWS_MAX`] on the flows of a list, for checks and the documentation.
pub(crate) const FLOWS: Limit = Limit {
    name: "flows of a list",
    most: FLOWS_MAX as u64,
    unit: "",
    place: "`file` of `kind = \"flow_list\"`",
    effect: EFFECT,
};

/// Largest length of a line, or of a record with line ends within quotes (bytes).
pub(crate) const LINE: Limit = Limit {
    name: "bytes of a line of a list or trace",
    most: LINE_BYTES_MAX as u64,
    unit: "B",
    place: "`file` of `kind = \"flow_list\"` and `kind = \"trace\"`",
    effect: EFFECT,
};

/// Largest number of flows that are alive at once, because the engine has no more slots.
pub const FLOWS_ALIVE_MAX: u64 = 1 << 20;

/// All limits that workloads and their readers check.
pub const LIMITS: &[Limit] = &[FLOWS, PACKETS, ADDRESSES, LINE, UNPACKED];
