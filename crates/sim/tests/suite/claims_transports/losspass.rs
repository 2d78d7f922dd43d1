//! Claims of LossPass, section 4: a port with eviction fills its link like a port that marks only
//! at the end of the buffer.

use super::run::{Run, run};
use bufferlab_conformance::claims;
use bufferlab_conformance::claims::{Finding, assert_findings};

/// Changes that set the marking threshold to the whole port buffer (84 packets),
/// in one queue for all flows.
const MARKS_AT_THE_END: &[(&str, &str)] = &[
    ("switch.policy", "es"),
    ("transport.memcached.data_priority", "1"),
    ("switch.ecn.threshold", "127176 B"),
];

/// Goodput of the two iperf flows without other traffic, from 1 to 11 s (Mb/s).
fn goodput(run: &Run) -> f64 {
    run.goodput(1.0, 11.0).iter().take(2).sum()
}

claims! {
    Holds "LP-E6-3" lp_e6_3_throughput_is_that_of_marking_at_the_end_of_the_buffer ("line rate, equivalent to ECN with K = B (criterion: at least 98 % of that)") {
        let own = goodput(&run("losspass-star.toml", &[]));
        let full = goodput(&run("losspass-star.toml", MARKS_AT_THE_END));
        Finding::new(own >= 0.98 * full, format!("{own:.1} Mb/s, K = B (84 packets) {full:.1}: {:.2} %", own / full * 100.0))
    }
}

#[test]
fn the_recorded_findings_are_todays() {
    assert_findings("losspass-transports", CLAIMS);
}
