//! Checks that completion times of flows of every size agree with the ns-3 reference. A mean over
//! all sizes would hide a size class with too short completion times if another class has too long
//! ones.

use crate::measure::{Flow, percentile};

/// Upper bounds of the size classes (bytes): RDMA's first window, then the data of a few round
/// trips.
const ENDS: [u64; 2] = [54_000, 300_000];
/// Smallest number of flows in a size class for which the median completion time is meaningful.
pub const FLOWS_MIN: usize = 10;
/// Largest deviation from 1 that counts as agreement, for the median ratio of completion times.
pub const TOLERANCE: f64 = 0.15;

/// Flows of one workload class and one range of sizes, from bufferlab and from the ns-3 reference.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeClass {
    /// Workload class of the flows, named as in the ns-3 reference.
    pub class: String,
    /// Range of flow sizes: an index into the ranges of [`SizeClass::sizes`].
    pub range: usize,
    /// Number of flows that finished in bufferlab and in the ns-3 reference.
    pub flows: usize,
    /// Median over flows of bufferlab's completion time divided by the ns-3 reference's completion
    /// time.
    pub median_ratio: f64,
    /// Bufferlab's mean completion time divided by the mean completion time of the ns-3 reference.
    pub mean_ratio: f64,
}

impl SizeClass {
    /// The size class's range of flow sizes as text.
    #[must_use]
    pub fn sizes(&self) -> &'static str {
        ["up to 54 KB", "54 to 300 KB", "above 300 KB"][self.range]
    }

    /// Whether the completion times of bufferlab and of the ns-3 reference agree in the median. A
    /// size class with too few flows counts as agreeing, too.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.flows < FLOWS_MIN || (self.median_ratio - 1.0).abs() <= TOLERANCE
    }
}

/// Groups pairs of flows (bufferlab's first) into size classes, ordered by workload class and size.
#[must_use]
pub fn classes(pairs: &[(&Flow, &Flow)]) -> Vec<SizeClass> {
    let mut names: Vec<&str> = pairs.iter().map(|(_, theirs)| theirs.class.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let ranges = |name| (0..=ENDS.len()).map(move |range| (name, range));
    names.into_iter().flat_map(ranges).filter_map(|(name, range)| class(pairs, name, range)).collect()
}

fn class(pairs: &[(&Flow, &Flow)], name: &str, range: usize) -> Option<SizeClass> {
    let is_in =
        |flow: &Flow| flow.class == name && ENDS.partition_point(|end| *end < flow.size_bytes) == range;
    let members: Vec<(f64, f64)> = pairs
        .iter()
        .filter(|(_, theirs)| is_in(theirs))
        .map(|(ours, theirs)| (ours.fct_ns as f64, theirs.fct_ns as f64))
        .collect();
    let mut ratios: Vec<f64> = members.iter().map(|(ours, theirs)| ours / theirs).collect();
    ratios.sort_by(f64::total_cmp);
    let (ours, theirs) = members.iter().fold((0.0, 0.0), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1));
    Some(SizeClass {
        class: name.to_owned(),
        range,
        flows: members.len(),
        median_ratio: percentile(&ratios, 0.5)?,
        mean_ratio: ours / theirs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(class: &str, size_bytes: u64, fct_ns: u64) -> Flow {
        let class = class.to_owned();
        let (src, dst, start_ns) = (0, 1, 0);
        Flow { src, dst, size_bytes, start_ns, fct_ns, slowdown: 1.0, incast: false, class, timeouts: None }
    }

    #[test]
    fn a_class_that_is_too_fast_shows_beside_one_that_is_too_slow() {
        let ours: Vec<_> = (0..20).map(|n| flow("a", 60_000, 600 + n)).collect();
        let theirs: Vec<_> = (0..20).map(|n| flow("a", 60_000, 1_000 + n)).collect();
        let slow = (flow("a", 400_000, 14_000), flow("a", 400_000, 10_000));
        let mut pairs: Vec<_> = ours.iter().zip(&theirs).collect();
        pairs.extend(std::iter::repeat_n((&slow.0, &slow.1), 20));
        let found = classes(&pairs);
        assert_eq!(
            found.iter().map(|class| class.sizes()).collect::<Vec<_>>(),
            ["54 to 300 KB", "above 300 KB"]
        );
        assert!(found.iter().all(|class| !class.agrees()), "{found:?}");
        assert!(classes(&pairs[..FLOWS_MIN - 1]).iter().all(SizeClass::agrees), "too few to tell");
    }
}
