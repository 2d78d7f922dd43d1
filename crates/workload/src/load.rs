//! Computes the rate of flow arrivals for a given load.

/// Computes the mean number of flow arrivals per second and host that offer `load`.
///
/// **Definition.** Load is the offered payload per time as a fraction of a capacity that the
/// scenario names. No paper except Plasticine ("90% load on uplinks") states the capacity to which
/// its load refers. The public ABM artifact takes the *uplinks of the leaf*:
///
/// ```text
/// rate per host = load × (host rate × hosts per leaf / oversubscription) / (8 × mean size) / hosts per leaf
///               = load × (uplink capacity of the leaf / hosts per leaf)  / (8 × mean size)
/// ```
///
/// So `capacity_bps_per_host` is one host's share of the capacity [bits per second]. This share is
/// the leaf's uplink capacity over the leaf's hosts, or the rate of the access link if load refers
/// to this link. `mean_bytes` is the mean of the sampled distribution
/// ([`crate::SizeDistribution::mean`]), not a mean that a paper states. Headers, ACKs and
/// retransmissions add to the load: at load 1 the links carry more than their capacity.
///
/// ```
/// # use bufferlab_workload::arrivals_per_second_per_host;
/// // 32 hosts of 10 Gb/s behind 8 uplinks of 10 Gb/s: 2.5 Gb/s of uplink per host.
/// let rate = arrivals_per_second_per_host(0.8, 80e9 / 32.0, 1_711_250.0);
/// assert!((rate - 146.1).abs() < 0.1);
/// ```
///
/// # Panics
/// If `mean_bytes` is not positive.
#[must_use]
pub fn arrivals_per_second_per_host(load: f64, capacity_bps_per_host: f64, mean_bytes: f64) -> f64 {
    assert!(mean_bytes > 0.0, "a flow has at least one byte, so the mean size is positive");
    load * capacity_bps_per_host / (8.0 * mean_bytes)
}
