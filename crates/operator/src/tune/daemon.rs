//! The loop around a tuner: counters in, `dynamic_th` out, and back on a fault.

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

/// Everything has to be put back within this time; a switch answers in milliseconds.
const BACK: Duration = Duration::from_secs(10);

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// An alpha was changed, or would be (`applied` is false).
    Change {
        /// Which, and why.
        decision: Decision,
        /// Whether it was written.
        applied: bool,
    },
    /// A profile has the value again that it was configured with.
    Reverted {
        /// Profile.
        profile: String,
        /// Exponent.
        to: i8,
    },
    /// Somebody else has changed a profile: it is left alone from now on.
    LeftAlone {
        /// Profile.
        profile: String,
        /// What stands there.
        found: String,
    },
    /// Something does not answer, says nonsense, or refuses a write.
    Fault {
        /// What.
        message: String,
        /// So many in a row.
        in_a_row: u32,
    },
}

/// Faults in a row. A look at the counters that succeeds says nothing about writes, and a write
/// nothing about looks.
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

/// A tuner with a switch.
#[derive(Debug)]
pub struct Daemon {
    store: Store,
    tuner: Tuner,
    /// Where the journal is, if something is written.
    keeper: Option<Box<dyn Keeper>>,
    /// What the keeper has, or tried to get: profiles that were changed, or may have been.
    journal: Option<Journal>,
    /// Whether the keeper certainly has it.
    is_kept: bool,
    faults: Faults,
    /// Writes whose outcome nobody knows, by profile.
    uncertain: BTreeMap<String, BTreeSet<i8>>,
    /// What was last said about a profile in a dry run: nothing is repeated.
    said: BTreeMap<String, i8>,
}

impl Daemon {
    /// A daemon that writes if it has a keeper. Before the first change, that gets what was
    /// configured: it outlives the process. What it has already belongs to
    /// [`recover`](super::recover), which comes first.
    ///
    /// # Errors
    /// Nothing to be tuned.
    pub fn new(
        store: Store,
        config: &Config,
        settings: Settings,
        keeper: Option<Box<dyn Keeper>>,
    ) -> Result<Self, OperatorError> {
        let tuner = Tuner::new(config, settings)?;
        let (faults, uncertain, said) = (Faults::default(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { store, tuner, keeper, journal: None, is_kept: false, faults, uncertain, said })
    }

    /// What is tuned.
    #[must_use]
    pub const fn tuner(&self) -> &Tuner {
        &self.tuner
    }

    /// Whether there were so many faults in a row that it is time to revert and to end.
    #[must_use]
    pub fn must_end(&self) -> bool {
        self.faults.in_a_row() >= self.tuner.settings().faults_max
    }

    /// Whether nothing is left to be put back: no profile was changed, or all were read back as
    /// configured and the journal is gone.
    #[must_use]
    pub const fn is_restored(&self) -> bool {
        self.journal.is_none()
    }

    /// Once the flag is set, no answer is waited for any longer.
    pub fn interrupt_by(&mut self, flag: Option<Arc<AtomicBool>>) {
        self.store.interrupt_by(flag);
    }

    /// One interval, `seconds` after the start.
    pub fn step(&mut self, seconds: f64) -> Vec<Event> {
        let session = self.store.limits().session;
        self.store.answer_within(Some(session));
        let events = self.look(seconds);
        self.store.answer_within(None);
        events
    }

    fn look(&mut self, seconds: f64) -> Vec<Event> {
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
            match self.carry_out(&decision) {
                Ok(event) => {
                    written |= matches!(event, Some(Event::Change { applied: true, .. }));
                    events.extend(event);
                }
                Err(message) => {
                    // An interval is one fault, however many profiles it concerns.
                    self.faults.writes = before.saturating_add(1);
                    events.push(Event::Fault { message, in_a_row: self.faults.in_a_row() });
                }
            }
        }
        if written && self.faults.writes == before {
            self.faults.writes = 0;
        }
        events
    }

    fn failed_read(&mut self, message: String) -> Event {
        self.faults.reads = self.faults.reads.saturating_add(1);
        Event::Fault { message, in_a_row: self.faults.in_a_row() }
    }

    /// What has become of writes without an answer.
    fn settle(&mut self) -> Result<Vec<Event>, String> {
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
                // The other ones may still come: they stay ours.
                Some(there) => tracked.applied = there,
                None => events.push(self.leave_alone(&profile, found)),
            }
        }
        Ok(events)
    }

    /// Values of a profile that nobody else can have put there.
    fn ours(&self, profile: &str) -> BTreeSet<i8> {
        let tracked = self.tuner.tracked.iter().find(|tracked| tracked.profile == profile);
        let uncertain = self.uncertain.get(profile).into_iter().flatten().copied();
        tracked.map(|tracked| tracked.applied).into_iter().chain(uncertain).collect()
    }

    fn carry_out(&mut self, decision: &Decision) -> Result<Option<Event>, String> {
        let profile = &decision.profile;
        if self.keeper.is_none() {
            let known = self.said.insert(profile.clone(), decision.to);
            let event = Event::Change { decision: decision.clone(), applied: false };
            return Ok((known != Some(decision.to)).then_some(event));
        }
        let ours = self.ours(profile);
        self.note(profile, ours.iter().copied().chain([decision.to]).collect())?;
        let expected = |there: &str| there.parse().is_ok_and(|there| ours.contains(&there));
        let to = decision.to.to_string();
        match self.store.swap(Database::Config, &key(profile), "dynamic_th", &expected, &to) {
            Ok(Swap::Written) => {
                // Every earlier write that is still under way is void now.
                self.uncertain.remove(profile);
                self.tuner.applied(decision);
                Ok(Some(Event::Change { decision: decision.clone(), applied: true }))
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

    /// A profile is somebody else's from now on.
    fn leave_alone(&mut self, profile: &str, found: String) -> Event {
        self.uncertain.remove(profile);
        if let Some(tracked) = self.tuner.tracked.iter_mut().find(|tracked| tracked.profile == profile) {
            tracked.left_alone = true;
        }
        Event::LeftAlone { profile: profile.to_owned(), found }
    }

    /// Notes what a profile was configured with, and what will be ours there, before anything is
    /// written.
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
        if journal.profiles.insert(profile.to_owned(), entry.clone()) == Some(entry) && self.is_kept {
            return Ok(());
        }
        let kept = journal.bytes().and_then(|bytes| keeper.write(&bytes));
        self.is_kept = kept.is_ok();
        // Even if it failed, it may be there.
        self.journal = Some(journal);
        kept.map_err(|error| format!("{}: {error}", keeper.name()))
    }

    /// Everything as it was configured. What somebody else has changed stays. The journal goes once
    /// every profile was read back; see [`is_restored`](Self::is_restored). It may be called again.
    pub fn revert(&mut self) -> Vec<Event> {
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
                        events.push(Event::Reverted { profile: profile.clone(), to: entry.configured });
                    }
                }
                Ok(Back::Foreign(found)) => events.push(self.leave_alone(profile, found)),
                Err(message) => {
                    complete = false;
                    self.faults.writes = self.faults.writes.saturating_add(1);
                    events.push(Event::Fault { message, in_a_row: self.faults.in_a_row() });
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
