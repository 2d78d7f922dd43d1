//! The loop around a tuner: counters in, `dynamic_th` out, and back on a fault.

use super::counters::sample;
use super::{Decision, Settings, Tuner};
use crate::OperatorError;
use crate::store::{Database, Store};
use bufferlab_results::write_whole;
use bufferlab_sonic::config::Config;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    /// Something does not answer, or says nonsense. Nothing was changed for it.
    Fault {
        /// What.
        message: String,
        /// So many in a row.
        in_a_row: u32,
    },
}

/// A tuner with a switch.
#[derive(Debug)]
pub struct Daemon {
    store: Store,
    tuner: Tuner,
    apply: bool,
    journal: PathBuf,
    faults: u32,
    /// What was last said about a profile in a dry run: nothing is repeated.
    said: BTreeMap<String, i8>,
}

fn key(profile: &str) -> String {
    format!("BUFFER_PROFILE|{profile}")
}

impl Daemon {
    /// A daemon that writes if `apply` says so. Before the first change, the journal gets what was configured: it outlives
    /// the process.
    ///
    /// # Errors
    /// Nothing to be tuned.
    pub fn new(
        store: Store,
        config: &Config,
        settings: Settings,
        apply: bool,
        journal: &Path,
    ) -> Result<Self, OperatorError> {
        let tuner = Tuner::new(config, settings)?;
        Ok(Self { store, tuner, apply, journal: journal.to_owned(), faults: 0, said: BTreeMap::new() })
    }

    /// What is tuned.
    #[must_use]
    pub const fn tuner(&self) -> &Tuner {
        &self.tuner
    }

    /// Whether there were so many faults in a row that it is time to revert and to end.
    #[must_use]
    pub fn must_end(&self) -> bool {
        self.faults >= self.tuner.settings().faults_max
    }

    /// One interval, `seconds` after the start.
    pub fn step(&mut self, seconds: f64) -> Vec<Event> {
        let due = match sample(&mut self.store, &self.tuner, seconds) {
            Ok(sample) => self.tuner.decide(sample),
            Err(error) => Err(error.to_string()),
        };
        match due {
            Ok(due) => {
                self.faults = 0;
                let mut events = Vec::new();
                for decision in due {
                    events.extend(self.carry_out(decision));
                }
                events
            }
            Err(message) => vec![self.fault(message)],
        }
    }

    fn fault(&mut self, message: String) -> Event {
        self.faults += 1;
        Event::Fault { message, in_a_row: self.faults }
    }

    fn carry_out(&mut self, decision: Decision) -> Option<Event> {
        if !self.apply {
            let known = self.said.insert(decision.profile.clone(), decision.to);
            return (known != Some(decision.to)).then_some(Event::Change { decision, applied: false });
        }
        let key = key(&decision.profile);
        let there = match self.store.fields(Database::Config, &key) {
            Ok(fields) => fields.get("dynamic_th").cloned().unwrap_or_default(),
            Err(error) => return Some(self.fault(error.to_string())),
        };
        if there.parse() != Ok(decision.from) {
            let tracked = self.tuner.tracked.iter_mut().find(|tracked| tracked.profile == decision.profile);
            if let Some(tracked) = tracked {
                tracked.left_alone = true;
            }
            return Some(Event::LeftAlone { profile: decision.profile, found: there });
        }
        if let Err(message) = self.write_journal() {
            return Some(self.fault(message));
        }
        match self.store.set(Database::Config, &key, "dynamic_th", &decision.to.to_string()) {
            Ok(()) => {
                self.tuner.applied(&decision);
                Some(Event::Change { decision, applied: true })
            }
            Err(error) => Some(self.fault(error.to_string())),
        }
    }

    /// What was configured, and what this process may have put there.
    fn write_journal(&self) -> Result<(), String> {
        if self.journal.is_file() {
            return Ok(());
        }
        let entries: BTreeMap<_, _> = self
            .tuner
            .tracked
            .iter()
            .map(|tracked| (tracked.profile.clone(), (tracked.original, tracked.bounds)))
            .collect();
        let text = serde_json::to_vec_pretty(&entries).map_err(|error| error.to_string())?;
        write_whole(&self.journal, text).map_err(|error| format!("{}: {error}", self.journal.display()))
    }

    /// Everything as it was configured. What somebody else has changed stays.
    pub fn revert(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut complete = true;
        for at in 0..self.tuner.tracked.len() {
            let tracked = &self.tuner.tracked[at];
            if !self.apply || tracked.left_alone || tracked.applied == tracked.original {
                continue;
            }
            let (profile, applied, original) = (tracked.profile.clone(), tracked.applied, tracked.original);
            match back(&mut self.store, &profile, original, &|there| there == applied) {
                Ok(event) => {
                    self.tuner.tracked[at].applied = original;
                    events.push(event);
                }
                Err(message) => {
                    complete = false;
                    events.push(self.fault(message));
                }
            }
        }
        if self.apply && complete && self.journal.is_file() {
            // Without the file there is nothing to recover; with it, the next start reverts what has been reverted.
            let _ = std::fs::remove_file(&self.journal);
        }
        events
    }
}

/// Puts a profile back if what stands there is ours.
fn back(store: &mut Store, profile: &str, original: i8, ours: &dyn Fn(i8) -> bool) -> Result<Event, String> {
    let key = key(profile);
    let fields = store.fields(Database::Config, &key).map_err(|error| error.to_string())?;
    let found = fields.get("dynamic_th").cloned().unwrap_or_default();
    match found.parse() {
        Ok(there) if ours(there) => {
            let written = store.set(Database::Config, &key, "dynamic_th", &original.to_string());
            written.map_err(|error| error.to_string())?;
            Ok(Event::Reverted { profile: profile.to_owned(), to: original })
        }
        _ => Ok(Event::LeftAlone { profile: profile.to_owned(), found }),
    }
}

/// Reverts what a process has left that was killed: what its journal says, where the value is within its bounds.
///
/// # Errors
/// A journal that is none, or a database that does not answer: nothing must be tuned then.
pub fn recover(store: &mut Store, journal: &Path) -> Result<Vec<Event>, OperatorError> {
    if !journal.is_file() {
        return Ok(Vec::new());
    }
    let wrong = |message: String| {
        OperatorError::new(
            format!("{}: {message}", journal.display()),
            "it says what was configured before an earlier run that was killed: set these values by hand and delete it, or \
             choose another file with --journal",
        )
    };
    let text = std::fs::read(journal).map_err(|error| wrong(error.to_string()))?;
    let entries: BTreeMap<String, (i8, (i8, i8))> =
        serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    let mut events = Vec::new();
    for (profile, (original, (least, largest))) in entries {
        let ours = |there: i8| (least..=largest).contains(&there);
        events.push(back(store, &profile, original, &ours).map_err(wrong)?);
    }
    std::fs::remove_file(journal).map_err(|error| wrong(error.to_string()))?;
    Ok(events)
}
