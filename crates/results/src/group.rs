//! The list of planned runs of a folder, to detect missing runs.

use crate::RunCaveat;
use crate::error::ResultsError;
use crate::sums::{check_sealed, write_sealed};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// Name of the file that stores a [`Group`]: the planned runs of a folder.
pub const GROUP_FILE: &str = "group.json";
/// Format name that identifies `group.json` as a file of bufferlab.
const FORMAT: &str = "bufferlab-group";

/// Content of `group.json`: the planned runs of a folder, written before the first run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Name of the file's format, always `bufferlab-group`.
    format: String,
    /// Folders of the runs relative to the group's folder, in display order: `seed-1`, `dt/seed-1`.
    pub runs: Vec<String>,
    /// Caveats about the runs as a group, for example how their seeds were chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<RunCaveat>,
}

impl Group {
    /// Creates a group with the folders of its runs.
    #[must_use]
    pub fn new(runs: Vec<String>) -> Self {
        Self { format: FORMAT.to_owned(), runs, caveats: Vec::new() }
    }

    /// Reads the list of planned runs in `folder`; `None` if the folder has no list.
    ///
    /// # Errors
    /// If the file exists, but its content is not the output of [`Group::write`].
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

    /// Writes the list of planned runs to `folder`, which is created if needed.
    ///
    /// # Errors
    /// If `group.json` cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), ResultsError> {
        let path = folder.join(GROUP_FILE);
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|source| ResultsError::Json { path: path.clone(), source })?;
        write_sealed(folder, &[(GROUP_FILE, text + "\n")], None)
    }
}
