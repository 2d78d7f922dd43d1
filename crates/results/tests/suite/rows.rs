//! Rows of every table, generated from the column declarations,
//! so that a new column needs no change.

use bufferlab_metrics::{
    CellFault, CellReader, CollectiveRow, Column, ColumnKind, DelayRow, DropRow, FlowRow, HistogramRow,
    LinkRow, PacketRow, PathRow, PauseCycleRow, PauseRow, PauseSpanRow, ProbeRow, ProgressRow, QueryRow,
    QueueRow, RankRow, Record, ScheduleRow, SeriesRow, TableRow, WatchdogRow,
};
use bufferlab_results::NameTables;
use std::fmt::Debug;

/// Number of test rows of a table. The table of flows has more rows than a batch, so that a batch
/// also ends in the middle of the table.
pub(crate) fn count(table: &str) -> u64 {
    if table == FlowRow::NAME { 9_000 } else { 100 }
}

/// Names to which the rows of the tests refer.
pub(crate) fn names() -> NameTables {
    let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect();
    NameTables {
        classes: words(&["websearch", "incast"]),
        switches: words(&["leaf-0", "leaf-1"]),
        hosts: words(&["h0", "h1", "h2", "h3"]),
        schedules: Vec::new(),
    }
}

/// Generates test rows of a table, as many as [`count`] returns. Cells differ by row and by column;
/// optional cells are sometimes empty.
pub(crate) fn rows<R: Record>() -> impl Iterator<Item = R> {
    (0..count(R::NAME)).map(row)
}

/// Generates the row with the number `number` of a table.
pub(crate) fn row<R: Record>(number: u64) -> R {
    let mut cells = Filler { columns: R::COLUMNS, row: number, next: 0, text: String::new() };
    let row = R::read(&mut cells).expect("cells of the columns' own kinds");
    assert_eq!(cells.next, R::COLUMNS.len(), "{}: one cell per column", R::NAME);
    row
}

/// A test that is called for every table of a run.
pub(crate) trait EachTable {
    fn table<R: TableRow + PartialEq + Debug>(&mut self);
}

/// Calls the method `each.table` for every table of a run.
pub(crate) fn for_each_table(each: &mut impl EachTable) {
    each.table::<FlowRow>();
    each.table::<QueryRow>();
    each.table::<SeriesRow>();
    each.table::<HistogramRow>();
    each.table::<QueueRow>();
    each.table::<DropRow>();
    each.table::<LinkRow>();
    each.table::<ProbeRow>();
    each.table::<DelayRow>();
    each.table::<ProgressRow>();
    each.table::<PauseRow>();
    each.table::<PauseSpanRow>();
    each.table::<PauseCycleRow>();
    each.table::<WatchdogRow>();
    each.table::<PacketRow>();
    each.table::<ScheduleRow>();
    each.table::<CollectiveRow>();
    each.table::<RankRow>();
    each.table::<PathRow>();
}

/// Generates the cells of one row of a table.
struct Filler {
    columns: &'static [Column],
    row: u64,
    next: usize,
    text: String,
}

impl Filler {
    /// Returns the next column and a number for its cell.
    fn turn(&mut self) -> (&'static Column, u64) {
        let number = (self.row + 1) * 1_009 + self.next as u64 * 31;
        self.next += 1;
        (&self.columns[self.next - 1], number)
    }

    fn number(&mut self, kind: ColumnKind) -> Option<u64> {
        let (column, number) = self.turn();
        assert_eq!(column.kind, kind, "{}", column.name);
        (!column.nullable || !number.is_multiple_of(3)).then_some(number)
    }
}

impl CellReader for Filler {
    type Error = CellFault;

    fn u64(&mut self) -> Option<u64> {
        self.number(ColumnKind::U64).map(|number| number * 1_000_000_007)
    }
    fn u32(&mut self) -> Option<u32> {
        self.number(ColumnKind::U32).map(|number| number as u32)
    }
    fn u16(&mut self) -> Option<u16> {
        self.number(ColumnKind::U16).map(|number| number as u16)
    }
    fn u8(&mut self) -> Option<u8> {
        self.number(ColumnKind::U8).map(|number| number as u8)
    }
    fn f64(&mut self) -> Option<f64> {
        self.number(ColumnKind::F64).map(|number| number as f64 / 7.0)
    }
    fn word(&mut self) -> Option<&'static str> {
        let (column, number) = self.turn();
        if column.nullable && number.is_multiple_of(3) {
            return None;
        }
        let words =
            if column.words.is_empty() { &["over-threshold", "buffer-full"][..] } else { column.words };
        Some(words[number as usize % words.len()])
    }
    fn text(&mut self) -> Option<&str> {
        let (_, number) = self.turn();
        self.text = format!("node-{number} → node-{}", number + 1);
        Some(&self.text)
    }
    fn name(&mut self) -> Result<u32, CellFault> {
        let (column, number) = self.turn();
        let NameTables { classes, switches, hosts, .. } = names();
        let names = match column.kind {
            ColumnKind::Class => classes,
            ColumnKind::Switch => switches,
            ColumnKind::Host => hosts,
            other => panic!("{} is {other:?}, not a name", column.name),
        };
        Ok((number % names.len() as u64) as u32)
    }
    fn name_or_none(&mut self) -> Result<Option<u32>, CellFault> {
        if self.row.is_multiple_of(3) {
            self.turn();
            return Ok(None);
        }
        self.name().map(Some)
    }
    fn fault(&self, fault: CellFault) -> CellFault {
        fault
    }
}
