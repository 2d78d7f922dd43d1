//! Which tables and columns there are.

use crate::cells::{CellReader, CellWriter};
use arrow_schema::{DataType, Field, Schema};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// A table of a run; one Parquet file each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// One row per flow.
    Flows,
    /// One row per query.
    Queries,
    /// Sampled occupancies and thresholds.
    Series,
    /// Time-weighted occupancy histograms.
    Occupancy,
    /// Counters of every switch queue.
    Queues,
    /// Lost packets by queue, class and reason.
    Drops,
    /// Counters of every link direction.
    Links,
    /// Sampled internal values of the policy.
    Probes,
    /// Queueing delays by queue and class.
    Delays,
    /// Sampled progress of every live flow.
    Progress,
    /// Pauses by port and priority.
    Pauses,
    /// Every pause with its time.
    PauseSpans,
    /// Circles of pauses.
    PauseCycles,
    /// Storms that PFC watchdogs noticed.
    Watchdog,
}

impl Table {
    /// Every table, in the order of the manifest.
    pub const ALL: [Self; 14] = [
        Self::Flows,
        Self::Queries,
        Self::Series,
        Self::Occupancy,
        Self::Queues,
        Self::Drops,
        Self::Links,
        Self::Probes,
        Self::Delays,
        Self::Progress,
        Self::Pauses,
        Self::PauseSpans,
        Self::PauseCycles,
        Self::Watchdog,
    ];

    /// Name in the manifest and of the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::Queries => "queries",
            Self::Series => "series",
            Self::Occupancy => "occupancy",
            Self::Queues => "queues",
            Self::Drops => "drops",
            Self::Links => "links",
            Self::Probes => "probes",
            Self::Delays => "delays",
            Self::Progress => "progress",
            Self::Pauses => "pauses",
            Self::PauseSpans => "pause_spans",
            Self::PauseCycles => "pause_cycles",
            Self::Watchdog => "watchdog",
        }
    }

    /// File within the run's folder.
    #[must_use]
    pub fn file(self) -> String {
        format!("{}.parquet", self.name())
    }

    /// The columns in order.
    #[must_use]
    pub fn columns(self) -> &'static [Column] {
        use bufferlab_metrics::{
            DelayRow, DropRow, FlowRow, HistogramRow, LinkRow, PauseCycleRow, PauseRow, PauseSpanRow,
            ProbeRow, ProgressRow, QueryRow, QueueRow, SeriesRow, WatchdogRow,
        };
        match self {
            Self::Flows => FlowRow::COLUMNS,
            Self::Queries => QueryRow::COLUMNS,
            Self::Series => SeriesRow::COLUMNS,
            Self::Occupancy => HistogramRow::COLUMNS,
            Self::Queues => QueueRow::COLUMNS,
            Self::Drops => DropRow::COLUMNS,
            Self::Links => LinkRow::COLUMNS,
            Self::Probes => ProbeRow::COLUMNS,
            Self::Delays => DelayRow::COLUMNS,
            Self::Progress => ProgressRow::COLUMNS,
            Self::Pauses => PauseRow::COLUMNS,
            Self::PauseSpans => PauseSpanRow::COLUMNS,
            Self::PauseCycles => PauseCycleRow::COLUMNS,
            Self::Watchdog => WatchdogRow::COLUMNS,
        }
    }

    /// The Arrow schema: every field carries its description (and unit) as metadata.
    #[must_use]
    pub fn schema(self) -> Arc<Schema> {
        let fields: Vec<Field> = self.columns().iter().map(Column::field).collect();
        Arc::new(Schema::new(fields))
    }
}

/// How a column is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Unsigned, 64 bits.
    U64,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 8 bits.
    U8,
    /// Floating point, 64 bits.
    F64,
    /// A class: its index in memory, its name (dictionary) in the file.
    Class,
    /// A switch, likewise.
    Switch,
    /// A host, likewise.
    Host,
    /// One of a few words (dictionary).
    Word,
    /// Free text.
    Text,
}

impl ColumnKind {
    /// Type in the file.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::U64 => DataType::UInt64,
            Self::U32 => DataType::UInt32,
            Self::U16 => DataType::UInt16,
            Self::U8 => DataType::UInt8,
            Self::F64 => DataType::Float64,
            Self::Class | Self::Switch | Self::Host | Self::Word => {
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
            }
            Self::Text => DataType::Utf8,
        }
    }

    /// Name of the type in the manifest.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U64 => "u64",
            Self::U32 => "u32",
            Self::U16 => "u16",
            Self::U8 => "u8",
            Self::F64 => "f64",
            Self::Class | Self::Switch | Self::Host | Self::Word => "dictionary<string>",
            Self::Text => "string",
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name; equal to the field's name in the row struct.
    pub name: &'static str,
    /// Type.
    pub kind: ColumnKind,
    /// Whether a cell may be empty.
    pub nullable: bool,
    /// What it means.
    pub description: &'static str,
}

impl Column {
    /// The unit, by the ending of the name.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        [("_ns", "ns"), ("_bytes", "B"), ("_packets", "packets"), ("_bps", "bit/s")]
            .into_iter()
            .find_map(|(ending, unit)| self.name.ends_with(ending).then_some(unit))
    }

    fn field(&self) -> Field {
        let mut metadata = BTreeMap::from([("description".to_owned(), self.description.to_owned())]);
        if let Some(unit) = self.unit() {
            metadata.insert("unit".to_owned(), unit.to_owned());
        }
        Field::new(self.name, self.kind.data_type(), self.nullable).with_metadata(metadata)
    }
}

/// A row struct that is a row of a table.
///
/// Sealed in effect: its methods take types that only this crate can make.
pub trait Record: Sized {
    /// The table.
    const TABLE: Table;
    /// The columns; [`Record::write`] and [`Record::read`] follow their order.
    const COLUMNS: &'static [Column];

    /// Writes the cells in the order of [`Record::COLUMNS`].
    ///
    /// # Errors
    /// If an index refers to no name.
    #[doc(hidden)]
    fn write(&self, to: &mut CellWriter) -> io::Result<()>;

    /// Reads the cells in the same order.
    ///
    /// # Errors
    /// A sentence, if a name is unknown or a cell is empty that must not be.
    #[doc(hidden)]
    fn read(from: &mut CellReader<'_>) -> Result<Self, String>;
}
