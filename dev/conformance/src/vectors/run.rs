//! Runs a case on a device and compares the results with the expectations.

use super::file::{Case, Step, VectorEvent};
use super::read::Mismatch;
use crate::device::Device;
use bufferlab_core::{Admission, Ecn, Header, Packet, QueueId, Refusal, Tags};
use bufferlab_units::Time;

/// Tolerance of probes, which are floats but mostly whole numbers.
const PROBE_TOLERANCE: f64 = 1e-6;

/// An elementary operation of a case with its answer, for replay by test benches in
/// other languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elementary {
    /// Time at which the operation is applied to the device.
    pub now: Time,
    /// Kind of the operation: [`VectorEvent::Arrive`] or [`VectorEvent::Depart`].
    pub event: VectorEvent,
    /// Name of the verdict: `admit`, `admit-marked`, a drop reason, `sent`, `sent-marked`, `idle`.
    pub verdict: &'static str,
    /// Queue from which the departing packet came.
    pub from: Option<u16>,
}

impl Case {
    /// Drives `device` through the steps of the case. The function `observe` receives every
    /// elementary operation, and the device after this operation.
    ///
    /// # Errors
    /// The first expectation that the device does not meet.
    pub fn run(
        &self,
        device: &mut dyn Device,
        observe: &mut dyn FnMut(&Elementary, &dyn Device),
    ) -> Result<(), Mismatch> {
        let mut runner = Runner { case: self, device, observe, now: Time::ZERO, next_id: 0, marked: 0 };
        for (index, step) in self.steps.iter().enumerate() {
            runner.step(step).map_err(|what| Mismatch {
                place: format!("{}:{}", self.file, step.line),
                case: self.name.clone(),
                step: index + 1,
                what,
            })?;
        }
        Ok(())
    }
}

struct Runner<'a> {
    case: &'a Case,
    device: &'a mut dyn Device,
    observe: &'a mut dyn FnMut(&Elementary, &dyn Device),
    now: Time,
    next_id: u32,
    /// Number of packets that the switch has marked in this step.
    marked: u64,
}

impl Runner<'_> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Some(at) = step.at {
            if at < self.now {
                return Err(format!("time runs backwards, from {} to {at}", self.now));
            }
            self.advance(at);
        }
        self.marked = 0;
        for turn in 1..=step.repeat {
            let (verdict, from) = match &step.event {
                VectorEvent::None => continue,
                VectorEvent::Arrive { queue, size, tags, flow, ecn } => {
                    (self.arrive(*queue, *size, *tags, *flow, *ecn), None)
                }
                VectorEvent::Depart { port } => self.depart(*port),
                VectorEvent::Fill { queues, size, tags, flow, drain, rounds, round } => {
                    for _ in 0..*rounds {
                        self.advance(self.now + *round);
                        self.round(queues, *size, *tags, *flow, drain);
                    }
                    continue;
                }
            };
            if let Some(expect) = step.expect.as_deref().filter(|&expect| expect != verdict) {
                let times = if step.repeat > 1 { format!(" at repetition {turn}") } else { String::new() };
                return Err(format!(
                    "expected \"{expect}\"{times}, the device says \"{verdict}\"{}",
                    self.state()
                ));
            }
            if step.from.is_some() && step.from != from {
                return Err(format!("expected a packet from queue {:?}, it came from {from:?}", step.from));
            }
        }
        let removed: Vec<u16> = self.device.take_removed().iter().map(|(queue, _)| queue.0).collect();
        if let Some(expected) = step.evicts.as_ref().filter(|&expected| *expected != removed) {
            return Err(format!(
                "expected evictions from the queues {expected:?}, found {removed:?}{}",
                self.state()
            ));
        }
        if let Some((least, most)) =
            step.marks.filter(|&(least, most)| !(least..=most).contains(&self.marked))
        {
            return Err(format!("expected {least} to {most} marks, found {}{}", self.marked, self.state()));
        }
        self.compare(step)
    }

    /// Spreads departures and arrivals evenly over the round. If all departures came first, the
    /// first queues of the list would get all freed space.
    fn round(&mut self, queues: &[u16], size: u32, tags: Tags, flow: u32, drain: &[u16]) {
        let mut ports = drain.iter().enumerate().peekable();
        for (i, &queue) in queues.iter().enumerate() {
            // Departure j of D departures is at the fraction j/D of the round. Arrival i of F
            // arrivals is at the fraction (i + 1/2)/F of the round.
            while let Some((_, &port)) =
                ports.next_if(|(j, _)| 2 * j * queues.len() <= (2 * i + 1) * drain.len())
            {
                self.depart(port);
            }
            self.arrive(queue, size, tags, flow, None);
        }
        for (_, &port) in ports {
            self.depart(port);
        }
    }

    fn advance(&mut self, to: Time) {
        while let Some(due) = self.device.poll_timeout().filter(|&due| due <= to) {
            self.device.handle_timeout(due);
        }
        self.now = to;
    }

    fn arrive(&mut self, queue: u16, size: u32, tags: Tags, flow: u32, ecn: Option<Ecn>) -> &'static str {
        let queues_per_port = self.case.config.queues_per_port as u16;
        let from_marker = if self.case.config.marker.is_some() { Ecn::Capable } else { Ecn::NotCapable };
        #[expect(clippy::needless_update, reason = "a new field of the header changes nothing here")]
        let packet = Packet {
            id: self.next_id,
            header: Header {
                size,
                flow,
                tags,
                priority: (queue % queues_per_port) as u8,
                ecn: ecn.unwrap_or(from_marker),
                ..Header::default()
            },
            egress_port: queue / queues_per_port,
            ..Packet::default()
        };
        self.next_id += 1;
        let verdict = match self.device.handle_arrival(self.now, &packet) {
            Admission::Stored { marked: false } => "admit",
            Admission::Stored { marked: true } => {
                self.marked += 1;
                "admit-marked"
            }
            Admission::Refused(Refusal { reason, .. }) => reason.name(),
        };
        let event = VectorEvent::Arrive { queue, size, tags, flow, ecn };
        (self.observe)(&Elementary { now: self.now, event, verdict, from: None }, &*self.device);
        verdict
    }

    fn depart(&mut self, port: u16) -> (&'static str, Option<u16>) {
        let sent = self.device.poll_transmit(self.now, port);
        let from = sent.map(|sent| sent.queue.0);
        let verdict = match sent {
            None => "idle",
            Some(sent) if sent.marked => {
                self.marked += 1;
                "sent-marked"
            }
            Some(_) => "sent",
        };
        (self.observe)(
            &Elementary { now: self.now, event: VectorEvent::Depart { port }, verdict, from },
            &*self.device,
        );
        (verdict, from)
    }

    fn queues(&self) -> impl Iterator<Item = QueueId> + use<> {
        (0..(self.case.config.port_rates.len() * self.case.config.queues_per_port) as u16).map(QueueId)
    }

    fn lengths(&self) -> Vec<u64> {
        self.queues().map(|queue| self.device.queue_bytes(queue)).collect()
    }

    fn limits(&self, tags: Tags) -> Vec<Option<u64>> {
        self.queues().map(|queue| self.device.threshold(queue, tags)).collect()
    }

    /// Describes the queue lengths and thresholds of the device for messages.
    fn state(&self) -> String {
        format!(" (queues hold {:?} B, thresholds {:?})", self.lengths(), self.limits(Tags::NONE))
    }

    fn compare(&self, step: &Step) -> Result<(), String> {
        let lengths = self.lengths();
        let near = |expected: u64, found: u64| expected.abs_diff(found) <= step.tolerance;
        let differs = |name: &str, expected: &[u64], found: &[Option<u64>]| {
            let pairs = expected.iter().zip(found);
            let Some((queue, (expected, found))) =
                pairs.enumerate().find(|(_, (e, f))| f.is_none_or(|f| !near(**e, f)))
            else {
                return Ok(());
            };
            let found = found.map_or_else(|| "none".to_owned(), |found| format!("{found} B"));
            Err(format!(
                "{name} of queue {queue}: expected {expected} B ± {} B, found {found}{}",
                step.tolerance,
                self.state()
            ))
        };
        let some_lengths: Vec<_> = lengths.iter().copied().map(Some).collect();
        if let Some(expected) = &step.lengths {
            differs("length", expected, &some_lengths)?;
        }
        if let (Some(expected), VectorEvent::Fill { queues, .. }) = (step.each, &step.event) {
            for &queue in queues {
                let found = lengths[usize::from(queue)];
                if !near(expected, found) {
                    return Err(format!(
                        "length of queue {queue}: expected {expected} B ± {} B, found {found} B{}",
                        step.tolerance,
                        self.state()
                    ));
                }
            }
        }
        if let Some(expected) = step.occupancy.filter(|&expected| !near(expected, self.device.occupancy())) {
            let found = self.device.occupancy();
            return Err(format!("occupancy: expected {expected} B ± {} B, found {found} B", step.tolerance));
        }
        if let Some(expected) = &step.thresholds {
            differs("threshold", expected, &self.limits(Tags::NONE))?;
        }
        if let Some(expected) = &step.unscheduled_thresholds {
            differs("unscheduled threshold", expected, &self.limits(Tags::UNSCHEDULED))?;
        }
        for probes in &step.probes {
            let shown = self.device.probes(QueueId(probes.queue));
            for (name, expected) in &probes.values {
                let found = shown.iter().find(|(probe, _)| probe == name).map(|(_, value)| *value);
                if found.is_none_or(|found| (found - expected).abs() > PROBE_TOLERANCE) {
                    let found = found.map_or_else(|| "no such probe".to_owned(), |found| found.to_string());
                    let queue = probes.queue;
                    return Err(format!("{name} of queue {queue}: expected {expected}, found {found}"));
                }
            }
        }
        if let Some(expected) = &step.small_thresholds {
            differs("small threshold", expected, &self.limits(Tags::SMALL))?;
        }
        self.device.verify().map_err(|error| format!("the ledger is wrong: {error}"))
    }
}
