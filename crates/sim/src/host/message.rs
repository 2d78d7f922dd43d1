//! Start of a flow: its sender and receiver, its transport and its paths.

use super::Hosts;
use super::cross_shard::FlowStart;
use super::flow::{FlowReceiver, FlowSender, ReceiverSlot, SenderSlot};
use super::transport::{Control, Transport};
use crate::SimError;
use crate::ids::{FlowHandle, FlowSlot, HostId, Id, PoolId, TransportId};
use crate::world::Uplink;
use bufferlab_transport::rdma::{QueuePair, Responder};
use bufferlab_transport::{PacedSender, Receiver, Sender, Spacing};
use bufferlab_units::{RandomStream, Time};
use bufferlab_workload::FlowSpec;

/// Random streams for the gaps between packets of open-loop flows.
#[derive(Clone, Debug)]
pub(super) struct Pacing {
    seed: u64,
    classes: Vec<String>,
    /// Number of flows started per class. The numbers select the random streams.
    started: Vec<u64>,
}

impl Pacing {
    pub(super) fn new(seed: u64, classes: Vec<String>) -> Self {
        Self { seed, started: vec![0; classes.len()], classes }
    }

    /// Random stream of a flow. Flows are numbered within their class, so that other classes do not
    /// affect the stream.
    fn stream(&mut self, spec: &FlowSpec, spacing: Spacing) -> RandomStream {
        let class = usize::from(spec.class);
        let number = self.started[class];
        self.started[class] += 1;
        match spacing {
            // Constant spacing draws no random numbers, so a trace of a million packets needs no
            // stream for each packet.
            Spacing::Constant => RandomStream::new(self.seed, "", 0),
            Spacing::Exponential => {
                RandomStream::new(self.seed, &format!("sim/pacing/{}", self.classes[class]), number)
            }
        }
    }
}

/// Paths of a flow's data and of the flow's ACKs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paths {
    pub(super) data: u32,
    pub(super) ack: u32,
}

impl Hosts {
    /// Starts a flow whose data the application hands over.
    /// A transport with persistent connections uses a connection of `pool`.
    ///
    /// # Errors
    /// If the flow has too many segments, or too many flows are alive.
    pub(crate) fn start_flow(
        &mut self,
        uplink: &mut Uplink<'_>,
        spec: FlowSpec,
        pool: PoolId,
    ) -> Result<FlowSlot, SimError> {
        let id = self.transport_of(&spec);
        let transport = &self.transports[id];
        let keeps_connections =
            transport.persistent.is_some() && matches!(transport.control, Control::Window(_));
        let priority = match transport.data_priorities[..] {
            [only] => only,
            ref several => {
                let draws = &mut self.streams[HostId::new(spec.src)].queues;
                several[draws.below(several.len() as u64) as usize]
            }
        };
        let paths = self.paths(&spec);
        let src = HostId::new(spec.src);
        let make = self.maker(&spec, priority, paths)?;
        let slot = self.flows.insert(uplink.now(), spec, pool, make).ok_or(SimError::TooLarge {
            what: "flows alive at once",
            found: FlowSlot::COUNT as u64 + 1,
            limit: FlowSlot::COUNT as u64,
        })?;
        if keeps_connections {
            self.take_connection(uplink, slot);
        } else if self.is_here(src) {
            self.offer(uplink, slot);
        }
        Ok(slot)
    }

    /// Adds a flow that another shard of the network has started. Returns an error if the flow has
    /// too many segments.
    pub(crate) fn adopt_start(&mut self, start: FlowStart) -> Result<(), SimError> {
        let FlowStart { spec, slot, priority, paths, pool } = start;
        let make = self.maker(&spec, priority, paths)?;
        self.flows.insert_remote(slot, spec, pool, make);
        Ok(())
    }

    /// Returns a function that makes the ends of a flow from the flow's handle.
    fn maker(
        &mut self,
        spec: &FlowSpec,
        priority: u8,
        paths: Paths,
    ) -> Result<impl FnOnce(FlowHandle) -> (SenderSlot, ReceiverSlot) + use<>, SimError> {
        let id = self.transport_of(spec);
        let (total, last_payload) = segments(spec, &self.transports[id])?;
        let (sender, receiver) = self.ends(spec, id, total);
        let (src, dst) = (HostId::new(spec.src), HostId::new(spec.dst));
        let (explicit, ack_explicit) = (spec.data_path.is_some(), spec.ack_path.is_some());
        Ok(move |handle: FlowHandle| {
            let sender = SenderSlot {
                sender,
                armed: Time::MAX,
                pace_armed: Time::MAX,
                handle,
                next_ready: FlowSlot::NONE,
                is_ready: false,
                transport: id,
                priority,
                explicit_path: explicit,
                src,
                dst,
                last_payload,
                total,
                path: paths.data,
                in_network: 0,
            };
            let receiver = ReceiverSlot {
                receiver,
                armed: Time::MAX,
                marked_packets: 0,
                completed: Time::MAX,
                src,
                dst,
                transport: id,
                explicit_path: ack_explicit,
                path: paths.ack,
            };
            (sender, receiver)
        })
    }

    /// Transport of a flow's class, for the kind of its source host.
    fn transport_of(&self, spec: &FlowSpec) -> TransportId {
        let transport = self.class_transports[usize::from(spec.class)] as usize;
        let kind = usize::from(self.host_kinds[HostId::new(spec.src)]);
        TransportId::from_index(transport * self.kinds + kind)
    }

    /// Creates the sending and the receiving end of a flow.
    fn ends(&mut self, spec: &FlowSpec, transport: TransportId, total: u32) -> (FlowSender, FlowReceiver) {
        let transport = &self.transports[transport];
        match &transport.control {
            Control::Window(congestion) => {
                let mut sender = Sender::new(&transport.tcp, congestion, total);
                if spec.open.is_some_and(|open| open < spec.start) {
                    sender.skip_handshake();
                }
                (FlowSender::Tcp(sender), FlowReceiver::Tcp(Receiver::new(total)))
            }
            Control::QueuePair(congestion) => {
                let sender = QueuePair::new(&transport.tcp, congestion, total);
                (FlowSender::Rdma(sender), FlowReceiver::Rdma(Box::new(Responder::new(total))))
            }
            &Control::Pace { gap, spacing } => {
                let stream = self.pacing.stream(spec, spacing);
                let sender = PacedSender::new(spec.start, gap, spacing, total, stream);
                (FlowSender::Paced(sender), FlowReceiver::Counting { missing: total })
            }
        }
    }

    /// Chooses the paths of a flow's packets. Every flow draws a random number, even if its paths
    /// are prescribed. So prescribed paths do not change the paths of later flows.
    fn paths(&mut self, spec: &FlowSpec) -> Paths {
        let entropy = self.streams[HostId::new(spec.src)].paths.next_u64();
        Paths {
            data: spec.data_path.unwrap_or(entropy as u32),
            ack: spec.ack_path.unwrap_or((entropy >> 32) as u32),
        }
    }
}

/// Number of segments of a flow, and the payload of its last segment (bytes).
fn segments(spec: &FlowSpec, transport: &Transport) -> Result<(u32, u32), SimError> {
    if spec.size == FlowSpec::UNLIMITED {
        return Ok((u32::MAX, transport.segment));
    }
    let segment = u64::from(transport.segment);
    let count = spec.size.div_ceil(segment);
    let total = u32::try_from(count).map_err(|_| SimError::TooLarge {
        what: "segments of a flow",
        found: count,
        limit: u64::from(u32::MAX),
    })?;
    let last = spec.size - u64::from(total - 1) * segment;
    Ok((total, u32::try_from(last).expect("the last segment is no longer than others")))
}
