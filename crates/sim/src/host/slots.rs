//! Free slots in the tables of flows.
//!
//! A slot is also an id: policies know flows by their slots, and timers of one instant expire in
//! the order of the slots. So a slot must not depend on which of two flows ended first within a
//! short time, because the flows may be in different shards. All slots freed in an interval of
//! simulated time become available together at the end of the interval. The order in which flows
//! take free slots depends only on the set of these slots.

use crate::ids::FlowSlot;
use bufferlab_units::Time;

/// Length of an interval of simulated time. Flow slots that are freed in an interval become
/// available at the end of the interval.
pub(crate) const INTERVAL: Time = Time::from_us(100);

/// Free slots of the flow tables.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeSlots {
    /// Available flow slots. The next flow takes the last slot of the list.
    free: Vec<FlowSlot>,
    /// Flow slots that were freed in the current interval and are not available yet.
    left: Vec<FlowSlot>,
    /// Number of the current interval of simulated time since the start of the run.
    interval: u64,
}

impl FreeSlots {
    /// Length of an interval of simulated time. Flow slots that are freed in an interval become
    /// available at the end of the interval.
    const INTERVAL: Time = INTERVAL;

    /// Number of flow slots without a flow.
    pub(super) fn len(&self) -> usize {
        self.free.len() + self.left.len()
    }

    /// Takes the lowest available slot of the latest interval with freed slots.
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

#[cfg(test)]
mod tests {
    use super::*;

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
