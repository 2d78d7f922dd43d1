//! Rows of the table of packets: the core's events, with data of the flow and the limits.

use super::View;
use crate::ids::SwitchId;
use crate::switch::{Logged, SwitchNode};
use crate::world::packet::Kind;
use bufferlab_core::{Account, BoundPlace, DropReason, Policy, QueueId};
use bufferlab_metrics::{PacketEvent, PacketRow};

/// Row of an event that has just happened at a switch, while its packet still exists.
pub(crate) fn row(view: View<'_>, switch: SwitchId, logged: &Logged) -> PacketRow {
    let node = &view.switches[switch];
    let (slice, local) = node.at(logged.queue);
    let buffer = slice.core.buffer();
    let (ingress_port, ingress_priority) = buffer.port_and_priority(QueueId(logged.ingress.0));
    let (port, priority) = slice.port_and_priority(local);
    let is_pause = logged.event.is_pause();
    let mut row = PacketRow {
        time_ps: logged.now.0,
        switch: switch.0,
        event: logged.event,
        ingress_port,
        priority: if is_pause { ingress_priority } else { priority },
        size_bytes: logged.size,
        queue_bytes: logged.queue_bytes,
        occupancy_bytes: logged.occupancy_bytes,
        ingress_bytes: logged.ingress_bytes,
        threshold_bytes: logged.packet.and_then(|_| slice.core.threshold(local, logged.tags)),
        account: logged.account.map(account_name),
        reason: if logged.event == PacketEvent::Marked {
            Some("ecn")
        } else {
            logged.reason.map(DropReason::name)
        },
        stored_ps: logged.stay.map(|stay| stay.0),
        ..PacketRow::default()
    };
    if is_pause {
        row.ingress_bytes = buffer.ingress_bytes(logged.ingress);
        row.occupancy_bytes = node.occupancy();
    }
    if let Some(id) = logged.packet {
        let packet = &view.world.packets()[id];
        let info = view.hosts.flow(packet.flow());
        row.port = Some(port);
        row.class = Some(info.spec.class);
        row.flow_id = Some(info.number);
        row.packet = Some(packet.seq);
        row.kind = Some(match packet.flags.kind() {
            Kind::Data => "data",
            Kind::Ack => "ack",
            Kind::Syn => "syn",
            Kind::SynAck => "syn-ack",
        });
    }
    add_bound(node, logged, &mut row);
    row
}

fn account_name(account: Account) -> &'static str {
    match account {
        Account::Shared => "shared",
        Account::Minimum => "minimum",
        Account::Reserved => "reserved",
        Account::Headroom => "headroom",
    }
}

/// Adds to the row the comparison that refused a packet, if the policy names a comparison.
fn add_bound(node: &SwitchNode, logged: &Logged, row: &mut PacketRow) {
    let (Some(arrival), Some(reason)) = (&logged.refused, logged.reason) else { return };
    let (slice, _) = node.at(logged.queue);
    let Some(bound) = slice.core.policy().bound(arrival, reason, slice.core.buffer()) else { return };
    row.bound = Some(match bound.place {
        BoundPlace::Buffer => "buffer",
        BoundPlace::SharedPool => "shared pool",
        BoundPlace::IngressPool => "ingress pool",
        BoundPlace::LossyPool => "egress lossy pool",
        BoundPlace::HeadroomPool => "headroom of all ingress queues",
        BoundPlace::Queue(_) => "queue",
        BoundPlace::FilteredQueue(_) => "filtered queue",
        BoundPlace::Port(_) => "port",
        BoundPlace::SmallFlows(_) => "small flows at the port",
        BoundPlace::Ingress(_) => "ingress queue",
        BoundPlace::Headroom(_) => "headroom of the ingress queue",
        BoundPlace::PortHeadroom(_) => "headroom of the ingress port",
    });
    (row.limit_bytes, row.held_bytes) = (Some(bound.limit), Some(bound.held));
}
