//! What do switches report to packets of transports that ask (in-band network telemetry)?
//!
//! Reports stand beside the packets, in a table with a row per slot of the slab, so that a packet
//! stays small and runs without telemetry have no table at all. Data turns into its ACK in place,
//! and so do the reports; the ACK of a transport that wants it goes on to collect them.

use crate::ids::{Id, PacketId};
use bufferlab_scenario::TelemetryScope;
use bufferlab_transport::{HopReport, MAX_HOPS};

/// The reports that live packets carry.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    rows: Vec<Row>,
    is_wanted: bool,
}

/// What a packet carries from one part of the network to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reports(Row);

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    hops: [HopReport; MAX_HOPS],
    count: u8,
    /// An ACK that collects reports of this. (Data says so itself.)
    of_ack: Option<TelemetryScope>,
}

impl Telemetry {
    /// `is_wanted`: some transport of the run asks for reports.
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { rows: Vec::new(), is_wanted }
    }

    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// A packet has come into being: it carries no reports.
    #[inline]
    pub(crate) fn begin(&mut self, packet: PacketId) {
        if self.is_wanted {
            self.clear(packet.index());
        }
    }

    fn clear(&mut self, index: usize) {
        if index >= self.rows.len() {
            self.rows.resize(index + 1, Row::default());
        }
        let row = &mut self.rows[index];
        (row.count, row.of_ack) = (0, None);
    }

    /// The data that this packet was has become an ACK that collects reports, too.
    pub(crate) fn go_on(&mut self, packet: PacketId, scope: TelemetryScope) {
        self.rows[packet.index()].of_ack = Some(scope);
    }

    /// What an ACK wants reports of; `None`: it wants none.
    pub(crate) fn scope_of_ack(&self, packet: PacketId) -> Option<TelemetryScope> {
        self.rows[packet.index()].of_ack
    }

    /// Adds a report; beyond the limit of a packet's header, nothing.
    pub(crate) fn add(&mut self, packet: PacketId, report: HopReport) {
        let row = &mut self.rows[packet.index()];
        if let Some(place) = row.hops.get_mut(usize::from(row.count)) {
            *place = report;
            row.count += 1;
        }
    }

    /// All that a packet carries, to go with it to another part of the network; `None`: nothing is
    /// wanted in this run.
    pub(crate) fn row(&self, packet: PacketId) -> Option<Reports> {
        self.is_wanted.then(|| Reports(self.rows[packet.index()]))
    }

    /// A packet has come from another part with this.
    pub(crate) fn set_row(&mut self, packet: PacketId, reports: Reports) {
        self.begin(packet);
        self.rows[packet.index()] = reports.0;
    }

    /// What a packet carries.
    #[inline]
    pub(crate) fn of(&self, packet: PacketId) -> &[HopReport] {
        if !self.is_wanted {
            return &[];
        }
        let row = &self.rows[packet.index()];
        &row.hops[..usize::from(row.count)]
    }
}
