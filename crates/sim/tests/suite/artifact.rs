//! Tests of the external behaviour of the profile `artifact`:
//! rules of the public ns-3 code of ABM and Reverie (table in `docs/evidence/validation.md`).

use crate::support::{Lab, Rows, flow, run, run_fast, star};
use bufferlab_units::Time;

/// Completion time of a message over PowerTCP in queue 0, which has priority (ns). The traffic to
/// queue 1 has twice the rate of the port.
fn message_beside_other_queue(telemetry: &str) -> u64 {
    let switch = "buffer = \"1 MB\"\npolicy = \"dt\"\nqueues_per_port = 4\nscheduler = \"strict_priority\"";
    let keys = format!("kind = \"rdma\"\ncongestion_control = \"powertcp\"\ndata_priority = 0\n{telemetry}");
    let lab = Lab::new(&star(4, "10 Gb/s", "2 us"), switch, &keys)
        .transport("congestion_control = \"none\"\nrate = \"10 Gb/s\"\ndata_priority = 1");
    let lists = vec![
        (0, "message", vec![flow(0, 3, 2_000_000, Time::from_ms(1))]),
        (1, "clock", vec![flow(1, 3, 8_000_000, Time::ZERO), flow(2, 3, 8_000_000, Time::ZERO)]),
    ];
    let rows = run_fast(&lab.lists(lists));
    finished(&rows, "message")
}

/// Completion time of the flow of a class (ns).
fn finished(rows: &Rows, class: &str) -> u64 {
    let wanted = rows.flows.iter().find(|flow| flow.size_bytes == 2_000_000);
    wanted.and_then(|flow| flow.fct_ns).unwrap_or_else(|| panic!("{class} has finished"))
}

#[test]
fn telemetry_of_the_port_sees_queues_that_the_packet_is_not_in() {
    let (port, queue) = (
        message_beside_other_queue("telemetry = \"port\""),
        message_beside_other_queue("telemetry = \"queue\""),
    );
    // Telemetry of the message's own queue does not include the megabyte that waits in queue 1.
    assert!(port > queue + queue / 5, "port {port} ns, queue {queue} ns");
    assert_eq!(message_beside_other_queue(""), port, "what HPCC and PowerTCP say");
}

/// Results of TCP if the ACKs cross a port in queue 0 and the policy leaves no space for queue 0.
/// The traffic to queue 1 has twice the rate of the port.
fn acks_without_space(hardware: &str) -> Rows {
    let switch = format!(
        "buffer = \"20 KB\"\npolicy = {{ name = \"dt\", alpha = [0.000001, 1.0] }}\nqueues_per_port = 2\n\
         scheduler = \"strict_priority\"\n{hardware}"
    );
    let lab = Lab::new(&star(3, "10 Gb/s", "2 us"), &switch, "congestion_control = \"newreno\"")
        .transport("congestion_control = \"none\"\nrate = \"10 Gb/s\"");
    let clocked = vec![flow(0, 2, 2_000_000, Time::ZERO), flow(1, 2, 2_000_000, Time::ZERO)];
    let tcp = vec![flow(2, 0, 200_000, Time::from_us(100))];
    run(&lab.lists(vec![(0, "tcp", tcp), (1, "clock", clocked)]))
}

#[test]
fn packets_of_an_uncharged_priority_are_in_no_account_and_never_dropped() {
    let refused = |rows: &Rows| (0..3).map(|port| rows.queue(0, port, 0).dropped_packets).sum::<u64>();
    let (charged, uncharged) =
        (acks_without_space(""), acks_without_space("hardware = { uncharged_priorities = [0] }"));
    assert!(refused(&charged) > 0);
    assert_eq!(refused(&uncharged), 0);
    let acks = uncharged.queue(0, 2, 0);
    assert!(acks.enqueued_packets > 100 && uncharged.queue(0, 2, 1).dropped_packets > 0);
}

/// Completion time of a flow of one segment that starts after a window of 1 MB of the
/// same host (ns).
fn short_behind_long(nic: &str) -> u64 {
    let lab = Lab::new(
        &star(4, "10 Gb/s", "1 us"),
        "buffer = \"2 MB\"\npolicy = \"cs\"",
        "congestion_control = \"newreno\"\ninitial_window = \"whole\"\nhandshake = false",
    )
    .more(&format!("[host]\nnic = \"{nic}\""));
    let rows =
        run_fast(&lab.flows(vec![flow(0, 1, 1_000_000, Time::ZERO), flow(0, 2, 1_400, Time::from_us(1))]));
    assert!(rows.all_finished(), "{nic}");
    rows.flows.iter().find(|flow| flow.size_bytes == 1_400).and_then(|flow| flow.fct_ns).expect("finished")
}

#[test]
fn a_short_flow_does_not_wait_for_the_window_of_another_one() {
    // The short flow waits for at most two packets of the other flow, 1.2 us each, and its packet
    // crosses two hops.
    assert!(short_behind_long("flow_queues") < 8_000);
    assert!(short_behind_long("fifo") > 800_000);
}

#[test]
fn flow_queues_lose_and_forget_nothing() {
    for kind in ["congestion_control = \"dctcp\"", "kind = \"rdma\"\ncongestion_control = \"dcqcn\""] {
        let switch = "buffer = \"60 KB\"\npolicy = \"dt\"\nqueues_per_port = 2";
        let lab = Lab::new(&star(6, "10 Gb/s", "1 us"), switch, kind).more("[host]\nnic = \"flow_queues\"");
        let flows = (0..200).map(|n| {
            flow(n % 5, (n + 1 + n / 5 % 4) % 5, 3_000 + 997 * u64::from(n), Time::from_us(u64::from(n) * 7))
        });
        let rows = run_fast(&lab.flows(flows.filter(|flow| flow.src != flow.dst).collect()));
        assert!(rows.all_finished(), "{kind}");
    }
}

/// Completion time of a message over PowerTCP whose ACKs return through an overloaded port (ns).
/// Other traffic has twice the rate of the port, in a queue that is served after the ACKs.
fn message_with_traffic_on_the_way_back(path: &str) -> u64 {
    let switch = "buffer = \"1 MB\"\npolicy = \"dt\"\nqueues_per_port = 2\nscheduler = \"strict_priority\"";
    let keys = format!("congestion_control = \"powertcp\"\ntelemetry_path = \"{path}\"");
    let lab = Lab::new(&star(4, "10 Gb/s", "2 us"), switch, &keys)
        .transport("congestion_control = \"none\"\nrate = \"10 Gb/s\"\ndata_priority = 1");
    let clocked = vec![flow(1, 0, 8_000_000, Time::ZERO), flow(2, 0, 8_000_000, Time::ZERO)];
    let message = vec![flow(0, 3, 2_000_000, Time::from_ms(1))];
    finished(&run(&lab.lists(vec![(0, "message", message), (1, "clock", clocked)])), "message")
}

#[test]
fn telemetry_of_the_round_trip_sees_what_acks_pass() {
    let (data, round_trip) =
        (message_with_traffic_on_the_way_back("data"), message_with_traffic_on_the_way_back("round_trip"));
    // A message of 2 MB without other traffic takes 1.7 ms.
    assert!(data < 2_000_000, "data {data} ns");
    assert!(round_trip > 2 * data, "round trip {round_trip} ns, data {data} ns");
}

/// Number of packet-hops of a flow of one segment, and the flow's completion time (ns).
fn one_segment(keys: &str) -> (u64, u64) {
    let transport = format!("congestion_control = \"newreno\"\n{keys}");
    let lab = Lab::new(&star(2, "10 Gb/s", "1 us"), "buffer = \"1 MB\"\npolicy = \"dt\"", &transport);
    let rows = run(&lab.flows(vec![flow(0, 1, 1_000, Time::ZERO)]));
    assert!(rows.all_finished(), "{keys}");
    (rows.totals.packet_hops, rows.flows[0].fct_ns.expect("finished"))
}

#[test]
fn a_full_connection_sends_three_segments_more_of_which_one_delays_the_data() {
    let (short, full) = (one_segment(""), one_segment("full_connection = true"));
    // A flow has eight packet-hops: SYN, SYN-ACK, data and ACK cross two links each.
    // A full connection also sends the ACK of the handshake, FIN and the ACK of FIN.
    assert_eq!((short.0, full.0), (8, 14));
    // The ACK of the handshake (54 B) leaves before the data.
    assert_eq!(full.1 - short.1, 43);
    // Without a handshake only FIN and its ACK remain. These two packets delay no data.
    let (bare, closed) =
        (one_segment("handshake = false"), one_segment("handshake = false\nfull_connection = true"));
    assert_eq!((bare.0, closed.0, bare.1), (4, 8, closed.1));
}

#[test]
fn segments_that_end_connections_are_accounted_for_where_packets_are_lost() {
    let lab = Lab::new(
        &star(9, "10 Gb/s", "1 us"),
        "buffer = \"20 KB\"\npolicy = { name = \"dt\", alpha = [0.01, 1.0] }\nqueues_per_port = 2",
        "congestion_control = \"newreno\"\nfull_connection = true\ninitial_window = 20",
    );
    let flows = (0..160).map(|n| {
        // Data flows to host 8 and from host 8, so that ACKs and FINs are lost, too.
        let (src, dst) = if n % 2 == 0 { (n / 2 % 8, 8) } else { (8, n / 2 % 8) };
        flow(src, dst, 2_000 + 997 * u64::from(n), Time::from_us(u64::from(n) * 9))
    });
    let rows = run(&lab.flows(flows.collect()));
    assert!(rows.all_finished());
    let refused = (0..9).map(|port| rows.queue(0, port, 0).dropped_packets).sum::<u64>();
    assert!(refused > 0, "no ACK was lost");
}
