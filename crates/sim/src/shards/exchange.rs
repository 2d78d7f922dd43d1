//! The threads of a run meet at the end of each window and exchange data through this module.

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
use std::hint;
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
    /// Number of checks before a waiting thread yields its core. The number adapts to the thread's
    /// last waits.
    patience: Patience,
    /// Number of shards whose threads have reached the next meeting of all threads.
    arrived: AtomicUsize,
    /// Number of completed meetings of all threads.
    meetings: AtomicUsize,
    /// Whether a thread has stopped and reaches no further meeting of the threads.
    broken: AtomicBool,
    /// Number of threads that sleep until a meeting of the threads is complete.
    asleep: Mutex<usize>,
    bell: Condvar,
    /// Mailboxes by parity of the window, sender and receiver. A fast thread fills the boxes of the
    /// next window while a slow thread still empties the boxes of the current window. The fast
    /// thread cannot be further ahead than one window.
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
    pub(super) fn new(parts: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let boxes = || (0..parts * parts).map(|_| Mutex::default()).collect();
        let notice =
            |_| Notice { next: AtomicU64::new(0), stops: AtomicBool::new(false), hops: AtomicU64::new(0) };
        let notices = || (0..parts).map(notice).collect();
        Self {
            parts,
            patience: Patience::new(parts <= cores),
            arrived: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            asleep: Mutex::new(0),
            bell: Condvar::new(),
            mail: [boxes(), boxes()],
            notices: [notices(), notices()],
            retired: (0..parts).map(|_| Mutex::default()).collect(),
            accounts: Mutex::default(),
            rows: Mutex::default(),
        }
    }

    /// Waits until the threads of all shards have reached the meeting.
    ///
    /// Spins for a while, because a window is often shorter than the time to wake a thread. Then
    /// the thread sleeps, because the late thread may need this thread's core.
    ///
    /// # Errors
    /// If a thread has stopped and reaches no further meeting.
    pub(super) fn meet(&self) -> Result<(), Stopped> {
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parts {
            self.arrived.store(0, Ordering::Relaxed);
            // The last thread takes the lock before it completes the meeting. Without the lock,
            // another thread could check the meeting before its completion and sleep after the
            // completion.
            let asleep = locked(&self.asleep);
            self.meetings.store(meeting + 1, Ordering::Release);
            if *asleep > 0 {
                self.bell.notify_all();
            }
            return Ok(());
        }
        let has_met = || self.meetings.load(Ordering::Acquire) != meeting;
        for _ in 0..self.patience.spins() {
            if has_met() {
                self.patience.was_worth_it();
                return Ok(());
            }
            hint::spin_loop();
        }
        self.patience.was_in_vain();
        let mut asleep = locked(&self.asleep);
        *asleep += 1;
        while !has_met() && !self.broken.load(Ordering::Acquire) {
            asleep = self.bell.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
        *asleep -= 1;
        if has_met() { Ok(()) } else { Err(Stopped) }
    }

    /// Announces that a shard has stopped, so that threads that wait for this shard stop, too.
    /// Completed meetings of the threads are not affected.
    pub(super) fn break_up(&self) {
        let _asleep = locked(&self.asleep);
        self.broken.store(true, Ordering::Release);
        self.bell.notify_all();
    }

    /// Mailbox from one shard to another shard in window `window`.
    pub(super) fn mail(&self, window: u64, from: ShardId, to: ShardId) -> MutexGuard<'_, Mail> {
        let place = usize::from(from.0) * self.parts + usize::from(to.0);
        locked(&self.mail[(window & 1) as usize][place])
    }

    /// Publishes the status of a shard for the other shards.
    pub(super) fn give_notice(&self, window: u64, part: ShardId, next: Time, stops: bool, hops: u64) {
        // Relaxed stores are enough, because the next meeting of the threads orders the stores
        // before all loads.
        let notice = &self.notices[(window & 1) as usize][usize::from(part.0)];
        notice.next.store(next.0, Ordering::Relaxed);
        notice.stops.store(stops, Ordering::Relaxed);
        notice.hops.store(hops, Ordering::Relaxed);
    }

    /// Earliest event of all shards, and whether a shard stops. The returned values are valid after
    /// the meeting of all threads.
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
