//! Cost of stale registers in Plasticine's pipeline on a programmable switch: thresholds and bursts
//! against the period of the pipeline's passes.
//!
//! `cargo xtask generate conformance` redraws `docs/concepts/figures/plasticine-pisa-staleness.svg`
//! and the table of `docs/reference/policies/plasticine-pisa.md`.

use bufferlab_core::{Header, Packet, ParamValue, Policy, QueueId, Switch, SwitchConfig, Tags};
use bufferlab_pages::{assert_all, check_block, check_file};
use bufferlab_units::{BitRate, RandomStream, Time};
use std::fmt::Write;

const MTU: u32 = 1_500;
/// Transmission time of a packet of maximum size at 10 Gb/s.
const SLOT: Time = Time::from_ns(1_200);
const PORTS: usize = 8;
const QUEUES: usize = 3;
const CAPACITY: u64 = 600_000;
const ALPHAS: [f64; QUEUES] = [4.0, 0.5, 0.5];
/// Queue length above which the pipeline treats a queue as congested: B / (2 × queues).
const CONGESTED_ABOVE: u64 = CAPACITY / (2 * (PORTS * QUEUES) as u64);
/// Pass periods of the pipeline on the axis of the figure (ns).
const PERIODS_NS: [u64; 10] = [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000];

fn config() -> SwitchConfig {
    SwitchConfig {
        max_packet: u64::from(MTU),
        ..SwitchConfig::new(CAPACITY, vec![BitRate::gbps(10); PORTS]).with_queues(QUEUES)
    }
}

fn build(policy: &str, params: &[(&str, ParamValue)]) -> Switch<Box<dyn Policy>> {
    let mut params: Vec<_> = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    params.push(("alpha".to_owned(), ParamValue::RatioPerPriority(ALPHAS.to_vec().into())));
    config().build(policy, &params).expect("it fits")
}

fn pipeline(pass: Time, egress_length: &'static str) -> Switch<Box<dyn Policy>> {
    build(
        "plasticine-pisa",
        &[
            ("pass_period", ParamValue::Time(pass)),
            ("egress_length", ParamValue::Choice(egress_length.into())),
        ],
    )
}

/// Creates Plasticine with the pipeline's criterion of congestion, but with current counters.
fn ideal() -> Switch<Box<dyn Policy>> {
    build(
        "plasticine",
        &[
            ("congestion", ParamValue::Choice("bytes".into())),
            ("congested_bytes", ParamValue::Bytes(CONGESTED_ABOVE)),
            ("update_interval", ParamValue::Time(Time::from_ns(50))),
            ("drain_rate", ParamValue::Choice("computed".into())),
        ],
    )
}

fn advance(switch: &mut Switch<Box<dyn Policy>>, now: Time) {
    while let Some(due) = switch.poll_timeout().filter(|&due| due <= now) {
        switch.handle_timeout(due, &mut ());
    }
}

/// Returns the weight alpha / (N n) of a queue by Plasticine, counted from the current state of
/// `switch`.
fn weight(switch: &Switch<Box<dyn Policy>>, queue: QueueId) -> f64 {
    let buffer = switch.buffer();
    let (port, priority) = buffer.port_and_priority(queue);
    let long = |queue: QueueId| buffer.queue_bytes(queue) > CONGESTED_ABOVE;
    let group = |queue: QueueId| buffer.port_and_priority(queue).1 == 0;
    let congested =
        buffer.queue_ids().filter(|&other| group(other) == (priority == 0) && long(other)).count();
    let active = (0..QUEUES as u8).filter(|&other| long(buffer.queue_of(port, other))).count();
    ALPHAS[usize::from(priority)] / (congested.max(1) * active.max(1)) as f64
}

/// Runs random open-loop traffic and calls `look` before every arrival.
fn open_loop(
    switch: &mut Switch<Box<dyn Policy>>,
    slots: u64,
    mut look: impl FnMut(&Switch<Box<dyn Policy>>, QueueId),
) {
    let mut stream = RandomStream::new(5, "pisa/staleness", 0);
    let mut on = [false; PORTS * QUEUES];
    for slot in 1..=slots {
        for port in 0..PORTS as u16 {
            // The ports send at different times within a slot.
            let now = Time(slot * SLOT.0 + u64::from(port) * SLOT.0 / PORTS as u64);
            advance(switch, now);
            let _ = switch.poll_transmit(now, port, &mut ());
            for priority in 0..QUEUES as u8 {
                let queue = switch.buffer().queue_of(port, priority);
                if stream.below(400) == 0 {
                    on[usize::from(queue.0)] = stream.below(3) == 0;
                }
                if on[usize::from(queue.0)] && stream.below(3) > 0 {
                    look(switch, queue);
                    let packet = Packet {
                        header: Header { size: MTU, priority, ..Header::default() },
                        egress_port: port,
                        ..Packet::default()
                    };
                    let _ = switch.handle_arrival(now, &packet, &mut ());
                }
            }
        }
    }
}

/// Error of the pipeline's thresholds, compared with Plasticine's current thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Error {
    /// Median and 90th percentile of the ratio between the pipeline's threshold and Plasticine's
    /// current threshold. The ratio is the larger threshold divided by the smaller threshold.
    median: f64,
    p90: f64,
    /// Fraction of thresholds whose error is at most one packet or a factor of √2, the
    /// error of the shift.
    within_shift: f64,
}

fn threshold_error(pass: Time, egress_length: &'static str) -> Error {
    let mut switch = pipeline(pass, egress_length);
    let (mut factors, mut within) = (Vec::new(), 0_u64);
    open_loop(&mut switch, 6_000, |switch, queue| {
        let found = switch.threshold(queue, Tags::NONE).expect("it has one") as f64;
        let exact = weight(switch, queue) * switch.buffer().shared_free() as f64;
        // The size of a packet is added to both thresholds, so that the ratio is finite for a
        // threshold of zero.
        let packet = f64::from(MTU);
        let factor = ((found + packet) / (exact + packet)).max((exact + packet) / (found + packet));
        within += u64::from(factor <= 2.0_f64.sqrt() + 1e-9);
        factors.push(factor);
    });
    factors.sort_by(f64::total_cmp);
    let at = |share: f64| factors[(factors.len() as f64 * share) as usize];
    Error { median: at(0.5), p90: at(0.9), within_shift: within as f64 / factors.len() as f64 }
}

/// Returns the bytes (KB) that the buffer stores of a lone burst before its first drop. The burst
/// has five times the port's rate. Plasticine stores a third of the buffer.
fn absorbed_kb(pass: Time, egress_length: &'static str) -> f64 {
    let mut switch = pipeline(pass, egress_length);
    let packet =
        Packet { header: Header { size: MTU, priority: 1, ..Header::default() }, ..Packet::default() };
    for slot in 1..10_000 {
        let now = Time(slot * SLOT.0);
        advance(&mut switch, now);
        let _ = switch.poll_transmit(now, 0, &mut ());
        for _ in 0..5 {
            if let bufferlab_core::Admission::Refused(_) = switch.handle_arrival(now, &packet, &mut ()) {
                return switch.buffer().occupancy() as f64 * 1e-3;
            }
        }
    }
    panic!("the burst is never refused");
}

/// Pass period for the freshest registers: a round of 24 queues takes 24 ns, and a packet
/// time has 50 rounds.
const FRESH: Time = Time::from_ns(1);

/// `weight` and the policy `plasticine` give equal thresholds, so later tests compare
/// with this policy.
#[test]
fn the_yardstick_is_the_policy_plasticine() {
    let mut switch = ideal();
    let (mut same, mut total) = (0_u64, 0_u64);
    open_loop(&mut switch, 3_000, |switch, queue| {
        let (found, exact) = (
            switch.threshold(queue, Tags::NONE).expect("it has one") as f64,
            weight(switch, queue) * switch.buffer().shared_free() as f64,
        );
        total += 1;
        same += u64::from((found - exact).abs() <= 1.0);
    });
    // Packets that arrive at one time use counters that are up to 50 ns old.
    assert!(total > 1_000 && same as f64 >= 0.95 * total as f64, "{same} of {total}");
}

/// Thresholds converge: with each decade of the pass period, the thresholds approach Plasticine's,
/// until nearly all are within the error of the shift. The remaining error is due to the egress
/// register, which only a departing packet writes.
#[test]
fn thresholds_converge_to_plasticines_as_the_pass_period_falls_up_to_the_error_of_the_shift() {
    let decades = [100_000, 10_000, 1_000, 100, 10].map(|ns| threshold_error(Time::from_ns(ns), "dequeue"));
    for pair in decades.windows(2) {
        assert!(pair[1].within_shift >= pair[0].within_shift - 0.005, "{decades:#?}");
        assert!(pair[1].p90 <= pair[0].p90 * 1.02, "{decades:#?}");
    }
    let fresh = threshold_error(FRESH, "dequeue");
    // The remaining errors of the thresholds have two reasons: the shift, and queues whose last
    // packet left some packet times ago.
    assert!(fresh.p90 <= 2.0_f64.sqrt() && fresh.median < 1.05 && fresh.within_shift > 0.9, "{fresh:?}");
    assert!(decades[0].within_shift < 0.5, "a round of 2.4 ms is useless: {:?}", decades[0]);
}

/// If registers store the queue length at a packet's arrival, the policy detects the burst at no
/// period. The reason is that five packets arrive for each departure.
#[test]
fn a_burst_overshoots_with_the_pass_period_and_without_bound_if_registers_hold_what_packets_met() {
    let found = PERIODS_NS.map(|ns| absorbed_kb(Time::from_ns(ns), "dequeue"));
    assert!(found.windows(2).all(|pair| pair[1] >= pair[0] - 1.5), "{found:?}");
    assert!((200.0..215.0).contains(&found[0]), "{}", found[0]);
    assert!(absorbed_kb(FRESH, "enqueue") > 590.0);
}

/// A curve in a panel of the figure.
struct Curve {
    name: &'static str,
    colour: &'static str,
    dashes: &'static str,
    points: Vec<(f64, f64)>,
}

/// Draws two panels side by side over a logarithmic axis of pass periods.
fn figure(errors: &[Curve], bursts: &[Curve]) -> String {
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 330\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>What stale registers cost Plasticine on a programmable switch</title>\n\
         <rect width=\"820\" height=\"330\" fill=\"#ffffff\"/>\n",
    );
    panel(&mut svg, 0.0, "thresholds within the shift's factor of 1.41 [%]", (0.0, 100.0, 25.0), errors);
    panel(&mut svg, 410.0, "stored by a 5:1 burst before its first drop [KB]", (0.0, 600.0, 200.0), bursts);
    svg.push_str("</svg>\n");
    svg
}

fn panel(svg: &mut String, left: f64, title: &str, (low, high, step): (f64, f64, f64), curves: &[Curve]) {
    let (x0, x1, y0, y1) = (left + 46.0, left + 392.0, 250.0, 34.0);
    let decades = (PERIODS_NS[0] as f64, PERIODS_NS[PERIODS_NS.len() - 1] as f64);
    let x = |ns: f64| x0 + (ns / decades.0).log10() / (decades.1 / decades.0).log10() * (x1 - x0);
    let y = |value: f64| y0 - (value.clamp(low, high) - low) / (high - low) * (y0 - y1);
    // Writing to a string never returns an error.
    let _ = writeln!(svg, "<text x=\"{:.0}\" y=\"18\" font-weight=\"bold\">{title}</text>", left + 8.0);
    let mut tick = low;
    while tick <= high {
        let _ = writeln!(
            svg,
            "<path d=\"M{x0:.1} {0:.1}H{x1:.1}\" stroke=\"#d8dce1\"/><text x=\"{1:.1}\" y=\"{2:.1}\" text-anchor=\"end\" fill=\"#5b626b\">{tick}</text>",
            y(tick),
            x0 - 6.0,
            y(tick) + 4.0
        );
        tick += step;
    }
    for (ns, name) in [(10.0, "10 ns"), (100.0, "100 ns"), (1e3, "1 us"), (1e4, "10 us"), (1e5, "100 us")] {
        let _ = writeln!(
            svg,
            "<path d=\"M{0:.1} {y1:.1}V{y0:.1}\" stroke=\"#d8dce1\"/><text x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"middle\" fill=\"#5b626b\">{name}</text>",
            x(ns),
            y0 + 16.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#5b626b\">pass period P</text>",
        (x0 + x1) / 2.0,
        y0 + 34.0
    );
    for (number, curve) in curves.iter().enumerate() {
        let mut path = String::new();
        for (at, (ns, value)) in curve.points.iter().enumerate() {
            let _ = write!(path, "{}{:.1} {:.1}", if at == 0 { 'M' } else { 'L' }, x(*ns), y(*value));
        }
        let Curve { name, colour, dashes, .. } = curve;
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>"
        );
        let (lx, ly) = (x0 + (number % 2) as f64 * 175.0, y0 + 56.0 + (number / 2) as f64 * 17.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{lx:.1} {0:.1}h26\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/><text x=\"{1:.1}\" y=\"{ly:.1}\">{name}</text>",
            ly - 4.0,
            lx + 32.0
        );
    }
}

const BEGIN: &str = "<!-- staleness: begin -->";
const END: &str = "<!-- staleness: end -->";

#[test]
fn the_figure_and_the_table_of_the_page_are_what_is_measured() {
    let errors = |length| PERIODS_NS.map(|ns| (ns as f64, threshold_error(Time::from_ns(ns), length)));
    let bursts = |length| PERIODS_NS.map(|ns| (ns as f64, absorbed_kb(Time::from_ns(ns), length))).to_vec();
    let (dequeue, enqueue) = (errors("dequeue"), errors("enqueue"));
    let within =
        |found: &[(f64, Error)]| found.iter().map(|(ns, error)| (*ns, error.within_shift * 100.0)).collect();
    let (blue, orange, grey) = ("#0067a8", "#c8500a", "#4b4f55");
    let fair = vec![(10.0, CAPACITY as f64 * 1e-3 / 3.0), (300_000.0, CAPACITY as f64 * 1e-3 / 3.0)];
    let svg = figure(
        &[
            Curve { name: "length left behind", colour: blue, dashes: "", points: within(&dequeue) },
            Curve { name: "length met on arrival", colour: orange, dashes: "7 3", points: within(&enqueue) },
        ],
        &[
            Curve { name: "length left behind", colour: blue, dashes: "", points: bursts("dequeue") },
            Curve { name: "length met on arrival", colour: orange, dashes: "7 3", points: bursts("enqueue") },
            Curve { name: "Plasticine: B/3", colour: grey, dashes: "2 3", points: fair },
        ],
    );
    let mut table = String::from(
        "\n| P | age of a register | factor, median | p90 | within 1.41 |\n|---|---|---|---|---|\n",
    );
    for (ns, error) in dequeue {
        let age = Time::from_ns(ns as u64 * (PORTS * QUEUES) as u64);
        let _ = writeln!(
            table,
            "| {} | {age} | {:.2} | {:.2} | {:.3} |",
            Time::from_ns(ns as u64),
            error.median,
            error.p90,
            error.within_shift
        );
    }
    table.push('\n');
    assert_all([
        check_file("docs/concepts/figures/plasticine-pisa-staleness.svg", &svg),
        check_block("docs/reference/policies/plasticine-pisa.md", BEGIN, END, &format!("\n{table}")),
    ]);
}
