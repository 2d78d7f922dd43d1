//! The pools of SONiC's buffer model: every packet is counted at ingress and at egress.

use super::dynamic_headroom::DynamicHeadroom;
use super::lossless::{self, Lossless};
use super::{Arrival, BuildError, DropReason, Hooks, PauseDemand, SwitchShape, Verdict};
use crate::buffer::{Buffer, IngressId, QueueId};
use crate::params::{ParamInfo, ParamKind, ParamValue, Params};
use crate::weight::Weight;
use std::borrow::Cow;

/// Largest factor: a limit that never binds before its pool is full.
const UNLIMITED: f64 = 65_536.0;

/// α of the two limits that count.
pub(super) const ALPHA: ParamInfo = ParamInfo {
    name: "alpha",
    kind: ParamKind::RatioPerPriority { min: 1e-6, max: UNLIMITED },
    default: ParamValue::RatioPerPriority(Cow::Borrowed(&[1.0])),
    artifact_default: None,
    doc: "Factor of what is left of the pool, by priority: of the ingress pool for lossless priorities (where they pause), of the egress lossy \
          pool for lossy ones (where they drop). SONiC writes dynamic_th = log2 alpha.",
};

/// b_eo.
pub(super) const LOSSY_POOL: ParamInfo = ParamInfo {
    name: "lossy_pool",
    kind: ParamKind::Ratio { min: 1e-6, max: 1.0 },
    default: ParamValue::Ratio(0.8),
    artifact_default: None,
    doc: "Egress lossy pool as a part of the ingress pool (Reverie section 4.1: 80 %; at most all of it, heuristic 3).",
};

/// H3.
pub(super) const LOSSY_INGRESS_ALPHA: ParamInfo = ParamInfo {
    name: "lossy_ingress_alpha",
    kind: ParamKind::Ratio { min: 1e-6, max: UNLIMITED },
    default: ParamValue::Ratio(UNLIMITED),
    artifact_default: None,
    doc: "Factor of a lossy ingress queue: large, so that lossy packets are lost at egress only (heuristic 3).",
};

/// H2.
pub(super) const LOSSLESS_EGRESS_ALPHA: ParamInfo = ParamInfo {
    name: "lossless_egress_alpha",
    kind: ParamKind::Ratio { min: 1e-6, max: UNLIMITED },
    default: ParamValue::Ratio(UNLIMITED),
    artifact_default: None,
    doc: "Factor of a lossless egress queue, whose pool is the whole buffer: large, so that it never binds (heuristic 2). A packet beyond it is lost.",
};

/// A PG's `size`.
pub(super) const RESERVED: ParamInfo = ParamInfo {
    name: "reserved",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "Bytes of the buffer that each lossless ingress queue has for itself, below its threshold (SONiC's `size` of a priority group).",
};

/// Pools, headroom and who holds what of them.
#[derive(Clone, Debug)]
pub(super) struct Pools {
    pub(super) lossless: Lossless,
    /// In place of headroom of every queue.
    dynamic: Option<DynamicHeadroom>,
    /// b_in, without what is reserved.
    ingress: u64,
    /// b_eo.
    lossy: u64,
    /// b_el.
    lossless_egress: u64,
    lossy_ingress_alpha: Weight,
    lossless_egress_alpha: Weight,
    reserved: u64,
    queues_per_port: usize,
    /// By egress queue: bytes of the shared pool when it was counted last.
    counted: Vec<u64>,
    /// By ingress queue: bytes of its reserve in use when it was counted last.
    counted_reserve: Vec<u64>,
    /// Sums over all queues: q_eo, q_el, and what is in reserves.
    lossy_bytes: u64,
    lossless_bytes: u64,
    reserved_bytes: u64,
}

impl Pools {
    pub(super) fn new(params: &Params, shape: &SwitchShape) -> Result<Self, BuildError> {
        let lossless = Lossless::new(params, shape)?;
        let dynamic = (params.choice("headroom_mode") == "dsh-like").then(|| lossless.insurances(shape));
        let reserved = params.bytes("reserved");
        let queues = u64::from(shape.lossless.count_ones()) * shape.ports() as u64;
        let set_aside = reserved.saturating_mul(queues).saturating_add(lossless.pool());
        if set_aside.saturating_add(shape.max_packet) > shape.capacity && reserved > 0 {
            let message = format!(
                "reserves and headroom of {queues} lossless ingress queues, {set_aside} B, leave no room for a packet in the buffer's {} B",
                shape.capacity
            );
            return Err(BuildError { param: "reserved", message });
        }
        let ingress = shape.capacity.saturating_sub(if queues > 0 { set_aside } else { 0 });
        Ok(Self {
            lossless,
            dynamic,
            ingress,
            lossy: Weight::from_f64(params.ratio("lossy_pool")).of(ingress),
            lossless_egress: shape.capacity,
            lossy_ingress_alpha: Weight::from_f64(params.ratio("lossy_ingress_alpha")),
            lossless_egress_alpha: Weight::from_f64(params.ratio("lossless_egress_alpha")),
            reserved: if queues > 0 { reserved } else { 0 },
            queues_per_port: shape.queues_per_port,
            counted: vec![0; shape.queues()],
            counted_reserve: vec![0; shape.queues()],
            lossy_bytes: 0,
            lossless_bytes: 0,
            reserved_bytes: 0,
        })
    }

    /// Priority of an ingress or egress queue.
    fn priority(&self, queue: u16) -> u8 {
        (usize::from(queue) % self.queues_per_port) as u8
    }

    /// b_in − q_in.
    #[inline]
    pub(super) fn ingress_free(&self, buffer: &Buffer) -> u64 {
        let used = lossless::pool_occupancy(buffer).saturating_sub(self.reserved_bytes);
        self.ingress.saturating_sub(used)
    }

    /// b_eo − q_eo.
    #[inline]
    pub(super) fn lossy_free(&self) -> u64 {
        self.lossy.saturating_sub(self.lossy_bytes)
    }

    /// What a lossless ingress queue holds beyond its reserve, without headroom: what its threshold is compared with.
    #[inline]
    pub(super) fn ingress_length(&self, ingress: IngressId, buffer: &Buffer) -> u64 {
        lossless::outside_headroom(ingress, buffer).saturating_sub(self.reserved)
    }

    /// Judges a lossy arrival whose egress queue may hold `limit` bytes.
    #[inline]
    pub(super) fn admit_lossy(&self, arrival: &Arrival, limit: u64, buffer: &Buffer) -> Verdict {
        let size = u64::from(arrival.size);
        let free = self.ingress_free(buffer);
        if size > free.min(self.lossy_free()) || !buffer.fits(arrival.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        if buffer.ingress_bytes(arrival.ingress) + size > self.lossy_ingress_alpha.of(free) {
            return Verdict::Drop(DropReason::OverIngressLimit);
        }
        if buffer.shared_queue_bytes(arrival.queue) + size > limit {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(super::Account::Shared)
    }

    /// Judges a lossless arrival whose ingress queue may hold `limit` bytes of the pool.
    pub(super) fn admit_lossless(&mut self, arrival: &Arrival, limit: u64, buffer: &Buffer) -> Verdict {
        let size = u64::from(arrival.size);
        let free = self.lossless_egress.saturating_sub(self.lossless_bytes);
        if buffer.shared_queue_bytes(arrival.queue) + size > self.lossless_egress_alpha.of(free) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        let length = lossless::outside_headroom(arrival.ingress, buffer) + size;
        let beyond = length.saturating_sub(self.reserved);
        if let Some(dynamic) = &mut self.dynamic {
            let needed = size.min(beyond);
            let used = lossless::pool_occupancy(buffer).saturating_sub(self.reserved_bytes);
            let room = needed <= self.ingress.saturating_sub(used) && buffer.fits(arrival.size);
            return dynamic.admit(arrival, beyond, limit, room, buffer);
        }
        let within = beyond == 0 || beyond <= limit && size.min(beyond) <= self.ingress_free(buffer);
        self.lossless.admit(arrival, within && buffer.fits(arrival.size), buffer)
    }

    /// What the sender behind `ingress` shall do, whose queue may hold `limit` bytes of the pool.
    pub(super) fn demand(&mut self, ingress: IngressId, limit: u64, buffer: &Buffer) -> PauseDemand {
        if !self.lossless.is_lossless(self.priority(ingress.0)) {
            return PauseDemand::Keep;
        }
        let length = self.ingress_length(ingress, buffer);
        match &mut self.dynamic {
            None => self.lossless.demand(ingress, length, limit, buffer),
            Some(dynamic) => dynamic.demand(ingress, length, limit, buffer),
        }
    }

    /// The largest length that the pools allow a lossy queue, whatever its threshold.
    pub(super) fn lossy_limit(&self, queue: QueueId, limit: u64, buffer: &Buffer) -> u64 {
        let room = self.ingress_free(buffer).min(self.lossy_free());
        limit.min(buffer.shared_queue_bytes(queue) + room)
    }

    /// Both queues of a packet have changed.
    #[inline]
    pub(super) fn recount(&mut self, queue: QueueId, ingress: IngressId, buffer: &Buffer) {
        self.recount_egress(queue, buffer);
        if self.reserved > 0 && self.lossless.is_lossless(self.priority(ingress.0)) {
            self.recount_reserve(ingress, buffer);
        }
    }

    fn recount_egress(&mut self, queue: QueueId, buffer: &Buffer) {
        let bytes = buffer.shared_queue_bytes(queue);
        let before = std::mem::replace(&mut self.counted[usize::from(queue.0)], bytes);
        let is_lossless = self.lossless.is_lossless(self.priority(queue.0));
        let sum = if is_lossless { &mut self.lossless_bytes } else { &mut self.lossy_bytes };
        *sum = *sum + bytes - before;
    }

    fn recount_reserve(&mut self, ingress: IngressId, buffer: &Buffer) {
        let bytes = lossless::outside_headroom(ingress, buffer).min(self.reserved);
        let before = std::mem::replace(&mut self.counted_reserve[usize::from(ingress.0)], bytes);
        self.reserved_bytes = self.reserved_bytes + bytes - before;
    }

    /// A packet of `queue` was removed without being sent (another policy's doing): whose ingress queue it was is not known.
    pub(super) fn recount_all(&mut self, buffer: &Buffer) {
        for queue in buffer.queue_ids() {
            self.recount(queue, IngressId(queue.0), buffer);
        }
    }

    /// Whether the sender behind `ingress` is told to be silent.
    fn is_pausing(&self, ingress: IngressId) -> bool {
        self.dynamic
            .as_ref()
            .map_or_else(|| self.lossless.is_paused(ingress), |dynamic| dynamic.is_paused(ingress))
    }

    /// The hooks of a policy that divides these pools.
    pub(super) fn hooks(&self) -> Hooks {
        let hooks = Hooks::ENQUEUE.and(Hooks::DEQUEUE).and(Hooks::DROP).and(Hooks::PAUSE);
        if self.dynamic.is_some() { hooks.and(Hooks::PAUSE_PORT) } else { hooks }
    }

    /// What plots want to know of `queue`; `pause_limit`: the threshold of its priority's ingress queues.
    pub(super) fn probe(
        &self,
        queue: QueueId,
        pause_limit: u64,
        buffer: &Buffer,
        sink: &mut dyn FnMut(&'static str, f64),
    ) {
        sink("ingress_pool_free", self.ingress_free(buffer) as f64);
        sink("lossy_pool_free", self.lossy_free() as f64);
        if self.lossless.is_lossless(self.priority(queue.0)) {
            let ingress = IngressId(queue.0);
            sink("pause_threshold", pause_limit as f64);
            sink("ingress_bytes", lossless::outside_headroom(ingress, buffer) as f64);
            sink("headroom_bytes", buffer.ingress_headroom_bytes(ingress) as f64);
            sink("pausing", f64::from(u8::from(self.is_pausing(ingress))));
        }
    }
}
