//! The same events for other viewers: Perfetto's, and Wireshark.

mod capture;
mod perfetto;

use crate::ViewError;
use crate::view::View;
use std::io::Write;

/// A format of another viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Chrome's trace events as JSON, which Perfetto's viewer reads: queues as counters, losses, marks as instants, pauses as slices.
    Perfetto,
    /// pcapng: every packet that came to the switch, with what became of it as a comment.
    Pcapng,
}

impl View {
    /// Writes all events of the switch to `to`.
    ///
    /// # Errors
    /// If the run did not record packets, or they cannot be read or written.
    pub fn trace(&self, format: Format, to: &mut dyn Write) -> Result<(), ViewError> {
        if !self.is_recorded() {
            return Err(ViewError::NoPackets { switch: self.switch().to_owned() });
        }
        match format {
            Format::Perfetto => perfetto::write(self, to),
            Format::Pcapng => capture::write(self, to),
        }
    }
}

/// Visits all rows until writing one has failed.
fn each(
    view: &View,
    mut write: impl FnMut(&bufferlab_metrics::PacketRow) -> Result<(), ViewError>,
) -> Result<(), ViewError> {
    let mut outcome = Ok(());
    view.visit(0, u64::MAX, |_, row| {
        if outcome.is_ok() {
            outcome = write(&row);
        }
    })?;
    outcome
}
