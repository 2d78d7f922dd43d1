//! What a host sends while some of its priorities are paused.

use crate::ids::{HostId, PacketId};
use crate::simulation::Simulation;

impl Simulation {
    /// What an idle card of a host sends of the priorities that are not paused.
    #[cold]
    pub(crate) fn next_unpaused(&mut self, host: HostId) -> Option<PacketId> {
        let paused = self.nics[host].paused;
        let is_paused = |priority: u8| paused >> priority & 1 != 0;
        let waiting = self.nics[host].queue.iter().position(|&id| !is_paused(self.packets[id].priority));
        if let Some(position) = waiting {
            return self.nics[host].queue.remove(position);
        }
        loop {
            let slot = self.nics[host].next_ready(&mut self.flows)?;
            let flow = &self.flows.senders[slot];
            // A flow that PIAS has moved to another queue is judged by its first one, its packets below by theirs.
            if is_paused(flow.priority) {
                self.nics[host].park(slot, &mut self.flows);
                continue;
            }
            let Some(packet) = self.next_packet(slot) else {
                self.retire_if_done(slot);
                continue;
            };
            let flow = &self.flows.senders[slot];
            let transport = &self.transports[flow.transport];
            if flow.sender.wants_to_send(&transport.tcp, self.now) {
                self.nics[host].make_ready(&mut self.flows, slot);
            }
            if !is_paused(self.packets[packet].priority) {
                return Some(packet);
            }
            self.nics[host].queue.push_back(packet);
        }
    }
}
