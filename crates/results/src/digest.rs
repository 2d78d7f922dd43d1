//! Checksums that show whether a file has changed since the run wrote it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// A writer that counts and hashes all written bytes.
pub(crate) struct Hashed<W> {
    inner: W,
    hash: Sha256,
    bytes: u64,
}

impl<W> Hashed<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, hash: Sha256::new(), bytes: 0 }
    }

    /// Returns length and hash of the written bytes, for the file `name`.
    pub(crate) fn finish(self, name: &str) -> FileInfo {
        FileInfo { name: name.to_owned(), bytes: self.bytes, sha256: hexadecimal(&self.hash.finalize()) }
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A file as listed in the manifest: its length and checksum at the end of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Name of the file in the folder of the run.
    pub name: String,
    /// Length of the file at the end of the run (bytes).
    pub bytes: u64,
    /// SHA-256 of the file's content, in lower-case hexadecimal.
    pub sha256: String,
}

impl FileInfo {
    /// Computes the length and the checksum of a file with the given name and content.
    pub(crate) fn from_content(name: &str, content: &[u8]) -> Self {
        Self { name: name.to_owned(), bytes: content.len() as u64, sha256: sha256(content) }
    }
}

/// A change of a file after the run wrote the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFault {
    /// The file does not exist in the folder.
    Missing {
        /// Name of the missing file.
        name: String,
    },
    /// The file does not have its recorded length.
    Length {
        /// Name of the changed file.
        name: String,
        /// Length of the file at the end of the run (bytes).
        written: u64,
        /// Actual length of the changed file (bytes).
        found: u64,
    },
    /// The file has the recorded length, but its content has changed.
    Content {
        /// Name of the changed file.
        name: String,
    },
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name } => write!(f, "{name} is missing"),
            Self::Length { name, written, found } => {
                write!(f, "{name} has {found} B, the run wrote {written} B")
            }
            Self::Content { name } => write!(f, "{name} is not what the run wrote (its SHA-256 differs)"),
        }
    }
}

/// Compares a file in `folder` with its recorded length and checksum. Returns the difference, or
/// `None` for an unchanged file.
pub(crate) fn check(folder: &Path, written: &FileInfo) -> io::Result<Option<FileFault>> {
    let name = || written.name.clone();
    let mut file = match File::open(folder.join(&written.name)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Some(FileFault::Missing { name: name() }));
        }
        Err(error) => return Err(error),
    };
    let mut hashed = Hashed::new(io::sink());
    copy(&mut file, &mut hashed)?;
    let found = hashed.finish(&written.name);
    Ok(if found.bytes != written.bytes {
        Some(FileFault::Length { name: name(), written: written.bytes, found: found.bytes })
    } else if found.sha256 != written.sha256 {
        Some(FileFault::Content { name: name() })
    } else {
        None
    })
}

/// Copies a file in pieces that are large enough for fast hashing, and small enough for memory.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut piece = vec![0; 1 << 16];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => to.write_all(&piece[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Computes the SHA-256 of `bytes` in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Formats bytes in lower-case hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = fmt::Write::write_fmt(&mut hex, format_args!("{byte:02x}"));
        hex
    })
}
