//! The loop around a tuner, which reads counters, writes `dynamic_th`, and reverts after faults.

use super::counters::sample;
use super::journal::{Entry, Journal, Keeper, Owner};
use super::restore::{Back, Wanted, key, put_back};
use super::{Decision, Settings, Tuner};
use crate::OperatorError;
use crate::store::{Database, Store, Swap};
use bufferlab_sonic::config::Config;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Largest time for reverting all profiles. A switch answers in milliseconds.
const BACK: Duration = Duration::from_secs(10);

/// An event of the tuning daemon.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum DaemonEvent {
    /// The daemon changed an alpha, or in a dry run would change the alpha (`applied` is false).
    Change {
        /// Changed profile, old and new exponent of alpha, and reason for the change.
        decision: Decision,
        /// Whether the daemon wrote the change to the switch.
        applied: bool,
    },
    /// The daemon has restored the configured alpha of a profile.
    Reverted {
        /// Name of the profile that the daemon reverted.
        profile: String,
        /// Configured exponent of the profile's alpha.
        to: i8,
    },
    /// Another program has changed a profile, so the daemon no longer changes this profile.
    LeftAlone {
        /// Name of the profile that another program has changed.
        profile: String,
        /// Value of `dynamic_th` that the daemon found in the database.
        found: String,
    },
    /// A database server does not answer, gives a senseless answer, or refuses a write.
    Fault {
        /// Text of the message about the fault.
        message: String,
        /// Number of consecutive faults so far.
        in_a_row: u32,
    },
}

/// Numbers of consecutive faults of reads and of writes. A successful read of counters gives no
/// information about writes, and a successful write gives none about reads.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    reads: u32,
    writes: u32,
}

impl Faults {
    const fn in_a_row(self) -> u32 {
        self.reads.saturating_add(self.writes)
    }
}

/// A daemon that connects a tuner to a switch.
#[derive(Debug)]
pub struct Daemon {
    store: Store,
    tuner: Tuner,
    /// Storage of the journal; `None` in a dry run.
    keeper: Option<Box<dyn Keeper>>,
    /// Current journal, which may not be stored yet. The journal lists the profiles that were
    /// changed, and the profiles that a write without an answer may have changed.
    journal: Option<Journal>,
    /// Whether the journal is certainly stored on disk.
    is_finished: bool,
    faults: Faults,
    /// Values that the daemon may have written to each profile, because the write had no answer.
    uncertain: BTreeMap<String, BTreeSet<i8>>,
    /// Last change that a dry run reported for each profile, so that the report is not repeated.
    said: BTreeMap<String, i8>,
}

impl Daemon {
    /// Creates a daemon that tunes alphas. The daemon writes to the switch only if it has a keeper,
    /// which stores the journal. Before the first change, the keeper stores the configured values,
    /// so that the values outlive the process. Run [`recover`](super::recover) before, because a
    /// journal may already be stored.
    ///
    /// # Errors
    /// If no profile can be tuned.
    pub fn new(
        store: Store,
        config: &Config,
        settings: Settings,
        keeper: Option<Box<dyn Keeper>>,
    ) -> Result<Self, OperatorError> {
        let tuner = Tuner::new(config, settings)?;
        let (faults, uncertain, said) = (Faults::default(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { store, tuner, keeper, journal: None, is_finished: false, faults, uncertain, said })
    }

    /// Returns the tuner that decides the changes of alphas.
    #[must_use]
    pub const fn tuner(&self) -> &Tuner {
        &self.tuner
    }

    /// Whether the number of consecutive faults reaches its limit, so that the caller must revert
    /// and stop.
    #[must_use]
    pub fn must_end(&self) -> bool {
        self.faults.in_a_row() >= self.tuner.settings().faults_max
    }

    /// Whether the daemon has no profile left to revert. Either the daemon changed no profile, or
    /// it read all profiles back as configured and removed the journal.
    #[must_use]
    pub const fn is_restored(&self) -> bool {
        self.journal.is_none()
    }

    /// Sets a flag of the caller; once the flag is true, every wait for the database's answer ends.
    pub fn interrupt_by(&mut self, flag: Option<Arc<AtomicBool>>) {
        self.store.interrupt_by(flag);
    }

    /// Runs one tuning interval, `seconds` after the start of the daemon.
    pub fn step(&mut self, seconds: f64) -> Vec<DaemonEvent> {
        let session = self.store.limits().session;
        self.store.answer_within(Some(session));
        let events = self.look(seconds);
        self.store.answer_within(None);
        events
    }

    fn look(&mut self, seconds: f64) -> Vec<DaemonEvent> {
        let mut events = match self.settle() {
            Ok(events) => events,
            Err(message) => return vec![self.failed_read(message)],
        };
        let due = match sample(&mut self.store, &self.tuner, seconds) {
            Ok(sample) => self.tuner.decide(sample),
            Err(error) => Err(error.to_string()),
        };
        let due = match due {
            Ok(due) => due,
            Err(message) => {
                events.push(self.failed_read(message));
                return events;
            }
        };
        self.faults.reads = 0;
        let (before, mut written) = (self.faults.writes, false);
        for decision in due {
            match self.apply(&decision) {
                Ok(event) => {
                    written |= matches!(event, Some(DaemonEvent::Change { applied: true, .. }));
                    events.extend(event);
                }
                Err(message) => {
                    // An interval counts as one fault, even if several profiles fail.
                    self.faults.writes = before.saturating_add(1);
                    events.push(DaemonEvent::Fault { message, in_a_row: self.faults.in_a_row() });
                }
            }
        }
        if written && self.faults.writes == before {
            self.faults.writes = 0;
        }
        events
    }

    fn failed_read(&mut self, message: String) -> DaemonEvent {
        self.faults.reads = self.faults.reads.saturating_add(1);
        DaemonEvent::Fault { message, in_a_row: self.faults.in_a_row() }
    }

    /// Finds the outcome of the writes that had no answer.
    fn settle(&mut self) -> Result<Vec<DaemonEvent>, String> {
        let mut events = Vec::new();
        for profile in self.uncertain.keys().cloned().collect::<Vec<_>>() {
            let fields =
                self.store.fields(Database::Config, &key(&profile)).map_err(|error| error.to_string())?;
            let found = fields.get("dynamic_th").cloned().unwrap_or_default();
            let there = found.parse().ok().filter(|there| self.ours(&profile).contains(there));
            let Some(tracked) = self.tuner.tracked.iter_mut().find(|tracked| tracked.profile == profile)
            else {
                continue;
            };
            match there {
                // The writes may still take effect later, so the daemon still treats these values
                // as its own values.
                Some(there) => tracked.applied = there,
                None => events.push(self.leave_alone(&profile, found)),
            }
        }
        Ok(events)
    }

    /// Returns the values of a profile that the daemon wrote, or may have written.
    fn ours(&self, profile: &str) -> BTreeSet<i8> {
        let tracked = self.tuner.tracked.iter().find(|tracked| tracked.profile == profile);
        let uncertain = self.uncertain.get(profile).into_iter().flatten().copied();
        tracked.map(|tracked| tracked.applied).into_iter().chain(uncertain).collect()
    }

    fn apply(&mut self, decision: &Decision) -> Result<Option<DaemonEvent>, String> {
        let profile = &decision.profile;
        if self.keeper.is_none() {
            let known = self.said.insert(profile.clone(), decision.to);
            let event = DaemonEvent::Change { decision: decision.clone(), applied: false };
            return Ok((known != Some(decision.to)).then_some(event));
        }
        let ours = self.ours(profile);
        self.note(profile, ours.iter().copied().chain([decision.to]).collect())?;
        let expected = |there: &str| there.parse().is_ok_and(|there| ours.contains(&there));
        let to = decision.to.to_string();
        match self.store.swap(Database::Config, &key(profile), "dynamic_th", &expected, &to) {
            Ok(Swap::Written) => {
                // A confirmed write makes all earlier, possibly delayed writes void.
                self.uncertain.remove(profile);
                self.tuner.applied(decision);
                Ok(Some(DaemonEvent::Change { decision: decision.clone(), applied: true }))
            }
            Ok(Swap::Found(found)) => Ok(Some(self.leave_alone(profile, found))),
            Err(error) => {
                if error.uncertain {
                    self.uncertain.entry(profile.clone()).or_default().insert(decision.to);
                }
                Err(error.to_string())
            }
        }
    }

    /// Stops tuning a profile that another program has changed.
    fn leave_alone(&mut self, profile: &str, found: String) -> DaemonEvent {
        self.uncertain.remove(profile);
        if let Some(tracked) = self.tuner.tracked.iter_mut().find(|tracked| tracked.profile == profile) {
            tracked.left_alone = true;
        }
        DaemonEvent::LeftAlone { profile: profile.to_owned(), found }
    }

    /// Records the configured value of a profile and the daemon's values in the journal, before the
    /// daemon writes to the switch.
    fn note(&mut self, profile: &str, ours: BTreeSet<i8>) -> Result<(), String> {
        let (Some(keeper), Some(tracked)) =
            (self.keeper.as_mut(), self.tuner.tracked.iter().find(|tracked| tracked.profile == profile))
        else {
            return Ok(());
        };
        let mut journal = match &self.journal {
            Some(journal) => journal.clone(),
            None => Journal::new(Owner::new(&mut self.store).map_err(|error| error.to_string())?),
        };
        let entry = Entry { configured: tracked.original, ours };
        if journal.profiles.insert(profile.to_owned(), entry.clone()) == Some(entry) && self.is_finished {
            return Ok(());
        }
        let kept = journal.bytes().and_then(|bytes| keeper.write(&bytes));
        self.is_finished = kept.is_ok();
        // Even after an error, the keeper may have stored the journal.
        self.journal = Some(journal);
        kept.map_err(|error| format!("{}: {error}", keeper.name()))
    }

    /// Writes all configured values back, except for profiles that another program has changed. The
    /// daemon removes the journal after it has read every profile back; see
    /// [`is_restored`](Self::is_restored). The caller may repeat the call.
    pub fn revert(&mut self) -> Vec<DaemonEvent> {
        let Some(journal) = self.journal.clone() else { return Vec::new() };
        self.store.answer_within(Some(BACK));
        let mut events = Vec::new();
        let mut complete = true;
        for (profile, entry) in &journal.profiles {
            let left_alone = |tracked: &&super::Tracked| tracked.profile == *profile && tracked.left_alone;
            if self.tuner.tracked.iter().any(|tracked| left_alone(&tracked)) {
                continue;
            }
            let (ours, uncertain) = (self.ours(profile), self.uncertain.contains_key(profile));
            let wanted = Wanted { profile, configured: entry.configured, ours: &ours, uncertain };
            match put_back(&mut self.store, wanted) {
                Ok(Back::Restored { changed }) => {
                    self.uncertain.remove(profile);
                    if let Some(tracked) =
                        self.tuner.tracked.iter_mut().find(|tracked| tracked.profile == *profile)
                    {
                        tracked.applied = entry.configured;
                    }
                    if changed {
                        events.push(DaemonEvent::Reverted { profile: profile.clone(), to: entry.configured });
                    }
                }
                Ok(Back::Foreign(found)) => events.push(self.leave_alone(profile, found)),
                Err(message) => {
                    complete = false;
                    self.faults.writes = self.faults.writes.saturating_add(1);
                    events.push(DaemonEvent::Fault { message, in_a_row: self.faults.in_a_row() });
                }
            }
        }
        self.store.answer_within(None);
        if complete {
            match self.keeper.as_mut().map_or(Ok(()), |keeper| keeper.remove()) {
                Ok(()) => self.journal = None,
                Err(error) => {
                    let name = self.keeper.as_ref().map(|keeper| keeper.name()).unwrap_or_default();
                    events.push(self.failed_read(format!("{name} cannot be removed: {error}")));
                }
            }
        }
        events
    }
}
