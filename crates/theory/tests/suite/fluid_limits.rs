//! Tests of edge cases of the fluid model: errors, speed, timers of the laws, full buffers.

use crate::fluid_support::{between, near};
use bufferlab_theory::fluid::{
    CongestionCount, DrainRate, EnhancedLimits, Fluid, FluidError, Law, PortState, Refresh, Reverie,
    ReverieQueue, Shape, Sonic, Source, TrafficAwareLimits, Trajectory,
};
use bufferlab_units::RandomStream;

fn message<T>(result: Result<T, FluidError>) -> String {
    match result {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_out_of_domain_is_refused_with_the_valid_range() {
    let shape = Shape::new(1.0, vec![1.0; 2], 2).expect("in domain");
    let refusals = [
        (message(Shape::new(0.0, vec![1.0], 1)), "the buffer is 0, expected a finite number above 0"),
        (message(Shape::new(f64::NAN, vec![1.0], 1)), "the buffer is NaN, expected a finite number above 0"),
        (message(Shape::new(1.0, vec![], 1)), "the number of ports is 0, expected at least 1"),
        (message(Shape::new(1.0, vec![1.0], 0)), "queues per port is 0, expected at least 1"),
        (
            message(Shape::new(1.0, vec![1.0, -1.0], 1)),
            "the rate of port 1 is -1, expected a finite number above 0",
        ),
        (message(shape.queue(2, 0)), "the port is 2, expected a number below that of the ports"),
        (message(shape.queue(0, 2)), "the priority is 2, expected a number below that of a port's queues"),
        (
            message(Law::dynamic_threshold(&shape, &[1.0, -0.5])),
            "alpha of queue 1 is -0.5, expected a finite number of at least 0",
        ),
        (message(Law::dynamic_threshold(&shape, &[1.0])), "1 values for alpha by priority, expected 2"),
        (message(Law::frozen_weights(&shape, vec![1.0; 3])), "3 values for alpha by queue, expected 4"),
    ];
    for (found, expected) in refusals {
        assert_eq!(found, expected);
    }
    let fluid = || Fluid::new(shape.clone(), Law::complete_sharing(&shape)).expect("it fits");
    let source = Source { queue: 0, rate: 1.0, start: 0.0, end: 1.0 };
    let refusals = [
        (message(fluid().with(Source { queue: 4, ..source })), "queue 4 does not exist"),
        (message(fluid().with(Source { rate: -1.0, ..source })), "the rate of a source is -1"),
        (message(fluid().with(Source { start: 2.0, ..source })), "the end of a source is 1"),
        (message(fluid().starting_with(&[0.5; 3])), "3 values for length by queue"),
        (
            message(fluid().starting_with(&[0.5; 4])),
            "the sum of all lengths is 2, expected at most the buffer",
        ),
        (message(fluid().run(0.0)), "the end of the run is 0"),
        (message(fluid().run_to_first_refusal(9, 1.0)), "queue 9 does not exist"),
        (message(fluid().with_event_limit(0).run(1.0)), "more than 0 events"),
    ];
    for (found, expected) in refusals {
        assert!(found.starts_with(expected), "{found}");
    }
    let other = Shape::new(2.0, vec![1.0; 2], 2).expect("in domain");
    assert!(Fluid::new(other, Law::complete_sharing(&shape)).is_err(), "a law for another switch");
}

#[test]
fn parameters_of_laws_are_checked_too() {
    let shape = Shape::new(1.0, vec![1.0; 2], 1).expect("in domain");
    let abm = |refresh, rate| CongestionCount::abm(&shape, &[0.5], rate, refresh).expect("one alpha");
    let counted = |law| message(Law::congestion_count(&shape, law));
    assert!(counted(abm(Refresh::Every(0.0), DrainRate::One)).starts_with("the refresh interval is 0"));
    let found = counted(abm(Refresh::Continuous, DrainRate::Measured));
    assert!(found.contains("an interval in which a drain rate can be measured"), "{found}");
    let share = CongestionCount { congested_share: 1.5, ..abm(Refresh::Continuous, DrainRate::One) };
    assert_eq!(counted(share), "the congested share is 1.5, expected above 0 and at most 1");
    let edt = EnhancedLimits { alpha: 1.0, packet: 0.01, c1: 0.0, c2: 8.0, tm1: 1.0, tm2: 1.0 };
    assert!(message(Law::enhanced(&shape, edt)).starts_with("C1 is 0"));
    let tdt = TrafficAwareLimits::derived(&shape, 0.01).expect("in domain");
    assert!(
        message(Law::traffic_aware(&shape, TrafficAwareLimits { nec: 0.0, ..tdt })).starts_with("NEC is 0")
    );
    assert!(message(TrafficAwareLimits::derived(&shape, 0.0)).starts_with("the packet size is 0"));
    let sonic = Sonic {
        ingress_pool: 1.0,
        lossy_pool: 2.0,
        lossless_queues: 1,
        lossy_queues: 1,
        lossless_alpha: 1.0,
        lossy_alpha: 1.0,
        drain_rate: 1.0,
    };
    assert!(message(sonic.fluid()).contains("at most the ingress pool"));
    let queue = ReverieQueue { weight: 1.0, arriving: 2.0, start: 0.0, end: 1.0, drain_rate: 1.0 };
    let reverie = Reverie { pool: 1.0, time_constant: 0.0, resolution: 1e-3, queues: vec![queue] };
    assert!(message(reverie.run(1.0)).starts_with("the time constant is 0"));
}

/// Run of 64 queues on 16 ports of 10 Gb/s, with bursts of 20 us to 2 ms on all ports all the time.
fn busy(record: bool) -> Trajectory {
    let line = 1.25e9;
    let shape = Shape::new(4e6, vec![line; 16], 4).expect("in domain");
    let counted =
        CongestionCount::abm(&shape, &[8.0, 2.0, 1.0, 0.5], DrainRate::Computed, Refresh::Every(80e-6));
    let law = Law::congestion_count(&shape, counted.expect("in domain")).expect("in domain");
    let mut fluid = Fluid::new(shape, law).expect("it fits");
    let mut stream = RandomStream::new(1, "test/fluid/busy", 0);
    for queue in 0..64 {
        let mut start = 1e-3 * stream.next_f64();
        while start < 0.1 {
            let end = start + between(&mut stream, 20e-6, 2e-3);
            let rate = line * between(&mut stream, 0.05, 4.0);
            fluid = fluid.with(Source { queue, rate, start, end }).expect("in domain");
            start = end + between(&mut stream, 20e-6, 2e-3);
        }
    }
    if !record {
        fluid = fluid.without_record();
    }
    fluid.run(0.1).expect("it runs")
}

#[test]
fn a_tenth_of_a_second_of_64_busy_queues_takes_no_more_events_than_it_has_changes_and_conserves_every_byte() {
    let run = busy(true);
    // The run has about 12,000 changes of rates and 1,250 refreshes. Each event visits all queues.
    assert!((15_000..50_000).contains(&run.events()), "busy: {}", run.events());
    for queue in 0..64 {
        let out = run.served()[queue] + run.refused(queue, 0.1) + run.length(queue, 0.1);
        assert!(near(out, run.arrived()[queue], 1e-9), "queue {queue}");
    }
    let bare = busy(false);
    assert_eq!((bare.breakpoints().len(), bare.last()), (2, run.last()));
    assert_eq!(bare.first_refusal(7), run.first_refusal(7));
}

/// Under EDT, a port is uncontrolled for at most TM2 (3 in this test),
/// although the burst continues and no packet was dropped.
#[test]
fn an_uncontrolled_port_comes_back_under_control_when_tm2_is_over() {
    let shape = Shape::new(100.0, vec![1.0; 2], 1).expect("in domain");
    let limits = EnhancedLimits { alpha: 0.1, packet: 1.0, c1: 3.0, c2: 8.0, tm1: 20.0, tm2: 3.0 };
    let law = Law::enhanced(&shape, limits).expect("in domain");
    let run = Fluid::new(shape, law)
        .and_then(|fluid| fluid.with(Source { queue: 0, rate: 5.0, start: 0.0, end: 50.0 }))
        .and_then(|fluid| fluid.run(40.0))
        .expect("it runs");
    // The queue grows by 4 packets per unit of time, so the net count reaches 8 packets at time 2.
    // TM2 ends at time 5.
    assert_eq!(run.state(0, 1.99), PortState::Normal);
    assert_eq!(run.state(0, 2.01), PortState::Absorption);
    assert_eq!(run.state(0, 5.01), PortState::Normal);
    let first = run.first_refusal(0).expect("it drops");
    assert!(near(first.time, 5.0, 1e-9) && near(first.stored, 20.0, 1e-9), "{first:?}");
}

/// Under EDT, growth that takes longer than the window is not a burst.
#[test]
fn a_queue_that_grows_slower_than_c2_in_tm1_stays_controlled() {
    let shape = Shape::new(100.0, vec![1.0; 2], 1).expect("in domain");
    let limits = EnhancedLimits { alpha: 1.0, packet: 1.0, c1: 3.0, c2: 8.0, tm1: 10.0, tm2: 1e3 };
    let law = Law::enhanced(&shape, limits).expect("in domain");
    let state = |rate| {
        let run = Fluid::new(shape.clone(), law.clone())
            .and_then(|fluid| fluid.with(Source { queue: 0, rate, start: 0.0, end: 50.0 }))
            .and_then(|fluid| fluid.run(40.0))
            .expect("it runs");
        run.state(0, 35.0)
    };
    assert_eq!(state(1.75), PortState::Normal);
    assert_eq!(state(1.85), PortState::Absorption);
}

/// Under TDT, consecutive departures after the end of a burst end absorption.
#[test]
fn absorption_ends_three_packets_after_the_burst() {
    let shape = Shape::new(160.0, vec![1.0; 16], 1).expect("in domain");
    let law = TrafficAwareLimits::derived(&shape, 1.0).and_then(|law| Law::traffic_aware(&shape, law));
    let run = Fluid::new(shape, law.expect("in domain"))
        .and_then(|fluid| fluid.with(Source { queue: 0, rate: 5.0, start: 0.0, end: 6.0 }))
        .and_then(|fluid| fluid.run(40.0))
        .expect("it runs");
    // The queue grows by 4 packets per unit of time, so the net count reaches NEC = 10 packets at
    // time 2.5. The burst ends at time 6.
    assert_eq!(
        [2.49, 2.51, 8.99, 9.01].map(|time| run.state(0, time)),
        [PortState::Normal, PortState::Absorption, PortState::Absorption, PortState::Normal]
    );
}

/// Under TDT, arrivals at more than half of the line rate interrupt every row of three departures.
/// Slower arrivals leave some rows of three departures.
#[test]
fn a_trickle_does_not_keep_a_port_in_absorption() {
    let state = |trickle| {
        let shape = Shape::new(160.0, vec![1.0; 16], 1).expect("in domain");
        let law = TrafficAwareLimits::derived(&shape, 1.0).and_then(|law| Law::traffic_aware(&shape, law));
        let run = Fluid::new(shape, law.expect("in domain"))
            .and_then(|fluid| fluid.with(Source { queue: 0, rate: 5.0, start: 0.0, end: 6.0 }))
            .and_then(|fluid| fluid.with(Source { queue: 0, rate: trickle, start: 6.0, end: 90.0 }))
            .and_then(|fluid| fluid.run(40.0))
            .expect("it runs");
        run.state(0, 12.0)
    };
    assert_eq!(state(0.45), PortState::Normal);
    assert_eq!(state(0.55), PortState::Absorption);
}

/// Under ABM with instantaneous n and γ, the limits of a priority drop at once when one of its
/// queues becomes congested. The congestion of the queues does not alternate endlessly.
#[test]
fn limits_jump_when_a_queue_becomes_congested() {
    let shape = Shape::new(1.0, vec![1.0; 2], 1).expect("in domain");
    let counted =
        CongestionCount::abm(&shape, &[1.0], DrainRate::Computed, Refresh::Continuous).expect("in domain");
    let law = Law::congestion_count(&shape, counted).expect("in domain");
    let run = Fluid::new(shape, law)
        .and_then(|fluid| fluid.with(Source { queue: 0, rate: 2.0, start: 0.0, end: 50.0 }))
        .and_then(|fluid| fluid.with(Source { queue: 1, rate: 2.0, start: 5.0, end: 50.0 }))
        .and_then(|fluid| fluid.run(20.0))
        .expect("it runs");
    // A lone queue gets half of the buffer. When the new queue reaches 0.9 of its threshold, it is
    // congested, and the count n jumps to 2.
    assert!(near(run.length(0, 4.0), 0.5, 1e-9));
    let jump = run
        .breakpoints()
        .windows(2)
        .find(|pair| pair[0].time == pair[1].time && pair[0].limits[1] > 1.5 * pair[1].limits[1])
        .expect("a jump");
    assert!(near(jump[0].lengths[1], 0.9 * jump[0].limits[1], 1e-9), "{jump:?}");
    // With n = 2 each queue has a quarter of the buffer, and half of the buffer remains free.
    assert!(near(run.length(0, 20.0), 0.25, 1e-9) && near(run.length(1, 20.0), 0.25, 1e-9));
    assert!(run.events() < 60, "{}", run.events());
}

/// Measured drain rates follow from the data that a queue sent. Two of four queues of a port send
/// at half of the line rate each.
#[test]
fn measured_drain_rates_agree_with_computed_ones_when_everything_is_congested() {
    let lengths = |rate| {
        let shape = Shape::new(1.0, vec![1.0; 2], 4).expect("in domain");
        let counted = CongestionCount::abm(&shape, &[0.5; 4], rate, Refresh::Every(0.05)).expect("in domain");
        let law = Law::congestion_count(&shape, counted).expect("in domain");
        let mut fluid = Fluid::new(shape, law).expect("it fits");
        for queue in [0, 1, 4, 5, 6] {
            fluid = fluid.with(Source { queue, rate: 2.0, start: 0.0, end: 50.0 }).expect("in domain");
        }
        let run = fluid.run(40.0).expect("it runs");
        (0..8).map(|queue| run.length(queue, 40.0)).collect::<Vec<_>>()
    };
    let (measured, computed) = (lengths(DrainRate::Measured), lengths(DrainRate::Computed));
    assert!(measured.iter().zip(&computed).all(|(a, b)| (a - b).abs() < 1e-6), "{measured:?} {computed:?}");
    assert!(computed[0] > 0.0 && computed[2] == 0.0);
}

/// Compares Reverie's filter with Euler's method with a small step, before any queue alternates
/// between admission and refusal.
#[test]
fn the_filter_is_what_small_steps_tend_to() {
    let queue = |arriving, weight| ReverieQueue { weight, arriving, start: 0.0, end: 0.4, drain_rate: 1.0 };
    let model = Reverie {
        pool: 10.0,
        time_constant: 0.2,
        resolution: 1e-3,
        queues: vec![queue(4.0, 1.0), queue(3.0, 0.5)],
    };
    let run = model.run(1.0).expect("it runs");
    let (mut lengths, mut filtered, step) = ([0.0_f64; 2], [0.0_f64; 2], 1e-6);
    for tick in 0..600_000 {
        let time = f64::from(tick) * step;
        for queue in 0..2 {
            filtered[queue] += step * (lengths[queue] - filtered[queue]) / 0.2;
            let arriving = if time < 0.4 { [4.0, 3.0][queue] } else { 0.0 };
            lengths[queue] = (lengths[queue] + step * (arriving - 1.0)).max(0.0);
        }
    }
    for queue in 0..2 {
        assert!(near(run.length(queue, 0.6), lengths[queue], 1e-4));
        assert!(near(run.filtered(queue, 0.6), filtered[queue], 1e-4), "{}", run.filtered(queue, 0.6));
    }
    assert_eq!(run.first_refusal(0), None);
}

/// For any law and traffic, every run ends, changes do not alternate endlessly,
/// bytes are conserved, and the buffer is never exceeded.
#[test]
fn random_traffic_under_every_law_runs_through() {
    let mut stream = RandomStream::new(9, "test/fluid/laws", 0);
    let mut events = [0_usize; 7];
    for round in 0..420 {
        let (ports, queues) = (1 + stream.below(5) as usize, 1 + stream.below(4) as usize);
        let rates = (0..ports).map(|_| between(&mut stream, 0.5, 2.0)).collect();
        let shape = Shape::new(1.0, rates, queues).expect("in domain");
        let alphas: Vec<f64> = (0..queues).map(|_| between(&mut stream, 0.1, 30.0)).collect();
        let continuous = |high| {
            let law =
                CongestionCount::plasticine(&shape, &alphas, high, DrainRate::Computed, Refresh::Continuous);
            Law::congestion_count(&shape, law.expect("in domain")).expect("in domain")
        };
        let packet = 0.005;
        let kind = round % 7;
        let law = match kind {
            0 => Law::dynamic_threshold(&shape, &alphas).expect("in domain"),
            1 => continuous(queues),
            2 => continuous(1),
            3 => {
                let law = CongestionCount::abm(&shape, &alphas, DrainRate::Measured, Refresh::Every(0.02));
                Law::congestion_count(&shape, law.expect("in domain")).expect("in domain")
            }
            4 => {
                let limits =
                    EnhancedLimits { alpha: alphas[0], packet, c1: 3.0, c2: 8.0, tm1: 0.2, tm2: 0.7 };
                Law::enhanced(&shape, limits).expect("in domain")
            }
            5 => TrafficAwareLimits::derived(&shape, packet)
                .and_then(|law| Law::traffic_aware(&shape, law))
                .expect("in domain"),
            _ => Law::complete_sharing(&shape),
        };
        let mut fluid = Fluid::new(shape.clone(), law).expect("it fits");
        for _ in 0..60 {
            let queue = stream.below(shape.queues() as u64) as usize;
            let (start, length) = (6.0 * stream.next_f64(), between(&mut stream, 0.005, 2.0));
            let rate = between(&mut stream, 0.05, 6.0);
            fluid = fluid.with(Source { queue, rate, start, end: start + length }).expect("in domain");
        }
        let run = fluid.run(10.0).unwrap_or_else(|error| panic!("round {round}: {error}"));
        events[kind] += run.events();
        for queue in 0..shape.queues() {
            let out = run.served()[queue] + run.refused(queue, 10.0) + run.length(queue, 10.0);
            assert!((out - run.arrived()[queue]).abs() < 1e-8, "round {round}, queue {queue}");
        }
        for at in run.breakpoints() {
            let held: f64 = at.lengths.iter().sum();
            assert!(
                held <= 1.0 + 1e-9 && at.lengths.iter().all(|&length| length >= 0.0),
                "round {round}: {at:?}"
            );
        }
    }
    println!("events by law: {events:?}");
    assert!(events.iter().all(|&count| count > 60 * 120), "{events:?}");
}
