//! Rows of results that one shard of the network creates and another shard writes.
//!
//! A run on one thread makes these rows in the order of its events. So each row has the position of
//! its event in the order of events, and one shard sorts and writes the rows of all shards.

use crate::SimError;
use crate::world::calendar::LinkPlace;
use crate::world::timers::Moment;
use bufferlab_metrics::{PacketRow, PauseSpanRow, ProbeRow, RunSink, SeriesRow, WatchdogRow};
use std::io;

/// A row of results, with the position of its event in the order of the run.
#[derive(Clone, Debug)]
pub(super) struct OrderedRow {
    pub(super) moment: Moment,
    /// Position of a link event among the link events of its moment.
    pub(super) place: LinkPlace,
    pub(super) row: AnyRow,
}

#[derive(Clone, Debug)]
pub(super) enum AnyRow {
    Series(SeriesRow),
    Probe(ProbeRow),
    PauseSpan(PauseSpanRow),
    Watchdog(WatchdogRow),
    Packet(Box<PacketRow>),
}

impl OrderedRow {
    /// Writes the row to the sink of the run.
    pub(super) fn write(&self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        match &self.row {
            AnyRow::Series(row) => sink.series(row)?,
            AnyRow::Probe(row) => sink.probe(row)?,
            AnyRow::PauseSpan(row) => sink.pause_span(row)?,
            AnyRow::Watchdog(row) => sink.watchdog(row)?,
            AnyRow::Packet(row) => sink.packet(row)?,
        }
        Ok(())
    }
}

/// Sink that stores the rows of one event in memory, with the event's position in the order.
#[derive(Debug)]
pub(super) struct Keep<'a> {
    pub(super) moment: Moment,
    pub(super) place: LinkPlace,
    pub(super) rows: &'a mut Vec<OrderedRow>,
}

impl Keep<'_> {
    pub(super) fn keep(&mut self, row: AnyRow) {
        let (moment, place) = (self.moment, self.place);
        self.rows.push(OrderedRow { moment, place, row });
    }
}

impl RunSink for Keep<'_> {
    fn series(&mut self, row: &SeriesRow) -> io::Result<()> {
        self.keep(AnyRow::Series(row.clone()));
        Ok(())
    }

    fn probe(&mut self, row: &ProbeRow) -> io::Result<()> {
        self.keep(AnyRow::Probe(row.clone()));
        Ok(())
    }
}
