//! A test bench around the core's switch. Its traffic has the two kinds that closed-form formulas
//! assume: queues kept at their limits, and bursts of a constant rate.

use bufferlab_core::{
    Admission, DropReason, Header, Packet, ParamValue, Policy, QueueId, Refusal, Switch, SwitchConfig, Tags,
};
use bufferlab_units::{BitRate, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of rounds in which every full queue must reject a packet before a state counts as steady.
/// Drop counters, such as TDT's, reach their limits in fewer rounds.
const IDLE_ROUNDS: u32 = 24;

/// Position of a queue: its port and its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortQueue {
    /// Egress port to which the queue belongs.
    pub(crate) port: u16,
    /// Number of the queue's priority within the port.
    pub(crate) priority: u8,
}

/// A burst that arrives at one or more queues at once.
#[derive(Clone, Debug)]
pub(crate) struct Burst {
    /// Queues at which the burst arrives, each on a separate port.
    pub(crate) queues: Vec<PortQueue>,
    /// Rate at which the burst arrives at each of its queues.
    pub(crate) rate: BitRate,
    /// Tags that the packets of the burst have, such as `unscheduled`.
    pub(crate) tags: Tags,
}

/// The first loss of a burst: its time and the bytes of the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FirstLoss {
    /// Time of the loss after the start of the burst (s).
    pub(crate) seconds: f64,
    /// Bytes of the burst that arrived at the queue before the loss.
    pub(crate) arrived: f64,
    /// Length of the queue at the time of the loss (bytes).
    pub(crate) stored: f64,
}

/// A switch under test. Packets arrive whenever the queues of the switch accept packets, and leave
/// at line rate.
#[derive(Debug)]
pub(crate) struct Bench {
    switch: Switch<Box<dyn Policy>>,
    rates: Vec<BitRate>,
    packet: u32,
    greedy: Vec<PortQueue>,
    now: Time,
    /// Time between two arriving packets while the queues fill to a steady state.
    pace: Time,
    /// End time and port of each transmission in progress.
    busy: BinaryHeap<Reverse<(Time, u16)>>,
    is_busy: Vec<bool>,
}

impl Bench {
    /// Creates an idle switch with the policy `name`. All packets have `packet` bytes.
    ///
    /// # Errors
    /// The errors of [`SwitchConfig::build`] as text.
    pub(crate) fn new(
        config: &SwitchConfig,
        name: &str,
        params: &[(&str, ParamValue)],
        packet: u32,
    ) -> Result<Self, String> {
        let params: Vec<_> = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let config = SwitchConfig { max_packet: u64::from(packet), ..config.clone() };
        Ok(Self {
            switch: config.build(name, &params).map_err(|error| error.to_string())?,
            rates: config.port_rates.clone(),
            packet,
            greedy: Vec::new(),
            now: Time::ZERO,
            pace: Time::ZERO,
            busy: BinaryHeap::new(),
            is_busy: vec![false; config.port_rates.len()],
        })
    }

    /// Sets the time between two arriving packets while the queues fill to a steady state. A long
    /// time prevents policies that measure growth in a window from detecting growth.
    pub(crate) fn settle_slowly(&mut self, pace: Time) {
        self.pace = pace;
    }

    /// From now on, refills the queue `place` whenever the queue's limit allows a packet.
    pub(crate) fn keep_full(&mut self, place: PortQueue) {
        self.greedy.push(place);
    }

    /// Ends the arrivals that keep the queue `place` at its limit.
    pub(crate) fn stop(&mut self, place: PortQueue) {
        self.greedy.retain(|other| *other != place);
    }

    /// Returns the length of the queue `place` (bytes).
    pub(crate) fn held(&self, place: PortQueue) -> u64 {
        self.switch.buffer().queue_bytes(self.queue(place))
    }

    /// Returns the free bytes of the switch's buffer.
    pub(crate) fn free(&self) -> u64 {
        self.switch.buffer().capacity() - self.switch.buffer().occupancy()
    }

    /// Returns the limit of a queue as a multiple of the free buffer. The multiple is infinite if
    /// the queue has no limit or the buffer is full.
    pub(crate) fn weight(&self, place: PortQueue, tags: Tags) -> f64 {
        let free = self.free();
        match self.switch.threshold(self.queue(place), tags) {
            Some(limit) if free > 0 => limit as f64 / free as f64,
            _ => f64::INFINITY,
        }
    }

    /// Returns the value of a probe of the policy, such as the state of a port.
    pub(crate) fn probe(&self, place: PortQueue, name: &str) -> Option<f64> {
        let mut found = None;
        self.switch.policy().probe(self.queue(place), self.switch.buffer(), &mut |known, value| {
            if known == name {
                found = Some(value);
            }
        });
        found
    }

    fn queue(&self, place: PortQueue) -> QueueId {
        self.switch.buffer().queue_of(place.port, place.priority)
    }

    /// Offers one packet to a queue at the present simulated time. Fails if the switch did not
    /// store the packet.
    pub(crate) fn offer(&mut self, place: PortQueue, tags: Tags) -> Result<(), DropReason> {
        let PortQueue { port, priority } = place;
        let packet = Packet {
            header: Header { size: self.packet, priority, tags, ..Header::default() },
            egress_port: port,
            ..Packet::default()
        };
        match self.switch.handle_arrival(self.now, &packet, &mut ()) {
            Admission::Stored { .. } => Ok(()),
            Admission::Refused(Refusal { reason, .. }) => Err(reason),
        }
    }

    /// Sends the next packet of a port, even while the port is busy. Returns whether the port had a
    /// packet.
    pub(crate) fn send(&mut self, port: u16) -> bool {
        self.switch.poll_transmit(self.now, port, &mut ()).is_some()
    }

    /// Offers packets to each queue that is kept full, until the queue rejects a packet.
    fn refill(&mut self) {
        for index in 0..self.greedy.len() {
            while self.offer(self.greedy[index], Tags::NONE).is_ok() {}
        }
    }

    /// Offers packets in turn to the queues that are kept full, so that the queues grow together.
    fn fill(&mut self) {
        let mut open = self.greedy.clone();
        while !open.is_empty() {
            open.retain(|&place| {
                self.now += self.pace;
                self.offer(place, Tags::NONE).is_ok()
            });
        }
    }

    /// Returns the ports with queues that exceed their limit by more than a packet, even if the
    /// buffer had space for one more packet. If a limit is a large multiple of the free buffer, no
    /// state of whole packets is nearer to the steady state.
    fn ports_in_excess(&self) -> Vec<u16> {
        let (free, packet) = (self.free(), u64::from(self.packet));
        let longer = |place: &&PortQueue| {
            let queue = self.queue(**place);
            let Some(limit) = self.switch.threshold(queue, Tags::NONE) else { return false };
            let jump = (u128::from(limit) * u128::from(packet)).checked_div(free.into()).unwrap_or(0);
            u128::from(self.switch.buffer().queue_bytes(queue))
                > u128::from(limit) + jump + u128::from(packet)
        };
        let mut ports: Vec<u16> = self.greedy.iter().filter(longer).map(|place| place.port).collect();
        ports.dedup();
        ports
    }

    /// Runs the switch until the queues that are kept full are steady: each queue is as long as its
    /// limit allows, and not longer.
    ///
    /// # Errors
    /// If the queues reach no steady state, because each packet moves the limits further than
    /// queues can follow.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        // The number of steps allows every packet of the buffer to leave several times.
        let mut left = 16 * self.switch.buffer().capacity() / u64::from(self.packet) + 1_000;
        let mut idle = 0;
        while idle < IDLE_ROUNDS {
            self.fill();
            idle += 1;
            loop {
                let ports = self.ports_in_excess();
                if ports.is_empty() {
                    break;
                }
                idle = 0;
                for port in ports {
                    self.send(port);
                }
                self.fill();
                left = left.checked_sub(1).ok_or("the queues find no steady state of whole packets")?;
            }
            if let Some(due) = self.switch.poll_timeout() {
                self.now = self.now.max(due);
                self.switch.handle_timeout(self.now, &mut ());
            }
        }
        Ok(())
    }

    /// Runs the policy's timers that are due until the time `until`.
    fn catch_up(&mut self, until: Time) {
        while let Some(due) = self.switch.poll_timeout().filter(|&due| due <= until) {
            self.now = due.max(self.now);
            self.switch.handle_timeout(self.now, &mut ());
        }
        self.now = until;
    }

    /// Starts a transmission at a port if the port is idle.
    fn transmit(&mut self, port: u16) {
        if self.is_busy[usize::from(port)] {
            return;
        }
        if let Some(sent) = self.switch.poll_transmit(self.now, port, &mut ()) {
            let end = self.now + self.rates[usize::from(port)].serialization(u64::from(sent.size));
            self.busy.push(Reverse((end, port)));
            self.is_busy[usize::from(port)] = true;
        }
    }

    /// Ends the next transmission, if its end is not later than `until`. The port then sends the
    /// next packet, and the bench fills the queues again.
    fn depart(&mut self, until: Time) -> bool {
        match self.busy.peek() {
            Some(&Reverse((at, port))) if at <= until => {
                self.busy.pop();
                self.catch_up(at);
                self.is_busy[usize::from(port)] = false;
                self.transmit(port);
                self.refill();
                true
            }
            _ => false,
        }
    }

    /// Starts a transmission at every idle port of the switch.
    fn start(&mut self) {
        for port in 0..self.rates.len() as u16 {
            self.transmit(port);
        }
        self.refill();
    }

    /// Sends a burst until one of its packets is lost. The result is `None` if each queue of the
    /// burst got `most_packets` packets without a loss.
    pub(crate) fn first_loss(&mut self, burst: &Burst, most_packets: u64) -> Option<FirstLoss> {
        self.start();
        let (begin, count, size) = (self.now, burst.queues.len() as u64, u64::from(self.packet));
        let between = burst.rate.serialization(size);
        // The burst's packets for different queues are staggered. Simultaneous packets would be
        // small bursts.
        let at = |packet: u64, queue: u64| {
            begin + burst.rate.serialization((packet + 1) * size) + Time(between.0 * queue / count)
        };
        for packet in 0..most_packets {
            for (number, &place) in burst.queues.iter().enumerate() {
                let arrival = at(packet, number as u64);
                while self.depart(arrival) {}
                self.catch_up(arrival);
                if self.offer(place, burst.tags).is_err() {
                    return Some(FirstLoss {
                        seconds: burst.rate.serialization((packet + 1) * size).as_secs_f64(),
                        arrived: (packet * size) as f64,
                        stored: self.held(place) as f64,
                    });
                }
                self.transmit(place.port);
                self.refill();
            }
        }
        None
    }

    /// Returns the time until a queue without arrivals is empty and its last packet is sent (s).
    /// The function keeps the other queues full.
    pub(crate) fn drain(&mut self, place: PortQueue) -> f64 {
        self.stop(place);
        let begin = self.now;
        self.start();
        while self.held(place) > 0 {
            if !self.depart(Time(u64::MAX)) {
                break;
            }
        }
        // The drain time includes the time in which the port sends the last packet.
        let last = self.rates[usize::from(place.port)].serialization(u64::from(self.packet));
        (self.now + last).as_secs_f64() - begin.as_secs_f64()
    }

    /// Checks the byte accounting of the switch.
    ///
    /// # Panics
    /// If the byte accounting is wrong, which is a defect of the core.
    pub(crate) fn verify(&self) {
        self.switch.verify().expect("the ledger equals the content of the queues");
    }
}
