//! Settings of a transport that the hosts apply to its flows.

use bufferlab_core::Header;
use bufferlab_scenario::{PersistentSpec, TelemetryScope};
use bufferlab_transport::{ConfiguredControl, Spacing, TcpConfig, UNRESPONSIVE};
use bufferlab_units::Time;

/// Control of the times at which a flow's packets are sent.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    /// A congestion control of a TCP sender.
    Window(ConfiguredControl),
    /// A congestion control of a queue pair.
    QueuePair(ConfiguredControl),
    /// A clock that sends one full segment per `gap` on average.
    Pace { gap: Time, spacing: Spacing },
}

impl Control {
    /// Name of the congestion control in scenario files.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Window(control) | Self::QueuePair(control) => control.info().name,
            Self::Pace { .. } => UNRESPONSIVE,
        }
    }

    /// Whether the congestion control needs telemetry that switches add to data packets.
    pub(crate) fn wants_telemetry(&self) -> bool {
        match self {
            Self::Window(control) | Self::QueuePair(control) => control.info().wants_telemetry,
            Self::Pace { .. } => false,
        }
    }
}

/// A transport of a scenario for the hosts of one line rate.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    pub(crate) tcp: TcpConfig,
    pub(crate) control: Control,
    /// Sharing of connections by messages, if the transport has persistent connections.
    pub(crate) persistent: Option<PersistentSpec>,
    /// Whether switches must add telemetry to the transport's data packets.
    pub(crate) wants_telemetry: bool,
    /// Switches that add telemetry reports to the transport's packets.
    pub(crate) telemetry: TelemetryScope,
    /// Whether switches also add telemetry to the transport's ACKs.
    pub(crate) reports_to_acks: bool,
    /// Whether flows send all packets that open and close a connection, not only SYN and SYN-ACK.
    pub(crate) full_connection: bool,
    pub(crate) segment: u32,
    /// Bytes on the wire that a segment has beyond its payload.
    pub(crate) header_bytes: u32,
    /// Header of data packets, without size, flow, marks and priority.
    pub(crate) data: Header,
    /// Header of the transport's ACK packets. The flow is filled in for each ACK.
    pub(crate) ack: Header,
    pub(crate) unscheduled_bytes: u64,
    /// Priorities of the transport's data packets. Each flow draws one of these priorities.
    pub(crate) data_priorities: Vec<u8>,
    /// Numbers of bytes after which the flow's data uses the next queue (PIAS).
    pub(crate) pias_thresholds: Vec<u64>,
    pub(crate) small_bytes: u64,
    pub(crate) control_max_payload: u32,
    /// Whether a flow is complete when its sender learns that all data has arrived,
    /// not when its receiver has the last byte.
    pub(crate) ends_at_sender: bool,
    /// Header bytes per segment that count, besides the payload, for the flow's ideal completion
    /// time.
    pub(crate) ideal_header: u32,
}
