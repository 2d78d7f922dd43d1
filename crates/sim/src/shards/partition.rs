//! Assignment of hosts and switches to the shards of a network.

use crate::ids::{HostId, Id, LinkId, ShardId, SwitchId, Table};
use crate::world::link::{End, Link};
use bufferlab_scenario::Topology;
use bufferlab_units::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Division of a network into shards: the shard of every host and switch.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    pub(crate) hosts: Table<HostId, ShardId>,
    pub(crate) switches: Table<SwitchId, ShardId>,
    /// Number of shards of the network.
    pub(crate) parts: usize,
    /// Shortest time in which a packet from one shard reaches another shard.
    pub(crate) lookahead: Time,
}

/// A shard of the network, with the partition of the whole network.
#[derive(Clone, Debug)]
pub(crate) struct Shard {
    pub(crate) part: ShardId,
    pub(crate) partition: Arc<Partition>,
}

impl Shard {
    /// Whether `host` belongs to this shard.
    #[inline]
    pub(crate) fn has_host(&self, host: HostId) -> bool {
        self.partition.hosts[host] == self.part
    }

    /// Whether `switch` belongs to this shard.
    pub(crate) fn has_switch(&self, switch: SwitchId) -> bool {
        self.partition.switches[switch] == self.part
    }
}

impl Partition {
    /// Divides the network by racks into at most `parts` shards. `None` if the network has only one
    /// rack, or if packets reach another shard without delay.
    pub(crate) fn new(topology: &Topology, links: &Table<LinkId, Link>, parts: usize) -> Option<Self> {
        let rack_of = |host: HostId| match links[host.uplink()].to {
            End::Switch(switch, _) => Some(switch),
            End::Host(_) => None,
        };
        let mut racks = BTreeMap::<SwitchId, usize>::new();
        for host in (0..topology.hosts.len()).map(HostId::from_index) {
            *racks.entry(rack_of(host)?).or_default() += 1;
        }
        let parts = parts.min(racks.len()).min(ShardId::MOST);
        if parts < 2 {
            return None;
        }
        let switches = switches(topology, &racks, parts);
        let hosts = (0..topology.hosts.len()).map(HostId::from_index);
        let hosts: Table<HostId, ShardId> =
            hosts.map(|host| Some(switches[rack_of(host)?])).collect::<Option<_>>()?;
        let mut this = Self { hosts, switches, parts, lookahead: Time::MAX };
        let crossing = links.iter().filter(|link| this.crosses(link).is_some());
        this.lookahead = crossing.map(|link| link.delay).min().unwrap_or(Time::MAX);
        (this.lookahead > Time::ZERO).then_some(this)
    }

    /// Number of the shard to which a host or switch belongs.
    pub(crate) fn part(&self, end: End) -> ShardId {
        match end {
            End::Host(host) => self.hosts[host],
            End::Switch(switch, _) => self.switches[switch],
        }
    }

    /// Shard at the far end of a link, if the near end belongs to another shard.
    pub(crate) fn crosses(&self, link: &Link) -> Option<ShardId> {
        let to = self.part(link.to);
        (self.part(link.from) != to).then_some(to)
    }
}

/// Shard of every switch. Racks are assigned in order, so that all shards have about the same
/// number of hosts. The switches of each tier above the racks are assigned in order, too.
fn switches(
    topology: &Topology,
    racks: &BTreeMap<SwitchId, usize>,
    parts: usize,
) -> Table<SwitchId, ShardId> {
    let hosts: usize = racks.values().sum();
    let mut of_rack = BTreeMap::new();
    let mut before = 0;
    for (&rack, &count) in racks {
        // The position of a rack's middle host among all hosts determines the shard of the rack.
        of_rack.insert(rack, (2 * before + count) * parts / (2 * hosts));
        before += count;
    }
    let all = (0..topology.switches.len()).map(SwitchId::from_index);
    let above = |switch: &SwitchId| !racks.contains_key(switch);
    let mut in_tier = BTreeMap::<_, Vec<SwitchId>>::new();
    for switch in all.clone().filter(above) {
        in_tier.entry(topology.tiers[switch.index()]).or_default().push(switch);
    }
    let mut of_others = BTreeMap::new();
    for tier in in_tier.values() {
        for (place, &switch) in tier.iter().enumerate() {
            of_others.insert(switch, place * parts / tier.len());
        }
    }
    all.map(|switch| {
        ShardId::from_index(of_rack.get(&switch).unwrap_or_else(|| &of_others[&switch]).to_owned())
    })
    .collect()
}
