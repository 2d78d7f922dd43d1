//! Warns of mechanisms that no part of the scenario uses: lossless priorities without traffic, tags
//! that no host writes, classes that no flow belongs to.

use super::ScenarioCheck;
use super::switches::key_at;
use crate::model::{SwitchSpec, TransportSpec, WorkloadSpec};
use bufferlab_core::{ParamValue, Profile};
use bufferlab_workload::WORKLOADS;

/// Name of the workload whose packets may have priorities that differ from the transport's
/// priorities.
const TRACE: &str = "trace";

/// Warns of priorities and tags that policies and flow control need, but no packet has.
pub(super) fn warn(check: &ScenarioCheck<'_>) {
    // The profile `artifact` copies the setup of a public simulator, so settings without effect get
    // no warning.
    if check.scenario.profile == Profile::Artifact {
        return;
    }
    warn_about_lossless_priorities(check);
    warn_about_lossy_acknowledgements(check);
    warn_about_tags(check);
    warn_about_classes(check);
}

/// Returns the transports that a workload uses, with their numbers.
pub(super) fn used<'a>(check: &'a ScenarioCheck<'_>) -> impl Iterator<Item = (usize, &'a TransportSpec)> {
    let transports = check.scenario.transports.iter().enumerate();
    transports.filter(|(index, _)| check.used[*index])
}

/// Returns the priorities of a transport's data packets as a mask: bit p is set for priority p.
pub(super) fn data_mask(transport: &TransportSpec) -> u32 {
    let last = transport.pias_thresholds_bytes.len() as u32;
    let of = |priority: &u8| (0..=last).fold(0u32, |mask, step| mask | bit(u32::from(*priority) + step));
    transport.data_priorities.iter().fold(0, |mask, priority| mask | of(priority))
}

fn bit(priority: u32) -> u32 {
    1u32.checked_shl(priority).unwrap_or(0)
}

/// Whether packets may have priorities that no transport names: packets of traces and of
/// custom workloads.
pub(super) fn priorities_are_unknown(workloads: &[WorkloadSpec]) -> bool {
    let custom = WORKLOADS.custom();
    let is_custom = |kind: &str| kind.is_empty() || custom.iter().any(|info| info.name == kind);
    workloads.iter().any(|spec| spec.kind == TRACE || is_custom(&spec.kind))
}

/// Warns if senders use other priorities than the lossless priorities.
fn warn_about_lossless_priorities(check: &ScenarioCheck<'_>) {
    let scenario = check.scenario;
    let lossless = scenario.switches.iter().fold(0, |mask, switch| mask | switch.lossless());
    if lossless == 0 || priorities_are_unknown(&scenario.workloads) {
        return;
    }
    let words = priorities(lossless);
    let mut is_said = false;
    for (index, transport) in used(check).filter(|(_, transport)| transport.rdma.is_some()) {
        let mask = data_mask(transport);
        if mask & lossless == 0 {
            let message = format!(
                "\"{}\" sends RDMA on {}, which every switch may drop: {words} is lossless, and its senders alone are paused",
                transport.name,
                priorities(mask)
            );
            let help = format!(
                "set data_priority = {} in this [[transport]], or add its priority to `priorities` in [switch.pfc]",
                lossless.trailing_zeros()
            );
            check.note(&format!("transport.{index}.data_priority"), message, "lossy", &help);
            is_said = true;
        } else if let Some((switch, name)) = lossy_hop(check, mask) {
            let message = format!(
                "\"{}\" sends RDMA on {}, which is lossless at other switches, and lossy at \"{name}\"",
                transport.name,
                priorities(mask & lossless)
            );
            let help = "add the priority to `priorities` of [switch.pfc] at every switch on the way";
            check.note(&key_at(check, switch, "pfc"), message, "packets are dropped here", help);
            is_said = true;
        }
    }
    let sent = used(check).fold(0, |mask, (_, transport)| mask | data_mask(transport));
    let switch = scenario.switches.iter().position(|switch| switch.lossless() != 0);
    if let Some(switch) = switch.filter(|_| !is_said && sent != 0 && sent & lossless == 0) {
        let message = format!(
            "{words} is lossless, and no transport in use sends data on it (they use {}): no sender is ever paused",
            priorities(sent)
        );
        let help = format!(
            "set data_priority = {} in the [[transport]] that is to lose nothing, or remove [switch.pfc]",
            lossless.trailing_zeros()
        );
        check.note(&key_at(check, switch, "pfc.priorities"), message, "nobody sends on it", &help);
    }
}

/// Returns the first switch that may drop packets of a priority in `mask` which is lossless on
/// another switch.
fn lossy_hop<'a>(check: &'a ScenarioCheck<'_>, mask: u32) -> Option<(usize, &'a str)> {
    let switches = &check.scenario.switches;
    let wanted = switches.iter().fold(0, |all, switch| all | switch.lossless()) & mask;
    let at = switches.iter().position(|switch| switch.lossless() & wanted != wanted)?;
    Some((at, &check.scenario.topology.switches[at]))
}

/// Warns of queue pairs that wait for ever for an acknowledgement that a switch may drop.
fn warn_about_lossy_acknowledgements(check: &ScenarioCheck<'_>) {
    let lossless = check.scenario.switches.iter().fold(u32::MAX, |mask, switch| mask & switch.lossless());
    for (index, transport) in used(check) {
        let Some(rdma) = &transport.rdma else { continue };
        let is_lossy = lossless & bit(u32::from(transport.control_priority)) == 0;
        if rdma.retransmission_timeout.is_none() && is_lossy {
            let message = format!(
                "\"{}\" has no retransmission timeout, and its ACKs travel on priority {}, which is lossy: a message whose last ACK is lost never ends",
                transport.name, transport.control_priority
            );
            let help = "set retransmission_timeout, or give ACKs a lossless control_priority";
            check.note(&format!("transport.{index}.control_priority"), message, "ACKs may be lost", help);
        }
    }
}

/// Warns about schemes that favour packets with a tag that no packet has.
fn warn_about_tags(check: &ScenarioCheck<'_>) {
    let mut closed_loop = used(check).filter(|(_, transport)| transport.pacing.is_none()).peekable();
    if closed_loop.peek().is_none() || closed_loop.any(|(_, transport)| transport.unscheduled_bytes > 0) {
        return;
    }
    let Some(switch) = check.scenario.switches.iter().position(favours_unscheduled) else { return };
    let message = format!(
        "\"{}\" gives packets tagged `unscheduled` an alpha of their own, and no transport in use tags any: bursts are judged like all other traffic",
        check.scenario.switches[switch].policy
    );
    let help = "set unscheduled_bytes in each [[transport]] to about one bandwidth-delay product (ABM, section 3.3), or unscheduled_alpha to alpha if you mean it";
    check.note(&key_at(check, switch, "policy"), message, "one of its mechanisms is idle", help);
}

/// Whether a switch treats packets with the tag `unscheduled` differently from other packets.
fn favours_unscheduled(switch: &SwitchSpec) -> bool {
    let param = |name: &str| switch.policy_params.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let Some(ParamValue::Ratio(favoured)) = param("unscheduled_alpha") else { return false };
    let is_off = matches!(param("unscheduled"), Some(ParamValue::Flag(false)));
    let differs = match param("alpha") {
        Some(ParamValue::RatioPerPriority(alphas)) => alphas.iter().any(|alpha| alpha != favoured),
        Some(ParamValue::Ratio(alpha)) => alpha != favoured,
        _ => true,
    };
    !is_off && differs
}

/// Warns of LossPass if no flow may evict packets or no flow's packets can be evicted.
fn warn_about_classes(check: &ScenarioCheck<'_>) {
    if priorities_are_unknown(&check.scenario.workloads) {
        return;
    }
    let sent = used(check).fold(0, |mask, (_, transport)| mask | data_mask(transport));
    let tags = used(check).any(|(_, transport)| transport.small_bytes > 0);
    let found = check.scenario.switches.iter().enumerate().find_map(|(at, switch)| {
        // A classifier may choose other queues for packets, and tag packets as small.
        let applies = switch.policy == "losspass" && switch.classifier.is_none() && sent != 0;
        applies.then(|| idle_class(switch, sent, tags)).flatten().map(|what| (at, what))
    });
    if let Some((switch, what)) = found {
        let message =
            format!("\"losspass\" evicts packets of large flows for those of small ones, and {what}");
        let help = "send small flows on `small_priority` and large ones on `large_priority` (pias_thresholds or data_priority), or set small_bytes with classes = \"tag\"";
        check.note(&key_at(check, switch, "policy"), message, "evicts nothing", help);
    }
}

/// Returns the class of LossPass that has no packets; `None` if all classes have packets.
fn idle_class(switch: &SwitchSpec, sent: u32, tags: bool) -> Option<String> {
    let param = |name: &str| switch.policy_params.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let count = |name: &str| match param(name) {
        Some(ParamValue::Count(count)) => *count as u32,
        _ => 0,
    };
    let lacks = |name: &str| sent & bit(count(name)) == 0;
    let words = |name: &str| format!("no transport in use sends data on `{name}` ({})", count(name));
    match param("classes") {
        Some(ParamValue::Choice(word)) if word == "priority" && lacks("small_priority") => {
            Some(words("small_priority"))
        }
        Some(ParamValue::Choice(word)) if word == "tag" && !tags => {
            Some("no transport in use tags packets `small`".to_owned())
        }
        Some(ParamValue::Choice(word)) if word != "none" && lacks("large_priority") => {
            Some(words("large_priority"))
        }
        _ => None,
    }
}

/// Phrase for a set of priorities: `priority 3`, or `priorities 3 and 4`.
pub(super) fn priorities(mask: u32) -> String {
    let list: Vec<String> = (0..u32::BITS).filter(|p| mask & bit(*p) != 0).map(|p| p.to_string()).collect();
    match &list[..] {
        [one] => format!("priority {one}"),
        [before @ .., last] => format!("priorities {} and {last}", before.join(", ")),
        [] => "no priority".to_owned(),
    }
}
