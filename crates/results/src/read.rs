//! Reads a result folder back: the manifest at once, tables when they are asked for.

use crate::cells::CellReader;
use crate::error::ResultsError;
use crate::explanations::ExplanationRecord;
use crate::manifest::{FORMAT, FORMAT_VERSION, Manifest, Timing};
use crate::table::Record;
use crate::{EXPLANATIONS_FILE, MANIFEST_FILE, SCENARIO_FILE, TIMING_FILE};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 8_192;

/// A finished run on disk.
///
/// ```no_run
/// # use bufferlab_results::{ResultsError, RunResult};
/// # use bufferlab_metrics::FlowRow;
/// let run = RunResult::open("results/dt".as_ref())?;
/// let mut slowest = 0.0_f64;
/// run.visit(|flow: FlowRow| slowest = slowest.max(flow.slowdown.unwrap_or(0.0)))?;
/// # Ok::<(), ResultsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RunResult {
    dir: PathBuf,
    manifest: Manifest,
}

impl RunResult {
    /// Opens the folder of a finished run. Reads the manifest only.
    ///
    /// # Errors
    /// If there is no manifest, or none that this version reads.
    pub fn open(dir: &Path) -> Result<Self, ResultsError> {
        let path = dir.join(MANIFEST_FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ResultsError::Incomplete { path: dir.to_path_buf() });
            }
            Err(error) => return Err(ResultsError::io("read", &path)(error)),
        };
        #[derive(serde::Deserialize)]
        struct Head {
            format: String,
            format_version: u32,
        }
        let json = |source| ResultsError::Json { path: path.clone(), source };
        let head: Head = serde_json::from_slice(&bytes).map_err(json)?;
        if head.format != FORMAT {
            return Err(ResultsError::Incomplete { path: dir.to_path_buf() });
        }
        if head.format_version != FORMAT_VERSION {
            return Err(ResultsError::FormatVersion { path, found: head.format_version });
        }
        let manifest = serde_json::from_slice(&bytes).map_err(json)?;
        Ok(Self { dir: dir.to_path_buf(), manifest })
    }

    /// Whether `dir` looks like a finished run (it has a manifest).
    #[must_use]
    pub fn is_complete(dir: &Path) -> bool {
        dir.join(MANIFEST_FILE).is_file()
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What was run.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The resolved scenario.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn scenario_toml(&self) -> Result<String, ResultsError> {
        let path = self.dir.join(SCENARIO_FILE);
        fs::read_to_string(&path).map_err(ResultsError::io("read", &path))
    }

    /// How long the run took; `None` if it was not recorded.
    ///
    /// # Errors
    /// If the file is there but cannot be read.
    pub fn timing(&self) -> Result<Option<Timing>, ResultsError> {
        self.json(TIMING_FILE)
    }

    /// Explained events in the order of time; none if the scenario asked for none or none happened.
    ///
    /// # Errors
    /// If the file is there but cannot be read.
    pub fn explanations(&self) -> Result<Vec<ExplanationRecord>, ResultsError> {
        Ok(self.json(EXPLANATIONS_FILE)?.unwrap_or_default())
    }

    /// A file that need not be there.
    fn json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ResultsError> {
        let path = self.dir.join(name);
        match fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|source| ResultsError::Json { path, source })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ResultsError::io("read", &path)(error)),
        }
    }

    /// Calls `each` with every row of a table in order, in bounded memory. The row type names the table.
    ///
    /// # Errors
    /// If the table is missing or damaged.
    pub fn visit<R: Record>(&self, mut each: impl FnMut(R)) -> Result<(), ResultsError> {
        let path = self.dir.join(R::TABLE.file());
        let file = File::open(&path).map_err(ResultsError::io("read", &path))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(|builder| builder.with_batch_size(BATCH_ROWS).build())
            .map_err(ResultsError::table(&path))?;
        for batch in reader {
            let batch = batch.map_err(ResultsError::table(&path))?;
            let mut cells = CellReader::new(R::TABLE, &self.manifest.names, &batch)
                .map_err(ResultsError::table(&path))?;
            for row in 0..batch.num_rows() {
                cells.seek(row);
                each(R::read(&mut cells).map_err(ResultsError::table(&path))?);
            }
        }
        Ok(())
    }

    /// A whole table. For tables whose size is known to be small; [`RunResult::visit`] otherwise.
    ///
    /// # Errors
    /// As [`RunResult::visit`].
    pub fn load<R: Record>(&self) -> Result<Vec<R>, ResultsError> {
        // The manifest's count is a hint: a damaged one must not make us reserve the moon.
        let rows = self.manifest.rows(R::TABLE).min(1 << 20);
        let mut all = Vec::with_capacity(rows as usize);
        self.visit(|row| all.push(row))?;
        Ok(all)
    }
}
