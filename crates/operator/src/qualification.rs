//! A qualification run of a switch as scenarios: a blocked port, one sender, and the packets that a
//! tester counts.
//!
//! The neighbour of the blocked port sends a storm of pauses to this port. The sender sends so
//! slowly that a pause arrives before its next packet. So the tester counts every packet that
//! the switch stores.

use crate::OperatorError;
use crate::model::Model;
use crate::network::Network;
use crate::qos::Marking;
use crate::scenario::{METRES_PER_SECOND, switch};
use crate::vectors::GroupVector;
use bufferlab_sonic::Config;
use std::fmt::Write as _;

/// Size of the headers of a packet whose flow gets no acknowledgements (bytes).
const HEADER: u64 = 54;
/// Time between two packets, in addition to the round trip on the cable (s).
const SPARE: f64 = 2e-6;
/// Number of packets that the sender sends beyond the last predicted pause or loss.
const MORE: u64 = 50;
/// Longest duration of a pause (bits on the line): 65,535 quanta of 512 bits.
const QUANTA: f64 = 65_535.0 * 512.0;

/// Reaction of the sender to a pause frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The sender obeys pauses. The number of stored packets is the pause point. The number of
    /// packets that leave before the sender resumes is the resume point.
    Obeys,
    /// The sender ignores pauses. The number of the first lost packet is the point
    /// of the first loss.
    Ignores,
}

/// A qualification run, with the data needed to evaluate it.
#[derive(Clone, Debug)]
pub struct Qualification {
    /// Text of the run's scenario file.
    pub text: String,
    /// Names of the sending host and of the host behind the blocked port. Each host has the
    /// name of its port.
    pub hosts: [String; 2],
    /// Number of the port that is blocked in the run.
    pub blocked: u16,
    /// Priority of the lossless group under test.
    pub priority: u8,
    /// Time that a packet of the test takes on the link of the blocked port (s).
    pub serialization: f64,
    /// Time at which the sender sends the first packet, and time between two packets (s).
    pub first_and_gap: (f64, f64),
    /// Time from the switch's decision to resume until the sender resumes (s). The time covers the
    /// pause frame and the cable.
    pub way_of_a_frame: f64,
}

impl Qualification {
    /// Builds the scenario of a test vector, for packets of `packet_bytes`. The packets must be
    /// larger than a header of 54 B.
    ///
    /// # Errors
    /// If the model lacks a port of the test vector, or the packets are not larger than a header.
    pub fn new(
        config: &Config,
        model: &Model,
        vector: &GroupVector,
        packet_bytes: u64,
        sender: Sender,
    ) -> Result<Self, OperatorError> {
        if packet_bytes <= HEADER {
            let message = format!("packets of {packet_bytes} B");
            return Err(OperatorError::new(message, format!("give more than {HEADER} B, a header")));
        }
        let number = |name: &str| model.ports.iter().position(|port| port.name == name);
        let (Some(from), Some(to)) = (number(&vector.ports[0]), number(&vector.ports[1])) else {
            let message = format!("the model has no port {} or {}", vector.ports[0], vector.ports[1]);
            return Err(OperatorError::new(message, "make vectors and model of the same configuration"));
        };
        let Some((priority, _)) = vector.groups.first().copied() else {
            return Err(OperatorError::new("a vector without groups", "choose another one"));
        };
        let (source, target) = (&model.ports[from], &model.ports[to]);
        let bits = |port: &crate::PortModel| port.speed_mbps as f64 * 1e6;
        let way = source.cable_metres / METRES_PER_SECOND;
        let gap = 2.0 * way + SPARE;
        let filled = (vector.loss.formula + MORE) as f64 * gap;
        let drained = vector.loss.formula as f64 * packet_bytes as f64 * 8.0 / bits(target);
        // The switch obeys the storm of pauses after the reaction time of the sender, so the
        // packets start later.
        let (start, storm, duration, reaction) = match sender {
            // Leave time for the last pause of the storm of pauses to expire.
            Sender::Obeys => (SPARE, filled, filled + QUANTA / bits(target) + drained + 1e-3, 0.0),
            Sender::Ignores => (2.0 * filled, 4.0 * filled, 3.0 * filled, filled),
        };
        let mut text = heading(model, vector, sender, (&source.name, to, priority));
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "\nname = \"qualification\"\nseed = 1\nduration = \"{:.0} ns\"\ndrain = \"20 ms\"\n",
            duration * 1e9
        );
        Network::Star.toml(&mut text, model);
        switch(&mut text, config, model, &Marking::none(), (reaction * 1e12) as u64);
        let _ = writeln!(
            text,
            "[[fault]]\nkind = \"pause_storm\"             # the blocked port\nhost = \"{}\"\npriorities = [{priority}]\nuntil = \"{:.0} ns\"\n",
            target.name,
            storm * 1e9
        );
        text.push_str(&packets(packet_bytes, gap, priority));
        let _ = writeln!(
            text,
            "bursts = [{{ src = \"{}\", dst = \"{}\", start = \"{:.0} ns\", duration = \"{:.0} ns\" }}]",
            source.name,
            target.name,
            start * 1e9,
            (duration - start) * 1e9
        );
        Ok(Self {
            text,
            hosts: [source.name.clone(), target.name.clone()],
            blocked: to as u16,
            priority,
            first_and_gap: (start, gap),
            serialization: packet_bytes as f64 * 8.0 / bits(target),
            way_of_a_frame: 64.0 * 8.0 / bits(source) + way,
        })
    }
}

/// Formats the expected result of the run as comments of the scenario.
fn heading(
    model: &Model,
    vector: &GroupVector,
    sender: Sender,
    (source, to, priority): (&str, usize, u8),
) -> String {
    let what = match sender {
        Sender::Obeys => format!(
            "pauses after {} packets, and may go on when {} have left",
            vector.pause.formula, vector.resume.formula
        ),
        Sender::Ignores => format!("loses packet {}", vector.loss.formula),
    };
    format!(
        "# {}, {}: by its rules, group {priority} of {source} {what}.\n\
         # Look at queues.parquet (enqueued_packets of port {to}, priority {priority}) and pause_spans.parquet.\n",
        model.chip.title, vector.profile
    )
}

/// Formats a transport that sends packets with a gap of `gap` (s), and a workload without its
/// bursts.
fn packets(packet_bytes: u64, gap: f64, priority: u8) -> String {
    let (rate, payload) = (packet_bytes as f64 * 8.0 / gap, packet_bytes - HEADER);
    format!(
        "[[transport]]\nname = \"packets\"\ncongestion_control = \"none\"\nrate = \"{rate:.0} b/s\"\nsegment_bytes = \"{payload} B\"\n\
         header_bytes = \"{HEADER} B\"\ndata_priority = {priority}\n\n\
         [[workload]]\nkind = \"bursts\"\nclass = \"qualification\"\ntransport = \"packets\"\n"
    )
}
