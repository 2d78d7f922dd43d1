//! Explanations of single events: which limit bound, who held the buffer, what other policies would have decided.

use crate::ids::{FlowHandle, PacketId, SwitchId};
use crate::simulation::Simulation;
use crate::switch_node::Slice;
use bufferlab_core::{Account, IngressId, Opinion, QueueId, Tags, Verdict};
use bufferlab_metrics::{Explanation, Holder, PolicyOpinion};
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// Largest holders of each kind that an explanation names.
const HOLDERS: usize = 5;

/// What kind of event is to be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainedEvent {
    /// A packet was refused on arrival.
    Drop,
    /// A packet was marked on arrival.
    Mark,
    /// A stored packet was removed.
    Eviction,
    /// Either kind of loss: refused or removed.
    Loss,
    /// A switch paused the sender behind an ingress queue.
    Pause,
}

impl ExplainedEvent {
    /// The name in tables and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Mark => "mark",
            Self::Eviction => "eviction",
            Self::Loss => "loss",
            Self::Pause => "pause",
        }
    }

    /// Whether this kind takes in `event`.
    fn covers(self, event: Self) -> bool {
        self == event || (self == Self::Loss && matches!(event, Self::Drop | Self::Eviction))
    }
}

/// Which events of a run are to be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainRequest {
    /// Of this kind.
    pub event: ExplainedEvent,
    /// At this switch (index); `None`: at any.
    pub switch: Option<u32>,
    /// At this port; `None`: at any.
    pub port: Option<u16>,
    /// Not before.
    pub from: Time,
    /// Pass over so many of them first.
    pub skip: u64,
    /// Explain so many.
    pub count: u64,
    /// End the run after the last one.
    pub then_stop: bool,
}

impl ExplainRequest {
    /// The first `count` losses anywhere; the run goes on.
    #[must_use]
    pub fn losses(count: u64) -> Self {
        let event = ExplainedEvent::Loss;
        Self { event, switch: None, port: None, from: Time::ZERO, skip: 0, count, then_stop: false }
    }
}

/// Collects the explanations of a run.
#[derive(Debug)]
pub(crate) struct Explainer {
    request: ExplainRequest,
    passed: u64,
    pub(crate) found: Vec<Explanation>,
}

impl Explainer {
    /// Every wanted event has been explained, and the run is to end with that.
    pub(crate) fn is_satisfied(&self) -> bool {
        self.request.then_stop && self.found.len() as u64 >= self.request.count
    }
}

/// An event as the engine meets it.
pub(crate) struct Sighting {
    pub(crate) event: ExplainedEvent,
    pub(crate) switch: SwitchId,
    pub(crate) queue: QueueId,
    pub(crate) packet: PacketId,
    pub(crate) size: u32,
    pub(crate) reason: &'static str,
    /// For a pause: the ingress queue whose sender must stop.
    pub(crate) ingress: Option<IngressId>,
}

impl Simulation {
    /// Explains the events that `request` selects: [`bufferlab_metrics::RunSink::explanation`] gets them at the end of the run.
    /// Every registered policy watches the switches from now on, which costs time.
    pub fn explain(&mut self, request: ExplainRequest) {
        for switch in self.switches.ids() {
            if request.switch.is_none_or(|wanted| wanted == switch.0) {
                self.switches[switch].watch();
            }
        }
        self.explainer = Some(Explainer { request, passed: 0, found: Vec::new() });
    }

    /// Explains an event if it is among the wanted ones. The buffer is as it was when the decision was made, for an eviction as
    /// it is after it.
    #[cold]
    pub(crate) fn witness(&mut self, sighting: &Sighting) {
        let Some(explainer) = &mut self.explainer else { return };
        let request = &explainer.request;
        let node = &self.switches[sighting.switch];
        let (slice, queue) = node.at(sighting.queue);
        let (core, buffer) = (&slice.core, slice.core.buffer());
        let (port, priority) = match sighting.ingress {
            None => node.port_and_priority(sighting.queue),
            Some(IngressId(ingress)) => {
                let queues = buffer.queues_per_port();
                (ingress / queues, (ingress % queues) as u8)
            }
        };
        let wanted = request.event.covers(sighting.event)
            && request.switch.is_none_or(|switch| switch == sighting.switch.0)
            && request.port.is_none_or(|wanted| wanted == port)
            && request.from <= self.now
            && (explainer.found.len() as u64) < request.count;
        if !wanted {
            return;
        }
        explainer.passed += 1;
        if explainer.passed <= request.skip {
            return;
        }
        let packet = &self.packets[sighting.packet];
        let tags = packet.tags();
        // A marked packet is already stored; what was compared is the length before it.
        let own = if sighting.event == ExplainedEvent::Mark { u64::from(sighting.size) } else { 0 };
        let mut inputs = Vec::new();
        // Policies with lossless classes report the ingress queue of that number.
        let probed = sighting.ingress.map_or(queue, |ingress| QueueId(ingress.0));
        core.policy().probe(probed, buffer, &mut |name, value| inputs.push((name, value)));
        let limit_bytes = match sighting.event {
            ExplainedEvent::Mark => core.marker().map(|marker| marker.config().kmin),
            ExplainedEvent::Drop | ExplainedEvent::Eviction | ExplainedEvent::Loss => {
                core.threshold(queue, tags)
            }
            ExplainedEvent::Pause => {
                inputs.iter().find(|(name, _)| *name == "pause_threshold").map(|(_, bytes)| *bytes as u64)
            }
        };
        let info = self.flows.info(packet.flow.slot());
        let opinions = node.opinions(sighting.queue);
        let explanation = Explanation {
            time_ns: self.now.as_ns(),
            switch: sighting.switch.0,
            port,
            priority,
            event: sighting.event.name(),
            reason: sighting.reason,
            policy: slice.policy.0.clone(),
            params: slice.policy.1.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
            class: info.spec.class,
            flow_id: info.number,
            size_bytes: u64::from(sighting.size),
            tags: Tags::names(tags).collect(),
            queue_bytes: match sighting.ingress {
                None => buffer.queue_bytes(queue) - own,
                Some(ingress) => buffer.ingress_bytes(ingress),
            },
            limit_bytes,
            occupancy_bytes: buffer.occupancy() - own,
            buffer_bytes: buffer.capacity(),
            inputs,
            holders: self.holders(slice),
            opinions: opinions.iter().map(|opinion| describe(opinion, slice)).collect(),
        };
        self.explainer.as_mut().expect("it was there above").found.push(explanation);
    }

    /// The largest holders of a buffer by port, queue, class and flow.
    fn holders(&self, slice: &Slice) -> Vec<Holder> {
        let buffer = slice.core.buffer();
        let mut shares: [BTreeMap<String, (u64, u64)>; 4] = Default::default();
        for queue in buffer.queue_ids() {
            let (port, priority) = slice.port_and_priority(queue);
            for stored in buffer.packets(queue) {
                let info = self.flows.info(FlowHandle(stored.flow).slot());
                let class = self.classes[usize::from(info.spec.class)].clone();
                let flow = info.number.to_string();
                let names = [port.to_string(), format!("{port}.{priority}"), class, flow];
                for (share, name) in shares.iter_mut().zip(names) {
                    let entry = share.entry(name).or_default();
                    entry.0 += u64::from(stored.size);
                    entry.1 += 1;
                }
            }
        }
        let kinds = ["port", "queue", "class", "flow"];
        let mut holders = Vec::new();
        for (kind, share) in kinds.into_iter().zip(shares) {
            let mut list: Vec<_> = share.into_iter().collect();
            list.sort_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
            let largest = list.into_iter().take(HOLDERS);
            holders.extend(largest.map(|(name, (bytes, packets))| Holder { kind, name, bytes, packets }));
        }
        holders
    }
}

fn describe(opinion: &Opinion, slice: &Slice) -> PolicyOpinion {
    let verdict = match opinion.verdict {
        Verdict::Admit(Account::Shared | Account::Minimum) => "admit".to_owned(),
        Verdict::Admit(Account::Reserved) => "admit (reserved space)".to_owned(),
        Verdict::Admit(Account::Headroom) => "admit (headroom)".to_owned(),
        Verdict::Drop(reason) => reason.name().to_owned(),
        Verdict::Evict { victim, .. } => {
            let (port, priority) = slice.port_and_priority(victim);
            format!("evict from {port}.{priority}")
        }
    };
    PolicyOpinion { policy: opinion.policy, verdict, threshold_bytes: opinion.threshold }
}
