//! Captures the frames of all ports for Wireshark; a separate thread writes the files.
//!
//! Every port has a file with the frames that a tap on its cable would see. A lost frame has a
//! comment at its arrival, and a marked frame has a comment at its departure. A single file for all
//! ports would contain every frame twice, and Wireshark would report each second copy as a
//! retransmission. The tool `mergecap` can merge the files if needed.
//!
//! The switch knows the fate of a frame (sent or lost) later than its arrival. So the file of the
//! ingress port waits until the frame has left or is lost, or until too many later frames are
//! waiting.
//!
//! The switch gives frames to the writing thread in batches. The number of batches is fixed. If the
//! disk is too slow, no batch is free, and the capture omits frames and counts them. So memory is
//! bounded, and forwarding never waits.

mod names;
mod writer;

use crate::config::SwitchFile;
use crate::tallies::{Discard, Tallies};
use bufferlab_core::{DropReason, PacketEvent};
use bufferlab_units::Time;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use writer::{Files, write};

/// Number of captured frames in a full batch.
const BATCH: usize = 256;
/// Number of batches of captured frames. All batches store some 16,000 frames, which arrive in a
/// tenth of a second at the highest rates. Whole frames need 25 MB, and 128 B of each frame need 2
/// MB.
const BATCHES: usize = 64;
/// Maximum number of received frames with unknown fates (sent or lost) for which the files wait.
/// This number of frames arrives in half a second at the highest rates. A queue that its scheduler
/// starves may store a frame forever.
const OPEN: usize = 32_768;
/// Longest time for which a captured frame waits in an incomplete batch.
const LONGEST: Time = Time::from_ms(20);

/// Default number of captured bytes per frame, enough for all headers of TCP over IPv6 with
/// its longest options.
pub const SNAPSHOT_BYTES: u32 = 128;

/// State of buffer and queue immediately after an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) queue_bytes: u64,
    pub(crate) buffer_bytes: u64,
    /// Threshold that the policy sets for the queue (bytes).
    pub(crate) limit: Option<u64>,
}

/// Kind of loss of a frame in the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loss {
    /// The switch refused the frame or removed it from its queue, as `event` states.
    Switch { event: PacketEvent, port: u16, queue: u8, reason: DropReason, held: Held },
    /// The frame waited to be sent through a port when the switch ended.
    Unsent { port: u16 },
}

/// Result of the departure of a frame from the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Departure {
    /// The egress interface took the frame; the value is the frame's mark, if any.
    Sent(Option<Mark>),
    /// The egress interface did not accept the frame.
    Refused,
}

/// A congestion mark that the switch set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) queue: u8,
    pub(crate) on_arrival: bool,
    pub(crate) held: Held,
}

/// Arrival of a frame: ingress port, time and number of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    port: u16,
    at_ns: u64,
    number: u64,
}

#[derive(Clone, Copy, Debug)]
enum CaptureEvent {
    /// The frame arrived, and may have been discarded before admission.
    Received { origin: Origin, discarded: Option<Discard> },
    /// A frame whose arrival was reported earlier was lost.
    Lost { origin: Origin, loss: Loss },
    /// A frame was lost after its arrival had been written to the capture.
    LostLate { loss: Loss },
    /// The frame left the switch through a port.
    Left(Departure),
}

/// A captured frame on its way to the writing thread.
#[derive(Debug)]
struct Item {
    port: u16,
    at_ns: u64,
    event: CaptureEvent,
    original_bytes: u32,
    /// Captured bytes of the frame, as a range of the batch's bytes.
    range: std::ops::Range<usize>,
    /// Number of frames of the port that the capture omitted before this frame.
    left_out: u64,
}

/// A received frame of which some copies are still in the switch.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Number of copies of the frame that are still stored in the switch.
    copies: u32,
    is_left_out: bool,
}

#[derive(Debug, Default)]
struct Batch {
    items: Vec<Item>,
    bytes: Vec<u8>,
    /// Time until which later batches have no frames, except frames that were read late (ns).
    until_ns: u64,
    /// Number of the first received frame that is neither sent nor lost yet.
    settled: u64,
}

/// A message to the thread that writes captures.
#[derive(Debug)]
enum Message {
    Batch(Batch),
    /// The capture ends; the files get the counts of each port, and then their final names.
    End {
        span_ns: (u64, u64),
        tallies: Vec<Tallies>,
        left_out: Vec<u64>,
    },
}

/// Counts and files of a finished capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureReport {
    /// Number of frames in all capture files.
    pub frames: u64,
    /// Number of frames that are in no file, because the disk was too slow.
    pub left_out: u64,
    /// Paths of the capture files, by port.
    pub files: Vec<PathBuf>,
}

/// Writer of captures, one file for every port.
#[derive(Debug)]
pub struct CaptureWriter {
    /// Capture files, until [`Self::begin`] gives the files to the writing thread.
    files: Option<Files<BufWriter<File>>>,
    /// Channel to the writing thread, from [`Self::begin`] until the end of the capture.
    to: Option<Sender<Message>>,
    /// Channel that returns written batches, which are free for new frames.
    spare: Receiver<Batch>,
    thread: Option<JoinHandle<io::Result<CaptureReport>>>,
    batch: Option<Batch>,
    /// Number of bytes that the capture stores of each frame.
    snapshot_bytes: usize,
    /// Received frames that are neither sent nor lost yet, beginning with frame number `first`.
    open: VecDeque<Open>,
    first: u64,
    /// Number of frames omitted from the capture since the last captured frame, by port.
    missing: Vec<u64>,
    /// Number of frames omitted from the capture, by port.
    left_out: Vec<u64>,
    /// Time at which the switch's clock was zero (ns since 1970).
    epoch_ns: u64,
    /// Time until which the thread has all frames, except frames that the switch reads late.
    settled: Time,
    now: Time,
    /// Time at which the switch last gave a batch to the writing thread.
    handed: Time,
}

impl CaptureWriter {
    /// Creates `folder`, and in the folder a capture for each port of `file`: `eth1.pcapng` and so
    /// on. Until the files are complete, their names are `eth1.pcapng.partial` and so on.
    /// `snapshot_bytes` limits the captured bytes per frame; 0 means no limit.
    ///
    /// # Errors
    /// If the folder or a file cannot be written.
    pub fn create(folder: &Path, file: &SwitchFile, snapshot_bytes: u32) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let files = Files::create(folder, file, snapshot_bytes)?;
        let mut capture = Self::new(file.ports.len(), snapshot_bytes);
        capture.files = Some(files);
        Ok(capture)
    }

    /// Creates a writer that has no files and no thread.
    fn new(ports: usize, snapshot_bytes: u32) -> Self {
        let (_, spare) = channel();
        let snapshot_bytes = if snapshot_bytes == 0 { usize::MAX } else { snapshot_bytes as usize };
        Self {
            files: None,
            to: None,
            spare,
            thread: None,
            batch: None,
            snapshot_bytes,
            open: VecDeque::new(),
            first: 0,
            missing: vec![0; ports],
            left_out: vec![0; ports],
            epoch_ns: 0,
            settled: Time::ZERO,
            now: Time::ZERO,
            handed: Time::ZERO,
        }
    }

    /// Starts the thread that writes captures by the function `write`.
    fn start(
        &mut self,
        write: impl FnOnce(&Receiver<Message>, &Sender<Batch>) -> io::Result<CaptureReport> + Send + 'static,
    ) {
        let ((to, from), (back, spare)) = (channel(), channel());
        for _ in 0..BATCHES {
            back.send(Batch::default()).expect("the other end is here");
        }
        (self.to, self.spare) = (Some(to), spare);
        self.thread = Some(std::thread::spawn(move || {
            #[cfg(target_os = "linux")]
            crate::awake::take_usual_priority();
            write(&from, &back)
        }));
    }

    /// Keeps the right to rename files in a separate process, before this process gives up its
    /// rights.
    ///
    /// # Errors
    /// If no process can be started.
    #[cfg(target_os = "linux")]
    pub(crate) fn keep_names(&mut self) -> io::Result<()> {
        self.files.as_mut().map_or(Ok(()), Files::keep_names)
    }

    /// Whether `folder` has a capture of a port of `file`.
    #[must_use]
    pub fn is_in(folder: &Path, file: &SwitchFile) -> bool {
        file.ports.iter().any(|port| folder.join(writer::name(&port.interface)).exists())
    }

    /// Starts the capture. `epoch_ns` is time zero of the switch (ns since 1970). The thread has
    /// the rights of the calling thread, and normal priority.
    pub fn begin(&mut self, epoch_ns: u64) {
        self.epoch_ns = epoch_ns;
        if let Some(files) = self.files.take() {
            self.start(move |from, back| write(files, from, back));
        }
    }

    /// Number of frames that the capture omitted.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out.iter().sum()
    }

    /// Returns the identity of a frame that arrives on `port`, for later calls about its loss or
    /// departure.
    pub(crate) fn origin(&self, port: u16, at: Time) -> Origin {
        Origin { port, at_ns: self.epoch_ns + at.as_ns(), number: self.first + self.open.len() as u64 }
    }

    /// Captures the frame of the last [`Self::origin`], of which `copies` exist in the switch.
    pub(crate) fn received(
        &mut self,
        origin: Origin,
        discarded: Option<Discard>,
        copies: usize,
        frame: &[u8],
    ) {
        let event = CaptureEvent::Received { origin, discarded };
        let is_left_out = !self.put(origin.port, origin.at_ns, event, frame);
        self.open.push_back(Open { copies: copies as u32, is_left_out });
        if self.open.len() > OPEN {
            self.open.pop_front();
            self.first += 1;
        }
        self.forget_settled();
    }

    /// Captures the loss of a copy of a frame.
    pub(crate) fn lost(&mut self, origin: Origin, at: Time, loss: Loss, frame: &[u8]) {
        match self.opened(origin) {
            Some(open) if open.is_left_out => {}
            Some(_) => {
                self.put(origin.port, origin.at_ns, CaptureEvent::Lost { origin, loss }, &[]);
            }
            None => {
                self.put(origin.port, self.epoch_ns + at.as_ns(), CaptureEvent::LostLate { loss }, frame);
            }
        }
        self.settle(origin);
    }

    /// Captures the departure of a copy of a frame through `port`.
    pub(crate) fn left(&mut self, origin: Origin, port: u16, at: Time, departure: Departure, frame: &[u8]) {
        self.put(port, self.epoch_ns + at.as_ns(), CaptureEvent::Left(departure), frame);
        self.settle(origin);
    }

    fn opened(&mut self, origin: Origin) -> Option<&mut Open> {
        let index = origin.number.checked_sub(self.first)?;
        self.open.get_mut(index as usize)
    }

    fn settle(&mut self, origin: Origin) {
        if let Some(open) = self.opened(origin) {
            open.copies = open.copies.saturating_sub(1);
        }
        self.forget_settled();
    }

    fn forget_settled(&mut self) {
        while self.open.front().is_some_and(|open| open.copies == 0) {
            self.open.pop_front();
            self.first += 1;
        }
    }

    /// Adds a frame to the current batch, and returns false if no batch is free.
    fn put(&mut self, port: u16, at_ns: u64, event: CaptureEvent, frame: &[u8]) -> bool {
        let index = usize::from(port);
        if self.batch.is_none() {
            self.batch = self.spare.try_recv().ok();
        }
        let Some(batch) = &mut self.batch else {
            self.missing[index] += 1;
            self.left_out[index] += 1;
            return false;
        };
        let start = batch.bytes.len();
        batch.bytes.extend_from_slice(&frame[..frame.len().min(self.snapshot_bytes)]);
        batch.items.push(Item {
            port,
            at_ns,
            event,
            original_bytes: frame.len() as u32,
            range: start..batch.bytes.len(),
            left_out: std::mem::take(&mut self.missing[index]),
        });
        if batch.items.len() == BATCH {
            self.hand_over();
        }
        true
    }

    /// Advances the time to `now`, and gives all frames until the previous time to the writing
    /// thread.
    pub(crate) fn advance(&mut self, now: Time) {
        (self.settled, self.now) = (self.now, now);
        if now.saturating_sub(self.handed) >= LONGEST && self.batch.is_some() {
            self.handed = now;
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if let Some(mut batch) = self.batch.take() {
            batch.until_ns = self.epoch_ns + self.settled.as_ns();
            batch.settled = self.first;
            self.say(Message::Batch(batch));
        }
    }

    /// Ends the capture with the counts of each port, and waits until its files are written.
    ///
    /// # Errors
    /// If the capture could not be written completely; then no file gets its final name.
    pub fn finish(mut self, tallies: &[Tallies]) -> io::Result<CaptureReport> {
        self.hand_over();
        let span_ns = (self.epoch_ns, self.epoch_ns + self.now.as_ns());
        let left_out = std::mem::take(&mut self.left_out);
        self.say(Message::End { span_ns, tallies: tallies.to_vec(), left_out });
        self.join()
    }

    fn say(&self, message: Message) {
        // If the thread has ended, `finish` reports the thread's error.
        let _ = self.to.as_ref().map(|to| to.send(message));
    }

    fn join(&mut self) -> io::Result<CaptureReport> {
        self.to = None;
        let no_thread = || io::Error::other("it was ended before it began");
        let thread = self.thread.take().ok_or_else(no_thread)?;
        thread.join().map_err(|_| io::Error::other("the thread that writes it has panicked"))?
    }
}

impl Drop for CaptureWriter {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // The switch has failed and reports its error, so an error of the writing thread is
            // ignored. The thread removes the unfinished capture files.
            let _ = self.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    /// A simulated disk that blocks writes until the test releases it.
    #[derive(Clone)]
    struct Disk {
        may: Arc<Mutex<()>>,
        content: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _may = self.may.lock().expect("nobody panics");
            self.content.lock().expect("nobody panics").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_stands_still_delays_nothing_and_frames_that_are_left_out_are_counted() {
        let disk = Disk { may: Arc::default(), content: Arc::default() };
        let (own, mine) = (disk.clone(), disk.may.clone());
        let still = mine.lock().expect("nobody panics");
        let mut capture = CaptureWriter::new(1, 64);
        capture.start(move |from, back| {
            let interface = bufferlab_pcapng::Interface { name: "eth1", ..Default::default() };
            write(writer::Files::from_writers(vec![(own, interface)])?, from, back)
        });
        let (frames, began) = (100_000_u64, Instant::now());
        for index in 0..frames {
            let origin = capture.origin(0, Time::from_us(index));
            capture.received(origin, None, 0, &[0; 1_514]);
            capture.advance(Time::from_us(index));
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert!(capture.left_out() >= frames - ((BATCHES + 1) * BATCH) as u64, "{}", capture.left_out());
        drop(still);
        // After the disk works again, the next captured frame has the number of missing frames.
        while capture.missing[0] > 0 {
            let origin = capture.origin(0, Time::from_us(frames));
            capture.received(origin, None, 0, &[0; 1_514]);
            std::thread::sleep(Duration::from_millis(1));
        }
        let report = capture.finish(&[Tallies::default()]).expect("memory can be written");
        let bytes = disk.content.lock().expect("nobody panics").clone();
        let mut reader = pcap_file::pcapng::PcapNgReader::new(&bytes[..]).expect("a capture");
        let (mut seen, mut missing) = (0, 0);
        while let Some(block) = reader.next_block() {
            let Ok(pcap_file::pcapng::Block::EnhancedPacket(packet)) = block else { continue };
            assert_eq!((packet.data.len(), packet.original_len), (64, 1_514));
            seen += 1;
            for option in &packet.options {
                if let pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption::DropCount(count) =
                    option
                {
                    missing += count;
                }
            }
        }
        assert_eq!((seen, missing), (report.frames, report.left_out));
        assert!(seen + missing > frames && missing > 0, "{seen} {missing}");
    }
}
