//! Tests of queues and tags that hosts choose for their packets.

use crate::support::{Lab, Rows, flow, run, star, try_run};
use bufferlab_sim::SimError;
use bufferlab_units::Time;

const SEGMENT: u64 = 1_400;
const BASE: &str = "congestion_control = \"newreno\"\nhandshake = false\ninitial_window = \"whole\"\n";

fn switch(queues: u8, policy: &str) -> String {
    format!(
        "buffer = \"2 MB\"\npolicy = {policy}\nqueues_per_port = {queues}\nscheduler = \"strict_priority\""
    )
}

/// Number of packets stored for host `port` in each queue.
fn stored(rows: &Rows, port: u16, queues: u8) -> Vec<u64> {
    (0..queues).map(|priority| rows.queue(0, port, priority).enqueued_packets).collect()
}

#[test]
fn a_pias_flow_moves_down_by_the_bytes_that_it_has_sent() {
    let keys = format!("{BASE}pias_thresholds = [\"14 KB\", \"28001 B\"]");
    let lab = Lab::new(&star(2, "10 Gb/s", "1 us"), &switch(4, "\"cs\""), &keys);
    let rows = run(&lab.flows(vec![flow(0, 1, 50 * SEGMENT, Time::ZERO)]));
    // Ten packets are sent before the threshold of 14,000 B. The flow has sent 28,000 B before the
    // 21st packet, one byte less than the second threshold.
    assert_eq!(stored(&rows, 1, 4), [0, 10, 11, 29]);
    assert_eq!(stored(&rows, 0, 4), [50, 0, 0, 0], "acknowledgements");
}

#[test]
fn flows_draw_their_queue_evenly_and_keep_it() {
    let keys = format!("{BASE}data_priorities = [1, 3, 4]");
    let lab = Lab::new(&star(2, "10 Gb/s", "1 us"), &switch(6, "\"cs\""), &keys);
    let flows = (0..3_000).map(|n| flow(0, 1, 7 * SEGMENT, Time::from_us(10 * n))).collect();
    let rows = run(&lab.times("40 ms", "1 s").flows(flows));
    let counts = stored(&rows, 1, 6);
    assert_eq!((counts[0], counts[2], counts[5]), (0, 0, 0));
    for queue in [1, 3, 4] {
        assert_eq!(counts[queue] % 7, 0, "all seven packets of a flow use one queue");
        let (flows, deviation) = ((counts[queue] / 7) as f64, (3_000.0_f64 * 2.0 / 9.0).sqrt());
        assert!((flows - 1_000.0).abs() < 4.5 * deviation, "queue {queue} has {flows} flows");
    }
}

#[test]
fn a_drawn_queue_is_where_pias_begins() {
    let keys = format!("{BASE}data_priorities = [2]\npias_thresholds = [\"4200 B\"]");
    let lab = Lab::new(&star(2, "10 Gb/s", "1 us"), &switch(4, "\"cs\""), &keys);
    let rows = run(&lab.flows(vec![flow(0, 1, 10 * SEGMENT, Time::ZERO)]));
    assert_eq!(stored(&rows, 1, 4), [0, 0, 3, 7]);
}

#[test]
fn the_small_tag_reaches_policies_that_spare_small_flows() {
    // A flow that counts as long gets a hundredth of the buffer. A short flow gets enough space for
    // all its packets.
    let policy = "{ name = \"fab\", short_flows = \"tag\", short_alpha = 100, alpha = 0.01 }";
    for (small, segments, loses) in
        [("0 B", 20, true), ("14 KB", 20, true), ("28 KB", 20, false), ("28 KB", 200, true)]
    {
        let keys = format!("{BASE}small_bytes = \"{small}\"\nmin_rto = \"1 ms\"");
        let lab = Lab::new(&star(5, "10 Gb/s", "1 us"), &switch(2, policy), &keys);
        let flows = (0..4).map(|src| flow(src, 4, segments * SEGMENT, Time::ZERO)).collect();
        let rows = run(&lab.flows(flows));
        assert!(rows.all_finished());
        assert_eq!(rows.switch_losses() > 0, loses, "{small} of {segments} segments");
    }
}

#[test]
fn transports_share_a_network_in_queues_of_their_own() {
    let topology = star(4, "10 Gb/s", "5 us");
    let ecn = "ecn = { kind = \"step\", threshold = \"30 KB\", priorities = [2] }";
    let switch = format!(
        "buffer = \"500 KB\"\npolicy = \"dt\"\nqueues_per_port = 4\nscheduler = \"round_robin\"\n{ecn}"
    );
    let lab = Lab::new(&topology, &switch, "congestion_control = \"cubic\"\ndata_priority = 1")
        .transport("congestion_control = \"dctcp\"\ndata_priority = 2")
        .transport("congestion_control = \"theta-powertcp\"\ndata_priority = 3");
    let flows = |src| vec![flow(src, 3, 5_000_000, Time::ZERO)];
    let rows = run(&lab.lists(vec![(0, "cubic", flows(0)), (1, "dctcp", flows(1)), (2, "theta", flows(2))]));
    assert!(rows.all_finished());
    let queues = stored(&rows, 3, 4);
    assert!(queues[1..].iter().all(|&packets| packets >= 3_572), "{queues:?}");
    let queue = |priority| rows.queue(0, 3, priority);
    assert!(queue(1).marked_packets == 0 && queue(2).marked_packets > 0 && queue(3).marked_packets == 0);
    // Each congestion control keeps a queue of a different length. Cubic fills the available
    // space, and DCTCP fills the queue to the marking threshold. θ-PowerTCP keeps a fraction of
    // the bandwidth-delay product.
    assert!(queue(1).mean_bytes > 2.0 * queue(2).mean_bytes, "{:?} {:?}", queue(1), queue(2));
}

/// The window of the flow has more packets than a NIC may store, and all packets are sent at once.
#[test]
fn a_card_that_would_fill_the_memory_ends_the_run_and_says_whose_it_is() {
    let keys = "congestion_control = \"newreno\"\nhandshake = false\ninitial_window = \"whole\"";
    let lab = |nic: &str| {
        let lab = Lab::new(
            &star(2, "10 Gb/s", "10 us"),
            &switch(1, "\"dt\"").replace("\"strict_priority\"", "\"fifo\""),
            keys,
        );
        lab.times("200 us", "1 ms").more(&format!("[host]\nnic = \"{nic}\""))
    };
    let flows = || vec![flow(0, 1, 1_000_000_000_000, Time::ZERO)];
    for nic in ["fifo", "flow_queues"] {
        let error = try_run(&lab(nic).flows(flows()), false).expect_err("it is given up");
        let SimError::CardFull(full) = &error else { panic!("{error}") };
        assert_eq!((full.host.as_str(), full.time), ("h0", Time::ZERO));
        // Some packets leave the NIC between the overflow and the count of packets.
        assert!((4_190_000..=4_194_304).contains(&full.packets), "{}", full.packets);
        let said = error.to_string();
        assert!(said.starts_with("host h0 had 41") && said.contains("286 MB of memory"), "{said}");
    }
    // NICs create each packet at the time of sending, so waiting packets take no memory.
    let rows = try_run(&lab("fair").flows(flows()), false).expect("it runs");
    assert!(rows.totals.peak_packets < 10_000, "{}", rows.totals.peak_packets);
}
