//! ABM (SIGCOMM 2022), Figures 8 and 10, on the reduced network: isolation of congestion controls, and queues per port. Minutes.

use super::run::{Run, list, run};
use bufferlab_conformance::claims;
use bufferlab_conformance::claims::Finding;
use std::sync::Arc;

/// Cubic's loads.
const LOADS: [&str; 4] = ["0.1", "0.2", "0.4", "0.6"];
/// Below this many bytes a flow is short.
const SHORT: u64 = 100_000;

fn isolation(policy: &str, load: &str) -> Arc<Run> {
    run(
        "abm-isolation.toml",
        &[("switch.policy", policy), ("workload.cubic.load", load), ("duration", "2 s")],
    )
}

/// p99 slowdown of a class' short flows, by Cubic's load.
fn tails(policy: &str, class: &str) -> [f64; 4] {
    LOADS.map(|load| isolation(policy, load).slowdown_p99(&[class], 0, SHORT))
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn spread(values: &[f64]) -> f64 {
    largest(values) / values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn rising(values: &[f64]) -> bool {
    // The slope of the least-squares line over the place in the list has the sign of this sum.
    let middle = (values.len() - 1) as f64 / 2.0;
    values.iter().enumerate().map(|(at, value)| (at as f64 - middle) * value).sum::<f64>() > 0.0
}

/// Web search at 40 % and queries of a quarter of the buffer over `queues` data queues.
fn queues(policy: &str, transport: &str, queues: u64) -> Arc<Run> {
    let list: Vec<String> = (1..=queues).map(|queue| queue.to_string()).collect();
    let (list, per_port) = (format!("[{}]", list.join(", ")), (queues + 1).to_string());
    let changes = [
        ("switch.policy", policy),
        ("switch.queues_per_port", &per_port),
        ("transport.0.data_priorities", &list),
        ("transport.1.data_priorities", &list),
        ("transport.0.congestion_control", transport),
        ("transport.1.congestion_control", transport),
    ];
    run("abm-queues.toml", &changes)
}

/// p99 slowdown of all short flows, answers included.
fn tail(policy: &str, transport: &str, count: u64) -> f64 {
    queues(policy, transport, count).slowdown_p99(&[], 0, SHORT)
}

/// By how much ABM is below DT, in percent.
fn lower(transport: &str, count: u64) -> f64 {
    (1.0 - tail("abm", transport, count) / tail("dt", transport, count)) * 100.0
}

claims! {
    #[ignore = "takes minutes"]
    Fails "ABM-F8-1" abm_f8_1_dt_does_not_isolate ("under DT the tails of DCTCP and θ-PowerTCP rise with Cubic's load (criterion: rising, at least 2x)") {
        let (dctcp, theta) = (tails("dt", "dctcp"), tails("dt", "theta"));
        let harmed = |tails: &[f64; 4]| rising(tails) && tails[3] >= 2.0 * tails[0];
        Finding::new(
            harmed(&dctcp) && harmed(&theta),
            format!("p99 slowdown at Cubic's load 10, 20, 40, 60 %: DCTCP {}; θ-PowerTCP {}", list(dctcp, 1), list(theta, 1)),
        )
    }

    #[ignore = "takes minutes"]
    Holds "ABM-F8-2" abm_f8_2_abm_lowers_the_tails ("up to 90.92 % lower (criterion: 45 %)") {
        let of = |class: &str| {
            let (dt, abm) = (tails("dt", class), tails("abm", class));
            [0, 1, 2, 3].map(|at| (1.0 - abm[at] / dt[at]) * 100.0)
        };
        let [cubic, dctcp, theta] = ["cubic", "dctcp", "theta"].map(of);
        Finding::new(
            [cubic, dctcp, theta].iter().any(|gains| largest(gains) >= 45.0),
            format!("Cubic {}; DCTCP {}; θ-PowerTCP {} % lower", list(cubic, 0), list(dctcp, 0), list(theta, 0)),
        )
    }

    #[ignore = "takes minutes"]
    Fails "ABM-F8-3" abm_f8_3_cubic_and_dctcp_settle_under_abm ("around 20 (criterion: max/min over loads at most 2, within 5 to 60)") {
        let found = ["cubic", "dctcp"].map(|class| tails("abm", class));
        let settled = |tails: &[f64; 4]| spread(tails) <= 2.0 && tails.iter().all(|tail| (5.0..=60.0).contains(tail));
        Finding::new(
            found.iter().all(settled),
            format!("Cubic {}; DCTCP {}", list(found[0], 1), list(found[1], 1)),
        )
    }

    #[ignore = "takes minutes"]
    Holds "ABM-F8-4" abm_f8_4_theta_powertcp_settles_under_abm ("at 10 (criterion: max/min over loads at most 2, within 2 to 30)") {
        let found = tails("abm", "theta");
        let met = spread(&found) <= 2.0 && found.iter().all(|tail| (2.0..=30.0).contains(tail));
        Finding::new(met, list(found, 1))
    }

    #[ignore = "takes minutes"]
    Fails "ABM-F10a-1" abm_f10a_1_up_to_four_queues_abm_and_dt_are_alike ("DCTCP, up to 4 queues: similar, 10 % better at 4 (criterion: difference at most 25 %)") {
        let found = [1, 2, 3, 4].map(|count| lower("dctcp", count));
        Finding::new(found.iter().all(|gain| gain.abs() <= 25.0), format!("ABM lower by {} % with 1 to 4", list(found, 0)))
    }

    #[ignore = "takes minutes"]
    Holds "ABM-F10a-2" abm_f10a_2_from_five_queues_abm_is_better ("5 queues, Cubic and DCTCP: 88.9 % lower on average (criterion: 44 % for some of 5 to 7)") {
        let found = [5, 6, 7].map(|count| (lower("dctcp", count) + lower("cubic", count)) / 2.0);
        Finding::new(largest(&found) >= 44.0, format!("lower by {} % with 5 to 7, on average of both", list(found, 0)))
    }

    #[ignore = "takes minutes"]
    Holds "ABM-F10a-3" abm_f10a_3_with_eight_queues_abm_is_better ("8 queues: 92.6 % lower (criterion: 46 % on average of Cubic and DCTCP; DCTCP alone misses it)") {
        let found = ["dctcp", "cubic"].map(|transport| lower(transport, 8));
        let tails = ["dctcp", "cubic"].map(|transport| [tail("dt", transport, 8), tail("abm", transport, 8)]);
        Finding::new(
            (found[0] + found[1]) / 2.0 >= 46.0,
            format!(
                "DCTCP {:.0} % lower ({} with DT, ABM), Cubic {:.0} % ({})",
                found[0],
                list(tails[0], 1),
                found[1],
                list(tails[1], 1)
            ),
        )
    }

    #[ignore = "takes minutes"]
    Fails "ABM-F10b-1" abm_f10b_1_dt_lets_the_buffer_fill ("DCTCP: p99 buffer grows with the queues under DT, stays low under ABM (criterion: DT(8)/DT(2) at least 1.5, ABM(8) at most 0.6 DT(8))") {
        let counts = [1, 2, 3, 4, 5, 6, 7, 8];
        let [dt, abm] = ["dt", "abm"].map(|policy| counts.map(|count| queues(policy, "dctcp", count).occupancy_p99_kb()));
        Finding::new(
            dt[7] / dt[1] >= 1.5 && abm[7] <= 0.6 * dt[7],
            format!("with 1 to 8 queues: DT {} KB, ABM {} KB", list(dt, 0), list(abm, 0)),
        )
    }
}

#[test]
#[ignore = "takes minutes"]
fn the_page_says_what_was_found() {
    super::assert_block("abm-transports", CLAIMS);
}
