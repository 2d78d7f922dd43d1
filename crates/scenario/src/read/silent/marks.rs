//! Warns of congestion marks that no packet ever gets: on unused priorities, or beyond the queue
//! length at which the policy drops packets.

use super::ScenarioCheck;
use super::idle::{data_mask, priorities, priorities_are_unknown, used};
use super::switches::key_at;
use crate::model::SwitchSpec;
use bufferlab_core::{
    Admission, DropReason, Ecn, Header, MARKING_RULES, POLICIES, Packet, Policy, Profile, Switch,
    SwitchConfig, Tags,
};
use bufferlab_units::{BitRate, Time};

/// Maximum number of packets that a trial offers to a switch; larger memories are not tried.
const TRIAL_PACKETS: usize = 400_000;
/// Number of packets that pass through the full queues of a trial, enough for a rule that marks one
/// packet in a thousand.
const PASSING: usize = 10_000;
/// Packet size of a trial if no transport gives a size (bytes).
const USUAL_PACKET: u32 = 1_500;

/// Warns of marking rules that cannot mark the sent packets.
pub(super) fn warn(check: &ScenarioCheck<'_>) {
    let scenario = check.scenario;
    // The profile `artifact` copies the setup of a public simulator, so settings without effect get
    // no warning.
    if scenario.profile == Profile::Artifact || priorities_are_unknown(&scenario.workloads) {
        return;
    }
    let capable = used(check).filter(|(_, transport)| transport.ecn_capable);
    let sent = capable.fold(0, |mask, (_, transport)| mask | data_mask(transport));
    if sent == 0 {
        return;
    }
    warn_about_priorities(check, sent);
    warn_about_reach(check, sent);
}

/// Warns about marking on priorities that no ECN-capable transport uses.
fn warn_about_priorities(check: &ScenarioCheck<'_>, sent: u32) {
    let switches = &check.scenario.switches;
    // `marking` has every switch that marks, and its marked priorities. If no switch marks the sent
    // packets, the warning names the priorities of the first switch.
    let marking: Vec<(usize, u32)> =
        switches.iter().enumerate().filter_map(|(at, switch)| Some((at, marked(switch)?))).collect();
    let Some(&(switch, mask)) = marking.first() else { return };
    if marking.iter().any(|(_, mask)| mask & sent != 0) {
        return;
    }
    let message = format!(
        "switches mark {}, and transports that react to marks send data on {}",
        priorities(mask),
        priorities(sent)
    );
    let help = "name the priority of the data in `priorities` of [switch.ecn], or leave `priorities` out to mark all";
    check.note(&key_at(check, switch, "ecn.priorities"), message, "marks nothing", help);
}

/// Returns the marked priorities of a switch as a mask: bit p for priority p. `None` if the switch
/// marks no packets.
fn marked(switch: &SwitchSpec) -> Option<u32> {
    let ecn = switch.ecn.as_ref()?;
    Some(match &ecn.priorities {
        None => u32::MAX,
        Some(list) => list.iter().fold(0, |mask, priority| mask | 1 << priority),
    })
}

/// Warns of marking that begins at a length which no queue reaches, because the policy drops
/// packets at shorter lengths.
fn warn_about_reach(check: &ScenarioCheck<'_>, sent: u32) {
    let mut tried: Vec<&SwitchSpec> = Vec::new();
    for (at, switch) in check.scenario.switches.iter().enumerate() {
        let Some(mask) = marked(switch).map(|mask| mask & sent).filter(|mask| *mask != 0) else { continue };
        if tried.contains(&switch) {
            continue;
        }
        tried.push(switch);
        let priority = mask.trailing_zeros() as u8;
        let rates = check.scenario.topology.switch_port_rates(at as u32);
        let Some(longest) = longest_unmarked(check, switch, rates, priority) else { continue };
        let message = format!(
            "no packet is ever marked at \"{}\": \"{}\" drops before a queue is long enough (a lone queue ends at {})",
            check.scenario.topology.switches[at],
            switch.policy,
            crate::quantity::format_size(longest)
        );
        let help = "lower the threshold (kmin of RED) below that length, or let the policy give a queue more of the buffer";
        check.note(&key_at(check, at, "ecn"), message, "beyond the reach of any queue", help);
        return;
    }
}

/// Returns the queue length at which the policy drops packets (bytes), if the rule marks no packet
/// in two trials. The trials fill one queue alone, and a queue of every port. The result is `None`
/// if a packet is marked, or if a trial would take too long.
fn longest_unmarked(
    check: &ScenarioCheck<'_>,
    switch: &SwitchSpec,
    rates: Vec<BitRate>,
    priority: u8,
) -> Option<u64> {
    // A custom policy or rule may have state that a trial run would change.
    let rule = &switch.ecn.as_ref()?.kind;
    let is_built_in = POLICIES.iter().any(|info| info.name == switch.policy)
        && MARKING_RULES.iter().any(|info| info.name == rule);
    // A limited rate lengthens the waits of packets, which a trial at full rate does not see.
    if !is_built_in || rates.len() < 2 || switch.classifier.is_some() || switch.limits_rates() {
        return None;
    }
    let mut trial = Trial::new(check, switch, rates.clone(), priority)?;
    let longest = trial.fill(&[0])?;
    if trial.any_marked_of(&[0]) {
        return None;
    }
    let ports: Vec<u16> = (0..rates.len() as u16).collect();
    let mut trial = Trial::new(check, switch, rates, priority)?;
    trial.fill(&ports)?;
    (!trial.any_marked_of(&ports)).then_some(longest)
}

/// Trial of a separate switch, which is filled with ECN-capable packets.
struct Trial {
    core: Switch<Box<dyn Policy>>,
    size: u32,
    priority: u8,
    tags: Tags,
    ports: u16,
    rate: BitRate,
    now: Time,
    sent: u32,
    marks: bool,
}

impl Trial {
    /// Creates a trial. The result is `None` if policy, marking rule and buffer do not fit
    /// together; other checks report this mistake.
    fn new(check: &ScenarioCheck<'_>, spec: &SwitchSpec, rates: Vec<BitRate>, priority: u8) -> Option<Self> {
        let transports = check.scenario.transports.iter();
        let largest = transports.map(|t| t.segment_bytes + t.header_bytes).max().unwrap_or(USUAL_PACKET);
        let size = largest.saturating_sub(spec.uncharged_bytes).max(1);
        let queues_per_port = usize::from(spec.queues_per_port);
        let slices = u64::from(spec.hardware.slices.max(1));
        let (ports, rate) = (rates.len() as u16, *rates.iter().max()?);
        let mut config = SwitchConfig {
            queues_per_port,
            max_packet: u64::from(size),
            scheduler: spec.scheduler_of(&(0..rates.len())).ok()?,
            profile: check.scenario.profile,
            seed: check.scenario.seed,
            hardware: spec.hardware.switch,
            lossless: spec.lossless(),
            lossless_by_port: spec.pfc.as_ref().map_or_else(Vec::new, |pfc| pfc.masks_by_port(rates.len())),
            ..SwitchConfig::new(spec.buffer_bytes / slices, rates)
        };
        let marker = spec.ecn.as_ref()?.marker(&config.shape()).ok()?;
        // If the whole buffer is too small, the reader of marking rules has already warned.
        if marker.rule.least_length() >= spec.buffer_bytes {
            return None;
        }
        config.marker = Some(marker);
        let core = config.build(&spec.policy, &spec.policy_params).ok()?;
        // A policy stores more packets with a favoured tag, so the trial uses this tag.
        let is_tagged = used(check).any(|(_, transport)| transport.unscheduled_bytes > 0);
        let tags = if is_tagged { Tags::UNSCHEDULED } else { Tags::NONE };
        Some(Self { core, size, priority, tags, ports, rate, now: Time::ZERO, sent: 0, marks: false })
    }

    /// Offers one packet for the egress port `egress`, and returns whether the switch stored the
    /// packet.
    fn arrive(&mut self, egress: u16) -> bool {
        let packet = Packet {
            id: self.sent,
            header: Header {
                flow: self.sent % 64,
                tags: self.tags,
                priority: self.priority,
                ecn: Ecn::Capable,
                ..Header::new(self.size)
            },
            ingress_port: (egress + 1 + self.sent as u16 % (self.ports - 1)) % self.ports,
            egress_port: egress,
        };
        self.sent += 1;
        match self.core.handle_arrival(self.now, &packet, &mut ()) {
            Admission::Stored { marked } => {
                self.marks |= marked;
                true
            }
            Admission::Refused(refusal) => {
                // A drop by the marking rule itself shows that queues reach the thresholds of the
                // rule.
                self.marks |= refusal.reason == DropReason::Early;
                false
            }
        }
    }

    /// Fills the queues of `ports` until each queue has refused a packet. Returns the length of
    /// the first queue (bytes).
    fn fill(&mut self, ports: &[u16]) -> Option<u64> {
        let mut open = ports.to_vec();
        let mut first = 0;
        for _ in 0..TRIAL_PACKETS {
            if open.is_empty() {
                return Some(first);
            }
            open.retain(|&port| {
                let stored = self.arrive(port);
                first += if stored && port == ports[0] { u64::from(self.size) } else { 0 };
                stored
            });
            if self.sent as usize > TRIAL_PACKETS {
                return None;
            }
        }
        None
    }

    /// Sends packets from the full queues and refills the queues, as long as the marking rule may
    /// still mark a packet. Returns whether the rule marked a packet.
    fn any_marked_of(&mut self, ports: &[u16]) -> bool {
        let gap = self.rate.serialization(u64::from(self.size));
        for _ in 0..PASSING.div_ceil(ports.len()) {
            for &port in ports {
                if let Some(sent) = self.core.poll_transmit(self.now, port, &mut ()) {
                    self.marks |= sent.marked;
                }
                self.arrive(port);
            }
            if self.marks {
                return true;
            }
            self.now += gap;
            if self.core.poll_timeout().is_some_and(|due| due <= self.now) {
                self.core.handle_timeout(self.now, &mut ());
            }
        }
        self.marks
    }
}
