//! Tests of the properties of every congestion control at a bottleneck: fair shares, a certain
//! queue length, few drops.

use crate::support::{Lab, Rows, flow, near, run, run_fast, star};
use bufferlab_metrics::QueueRow;
use bufferlab_transport::{CONGESTION_CONTROLS, find_congestion_control};
use bufferlab_units::Time;

const FRAME: f64 = 1_454.0;
/// Serialization time of a full frame at 10 Gb/s (us).
const FRAME_US: f64 = 1.1632;
/// Base round trip over the dumbbell: 80 us of propagation, three frames and three ACKs (us).
const BASE_US: f64 = 80.0 + 3.0 * FRAME_US + 3.0 * 0.0432;
/// The rate of 10 Gb/s in bytes per us.
const RATE: f64 = 1_250.0;
const MARKING: u64 = 91_000;

/// Results of two endless flows over a bottleneck as fast as the hosts. The second flow starts 5 ms
/// after the first flow.
fn two_flows(control: &str, buffer: &str, milliseconds: u64) -> Rows {
    let uses_ecn = find_congestion_control(control).expect("registered").uses_ecn;
    let ecn = if uses_ecn {
        format!("ecn = {{ kind = \"step\", threshold = \"{MARKING} B\" }}")
    } else {
        String::new()
    };
    let topology = "kind = \"dumbbell\"\nhosts_per_side = 2\nhost_rate = \"10 Gb/s\"\nbottleneck_rate = \"10 Gb/s\"\n\
                    delay = \"10 us\"\nbottleneck_delay = \"20 us\"";
    let switch = format!("buffer = \"{buffer}\"\npolicy = \"cs\"\n{ecn}");
    let lab = Lab::new(topology, &switch, &format!("congestion_control = \"{control}\""));
    let flows =
        vec![flow(0, 2, 100_000_000_000, Time::ZERO), flow(1, 3, 100_000_000_000, Time::from_us(5_003))];
    run_fast(&lab.times(&format!("{milliseconds} ms"), "0 s").flows(flows))
}

/// Results at the bottleneck between the times `from` and `to` (ms).
struct Share {
    /// Jain's index of the bytes that the two flows sent.
    jain: f64,
    utilisation: f64,
    /// Mean length of the bottleneck queue (bytes).
    queue: f64,
    /// Largest length of the bottleneck queue since the start of the run (bytes).
    longest: f64,
    drops: u64,
}

/// Computes results between `from` and `to` as the difference of two runs. The shorter run equals
/// the start of the longer run.
fn share(control: &str, buffer: &str, from: u64, to: u64) -> Share {
    let (early, late) = (two_flows(control, buffer, from), two_flows(control, buffer, to));
    let sent = |rows: &Rows| {
        rows.flows_by_number()
            .iter()
            .map(|flow| (flow.sent_packets - flow.retransmitted_packets) as f64)
            .collect::<Vec<_>>()
    };
    let sent: Vec<f64> = sent(&late).iter().zip(sent(&early)).map(|(late, early)| late - early).collect();
    let squares = sent.iter().map(|share| share * share).sum::<f64>();
    let (from_ms, to_ms) = (from as f64, to as f64);
    let mean = |early: f64, late: f64| (late * to_ms - early * from_ms) / (to_ms - from_ms);
    let queue = |rows: &Rows| -> QueueRow { rows.queue(0, 2, 0).clone() };
    let used = |rows: &Rows| rows.link("left", "right").utilisation;
    Share {
        jain: sent.iter().sum::<f64>().powi(2) / (2.0 * squares),
        utilisation: mean(used(&early), used(&late)),
        queue: mean(queue(&early).mean_bytes, queue(&late).mean_bytes),
        longest: queue(&late).max_bytes as f64,
        drops: queue(&late).dropped_packets,
    }
}

#[test]
fn the_bottleneck_is_the_third_port_of_the_left_switch() {
    let rows = two_flows("newreno", "150 KB", 10);
    assert!(rows.queue(0, 2, 0).mean_bytes > 10_000.0);
}

#[test]
fn loss_based_controls_share_fairly_and_fill_the_buffer() {
    for control in ["newreno", "cubic"] {
        let found = share(control, "150 KB", 100, 300);
        assert!(found.jain > 0.95, "{control}: Jain {}", found.jain);
        assert!(found.longest > 150_000.0 - FRAME && found.drops > 0, "{control}: {}", found.longest);
        assert!(found.utilisation > 0.98, "{control}: {}", found.utilisation);
    }
}

#[test]
fn dctcp_keeps_the_queue_at_its_threshold() {
    let found = share("dctcp", "2 MB", 80, 160);
    assert!(found.jain > 0.95, "Jain {}", found.jain);
    near("mean queue", found.queue, MARKING as f64, 0.2);
    assert!(found.utilisation > 0.999 && found.drops == 0);
}

#[test]
fn ecn_star_halves_at_the_threshold_and_leaves_the_link_idle_below_one_bandwidth_delay_product() {
    // ECN* fills the link only if the marking threshold K is at least C RTT = 105 kB. In this test
    // K is 91 kB, so the queue is empty after the window is halved.
    let found = share("ecn-star", "2 MB", 40, 160);
    assert!(found.jain > 0.95, "Jain {}", found.jain);
    assert!(found.queue < 0.6 * MARKING as f64, "{}", found.queue);
    assert!((0.85..0.99).contains(&found.utilisation), "{}", found.utilisation);
    assert_eq!(found.drops, 0);
}

#[test]
fn hpcc_keeps_the_queue_empty_and_the_link_at_its_target() {
    let found = share("hpcc", "2 MB", 60, 160);
    assert!(found.jain > 0.95, "Jain {}", found.jain);
    // The utilisation is eta plus the additive increase of two flows: 0.95 + 2 * 0.05/100.
    near("utilisation", found.utilisation, 0.951, 0.005);
    assert!(found.queue < FRAME && found.drops == 0, "{}", found.queue);
    // The second flow sends one bandwidth-delay product at line rate when it starts, and the first
    // flow has 95 % of the link.
    assert!(found.longest < 1.1 * BASE_US * RATE, "{}", found.longest);
}

#[test]
fn powertcp_keeps_the_sum_of_its_additive_increases_in_the_queue() {
    for control in ["powertcp", "theta-powertcp"] {
        let found = share(control, "2 MB", 40, 120);
        assert!(found.jain > 0.95, "{control}: Jain {}", found.jain);
        // In equilibrium, each flow's window W is W/Gamma + beta. So the queue is the sum of all
        // beta, and each beta is a tenth of the bandwidth-delay product.
        near(control, found.queue, 2.0 * BASE_US * RATE / 10.0, 0.05);
        assert!(found.utilisation > 0.999 && found.drops == 0, "{control}: {}", found.utilisation);
        assert!(found.longest < 1.1 * BASE_US * RATE, "{control}: {}", found.longest);
    }
}

#[test]
fn swift_keeps_the_delay_at_its_target() {
    let found = share("swift", "2 MB", 60, 160);
    assert!(found.jain > 0.95, "Jain {}", found.jain);
    let base_target = 1.25 * BASE_US;
    // The window of each flow is W = target * C/2, and the delay target depends on W.
    let mut target = base_target;
    for _ in 0..100 {
        let window = target * RATE / FRAME / 2.0;
        let slope = 5.0 * base_target / (1.0 / 0.1_f64.sqrt() - 0.1);
        target = base_target + (slope / window.sqrt() - slope / 10.0).max(0.0);
    }
    near("queue", found.queue, (target - BASE_US) * RATE, 0.15);
    assert!(found.utilisation > 0.999 && found.drops == 0, "{}", found.utilisation);
}

#[test]
fn timely_shares_fairly_below_its_upper_threshold() {
    let found = share("timely", "2 MB", 200, 500);
    assert!(found.jain > 0.95, "Jain {}", found.jain);
    assert!(found.utilisation > 0.85 && found.drops == 0, "{}", found.utilisation);
    assert!(found.longest < (500.0 - BASE_US) * RATE, "{}", found.longest);
}

/// Sixteen hosts send to one host at once.
#[test]
fn every_control_ends_an_incast_with_everything_delivered() {
    for info in CONGESTION_CONTROLS {
        for buffer in ["40 KB", "2 MB"] {
            let kind = if info.rdma_only { "kind = \"rdma\"" } else { "min_rto = \"1 ms\"" };
            let transport = format!("congestion_control = \"{}\"\n{kind}", info.name);
            let switch = format!(
                "buffer = \"{buffer}\"\npolicy = \"dt\"\necn = {{ kind = \"step\", threshold = \"30 KB\" }}"
            );
            let lab = Lab::new(&star(17, "10 Gb/s", "5 us"), &switch, &transport);
            let flows = (0..16).map(|src| flow(src, 16, 300_000, Time::from_us(u64::from(src)))).collect();
            let rows = run(&lab.flows(flows));
            assert!(rows.all_finished(), "{}, {buffer}", info.name);
            if buffer == "40 KB" {
                assert!(rows.switch_losses() > 0, "{} is put to the test", info.name);
            }
        }
    }
}
