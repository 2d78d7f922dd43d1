//! Writes a result folder as a whole: a run fills a hidden folder, and renames the folder when the
//! run is complete.
//!
//! While a run is written, two hidden entries exist beside the target `NAME`.
//! The folder `.NAME.partial` has the files of the run and a marker file.
//! The file `.NAME.writing` is the lock. Only folders with the marker file are ever removed.

use crate::claim::{Claim, LOCK_FILE, create_parents};
use crate::error::ResultsError;
use crate::group::{GROUP_FILE, Group};
use crate::manifest::FORMAT;
use crate::schema::table_file;
use crate::sums::{SUMS_FILE, Sums};
use crate::whole::{remove_half, whole_of};
use crate::{EXPLANATIONS_FILE, MANIFEST_FILE, REPORT_FILE, SCENARIO_FILE, SWEEP_FILE, TIMING_FILE};
use bufferlab_metrics::Table;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the marker file in a run's hidden folder, until the folder is moved to its target.
const MARKER_FILE: &str = ".made-by-bufferlab";
/// Text of the marker file in a hidden folder, for people who find the file.
const MARKER: &str = "A run is being written into this folder. If bufferlab does not run any more, it was killed, and the folder may be removed.\n";
/// Maximum depth of run folders below a results folder: point, policy, seed.
const DEPTH_MAX: usize = 3;

/// The hidden folder of an unfinished run, beside its final path.
#[derive(Debug)]
pub(crate) struct Staging {
    target: PathBuf,
    partial: PathBuf,
    /// Temporary path of the old result during the replacement.
    replaced: PathBuf,
    keep: bool,
    /// Claim on the target folder of the results.
    /// The claim is the last field, so the hidden folder is removed before the claim is released.
    _claim: Claim,
}

impl Staging {
    /// Creates an empty hidden folder `.<name>.partial` beside `target`.
    /// The target must be absent, empty, or the result of a run.
    pub(crate) fn create(target: &Path) -> Result<Self, ResultsError> {
        let target = std::path::absolute(target).map_err(ResultsError::io("resolve", target))?;
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(ResultsError::NotAFolder { path: target });
        };
        let hidden = |ending: &str| parent.join(format!(".{}.{ending}", name.to_string_lossy()));
        let (partial, replaced) = (hidden("partial"), hidden("replaced"));
        create_parents(parent)?;
        clear_killed_group(&target)?;
        // Check the target before any change, and before hours of simulation.
        check_replaceable(&target)?;
        let claim = Claim::acquire(&hidden("writing"), &target)?;
        make_empty(&partial)?;
        // A process may have died between the two renames of `publish`. In this case, the old
        // result is at `replaced`.
        if replaced.exists() && !target.exists() {
            fs::rename(&replaced, &target).map_err(ResultsError::io("restore", &target))?;
        }
        Ok(Self { target, partial, replaced, keep: false, _claim: claim })
    }

    /// Returns the path of a file of the unfinished result.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    /// Moves the folder to its target and replaces an earlier result.
    /// On an error the filled hidden folder stays, so that hours of work are not lost.
    pub(crate) fn publish(mut self) -> Result<PathBuf, ResultsError> {
        self.keep = true;
        // Check the target again, because files may have appeared in the target during the run.
        check_replaceable(&self.target)?;
        if self.target.exists() {
            remove_folder(&self.replaced)?;
            fs::rename(&self.target, &self.replaced).map_err(ResultsError::io("replace", &self.target))?;
        }
        fs::rename(&self.partial, &self.target).map_err(ResultsError::io("create", &self.target))?;
        // Remove the marker file only after the move.
        // Without the marker, no command could recognise that a run created the hidden folder.
        let marker = self.target.join(MARKER_FILE);
        fs::remove_file(&marker).map_err(ResultsError::io("remove", &marker))?;
        remove_folder(&self.replaced)?;
        Ok(std::mem::take(&mut self.target))
    }
}

/// Dropping the folder of an unfinished run removes its files.
impl Drop for Staging {
    fn drop(&mut self) {
        if !self.keep {
            // The hidden folder is incomplete, so it is removed. If this folder cannot be removed
            // now, the next run removes the folder.
            let _ = clear(&self.partial);
        }
    }
}

/// Clears a folder of several runs whose command was killed before its first run was complete.
/// A folder of this kind still has the lock file.
///
/// # Errors
/// If another process writes into the folder.
fn clear_killed_group(target: &Path) -> Result<(), ResultsError> {
    let lock = target.join(LOCK_FILE);
    if !lock.is_file() || !Claim::is_lock_file(&lock) {
        return Ok(());
    }
    let _claim = Claim::acquire(&lock, target)?;
    clear_barren(target);
    Ok(())
}

/// Clears a claimed folder that contains no complete run: removes hidden folders of runs,
/// and lists of planned runs. A folder with any other file stays unchanged.
pub(crate) fn clear_barren(folder: &Path) {
    // Leave a folder with other files unchanged. The end of the command removes leftovers in the
    // folder.
    if !is_barren(folder, DEPTH_MAX) {
        return;
    }
    let _ = remove_leftovers(folder);
    if entries(folder).iter().all(|(name, _)| name == LOCK_FILE || !name.starts_with('.')) {
        // Ignore failed removals: the next command reports the file or folder that blocks a run.
        for (name, path) in entries(folder) {
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { remove_plan(&name, &path) };
        }
    }
}

fn remove_plan(name: &str, path: &Path) -> io::Result<()> {
    if name == LOCK_FILE { Ok(()) } else { fs::remove_file(path) }
}

/// Whether a folder contains only the files that commands write before their first run is complete.
fn is_barren(folder: &Path, depth: usize) -> bool {
    let is_plan = |name: &str, path: &Path| match name {
        LOCK_FILE => Claim::is_lock_file(path),
        SUMS_FILE => Sums::read(folder).is_ok_and(|sums| {
            let names = sums.unwrap_or_default();
            names.iter().all(|(name, _)| [GROUP_FILE, SWEEP_FILE].contains(&name))
        }),
        GROUP_FILE => Group::read(folder).is_ok_and(|group| group.is_some()),
        SWEEP_FILE => fs::read_to_string(path).is_ok_and(|text| text.starts_with("# The ")),
        _ => false,
    };
    entries(folder).iter().all(|(name, path)| {
        let is_leftover = name.starts_with('.')
            && if path.is_dir() {
                is_ours(path)
            } else {
                let is_plan_half =
                    whole_of(name).is_some_and(|whole| [GROUP_FILE, SWEEP_FILE, SUMS_FILE].contains(&whole));
                is_plan_half || name.ends_with(".writing") && Claim::is_lock_file(path)
            };
        if is_leftover {
            true
        } else if path.is_dir() {
            depth > 0 && is_barren(path, depth - 1)
        } else {
            is_plan(name, path)
        }
    })
}

/// Lists names and paths of the entries of a folder; empty if the folder cannot be read.
fn entries(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect()
}

/// Checks that a run may replace `target`. Allowed are an absent or empty folder,
/// and a folder with a run's manifest and only files that runs write.
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
    let inputs = inputs_of_own_manifest(target)
        .or_else(|| files_by_checksums(target))
        .or_else(|| lost_its_manifest(&names).then(Vec::new));
    // A killed process leaves a partial copy of a file beside the file itself.
    let is_own = |name: &&String| {
        is_own_file(whole_of(name).unwrap_or(name)) || inputs.as_ref().is_some_and(|list| list.contains(name))
    };
    let foreign = names.iter().find(|name| !is_own(name));
    if let Some(found) = foreign.or_else(|| inputs.is_none().then(|| &names[0])) {
        return Err(ResultsError::ForeignFolder { path: target.to_path_buf(), found: found.clone() });
    }
    Ok(())
}

/// Whether files with the names `names` belong to a run whose manifest is missing or invalid. The
/// folder of such a run has only files that runs write, including a scenario and every table.
fn lost_its_manifest(names: &[String]) -> bool {
    let has = |name: &str| names.iter().any(|other| other == name);
    names.iter().all(|name| is_own_file(name))
        && has(SCENARIO_FILE)
        && Table::ALL.into_iter().all(|table| table.is_optional() || has(&table_file(table)))
}

fn is_own_file(name: &str) -> bool {
    [MANIFEST_FILE, SCENARIO_FILE, TIMING_FILE, EXPLANATIONS_FILE, REPORT_FILE, SUMS_FILE, MARKER_FILE]
        .contains(&name)
        || Table::ALL.into_iter().any(|table| table_file(table) == name)
}

/// Reads the names of the scenario's input files from the manifest in `folder`.
/// `None` if the folder has no manifest of a run (of any format version).
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

/// Removes the folder of a run, and then the parent folder if that folder is empty. Does nothing if
/// the run has no folder. A process killed during the removal leaves a hidden folder, which a later
/// command removes.
///
/// # Errors
/// If the folder contains any file that no run writes, another process is writing the run,
/// or the folder cannot be removed.
pub fn remove_run(target: &Path) -> Result<(), ResultsError> {
    let target = std::path::absolute(target).map_err(ResultsError::io("resolve", target))?;
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(ResultsError::NotAFolder { path: target });
    };
    if !target.exists() {
        return Ok(());
    }
    check_replaceable(&target)?;
    let hidden = |ending: &str| parent.join(format!(".{}.{ending}", name.to_string_lossy()));
    let partial = hidden("partial");
    {
        let _claim = Claim::acquire(&hidden("writing"), &target)?;
        make_empty(&partial)?;
        clear(&partial).map_err(ResultsError::io("remove", &partial))?;
        let marker = target.join(MARKER_FILE);
        fs::write(&marker, MARKER).map_err(ResultsError::io("write", &marker))?;
        fs::rename(&target, &partial).map_err(ResultsError::io("remove", &target))?;
        clear(&partial).map_err(ResultsError::io("remove", &partial))?;
    }
    // The system refuses to remove a folder that is not empty, so other files stay.
    let _ = fs::remove_dir(parent);
    Ok(())
}

/// Lists the files of a run from its checksum file, for a missing or damaged manifest.
fn files_by_checksums(folder: &Path) -> Option<Vec<String>> {
    let sums = Sums::read(folder).ok()?.filter(Sums::is_of_a_run)?;
    Some(sums.iter().map(|(name, _)| name.to_owned()).collect())
}

/// Creates the empty hidden folder of a claimed run. Removes files that a killed run left in the
/// hidden folder.
fn make_empty(partial: &Path) -> Result<(), ResultsError> {
    if is_ours(partial) {
        clear(partial).map_err(ResultsError::io("remove", partial))?;
    }
    match fs::create_dir(partial) {
        // Reuse an empty hidden folder, because it contains no results.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_empty(partial) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(ResultsError::InTheWay { path: partial.to_path_buf() });
        }
        made => made.map_err(ResultsError::io("create", partial))?,
    }
    let marker = partial.join(MARKER_FILE);
    fs::write(&marker, MARKER).map_err(ResultsError::io("write", &marker))
}

/// Whether a run created the hidden folder; then the folder has the marker file.
fn is_ours(partial: &Path) -> bool {
    partial.join(MARKER_FILE).is_file()
}

/// Removes a run's hidden folder, the marker file last.
/// If the removal is interrupted, the marker file still identifies the remaining folder.
fn clear(partial: &Path) -> io::Result<()> {
    for entry in fs::read_dir(partial)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != MARKER_FILE {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir_all(partial)
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Removes the leftovers of killed runs below a folder of results and returns the number of removed
/// hidden folders. Leftovers are hidden folders without a writer, lock files without an owner,
/// and unfinished copies of files that exist. The marker file in a finished run is a leftover, too.
///
/// All other files stay, whatever their names.
/// If a leftover cannot be removed now, the next command tries again.
#[must_use]
pub fn remove_leftovers(folder: &Path) -> usize {
    remove_leftovers_to(folder, DEPTH_MAX)
}

fn remove_leftovers_to(folder: &Path, depth: usize) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let mut removed = 0;
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        // Do not search the targets of symbolic links.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let hidden = |ending: &str| name.strip_prefix('.')?.strip_suffix(ending).map(str::to_owned);
        // The claim fails if a process is writing the run.
        let claim = |run: &str| Claim::acquire(&folder.join(format!(".{run}.writing")), &path);
        if !is_folder {
            if hidden(".writing").is_some() && Claim::is_lock_file(&path) {
                // Claiming and releasing the path removes its lock file.
                drop(Claim::acquire(&path, &path));
            }
            // If the finished file is missing, the hidden copy may belong to another program.
            if whole_of(&name).is_some_and(|whole| folder.join(whole).is_file()) {
                remove_half(&path);
            }
        } else if let Some(run) = hidden(".partial") {
            let is_left = is_ours(&path) && claim(&run).is_ok_and(|_claim| clear(&path).is_ok());
            removed += usize::from(is_left);
        } else if !name.starts_with('.') {
            let marker = path.join(MARKER_FILE);
            if marker.is_file() && path.join(MANIFEST_FILE).is_file() {
                let _ = claim(&name).map(|_claim| fs::remove_file(&marker));
            } else if depth > 0 {
                removed += remove_leftovers_to(&path, depth - 1);
            }
        }
    }
    removed
}

fn remove_folder(path: &Path) -> Result<(), ResultsError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ResultsError::io("remove", path)(error)),
        _ => Ok(()),
    }
}
