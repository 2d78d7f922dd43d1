//! End of a run that is divided into shards: one shard adopts the results of all other shards.

use crate::Simulation;
use crate::ids::{LinkId, ShardId, SwitchId};

impl Simulation {
    /// Adopts the results of shard `part`: its switches, the links that begin in this shard, and
    /// the ends of its flows.
    pub(crate) fn adopt(&mut self, part: ShardId, mut other: Self) {
        let Some(shard) = self.part.clone() else { return };
        let partition = &shard.partition;
        let switches: Vec<SwitchId> =
            self.switches.ids().filter(|&id| partition.switches[id] == part).collect();
        for id in switches {
            std::mem::swap(&mut self.switches[id], &mut other.switches[id]);
            self.records.adopt(id, &mut other.records);
        }
        let links: Vec<LinkId> = {
            let links = self.world.links();
            links.ids().filter(|&id| partition.part(links[id].from) == part).collect()
        };
        if let (Some(here), Some(there)) = (&mut self.pfc, &mut other.pfc) {
            here.adopt((part, partition), self.world.links(), there);
        }
        self.world.adopt(&mut other.world, &links);
        self.hosts.adopt(part, other.hosts);
        self.events += other.events;
    }
}
