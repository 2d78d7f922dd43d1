//! The network between hosts and switches: time, links with their packets, routes, and timers.
//!
//! A host reaches the world through its [`Uplink`], a switch through its [`Ports`]. Beyond its own
//! state, a host or switch may change only its outgoing links, the packets that it stores, and its
//! own timers. So hosts and switches reach each other only over links.

pub(crate) mod base_rtt;
pub(crate) mod border;
pub(crate) mod calendar;
pub(crate) mod device;
pub(crate) mod link;
pub(crate) mod order;
pub(crate) mod packet;
mod pipe;
pub(crate) mod routing;
pub(crate) mod telemetry;
pub(crate) mod ties;
pub(crate) mod timers;

use crate::ids::{FlowSlot, HostId, LinkId, PacketId, SwitchId, Table};
use crate::world::border::Border;
use crate::world::calendar::{Calendar, Kind, LinkPlace, Upcoming};
use crate::world::link::{End, Link, Started};
use crate::world::packet::{Flags, Packet, Slab};
use crate::world::routing::Routes;
use crate::world::telemetry::Telemetry;
use crate::world::timers::{Timer, Timers};
use bufferlab_core::Header;
use bufferlab_scenario::TelemetryScope;
use bufferlab_transport::HopReport;
use bufferlab_units::{BitRate, Time};

/// Time, links, packets, routes and timers of a simulation.
#[derive(Clone, Debug)]
pub(crate) struct World {
    now: Time,
    calendar: Calendar,
    packets: Slab,
    telemetry: Telemetry,
    links: Table<LinkId, Link>,
    routes: Routes,
    /// Time at which the routes were replaced last; `None` for the first routes.
    routed_at: Option<Time>,
    timers: Timers,
    packet_hops: u64,
    /// Sum of the peak packet counts that this shard adopted from other shards of the network.
    peak_elsewhere: usize,
    /// Packets for other shards of the network. `None` if the network is not divided.
    border: Option<Box<Border>>,
}

impl World {
    pub(crate) fn new(
        calendar: Calendar,
        links: Table<LinkId, Link>,
        routes: Routes,
        timers: Timers,
        telemetry: Telemetry,
    ) -> Self {
        let (now, packets) = (Time::ZERO, Slab::default());
        Self {
            now,
            calendar,
            packets,
            telemetry,
            links,
            routes,
            routed_at: None,
            timers,
            packet_hops: 0,
            peak_elsewhere: 0,
            border: None,
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Advances time to `time`. No event may be earlier than `time`.
    #[inline]
    pub(crate) fn advance_to(&mut self, time: Time) {
        self.now = time;
    }

    /// Number of packet-hops so far. Every packet counts one hop per link.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// Returns the earliest event of all links.
    #[inline]
    pub(crate) fn next_link_event(&mut self) -> Upcoming {
        self.calendar.next()
    }

    /// Time, kind and link of the earliest event of all links. There must be an event.
    pub(crate) fn peek_link_event(&mut self) -> (Time, Kind, LinkId) {
        let next = self.calendar.next();
        let (kind, link) = Calendar::peek(next);
        (next.time, kind, link)
    }

    /// Position of the event that [`Self::next_link_event`] has just returned, among the link
    /// events of its instant.
    pub(crate) fn place_of(&self, upcoming: Upcoming) -> LinkPlace {
        self.calendar.place(upcoming)
    }

    /// Order of a delivery over link `link` among the link events of the present instant.
    pub(crate) fn place_of_delivery(&self, link: LinkId) -> LinkPlace {
        self.calendar.place_of_delivery(self.now, link)
    }

    /// Removes the event that [`Self::next_link_event`] has just returned, and advances time to
    /// this event.
    #[inline]
    pub(crate) fn take_link_event(&mut self, upcoming: Upcoming) -> (calendar::Kind, LinkId) {
        self.now = upcoming.time;
        self.calendar.take(upcoming)
    }

    /// Removes the first packet from a link and returns the host or switch port at which the packet
    /// arrives. `Err` if the packet is lost, because the link went down during its transit.
    #[inline(always)] // Inlined into both hot loops.
    pub(crate) fn deliver(&mut self, id: LinkId) -> Result<(End, PacketId), PacketId> {
        let link = &mut self.links[id];
        let (packet, next) = link.pipe.pop_front(&mut self.packets).expect("a delivery has its packet");
        let to = link.to;
        if let Some(next) = next {
            self.calendar.push(next, Kind::Delivery, id);
        }
        if link.head_is_lost {
            link.head_is_lost = false;
            link.account.lost_packets += 1;
            return Err(packet);
        }
        Ok((to, packet))
    }

    /// Handles the end of a transmission, or new space in a link's device.
    /// Returns the sender that may send now.
    #[inline(always)] // Inlined into both hot loops.
    pub(crate) fn complete_transmission(&mut self, id: LinkId) -> Option<End> {
        let link = &mut self.links[id];
        if link.busy_until > self.now {
            // The link is still busy. The link's device may have space, or a pause frame was sent
            // before the packet.
            let at = link.next_place(self.now);
            if at > self.now {
                self.calendar.push(at, Kind::TransmissionComplete, id);
                return None;
            }
        }
        link.waiting = false;
        (!link.down).then_some(link.from)
    }

    /// Whether link `id` would send a packet at once.
    #[inline(always)]
    pub(crate) fn is_idle(&self, id: LinkId) -> bool {
        let link = &self.links[id];
        !link.waiting && !link.down && link.busy_until <= self.now
    }

    /// Claims link `id` for a waiting packet. True if the link is idle or its device has space.
    /// False if the sender must wait: the engine notifies the sender when the transmission is
    /// complete.
    #[inline(always)]
    pub(crate) fn claim(&mut self, id: LinkId) -> bool {
        let link = &mut self.links[id];
        if link.waiting || link.down {
            return false;
        }
        if link.busy_until <= self.now {
            return true;
        }
        let at = link.next_place(self.now);
        if at <= self.now {
            return true;
        }
        link.waiting = true;
        self.calendar.push(at, Kind::TransmissionComplete, id);
        false
    }

    /// Puts a packet with the header `header` on link `id`, which is idle or whose device has
    /// space. `more` states whether another packet waits.
    #[inline(always)] // Inlined into the two places that send packets: hosts and switches.
    fn transmit(&mut self, id: LinkId, packet: PacketId, header: Header, more: bool) {
        let link = &mut self.links[id];
        if link.crosses() {
            return self.transmit_across(id, packet, more);
        }
        let Started { arrival, alone, next } = link.transmit(self.now, &mut self.packets, packet, header);
        link.waiting = more;
        self.calendar.ties().note_transmission(id);
        self.packet_hops += 1;
        if alone {
            self.calendar.push(arrival, Kind::Delivery, id);
        }
        if more {
            self.calendar.push(next, Kind::TransmissionComplete, id);
        }
    }

    /// Reserves link `id` for a pause or resume frame, before all waiting packets.
    /// Returns the time at which the frame begins to leave. `None` if the link is down.
    pub(crate) fn claim_for_frame(&mut self, id: LinkId, bytes: u32) -> Option<Time> {
        let link = &mut self.links[id];
        if link.down {
            return None;
        }
        let start = link.busy_until.max(self.now);
        link.busy_until = start + link.serializer.time(bytes);
        Some(start)
    }

    /// Arrival time of a frame that begins to leave over link `id` at the time `start`.
    pub(crate) fn frame_arrival(&mut self, id: LinkId, bytes: u32, start: Time) -> Time {
        let link = &mut self.links[id];
        start + link.serializer.time(bytes) + link.delay
    }

    #[inline]
    pub(crate) fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    #[inline]
    pub(crate) fn links(&self) -> &Table<LinkId, Link> {
        &self.links
    }

    pub(crate) fn links_mut(&mut self) -> &mut Table<LinkId, Link> {
        &mut self.links
    }

    /// Largest number of packets alive at once. In a network with several shards, the number is the
    /// sum of the shards' maxima.
    pub(crate) fn peak_packets(&self) -> usize {
        self.packets.peak() + self.peak_elsewhere
    }

    pub(crate) fn packets(&self) -> &Slab {
        &self.packets
    }

    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Removes all packets except the first from link `id`, in order,
    /// and empties the link's device.
    pub(crate) fn take_back(&mut self, id: LinkId) -> Vec<PacketId> {
        let link = &mut self.links[id];
        link.empty_device(self.now);
        self.calendar.ties().keep_first(id);
        link.pipe.keep_first(&self.packets)
    }

    /// Number of packets on all links.
    pub(crate) fn packets_on_links(&self) -> usize {
        self.links.iter().map(|link| link.pipe.packets(&self.packets).count()).sum()
    }

    /// Replaces the routes of the network. All later forwarding follows the new routes.
    pub(crate) fn reroute(&mut self, routes: Routes) {
        self.routes = routes;
        self.routed_at = Some(self.now);
    }

    /// Time at which the network's routes were replaced last, if they were.
    pub(crate) fn routed_at(&self) -> Option<Time> {
        self.routed_at
    }

    #[inline]
    pub(crate) fn timers(&mut self) -> &mut Timers {
        &mut self.timers
    }

    /// Access of host `host` to the network through its uplink.
    #[inline]
    pub(crate) fn uplink(&mut self, host: HostId) -> Uplink<'_> {
        Uplink { world: self, host }
    }

    /// Access of a switch to the network. `first` is the link of the switch's port 0.
    #[inline]
    pub(crate) fn ports(&mut self, first: LinkId) -> Ports<'_> {
        Ports { world: self, first }
    }
}

/// Access of a host to the network: its link, packets at the host, timers of hosts.
#[derive(Debug)]
pub(crate) struct Uplink<'a> {
    world: &'a mut World,
    host: HostId,
}

impl Uplink<'_> {
    /// Host that sends over this uplink.
    #[inline]
    pub(crate) fn host(&self) -> HostId {
        self.host
    }

    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.world.now
    }

    #[inline]
    pub(crate) fn packet(&self, id: PacketId) -> &Packet {
        &self.world.packets[id]
    }

    #[inline]
    pub(crate) fn packet_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.world.packets[id]
    }

    /// Number of live packets in the whole network.
    #[inline]
    pub(crate) fn packets(&self) -> usize {
        self.world.packets.len()
    }

    /// Creates a packet without telemetry reports.
    #[inline]
    pub(crate) fn create(&mut self, packet: Packet) -> PacketId {
        let id = self.world.packets.insert(packet);
        self.world.telemetry.begin(id);
        id
    }

    /// Removes a packet from the network.
    #[inline]
    pub(crate) fn remove(&mut self, id: PacketId) {
        self.world.packets.remove(id);
    }

    /// Telemetry reports that switches have added to a packet. The reports are still valid if the
    /// packet was just removed.
    #[inline]
    pub(crate) fn reports(&self, id: PacketId) -> &[HopReport] {
        self.world.telemetry.reports(id)
    }

    /// Lets switches add telemetry reports to an ACK, in addition to the reports of its data
    /// packet.
    #[cold]
    pub(crate) fn go_on_reporting(&mut self, id: PacketId, scope: TelemetryScope) {
        self.world.telemetry.go_on(id, scope);
    }

    /// Claims the uplink for a waiting packet. True if the host may send now. False if the host
    /// must wait: the engine notifies the host when the uplink is idle.
    #[inline]
    pub(crate) fn claim(&mut self) -> bool {
        self.world.claim(self.host.uplink())
    }

    /// Sends a packet over the uplink. `more` states whether another packet waits.
    #[inline]
    pub(crate) fn transmit(&mut self, id: PacketId, more: bool) {
        let header = self.world.packets[id].header;
        self.world.transmit(self.host.uplink(), id, header, more);
    }

    /// Sets the timer of a flow's sender: retransmission, or the next segment of a paced flow.
    #[inline]
    pub(crate) fn set_sender_timer(&mut self, at: Time, slot: FlowSlot) {
        self.world.timers.push(at, Timer::Sender(slot));
    }

    /// Sets the timer of a sender that waits for its pace.
    #[inline]
    pub(crate) fn set_pace_timer(&mut self, at: Time, slot: FlowSlot) {
        self.world.timers.push(at, Timer::Pace(slot));
    }

    /// Sets the timer of a receiver that delays an ACK.
    #[inline]
    pub(crate) fn set_delayed_ack_timer(&mut self, at: Time, slot: FlowSlot) {
        self.world.timers.push(at, Timer::DelayedAck(slot));
    }

    /// Sets a timer at the present instant for a message that waited for a connection.
    pub(crate) fn wake_message(&mut self, slot: FlowSlot) {
        let now = self.world.now;
        self.world.timers.push(now, Timer::Connection(slot));
    }
}

/// Access of a switch to the network: the links of its ports, and packets at the switch.
#[derive(Debug)]
pub(crate) struct Ports<'a> {
    world: &'a mut World,
    first: LinkId,
}

impl Ports<'_> {
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.world.now
    }

    #[inline]
    pub(crate) fn packet_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.world.packets[id]
    }

    #[inline]
    pub(crate) fn packet(&self, id: PacketId) -> &Packet {
        &self.world.packets[id]
    }

    /// Egress port and header of a packet that has reached `switch`.
    /// `None` if no route leads to the packet's destination.
    #[inline(always)] // Inlined where packets arrive.
    pub(crate) fn route(&mut self, switch: SwitchId, id: PacketId) -> Option<(u16, Header)> {
        let packet = &mut self.world.packets[id];
        let explicit = packet.flags.has(Flags::EXPLICIT_PATH);
        let port = self.world.routes.port(switch, packet.dst, &mut packet.path, explicit)?;
        Some((port, packet.header))
    }

    /// Whether the link of `port` would send a packet at once.
    #[inline]
    pub(crate) fn is_idle(&self, port: u16) -> bool {
        self.world.is_idle(self.first.at_port(port))
    }

    /// Claims `port` for a waiting packet. True if the port's link is idle or its device has space.
    #[inline]
    pub(crate) fn claim(&mut self, port: u16) -> bool {
        self.world.claim(self.first.at_port(port))
    }

    /// Sends a packet with the header `header` through `port`, whose link is idle. `more` states
    /// whether another packet waits.
    #[inline]
    pub(crate) fn transmit(&mut self, port: u16, id: PacketId, header: Header, more: bool) {
        self.world.transmit(self.first.at_port(port), id, header, more);
    }

    /// Whether any transport of this run requests telemetry from switches.
    #[inline]
    pub(crate) fn wants_reports(&self) -> bool {
        self.world.telemetry.is_wanted()
    }

    /// Link of `port`, the link's rate, and the bytes that the link has sent so far.
    pub(crate) fn sent_through(&self, port: u16) -> (LinkId, BitRate, u64) {
        let id = self.first.at_port(port);
        let link = &self.world.links[id];
        (id, link.account.rate, link.tx_bytes)
    }

    /// Scope of the telemetry that a packet requests, queue or port.
    /// `None` if the packet does not request telemetry.
    pub(crate) fn wanted_report(&self, id: PacketId) -> Option<TelemetryScope> {
        let packet = &self.world.packets[id];
        match (packet.flags.has(Flags::WANTS_TELEMETRY), packet.flags.has(Flags::OF_ITS_QUEUE)) {
            (true, true) => Some(TelemetryScope::Queue),
            (true, false) => Some(TelemetryScope::Port),
            (false, _) => self.world.telemetry.scope_of_ack(id),
        }
    }

    /// Adds a telemetry report of the switch to a packet.
    pub(crate) fn report(&mut self, id: PacketId, report: HopReport) {
        self.world.telemetry.add(id, report);
    }
}
