//! The threads of a run share the shards and exchange the shards' data through this module.

use super::patience::Patience;
use super::rows::OrderedRow;
use crate::host::{FlowAccount, FlowNote, FlowStart, Retired};
use crate::ids::{LinkId, ShardId};
use crate::notes::{Ended, Note};
use crate::world::order::Order;
use crate::world::packet::Packet;
use crate::world::telemetry::Reports;
use crate::world::timers::Timer;
use bufferlab_units::Time;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A packet on a cable between two shards of the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    pub(crate) link: LinkId,
    /// Time at which the packet arrives at the far end of the cable.
    pub(crate) arrival: Time,
    pub(crate) packet: Packet,
}

/// Data from one shard for another shard at the end of a window.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) packets: Vec<Crossing>,
    /// Telemetry that switches have added to each packet. Empty if no transport needs telemetry.
    pub(crate) reports: Vec<Reports>,
    pub(crate) notes: Vec<FlowNote>,
    /// Flows that have started, if the run has schedules.
    pub(crate) starts: Vec<(Order, FlowStart)>,
    /// Ended nodes of schedules.
    pub(crate) ended: Vec<Ended>,
    /// Notes on schedules. Only the shard that writes the results receives notes.
    pub(crate) schedule: Vec<(Order, Note)>,
    /// Timers that pause frames set in the receiving shard, with their expiry times.
    pub(crate) timers: Vec<(Time, Timer)>,
}

/// Status of a shard at the end of a window.
#[derive(Debug)]
struct Notice {
    /// Time of the earliest event of the shard, or of data from this shard for another shard.
    next: AtomicU64,
    /// Whether the shard has failed or was interrupted. Then all shards stop.
    stops: AtomicBool,
    /// Number of packet-hops of the shard so far.
    hops: AtomicU64,
}

/// Data that all shards of a run share.
#[derive(Debug)]
pub(super) struct Exchange {
    parts: usize,
    patience: Patience,
    /// The next round that each shard runs. A thread takes a shard by adding 1. So any thread can
    /// run a shard whose own thread has no core.
    next_rounds: Vec<AtomicU64>,
    /// Number of shards that have run the present round.
    done: AtomicUsize,
    /// Number of rounds that all shards have run. In a round every shard runs once, until it needs
    /// data of the others: a window, or the end of an interval of flow slots.
    rounds: AtomicU64,
    /// Whether the shards have ended their runs.
    is_over: AtomicBool,
    /// Whether a thread has failed and may leave a round incomplete.
    broken: AtomicBool,
    /// Number of threads that sleep until all shards have run the present round.
    asleep: Mutex<usize>,
    bell: Condvar,
    /// Bell that wakes resting threads at the end of the run.
    last_bell: Condvar,
    /// Mailboxes by parity of the window, sender and receiver. A shard may fill the boxes of a
    /// window while another shard still empties the boxes of the window before.
    mail: [Vec<Mutex<Mail>>; 2],
    notices: [Vec<Notice>; 2],
    /// Flows of each shard that have ended in the current interval.
    retired: Vec<Mutex<Vec<Retired>>>,
    /// Ended flows with the data of sender and receiver, for the shard that writes the results.
    accounts: Mutex<Vec<(Time, FlowAccount)>>,
    /// Rows of all shards, for the shard that writes the results.
    rows: Mutex<Vec<OrderedRow>>,
}

/// A shard has failed or was interrupted, and reports the reason itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopped;

/// Content of a lock, even if the lock is poisoned. A thread that panics ends all meetings of
/// threads, so no other thread uses the incomplete data of this thread.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Exchange {
    /// Creates the exchange of `parts` shards, which as many threads run.
    pub(super) fn new(parts: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let boxes = || (0..parts * parts).map(|_| Mutex::default()).collect();
        let notice =
            |_| Notice { next: AtomicU64::new(0), stops: AtomicBool::new(false), hops: AtomicU64::new(0) };
        let notices = || (0..parts).map(notice).collect();
        Self {
            parts,
            patience: Patience::new(parts <= cores),
            next_rounds: (0..parts).map(|_| AtomicU64::new(0)).collect(),
            done: AtomicUsize::new(0),
            rounds: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            asleep: Mutex::new(0),
            bell: Condvar::new(),
            last_bell: Condvar::new(),
            mail: [boxes(), boxes()],
            notices: [notices(), notices()],
            retired: (0..parts).map(|_| Mutex::default()).collect(),
            accounts: Mutex::default(),
            rows: Mutex::default(),
        }
    }

    /// Number of rounds that all shards have run.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Acquire)
    }

    /// Takes shard `part` for round `round`. If the function returns true, the caller must run the
    /// shard and call [`Self::complete`]. False if a thread has taken the shard.
    pub(super) fn take(&self, part: ShardId, round: u64) -> bool {
        let next = &self.next_rounds[usize::from(part.0)];
        // A relaxed order is enough, because the lock of a shard orders its data. The load leaves
        // the cache line shared if a thread has taken the shard.
        next.load(Ordering::Relaxed) == round
            && next.compare_exchange(round, round + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Announces that a shard has run round `round`. The last shard opens the next round.
    pub(super) fn complete(&self, round: u64) {
        if self.done.fetch_add(1, Ordering::AcqRel) + 1 < self.parts {
            return;
        }
        self.done.store(0, Ordering::Relaxed);
        // The thread takes the lock before it opens the round. Without the lock, another thread
        // could check the round before and sleep after.
        let asleep = locked(&self.asleep);
        self.rounds.store(round + 1, Ordering::Release);
        if *asleep > 0 {
            self.bell.notify_all();
        }
    }

    /// Waits until all shards have run round `round`. Spins for a while, because a round is often
    /// shorter than the time to wake a thread. Then the thread sleeps.
    ///
    /// # Errors
    /// If a thread has failed and may leave the round incomplete.
    pub(super) fn wait_for(&self, round: u64) -> Result<(), Stopped> {
        let is_complete = || self.rounds() > round;
        if self.patience.wait(is_complete) {
            return Ok(());
        }
        let mut asleep = locked(&self.asleep);
        *asleep += 1;
        while !is_complete() && !self.broken.load(Ordering::Acquire) {
            asleep = self.bell.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
        *asleep -= 1;
        if is_complete() { Ok(()) } else { Err(Stopped) }
    }

    /// Lets a helping thread rest if other processes need the cores. `seen` is the number of signs
    /// of such processes that the thread has taken into account.
    pub(super) fn rest(&self, seen: &mut u32) {
        let Some(time) = self.patience.rest(seen) else { return };
        let asleep = locked(&self.asleep);
        let goes_on = |_: &mut usize| !self.is_over() && !self.broken.load(Ordering::Acquire);
        drop(self.last_bell.wait_timeout_while(asleep, time, goes_on));
    }

    /// Announces that a shard has ended its run. All shards end in the same round.
    pub(super) fn end(&self) {
        let _asleep = locked(&self.asleep);
        self.is_over.store(true, Ordering::Release);
        self.last_bell.notify_all();
    }

    /// Whether some shards have ended their runs.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Announces that a thread has failed, so that threads that wait for a round of this thread
    /// stop. Complete rounds are not affected.
    pub(super) fn break_up(&self) {
        let _asleep = locked(&self.asleep);
        self.broken.store(true, Ordering::Release);
        self.bell.notify_all();
        self.last_bell.notify_all();
    }

    /// Mailbox from one shard to another shard in window `window`.
    pub(super) fn mail(&self, window: u64, from: ShardId, to: ShardId) -> MutexGuard<'_, Mail> {
        let place = usize::from(from.0) * self.parts + usize::from(to.0);
        locked(&self.mail[(window & 1) as usize][place])
    }

    /// Publishes the status of a shard for the other shards.
    pub(super) fn give_notice(&self, window: u64, part: ShardId, next: Time, stops: bool, hops: u64) {
        // Relaxed stores are enough, because the end of the window orders the stores before all
        // loads.
        let notice = &self.notices[(window & 1) as usize][usize::from(part.0)];
        notice.next.store(next.0, Ordering::Relaxed);
        notice.stops.store(stops, Ordering::Relaxed);
        notice.hops.store(hops, Ordering::Relaxed);
    }

    /// Earliest event of all shards, and whether a shard stops. The returned values are valid after
    /// all shards have run the window.
    pub(super) fn next(&self, window: u64) -> (Time, bool) {
        let notices = &self.notices[(window & 1) as usize];
        let next = notices.iter().map(|notice| notice.next.load(Ordering::Relaxed)).min();
        let stops = notices.iter().any(|notice| notice.stops.load(Ordering::Relaxed));
        (Time(next.unwrap_or(u64::MAX)), stops)
    }

    /// Number of packet-hops that all shards have counted up to the end of `window`.
    pub(super) fn hops(&self, window: u64) -> u64 {
        self.notices[(window & 1) as usize].iter().map(|notice| notice.hops.load(Ordering::Relaxed)).sum()
    }

    /// Flows of shard `part` that have ended in the current interval.
    pub(super) fn retired(&self, part: ShardId) -> MutexGuard<'_, Vec<Retired>> {
        locked(&self.retired[usize::from(part.0)])
    }

    /// Rows of all shards, for the shard that writes the results.
    pub(super) fn rows(&self) -> MutexGuard<'_, Vec<OrderedRow>> {
        locked(&self.rows)
    }

    /// Ended flows of the run, for the shard that writes the results.
    pub(super) fn accounts(&self) -> MutexGuard<'_, Vec<(Time, FlowAccount)>> {
        locked(&self.accounts)
    }
}
