//! Who writes here? A lock file that the system releases when its process dies, and that goes when
//! the work has ended.

use crate::error::ResultsError;
use crate::folder::clear_barren;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What lock files begin with.
const TOKEN: &str = "bufferlab writes here";
/// Name of the lock file in a folder of several runs.
pub(crate) const LOCK_FILE: &str = ".lock";

/// The right to write somewhere, until it is dropped: nobody else has it meanwhile, in this process
/// or another.
#[derive(Debug)]
pub struct Claim {
    file: File,
    path: PathBuf,
    /// Folders that were made for it, the innermost first.
    made: Vec<PathBuf>,
}

impl Claim {
    /// Claims a folder of several runs as a whole, and makes it if need be. Without this, two equal
    /// commands would each begin some of the runs, and both would fail at those of the other.
    ///
    /// # Errors [`ResultsError::Busy`] if somebody else has it, at once and with nothing done; or if the folder
    /// cannot be made or written.
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
            match Self::of(&lock, out) {
                // Whoever made the folder before us has just removed it.
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

    /// Whether a file is a lock of ours: it says so, or it was to say so when its process was
    /// killed.
    pub(crate) fn is_lock_file(path: &Path) -> bool {
        fs::read(path).is_ok_and(|text| text.is_empty() || text.starts_with(TOKEN.as_bytes()))
    }

    /// Claims `target` by the lock file `path`, which lies where files can be made.
    ///
    /// # Errors
    /// [`ResultsError::Busy`] if somebody else has it, at once and with nothing done; or if the
    /// lock cannot be made.
    pub fn of(path: &Path, target: &Path) -> Result<Self, ResultsError> {
        loop {
            let failed = || ResultsError::io("lock", path);
            let options = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
            let mut file = options.map_err(failed())?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(ResultsError::Busy { path: target.to_path_buf() });
                }
                Err(TryLockError::Error(source)) => return Err(failed()(source)),
            }
            // The owner before may have removed the file between our opening and our locking it:
            // then others can not see this lock.
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
                // Where a lock keeps readers out, too, the file is there.
                _ => return Ok(Self { file, path: path.to_path_buf(), made: Vec::new() }),
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // First the file, then the lock: whoever locks the removed file looks again. If it stays,
        // the next one takes it over.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
        for made in &self.made {
            // Nothing was put there: it goes. A folder that holds something stays.
            if fs::remove_dir(made).is_err() {
                break;
            }
        }
    }
}

/// Of this claim only.
fn token() -> String {
    static CLAIMS: AtomicU64 = AtomicU64::new(0);
    let number = CLAIMS.fetch_add(1, Ordering::Relaxed);
    format!("{TOKEN}: process {}, claim {number}\n", std::process::id())
}

/// Makes a folder and those above it.
pub(crate) fn create_parents(folder: &Path) -> Result<(), ResultsError> {
    let blocking = |path: &&Path| path.exists() && !path.is_dir();
    match (fs::create_dir_all(folder), folder.ancestors().find(blocking)) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(file)) => Err(ResultsError::NotAFolder { path: file.to_path_buf() }),
        (Err(error), None) => Err(ResultsError::io("create", folder)(error)),
    }
}
