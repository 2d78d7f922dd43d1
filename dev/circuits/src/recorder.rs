//! A policy that asks another policy for every decision, and records the operations and answers.

use crate::scheme::{NO_LIMIT, Scheme, Unfit};
use crate::sheet::SharedSheet;
use bufferlab_core::{
    Arrival, BuildError, Departure, DropReason, End, Hooks, Params, Policy, PolicyInfo, QueueId, SwitchShape,
    Tags, Verdict, Weight, find_policy, replace_policy,
};
use bufferlab_core::{Bound, Buffer, Classifier, IngressId, PauseDemand, PolicyFailure};
use bufferlab_units::Time;
use std::collections::VecDeque;

/// Codes of the policy's answer in the line of a packet arrival.
const STORED: u64 = 0;
const BUFFER_FULL: u64 = 1;
const OVER_LIMIT: u64 = 2;
const STORED_FOR_ANOTHER: u64 = 3;

/// A buffer policy, with the file that receives the recorded operations of its switch.
#[derive(Debug)]
pub struct Recorded {
    scheme: Scheme,
    inner: Box<dyn Policy>,
    /// Hooks that the wrapped policy requested; the recorder adds more hooks.
    wanted: Hooks,
    sheet: SharedSheet,
    /// First line of the switch in the file, written at the switch's first operation. A loaded
    /// scenario also builds policies only to check parameters. Such policies must not be in the
    /// file.
    opening: Option<Vec<u64>>,
    /// Number of the switch in the file of operations. `None` before the first operation, or if the
    /// file has enough switches.
    number: Option<u64>,
    /// Unfinished line about the arriving packet on which the policy decides.
    pending: Vec<u64>,
    evicts: bool,
    /// For each queue, the length of the queue at the arrival of each stored packet. Packets of
    /// `plasticine-pisa` carry this length as metadata.
    met: Vec<VecDeque<u64>>,
    queues_per_port: usize,
    ports: usize,
    /// For LossPass: the priority whose queue supplies the evicted packets.
    large_priority: u8,
    /// For ABM: alpha by priority, then the alpha of unscheduled packets.
    alphas: Vec<Weight>,
    /// For ABM: for each queue, the threshold's factors for scheduled and for unscheduled packets,
    /// rounded to powers of two.
    rounded: Vec<[Weight; 2]>,
}

impl Recorded {
    /// Registers a policy that records the policy of `scheme`, and returns the name of the new
    /// policy. Switches with the new policy write their operations to `sheet`.
    ///
    /// # Panics
    /// If the policy of the scheme is not in the registry.
    #[must_use]
    pub fn register(scheme: Scheme, sheet: &SharedSheet) -> &'static str {
        let info = find_policy(scheme.policy()).expect("the policy of a scheme is registered");
        let name: &'static str = Box::leak(format!("recorded-{}", info.name).into_boxed_str());
        let sheet = sheet.clone();
        let build = move |params: &Params, shape: &SwitchShape| {
            let policy = Self::build(scheme, info, params, shape, sheet.clone())?;
            Ok(Box::new(policy) as Box<dyn Policy>)
        };
        let recorded = PolicyInfo {
            name,
            aliases: &[],
            title: info.title,
            summary: info.summary,
            source: info.source,
            cost: info.cost,
            params: info.params,
            build: Box::leak(Box::new(build)),
        };
        replace_policy(recorded).expect("the name is ours").name
    }

    fn build(
        scheme: Scheme,
        info: &PolicyInfo,
        params: &Params,
        shape: &SwitchShape,
        sheet: SharedSheet,
    ) -> Result<Self, BuildError> {
        let inner = (info.build)(params, shape)?;
        let fields = scheme
            .configuration(params, shape)
            .map_err(|Unfit(message)| BuildError { param: "circuit", message })?;
        let (queues_per_port, ports) = (shape.queues_per_port, shape.ports());
        Ok(Self {
            scheme,
            wanted: inner.hooks(),
            inner,
            sheet,
            number: None,
            pending: Vec::new(),
            evicts: false,
            met: vec![VecDeque::new(); ports * queues_per_port],
            queues_per_port,
            ports,
            large_priority: if scheme == Scheme::LossPass { params.count("large_priority") as u8 } else { 0 },
            alphas: if scheme.is_abm() {
                fields[3..].iter().map(|&bits| Weight(bits)).collect()
            } else {
                Vec::new()
            },
            rounded: vec![[Weight::ONE; 2]; ports * queues_per_port],
            opening: Some(fields),
        })
    }

    /// Writes the first line about the switch at the switch's first operation.
    fn begin(&mut self, buffer: &Buffer) {
        if let Some(fields) = self.opening.take() {
            self.number = self.sheet.lock().open_switch(&fields);
            self.write_weights(buffer);
        }
    }

    /// Writes a line of numbers about an operation if the switch is recorded.
    fn write(&self, kind: u64, fields: &[u64]) {
        if self.number.is_some() {
            self.sheet.lock().line(kind, fields);
        }
    }

    fn queue(&self, queue: QueueId) -> [u64; 2] {
        let queue = usize::from(queue.0);
        [(queue / self.queues_per_port) as u64, (queue % self.queues_per_port) as u64]
    }

    /// Bytes stored in a queue, in the queue's port and in the shared pool.
    fn held(queue: QueueId, buffer: &Buffer) -> [u64; 3] {
        let (port, _) = buffer.port_and_priority(queue);
        [buffer.shared_queue_bytes(queue), buffer.shared_port_bytes(port), buffer.shared_occupancy()]
    }

    fn probe_all(&self, queue: QueueId, buffer: &Buffer) -> Vec<(&'static str, f64)> {
        let mut probes = Vec::new();
        self.inner.probe(queue, buffer, &mut |name, value| probes.push((name, value)));
        probes
    }

    /// Internal values (probes) of the policy for a queue after an operation.
    fn state(&self, queue: QueueId, buffer: &Buffer) -> Vec<u64> {
        let wanted = self.scheme.probes();
        if wanted.is_empty() {
            return Vec::new();
        }
        let probes = self.probe_all(queue, buffer);
        let value =
            |name: &&str| probes.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value);
        wanted.iter().map(|name| value(name) as u64).collect()
    }

    /// Under ABM, writes the drain rate gamma and the number n of congested queues for every queue.
    /// Fixed-point numbers below 2²¹ are exact as floats.
    fn write_weights(&mut self, buffer: &Buffer) {
        if !self.scheme.is_abm() || self.number.is_none() {
            return;
        }
        for queue in 0..(self.ports * self.queues_per_port) as u16 {
            let probes = self.probe_all(QueueId(queue), buffer);
            let value = |wanted: &str| {
                let value = probes.iter().find(|(name, _)| *name == wanted).map_or(0.0, |(_, value)| *value);
                Weight::from_f64(value).0
            };
            let (gamma, n) = (value("gamma"), value("congested_queues"));
            let [port, priority] = self.queue(QueueId(queue));
            self.write(3, &[port, priority, gamma, n]);
            let scale = Weight(gamma).divided_by(Weight(n));
            let alphas = [self.alphas[priority as usize], self.alphas[self.queues_per_port]];
            self.rounded[usize::from(queue)] = alphas.map(|alpha| alpha.times(scale).nearest_power_of_two());
        }
    }

    /// Begins the line of a packet arrival with the fields that are known before the policy's
    /// answer.
    fn open_arrival(&mut self, arrival: &Arrival, buffer: &Buffer) {
        let (port, priority) = (u64::from(arrival.port), u64::from(arrival.priority));
        let threshold = self.inner.threshold(arrival.queue, arrival.header.tags, buffer);
        self.pending.clear();
        self.pending.extend([
            port,
            priority,
            u64::from(arrival.header.size),
            u64::from(arrival.header.tags.0),
        ]);
        self.pending.extend(Self::held(arrival.queue, buffer));
        self.pending.push(threshold.unwrap_or(NO_LIMIT));
        self.evicts = false;
        match self.scheme {
            Scheme::LossPass => {
                let victim = (self.queues_per_port > 1)
                    .then(|| self.large_queue(arrival.port, buffer))
                    .and_then(|queue| buffer.peek(queue, End::Tail));
                let small = victim.is_some_and(|victim| victim.header.tags.contains(Tags::SMALL));
                let size = victim.map_or(0, |victim| victim.header.size);
                self.pending.extend([u64::from(victim.is_some()), size.into(), u64::from(small)]);
            }
            // Threshold of a circuit that multiplies by a shift instead of a factor.
            Scheme::Abm | Scheme::AbmShift => {
                let unscheduled = usize::from(arrival.header.tags.contains(Tags::UNSCHEDULED));
                let weight = self.rounded[usize::from(arrival.queue.0)][unscheduled];
                self.pending.push(weight.apply(buffer.shared_free()));
            }
            // The state of the policy before the arrival, which the ingress pipeline reads.
            Scheme::PlasticinePisa => {
                let state = self.state(arrival.queue, buffer);
                self.pending.extend(state);
            }
            _ => {}
        }
    }

    /// Queue of the port `port` from which LossPass evicts packets.
    fn large_queue(&self, port: u16, buffer: &Buffer) -> QueueId {
        buffer.queue_of(port, self.large_priority)
    }

    fn close_arrival(&mut self, queue: QueueId, answer: u64, buffer: &Buffer) {
        let mut fields = std::mem::take(&mut self.pending);
        fields.insert(8, answer);
        if self.scheme != Scheme::PlasticinePisa {
            fields.extend(self.state(queue, buffer));
        }
        self.write(1, &fields);
        self.pending = fields;
    }
}

impl Policy for Recorded {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        self.begin(buffer);
        if arrival.evictions == 0 {
            self.open_arrival(arrival, buffer);
        }
        let verdict = self.inner.admit(arrival, buffer);
        self.evicts |= matches!(verdict, Verdict::Evict { .. });
        verdict
    }

    fn hooks(&self) -> Hooks {
        self.wanted.and(Hooks::ENQUEUE).and(Hooks::DEQUEUE).and(Hooks::DROP)
    }

    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        if self.wanted.contains(Hooks::ENQUEUE) {
            self.inner.on_enqueue(arrival, buffer);
        }
        if self.scheme == Scheme::PlasticinePisa {
            let met = buffer.shared_queue_bytes(arrival.queue).saturating_sub(u64::from(arrival.header.size));
            self.met[usize::from(arrival.queue.0)].push_back(met);
        }
        self.close_arrival(arrival.queue, if self.evicts { STORED_FOR_ANOTHER } else { STORED }, buffer);
    }

    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        if self.wanted.contains(Hooks::DEQUEUE) {
            self.inner.on_dequeue(departure, buffer);
        }
        let (port, priority) = (u64::from(departure.port), u64::from(departure.priority));
        let mut fields = vec![port, priority, u64::from(departure.header.size), 0];
        fields.extend(Self::held(departure.queue, buffer));
        if self.scheme == Scheme::PlasticinePisa {
            fields.push(self.met[usize::from(departure.queue.0)].pop_front().unwrap_or(0));
        } else {
            fields.extend(self.state(departure.queue, buffer));
        }
        self.write(2, &fields);
    }

    fn on_drop(&mut self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) {
        if self.wanted.contains(Hooks::DROP) {
            self.inner.on_drop(arrival, reason, buffer);
        }
        let answer = if reason == DropReason::BufferFull { BUFFER_FULL } else { OVER_LIMIT };
        self.close_arrival(arrival.queue, answer, buffer);
    }

    fn on_evict(&mut self, now: Time, queue: QueueId, size: u32, buffer: &Buffer) {
        if self.wanted.contains(Hooks::DROP) {
            self.inner.on_evict(now, queue, size, buffer);
        }
    }

    fn on_empty_visit(&mut self, now: Time, queue: QueueId) {
        self.inner.on_empty_visit(now, queue);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }

    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        self.begin(buffer);
        let due = self.inner.next_timeout().is_some_and(|due| now >= due);
        self.inner.handle_timeout(now, buffer);
        if due {
            match self.scheme {
                Scheme::Abm | Scheme::AbmShift => self.write_weights(buffer),
                Scheme::PlasticinePisa => self.write(3, &[]),
                _ => {}
            }
        }
    }

    fn poll_expulsion(&mut self, now: Time, buffer: &Buffer) -> Option<(QueueId, End)> {
        self.inner.poll_expulsion(now, buffer)
    }

    fn pause_demand(&mut self, now: Time, ingress: IngressId, buffer: &Buffer) -> PauseDemand {
        self.inner.pause_demand(now, ingress, buffer)
    }

    fn take_classifier(&mut self) -> Option<Classifier> {
        self.inner.take_classifier()
    }

    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        self.inner.threshold(queue, tags, buffer)
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        self.inner.bound(arrival, reason, buffer)
    }

    fn take_failure(&mut self) -> Option<PolicyFailure> {
        self.inner.take_failure()
    }

    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        self.inner.probe(queue, buffer, sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sheet;
    use bufferlab_core::{Header, Packet, ParamValue, SwitchConfig};
    use bufferlab_units::BitRate;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    /// A file in memory that a test can read while the recorder still writes to the file.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("one thread").write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_sheet_has_the_configuration_every_operation_and_the_policys_answer() {
        let text = Shared::default();
        let sheet = SharedSheet::new(Sheet::new(Box::new(text.clone())));
        let name = Recorded::register(Scheme::Dt, &sheet);
        let config = SwitchConfig { max_packet: 16, ..SwitchConfig::new(64, vec![BitRate::gbps(1); 2]) };
        let alpha = [("alpha".to_owned(), ParamValue::RatioPerPriority(vec![0.5].into()))];
        let mut switch = config.build(name, &alpha).expect("fits");
        for size in [16, 16] {
            let packet = Packet { header: Header::new(size), egress_port: 1, ..Packet::default() };
            let _ = switch.handle_arrival(Time::ZERO, &packet, &mut ());
        }
        assert!(switch.poll_transmit(Time::ZERO, 1, &mut ()).is_some());
        let tally = sheet.lock().finish().expect("memory");
        assert_eq!((tally.switches, tally.arrivals, tally.departures), (1, 2, 1));
        let text = String::from_utf8(text.0.lock().expect("one thread").clone()).expect("ASCII");
        // Alpha is 2^-1. The first packet of 16 B fits under a threshold of 32 B. A second packet
        // of 16 B would make 32 B, above the new threshold of 24 B. Then the first packet leaves.
        let lines = [
            "0 2 1 40 ffffffffffffffff",
            "1 1 0 10 0 0 0 0 20 0",
            "1 1 0 10 0 10 10 10 18 2",
            "2 1 0 10 0 0 0 0",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn an_alpha_that_is_no_power_of_two_is_refused_with_the_way_out() {
        let sheet = SharedSheet::new(Sheet::new(Box::new(io::sink())));
        let name = Recorded::register(Scheme::Tdt, &sheet);
        let config = SwitchConfig::new(64_000, vec![BitRate::gbps(1); 2]);
        let error =
            config.build(name, &[("alpha".to_owned(), ParamValue::Ratio(0.7))]).expect_err("no shift");
        assert!(error.to_string().contains("quantised_alpha"), "{error}");
    }
}
