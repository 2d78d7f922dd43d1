//! Headroom from the shared pool, with a small insurance per port, after DSH (dynamic and shared
//! headroom).
//!
//! In DSH, a port keeps headroom for one pause of all its priorities. With that guarantee, each
//! queue takes its own headroom from the shared pool. The thresholds in this module are
//! *reconstructed*. T is the queue's threshold, η the headroom, and N the number of lossless
//! priorities. A queue pauses its sender beyond T − η and continues to use shared memory. The port
//! pauses all its lossless priorities when its queues together use more than N T, or when the pool
//! has no space. Later packets use the port's insurance of η.

use crate::buffer::{Buffer, IngressId};
use crate::policy::interface::{
    Account, Arrival, Bound, BoundPlace, DropReason, PauseDemand, SwitchShape, Verdict,
};
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, choices};

/// Parameter: whether every queue has separate headroom.
pub(crate) const HEADROOM_MODE: ParamInfo = ParamInfo {
    name: "headroom_mode",
    kind: ParamKind::Choice(HeadroomMode::WORDS),
    default: ParamValue::word(HeadroomMode::Static.word()),
    artifact_default: None,
    doc: "Unit for which `headroom` is reserved.",
};

choices! {
    /// Unit for which headroom is reserved: each queue, or the whole port.
    pub(crate) enum HeadroomMode {
        Static = "static": "every lossless priority of every port",
        DshLike = "dsh-like":
            "every port only, as an insurance: a queue pauses `headroom` below its threshold and stores \
             later packets in the shared pool; if the queues of a port together exceed their thresholds, or \
             the pool is full, the port pauses all its lossless priorities and uses its insurance (after \
             DSH; thresholds reconstructed)",
    }
}

/// Headroom and pause state of all ports.
#[derive(Clone, Debug)]
pub(crate) struct DynamicHeadroom {
    /// Headroom η of each port: for each of its queues, and for its insurance (bytes).
    headroom: Vec<u64>,
    xon: u64,
    xon_offset: u64,
    queues_per_port: u16,
    /// Lossless priorities of each port: bit p is set if priority p is lossless.
    lossless: Vec<u32>,
    /// Whether each ingress queue pauses its sender because of the length of the queue alone.
    paused: Vec<bool>,
    /// Whether each port pauses all its lossless priorities.
    port_paused: Vec<bool>,
}

impl DynamicHeadroom {
    pub(crate) fn new(headroom: Vec<u64>, xon: u64, xon_offset: u64, shape: &SwitchShape) -> Self {
        Self {
            headroom,
            xon,
            xon_offset,
            queues_per_port: shape.queues_per_port as u16,
            lossless: (0..shape.ports()).map(|port| shape.lossless_at(port)).collect(),
            paused: vec![false; shape.queues()],
            port_paused: vec![false; shape.ports()],
        }
    }

    pub(crate) fn is_paused(&self, ingress: IngressId) -> bool {
        self.paused[usize::from(ingress.0)] || self.port_paused[self.port(ingress)]
    }

    fn port(&self, ingress: IngressId) -> usize {
        usize::from(ingress.0 / self.queues_per_port)
    }

    /// Bytes of a port's lossless queues in the pool, and bytes in the port's insurance.
    fn held(&self, port: usize, buffer: &Buffer) -> (u64, u64) {
        let first = port as u16 * self.queues_per_port;
        let queues = (0..self.queues_per_port).filter(|queue| self.lossless[port] >> queue & 1 != 0);
        queues.map(|queue| IngressId(first + queue)).fold((0, 0), |(shared, insured), id| {
            let headroom = buffer.ingress_headroom_bytes(id);
            (shared + buffer.ingress_bytes(id) - headroom, insured + headroom)
        })
    }

    /// Bytes N T above which a port pauses all its lossless priorities.
    fn port_limit(&self, port: usize, limit: u64) -> u64 {
        limit.saturating_mul(u64::from(self.lossless[port].count_ones()))
    }

    /// Decides about a lossless arrival. `length` has the bytes of its queue in the pool with the
    /// arrival, and `limit` is the threshold T. `room` states whether the arrival fits into the
    /// pool.
    pub(crate) fn admit(
        &mut self,
        arrival: &Arrival,
        length: u64,
        limit: u64,
        room: bool,
        buffer: &Buffer,
    ) -> Verdict {
        let (port, size) = (self.port(arrival.ingress), u64::from(arrival.header.size));
        let (shared, insured) = self.held(port, buffer);
        if !room || shared + size > self.port_limit(port, limit) {
            self.port_paused[port] = true;
        }
        if !self.port_paused[port] {
            self.paused[usize::from(arrival.ingress.0)] |= length > limit.saturating_sub(self.headroom[port]);
            return Verdict::Admit(Account::Shared);
        }
        if insured + size > self.headroom[port] {
            return Verdict::Drop(DropReason::HeadroomFull);
        }
        if !buffer.fits(arrival.header.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        Verdict::Admit(Account::Headroom)
    }

    /// The comparison by which [`Self::admit`] refused `arrival`.
    pub(crate) fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        if reason != DropReason::HeadroomFull {
            return Bound::usual(arrival, reason, None, buffer);
        }
        let port = self.port(arrival.ingress);
        let (_, held) = self.held(port, buffer);
        let (size, limit) = (u64::from(arrival.header.size), self.headroom[port]);
        Bound { place: BoundPlace::PortHeadroom(port as u16), held, size, limit }.if_binding()
    }

    /// Demand on the sender behind `ingress`. The queue has `length` bytes in the pool,
    /// and `limit` is the queue's threshold.
    pub(crate) fn demand(
        &mut self,
        ingress: IngressId,
        length: u64,
        limit: u64,
        buffer: &Buffer,
    ) -> PauseDemand {
        let port = self.port(ingress);
        if self.port_paused[port] {
            let (shared, insured) = self.held(port, buffer);
            let below = shared + self.xon_offset <= self.port_limit(port, limit) || shared == 0;
            self.port_paused[port] = insured > 0 || !below;
        }
        let below = length + self.xon_offset <= limit.saturating_sub(self.headroom[port]);
        let free = below || length < self.xon || length == 0;
        let paused = &mut self.paused[usize::from(ingress.0)];
        *paused &= !free;
        if *paused || self.port_paused[port] { PauseDemand::Pause } else { PauseDemand::Resume }
    }
}
