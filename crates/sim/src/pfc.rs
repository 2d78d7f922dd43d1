//! Priority flow control: pause and resume frames between neighbours, and who is paused for how long.
//!
//! A frame goes out behind the packet that its port is sending, before all that waits, and takes 64 B of the link; it is not counted among the
//! link's packets. When it has arrived and the reaction time is over, the neighbour starts no more packets of the priority; one that it is
//! sending goes on. State belongs to the link that is paused: its sender obeys, its receiver demands.

mod cycles;
mod host;
mod rows;
mod storm;
mod watchdog;

use crate::SimError;
use crate::ids::{CableId, Id, LinkId, StormId, SwitchId, Table};
use crate::link::{End, Link};
use crate::simulation::Simulation;
use crate::timers::{Timer, Timers};
use bufferlab_core::{IngressId, QueueId};
use bufferlab_metrics::{PauseSpanRow, WatchdogRow};
use bufferlab_scenario::{PfcSpec, Scenario};
use bufferlab_units::Time;
use cycles::Cycle;
use rows::Names;
use storm::Storm;
use watchdog::Watch;

/// A pause or resume frame (bytes).
const FRAME_BYTES: u32 = 64;
/// A quantum of 512 bits (bytes).
const QUANTUM_BYTES: u64 = 64;
const PRIORITY_BITS: u32 = 5;
/// A link's number and a priority; above them, the link's generation.
const TARGET_BITS: u32 = 23;

/// One priority of one link.
#[derive(Clone, Copy, Debug, Default)]
struct PauseState {
    /// Since when its receiver wants it to be paused.
    demanded: Option<Time>,
    demanded_total: Time,
    sent_pauses: u64,
    sent_resumes: u64,
    /// How long a pause of its receiver lasts; `None`: until it is taken back.
    duration: Option<Time>,
    /// Since when its sender obeys.
    paused: Option<Time>,
    paused_total: Time,
    ended_pauses: u64,
    received_pauses: u64,
    received_resumes: u64,
    /// When the pause ends by itself.
    expires: Time,
    /// A repetition is due then.
    refresh: Time,
    /// Counts how often the link went down: frames of an earlier generation are lost.
    generation: u32,
}

/// Flow control of the whole network.
#[derive(Debug)]
pub(crate) struct Pfc {
    specs: Table<SwitchId, Option<PfcSpec>>,
    /// The other direction of each link's cable.
    reverse: Table<LinkId, LinkId>,
    names: Table<LinkId, Names>,
    /// Priorities per link in `states`.
    width: usize,
    states: Vec<PauseState>,
    /// As `states`; empty where no switch has a watchdog.
    watches: Vec<Watch>,
    storms: Table<StormId, Storm>,
    cycles: Vec<Cycle>,
    /// Pauses and storms that have ended since rows were last handed over.
    spans: Vec<PauseSpanRow>,
    storm_rows: Vec<WatchdogRow>,
}

/// A priority of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    link: LinkId,
    priority: u8,
}

impl Target {
    /// As timers name it.
    fn key(self, generation: u32) -> PauseKey {
        PauseKey(generation << TARGET_BITS | self.link.0 << PRIORITY_BITS | u32::from(self.priority))
    }
}

/// A priority of a link since the link went down last, as timers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PauseKey(u32);

impl PauseKey {
    fn target(self) -> Target {
        let link = LinkId((self.0 & ((1 << TARGET_BITS) - 1)) >> PRIORITY_BITS);
        Target { link, priority: (self.0 & ((1 << PRIORITY_BITS) - 1)) as u8 }
    }
}

impl Pfc {
    /// `None`: no switch has lossless priorities. Timers of watchdogs and storms are set.
    pub(crate) fn new(
        scenario: &Scenario,
        links: &Table<LinkId, Link>,
        cables: &Table<CableId, (LinkId, LinkId)>,
        timers: &mut Timers,
    ) -> Option<Box<Self>> {
        let lossless = scenario.switches.iter().fold(0, |mask, spec| mask | spec.lossless());
        if lossless == 0 {
            return None;
        }
        let width = (u32::BITS - lossless.leading_zeros()) as usize;
        let mut reverse: Table<LinkId, LinkId> = links.ids().collect();
        for &(ab, ba) in cables.iter() {
            reverse[ab] = ba;
            reverse[ba] = ab;
        }
        let specs: Table<SwitchId, _> = scenario.switches.iter().map(|spec| spec.pfc.clone()).collect();
        let mut states = vec![PauseState::default(); links.len() * width];
        for (link, states) in links.iter().zip(states.chunks_mut(width)) {
            if let End::Switch(switch, _) = link.to {
                let quanta = specs[switch].as_ref().and_then(|spec| spec.quanta);
                states.iter_mut().for_each(|state| state.duration = pause_duration(quanta, link));
            }
        }
        let mut watches = Vec::new();
        for (switch, spec) in specs.entries() {
            if let Some(watchdog) = spec.as_ref().and_then(|spec| spec.watchdog) {
                watches.resize(states.len(), Watch::default());
                timers.push(watchdog.poll, Timer::Watchdog(switch));
            }
        }
        Some(Box::new(Self {
            storms: storm::storms(&scenario.faults, &specs, links, timers),
            specs,
            reverse,
            names: rows::names(&scenario.topology, links),
            width,
            states,
            watches,
            cycles: Vec::new(),
            spans: Vec::new(),
            storm_rows: Vec::new(),
        }))
    }

    /// How many priorities of a link have a state.
    fn priorities(&self) -> u8 {
        u8::try_from(self.width).expect("a mask of 32 bits names the lossless priorities")
    }

    fn at(&self, target: Target) -> usize {
        target.link.index() * self.width + usize::from(target.priority)
    }

    /// The priority of a link whose state is at this place.
    fn target_at(&self, at: usize) -> Target {
        let priority =
            u8::try_from(at % self.width).expect("a mask of 32 bits names the lossless priorities");
        Target { link: LinkId::from_index(at / self.width), priority }
    }

    /// Whether the sender of the link, a switch, has the priority lossless on other ports only, and takes no notice of frames here.
    fn is_ignored(&self, target: Target, sender: End) -> bool {
        let End::Switch(switch, port) = sender else { return false };
        let spec = self.specs[switch].as_ref();
        spec.is_some_and(|spec| !spec.ports.is_empty() && spec.mask_at(port) >> target.priority & 1 == 0)
    }

    fn state(&mut self, target: Target) -> &mut PauseState {
        let at = self.at(target);
        &mut self.states[at]
    }

    fn watch(&mut self, target: Target) -> &mut Watch {
        let at = self.at(target);
        &mut self.watches[at]
    }

    /// The state that a timer is for; `None` if the link went down after it was set.
    fn state_of(&mut self, key: PauseKey) -> Option<&mut PauseState> {
        let target = key.target();
        let state = self.state(target);
        (target.key(state.generation) == key).then_some(state)
    }

    /// Whether a pause keeps the packets of `priority` from `link`.
    #[inline]
    pub(crate) fn is_held(&self, link: LinkId, priority: u8) -> bool {
        if usize::from(priority) >= self.width {
            return false;
        }
        let at = self.at(Target { link, priority });
        self.states[at].paused.is_some() && !self.watches.get(at).is_some_and(Watch::overrides_pauses)
    }
}

impl Simulation {
    /// Sends what the policy of `switch` demands of its neighbours since it was last looked at.
    #[cold]
    pub(crate) fn send_pauses(&mut self, switch: SwitchId) {
        let demands = std::mem::take(&mut self.switches[switch].record.pauses);
        for (ingress, paused) in demands {
            self.demand(switch, ingress, paused);
        }
    }

    fn demand(&mut self, switch: SwitchId, ingress: IngressId, paused: bool) {
        let node = &self.switches[switch];
        let (port, priority) = node.port_and_priority(QueueId(ingress.0));
        let back = node.first_link.at_port(port);
        let Some(pfc) = &mut self.pfc else { return };
        let target = Target { link: pfc.reverse[back], priority };
        let now = self.now;
        let state = pfc.state(target);
        if paused {
            state.demanded = Some(now);
        } else if let Some(since) = state.demanded.take() {
            state.demanded_total += now - since;
        }
        self.send_frame(switch, target, paused);
    }

    fn send_frame(&mut self, switch: SwitchId, target: Target, pause: bool) {
        let now = self.now;
        let Some(pfc) = &mut self.pfc else { return };
        let spec = pfc.specs[switch].as_ref().expect("only a switch with lossless priorities demands");
        let reaction = spec.reaction;
        let back = pfc.reverse[target.link];
        let state = pfc.state(target);
        if pause {
            state.sent_pauses += 1;
        } else {
            state.sent_resumes += 1;
        }
        state.refresh = Time::MAX;
        if let Some(duration) = state.duration.filter(|_| pause) {
            state.refresh = now + Time(duration.0 / 2);
            self.timers.push(state.refresh, Timer::PauseRefresh(target.key(state.generation)));
        }
        self.put_frame_on(back, reaction, &[target], pause);
    }

    /// Sends one frame for all of `targets` over the link `back`.
    fn put_frame_on(&mut self, back: LinkId, reaction: Time, targets: &[Target], pause: bool) {
        let Some(pfc) = &mut self.pfc else { return };
        let link = &mut self.links[back];
        if link.down {
            return;
        }
        link.busy_until = link.busy_until.max(self.now) + link.serializer.time(FRAME_BYTES);
        let obeyed = link.busy_until + link.delay + reaction;
        for &target in targets {
            let key = target.key(pfc.state(target).generation);
            self.timers.push(obeyed, if pause { Timer::PauseObeyed(key) } else { Timer::ResumeObeyed(key) });
        }
    }

    /// A pause is still wanted when half of its time is over.
    pub(crate) fn handle_pause_refresh(&mut self, key: PauseKey) {
        let (target, now) = (key.target(), self.now);
        let Some(state) = self.pfc.as_mut().and_then(|pfc| pfc.state_of(key)) else { return };
        if state.refresh == now
            && state.demanded.is_some()
            && let End::Switch(switch, _) = self.links[target.link].to
        {
            self.send_frame(switch, target, true);
        }
    }

    /// The sender of a link obeys a pause from now on.
    pub(crate) fn handle_pause_obeyed(&mut self, key: PauseKey) {
        let (target, now) = (key.target(), self.now);
        let Some(pfc) = &mut self.pfc else { return };
        let is_ignored = pfc.is_ignored(target, self.links[target.link].from);
        let Some(state) = pfc.state_of(key) else { return };
        state.received_pauses += 1;
        if is_ignored {
            return;
        }
        if let Some(duration) = state.duration {
            state.expires = now + duration;
            self.timers.push(state.expires, Timer::PauseExpiry(key));
        }
        if state.paused.is_some() {
            return;
        }
        state.paused = Some(now);
        if !pfc.is_held(target.link, target.priority) {
            // A watchdog ignores it.
            return;
        }
        match self.links[target.link].from {
            End::Switch(upstream, port) => {
                self.switches[upstream].handle_pause(port, target.priority, true);
            }
            End::Host(host) => self.nics[host].pause(target.priority),
        }
        self.look_for_cycle(target);
    }

    /// The sender of a link obeys a resume frame from now on.
    pub(crate) fn handle_resume_obeyed(&mut self, key: PauseKey) -> Result<(), SimError> {
        let Some(state) = self.pfc.as_mut().and_then(|pfc| pfc.state_of(key)) else { return Ok(()) };
        state.received_resumes += 1;
        self.end_pause(key.target())
    }

    /// A pause may be over because it was not repeated.
    pub(crate) fn handle_pause_expiry(&mut self, key: PauseKey) -> Result<(), SimError> {
        let now = self.now;
        let Some(state) = self.pfc.as_mut().and_then(|pfc| pfc.state_of(key)) else { return Ok(()) };
        if state.expires == now { self.end_pause(key.target()) } else { Ok(()) }
    }

    /// The sender of a link is free, and sends if it has something.
    fn end_pause(&mut self, target: Target) -> Result<(), SimError> {
        if !self.release(target) {
            return Ok(());
        }
        match self.links[target.link].from {
            End::Switch(upstream, port) => {
                if self.claim(target.link) {
                    self.send_from_switch(target.link, upstream, port)?;
                }
            }
            End::Host(host) => self.kick_host(host),
        }
        Ok(())
    }

    /// The sender of a link is free; false if it was already.
    fn release(&mut self, target: Target) -> bool {
        let now = self.now;
        let Some(pfc) = &mut self.pfc else { return false };
        let state = pfc.state(target);
        let Some(since) = state.paused.take() else { return false };
        state.paused_total += now - since;
        state.ended_pauses += 1;
        let span = pfc.span(target, since, Some(now));
        pfc.spans.push(span);
        pfc.open_cycles(target, now);
        match self.links[target.link].from {
            End::Switch(upstream, port) => {
                self.switches[upstream].handle_pause(port, target.priority, false);
            }
            End::Host(host) => self.nics[host].resume(target.priority, &mut self.flows),
        }
        true
    }

    /// `link` has gone down: its pauses are over, frames about it on the way are lost, and its storms with them.
    #[cold]
    pub(crate) fn reset_pauses(&mut self, link: LinkId) -> Result<(), SimError> {
        for priority in 0..self.pfc.as_ref().map_or(0, |pfc| pfc.priorities()) {
            let target = Target { link, priority };
            self.release(target);
            self.restore(target)?;
            if let Some(pfc) = &mut self.pfc {
                let state = pfc.state(target);
                state.generation = (state.generation + 1) % (1 << (u32::BITS - TARGET_BITS));
            }
        }
        Ok(())
    }

    /// `link` is up again: its receiver repeats what it wants.
    #[cold]
    pub(crate) fn repeat_pauses(&mut self, link: LinkId) {
        let End::Switch(switch, _) = self.links[link].to else { return };
        for priority in 0..self.pfc.as_ref().map_or(0, |pfc| pfc.priorities()) {
            let target = Target { link, priority };
            if self.pfc.as_mut().is_some_and(|pfc| pfc.state(target).demanded.is_some()) {
                self.send_frame(switch, target, true);
            }
        }
    }

    /// Pauses or storms have ended whose rows are not written yet.
    #[inline]
    pub(crate) fn has_pause_rows(&self) -> bool {
        self.pfc.as_ref().is_some_and(|pfc| pfc.spans.len() + pfc.storm_rows.len() > 0)
    }
}

/// How long a pause lasts on `link`; `None`: until it is taken back.
fn pause_duration(quanta: Option<u16>, link: &Link) -> Option<Time> {
    quanta.map(|quanta| link.rate.serialization(u64::from(quanta) * QUANTUM_BYTES))
}
