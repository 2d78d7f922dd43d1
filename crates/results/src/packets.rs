//! Reads the packet table, which may be too long for memory, by row groups and with few columns.

use crate::cells::BatchReader;
use crate::error::{ResultsError, TableError};
use crate::manifest::NameTables;
use crate::patient::Patient;
use crate::read::RunResult;
use crate::schema::table_file;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use bufferlab_metrics::{PacketEvent, PacketRow, Record, Table};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::file::statistics::Statistics;
use std::fs::File;
use std::path::PathBuf;

/// Number of packet rows that the reader decodes at a time.
const BATCH_ROWS: usize = 8_192;
/// Columns of the packet table that a [`PacketBrief`] needs.
const BRIEF: [&str; 11] = [
    "time_ps",
    "switch",
    "event",
    "ingress_port",
    "port",
    "priority",
    "class",
    "size_bytes",
    "queue_bytes",
    "occupancy_bytes",
    "threshold_bytes",
];

/// The fields of a packet row that describe the buffer's state:
/// a [`PacketRow`] without flow names, reasons and most limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketBrief {
    /// Number of the row in the packet table.
    pub row: u64,
    /// Time of the packet's event (ps).
    pub time_ps: u64,
    /// Kind of the packet's event, such as an arrival or a drop.
    pub event: PacketEvent,
    /// Ingress port of the packet; for a pause, the port that sends the pause frame.
    pub ingress_port: u16,
    /// Egress port of the packet; `None` for a pause that no packet caused.
    pub port: Option<u16>,
    /// Queue of the packet at its egress port; for a pause, the paused priority.
    pub priority: u8,
    /// Class of the packet's flow, an index into the run's names.
    pub class: Option<u16>,
    /// Bytes that the buffer charges for the packet.
    pub size_bytes: u32,
    /// Length of the packet's queue after the event (bytes).
    pub queue_bytes: u64,
    /// Occupancy of the whole buffer after the event (bytes).
    pub occupancy_bytes: u64,
    /// Limit that the policy computes for this packet (bytes).
    pub threshold_bytes: Option<u64>,
}

impl From<(u64, &PacketRow)> for PacketBrief {
    fn from((row, packet): (u64, &PacketRow)) -> Self {
        Self {
            row,
            time_ps: packet.time_ps,
            event: packet.event,
            ingress_port: packet.ingress_port,
            port: packet.port,
            priority: packet.priority,
            class: packet.class,
            size_bytes: packet.size_bytes,
            queue_bytes: packet.queue_bytes,
            occupancy_bytes: packet.occupancy_bytes,
            threshold_bytes: packet.threshold_bytes,
        }
    }
}

/// A row group: rows of the packet table that the file stores together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketGroup {
    /// Number of the row group's first row in the packet table.
    pub first_row: u64,
    /// Number of rows in the row group.
    pub rows: u64,
    /// Time of the row group's first row (ps).
    pub from_ps: u64,
    /// Time of the row group's last row (ps).
    pub until_ps: u64,
}

/// An open packet table, whose row groups are known. Rows are read later.
#[derive(Clone, Debug)]
pub struct PacketTable {
    path: PathBuf,
    names: NameTables,
    metadata: ArrowReaderMetadata,
    groups: Vec<PacketGroup>,
}

impl RunResult {
    /// Opens the packet table; `None` if the run did not record packets.
    /// Reads the whole file once to compute its checksum.
    ///
    /// # Errors
    /// If the file cannot be read, has changed since the run wrote it, or is not a packet table.
    pub fn packets(&self) -> Result<Option<PacketTable>, ResultsError> {
        let file = table_file(Table::Packets);
        if !self.manifest().tables.iter().any(|table| table.file == file) {
            return Ok(None);
        }
        self.check(&file)?;
        PacketTable::open(self.dir().join(file), self.manifest().names.clone()).map(Some)
    }
}

impl PacketTable {
    fn open(path: PathBuf, names: NameTables) -> Result<Self, ResultsError> {
        let file = File::open(&path).map_err(ResultsError::io("read", &path))?;
        let open = || -> Result<_, TableError> {
            let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
            let groups = groups(&metadata)?;
            Ok((metadata, groups))
        };
        let (metadata, groups) = open().map_err(ResultsError::table(&path))?;
        Ok(Self { path, names, metadata, groups })
    }

    /// Row groups of the packet table in order of time.
    #[must_use]
    pub fn groups(&self) -> &[PacketGroup] {
        &self.groups
    }

    /// Number of rows of the packet table, over all switches.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.groups.iter().map(|group| group.rows).sum()
    }

    /// Calls `each` with the short form of every row of a row group that concerns `switch`, in
    /// order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn visit_brief(
        &self,
        group: usize,
        switch: u32,
        mut each: impl FnMut(PacketBrief),
    ) -> Result<(), ResultsError> {
        let mask = ProjectionMask::columns(self.metadata.parquet_schema(), BRIEF);
        let wanted = self.names.switches.get(switch as usize).map_or("", String::as_str);
        let mut first = self.groups[group].first_row;
        self.visit(group, mask, |batch| {
            brief(batch, first, (wanted, &self.names.classes), &mut each)?;
            first += batch.num_rows() as u64;
            Ok(())
        })
    }

    /// Calls `each` with every complete row of a row group that concerns `switch`, in order.
    /// `each` also gets the number of the row in the table.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn visit_rows(
        &self,
        group: usize,
        switch: u32,
        mut each: impl FnMut(u64, PacketRow),
    ) -> Result<(), ResultsError> {
        let mut number = self.groups[group].first_row;
        self.visit(group, ProjectionMask::all(), |batch| {
            let mut cells = BatchReader::new(PacketRow::COLUMNS, &self.names, batch)?;
            for row in 0..batch.num_rows() {
                let packet: PacketRow = cells.row(row)?;
                if packet.switch == switch {
                    each(number, packet);
                }
                number += 1;
            }
            Ok(())
        })
    }

    fn visit(
        &self,
        group: usize,
        mask: ProjectionMask,
        mut each: impl FnMut(&RecordBatch) -> Result<(), TableError>,
    ) -> Result<(), ResultsError> {
        let file = File::open(&self.path).map_err(ResultsError::io("read", &self.path))?;
        let visit = || -> Result<(), TableError> {
            let builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(Patient(file), self.metadata.clone());
            let builder = builder.with_row_groups(vec![group]).with_projection(mask);
            for batch in builder.with_batch_size(BATCH_ROWS).build()? {
                each(&batch?)?;
            }
            Ok(())
        };
        visit().map_err(ResultsError::table(&self.path))
    }
}

/// Lists the row groups of a packet table, with times from the file's statistics.
fn groups(metadata: &ArrowReaderMetadata) -> Result<Vec<PacketGroup>, TableError> {
    let column = metadata.parquet_schema().columns().iter().position(|column| column.name() == "time_ps");
    let column = column.ok_or(TableError::MissingColumn { column: "time_ps" })?;
    let mut first_row = 0;
    let mut groups = Vec::new();
    for group in metadata.metadata().row_groups() {
        let rows = group.num_rows() as u64;
        let (from, until) = match group.column(column).statistics() {
            Some(Statistics::Int64(times)) => (times.min_opt().copied(), times.max_opt().copied()),
            _ => (None, None),
        };
        // A row group without statistics may contain events of any time.
        let from_ps = from.map_or(0, |time| time as u64);
        let until_ps = until.map_or(u64::MAX, |time| time as u64);
        groups.push(PacketGroup { first_row, rows, from_ps, until_ps });
        first_row += rows;
    }
    Ok(groups)
}

/// Reads the rows of a batch that concern the switch `wanted`.
fn brief(
    batch: &RecordBatch,
    first_row: u64,
    (wanted, classes): (&str, &[String]),
    each: &mut impl FnMut(PacketBrief),
) -> Result<(), TableError> {
    // Check the schema of the batch here, so that the casts cannot fail.
    let _ = BatchReader::new(brief_columns(), &NameTables::default(), batch)?;
    let column =
        |name: &str| batch.column_by_name(name).ok_or(TableError::MissingColumn { column: "a column" });
    let numbers = |name| column(name).map(|array| array.as_primitive::<UInt64Type>());
    let words = |name| column(name).map(|array| array.as_dictionary::<Int32Type>());
    let (times, queue, occupancy) =
        (numbers("time_ps")?, numbers("queue_bytes")?, numbers("occupancy_bytes")?);
    let threshold = numbers("threshold_bytes")?;
    let size = column("size_bytes")?.as_primitive::<UInt32Type>();
    let ingress = column("ingress_port")?.as_primitive::<UInt16Type>();
    let port = column("port")?.as_primitive::<UInt16Type>();
    let priority = column("priority")?.as_primitive::<UInt8Type>();
    let (switch, event, class) = (words("switch")?, words("event")?, words("class")?);
    let is_wanted: Vec<bool> = texts(switch).map(|name| name == wanted).collect();
    let events: Vec<Option<PacketEvent>> = texts(event).map(PacketEvent::find).collect();
    let class_of: Vec<Option<u16>> =
        texts(class).map(|name| classes.iter().position(|known| known == name).map(|at| at as u16)).collect();
    for row in 0..batch.num_rows() {
        if !is_wanted[switch.keys().value(row) as usize] {
            continue;
        }
        let Some(event) = events[event.keys().value(row) as usize] else {
            return Err(TableError::Cell {
                column: "event",
                row,
                fault: bufferlab_metrics::CellFault::UnknownWord("unknown"),
            });
        };
        each(PacketBrief {
            row: first_row + row as u64,
            time_ps: times.value(row),
            event,
            ingress_port: ingress.value(row),
            port: port.is_valid(row).then(|| port.value(row)),
            priority: priority.value(row),
            class: if class.is_valid(row) { class_of[class.keys().value(row) as usize] } else { None },
            size_bytes: size.value(row),
            queue_bytes: queue.value(row),
            occupancy_bytes: occupancy.value(row),
            threshold_bytes: threshold.is_valid(row).then(|| threshold.value(row)),
        });
    }
    Ok(())
}

/// Returns the dictionary of a text column.
fn texts(array: &arrow_array::DictionaryArray<Int32Type>) -> impl Iterator<Item = &str> {
    array.values().as_string::<i32>().iter().map(Option::unwrap_or_default)
}

/// Returns the definitions of the columns in [`BRIEF`].
fn brief_columns() -> &'static [bufferlab_metrics::Column] {
    static COLUMNS: std::sync::OnceLock<Vec<bufferlab_metrics::Column>> = std::sync::OnceLock::new();
    COLUMNS.get_or_init(|| {
        PacketRow::COLUMNS.iter().filter(|column| BRIEF.contains(&column.name)).copied().collect()
    })
}
