//! Which open connection carries a message, and which messages wait for one?
//!
//! A pool holds the connections from one host to another over one transport; the threads of a
//! closed loop have pools of their own. A connection carries one message at a time, until that is
//! acknowledged. An idle one is taken before another is opened, the one that was used last first:
//! its window is the freshest. Messages that may not open another one wait in the order of their
//! arrival; they are flows already (their FCT counts) but have sent nothing.

use super::Hosts;
use crate::ids::{FlowSlot, HostId, PoolId, TransportId};
use crate::world::Uplink;
use bufferlab_transport::Connection;
use std::collections::{BTreeMap, VecDeque};

/// The pool of messages that no closed loop sends.
pub(crate) const COMMON: PoolId = PoolId(0);

/// Whose connections: transport, source, destination, pool between the two.
type Key = (TransportId, HostId, HostId, PoolId);

/// A connection that carries nothing now, and the paths that its packets and ACKs take.
#[derive(Debug)]
struct Idle {
    connection: Connection,
    path: u32,
    ack_path: u32,
}

#[derive(Debug, Default)]
struct Pool {
    /// The last one was used last.
    idle: Vec<Idle>,
    busy: u32,
    waiting: VecDeque<FlowSlot>,
}

/// All pools that were ever needed.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    pools: BTreeMap<Key, Pool>,
    /// Messages whose turn has come; each has a timer at this very instant.
    due: VecDeque<(FlowSlot, Idle)>,
}

impl Hosts {
    /// A new flow of a transport with persistent connections takes one, or waits for one.
    pub(super) fn take_connection(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let key = self.pool_of(slot);
        // A thread of a closed loop has one connection for each of its answers.
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
        // A message with explicit paths keeps them.
        if !flow.explicit_path {
            flow.path = idle.path;
        }
        let receiver = &mut self.flows.receivers[slot];
        if !receiver.explicit_path {
            receiver.path = idle.ack_path;
        }
        self.offer(uplink, slot);
    }

    /// A flow that has been acknowledged as a whole leaves its connection behind, to the message
    /// that waits longest if there is one. That one starts by a timer, when this event is over.
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

    /// The turn of a message that waited has come.
    pub(crate) fn handle_connection_timer(&mut self, uplink: &mut Uplink<'_>, slot: FlowSlot) {
        let place = self.connections.due.iter().position(|(waiting, _)| *waiting == slot);
        let (_, idle) = place.and_then(|at| self.connections.due.remove(at)).expect("its turn was noted");
        self.use_connection(uplink, slot, idle);
    }

    /// Flows that send until no flows arrive any more.
    pub(crate) fn unlimited_flows(&self) -> Vec<FlowSlot> {
        self.flows.live_slots().filter(|&slot| self.flows.info(slot).is_unlimited()).collect()
    }

    /// Flows stop arriving: one without a size of its own ends with what it has sent.
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
            // What waited for a fuller burst goes now.
            self.offer(uplink, slot);
        }
    }
}
