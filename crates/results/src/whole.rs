//! Writes files atomically: the file appears under its name only when it is complete.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file atomically: writes a copy beside the target `path` and renames the copy. Two
/// processes may write one file at a time without conflict.
///
/// # Errors
/// If writing or renaming fails.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(content.as_ref())?;
    file.finish()
}

/// A file that is written in pieces and appears at its path only with [`finish`](Self::finish).
/// Dropping the writer removes the unfinished copy.
/// If the process is killed, the next write of the file removes the copy.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    half: PathBuf,
    /// The unfinished copy of the file. A lock on the copy shows other processes that the copy is
    /// in use.
    file: BufWriter<File>,
    is_finished: bool,
}

impl WholeFile {
    /// Creates an empty copy beside `path`, to be filled and renamed.
    ///
    /// # Errors
    /// If the copy cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        remove_halves(path);
        loop {
            let half = half_of(path);
            let file = OpenOptions::new().write(true).create_new(true).open(&half)?;
            // Another process may remove the copy before this process locks it; the loop then
            // creates another copy. On systems without locks, no process removes leftovers.
            if !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && half.exists() {
                let file = BufWriter::new(file);
                return Ok(Self { path: path.to_path_buf(), half, file, is_finished: false });
            }
        }
    }

    /// Renames the unfinished copy to the file's path.
    ///
    /// # Errors
    /// If buffered data cannot be written, or the copy cannot be renamed.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        fs::rename(&self.half, &self.path)?;
        self.is_finished = true;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // An incomplete copy, after a full disk for instance, is useless;
            // the caller has the error.
            let _ = fs::remove_file(&self.half);
        }
    }
}

/// Name of a file's unfinished copy, unique to this process and file.
fn half_of(path: &Path) -> PathBuf {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".{name}.{}-{number}.partial", std::process::id()))
}

/// Returns the name of the file to which a hidden copy belongs.
pub(crate) fn whole_of(hidden: &str) -> Option<&str> {
    let (whole, writer) = hidden.strip_prefix('.')?.strip_suffix(".partial")?.rsplit_once('.')?;
    let (process, number) = writer.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(process) && is_number(number)).then_some(whole)
}

/// Removes the copies of a file that killed processes left.
/// If a copy cannot be removed now, the next write of the file tries again.
fn remove_halves(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let hidden = entry.file_name();
        if whole_of(&hidden.to_string_lossy()).is_some_and(|whole| path.file_name() == Some(whole.as_ref())) {
            remove_half(&entry.path());
        }
    }
}

/// Removes the unfinished copy `path` if no process is writing it.
pub(crate) fn remove_half(path: &Path) {
    if let Ok(file) = OpenOptions::new().write(true).open(path)
        && file.try_lock().is_ok()
    {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_killed_processes_go_and_those_on_their_way_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in [".a.csv.1-7.partial", ".b.csv.1-7.partial", ".a.csv.mine.partial"] {
            fs::write(at(name), "x,").expect("writable");
        }
        let mut first = WholeFile::create(&at("a.csv")).expect("writable");
        first.write_all(b"first").expect("writable");
        write_whole(&at("a.csv"), "second").expect("writable");
        assert_eq!(fs::read_to_string(at("a.csv")).expect("there"), "second");
        first.finish().expect("nobody took it away");
        assert_eq!(fs::read_to_string(at("a.csv")).expect("there"), "first");
        drop(WholeFile::create(&at("a.csv")).expect("writable"));
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        assert_eq!(names, [".a.csv.mine.partial", ".b.csv.1-7.partial", "a.csv"]);
    }
}
