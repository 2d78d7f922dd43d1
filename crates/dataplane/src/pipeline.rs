//! A switch without sockets: its inputs and outputs are frames with their times.

use crate::addresses::{AddressTable, Forward};
use crate::capture::{CaptureReport, CaptureWriter, Departure, Held, Loss, Mark, Origin};
use crate::config::SwitchFile;
use crate::driver::{Core, Departing, Driver, Incoming, PacketEvents};
use crate::frame::{self, Headers, SMALLEST_BYTES};
use crate::lateness::Durations;
use crate::peaks::Peaks;
use crate::record::{Fate, RecordWriter, Recorded};
use crate::tallies::{Discard, Tallies};
use bufferlab_core::{
    Buffer, BuildError, DropReason, Header, PacketEvent, PolicyFailure, QueueId, Refusal, Tags,
};
use bufferlab_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// A frame that an egress port must send: its last bit leaves at the time `at`.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// Time at which the neighbour should have the whole frame.
    pub at: Time,
    /// Number of the slot that has the frame; see [`Pipeline::frame`].
    id: u32,
}

/// Frames by slot number. The switch reuses the memory of slots.
#[derive(Debug, Default)]
struct Frames {
    frames: Vec<Vec<u8>>,
    rows: Vec<Recorded>,
    /// Ingress port and arrival of each frame, for a capture. `marks` has the marks of the switch.
    origins: Vec<Option<Origin>>,
    marks: Vec<Option<Mark>>,
    free: Vec<u32>,
}

impl Frames {
    fn insert(&mut self, content: &[u8], row: Recorded, origin: Option<Origin>) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.frames.push(Vec::new());
            self.rows.push(row);
            self.origins.push(None);
            self.marks.push(None);
            (self.frames.len() - 1) as u32
        });
        let frame = &mut self.frames[id as usize];
        frame.clear();
        frame.extend_from_slice(content);
        self.rows[id as usize] = row;
        (self.origins[id as usize], self.marks[id as usize]) = (origin, None);
        id
    }
}

/// Number of packets that a port lost, by reason.
type Losses = BTreeMap<&'static str, u64>;

/// Receiver of the core's decisions: a sent frame waits for the end of its transmission, a lost
/// frame frees its slot.
struct Outcome<'a> {
    frames: &'a mut Frames,
    due: &'a mut [VecDeque<Due>],
    record: &'a mut Option<RecordWriter>,
    capture: &'a mut Option<CaptureWriter>,
    losses: &'a mut [Losses],
    peaks: &'a mut Peaks,
    stays: &'a mut Vec<Durations>,
}

impl Outcome<'_> {
    fn end(&mut self, id: u32, fate: Fate) {
        let row = &mut self.frames.rows[id as usize];
        row.fate = fate;
        if let Some(reason) = fate.loss() {
            *self.losses[usize::from(row.incoming.egress)].entry(reason.name()).or_insert(0) += 1;
        }
        if let Some(record) = self.record {
            record.write(row);
        }
    }

    /// Writes the loss of a frame to the capture of the ingress port.
    fn capture(&mut self, id: u32, at: Time, loss: Loss) {
        if let (Some(capture), Some(origin)) = (self.capture.as_mut(), self.frames.origins[id as usize]) {
            capture.lost(origin, at, loss, &self.frames.frames[id as usize]);
        }
    }

    /// Marks a frame as congested, and stores the mark for the capture.
    fn mark(&mut self, id: u32, queue: QueueId, on_arrival: bool, core: &Core) {
        frame::mark(&mut self.frames.frames[id as usize]);
        if self.capture.is_some() {
            let (_, number) = core.buffer().port_and_priority(queue);
            self.frames.marks[id as usize] =
                Some(Mark { queue: number, on_arrival, held: held(queue, core) });
        }
    }
}

/// Returns the state of the buffer and of `queue`, with its threshold.
fn held(queue: QueueId, core: &Core) -> Held {
    let limit = core.threshold(queue, Tags::NONE);
    Held { limit, ..bytes_of(queue, core.buffer()) }
}

fn bytes_of(queue: QueueId, buffer: &Buffer) -> Held {
    Held { queue_bytes: buffer.queue_bytes(queue), buffer_bytes: buffer.occupancy(), limit: None }
}

impl PacketEvents for Outcome<'_> {
    fn stored(&mut self, id: u32, queue: QueueId, marked: bool, core: &Core) {
        let buffer = core.buffer();
        self.peaks.see(usize::from(queue.0), buffer.queue_bytes(queue), buffer.occupancy());
        let row = &mut self.frames.rows[id as usize];
        row.queue = buffer.port_and_priority(queue).1;
        if marked {
            row.fate = Fate::Sent { at: Time::ZERO, marked };
            self.mark(id, queue, true, core);
        }
    }

    fn refused(&mut self, id: u32, queue: QueueId, refusal: Refusal, core: &Core) {
        let row = &mut self.frames.rows[id as usize];
        row.queue = core.buffer().port_and_priority(queue).1;
        let (at, port, number) = (row.incoming.at, row.incoming.egress, row.queue);
        self.end(id, Fate::Refused(refusal));
        if self.capture.is_some() {
            let Refusal { outcome: event, reason } = refusal;
            let held = held(queue, core);
            self.capture(id, at, Loss::Switch { event, port, queue: number, reason, held });
        }
        self.frames.free.push(id);
    }

    fn evicted(&mut self, id: u32, queue: QueueId, at: Time, reason: DropReason, buffer: &Buffer) {
        self.end(id, Fate::Evicted { at, reason });
        let (port, number) = buffer.port_and_priority(queue);
        // The threshold is unknown: the policy is busy evicting and cannot be queried.
        let (event, held) = (PacketEvent::Evicted, bytes_of(queue, buffer));
        self.capture(id, at, Loss::Switch { event, port, queue: number, reason, held });
        self.frames.free.push(id);
    }

    fn sent(&mut self, departing: Departing, core: &Core) {
        let Departing { id, port, starts, ends, marked } = departing;
        let row = &self.frames.rows[id as usize];
        let was_marked = matches!(row.fate, Fate::Sent { marked: true, .. });
        let queue = core.buffer().queue_of(port, row.queue);
        let stay = &mut self.stays[usize::from(queue.0)];
        stay.add(starts.saturating_sub(row.incoming.at).as_ns());
        if marked {
            self.mark(id, queue, false, core);
        }
        self.end(id, Fate::Sent { at: starts, marked: marked || was_marked });
        self.due[usize::from(port)].push_back(Due { at: ends, id });
    }
}

/// Pipeline of header parser, address table, delay line and [`Driver`].
#[derive(Debug)]
pub struct Pipeline {
    driver: Driver,
    table: AddressTable,
    priority_of: [u8; 64],
    priority_of_tag: [Option<u8>; 8],
    delay: Time,
    overhead: u32,
    largest: usize,
    /// Packets in the delay line, in the order of their arrival times.
    pending: VecDeque<(Incoming, u32)>,
    frames: Frames,
    due: Vec<VecDeque<Due>>,
    tallies: Vec<Tallies>,
    /// Numbers of lost packets, by port and reason.
    losses: Vec<Losses>,
    peaks: Peaks,
    /// Durations that sent packets spent in the buffer, by queue of the packet.
    stays: Vec<Durations>,
    record: Option<RecordWriter>,
    capture: Option<CaptureWriter>,
}

impl Pipeline {
    /// Creates the switch that `file` describes, in its initial state.
    ///
    /// # Errors
    /// Returns the errors of [`crate::core_of`].
    pub fn new(file: &SwitchFile, record: Option<RecordWriter>) -> Result<Self, BuildError> {
        let forwarding = &file.forwarding;
        let mut table = AddressTable::new(
            forwarding.learn,
            forwarding.forget_after,
            forwarding.addresses_max,
            forwarding.flood_limit,
        );
        for (port, spec) in (0..).zip(&file.ports) {
            for &address in &spec.addresses {
                table.give(address, port);
            }
        }
        let ports = file.ports.len();
        let driver = Driver::new(&file.scenario)?;
        Ok(Self {
            stays: vec![Durations::default(); driver.core().buffer().queue_ids().count()],
            driver,
            table,
            priority_of: forwarding.priority_of,
            priority_of_tag: forwarding.priority_of_tag,
            delay: forwarding.delay,
            overhead: forwarding.overhead_bytes,
            largest: forwarding.largest_frame,
            pending: VecDeque::new(),
            frames: Frames::default(),
            due: vec![VecDeque::new(); ports],
            tallies: vec![Tallies::default(); ports],
            losses: vec![Losses::new(); ports],
            peaks: Peaks::default(),
            record,
            capture: None,
        })
    }

    /// Adds a capture of all ports to the pipeline.
    #[must_use]
    pub fn with_capture(mut self, capture: Option<CaptureWriter>) -> Self {
        self.capture = capture;
        self
    }

    /// Sets a capture like [`Self::with_capture`], for an existing pipeline.
    #[cfg(target_os = "linux")]
    pub(crate) fn set_capture(&mut self, capture: Option<CaptureWriter>) {
        self.capture = capture;
    }

    /// Flushes the record, and writes the time until which the record is complete.
    pub fn mark_record(&mut self) {
        let Some(record) = &mut self.record else { return };
        let open = self.frames.rows.iter().filter(|row| !row.is_settled()).map(|row| row.incoming.at).min();
        record.mark(self.driver.earliest().min(open.unwrap_or(Time::MAX)));
    }

    /// Driver of the core switch in this pipeline.
    #[must_use]
    pub const fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Frame counts of all ports, in the order of port numbers.
    #[must_use]
    pub fn tallies(&self) -> &[Tallies] {
        &self.tallies
    }

    /// Frame counts of `port`, which the module `shell` updates.
    pub fn tallies_mut(&mut self, port: u16) -> &mut Tallies {
        &mut self.tallies[usize::from(port)]
    }

    /// Number of packets of `port`'s queues that the core refused or evicted, by reason.
    pub fn losses_of(&self, port: usize) -> impl Iterator<Item = (&'static str, u64)> {
        self.losses[port].iter().map(|(reason, packets)| (*reason, *packets))
    }

    /// Number of packets of all queues that the core refused or evicted, by reason.
    #[must_use]
    pub fn losses(&self) -> BTreeMap<&'static str, u64> {
        let mut all = Losses::new();
        for (reason, packets) in self.losses.iter().flatten() {
            *all.entry(*reason).or_insert(0) += packets;
        }
        all
    }

    /// Peak occupancy of buffer and queues since the last call of [`Self::forget_peaks`].
    #[must_use]
    pub const fn peaks(&self) -> &Peaks {
        &self.peaks
    }

    /// Durations in the buffer of packets that left queue `index`.
    #[must_use]
    pub fn stays(&self, index: usize) -> &Durations {
        &self.stays[index]
    }

    /// Starts a new interval for the peaks of buffer and queues.
    pub fn forget_peaks(&mut self) {
        self.peaks.clear();
    }

    /// Number of frames that the capture omitted; `None` without a capture.
    #[must_use]
    pub fn left_out(&self) -> Option<u64> {
        self.capture.as_ref().map(CaptureWriter::left_out)
    }

    /// Returns a failure of the policy once; later calls return `None`.
    #[must_use]
    pub fn take_failure(&mut self) -> Option<PolicyFailure> {
        self.driver.take_failure()
    }

    /// Receives `frame` (without check sequence) on `port` at the time `at`. Frames must arrive in
    /// the order of time.
    ///
    /// # Errors
    /// The reason for discarding the frame; the pipeline has counted the frame.
    pub fn receive(&mut self, port: u16, at: Time, frame: &[u8]) -> Result<(), Discard> {
        let tallies = &mut self.tallies[usize::from(port)];
        tallies.received += 1;
        tallies.received_bytes += frame.len() as u64;
        let origin = self.capture.as_ref().map(|capture| capture.origin(port, at));
        let before = self.pending.len();
        let taken = self.take(port, at, frame, origin);
        if let Err(why) = taken {
            self.tallies[usize::from(port)].discard(why);
        }
        if let (Some(capture), Some(origin)) = (&mut self.capture, origin) {
            capture.received(origin, taken.err(), self.pending.len() - before, frame);
        }
        taken
    }

    fn take(&mut self, port: u16, at: Time, frame: &[u8], origin: Option<Origin>) -> Result<(), Discard> {
        if frame.len() > self.largest + frame::tag_bytes(frame) {
            return Err(Discard::Jumbo);
        }
        let headers = frame::read(frame)?;
        let incoming = Incoming {
            at: at + self.delay,
            header: Header {
                size: frame.len().max(SMALLEST_BYTES) as u32 + self.overhead,
                priority: self.priority(&headers),
                ..headers.packet
            },
            ingress: port,
            egress: port,
        };
        match self.table.forward(at, port, headers.from, headers.to)? {
            Forward::To(egress) => self.delay(Incoming { egress, ..incoming }, frame, origin),
            Forward::Flood => {
                self.tallies[usize::from(port)].flooded += 1;
                for egress in (0..self.tallies.len() as u16).filter(|&egress| egress != port) {
                    self.delay(Incoming { egress, ..incoming }, frame, origin);
                }
            }
        }
        Ok(())
    }

    /// Priority of a frame: from its tag if the tag's priority is configured, otherwise
    /// from the code point.
    fn priority(&self, headers: &Headers) -> u8 {
        let of_tag = headers.tag_priority.and_then(|tag| self.priority_of_tag[usize::from(tag)]);
        of_tag.unwrap_or(self.priority_of[usize::from(headers.code_point)])
    }

    fn delay(&mut self, incoming: Incoming, frame: &[u8], origin: Option<Origin>) {
        let row = Recorded {
            incoming,
            queue: 0,
            // The recorded fate of the packet is preliminary until the packet leaves or is lost.
            fate: Fate::Sent { at: Time::ZERO, marked: false },
        };
        let id = self.frames.insert(frame, row, origin);
        self.pending.push_back((incoming, id));
    }

    /// Advances the time to `now`, and handles every arrival and departure that is due.
    pub fn advance(&mut self, now: Time) {
        let Self { driver, pending, frames, due, record, capture, losses, peaks, stays, .. } = self;
        if let Some(capture) = capture {
            capture.advance(now);
        }
        let mut outcome = Outcome { frames, due, record, capture, losses, peaks, stays };
        while let Some(&(incoming, id)) = pending.front().filter(|(incoming, _)| incoming.at <= now) {
            pending.pop_front();
            // The arrival time is computed before the admission, because a refusal writes the row
            // of the record.
            let at = incoming.at.max(driver.earliest());
            outcome.frames.rows[id as usize].incoming.at = at;
            let counted = driver.arrive(id, &incoming, &mut outcome);
            debug_assert_eq!(counted, at, "an arrival counts when the driver said");
        }
        driver.advance(now, &mut outcome);
    }

    /// Sends all stored and delayed packets without waiting for their times.
    pub fn finish(&mut self) {
        if let Some(last) = self.pending.back().map(|(incoming, _)| incoming.at) {
            self.advance(last);
        }
        let Self { driver, frames, due, record, capture, losses, peaks, stays, .. } = self;
        driver.finish(&mut Outcome { frames, due, record, capture, losses, peaks, stays });
    }

    /// Time of the pipeline's next decision or departure.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        let due = self.due.iter().filter_map(|due| due.front()).map(|due| due.at).min();
        let arrival = self.pending.front().map(|(incoming, _)| incoming.at);
        [due, arrival, self.driver.next_end()].into_iter().flatten().min()
    }

    /// Returns the next frame that `port` must send by `now`, or `None` if there is no such frame.
    /// After the interface took or refused the frame, call [`Self::handed_over`].
    #[must_use]
    pub fn next_due(&mut self, port: u16, now: Time) -> Option<Due> {
        let due = &mut self.due[usize::from(port)];
        due.front().is_some_and(|due| due.at <= now).then(|| due.pop_front()).flatten()
    }

    /// Returns the bytes of a frame that an egress port must send.
    #[must_use]
    pub fn frame(&self, due: Due) -> &[u8] {
        &self.frames.frames[due.id as usize]
    }

    /// Records whether the interface of `port` took or refused the frame `due`.
    pub fn handed_over(&mut self, port: u16, due: Due, taken: bool) {
        let (frame, tallies) = (&self.frames.frames[due.id as usize], &mut self.tallies[usize::from(port)]);
        if taken {
            tallies.sent += 1;
            tallies.sent_bytes += frame.len() as u64;
        } else {
            tallies.refused += 1;
        }
        if let (Some(capture), Some(origin)) = (&mut self.capture, self.frames.origins[due.id as usize]) {
            let mark = self.frames.marks[due.id as usize];
            let departure = if taken { Departure::Sent(mark) } else { Departure::Refused };
            capture.left(origin, port, due.at, departure, frame);
        }
        self.frames.free.push(due.id);
    }

    /// Ends the capture, if the pipeline has one, and waits until the capture is written. The
    /// pipeline does not send frames that are still waiting.
    ///
    /// # Errors
    /// If the capture could not be written completely.
    pub fn end_capture(&mut self) -> std::io::Result<Option<CaptureReport>> {
        let Some(mut capture) = self.capture.take() else { return Ok(None) };
        for (port, due) in (0..).zip(&mut self.due) {
            for due in due.drain(..) {
                if let Some(origin) = self.frames.origins[due.id as usize] {
                    capture.lost(origin, due.at, Loss::Unsent { port }, &self.frames.frames[due.id as usize]);
                }
                self.frames.free.push(due.id);
            }
        }
        capture.finish(&self.tallies).map(Some)
    }

    /// Ends the record of packets, which then is complete.
    ///
    /// # Errors
    /// If the record could not be written completely.
    pub fn close(&mut self) -> std::io::Result<()> {
        self.record.take().map_or(Ok(()), RecordWriter::finish)
    }
}
