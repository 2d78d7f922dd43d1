//! Builds the transports of hosts from the transports of a scenario.

use crate::SimError;
use crate::build::check_size;
use crate::host::transport::{Control, Transport};
use crate::world::base_rtt::Paths;
use bufferlab_core::{Ecn, Header, Profile, Tags};
use bufferlab_scenario::{InitialWindow, Scenario, TelemetryPath, TransportSpec};
use bufferlab_transport::rdma::RdmaConfig;
use bufferlab_transport::{
    CongestionControlInfo, CongestionStates, LastResort, Spacing, TcpConfig, find_congestion_control,
};
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::Replay;

/// Largest receive window that a SYN-ACK can announce. In ns-3 this window limits the first flight
/// of data.
const UNSCALED_WINDOW_BYTES: u32 = 65_535;
/// Builds every transport of the scenario, then the transports that replay traces (`replayed`),
/// each for every kind of host (`transport * kinds + kind`).
/// Also returns the kind of every host (its line rate) and the number of kinds.
pub(crate) fn build_transports(
    scenario: &Scenario,
    replayed: &[(u32, Replay)],
    paths: &Paths<'_>,
) -> Result<(Vec<Transport>, Vec<u8>, usize), SimError> {
    let rates: Vec<BitRate> =
        paths.links[..paths.hosts as usize].iter().map(|link| link.account.rate).collect();
    let mut kinds = rates.clone();
    kinds.sort_unstable();
    kinds.dedup();
    let count = (scenario.transports.len() + replayed.len()) * kinds.len();
    check_size("transports times rates of hosts", count, usize::from(u8::MAX) + 1)?;
    let mut transports = Vec::with_capacity(count);
    for spec in &scenario.transports {
        let governs = info_of(spec)?.is_some_and(|info| info.owns_window);
        let refers_to_path =
            governs || (spec.pacing.is_none() && spec.initial_window == InitialWindow::BandwidthDelay);
        let base_rtt = match spec.base_rtt {
            Some(given) => given,
            None if refers_to_path => {
                let wire = spec.segment_bytes + spec.header_bytes;
                paths.longest_round_trip(wire, spec.ack_bytes).unwrap_or(TcpConfig::default().base_rtt)
            }
            None => TcpConfig::default().base_rtt,
        };
        for &line_rate in &kinds {
            transports.push(build_transport(spec, scenario.profile, line_rate, base_rtt)?);
        }
    }
    for &(transport, replay) in replayed {
        let spec = &scenario.transports[transport as usize];
        for &line_rate in &kinds {
            transports.push(replaying(spec, replay, scenario.profile, line_rate)?);
        }
    }
    let kind_of = |rate| kinds.binary_search(rate).expect("every rate is of a kind") as u8;
    Ok((transports, rates.iter().map(kind_of).collect(), kinds.len()))
}

/// Transport of a trace's packets. Each packet is a flow of one segment that leaves at once,
/// with its size on the wire.
fn replaying(
    spec: &TransportSpec,
    replay: Replay,
    profile: Profile,
    line_rate: BitRate,
) -> Result<Transport, SimError> {
    let transport = build_transport(spec, profile, line_rate, TcpConfig::default().base_rtt)?;
    Ok(Transport {
        control: Control::Pace { gap: Time::ZERO, spacing: Spacing::Constant },
        segment: spec.segment_bytes + spec.header_bytes,
        header_bytes: 0,
        wants_telemetry: false,
        reports_to_acks: false,
        data_priorities: replay.priority.map_or(transport.data_priorities, |priority| vec![priority]),
        control_max_payload: 0,
        ..transport
    })
}

/// Registry entry of a transport's congestion control. `None` for an open loop.
fn info_of(spec: &TransportSpec) -> Result<Option<&'static CongestionControlInfo>, SimError> {
    if spec.pacing.is_some() {
        return Ok(None);
    }
    let info = find_congestion_control(&spec.congestion_control);
    info.map(Some).ok_or_else(|| SimError::CongestionControl(spec.congestion_control.clone()))
}

/// Congestion control with parameters for the path that `config` describes.
fn control_of(spec: &TransportSpec, profile: Profile, config: &TcpConfig) -> Result<Control, SimError> {
    if let Some(pacing) = &spec.pacing {
        let gap = pacing.rate.serialization(u64::from(spec.segment_bytes + spec.header_bytes));
        return Ok(Control::Pace { gap, spacing: pacing.spacing });
    }
    let info = info_of(spec)?.expect("only open-loop transports have no congestion control");
    let control = info
        .configure_with(profile, &spec.control_params, config)
        .map_err(|source| SimError::ControlParameter { transport: spec.name.clone(), source })?;
    Ok(if spec.rdma.is_some() { Control::QueuePair(control) } else { Control::Window(control) })
}

fn build_transport(
    spec: &TransportSpec,
    profile: Profile,
    line_rate: BitRate,
    base_rtt: Time,
) -> Result<Transport, SimError> {
    let tcp = tcp_config(spec, profile, line_rate, base_rtt);
    let control = control_of(spec, profile, &tcp)?;
    let ecn = if spec.ecn_capable { Ecn::Capable } else { Ecn::NotCapable };
    // A receiver in the paper's artifact has never sent data, so each of its ACKs and SYNs counts
    // as unscheduled.
    let is_unscheduled = profile == Profile::Artifact && spec.unscheduled_bytes > 0 && spec.rdma.is_none();
    Ok(Transport {
        tcp,
        persistent: spec.persistent,
        wants_telemetry: control.wants_telemetry(),
        telemetry: spec.telemetry,
        reports_to_acks: control.wants_telemetry() && spec.telemetry_path == TelemetryPath::RoundTrip,
        full_connection: spec.full_connection,
        control,
        segment: spec.segment_bytes,
        header_bytes: spec.header_bytes,
        data: Header { ecn, ..Header::default() },
        ack: Header {
            tags: Tags::CONTROL.with_if(is_unscheduled, Tags::UNSCHEDULED),
            priority: spec.control_priority,
            ecn,
            ..Header::new(spec.ack_bytes)
        },
        unscheduled_bytes: spec.unscheduled_bytes,
        data_priorities: spec.data_priorities.clone(),
        pias_thresholds: spec.pias_thresholds_bytes.clone(),
        small_bytes: spec.small_bytes,
        control_max_payload: spec.control_max_payload_bytes,
        ends_at_sender: spec.rdma.as_ref().is_some_and(|rdma| rdma.ends_at_sender),
        ideal_header: spec.rdma.as_ref().map_or(0, |rdma| rdma.ideal_header_bytes),
    })
}

/// Configuration of a flow's sender and receiver. The profile only chooses between two
/// interpretations of the publication that defines the transport.
fn tcp_config(spec: &TransportSpec, profile: Profile, line_rate: BitRate, base_rtt: Time) -> TcpConfig {
    let wire = spec.segment_bytes + spec.header_bytes;
    let read_as_rfc = TcpConfig {
        initial_window: match spec.initial_window {
            InitialWindow::Segments(segments) => segments,
            InitialWindow::Whole => u32::MAX,
            InitialWindow::BandwidthDelay => {
                let segments = line_rate.bytes_in(base_rtt).div_ceil(u64::from(wire));
                segments.clamp(1, u64::from(u32::MAX - 1)) as u32
            }
        },
        min_rto: spec.min_rto,
        initial_rto: spec.initial_rto,
        handshake: spec.handshake,
        idle_restart: spec.persistent.is_some_and(|persistent| persistent.idle_restart),
        burst_segments: (spec.lso_bytes / spec.segment_bytes).clamp(1, u32::from(u16::MAX)),
        ack_every: spec.ack_every,
        delayed_ack_timeout: spec.delayed_ack_timeout,
        line_rate,
        base_rtt,
        segment_wire_bytes: wire,
        whole_segments: spec.rdma.is_none(),
        rdma: rdma_of(spec, line_rate, base_rtt, wire),
        ..TcpConfig::default()
    };
    match profile {
        Profile::Paper => read_as_rfc,
        Profile::Artifact => TcpConfig {
            last_resort: LastResort::Everything,
            states: CongestionStates::Ns3,
            first_flight_limit: UNSCALED_WINDOW_BYTES / spec.segment_bytes,
            // The simulator ns-3 counts only payload for the pace and the window of a sender.
            segment_wire_bytes: spec.segment_bytes,
            uncounted_wire_bytes: if spec.rdma.is_some() { spec.header_bytes } else { 0 },
            ..read_as_rfc
        },
    }
}

fn rdma_of(spec: &TransportSpec, line_rate: BitRate, base_rtt: Time, wire: u32) -> RdmaConfig {
    let Some(rdma) = &spec.rdma else { return RdmaConfig::default() };
    RdmaConfig {
        recovery: rdma.recovery,
        window_limit: match rdma.window_limit {
            true => {
                line_rate.bytes_in(base_rtt).div_ceil(u64::from(wire)).clamp(1, u64::from(u32::MAX)) as u32
            }
            false => u32::MAX,
        },
        retransmission_timeout: rdma.retransmission_timeout.unwrap_or(Time::MAX),
        ack_every: spec.ack_every,
        delayed_ack_timeout: spec.delayed_ack_timeout,
        nack_interval: rdma.nack_interval.unwrap_or(Time::MAX),
        notification: rdma.notification,
        strict_pace: rdma.strict_pace,
    }
}
