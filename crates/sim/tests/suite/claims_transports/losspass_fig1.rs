//! LossPass, Figure 1: what a marking threshold costs without LossPass, and what sender batches cost on top.

use super::losspass::{goodput, single_queue};
use super::run::list;
use bufferlab_conformance::claims;
use bufferlab_conformance::claims::Finding;

/// The paper does not list its K.
const SWEEP: [u64; 7] = [5, 10, 20, 30, 45, 60, 84];
/// Below the bandwidth-delay product of 1 Gb/s and 500 us, 41 packets.
const BELOW_BDP: usize = 4;
/// A large send offload of 64 KB at the senders of the long flows.
const OFFLOAD: &[(&str, &str)] = &[("transport.iperf.lso", "64 KB")];

/// Goodput of the long flows (Mb/s), by K.
fn goodputs(transport: &str, more: &[(&str, &str)]) -> [f64; 7] {
    SWEEP.map(|k| goodput(&single_queue(transport, Some(k), more)))
}

/// Query completion times (ms), by K.
fn qcts(transport: &str, share: f64) -> [f64; 7] {
    SWEEP.map(|k| single_queue(transport, Some(k), &[]).qct_ms(share))
}

/// Spearman's rank correlation with the order of the list; equal values share the mean of their ranks.
fn spearman(values: &[f64]) -> f64 {
    let rank = |value: f64| {
        let below = values.iter().filter(|other| **other < value).count();
        let equal = values.iter().filter(|other| **other == value).count();
        below as f64 + (equal as f64 - 1.0) / 2.0
    };
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut both, mut own, mut order) = (0.0, 0.0, 0.0);
    for (at, &value) in values.iter().enumerate() {
        let (x, y) = (at as f64 - middle, rank(value) - middle);
        both += x * y;
        own += y * y;
        order += x * x;
    }
    if own == 0.0 { 0.0 } else { both / (own * order).sqrt() }
}

/// Mean of the goodput lost to offload: without over with.
fn degradation(transport: &str) -> f64 {
    let (without, with) = (goodputs(transport, &[]), goodputs(transport, OFFLOAD));
    without.iter().zip(with).map(|(without, with)| without / with).sum::<f64>() / SWEEP.len() as f64
}

claims! {
    #[ignore = "takes a minute"]
    Fails "LP-F1-1" lp_f1_1_a_small_threshold_costs_throughput ("DCTCP, K = 5: 393 Mb/s lost (criterion: 150 to 600)") {
        let lost = |more| goodput(&single_queue("dctcp", None, &[])) - goodput(&single_queue("dctcp", Some(5), more));
        let (without, with) = (lost(&[]), lost(OFFLOAD));
        Finding::new(
            (150.0..=600.0).contains(&without),
            format!("{without:.0} Mb/s less than drop-tail; with an offload of 64 KB {with:.0}"),
        )
    }

    #[ignore = "takes a minute"]
    Fails "LP-F1-2" lp_f1_2_throughput_and_completion_times_grow_with_the_threshold ("both grow with K (criterion: Spearman above 0.8 for both)") {
        let found = ["dctcp", "ecn-star"].map(|transport| {
            (spearman(&goodputs(transport, &[])), spearman(&qcts(transport, 0.5)), spearman(&qcts(transport, 0.99)))
        });
        Finding::new(
            found.iter().all(|(goodput, _, tail)| *goodput > 0.8 && *tail > 0.8),
            format!(
                "goodput, median and p99 QCT: DCTCP {:.2}, {:.2}, {:.2}; ECN* {:.2}, {:.2}, {:.2}. p99 (ms) at K = 5, 10, 20, 30, 45, 60, 84: DCTCP {}; ECN* {}",
                found[0].0,
                found[0].1,
                found[0].2,
                found[1].0,
                found[1].1,
                found[1].2,
                list(qcts("dctcp", 0.99), 1),
                list(qcts("ecn-star", 0.99), 1)
            ),
        )
    }

    #[ignore = "takes a minute"]
    Fails "LP-F1-3" lp_f1_3_batches_of_senders_cost_throughput ("with LSO lower by 1.13x (ECN*) and 1.03x (DCTCP) on average (criterion: ECN* above DCTCP, which is at least 1)") {
        let (dctcp, star) = (degradation("dctcp"), degradation("ecn-star"));
        Finding::new(
            star > dctcp && dctcp >= 1.0,
            format!(
                "ECN* {star:.3}x, DCTCP {dctcp:.3}x; with LSO at K = 5, 10, 20, 30, 45, 60, 84: DCTCP {}, ECN* {} Mb/s",
                list(goodputs("dctcp", OFFLOAD), 0),
                list(goodputs("ecn-star", OFFLOAD), 0)
            ),
        )
    }

    #[ignore = "takes a minute"]
    Holds "LP-F1-4" lp_f1_4_dctcp_loses_less_than_ecn_star ("DCTCP better at the same K (criterion: for every K below the BDP)") {
        let (dctcp, star) = (goodputs("dctcp", &[]), goodputs("ecn-star", &[]));
        let better = dctcp.iter().zip(star).take(BELOW_BDP).all(|(dctcp, star)| *dctcp > star);
        Finding::new(
            better,
            format!("K = 5, 10, 20, 30, 45, 60, 84: DCTCP {}, ECN* {} Mb/s", list(dctcp, 0), list(star, 0)),
        )
    }
}

#[test]
#[ignore = "takes minutes"]
fn the_page_says_what_was_found() {
    super::assert_block("losspass-fig1", CLAIMS);
}

#[test]
fn ranks_correlate_with_the_order() {
    assert_eq!(spearman(&[1.0, 2.0, 3.0, 9.0]), 1.0);
    assert_eq!(spearman(&[4.0, 3.0, 2.0, 1.0]), -1.0);
    assert_eq!(spearman(&[5.0, 5.0, 5.0]), 0.0);
}
