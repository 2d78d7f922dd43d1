//! In-band network telemetry: switches add reports to the packets of transports that request
//! reports.
//!
//! Reports are in a separate table with a row per packet slot. So the packet table stays small, and
//! runs without telemetry have no table. An ACK reuses the slot of its data packet, so the reports
//! of the data packet stay with the ACK. The ACK can collect more reports if its transport needs
//! them.

use crate::ids::{Id, PacketId};
use bufferlab_scenario::TelemetryScope;
use bufferlab_transport::{HopReport, MAX_HOPS};

/// Telemetry reports of all live packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Telemetry {
    rows: Vec<PacketReports>,
    is_wanted: bool,
}

/// Telemetry reports of a packet that travels between two shards of the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reports(PacketReports);

#[derive(Clone, Copy, Debug, Default)]
struct PacketReports {
    hops: [HopReport; MAX_HOPS],
    count: u8,
    /// Scope of the telemetry reports that an ACK collects. A data
    /// packet has its scope in its flags.
    of_ack: Option<TelemetryScope>,
}

impl Telemetry {
    /// Creates the table of reports. `is_wanted` states whether any transport of the run requests
    /// reports.
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { rows: Vec::new(), is_wanted }
    }

    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Clears the telemetry reports of a new packet.
    #[inline]
    pub(crate) fn begin(&mut self, packet: PacketId) {
        if self.is_wanted {
            self.clear(packet.index());
        }
    }

    fn clear(&mut self, index: usize) {
        if index >= self.rows.len() {
            self.rows.resize(index + 1, PacketReports::default());
        }
        let row = &mut self.rows[index];
        (row.count, row.of_ack) = (0, None);
    }

    /// Lets the ACK of a data packet collect further telemetry reports of switches.
    pub(crate) fn go_on(&mut self, packet: PacketId, scope: TelemetryScope) {
        self.rows[packet.index()].of_ack = Some(scope);
    }

    /// Scope of the telemetry reports that an ACK collects. `None` if the ACK collects no reports.
    pub(crate) fn scope_of_ack(&self, packet: PacketId) -> Option<TelemetryScope> {
        self.rows[packet.index()].of_ack
    }

    /// Adds a telemetry report to the packet, unless the packet's header is full.
    pub(crate) fn add(&mut self, packet: PacketId, report: HopReport) {
        let row = &mut self.rows[packet.index()];
        if let Some(place) = row.hops.get_mut(usize::from(row.count)) {
            *place = report;
            row.count += 1;
        }
    }

    /// All telemetry reports of a packet that travels to another shard of the network. `None` if
    /// this run has no telemetry.
    pub(crate) fn row(&self, packet: PacketId) -> Option<Reports> {
        self.is_wanted.then(|| Reports(self.rows[packet.index()]))
    }

    /// Sets the telemetry reports of a packet that comes from another shard of the network.
    pub(crate) fn set_row(&mut self, packet: PacketId, reports: Reports) {
        self.begin(packet);
        self.rows[packet.index()] = reports.0;
    }

    /// Telemetry reports of a packet.
    #[inline]
    pub(crate) fn reports(&self, packet: PacketId) -> &[HopReport] {
        if !self.is_wanted {
            return &[];
        }
        let row = &self.rows[packet.index()];
        &row.hops[..usize::from(row.count)]
    }
}
