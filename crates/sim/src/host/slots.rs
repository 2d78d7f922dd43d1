//! Which places in the tables of flows are free.
//!
//! A place is also a name: policies know flows by it, and timers of one instant fire in its order.
//! So it must not depend on which of two flows, which may be far apart, ended first within a short
//! time. Places become free only when an interval of simulated time is over, all that were left in
//! it at once, and are taken in an order that follows from this set.

use crate::ids::FlowSlot;
use bufferlab_units::Time;

/// At its end, what was left in it becomes free.
pub(crate) const INTERVAL: Time = Time::from_us(100);

/// Places that were left.
#[derive(Debug, Default)]
pub(super) struct FreeSlots {
    /// They may be taken, the next one last.
    free: Vec<FlowSlot>,
    /// Left in the interval that goes on.
    left: Vec<FlowSlot>,
    /// Number of that interval.
    interval: u64,
}

impl FreeSlots {
    /// Places that were left in it are taken after it.
    const INTERVAL: Time = INTERVAL;

    /// How many places nobody has.
    pub(super) fn len(&self) -> usize {
        self.free.len() + self.left.len()
    }

    /// Takes a place that was left in an earlier interval: of the last one of which places are
    /// left, the lowest.
    pub(super) fn take(&mut self, now: Time) -> Option<FlowSlot> {
        self.advance(now);
        self.free.pop()
    }

    /// Leaves a place.
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
