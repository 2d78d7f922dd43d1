//! Data for charts in addition to the summary; a finished flow needs twelve bytes.

/// Data of a finished flow that charts need, in twelve bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowSample {
    pub(crate) slowdown: f32,
    pub(crate) class: u16,
    pub(crate) size_bin: u8,
    pub(crate) short: bool,
    pub(crate) of_query: bool,
}

/// Data of one run for charts.
#[derive(Clone, Debug)]
pub(crate) struct RunSamples {
    pub(crate) flows: Vec<FlowSample>,
    /// Query completion times by class (ns), sorted.
    pub(crate) qct_ns: Vec<(String, Vec<f64>)>,
    /// Time (ns) by occupancy (% of the buffer), over all switches, ascending.
    pub(crate) occupancy: Vec<(f64, u64)>,
    /// Number of packets in every bin of queueing delays, for every class. Bins are given by their
    /// upper edges (ns).
    pub(crate) delays: crate::bursts::DelaySamples,
}

/// Lower edges of the flow-size bins (bytes), two per decade. The first bin starts at 0, and the
/// last bin has no upper edge.
const SIZE_EDGES: [u64; 11] = [
    1_000,
    3_162,
    10_000,
    31_623,
    100_000,
    316_228,
    1_000_000,
    3_162_278,
    10_000_000,
    31_622_777,
    100_000_000,
];

/// Number of flow-size bins.
pub(crate) const SIZE_BINS: usize = SIZE_EDGES.len() + 1;

/// Returns the bin of a flow with this size.
pub(crate) fn size_bin(size_bytes: u64) -> u8 {
    SIZE_EDGES.partition_point(|edge| *edge <= size_bytes) as u8
}

/// Geometric middle of a flow-size bin (bytes), at which charts draw the bin.
pub(crate) fn size_bin_middle(bin: usize) -> f64 {
    1_000.0 * 10_f64.powf(bin as f64 / 2.0 - 0.25)
}

/// Label of a flow-size bin: a range of sizes.
pub(crate) fn size_bin_label(bin: usize) -> String {
    let text = |edge: u64| crate::format::bytes(edge as f64);
    match bin {
        0 => format!("below {}", text(SIZE_EDGES[0])),
        _ if bin == SIZE_EDGES.len() => format!("from {}", text(SIZE_EDGES[bin - 1])),
        _ => format!("{} to {}", text(SIZE_EDGES[bin - 1]), text(SIZE_EDGES[bin])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_half_decades() {
        assert_eq!(
            [0, 999, 1_000, 3_161, 3_162, 99_999, 100_000, u64::MAX].map(size_bin),
            [0, 0, 1, 1, 2, 4, 5, 11]
        );
        assert!((1_000.0..3_162.0).contains(&size_bin_middle(1)));
        assert_eq!(size_bin_label(4), "31.6 KB to 100 KB");
    }
}
