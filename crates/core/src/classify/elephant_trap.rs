//! The elephant trap of Intelligent Buffer and Dynamic Packet Prioritization: a flow is short until
//! its packets or bytes reach a limit.

use super::{Classifier, ClassifierInfo, Unclassified, existing_queue};
use crate::flows::{FLOW_ENTRIES, FLOW_IDLE, FlowKey, FlowTable, Sent, ShortLimit};
use crate::tags::Tags;
use bufferlab_params::{BuildError, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::Time;

pub(super) static INFO: ClassifierInfo = ClassifierInfo {
    name: "elephant-trap",
    aliases: &["dpp"],
    title: "Elephant trap",
    summary: "Marks the first packets or bytes of every flow `small`, and may send them to a separate queue.",
    source: "Cisco, Intelligent Buffer Management on Nexus 9000 (Dynamic Packet Prioritization); FAB (BS 2019) in ABM's public artifact.",
    params: &[
        ParamInfo::with_default(
            "short_packets",
            ParamKind::at_least(0),
            ParamValue::Count(15),
            "A flow is short while it has sent fewer packets than this; 0: no limit on packets.",
        ),
        ParamInfo::with_default(
            "short_bytes",
            ParamKind::Bytes { min: 0 },
            ParamValue::Bytes(0),
            "A flow is short while it has sent fewer bytes than this; 0: no limit on bytes.",
        ),
        ParamInfo::computed(
            "short_queue",
            ParamKind::Count { min: 0, max: 63 },
            "the queue of its priority",
            "0",
            "Queue of the port that packets of short flows join.",
        ),
        FLOW_IDLE,
        FLOW_ENTRIES,
    ],
    build: &build,
};

fn build(params: &Params, queues_per_port: usize) -> Result<Classifier, BuildError> {
    let queue = params.given_count("short_queue");
    let queue = queue.map(|queue| existing_queue(queue, queues_per_port, "short_queue")).transpose()?;
    let (entries, idle) = (params.count("flow_entries") as usize, params.time("flow_idle"));
    let trap = ElephantTrap::new(entries, idle, ShortLimit::from_params(params)?, queue);
    Ok(Classifier::identity(queues_per_port).with_trap(trap))
}

/// Separates short flows from elephants by the packets and bytes sent: a flow is short until its
/// packets or bytes reach a limit. After some silence the flow is short again.
///
/// Packets of short flows get [`Tags::SMALL`], and packets of elephants lose this tag:
/// the trap overrides marks of hosts.
/// The trap may send short flows to a separate queue (Dynamic Packet Prioritization).
/// When a flow turns into an elephant, its packets change the queue, so they may be reordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElephantTrap {
    flows: FlowTable<Sent>,
    limit: ShortLimit,
    short_queue: Option<u8>,
    /// Flow of the last packet, and the queue that the trap chose for the packet.
    last: Option<(FlowKey, u8)>,
}

impl ElephantTrap {
    /// An elephant trap with a table of `entries` flows. A flow is short up to `limit`, and the
    /// table forgets a flow that was silent for longer than `idle`. Short flows keep the queue of
    /// the priority map unless `short_queue` names another queue.
    #[must_use]
    pub fn new(entries: usize, idle: Time, limit: ShortLimit, short_queue: Option<u8>) -> Self {
        Self { flows: FlowTable::new(entries, idle), limit, short_queue, last: None }
    }

    #[inline]
    pub(super) fn classify(&mut self, packet: &Unclassified) -> (u8, Tags) {
        let &Unclassified { now, header, mapped } = packet;
        let key = FlowKey::from_header(&header);
        let sent = self.flows.touch(now, key);
        let short = self.limit.holds(*sent);
        sent.count(header.size);
        let tags = header.tags;
        let queue = if short { self.short_queue.unwrap_or(mapped) } else { mapped };
        self.last = Some((key, queue));
        (queue, if short { tags.with(Tags::SMALL) } else { tags.without(Tags::SMALL) })
    }

    pub(super) fn queue(&self, key: FlowKey, mapped: u8) -> u8 {
        match (self.last, self.short_queue) {
            (Some((last, queue)), _) if last == key => queue,
            (_, Some(short)) if self.limit.holds(self.flows.get(key).copied().unwrap_or_default()) => short,
            _ => mapped,
        }
    }
}
