//! Explanations of single losses and marks: the decisive limit, the largest users of the buffer,
//! and the verdicts of other policies.

use super::View;
use crate::ids::{FlowHandle, SwitchId};
use crate::switch::{QueuedPacket, Slice};
use bufferlab_core::{
    Account, Bound, BoundPlace, DropReason, IngressId, Opinion, Policy, QueueId, Tags, Verdict,
};
use bufferlab_metrics::{Answer, BoundText, Explanation, Holder, PolicyOpinion, RunSink};
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// Number of the largest ports, queues, classes and flows in the buffer that an explanation names.
const HOLDERS: usize = 5;

/// Kind of switch event that the run explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainedEvent {
    /// The switch refused a packet on arrival.
    Drop,
    /// The switch marked a packet on arrival.
    Mark,
    /// The switch removed a stored packet.
    Eviction,
    /// The switch refused or removed a packet.
    Loss,
    /// A switch paused the sender behind an ingress queue.
    Pause,
}

impl ExplainedEvent {
    /// Name of the kind of event in tables and on the command line.
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

    /// Whether a request for this kind of event includes events of the kind `event`.
    fn covers(self, event: Self) -> bool {
        self == event || (self == Self::Loss && matches!(event, Self::Drop | Self::Eviction))
    }
}

/// Keeps the explanations of a run and discards its other rows.
#[derive(Clone, Debug, Default)]
pub struct Explanations(pub Vec<Explanation>);

impl RunSink for Explanations {
    fn explanation(&mut self, explanation: &Explanation) -> std::io::Result<()> {
        self.0.push(explanation.clone());
        Ok(())
    }
}

/// Selection of the events of a run that are explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainRequest {
    /// Kind of switch events that the run explains.
    pub event: ExplainedEvent,
    /// Index of the switch whose events are explained. `None` for any switch.
    pub switch: Option<u32>,
    /// Number of the port whose events are explained. `None` for any port.
    pub port: Option<u16>,
    /// Time from which the run explains events.
    pub from: Time,
    /// Number of matching events that the run skips before the first explanation.
    pub skip: u64,
    /// Number of events that the run explains.
    pub count: u64,
    /// Whether the run ends after the last explained event.
    pub then_stop: bool,
}

impl ExplainRequest {
    /// Requests explanations of the first `count` losses in the whole network. The run continues
    /// after these losses.
    #[must_use]
    pub fn losses(count: u64) -> Self {
        let event = ExplainedEvent::Loss;
        Self { event, switch: None, port: None, from: Time::ZERO, skip: 0, count, then_stop: false }
    }
}

/// Collects the explanations of losses and marks during a run.
#[derive(Clone, Debug)]
pub(crate) struct Explainer {
    request: ExplainRequest,
    passed: u64,
    pub(crate) found: Vec<Explanation>,
}

/// A drop, mark or eviction that the engine reports for an explanation.
pub(crate) struct EventContext {
    pub(crate) event: ExplainedEvent,
    pub(crate) switch: SwitchId,
    pub(crate) seen: QueuedPacket,
    pub(crate) reason: &'static str,
    /// Ingress queue whose sender must stop, if the event is a pause.
    pub(crate) ingress: Option<IngressId>,
}

impl Explainer {
    pub(crate) fn new(request: ExplainRequest) -> Self {
        Self { request, passed: 0, found: Vec::new() }
    }

    /// Whether every requested event has been explained and the run should end after the last
    /// explained event.
    pub(crate) fn is_satisfied(&self) -> bool {
        self.request.then_stop && self.found.len() as u64 >= self.request.count
    }

    /// Explains an event if it matches the request. The buffer must be in the state
    /// of the decision. For an eviction the buffer must be in the state after the eviction.
    /// `classes` has the names of the flow classes.
    #[cold]
    pub(crate) fn record_event(&mut self, view: View<'_>, classes: &[String], context: &EventContext) {
        let node = &view.switches[context.switch];
        let (slice, queue) = node.at(context.seen.queue);
        let buffer = slice.core.buffer();
        let (port, priority) = match context.ingress {
            None => node.port_and_priority(context.seen.queue),
            Some(ingress) => buffer.port_and_priority(QueueId(ingress.0)),
        };
        if !self.wants(view, context, port) {
            return;
        }
        let packet = &view.world.packets()[context.seen.packet];
        let tags = packet.header.tags;
        // The buffer already contains the marked packet, but the marking rule compared the queue
        // length without this packet.
        let size_bytes = u64::from(context.seen.size);
        let own = if context.event == ExplainedEvent::Mark { size_bytes } else { 0 };
        let inputs = inputs(slice, queue, context.ingress);
        let info = view.hosts.flow(packet.flow());
        let opinions = node.opinions(context.seen.queue);
        self.found.push(Explanation {
            time_ns: view.world.now().as_ns(),
            switch: context.switch.0,
            port,
            priority,
            event: context.event.name(),
            reason: context.reason,
            policy: slice.policy.0.clone(),
            params: slice.policy.1.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
            class: info.spec.class,
            flow_id: info.number,
            size_bytes,
            tags: Tags::names(tags).collect(),
            queue_bytes: match context.ingress {
                None => buffer.queue_bytes(queue) - own,
                Some(ingress) => buffer.ingress_bytes(ingress),
            },
            limit_bytes: limit(slice, context.event, queue, tags, &inputs),
            occupancy_bytes: buffer.occupancy() - own,
            buffer_bytes: buffer.capacity(),
            inputs,
            holders: holders(view, classes, slice),
            bound: bound(slice, context, opinions, port),
            opinions: opinions.iter().map(|opinion| describe(opinion, slice)).collect(),
            left_out: node.absent(context.seen.queue).to_vec(),
        });
    }

    /// Whether an event at `port` matches the request and is not to be skipped. Each call counts an
    /// event that matches the request.
    fn wants(&mut self, view: View<'_>, context: &EventContext, port: u16) -> bool {
        let request = &self.request;
        let is_wanted = request.event.covers(context.event)
            && request.switch.is_none_or(|switch| switch == context.switch.0)
            && request.port.is_none_or(|wanted| wanted == port)
            && request.from <= view.world.now()
            && (self.found.len() as u64) < request.count;
        self.passed += u64::from(is_wanted);
        is_wanted && self.passed > request.skip
    }
}

/// Inputs of the policy's decision about the ingress queue `ingress` if the event is a pause, or
/// else about `queue`. Policies with lossless classes report the ingress queue that has the number
/// of `queue`.
fn inputs(slice: &Slice, queue: QueueId, ingress: Option<IngressId>) -> Vec<(&'static str, f64)> {
    let mut inputs = Vec::new();
    let probed = ingress.map_or(queue, |ingress| QueueId(ingress.0));
    slice.core.policy().probe(probed, slice.core.buffer(), &mut |name, value| inputs.push((name, value)));
    inputs
}

/// Limit that the explained packet was compared with (bytes).
fn limit(
    slice: &Slice,
    event: ExplainedEvent,
    queue: QueueId,
    tags: Tags,
    inputs: &[(&'static str, f64)],
) -> Option<u64> {
    match event {
        ExplainedEvent::Mark => slice.core.marker().map(|marker| marker.rule.least_length()),
        ExplainedEvent::Drop | ExplainedEvent::Eviction | ExplainedEvent::Loss => {
            slice.core.threshold(queue, tags)
        }
        ExplainedEvent::Pause => {
            inputs.iter().find(|(name, _)| *name == "pause_threshold").map(|(_, bytes)| *bytes as u64)
        }
    }
}

/// Comparison that refused an arrival. The shadow of the switch's own policy made the comparison
/// before any state changed.
fn bound(slice: &Slice, context: &EventContext, opinions: &[Opinion], port: u16) -> Option<BoundText> {
    if context.event != ExplainedEvent::Drop {
        return None;
    }
    let own = opinions.iter().find(|opinion| opinion.policy == slice.policy.0);
    let refuses =
        |verdict: Verdict| verdict.refusal().is_some_and(|refusal| refusal.reason.name() == context.reason);
    let of_policy = own.filter(|own| refuses(own.verdict));
    let bound = match of_policy {
        Some(own) => own.bound?,
        None => hardware_bound(slice, context, port)?,
    };
    let of_queue = |number: u16| {
        let (port, priority) = slice.port_and_priority(QueueId(number));
        format!("{port}.{priority}")
    };
    let (what, by_policy) = match bound.place {
        BoundPlace::Buffer if slice.core.buffer().shared_capacity() == slice.core.buffer().capacity() => {
            ("buffer".to_owned(), false)
        }
        BoundPlace::Buffer => ("buffer beyond its reserves".to_owned(), false),
        BoundPlace::SharedPool => ("shared pool".to_owned(), false),
        BoundPlace::IngressPool => ("ingress pool".to_owned(), false),
        BoundPlace::LossyPool => ("egress lossy pool".to_owned(), false),
        BoundPlace::HeadroomPool => ("headroom of all ingress queues".to_owned(), false),
        BoundPlace::Queue(_) => ("queue".to_owned(), true),
        BoundPlace::FilteredQueue(_) => ("filtered queue".to_owned(), true),
        BoundPlace::Port(_) => ("port".to_owned(), of_policy.is_some()),
        BoundPlace::SmallFlows(_) => ("small flows at the port".to_owned(), true),
        BoundPlace::Ingress(ingress) => (format!("ingress queue {}", of_queue(ingress.0)), true),
        BoundPlace::Headroom(ingress) => {
            (format!("headroom of ingress queue {}", of_queue(ingress.0)), false)
        }
        BoundPlace::PortHeadroom(port) => (format!("headroom of ingress port {port}"), false),
    };
    Some(BoundText { what, held: bound.held, size: bound.size, limit: bound.limit, by_policy })
}

/// Port limit of the chip, which applies under every policy.
fn hardware_bound(slice: &Slice, context: &EventContext, port: u16) -> Option<Bound> {
    let (hardware, local) = (slice.core.hardware(), port - slice.first_port);
    let limit = hardware.port_limit.filter(|_| context.reason == DropReason::OverPortLimit.name())?;
    let size = u64::from(hardware.charged(context.seen.size));
    let held = slice.core.buffer().port_bytes(local);
    Bound { place: BoundPlace::Port(port), held, size, limit }.if_binding()
}

/// Largest users of a buffer by port, queue, class and flow.
fn holders(view: View<'_>, classes: &[String], slice: &Slice) -> Vec<Holder> {
    let buffer = slice.core.buffer();
    let mut shares: [BTreeMap<String, (u64, u64)>; 4] = Default::default();
    for queue in buffer.queue_ids() {
        let (port, priority) = slice.port_and_priority(queue);
        for stored in buffer.packets(queue) {
            let info = view.hosts.flow(FlowHandle(stored.header.flow));
            let class = classes[usize::from(info.spec.class)].clone();
            let flow = info.number.to_string();
            let names = [port.to_string(), format!("{port}.{priority}"), class, flow];
            for (share, name) in shares.iter_mut().zip(names) {
                let entry = share.entry(name).or_default();
                entry.0 += u64::from(stored.header.size);
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

fn describe(opinion: &Opinion, slice: &Slice) -> PolicyOpinion {
    let verdict = match opinion.verdict {
        Verdict::Admit(Account::Shared | Account::Minimum) => Answer::Admit(None),
        Verdict::Admit(Account::Reserved) => Answer::Admit(Some("reserved space".to_owned())),
        Verdict::Admit(Account::Headroom) => Answer::Admit(Some("headroom".to_owned())),
        Verdict::Evict { victim, .. } => {
            let (port, priority) = slice.port_and_priority(victim);
            Answer::Evict(format!("{port}.{priority}"))
        }
        refused => Answer::Drop(refused.refusal().map_or("", |refusal| refusal.reason.name()).to_owned()),
    };
    PolicyOpinion { policy: opinion.policy, verdict, threshold_bytes: opinion.threshold }
}
