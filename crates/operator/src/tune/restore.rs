//! Restores the configured values of profiles: at the end of a tuner, or after a tuner was killed.

use super::DaemonEvent;
use super::journal::{Journal, Keeper, Owner};
use crate::OperatorError;
use crate::store::{Database, Store, Swap};
use std::collections::BTreeSet;

/// Number of attempts to restore a profile before the failure counts as a fault.
const ATTEMPTS: u32 = 3;

pub(super) fn key(profile: &str) -> String {
    format!("BUFFER_PROFILE|{profile}")
}

/// Outcome of restoring a profile to its configured value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Back {
    /// The profile was read back and has its configured value. `changed` means that the profile had
    /// another value before.
    Restored { changed: bool },
    /// The profile has a value that another program wrote.
    Foreign(String),
}

/// A profile that must get its configured value back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) profile: &'a str,
    pub(super) configured: i8,
    /// Values of the profile that the tuner wrote, or may have written.
    pub(super) ours: &'a BTreeSet<i8>,
    /// Whether a write of the tuner may still be delayed. Writing the configured value makes the
    /// delayed write void, even if the profile already has the configured value.
    pub(super) uncertain: bool,
}

/// Writes the configured value if the current value is from the tuner, and reads the profile back.
pub(super) fn put_back(store: &mut Store, wanted: Wanted<'_>) -> Result<Back, String> {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match attempt(store, wanted) {
            Err(message) => last = message,
            back => return back,
        }
    }
    Err(last)
}

fn attempt(
    store: &mut Store,
    Wanted { profile, configured, ours, uncertain }: Wanted<'_>,
) -> Result<Back, String> {
    let key = key(profile);
    let read = |store: &mut Store| {
        let fields = store.fields(Database::Config, &key).map_err(|error| error.to_string())?;
        Ok::<_, String>(fields.get("dynamic_th").cloned().unwrap_or_default())
    };
    let changed = read(store)?.parse() != Ok(configured);
    if !changed && !uncertain {
        return Ok(Back::Restored { changed });
    }
    let expected =
        |there: &str| there.parse().is_ok_and(|there| there == configured || ours.contains(&there));
    let swap = store.swap(Database::Config, &key, "dynamic_th", &expected, &configured.to_string());
    match swap.map_err(|error| error.to_string())? {
        Swap::Found(found) => return Ok(Back::Foreign(found)),
        Swap::Written => {}
    }
    let found = read(store)?;
    if found.parse() == Ok(configured) {
        Ok(Back::Restored { changed })
    } else {
        Err(format!("{key}: dynamic_th is \"{found}\" right after {configured} was written"))
    }
}

/// Restores the profiles in the journal of a tuner that was killed. A profile is restored only if
/// its current value is from this tuner.
///
/// # Errors
/// If the journal is invalid or of another switch, or if the database does not answer. After an
/// error, the journal stays in the storage, and the caller must not tune.
pub fn recover(store: &mut Store, keeper: &mut dyn Keeper) -> Result<Vec<DaemonEvent>, OperatorError> {
    let name = keeper.name();
    let wrong = |message: String| {
        OperatorError::new(
            format!("{name}: {message}"),
            "it has the configured values from before an earlier run that was killed: set them by hand and delete it, or \
             choose another file with --journal",
        )
    };
    let Some(bytes) = keeper.read().map_err(|error| wrong(error.to_string()))? else { return Ok(Vec::new()) };
    let journal = Journal::parse(&bytes).map_err(wrong)?;
    let owner = Owner::new(store).map_err(|error| wrong(error.to_string()))?;
    if journal.owner != owner {
        return Err(OperatorError::new(
            format!(
                "{name} is the journal of {} (process {}), not of {owner}",
                journal.owner, journal.process
            ),
            "choose another file with --journal for this switch, and run tune for the other one: it puts back what was \
             configured there",
        ));
    }
    let mut events = Vec::new();
    for (profile, entry) in &journal.profiles {
        // The killed process may have sent a write that is still delayed.
        let wanted = Wanted { profile, configured: entry.configured, ours: &entry.ours, uncertain: true };
        match put_back(store, wanted).map_err(wrong)? {
            Back::Restored { changed: false } => {}
            Back::Restored { .. } => {
                events.push(DaemonEvent::Reverted { profile: profile.clone(), to: entry.configured });
            }
            Back::Foreign(found) => events.push(DaemonEvent::LeftAlone { profile: profile.clone(), found }),
        }
    }
    keeper.remove().map_err(|error| wrong(error.to_string()))?;
    Ok(events)
}
