//! Reads a result folder: the manifest when the folder is opened, each table when it is used.

use crate::cells::BatchReader;
use crate::digest::{self, FileFault, sha256};
use crate::error::{ResultsError, TableError};
use crate::explanations::ExplanationRecord;
use crate::manifest::{FORMAT, FORMAT_VERSION, Manifest, NameTables, Timing};
use crate::patient::Patient;
use crate::schema::table_file;
use crate::sums::{self, SUMS_FILE, Sums, has_its_digest};
use crate::{EXPLANATIONS_FILE, MANIFEST_FILE, SCENARIO_FILE, TIMING_FILE};
use bufferlab_metrics::{Record, TableRow};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Number of rows of a table that are decoded at a time.
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
    /// Checksums of the folder. Folders of old versions have at most the report's checksum.
    sums: Sums,
}

impl RunResult {
    /// Opens the folder of a finished run. Reads only the manifest.
    ///
    /// # Errors
    /// If the folder has no manifest, or this version cannot read the manifest.
    pub fn open(dir: &Path) -> Result<Self, ResultsError> {
        let path = dir.join(MANIFEST_FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ResultsError::Incomplete { path: dir.to_path_buf() });
            }
            Err(error) => return Err(ResultsError::io("read", &path)(error)),
        };
        // Check before parsing: after a changed bit, the manifest may look like a file of another
        // program.
        let sums = Sums::read(dir)?.unwrap_or_default();
        if sums.is_of_a_run() && sums.get(MANIFEST_FILE) != Some(&sha256(&bytes)) {
            let fault = FileFault::Content { name: MANIFEST_FILE.to_owned() };
            return Err(ResultsError::Damaged { path: dir.to_path_buf(), fault });
        }
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
        Ok(Self { dir: dir.to_path_buf(), manifest, sums })
    }

    /// Whether `dir` looks like a finished run, that is, has a manifest.
    #[must_use]
    pub fn is_complete(dir: &Path) -> bool {
        dir.join(MANIFEST_FILE).is_file()
    }

    /// Path of the folder with the run's results.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Manifest of the finished run.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the files that have changed since the run wrote them, in the order of the manifest.
    /// The changed files include `report.html`. In a folder without checksums, only missing files
    /// are detected.
    ///
    /// # Errors
    /// If a file exists but cannot be read.
    pub fn damage(&self) -> Result<Vec<FileFault>, ResultsError> {
        let Manifest { files, tables, inputs, .. } = &self.manifest;
        if files.is_empty() {
            let names = tables.iter().map(|table| &table.file).chain(inputs);
            let missing = names.filter(|name| !self.dir.join(name).is_file());
            return Ok(missing.map(|name| FileFault::Missing { name: name.clone() }).collect());
        }
        let failed = || ResultsError::io("read", &self.dir);
        let mut faults = Vec::new();
        for file in files {
            faults.extend(digest::check(&self.dir, file).map_err(failed())?);
        }
        for (name, sum) in self.sums.iter().filter(|(name, _)| *name != MANIFEST_FILE) {
            match files.iter().find(|file| file.name == name) {
                // The manifest and the checksum file agree, and the first loop has compared the
                // file with the manifest's checksum.
                Some(file) if file.sha256 == sum => {}
                Some(_) => faults.push(FileFault::Content { name: SUMS_FILE.to_owned() }),
                None => faults.extend(sums::check(&self.dir, name, sum).map_err(failed())?),
            }
        }
        if self.timing_is_damaged()? {
            faults.push(FileFault::Content { name: TIMING_FILE.to_owned() });
        }
        Ok(faults)
    }

    /// Whether `timing.json` exists and disagrees with its digest.
    fn timing_is_damaged(&self) -> Result<bool, ResultsError> {
        let path = self.dir.join(TIMING_FILE);
        match fs::read(&path) {
            Ok(bytes) => Ok(self.sums.is_of_a_run() && !has_its_digest(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(ResultsError::io("read", &path)(error)),
        }
    }

    /// Whether the manifest itself has a checksum. Earlier versions wrote no checksums.
    pub(crate) fn has_sums(&self) -> bool {
        self.sums.is_of_a_run()
    }

    /// Checks that the scenario and its input files are unchanged, before the scenario runs again.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn check_scenario(&self) -> Result<(), ResultsError> {
        std::iter::once(SCENARIO_FILE)
            .chain(self.manifest.inputs.iter().map(String::as_str))
            .try_for_each(|name| self.check(name))
    }

    /// Checks that a file of the run is unchanged.
    pub(crate) fn check(&self, name: &str) -> Result<(), ResultsError> {
        let Some(written) = self.manifest.files.iter().find(|file| file.name == name) else { return Ok(()) };
        match digest::check(&self.dir, written).map_err(ResultsError::io("read", &self.dir.join(name)))? {
            None => Ok(()),
            Some(fault) => Err(ResultsError::Damaged { path: self.dir.clone(), fault }),
        }
    }

    /// Reads the resolved scenario.
    ///
    /// # Errors
    /// If the scenario file cannot be read, or has changed since the run wrote it.
    pub fn scenario_toml(&self) -> Result<String, ResultsError> {
        self.check(SCENARIO_FILE)?;
        let path = self.dir.join(SCENARIO_FILE);
        fs::read_to_string(&path).map_err(ResultsError::io("read", &path))
    }

    /// Reads the duration of the run; `None` if the run did not record its duration.
    ///
    /// # Errors
    /// If `timing.json` exists but cannot be read, or has changed since the run wrote it.
    pub fn timing(&self) -> Result<Option<Timing>, ResultsError> {
        if self.timing_is_damaged()? {
            let fault = FileFault::Content { name: TIMING_FILE.to_owned() };
            return Err(ResultsError::Damaged { path: self.dir.clone(), fault });
        }
        self.json(TIMING_FILE)
    }

    /// Reads the explained events in order of time.
    /// Empty if the scenario requested no explanations, or if no requested event occurred.
    ///
    /// # Errors
    /// If `explanations.json` exists but cannot be read.
    pub fn explanations(&self) -> Result<Vec<ExplanationRecord>, ResultsError> {
        self.check(EXPLANATIONS_FILE)?;
        Ok(self.json(EXPLANATIONS_FILE)?.unwrap_or_default())
    }

    /// Reads an optional JSON file of the run; `None` if the file is missing.
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

    /// Calls `each` with every row of a table in order, in bounded memory.
    /// The type of `each` selects the table.
    ///
    /// # Errors
    /// If the table is missing, or has changed since the run wrote it.
    pub fn visit<R: TableRow>(&self, each: impl FnMut(R)) -> Result<(), ResultsError> {
        let name = table_file(R::TABLE);
        self.check(&name)?;
        visit_file(&self.dir.join(name), &self.manifest.names, each)
    }

    /// Reads a whole table into memory.
    /// Use the method only for tables that are known to be small; otherwise use
    /// [`RunResult::visit`].
    ///
    /// # Errors
    /// Returns the errors of [`RunResult::visit`].
    pub fn load<R: TableRow>(&self) -> Result<Vec<R>, ResultsError> {
        // A damaged manifest may have a wrong number of rows, so limit the allocation.
        let rows = self.manifest.rows(R::TABLE).min(1 << 20);
        let mut all = Vec::with_capacity(rows as usize);
        self.visit(|row| all.push(row))?;
        Ok(all)
    }
}

/// Calls `each` with every record of the Parquet file `path` in order.
pub(crate) fn visit_file<R: Record>(
    path: &Path,
    names: &NameTables,
    mut each: impl FnMut(R),
) -> Result<(), ResultsError> {
    let file = File::open(path).map_err(ResultsError::io("read", path))?;
    let visit = || -> Result<(), TableError> {
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(Patient(file))?.with_batch_size(BATCH_ROWS).build()?;
        for batch in reader {
            let batch = batch?;
            let mut cells = BatchReader::new(R::COLUMNS, names, &batch)?;
            for row in 0..batch.num_rows() {
                each(cells.row(row)?);
            }
        }
        Ok(())
    };
    visit().map_err(ResultsError::table(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::NameArrays;
    use crate::writer::TableWriter;
    use bufferlab_metrics::{CellFault, ClassName, Scope, record};

    record! {
        /// A reset of a switch.
        ResetRow => "resets" {
            /// Start of the reset.
            time_ns: u64,
            /// Class of flows that requested the reset.
            class: u16 as ClassName,
            /// Part of the switch that was reset.
            scope: Scope,
            /// Duration of the reset; empty if the reset did not end.
            outage_ns: Option<u64>,
            /// Fraction of packets lost.
            loss: f64,
            /// Reason for the reset.
            reason: &'static str,
            /// Neighbouring switches that noticed the reset.
            path: Vec<String>,
        }
    }

    record! {
        /// A row like [`ResetRow`], but with a required column.
        OtherRow => "resets" {
            /// Duration of the reset, which is required.
            outage_ns: u64,
        }
    }

    record! {
        /// A row like [`ResetRow`], but with a column of another type.
        TypeRow => "resets" {
            /// Start of the reset as text instead of a number.
            time_ns: String,
        }
    }

    record! {
        /// A row like [`ResetRow`], but with an enumeration in place of free text.
        WordRow => "resets" {
            /// Reason for the reset, which must be a word of the enumeration.
            reason: Scope,
        }
    }

    record! {
        /// A row like [`ResetRow`], but with a column that the file lacks.
        MoreRow => "resets" {
            /// Column that the test files do not have.
            more: u64,
        }
    }

    fn names() -> NameTables {
        NameTables { classes: vec!["web".to_owned(), "incast".to_owned()], ..NameTables::default() }
    }

    fn resets() -> [ResetRow; 2] {
        let path = vec!["leaf-0".to_owned(), "spine-1".to_owned()];
        let first = ResetRow {
            time_ns: 5,
            class: 1,
            scope: Scope::Port,
            outage_ns: Some(7),
            loss: 0.25,
            reason: "fan",
            path,
        };
        [first.clone(), ResetRow { class: 0, scope: Scope::Switch, outage_ns: None, ..first }]
    }

    /// Writes two resets to a table file in `folder`.
    fn file(folder: &Path) -> PathBuf {
        let path = folder.join("resets.parquet");
        let names = NameArrays::new(&names());
        let mut writer =
            TableWriter::create(ResetRow::NAME, ResetRow::COLUMNS, &names, path.clone()).expect("writable");
        resets().iter().for_each(|row| writer.push(row).expect("writable"));
        assert_eq!(writer.close().expect("writable").0, 2);
        path
    }

    fn all<R: Record>(path: &Path, names: &NameTables) -> Result<Vec<R>, TableError> {
        let mut all = Vec::new();
        match visit_file(path, names, |row| all.push(row)) {
            Ok(()) => Ok(all),
            Err(ResultsError::Table { source, .. }) => Err(source),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_record_is_written_and_read_by_its_declaration() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(all::<ResetRow>(&file(folder.path()), &names()).expect("readable"), resets());
    }

    #[test]
    fn a_table_that_does_not_fit_its_record_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = file(folder.path());
        let (known, unknown) = (names(), NameTables::default());
        let refused = |error: Option<TableError>| error.expect("refused").to_string();
        let empty = all::<OtherRow>(&path, &known).err();
        assert!(matches!(empty, Some(TableError::Cell { row: 1, fault: CellFault::Empty, .. })), "{empty:?}");
        assert_eq!(refused(empty), "column `outage_ns`, row 1 of its batch: empty");
        assert_eq!(refused(all::<TypeRow>(&path, &known).err()), "column `time_ns` is UInt64, expected Utf8");
        assert_eq!(
            refused(all::<WordRow>(&path, &known).err()),
            "column `reason`, row 0 of its batch: unknown word `fan`"
        );
        assert_eq!(refused(all::<MoreRow>(&path, &known).err()), "column `more` is missing");
        assert_eq!(
            refused(all::<ResetRow>(&path, &unknown).err()),
            "the manifest does not know the name `incast`"
        );
    }
}
