//! Writes the tables of a run row by row, in bounded memory.

use crate::cells::{BatchWriter, NameArrays};
use crate::digest::{FileInfo, Hashed};
use crate::error::{ResultsError, TableError};
use crate::explanations::ExplanationRecord;
use crate::folder::Staging;
use crate::manifest::{Manifest, NameTables, RunCaveat, RunHeader, Timing};
use crate::read::RunResult;
use crate::schema::{schema, table_file};
use crate::sums::{SUMS_FILE, Sums, with_digest};
use crate::{EXPLANATIONS_FILE, MANIFEST_FILE, SCENARIO_FILE, TIMING_FILE};
use bufferlab_metrics::{
    CollectiveRow, Column, DelayRow, DropRow, Explanation, FlowRow, HistogramRow, LinkRow, PacketRow,
    PathRow, PauseCycleRow, PauseRow, PauseSpanRow, ProbeRow, ProgressRow, QueryRow, QueueRow, RankRow,
    Record, RunSink, RunTotals, ScheduleRow, SeriesRow, Table, TableRow, WatchdogRow,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Number of rows of a table that the writer collects before encoding: one or two megabytes for the
/// widest table.
const BATCH_ROWS: usize = 8_192;
/// Number of rows per row group of a table. An encoded row group takes some megabytes of memory
/// until the writer stores the row group in the file.
const ROW_GROUP_ROWS: usize = 262_144;
/// Number of rows per row group of the packet table. If row groups are small, a reader of a short
/// period reads few rows outside the period.
const PACKET_GROUP_ROWS: usize = 65_536;

/// Writes one run's folder; see the crate's documentation for its content.
///
/// Dropping the writer without [`RunWriter::finish`] leaves no files.
pub struct RunWriter {
    head: RunHeader,
    /// Complete files of the run, each with its checksum.
    files: Vec<FileInfo>,
    /// Writers in the order of [`Table::ALL`]. `None` means an optional table without rows.
    tables: Vec<Option<TableWriter>>,
    names: NameArrays,
    explanations: Vec<ExplanationRecord>,
    /// Hidden folder of the run. Fields are dropped in order, so the files are closed before the
    /// hidden folder is removed.
    staging: Staging,
}

impl RunWriter {
    /// Starts the result folder `dir`. The folder may be missing or empty, or may contain the
    /// result of a run. The complete new run replaces the earlier result. Writes the resolved
    /// scenario and its inputs first.
    ///
    /// # Errors
    /// If `dir` contains other files, another process is writing to `dir`, two names are equal, or
    /// writing fails.
    pub fn create(dir: &Path, head: RunHeader) -> Result<Self, ResultsError> {
        if let Some((kind, name)) = head.names.duplicate() {
            return Err(ResultsError::DuplicateName { kind, name: name.to_owned() });
        }
        let staging = Staging::create(dir)?;
        let mut files = vec![write_file(&staging, SCENARIO_FILE, head.scenario_toml.as_bytes())?];
        for (name, content) in &head.inputs {
            files.push(write_file(&staging, name, content)?);
        }
        let names = NameArrays::new(&head.names);
        let tables: Result<_, _> = Table::ALL
            .into_iter()
            .map(|table| (!table.is_optional()).then(|| create_table(table, &names, &staging)).transpose())
            .collect();
        Ok(Self { head, files, tables: tables?, names, explanations: Vec::new(), staging })
    }

    /// Closes the tables, writes the manifest, moves the folder to its path and returns the path.
    ///
    /// # Errors
    /// If writing fails, or other files have appeared in the target during the run.
    ///
    /// # Panics
    /// If `totals` has other classes, switches or hosts than the header of the run, since rows
    /// would be labelled wrongly.
    pub fn finish(
        self,
        totals: &RunTotals,
        caveats: Vec<RunCaveat>,
        timing: Option<&Timing>,
    ) -> Result<PathBuf, ResultsError> {
        let Self { head, mut files, tables, explanations, staging, .. } = self;
        let names = NameTables {
            classes: totals.classes.clone(),
            switches: totals.switches.clone(),
            hosts: totals.hosts.clone(),
            // The totals lack descriptions of schedules, so the descriptions are from the header.
            schedules: head.names.schedules.clone(),
        };
        assert_eq!(head.names, names, "the totals have the names that the writer was created with");
        let mut rows = Vec::with_capacity(tables.len());
        for (table, writer) in Table::ALL.into_iter().zip(tables) {
            let Some(writer) = writer else { continue };
            let (count, file) = writer.close()?;
            rows.push((table, count));
            files.push(file);
        }
        if !explanations.is_empty() {
            let text = json(&staging, EXPLANATIONS_FILE, &explanations)?;
            files.push(write_file(&staging, EXPLANATIONS_FILE, text.as_bytes())?);
        }
        if let Some(timing) = timing {
            let text = with_digest(&json(&staging, TIMING_FILE, timing)?);
            write_file(&staging, TIMING_FILE, text.as_bytes())?;
        }
        let manifest = Manifest::new(head, totals, caveats, &rows, files);
        let text = json(&staging, MANIFEST_FILE, &manifest)?;
        let own = FileInfo::from_content(MANIFEST_FILE, text.as_bytes());
        let sums = Sums::of_files(manifest.files.iter().chain([&own]));
        write_file(&staging, SUMS_FILE, sums.text().as_bytes())?;
        // Write the manifest last: a folder with a manifest is complete.
        write_file(&staging, MANIFEST_FILE, text.as_bytes())?;
        staging.publish()
    }

    /// Appends a row to the table of the row's type.
    ///
    /// # Errors
    /// If the row refers to a class, switch or host without a name, or if writing fails.
    pub fn push<R: TableRow>(&mut self, row: &R) -> io::Result<()> {
        match &mut self.tables[R::TABLE as usize] {
            Some(table) => table.push(row),
            absent => {
                let table = create_table(R::TABLE, &self.names, &self.staging).map_err(io::Error::other)?;
                absent.insert(table).push(row)
            }
        }
    }
}

fn create_table(table: Table, names: &NameArrays, staging: &Staging) -> Result<TableWriter, ResultsError> {
    TableWriter::create(table.name(), table.columns(), names, staging.file(&table_file(table)))
}

/// Stores the files of a run from another machine in the folder `dir`. Like [`RunWriter::finish`],
/// the function stores all files or none, and replaces only an earlier run.
///
/// # Errors
/// If the files do not belong to a finished run, `dir` contains other files, another process is
/// writing to `dir`, or writing fails.
pub fn store_run<B: AsRef<[u8]>>(dir: &Path, files: &[(String, B)]) -> Result<PathBuf, ResultsError> {
    let staging = Staging::create(dir)?;
    for (name, content) in files {
        // Reject names with a path, so that no file is written outside the folder.
        if Path::new(name).file_name() != Some(std::ffi::OsStr::new(name)) {
            return Err(ResultsError::ForeignFolder { path: dir.to_path_buf(), found: name.clone() });
        }
        write_file(&staging, name, content.as_ref())?;
    }
    let run = RunResult::open(&staging.file(""))?;
    match run.damage()?.into_iter().next() {
        None => staging.publish(),
        Some(fault) => Err(ResultsError::Damaged { path: dir.to_path_buf(), fault }),
    }
}

impl RunSink for RunWriter {
    fn flow(&mut self, row: &FlowRow) -> io::Result<()> {
        self.push(row)
    }
    fn query(&mut self, row: &QueryRow) -> io::Result<()> {
        self.push(row)
    }
    fn series(&mut self, row: &SeriesRow) -> io::Result<()> {
        self.push(row)
    }
    fn histogram(&mut self, row: &HistogramRow) -> io::Result<()> {
        self.push(row)
    }
    fn queue(&mut self, row: &QueueRow) -> io::Result<()> {
        self.push(row)
    }
    fn drops(&mut self, row: &DropRow) -> io::Result<()> {
        self.push(row)
    }
    fn link(&mut self, row: &LinkRow) -> io::Result<()> {
        self.push(row)
    }
    fn probe(&mut self, row: &ProbeRow) -> io::Result<()> {
        self.push(row)
    }
    fn progress(&mut self, row: &ProgressRow) -> io::Result<()> {
        self.push(row)
    }
    fn pause(&mut self, row: &PauseRow) -> io::Result<()> {
        self.push(row)
    }
    fn pause_span(&mut self, row: &PauseSpanRow) -> io::Result<()> {
        self.push(row)
    }
    fn pause_cycle(&mut self, row: &PauseCycleRow) -> io::Result<()> {
        self.push(row)
    }
    fn watchdog(&mut self, row: &WatchdogRow) -> io::Result<()> {
        self.push(row)
    }
    fn schedule(&mut self, row: &ScheduleRow) -> io::Result<()> {
        self.push(row)
    }
    fn collective(&mut self, row: &CollectiveRow) -> io::Result<()> {
        self.push(row)
    }
    fn rank(&mut self, row: &RankRow) -> io::Result<()> {
        self.push(row)
    }
    fn path(&mut self, row: &PathRow) -> io::Result<()> {
        self.push(row)
    }
    fn delay(&mut self, row: &DelayRow) -> io::Result<()> {
        self.push(row)
    }
    fn packet(&mut self, row: &PacketRow) -> io::Result<()> {
        self.push(row)
    }
    fn explanation(&mut self, explanation: &Explanation) -> io::Result<()> {
        let NameTables { switches, classes, .. } = &self.head.names;
        self.explanations.push(ExplanationRecord::new(explanation, switches, classes));
        Ok(())
    }
}

/// Writer of the Parquet file of one table.
pub(crate) struct TableWriter {
    path: PathBuf,
    batch: BatchWriter,
    file: ArrowWriter<Hashed<File>>,
    rows: u64,
}

impl TableWriter {
    pub(crate) fn create(
        table: &'static str,
        columns: &'static [Column],
        names: &NameArrays,
        path: PathBuf,
    ) -> Result<Self, ResultsError> {
        let file = File::create(&path).map_err(ResultsError::io("create", &path))?;
        let group_rows = if table == PacketRow::NAME { PACKET_GROUP_ROWS } else { ROW_GROUP_ROWS };
        // With these settings of the writer, files with equal rows have equal bytes.
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(group_rows))
            .set_created_by(format!("bufferlab-results {}", env!("CARGO_PKG_VERSION")))
            .build();
        let file = ArrowWriter::try_new(Hashed::new(file), schema(columns), Some(properties))
            .map_err(ResultsError::table(&path))?;
        Ok(Self { path, batch: BatchWriter::new(table, columns, names), file, rows: 0 })
    }

    pub(crate) fn push<R: Record>(&mut self, row: &R) -> io::Result<()> {
        self.batch.push(row)?;
        self.rows += 1;
        if self.batch.rows() == BATCH_ROWS { self.encode().map_err(io::Error::other) } else { Ok(()) }
    }

    fn encode(&mut self) -> Result<(), ResultsError> {
        let batch = self.batch.take().map_err(TableError::from);
        let written = batch.and_then(|batch| Ok(self.file.write(&batch)?));
        written.map_err(ResultsError::table(&self.path))
    }

    /// Completes the file; returns its number of rows and its description.
    pub(crate) fn close(mut self) -> Result<(u64, FileInfo), ResultsError> {
        self.encode()?;
        let written = self.file.into_inner().map_err(ResultsError::table(&self.path))?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        Ok((self.rows, written.finish(&name)))
    }
}

/// Writes a JSON file and returns its text, which ends with a newline.
fn json<T: serde::Serialize>(staging: &Staging, name: &str, value: &T) -> Result<String, ResultsError> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|source| ResultsError::Json { path: staging.file(name), source })?;
    Ok(text + "\n")
}

fn write_file(staging: &Staging, name: &str, content: &[u8]) -> Result<FileInfo, ResultsError> {
    let path = staging.file(name);
    let write = || {
        let mut file = Hashed::new(File::create(&path)?);
        file.write_all(content)?;
        Ok(file.finish(name))
    };
    write().map_err(ResultsError::io("write", &path))
}
