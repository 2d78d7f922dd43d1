//! Columns of the matrix, with the consequence of an empty cell.

use super::{Column, Gap, Numbers, Traffic, error, hint, warning};
use crate::config::{Assigned, Config, MapKind, Model, Profile};
use crate::keys::PortName;
use crate::resolve::Resolved;

/// Whether the configuration uses the column of the matrix, so that missing entries are findings.
pub(super) fn is_present(config: &Config, column: &Column) -> bool {
    let names = |kinds: &[MapKind]| {
        let mut all = config.port_qos.values().chain(&config.global_qos);
        all.any(|qos| kinds.iter().any(|kind| qos.maps.contains_key(kind)))
    };
    let any = |tables: &[&str], kinds: &[MapKind]| {
        tables.iter().any(|table| config.has_table(table)) || names(kinds)
    };
    let has_field = match column.field {
        "dscp_to_tc_map" => {
            any(&["DSCP_TO_TC_MAP", "DOT1P_TO_TC_MAP"], &[MapKind::DscpToTc, MapKind::Dot1pToTc])
        }
        "tc_to_pg_map" => any(&["TC_TO_PRIORITY_GROUP_MAP"], &[MapKind::TcToPg]),
        "tc_to_queue_map" => any(&["TC_TO_QUEUE_MAP"], &[MapKind::TcToQueue]),
        "pfc_to_queue_map" => {
            any(&["MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_QUEUE_MAP"], &[MapKind::PfcToQueue])
        }
        _ => true,
    };
    // VOQ systems name the queues of all cards as "host|asic|port".
    let local = |(port, _): &(PortName, u8)| !port.is_remote();
    let is_local = match column.table {
        "BUFFER_QUEUE" => config.queues.is_empty() || config.queues.keys().any(local),
        "QUEUE" => config.queue_settings.is_empty() || config.queue_settings.keys().any(local),
        _ => true,
    };
    has_field && is_local && config.has_table(column.table)
}

pub(super) fn has_marking(config: &Config, port: &PortName, queue: u8) -> bool {
    config.queue_settings.get(&(port.clone(), queue)).is_some_and(|setting| setting.wred.is_some())
}

fn names_map(config: &Config, port: &PortName, kind: MapKind) -> bool {
    config.port_qos.get(port).is_some_and(|qos| qos.maps.contains_key(&kind))
}

/// Whether the port has no entry in `PORT_QOS_MAP`; a separate column of the matrix reports this
/// gap.
fn has_no_qos(config: &Config, port: &PortName) -> bool {
    !config.port_qos.contains_key(port)
}

/// Whether all ports have a common QoS map of the kind `kind`.
fn is_global(config: &Config, kind: MapKind) -> bool {
    config.global_qos.as_ref().is_some_and(|qos| qos.maps.contains_key(&kind))
}

fn is_paused(traffic: &Traffic<'_>, port: &PortName) -> bool {
    !traffic.reach(port).pfc.is_empty()
}

/// All columns of the matrix. If an entry is missing, the columns of its fields report no gap.
pub(super) const COLUMNS: &[Column] = &[
    Column {
        table: "PORT",
        field: "",
        numbers: Numbers::Port,
        has: |config, port, _| config.ports.contains_key(port),
        needs: |_, _, _| warning("the switch has no such port, so its buffers and maps have no effect"),
    },
    Column {
        table: "PORT",
        field: "speed",
        numbers: Numbers::Port,
        has: |config, port, _| config.ports.get(port).is_none_or(|info| info.speed_mbps.is_some()),
        needs: |traffic, port, _| match is_paused(traffic, port) && makes_profiles(traffic.config, port) {
            true => error("without a speed the switch makes no lossless profile"),
            false => hint("limits and headroom of the port cannot be judged"),
        },
    },
    Column {
        table: "PORT",
        field: "mtu",
        numbers: Numbers::Port,
        has: |config, port, _| config.ports.get(port).is_none_or(|info| info.mtu.is_some()),
        needs: |_, _, _| None,
    },
    Column {
        table: "CABLE_LENGTH",
        field: "",
        numbers: Numbers::Port,
        has: |config, port, _| config.cables.contains_key(port),
        needs: |traffic, port, _| match is_paused(traffic, port) && makes_profiles(traffic.config, port) {
            true => {
                error("without a length the switch makes no lossless profile: there is PFC without headroom")
            }
            false => None,
        },
    },
    Column {
        table: "BUFFER_PG",
        field: "",
        numbers: Numbers::Group,
        has: has_group,
        needs: |traffic, port, group| {
            let reach = traffic.reach(port);
            if !reach.groups.contains(&group) && !reach.pfc.contains(&group) {
                None
            } else if traffic.lossless.contains(&group) {
                error("packets that are lossless on other ports have no buffer here, and are lost")
            } else {
                warning("packets enter this group, and the chip's default limits them")
            }
        },
    },
    Column {
        table: "BUFFER_QUEUE",
        field: "",
        numbers: Numbers::Queue,
        has: |config, port, queue| config.queues.contains_key(&(port.clone(), queue)),
        needs: |traffic, port, queue| {
            let reach = traffic.reach(port);
            if reach.paused.contains(&queue) {
                error("lossless packets leave by this queue, and the chip's default limits them")
            } else if reach.queues.contains(&queue) {
                warning("packets leave by this queue, and the chip's default limits them")
            } else {
                None
            }
        },
    },
    Column {
        table: "BUFFER_PORT_INGRESS_PROFILE_LIST",
        field: "",
        numbers: Numbers::Port,
        has: |config, port, _| config.ingress_lists.contains_key(port),
        needs: |traffic, port, _| {
            unless_idle(traffic, port, "the chip's default limits the port in its ingress pools")
        },
    },
    Column {
        table: "BUFFER_PORT_INGRESS_PROFILE_LIST",
        field: "profile_list",
        numbers: Numbers::Port,
        has: |config, port, _| {
            let list = config.ingress_lists.get(port).map(|list| list.value.as_slice());
            list.is_none_or(|list| {
                (0..8).all(|group| covers(config, list, config.group(port, group).profile()))
            })
        },
        needs: |_, _, _| warning("a pool of the port's groups has no profile in the list"),
    },
    Column {
        table: "BUFFER_PORT_EGRESS_PROFILE_LIST",
        field: "",
        numbers: Numbers::Port,
        has: |config, port, _| config.egress_lists.contains_key(port),
        needs: |traffic, port, _| {
            unless_idle(traffic, port, "the chip's default limits the port in its egress pools")
        },
    },
    Column {
        table: "BUFFER_PORT_EGRESS_PROFILE_LIST",
        field: "profile_list",
        numbers: Numbers::Port,
        has: |config, port, _| {
            let list = config.egress_lists.get(port).map(|list| list.value.as_slice());
            list.is_none_or(|list| {
                (0..8).all(|queue| covers(config, list, config.queue(port, queue).profile()))
            })
        },
        needs: |_, _, _| warning("a pool of the port's queues has no profile in the list"),
    },
    Column {
        table: "PORT_QOS_MAP",
        field: "",
        numbers: Numbers::Port,
        has: |config, port, _| config.port_qos.contains_key(port),
        needs: |_, _, _| {
            warning("the port has no maps and no PFC: lossless packets that enter there can be lost")
        },
    },
    Column {
        table: "PORT_QOS_MAP",
        field: "dscp_to_tc_map",
        numbers: Numbers::Port,
        has: |config, port, _| {
            let of_port = |kind| names_map(config, port, kind);
            has_no_qos(config, port) || of_port(MapKind::DscpToTc) || of_port(MapKind::Dot1pToTc)
        },
        needs: |traffic, port, _| match is_paused(traffic, port) {
            _ if is_global(traffic.config, MapKind::DscpToTc) => hint("the map of the switch applies"),
            true => error("every packet is in class 0, and lossless groups are never used"),
            false => warning("every packet is in class 0"),
        },
    },
    Column {
        table: "PORT_QOS_MAP",
        field: "tc_to_pg_map",
        numbers: Numbers::Port,
        has: |config, port, _| has_no_qos(config, port) || names_map(config, port, MapKind::TcToPg),
        needs: |traffic, port, _| match is_paused(traffic, port) {
            true => error("every packet enters group 0, and lossless groups are never used"),
            false => hint("every packet enters group 0"),
        },
    },
    Column {
        table: "PORT_QOS_MAP",
        field: "tc_to_queue_map",
        numbers: Numbers::Port,
        has: |config, port, _| has_no_qos(config, port) || names_map(config, port, MapKind::TcToQueue),
        needs: |traffic, port, _| match is_paused(traffic, port) {
            true => error("every packet leaves by queue 0, and lossless queues are never used"),
            false => warning("every packet leaves by queue 0"),
        },
    },
    Column {
        table: "PORT_QOS_MAP",
        field: "pfc_to_queue_map",
        numbers: Numbers::Port,
        has: |config, port, _| has_no_qos(config, port) || names_map(config, port, MapKind::PfcToQueue),
        needs: |traffic, port, _| match is_paused(traffic, port) {
            true => {
                hint("no map says which queue a pause stops: most chips stop the queue of the same number")
            }
            false => None,
        },
    },
    Column {
        table: "PORT_QOS_MAP",
        field: "pfc_enable",
        numbers: Numbers::Port,
        has: |config, port, _| {
            let qos = config.port_qos.get(port);
            qos.is_none_or(|qos| qos.pfc_enable.is_some())
        },
        needs: |traffic, port, _| {
            let has_lossless = (0..8).any(|group| match traffic.config.group(port, group) {
                Resolved::Profile(profile) => profile.is_lossless(),
                Resolved::Computed(_) => true,
                _ => false,
            });
            if has_lossless { error("the port has lossless groups, and never pauses anybody") } else { None }
        },
    },
    Column {
        table: "PORT_QOS_MAP",
        field: "pfcwd_sw_enable",
        numbers: Numbers::Priority,
        has: |config, port, priority| {
            let qos = config.port_qos.get(port);
            let watched = qos.and_then(|qos| qos.watchdog.as_ref());
            watched.is_some_and(|watched| watched.value.contains(&priority))
        },
        needs: |traffic, port, priority| match traffic.reach(port).pfc.contains(&priority) {
            true if traffic.any_watchdog => hint("a storm of pauses of this priority is never broken"),
            _ => None,
        },
    },
    Column {
        table: "QUEUE",
        field: "scheduler",
        numbers: Numbers::Queue,
        has: |config, port, queue| {
            let setting = config.queue_settings.get(&(port.clone(), queue));
            setting.is_some_and(|setting| setting.scheduler.is_some())
        },
        needs: |traffic, port, queue| {
            let reach = traffic.reach(port);
            let used = reach.queues.contains(&queue) || reach.paused.contains(&queue);
            if used { hint("the chip's default scheduler serves the queue") } else { None }
        },
    },
    Column {
        table: "QUEUE",
        field: "wred_profile",
        numbers: Numbers::Queue,
        has: has_marking,
        needs: |traffic, port, queue| match traffic.reach(port).paused.contains(&queue) {
            true if traffic.any_marking => warning(
                "senders of this lossless queue are paused and never marked, other lossless queues mark",
            ),
            _ => None,
        },
    },
    Column {
        table: "PFC_WD",
        field: "",
        numbers: Numbers::Port,
        has: |config, port, _| config.watchdogs.contains_key(port),
        needs: |traffic, port, _| match is_paused(traffic, port) {
            true => hint("no watchdog runs on the port, and a storm of pauses is never broken"),
            false => None,
        },
    },
];

/// Returns the gap of an empty cell as a warning. If the port has no queue but other ports have
/// queues, the gap is a hint: the port is probably not in use.
fn unless_idle(traffic: &Traffic<'_>, port: &PortName, consequence: &'static str) -> Option<Gap> {
    let queues = &traffic.config.queues;
    let within = (port.clone(), 0)..=(port.clone(), u8::MAX);
    let is_idle = !queues.is_empty() && queues.range(within).next().is_none();
    if is_idle { hint(consequence) } else { warning(consequence) }
}

/// Whether the switch makes lossless profiles for this port, because no entry assigns a profile.
fn makes_profiles(config: &Config, port: &PortName) -> bool {
    let is_made = |group: u8| match config.groups.get(&(port.clone(), group)) {
        None => config.model() == Model::Traditional,
        Some(assigned) => assigned.value == Assigned::Computed,
    };
    config.lossless_priorities(port).into_iter().any(is_made)
}

/// Whether a priority group has a profile, or the switch makes a profile for it. The rules SB005
/// and SB007 and the columns of speed and cable judge profiles that the switch makes.
fn has_group(config: &Config, port: &PortName, group: u8) -> bool {
    if config.groups.contains_key(&(port.clone(), group)) {
        return true;
    }
    config.lossless_priorities(port).contains(&group)
        && (config.model() == Model::Traditional || !config.groups.is_empty())
}

/// Whether the profile list `list` of a port has a profile for the pool of `profile`.
fn covers(config: &Config, list: &[String], profile: Option<&Profile>) -> bool {
    let Some(pool) = profile.and_then(|profile| profile.pool.as_ref()) else { return true };
    let of_pool = |name: &String| match config.profiles.get(name) {
        Some(listed) => listed.pool.as_ref().is_some_and(|listed| listed.value == pool.value),
        // Another rule reports a profile that does not exist.
        None => true,
    };
    list.iter().any(of_pool)
}
