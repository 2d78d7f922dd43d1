//! A simulated chip that answers probes. Requests and answers are JSON, one per line. Requests have
//! the meaning of the executors in sonic-mgmt's MMU probing (`prepare`, `check`).
//!
//! ```text
//! {"op": "prepare", "src_port": 0, "dst_port": 1}
//! {"op": "check", "probe": "pfc_xoff", "src_port": 0, "dst_port": 1, "value": 1000, "pg": 3}
//! {"success": true, "detected": false}
//! ```

use crate::OperatorError;
use crate::bench::Bench;
use crate::meter::{Counters, Levels};
use crate::model::{Model, PRIORITIES};
use serde::{Deserialize, Serialize};

/// Largest number of packets in one request. No memory can store as many of the smallest packets.
const PACKETS_MAX: u64 = 10_000_000;

/// Event at the switch that a probe looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// The switch pauses the sender (`pfc_xoff`).
    PfcXoff,
    /// The switch loses a packet of a lossless group.
    IngressDrop,
    /// The switch loses a packet of a lossy queue.
    EgressDrop,
    /// The sender resumes after `value` packets have left. The probe first fills the
    /// buffer until the pause.
    PfcXon,
    /// The switch loses a packet because the headroom pool is full. Groups that the tester filled
    /// before stay filled (`drain_buffer` is false).
    HeadroomPool,
}

/// A tester's request to the simulated chip.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Empties the switch except for packets that `Persist` keeps, and blocks the ports.
    Prepare {
        /// Number of the port at which the sent packets arrive.
        src_port: u16,
        /// Number of the blocked port to which the packets go.
        dst_port: u16,
    },
    /// Sends packets and looks for an event at the switch.
    Check {
        /// Event at the switch that the check looks for.
        probe: Probe,
        /// Number of the port at which the sent packets arrive.
        src_port: u16,
        /// Number of the port through which the sent packets leave.
        dst_port: u16,
        /// Number of packets to send; with `pfc_xon`, the number of packets that leave the switch.
        value: u64,
        /// Number of the second destination port of `pfc_xon`, which receives and stores the
        /// packets beyond `value`. The port `dst_port` gets `value` packets and releases them.
        /// Without a second destination, all packets go to `dst_port`.
        #[serde(default)]
        dst_port_b: Option<u16>,
        /// Number of repetitions of the check, whose results must agree. Repetitions on the model
        /// always agree.
        #[serde(default = "once")]
        attempts: u32,
        /// Whether the check first empties the switch, except for packets that `Persist` keeps.
        #[serde(default = "yes")]
        drain_buffer: bool,
        /// Number of the step in the tester's search, which the model ignores.
        #[serde(default)]
        iteration: u64,
        /// Number of the priority group that the check fills.
        #[serde(default)]
        pg: Option<u8>,
        /// Number of the egress queue that the check fills.
        #[serde(default)]
        queue: Option<u8>,
    },
    /// Sends packets, and answers with the number of stored packets.
    Send {
        /// Number of the port at which the sent packets arrive.
        src_port: u16,
        /// Number of the port through which the sent packets leave.
        dst_port: u16,
        /// Number of packets to send to the switch.
        value: u64,
        /// Priority of the sent packets.
        pg: u8,
    },
    /// Keeps packets of a priority group in the switch whenever a request empties the switch. So a
    /// tester can fill one group of a pool after the other. A second request for equal group and
    /// ports replaces the first request.
    Persist {
        /// Number of the port at which the kept packets arrive.
        src_port: u16,
        /// Number of the blocked port to which the kept packets go.
        dst_port: u16,
        /// Number of packets to keep in the switch.
        value: u64,
        /// Number of the priority group of the kept packets.
        pg: u8,
    },
    /// Removes all packets from the switch, including packets that `Persist` keeps.
    Drain,
    /// Lets a blocked port send a number of packets.
    Release {
        /// Number of the blocked port that may send packets.
        dst_port: u16,
        /// Largest number of packets that the blocked port sends.
        value: u64,
    },
    /// Asks whether the switch pauses a sender.
    Paused {
        /// Number of the port to which the sender is connected.
        src_port: u16,
        /// Number of the priority group that may pause the sender.
        pg: u8,
    },
    /// Asks for the counters of a port since the start of the chip. `prepare` and `drain` do not
    /// clear the counters.
    Counters {
        /// Number of the port whose counters are requested.
        port: u16,
    },
    /// Asks for the watermarks of a port and of the pools since the last clear.
    Watermarks {
        /// Number of the port whose watermarks are requested.
        port: u16,
    },
    /// Asks for the current occupancy of a port and of the pools.
    Occupancy {
        /// Number of the port whose occupancy is requested.
        port: u16,
    },
    /// Clears the watermarks: each watermark becomes the current occupancy.
    ClearWatermarks,
    /// Asks for the names of the switch's ports.
    Ports,
}

const fn once() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

/// Answer to a request. Fields without a meaning for the request are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Whether the chip executed the request.
    pub success: bool,
    /// Whether the event that the probe looks for happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detected: Option<bool>,
    /// Number of packets that the switch stored, or that left the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Whether the switch currently pauses the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Names of the ports, in the order of their numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<Vec<String>>,
    /// Counters of the requested port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// Watermarks or occupancies of the requested port and of the pools (bytes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Levels>,
    /// Description of the mistake in the tester's request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Answer {
    fn done() -> Self {
        Self { success: true, ..Self::default() }
    }

    fn wrong(message: impl Into<String>) -> Self {
        Self { error: Some(message.into()), ..Self::default() }
    }
}

/// Executor of requests: a simulated chip behind the line protocol.
#[derive(Debug)]
pub struct Executor {
    bench: Bench,
    names: Vec<String>,
    lossless: Vec<u8>,
    /// Packets that the executor sends again after every reset: source, destination, priority,
    /// number.
    kept: Vec<(u16, u16, u8, u64)>,
}

impl Executor {
    /// Creates an executor for the chip of a model. All packets have one size.
    ///
    /// # Errors
    /// See [`Bench::new`].
    pub fn new(model: &Model, packet_bytes: u64) -> Result<Self, OperatorError> {
        let names = model.ports.iter().map(|port| port.name.clone()).collect();
        let lossless = model.lossless.iter().copied().collect();
        Ok(Self { bench: Bench::new(model, packet_bytes)?, names, lossless, kept: Vec::new() })
    }

    /// Answers a line of the protocol. If the line is not a request, the answer is an error.
    #[must_use]
    pub fn answer_line(&mut self, line: &str) -> String {
        let answer = match serde_json::from_str::<Request>(line) {
            Ok(request) => self.answer(&request),
            Err(error) => Answer::wrong(format!(
                "not a request: {error}; expected {{\"op\": \"prepare\" | \"check\" | \"persist\" | \"drain\" | \
                 \"send\" | \"release\" | \"paused\" | \"counters\" | \"watermarks\" | \"occupancy\" | \
                 \"clear_watermarks\" | \"ports\", ...}} on one line"
            )),
        };
        serde_json::to_string(&answer).unwrap_or_else(|_| "{\"success\":false}".to_owned())
    }

    /// Executes a request of a tester and returns the answer.
    pub fn answer(&mut self, request: &Request) -> Answer {
        self.reply(request).unwrap_or_else(Answer::wrong)
    }

    fn reply(&mut self, request: &Request) -> Result<Answer, String> {
        match *request {
            Request::Ports => return Ok(Answer { ports: Some(self.names.clone()), ..Answer::done() }),
            Request::Prepare { src_port, dst_port } => {
                self.between(src_port, dst_port)?;
                self.reset()?;
            }
            Request::Drain => {
                self.kept.clear();
                self.reset()?;
            }
            Request::Persist { src_port, dst_port, value, pg } => {
                self.sendable(src_port, dst_port, value, pg)?;
                let same =
                    |kept: &&mut (u16, u16, u8, u64)| (kept.0, kept.1, kept.2) == (src_port, dst_port, pg);
                match self.kept.iter_mut().find(same) {
                    Some(kept) => kept.3 = value,
                    None => self.kept.push((src_port, dst_port, pg, value)),
                }
                self.reset()?;
            }
            Request::Send { src_port, dst_port, value, pg } => {
                self.sendable(src_port, dst_port, value, pg)?;
                let packets = Some(self.send(src_port, dst_port, pg, value));
                return Ok(Answer { packets, ..Answer::done() });
            }
            Request::Release { dst_port, value } => {
                self.port(dst_port)?;
                of_packets(value)?;
                let packets = Some(self.bench.release(dst_port, value));
                return Ok(Answer { packets, ..Answer::done() });
            }
            Request::Paused { src_port, pg } => {
                self.port(src_port)?;
                of_queue(pg)?;
                let paused = Some(self.bench.is_paused(src_port, pg));
                return Ok(Answer { paused, ..Answer::done() });
            }
            Request::Counters { port } => {
                self.port(port)?;
                return Ok(Answer { counters: Some(self.bench.counters(port)), ..Answer::done() });
            }
            Request::Watermarks { port } => {
                self.port(port)?;
                return Ok(Answer { bytes: Some(self.bench.watermarks(port)), ..Answer::done() });
            }
            Request::Occupancy { port } => {
                self.port(port)?;
                return Ok(Answer { bytes: Some(self.bench.occupancy(port)), ..Answer::done() });
            }
            Request::ClearWatermarks => self.bench.clear_watermarks(),
            Request::Check { .. } => {
                return Ok(Answer { detected: Some(self.check(request)?), ..Answer::done() });
            }
        }
        Ok(Answer::done())
    }

    fn check(&mut self, request: &Request) -> Result<bool, String> {
        let Request::Check {
            probe,
            src_port,
            dst_port,
            dst_port_b,
            value,
            attempts,
            drain_buffer,
            pg,
            queue,
            ..
        } = *request
        else {
            return Err("no check".to_owned());
        };
        self.between(src_port, dst_port)?;
        if let Some(other) = dst_port_b {
            self.between(src_port, other)?;
            if probe != Probe::PfcXon || other == dst_port {
                return Err("`dst_port_b` must be a third port, and is only for pfc_xon".to_owned());
            }
        }
        of_packets(value)?;
        let priority = self.priority(probe, pg.or(queue))?;
        let mut seen = Vec::new();
        for _ in 0..attempts.clamp(1, 100) {
            if drain_buffer {
                self.reset()?;
            }
            seen.push(self.once(probe, (src_port, dst_port, dst_port_b), priority, value)?);
            if !drain_buffer {
                break;
            }
        }
        let first = seen[0];
        if seen.iter().any(|one| *one != first) {
            return Err("attempts differ".to_owned());
        }
        Ok(first)
    }

    /// Returns the priority group or queue that a probe watches.
    fn priority(&self, probe: Probe, given: Option<u8>) -> Result<u8, String> {
        let lossless = probe != Probe::EgressDrop;
        let first = || self.lossless.first().copied();
        let default = if lossless {
            first()
        } else {
            (0..PRIORITIES as u8).find(|queue| !self.lossless.contains(queue))
        };
        let what = if lossless { "pg" } else { "queue" };
        let priority =
            given.or(default).ok_or_else(|| format!("`{what}` is missing, and there is no default"))?;
        of_queue(priority)?;
        if self.lossless.contains(&priority) != lossless {
            let kind = if lossless { "lossless" } else { "lossy" };
            return Err(format!("`{what}` {priority} is not {kind}; lossless ones: {:?}", self.lossless));
        }
        Ok(priority)
    }

    fn once(
        &mut self,
        probe: Probe,
        (from, to, holder): (u16, u16, Option<u16>),
        priority: u8,
        value: u64,
    ) -> Result<bool, String> {
        match probe {
            // A chip repeats pause frames. So the tester's counter of pauses grows while the sender
            // is paused, for any cause of the pause.
            Probe::PfcXoff => {
                self.send(from, to, priority, value);
                Ok(self.bench.is_paused(from, priority))
            }
            Probe::IngressDrop | Probe::EgressDrop | Probe::HeadroomPool => {
                Ok(self.send(from, to, priority, value) < value)
            }
            Probe::PfcXon => {
                if holder.is_some() {
                    self.send(from, to, priority, value.saturating_sub(1));
                    // The packets of the first phase alone cause the pause, so the switch would
                    // have no room for the tester's fill.
                    if self.bench.is_paused(from, priority) {
                        return Ok(false);
                    }
                    self.send(from, to, priority, value.min(1));
                }
                if !self.bench.is_paused(from, priority)
                    && self.bench.fill_to_pause(from, holder.unwrap_or(to), priority).is_none()
                {
                    return Err("a packet is lost before the sender is paused".to_owned());
                }
                self.bench.release(to, value);
                Ok(!self.bench.is_paused(from, priority))
            }
        }
    }

    /// Sends packets, and returns the number of stored packets.
    fn send(&mut self, from: u16, to: u16, priority: u8, packets: u64) -> u64 {
        (0..packets).filter(|_| self.bench.send(from, to, priority)).count() as u64
    }

    /// Empties the switch, then sends the packets that `Persist` keeps again.
    fn reset(&mut self) -> Result<(), String> {
        self.bench.reset().map_err(|error| error.message)?;
        for (from, to, priority, packets) in self.kept.clone() {
            self.send(from, to, priority, packets);
        }
        Ok(())
    }

    fn sendable(&self, from: u16, to: u16, packets: u64, priority: u8) -> Result<(), String> {
        self.between(from, to)?;
        of_packets(packets)?;
        of_queue(priority)
    }

    fn port(&self, port: u16) -> Result<(), String> {
        let last = self.names.len() - 1;
        if usize::from(port) > last {
            return Err(format!(
                "there is no port {port}: they are numbered from 0 to {last} (`ports` names them)"
            ));
        }
        Ok(())
    }

    fn between(&self, from: u16, to: u16) -> Result<(), String> {
        self.port(from)?;
        self.port(to)?;
        if from == to { Err(format!("port {from} sends to itself: choose another dst_port")) } else { Ok(()) }
    }
}

fn of_packets(value: u64) -> Result<(), String> {
    if value > PACKETS_MAX {
        return Err(format!("{value} packets: at most {PACKETS_MAX} in one request"));
    }
    Ok(())
}

fn of_queue(priority: u8) -> Result<(), String> {
    if usize::from(priority) >= PRIORITIES {
        return Err(format!("priority {priority}: from 0 to {}", PRIORITIES - 1));
    }
    Ok(())
}
