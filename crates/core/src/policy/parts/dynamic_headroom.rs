//! Headroom out of the shared pool, insured by a small one per port: after DSH (dynamic and shared
//! headroom).
//!
//! Known of DSH is its idea: a port keeps headroom for one pause of all its priorities, and that
//! guarantee lets each queue take its own from the shared pool. *Reconstructed* here are the
//! thresholds: with T the queue's threshold and η the headroom, a queue pauses its sender beyond T
//! − η and goes on taking shared memory; the port pauses all its lossless priorities when its
//! queues hold more than N T together (N: lossless priorities), or when the pool has no room; what
//! then comes goes into the port's insurance of η.

use crate::buffer::{Buffer, IngressId};
use crate::policy::interface::{
    Account, Arrival, Bound, BoundPlace, DropReason, PauseDemand, SwitchShape, Verdict,
};
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, choices};

/// Whether headroom is set aside for every queue.
pub(crate) const HEADROOM_MODE: ParamInfo = ParamInfo {
    name: "headroom_mode",
    kind: ParamKind::Choice(HeadroomMode::WORDS),
    default: ParamValue::word(HeadroomMode::Static.word()),
    artifact_default: None,
    doc: "What `headroom` is set aside for.",
};

choices! {
    /// What headroom is set aside for.
    pub(crate) enum HeadroomMode {
        Static = "static": "every lossless priority of every port",
        DshLike = "dsh-like":
            "every port only, as an insurance; a queue pauses `headroom` below its threshold and takes what comes from the shared pool; \
             a port whose queues exceed their thresholds together, or that finds the pool full, pauses all its lossless priorities and \
             uses its insurance (after DSH; thresholds reconstructed)",
    }
}

/// What is remembered of all ports.
#[derive(Clone, Debug)]
pub(crate) struct DynamicHeadroom {
    /// η by port: of its queues, and of its insurance (bytes).
    headroom: Vec<u64>,
    xon: u64,
    xon_offset: u64,
    queues_per_port: u16,
    /// By port: bit p: priority p is lossless.
    lossless: Vec<u32>,
    /// By ingress queue: its own pause.
    paused: Vec<bool>,
    /// By port: the pause of all its queues.
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

    /// Bytes that the lossless queues of a port hold of the pool, and of the insurance.
    fn held(&self, port: usize, buffer: &Buffer) -> (u64, u64) {
        let first = port as u16 * self.queues_per_port;
        let queues = (0..self.queues_per_port).filter(|queue| self.lossless[port] >> queue & 1 != 0);
        queues.map(|queue| IngressId(first + queue)).fold((0, 0), |(shared, insured), id| {
            let headroom = buffer.ingress_headroom_bytes(id);
            (shared + buffer.ingress_bytes(id) - headroom, insured + headroom)
        })
    }

    /// N T.
    fn port_limit(&self, port: usize, limit: u64) -> u64 {
        limit.saturating_mul(u64::from(self.lossless[port].count_ones()))
    }

    /// Where a lossless arrival goes; `length`: what its queue holds of the pool with it, `limit`:
    /// T, `room`: it fits into the pool.
    pub(crate) fn admit(
        &mut self,
        arrival: &Arrival,
        length: u64,
        limit: u64,
        room: bool,
        buffer: &Buffer,
    ) -> Verdict {
        let (port, size) = (self.port(arrival.ingress), u64::from(arrival.size));
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
        if !buffer.fits(arrival.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        Verdict::Admit(Account::Headroom)
    }

    /// The comparison for which [`Self::admit`] refused.
    pub(crate) fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        if reason != DropReason::HeadroomFull {
            return Bound::usual(arrival, reason, None, buffer);
        }
        let port = self.port(arrival.ingress);
        let (_, held) = self.held(port, buffer);
        let (size, limit) = (u64::from(arrival.size), self.headroom[port]);
        Bound { place: BoundPlace::PortHeadroom(port as u16), held, size, limit }.if_binding()
    }

    /// What the sender behind `ingress` must do, whose queue holds `length` bytes of the pool and
    /// may hold `limit`.
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
