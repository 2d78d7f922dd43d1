//! Samples that one part takes and another part writes.

use crate::SimError;
use bufferlab_metrics::{ProbeRow, RunSink, SeriesRow};
use bufferlab_units::Time;
use std::io;

/// A row of a sample, with the time of the sample.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) at: Time,
    row: SampleRow,
}

#[derive(Clone, Debug)]
enum SampleRow {
    Series(SeriesRow),
    Probe(ProbeRow),
}

impl Sample {
    /// Writes the row to the sink of the run.
    pub(super) fn write(&self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        match &self.row {
            SampleRow::Series(row) => sink.series(row)?,
            SampleRow::Probe(row) => sink.probe(row)?,
        }
        Ok(())
    }
}

/// Sink that keeps the rows of samples that are taken at the time `at`.
#[derive(Debug)]
pub(super) struct Keep<'a> {
    pub(super) at: Time,
    pub(super) samples: &'a mut Vec<Sample>,
}

impl RunSink for Keep<'_> {
    fn series(&mut self, row: &SeriesRow) -> io::Result<()> {
        self.samples.push(Sample { at: self.at, row: SampleRow::Series(row.clone()) });
        Ok(())
    }

    fn probe(&mut self, row: &ProbeRow) -> io::Result<()> {
        self.samples.push(Sample { at: self.at, row: SampleRow::Probe(row.clone()) });
        Ok(())
    }
}
