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
    /// Divides the network by racks into at most `parts` shards. Hosts of one group (`groups` has
    /// the first host of every host's group) are in one shard. If a group has hosts of several
    /// shards, groups are assigned to shards instead of racks. `None` if the network has only one
    /// rack or only one group, or if packets reach another shard without delay.
    pub(crate) fn new(
        topology: &Topology,
        links: &Table<LinkId, Link>,
        groups: Option<&[u32]>,
        parts: usize,
    ) -> Option<Self> {
        let rack_of = |host: HostId| match links[host.uplink()].to {
            End::Switch(switch, _) => Some(switch),
            End::Host(_) => None,
        };
        let all = || (0..topology.hosts.len()).map(HostId::from_index);
        let mut racks = BTreeMap::<SwitchId, usize>::new();
        for host in all() {
            *racks.entry(rack_of(host)?).or_default() += 1;
        }
        let mut parts = parts.min(racks.len()).min(ShardId::MOST);
        if parts < 2 {
            return None;
        }
        let mut switches = switches(topology, &racks, parts);
        let mut hosts: Table<HostId, ShardId> =
            all().map(|host| Some(switches[rack_of(host)?])).collect::<Option<_>>()?;
        let is_split = |groups: &&[u32]| {
            all().zip(*groups).any(|(host, &first)| hosts[host] != hosts[HostId::new(first)])
        };
        if let Some(groups) = groups.filter(is_split) {
            let mut sizes = BTreeMap::<u32, usize>::new();
            groups.iter().for_each(|&group| *sizes.entry(group).or_default() += 1);
            parts = parts.min(sizes.len());
            if parts < 2 {
                return None;
            }
            let shards = in_order(&sizes, parts);
            hosts = groups.iter().map(|group| ShardId::from_index(shards[group])).collect();
            switches = self::switches(topology, &racks, parts);
        }
        let mut this = Self { hosts, switches, parts, lookahead: Time::MAX };
        let crossing = links.iter().filter(|link| this.crosses(link).is_some());
        this.lookahead = crossing.map(|link| link.delay).min().unwrap_or(Time::MAX);
        (this.lookahead > Time::ZERO).then_some(this)
    }

    /// Whether some host and its switch are in different shards.
    pub(crate) fn splits_racks(&self, links: &Table<LinkId, Link>) -> bool {
        self.hosts.ids().any(|host| self.crosses(&links[host.uplink()]).is_some())
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

/// Numbers of the shards of racks or groups. The position of a rack's middle host among all hosts
/// determines the shard of the rack.
fn in_order<K: Copy + Ord>(sizes: &BTreeMap<K, usize>, parts: usize) -> BTreeMap<K, usize> {
    let hosts: usize = sizes.values().sum();
    let mut before = 0;
    let shard = |(&key, &count): (&K, &usize)| {
        before += count;
        (key, (2 * before - count) * parts / (2 * hosts))
    };
    sizes.iter().map(shard).collect()
}

/// Shard of every switch. Racks are assigned in order, so that all shards have about the same
/// number of hosts. The switches of each tier above the racks are assigned in order, too.
fn switches(
    topology: &Topology,
    racks: &BTreeMap<SwitchId, usize>,
    parts: usize,
) -> Table<SwitchId, ShardId> {
    let of_rack = in_order(racks, parts);
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
