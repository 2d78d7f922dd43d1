//! Number of checks for which a waiting thread spins before it sleeps.

use std::sync::atomic::{AtomicU32, Ordering};

/// Largest number of checks before a waiting thread sleeps. This number of checks takes 100 to 250
/// us, longer than most windows.
const MOST: u32 = 1 << 14;
/// Smallest number of checks before a waiting thread sleeps. This number of checks takes a few
/// microseconds, less than the time to wake a thread.
const LEAST: u32 = 64;
/// After a wait that ended during spinning, the budget of checks grows by 1 / `GROWTH` of itself.
const GROWTH: u32 = 8;
/// After a wait that ended in sleep, the budget of checks is divided by `CUT`.
const CUT: u32 = 4;

/// Budget of checks for a wait, adapted to the outcome of earlier waits.
///
/// On idle cores other threads are seldom late, and spinning saves the time to wake up. If other
/// processes load the cores, the other threads may have lost their cores. Then spinning keeps a
/// core from the thread that this thread waits for.
///
/// The budget of checks was measured on a fat tree of 1,024 hosts, with two threads on two cores at
/// a system load of 10. A fixed budget of [`MOST`] took 11 to 18 s, with 5.0 to 6.9 s of CPU time.
/// One thread took 5.2 to 6.5 s, with 2.1 to 2.4 s of CPU time. The adapted budget and a fixed
/// budget of 256 took 3.3 to 6.8 s, with 2.2 to 2.5 s of CPU time.
#[derive(Debug)]
pub(super) struct Patience {
    spins: AtomicU32,
    most: u32,
}

impl Patience {
    /// Creates the initial budget of checks. Threads that share cores sleep without spinning, and
    /// threads that each have a core spin.
    pub(super) const fn new(has_cores: bool) -> Self {
        let most = if has_cores { MOST } else { 0 };
        Self { spins: AtomicU32::new(most), most }
    }

    /// Number of checks for which the waiting thread spins before it sleeps.
    pub(super) fn spins(&self) -> u32 {
        self.spins.load(Ordering::Relaxed)
    }

    // Threads may overwrite each other's budgets. Each of the written budgets is usable.

    /// Records that the other threads arrived while this thread was spinning.
    pub(super) fn was_worth_it(&self) {
        let spins = self.spins();
        if spins < self.most {
            self.spins.store((spins + spins / GROWTH).min(self.most), Ordering::Relaxed);
        }
    }

    /// Records that a thread spun and then had to sleep.
    pub(super) fn was_in_vain(&self) {
        self.spins.store((self.spins() / CUT).max(LEAST.min(self.most)), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_waits_in_vain_leave_little_patience_and_many_short_ones_give_it_back() {
        let patience = Patience::new(true);
        for _ in 0..4 {
            patience.was_in_vain();
        }
        assert_eq!(patience.spins(), LEAST);
        patience.was_in_vain();
        assert_eq!(patience.spins(), LEAST);
        for _ in 0..100 {
            patience.was_worth_it();
        }
        assert_eq!(patience.spins(), MOST);
        // If a third of all waits end in sleep, long spinning costs more time than it saves.
        for _ in 0..100 {
            patience.was_worth_it();
            patience.was_worth_it();
            patience.was_in_vain();
        }
        assert_eq!(patience.spins(), LEAST);
    }

    #[test]
    fn threads_without_cores_never_spin() {
        let patience = Patience::new(false);
        patience.was_worth_it();
        patience.was_in_vain();
        assert_eq!(patience.spins(), 0);
    }
}
