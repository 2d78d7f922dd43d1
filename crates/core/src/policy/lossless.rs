//! Headroom, pause and resume of lossless ingress queues: what SONiC's model and Reverie have in common.

use super::dynamic_headroom::DynamicHeadroom;
use super::{Account, Arrival, BuildError, DropReason, PauseDemand, SwitchShape, Verdict};
use crate::buffer::{Buffer, IngressId};
use crate::params::{ParamInfo, ParamKind, ParamValue, Params};

/// Space for what is on its way when a queue pauses its sender.
pub(super) const HEADROOM: ParamInfo = ParamInfo {
    name: "headroom",
    kind: ParamKind::BytesPerPort { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "Headroom of each lossless ingress queue, for all ports or a list with one value per port (cables differ), taken out of the buffer: at \
          least what its sender puts on the wire before a pause takes effect. Required where there are lossless priorities; without those it has no effect.",
};

/// The pool that all headroom comes from.
pub(super) const HEADROOM_POOL: ParamInfo = ParamInfo {
    name: "headroom_pool",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "Bytes of headroom of all ingress queues together (SONiC's shared headroom pool). 0: `headroom` for every lossless priority of \
          every port.",
};

/// Below this a paused queue resumes at any threshold.
pub(super) const XON: ParamInfo = ParamInfo {
    name: "xon",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: Some(ParamValue::Bytes(1_248)),
    doc: "A paused ingress queue whose headroom is empty resumes when it is shorter than this, whatever its threshold. An empty one \
          always resumes.",
};

/// The hysteresis.
pub(super) const XON_OFFSET: ParamInfo = ParamInfo {
    name: "xon_offset",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: Some(ParamValue::Bytes(2_496)),
    doc: "A paused ingress queue whose headroom is empty resumes when it is shorter than its threshold by so much.",
};

/// State of all lossless ingress queues.
#[derive(Clone, Debug)]
pub(super) struct Lossless {
    priorities: u32,
    /// Of each queue, by port (bytes).
    headroom: Vec<u64>,
    queues_per_port: u16,
    /// Of all queues together (bytes).
    pool: u64,
    xon: u64,
    xon_offset: u64,
    /// By ingress queue.
    paused: Vec<bool>,
}

impl Lossless {
    /// From the four parameters above.
    pub(super) fn new(params: &Params, shape: &SwitchShape) -> Result<Self, BuildError> {
        let headroom = params.bytes_per_port("headroom", shape.ports());
        let priorities = u64::from(shape.lossless.count_ones());
        // Insurances are for whole ports.
        let insured = params.iter().any(|(name, value)| {
            name == "headroom_mode" && matches!(value, ParamValue::Choice(mode) if mode == "dsh-like")
        });
        let of_port = if insured { priorities.min(1) } else { priorities };
        let queues = of_port * shape.ports() as u64;
        let sum = headroom.iter().fold(0_u64, |sum, bytes| sum.saturating_add(bytes.saturating_mul(of_port)));
        let least = headroom.iter().copied().min().unwrap_or(0);
        let pool = match params.bytes("headroom_pool") {
            _ if queues == 0 => 0,
            _ if insured => sum,
            0 => sum,
            bytes => bytes,
        };
        if queues > 0 && least < shape.max_packet {
            let message = format!(
                "{least} B of headroom hold no packet of {} B that comes after a pause; the switch has {queues} lossless ingress queues",
                shape.max_packet
            );
            return Err(BuildError { param: "headroom", message });
        }
        if pool.saturating_add(shape.max_packet) > shape.capacity && queues > 0 {
            let message = format!(
                "{pool} B of headroom for {queues} lossless ingress queues leave no room for a packet in the buffer's {} B",
                shape.capacity
            );
            return Err(BuildError { param: "headroom", message });
        }
        Ok(Self {
            priorities: shape.lossless,
            headroom,
            queues_per_port: shape.queues_per_port as u16,
            pool,
            xon: params.bytes("xon"),
            xon_offset: params.bytes("xon_offset"),
            paused: vec![false; shape.queues()],
        })
    }

    /// What replaces the headroom of queues where ports are insured.
    pub(super) fn insurances(&self, shape: &SwitchShape) -> DynamicHeadroom {
        DynamicHeadroom::new(self.headroom.clone(), self.xon, self.xon_offset, shape)
    }

    /// Bytes of the buffer that are headroom.
    pub(super) fn pool(&self) -> u64 {
        self.pool
    }

    #[inline]
    pub(super) fn is_lossless(&self, priority: u8) -> bool {
        self.priorities >> priority & 1 != 0
    }

    /// Whether the sender behind `ingress` shall be silent.
    pub(super) fn is_paused(&self, ingress: IngressId) -> bool {
        self.paused[usize::from(ingress.0)]
    }

    /// Where a lossless arrival goes that its threshold lets into the pool (`within`), or not. A queue with headroom in use, and a paused one,
    /// use headroom only.
    pub(super) fn admit(&mut self, arrival: &Arrival, within: bool, buffer: &Buffer) -> Verdict {
        let paused = &mut self.paused[usize::from(arrival.ingress.0)];
        let held = buffer.ingress_headroom_bytes(arrival.ingress);
        if within && !*paused && held == 0 {
            return Verdict::Admit(Account::Shared);
        }
        *paused = true;
        let size = u64::from(arrival.size);
        let own = self.headroom[usize::from(arrival.ingress.0 / self.queues_per_port)];
        if held + size > own || buffer.used(Account::Headroom) + size > self.pool {
            return Verdict::Drop(DropReason::HeadroomFull);
        }
        if !buffer.fits(arrival.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        Verdict::Admit(Account::Headroom)
    }

    /// What the sender behind `ingress` shall do: `length` is what its threshold `limit` is compared with.
    pub(super) fn demand(
        &mut self,
        ingress: IngressId,
        length: u64,
        limit: u64,
        buffer: &Buffer,
    ) -> PauseDemand {
        let paused = &mut self.paused[usize::from(ingress.0)];
        if !*paused {
            return PauseDemand::Resume;
        }
        let drained = buffer.ingress_headroom_bytes(ingress) == 0;
        let empty = buffer.ingress_bytes(ingress) == 0;
        if empty || drained && (length < self.xon || length + self.xon_offset <= limit) {
            *paused = false;
            return PauseDemand::Resume;
        }
        PauseDemand::Pause
    }
}

/// Bytes of an ingress queue that are not in headroom.
#[inline]
pub(super) fn outside_headroom(ingress: IngressId, buffer: &Buffer) -> u64 {
    buffer.ingress_bytes(ingress) - buffer.ingress_headroom_bytes(ingress)
}

/// Bytes that all packets outside headroom hold of the shared pool.
#[inline]
pub(super) fn pool_occupancy(buffer: &Buffer) -> u64 {
    buffer.shared_occupancy().saturating_sub(buffer.used(Account::Headroom))
}
