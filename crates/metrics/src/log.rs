//! Result rows of an unfinished run, in memory.

use crate::{
    CollectiveRow, DelayRow, DropRow, Explanation, FlowRow, HistogramRow, LinkRow, PacketRow, PathRow,
    PauseCycleRow, PauseRow, PauseSpanRow, ProbeRow, ProgressRow, QueryRow, QueueRow, RankRow, RunSink,
    ScheduleRow, SeriesRow, Table, WatchdogRow,
};
use std::io;
use std::sync::Arc;

/// Result rows of a run, in the order in which a driver produced the rows. A copy of the log shares
/// the earlier rows with the original, so that copies of a long run are cheap.
#[derive(Clone, Debug, Default)]
pub struct RowLog {
    /// Full blocks of result rows, each with [`BLOCK`] rows.
    blocks: Vec<Arc<[Row]>>,
    tail: Vec<Row>,
    completed: CompletedQueries,
}

/// Queries of a run that are complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompletedQueries {
    /// Number of complete queries.
    pub count: u64,
    /// Sum of the query completion times (ns).
    pub time_ns: u64,
}

/// Number of rows in a block, which copies of a log share as a whole.
const BLOCK: usize = 1_024;

macro_rules! rows {
    ($($method:ident: $row:ident,)*) => {
        #[derive(Clone, Debug)]
        enum Row {
            $($row($row),)*
        }

        impl Row {
            fn write(&self, sink: &mut dyn RunSink) -> io::Result<()> {
                match self {
                    $(Self::$row(row) => sink.$method(row),)*
                }
            }
        }

        impl RunSink for RowLog {
            $(fn $method(&mut self, row: &$row) -> io::Result<()> {
                self.push(Row::$row(row.clone()));
                Ok(())
            })*
        }

        const KINDS: usize = [$(stringify!($method)),*].len();
    };
}

rows! {
    flow: FlowRow,
    query: QueryRow,
    series: SeriesRow,
    histogram: HistogramRow,
    queue: QueueRow,
    drops: DropRow,
    link: LinkRow,
    explanation: Explanation,
    probe: ProbeRow,
    progress: ProgressRow,
    pause: PauseRow,
    pause_span: PauseSpanRow,
    pause_cycle: PauseCycleRow,
    watchdog: WatchdogRow,
    schedule: ScheduleRow,
    collective: CollectiveRow,
    rank: RankRow,
    path: PathRow,
    packet: PacketRow,
    delay: DelayRow,
}

// A sink without a method for a table would silently lose the rows of that table.
const _: () = assert!(KINDS == Table::ALL.len() + 1, "a log keeps the rows of every table, and explanations");

impl RowLog {
    /// Writes all rows of the log to `sink`, in order.
    ///
    /// # Errors
    /// Returns the first error of the sink.
    pub fn write_to(&self, sink: &mut dyn RunSink) -> io::Result<()> {
        self.rows().try_for_each(|row| row.write(sink))
    }

    /// Number of result rows in the log.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len() * BLOCK + self.tail.len()
    }

    /// Whether the log has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Complete queries among the rows of the log.
    #[must_use]
    pub fn completed_queries(&self) -> CompletedQueries {
        self.completed
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.blocks.iter().flat_map(|block| block.iter()).chain(&self.tail)
    }

    fn push(&mut self, row: Row) {
        if let Row::QueryRow(QueryRow { qct_ns: Some(time_ns), .. }) = row {
            self.completed.count += 1;
            self.completed.time_ns += time_ns;
        }
        self.tail.push(row);
        if self.tail.len() == BLOCK {
            self.blocks.push(std::mem::take(&mut self.tail).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_counts_complete_queries() {
        let mut log = RowLog::default();
        for qct_ns in [Some(3), None, Some(4)] {
            log.query(&QueryRow { qct_ns, ..QueryRow::default() }).expect("memory accepts rows");
        }
        assert_eq!(log.clone().completed_queries(), CompletedQueries { count: 2, time_ns: 7 });
    }

    #[test]
    fn a_log_returns_its_rows_in_order_and_a_copy_grows_alone() {
        let mut log = RowLog::default();
        let row = |flow_id: u64| FlowRow { flow_id, ..FlowRow::default() };
        (0..2_500).for_each(|number| log.flow(&row(number)).expect("memory accepts rows"));
        let mut copy = log.clone();
        copy.flow(&row(9_999)).expect("memory accepts rows");
        assert_eq!((log.len(), copy.len()), (2_500, 2_501));
        let mut again = RowLog::default();
        copy.write_to(&mut again).expect("memory accepts rows");
        let numbers: Vec<u64> =
            again.rows().map(|row| if let Row::FlowRow(row) = row { row.flow_id } else { 0 }).collect();
        assert!(numbers.iter().copied().eq((0..2_500).chain([9_999])));
    }
}
