//! Order of events of different shards: the order in which one thread would handle the events.

use super::calendar::LinkPlace;
use super::timers::Timer;
use bufferlab_units::Time;

/// Position of an event in the order of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order {
    at: Time,
    /// Number of schedules whose execution began at this instant before the event. These beginnings
    /// are events of all shards.
    begun: u32,
    rank: Rank,
}

/// Position of an event among the events of its instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Link(LinkPlace),
    Timer(Timer),
    /// The flow of an open workload with this number starts.
    Flow(u64),
}

impl Order {
    pub(crate) const ZERO: Self = Self { at: Time::ZERO, begun: 0, rank: Rank::FIRST };

    /// Position of the next event of a shard, which happens at the time `at`.
    ///
    /// An event can cause an event of the same instant that has a lower rank. One thread handles
    /// the effect before all events whose rank is higher than the rank of the cause. So the effect
    /// takes the position of the cause.
    pub(crate) fn then(self, at: Time, rank: Rank) -> Self {
        let before = if at == self.at { self } else { Self { at, ..Self::ZERO } };
        match rank {
            Rank::Timer(Timer::ScheduleBegin(index)) => Self { at, begun: index + 1, rank: Rank::FIRST },
            _ => Self { rank: before.rank.max(rank), ..before },
        }
    }
}

impl Rank {
    const FIRST: Self = Self::Link(LinkPlace::FIRST);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_merged_order_is_that_of_one_thread() {
        let list = |events: &[(u64, Timer)]| -> Vec<(Order, Timer)> {
            let mut order = Order::ZERO;
            let place = |&(at, timer): &(u64, Timer)| {
                order = order.then(Time(at), Rank::Timer(timer));
                (order, timer)
            };
            events.iter().map(place).collect()
        };
        let (step, begin) = (Timer::ScheduleStep, Timer::ScheduleBegin(0));
        // Step 4 causes step 1, and step 5 causes step 3. An execution begins with steps 9 and 2.
        let one = list(&[(7, step(5)), (7, step(3)), (8, begin), (8, step(9)), (9, step(0))]);
        let other = list(&[(7, step(4)), (7, step(1)), (8, step(10)), (8, begin), (8, step(2))]);
        let mut merged = [one, other].concat();
        merged.sort_by_key(|(order, _)| *order);
        let merged: Vec<Timer> = merged.into_iter().map(|(_, timer)| timer).collect();
        let expected =
            [step(4), step(1), step(5), step(3), step(10), begin, begin, step(2), step(9), step(0)];
        assert_eq!(merged, expected);
    }
}
