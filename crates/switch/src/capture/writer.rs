//! The thread that writes captures: frames by time, and files that have their names only when they are whole.

use super::{Batch, CaptureReport, Event, Held, Item, Mark, Message};
use crate::config::SwitchFile;
use crate::tallies::{Discard, Tallies};
use bufferlab_capture::{Capture, Direction, Frame, Interface, Remark, Totals};
use bufferlab_params::Choice;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

/// Frames that wait for their turn at most. Those of a port come nearly in order, so it is a guard and no limit that is met.
const WAITING: usize = 65_536;

/// The name of a port's file.
pub(super) fn name(interface: &str) -> String {
    format!("{interface}.pcapng")
}

/// A frame that waits for its turn.
struct Waiting {
    event: Event,
    original_bytes: u32,
    left_out: u64,
    data: Vec<u8>,
}

/// The file of a port.
struct Port<W: Write> {
    name: String,
    capture: Capture<W>,
    /// By time and number.
    waiting: BTreeMap<(u64, u64), Waiting>,
    frames: u64,
}

/// The files of all ports.
pub(super) struct Files<W: Write> {
    ports: Vec<Port<W>>,
    numbers: u64,
    /// By port, where they are files: their name until they are whole, and then.
    names: Vec<(PathBuf, PathBuf)>,
    is_finished: bool,
}

impl Files<BufWriter<File>> {
    pub(super) fn create(folder: &Path, file: &SwitchFile, snapshot_bytes: u32) -> io::Result<Self> {
        let mut files = Self { ports: Vec::new(), numbers: 0, names: Vec::new(), is_finished: false };
        for (number, port) in file.ports.iter().enumerate() {
            let whole = folder.join(name(&port.interface));
            let partial = folder.join(name(&port.interface) + ".partial");
            let to = BufWriter::with_capacity(1 << 18, File::create(&partial)?);
            files.names.push((partial, whole));
            let description = format!("port {number} of {}, policy {}", file.scenario.name, policy(file));
            let interface = Interface {
                name: &port.interface,
                description: &description,
                bits_per_second: Some(port.rate.0),
                snapshot_bytes,
            };
            files.ports.push(Port::new(to, &interface)?);
        }
        Ok(files)
    }
}

fn policy(file: &SwitchFile) -> &str {
    &file.scenario.switches[0].policy
}

impl<W: Write> Port<W> {
    fn new(to: W, interface: &Interface<'_>) -> io::Result<Self> {
        let mut capture = Capture::new(to)?;
        capture.interface(interface)?;
        Ok(Self { name: interface.name.to_owned(), capture, waiting: BTreeMap::new(), frames: 0 })
    }

    /// Writes all frames until `until_ns`.
    fn write(&mut self, until_ns: u64) -> io::Result<()> {
        while let Some(first) = self.waiting.first_entry() {
            if first.key().0 > until_ns && self.waiting.len() <= WAITING {
                break;
            }
            let Some(((at_ns, _), frame)) = self.waiting.pop_first() else { break };
            let Waiting { event, original_bytes, left_out, data } = &frame;
            let (original_bytes, left_out) = (*original_bytes, *left_out);
            let (direction, comment) = (direction(*event), comment(&self.name, *event));
            let frame = Frame { interface: 0, at_ns, original_bytes, data, direction, left_out };
            self.capture.frame(&frame, comment.as_deref())?;
            self.frames += 1;
        }
        Ok(())
    }
}

impl<W: Write> Files<W> {
    /// Of anything that can be written to.
    #[cfg(test)]
    pub(super) fn of(all: Vec<(W, Interface<'_>)>) -> io::Result<Self> {
        let ports = all.into_iter().map(|(to, interface)| Port::new(to, &interface));
        Ok(Self {
            ports: ports.collect::<io::Result<_>>()?,
            numbers: 0,
            names: Vec::new(),
            is_finished: false,
        })
    }

    fn take(&mut self, batch: &Batch) -> io::Result<()> {
        for Item { port, at_ns, event, original_bytes, range, left_out } in &batch.items {
            self.numbers += 1;
            let waiting = Waiting {
                event: *event,
                original_bytes: *original_bytes,
                left_out: *left_out,
                data: batch.bytes[range.clone()].to_vec(),
            };
            self.ports[usize::from(*port)].waiting.insert((*at_ns, self.numbers), waiting);
        }
        self.ports.iter_mut().try_for_each(|port| port.write(batch.until_ns))
    }

    fn finish(
        mut self,
        span_ns: (u64, u64),
        tallies: &[Tallies],
        left_out: &[u64],
    ) -> io::Result<CaptureReport> {
        let mut report = CaptureReport { left_out: left_out.iter().sum(), ..CaptureReport::default() };
        for ((mut port, tallies), &left_out) in self.ports.drain(..).zip(tallies).zip(left_out) {
            port.write(u64::MAX)?;
            let totals = Totals { span_ns, received: tallies.received, left_out };
            port.capture.totals(0, &totals)?;
            port.capture.into_inner().flush()?;
            report.frames += port.frames;
        }
        for (partial, whole) in &self.names {
            fs::rename(partial, whole)?;
            report.files.push(whole.clone());
        }
        self.is_finished = true;
        Ok(report)
    }
}

impl<W: Write> Drop for Files<W> {
    fn drop(&mut self) {
        if !self.is_finished {
            // What could not be written whole, on a full disk for instance, takes its room for nothing; the error says the rest.
            for (partial, _) in &self.names {
                let _ = fs::remove_file(partial);
            }
        }
    }
}

/// Writes what comes until it ends; gives batches back.
pub(super) fn write<W: Write>(
    mut files: Files<W>,
    from: &Receiver<Message>,
    back: &Sender<Batch>,
) -> io::Result<CaptureReport> {
    loop {
        let message = match from.try_recv() {
            Err(TryRecvError::Empty) => {
                // Whoever looks into the files meanwhile finds all of it.
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
                // Nobody is left to use it again at the end.
                let _ = back.send(batch);
            }
            Some(Message::End { span_ns, tallies, left_out }) => {
                return files.finish(span_ns, &tallies, &left_out);
            }
            None => return Err(io::Error::other("the switch failed before the capture was complete")),
        }
    }
}

/// A lost frame went neither way: it came through another port, and never left.
fn direction(event: Event) -> Option<Direction> {
    match event {
        Event::Received(_) => Some(Direction::Inbound),
        Event::Sent(_) | Event::Refused => Some(Direction::Outbound),
        Event::Dropped { .. } | Event::Evicted { .. } | Event::Unsent => None,
    }
}

/// What is to be said of a frame, if anything is.
fn comment(port: &str, event: Event) -> Option<String> {
    let remark = |event: &str, queue: u8, reason: Option<&str>, held: Held| {
        let queue = format!("{port}.{queue}");
        let Held { queue_bytes, buffer_bytes, limit } = held;
        Remark { event, queue: &queue, queue_bytes, buffer_bytes, limit, reason, ..Remark::default() }
            .to_string()
    };
    match event {
        Event::Received(None) | Event::Sent(None) => None,
        Event::Received(Some(why)) => {
            let word = &Discard::WORDS[why as usize];
            Some(format!("discarded: {} ({})", word.name, word.meaning))
        }
        Event::Dropped { queue, reason, held } => Some(remark("dropped", queue, Some(reason.name()), held)),
        Event::Evicted { queue, reason, held } => Some(remark("evicted", queue, Some(reason.name()), held)),
        Event::Sent(Some(Mark { queue, on_arrival, held })) => {
            let event = if on_arrival { "marked on arrival" } else { "marked on departure" };
            Some(remark(event, queue, None, held))
        }
        Event::Refused => Some("refused by the interface".to_owned()),
        Event::Unsent => Some("not sent: it was due when the switch had ended".to_owned()),
    }
}
