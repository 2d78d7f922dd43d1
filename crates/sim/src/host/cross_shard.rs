//! Flows with ends or packets in different shards of the network. See [`crate::shards`].
//!
//! The shard of a flow's source counts the flow's packets and so knows when no packet is left.
//! Other shards write notes about packets of the flow that these shards lose, remove or create. The
//! source's shard counts these notes after each window. So this shard detects the end of a flow
//! late, but records the true time: the time of the last change that ended the flow.

use super::message::Paths;
use super::{FlowAccount, Hosts};
use crate::SimError;
use crate::ids::{FlowSlot, HostId, Id, PoolId, ShardId};
use crate::shards::Shard;
use crate::world::timers::{Moment, Timer};
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;

/// Note about a flow's packets, for the shard of the network that contains the flow's source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowNote {
    at: Moment,
    slot: FlowSlot,
    /// Number of the flow's packets that the shard created, minus the number that the shard
    /// removed.
    packets: i32,
    /// Number of the flow's packets that the shard has lost.
    dropped: u32,
}

/// A flow that is over, with the sender's data from the shard of the flow's source.
#[derive(Clone, Debug)]
pub(crate) struct Retired {
    pub(crate) at: Moment,
    slot: FlowSlot,
    account: FlowAccount,
}

/// A flow that one shard has started, for the other shards. Only scheduled flows, and other flows
/// beside these, reach the other shards in this way.
#[derive(Clone, Debug)]
pub(crate) struct FlowStart {
    pub(super) spec: FlowSpec,
    pub(super) slot: FlowSlot,
    pub(super) priority: u8,
    pub(super) paths: Paths,
    pub(super) pool: PoolId,
}

impl FlowStart {
    /// Host that sends the flow.
    fn src(&self) -> HostId {
        HostId::new(self.spec.src)
    }

    /// Number of the schedule node that the flow executes.
    pub(crate) fn node(&self) -> u32 {
        self.spec.node
    }
}

/// State that the hosts of one shard keep for the other shards.
#[derive(Clone, Debug)]
pub(super) struct RemoteFlows {
    shard: Shard,
    /// Notes on flows, by the shard that receives the notes.
    notes: Vec<Vec<FlowNote>>,
    /// For each flow slot, moment of the last change that may have ended the slot's flow.
    changed: Vec<Moment>,
    /// Changed flows with a sender that is done. The list may contain duplicates.
    candidates: Vec<FlowSlot>,
    /// Timer that expires now. `None` during a link event.
    timer: Option<Timer>,
}

impl RemoteFlows {
    fn touch(&mut self, slot: FlowSlot, at: Moment) {
        let index = slot.index();
        if index >= self.changed.len() {
            self.changed.resize(index + 1, Moment::ZERO);
        }
        self.changed[index] = self.changed[index].max(at);
        self.candidates.push(slot);
    }
}

impl Hosts {
    /// Restricts the hosts to one shard of the network.
    pub(crate) fn set_shard(&mut self, shard: Shard) {
        let notes = vec![Vec::new(); shard.partition.parts];
        self.flows.keep_starts();
        let (changed, candidates, timer) = (Vec::new(), Vec::new(), None);
        self.remote = Some(Box::new(RemoteFlows { shard, notes, changed, candidates, timer }));
    }

    /// Sets the timer that expires now. `None` if the next event is a link event.
    pub(crate) fn set_timer(&mut self, timer: Option<Timer>) {
        if let Some(apart) = &mut self.remote {
            apart.timer = timer;
        }
    }

    /// Whether `host` belongs to this shard of the network.
    #[inline]
    pub(super) fn is_here(&self, host: HostId) -> bool {
        self.remote.as_ref().is_none_or(|apart| apart.shard.has_host(host))
    }

    /// Whether another shard of the network counts the flow's packets.
    #[inline]
    pub(super) fn is_counted_elsewhere(&self, slot: FlowSlot) -> bool {
        self.remote.is_some() && !self.is_here(self.flows.senders[slot].src)
    }

    /// Writes a note about packets for the shard of the flow's source.
    pub(super) fn note_packets(&mut self, at: Time, slot: FlowSlot, packets: i32, dropped: u32) {
        let source = self.flows.senders[slot].src;
        let Some(apart) = &mut self.remote else { return };
        let part = apart.shard.partition.hosts[source];
        let at = Moment { at, timer: apart.timer };
        apart.notes[usize::from(part.0)].push(FlowNote { at, slot, packets, dropped });
    }

    /// Records a change of a flow that may be over. Returns whether the shards end the flow later,
    /// after each window.
    #[inline]
    pub(super) fn defer_end(&mut self, at: Time, slot: FlowSlot) -> bool {
        let Some(apart) = &mut self.remote else { return false };
        if self.flows.senders[slot].sender.is_done() {
            let at = Moment { at, timer: apart.timer };
            apart.touch(slot, at);
        }
        true
    }

    /// Describes a flow that has just started for the other shards, and revokes the flow's number.
    pub(crate) fn describe_start(&mut self, slot: FlowSlot) -> FlowStart {
        self.flows.revoke_number();
        let (sender, info) = (&self.flows.senders[slot], self.flows.info(slot));
        let paths = Paths { data: sender.path, ack: self.flows.receivers[slot].path };
        FlowStart { spec: info.spec.clone(), slot, priority: sender.priority, paths, pool: info.pool }
    }

    /// Numbers the flow of `start`, which all shards do in the order of the run. Adds the flow if
    /// it is new in this shard. Returns the number of the flow.
    ///
    /// # Errors
    /// If the flow has too many segments.
    pub(crate) fn take_start(&mut self, start: FlowStart) -> Result<u64, SimError> {
        let (slot, src) = (start.slot, start.src());
        if !self.is_here(src) {
            self.adopt_start(start)?;
        }
        Ok(self.flows.number(slot))
    }

    /// Notes on flows for the shard with the number `part`.
    pub(crate) fn notes(&mut self, part: usize) -> &mut Vec<FlowNote> {
        &mut self.remote.as_mut().expect("a part has notes").notes[part]
    }

    /// Applies a note about a flow's packets from another shard of the network.
    pub(crate) fn take_note(&mut self, note: &FlowNote) {
        let &FlowNote { at, slot, packets, dropped } = note;
        let flow = &mut self.flows.senders[slot];
        let left = flow.in_network.checked_add_signed(packets);
        flow.in_network = left.expect("a packet comes into being before it ceases to exist");
        let is_done = flow.sender.is_done();
        self.flows.info_mut(slot).dropped_packets += dropped;
        if let Some(apart) = self.remote.as_mut().filter(|_| is_done) {
            apart.touch(slot, at);
        }
    }

    /// Appends the flows of this shard that have ended since the previous call to `retired`.
    pub(crate) fn take_retired(&mut self, retired: &mut Vec<Retired>) {
        let Some(apart) = &mut self.remote else { return };
        let mut candidates = std::mem::take(&mut apart.candidates);
        candidates.sort_unstable();
        candidates.dedup();
        for &slot in &candidates {
            let flow = &self.flows.senders[slot];
            if !self.flows.is_live(slot) || !flow.sender.is_done() || flow.in_network > 0 || flow.is_ready {
                continue;
            }
            let at = self.remote.as_ref().map_or(Moment::ZERO, |apart| apart.changed[slot.index()]);
            retired.push(Retired { at, slot, account: self.account(slot) });
            if let Some(failed) = self.failure_of(slot) {
                self.failed.get_or_insert(failed);
            }
        }
        candidates.clear();
        if let Some(apart) = &mut self.remote {
            apart.candidates = candidates;
        }
    }

    /// Ends a flow and frees its slot. Returns the account of sender and receiver if the flow's
    /// destination is in this shard.
    pub(crate) fn end(&mut self, retired: &Retired) -> Option<FlowAccount> {
        let &Retired { at, slot, ref account } = retired;
        self.flows.remove(slot, at.at);
        let receiver = &self.flows.receivers[slot];
        self.is_here(receiver.dst).then(|| {
            let completed = account.completed.into_iter().chain(receiver.completed()).min();
            FlowAccount { completed, marked_packets: receiver.marked_packets, ..account.clone() }
        })
    }

    /// Updates the largest number of live flows from the times at which flows ended in
    /// the last interval.
    pub(crate) fn note_peak(&mut self, ends: &mut [Time]) {
        self.flows.note_peak(ends);
    }

    /// Adopts the live flows at the hosts of shard `part` at the end of the run.
    pub(crate) fn adopt(&mut self, part: ShardId, mut other: Self) {
        let slots: Vec<FlowSlot> = self.flows.live_slots().collect();
        let Some(apart) = &self.remote else { return };
        let hosts = &apart.shard.partition.hosts;
        for slot in slots {
            if hosts[self.flows.senders[slot].src] == part {
                std::mem::swap(&mut self.flows.senders[slot], &mut other.flows.senders[slot]);
                std::mem::swap(&mut self.flows.infos[slot], &mut other.flows.infos[slot]);
                let (here, there) = (&mut self.flows.receivers[slot], &other.flows.receivers[slot]);
                here.completed = here.completed.min(there.completed);
            }
            if hosts[self.flows.receivers[slot].dst] == part {
                let (here, there) = (&mut self.flows.receivers[slot], &mut other.flows.receivers[slot]);
                let completed = here.completed.min(there.completed);
                std::mem::swap(here, there);
                here.completed = completed;
            }
        }
    }
}
