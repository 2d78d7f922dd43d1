//! The event queue: a bucket calendar of 64-bit events.
//!
//! An event is one `u64`: 44 bits of time and 20 bits of key, so that comparing events is comparing integers. The near
//! future is a ring of buckets with a bitmap; a bucket is sorted when it is opened. Far events wait in a heap.
//!
//! # Simultaneous events
//!
//! At one instant completed transmissions go before deliveries, so that space freed at an instant can be used at that
//! instant. Within a class the order is *fair and seeded*: a hash of seed, time and component number decides, so
//! every order of any set of components is equally frequent over many instants, and no port is favoured by its
//! number. (A number XORed with noise would not do: of 0, 1 and 2, it puts 2 first half of the time.) Only ties pay
//! for the hash. A scenario may ask for the order of insertion instead ([`Ties`]).

use crate::ids::LinkId;
use crate::world::ties::Ties;
use bufferlab_units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

const KEY_BITS: u32 = 20;
const ID_BITS: u32 = 18;
const ID_MASK: u64 = (1 << ID_BITS) - 1;
/// Relative times are below 2⁴⁴ ps = 17.6 s.
const TIME_LIMIT: u64 = 1 << 44;
/// Opened buckets beyond this are rebased.
const REBASE_AT: u64 = 1 << 43;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A link has finished a transmission, and more waits for it.
    TransmissionComplete,
    /// The first packet in a link's pipe reaches the far end.
    Delivery,
}

#[inline]
fn kind_of(event: u64) -> Kind {
    if event & (1 << ID_BITS) == 0 { Kind::TransmissionComplete } else { Kind::Delivery }
}

/// Events of links, in order of time.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// Time that relative time 0 stands for.
    epoch: u64,
    ties: Ties,
    /// Bits of an event below those that decide before [`Ties`] are asked.
    tie_bits: u32,
    width_bits: u32,
    buckets: Vec<Vec<u64>>,
    occupied: Vec<u64>,
    /// Absolute number of the open bucket.
    open: u64,
    /// Content of the open bucket, latest first.
    current: Vec<u64>,
    far: BinaryHeap<Reverse<u64>>,
}

impl Calendar {
    /// At most this many links.
    pub(crate) const MAX_LINK: u32 = ID_MASK as u32;
    /// An event may lie at most this far ahead (4.4 s) of the time at which it is scheduled.
    pub(crate) const MAX_REACH: Time = Time(1 << 42);

    /// `width_bits`: a bucket spans 2^width_bits ps; `bucket_bits`: the ring has 2^bucket_bits buckets (at least 64).
    pub(crate) fn new(ties: Ties, width_bits: u32, bucket_bits: u32) -> Self {
        let count = 1_usize << bucket_bits.max(6);
        Self {
            epoch: 0,
            tie_bits: if ties.by_kind() { ID_BITS } else { KEY_BITS },
            ties,
            width_bits: width_bits + KEY_BITS,
            buckets: vec![Vec::new(); count],
            occupied: vec![0; count / 64],
            open: 0,
            current: Vec::new(),
            far: BinaryHeap::new(),
        }
    }

    /// Orders events by time (and class), and leaves ties to [`Ties`].
    #[inline]
    fn order(&self, a: u64, b: u64) -> Ordering {
        let by_time = (a >> self.tie_bits).cmp(&(b >> self.tie_bits));
        if by_time == Ordering::Equal { self.order_of_tie(a, b) } else { by_time }
    }

    #[cold]
    fn order_of_tie(&self, a: u64, b: u64) -> Ordering {
        let instant = (a >> KEY_BITS) + self.epoch;
        let rank = |event: u64| self.ties.rank(instant, kind_of(event), LinkId((event & ID_MASK) as u32));
        rank(a).cmp(&rank(b))
    }

    /// Whose transmissions decide ties by insertion.
    #[inline]
    pub(crate) fn ties(&mut self) -> &mut Ties {
        &mut self.ties
    }

    /// Schedules `kind` of `link` at `time`, which is not before the last popped event.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, kind: Kind, link: LinkId) {
        let class = match kind {
            Kind::TransmissionComplete => 0,
            Kind::Delivery => 1 << ID_BITS,
        };
        if time.0 - self.epoch >= TIME_LIMIT {
            self.skip_to(time);
        }
        let event = (time.0 - self.epoch) << KEY_BITS | class | u64::from(link.0);
        let bucket = event >> self.width_bits;
        if bucket <= self.open {
            let at = self.current.partition_point(|&other| self.order(other, event) == Ordering::Greater);
            self.current.insert(at, event);
        } else if bucket - self.open < self.buckets.len() as u64 {
            self.put(bucket, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    #[inline]
    fn put(&mut self, bucket: u64, event: u64) {
        let slot = bucket as usize & (self.buckets.len() - 1);
        self.buckets[slot].push(event);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Time of the next event; [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next_time(&mut self) -> Time {
        if self.current.is_empty() && !self.advance() {
            return Time::MAX;
        }
        let event = self.current[self.current.len() - 1];
        Time((event >> KEY_BITS) + self.epoch)
    }

    /// Takes the next event. [`Self::next_time`] has said that there is one.
    #[inline]
    pub(crate) fn pop(&mut self) -> (Time, Kind, LinkId) {
        let event = self.current.pop().expect("next_time was asked before");
        let time = (event >> KEY_BITS) + self.epoch;
        let (kind, link) = (kind_of(event), LinkId((event & ID_MASK) as u32));
        if kind == Kind::Delivery {
            self.ties.note_delivery(link);
        }
        (Time(time), kind, link)
    }

    /// Opens the next bucket that holds an event; false if there is none.
    fn advance(&mut self) -> bool {
        if self.epoch_is_over() {
            let start_of_open_bucket = (self.open << self.width_bits) >> KEY_BITS;
            self.rebase(self.epoch + start_of_open_bucket);
        }
        let next = self.next_occupied();
        let far = self.far.peek().map(|Reverse(event)| event >> self.width_bits);
        let bucket = match (next, far) {
            (None, None) => return false,
            (Some(a), None) | (None, Some(a)) => a,
            (Some(a), Some(b)) => a.min(b),
        };
        self.open = bucket;
        if next == Some(bucket) {
            let slot = bucket as usize & (self.buckets.len() - 1);
            std::mem::swap(&mut self.current, &mut self.buckets[slot]);
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        let horizon = bucket + self.buckets.len() as u64;
        while let Some(&Reverse(event)) = self.far.peek() {
            let home = event >> self.width_bits;
            if home >= horizon {
                break;
            }
            self.far.pop();
            if home == bucket { self.current.push(event) } else { self.put(home, event) }
        }
        if self.current.len() > 1 {
            let mut current = std::mem::take(&mut self.current);
            current.sort_unstable_by(|&a, &b| self.order(b, a));
            self.current = current;
        }
        true
    }

    /// Absolute number of the first occupied bucket after the open one.
    #[inline]
    fn next_occupied(&self) -> Option<u64> {
        let count = self.buckets.len();
        let start = (self.open as usize + 1) & (count - 1);
        let words = self.occupied.len();
        let first = self.occupied[start / 64] & (u64::MAX << (start % 64));
        let distance = |slot: usize| ((slot.wrapping_sub(start)) & (count - 1)) as u64 + 1;
        if first != 0 {
            return Some(self.open + distance(start / 64 * 64 + first.trailing_zeros() as usize));
        }
        (1..=words).find_map(|step| {
            let word = (start / 64 + step) % words;
            let bits = self.occupied[word];
            (bits != 0).then(|| self.open + distance(word * 64 + bits.trailing_zeros() as usize))
        })
    }

    fn epoch_is_over(&self) -> bool {
        (self.open << self.width_bits) >> KEY_BITS >= REBASE_AT
    }

    /// Makes room for an event at `time`, which lies too far from the epoch because nothing happened for long.
    #[cold]
    fn skip_to(&mut self, time: Time) {
        let events = self.current.iter().chain(self.buckets.iter().flatten());
        let events = events.chain(self.far.iter().map(|Reverse(event)| event));
        let first = events.map(|event| (event >> KEY_BITS) + self.epoch).fold(time.0, u64::min);
        // It was scheduled at most `MAX_REACH` ahead, so nothing will be scheduled before this.
        self.rebase(first.saturating_sub(Self::MAX_REACH.0).max(self.epoch));
        assert!(time.0 - self.epoch < TIME_LIMIT, "no event lies more than {} ahead", Self::MAX_REACH);
    }

    /// Moves relative time 0 to the start of the bucket that holds `base`, so that 44 bits always suffice. All
    /// buckets are re-laid; happens every 8.8 s of simulated time and after long silence.
    #[cold]
    fn rebase(&mut self, base: u64) {
        let width_bits = self.width_bits - KEY_BITS;
        let shift = (base - self.epoch) >> width_bits << width_bits;
        let mut events: Vec<u64> = self.far.drain().map(|Reverse(event)| event).collect();
        for bucket in self.buckets.iter_mut().chain([&mut self.current]) {
            events.append(bucket);
        }
        self.occupied.fill(0);
        self.epoch += shift;
        self.open = 0;
        for event in events {
            let event = event - (shift << KEY_BITS);
            let bucket = event >> self.width_bits;
            if bucket > 0 && bucket < self.buckets.len() as u64 {
                self.put(bucket, event);
            } else {
                self.far.push(Reverse(event));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_scenario::TieOrder;
    use bufferlab_units::RandomStream;

    fn calendar(seed: u64) -> Calendar {
        Calendar::new(Ties::new(TieOrder::Fair, seed, 1000), 12, 8)
    }

    #[test]
    fn by_insertion_what_began_first_goes_first_and_an_end_goes_before_an_arrival() {
        let mut calendar = Calendar::new(Ties::new(TieOrder::Insertion, 1, 9), 12, 8);
        for link in [5, 2, 7, 0] {
            calendar.ties().note_transmission(LinkId(link));
        }
        // Link 2 sends a second packet before its first one arrives, and loses it.
        calendar.ties().note_transmission(LinkId(2));
        calendar.ties().keep_first(LinkId(2));
        for link in [0, 7, 2, 5] {
            calendar.push(Time(500), Kind::Delivery, LinkId(link));
        }
        calendar.push(Time(500), Kind::TransmissionComplete, LinkId(7));
        let order: Vec<_> =
            std::iter::from_fn(|| (calendar.next_time() != Time::MAX).then(|| calendar.pop()))
                .map(|(_, kind, link)| (kind, link.0))
                .collect();
        let arrival = |link| (Kind::Delivery, link);
        let end = (Kind::TransmissionComplete, 7);
        assert_eq!(order, [arrival(5), arrival(2), end, arrival(7), arrival(0)]);
    }

    #[test]
    fn events_come_in_order_of_time_over_many_epochs() {
        let mut stream = RandomStream::new(5, "calendar", 0);
        let mut calendar = calendar(1);
        let mut expected = BinaryHeap::new();
        let mut now = 0_u64;
        let mut popped = 0;
        for _ in 0..60_000 {
            for _ in 0..stream.below(3) {
                let far = [1_000, 1_000_000, 40_000_000_000, 3_000_000_000_000][stream.below(4) as usize];
                let time = now + stream.below(far);
                calendar.push(Time(time), Kind::Delivery, LinkId(stream.below(1000) as u32));
                expected.push(Reverse(time));
            }
            if calendar.next_time() != Time::MAX {
                let (time, kind, id) = calendar.pop();
                assert_eq!(Some(Reverse(time.0)), expected.pop());
                assert!(time.0 >= now && id.0 < 1000 && kind == Kind::Delivery);
                now = time.0;
                popped += 1;
            }
        }
        assert!(popped > 25_000 && now > 40_000_000_000_000, "several epochs passed: {now}");
    }

    #[test]
    fn completed_transmissions_go_before_deliveries() {
        let mut calendar = calendar(1);
        calendar.push(Time(500), Kind::Delivery, LinkId(1));
        calendar.push(Time(500), Kind::TransmissionComplete, LinkId(2));
        assert_eq!(calendar.next_time(), Time(500));
        assert_eq!(calendar.pop(), (Time(500), Kind::TransmissionComplete, LinkId(2)));
        assert_eq!(calendar.next_time(), Time(500));
        assert_eq!(calendar.pop(), (Time(500), Kind::Delivery, LinkId(1)));
        assert_eq!(calendar.next_time(), Time::MAX);
    }

    #[test]
    fn ties_are_fair_between_components_and_repeatable() {
        let order = |seed: u64, instant: u64| -> Vec<u32> {
            let mut calendar = calendar(seed);
            for id in 0..8 {
                calendar.push(Time(instant), Kind::Delivery, LinkId(id));
            }
            (0..8)
                .map(|_| {
                    calendar.next_time();
                    calendar.pop().2.0
                })
                .collect()
        };
        let mut first = [0_u32; 8];
        // By order of components 0, 1 and 2.
        let mut orders = std::collections::BTreeMap::<Vec<u32>, u32>::new();
        for instant in 0..8_000 {
            let sequence = order(3, instant * 1_163_200);
            first[sequence[0] as usize] += 1;
            *orders.entry(sequence.iter().copied().filter(|&id| id < 3).collect()).or_default() += 1;
            assert_eq!(sequence, order(3, instant * 1_163_200));
        }
        assert!(first.iter().all(|count| (850..1150).contains(count)), "{first:?}");
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|count| (1_170..1_500).contains(count)), "{orders:?}");
        assert_ne!(order(3, 77), order(4, 77));
    }

    #[test]
    fn silence_may_last_longer_than_relative_time_counts() {
        let second = 1_000_000_000_000;
        let mut calendar = calendar(1);
        for now in [0, 20, 37, 3_600] {
            let (late, early) = (Time(now * second + 4 * second), Time(now * second + 17));
            calendar.push(late, Kind::Delivery, LinkId(1));
            calendar.push(early, Kind::Delivery, LinkId(2));
            for expected in [early, late] {
                assert_eq!(calendar.next_time(), expected);
                assert_eq!(calendar.pop().0, expected);
            }
        }
    }
}
