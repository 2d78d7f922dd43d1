//! A switch without its sockets: frames with their times go in, frames with their times come out.

use crate::addresses::{AddressTable, Forward};
use crate::config::SwitchFile;
use crate::driver::{Departing, Driver, Incoming, Wire};
use crate::frame::{self, SMALLEST_BYTES};
use crate::record::{Fate, RecordWriter, Recorded};
use crate::tallies::{Discard, Tallies};
use bufferlab_core::{BuildError, DropReason, Ecn, PolicyFailure};
use bufferlab_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// A frame whose last bit leaves at `at`.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// When it is to be handed to the neighbour.
    pub at: Time,
    /// Its slot; see [`Pipeline::frame`].
    id: u32,
}

/// Frames by their slots. Buffers are used again.
#[derive(Debug, Default)]
struct Frames {
    frames: Vec<Vec<u8>>,
    rows: Vec<Recorded>,
    free: Vec<u32>,
}

impl Frames {
    fn insert(&mut self, content: &[u8], row: Recorded) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.frames.push(Vec::new());
            self.rows.push(row);
            (self.frames.len() - 1) as u32
        });
        let frame = &mut self.frames[id as usize];
        frame.clear();
        frame.extend_from_slice(content);
        self.rows[id as usize] = row;
        id
    }
}

/// What becomes of frames: those that leave wait for their time, those that are lost make room.
struct Outcome<'a> {
    frames: &'a mut Frames,
    due: &'a mut [VecDeque<Due>],
    record: &'a mut Option<RecordWriter>,
    losses: &'a mut BTreeMap<&'static str, u64>,
}

impl Outcome<'_> {
    fn end(&mut self, id: u32, fate: Fate) {
        let row = &mut self.frames.rows[id as usize];
        row.fate = fate;
        if let Fate::Dropped(reason) | Fate::Evicted { reason, .. } = fate {
            *self.losses.entry(reason.name()).or_insert(0) += 1;
        }
        if let Some(record) = self.record {
            record.write(row);
        }
    }
}

impl Wire for Outcome<'_> {
    fn stored(&mut self, id: u32, queue: u8, marked: bool) {
        self.frames.rows[id as usize].queue = queue;
        if marked {
            self.frames.rows[id as usize].fate = Fate::Sent { at: Time::ZERO, marked };
            frame::mark(&mut self.frames.frames[id as usize]);
        }
    }

    fn dropped(&mut self, id: u32, queue: u8, reason: DropReason) {
        self.frames.rows[id as usize].queue = queue;
        self.end(id, Fate::Dropped(reason));
        self.frames.free.push(id);
    }

    fn evicted(&mut self, id: u32, at: Time, reason: DropReason) {
        self.end(id, Fate::Evicted { at, reason });
        self.frames.free.push(id);
    }

    fn sent(&mut self, departing: Departing) {
        let Departing { id, port, starts, ends, marked } = departing;
        if marked {
            frame::mark(&mut self.frames.frames[id as usize]);
        }
        let was_marked = matches!(self.frames.rows[id as usize].fate, Fate::Sent { marked: true, .. });
        self.end(id, Fate::Sent { at: starts, marked: marked || was_marked });
        self.due[usize::from(port)].push_back(Due { at: ends, id });
    }
}

/// Headers, addresses, the delay line and the [`Driver`].
#[derive(Debug)]
pub struct Pipeline {
    driver: Driver,
    table: AddressTable,
    priority_of: [u8; 64],
    delay: Time,
    overhead: u32,
    largest: usize,
    /// In the delay line, by time.
    pending: VecDeque<(Incoming, u32)>,
    frames: Frames,
    due: Vec<VecDeque<Due>>,
    tallies: Vec<Tallies>,
    /// Lost packets by reason.
    losses: BTreeMap<&'static str, u64>,
    record: Option<RecordWriter>,
}

impl Pipeline {
    /// The switch of a file, as it begins.
    ///
    /// # Errors
    /// As [`crate::core_of`].
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
        Ok(Self {
            driver: Driver::new(&file.scenario)?,
            table,
            priority_of: forwarding.priority_of,
            delay: forwarding.delay,
            overhead: forwarding.overhead_bytes,
            largest: forwarding.largest_frame,
            pending: VecDeque::new(),
            frames: Frames::default(),
            due: vec![VecDeque::new(); ports],
            tallies: vec![Tallies::default(); ports],
            losses: BTreeMap::new(),
            record,
        })
    }

    /// What decides.
    #[must_use]
    pub const fn driver(&self) -> &Driver {
        &self.driver
    }

    /// By port.
    #[must_use]
    pub fn tallies(&self) -> &[Tallies] {
        &self.tallies
    }

    /// The same, for whoever moves the frames.
    pub fn tallies_mut(&mut self, port: u16) -> &mut Tallies {
        &mut self.tallies[usize::from(port)]
    }

    /// Packets that the core refused or evicted, by reason.
    pub fn losses(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.losses.iter().map(|(reason, packets)| (*reason, *packets))
    }

    /// What is wrong with the policy, once.
    #[must_use]
    pub fn take_failure(&mut self) -> Option<PolicyFailure> {
        self.driver.take_failure()
    }

    /// `frame` (without check sequence) was received through `port` at `at`. Frames come in the order of time.
    ///
    /// # Errors
    /// Why it was discarded; it has been counted.
    pub fn receive(&mut self, port: u16, at: Time, frame: &[u8]) -> Result<(), Discard> {
        let tallies = &mut self.tallies[usize::from(port)];
        tallies.received += 1;
        tallies.received_bytes += frame.len() as u64;
        let taken = self.take(port, at, frame);
        if let Err(why) = taken {
            self.tallies[usize::from(port)].discard(why);
        }
        taken
    }

    fn take(&mut self, port: u16, at: Time, frame: &[u8]) -> Result<(), Discard> {
        if frame.len() > self.largest {
            return Err(Discard::Jumbo);
        }
        let headers = frame::read(frame)?;
        let incoming = Incoming {
            at: at + self.delay,
            ingress: port,
            egress: port,
            wire: frame.len().max(SMALLEST_BYTES) as u32 + self.overhead,
            priority: self.priority_of[usize::from(headers.code_point)],
            flow: headers.flow,
            ecn: headers.ecn,
        };
        match self.table.forward(at, port, headers.from, headers.to)? {
            Forward::To(egress) => self.delay(Incoming { egress, ..incoming }, frame),
            Forward::Flood => {
                self.tallies[usize::from(port)].flooded += 1;
                for egress in (0..self.tallies.len() as u16).filter(|&egress| egress != port) {
                    self.delay(Incoming { egress, ..incoming }, frame);
                }
            }
        }
        Ok(())
    }

    fn delay(&mut self, incoming: Incoming, frame: &[u8]) {
        let row = Recorded {
            incoming,
            queue: 0,
            // Until it is known otherwise: not marked yet.
            fate: Fate::Sent { at: Time::ZERO, marked: false },
        };
        let id = self.frames.insert(frame, row);
        self.pending.push_back((incoming, id));
    }

    /// Time has reached `now`: all that is due is decided.
    pub fn advance(&mut self, now: Time) {
        let Self { driver, pending, frames, due, record, losses, .. } = self;
        let mut outcome = Outcome { frames, due, record, losses };
        while let Some(&(incoming, id)) = pending.front().filter(|(incoming, _)| incoming.at <= now) {
            pending.pop_front();
            // Known before the core is asked, because a refusal writes the row.
            let at = incoming.at.max(driver.earliest());
            outcome.frames.rows[id as usize].incoming.at = at;
            let counted = driver.arrive(id, &incoming, &mut outcome);
            debug_assert_eq!(counted, at, "an arrival counts when the driver said");
        }
        driver.advance(now, &mut outcome);
    }

    /// All that is stored or delayed is sent, however late that is.
    pub fn finish(&mut self) {
        if let Some(last) = self.pending.back().map(|(incoming, _)| incoming.at) {
            self.advance(last);
        }
        let Self { driver, frames, due, record, losses, .. } = self;
        driver.finish(&mut Outcome { frames, due, record, losses });
    }

    /// When something must be decided or sent next.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        let due = self.due.iter().filter_map(|due| due.front()).map(|due| due.at).min();
        let arrival = self.pending.front().map(|(incoming, _)| incoming.at);
        [due, arrival, self.driver.next_end()].into_iter().flatten().min()
    }

    /// The frame of `port` that must be with its neighbour by `now`, if there is one. [`Self::release`] it when it is sent.
    #[must_use]
    pub fn next_due(&mut self, port: u16, now: Time) -> Option<Due> {
        let due = &mut self.due[usize::from(port)];
        due.front().is_some_and(|due| due.at <= now).then(|| due.pop_front()).flatten()
    }

    /// The content of a frame that is due.
    #[must_use]
    pub fn frame(&self, due: Due) -> &[u8] {
        &self.frames.frames[due.id as usize]
    }

    /// `due` is gone.
    pub fn release(&mut self, due: Due) {
        self.frames.free.push(due.id);
    }

    /// Ends the record.
    ///
    /// # Errors
    /// If it could not be written as a whole.
    pub fn close(self) -> std::io::Result<()> {
        self.record.map_or(Ok(()), RecordWriter::finish)
    }
}

impl Incoming {
    /// The word for its ECN bits in a record.
    pub(crate) const fn ecn_word(&self) -> &'static str {
        match self.ecn {
            Ecn::NotCapable => "no",
            Ecn::Capable => "capable",
            Ecn::Marked => "marked",
        }
    }
}
