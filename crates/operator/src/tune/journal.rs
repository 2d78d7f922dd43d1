//! What was configured, for as long as something else is: written before the first change, and
//! removed when everything was read back as configured. It outlives the process.

use crate::OperatorError;
use crate::store::{Database, Store, StoreError};
use bufferlab_results::{Claim, ResultsError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a journal begins with.
const FORMAT: &str = "bufferlab-tune";
const VERSION: u32 = 2;
/// The journal of every switch in earlier versions, which named none.
const EARLIER: &str = "bufferlab-tune.json";
/// A journal is not longer (bytes): 65,536 profiles are.
const BYTES_MAX: u64 = 16 << 20;

/// A profile that was changed, or may have been.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Exponent as configured.
    pub configured: i8,
    /// Exponents that a tuner has put there, or tried to: nobody else's.
    pub ours: BTreeSet<i8>,
}

/// The switch that a journal is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The server, without a password.
    pub address: String,
    /// Name of the database.
    pub database: String,
    /// Number of the database.
    pub number: u8,
    /// The switch behind the address, by its DEVICE_METADATA: another one may be there tomorrow.
    pub device: BTreeMap<String, String>,
}

impl Owner {
    /// The switch behind a store.
    ///
    /// # Errors
    /// No answer.
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

/// The content of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    format: String,
    version: u32,
    /// The switch.
    pub owner: Owner,
    /// The process that wrote it.
    pub process: u32,
    /// Profiles by name.
    pub profiles: BTreeMap<String, Entry>,
}

impl Journal {
    /// One without entries, of this process.
    #[must_use]
    pub fn new(owner: Owner) -> Self {
        let process = std::process::id();
        Self { format: FORMAT.to_owned(), version: VERSION, owner, process, profiles: BTreeMap::new() }
    }

    /// Reads a journal.
    ///
    /// # Errors
    /// Something else than a journal of this version.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let journal: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("no journal that says which switch it is of: {error}"))?;
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

/// Where a journal is kept. One tuner has it.
pub trait Keeper: Debug + Send {
    /// The journal, if there is one.
    ///
    /// # Errors
    /// The journal cannot be read.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>>;

    /// Keeps a journal instead of the one before; after this it survives.
    ///
    /// # Errors
    /// The journal cannot be written: the old content may still be there, or the new one.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Removes it; it is no error if there is none.
    ///
    /// # Errors
    /// The journal cannot be removed.
    fn remove(&mut self) -> io::Result<()>;

    /// Name of the journal in messages.
    fn name(&self) -> String;
}

/// A file that is a journal, locked for as long as this lives.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    _claim: Claim,
}

impl JournalFile {
    /// Name of the journal of a switch where none is given: another for every switch. An earlier
    /// version had one name for all; such a file may hold what was configured here, and is taken,
    /// and refused, first.
    #[must_use]
    pub fn default_path(store: &Store) -> PathBuf {
        if fs::read(EARLIER).is_ok_and(|bytes| Journal::parse(&bytes).is_err()) {
            return PathBuf::from(EARLIER);
        }
        PathBuf::from(format!("bufferlab-tune-{}.json", store.file_name()))
    }

    /// Takes a file, which need not be there yet.
    ///
    /// # Errors
    /// Another process has it, or nothing can be written beside it.
    pub fn claim(path: &Path) -> Result<Self, OperatorError> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let lock = PathBuf::from(lock);
        let claim = Claim::of(&lock, path).map_err(|error| match error {
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
            return Err(io::Error::other("it is no file"));
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
            // A switch may lose power with a changed alpha.
            file.sync_all()?;
            fs::rename(&partial, &self.path)
        });
        if let Err(error) = written {
            // What is half written is of no use; the error says the rest.
            let _ = fs::remove_file(&partial);
            return Err(error);
        }
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Not every file system can do this; the file itself is safe.
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
