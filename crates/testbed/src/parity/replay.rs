//! Converts the record of a real switch into a scenario, and simulates this scenario.

use super::compare::{Answers, Comparison};
use bufferlab_core::{Buffer, BuildError, DropReason, Ecn, Header, QueueId, Refusal, find_policy};
use bufferlab_dataplane::{
    Core, Departing, Driver, Fate, Incoming, PacketEvents, Recorded, SwitchFile, core_of,
};
use bufferlab_metrics::{DropRow, FlowRow, RunSink};
use bufferlab_params::Params;
use bufferlab_scenario::{Scenario, TieOrder, Workload, WorkloadSpec};
use bufferlab_sim::{SimError, Simulation};
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::{FlowSpec, SourceError, TrafficBuilder};
use std::io;

/// Reason why switch and simulator could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum ParityError {
    /// The policy follows flows, and every packet of a replayed trace is a separate flow.
    #[error(
        "the policy \"{0}\" follows flows, and in a replayed trace every packet is one of its own: nothing can be compared"
    )]
    FollowsFlows(String),
    /// The policy cannot be built for the switch.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The simulation of the switch's record failed.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// Several arrivals have equal times, so their order is unknown.
    #[error("two arrivals of the record share the instant {0}: it was not written by this switch")]
    SharedInstant(Time),
}

/// Rate of the hosts' links. Packets reach the switch within a nanosecond, and the packets of a
/// host are at least a nanosecond apart.
const UPLINK: BitRate = BitRate(100_000_000_000_000);

/// Passes `arrivals` (sorted by time) to the switch of `file` and records the switch's verdicts.
///
/// # Errors
/// If the policy does not fit the switch.
pub fn drive(file: &SwitchFile, arrivals: &[Incoming]) -> Result<Vec<Recorded>, BuildError> {
    let mut driver = Driver::new(&file.scenario)?;
    let unknown = Fate::Sent { at: Time::ZERO, marked: false };
    let row = |&incoming: &Incoming| Recorded { incoming, queue: 0, fate: unknown };
    let mut rows = Rows(arrivals.iter().map(row).collect());
    for (id, incoming) in (0..).zip(arrivals) {
        let at = driver.arrive(id, incoming, &mut rows);
        rows.0[id as usize].incoming.at = at;
    }
    driver.finish(&mut rows);
    Ok(rows.0)
}

struct Rows(Vec<Recorded>);

impl PacketEvents for Rows {
    fn stored(&mut self, id: u32, queue: QueueId, marked: bool, core: &Core) {
        let row = &mut self.0[id as usize];
        row.queue = core.buffer().port_and_priority(queue).1;
        row.fate = Fate::Sent { at: Time::ZERO, marked };
    }

    fn refused(&mut self, id: u32, queue: QueueId, refusal: Refusal, core: &Core) {
        let row = &mut self.0[id as usize];
        row.queue = core.buffer().port_and_priority(queue).1;
        row.fate = Fate::Refused(refusal);
    }

    fn evicted(&mut self, id: u32, _: QueueId, at: Time, reason: DropReason, _: &Buffer) {
        self.0[id as usize].fate = Fate::Evicted { at, reason };
    }

    fn sent(&mut self, departing: Departing, _: &Core) {
        let row = &mut self.0[departing.id as usize];
        let before = matches!(row.fate, Fate::Sent { marked: true, .. });
        row.fate = Fate::Sent { at: departing.starts, marked: departing.marked || before };
    }
}

/// Replays the arrivals of `rows` (sorted by time) in the simulator. Compares the simulator's
/// verdicts with the verdicts in the rows.
///
/// # Errors
/// [`ParityError`], if no comparison is possible.
pub fn verify(file: &SwitchFile, rows: &[Recorded]) -> Result<Comparison, ParityError> {
    verify_until(file, rows, Time::MAX)
}

/// Replays the arrivals of `rows` (sorted by time), which are complete before `until`. Compares
/// only decisions before `until`. A missing later packet cannot have influenced these decisions.
///
/// # Errors
/// [`ParityError`], if no comparison is possible.
pub fn verify_until(file: &SwitchFile, rows: &[Recorded], until: Time) -> Result<Comparison, ParityError> {
    if let Some(pair) = rows.windows(2).find(|pair| pair[0].incoming.at >= pair[1].incoming.at) {
        return Err(ParityError::SharedInstant(pair[1].incoming.at));
    }
    refuse_followers(&file.scenario)?;
    let mut comparison = Comparison::new(rows, until);
    comparison.check_queues(&classified(file, rows)?);
    let scenario = scenario_of(file, rows);
    let mut answers = Answers::new(rows.len());
    Simulation::new(&scenario)?.run(&mut Sink { answers: &mut answers }, &mut |_| {})?;
    let expected = |row: &Recorded, departure: Time| {
        let rate = file.ports[usize::from(row.incoming.egress)].rate;
        let arrival = departure
            + rate.serialization(u64::from(row.incoming.header.size))
            + scenario.topology.links[0].delay;
        (arrival - start_of(row, scenario.topology.links[0].delay)).as_ns()
    };
    comparison.check_answers(&answers, expected);
    Ok(comparison)
}

/// Refuses policies that follow flows: `ib`, and policies with a custom classifier.
fn refuse_followers(scenario: &Scenario) -> Result<(), ParityError> {
    let spec = &scenario.switches[0];
    let follows = || ParityError::FollowsFlows(spec.policy.clone());
    if spec.policy == "ib" {
        return Err(follows());
    }
    let core = core_of(scenario)?;
    let Some(info) = find_policy(&spec.policy) else { return Ok(()) };
    let params = Params::resolve(info.params, scenario.profile, &spec.policy_params)
        .map_err(|error| BuildError { param: "policy", message: error.to_string() })?;
    let buffer = core.buffer();
    let config = bufferlab_core::SwitchConfig {
        queues_per_port: usize::from(buffer.queues_per_port()),
        profile: scenario.profile,
        ..bufferlab_core::SwitchConfig::new(spec.buffer_bytes, scenario.topology.switch_port_rates(0))
    };
    let has_own = info.construct(&params, &config.shape())?.take_classifier().is_some();
    if has_own && spec.classifier.is_none() { Err(follows()) } else { Ok(()) }
}

/// Returns the queues that the classifier selects for the arrivals. The function uses a switch that
/// never sends and never refuses a packet.
fn classified(file: &SwitchFile, rows: &[Recorded]) -> Result<Vec<u8>, BuildError> {
    let mut scenario = file.scenario.clone();
    let spec = &mut scenario.switches[0];
    spec.buffer_bytes = u64::MAX / 4;
    (spec.policy, spec.policy_params) = ("cs".to_owned(), Vec::new());
    (spec.ecn, spec.hardware) = (None, bufferlab_scenario::HardwareSpec::default());
    let mut core = core_of(&scenario)?;
    let queue = |(id, row): (u32, &Recorded)| {
        let Incoming { at, header, ingress, egress } = row.incoming;
        let size = header.size - scenario.switches[0].uncharged_bytes;
        let packet = bufferlab_core::Packet {
            id,
            header: Header { size, ..header },
            ingress_port: ingress,
            egress_port: egress,
        };
        let _ = core.handle_arrival(at, &packet, &mut ());
        core.buffer().port_and_priority(core.queue_of(&packet)).1
    };
    Ok((0..).zip(rows).map(queue).collect())
}

/// Time at which a host must send a packet so that the packet arrives at its recorded time.
fn start_of(row: &Recorded, delay: Time) -> Time {
    row.incoming.at - UPLINK.serialization(u64::from(row.incoming.header.size)) - delay
}

/// Creates a scenario from the record of the switch. The hosts' links are so fast that packets
/// reach the switch at the recorded time.
fn scenario_of(file: &SwitchFile, rows: &[Recorded]) -> Scenario {
    let mut scenario = file.scenario.clone();
    for link in &mut scenario.topology.links {
        link.rate_ab = UPLINK;
    }
    let delay = scenario.topology.links[0].delay;
    scenario.tie_order = TieOrder::Insertion;
    // No classifier is needed: the recorded queue of a packet is the priority of the replayed
    // packet.
    scenario.switches[0].classifier = None;
    let last = rows.last().map_or(Time::ZERO, |row| row.incoming.at);
    scenario.duration = last + Time::from_ns(1);
    let slowest = file.ports.iter().map(|port| port.rate).min().unwrap_or(BitRate::gbps(1));
    let bytes: u64 = rows.iter().map(|row| u64::from(row.incoming.header.size)).sum();
    scenario.drain = slowest.serialization(bytes) + Time::from_ms(1);
    let packets = |is_capable: bool| {
        let chosen = rows.iter().filter(|row| (row.incoming.header.ecn == Ecn::Capable) == is_capable);
        Packets(chosen.map(|row| (row.queue, flow_of(row, delay))).collect())
    };
    // A switch never marks a packet a second time. So a host sends a packet that arrived with a
    // mark as not ECN-capable.
    let transports = [("plain", false), ("capable", true)];
    let workload = |(name, is_capable): (&str, bool)| {
        let transport = scenario.transports.iter().position(|transport| transport.name == name);
        let transport = transport.expect("a switch's scenario has both transports") as u32;
        WorkloadSpec::new(name, transport, packets(is_capable))
    };
    scenario.workloads = transports.into_iter().map(workload).filter(has_packets).collect();
    scenario
}

fn has_packets(spec: &WorkloadSpec) -> bool {
    (&*spec.workload as &dyn std::any::Any)
        .downcast_ref::<Packets>()
        .is_some_and(|packets| !packets.0.is_empty())
}

fn flow_of(row: &Recorded, delay: Time) -> FlowSpec {
    FlowSpec {
        start: start_of(row, delay),
        src: row.incoming.ingress.into(),
        dst: row.incoming.egress.into(),
        size: row.incoming.header.size.into(),
        class: 0,
        query: FlowSpec::NO_QUERY,
        open: None,
        data_path: None,
        ack_path: None,
        node: FlowSpec::NO_NODE,
    }
}

/// Packets of the switch's record, each with its priority.
#[derive(Debug)]
struct Packets(Vec<(u8, FlowSpec)>);

impl Workload for Packets {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let mut flows = Vec::with_capacity(self.0.len());
        for (priority, flow) in &self.0 {
            flows.push(FlowSpec { class: traffic.replay_class(Some(*priority)), ..flow.clone() });
        }
        traffic.add_list(flows);
        Ok(())
    }

    fn in_words(&self) -> String {
        format!("{} recorded packets", self.0.len())
    }
}

/// Sink that collects the simulator's outcomes of packets.
struct Sink<'a> {
    answers: &'a mut Answers,
}

impl RunSink for Sink<'_> {
    fn flow(&mut self, row: &FlowRow) -> io::Result<()> {
        self.answers.note_flow(row);
        Ok(())
    }

    fn drops(&mut self, row: &DropRow) -> io::Result<()> {
        self.answers.note_drops(row);
        Ok(())
    }
}
