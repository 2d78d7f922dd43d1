//! Counters and watermarks of the simulated chip, as a tester reads such values from a real chip.

use crate::model::{Model, PRIORITIES};
use bufferlab_core::{Buffer, IngressId, Observer, QueueId, SwitchEvent};
use serde::Serialize;

/// Counters of a port since the simulated chip was created; lists have an entry for each priority,
/// group or queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Pauses that the switch sent to the sender at the port, by priority.
    pub pauses: Vec<u64>,
    /// Number of lost packets that arrived at the port, by priority group.
    pub group_drops: Vec<u64>,
    /// Number of lost packets to the port, by egress queue.
    pub queue_drops: Vec<u64>,
    /// Number of packets that the port sent, by egress queue.
    pub sent: Vec<u64>,
    /// Number of stored packets that arrived at the port, by priority group.
    pub stored: Vec<u64>,
}

/// Occupied memory without reserves: the current bytes, or the peak since the watermarks were
/// cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Levels {
    /// Shared memory of the port's priority groups (bytes).
    pub group_shared: Vec<u64>,
    /// Headroom of the port's priority groups (bytes).
    pub group_headroom: Vec<u64>,
    /// Shared memory of the port's egress queues (bytes).
    pub queue_shared: Vec<u64>,
    /// Memory of all ports in the ingress pool (bytes).
    pub ingress_pool: u64,
    /// Headroom that the priority groups of all ports use together (bytes).
    pub headroom_pool: u64,
    /// Memory of all ports' lossy queues in the egress pool (bytes).
    pub lossy_pool: u64,
}

/// Current occupancy, and the peak occupancy since the watermark was last cleared (bytes).
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    now: u64,
    peak: u64,
}

impl Level {
    fn set(&mut self, bytes: u64) {
        self.now = bytes;
        self.peak = self.peak.max(bytes);
    }
}

/// Occupancy and watermark of a priority group or queue.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// Reserve of the priority group or queue, which is not shared memory (bytes).
    reserve: u64,
    shared: Level,
    headroom: Level,
    drops: u64,
    packets: u64,
    pauses: u64,
    is_paused: bool,
    is_lossy: bool,
}

/// Observer of a simulated switch that counts packets and bytes.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    groups: Vec<Member>,
    queues: Vec<Member>,
    ingress_pool: Level,
    headroom_pool: Level,
    lossy_pool: Level,
}

impl Meter {
    pub(crate) fn new(model: &Model) -> Self {
        let (mut groups, mut queues) = (Vec::new(), Vec::new());
        for port in &model.ports {
            for priority in 0..PRIORITIES as u8 {
                let reserve = port.groups.get(&priority).map_or(0, |group| group.reserve);
                groups.push(Member { reserve, ..Member::default() });
                let reserve = port.lossy.get(&priority).map_or(0, |queue| queue.minimum);
                let is_lossy = !model.lossless.contains(&priority);
                queues.push(Member { reserve, is_lossy, ..Member::default() });
            }
        }
        Self { groups, queues, ..Self::default() }
    }

    /// Empties the chip's memory; counters and watermarks keep their values, as on a real chip.
    pub(crate) fn drain(&mut self) {
        for member in self.groups.iter_mut().chain(&mut self.queues) {
            (member.shared.now, member.headroom.now, member.is_paused) = (0, 0, false);
        }
        for pool in [&mut self.ingress_pool, &mut self.headroom_pool, &mut self.lossy_pool] {
            pool.now = 0;
        }
    }

    /// Clears the watermarks: each watermark becomes the current occupancy.
    pub(crate) fn clear_watermarks(&mut self) {
        let members = self.groups.iter_mut().chain(&mut self.queues);
        let levels = members.flat_map(|member| [&mut member.shared, &mut member.headroom]);
        let pools = [&mut self.ingress_pool, &mut self.headroom_pool, &mut self.lossy_pool];
        levels.chain(pools).for_each(|level| level.peak = level.now);
    }

    pub(crate) fn is_paused(&self, ingress: IngressId) -> bool {
        self.groups.get(usize::from(ingress.0)).is_some_and(|group| group.is_paused)
    }

    /// Counters of a port. A chip repeats pause frames, so each read of a paused priority group's
    /// counter adds one pause.
    pub(crate) fn counters(&mut self, port: u16) -> Counters {
        let range = range(port);
        for group in self.groups.get_mut(range.clone()).unwrap_or_default() {
            group.pauses += u64::from(group.is_paused);
        }
        let list = |members: &[Member], of: fn(&Member) -> u64| {
            members.get(range.clone()).unwrap_or_default().iter().map(of).collect()
        };
        Counters {
            pauses: list(&self.groups, |one| one.pauses),
            group_drops: list(&self.groups, |one| one.drops),
            queue_drops: list(&self.queues, |one| one.drops),
            sent: list(&self.queues, |one| one.packets),
            stored: list(&self.groups, |one| one.packets),
        }
    }

    /// Occupancies of a port and of the pools: the peaks since the watermarks were cleared, or the
    /// current values.
    pub(crate) fn levels(&self, port: u16, peak: bool) -> Levels {
        let of = |level: Level| if peak { level.peak } else { level.now };
        let list = |members: &[Member], level: fn(&Member) -> Level| {
            let members = members.get(range(port)).unwrap_or_default();
            members.iter().map(|one| of(level(one))).collect()
        };
        Levels {
            group_shared: list(&self.groups, |one| one.shared),
            group_headroom: list(&self.groups, |one| one.headroom),
            queue_shared: list(&self.queues, |one| one.shared),
            ingress_pool: of(self.ingress_pool),
            headroom_pool: of(self.headroom_pool),
            lossy_pool: of(self.lossy_pool),
        }
    }

    fn update(&mut self, ingress: IngressId, queue: QueueId, buffer: &Buffer) {
        if let Some(group) = self.groups.get_mut(usize::from(ingress.0)) {
            let headroom = buffer.ingress_headroom_bytes(ingress);
            let shared = buffer.ingress_bytes(ingress).saturating_sub(headroom + group.reserve);
            let pool = self.ingress_pool.now + shared - group.shared.now;
            let all = self.headroom_pool.now + headroom - group.headroom.now;
            group.shared.set(shared);
            group.headroom.set(headroom);
            self.ingress_pool.set(pool);
            self.headroom_pool.set(all);
        }
        if let Some(own) = self.queues.get_mut(usize::from(queue.0)) {
            let shared = buffer.queue_bytes(queue).saturating_sub(own.reserve);
            if own.is_lossy {
                let pool = self.lossy_pool.now + shared - own.shared.now;
                self.lossy_pool.set(pool);
            }
            own.shared.set(shared);
        }
    }
}

/// Indices of the priority groups or queues that belong to a port.
fn range(port: u16) -> std::ops::Range<usize> {
    let first = usize::from(port) * PRIORITIES;
    first..first + PRIORITIES
}

impl Observer for Meter {
    fn on(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer) {
        match *event {
            SwitchEvent::Stored { arrival, .. } => {
                self.update(arrival.ingress, arrival.queue, buffer);
                if let Some(group) = self.groups.get_mut(usize::from(arrival.ingress.0)) {
                    group.packets += 1;
                }
            }
            SwitchEvent::Refused { arrival, .. } => {
                let group = self.groups.get_mut(usize::from(arrival.ingress.0));
                let queue = self.queues.get_mut(usize::from(arrival.queue.0));
                group.into_iter().chain(queue).for_each(|one| one.drops += 1);
            }
            SwitchEvent::Departed(departure) => {
                self.update(departure.ingress, departure.queue, buffer);
                if let Some(queue) = self.queues.get_mut(usize::from(departure.queue.0)) {
                    queue.packets += 1;
                }
            }
            SwitchEvent::Evicted { queue, stored, .. } => self.update(stored.ingress, queue, buffer),
            SwitchEvent::PauseChanged { ingress, paused, .. } => {
                if let Some(group) = self.groups.get_mut(usize::from(ingress.0)) {
                    group.is_paused = paused;
                    group.pauses += u64::from(paused);
                }
            }
            SwitchEvent::Arriving(_) | SwitchEvent::Bypassing(_) | SwitchEvent::Departing(_) => {}
        }
    }
}
