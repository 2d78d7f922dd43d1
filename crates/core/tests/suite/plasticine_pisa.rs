//! Tests of Plasticine on a programmable switch. The tests compare verdicts with exact and with
//! shifted thresholds, and with fresh and with stale registers.

use bufferlab_core::policy::shift;
use bufferlab_core::*;
use bufferlab_units::{BitRate, RandomStream, Time};

const MTU: u32 = 1_500;
/// Time to send a packet of 1500 B at 10 Gb/s.
const SLOT: Time = Time::from_ns(1_200);
const PORTS: usize = 8;
const QUEUES: usize = 3;
const CAPACITY: u64 = 600_000;
const ALPHAS: [f64; QUEUES] = [4.0, 0.5, 0.5];
/// Default of the queue length above which a queue counts as congested: B / (2 x queues).
const CONGESTED_ABOVE: u64 = CAPACITY / (2 * (PORTS * QUEUES) as u64);

fn switch(pass: Time, egress_length: &'static str) -> Switch<Box<dyn Policy>> {
    let config = SwitchConfig {
        max_packet: u64::from(MTU),
        ..SwitchConfig::new(CAPACITY, vec![BitRate::gbps(10); PORTS]).with_queues(QUEUES)
    };
    let params = [
        ("alpha".to_owned(), ParamValue::RatioPerPriority(ALPHAS.to_vec().into())),
        ("pass_period".to_owned(), ParamValue::Time(pass)),
        ("egress_length".to_owned(), ParamValue::Choice(egress_length.into())),
    ];
    config.build("plasticine-pisa", &params).expect("it fits")
}

/// Runs all passes of SYNC packets up to `now`.
fn advance(switch: &mut Switch<Box<dyn Policy>>, now: Time) {
    while let Some(due) = switch.poll_timeout().filter(|&due| due <= now) {
        switch.handle_timeout(due, &mut ());
    }
}

/// Current numbers of congested queues of the queue's priority and of active queues of its port.
fn counts(buffer: &Buffer, queue: QueueId) -> (u64, u64) {
    let (port, priority) = buffer.port_and_priority(queue);
    let long = |queue: QueueId| buffer.queue_bytes(queue) > CONGESTED_ABOVE;
    let same_group = |other: &QueueId| (buffer.port_and_priority(*other).1 == 0) == (priority == 0);
    let congested = buffer.queue_ids().filter(same_group).filter(|&q| long(q)).count();
    let active = (0..QUEUES as u8).filter(|&p| long(buffer.queue_of(port, p))).count();
    (congested.max(1) as u64, active.max(1) as u64)
}

/// Shares of arrivals with equal verdicts in two comparisons. The first comparison is between
/// thresholds from the registers and Plasticine's current threshold. The second comparison is
/// between the current threshold with and without the shift.
struct Agreement {
    registers: f64,
    shift_only: f64,
    /// Share of verdicts that Plasticine would also give if its threshold were wrong by a factor of
    /// up to the root of two.
    within_shift_error: f64,
}

/// Shares of packets for which both policies decide equally, under random open-loop traffic. Queues
/// start and stop receiving packets at random. A receiving queue gets up to twice its port's rate.
fn agreement(pass: Time, egress_length: &'static str) -> Agreement {
    let mut switch = switch(pass, egress_length);
    let mut stream = RandomStream::new(7, "test/pisa", 0);
    let mut on = [false; PORTS * QUEUES];
    let (mut same, mut same_by_shift, mut within, mut total) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut now = Time::ZERO;
    for slot in 0..12_000 {
        for port in 0..PORTS as u16 {
            // The ports start to send at staggered times.
            now = Time(slot * SLOT.0 + u64::from(port) * SLOT.0 / PORTS as u64);
            advance(&mut switch, now);
            let _ = switch.poll_transmit(now, port, &mut ());
            for priority in 0..QUEUES as u8 {
                let queue = switch.buffer().queue_of(port, priority);
                if stream.below(150) == 0 {
                    on[usize::from(queue.0)] = stream.below(3) == 0;
                }
                if !on[usize::from(queue.0)] || stream.below(3) == 0 {
                    continue;
                }
                let packet = Packet {
                    header: Header { size: MTU, priority, ..Header::default() },
                    egress_port: port,
                    ..Packet::default()
                };
                let buffer = switch.buffer();
                let (length, free) = (buffer.queue_bytes(queue), buffer.shared_free());
                let (congested, active) = counts(buffer, queue);
                let alpha = ALPHAS[usize::from(priority)];
                let threshold = alpha / (congested * active) as f64 * free as f64;
                let exact = threshold > length as f64;
                let power = 2.0_f64.powi(-i32::from(shift(alpha, congested, active)));
                let by_shift = power * free as f64 > length as f64;
                let admitted = match switch.handle_arrival(now, &packet, &mut ()) {
                    Admission::Refused(Refusal { reason: DropReason::BufferFull, .. }) => continue,
                    admission => admission == Admission::Stored { marked: false },
                };
                total += 1;
                same += u64::from(admitted == exact);
                let tolerated =
                    if admitted { threshold * 2.0_f64.sqrt() } else { threshold / 2.0_f64.sqrt() };
                within += u64::from(admitted == (tolerated > length as f64));
                same_by_shift += u64::from(by_shift == exact);
            }
        }
    }
    assert!(total > 50_000, "{total} at {now}");
    let share = |count: u64| count as f64 / total as f64;
    Agreement { registers: share(same), shift_only: share(same_by_shift), within_shift_error: share(within) }
}

/// Probe values of a queue, in the order of the policy's reports.
fn registers(switch: &Switch<Box<dyn Policy>>, queue: QueueId) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    switch.policy().probe(queue, switch.buffer(), &mut |name, value| found.push((name, value)));
    found
}

/// Figure 7 shows four register arrays (Remaining, Qlength, N_Priority, N_Port) and two tables,
/// Routing (queue, class and port of an arrival) and Shift. A verdict follows only from one entry
/// of each array and table, and from the limit of the memory.
///
/// Claim: PLA-HW-1
#[test]
fn a_verdict_follows_from_one_entry_of_four_register_arrays_and_two_tables() {
    let mut switch = switch(Time::from_us(1), "enqueue");
    let mut stream = RandomStream::new(11, "test/pisa/components", 0);
    let (mut admitted, mut refused) = (0_u64, 0_u64);
    for slot in 0..6_000_u64 {
        let now = Time(slot * SLOT.0);
        advance(&mut switch, now);
        for port in 0..PORTS as u16 {
            let _ = switch.poll_transmit(now, port, &mut ());
            // Up to three packets per packet time and port arrive, so that the buffer
            // fills at times.
            for _ in 0..stream.below(4) {
                let priority = stream.below(QUEUES as u64) as u8;
                let packet = Packet {
                    header: Header { size: MTU, priority, ..Header::default() },
                    egress_port: port,
                    ..Packet::default()
                };
                // The test selects the registers that the arrival reads.
                let queue = switch.buffer().queue_of(port, priority);
                let found = registers(&switch, queue);
                let names: Vec<_> = found.iter().map(|(name, _)| *name).collect();
                assert_eq!(
                    names,
                    ["remaining_register", "length_register", "congested_queues", "active_queues"]
                );
                let [remaining, length, congested, active] = [0, 1, 2, 3].map(|entry| found[entry].1 as u64);
                let shift = shift(ALPHAS[usize::from(priority)], congested, active);
                let threshold = if shift >= 0 { remaining >> shift } else { remaining << -shift };
                let fits = switch.buffer().fits(MTU);
                let verdict =
                    switch.handle_arrival(now, &packet, &mut ()) == Admission::Stored { marked: false };
                assert_eq!(verdict, fits && threshold > length, "slot {slot}, queue {queue:?}: {found:?}");
                *(if verdict { &mut admitted } else { &mut refused }) += 1;
            }
        }
    }
    assert!(admitted > 10_000 && refused > 10_000, "{admitted} admitted, {refused} refused");
}

/// Bytes that the switch stores of a burst before the burst's first drop, as a multiple of the
/// current shifted threshold. The burst has five times the port's rate and is the only traffic.
fn burst(pass: Time, egress_length: &'static str) -> f64 {
    let mut switch = switch(pass, egress_length);
    let packet =
        Packet { header: Header { size: MTU, priority: 1, ..Header::default() }, ..Packet::default() };
    for slot in 1..10_000 {
        let now = Time(slot * SLOT.0);
        advance(&mut switch, now);
        let _ = switch.poll_transmit(now, 0, &mut ());
        for _ in 0..5 {
            if let Admission::Refused(_) = switch.handle_arrival(now, &packet, &mut ()) {
                // With alpha 1/2 and without other traffic, the queue has q = (B - q) / 2.
                return switch.buffer().occupancy() as f64 / (CAPACITY as f64 / 3.0);
            }
        }
    }
    panic!("the burst is never refused");
}

const PASSES: [(&str, Time); 5] = [
    ("10 ns", Time::from_ns(10)),
    ("100 ns", Time::from_ns(100)),
    ("1 us", Time::from_us(1)),
    ("10 us", Time::from_us(10)),
    ("100 us", Time::from_us(100)),
];

/// Over a random open loop, the share of verdicts that agree with Plasticine's current threshold
/// rises as P, the time of a SYNC pass, falls. The share comes within four percentage points of the
/// share with fresh registers and shifts. Then 98 % of all verdicts are right for a threshold
/// within the shift's factor of the root of two. The egress register, which only a departing packet
/// writes, causes the other errors, and no P corrects them.
#[test]
fn decisions_converge_to_plasticines_as_passes_get_faster_up_to_the_error_of_the_shift() {
    let mut last = 0.0;
    for (name, pass) in PASSES.iter().rev() {
        let found = agreement(*pass, "dequeue");
        let (registers, within, by_shift) = (found.registers, found.within_shift_error, found.shift_only);
        println!(
            "P = {name}: {registers:.3} identical, {within:.3} within the shift's error; by shift alone {by_shift:.3}"
        );
        assert!(registers >= last - 0.002, "P = {name}: {registers} after {last}");
        last = registers;
        if *pass == Time::from_ns(10) {
            assert!(by_shift - registers < 0.04, "{registers} against {by_shift}");
            assert!(within > 0.98, "{within}");
        }
    }
}

#[test]
fn lengths_that_packets_met_on_arrival_cost_more_verdicts_than_slow_passes_of_a_microsecond() {
    for (name, pass) in PASSES {
        let found = agreement(pass, "enqueue");
        println!("P = {name}: {:.3} identical, {:.3} within", found.registers, found.within_shift_error);
        assert!(
            pass > Time::from_us(1) || found.registers < agreement(Time::from_us(1), "dequeue").registers
        );
    }
}

#[test]
fn a_burst_overshoots_by_what_arrives_before_its_length_is_known() {
    for (name, pass) in PASSES {
        println!(
            "P = {name}: {:.2} of its share (dequeue), {:.2} (enqueue)",
            burst(pass, "dequeue"),
            burst(pass, "enqueue")
        );
    }
    let prompt = burst(Time::from_ns(10), "dequeue");
    assert!((1.0..1.1).contains(&prompt), "{prompt}");
    assert!(burst(Time::from_us(1), "dequeue") < 1.3);
    // A round of SYNC passes over 24 queues takes 24 x 10 us. During a round, 4 x 200 packets
    // arrive, which fill the buffer.
    assert!(burst(Time::from_us(10), "dequeue") > 2.9);
    // The departing packet arrived when the queue had a fifth of its present length,
    // because arrivals are five times departures.
    // So the register would reach its share at 5/3 of the buffer, with any P.
    assert!(burst(Time::from_ns(10), "enqueue") > 2.9);
}

#[test]
fn parameters_that_do_not_fit_the_switch_are_refused_with_the_reason() {
    let config = SwitchConfig::new(60_000, vec![BitRate::gbps(10); 2]).with_queues(2);
    for (name, value, message) in [
        ("high_priorities", ParamValue::Count(3), "use 0 (one group) to 2"),
        ("congested_above", ParamValue::Bytes(60_000), "no queue is longer than 60000 B"),
        ("active_above", ParamValue::Bytes(1 << 40), "use less, or 0 to derive it"),
        ("counted_queues", ParamValue::Count(1 << 20), "at most 65535"),
    ] {
        let built = config.build("plasticine-pisa", &[(name.to_owned(), value)]);
        let error = built.map(|_| ()).expect_err(name).to_string();
        assert!(error.contains(message), "{error}");
    }
}
