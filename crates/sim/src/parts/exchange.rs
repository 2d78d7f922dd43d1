//! Where the threads of a run meet, and what they hand over.

use super::patience::Patience;
use super::samples::Sample;
use crate::host::{FlowAccount, FlowNote, Retired};
use crate::ids::{LinkId, PartId};
use crate::world::packet::Packet;
use crate::world::telemetry::Reports;
use bufferlab_units::Time;
use std::hint;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A packet on a cable between two parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    pub(crate) link: LinkId,
    /// At the far end.
    pub(crate) arrival: Time,
    pub(crate) packet: Packet,
}

/// What one part has for another at the end of a window.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) packets: Vec<Crossing>,
    /// What switches have reported to each of them, where that is wanted.
    pub(crate) reports: Vec<Reports>,
    pub(crate) notes: Vec<FlowNote>,
}

/// What a part says of itself at the end of a window.
#[derive(Debug)]
struct Notice {
    /// Its next event, or that of a packet that it sends elsewhere.
    next: AtomicU64,
    /// It has failed, or was told to stop: all stop.
    stops: AtomicBool,
    /// Packet-hops so far.
    hops: AtomicU64,
}

/// What all parts of a run share.
#[derive(Debug)]
pub(super) struct Exchange {
    parts: usize,
    /// How often a part that waits looks before it gives its core away, by what its last waits came
    /// to.
    patience: Patience,
    /// Parts that have come to the meeting that is next.
    arrived: AtomicUsize,
    /// Meetings that have taken place.
    meetings: AtomicUsize,
    /// A part will not come any more.
    broken: AtomicBool,
    /// Parts that sleep until a meeting has taken place.
    asleep: Mutex<usize>,
    bell: Condvar,
    /// By parity of the window, sender and receiver. A part that is quick fills the boxes of the
    /// next window while a slow one still empties those of this one, and cannot get any further.
    mail: [Vec<Mutex<Mail>>; 2],
    notices: [Vec<Notice>; 2],
    /// By part: flows from there that are over since the interval before.
    retired: Vec<Mutex<Vec<Retired>>>,
    /// Flows that are over with what both ends know, for the part that writes.
    accounts: Mutex<Vec<(Time, FlowAccount)>>,
    /// Samples in the order of time, for the same: one part takes them all.
    samples: Mutex<Vec<Sample>>,
}

/// A part has failed or was told to stop: it says itself why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopped;

/// The content of a lock. A thread that panics breaks the meeting, so nobody goes on with what it
/// left.
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
            samples: Mutex::default(),
        }
    }

    /// Waits until all parts have come.
    ///
    /// Spins for a while, because a window is often shorter than it takes to wake a thread; then
    /// sleeps, because the part that is late may need this very core.
    ///
    /// # Errors
    /// If a part will never come.
    pub(super) fn meet(&self) -> Result<(), Stopped> {
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parts {
            self.arrived.store(0, Ordering::Relaxed);
            // Under the lock, so that nobody looks before and falls asleep after it.
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

    /// A part will never come again: whoever waits for it stops. Who has met it before, is not
    /// concerned.
    pub(super) fn break_up(&self) {
        let _asleep = locked(&self.asleep);
        self.broken.store(true, Ordering::Release);
        self.bell.notify_all();
    }

    /// The box from one part to another in window `window`.
    pub(super) fn mail(&self, window: u64, from: PartId, to: PartId) -> MutexGuard<'_, Mail> {
        let place = usize::from(from.0) * self.parts + usize::from(to.0);
        locked(&self.mail[(window & 1) as usize][place])
    }

    /// Says what a part has come to.
    pub(super) fn give_notice(&self, window: u64, part: PartId, next: Time, stops: bool, hops: u64) {
        // The meeting orders these.
        let notice = &self.notices[(window & 1) as usize][usize::from(part.0)];
        notice.next.store(next.0, Ordering::Relaxed);
        notice.stops.store(stops, Ordering::Relaxed);
        notice.hops.store(hops, Ordering::Relaxed);
    }

    /// After the meeting: the first event of all, and whether a part stops.
    pub(super) fn next(&self, window: u64) -> (Time, bool) {
        let notices = &self.notices[(window & 1) as usize];
        let next = notices.iter().map(|notice| notice.next.load(Ordering::Relaxed)).min();
        let stops = notices.iter().any(|notice| notice.stops.load(Ordering::Relaxed));
        (Time(next.unwrap_or(u64::MAX)), stops)
    }

    /// Packet-hops of all parts.
    pub(super) fn hops(&self, window: u64) -> u64 {
        self.notices[(window & 1) as usize].iter().map(|notice| notice.hops.load(Ordering::Relaxed)).sum()
    }

    /// Flows of `part` that are over since the interval before.
    pub(super) fn retired(&self, part: PartId) -> MutexGuard<'_, Vec<Retired>> {
        locked(&self.retired[usize::from(part.0)])
    }

    /// Samples, for the part that writes.
    pub(super) fn samples(&self) -> MutexGuard<'_, Vec<Sample>> {
        locked(&self.samples)
    }

    /// Flows that are over, for the part that writes.
    pub(super) fn accounts(&self) -> MutexGuard<'_, Vec<(Time, FlowAccount)>> {
        locked(&self.accounts)
    }
}
