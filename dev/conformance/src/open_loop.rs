//! A switch under open-loop load, for comparison with closed forms and figures of papers. Sources
//! have constant rates, ports send at line rate, and times are exact.

use bufferlab_core::{
    Admission, Buffer, BuildError, DropReason, Header, Observer, Packet, ParamValue, Policy, QueueId,
    Refusal, Switch, SwitchConfig, SwitchEvent, Tags,
};
use bufferlab_units::{BitRate, Time};

/// A source of packets of one size at a constant rate, from `start` (included) to `end` (excluded).
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Number of the egress port of the source's packets.
    pub port: u16,
    /// Priority of the source's packets.
    pub priority: u8,
    /// Sending rate of the source, with headers.
    pub rate: BitRate,
    /// Size of each packet of the source (bytes).
    pub packet: u32,
    /// Arrival time of the source's first packet.
    pub start: Time,
    /// Time at which the source ends. The last packet arrives before this time.
    pub end: Time,
}

impl Source {
    /// Arrival time of packet k, exact to a picosecond: rounding errors do not accumulate.
    fn arrival(&self, k: u64) -> Option<Time> {
        let at = self.start + self.rate.serialization(k * u64::from(self.packet));
        (at < self.end).then_some(at)
    }
}

/// Order in which the bench handles a simultaneous arrival and end of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Packets arrive before a simultaneous transmission ends.
    Arrival,
    /// A transmission ends, and the port starts its next transmission, before packets arrive.
    Departure,
}

/// A lost packet, with the state of the switch at the loss.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Time at which the packet was lost.
    pub at: Time,
    /// Limit that caused the loss of the packet.
    pub reason: DropReason,
    /// Length of the packet's queue at the loss (packets).
    pub queue_packets: u64,
    /// Length of the packet's queue at the loss (bytes).
    pub queue_bytes: u64,
    /// Occupancy of the whole buffer at the loss (bytes).
    pub occupancy: u64,
}

/// Record of the losses and delays in a queue.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Losses of packets that the switch refused to store.
    pub losses: Vec<Loss>,
    /// Number of packets that the switch evicted from the queue.
    pub evicted: u64,
    /// Largest length that the queue has had (packets).
    pub longest: u64,
    /// Arrival time and queueing delay of every packet that the queue sent.
    pub delays: Vec<(Time, Time)>,
}

/// A switch under load from open-loop sources.
#[derive(Debug)]
pub struct OpenLoop {
    /// Switch at which the packets of all sources arrive.
    pub switch: Switch<Box<dyn Policy>>,
    /// Sources of packets; simultaneous packets arrive in the order of their sources.
    pub sources: Vec<Source>,
    /// Number of packets that each source has sent so far.
    pub sent: Vec<u64>,
    /// Record of the losses and delays of each queue.
    pub queues: Vec<Record>,
    /// Order of simultaneous arrivals and departures; the default is [`First::Arrival`].
    pub first: First,
    /// Current time of the switch.
    pub now: Time,
    line: BitRate,
    /// End time of each port's current transmission.
    busy_until: Vec<Option<Time>>,
}

#[derive(Default)]
struct LastEvents {
    departed: Option<(QueueId, Time)>,
    evicted: Vec<QueueId>,
}

impl Observer for LastEvents {
    fn on(&mut self, event: &SwitchEvent<'_>, _: &Buffer) {
        match *event {
            SwitchEvent::Departed(departure) => {
                self.departed = Some((departure.queue, departure.enqueued_at));
            }
            SwitchEvent::Evicted { queue, .. } => {
                self.evicted.push(queue);
            }
            _ => {}
        }
    }
}

impl OpenLoop {
    /// Creates a switch of `config` whose ports all have the rate of the first port.
    ///
    /// # Errors
    /// Returns the errors of [`SwitchConfig::build`].
    ///
    /// # Panics
    /// If the switch has no port.
    pub fn new(
        config: &SwitchConfig,
        policy: &str,
        params: &[(&str, ParamValue)],
        sources: &[Source],
    ) -> Result<Self, BuildError> {
        let params: Vec<_> = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let ports = config.port_rates.len();
        Ok(Self {
            switch: config.build(policy, &params)?,
            sources: sources.to_vec(),
            sent: vec![0; sources.len()],
            queues: vec![Record::default(); ports * config.queues_per_port],
            first: First::Arrival,
            now: Time::ZERO,
            line: config.port_rates[0],
            busy_until: vec![None; ports],
        })
    }

    /// Adds a source that starts to send at the current time.
    pub fn add(&mut self, source: Source) {
        self.sources.push(source);
        self.sent.push(0);
    }

    fn transmit(&mut self, port: u16) {
        let mut seen = LastEvents::default();
        let sent = self.switch.poll_transmit(self.now, port, &mut seen);
        self.busy_until[usize::from(port)] =
            sent.map(|sent| self.now + self.line.serialization(u64::from(sent.size)));
        if let Some((queue, enqueued_at)) = seen.departed {
            self.queues[usize::from(queue.0)].delays.push((enqueued_at, self.now - enqueued_at));
        }
        self.note_evictions(&seen);
    }

    fn note_evictions(&mut self, seen: &LastEvents) {
        for queue in &seen.evicted {
            self.queues[usize::from(queue.0)].evicted += 1;
        }
    }

    fn arrive(&mut self, source: usize) {
        let Source { port, priority, packet, .. } = self.sources[source];
        self.sent[source] += 1;
        self.offer(&Packet {
            header: Header { size: packet, priority, ..Header::default() },
            egress_port: port,
            ..Packet::default()
        });
    }

    /// Handles the arrival of a packet at the current time.
    pub fn offer(&mut self, packet: &Packet) -> Admission {
        let (port, queue) = (packet.egress_port, self.switch.queue_of(packet));
        let mut seen = LastEvents::default();
        let admission = self.switch.handle_arrival(self.now, packet, &mut seen);
        self.note_evictions(&seen);
        let buffer = self.switch.buffer();
        let queue_packets = buffer.queue_packets(queue) as u64;
        let record = &mut self.queues[usize::from(queue.0)];
        match admission {
            Admission::Refused(Refusal { reason, .. }) => record.losses.push(Loss {
                at: self.now,
                reason,
                queue_packets,
                queue_bytes: buffer.queue_bytes(queue),
                occupancy: buffer.occupancy(),
            }),
            Admission::Stored { .. } => {
                record.longest = record.longest.max(queue_packets);
                if self.busy_until[usize::from(port)].is_none() {
                    self.transmit(port);
                }
            }
        }
        admission
    }

    /// Handles the next arrival or departure before `end`. Returns false if no event is left before
    /// `end`.
    pub fn step(&mut self, end: Time) -> bool {
        let arrival = (0..self.sources.len())
            .filter_map(|source| Some((self.sources[source].arrival(self.sent[source])?, source)))
            .min();
        let departure = (0..self.busy_until.len() as u16)
            .filter_map(|port| Some((self.busy_until[usize::from(port)]?, port)))
            .min();
        let arrival_at = arrival.map_or(Time::MAX, |(at, _)| at);
        let departure_at = departure.map_or(Time::MAX, |(at, _)| at);
        let timer_at = self.switch.poll_timeout().unwrap_or(Time::MAX);
        let next = arrival_at.min(departure_at).min(timer_at);
        if next >= end {
            return false;
        }
        self.now = next;
        if timer_at == next {
            self.switch.handle_timeout(next, &mut ());
            return true;
        }
        let arrival_first =
            arrival_at < departure_at || (arrival_at == departure_at && self.first == First::Arrival);
        match (arrival, departure) {
            (Some((_, source)), _) if arrival_first => self.arrive(source),
            (_, Some((_, port))) => self.transmit(port),
            _ => {}
        }
        true
    }

    /// Handles every arrival and departure before `end`.
    pub fn run_until(&mut self, end: Time) {
        while self.step(end) {}
        self.now = self.now.max(end);
    }

    /// Returns the value of the policy's probe `name` for a queue.
    ///
    /// # Panics
    /// If the policy has no probe with this name.
    #[must_use]
    pub fn probe(&self, queue: u16, name: &str) -> f64 {
        let mut found = None;
        self.switch.policy().probe(QueueId(queue), self.switch.buffer(), &mut |probe, value| {
            if probe == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no probe {name}"))
    }

    /// Length of a queue (packets).
    #[must_use]
    pub fn packets(&self, queue: u16) -> u64 {
        self.switch.buffer().queue_packets(QueueId(queue)) as u64
    }

    /// Length of a queue (bytes).
    #[must_use]
    pub fn bytes(&self, queue: u16) -> u64 {
        self.switch.buffer().queue_bytes(QueueId(queue))
    }

    /// Limit of a queue for packets without tags (bytes).
    #[must_use]
    pub fn threshold(&self, queue: u16) -> Option<u64> {
        self.switch.threshold(QueueId(queue), Tags::NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_sends_at_line_rate_and_what_exceeds_it_waits() {
        let line = BitRate::gbps(1);
        let config = SwitchConfig { max_packet: 1_500, ..SwitchConfig::new(1_000_000, vec![line; 2]) };
        let source = Source {
            port: 1,
            priority: 0,
            rate: BitRate::gbps(2),
            packet: 1_500,
            start: Time::ZERO,
            end: Time::from_us(600),
        };
        let mut bench = OpenLoop::new(&config, "cs", &[], &[source]).expect("it fits");
        bench.run_until(Time::from_us(600));
        // A packet arrives every 6 us, and a packet leaves every 12 us.
        assert_eq!((bench.sent[0], bench.queues[1].delays.len()), (100, 50));
        assert_eq!((bench.packets(1), bench.queues[1].longest, bench.queues[0].longest), (50, 50, 0));
        bench.run_until(Time::from_ms(2));
        assert_eq!(bench.queues[1].delays.last(), Some(&(Time::from_us(594), Time::from_us(594))));
        bench.switch.verify().expect("the ledger is right");
    }
}
