//! Samples are taken in one part and written in another.

use crate::SimError;
use bufferlab_metrics::{ProbeRow, RunSink, SeriesRow};
use bufferlab_units::Time;
use std::io;

/// A row of a sample, and when it was taken.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) at: Time,
    row: Row,
}

#[derive(Clone, Debug)]
enum Row {
    Series(SeriesRow),
    Probe(ProbeRow),
}

impl Sample {
    /// Hands it to where the rows of the run go.
    pub(super) fn write(&self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        match &self.row {
            Row::Series(row) => sink.series(row)?,
            Row::Probe(row) => sink.probe(row)?,
        }
        Ok(())
    }
}

/// Keeps the rows of samples that are taken at `at`.
#[derive(Debug)]
pub(super) struct Keep<'a> {
    pub(super) at: Time,
    pub(super) samples: &'a mut Vec<Sample>,
}

impl RunSink for Keep<'_> {
    fn series(&mut self, row: &SeriesRow) -> io::Result<()> {
        self.samples.push(Sample { at: self.at, row: Row::Series(row.clone()) });
        Ok(())
    }

    fn probe(&mut self, row: &ProbeRow) -> io::Result<()> {
        self.samples.push(Sample { at: self.at, row: Row::Probe(row.clone()) });
        Ok(())
    }
}
