//! LossPass, Figure 5 over the whole sweep of K and Table 2. Minutes.

use super::losspass::{FOUR_ITEMS, SIXTEEN_LOOPS, goodput, losspass, single_queue};
use super::run::{Run, list, run};
use bufferlab_conformance::claims;
use bufferlab_conformance::claims::Finding;
use std::sync::Arc;

/// The paper does not list its K.
const SWEEP: [u64; 7] = [5, 10, 20, 30, 45, 60, 84];

/// By K: p99 QCT (ms), goodput (Mb/s).
fn sweep(transport: &str, more: &[(&str, &str)]) -> Vec<(u64, f64, f64)> {
    let at = |k: u64| {
        let run = single_queue(transport, Some(k), more);
        (k, run.qct_ms(0.99), goodput(&run))
    };
    SWEEP.map(at).to_vec()
}

/// DCTCP and ECN*.
fn both(reading: &[(&str, &str)]) -> [Vec<(u64, f64, f64)>; 2] {
    ["dctcp", "ecn-star"].map(|transport| sweep(transport, reading))
}

/// Whether the largest tail of the sweep is five times LossPass's.
fn over_the_sweep(reading: &[(&str, &str)]) -> Finding {
    let own = losspass(reading).qct_ms(0.99);
    let [dctcp, star] = both(reading);
    let most = |points: &[(u64, f64, f64)]| points.iter().map(|point| point.1 / own).fold(0.0, f64::max);
    Finding::new(
        most(&dctcp).max(most(&star)) >= 5.0,
        format!(
            "LossPass {own:.2} ms; K = 5, 10, 20, 30, 45, 60, 84: DCTCP {}x, ECN* {}x",
            shown(&dctcp, own),
            shown(&star, own)
        ),
    )
}

/// Whether no threshold is better than LossPass in both.
fn dominates(reading: &[(&str, &str)]) -> Finding {
    let own = losspass(reading);
    let (qct, throughput) = (own.qct_ms(0.99), goodput(&own));
    let points: Vec<_> = both(reading).concat();
    let better: Vec<String> = points
        .iter()
        .filter(|point| point.1 < qct && point.2 > throughput)
        .map(|point| format!("{:.2} ms and {:.2} Mb/s with K = {}", point.1, point.2, point.0))
        .collect();
    let fastest = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let fullest = points.iter().map(|point| point.2).fold(0.0, f64::max);
    let others = if better.is_empty() {
        format!("the best of the others {fastest:.2} ms, and {fullest:.2} Mb/s")
    } else {
        format!("better in both: {}", better.join("; "))
    };
    Finding::new(better.is_empty(), format!("LossPass {qct:.2} ms, {throughput:.2} Mb/s; {others}"))
}

fn shown(points: &[(u64, f64, f64)], own: f64) -> String {
    list(points.iter().map(|point| point.1 / own), 1)
}

/// Table 2: web search with PIAS, with and without eviction.
fn dynamic(evict: bool, marking: &str) -> Arc<Run> {
    let mut changes = Vec::new();
    if !evict {
        changes.push(("switch.policy", "es"));
    }
    match marking {
        "none" => changes.push(("switch.ecn", "{ kind = \"none\" }")),
        "port" => changes.extend([("switch.ecn.scope", "port"), ("switch.ecn.priorities", "[0, 1]")]),
        _ => (),
    }
    run("losspass-dynamic.toml", &changes)
}

/// Largest small flow of the paper's classes, and its smallest large one (exclusive).
const SMALL: u64 = 100_001;
const LARGE: u64 = 10_000_001;

/// What eviction gains, as the paper writes it: without / with, of the loss and the p99 FCT of small and of large flows.
struct Gain {
    loss_small: f64,
    loss_large: f64,
    fct_small: f64,
    fct_large: f64,
    /// Loss of small flows without and with (%).
    losses: [f64; 2],
}

fn gain(marking: &str) -> Gain {
    let [without, with] = [false, true].map(|evict| dynamic(evict, marking));
    assert_eq!(without.unfinished() + with.unfinished(), 0, "every flow ends");
    let ratio = |of: &dyn Fn(&Run) -> f64| of(&without) / of(&with);
    Gain {
        loss_small: ratio(&|run| run.loss(0, SMALL)),
        loss_large: ratio(&|run| run.loss(LARGE, u64::MAX)),
        fct_small: ratio(&|run| run.fct_p99_ms(0, SMALL)),
        fct_large: ratio(&|run| run.fct_p99_ms(LARGE, u64::MAX)),
        losses: [&without, &with].map(|run| run.loss(0, SMALL) * 100.0),
    }
}

impl Gain {
    fn of_loss(&self) -> String {
        format!(
            "small {:.2}x ({:.4} % without, {:.4} % with eviction); large {:.2}x",
            self.loss_small, self.losses[0], self.losses[1], self.loss_large
        )
    }

    fn of_fct(&self) -> String {
        format!("small {:.2}x; large {:.2}x", self.fct_small, self.fct_large)
    }
}

claims! {
    #[ignore = "takes a minute"]
    Fails "LP-F5-1, every K" lp_f5_1_over_the_sweep ("p99 QCT up to 22.24x (criterion: at least 5x for some K)") {
        over_the_sweep(&[])
    }

    #[ignore = "takes a minute"]
    Holds "LP-F5-1, every K, 4 items" lp_f5_1_over_the_sweep_with_four_items ("the same, a query being an item from each server") {
        over_the_sweep(FOUR_ITEMS)
    }

    #[ignore = "takes a minute"]
    Fails "LP-F5-1, every K, 16 loops" lp_f5_1_over_the_sweep_with_sixteen_loops ("the same, 16 loops of such queries at once") {
        over_the_sweep(SIXTEEN_LOOPS)
    }

    #[ignore = "takes a minute"]
    Fails "LP-F5-3" lp_f5_3_a_small_threshold_costs_throughput ("DCTCP with K = 10: 620 Mb/s (criterion: 450 to 850)") {
        let [dctcp, star] = both(&[]);
        let goodputs = |points: &[(u64, f64, f64)]| list(points.iter().map(|point| point.2), 0);
        let at_10 = dctcp.iter().find(|point| point.0 == 10).expect("10 is in the sweep").2;
        Finding::new(
            (450.0..=850.0).contains(&at_10),
            format!("{at_10:.0} Mb/s; K = 5, 10, 20, 30, 45, 60, 84: DCTCP {}, ECN* {}", goodputs(&dctcp), goodputs(&star)),
        )
    }

    #[ignore = "takes a minute"]
    Holds "LP-F5-4" lp_f5_4_no_threshold_beats_losspass ("LossPass dominates (criterion: no K better in both throughput and tail)") {
        dominates(&[])
    }

    #[ignore = "takes a minute"]
    Holds "LP-F5-4, 4 items" lp_f5_4_no_threshold_beats_losspass_with_four_items ("the same, a query being an item from each server") {
        dominates(FOUR_ITEMS)
    }

    #[ignore = "takes a minute"]
    Holds "LP-T2-1" lp_t2_1_eviction_saves_small_packets ("No-ECN: loss small 41.55x, large 0.54x (criterion: at least 5x, below 1)") {
        let gain = gain("none");
        Finding::new(gain.loss_small >= 5.0 && gain.loss_large < 1.0, gain.of_loss())
    }

    #[ignore = "takes a minute"]
    Holds "LP-T2-2" lp_t2_2_and_their_tail ("No-ECN: p99 FCT small 12.38x, large 0.99x (criterion: at least 3x, 0.9 to 1.1)") {
        let gain = gain("none");
        Finding::new(gain.fct_small >= 3.0 && (0.9..=1.1).contains(&gain.fct_large), gain.of_fct())
    }

    #[ignore = "takes a minute"]
    Holds "LP-T2-3" lp_t2_3_with_marking_per_port ("per-port ECN: loss small 10.61x, large 0.24x (criterion: at least 2.5x, below 1)") {
        let gain = gain("port");
        Finding::new(gain.loss_small >= 2.5 && gain.loss_large < 1.0, gain.of_loss())
    }

    #[ignore = "takes a minute"]
    Holds "LP-T2-4" lp_t2_4_their_tail_with_marking_per_port ("per-port ECN: p99 FCT small 1.13x, large 1.01x (criterion: 1 to 2, 0.93 to 1.07)") {
        let gain = gain("port");
        Finding::new((1.0..=2.0).contains(&gain.fct_small) && (0.93..=1.07).contains(&gain.fct_large), gain.of_fct())
    }

    #[ignore = "takes a minute"]
    Holds "LP-T2-5" lp_t2_5_with_marking_per_queue ("per-queue ECN: loss small 11.27x, large 0.42x (criterion: at least 2.5x, below 1)") {
        let gain = gain("queue");
        Finding::new(gain.loss_small >= 2.5 && gain.loss_large < 1.0, gain.of_loss())
    }

    #[ignore = "takes a minute"]
    Fails "LP-T2-6" lp_t2_6_their_tail_with_marking_per_queue ("per-queue ECN: p99 FCT small 1.32x, large 1.01x (criterion: 1.05 to 2.5, 0.93 to 1.07)") {
        let gain = gain("queue");
        Finding::new((1.05..=2.5).contains(&gain.fct_small) && (0.93..=1.07).contains(&gain.fct_large), gain.of_fct())
    }

    #[ignore = "takes a minute"]
    Holds "LP-T2-7" lp_t2_7_eviction_matters_most_without_marking ("No-ECN >> per-queue >= per-port, by the p99 FCT of small flows") {
        let [none, port, queue] = ["none", "port", "queue"].map(|marking| gain(marking).fct_small);
        Finding::new(none > queue && queue >= port, format!("{none:.2}x, {queue:.2}x, {port:.2}x: the order holds; in the paper the first is nine times the second"))
    }
}

#[test]
#[ignore = "takes minutes"]
fn the_page_says_what_was_found() {
    super::assert_block("losspass-slow", CLAIMS);
}
