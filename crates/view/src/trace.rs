//! Exports the events of a switch for other programs: Perfetto and Wireshark.

mod capture;
mod perfetto;
mod ranks;

use crate::ViewError;
use crate::view::View;
use bufferlab_metrics::Table;
use bufferlab_results::{RunResult, WholeFile};
use std::io::Write;
use std::path::Path;

/// Format of a trace file for another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Chrome's trace events as JSON, which Perfetto's viewer reads.
    /// Queues are counters, losses and marks are instants, pauses are slices. Computations and
    /// transfers of schedules are slices of their ranks.
    Perfetto,
    /// A pcapng file: every packet that arrived at the switch, with its treatment as a comment.
    Pcapng,
}

impl View {
    /// Writes all events of the switch to `to`. Events are written while the packet table is read,
    /// so only a part of the table is in memory.
    ///
    /// # Errors
    /// If the run did not record packets, or the events cannot be read or written.
    pub fn trace(&self, format: Format, to: &mut dyn Write) -> Result<(), ViewError> {
        let has_ranks = format == Format::Perfetto && has_ranks(self.run());
        if !self.is_recorded() && !has_ranks {
            return Err(ViewError::NoPackets { switch: self.switch().to_owned() });
        }
        match format {
            Format::Perfetto => perfetto::write(Some(self), self.run(), to),
            Format::Pcapng => capture::write(self, to),
        }
    }

    /// Writes all events of the switch to a file, which appears only when the file is complete.
    ///
    /// # Errors
    /// Returns the errors of [`Self::trace`].
    /// Also fails if the file cannot be created or moved to `path`.
    pub fn trace_file(&self, format: Format, path: &Path) -> Result<(), ViewError> {
        let failed = || ViewError::io(format!("write {}", path.display()));
        let mut file = WholeFile::create(path).map_err(failed())?;
        self.trace(format, &mut file)?;
        file.finish().map_err(failed())
    }
}

/// Writes the ranks of the schedules of a run to a file, without the events of a switch. Returns
/// false, and writes nothing, if the run has no schedule.
///
/// # Errors
/// If the run cannot be read, or the file cannot be written.
pub fn ranks_file(folder: &Path, path: &Path) -> Result<bool, ViewError> {
    let run = crate::view::open_run(folder)?;
    if !has_ranks(&run) {
        return Ok(false);
    }
    let failed = || ViewError::io(format!("write {}", path.display()));
    let mut file = WholeFile::create(path).map_err(failed())?;
    perfetto::write(None, &run, &mut file)?;
    file.finish().map_err(failed())?;
    Ok(true)
}

fn has_ranks(run: &RunResult) -> bool {
    run.manifest().rows(Table::Schedule) > 0
}

/// Visits all packet rows, one part of the table after another, until writing a row fails.
fn each(
    view: &View,
    mut write: impl FnMut(&bufferlab_metrics::PacketRow) -> Result<(), ViewError>,
) -> Result<(), ViewError> {
    for group in view.groups() {
        let mut outcome = Ok(());
        view.visit_group(&group, |_, row| {
            if outcome.is_ok() {
                outcome = write(&row);
            }
        })?;
        outcome?;
    }
    Ok(())
}
