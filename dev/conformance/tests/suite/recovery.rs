//! Tests that TCP's sender and receiver follow the vectors of loss recovery, and that wrong
//! implementations fail the vectors.

use crate::support::{files, path};
use bufferlab_conformance::vectors::VectorCase;
use bufferlab_conformance::vectors::acks::{ReceiverCase, TcpReceiver};
use bufferlab_conformance::vectors::recovery::{SenderCase, TcpSender};
use bufferlab_transport::{Ack, CongestionStates, Phase, Receiver, Segment, Sender, TcpConfig, Window};
use bufferlab_units::Time;

fn sender_cases() -> Vec<SenderCase> {
    let load =
        |name: &String| SenderCase::load(&path("recovery", name)).unwrap_or_else(|error| panic!("{error}"));
    files("recovery").iter().flat_map(load).collect()
}

fn receiver_cases() -> Vec<ReceiverCase> {
    let load =
        |name: &String| ReceiverCase::load(&path("acks", name)).unwrap_or_else(|error| panic!("{error}"));
    files("acks").iter().flat_map(load).collect()
}

#[test]
fn the_sender_sends_what_its_vectors_say() {
    let mismatches = sender_cases().into_iter().filter_map(|case| case.run(&mut case.build()).err());
    let list: Vec<_> = mismatches.map(|mismatch| mismatch.to_string()).collect();
    assert!(list.is_empty(), "\n{}\n", list.join("\n"));
}

#[test]
fn the_receiver_acknowledges_what_its_vectors_say() {
    let mismatches = receiver_cases().into_iter().filter_map(|case| case.run(&mut case.build()).err());
    let list: Vec<_> = mismatches.map(|mismatch| mismatch.to_string()).collect();
    assert!(list.is_empty(), "\n{}\n", list.join("\n"));
}

/// Function that sets a wrong parameter of a TCP sender.
type Spoil = fn(&mut TcpConfig);

/// Returns the vector cases that a sender with wrong parameters fails.
fn caught_with(spoil: Spoil) -> Vec<String> {
    let fails = |case: &SenderCase| {
        let mut other = case.clone();
        spoil(&mut other.config);
        other.run(&mut other.build()).is_err()
    };
    sender_cases().into_iter().filter(fails).map(|case| case.head.name).collect()
}

#[test]
fn senders_with_a_wrong_parameter_are_caught() {
    assert_eq!(caught_with(|_| ()), [""; 0]);
    let spoils: [(&str, Spoil); 7] = [
        ("DCTCP's observation window ends", |c| c.states = CongestionStates::Ns3),
        ("two SACKed segments above a hole are not enough", |c| c.duplicate_threshold -= 1),
        ("without limited transmit a window of three waits", |c| c.limited_transmit = true),
        ("limited transmit sends a new segment", |c| c.limited_transmit = false),
        ("one loss: half of the flight", |c| c.proportional_rate_reduction = false),
        ("the timeout has a floor", |c| c.min_rto = Time::from_us(1)),
        ("timeouts double up to the largest", |c| c.max_rto = Time::from_ms(40)),
    ];
    for (name, spoil) in spoils {
        assert_noticed(name, &caught_with(spoil));
    }
}

fn assert_noticed(name: &str, caught: &[String]) {
    assert!(caught.iter().any(|case| case.starts_with(name)), "\"{name}\" did not notice; {caught:?} did");
}

/// Defects that the tests build into a TCP sender.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    None,
    /// The back-off after a lost SYN continues after the SYN-ACK.
    KeepsBackOff,
    IgnoresSacks,
    IgnoresMarks,
    /// A SACK without new cumulative data restarts the sender's timer.
    RestartsTimerOnSacks,
    /// The SYN-ACK gives no sample of the round-trip time.
    IgnoresSynAckRtt,
    /// The sender sends every retransmission twice.
    RepeatsRetransmissions,
    /// A timeout does not reduce the sender's window.
    IgnoresTimeouts,
    /// Each duplicate SYN-ACK opens the connection again.
    OpensTwice,
}

struct Defective {
    inner: Sender,
    defect: Defect,
    lost_syns: u32,
    acknowledged: bool,
    /// Wrong deadline that replaces the deadline of the inner sender.
    deadline: Option<Time>,
    again: Option<Segment>,
}

impl TcpSender for Defective {
    fn poll_transmit(&mut self, config: &TcpConfig, now: Time) -> Option<Segment> {
        if let Some(segment) = self.again.take() {
            return Some(segment);
        }
        let segment = self.inner.poll_transmit(config, now);
        if self.defect == Defect::RepeatsRetransmissions {
            self.again = segment.filter(|segment| segment.retransmission);
        }
        segment
    }
    fn handle_syn_ack(&mut self, now: Time, echo: Time) {
        match self.defect {
            Defect::IgnoresSynAckRtt => self.inner.skip_handshake(),
            Defect::OpensTwice if self.inner.phase() == Phase::Open => self.deadline = Some(Time::MAX),
            _ => self.inner.handle_syn_ack(now, echo),
        }
    }
    fn handle_ack(&mut self, config: &TcpConfig, now: Time, ack: &Ack) {
        let mut ack = *ack;
        match self.defect {
            Defect::IgnoresSacks => ack.sack = (0, 0),
            Defect::IgnoresMarks => ack.marked = false,
            Defect::RestartsTimerOnSacks if ack.sack.1 > 0 => self.deadline = Some(now + config.min_rto),
            _ => {}
        }
        self.acknowledged = true;
        self.inner.handle_ack(config, now, &ack);
    }
    fn handle_timeout(&mut self, config: &TcpConfig, now: Time) -> bool {
        self.lost_syns += u32::from(self.inner.phase() == Phase::Opening);
        if self.defect == Defect::IgnoresTimeouts {
            self.deadline = Some(now + config.min_rto);
            return false;
        }
        self.inner.handle_timeout(config, now)
    }
    fn deadline(&self) -> Time {
        let deadline = self.deadline.unwrap_or(self.inner.deadline());
        let keeps = self.defect == Defect::KeepsBackOff && !self.acknowledged && self.lost_syns > 0;
        if keeps && self.inner.phase() == Phase::Open { deadline + Time::from_ms(10) } else { deadline }
    }
    fn window(&self) -> Window {
        self.inner.window()
    }
    fn phase(&self) -> Phase {
        self.inner.phase()
    }
    fn in_flight(&self) -> u32 {
        self.inner.in_flight()
    }
    fn is_done(&self) -> bool {
        self.inner.is_done()
    }
}

fn caught(defect: Defect) -> Vec<String> {
    let fails = |case: &SenderCase| {
        let mut sender = Defective {
            inner: case.build(),
            defect,
            lost_syns: 0,
            acknowledged: false,
            deadline: None,
            again: None,
        };
        case.run(&mut sender).is_err()
    };
    sender_cases().into_iter().filter(fails).map(|case| case.head.name).collect()
}

#[test]
fn senders_that_are_wrong_in_one_way_are_caught() {
    assert_eq!(caught(Defect::None), [""; 0]);
    for (defect, name) in [
        (Defect::KeepsBackOff, "a SYN-ACK ends the backing off of a lost SYN"),
        (Defect::IgnoresSacks, "one loss: half of the flight"),
        (Defect::IgnoresMarks, "marks halve the window once per round trip"),
        (Defect::RestartsTimerOnSacks, "the timer restarts with every ACK of new data, not with a SACK"),
        (Defect::IgnoresSynAckRtt, "the handshake measures the first round trip"),
        (Defect::RepeatsRetransmissions, "two losses of a window make one recovery"),
        (Defect::IgnoresTimeouts, "after a timeout the window is one segment"),
        (Defect::OpensTwice, "the handshake measures the first round trip"),
    ] {
        assert_noticed(name, &caught(defect));
    }
}

/// Defects that the tests build into a TCP receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deafness {
    None,
    /// The receiver echoes every mark one ACK late.
    EchoesLate,
    /// The receiver never sends SACK blocks.
    TellsNoBlock,
    /// A delayed ACK has the mark of the segment that ended the delay.
    BlursMarks,
    /// The receiver does not acknowledge a duplicate segment.
    IgnoresDuplicates,
    /// The receiver sends the delayed ACK one microsecond late.
    IsLate,
}

struct Deaf {
    inner: Receiver,
    deafness: Deafness,
    late: bool,
}

impl TcpReceiver for Deaf {
    fn handle_data(
        &mut self,
        config: &TcpConfig,
        now: Time,
        seq: u32,
        sent: Time,
        marked: bool,
    ) -> Option<Ack> {
        let is_duplicate = seq < self.inner.delivered();
        let mut ack = self.inner.handle_data(config, now, seq, sent, marked)?;
        match self.deafness {
            Deafness::EchoesLate => ack.marked = std::mem::replace(&mut self.late, marked),
            Deafness::TellsNoBlock => ack.sack = (0, 0),
            Deafness::BlursMarks => ack.marked |= marked,
            Deafness::IgnoresDuplicates if is_duplicate => return None,
            _ => {}
        }
        Some(ack)
    }
    fn handle_timeout(&mut self, now: Time) -> Option<Ack> {
        self.inner.handle_timeout(now)
    }
    fn deadline(&self) -> Time {
        let deadline = self.inner.deadline();
        if self.deafness == Deafness::IsLate && deadline != Time::MAX {
            return deadline + Time::from_us(1);
        }
        deadline
    }
    fn is_complete(&self) -> bool {
        self.inner.is_complete()
    }
}

#[test]
fn receivers_that_are_wrong_in_one_way_are_caught() {
    let caught = |deafness| {
        let fails =
            |case: &ReceiverCase| case.run(&mut Deaf { inner: case.build(), deafness, late: false }).is_err();
        receiver_cases().into_iter().filter(fails).map(|case| case.head.name).collect::<Vec<_>>()
    };
    assert_eq!(caught(Deafness::None), [""; 0]);
    for (deafness, name) in [
        (Deafness::EchoesLate, "a mark on a retransmission is echoed"),
        (Deafness::TellsNoBlock, "a segment out of order, one that fills a hole"),
        (Deafness::BlursMarks, "a mark that differs from the one before ends a delayed ACK"),
        (Deafness::IgnoresDuplicates, "a segment out of order, one that fills a hole"),
        (Deafness::IsLate, "a delayed ACK is sent with the second segment"),
    ] {
        assert_noticed(name, &caught(deafness));
    }
}

const GOOD: &str = r#"
[[case]]
name = "two ACKs"
source = "hand calculation"
segments = 30
tcp = { initial_window = 4 }
steps = [
  { at_us = 0, sends = ["0..4"], timer_us = 10000 },
  { at_us = 100, ack = 1, sends = ["4", "5"], window = 5, threshold = inf, in_flight = 5, phase = "open", done = false },
  { at_us = 10100, timeout = true, sends = ["1 again"] },
]
"#;

#[test]
fn wrong_expectations_and_malformed_cases_are_refused_with_their_line() {
    let run = |text: &str| match SenderCase::parse("example.toml", text) {
        Err(error) => Err(error.to_string()),
        Ok(cases) => cases[0].run(&mut cases[0].build()).map_err(|mismatch| mismatch.to_string()),
    };
    assert_eq!(run(GOOD), Ok(()));
    for (right, wrong, message) in [
        (
            "[\"4\", \"5\"]",
            "[\"4\"]",
            "example.toml:9: case \"two ACKs\", step 2: expected it to send [\"4\"], it sent [\"4..6\"]",
        ),
        ("\"1 again\"", "\"1\"", "step 3: expected it to send [\"1\"], it sent [\"1 again\"]"),
        ("window = 5", "window = 5.1", "step 2: window: expected 5.1, found 5"),
        ("threshold = inf", "threshold = 7", "step 2: threshold: expected 7, found inf"),
        ("in_flight = 5", "in_flight = 4", "step 2: in flight: expected 4, found 5"),
        ("timer_us = 10000", "timer_us = -1", "step 1: timer: expected"),
        ("phase = \"open\"", "phase = \"loss\"", "step 2: phase: expected Loss, found Open"),
        ("done = false", "done = true", "step 2: done: expected true"),
        ("at_us = 10100", "at_us = 10101", "step 3: the timer is due at"),
        ("at_us = 10100", "at_us = 99", "step 3: time runs backwards"),
        ("\"0..4\"", "\"4..0\"", "example.toml:8: sends \"4..0\"; expected"),
        ("\"open\"", "\"shut\"", "example.toml:9: there is no phase \"shut\""),
        ("timeout = true", "timeout = true, ack = 2", "example.toml:10: a step is one of"),
        (
            "timeout = true",
            "timeout = true, marked = true",
            "example.toml:10: through, sack and marked belong",
        ),
        ("ack = 1", "ack = 1, through = 0", "example.toml:9: ACKs from 1 through 0"),
        ("segments = 30", "segments = 0", "example.toml:2: a flow has at least one segment"),
        ("segments = 30", "segments = 30\ncontrol = \"reno\"", "no congestion control is called \"reno\""),
        ("initial_window = 4", "min_rto = \"10\"", "example.toml:2: \"10\"; expected a time"),
        ("initial_window = 4", "states = \"linux\"", "there are no states \"linux\""),
        ("initial_window = 4", "last_resort = \"none\"", "there is no last_resort \"none\""),
    ] {
        assert!(GOOD.contains(right), "{right}");
        let error = run(&GOOD.replacen(right, wrong, 1)).expect_err(wrong);
        assert!(error.contains(message), "{wrong}: {error}");
    }
}
