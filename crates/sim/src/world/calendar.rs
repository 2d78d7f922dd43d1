//! The event queue of the simulator: a bucket calendar of 64-bit events.
//!
//! An event is one `u64`: 44 bits of time and 20 bits of key, so that a comparison of events is
//! a comparison of integers. A ring of buckets with a bitmap contains events of the near future.
//! The calendar sorts a bucket when it opens the bucket. A heap contains later events.
//!
//! # Simultaneous events
//!
//! At one instant, completed transmissions are handled before deliveries, so that space freed at an
//! instant can be used at that instant. Among events of one kind the order is *fair and seeded*: a
//! hash of seed, time and component number decides. So every order of any set of components is
//! equally frequent over many instants, and no port is favoured by its number. (A number XORed with
//! noise would not be fair: of 0, 1 and 2, the number 2 would be first half of the time.) The
//! calendar computes the hash only for ties. A scenario may select the order of insertion instead
//! ([`Ties`]).

use crate::ids::LinkId;
use crate::world::ties::Ties;
use bufferlab_units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

const KEY_BITS: u32 = 20;
const ID_BITS: u32 = 18;
const ID_MASK: u64 = (1 << ID_BITS) - 1;
/// Upper bound of relative times in picoseconds: 2⁴⁴ ps = 17.6 s.
const TIME_LIMIT: u64 = 1 << 44;
/// Relative time after which the calendar moves its time base when it opens a bucket.
const REBASE_AT: u64 = 1 << 43;

/// Kind of a link event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A link has finished a transmission, and another packet waits for this link.
    TransmissionComplete,
    /// The first packet in a link's pipe reaches the far end.
    Delivery,
}

#[inline]
fn kind_of(event: u64) -> Kind {
    if event & (1 << ID_BITS) == 0 { Kind::TransmissionComplete } else { Kind::Delivery }
}

#[inline]
fn link_of(event: u64) -> LinkId {
    LinkId((event & ID_MASK) as u32)
}

/// The earliest event of the calendar: its time, kind and link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upcoming {
    /// Time of the event. [`Time::MAX`] if the calendar is empty.
    pub(crate) time: Time,
    event: u64,
}

/// Order of a link event among the link events of its instant: its kind, and its rank among the
/// events of that kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkPlace(u8, u64);

impl LinkPlace {
    /// Place before all link events of an instant.
    pub(crate) const FIRST: Self = Self(0, 0);
}

/// Number of events in one [`Batch`].
const BATCH: usize = 7;

/// Storage for events that wait in a bucket: one cache line. Freed storage is reused last in, first
/// out, so that the storage stays in the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Batch {
    /// The events, in no order. Slots beyond `len` have old content.
    events: [u64; BATCH],
    len: u32,
    /// Next batch of the bucket or of the free list. [`END`] if the batch is the last. All batches
    /// of a bucket except the first are full.
    next: u32,
}

const _: () = assert!(size_of::<Batch>() == 64, "a cache line");

/// Number of buckets in the ring. The number is a constant, so that the compiler can omit bounds
/// checks of masked indices.
pub(crate) const BUCKETS: usize = 1 << 13;

/// Index that marks the end of a bucket's list of batches.
const END: u32 = u32::MAX;

/// Events of the open bucket, removed from the end. Slots beyond the end keep their old
/// content, so that adding an event is one comparison and one store.
#[derive(Clone, Debug)]
struct Stack {
    slots: Vec<u64>,
    len: usize,
}

impl Stack {
    /// An empty stack with slots for the events of one batch.
    fn new() -> Self {
        Self { slots: vec![0; BATCH], len: 0 }
    }

    /// The next slots of the stack, if they suffice for a batch.
    #[inline(always)]
    fn room(&mut self) -> Option<&mut [u64; BATCH]> {
        self.slots.get_mut(self.len..)?.first_chunk_mut()
    }

    /// Makes [`Self::room`] for the events of a batch and stores them there.
    #[cold]
    #[inline(never)]
    fn grow_by_batch(&mut self, events: &[u64; BATCH]) {
        self.slots.truncate(self.len);
        self.slots.extend(events);
    }

    #[inline(always)]
    fn push(&mut self, event: u64) {
        match self.slots.get_mut(self.len) {
            Some(slot) => *slot = event,
            None => self.grow(event),
        }
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, event: u64) {
        self.slots.push(event);
    }

    #[inline(always)]
    fn last(&self) -> Option<u64> {
        self.slots.get(self.len.wrapping_sub(1)).copied()
    }

    fn insert(&mut self, at: usize, event: u64) {
        self.push(event);
        self.slots[at..self.len].rotate_right(1);
    }

    fn clear(&mut self) {
        self.len = 0;
    }

    #[inline]
    fn as_slice(&self) -> &[u64] {
        &self.slots[..self.len]
    }

    #[inline]
    fn as_mut_slice(&mut self) -> &mut [u64] {
        &mut self.slots[..self.len]
    }
}

/// Queue of link events in the order of time.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// Absolute time (ps) at which the relative time of events is 0.
    epoch: u64,
    ties: Ties,
    /// Number of an event's low bits that comparisons ignore. [`Ties`] decides the order of events
    /// that differ only in these bits.
    tie_bits: u32,
    /// Exponent of the bucket size: a bucket covers 2^`width_bits` ps.
    width_bits: u32,
    /// Index of the first batch of each bucket.
    first: Box<[u32; BUCKETS]>,
    batches: Vec<Batch>,
    /// Index of the first free batch.
    free: u32,
    /// One bit per bucket: whether the bucket contains events.
    occupied: Box<[u64; BUCKETS / 64]>,
    /// Number of the open bucket since the epoch (not its index in the ring).
    open: u64,
    /// Events of the open bucket, latest first.
    current: Stack,
    far: BinaryHeap<Reverse<u64>>,
    /// First bucket that needs more work than opening: some of its events are in `far`, or the time
    /// base must move.
    special: u64,
}

impl Calendar {
    /// Largest number of links in a calendar.
    pub(crate) const MAX_LINK: u32 = ID_MASK as u32;
    /// Largest distance (4.4 s) between the time of an event and the time at which it is scheduled.
    pub(crate) const MAX_REACH: Time = Time(1 << 42);

    /// Creates a calendar whose buckets cover 2^`width_bits` ps each.
    pub(crate) fn new(ties: Ties, width_bits: u32) -> Self {
        Self {
            epoch: 0,
            tie_bits: if ties.by_kind() { ID_BITS } else { KEY_BITS },
            ties,
            width_bits,
            first: Box::new([END; BUCKETS]),
            batches: Vec::new(),
            free: END,
            occupied: Box::new([0; BUCKETS / 64]),
            open: 0,
            current: Stack::new(),
            far: BinaryHeap::new(),
            special: REBASE_AT >> width_bits,
        }
    }

    #[inline]
    fn bucket_of(&self, event: u64) -> u64 {
        event >> KEY_BITS >> self.width_bits
    }

    /// Orders events by time (and kind). [`Ties`] decides the order at equal times.
    #[inline]
    fn order(&self, a: u64, b: u64) -> Ordering {
        let by_time = (a >> self.tie_bits).cmp(&(b >> self.tie_bits));
        if by_time == Ordering::Equal { self.order_of_tie(a, b) } else { by_time }
    }

    #[inline(never)]
    fn order_of_tie(&self, a: u64, b: u64) -> Ordering {
        let ties = self.ties.at((a >> KEY_BITS) + self.epoch);
        let rank = |event: u64| ties.rank(kind_of(event), link_of(event));
        rank(a).cmp(&rank(b))
    }

    /// State of the tie order, which needs a record of all transmissions.
    #[inline]
    pub(crate) fn ties(&mut self) -> &mut Ties {
        &mut self.ties
    }

    /// Schedules `kind` of `link` at `time`, which must not be earlier than the last event removed.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, kind: Kind, link: LinkId) {
        let key = (kind as u64) << ID_BITS | u64::from(link.0);
        let after = time.0 - self.epoch;
        let bucket = after >> self.width_bits;
        let event = after << KEY_BITS | key;
        // The subtraction wraps for the open bucket and earlier buckets. An event whose time is too
        // far from the epoch is also beyond the ring.
        if bucket.wrapping_sub(self.open + 1) < BUCKETS as u64 - 1 {
            self.put(bucket, event);
        } else if bucket <= self.open {
            self.insert(event);
        } else {
            self.push_far(time, key);
        }
    }

    /// Adds an event to the open bucket.
    #[inline(never)]
    fn insert(&mut self, event: u64) {
        const FEW: usize = 16;
        let current = self.current.as_slice();
        let is_later = |&other: &u64| self.order(other, event) == Ordering::Greater;
        // Most events are inserted near the end of a short bucket.
        let at = match current.len() {
            0..FEW => current.iter().rposition(is_later).map_or(0, |later| later + 1),
            _ => current.partition_point(is_later),
        };
        self.current.insert(at, event);
    }

    /// Adds an event beyond the ring to the heap.
    #[cold]
    #[inline(never)]
    fn push_far(&mut self, time: Time, key: u64) {
        if time.0 - self.epoch >= TIME_LIMIT {
            self.skip_to(time);
        }
        let event = (time.0 - self.epoch) << KEY_BITS | key;
        let bucket = self.bucket_of(event);
        if bucket > self.open && bucket - self.open < BUCKETS as u64 {
            // The epoch has just moved, so the ring has a bucket for the event.
            self.put(bucket, event);
        } else if bucket <= self.open {
            self.insert(event);
        } else {
            self.far.push(Reverse(event));
            self.special = self.special.min(bucket);
        }
    }

    #[inline(always)] // One of the two callers is hot.
    fn put(&mut self, bucket: u64, event: u64) {
        let slot = bucket as usize % BUCKETS;
        if let Some(batch) = self.batches.get_mut(self.first[slot] as usize)
            && let Some(place) = batch.events.get_mut(batch.len as usize)
        {
            *place = event;
            batch.len += 1;
        } else {
            self.begin_batch(slot, event);
        }
    }

    /// Adds an event to a bucket that is empty or has only full batches.
    #[inline(never)]
    fn begin_batch(&mut self, slot: usize, event: u64) {
        let slot = slot % BUCKETS;
        let next = self.first[slot];
        self.occupied[slot / 64] |= 1 << (slot % 64);
        if let Some(batch) = self.batches.get_mut(self.free as usize) {
            self.first[slot] = self.free;
            self.free = batch.next;
            batch.events[0] = event;
            (batch.len, batch.next) = (1, next);
        } else {
            self.first[slot] = self.add_batch(event, next);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_batch(&mut self, event: u64, next: u32) -> u32 {
        self.batches.push(Batch { events: [event; BATCH], len: 1, next });
        u32::try_from(self.batches.len() - 1).expect("there are fewer than two events for each link")
    }

    /// Returns the earliest event and leaves it in the calendar.
    #[inline]
    pub(crate) fn next(&mut self) -> Upcoming {
        loop {
            if let Some(event) = self.current.last() {
                return Upcoming { time: Time((event >> KEY_BITS) + self.epoch), event };
            }
            if !self.advance() {
                return Upcoming { time: Time::MAX, event: 0 };
            }
        }
    }

    /// Position of the event that [`Self::next`] has just returned, among the link events of its
    /// instant.
    pub(crate) fn place(&self, upcoming: Upcoming) -> LinkPlace {
        let (kind, link) = (kind_of(upcoming.event), link_of(upcoming.event));
        LinkPlace(kind as u8, self.ties.at(upcoming.time.0).rank(kind, link))
    }

    /// Order of a delivery over link `link` among the link events of the time `at`.
    pub(crate) fn place_of_delivery(&self, at: Time, link: LinkId) -> LinkPlace {
        LinkPlace(Kind::Delivery as u8, self.ties.at(at.0).rank(Kind::Delivery, link))
    }

    /// Kind and link of the event that [`Self::next`] has just returned.
    pub(crate) fn peek(upcoming: Upcoming) -> (Kind, LinkId) {
        (kind_of(upcoming.event), link_of(upcoming.event))
    }

    /// Removes the event that [`Self::next`] has just returned.
    #[inline]
    pub(crate) fn take(&mut self, upcoming: Upcoming) -> (Kind, LinkId) {
        debug_assert_eq!(self.current.last(), Some(upcoming.event), "it is the next one");
        self.current.len -= 1;
        let (kind, link) = (kind_of(upcoming.event), link_of(upcoming.event));
        if kind == Kind::Delivery {
            self.ties.note_delivery(link);
        }
        (kind, link)
    }

    /// Opens the next bucket that contains an event. Returns false if no bucket contains an event.
    fn advance(&mut self) -> bool {
        let bucket = match self.next_occupied(self.open) {
            Some(bucket) if bucket < self.special => bucket,
            next => match self.special_bucket(next) {
                Some(bucket) => bucket,
                None => return false,
            },
        };
        self.open = bucket;
        let slot = bucket as usize % BUCKETS;
        let first = std::mem::replace(&mut self.first[slot], END);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        self.take_batches(first);
        true
    }

    /// Moves the events of the batches from `first` on to the open bucket,
    /// and sorts the bucket, latest event first.
    #[inline(always)]
    fn take_batches(&mut self, first: u32) {
        if let Some(batch) = self.batches.get_mut(first as usize)
            && batch.len <= 4
            && batch.next == END
            && self.current.len == 0
            && let Some(room) = self.current.slots.first_chunk_mut()
        {
            // Most buckets have so few events. Slots beyond the events get two times before the
            // bucket, which are no tie.
            let [first_event, second, third, fourth, ..] = batch.events;
            let third = if batch.len > 2 { third } else { 1 << KEY_BITS };
            let fourth = if batch.len > 3 { fourth } else { 0 };
            *room = [first_event, second, third, fourth];
            self.current.len = batch.len as usize;
            (batch.next, self.free) = (self.free, first);
            if self.current.len > 1 {
                self.sort_four();
            }
            return;
        }
        let mut next = first;
        while let Some(batch) = self.batches.get_mut(next as usize) {
            match self.current.room() {
                Some(room) => *room = batch.events,
                None => self.current.grow_by_batch(&batch.events),
            }
            self.current.len += batch.len as usize;
            (next, batch.next, self.free) = (batch.next, self.free, next);
        }
        if self.current.len > 1 {
            self.sort();
        }
    }

    /// Sorts the first four slots of the bucket that was just opened, latest event first. Orders
    /// ties as [`Self::sort`] does.
    #[inline(always)]
    fn sort_four(&mut self) {
        let Some(events) = self.current.slots.first_chunk_mut() else { return };
        *events = sorted(*events);
        let [first, second, third, fourth] = *events;
        if (first ^ second).min(second ^ third).min(third ^ fourth) >> self.tie_bits == 0 {
            self.sort_ties(0);
        }
    }

    /// Sorts the bucket that was just opened, latest event first. The bucket nearly always contains
    /// few events, so the function sorts integers first and orders ties afterwards.
    #[inline(always)]
    fn sort(&mut self) {
        const FEW: usize = 16;
        let bits = self.tie_bits;
        let events = self.current.as_mut_slice();
        if events.len() <= FEW {
            sort_few(events);
        } else {
            events.sort_unstable_by_key(|&event| Reverse(event));
        }
        if let Some(first) = events.windows(2).position(|pair| (pair[0] ^ pair[1]) >> bits == 0) {
            self.sort_ties(first);
        }
    }

    /// Orders simultaneous events of the open bucket, the first of which are at `first`.
    /// All other events are already in order.
    #[inline(never)]
    fn sort_ties(&mut self, first: usize) {
        let bits = self.tie_bits;
        let mut rest = &mut self.current.as_mut_slice()[first..];
        while let [one, other, others @ ..] = rest {
            if (*one ^ *other) >> bits != 0 {
                rest = &mut rest[1..];
                continue;
            }
            let time = *one >> bits;
            let ties = self.ties.at((*one >> KEY_BITS) + self.epoch);
            let rank = |event: u64| ties.rank(kind_of(event), link_of(event));
            let more = others.iter().take_while(|&event| event >> bits == time).count();
            if more == 0 {
                // Nearly all groups of simultaneous events have two events.
                if rank(*one) < rank(*other) {
                    std::mem::swap(one, other);
                }
            } else {
                sort_by_rank(&mut rest[..2 + more], rank);
            }
            rest = &mut rest[2 + more..];
        }
    }

    /// Next bucket to open. `next` is the next occupied bucket of the ring. The function moves
    /// events of that bucket from `far` to `current`. The function also moves the time base if the
    /// open bucket is late enough.
    #[cold]
    fn special_bucket(&mut self, next: Option<u64>) -> Option<u64> {
        let mut next = next;
        if self.open >= self.rebase_bucket() {
            let start_of_open_bucket = self.open << self.width_bits;
            self.rebase(self.epoch + start_of_open_bucket);
            next = self.next_occupied(self.open);
        }
        let far = self.far.peek().map(|Reverse(event)| self.bucket_of(*event));
        let bucket = next.into_iter().chain(far).min();
        while let Some(&Reverse(event)) = self.far.peek()
            && Some(self.bucket_of(event)) == bucket
        {
            self.far.pop();
            self.current.push(event);
        }
        self.special = self.first_special();
        bucket
    }

    fn rebase_bucket(&self) -> u64 {
        REBASE_AT >> self.width_bits
    }

    fn first_special(&self) -> u64 {
        let far = self.far.peek().map_or(u64::MAX, |Reverse(event)| self.bucket_of(*event));
        far.min(self.rebase_bucket())
    }

    /// Number of the open bucket. The number changes when the calendar opens another bucket.
    #[inline]
    pub(crate) fn open_bucket(&self) -> u64 {
        self.open
    }

    /// Numbers of the occupied buckets of the ring after the open bucket, in order.
    #[inline]
    pub(crate) fn next_buckets(&self) -> impl Iterator<Item = u64> {
        std::iter::successors(self.next_occupied(self.open), |&bucket| self.next_occupied(bucket))
    }

    /// Events in bucket `bucket` of the ring, in any order.
    #[inline]
    pub(crate) fn events_in(&self, bucket: u64) -> impl Iterator<Item = (Kind, LinkId)> {
        let first = self.first[bucket as usize % BUCKETS];
        self.events_of(first).map(|event| (kind_of(event), link_of(event)))
    }

    /// Events of the list of batches that begins with batch `first`.
    #[inline]
    fn events_of(&self, first: u32) -> impl Iterator<Item = u64> {
        let batch_at = |index: u32| self.batches.get(index as usize);
        std::iter::successors(batch_at(first), move |batch| batch_at(batch.next))
            .flat_map(|batch| batch.events.iter().take(batch.len as usize).copied())
    }

    /// Number of the first occupied bucket of the ring after bucket `bucket`, which is the open
    /// bucket or a later bucket of the ring.
    #[inline]
    fn next_occupied(&self, bucket: u64) -> Option<u64> {
        let start = (bucket as usize + 1) % BUCKETS;
        let words = self.occupied.len();
        let first = self.occupied[start / 64] >> (start % 64);
        if first != 0 {
            return Some(bucket + 1 + u64::from(first.trailing_zeros()));
        }
        let distance = |slot: usize| (slot.wrapping_sub(start) % BUCKETS) as u64 + 1;
        (1..=words).find_map(|step| {
            let word = (start / 64 + step) % words;
            let bits = self.occupied[word];
            (bits != 0).then(|| bucket + distance(word * 64 + bits.trailing_zeros() as usize))
        })
    }

    /// Lists all events of the calendar, for tests.
    fn events(&self) -> Vec<u64> {
        let mut events: Vec<u64> = self.far.iter().map(|Reverse(event)| *event).collect();
        events.extend(self.current.as_slice());
        events.extend(self.first.iter().flat_map(|&first| self.events_of(first)));
        events
    }

    /// Moves the calendar for an event at `time`, which is too far from the epoch after a long
    /// period without events.
    #[cold]
    #[inline(never)]
    fn skip_to(&mut self, time: Time) {
        let times = self.events().into_iter().map(|event| (event >> KEY_BITS) + self.epoch);
        let first = times.fold(time.0, u64::min);
        // Events are scheduled at most `MAX_REACH` ahead. So no later call schedules an event more
        // than `MAX_REACH` before the first event.
        self.rebase(first.saturating_sub(Self::MAX_REACH.0).max(self.epoch));
        assert!(time.0 - self.epoch < TIME_LIMIT, "no event lies more than {} ahead", Self::MAX_REACH);
    }

    /// Moves the relative time 0 to the start of the bucket that contains `base`, so that 44 bits
    /// are always enough. The function builds all buckets again. Moves happen every 8.8 s of
    /// simulated time and after long periods without events.
    #[cold]
    fn rebase(&mut self, base: u64) {
        let width_bits = self.width_bits;
        let shift = (base - self.epoch) >> width_bits << width_bits;
        let events = self.events();
        self.far.clear();
        self.current.clear();
        self.first.fill(END);
        self.batches.clear();
        self.free = END;
        self.occupied.fill(0);
        self.epoch += shift;
        self.open = 0;
        for event in events {
            let event = event - (shift << KEY_BITS);
            let bucket = self.bucket_of(event);
            if bucket > 0 && bucket < BUCKETS as u64 {
                self.put(bucket, event);
            } else {
                self.far.push(Reverse(event));
            }
        }
        self.special = self.first_special();
    }
}

/// Returns four events, largest first. The function has no branch that depends on the events,
/// because a processor cannot predict such branches.
#[inline(always)] // Inlined where buckets are opened.
fn sorted(mut events: [u64; 4]) -> [u64; 4] {
    for (i, j) in [(0, 2), (1, 3), (0, 1), (2, 3), (1, 2)] {
        let (a, b) = (events[i], events[j]);
        (events[i], events[j]) = (a.max(b), a.min(b));
    }
    events
}

/// Sorts events, largest first. Insertion is the fastest way for the few events of a bucket.
#[inline(always)] // Inlined where buckets are opened.
fn sort_few(events: &mut [u64]) {
    let mut in_order = 1;
    if let Some(first) = events.first_chunk_mut() {
        *first = sorted(*first);
        in_order = first.len();
    }
    for end in in_order..events.len() {
        let event = events[end];
        let mut at = end;
        while at > 0 && events[at - 1] < event {
            events[at] = events[at - 1];
            at -= 1;
        }
        events[at] = event;
    }
}

/// Sorts events, largest rank first.
#[inline(always)] // One caller.
fn sort_by_rank(events: &mut [u64], rank: impl Fn(u64) -> u64) {
    const FEW: usize = 8;
    if events.len() > FEW {
        return events.sort_unstable_by_key(|&event| Reverse(rank(event)));
    }
    // A rank is a hash, so the function computes each rank once.
    let mut ranks = [0; FEW];
    for end in 0..events.len() {
        let (event, own) = (events[end], rank(events[end]));
        let mut at = end;
        while at > 0 && ranks[at - 1] < own {
            (events[at], ranks[at]) = (events[at - 1], ranks[at - 1]);
            at -= 1;
        }
        (events[at], ranks[at]) = (event, own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_scenario::TieOrder;
    use bufferlab_units::RandomStream;

    fn next_time(calendar: &mut Calendar) -> Time {
        calendar.next().time
    }

    fn pop(calendar: &mut Calendar) -> (Kind, LinkId) {
        let next = calendar.next();
        assert_ne!(next.time, Time::MAX, "there is an event");
        calendar.take(next)
    }

    fn calendar(seed: u64) -> Calendar {
        Calendar::new(Ties::new(TieOrder::Fair, seed, 200_000), 12)
    }

    #[test]
    fn by_insertion_what_began_first_goes_first_and_an_end_goes_before_an_arrival() {
        let mut calendar = Calendar::new(Ties::new(TieOrder::Insertion, 1, 9), 12);
        for link in [5, 2, 7, 0] {
            calendar.ties().note_transmission(LinkId(link));
        }
        // Link 2 sends a second packet before its first packet arrives,
        // and loses the second packet.
        calendar.ties().note_transmission(LinkId(2));
        calendar.ties().keep_first(LinkId(2));
        for link in [0, 7, 2, 5] {
            calendar.push(Time(500), Kind::Delivery, LinkId(link));
        }
        calendar.push(Time(500), Kind::TransmissionComplete, LinkId(7));
        let order: Vec<_> =
            std::iter::from_fn(|| (next_time(&mut calendar) != Time::MAX).then(|| pop(&mut calendar)))
                .map(|(kind, link)| (kind, link.0))
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
        let (mut pushed, mut popped) = (0, 0);
        for _ in 0..60_000 {
            for _ in 0..stream.below(3) {
                let far = [1_000, 1_000_000, 40_000_000_000, 3_000_000_000_000][stream.below(4) as usize];
                let time = now + stream.below(far);
                // A link has at most one event of each kind at a time.
                calendar.push(Time(time), Kind::Delivery, LinkId(pushed));
                pushed += 1;
                expected.push(Reverse(time));
            }
            let time = next_time(&mut calendar);
            if time != Time::MAX {
                let (kind, id) = pop(&mut calendar);
                assert_eq!(Some(Reverse(time.0)), expected.pop());
                assert!(time.0 >= now && id.0 < pushed && kind == Kind::Delivery);
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
        assert_eq!(next_time(&mut calendar), Time(500));
        assert_eq!(pop(&mut calendar), (Kind::TransmissionComplete, LinkId(2)));
        assert_eq!(next_time(&mut calendar), Time(500));
        assert_eq!(pop(&mut calendar), (Kind::Delivery, LinkId(1)));
        assert_eq!(next_time(&mut calendar), Time::MAX);
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
                    next_time(&mut calendar);
                    pop(&mut calendar).1.0
                })
                .collect()
        };
        let mut first = [0_u32; 8];
        // The map counts how often components 0, 1 and 2 have each order of their events.
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
    fn few_events_come_in_the_order_of_their_ranks_like_many() {
        let mut stream = RandomStream::new(6, "ranks", 0);
        for len in (2..=12).cycle().take(500) {
            let mut events: Vec<u64> = (0..len).map(|_| stream.next_u64()).collect();
            let rank = |event: u64| event.rotate_left(17);
            let mut expected = events.clone();
            expected.sort_by_key(|&event| Reverse(rank(event)));
            sort_by_rank(&mut events, rank);
            assert_eq!(events, expected);
        }
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
                assert_eq!(next_time(&mut calendar), expected);
                pop(&mut calendar);
            }
        }
    }
}
