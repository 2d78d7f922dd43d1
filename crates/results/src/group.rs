//! Which runs a folder of several runs shall hold: so that one that is missing is noticed.

use crate::RunCaveat;
use crate::error::ResultsError;
use crate::sums::{check_sealed, write_sealed};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// Name of the file of [`Group`].
pub const GROUP_FILE: &str = "group.json";
/// Marks the file as ours.
const FORMAT: &str = "bufferlab-group";

/// `group.json`: the runs of a folder, written before the first of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// `bufferlab-group`.
    format: String,
    /// Folders of the runs, relative to the group's: `seed-1`, `dt/seed-1`. In the order in which
    /// they are shown.
    pub runs: Vec<String>,
    /// What to know of the group as a whole: how its seeds were chosen, for example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<RunCaveat>,
}

impl Group {
    /// A group of these runs.
    #[must_use]
    pub fn new(runs: Vec<String>) -> Self {
        Self { format: FORMAT.to_owned(), runs, caveats: Vec::new() }
    }

    /// What `folder` shall hold; `None` if nothing is said there.
    ///
    /// # Errors
    /// If the file is there but is not what [`Group::write`] wrote.
    pub fn read(folder: &Path) -> Result<Option<Self>, ResultsError> {
        let path = folder.join(GROUP_FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ResultsError::io("read", &path)(error)),
        };
        check_sealed(folder, GROUP_FILE)?;
        serde_json::from_slice(&bytes).map(Some).map_err(|source| ResultsError::Json { path, source })
    }

    /// Writes it into `folder`, which is made if need be.
    ///
    /// # Errors
    /// If that fails.
    pub fn write(&self, folder: &Path) -> Result<(), ResultsError> {
        let path = folder.join(GROUP_FILE);
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|source| ResultsError::Json { path: path.clone(), source })?;
        write_sealed(folder, &[(GROUP_FILE, text + "\n")], None)
    }
}
