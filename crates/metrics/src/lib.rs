//! Measurements of a run: rows of the result tables, exact time-weighted histograms,
//! and the sink that receives the rows from drivers.
//!
//! A driver passes its rows to a [`RunSink`], which may store the rows. A row is a [`Record`]. The
//! file `rows.rs` declares each column of a record once, with name, type and documentation
//! ([`record!`]). A column's name ends with its unit.

mod declare;
mod delay;
mod explanation;
mod histogram;
mod log;
mod record;
mod rows;
mod totals;

pub use bufferlab_core::PacketEvent;
pub use delay::{DelayBin, DelayHistogram};
pub use explanation::{Answer, BoundText, Explanation, Holder, PolicyOpinion};
pub use histogram::{Bin, OccupancyHistogram, OccupancyTimes};
pub use log::{CompletedQueries, RowLog};
pub use record::{
    Cell, CellFault, CellReader, CellWriter, ClassName, Column, ColumnKind, HostName, Record, SwitchName,
    description,
};
pub use rows::{
    CollectiveRow, DelayRow, DropRow, FlowRow, FlowState, HistogramRow, LinkRow, NodeKind, PacketRow,
    PathRow, PauseCycleRow, PauseRow, PauseSpanRow, ProbeRow, ProgressRow, QueryRow, QueueRow, RankRow,
    ScheduleRow, Scope, SeriesRow, Table, TableRow, WaitedFor, WatchdogRow,
};
pub use totals::{NearestPause, RunTotals};

/// Receives the result rows of a run. A driver produces the rows in a deterministic order. A sink
/// implements methods for some kinds of rows and ignores all other rows.
///
/// # Errors
/// Every method may fail with the sink's I/O error. A driver stops at the first error.
pub trait RunSink {
    /// Receives a flow when the flow ends, or at the end of the run.
    fn flow(&mut self, _row: &FlowRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives a query when all its flows have ended, or at the end of the run.
    fn query(&mut self, _row: &QueryRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives one sample of one queue, port or switch.
    fn series(&mut self, _row: &SeriesRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives one bin of an occupancy histogram at the end of the run.
    fn histogram(&mut self, _row: &HistogramRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives the counters of a switch queue at the end of the run.
    fn queue(&mut self, _row: &QueueRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives the numbers of lost packets by reason at the end of the run.
    fn drops(&mut self, _row: &DropRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives the counters of a link direction at the end of the run.
    fn link(&mut self, _row: &LinkRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives the explanation of an event at the end of the run, if the scenario requests an
    /// explanation.
    fn explanation(&mut self, _row: &Explanation) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives one sample of an internal value of a policy, such as γ.
    fn probe(&mut self, _row: &ProbeRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives the progress of a live flow, if the scenario samples flows.
    fn progress(&mut self, _row: &ProgressRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives the pauses of one priority of one port at the end of the run,
    /// if the run has flow control.
    fn pause(&mut self, _row: &PauseRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives one pause when the pause ends, or at the end of the run.
    fn pause_span(&mut self, _row: &PauseSpanRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives a cycle of pauses at the end of the run.
    fn pause_cycle(&mut self, _row: &PauseCycleRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives a pause storm that a PFC watchdog detected, when the storm or the run ends.
    fn watchdog(&mut self, _row: &WatchdogRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives a transfer or computation of a schedule when the node ends, or at the end of the
    /// run if the node is unfinished.
    fn schedule(&mut self, _row: &ScheduleRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives an execution of a collective when its last transfer ends.
    fn collective(&mut self, _row: &CollectiveRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives a rank of a schedule at the end of each iteration.
    fn rank(&mut self, _row: &RankRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives a node of the critical path of a schedule at the end of each iteration.
    fn path(&mut self, _row: &PathRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives one event of one packet in a switch's buffer, if packets are recorded; in order of
    /// time.
    fn packet(&mut self, _row: &PacketRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Receives one bin of queueing delays at the end of the run, if the run measures delays.
    fn delay(&mut self, _row: &DelayRow) -> std::io::Result<()> {
        Ok(())
    }
}
