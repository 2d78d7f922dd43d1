//! What a host sends while some of its priorities are paused.

use crate::flow::Slot;
use crate::packet::PacketId;
use crate::simulation::Simulation;

impl Simulation {
    /// What an idle card of a host sends of the priorities that are not paused.
    #[cold]
    pub(crate) fn next_unpaused(&mut self, host: u32) -> Option<PacketId> {
        let at = host as usize;
        let paused = self.nics[at].paused;
        let is_paused = |priority: u8| paused >> priority & 1 != 0;
        let waiting = self.nics[at].queue.iter().position(|&id| !is_paused(self.packets[id].priority));
        if let Some(position) = waiting {
            return self.nics[at].queue.remove(position);
        }
        loop {
            let slot: Slot = self.nics[at].next_ready(&mut self.flows)?;
            let flow = &self.flows.senders[slot as usize];
            // A flow that PIAS has moved to another queue is judged by its first one, its packets below by theirs.
            if is_paused(flow.priority) {
                self.nics[at].park(slot, &mut self.flows);
                continue;
            }
            let Some(packet) = self.next_packet(slot) else {
                self.retire_if_done(slot);
                continue;
            };
            let flow = &self.flows.senders[slot as usize];
            let transport = &self.transports[usize::from(flow.transport)];
            if flow.sender.wants_to_send(&transport.tcp, self.now) {
                self.nics[at].make_ready(&mut self.flows, slot);
            }
            if !is_paused(self.packets[packet].priority) {
                return Some(packet);
            }
            self.nics[at].queue.push_back(packet);
        }
    }
}
