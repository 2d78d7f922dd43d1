//! Priority flow control: pause and resume frames between neighbours, and the duration of pauses.
//!
//! A pause frame follows the packet that its port is sending, and precedes all waiting packets. The
//! frame takes 64 B of the link and does not count as a packet of the link. A frame carries the
//! pause state at the start of its transmission. Later demands, of any priority, change a frame
//! that still waits for its link. So frames never queue behind each other, and a neighbour learns
//! the latest state after at most one packet or one frame. ([`PauseFrames`] can instead send a
//! frame for each change.) The frame takes effect one reaction time after its arrival. Then the
//! neighbour finishes the packet in transmission, but starts no more packets of the priority. A
//! pause state belongs to the paused link: the link's receiver demands pauses, and the link's
//! sender obeys.
//!
//! This module is the link layer of both ends of a link: the module uses links and timers and
//! changes no host or switch. The module returns the links whose senders must stop or may resume,
//! and the engine notifies these senders. Only a watchdog changes a switch: its own switch.

mod cross_shard;
mod cycles;
mod rows;
mod storm;
mod watchdog;

use crate::ids::{CableId, Id, LinkId, StormId, SwitchId, Table};
use crate::switch::SwitchNode;
use crate::world::World;
use crate::world::link::{End, Link};
use crate::world::timers::{PauseTimer, Timer, Timers};
use bufferlab_core::{IngressId, QueueId};
use bufferlab_metrics::{PauseSpanRow, WatchdogRow};
use bufferlab_scenario::{PauseFrames, PfcSpec, Scenario};
use bufferlab_units::Time;
use cross_shard::Journal;
use cycles::Cycle;
pub(crate) use cycles::PauseView;
use rows::Names;
use storm::Storm;
use watchdog::Watch;

/// Size of a pause or resume frame (bytes).
const FRAME_BYTES: u32 = 64;
/// Size of a pause quantum, 512 bits (bytes).
const QUANTUM_BYTES: u64 = 64;
const PRIORITY_BITS: u32 = 5;
/// Number of bits of a timer's key that contain a link's number and a priority. The higher bits
/// contain the link's generation.
const TARGET_BITS: u32 = 23;

/// Pause state of one priority on one link.
#[derive(Clone, Copy, Debug, Default)]
struct PauseState {
    /// Time since which the link's receiver has demanded a pause.
    demanded: Option<Time>,
    demanded_total: Time,
    /// Whether the last frame about the priority demanded a pause.
    told: bool,
    /// Whether the next frame must repeat the state of the previous frame.
    repeat: bool,
    sent_pauses: u64,
    sent_resumes: u64,
    /// Duration of a pause that the link's receiver demands.
    /// `None` if the pause lasts until a resume frame.
    duration: Option<Time>,
    /// Time since which the link's sender has been paused.
    paused: Option<Time>,
    paused_total: Time,
    ended_pauses: u64,
    received_pauses: u64,
    received_resumes: u64,
    /// Packets from this link that the switch lost although their priority is lossless
    /// at the switch.
    lost_packets: u64,
    /// Time at which the pause of the sender expires.
    expires: Time,
    /// Time at which the receiver must repeat the pause.
    refresh: Time,
    /// Number of times the link went down. Frames of an earlier generation are lost.
    generation: u32,
}

/// State of priority flow control in the whole network.
#[derive(Clone, Debug)]
pub(crate) struct Pfc {
    specs: Table<SwitchId, Option<PfcSpec>>,
    /// Link in the opposite direction of each link's cable.
    reverse: Table<LinkId, LinkId>,
    names: Table<LinkId, Names>,
    /// Number of priorities per link in `states`.
    width: usize,
    states: Vec<PauseState>,
    /// Priorities that the next frame over each link will contain.
    waiting: Table<LinkId, u32>,
    /// States of watchdogs, with the indices of `states`. Empty if no switch has a watchdog.
    watches: Vec<Watch>,
    storms: Table<StormId, Storm>,
    cycles: Vec<Cycle>,
    /// Ended pauses and storms whose rows are not written yet.
    spans: Vec<PauseSpanRow>,
    storm_rows: Vec<WatchdogRow>,
    /// Journal of recent changes of pause states, so that a shard can undo these changes. `None` if
    /// the network is not divided into shards.
    journal: Option<Box<Journal>>,
}

/// A priority of a link: the unit that a pause frame stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) link: LinkId,
    pub(crate) priority: u8,
}

impl Target {
    /// Key by which timers identify this priority of the link.
    fn key(self, generation: u32) -> PauseKey {
        PauseKey(generation << TARGET_BITS | self.link.0 << PRIORITY_BITS | u32::from(self.priority))
    }
}

/// Key of a pause timer: one priority of a link, with the link's generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PauseKey(u32);

impl PauseKey {
    fn target(self) -> Target {
        let link = LinkId((self.0 & ((1 << TARGET_BITS) - 1)) >> PRIORITY_BITS);
        Target { link, priority: (self.0 & ((1 << PRIORITY_BITS) - 1)) as u8 }
    }
}

impl Pfc {
    /// Builds flow control and sets the timers of watchdogs and storms.
    /// `None` if no switch has lossless priorities.
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
        let waiting = links.iter().map(|_| 0).collect();
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
                timers.push(watchdog.poll, Timer::Pause(PauseTimer::Watchdog(switch)));
            }
        }
        Some(Box::new(Self {
            storms: storm::storms(&scenario.faults, &specs, links, timers),
            specs,
            reverse,
            names: rows::names(&scenario.topology, links),
            width,
            states,
            waiting,
            watches,
            cycles: Vec::new(),
            spans: Vec::new(),
            storm_rows: Vec::new(),
            journal: None,
        }))
    }

    /// Number of priorities of a link that have a pause state.
    fn priorities(&self) -> u8 {
        u8::try_from(self.width).expect("a mask of 32 bits names the lossless priorities")
    }

    fn at(&self, target: Target) -> usize {
        target.link.index() * self.width + usize::from(target.priority)
    }

    /// Link and priority of the pause state at index `at`.
    fn target_at(&self, at: usize) -> Target {
        let priority =
            u8::try_from(at % self.width).expect("a mask of 32 bits names the lossless priorities");
        Target { link: LinkId::from_index(at / self.width), priority }
    }

    /// Whether the link's sender ignores pause frames of this priority. A switch ignores the frames
    /// if the priority is lossless only at other ports.
    fn is_ignored(&self, target: Target, sender: End) -> bool {
        let End::Switch(switch, port) = sender else { return false };
        let spec = self.specs[switch].as_ref();
        spec.is_some_and(|spec| spec.differs_by_port() && spec.mask_at(port) >> target.priority & 1 == 0)
    }

    /// Counts a packet of `priority` that `node` lost after its arrival at `port`.
    #[cold]
    pub(crate) fn note_loss(&mut self, node: &SwitchNode, port: u16, priority: u8) {
        let mask = self.specs[node.id].as_ref().map_or(0, |spec| spec.mask_at(port));
        if mask >> priority & 1 != 0 {
            let link = self.reverse[node.first_link.at_port(port)];
            self.state(Target { link, priority }).lost_packets += 1;
        }
    }

    fn state(&mut self, target: Target) -> &mut PauseState {
        let at = self.at(target);
        let state = &mut self.states[at];
        if let Some(journal) = &mut self.journal {
            journal.note_state(at, *state);
        }
        state
    }

    fn watch(&mut self, target: Target) -> &mut Watch {
        let at = self.at(target);
        &mut self.watches[at]
    }

    /// Pause state that a timer refers to. `None` if the link went down after the timer was set.
    fn state_of(&mut self, key: PauseKey) -> Option<&mut PauseState> {
        let target = key.target();
        let state = self.state(target);
        (target.key(state.generation) == key).then_some(state)
    }

    /// Whether a pause prevents packets of `priority` from using `link`.
    #[inline]
    pub(crate) fn is_held(&self, link: LinkId, priority: u8) -> bool {
        if usize::from(priority) >= self.width {
            return false;
        }
        let at = self.at(Target { link, priority });
        self.states[at].paused.is_some() && !self.watches.get(at).is_some_and(Watch::overrides_pauses)
    }
}

impl Pfc {
    /// Records that the policy of a switch demands a pause of the neighbour behind `ingress`,
    /// or the end of the pause.
    pub(crate) fn demand(&mut self, world: &mut World, node: &SwitchNode, ingress: IngressId, paused: bool) {
        let (port, priority) = node.port_and_priority(QueueId(ingress.0));
        let target = Target { link: self.reverse[node.first_link.at_port(port)], priority };
        let now = world.now();
        let state = self.state(target);
        if paused {
            state.demanded = Some(now);
        } else if let Some(since) = state.demanded.take() {
            state.demanded_total += now - since;
        }
        self.request_frame(world, target);
    }

    /// Sends a pause or resume frame about `target` as soon as the opposite link is free.
    fn request_frame(&mut self, world: &mut World, target: Target) {
        let back = self.reverse[target.link];
        if let Some((PauseFrames::Each, reaction)) = self.frames_of(world, target) {
            let Some(start) = world.claim_for_frame(back, FRAME_BYTES) else { return };
            let arrival = world.frame_arrival(back, FRAME_BYTES, start);
            self.state(target).repeat = true;
            self.announce(world, target, arrival + reaction);
            return;
        }
        let waiting = &mut self.waiting[back];
        let is_first = *waiting == 0;
        *waiting |= 1 << target.priority;
        if !is_first {
            return;
        }
        match world.claim_for_frame(back, FRAME_BYTES) {
            None => self.waiting[back] = 0,
            Some(start) if start == world.now() => self.handle_frame_start(world, back),
            Some(start) => world.timers().push(start, Timer::Pause(PauseTimer::FrameStart(back))),
        }
    }

    /// Sends a frame over the link `back` that demands the current pauses.
    pub(crate) fn handle_frame_start(&mut self, world: &mut World, back: LinkId) {
        let priorities = std::mem::take(&mut self.waiting[back]);
        let link = self.reverse[back];
        if world.links()[back].down {
            return;
        }
        let Some((_, reaction)) = self.frames_of(world, Target { link, priority: 0 }) else { return };
        let obeyed = world.frame_arrival(back, FRAME_BYTES, world.now()) + reaction;
        for target in self.targets(link).filter(|target| priorities >> target.priority & 1 != 0) {
            self.announce(world, target, obeyed);
        }
    }

    /// Mode of pause frames, and reaction time of the switch that demands pauses of `target`.
    fn frames_of(&self, world: &World, target: Target) -> Option<(PauseFrames, Time)> {
        let End::Switch(switch, port) = world.links()[target.link].to else { return None };
        self.specs[switch].as_ref().map(|spec| (spec.frames, spec.reaction_at(port)))
    }

    /// Records that the transmission of a pause or resume frame about `target` begins. The
    /// neighbour obeys the pause at the time `obeyed`.
    fn announce(&mut self, world: &mut World, target: Target, obeyed: Time) {
        let now = world.now();
        let state = self.state(target);
        let key = target.key(state.generation);
        let paused = state.demanded.is_some();
        // The time at which a pause must be repeated may have passed while no pause was demanded.
        let is_due = paused && state.refresh <= now;
        if state.told == paused && !state.repeat && !is_due {
            // The switch has withdrawn its demand for a pause while the pause frame waited for the
            // link.
            return;
        }
        (state.told, state.repeat) = (paused, false);
        state.refresh = Time::MAX;
        let timer = if paused {
            state.sent_pauses += 1;
            if let Some(duration) = state.duration {
                state.refresh = now + Time(duration.0 / 2);
                world.timers().push(state.refresh, Timer::Pause(PauseTimer::Refresh(key)));
            }
            PauseTimer::Obeyed(key)
        } else {
            state.sent_resumes += 1;
            PauseTimer::ResumeObeyed(key)
        };
        world.set_far_timer(self.reverse[target.link], obeyed, Timer::Pause(timer));
    }

    /// Repeats a pause that is still demanded after half of its duration.
    pub(crate) fn handle_pause_refresh(&mut self, world: &mut World, key: PauseKey) {
        let (target, now) = (key.target(), world.now());
        let Some(state) = self.state_of(key) else { return };
        if state.refresh == now && state.demanded.is_some() {
            state.repeat = true;
            self.request_frame(world, target);
        }
    }

    /// Applies a pause frame that has reached the sender of a link, after the reaction time.
    /// Returns the target if the sender must stop now.
    #[must_use]
    pub(crate) fn handle_pause_obeyed(&mut self, world: &mut World, key: PauseKey) -> Option<Target> {
        let (target, now) = (key.target(), world.now());
        let is_ignored = self.is_ignored(target, world.links()[target.link].from);
        let state = self.state_of(key)?;
        state.received_pauses += 1;
        if is_ignored {
            return None;
        }
        if let Some(duration) = state.duration {
            state.expires = now + duration;
            world.timers().push(state.expires, Timer::Pause(PauseTimer::Expiry(key)));
        }
        if state.paused.is_some() {
            return None;
        }
        state.paused = Some(now);
        // The PFC watchdog of the sending switch may override the pause.
        self.is_held(target.link, target.priority).then_some(target)
    }

    /// Applies a resume frame at the sender of a link.
    /// Returns the target if the sender was paused and may send.
    #[must_use]
    pub(crate) fn handle_resume_obeyed(&mut self, now: Time, key: PauseKey) -> Option<Target> {
        let state = self.state_of(key)?;
        state.received_resumes += 1;
        self.release(now, key.target())
    }

    /// Ends a pause that was not repeated in time. Returns the target if its sender may send.
    #[must_use]
    pub(crate) fn handle_pause_expiry(&mut self, now: Time, key: PauseKey) -> Option<Target> {
        let state = self.state_of(key)?;
        if state.expires == now { self.release(now, key.target()) } else { None }
    }

    /// Ends the pause of a link's sender. Returns the link and the priority if there was a pause.
    #[must_use]
    pub(crate) fn release(&mut self, now: Time, target: Target) -> Option<Target> {
        let state = self.state(target);
        let since = state.paused.take()?;
        state.paused_total += now - since;
        state.ended_pauses += 1;
        let span = self.span(target, since, Some(now));
        self.spans.push(span);
        self.open_cycles(target, now);
        Some(target)
    }

    /// Priorities of a link that have a pause state.
    pub(crate) fn targets(&self, link: LinkId) -> impl Iterator<Item = Target> + use<> {
        (0..self.priorities()).map(move |priority| Target { link, priority })
    }

    /// Discards frames in flight about `target`, because the link of the target has gone down.
    pub(crate) fn forget_frames(&mut self, target: Target) {
        let state = self.state(target);
        state.generation = (state.generation + 1) % (1 << (u32::BITS - TARGET_BITS));
        state.told = false;
    }

    /// Repeats the pauses that the receiver of `link` demands, because the link is up again.
    #[cold]
    pub(crate) fn repeat_pauses(&mut self, world: &mut World, link: LinkId) {
        for target in self.targets(link) {
            if self.state(target).demanded.is_some() {
                self.request_frame(world, target);
            }
        }
    }
}

/// Duration of a pause on `link`. `None` if the pause lasts until a resume frame.
fn pause_duration(quanta: Option<u16>, link: &Link) -> Option<Time> {
    quanta.map(|quanta| link.account.rate.serialization(u64::from(quanta) * QUANTUM_BYTES))
}
