//! LossPass, Figure 5, with the transports that it is compared with at the K that hurts them most.

use super::run::{Run, run};
use bufferlab_conformance::claims;
use bufferlab_conformance::claims::Finding;
use std::sync::Arc;

/// Bytes of so many packets.
pub(crate) fn packets(count: u64) -> String {
    format!("{} B", count * 1_514)
}

/// Another reading of the query: an item from each server instead of four in parallel.
pub(crate) const FOUR_ITEMS: &[(&str, &str)] = &[("workload.memcached.items", "4")];

/// Another one: sixteen clients' loops, each asking the four servers for an item.
pub(crate) const SIXTEEN_LOOPS: &[(&str, &str)] =
    &[("workload.memcached.items", "4"), ("workload.memcached.threads", "16")];

/// LossPass with its selective marking.
pub(crate) fn losspass(changes: &[(&str, &str)]) -> Arc<Run> {
    run("losspass-star.toml", changes)
}

/// One queue, drop-tail or with marking above `k` packets.
pub(crate) fn single_queue(transport: &str, k: Option<u64>, more: &[(&str, &str)]) -> Arc<Run> {
    let threshold = k.map(packets);
    let mut changes = vec![
        ("switch.policy", "es"),
        ("transport.memcached.data_priority", "1"),
        ("transport.memcached.congestion_control", transport),
        ("transport.iperf.congestion_control", transport),
    ];
    match &threshold {
        Some(threshold) => changes.push(("switch.ecn.threshold", threshold)),
        None => changes.push(("switch.ecn", "{ kind = \"none\" }")),
    }
    changes.extend_from_slice(more);
    run("losspass-star.toml", &changes)
}

/// Goodput of the two iperf flows alone (Mb/s), from 1 to 11 s.
pub(crate) fn goodput(run: &Run) -> f64 {
    run.goodput(1.0, 11.0).iter().take(2).sum()
}

/// p99 QCT with the whole port buffer as K, relative to LossPass.
fn worst(reading: &[(&str, &str)]) -> Finding {
    let own = losspass(reading);
    let p99 = own.qct_ms(0.99);
    let others =
        ["dctcp", "ecn-star"].map(|transport| single_queue(transport, Some(84), reading).qct_ms(0.99));
    Finding::new(
        others.iter().any(|other| other / p99 >= 5.0),
        format!(
            "LossPass {p99:.2} ms, {:.1} % of its queries without a timeout (within 10 ms); K = 84: DCTCP {:.2} ms ({:.1}x), ECN* {:.2} ms ({:.1}x)",
            own.queries_within(10.0) * 100.0,
            others[0],
            others[0] / p99,
            others[1],
            others[1] / p99
        ),
    )
}

claims! {
    Fails "LP-F5-1" lp_f5_1_queries_are_delayed_for_ecn_with_a_large_threshold ("p99 QCT up to 22.24x (criterion: at least 5x for some K)") {
        worst(&[])
    }

    Holds "LP-F5-1, 4 items" lp_f5_1_with_one_item_from_each_server ("the same, a query being an item from each server") {
        worst(FOUR_ITEMS)
    }

    Fails "LP-F5-1, 16 loops" lp_f5_1_with_sixteen_loops ("the same, 16 loops of such queries at once") {
        worst(SIXTEEN_LOOPS)
    }

    Holds "LP-F5-2" lp_f5_2_losspass_fills_the_link ("nearly 100 % (criterion: at least 97 % of drop-tail)") {
        let own = goodput(&losspass(&[]));
        let droptail = goodput(&single_queue("dctcp", None, &[]));
        Finding::new(own >= 0.97 * droptail, format!("{own:.1} Mb/s, drop-tail {droptail:.1}: {:.2} %", own / droptail * 100.0))
    }

    Holds "LP-E6-3" lp_e6_3_throughput_is_that_of_marking_at_the_end_of_the_buffer ("line rate, equivalent to ECN with K = B (criterion: at least 98 % of that)") {
        let own = goodput(&losspass(&[]));
        let full = goodput(&single_queue("dctcp", Some(84), &[]));
        Finding::new(own >= 0.98 * full, format!("{own:.1} Mb/s, K = B (84 packets) {full:.1}: {:.2} %", own / full * 100.0))
    }
}

#[test]
fn the_page_says_what_was_found() {
    super::assert_block("losspass-transports", CLAIMS);
}
