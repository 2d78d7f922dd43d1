//! Checksums of a folder in the format of `sha256sum`, so that every changed byte is detected.
//!
//! The checksum file of a run lists all files of the run but `timing.json`, which differs between
//! equal runs and contains its own digest. The checksum file of several runs lists their manifests,
//! and the pages and tables that are derived from the runs. The program `sha256sum --check
//! SHA256SUMS` reads the file, too.

use crate::digest::{self, FileFault, FileInfo, sha256};
use crate::error::ResultsError;
use crate::whole::write_whole;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

/// Name of the file with a folder's checksums.
pub const SUMS_FILE: &str = "SHA256SUMS";

/// Checksums of a folder's files, by the file's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums(BTreeMap<String, String>);

impl Sums {
    pub(crate) fn of_files<'a>(files: impl IntoIterator<Item = &'a FileInfo>) -> Self {
        Self(files.into_iter().map(|file| (file.name.clone(), file.sha256.clone())).collect())
    }

    /// Reads the checksums of `folder`; `None` if the folder has no checksum file.
    ///
    /// # Errors
    /// If the checksum file exists but has changed since a command wrote the file. A changed
    /// checksum file never counts as a file of an older format.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, ResultsError> {
        let path = folder.join(SUMS_FILE);
        let damaged = || ResultsError::Damaged {
            path: folder.to_path_buf(),
            fault: FileFault::Content { name: SUMS_FILE.to_owned() },
        };
        match fs::read(&path) {
            Ok(bytes) => Self::parse(&bytes).map(Some).ok_or_else(damaged),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ResultsError::io("read", &path)(error)),
        }
    }

    /// Parses a checksum file strictly: accepts only the output of [`Self::text`].
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let is_digest = |hex: &str| {
            hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        let line = |line: &str| {
            let (sum, name) = line.split_once("  ")?;
            (is_digest(sum) && !name.is_empty()).then(|| (name.to_owned(), sum.to_owned()))
        };
        let sums = Self(text.lines().map(line).collect::<Option<_>>()?);
        (sums.text() == text).then_some(sums)
    }

    pub(crate) fn text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, (name, sum)| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{sum}  {name}");
            text
        })
    }

    /// Writes the checksums to `folder`. Without checksums, removes the file.
    fn write(&self, folder: &Path) -> Result<(), ResultsError> {
        let path = folder.join(SUMS_FILE);
        if self.0.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(ResultsError::io("remove", &path)(error))
                }
                _ => Ok(()),
            };
        }
        write_whole(&path, self.text()).map_err(ResultsError::io("write", &path))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, sum)| (name.as_str(), sum.as_str()))
    }

    /// Whether the checksums belong to a run, even to a run with a damaged manifest.
    pub(crate) fn is_of_a_run(&self) -> bool {
        self.get(crate::MANIFEST_FILE).is_some() && self.get(crate::SCENARIO_FILE).is_some()
    }
}

/// Returns the fault of the file `name` in `folder`, if any.
pub(crate) fn check(folder: &Path, name: &str, sum: &str) -> io::Result<Option<FileFault>> {
    let bytes = fs::metadata(folder.join(name)).map_or(0, |file| file.len());
    digest::check(folder, &FileInfo { name: name.to_owned(), bytes, sha256: sum.to_owned() })
}

/// Checks a file of `folder` against its checksum. A file without a checksum passes.
///
/// # Errors
/// If the content differs, or the checksums are damaged.
pub fn check_sealed(folder: &Path, name: &str) -> Result<(), ResultsError> {
    let Some(sums) = Sums::read(folder)? else { return Ok(()) };
    let Some(sum) = sums.get(name) else { return Ok(()) };
    match check(folder, name, sum).map_err(ResultsError::io("read", &folder.join(name)))? {
        None => Ok(()),
        Some(fault) => Err(ResultsError::Damaged { path: folder.to_path_buf(), fault }),
    }
}

/// Writes files to `folder`, each atomically, and their checksums.
/// `runs` are the folders of the runs from which the files are derived, relative to `folder`.
/// If the process is killed during this call, files may lack checksums, but no checksum is wrong.
///
/// # Errors
/// If a file cannot be written, or the manifest of a run cannot be read.
pub fn write_sealed<C: AsRef<[u8]>>(
    folder: &Path,
    files: &[(&str, C)],
    runs: Option<&[String]>,
) -> Result<(), ResultsError> {
    fs::create_dir_all(folder).map_err(ResultsError::io("create", folder))?;
    // Replace damaged checksums. Files with damaged checksums are rewritten now, or reported as
    // unchecked later.
    let mut sums = match Sums::read(folder) {
        Err(ResultsError::Damaged { .. }) => Sums::default(),
        sums => sums?.unwrap_or_default(),
    };
    let before = sums.clone();
    sums.0.retain(|name, _| !files.iter().any(|(file, _)| file == name));
    if runs.is_some() {
        sums.0.retain(|name, _| !name.contains('/'));
    }
    if sums != before {
        sums.write(folder)?;
    }
    for (name, content) in files {
        let path = folder.join(name);
        write_whole(&path, content).map_err(ResultsError::io("write", &path))?;
        sums.0.insert((*name).to_owned(), sha256(content.as_ref()));
    }
    for run in runs.unwrap_or_default() {
        let name = format!("{run}/{}", crate::MANIFEST_FILE);
        let path = folder.join(&name);
        let manifest = fs::read(&path).map_err(ResultsError::io("read", &path))?;
        sums.0.insert(name, sha256(&manifest));
    }
    sums.write(folder)
}

/// Removes files of `folder` that were derived from its runs; removes their checksums first.
///
/// # Errors
/// If a file cannot be removed.
pub fn remove_sealed(folder: &Path, files: &[&str]) -> Result<(), ResultsError> {
    let sums = match Sums::read(folder) {
        Err(ResultsError::Damaged { .. }) => None,
        sums => sums?,
    };
    if let Some(mut sums) = sums {
        sums.0.retain(|name, _| !files.contains(&name.as_str()) && !name.contains('/'));
        sums.write(folder)?;
    }
    for name in files {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ResultsError::io("remove", &path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// JSON texts before and after the digest at the end of a document.
const DIGEST: (&str, &str) = (",\n  \"sha256\": \"", "\"\n}\n");

/// Appends a last field `sha256` to a JSON document of one object:
/// the digest of the document without that field.
pub(crate) fn with_digest(document: &str) -> String {
    let body = document.trim_end().trim_end_matches('}').trim_end();
    format!("{body}{}{}{}", DIGEST.0, sha256(format!("{body}\n}}\n").as_bytes()), DIGEST.1)
}

/// Whether a JSON document is unchanged since [`with_digest`] added a digest.
pub(crate) fn has_its_digest(document: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(document) else { return false };
    text.rfind(DIGEST.0).is_some_and(|at| with_digest(&format!("{}\n}}\n", &text[..at])) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flipped_bit_reads_as_checksums() {
        let sums = Sums(
            [("a.csv", sha256(b"a")), ("dt/seed-1/manifest.json", sha256(b"b"))]
                .map(|(name, sum)| (name.to_owned(), sum))
                .into(),
        );
        let text = sums.text();
        assert_eq!(Sums::parse(text.as_bytes()), Some(sums.clone()));
        for at in 0..8 * text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at / 8] ^= 1 << (at % 8);
            assert_ne!(Sums::parse(&bytes), Some(sums.clone()), "bit {at}");
        }
    }

    #[test]
    fn no_flipped_bit_of_a_document_agrees_with_its_digest() {
        let document = with_digest("{\n  \"cpu_seconds\": 1.5\n}\n");
        assert!(has_its_digest(document.as_bytes()), "{document}");
        for at in 0..8 * document.len() {
            let mut bytes = document.clone().into_bytes();
            bytes[at / 8] ^= 1 << (at % 8);
            assert!(!has_its_digest(&bytes), "bit {at}");
        }
    }
}
