//! A folder that appears all at once: filled under a hidden name, renamed when complete.

use crate::error::ResultsError;
use crate::manifest::FORMAT;
use crate::schema::table_file;
use crate::{EXPLANATIONS_FILE, MANIFEST_FILE, REPORT_FILE, SCENARIO_FILE, TIMING_FILE};
use bufferlab_metrics::Table;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Held while a staging folder is being filled; the system releases it when the process dies.
const LOCK_FILE: &str = "lock";

/// The hidden folder beside the target.
#[derive(Debug)]
pub(crate) struct Staging {
    target: PathBuf,
    partial: PathBuf,
    /// Where the old result is while the new one takes its place.
    replaced: PathBuf,
    lock: Option<File>,
    keep: bool,
}

impl Staging {
    /// Makes an empty `.<name>.partial` beside `target`, which must be absent, empty, or the result of a run.
    pub(crate) fn create(target: &Path) -> Result<Self, ResultsError> {
        let target = std::path::absolute(target).map_err(ResultsError::io("resolve", target))?;
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(ResultsError::NotAFolder { path: target });
        };
        let hidden = |ending: &str| parent.join(format!(".{}.{ending}", name.to_string_lossy()));
        let (partial, replaced) = (hidden("partial"), hidden("replaced"));
        create_parents(parent)?;
        // Before anything is touched, and before hours of simulation.
        check_replaceable(&target)?;
        remove_stale(&partial, &target)?;
        fs::create_dir(&partial).map_err(ResultsError::io("create", &partial))?;
        let lock_path = partial.join(LOCK_FILE);
        let lock = File::create(&lock_path).map_err(ResultsError::io("create", &lock_path))?;
        if lock.try_lock().is_err() {
            return Err(ResultsError::Busy { path: target });
        }
        // A process that died between the two renames of `publish` left the old result here.
        if replaced.exists() && !target.exists() {
            fs::rename(&replaced, &target).map_err(ResultsError::io("restore", &target))?;
        }
        Ok(Self { target, partial, replaced, lock: Some(lock), keep: false })
    }

    /// Path of a file that will be in the result.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    /// Puts the folder into place, in the stead of an earlier result. On an error, the filled hidden folder stays,
    /// so that no hours of work are lost.
    pub(crate) fn publish(mut self) -> Result<PathBuf, ResultsError> {
        self.keep = true;
        self.lock = None;
        let lock_path = self.partial.join(LOCK_FILE);
        fs::remove_file(&lock_path).map_err(ResultsError::io("remove", &lock_path))?;
        // Again: somebody may have put files there during the run.
        check_replaceable(&self.target)?;
        if self.target.exists() {
            remove_folder(&self.replaced)?;
            fs::rename(&self.target, &self.replaced).map_err(ResultsError::io("replace", &self.target))?;
        }
        fs::rename(&self.partial, &self.target).map_err(ResultsError::io("create", &self.target))?;
        remove_folder(&self.replaced)?;
        Ok(std::mem::take(&mut self.target))
    }
}

/// A writer that is dropped before it finished leaves nothing.
impl Drop for Staging {
    fn drop(&mut self) {
        if !self.keep {
            // The folder is hidden and incomplete: if it cannot be removed now, the next run will.
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// Whether a run may replace what is at `target`: nothing, an empty folder, or a folder that has a run's manifest and
/// only files that runs write.
fn check_replaceable(target: &Path) -> Result<(), ResultsError> {
    let entries = match fs::read_dir(target) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(ResultsError::NotAFolder { path: target.to_path_buf() });
        }
        Err(error) => return Err(ResultsError::io("read", target)(error)),
    };
    let mut names: Vec<String> = Vec::new();
    for entry in entries {
        let entry = entry.map_err(ResultsError::io("read", target))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    if names.is_empty() {
        return Ok(());
    }
    let inputs = inputs_of_own_manifest(target).or_else(|| lost_its_manifest(&names).then(Vec::new));
    let is_own =
        |name: &&String| is_own_file(name) || inputs.as_ref().is_some_and(|list| list.contains(name));
    let foreign = names.iter().find(|name| !is_own(name));
    if let Some(found) = foreign.or_else(|| inputs.is_none().then(|| &names[0])) {
        return Err(ResultsError::ForeignFolder { path: target.to_path_buf(), found: found.clone() });
    }
    Ok(())
}

/// A run whose manifest is gone or damaged: nothing but what a run writes, a scenario and every table among it.
fn lost_its_manifest(names: &[String]) -> bool {
    let has = |name: &str| names.iter().any(|other| other == name);
    names.iter().all(|name| is_own_file(name))
        && has(SCENARIO_FILE)
        && Table::ALL.into_iter().all(|table| has(&table_file(table)))
}

fn create_parents(folder: &Path) -> Result<(), ResultsError> {
    let blocking = |path: &&Path| path.exists() && !path.is_dir();
    match (fs::create_dir_all(folder), folder.ancestors().find(blocking)) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(file)) => Err(ResultsError::NotAFolder { path: file.to_path_buf() }),
        (Err(error), None) => Err(ResultsError::io("create", folder)(error)),
    }
}

fn is_own_file(name: &str) -> bool {
    [MANIFEST_FILE, SCENARIO_FILE, TIMING_FILE, EXPLANATIONS_FILE, REPORT_FILE].contains(&name)
        || Table::ALL.into_iter().any(|table| table_file(table) == name)
}

/// The scenario's input files by the manifest there; `None` if there is no manifest, or it is not a run's (of whatever format
/// version).
fn inputs_of_own_manifest(folder: &Path) -> Option<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: String,
        #[serde(default)]
        inputs: Vec<String>,
    }
    let bytes = fs::read(folder.join(MANIFEST_FILE)).ok()?;
    let head = serde_json::from_slice::<Head>(&bytes).ok()?;
    (head.format == FORMAT).then_some(head.inputs)
}

/// Removes what a killed run left; refuses if the run is alive.
fn remove_stale(partial: &Path, target: &Path) -> Result<(), ResultsError> {
    if !partial.exists() {
        return Ok(());
    }
    if let Ok(lock) = File::open(partial.join(LOCK_FILE))
        && let Err(TryLockError::WouldBlock) = lock.try_lock()
    {
        return Err(ResultsError::Busy { path: target.to_path_buf() });
    }
    remove_folder(partial)
}

fn remove_folder(path: &Path) -> Result<(), ResultsError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ResultsError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Writes a file beside its place and moves it there: whole or not at all. Two processes that write the same file do not meet.
///
/// # Errors
/// If either fails.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let written = fs::write(&partial, content).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // What could not be written whole, on a full disk for instance, is of no use; the error says the rest.
        let _ = fs::remove_file(&partial);
    }
    written
}
