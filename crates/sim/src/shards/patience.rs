//! Waiting for the other threads of a run.

use std::hint;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Number of checks at the start of every wait. They take a few microseconds, less than the time to
/// wake a thread.
const FIRST_CHECKS: u32 = 256;
/// Number of checks between two offers of the core to other processes.
const CHECKS_PER_OFFER: u32 = 32;
/// Duration of an offer above which another process has used the core for a time slice. An offer
/// that no process takes lasts less than a microsecond.
const SLOW: Duration = Duration::from_micros(100);
/// Longest wait without sleep, much longer than most windows.
const LONGEST: Duration = Duration::from_micros(200);
/// Shortest rest of a helping thread after a slow offer (us).
const SHORTEST_REST: u32 = 1_000;
/// Longest rest of a helping thread after a slow offer (us).
const LONGEST_REST: u32 = 256_000;

/// Waiting of the threads of a run, adapted to the load of their cores.
///
/// On an idle core a thread spins until the others are done, which saves the time to wake up. If
/// other processes need the core, spinning keeps the core from the thread that this thread waits
/// for. So a spinning thread offers its core at intervals, and the duration of an offer shows
/// whether another process took the core. After a slow offer all threads except one rest, and that
/// thread runs all shards. A rest is twice as long as the rest before, if the load lasts.
///
/// The clock decides how threads wait, never a result.
#[derive(Debug)]
pub(super) struct Patience {
    have_cores: bool,
    /// Number of slow offers.
    slow_offers: AtomicU32,
    /// Length of a rest after the next slow offer (us).
    rest: AtomicU32,
}

impl Patience {
    /// The patience of threads at their start. Threads that share cores sleep without spinning.
    pub(super) const fn new(have_cores: bool) -> Self {
        Self { have_cores, slow_offers: AtomicU32::new(0), rest: AtomicU32::new(SHORTEST_REST) }
    }

    /// Waits until `is_over` returns true, but not for long. Returns false if the thread must
    /// sleep.
    pub(super) fn wait(&self, is_over: impl Fn() -> bool) -> bool {
        if !self.have_cores {
            return is_over();
        }
        if spin(FIRST_CHECKS, &is_over) {
            return true;
        }
        let begin = Instant::now();
        let mut offer = begin;
        loop {
            thread::yield_now();
            let now = Instant::now();
            if !self.note_offer(now - offer) || now - begin > LONGEST {
                return is_over();
            }
            if spin(CHECKS_PER_OFFER, &is_over) {
                return true;
            }
            offer = Instant::now();
        }
    }

    /// Records the duration of an offer. Returns whether no other process needs the core.
    fn note_offer(&self, took: Duration) -> bool {
        // Threads may overwrite each other's rests. Each of the written rests is usable.
        let rest = self.rest.load(Ordering::Relaxed);
        if took > SLOW {
            self.rest.store((2 * rest).min(LONGEST_REST), Ordering::Relaxed);
            self.slow_offers.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        if rest > SHORTEST_REST {
            self.rest.store((rest - rest / 8).max(SHORTEST_REST), Ordering::Relaxed);
        }
        true
    }

    /// Time for which a helping thread rests, if there were slow offers since its last rest.
    /// `seen` is the number of slow offers that the thread has taken into account.
    pub(super) fn rest(&self, seen: &mut u32) -> Option<Duration> {
        let slow_offers = self.slow_offers.load(Ordering::Relaxed);
        let rest = Duration::from_micros(self.rest.load(Ordering::Relaxed).into());
        (std::mem::replace(seen, slow_offers) != slow_offers).then_some(rest)
    }
}

/// Checks up to `checks` times whether the wait is over.
fn spin(checks: u32, is_over: impl Fn() -> bool) -> bool {
    for _ in 0..checks {
        if is_over() {
            return true;
        }
        hint::spin_loop();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_nanos(500);
    const TAKEN: Duration = Duration::from_millis(3);

    #[test]
    fn helpers_rest_once_after_slow_offers_and_longer_while_the_load_lasts() {
        let (patience, mut seen) = (Patience::new(true), 0);
        assert!(patience.note_offer(QUICK));
        assert_eq!(patience.rest(&mut seen), None, "nobody needs the core");
        let mut rests = Vec::new();
        for _ in 0..10 {
            assert!(!patience.note_offer(TAKEN));
            rests.extend(patience.rest(&mut seen));
            assert_eq!(patience.rest(&mut seen), None, "it has rested");
        }
        let in_ms: Vec<_> = rests.iter().map(Duration::as_millis).collect();
        assert_eq!(in_ms, [2, 4, 8, 16, 32, 64, 128, 256, 256, 256]);
        for _ in 0..100 {
            assert!(patience.note_offer(QUICK));
        }
        assert!(!patience.note_offer(TAKEN));
        assert_eq!(patience.rest(&mut seen), Some(Duration::from_millis(2)), "the load was over");
    }

    #[test]
    fn threads_without_cores_of_their_own_never_spin() {
        let checks = AtomicU32::new(0);
        let is_over = || checks.fetch_add(1, Ordering::Relaxed) > 0;
        assert!(!Patience::new(false).wait(is_over), "it checks once");
    }
}
