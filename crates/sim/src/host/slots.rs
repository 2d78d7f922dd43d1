//! Free slots in the tables of flows.
//!
//! A slot is also an id: policies know flows by their slots, and timers of one instant expire in
//! the order of the slots. So a slot must not depend on which of two flows ended first within a
//! short time, because the flows may be in different shards. All slots freed in an interval of
//! simulated time become available together at the end of the interval. The order in which flows
//! take free slots depends only on the set of these slots.

use crate::ids::{FlowSlot, HostId, Id, Table};
use bufferlab_units::Time;

/// Length of an interval. Slots freed in an interval become available at the end of the interval.
pub(crate) const INTERVAL: Time = Time::from_us(100);

/// Free slots of the flow tables.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeSlots {
    /// Available slots. The next flow takes the last slot.
    free: Vec<FlowSlot>,
    /// Slots that were freed in the current interval and are not available yet.
    left: Vec<FlowSlot>,
    /// Number of the current interval since the start of the run.
    interval: u64,
}

impl FreeSlots {
    /// Length of an interval. Slots freed in an interval become available at the end
    /// of the interval.
    const INTERVAL: Time = INTERVAL;

    /// Number of flow slots without a flow.
    pub(super) fn len(&self) -> usize {
        self.free.len() + self.left.len()
    }

    /// Takes the lowest available slot among the slots of the latest interval in which slots were
    /// freed.
    pub(super) fn take(&mut self, now: Time) -> Option<FlowSlot> {
        self.advance(now);
        self.free.pop()
    }

    /// Frees the slot of a flow that is over.
    pub(super) fn leave(&mut self, now: Time, slot: FlowSlot) {
        self.advance(now);
        self.left.push(slot);
    }

    fn advance(&mut self, now: Time) {
        let interval = now.0 / Self::INTERVAL.0;
        if interval != self.interval {
            self.interval = interval;
            self.left.sort_unstable_by(|a, b| b.cmp(a));
            self.free.append(&mut self.left);
        }
    }
}

/// Rule by which flows take slots.
#[derive(Clone, Debug)]
pub(super) enum Slots {
    /// All flows share all slots. Every shard of a network knows the starts of all flows.
    Shared(FreeSlots),
    /// Every host has its own slots for the flows that it sends. So the host's shard chooses a slot
    /// without the other shards, which do not know the starts of scheduled flows beforehand.
    ByHost(HostSlots),
}

/// Free slots of every host. Slot k of host h among H hosts is slot k·H + h of the tables.
#[derive(Clone, Debug)]
pub(super) struct HostSlots {
    free: Table<HostId, FreeSlots>,
    /// Number of slots that each host has taken so far.
    taken: Table<HostId, u32>,
    used: usize,
}

impl Slots {
    pub(super) fn by_host(hosts: usize) -> Self {
        let free = (0..hosts).map(|_| FreeSlots::default()).collect();
        Self::ByHost(HostSlots { free, taken: vec![0; hosts].into(), used: 0 })
    }

    /// Number of the `all` slots of the tables that have a flow.
    pub(super) fn used(&self, all: usize) -> usize {
        match self {
            Self::Shared(free) => all - free.len(),
            Self::ByHost(slots) => slots.used,
        }
    }

    /// Takes a slot for a flow of `host`. `None` if the flow needs a new slot at the end of the
    /// tables.
    pub(super) fn take(&mut self, now: Time, host: HostId) -> Option<FlowSlot> {
        match self {
            Self::Shared(free) => free.take(now),
            Self::ByHost(slots) => Some(slots.take(now, host)),
        }
    }

    /// Frees the slot of a flow of `host` that is over.
    pub(super) fn leave(&mut self, now: Time, slot: FlowSlot, host: HostId) {
        match self {
            Self::Shared(free) => free.leave(now, slot),
            Self::ByHost(slots) => {
                slots.used -= 1;
                slots.free[host].leave(now, slot);
            }
        }
    }

    /// Counts a flow whose slot another shard has chosen.
    pub(super) fn note_taken(&mut self) {
        if let Self::ByHost(slots) = self {
            slots.used += 1;
        }
    }
}

impl HostSlots {
    fn take(&mut self, now: Time, host: HostId) -> FlowSlot {
        self.used += 1;
        self.free[host].take(now).unwrap_or_else(|| {
            let index = self.taken[host] as usize * self.taken.len() + host.index();
            self.taken[host] += 1;
            FlowSlot::from_index(index)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_a_host_do_not_depend_on_other_hosts() {
        let mut slots = Slots::by_host(3);
        let mut take = |us, host| slots.take(Time::from_us(us), HostId(host)).expect("a slot").0;
        assert_eq!([take(1, 2), take(1, 2), take(1, 0), take(2, 2)], [2, 5, 0, 8]);
        slots.leave(Time::from_us(3), FlowSlot(5), HostId(2));
        let mut take = |us, host| slots.take(Time::from_us(us), HostId(host)).expect("a slot").0;
        assert_eq!([take(4, 2), take(200, 2), take(200, 0)], [11, 5, 3]);
        assert_eq!(slots.used(12), 6);
    }

    fn taken(left: &[(u64, u32)], at: u64) -> Vec<u32> {
        let mut slots = FreeSlots::default();
        for &(us, slot) in left {
            slots.leave(Time::from_us(us), FlowSlot(slot));
        }
        std::iter::from_fn(|| slots.take(Time::from_us(at))).map(|slot| slot.0).collect()
    }

    #[test]
    fn a_place_is_taken_again_when_its_interval_is_over() {
        assert_eq!(taken(&[(10, 4)], 99), [0; 0]);
        assert_eq!(taken(&[(10, 4)], 100), [4]);
        let mut slots = FreeSlots::default();
        slots.leave(Time::from_us(10), FlowSlot(4));
        assert_eq!((slots.len(), slots.take(Time::from_us(20))), (1, None));
    }

    #[test]
    fn the_order_in_which_places_are_left_within_an_interval_does_not_matter() {
        assert_eq!(taken(&[(10, 4), (20, 7), (30, 2)], 150), [2, 4, 7]);
        assert_eq!(taken(&[(10, 7), (20, 2), (30, 4)], 150), [2, 4, 7]);
        assert_eq!(taken(&[(10, 7), (120, 9), (130, 8)], 250), [8, 9, 7], "the last interval first");
    }
}
