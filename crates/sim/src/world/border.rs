//! Border of a shard of the network: packets and pause frames that leave for other shards or arrive
//! from other shards.

use super::World;
use crate::ids::{LinkId, PacketId, Table};
use crate::shards::{Crossing, Shard};
use crate::world::calendar::Kind;
use crate::world::telemetry::Reports;
use crate::world::timers::Timer;
use bufferlab_core::Ecn;
use bufferlab_units::Time;

/// Packets and pause timers that leave this shard of the network.
#[derive(Clone, Debug)]
pub(crate) struct Border {
    /// Number of the shard to which each link leads.
    to: Table<LinkId, u8>,
    /// Outgoing packets, reports and timers, by the receiving shard of the network.
    out: Vec<Out>,
    /// Earliest time at which a packet or a timer takes effect in another shard.
    first: Time,
}

/// Outgoing packets, reports and timers for one other shard of the network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Out {
    pub(crate) packets: Vec<Crossing>,
    /// Telemetry reports of every packet; empty if the run needs no telemetry.
    pub(crate) reports: Vec<Reports>,
    /// Timers that pause frames set at the far ends of their links.
    pub(crate) timers: Vec<(Time, Timer)>,
}

impl World {
    /// Restricts this world to one shard of the network.
    pub(crate) fn set_border(&mut self, shard: &Shard) {
        let partition = &shard.partition;
        let mut to = Table::default();
        for link in self.links.iter_mut() {
            let part = partition.crosses(link).filter(|_| partition.part(link.from) == shard.part);
            link.set_crossing(part.is_some());
            to.push(part.map_or(0, |part| part.0));
        }
        let out = (0..partition.parts).map(|_| Out::default()).collect();
        self.border = Some(Box::new(Border { to, out, first: Time::MAX }));
    }

    /// Puts a packet on a link to another shard, which then owns the packet.
    #[inline(never)]
    pub(super) fn transmit_across(&mut self, id: LinkId, packet: PacketId, more: bool) {
        let meta = self.packets[packet];
        let link = &mut self.links[id];
        let (arrival, next) = link.start(self.now, meta.header.size, meta.header.ecn == Ecn::Marked);
        link.waiting = more;
        self.packet_hops += 1;
        let border = self.border.as_mut().expect("only links of a border cross it");
        let out = &mut border.out[usize::from(border.to[id])];
        out.packets.push(Crossing { link: id, arrival, packet: meta });
        out.reports.extend(self.telemetry.row(packet));
        border.first = border.first.min(arrival);
        self.packets.remove(packet);
        if more {
            self.calendar.push(next, Kind::TransmissionComplete, id);
        }
    }

    /// Sets a timer at the node at the far end of link `id`. The timer expires after the link's
    /// delay or later.
    pub(crate) fn set_far_timer(&mut self, id: LinkId, at: Time, timer: Timer) {
        match &mut self.border {
            Some(border) if self.links[id].crosses() => {
                border.out[usize::from(border.to[id])].timers.push((at, timer));
                border.first = border.first.min(at);
            }
            _ => self.timers.push(at, timer),
        }
    }

    /// Accepts a packet from another shard. The packet arrives no earlier than the end of the
    /// window.
    pub(crate) fn accept(&mut self, crossing: Crossing, reports: Option<Reports>) {
        let Crossing { link, arrival, packet } = crossing;
        let id = self.packets.insert(packet);
        if let Some(reports) = reports {
            self.telemetry.set_row(id, reports);
        }
        if self.links[link].pipe.push_back(&mut self.packets, arrival, id) {
            self.calendar.push(arrival, Kind::Delivery, link);
        }
    }

    /// Outgoing packets, reports and timers for the shard with the number `part`.
    pub(crate) fn out(&mut self, part: usize) -> &mut Out {
        &mut self.border.as_mut().expect("a part has a border").out[part]
    }

    /// Earliest time at which data sent to other shards since the previous call take effect.
    pub(crate) fn take_first_crossing(&mut self) -> Time {
        let border = self.border.as_mut().expect("a part has a border");
        std::mem::replace(&mut border.first, Time::MAX)
    }

    /// Adopts `links` that begin in another shard, with the links' counters, and the packet-hops of
    /// that shard.
    pub(crate) fn adopt(&mut self, other: &mut Self, links: &[LinkId]) {
        for &id in links {
            std::mem::swap(&mut self.links[id], &mut other.links[id]);
        }
        self.packet_hops += other.packet_hops;
        self.peak_elsewhere += other.packets.peak() + other.peak_elsewhere;
    }
}
