//! Simulates one burst beside old queues twice: packet by packet through the real switch,
//! and as a liquid.

use bufferlab_core::{
    Admission, DropReason, Header, Packet, ParamValue, Policy, Refusal, Switch, SwitchConfig,
};
use bufferlab_theory::fluid::{
    CongestionCount, DrainRate, EnhancedLimits, Fluid, Law, Refresh, Shape, Source, TrafficAwareLimits,
};
use bufferlab_units::{BitRate, Time};

/// Number of ports. The tests have 16 ports of 1 Gb/s and 1500 B as in TDT section VI-A. The buffer
/// has 4 MB, so that even 1/800 of the buffer is three packets.
pub(crate) const PORTS: usize = 16;
pub(crate) const BUFFER: u64 = 4_000_000;
pub(crate) const MTU: u64 = 1_500;
const LINE: BitRate = BitRate::gbps(1);
/// Line rate (bytes per second).
const LINE_BYTES: f64 = 125e6;
/// Number of the port that receives the burst.
const BURST_PORT: u16 = 15;
/// Arrival rate at a port with old queues, as a multiple of the line rate.
const OVERLOAD: f64 = 2.5;
const END: Time = Time::from_ms(600);

/// Number of overloaded queues beside the burst, and their distribution over ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Number of ports with one old queue each.
    Ports(usize),
    /// One port with the given number of old queues.
    Queues(usize),
    /// Number of ports with one queue each, whose overload starts with the burst.
    Together(usize),
}

/// One comparison of packets with the fluid model: a policy and a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) policy: &'static str,
    pub(crate) layout: Layout,
    /// Alphas of the old queues and of the burst.
    pub(crate) alphas: (f64, f64),
    /// Arrival rate of the burst as a multiple of the line rate.
    pub(crate) rate: f64,
    /// Size of the shared buffer (bytes).
    pub(crate) buffer: u64,
    /// Interval at which policies with weights update the weights.
    pub(crate) refresh: Time,
}

/// First lost packet of the burst: its time (s after the burst's start), and bytes of the burst
/// that were in the buffer at that time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct First {
    pub(crate) seconds: f64,
    pub(crate) stored: f64,
}

/// An open-loop source of packets for a queue.
#[derive(Clone, Copy, Debug)]
struct Stream {
    port: u16,
    priority: u8,
    rate: BitRate,
    start: Time,
}

impl Stream {
    /// Time at which a packet arrives, exact to a picosecond, so that errors do not accumulate.
    fn arrival(&self, packet: u64) -> Time {
        self.start + self.rate.serialization(packet * MTU)
    }
}

impl Layout {
    fn old(self) -> (usize, usize) {
        match self {
            Self::Ports(n) | Self::Together(n) => (n, 1),
            Self::Queues(k) => (1, k),
        }
    }
}

impl Cell {
    /// Number of queues per port. The burst has priority 0, and the old queues have the next
    /// priorities.
    fn queues_per_port(&self) -> usize {
        1 + self.layout.old().1
    }

    /// Start of the burst. Old queues are steady long before the burst: TDT's port has been
    /// evacuating for 100 ms.
    fn burst_start(&self) -> Time {
        match self.layout {
            Layout::Together(_) => Time::ZERO,
            _ if matches!(self.policy, "edt" | "tdt") => Time::from_ms(300),
            // In this time, the arrivals fill the buffer four times.
            _ => Time::from_us(self.buffer * 9 / 400),
        }
    }

    fn streams(&self) -> Vec<Stream> {
        let (ports, queues) = self.layout.old();
        let rate = BitRate((OVERLOAD * 1e9 / queues as f64).round() as u64);
        let count = ports * queues;
        // The sources start at staggered times. Simultaneous packets for one port would be small
        // bursts, which a liquid does not have.
        let old = (0..count).map(|number| Stream {
            port: (number / queues) as u16,
            priority: 1 + (number % queues) as u8,
            rate,
            start: Time(rate.serialization(MTU).0 * number as u64 / count as u64),
        });
        let mut streams: Vec<_> = old.collect();
        let rate = BitRate((self.rate * 1e9).round() as u64);
        streams.push(Stream { port: BURST_PORT, priority: 0, rate, start: self.burst_start() });
        streams
    }

    fn alphas_by_priority(&self) -> Vec<f64> {
        let mut alphas = vec![self.alphas.0; self.queues_per_port()];
        alphas[0] = self.alphas.1;
        alphas
    }

    /// A comparison with the usual buffer and the policy's default refresh interval.
    pub(crate) fn on_grid(policy: &'static str, layout: Layout, alphas: (f64, f64), rate: f64) -> Self {
        let refresh = if policy == "abm" { Time::from_us(80) } else { Time::from_us(10) };
        Self { policy, layout, alphas, rate, buffer: BUFFER, refresh }
    }

    fn switch(&self) -> Switch<Box<dyn Policy>> {
        let config = SwitchConfig { max_packet: MTU, ..SwitchConfig::new(self.buffer, vec![LINE; PORTS]) };
        let alphas = ParamValue::RatioPerPriority(self.alphas_by_priority().into());
        let mut params = Vec::new();
        if matches!(self.policy, "dt" | "abm" | "plasticine") {
            params.push(("alpha".to_owned(), alphas));
        }
        if matches!(self.policy, "abm" | "plasticine") {
            params.push(("drain_rate".to_owned(), ParamValue::Choice("computed".into())));
            params.push(("update_interval".to_owned(), ParamValue::Time(self.refresh)));
        }
        config.with_queues(self.queues_per_port()).build(self.policy, &params).expect("it fits")
    }

    /// Simulates the comparison's load packet by packet. A packet occupies the buffer until its
    /// transmission starts.
    pub(crate) fn by_packets(&self) -> (First, DropReason) {
        let mut switch = self.switch();
        let streams = self.streams();
        let burst = streams.len() - 1;
        let mut sent = vec![0_u64; streams.len()];
        let mut busy_until: Vec<Option<Time>> = vec![None; PORTS];
        loop {
            let (arrival, stream) =
                (0..streams.len()).map(|s| (streams[s].arrival(sent[s]), s)).min().expect("the burst");
            let departure = (0..PORTS).filter_map(|p| Some((busy_until[p]?, p))).min();
            let next = departure.map_or(arrival, |(at, _)| at.min(arrival));
            assert!(next < END, "{self:?}: no drop");
            if let Some(due) = switch.poll_timeout().filter(|&due| due <= next) {
                switch.handle_timeout(due, &mut ());
                continue;
            }
            // If an arrival and a departure have equal times, the departure is first.
            let port = if let Some((_, port)) = departure.filter(|&(at, _)| at <= arrival) {
                busy_until[port] = None;
                port
            } else {
                let Stream { port, priority, .. } = streams[stream];
                sent[stream] += 1;
                let packet = Packet {
                    header: Header { size: MTU as u32, priority, ..Header::default() },
                    egress_port: port,
                    ..Packet::default()
                };
                let queue = switch.queue_of(&packet);
                if let Admission::Refused(Refusal { reason, .. }) =
                    switch.handle_arrival(next, &packet, &mut ())
                    && stream == burst
                {
                    switch.verify().expect("the ledger holds");
                    let seconds = (next - self.burst_start()).as_secs_f64();
                    return (First { seconds, stored: switch.buffer().queue_bytes(queue) as f64 }, reason);
                }
                usize::from(port)
            };
            if busy_until[port].is_none() {
                busy_until[port] = switch
                    .poll_transmit(next, port as u16, &mut ())
                    .map(|sent| next + LINE.serialization(u64::from(sent.size)));
            }
        }
    }

    fn law(&self, shape: &Shape) -> Law {
        let refresh = Refresh::Every(self.refresh.as_secs_f64());
        let (alphas, packet) = (self.alphas_by_priority(), MTU as f64);
        let law = match self.policy {
            "cs" => Ok(Law::complete_sharing(shape)),
            "dt" => Law::dynamic_threshold(shape, &alphas),
            "abm" => CongestionCount::abm(shape, &alphas, DrainRate::Computed, refresh)
                .and_then(|law| Law::congestion_count(shape, law)),
            "plasticine" => CongestionCount::plasticine(shape, &alphas, 1, DrainRate::Computed, refresh)
                .and_then(|law| Law::congestion_count(shape, law)),
            "edt" => {
                let (tm1, tm2) = (2.1e-3, 10e-3);
                Law::enhanced(shape, EnhancedLimits { alpha: 1.0, packet, c1: 3.0, c2: 8.0, tm1, tm2 })
            }
            "tdt" => {
                TrafficAwareLimits::derived(shape, packet).and_then(|law| Law::traffic_aware(shape, law))
            }
            other => panic!("{other} has no fluid law"),
        };
        law.expect("in domain")
    }

    /// Computes the first loss of the comparison's burst with the fluid model.
    pub(crate) fn by_fluid(&self) -> First {
        let shape = Shape::new(self.buffer as f64, vec![LINE_BYTES; PORTS], self.queues_per_port())
            .expect("in domain");
        let law = self.law(&shape);
        let burst = shape.queue(usize::from(BURST_PORT), 0).expect("it exists");
        let mut fluid = Fluid::new(shape.clone(), law).expect("it fits").without_record();
        for stream in self.streams() {
            let queue =
                shape.queue(usize::from(stream.port), usize::from(stream.priority)).expect("it exists");
            let source = Source {
                queue,
                rate: stream.rate.0 as f64 / 8.0,
                start: stream.start.as_secs_f64(),
                end: END.as_secs_f64(),
            };
            fluid = fluid.with(source).expect("in domain");
        }
        let run = fluid.run_to_first_refusal(burst, END.as_secs_f64()).expect("it runs");
        let first = run.first_refusal(burst).expect("it drops");
        First { seconds: first.time - self.burst_start().as_secs_f64(), stored: first.stored }
    }

    /// Time in which the queue of the burst grows by a packet (s).
    pub(crate) fn packet_time(&self) -> f64 {
        MTU as f64 / ((self.rate - 1.0) * LINE_BYTES)
    }
}
