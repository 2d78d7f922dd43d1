//! Tests of the reference policies of the literature against their definitions, in random states.

use bufferlab_core::*;
use bufferlab_units::{BitRate, RandomStream, Time};

/// Whether the queue lengths, in any order, satisfy every inequality of Harmonic for a buffer of
/// size `capacity`.
fn is_harmonic(lengths: &[u64], capacity: u64, sums: bool) -> bool {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let n = sorted.len();
    let harmonic_number: f64 = (1..=n).map(|i| 1.0 / i as f64).sum();
    let share = |i: usize| (capacity as f64 / (i as f64 * harmonic_number) + 1e-9) as u64;
    let mut totals = (0, 0);
    sorted.iter().zip(1..).all(|(&length, i)| {
        totals = (totals.0 + length, totals.1 + share(i));
        if sums { totals.0 <= totals.1 } else { length <= share(i) }
    })
}

#[test]
fn harmonic_keeps_all_its_inequalities_and_refuses_only_what_breaks_one() {
    for (seed, limit) in (0..20).flat_map(|seed| [(seed, "rank"), (seed, "sum")]) {
        let mut stream = RandomStream::new(seed, "test/harmonic", 0);
        let ports = 1 + stream.below(9) as usize;
        let capacity = ports as u64 * (2_000 + stream.below(10_000));
        let config = SwitchConfig::new(capacity, vec![BitRate::gbps(10); ports]);
        let params = [("limit".to_owned(), ParamValue::Choice(limit.into()))];
        let mut switch = config.build("harmonic", &params).expect("it fits");
        let lengths = |switch: &Switch<Box<dyn Policy>>| -> Vec<u64> {
            switch.buffer().queue_ids().map(|queue| switch.buffer().queue_bytes(queue)).collect()
        };
        let (mut stored, mut refused) = (0, 0);
        for id in 0..3_000 {
            let port = stream.below(ports as u64) as u16;
            let size = 64 + stream.below(1_437) as u32;
            let mut with_packet = lengths(&switch);
            with_packet[usize::from(port)] += u64::from(size);
            let allowed = is_harmonic(&with_packet, capacity, limit == "sum");
            let packet = Packet { id, header: Header::new(size), egress_port: port, ..Packet::default() };
            let admission = switch.handle_arrival(Time::ZERO, &packet, &mut ());
            let is_stored = matches!(admission, Admission::Stored { .. });
            assert_eq!(is_stored, allowed, "{limit}: {with_packet:?} of {capacity}: {admission:?}");
            *if is_stored { &mut stored } else { &mut refused } += 1;
            if stream.below(2) == 0 {
                let _ = switch.poll_transmit(Time::ZERO, stream.below(ports as u64) as u16, &mut ());
            }
        }
        assert!(stored > 100 && refused > 50, "{stored} {refused}");
    }
}

/// Definition of Longest Queue Drop for packets of one size. The policy refuses a packet only if
/// the buffer is full and the packet's queue is the longest. An evicted packet is in a longest
/// queue.
#[test]
fn longest_queue_drop_takes_from_a_longest_queue_and_from_no_other() {
    #[derive(Default)]
    struct Victims(Vec<QueueId>);
    impl Observer for Victims {
        fn on(&mut self, event: &SwitchEvent<'_>, _: &Buffer) {
            if let SwitchEvent::Evicted { queue, .. } = *event {
                self.0.push(queue);
            }
        }
    }
    for ties in ["first", "random"] {
        let config = SwitchConfig::new(40_000, vec![BitRate::gbps(10); 5]).with_queues(3);
        let params = [("ties".to_owned(), ParamValue::Choice(ties.into()))];
        let mut switch = config.build("lqd", &params).expect("it fits");
        let mut stream = RandomStream::new(1, "test/lqd", 0);
        let (mut evicted, mut refused) = (0, 0);
        for id in 0..50_000 {
            let (egress_port, priority) = (stream.below(5) as u16, stream.below(3) as u8);
            let packet = Packet {
                id,
                header: Header { size: 1_000, priority, ..Header::default() },
                egress_port,
                ..Packet::default()
            };
            let own = switch.queue_of(&packet);
            let mut lengths: Vec<u64> =
                switch.buffer().queue_ids().map(|queue| switch.buffer().queue_bytes(queue)).collect();
            let was_full = !switch.buffer().fits(1_000);
            lengths[usize::from(own.0)] += 1_000;
            let longest = lengths.iter().max().copied().expect("fifteen queues");
            let mut victims = Victims::default();
            let admission = switch.handle_arrival(Time::ZERO, &packet, &mut victims);
            match (admission, victims.0.as_slice()) {
                (Admission::Stored { .. }, []) => assert!(!was_full),
                (Admission::Stored { .. }, [victim]) => {
                    assert!(was_full && lengths[usize::from(victim.0)] == longest && *victim != own);
                    evicted += 1;
                }
                (Admission::Refused(_), []) => {
                    assert!(was_full && lengths[usize::from(own.0)] == longest);
                    refused += 1;
                }
                other => panic!("{other:?}"),
            }
            if stream.below(3) == 0 {
                let _ = switch.poll_transmit(Time::ZERO, stream.below(5) as u16, &mut ());
            }
        }
        switch.verify().expect("the ledger is right");
        assert!(evicted > 1_000 && refused > 1_000, "{evicted} {refused}");
    }
}

#[test]
fn a_delay_limit_below_the_transmission_of_a_packet_is_refused_with_the_least_that_would_do() {
    let rates = vec![BitRate::gbps(10), BitRate::gbps(40)];
    let config = SwitchConfig { max_packet: 1_500, ..SwitchConfig::new(60_000, rates) };
    let build = |delay| config.build("bshare-like", &[("delay_limit".to_owned(), ParamValue::Time(delay))]);
    let error = build(Time::from_ns(1_199)).expect_err("1498 B");
    assert_eq!(error.param, "delay_limit");
    assert!(error.message.contains("sends 1498 B") && error.message.contains("at least 1.2 us"), "{error}");
    assert!(build(Time::from_ns(1_200)).is_ok());
}
