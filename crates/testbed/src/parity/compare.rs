//! Compares the real switch's verdicts on packets with the simulator's verdicts.

use bufferlab_core::{DropReason, Refusal};
use bufferlab_dataplane::{Fate, Recorded};
use bufferlab_metrics::{DropRow, FlowRow};
use bufferlab_units::Time;
use std::collections::BTreeMap;
use std::fmt;

/// Number of lost packets by port, queue and reason.
type Losses = BTreeMap<(u16, u8, &'static str), u64>;

/// Outcome of one packet in the simulator: transit time, mark or loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answer {
    /// Time from the first bit at the sending host to the last bit at the receiver (ns); `None` if
    /// the packet was lost.
    took_ns: Option<u64>,
    marked: bool,
    /// Whether the simulator wrote a table row for the packet.
    known: bool,
}

/// Outcomes of all packets in the simulator, and numbers of losses.
#[derive(Debug)]
pub(crate) struct Answers {
    packets: Vec<Answer>,
    losses: Losses,
}

impl Answers {
    pub(crate) fn new(packets: usize) -> Self {
        Self { packets: vec![Answer::default(); packets], losses: Losses::new() }
    }

    /// Records the outcome of a flow of the simulator, which is one packet of the record. Flows are
    /// numbered by their starts, in the order of the packets' arrivals.
    pub(crate) fn note_flow(&mut self, row: &FlowRow) {
        let answer = &mut self.packets[row.flow_id as usize];
        *answer = Answer { took_ns: row.fct_ns, marked: row.marked_packets > 0, known: true };
    }

    pub(crate) fn note_drops(&mut self, row: &DropRow) {
        *self.losses.entry((row.port, row.priority, row.reason)).or_insert(0) += row.packets;
    }
}

/// A packet for which the switch and the simulator disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the packet in the record, from 0.
    pub packet: Option<usize>,
    /// Kind of difference: "queue", "verdict", "mark", "departure" or "losses".
    pub what: &'static str,
    /// Decision of the switch about the packet, as text.
    pub switch: String,
    /// Decision of the simulator about the packet, as text.
    pub simulator: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(packet) = self.packet {
            write!(f, "packet {packet}: ")?;
        }
        write!(f, "{}: switch {}, simulator {}", self.what, self.switch, self.simulator)
    }
}

/// Result of the comparison: numbers of packets, and the differences.
#[derive(Clone, Debug)]
pub struct Comparison {
    rows: Vec<Recorded>,
    /// Time from which on decisions about packets are not compared.
    until: Time,
    /// Number of packets in the switch's record.
    pub packets: usize,
    /// Number of packets whose decisions are before the time limit, so that they are compared.
    pub compared: usize,
    /// Number of compared packets that the switch sent.
    pub sent: usize,
    /// Number of compared packets that were sent with a mark of the switch.
    pub marked: usize,
    /// Number of compared packets that the switch refused.
    pub dropped: usize,
    /// Number of compared packets that the switch evicted.
    pub evicted: usize,
    /// Number of differences between switch and simulator.
    pub differences: usize,
    /// The first differences between switch and simulator, at most `KEPT`.
    pub first: Vec<Difference>,
}

/// Maximum number of differences that a comparison stores in detail.
const KEPT: usize = 10;

impl Comparison {
    pub(crate) fn new(rows: &[Recorded], until: Time) -> Self {
        let count = |is: fn(&Fate) -> bool| rows.iter().filter(|row| is(&row.fate)).count();
        Self {
            rows: rows.to_vec(),
            until,
            packets: rows.len(),
            compared: rows.iter().filter(|row| row.decided() < until).count(),
            sent: count(|fate| matches!(fate, Fate::Sent { .. })),
            marked: count(|fate| matches!(fate, Fate::Sent { marked: true, .. })),
            dropped: count(|fate| matches!(fate, Fate::Refused(_))),
            evicted: count(|fate| matches!(fate, Fate::Evicted { .. })),
            differences: 0,
            first: Vec::new(),
        }
    }

    fn check<T: PartialEq + fmt::Debug>(
        &mut self,
        packet: Option<usize>,
        what: &'static str,
        switch: T,
        simulator: T,
    ) {
        if switch == simulator {
            return;
        }
        self.differences += 1;
        if self.first.len() < KEPT {
            let (switch, simulator) = (format!("{switch:?}"), format!("{simulator:?}"));
            self.first.push(Difference { packet, what, switch, simulator });
        }
    }

    /// Compares the queues in the switch's record with the queues that a separate classifier
    /// selects.
    pub(crate) fn check_queues(&mut self, queues: &[u8]) {
        for (index, &queue) in queues.iter().enumerate() {
            if self.rows[index].decided() < self.until {
                self.check(Some(index), "queue", self.rows[index].queue, queue);
            }
        }
    }

    /// Compares the outcomes of all packets in the switch and in the simulator. `expected` gives
    /// the transit time of a packet that departs at the given time.
    pub(crate) fn check_answers(&mut self, answers: &Answers, expected: impl Fn(&Recorded, Time) -> u64) {
        let mut losses = Losses::new();
        for (index, answer) in answers.packets.iter().enumerate() {
            let row = self.rows[index];
            if row.decided() >= self.until {
                continue;
            }
            self.check(Some(index), "verdict", true, answer.known);
            let lost = |reason: DropReason| (row.incoming.egress, row.queue, reason.name());
            match row.fate {
                Fate::Sent { at, marked } => {
                    self.check(Some(index), "verdict", "sent", word(answer));
                    self.check(Some(index), "mark", marked, answer.marked);
                    if let Some(took) = answer.took_ns {
                        self.check(Some(index), "departure", expected(&row, at), took);
                    }
                }
                Fate::Refused(Refusal { reason, .. }) | Fate::Evicted { reason, .. } => {
                    self.check(Some(index), "verdict", "lost", word(answer));
                    *losses.entry(lost(reason)).or_insert(0) += 1;
                }
            }
        }
        // The simulator's counts of losses have no times, so only whole records can be compared.
        if self.until == Time::MAX {
            self.check(None, "losses", losses, answers.losses.clone());
        }
    }
}

fn word(answer: &Answer) -> &'static str {
    if answer.took_ns.is_some() { "sent" } else { "lost" }
}
