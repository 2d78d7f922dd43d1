//! What is measured: the rows of the result tables, exact time-weighted histograms, and the sink
//! that drivers write to.
//!
//! A driver gives its rows to a [`RunSink`], which stores them or not. A row is a [`Record`]: each
//! of its columns is declared once, in `rows.rs`, with name, type and documentation ([`record!`]).
//! Names end with their units.

mod declare;
mod delay;
mod explanation;
mod histogram;
mod record;
mod rows;
mod totals;

pub use bufferlab_core::PacketEvent;
pub use delay::{DelayBin, DelayHistogram};
pub use explanation::{Answer, BoundText, Explanation, Holder, PolicyOpinion};
pub use histogram::{Bin, OccupancyHistogram, OccupancyTimes};
pub use record::{
    Cell, CellFault, CellReader, CellWriter, ClassName, Column, ColumnKind, HostName, Record, SwitchName,
    description,
};
pub use rows::{
    DelayRow, DropRow, FlowRow, FlowState, HistogramRow, LinkRow, PacketRow, PauseCycleRow, PauseRow,
    PauseSpanRow, ProbeRow, ProgressRow, QueryRow, QueueRow, Scope, SeriesRow, Table, TableRow, WatchdogRow,
};
pub use totals::RunTotals;

/// Receives rows in the order in which a driver produces them, which is deterministic. A sink says
/// what it wants and ignores the rest.
///
/// # Errors
/// Every method may fail with the sink's I/O error; a driver stops at the first one.
pub trait RunSink {
    /// A flow ended, or the run did while it was unfinished.
    fn flow(&mut self, _row: &FlowRow) -> std::io::Result<()> {
        Ok(())
    }
    /// All flows of a query ended, or the run did.
    fn query(&mut self, _row: &QueryRow) -> std::io::Result<()> {
        Ok(())
    }
    /// One sample of one queue, port or switch.
    fn series(&mut self, _row: &SeriesRow) -> std::io::Result<()> {
        Ok(())
    }
    /// One bin of an occupancy histogram; at the end of the run.
    fn histogram(&mut self, _row: &HistogramRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Counters of a switch queue; at the end of the run.
    fn queue(&mut self, _row: &QueueRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Lost packets by reason; at the end of the run.
    fn drops(&mut self, _row: &DropRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Counters of a link direction; at the end of the run.
    fn link(&mut self, _row: &LinkRow) -> std::io::Result<()> {
        Ok(())
    }
    /// An event that the driver was asked to explain; at the end of the run.
    fn explanation(&mut self, _row: &Explanation) -> std::io::Result<()> {
        Ok(())
    }
    /// One internal value of a policy.
    fn probe(&mut self, _row: &ProbeRow) -> std::io::Result<()> {
        Ok(())
    }
    /// How far a live flow is, where flows are sampled.
    fn progress(&mut self, _row: &ProgressRow) -> std::io::Result<()> {
        Ok(())
    }
    /// Pauses of one priority of one port; at the end of the run, where there is flow control.
    fn pause(&mut self, _row: &PauseRow) -> std::io::Result<()> {
        Ok(())
    }
    /// One pause, when it ends; at the end of the run, those that last.
    fn pause_span(&mut self, _row: &PauseSpanRow) -> std::io::Result<()> {
        Ok(())
    }
    /// A circle of pauses; at the end of the run.
    fn pause_cycle(&mut self, _row: &PauseCycleRow) -> std::io::Result<()> {
        Ok(())
    }
    /// A storm that a PFC watchdog noticed, when it is over; at the end of the run, those that
    /// last.
    fn watchdog(&mut self, _row: &WatchdogRow) -> std::io::Result<()> {
        Ok(())
    }
    /// One event of one packet in a switch's buffer, where packets are recorded; in order of time.
    fn packet(&mut self, _row: &PacketRow) -> std::io::Result<()> {
        Ok(())
    }
    /// One bin of queueing delays; at the end of the run, where delays are measured.
    fn delay(&mut self, _row: &DelayRow) -> std::io::Result<()> {
        Ok(())
    }
}
