//! Priority flow control: pause and resume frames between neighbours, who is paused for how long, and circles of pauses.
//!
//! A frame goes out behind the packet that its port is sending, before all that waits, and takes 64 B of the link; it is not counted among the
//! link's packets. When it has arrived and the reaction time is over, the neighbour starts no more packets of the priority; one that it is
//! sending goes on. State belongs to the link that is paused: its sender obeys, its receiver demands.

use crate::SimError;
use crate::flow::Slot;
use crate::link::{End, Link};
use crate::packet::PacketId;
use crate::simulation::Simulation;
use crate::timers::Timer;
use bufferlab_core::{IngressId, QueueId};
use bufferlab_metrics::{PauseCycleRow, PauseRow, RunSink};
use bufferlab_scenario::{PfcSpec, Scenario};
use bufferlab_units::Time;

/// A pause or resume frame (bytes).
const FRAME_BYTES: u32 = 64;
/// A quantum of 512 bits (bytes).
const QUANTUM_BYTES: u64 = 64;
const PRIORITY_BITS: u32 = 5;

/// One priority of one link.
#[derive(Clone, Copy, Debug, Default)]
struct PauseState {
    /// Since when its receiver wants it to be paused.
    demanded: Option<Time>,
    demanded_total: Time,
    sent_pauses: u64,
    sent_resumes: u64,
    /// Since when its sender obeys.
    paused: Option<Time>,
    paused_total: Time,
    received_pauses: u64,
    received_resumes: u64,
    /// When the pause ends by itself.
    expires: Time,
    /// A repetition is due then.
    refresh: Time,
}

/// Links that wait for each other.
#[derive(Clone, Debug)]
struct Cycle {
    time: Time,
    priority: u8,
    /// In the direction of the traffic; the first is the smallest.
    links: Vec<u32>,
}

/// Flow control of the whole network.
#[derive(Debug)]
pub(crate) struct Pfc {
    /// By switch.
    specs: Vec<Option<PfcSpec>>,
    /// By link: the other direction of its cable.
    reverse: Vec<u32>,
    /// Priorities per link in `states`.
    width: usize,
    states: Vec<PauseState>,
    cycles: Vec<Cycle>,
}

/// A priority of a link, as timers name it.
#[derive(Clone, Copy, Debug)]
struct Target {
    link: u32,
    priority: u8,
}

impl Target {
    fn of(key: u32) -> Self {
        Self { link: key >> PRIORITY_BITS, priority: (key & ((1 << PRIORITY_BITS) - 1)) as u8 }
    }

    fn key(self) -> u32 {
        self.link << PRIORITY_BITS | u32::from(self.priority)
    }
}

impl Pfc {
    /// `None`: no switch has lossless priorities.
    pub(crate) fn new(scenario: &Scenario, links: &[Link], cables: &[(u32, u32)]) -> Option<Box<Self>> {
        let lossless = scenario.switches.iter().fold(0, |mask, spec| mask | spec.lossless());
        if lossless == 0 {
            return None;
        }
        let width = (u32::BITS - lossless.leading_zeros()) as usize;
        let mut reverse = vec![0; links.len()];
        for &(ab, ba) in cables {
            reverse[ab as usize] = ba;
            reverse[ba as usize] = ab;
        }
        Some(Box::new(Self {
            specs: scenario.switches.iter().map(|spec| spec.pfc.clone()).collect(),
            reverse,
            width,
            states: vec![PauseState::default(); links.len() * width],
            cycles: Vec::new(),
        }))
    }

    fn state(&mut self, target: Target) -> &mut PauseState {
        &mut self.states[target.link as usize * self.width + usize::from(target.priority)]
    }

    fn is_paused(&self, link: u32, priority: u8) -> bool {
        self.states[link as usize * self.width + usize::from(priority)].paused.is_some()
    }
}

impl Simulation {
    /// Sends what the policy of `switch` demands of its neighbours since it was last looked at.
    #[cold]
    pub(crate) fn send_pauses(&mut self, switch: u32) {
        let demands = std::mem::take(&mut self.switches[switch as usize].record.pauses);
        for (ingress, paused) in demands {
            self.demand(switch, ingress, paused);
        }
    }

    fn demand(&mut self, switch: u32, ingress: IngressId, paused: bool) {
        let node = &self.switches[switch as usize];
        let (port, priority) = node.port_and_priority(QueueId(ingress.0));
        let back = node.first_link + u32::from(port);
        let Some(pfc) = &mut self.pfc else { return };
        let target = Target { link: pfc.reverse[back as usize], priority };
        let now = self.now;
        let state = pfc.state(target);
        if paused {
            state.demanded = Some(now);
        } else if let Some(since) = state.demanded.take() {
            state.demanded_total += now - since;
        }
        self.send_frame(switch, target, paused);
    }

    fn send_frame(&mut self, switch: u32, target: Target, pause: bool) {
        let now = self.now;
        let Some(pfc) = &mut self.pfc else { return };
        let spec =
            pfc.specs[switch as usize].clone().expect("only a switch with lossless priorities demands");
        let back = pfc.reverse[target.link as usize];
        let duration = pause_duration(&spec, &self.links[target.link as usize]);
        let state = pfc.state(target);
        if pause {
            state.sent_pauses += 1;
        } else {
            state.sent_resumes += 1;
        }
        state.refresh = Time::MAX;
        if let Some(duration) = duration.filter(|_| pause) {
            state.refresh = now + Time(duration.0 / 2);
            self.timers.push(state.refresh, Timer::PauseRefresh(target.key()));
        }
        let link = &mut self.links[back as usize];
        if link.down {
            return;
        }
        link.busy_until = link.busy_until.max(now) + link.serializer.time(FRAME_BYTES);
        let obeyed = link.busy_until + link.delay + spec.reaction;
        let key = target.key();
        self.timers.push(obeyed, if pause { Timer::PauseObeyed(key) } else { Timer::ResumeObeyed(key) });
    }

    /// A pause is still wanted when half of its time is over.
    pub(crate) fn handle_pause_refresh(&mut self, key: u32) {
        let (target, now) = (Target::of(key), self.now);
        let Some(pfc) = &mut self.pfc else { return };
        let state = pfc.state(target);
        if state.refresh == now
            && state.demanded.is_some()
            && let End::Switch(switch, _) = self.links[target.link as usize].to
        {
            self.send_frame(switch, target, true);
        }
    }

    /// The sender of a link obeys a pause from now on.
    pub(crate) fn handle_pause_obeyed(&mut self, key: u32) {
        let (target, now) = (Target::of(key), self.now);
        let Some(pfc) = &mut self.pfc else { return };
        let link = &self.links[target.link as usize];
        let End::Switch(switch, _) = link.to else { return };
        let duration = pfc.specs[switch as usize].as_ref().and_then(|spec| pause_duration(spec, link));
        let state = pfc.state(target);
        state.received_pauses += 1;
        if let Some(duration) = duration {
            state.expires = now + duration;
            self.timers.push(state.expires, Timer::PauseExpiry(key));
        }
        if state.paused.is_none() {
            state.paused = Some(now);
            match link.from {
                End::Switch(upstream, port) => {
                    self.switches[upstream as usize].handle_pause(port, target.priority, true);
                }
                End::Host(host) => self.nics[host as usize].pause(target.priority),
            }
            self.look_for_cycle(target);
        }
    }

    /// The sender of a link obeys a resume frame from now on.
    pub(crate) fn handle_resume_obeyed(&mut self, key: u32) -> Result<(), SimError> {
        let target = Target::of(key);
        if let Some(pfc) = &mut self.pfc {
            pfc.state(target).received_resumes += 1;
        }
        self.end_pause(target)
    }

    /// A pause may be over because nobody has repeated it.
    pub(crate) fn handle_pause_expiry(&mut self, key: u32) -> Result<(), SimError> {
        let (target, now) = (Target::of(key), self.now);
        if self.pfc.as_mut().is_some_and(|pfc| pfc.state(target).expires == now) {
            return self.end_pause(target);
        }
        Ok(())
    }

    fn end_pause(&mut self, target: Target) -> Result<(), SimError> {
        let now = self.now;
        let Some(pfc) = &mut self.pfc else { return Ok(()) };
        let state = pfc.state(target);
        let Some(since) = state.paused.take() else { return Ok(()) };
        state.paused_total += now - since;
        match self.links[target.link as usize].from {
            End::Switch(upstream, port) => {
                self.switches[upstream as usize].handle_pause(port, target.priority, false);
                if self.claim(target.link) {
                    self.send_from_switch(target.link, upstream, port)?;
                }
            }
            End::Host(host) => {
                self.nics[host as usize].resume(target.priority, &mut self.flows);
                self.kick_host(host);
            }
        }
        Ok(())
    }

    /// What an idle card of a host sends of the priorities that are not paused.
    #[cold]
    pub(crate) fn next_unpaused(&mut self, host: u32) -> Option<PacketId> {
        let at = host as usize;
        let paused = self.nics[at].paused;
        let is_paused = |priority: u8| paused >> priority & 1 != 0;
        let waiting = self.nics[at].queue.iter().position(|&id| !is_paused(self.packets[id].priority));
        if let Some(position) = waiting {
            return self.nics[at].queue.remove(position);
        }
        loop {
            let slot: Slot = self.nics[at].next_ready(&mut self.flows)?;
            let flow = &self.flows.senders[slot as usize];
            // A flow that PIAS has moved to another queue is judged by its first one, its packets below by theirs.
            if is_paused(flow.priority) {
                self.nics[at].park(slot, &mut self.flows);
                continue;
            }
            let Some(packet) = self.next_packet(slot) else {
                self.retire_if_done(slot);
                continue;
            };
            let flow = &self.flows.senders[slot as usize];
            let transport = &self.transports[usize::from(flow.transport)];
            if flow.sender.wants_to_send(&transport.tcp, self.now) {
                self.nics[at].make_ready(&mut self.flows, slot);
            }
            if !is_paused(self.packets[packet].priority) {
                return Some(packet);
            }
            self.nics[at].queue.push_back(packet);
        }
    }

    /// Notes a circle of pauses that `target`, paused just now, has closed.
    fn look_for_cycle(&mut self, target: Target) {
        let Some(links) = self.circle_through(target) else { return };
        let Some(pfc) = &mut self.pfc else { return };
        if !pfc.cycles.iter().any(|cycle| cycle.links == links && cycle.priority == target.priority) {
            pfc.cycles.push(Cycle { time: self.now, priority: target.priority, links });
        }
    }

    /// A circle of paused links through `target`, each with packets that wait for the next, smallest link first.
    fn circle_through(&self, target: Target) -> Option<Vec<u32>> {
        let mut path = vec![target.link];
        let mut visited = vec![target.link];
        let mut choices = vec![self.waits_for(target.link, target.priority)];
        while let Some(open) = choices.last_mut() {
            match open.pop() {
                None => {
                    choices.pop();
                    path.pop();
                }
                Some(next) if next == target.link => {
                    let smallest = (0..path.len()).min_by_key(|&at| path[at]).expect("not empty");
                    path.rotate_left(smallest);
                    return Some(path);
                }
                Some(next) if visited.contains(&next) => {}
                Some(next) => {
                    visited.push(next);
                    path.push(next);
                    choices.push(self.waits_for(next, target.priority));
                }
            }
        }
        None
    }

    /// The paused links that packets wait for which came over `link`.
    fn waits_for(&self, link: u32, priority: u8) -> Vec<u32> {
        let (Some(pfc), End::Switch(switch, ingress_port)) = (&self.pfc, self.links[link as usize].to) else {
            return Vec::new();
        };
        let node = &self.switches[switch as usize];
        let buffer = node.first.core.buffer();
        let ingress = IngressId(buffer.queue_of(ingress_port, priority).0);
        let waits = |port: &u16| {
            let queue = buffer.queue_of(*port, priority);
            pfc.is_paused(node.first_link + u32::from(*port), priority)
                && buffer.packets(queue).any(|stored| stored.ingress == ingress)
        };
        (0..buffer.ports()).filter(waits).map(|port| node.first_link + u32::from(port)).collect()
    }

    /// Writes what there was of pauses, at the end of the run.
    pub(crate) fn finish_pauses(&mut self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        let now = self.now;
        let Some(pfc) = &mut self.pfc else { return Ok(()) };
        for state in &mut pfc.states {
            let until_now = |since: Option<Time>| since.map_or(Time::ZERO, |since| now - since);
            state.demanded_total += until_now(state.demanded);
            state.paused_total += until_now(state.paused);
        }
        let Some(pfc) = &self.pfc else { return Ok(()) };
        for (switch, node) in self.switches.iter().enumerate() {
            for port in 0..node.record.ports.len() as u16 {
                let own = node.first_link + u32::from(port);
                for priority in 0..pfc.width {
                    let of = |link: u32| &pfc.states[link as usize * pfc.width + priority];
                    let (neighbours, own) = (of(pfc.reverse[own as usize]), of(own));
                    let row = PauseRow {
                        switch: switch as u32,
                        port,
                        priority: priority as u8,
                        sent_pauses: neighbours.sent_pauses,
                        sent_resumes: neighbours.sent_resumes,
                        demanded_ns: neighbours.demanded_total.as_ns(),
                        received_pauses: own.received_pauses,
                        received_resumes: own.received_resumes,
                        paused_ns: own.paused_total.as_ns(),
                        neighbour_paused_ns: neighbours.paused_total.as_ns(),
                    };
                    if row.sent_pauses + row.received_pauses > 0 {
                        sink.pause(&row)?;
                    }
                }
            }
        }
        for cycle in &pfc.cycles {
            sink.pause_cycle(&self.cycle_row(pfc, cycle))?;
        }
        Ok(())
    }

    fn cycle_row(&self, pfc: &Pfc, cycle: &Cycle) -> PauseCycleRow {
        let name = |link: &u32| match self.links[*link as usize].from {
            End::Switch(switch, _) => self.topology.switches[switch as usize].clone(),
            End::Host(host) => self.topology.hosts[host as usize].clone(),
        };
        let followed = |at: usize| {
            let next = cycle.links[(at + 1) % cycle.links.len()];
            pfc.is_paused(cycle.links[at], cycle.priority)
                && self.waits_for(cycle.links[at], cycle.priority).contains(&next)
        };
        PauseCycleRow {
            time_ns: cycle.time.as_ns(),
            priority: cycle.priority,
            members: cycle.links.iter().map(name).collect(),
            lasted: (0..cycle.links.len()).all(followed),
        }
    }
}

/// How long a pause lasts on `link`; `None`: until it is taken back.
fn pause_duration(spec: &PfcSpec, link: &Link) -> Option<Time> {
    spec.quanta.map(|quanta| link.rate.serialization(u64::from(quanta) * QUANTUM_BYTES))
}
