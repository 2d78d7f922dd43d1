//! The thread that writes captures. The thread sorts frames by time, and gives the files their
//! final names only when all frames are written.

use super::names::Names;
use super::{Batch, CaptureEvent, CaptureReport, Departure, Held, Item, Loss, Mark, Message};
use crate::config::SwitchFile;
use crate::tallies::{Discard, Tallies};
use bufferlab_params::Choice;
use bufferlab_pcapng::{Capture, Direction, Frame, Interface, Remark, Totals};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

/// Maximum number of waiting frames per port, more than the number of frames that are neither sent
/// nor lost.
const WAITING: usize = 2 * super::OPEN;

/// Returns the name of a port's capture file.
pub(super) fn name(interface: &str) -> String {
    format!("{interface}.pcapng")
}

/// A captured frame that waits to be written to its file.
struct Waiting {
    direction: Option<Direction>,
    comment: Option<String>,
    original_bytes: u32,
    left_out: u64,
    data: Vec<u8>,
}

/// Position of a frame in its capture file. Frames are sorted by time. A departure precedes an
/// arrival with an equal time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FrameOrder {
    at_ns: u64,
    came_in: bool,
    /// Sequence number of the frame. The switch counts arrivals, and the writing thread counts all
    /// other events.
    number: u64,
}

/// Capture file of one port.
struct PortFile<W: Write> {
    name: String,
    capture: Capture<W>,
    waiting: BTreeMap<FrameOrder, Waiting>,
    frames: u64,
}

/// Capture files of all ports of the switch.
pub(super) struct Files<W: Write> {
    ports: Vec<PortFile<W>>,
    numbers: u64,
    /// Names of the capture files by port, if the files are on disk.
    names: Names,
}

impl<W: Write> std::fmt::Debug for Files<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Files<BufWriter<File>> {
    pub(super) fn create(folder: &Path, file: &SwitchFile, snapshot_bytes: u32) -> io::Result<Self> {
        let mut files = Self { ports: Vec::new(), numbers: 0, names: Names::default() };
        for (number, port) in file.ports.iter().enumerate() {
            let whole = folder.join(name(&port.interface));
            let to = BufWriter::with_capacity(1 << 18, File::create(files.names.add(whole))?);
            let description = format!("port {number} of {}, policy {}", file.scenario.name, policy(file));
            let interface = Interface {
                name: &port.interface,
                description: &description,
                bits_per_second: Some(port.rate.0),
                snapshot_bytes,
            };
            files.ports.push(PortFile::new(to, &interface)?);
        }
        Ok(files)
    }
}

fn policy(file: &SwitchFile) -> &str {
    &file.scenario.switches[0].policy
}

impl<W: Write> PortFile<W> {
    fn new(to: W, interface: &Interface<'_>) -> io::Result<Self> {
        let mut capture = Capture::new(to)?;
        capture.interface(interface)?;
        Ok(Self { name: interface.name.to_owned(), capture, waiting: BTreeMap::new(), frames: 0 })
    }

    /// Writes all frames until the time `until_ns`, but stops at the first arrival with the number
    /// `settled` or a larger number.
    fn write(&mut self, until_ns: u64, settled: u64) -> io::Result<()> {
        while let Some(first) = self.waiting.first_entry() {
            let FrameOrder { at_ns, came_in, number } = *first.key();
            let is_open = at_ns > until_ns || (came_in && number >= settled);
            if is_open && self.waiting.len() <= WAITING {
                break;
            }
            let Some((_, frame)) = self.waiting.pop_first() else { break };
            let Waiting { direction, comment, original_bytes, left_out, data } = &frame;
            let (original_bytes, left_out, direction) = (*original_bytes, *left_out, *direction);
            let frame = Frame { interface: 0, at_ns, original_bytes, data, direction, left_out };
            self.capture.frame(&frame, comment.as_deref())?;
            self.frames += 1;
        }
        Ok(())
    }
}

impl<W: Write> Files<W> {
    /// Creates captures of all ports with any kind of writer (`W`).
    #[cfg(test)]
    pub(super) fn from_writers(all: Vec<(W, Interface<'_>)>) -> io::Result<Self> {
        let ports = all.into_iter().map(|(to, interface)| PortFile::new(to, &interface));
        Ok(Self { ports: ports.collect::<io::Result<_>>()?, numbers: 0, names: Names::default() })
    }

    fn take(&mut self, batch: &Batch) -> io::Result<()> {
        for item in &batch.items {
            self.add(item, &batch.bytes[item.range.clone()]);
        }
        self.ports.iter_mut().try_for_each(|port| port.write(batch.until_ns, batch.settled))
    }

    fn add(&mut self, item: &Item, data: &[u8]) {
        let Item { port, at_ns, event, original_bytes, left_out, .. } = *item;
        self.numbers += 1;
        let mut place = FrameOrder { at_ns, came_in: false, number: self.numbers };
        let (direction, comment) = match event {
            CaptureEvent::Received { origin, discarded } => {
                (place.came_in, place.number) = (true, origin.number);
                (Some(Direction::Inbound), discarded.map(discard))
            }
            CaptureEvent::Lost { origin, loss } => {
                (place.came_in, place.number) = (true, origin.number);
                let comment = self.lost(loss);
                // The frame's entry is still in memory, unless the thread wrote it early to make
                // room for other frames.
                if let Some(frame) = self.ports[usize::from(port)].waiting.get_mut(&place) {
                    frame.left_out += left_out;
                    // Each copy of a flooded frame is sent or lost separately.
                    frame.comment = Some(match frame.comment.take() {
                        Some(others) => format!("{others}\n{comment}"),
                        None => comment,
                    });
                }
                return;
            }
            CaptureEvent::LostLate { loss } => (None, Some(self.lost(loss))),
            CaptureEvent::Left(departure) => {
                (Some(Direction::Outbound), left(&self.ports[usize::from(port)].name, departure))
            }
        };
        let waiting = Waiting { direction, comment, original_bytes, left_out, data: data.to_vec() };
        self.ports[usize::from(port)].waiting.insert(place, waiting);
    }

    /// Returns the comment that the capture stores for a lost frame.
    fn lost(&self, loss: Loss) -> String {
        let name = |port: u16| &self.ports[usize::from(port)].name;
        match loss {
            Loss::Switch { event, port, queue, reason, held } => {
                remark(event.name(), name(port), queue, Some(reason.name()), held)
            }
            Loss::Unsent { port } => {
                format!("not sent: it was due at {} when the switch had ended", name(port))
            }
        }
    }

    fn finish(
        mut self,
        span_ns: (u64, u64),
        tallies: &[Tallies],
        left_out: &[u64],
    ) -> io::Result<CaptureReport> {
        let mut report = CaptureReport { left_out: left_out.iter().sum(), ..CaptureReport::default() };
        for ((mut port, tallies), &left_out) in self.ports.drain(..).zip(tallies).zip(left_out) {
            port.write(u64::MAX, u64::MAX)?;
            let totals = Totals { span_ns, received: tallies.received, left_out };
            port.capture.totals(0, &totals)?;
            port.capture.into_inner().flush()?;
            report.frames += port.frames;
        }
        report.files = self.names.give()?;
        Ok(report)
    }

    /// Keeps the right to rename the capture files; see [`Names::keep`].
    #[cfg(target_os = "linux")]
    pub(super) fn keep_names(&mut self) -> io::Result<()> {
        self.names.keep()
    }
}

/// Writes batches of frames until the end of the capture, and returns each batch for reuse.
pub(super) fn write<W: Write>(
    mut files: Files<W>,
    from: &Receiver<Message>,
    back: &Sender<Batch>,
) -> io::Result<CaptureReport> {
    loop {
        let message = match from.try_recv() {
            Err(TryRecvError::Empty) => {
                // Flush the files, so that readers see all frames written so far.
                for port in &mut files.ports {
                    port.capture.flush()?;
                }
                from.recv().ok()
            }
            other => other.ok(),
        };
        match message {
            Some(Message::Batch(mut batch)) => {
                files.take(&batch)?;
                batch.items.clear();
                batch.bytes.clear();
                // The receiver of free batches is gone at the end of the capture, so an error is
                // ignored.
                let _ = back.send(batch);
            }
            Some(Message::End { span_ns, tallies, left_out }) => {
                return files.finish(span_ns, &tallies, &left_out);
            }
            None => return Err(io::Error::other("the switch failed before the capture was complete")),
        }
    }
}

fn discard(why: Discard) -> String {
    let word = &Discard::WORDS[why as usize];
    format!("discarded: {} ({})", word.name, word.meaning)
}

/// Returns the comment for a frame that left through `port`; `None` for a frame without a mark.
fn left(port: &str, departure: Departure) -> Option<String> {
    match departure {
        Departure::Sent(None) => None,
        Departure::Sent(Some(Mark { queue, on_arrival, held })) => {
            let event = if on_arrival { "marked on arrival" } else { "marked on departure" };
            Some(remark(event, port, queue, None, held))
        }
        Departure::Refused => Some("refused by the interface".to_owned()),
    }
}

fn remark(event: &str, port: &str, queue: u8, reason: Option<&str>, held: Held) -> String {
    let queue = format!("{port}.{queue}");
    let Held { queue_bytes, buffer_bytes, limit } = held;
    Remark { event, queue: &queue, queue_bytes, buffer_bytes, limit, reason, ..Remark::default() }.to_string()
}
