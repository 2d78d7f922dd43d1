//! Exclusive write access by lock files. The operating system releases a lock when the process that
//! has the lock dies. The lock file is removed when the work ends.

use crate::error::ResultsError;
use crate::folder::clear_barren;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// First words in the content of a lock file.
const TOKEN: &str = "bufferlab writes here";
/// Name of the lock file in a folder of several runs.
pub(crate) const LOCK_FILE: &str = ".lock";

/// Exclusive right to write to a path, until the claim is dropped.
/// The claim excludes other threads and other processes.
#[derive(Debug)]
pub struct Claim {
    file: File,
    path: PathBuf,
    /// Folders that the claim created, the innermost folder first.
    made: Vec<PathBuf>,
}

impl Claim {
    /// Claims a folder of several runs, and creates the folder if needed. Without a claim, two
    /// equal commands would each begin some of the runs. Each command would fail at a run of the
    /// other command.
    ///
    /// # Errors
    /// [`ResultsError::Busy`], at once and without any change, if the folder is claimed. Other
    /// errors if the folder cannot be created or written.
    pub fn folder(out: &Path) -> Result<Self, ResultsError> {
        let mut made = Vec::new();
        loop {
            let missing = out.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
            if !out.exists() {
                made = missing.map(Path::to_path_buf).collect();
            }
            create_parents(out)?;
            let lock = out.join(LOCK_FILE);
            let was_killed = lock.is_file();
            match Self::acquire(&lock, out) {
                // Another claim created the folder and has just removed the folder; try again.
                Err(ResultsError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                claimed => {
                    let mut claim = claimed?;
                    claim.made = made;
                    if was_killed {
                        clear_barren(out);
                    }
                    return Ok(claim);
                }
            }
        }
    }

    /// Whether a file is a lock file of bufferlab. An empty file counts, because a killed process
    /// leaves a lock file without content.
    pub(crate) fn is_lock_file(path: &Path) -> bool {
        fs::read(path).is_ok_and(|text| text.is_empty() || text.starts_with(TOKEN.as_bytes()))
    }

    /// Claims `target` with the lock file `path`, whose folder must be writable.
    ///
    /// # Errors
    /// [`ResultsError::Busy`], at once and without any change, if `target` is claimed.
    /// Also if the lock file cannot be created.
    pub fn acquire(path: &Path, target: &Path) -> Result<Self, ResultsError> {
        loop {
            let failed = || ResultsError::io("lock", path);
            let options = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
            let folder = path.parent().unwrap_or(path);
            let mut file = options.map_err(ResultsError::io("create files in", folder))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(ResultsError::Busy { path: target.to_path_buf() });
                }
                Err(TryLockError::Error(source)) => return Err(failed()(source)),
            }
            // The previous owner may remove the lock file after this process opens the file and
            // before it locks the file. Other processes cannot see a lock on a removed file, so the
            // code checks the content of the lock file.
            let token = token();
            let write = |file: &mut File| {
                file.set_len(0)?;
                file.seek(SeekFrom::Start(0))?;
                file.write_all(token.as_bytes())
            };
            write(&mut file).map_err(failed())?;
            match fs::read(path) {
                Ok(content) if content != token.as_bytes() => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // On some systems a locked file cannot be read. A read error then means that the
                // lock file exists.
                _ => return Ok(Self { file, path: path.to_path_buf(), made: Vec::new() }),
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Remove the lock file before the lock is released. A process that locks the removed file
        // notices the removal and tries again. If the lock file cannot be removed, the next claim
        // reuses the file.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
        for made in &self.made {
            // Remove folders that this claim created and that are empty. Stop at the first folder
            // that the system refuses to remove.
            if fs::remove_dir(made).is_err() {
                break;
            }
        }
    }
}

/// Content of a lock file, unique to one claim.
fn token() -> String {
    static CLAIMS: AtomicU64 = AtomicU64::new(0);
    let number = CLAIMS.fetch_add(1, Ordering::Relaxed);
    format!("{TOKEN}: process {}, claim {number}\n", std::process::id())
}

/// Creates a folder and its missing parent folders.
pub(crate) fn create_parents(folder: &Path) -> Result<(), ResultsError> {
    let blocking = |path: &&Path| path.exists() && !path.is_dir();
    match (fs::create_dir_all(folder), folder.ancestors().find(blocking)) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(file)) => Err(ResultsError::NotAFolder { path: file.to_path_buf() }),
        (Err(error), None) => Err(ResultsError::io("create", folder)(error)),
    }
}
