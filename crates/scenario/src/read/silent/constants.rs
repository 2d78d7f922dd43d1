//! Warns of constants that do not fit the network or the run. Delays are compared with the
//! network's round trip, timers with the run's length. The module also warns of traffic that is too
//! rare.

use super::ScenarioCheck;
use super::idle::used;
use super::switches::key_at;
use crate::model::{InitialWindow, TransportSpec};
use crate::quantity::format_time;
use bufferlab_core::{ParamValue, Profile};
use bufferlab_topology::{Node, Topology};
use bufferlab_transport::find_congestion_control;
use bufferlab_units::Time;
use std::collections::VecDeque;

/// Number of base round trips above which a delay threshold keeps a sender's rate far below the
/// rate of the link for a long time.
const ROUND_TRIPS_MAX: u64 = 3;
/// Largest factor between `base_rtt` in the file and the network's base round trip.
const BASE_RTT_FACTOR: u64 = 2;
/// Largest number of cable ends that a search for the longest round trip visits.
const VISITS_MAX: usize = 20_000_000;
/// Number of expected arrivals below which a workload sends no flow in many runs.
const ARRIVALS_MIN: f64 = 1.0;

/// Warns of constants that contradict the network or the run.
pub(super) fn warn(check: &ScenarioCheck<'_>) {
    // The profile `artifact` copies the setup of a public simulator, so settings without effect get
    // no warning.
    if check.scenario.profile == Profile::Artifact {
        return;
    }
    for (index, transport) in used(check) {
        let Some(longest) = longest_round_trip(&check.scenario.topology, transport) else { continue };
        warn_about_base_rtt(check, index, transport, longest);
        warn_about_delays(check, index, transport, transport.base_rtt.unwrap_or(longest));
        warn_about_late_timeouts(check, index, transport);
    }
    warn_about_intervals(check);
    warn_about_watchdogs(check);
    warn_about_rare_traffic(check);
}

/// Warns if windows and rates are computed with a round trip far from the network's round trip.
fn warn_about_base_rtt(check: &ScenarioCheck<'_>, index: usize, transport: &TransportSpec, longest: Time) {
    let Some(given) = transport.base_rtt.filter(|_| refers_to_round_trip(transport)) else { return };
    let (less, more) = (given.0.saturating_mul(BASE_RTT_FACTOR), longest.0.saturating_mul(BASE_RTT_FACTOR));
    if less >= longest.0 && given.0 <= more {
        return;
    }
    let message = format!(
        "`base_rtt` of \"{}\" is {}, and the longest round trip of this network without queues is {}",
        transport.name,
        format_time(given),
        format_time(longest)
    );
    let help = "windows and rates are computed with it: correct it, or remove it to use the network's";
    check.note(&format!("transport.{index}.base_rtt"), message, "another network's", help);
}

/// Whether windows or rates of the transport are computed with `base_rtt`.
fn refers_to_round_trip(transport: &TransportSpec) -> bool {
    let governs = find_congestion_control(&transport.congestion_control).is_some_and(|info| info.owns_window);
    let window = transport.initial_window == InitialWindow::BandwidthDelay;
    transport.pacing.is_none()
        && (governs || window || transport.rdma.as_ref().is_some_and(|rdma| rdma.window_limit))
}

/// Warns of delay parameters of a congestion control that are far from the round trips of this
/// network.
fn warn_about_delays(check: &ScenarioCheck<'_>, index: usize, transport: &TransportSpec, base: Time) {
    let time = |name: &str| match transport.control_params.iter().find(|(key, _)| key == name) {
        Some((_, ParamValue::Time(time))) => Some(*time),
        _ => None,
    };
    let key = |name: &str| format!("transport.{index}.congestion_control.{name}");
    let control = transport.congestion_control.as_str();
    let creeps = |name: &str, at: Time| {
        let times = at.0 as f64 / base.0 as f64;
        let message = format!(
            "`{name}` of \"{control}\" is {}, {times:.1} times the round trip without queues ({}): until queues are that long, rates only creep up",
            format_time(at),
            format_time(base)
        );
        let help =
            format!("scale it with the network: about {}", format_time(Time(base.0.saturating_mul(3) / 2)));
        check.note(&key(name), message, "far above the round trip", &help);
    };
    let starves = |name: &str, at: Time| {
        let message = format!(
            "`{name}` of \"{control}\" is {}, below the round trip without queues ({}): every round trip counts as congested",
            format_time(at),
            format_time(base)
        );
        check.note(&key(name), message, "below every round trip", "raise it above the round trip");
    };
    match (control, time("low"), time("high"), time("target")) {
        ("timely", _, Some(high), _) if high <= base => starves("high", high),
        ("timely", Some(low), _, _) if low.0 > base.0.saturating_mul(ROUND_TRIPS_MAX) => creeps("low", low),
        ("swift", _, _, Some(target)) if target <= base => starves("target", target),
        _ => {}
    }
}

/// Warns about a timeout that is longer than the run.
fn warn_about_late_timeouts(check: &ScenarioCheck<'_>, index: usize, transport: &TransportSpec) {
    let end = Time(check.scenario.duration.0.saturating_add(check.scenario.drain.0));
    let (key, timeout) = match &transport.rdma {
        Some(rdma) => ("retransmission_timeout", rdma.retransmission_timeout.unwrap_or(Time::ZERO)),
        None => ("min_rto", transport.min_rto),
    };
    if transport.pacing.is_some() || timeout < end {
        return;
    }
    let message = format!(
        "a flow of \"{}\" that times out once cannot end: `{key}` is {}, and the run is over after {}",
        transport.name,
        format_time(timeout),
        format_time(end)
    );
    let help = "raise `drain` (its flows would be missing from all completion times), or lower the timeout";
    check.note(&format!("transport.{index}.{key}"), message, "longer than the run", help);
}

/// Warns about policies with an interval that is not shorter than the run.
fn warn_about_intervals(check: &ScenarioCheck<'_>) {
    let duration = check.scenario.duration;
    let found = check.scenario.switches.iter().enumerate().find_map(|(at, switch)| {
        let params = switch.policy_params.iter();
        let late = params.filter_map(|(name, value)| match value {
            ParamValue::Time(time) if name.ends_with("interval") && *time >= duration => Some((name, *time)),
            _ => None,
        });
        late.into_iter().next().map(|(name, time)| (at, name.clone(), time))
    });
    if let Some((switch, name, time)) = found {
        let message = format!(
            "`{name}` of \"{}\" is {}, and flows start for {} only: the policy keeps the values of the empty switch",
            check.scenario.switches[switch].policy,
            format_time(time),
            format_time(duration)
        );
        let help = "lower it (a round-trip time is usual), or raise `duration`";
        check.note(&key_at(check, switch, &format!("policy.{name}")), message, "never updated", help);
    }
}

/// Warns about watchdogs that cannot detect a storm within the run.
fn warn_about_watchdogs(check: &ScenarioCheck<'_>) {
    let end = Time(check.scenario.duration.0.saturating_add(check.scenario.drain.0));
    let found = check.scenario.switches.iter().enumerate().find_map(|(at, switch)| {
        let watchdog = switch.pfc.as_ref()?.watchdog.as_ref()?;
        (watchdog.detection >= end).then_some((at, watchdog.detection))
    });
    if let Some((switch, detection)) = found {
        let message = format!(
            "the watchdog finds a storm after {} at the earliest, and the run is over after {}",
            format_time(detection),
            format_time(end)
        );
        let help = "lower `detection_time`, or raise `duration`";
        let key = key_at(check, switch, "pfc.watchdog.detection_time");
        check.note(&key, message, "never finds a storm", help);
    }
}

/// Warns about workloads that most likely send no flow during the run.
fn warn_about_rare_traffic(check: &ScenarioCheck<'_>) {
    let seconds = check.scenario.duration.0 as f64 / 1e12;
    for (index, spec) in check.scenario.workloads.iter().enumerate() {
        let Some(rate) = spec.workload.arrivals_per_second() else { continue };
        let expected = rate * seconds;
        if expected >= ARRIVALS_MIN {
            continue;
        }
        let message = format!(
            "\"{}\" is expected to start {expected:.2} times in {}: most runs see nothing of it",
            spec.class,
            format_time(check.scenario.duration)
        );
        let help = "raise `duration`, its load or its rate of queries";
        check.note(&format!("workload.{index}"), message, "too rare", help);
    }
}

/// Returns the longest round trip of a full segment and its ACK between two hosts, without queues,
/// along paths with the fewest hops. The result is `None` if no two hosts reach each other, or if
/// the network is too large to search.
fn longest_round_trip(topology: &Topology, transport: &TransportSpec) -> Option<Time> {
    let sources = one_host_of_each_kind(topology);
    if sources.len().saturating_mul(topology.links.len()) > VISITS_MAX {
        return None;
    }
    let bytes = [u64::from(transport.segment_bytes + transport.header_bytes), u64::from(transport.ack_bytes)];
    // Neighbours of each node, with the round trip over the cable (ps).
    let mut cables: Vec<Vec<(usize, u64)>> = vec![Vec::new(); topology.hosts.len() + topology.switches.len()];
    for spec in &topology.links {
        let slowest = spec.rate_ab.min(spec.rate_ba);
        let round_trip =
            bytes.iter().fold(2 * spec.delay.0, |sum, bytes| sum + slowest.serialization(*bytes).0);
        let (a, b) = (place(topology, spec.a), place(topology, spec.b));
        cables[a].push((b, round_trip));
        cables[b].push((a, round_trip));
    }
    let mut longest = None;
    for &source in &sources {
        let mut reached: Vec<Option<(u32, u64)>> = vec![None; cables.len()];
        let mut queue = VecDeque::from([source]);
        reached[source] = Some((0, 0));
        while let Some(node) = queue.pop_front() {
            let (hops, time) = reached[node].unwrap_or_default();
            // A search for paths ends at hosts, because hosts do not forward packets.
            if node < topology.hosts.len() && node != source {
                continue;
            }
            for &(next, round_trip) in &cables[node] {
                let found = (hops + 1, time + round_trip);
                match reached[next] {
                    None => queue.push_back(next),
                    Some(known) if known.0 == found.0 && known.1 > found.1 => {}
                    Some(_) => continue,
                }
                reached[next] = Some(found);
            }
        }
        let hosts = reached[..topology.hosts.len()].iter().enumerate();
        let far =
            hosts.filter(|(host, _)| *host != source).filter_map(|(_, at)| at.map(|(_, time)| Time(time)));
        longest = longest.max(far.max());
    }
    longest
}

/// Number of a node in the search: hosts come first, then switches.
fn place(topology: &Topology, node: Node) -> usize {
    match node {
        Node::Host(host) => host as usize,
        Node::Switch(switch) => topology.hosts.len() + switch as usize,
    }
}

/// Returns one host for every switch and kind of cable. Other hosts with this kind of cable have
/// equal distances.
fn one_host_of_each_kind(topology: &Topology) -> Vec<usize> {
    let mut kinds = Vec::new();
    let mut sources = Vec::new();
    for host in 0..topology.hosts.len() {
        let spec = &topology.links[topology.host_link(host as u32) as usize];
        let peer = if spec.a == Node::Host(host as u32) { spec.b } else { spec.a };
        let kind = (place(topology, peer), spec.rate_ab, spec.rate_ba, spec.delay);
        if !kinds.contains(&kind) {
            kinds.push(kind);
            sources.push(host);
        }
    }
    sources
}
