//! Headroom, pause and resume of lossless ingress queues: what SONiC's model and Reverie have in common.

use crate::buffer::{Buffer, IngressId};
use crate::hardware::ResumeBelow;
use crate::policy::interface::{
    Account, Arrival, Bound, BoundPlace, BuildError, DropReason, PauseDemand, SwitchShape, Verdict,
};
use crate::policy::parts::dynamic_headroom::DynamicHeadroom;
use crate::policy::parts::queue_profiles::{refuse_at_lossy_ingress, resolve};
use bufferlab_params::profiles::{BufferProfile, Direction};
use bufferlab_params::{AUTO, Choice, ParamInfo, ParamKind, ParamValue, Params, choices};

/// Space for what is on its way when a queue pauses its sender.
pub(crate) const HEADROOM: ParamInfo = ParamInfo {
    name: "headroom",
    kind: ParamKind::BytesPerPort { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "Headroom of each lossless ingress queue, for all ports or a list with one value per port (cables differ), \
          taken out of the buffer: at least what its sender puts on the wire before a pause takes effect. `auto`: that, \
          from the scenario's cables and packets (`docs/lossless.md`). Required where there are lossless priorities; \
          without those it has no effect.",
};

/// The pool that all headroom comes from.
pub(crate) const HEADROOM_POOL: ParamInfo = ParamInfo {
    name: "headroom_pool",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "Bytes of headroom of all ingress queues together (SONiC's shared headroom pool). 0: `headroom` for every \
          lossless priority of every port.",
};

/// Below this a paused queue resumes at any threshold.
pub(crate) const XON: ParamInfo = ParamInfo {
    name: "xon",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: Some(ParamValue::Bytes(1_248)),
    doc: "A paused ingress queue whose headroom is empty resumes when it is shorter than this, whatever its threshold. \
          An empty one always resumes.",
};

/// The hysteresis.
pub(crate) const XON_OFFSET: ParamInfo = ParamInfo {
    name: "xon_offset",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: Some(ParamValue::Bytes(2_496)),
    doc: "A paused ingress queue whose headroom is empty resumes when it is shorter than its threshold by so much.",
};

/// Where packets of a paused queue go when its headroom has drained.
pub(crate) const HEADROOM_UNTIL: ParamInfo = ParamInfo {
    name: "headroom_until",
    kind: ParamKind::Choice(HeadroomUntil::WORDS),
    default: ParamValue::word(HeadroomUntil::Resumed.word()),
    artifact_default: Some(ParamValue::word(HeadroomUntil::Drained.word())),
    doc: "How long a queue that has used headroom charges its packets there; not with `headroom_mode = \"dsh-like\"`.",
};

choices! {
    /// How long packets of a queue go to headroom.
    enum HeadroomUntil {
        Resumed = "resumed": "until its sender may go on: a packet of a paused queue is never charged to the pool",
        Drained = "drained": "until its headroom is empty: then a packet within the threshold is charged to the pool, although the sender is still paused (the artifact)",
    }
}

/// What pauses of one ingress queue go by.
#[derive(Clone, Copy, Debug)]
struct Gate {
    /// Bytes.
    headroom: u64,
    xon: u64,
    xon_offset: u64,
    lossless: bool,
    paused: bool,
    /// The threshold that it exceeded when it paused (bytes).
    pause_point: u64,
}

/// State of all lossless ingress queues.
#[derive(Clone, Debug)]
pub(crate) struct Lossless {
    /// By ingress queue.
    gates: Vec<Gate>,
    /// By port, of the parameter (bytes).
    headroom_of_ports: Vec<u64>,
    /// Of all queues of a slice together, by slice (bytes).
    pools: Vec<u64>,
    queues_per_slice: usize,
    resume_below: ResumeBelow,
    /// Of the parameters.
    xon: u64,
    xon_offset: u64,
    until_resumed: bool,
}

/// Whether headroom is set aside for whole ports, which leaves no room for profiles of queues.
fn insures_ports(params: &Params) -> Result<bool, BuildError> {
    let insured = params.iter().any(|(name, value)| {
        name == "headroom_mode" && matches!(value, ParamValue::Choice(mode) if mode == "dsh-like")
    });
    if insured && !params.profiles("profiles").is_empty() {
        let message =
            "with headroom_mode = \"dsh-like\" all queues of a port share what it has: choose \"static\"";
        return Err(BuildError { param: "profiles", message: message.to_owned() });
    }
    Ok(insured)
}

/// Headroom by slice (bytes): what all queues have, or an equal part of what they share.
fn pools(gates: &[Gate], params: &Params, shape: &SwitchShape, insured: bool) -> Vec<u64> {
    let of_port = |gates: &[Gate]| {
        let held = gates.iter().filter(|gate| gate.lossless).map(|gate| gate.headroom);
        held.take(if insured { 1 } else { usize::MAX }).fold(0, u64::saturating_add)
    };
    let of_slice = |gates: &[Gate]| {
        let sum = gates.chunks(shape.queues_per_port).map(of_port).fold(0, u64::saturating_add);
        match params.bytes(HEADROOM_POOL.name) {
            _ if insured || shape.lossless_queues() == 0 => sum,
            0 => sum,
            bytes => bytes / shape.slices() as u64,
        }
    };
    gates.chunks(shape.ingress_queues_per_slice()).map(of_slice).collect()
}

/// Refuses headroom that leaves no room in its slice.
fn refuse_too_much(pools: &[u64], shape: &SwitchShape) -> Result<(), BuildError> {
    let slices = shape.slices() as u64;
    let largest = pools.iter().copied().max().unwrap_or(0);
    let queues = shape.lossless_queues();
    if largest.saturating_add(shape.max_packet) <= shape.capacity / slices || queues == 0 {
        return Ok(());
    }
    let of_slice = if slices > 1 { format!(", in one of {slices} slices") } else { String::new() };
    let message = format!(
        "{largest} B of headroom for {queues} lossless ingress queues leave no room for a packet in the buffer's {} B{of_slice}",
        shape.capacity / slices
    );
    Err(BuildError { param: HEADROOM.name, message })
}

impl Lossless {
    /// From the parameters above and the profiles.
    pub(crate) fn new(params: &Params, shape: &SwitchShape) -> Result<Self, BuildError> {
        if params.value(HEADROOM.name) == &ParamValue::word(AUTO) {
            let message = "\"auto\" follows from cables, which a switch alone does not know: give a size";
            return Err(BuildError { param: HEADROOM.name, message: message.to_owned() });
        }
        let headroom_of_ports = params.bytes_per_port("headroom", shape.ingress_ports());
        let (xon, xon_offset) = (params.bytes("xon"), params.bytes("xon_offset"));
        refuse_at_lossy_ingress(
            params,
            shape,
            |profile| [profile.headroom, profile.xon, profile.xon_offset].iter().any(Option::is_some),
            "it is lossy there; only lossless ingress queues have headroom, xon and xon_offset",
        )?;
        let ingress = |of: fn(&BufferProfile) -> Option<u64>, general: &dyn Fn(usize) -> u64| {
            resolve(params, shape, Direction::Ingress, of, |port, _| general(port))
        };
        let headroom = ingress(|profile| profile.headroom, &|port| headroom_of_ports[port]);
        let (xons, offsets) = (
            ingress(|profile| profile.xon, &|_| xon),
            ingress(|profile| profile.xon_offset, &|_| xon_offset),
        );
        let insured = insures_ports(params)?;
        let gate = |queue: usize| Gate {
            headroom: headroom[queue],
            xon: xons[queue],
            xon_offset: offsets[queue],
            lossless: shape.lossless_at(queue / shape.queues_per_port) >> (queue % shape.queues_per_port) & 1
                != 0,
            paused: false,
            pause_point: 0,
        };
        let gates: Vec<_> = (0..shape.ingress_queues()).map(gate).collect();
        let pools = pools(&gates, params, shape, insured);
        let least = gates.iter().enumerate().filter(|(_, gate)| gate.lossless);
        if let Some((queue, Gate { headroom: least, .. })) = least.min_by_key(|(_, gate)| gate.headroom)
            && *least < shape.max_packet
        {
            let message = format!(
                "{least} B of headroom hold no packet of {} B that comes after a pause; the switch has {} lossless ingress queues",
                shape.max_packet,
                shape.lossless_queues()
            );
            let of_profile = *least != headroom_of_ports[queue / shape.queues_per_port];
            return Err(BuildError { param: if of_profile { "profiles" } else { "headroom" }, message });
        }
        refuse_too_much(&pools, shape)?;
        let until_resumed = matches!(params.choice(HEADROOM_UNTIL.name), HeadroomUntil::Resumed);
        let resume_below = shape.accounting.resume_below;
        if insured && resume_below == ResumeBelow::PausePoint {
            let message = "with headroom_mode = \"dsh-like\" queues resume below their thresholds: choose \"static\", or resume_below = \"threshold\"";
            return Err(BuildError { param: "headroom_mode", message: message.to_owned() });
        }
        Ok(Self {
            gates,
            headroom_of_ports,
            pools,
            queues_per_slice: shape.ingress_queues_per_slice(),
            resume_below,
            xon,
            xon_offset,
            until_resumed,
        })
    }

    /// What replaces the headroom of queues where ports are insured.
    pub(crate) fn insurances(&self, shape: &SwitchShape) -> DynamicHeadroom {
        DynamicHeadroom::new(self.headroom_of_ports.clone(), self.xon, self.xon_offset, shape)
    }

    /// Bytes of the buffer that are headroom, by slice.
    pub(crate) fn pools(&self) -> &[u64] {
        &self.pools
    }

    /// The slice of an ingress queue.
    #[inline]
    pub(crate) fn slice_of(&self, ingress: IngressId) -> usize {
        if self.pools.len() <= 1 { 0 } else { usize::from(ingress.0) / self.queues_per_slice }
    }

    /// Whether packets of this ingress queue are lossless.
    #[inline]
    pub(crate) fn is_lossless(&self, ingress: IngressId) -> bool {
        self.gates[usize::from(ingress.0)].lossless
    }

    /// Whether the sender behind `ingress` is paused.
    pub(crate) fn is_paused(&self, ingress: IngressId) -> bool {
        self.gates[usize::from(ingress.0)].paused
    }

    /// Where a lossless arrival goes that its threshold `limit` lets into the pool (`within`), or not. A queue with
    /// headroom in use, and a paused one, use headroom only. `used`: headroom of its slice that is in use.
    pub(crate) fn admit(
        &mut self,
        arrival: &Arrival,
        (within, limit): (bool, u64),
        used: u64,
        buffer: &Buffer,
    ) -> Verdict {
        let pool = self.pools[self.slice_of(arrival.ingress)];
        let gate = &mut self.gates[usize::from(arrival.ingress.0)];
        let held = buffer.ingress_headroom_bytes(arrival.ingress);
        if within && !(gate.paused && self.until_resumed) && held == 0 {
            return Verdict::Admit(Account::Shared);
        }
        if !gate.paused {
            gate.pause_point = limit;
        }
        gate.paused = true;
        let size = u64::from(arrival.size);
        if held + size > gate.headroom || used + size > pool {
            return Verdict::Drop(DropReason::HeadroomFull);
        }
        if !buffer.fits(arrival.size) {
            return Verdict::Drop(DropReason::BufferFull);
        }
        Verdict::Admit(Account::Headroom)
    }

    /// Whether a queue is paused and nothing of it is in headroom: its length decides when it resumes.
    pub(crate) fn may_resume(&self, ingress: IngressId, buffer: &Buffer) -> bool {
        self.gates[usize::from(ingress.0)].paused && buffer.ingress_headroom_bytes(ingress) == 0
    }

    /// The comparison for which [`Self::admit`] refused.
    pub(crate) fn bound(
        &self,
        arrival: &Arrival,
        reason: DropReason,
        used: u64,
        buffer: &Buffer,
    ) -> Option<Bound> {
        if reason != DropReason::HeadroomFull {
            return Bound::usual(arrival, reason, None, buffer);
        }
        let (size, ingress) = (u64::from(arrival.size), arrival.ingress);
        let (held, limit) =
            (buffer.ingress_headroom_bytes(ingress), self.gates[usize::from(ingress.0)].headroom);
        let own = Bound { place: BoundPlace::Headroom(ingress), held, size, limit };
        let (held, limit) = (used, self.pools[self.slice_of(ingress)]);
        let pool = Bound { place: BoundPlace::HeadroomPool, held, size, limit };
        own.if_binding().or_else(|| pool.if_binding())
    }

    /// What the sender behind `ingress` must do: `length` is what its threshold `limit` is compared with.
    pub(crate) fn demand(
        &mut self,
        ingress: IngressId,
        length: u64,
        limit: u64,
        buffer: &Buffer,
    ) -> PauseDemand {
        let gate = &mut self.gates[usize::from(ingress.0)];
        if !gate.paused {
            return PauseDemand::Resume;
        }
        let drained = buffer.ingress_headroom_bytes(ingress) == 0;
        let limit = match self.resume_below {
            ResumeBelow::Threshold => limit,
            ResumeBelow::PausePoint => gate.pause_point,
        };
        let empty = buffer.ingress_bytes(ingress) == 0;
        if empty || drained && (length < gate.xon || length + gate.xon_offset <= limit) {
            gate.paused = false;
            return PauseDemand::Resume;
        }
        PauseDemand::Pause
    }
}

/// Bytes of an ingress queue that are not in headroom.
#[inline]
pub(crate) fn outside_headroom(ingress: IngressId, buffer: &Buffer) -> u64 {
    buffer.ingress_bytes(ingress) - buffer.ingress_headroom_bytes(ingress)
}

/// Bytes that all packets outside headroom hold of the shared pool, as thresholds see them: of the last refresh, where
/// those grow stale.
#[inline]
pub(crate) fn pool_occupancy(buffer: &Buffer) -> u64 {
    buffer.shared_occupancy().saturating_sub(buffer.shared_used(Account::Headroom))
}

/// The same as it is. The border between pool and headroom is drawn by this: with an old number, packets of the pool
/// would take memory that is set aside for what comes after a pause.
#[inline]
pub(crate) fn pool_held(buffer: &Buffer) -> u64 {
    buffer.pool_occupancy().saturating_sub(buffer.used(Account::Headroom))
}
