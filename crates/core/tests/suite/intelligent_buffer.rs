//! Tests of approximate fair dropping by packets: which flows lose packets, and how many.

use bufferlab_core::*;
use bufferlab_units::{BitRate, RandomStream, Time};

const MTU: u32 = 1_500;
/// Time to send a packet of 1500 B at 10 Gb/s.
const SLOT: Time = Time::from_ns(1_200);

/// Numbers of packets that arrived and of packets that were stored, by flow.
type Counts = [[u64; 2]; 3];

/// Overloads one port for 100 ms at random instants. Flow 0 sends 1.5 packets per slot, flow 1 0.3
/// and flow 2 0.1.
fn overload(afd: &'static str, seed: u64) -> (Counts, f64) {
    let config = SwitchConfig {
        seed,
        max_packet: u64::from(MTU),
        ..SwitchConfig::new(4_000_000, vec![BitRate::gbps(10)])
    };
    let params = [
        ("afd".to_owned(), ParamValue::Choice(afd.into())),
        ("elephant_bytes".to_owned(), ParamValue::Bytes(0)),
    ];
    let mut switch = config.build("ib", &params).expect("it fits");
    let mut stream = RandomStream::new(1, "test/ib", 0);
    let (mut counts, mut length, mut late) = (Counts::default(), 0.0, 0.0);
    for slot in 1..84_000_u64 {
        let now = Time(slot * SLOT.0);
        while let Some(due) = switch.poll_timeout().filter(|&due| due <= now) {
            switch.handle_timeout(due, &mut ());
        }
        let _ = switch.poll_transmit(now, 0, &mut ());
        // Packets of flows arrive in random order, because the first arrival after a
        // departure always fits.
        for _ in 0..4 {
            let flow = match stream.below(40) {
                0..15 => 0_u32,
                15..18 => 1,
                18 => 2,
                _ => continue,
            };
            let packet =
                Packet { header: Header { size: MTU, flow, ..Header::default() }, ..Packet::default() };
            let stored = switch.handle_arrival(now, &packet, &mut ()) == Admission::Stored { marked: false };
            if slot > 42_000 {
                counts[flow as usize][0] += 1;
                counts[flow as usize][1] += u64::from(stored);
            }
        }
        if slot > 42_000 {
            length += switch.buffer().queue_bytes(QueueId(0)) as f64;
            late += 1.0;
        }
    }
    (counts, length / late)
}

fn kept(counts: [u64; 2]) -> f64 {
    counts[1] as f64 / counts[0] as f64
}

#[test]
fn per_flow_drops_hit_the_flow_beyond_the_fair_share_and_spare_the_others() {
    let (counts, length) = overload("per_flow", 1);
    println!("{:.3} {:.3} {:.3}, {length:.0} B", kept(counts[0]), kept(counts[1]), kept(counts[2]));
    // The port sends 1.0 packet per slot. Flows 1 and 2 (.3 and .1 packets per slot) stay below the
    // fair share of .6, which is the remainder for flow 0. The fair share sometimes falls below the
    // rates of the small flows, since an interval has only some 42 packets and the gains are high.
    assert!(kept(counts[1]) > 0.87 && kept(counts[2]) > 0.92, "{counts:?}");
    assert!((kept(counts[0]) - 0.42).abs() < 0.02, "{counts:?}");
    // The controller also keeps the queue near Q_ref = 150 KB.
    assert!((60_000.0..140_000.0).contains(&length), "{length}");
}

#[test]
fn per_queue_drops_and_dynamic_thresholds_hit_every_flow_alike() {
    for afd in ["per_queue", "off"] {
        let (counts, _) = overload(afd, 1);
        for flow in counts {
            assert!((kept(flow) - 1.0 / 1.9).abs() < 0.04, "{afd}: {counts:?}");
        }
    }
}

#[test]
fn random_drops_come_from_the_seed_of_the_switch() {
    assert_eq!(overload("per_flow", 1).0, overload("per_flow", 1).0);
    assert_ne!(overload("per_flow", 1).0, overload("per_flow", 2).0);
}

#[test]
fn the_share_of_early_drops_is_the_excess_over_the_fair_share() {
    // If both gains are 0, the fair share m_fair stays at its cap of 30 000 B. A flow sends 40
    // packets of 1500 B per interval, so half of its packets are dropped.
    let config = SwitchConfig::new(1 << 30, vec![BitRate::gbps(10)]);
    let params = [
        ("alpha".to_owned(), ParamValue::RatioPerPriority(vec![1_000.0].into())),
        ("gain".to_owned(), ParamValue::Ratio(0.0)),
        ("old_gain".to_owned(), ParamValue::Ratio(0.0)),
        ("fair_share_cap".to_owned(), ParamValue::Bytes(30_000)),
        ("elephant_bytes".to_owned(), ParamValue::Bytes(0)),
        ("drop_above".to_owned(), ParamValue::Bytes(0)),
    ];
    let mut switch = config.build("ib", &params).expect("it fits");
    let (mut early, mut total) = (0_u64, 0_u64);
    for interval in 0..1_000_u64 {
        let now = Time::from_us(50 * interval);
        while let Some(due) = switch.poll_timeout().filter(|&due| due <= now) {
            switch.handle_timeout(due, &mut ());
        }
        for _ in 0..40 {
            let admission = switch.handle_arrival(
                now,
                &Packet { header: Header::new(MTU), ..Packet::default() },
                &mut (),
            );
            if interval > 0 {
                early += u64::from(admission == Admission::dropped(DropReason::Early));
                total += 1;
            }
        }
    }
    // Three standard deviations of the share of dropped packets over 40 000 random draws are
    // 0.0075.
    let share = early as f64 / total as f64;
    assert!((share - 0.5).abs() < 0.0075, "{share}");
}

#[test]
fn parameters_that_do_not_fit_are_refused_with_the_reason() {
    let config = SwitchConfig::new(60_000, vec![BitRate::gbps(10)]);
    for (name, value, message) in [
        ("short_headroom", ParamValue::Bytes(60_000), "leave nothing of the buffer's 60000 B"),
        ("priority_queue", ParamValue::Flag(true), "give them two, or leave it off"),
        ("old_gain", ParamValue::Ratio(2.0), "choose a2 <= a1"),
        ("flow_entries", ParamValue::Count(1 << 40), "16777216"),
    ] {
        let built = config.build("ib", &[(name.to_owned(), value)]);
        let error = built.map(|_| ()).expect_err(name).to_string();
        assert!(error.contains(message), "{error}");
    }
}
