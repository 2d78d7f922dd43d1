//! Records the configured values of profiles while the tuner sets other values. The daemon writes
//! the journal before the first change, and removes it after it has read all values back as
//! configured. The journal outlives the process.

use crate::OperatorError;
use crate::store::{Database, Store, StoreError};
use bufferlab_results::{Claim, ResultsError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Name of the file format, which every journal contains.
const FORMAT: &str = "bufferlab-tune";
const VERSION: u32 = 2;
/// Name of the one journal for all switches in earlier versions.
const EARLIER: &str = "bufferlab-tune.json";
/// Size of the longest journal (bytes); 65,536 profiles fit.
const BYTES_MAX: u64 = 16 << 20;

/// Entry of a journal: a profile that was changed, or may have been changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Configured exponent of the profile's alpha.
    pub configured: i8,
    /// Exponents of alpha that a tuner has written, or tried to write.
    pub ours: BTreeSet<i8>,
}

/// The switch to which a journal belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Address of the switch's Redis server, without a password.
    pub address: String,
    /// Name of the database with the profiles.
    pub database: String,
    /// Number of the database in the Redis server.
    pub number: u8,
    /// Identity of the switch from its DEVICE_METADATA, because the address may belong to
    /// another switch later.
    pub device: BTreeMap<String, String>,
}

impl Owner {
    /// Reads the identity of the switch whose databases the Redis server has.
    ///
    /// # Errors
    /// If the server gives no answer.
    pub fn new(store: &mut Store) -> Result<Self, StoreError> {
        let mut device = store.fields(Database::Config, "DEVICE_METADATA|localhost")?;
        device.retain(|name, _| ["hostname", "mac"].contains(&name.as_str()));
        Ok(Self {
            address: store.address().to_owned(),
            database: Database::Config.name().to_owned(),
            number: Database::Config.number(),
            device,
        })
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} ({})", self.address, self.database, self.number)?;
        self.device.iter().try_for_each(|(name, value)| write!(f, ", {name} {value}"))
    }
}

/// Content of the journal of a tuner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    format: String,
    version: u32,
    /// Switch whose profiles the journal lists.
    pub owner: Owner,
    /// Number of the process that wrote the journal.
    pub process: u32,
    /// Profiles that the tuner changed, by name.
    pub profiles: BTreeMap<String, Entry>,
}

impl Journal {
    /// Creates a journal of the current process, without entries.
    #[must_use]
    pub fn new(owner: Owner) -> Self {
        let process = std::process::id();
        Self { format: FORMAT.to_owned(), version: VERSION, owner, process, profiles: BTreeMap::new() }
    }

    /// Parses the bytes of a journal file.
    ///
    /// # Errors
    /// If the bytes are not a journal of this version.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let journal: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("not a journal with its switch: {error}"))?;
        if (journal.format.as_str(), journal.version) != (FORMAT, VERSION) {
            return Err(format!("version {} of \"{}\", expected {VERSION}", journal.version, journal.format));
        }
        Ok(journal)
    }

    pub(super) fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Storage of a journal, used by one tuner at a time.
pub trait Keeper: Debug + Send {
    /// Reads the journal, if the storage has a journal.
    ///
    /// # Errors
    /// The journal cannot be read.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>>;

    /// Replaces the journal. After success the new journal is durable.
    ///
    /// # Errors
    /// If the journal cannot be written. The storage may then have the old or the new content.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Removes the journal; a missing journal is not an error.
    ///
    /// # Errors
    /// The journal cannot be removed.
    fn remove(&mut self) -> io::Result<()>;

    /// Name of the journal in messages to the operator.
    fn name(&self) -> String;
}

/// A journal in a file, which is locked while this value exists.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    _claim: Claim,
}

impl JournalFile {
    /// Returns the default name of a switch's journal, which differs between switches. Earlier
    /// versions had one name for all switches. A file with the old name and an old format may have
    /// the configured values of this switch. If such a file exists, the method returns the old
    /// name, and [`recover`](super::recover) refuses the file.
    #[must_use]
    pub fn default_path(store: &Store) -> PathBuf {
        if fs::read(EARLIER).is_ok_and(|bytes| Journal::parse(&bytes).is_err()) {
            return PathBuf::from(EARLIER);
        }
        PathBuf::from(format!("bufferlab-tune-{}.json", store.file_name()))
    }

    /// Locks the file of a journal, which need not exist yet.
    ///
    /// # Errors
    /// If another process has locked the file, or its folder is not writable.
    pub fn claim(path: &Path) -> Result<Self, OperatorError> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let lock = PathBuf::from(lock);
        let claim = Claim::acquire(&lock, path).map_err(|error| match error {
            ResultsError::Busy { .. } => {
                let process = fs::read_to_string(&lock).unwrap_or_default();
                let process = process.split([':', ',']).nth(1).unwrap_or("").trim().to_owned();
                OperatorError::new(
                    format!("{}: another tuner is running with this journal ({process})", path.display()),
                    "end it first: two tuners of a switch take each other's values for configured ones; for another \
                     switch give another file with --journal",
                )
            }
            error => OperatorError::new(
                format!("{}: {error}", path.display()),
                "choose a file in a folder that can be written with --journal",
            ),
        })?;
        Ok(Self { path: path.to_owned(), _claim: claim })
    }
}

impl Keeper for JournalFile {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(file, BYTES_MAX + 1), &mut bytes)?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(io::Error::other(format!("it has more than {BYTES_MAX} B")));
        }
        Ok(Some(bytes))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut partial = self.path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let written = File::create(&partial).and_then(|mut file| {
            file.write_all(bytes)?;
            // A switch may lose power while the daemon changes an alpha, so the journal file is
            // synced.
            file.sync_all()?;
            fs::rename(&partial, &self.path)
        });
        if let Err(error) = written {
            // The incomplete journal file is useless, and the caller reports the error of the
            // write.
            let _ = fs::remove_file(&partial);
            return Err(error);
        }
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Some file systems cannot sync a folder; the file itself is safe.
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        Ok(())
    }

    fn remove(&mut self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}
