//! Assignment of messages to persistent connections.
//!
//! A pool contains the connections from one host to another over one transport. Each thread of a
//! closed loop has separate pools. A connection carries one message at a time, until the message is
//! acknowledged. A message takes an idle connection before it opens another connection. The message
//! prefers the most recently used connection, whose window is the most recent. Messages that may
//! not open another connection wait in the order of their arrival. Waiting messages already count
//! as flows (their completion time includes the wait) but have sent no packet.

use super::Hosts;
use crate::ids::{FlowSlot, HostId, PoolId, TransportId};
use crate::world::Uplink;
use bufferlab_transport::Connection;
use std::collections::{BTreeMap, VecDeque};

/// Connection pool of all messages that belong to no closed loop.
pub(crate) const COMMON: PoolId = PoolId(0);

/// Key of a connection pool: transport, source, destination, and the
/// pool's number between the hosts.
type Key = (TransportId, HostId, HostId, PoolId);

/// An idle connection, with the paths of its packets and ACKs.
#[derive(Clone, Debug)]
struct Idle {
    connection: Connection,
    path: u32,
    ack_path: u32,
}

#[derive(Clone, Debug, Default)]
struct Pool {
    /// Idle connections. The most recently used connection is last.
    idle: Vec<Idle>,
    busy: u32,
    waiting: VecDeque<FlowSlot>,
}

/// All connection pools that a flow of the run has used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    pools: BTreeMap<Key, Pool>,
    /// Messages that get a connection at the present instant. Each message has a timer at this
    /// instant.
    due: VecDeque<(FlowSlot, Idle)>,
}

impl Hosts {
    /// Gives an idle connection to a new flow with persistent connections, or makes the flow wait.
    pub(super) fn take_connection(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let key = self.pool_of(slot);
        // A thread of a closed loop has one connection for each answer of a query.
        let most = if key.3 == COMMON { self.connections_per_pair(key.0) } else { 1 };
        let pool = self.connections.pools.entry(key).or_default();
        if let Some(idle) = pool.idle.pop() {
            pool.busy += 1;
            self.use_connection(uplink, slot, idle);
        } else if pool.busy < most {
            pool.busy += 1;
            self.offer(uplink, slot);
        } else {
            pool.waiting.push_back(slot);
        }
    }

    fn connections_per_pair(&self, transport: TransportId) -> u32 {
        let persistent = self.transports[transport].persistent;
        persistent.and_then(|spec| spec.connections_per_pair).unwrap_or(u32::MAX)
    }

    fn pool_of(&self, slot: FlowSlot) -> Key {
        let flow = &self.flows.senders[slot];
        (flow.transport, flow.src, flow.dst, self.flows.info(slot).pool)
    }

    fn use_connection(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot, idle: Idle) {
        let flow = &mut self.flows.senders[slot];
        let transport = &self.transports[flow.transport];
        let Some(sender) = flow.sender.tcp() else { return };
        sender.resume(&transport.tcp, idle.connection, uplink.now());
        // A message with explicit paths does not adopt the path of the connection.
        if !flow.explicit_path {
            flow.path = idle.path;
        }
        let receiver = &mut self.flows.receivers[slot];
        if !receiver.explicit_path {
            receiver.path = idle.ack_path;
        }
        self.offer(uplink, slot);
    }

    /// Releases the connection of a flow that is completely acknowledged. The message that has
    /// waited longest gets the connection and starts by a timer after this event.
    #[cold]
    pub(super) fn leave_connection(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let key = self.pool_of(slot);
        let flow = &mut self.flows.senders[slot];
        let path = flow.path;
        let Some(sender) = flow.sender.tcp() else { return };
        let connection = sender.connection(uplink.now());
        let idle = Idle { connection, path, ack_path: self.flows.receivers[slot].path };
        let pool = self.connections.pools.get_mut(&key).expect("it took its connection from there");
        match pool.waiting.pop_front() {
            Some(next) => {
                self.connections.due.push_back((next, idle));
                uplink.wake_message(next);
            }
            None => {
                pool.busy -= 1;
                pool.idle.push(idle);
            }
        }
    }

    /// Starts a message that waited for a connection and now has one.
    pub(crate) fn handle_connection_timer(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let place = self.connections.due.iter().position(|(waiting, _)| *waiting == slot);
        let (_, idle) = place.and_then(|at| self.connections.due.remove(at)).expect("its turn was noted");
        self.use_connection(uplink, slot, idle);
    }

    /// Flows without a size, which send until the arrival phase ends.
    pub(crate) fn unlimited_flows(&self) -> Vec<FlowSlot> {
        self.flows.live_slots().filter(|&slot| self.flows.info(slot).is_unlimited()).collect()
    }

    /// Ends a flow without a size at the end of the arrival phase. The size of the flow becomes the
    /// number of bytes that the flow has sent.
    pub(crate) fn close_unlimited(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let flow = &mut self.flows.senders[slot];
        let segment = self.transports[flow.transport].segment;
        let Some(sender) = flow.sender.tcp() else { return };
        let total = sender.close();
        let is_acknowledged = sender.is_done();
        (flow.total, flow.last_payload) = (total, segment);
        self.flows.info_mut(slot).spec.size = u64::from(total) * u64::from(segment);
        let receiver = &mut self.flows.receivers[slot];
        if receiver.close(total) {
            receiver.completed = uplink.now();
        }
        if is_acknowledged {
            self.end_sending(uplink, slot);
            self.retire_if_done(uplink, slot);
        } else {
            // The flow sends the data that so far waited for a complete burst.
            self.offer(uplink, slot);
        }
    }
}
