//! Verdicts of all other policies: the registered policies are shadow policies of one switch.
//!
//! A shadow policy sees each arrival before the switch decides, and then the actual outcome. So the
//! policy's state (congested queues, drain rates, port states, flow tables) follows the run of the
//! switch. The verdict concerns the switch's buffer. A shadow policy never sees the effects of its
//! verdicts.

use crate::Hardware;
use crate::buffer::{Buffer, IngressId};
use crate::event::{Observer, SwitchEvent};
use crate::policy::policies;
use crate::policy::{Arrival, Bound, Hooks, PauseDemand, Policy, SwitchShape, Verdict};
use bufferlab_params::{ParamValue, Params};
use bufferlab_units::Time;

/// Number of queues above which the panel excludes policies with timers.
/// A policy with a timer scans every queue every few microseconds, even if no packet arrives.
const QUEUES_WITH_TIMERS_MAX: usize = 4_096;

/// Verdict of one shadow policy about one arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// Name of the shadow policy.
    pub policy: &'static str,
    /// Verdict that the shadow policy would have returned.
    pub verdict: Verdict,
    /// The policy's limit for the packet's queue (bytes), if the policy has a limit.
    pub threshold: Option<u64>,
    /// The comparison by which the shadow policy refuses the packet.
    pub bound: Option<Bound>,
}

#[derive(Debug)]
struct Member {
    name: &'static str,
    policy: Box<dyn Policy>,
    hooks: Hooks,
    /// Empty ingress queues whose senders the policy would pause.
    pausing_empty: Vec<IngressId>,
}

impl Member {
    /// Asks the shadow policy for pauses as a switch does: after an event for which the policy has
    /// `hook`. The panel ignores the answer, but the policy records which senders it paused.
    fn demand_pause(&mut self, hook: Hooks, now: Time, ingress: IngressId, buffer: &Buffer) {
        if !self.hooks.contains(hook) {
            return;
        }
        let policy = &mut self.policy;
        let mut pauses = |id| policy.pause_demand(now, id, buffer) == PauseDemand::Pause;
        self.pausing_empty.retain(|&id| buffer.ingress_bytes(id) == 0 && pauses(id));
        let queues = buffer.queues_per_port();
        let first = ingress.0 / queues * queues;
        let all = if self.hooks.contains(Hooks::PAUSE_PORT) {
            first..first + queues
        } else {
            ingress.0..ingress.0 + 1
        };
        for id in all.map(IngressId) {
            if pauses(id) && buffer.ingress_bytes(id) == 0 && !self.pausing_empty.contains(&id) {
                self.pausing_empty.push(id);
            }
        }
    }

    fn demand_all_pauses(&mut self, now: Time, buffer: &Buffer) {
        if self.hooks.contains(Hooks::PAUSE) {
            for ingress in 0..buffer.ingress_queues() {
                let _ = self.policy.pause_demand(now, IngressId(ingress), buffer);
            }
        }
    }
}

/// Shadow policies with default parameters: all registered policies that can be built for a switch.
#[derive(Debug)]
pub struct Panel {
    members: Vec<Member>,
    absent: Vec<(&'static str, String)>,
    opinions: Vec<Opinion>,
}

impl Panel {
    /// The shadow policies for a switch of the given shape. The policy named in `own` has the given
    /// parameters, and all other policies have their defaults. `hardware` modifies the parameters,
    /// for example by rounding alphas. Policies that refuse the shape are [absent](Self::absent),
    /// for example because the buffer is too small to partition.
    #[must_use]
    pub fn new(shape: &SwitchShape, hardware: &Hardware, own: (&str, &[(String, ParamValue)])) -> Self {
        let member = |info: &'static crate::policy::PolicyInfo| -> Result<Member, String> {
            let given = if info.name == own.0 { own.1 } else { &[] };
            let params =
                Params::resolve(info.params, shape.profile, given).map_err(|error| error.to_string())?;
            let params = hardware.apply(info.params, params);
            let policy = info.construct(&params, shape).map_err(|error| error.to_string())?;
            let queues = shape.queues();
            if queues > QUEUES_WITH_TIMERS_MAX && info.name != own.0 && policy.next_timeout().is_some() {
                return Err(format!(
                    "its timer would look at {queues} queues again and again; it is asked about switches with at most \
                     {QUEUES_WITH_TIMERS_MAX}"
                ));
            }
            Ok(Member { name: info.name, hooks: policy.hooks(), policy, pausing_empty: Vec::new() })
        };
        let mut panel = Self { members: Vec::new(), absent: Vec::new(), opinions: Vec::new() };
        for info in policies() {
            match member(info) {
                Ok(member) => panel.members.push(member),
                Err(reason) => panel.absent.push((info.name, reason)),
            }
        }
        panel
    }

    /// A copy of the panel with the state of its policies.
    ///
    /// # Errors
    /// Returns the name of a policy that cannot be copied.
    pub fn try_clone(&self) -> Result<Self, &'static str> {
        let copy = |member: &Member| {
            let policy = member.policy.boxed_clone().ok_or(member.name)?;
            let (name, hooks) = (member.name, member.hooks);
            Ok(Member { name, policy, hooks, pausing_empty: member.pausing_empty.clone() })
        };
        let members = self.members.iter().map(copy).collect::<Result<_, _>>()?;
        Ok(Self { members, absent: self.absent.clone(), opinions: self.opinions.clone() })
    }

    /// Registered policies that could not be built, and the reasons.
    #[must_use]
    pub fn absent(&self) -> &[(&'static str, String)] {
        &self.absent
    }

    /// Verdicts of the shadow policies about the last arrival.
    #[must_use]
    pub fn opinions(&self) -> &[Opinion] {
        &self.opinions
    }

    /// Runs the timers of the shadow policies that are due until `now`. Every hook of the panel
    /// also runs due timers. During a long silence, a driver may call this method in steps to stay
    /// responsive.
    pub fn catch_up(&mut self, now: Time, buffer: &Buffer) {
        for member in &mut self.members {
            while let Some(due) = member.policy.next_timeout().filter(|due| *due <= now) {
                member.policy.handle_timeout(due, buffer);
                member.demand_all_pauses(due, buffer);
                if member.policy.next_timeout() == Some(due) {
                    break;
                }
            }
        }
    }
}

impl Panel {
    /// Collects the verdicts of the shadow policies about an arrival that the
    /// switch's policy decides.
    fn ask(&mut self, arrival: &Arrival, buffer: &Buffer) {
        self.catch_up(arrival.now, buffer);
        self.opinions.clear();
        for member in &mut self.members {
            let verdict = member.policy.admit(arrival, buffer);
            let threshold = member.policy.threshold(arrival.queue, arrival.header.tags, buffer);
            let refusal = verdict.refusal();
            let bound = refusal.and_then(|refusal| member.policy.bound(arrival, refusal.reason, buffer));
            self.opinions.push(Opinion { policy: member.name, verdict, threshold, bound });
        }
    }

    /// Calls `hook` of every policy that has one of `hooks`. Then asks every policy with the hook
    /// `pause` for pauses, as a switch does after an event.
    fn notify(
        &mut self,
        (hooks, pause): (Hooks, Hooks),
        (now, ingress): (Time, IngressId),
        buffer: &Buffer,
        hook: impl Fn(&mut dyn Policy),
    ) {
        for member in &mut self.members {
            if member.hooks.contains(hooks) {
                hook(&mut *member.policy);
            }
            member.demand_pause(pause, now, ingress, buffer);
        }
    }
}

impl Observer for Panel {
    fn on(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer) {
        match *event {
            SwitchEvent::Arriving(arrival) => self.ask(arrival, buffer),
            // The panel calls no shadow policy, because the switch does not call its own policy.
            SwitchEvent::Bypassing(arrival) => {
                self.catch_up(arrival.now, buffer);
                self.opinions.clear();
            }
            SwitchEvent::Departing(now) => self.catch_up(now, buffer),
            SwitchEvent::Stored { arrival, .. } => {
                let at = (arrival.now, arrival.ingress);
                self.notify((Hooks::ENQUEUE, Hooks::PAUSE), at, buffer, |policy| {
                    policy.on_enqueue(arrival, buffer);
                });
            }
            SwitchEvent::Refused { arrival, refusal, .. } => {
                let at = (arrival.now, arrival.ingress);
                self.notify((Hooks::DROP, Hooks::PAUSE_REFUSED), at, buffer, |policy| {
                    policy.on_drop(arrival, refusal.reason, buffer);
                });
            }
            SwitchEvent::Evicted { now, queue, stored, .. } => {
                self.notify((Hooks::DROP, Hooks::PAUSE), (now, stored.ingress), buffer, |policy| {
                    policy.on_evict(now, queue, stored.header.size, buffer);
                });
            }
            SwitchEvent::Departed(departure) => {
                let at = (departure.now, departure.ingress);
                self.notify((Hooks::DEQUEUE, Hooks::PAUSE), at, buffer, |policy| {
                    policy.on_dequeue(departure, buffer);
                });
            }
            SwitchEvent::PauseChanged { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Header;
    use crate::policy::{Account, DropReason, POLICIES};
    use crate::switch::{Packet, SwitchConfig};
    use bufferlab_units::BitRate;

    #[test]
    fn the_panel_says_what_each_policy_would_have_done_with_the_same_buffer() {
        let config = SwitchConfig::new(60_000, vec![BitRate::gbps(10); 4]);
        let mut switch = config.build("cs", &[]).expect("cs has no parameters");
        let mut panel = Panel::new(&config.shape(), &config.hardware, ("cs", &[]));
        for id in 0..30 {
            let packet = Packet { id, header: Header::new(1_000), ..Packet::default() };
            switch.handle_arrival(Time(u64::from(id)), &packet, &mut panel);
        }
        let opinion = |name| *panel.opinions().iter().find(|o| o.policy == name).expect("a member");
        // The queue has 29 packets. The policy `dt` limits the queue to half of the free 31,000 B.
        assert_eq!(opinion("dt").threshold, Some(15_500));
        assert_eq!(opinion("dt").verdict, Verdict::Drop(DropReason::OverThreshold));
        assert_eq!(opinion("cs").verdict, Verdict::Admit(Account::Shared));
        assert_eq!(opinion("es").verdict, Verdict::Drop(DropReason::OverPortLimit));
        assert_eq!(panel.opinions().len(), POLICIES.len());
    }

    #[test]
    fn policies_with_timers_are_not_asked_about_very_large_switches() {
        let absent = |queues| {
            let config = SwitchConfig::new(60_000_000, vec![BitRate::gbps(10); 512]).with_queues(queues);
            let panel = Panel::new(&config.shape(), &config.hardware, ("plasticine", &[]));
            panel.absent().iter().map(|(name, _)| *name).collect::<Vec<_>>()
        };
        assert_eq!(absent(8), Vec::<&str>::new());
        let of_large = absent(9);
        assert!(of_large.contains(&"abm") && !of_large.contains(&"dt"), "{of_large:?}");
        assert!(!of_large.contains(&"plasticine"), "the switch's own policy is always asked");
    }

    #[test]
    fn a_member_of_the_switchs_own_kind_agrees_with_it() {
        let config = SwitchConfig::new(60_000, vec![BitRate::gbps(10); 4]).with_queues(2);
        let config = SwitchConfig { max_packet: 1_500, ..config };
        for info in POLICIES {
            let mut switch = config.build(info.name, &[]).expect("defaults fit");
            let mut panel = Panel::new(&config.shape(), &config.hardware, ("cs", &[]));
            let mut stream = bufferlab_units::RandomStream::new(4, "panel", 0);
            for id in 0..3_000_u32 {
                let now = Time::from_ns(u64::from(id) * 400);
                while let Some(due) = switch.poll_timeout().filter(|due| *due <= now) {
                    switch.handle_timeout(due, &mut panel);
                }
                let egress_port = stream.below(2) as u16;
                let packet = Packet {
                    id,
                    header: Header { size: 1_500, priority: (id % 2) as u8, ..Header::default() },
                    egress_port,
                    ..Packet::default()
                };
                let stored = switch.handle_arrival(now, &packet, &mut panel);
                let own = panel.opinions().iter().find(|o| o.policy == info.name).expect("a member").verdict;
                match stored {
                    crate::Admission::Stored { .. } => {
                        assert_ne!(own, Verdict::Drop(DropReason::OverThreshold))
                    }
                    crate::Admission::Refused(crate::Refusal { reason, .. }) => {
                        assert_eq!(own, Verdict::Drop(reason), "{}", info.name)
                    }
                }
                if id % 3 == 0 {
                    let _ = switch.poll_transmit(now, egress_port, &mut panel);
                }
            }
        }
    }

    /// The run includes pauses and resumes: a paused queue charges its packets to another account.
    #[test]
    fn a_member_of_the_switchs_own_kind_agrees_about_lossless_packets() {
        let config = SwitchConfig::new(60_000, vec![BitRate::gbps(10); 4]).with_queues(2);
        let config = SwitchConfig { max_packet: 1_500, lossless: 0b10, ..config };
        for name in ["sonic-dt", "sonic-abm", "reverie"] {
            // One queue can exhaust the headroom pool, so the switch refuses packets even for empty
            // queues.
            let params = [("headroom", 3_000), ("headroom_pool", 4_500)]
                .map(|(name, bytes)| (name.to_owned(), ParamValue::Bytes(bytes)));
            let mut switch = config.build(name, &params).expect("it fits");
            let mut panel = Panel::new(&config.shape(), &config.hardware, (name, &params));
            let mut stream = bufferlab_units::RandomStream::new(5, "panel", 0);
            let mut verdicts = std::collections::BTreeMap::new();
            for id in 0..20_000_u32 {
                let now = Time::from_ns(u64::from(id) * 400);
                while let Some(due) = switch.poll_timeout().filter(|due| *due <= now) {
                    switch.handle_timeout(due, &mut panel);
                }
                let ports = [stream.below(4) as u16, stream.below(2) as u16];
                let packet = Packet {
                    id,
                    header: Header { size: 1_500, priority: stream.below(2) as u8, ..Header::default() },
                    ingress_port: ports[0],
                    egress_port: ports[1],
                };
                let headroom = switch.buffer().used(Account::Headroom);
                let found = match switch.handle_arrival(now, &packet, &mut panel) {
                    crate::Admission::Refused(crate::Refusal { reason, .. }) => Verdict::Drop(reason),
                    crate::Admission::Stored { .. } => {
                        let in_headroom = switch.buffer().used(Account::Headroom) > headroom;
                        Verdict::Admit(if in_headroom { Account::Headroom } else { Account::Shared })
                    }
                };
                let own = panel.opinions().iter().find(|o| o.policy == name).expect("a member").verdict;
                assert_eq!(own, found, "{name}, packet {id}");
                *verdicts.entry(format!("{found:?}")).or_insert(0) += 1;
                let rounds = if id / 500 % 2 == 0 { 1 } else { 2 };
                for _ in 0..rounds {
                    let _ = switch.poll_transmit(now, stream.below(4) as u16, &mut panel);
                }
            }
            for seen in ["Admit(Shared)", "Admit(Headroom)", "Drop(HeadroomFull)"] {
                assert!(verdicts.get(seen).is_some_and(|&count| count > 20), "{name}: {verdicts:?}");
            }
        }
    }
}
