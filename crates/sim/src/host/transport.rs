//! A transport as hosts use it.

use bufferlab_scenario::{PersistentSpec, TelemetryScope};
use bufferlab_transport::{ConfiguredControl, Spacing, TcpConfig, UNRESPONSIVE};
use bufferlab_units::Time;

/// What decides when a flow's packets are sent.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    /// A congestion control.
    Window(ConfiguredControl),
    /// The same, of a queue pair.
    QueuePair(ConfiguredControl),
    /// The clock: one full segment per `gap` on average.
    Pace { gap: Time, spacing: Spacing },
}

impl Control {
    /// Its name in scenarios.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Window(control) | Self::QueuePair(control) => control.info().name,
            Self::Pace { .. } => UNRESPONSIVE,
        }
    }

    /// Whether switches must report their queues to its data.
    pub(crate) fn wants_telemetry(&self) -> bool {
        match self {
            Self::Window(control) | Self::QueuePair(control) => control.info().wants_telemetry,
            Self::Pace { .. } => false,
        }
    }
}

/// A transport as hosts of one rate use it.
#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) tcp: TcpConfig,
    pub(crate) control: Control,
    /// Messages share connections.
    pub(crate) persistent: Option<PersistentSpec>,
    /// Switches must report their queues to its data.
    pub(crate) wants_telemetry: bool,
    /// What they report.
    pub(crate) telemetry: TelemetryScope,
    /// They report to its ACKs, too.
    pub(crate) reports_to_acks: bool,
    /// Its flows send what opens and ends a connection beside SYN and SYN-ACK.
    pub(crate) full_connection: bool,
    pub(crate) segment: u32,
    pub(crate) header: u16,
    pub(crate) ack: u16,
    pub(crate) unscheduled_bytes: u64,
    pub(crate) control_unscheduled: bool,
    pub(crate) ecn_capable: bool,
    /// A flow draws one of them.
    pub(crate) data_priorities: Vec<u8>,
    /// Bytes sent from which on its data is one queue further.
    pub(crate) pias_thresholds: Vec<u64>,
    pub(crate) small_bytes: u64,
    pub(crate) control_priority: u8,
    pub(crate) control_max_payload: u32,
    /// A flow is complete when its sender knows, not when its receiver has the last byte.
    pub(crate) ends_at_sender: bool,
    /// Bytes of every segment that count in the slowdown's ideal beside its payload.
    pub(crate) ideal_header: u32,
}
