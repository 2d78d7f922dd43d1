//! Tests of LossPass in random states: the corrected Algorithm 1 has the properties that the paper
//! states, and the printed algorithm does not.

use bufferlab_core::*;
use bufferlab_units::{BitRate, RandomStream, Time};

const PORT_BUFFER: u64 = 20_000;

fn set(name: &str, value: ParamValue) -> (String, ParamValue) {
    (name.to_owned(), value)
}

fn word(text: &'static str) -> ParamValue {
    ParamValue::Choice(text.into())
}

/// Number and bytes of the packets evicted for one arrival.
#[derive(Default)]
struct Evicted {
    packets: usize,
    bytes: u64,
}

impl Observer for Evicted {
    fn on(&mut self, event: &SwitchEvent<'_>, _: &Buffer) {
        if let SwitchEvent::Evicted { stored, reason, .. } = *event {
            assert_eq!(reason, DropReason::PushedOut);
            self.packets += 1;
            self.bytes += u64::from(stored.header.size);
        }
    }
}

/// One arrival: the state of its port before the arrival, the packet, and its outcome.
struct ArrivalRecord<'a> {
    /// Bytes Q_s (small flows) and Q_l (large flows) of the arrival's port, and the port's buffer
    /// B.
    small: u64,
    large: u64,
    limit: u64,
    port_bytes_after: u64,
    small_after: u64,
    packet: &'a Packet,
    admission: Admission,
    evicted: Evicted,
}

/// Simulates random arrivals and departures at four ports × two queues. Calls `check` with the
/// record of every arrival.
fn drive(params: &[(String, ParamValue)], packets: u32, mut check: impl FnMut(&ArrivalRecord<'_>)) {
    let config = SwitchConfig {
        scheduler: Scheduler::strict_priority(2),
        ..SwitchConfig::new(4 * PORT_BUFFER, vec![BitRate::gbps(10); 4]).with_queues(2)
    };
    let mut switch = config.build("losspass", params).expect("it fits");
    let mut stream = RandomStream::new(7, "test/losspass", 0);
    for id in 0..packets {
        let now = Time::from_ns(u64::from(id));
        let (egress_port, priority) = (stream.below(4) as u16, u8::from(stream.below(8) > 2));
        // Most packets have the full size. The other packets have any size from 64 B on.
        let size = if stream.below(3) == 0 { 64 + stream.below(1_437) as u32 } else { 1_500 };
        let packet = Packet {
            id,
            header: Header { size, priority, ..Header::default() },
            egress_port,
            ..Packet::default()
        };
        let own = |switch: &Switch<Box<dyn Policy>>, p| {
            switch.buffer().queue_bytes(switch.buffer().queue_of(egress_port, p))
        };
        let (small, large) = (own(&switch, 0), own(&switch, 1));
        let mut limit = 0;
        switch.policy().probe(QueueId(egress_port * 2), switch.buffer(), &mut |name, value| {
            if name == "port_limit_bytes" {
                limit = value as u64;
            }
        });
        let mut evicted = Evicted::default();
        let admission = switch.handle_arrival(now, &packet, &mut evicted);
        let (port_bytes_after, small_after) = (switch.buffer().port_bytes(egress_port), own(&switch, 0));
        check(&ArrivalRecord {
            small,
            large,
            limit,
            port_bytes_after,
            small_after,
            packet: &packet,
            admission,
            evicted,
        });
        if stream.below(5) < 2 {
            let _ = switch.poll_transmit(now, stream.below(4) as u16, &mut ());
        }
    }
    switch.verify().expect("the ledger is right");
}

fn static_port() -> Vec<(String, ParamValue)> {
    vec![set("port_limit", word("static")), set("port_buffer", ParamValue::Bytes(PORT_BUFFER))]
}

#[test]
fn one_eviction_is_always_enough_and_makes_the_port_no_fuller() {
    let reserve = set("large_reserve", ParamValue::Bytes(6_000));
    let mut evictions = 0;
    for (params, packets) in [
        (static_port(), 500_000),
        ([static_port(), vec![reserve.clone()]].concat(), 250_000),
        (vec![set("alpha", ParamValue::Ratio(0.5))], 250_000),
        (vec![set("alpha", ParamValue::Ratio(2.0)), set("victim", word("head")), reserve], 250_000),
    ] {
        drive(&params, packets, |event| {
            if event.evicted.packets == 0 {
                return;
            }
            evictions += 1;
            assert_eq!(event.evicted.packets, 1);
            assert_eq!(event.packet.header.priority, 0, "only small flows evict");
            assert!(event.evicted.bytes >= u64::from(event.packet.header.size));
            assert_eq!(event.admission, Admission::Stored { marked: false });
            assert!(event.port_bytes_after <= event.small + event.large);
        });
    }
    assert!(evictions > 50_000, "{evictions}");
}

#[test]
fn small_flows_hold_at_most_the_port_buffer_less_the_reserve_whenever_they_evict() {
    let params = [static_port(), vec![set("large_reserve", ParamValue::Bytes(6_000))]].concat();
    let mut evictions = 0;
    drive(&params, 250_000, |event| {
        if event.evicted.packets > 0 {
            evictions += 1;
            assert!(event.small_after <= PORT_BUFFER - 6_000, "{}", event.small_after);
        }
    });
    assert!(evictions > 1_000, "{evictions}");
}

#[test]
fn a_hard_reserve_holds_at_all_times() {
    let reserve = set("large_reserve", ParamValue::Bytes(6_000));
    let params = [static_port(), vec![reserve, set("reserve", word("always"))]].concat();
    let mut evictions = 0;
    drive(&params, 250_000, |event| {
        evictions += event.evicted.packets;
        assert!(event.small_after <= PORT_BUFFER - 6_000, "{}", event.small_after);
    });
    assert!(evictions > 1_000, "{evictions}");
}

/// Erratum E-LP-1: with B_l = 0, the condition P.len + Q_s >= B is true only in a tie. In a tie,
/// the port is exactly full and Q_l is a single packet as long as the arriving packet.
#[test]
fn line_4_as_printed_never_evicts_but_in_a_tie() {
    let params = [static_port(), vec![set("printed_line_4", ParamValue::Flag(true))]].concat();
    let (mut full, mut evictions) = (0, 0);
    drive(&params, 500_000, |event| {
        let size = u64::from(event.packet.header.size);
        let is_full = event.packet.header.priority == 0
            && event.large > 0
            && event.small + event.large + size > event.limit;
        full += u64::from(is_full);
        if event.evicted.packets > 0 {
            evictions += 1;
            assert_eq!((event.small, event.large), (event.limit - size, size), "not a tie");
        }
    });
    assert!(full > 50_000, "{full} chances");
    assert!(evictions * 10_000 < full, "{evictions} ties in {full} chances");
}

#[test]
fn what_does_not_fit_the_switch_is_refused_with_a_way_out() {
    let config = SwitchConfig::new(20_000, vec![BitRate::gbps(10); 2]).with_queues(2);
    for (params, at, message) in [
        (vec![set("large_priority", ParamValue::Count(2))], "large_priority", "choose from 0 to 1"),
        (vec![set("small_priority", ParamValue::Count(1))], "large_priority", "different queues"),
        (vec![set("port_buffer", ParamValue::Bytes(20_001))], "port_buffer", "at most that"),
        (
            vec![set("port_buffer", ParamValue::Bytes(9_000)), set("port_limit", word("static"))],
            "port_buffer",
            "holds no packet of 9216 B",
        ),
        (vec![set("large_reserve", ParamValue::Bytes(20_001))], "large_reserve", "whole buffer of 20000 B"),
        (
            [vec![set("port_limit", word("static"))], vec![set("large_reserve", ParamValue::Bytes(10_001))]]
                .concat(),
            "large_reserve",
            "port buffer of 10000 B",
        ),
    ] {
        let error = config.build("losspass", &params).expect_err(message);
        assert_eq!(error.param, at);
        assert!(error.message.contains(message), "{error}");
    }
    let one_queue = SwitchConfig::new(20_000, vec![BitRate::gbps(10); 2]);
    assert!(one_queue.build("losspass", &[]).is_ok(), "one queue per port: no classes");
    assert!(one_queue.build("losspass", &[set("large_priority", ParamValue::Count(2))]).is_err());
}
