//! Tests of device queues behind the buffer: the packets that a device takes from the buffer, their
//! sending order, and the absence of losses.

use crate::support::{Lab, Rows, flow, run, run_fast, star};
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;

/// Results of two hosts that each send 60 packets of 1000 B at full rate to a port of 10 Gb/s. The
/// port has a buffer of 30 packets.
fn burst(device_queue: u32) -> Rows {
    let switch = format!(
        "buffer = \"30 KB\"\npolicy = \"cs\"\nqueues_per_port = 2\nhardware = {{ device_queue = {device_queue} }}"
    );
    let transport = "congestion_control = \"none\"\nrate = \"10 Gb/s\"\nsegment_bytes = \"960 B\"\nheader_bytes = \"40 B\"";
    let lab = Lab::new(&star(3, "10 Gb/s", "1 us"), &switch, transport);
    run(&lab.flows(vec![flow(0, 2, 60 * 960, Time::ZERO), flow(1, 2, 60 * 960, Time::ZERO)]))
}

#[test]
fn a_port_stores_as_many_packets_more_as_its_device_holds() {
    let dropped = |rows: &Rows| rows.queue(0, 2, 1).dropped_packets;
    let (without, with) = (burst(0), burst(10));
    assert_eq!(dropped(&without), 120 - 60 - 30, "60 are sent while they come, 30 are stored");
    assert_eq!(dropped(&with), dropped(&without) - 10);
    let sent = |rows: &Rows| rows.link("switch", "h2").tx_packets;
    assert_eq!((sent(&without), sent(&with)), (90, 100));
}

#[test]
fn what_a_device_holds_is_in_no_account() {
    let longest = |rows: &Rows| rows.queue(0, 2, 1).max_bytes;
    let twenty_each = |device_queue: u32| {
        let switch = format!(
            "buffer = \"1 MB\"\npolicy = \"cs\"\nqueues_per_port = 2\nhardware = {{ device_queue = {device_queue} }}"
        );
        let keys = "congestion_control = \"none\"\nrate = \"10 Gb/s\"\nsegment_bytes = \"960 B\"\nheader_bytes = \"40 B\"";
        let lab = Lab::new(&star(3, "10 Gb/s", "1 us"), &switch, keys);
        run(&lab.flows(vec![flow(0, 2, 20 * 960, Time::ZERO), flow(1, 2, 20 * 960, Time::ZERO)]))
    };
    let (without, some, all) = (twenty_each(0), twenty_each(5), twenty_each(100));
    // Nineteen or twenty packets wait. The device takes five of these packets, or all of them. If
    // the device takes all packets, each packet is in the buffer for zero time.
    assert_eq!(longest(&without), longest(&some) + 5_000);
    assert!(longest(&all) <= 1_000, "{}", longest(&all));
    let ends = |rows: &Rows| rows.flows.iter().map(|flow| flow.fct_ns).max();
    assert_eq!(ends(&without), ends(&all), "where they wait changes nothing for them");
}

/// Delay of a packet in the priority queue behind 60 packets of another queue (ns).
fn urgent_behind(device_queue: u32) -> u64 {
    let switch = format!(
        "buffer = \"1 MB\"\npolicy = \"cs\"\nqueues_per_port = 2\nscheduler = \"strict_priority\"\n\
         hardware = {{ device_queue = {device_queue} }}"
    );
    let clocked = "congestion_control = \"none\"\nrate = \"10 Gb/s\"\nsegment_bytes = \"960 B\"\nheader_bytes = \"40 B\"";
    let lab = Lab::new(&star(4, "10 Gb/s", "1 us"), &switch, &format!("{clocked}\ndata_priority = 1"))
        .transport(&format!("{clocked}\ndata_priority = 0"));
    let slow = vec![flow(0, 3, 60 * 960, Time::ZERO), flow(1, 3, 60 * 960, Time::ZERO)];
    let urgent = vec![flow(2, 3, 960, Time::from_us(40))];
    let rows = run(&lab.lists(vec![(0, "slow", slow), (1, "urgent", urgent)]));
    rows.flows.iter().find(|flow| flow.size_bytes == 960).and_then(|flow| flow.fct_ns).expect("it arrives")
}

#[test]
fn a_device_does_not_know_priorities() {
    // On each of its two links, the packet takes 1 us of propagation and 0.8 us of transmission.
    // The packet also waits for at most the rest of one packet in transmission.
    let alone = urgent_behind(0);
    assert!((3_600..=4_400).contains(&alone), "{alone}");
    // Ten packets of 0.8 us precede the urgent packet.
    let behind = urgent_behind(10);
    assert!((alone + 7_200..=alone + 8_800).contains(&behind), "{behind}, {alone} without a device");
}

#[test]
fn the_device_of_a_host_holds_packets_whose_order_is_settled() {
    let short_behind_long = |device_queue: u32| {
        let lab = Lab::new(
            &star(4, "10 Gb/s", "1 us"),
            "buffer = \"2 MB\"\npolicy = \"cs\"",
            "congestion_control = \"newreno\"\ninitial_window = \"whole\"\nhandshake = false",
        )
        .more(&format!("[host]\ndevice_queue = {device_queue}"));
        let flows = vec![flow(0, 1, 1_000_000, Time::ZERO), flow(0, 2, 1_400, Time::from_us(50))];
        let rows = run(&lab.flows(flows));
        assert!(rows.all_finished());
        rows.flows
            .iter()
            .find(|flow| flow.size_bytes == 1_400)
            .and_then(|flow| flow.fct_ns)
            .expect("finished")
    };
    // The transmission of twenty packets of 1454 B takes 23.3 us.
    let (without, with) = (short_behind_long(0), short_behind_long(20));
    assert!((without + 21_000..=without + 24_500).contains(&with), "{with}, {without} without a device");
}

/// Flows between all hosts of two racks.
fn crossing() -> Vec<FlowSpec> {
    let one = |n: u32| flow(n % 8, (n % 8 + 4 + n / 8) % 8, 200_000, Time::from_us(u64::from(n)));
    (0..24).map(one).collect()
}

#[test]
fn nothing_is_lost_track_of_where_links_fail_and_buffers_overflow() {
    let topology = "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\nhost_rate = \"10 Gb/s\"\n\
                    delay = \"2 us\"\nchange = [{ link = \"leaf0-spine1\", down = [\"300 us\", \"900 us\"] }]";
    for options in ["device_queue = 7", "device_queue = 40, cut_through = \"64 B\""] {
        let switch = format!("buffer = \"40 KB\"\npolicy = \"dt\"\nhardware = {{ {options} }}");
        let transport = "congestion_control = \"newreno\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"";
        let lab = Lab::new(topology, &switch, transport).more("[host]\ndevice_queue = 3");
        let rows = run(&lab.flows(crossing()));
        assert!(rows.all_finished(), "{options}");
        assert!(rows.link_losses() > 0 && rows.switch_losses() > 0, "{options}: nothing was lost");
        let by_flow: u64 = rows.flows.iter().map(|flow| flow.dropped_packets).sum();
        assert_eq!(by_flow, rows.switch_losses() + rows.link_losses(), "{options}");
        assert_eq!(rows, run_fast(&lab.flows(crossing())), "{options}: not repeatable");
    }
}
