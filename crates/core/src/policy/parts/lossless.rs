//! Headroom, pause and resume of lossless ingress queues, shared by the policies of SONiC and
//! Reverie.
//!
//! [`PauseWith`] selects the packet that pauses the sender. Chips decide after they stored a
//! packet. Reverie decides when a packet arrives, and Reverie's public code when a packet uses
//! headroom.

use crate::buffer::{Buffer, IngressId};
use crate::hardware::ResumeBelow;
use crate::policy::interface::{
    Account, Arrival, Bound, BoundPlace, BuildError, DropReason, Hooks, PauseDemand, SwitchShape, Verdict,
};
use crate::policy::parts::dynamic_headroom::DynamicHeadroom;
use crate::policy::parts::queue_profiles::{refuse_at_lossy_ingress, resolve};
use bufferlab_params::profiles::{BufferProfile, Direction};
use bufferlab_params::{AUTO, Choice, ParamInfo, ParamKind, ParamValue, Params, choices};

/// Parameter: space for packets in flight when a queue pauses its sender.
pub(crate) const HEADROOM: ParamInfo = ParamInfo {
    name: "headroom",
    kind: ParamKind::BytesPerPort { min: 0 },
    default: ParamValue::word(AUTO),
    artifact_default: None,
    doc: "Headroom of each lossless ingress queue, for all ports or a list with one value per port (cables \
          differ), taken from the buffer: at least the bytes that its sender sends before a pause takes \
          effect. `auto`: computed from the scenario's cables and packets (`docs/concepts/lossless.md`). \
          Without lossless priorities it has no effect.",
};

/// Parameter: size of the pool of headroom that all ingress queues share.
pub(crate) const HEADROOM_POOL: ParamInfo = ParamInfo {
    name: "headroom_pool",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "Headroom of all ingress queues together (SONiC's shared headroom pool). 0: `headroom` for every \
          lossless priority of every port.",
};

/// Parameter: length below which a paused queue resumes at any threshold.
pub(crate) const XON: ParamInfo = ParamInfo {
    name: "xon",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: Some(ParamValue::Bytes(1_248)),
    doc: "A paused ingress queue whose headroom is empty resumes when it is shorter than this, at any \
          threshold. An empty queue always resumes.",
};

/// Parameter: distance between the pause threshold and the length at which a queue resumes.
pub(crate) const XON_OFFSET: ParamInfo = ParamInfo {
    name: "xon_offset",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: Some(ParamValue::Bytes(2_496)),
    doc: "A paused ingress queue whose headroom is empty resumes when it is shorter than its threshold by \
          this distance.",
};

/// Parameter: account for packets of a paused queue whose headroom is empty.
pub(crate) const HEADROOM_UNTIL: ParamInfo = ParamInfo {
    name: "headroom_until",
    kind: ParamKind::Choice(HeadroomUntil::WORDS),
    default: ParamValue::word(HeadroomUntil::Resumed.word()),
    artifact_default: Some(ParamValue::word(HeadroomUntil::Drained.word())),
    doc: "Period for which a queue that has used headroom charges its packets to it; not with `headroom_mode \
          = \"dsh-like\"`.",
};

choices! {
    /// Period during which packets of a queue go to headroom.
    enum HeadroomUntil {
        Resumed = "resumed": "until its sender may resume: a packet of a paused queue is never charged to \
              the pool",
        Drained = "drained": "until its headroom is empty: then a packet within the threshold is charged to the pool, although the sender is still paused (the artifact)",
    }
}

/// Parameter that selects the packet that pauses its sender.
/// The value is `default`, or in the artifact the packet that uses headroom.
pub(crate) const fn pause_with(default: PauseWith) -> ParamInfo {
    ParamInfo {
        name: "pause_with",
        kind: ParamKind::Choice(PauseWith::WORDS),
        default: ParamValue::word(default.word()),
        artifact_default: Some(ParamValue::word(PauseWith::Headroom.word())),
        doc: "Packet of an ingress queue that pauses its sender.",
    }
}

choices! {
    /// The packet of an ingress queue that pauses its sender.
    pub(crate) enum PauseWith {
        Reaching = "reaching": "the packet that brings the queue to its threshold and still fits the pool; also every packet that goes to headroom or is refused (chips)",
        Exceeding = "exceeding": "the first packet that its threshold or the pool does not admit, whether it goes to headroom or is refused (Reverie's text)",
        Headroom = "headroom": "the first packet that goes to headroom; a refused packet pauses no sender \
              (the artifact)",
    }
}

#[derive(Clone, Copy, Debug)]
struct Gate {
    /// Limit of the ingress queue's headroom (bytes).
    headroom: u64,
    xon: u64,
    xon_offset: u64,
    lossless: bool,
    paused: bool,
    /// Whether the queue has just paused. The next demand is then a pause, whatever the queue's
    /// length.
    must_pause: bool,
    /// Whether the queue pauses its sender with the packet that reaches the threshold.
    pauses_early: bool,
    /// Size of the packet that was refused while the queue was empty (bytes), or 0. The sender
    /// resumes when the buffer has space for a packet of this size.
    refused: u32,
    /// Queue length when the pause began, or the threshold if the threshold was lower (bytes).
    pause_point: u64,
}

/// Length, threshold and free space by which a policy decides about a packet of an ingress queue
/// (bytes).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// Length of the ingress queue that is compared with the threshold, including an arriving
    /// packet.
    pub(crate) length: u64,
    /// Threshold of the ingress queue at this arrival.
    pub(crate) limit: u64,
    /// Free space of the pool that the ingress queue uses.
    pub(crate) room: u64,
    /// Headroom in use in the memory slice of the queue.
    pub(crate) used: u64,
}

/// Pause state of all lossless ingress queues.
#[derive(Clone, Debug)]
pub(crate) struct Lossless {
    /// Pause state and headroom of each ingress queue.
    gates: Vec<Gate>,
    /// Headroom of an ingress queue of each port, from the parameter `headroom` (bytes).
    headroom_of_ports: Vec<u64>,
    /// Headroom of all ingress queues of a memory slice together, for each slice (bytes).
    pools: Vec<u64>,
    /// Memory slice of each ingress queue.
    slices: Vec<u16>,
    resume_below: ResumeBelow,
    /// Queue length below which senders resume, from the parameters (bytes).
    xon: u64,
    xon_offset: u64,
    until_resumed: bool,
    pause_with: PauseWith,
}

/// Whether the parameters reserve headroom for whole ports. Then profiles of queues are refused.
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

/// Headroom by slice (bytes): the sum over the slice's queues,
/// or an equal part of the shared headroom pool.
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
    shape.ingress_queues_by_slice().map(|queues| of_slice(&gates[queues])).collect()
}

/// Refuses headroom that leaves no space in its slice for other packets.
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

/// Headroom of an ingress queue of each port, from the parameter `headroom` (bytes).
fn headroom_of_ports(params: &Params, shape: &SwitchShape) -> Result<Vec<u64>, BuildError> {
    if params.value(HEADROOM.name) != &ParamValue::word(AUTO) {
        return Ok(params.bytes_per_port(HEADROOM.name, shape.ingress_ports()));
    }
    if shape.lossless_queues() > 0 {
        let message = "\"auto\" follows from cables, which a switch alone does not know: give a size";
        return Err(BuildError { param: HEADROOM.name, message: message.to_owned() });
    }
    Ok(vec![0; shape.ingress_ports()])
}

/// Refuses a lossless ingress queue whose headroom is smaller than a packet.
fn refuse_too_little(
    gates: &[Gate],
    headroom_of_ports: &[u64],
    shape: &SwitchShape,
) -> Result<(), BuildError> {
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
    Ok(())
}

impl Lossless {
    /// Initial state of the ingress queues, from the parameters for lossless traffic and the
    /// profiles.
    pub(crate) fn new(params: &Params, shape: &SwitchShape) -> Result<Self, BuildError> {
        let headroom_of_ports = headroom_of_ports(params, shape)?;
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
        let pause_with: PauseWith = params.choice("pause_with");
        let gate = |queue: usize| {
            let priorities = shape.lossless_at(queue / shape.queues_per_port);
            let lossless = priorities >> (queue % shape.queues_per_port) & 1 != 0;
            Gate {
                headroom: headroom[queue],
                xon: xons[queue],
                xon_offset: offsets[queue],
                lossless,
                paused: false,
                must_pause: false,
                pauses_early: lossless && !insured && pause_with == PauseWith::Reaching,
                refused: 0,
                pause_point: 0,
            }
        };
        let gates: Vec<_> = (0..shape.ingress_queues()).map(gate).collect();
        let pools = pools(&gates, params, shape, insured);
        refuse_too_little(&gates, &headroom_of_ports, shape)?;
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
            slices: shape.slices_of_ingress_queues(),
            resume_below,
            xon,
            xon_offset,
            until_resumed,
            pause_with,
        })
    }

    /// Builds the dynamic headroom, in which an insurance of each port replaces the headroom of its
    /// queues.
    pub(crate) fn insurances(&self, shape: &SwitchShape) -> DynamicHeadroom {
        DynamicHeadroom::new(self.headroom_of_ports.clone(), self.xon, self.xon_offset, shape)
    }

    /// Bytes of the buffer that are reserved as headroom, by slice.
    pub(crate) fn pools(&self) -> &[u64] {
        &self.pools
    }

    /// The memory slice of an ingress queue.
    #[inline]
    pub(crate) fn slice_of(&self, ingress: IngressId) -> usize {
        if self.pools.len() <= 1 { 0 } else { usize::from(self.slices[usize::from(ingress.0)]) }
    }

    /// Whether packets of this ingress queue are lossless.
    #[inline]
    pub(crate) fn is_lossless(&self, ingress: IngressId) -> bool {
        self.gates[usize::from(ingress.0)].lossless
    }

    /// Whether the sender behind `ingress` is paused.
    #[inline]
    pub(crate) fn is_paused(&self, ingress: IngressId) -> bool {
        self.gates[usize::from(ingress.0)].paused
    }

    /// Whether the switch pauses the sender of a packet that it refuses.
    pub(crate) fn pauses_refused(&self) -> bool {
        self.pause_with != PauseWith::Headroom
    }

    /// The hooks that a policy needs to pause senders.
    pub(crate) fn hooks(&self) -> Hooks {
        if self.pauses_refused() { Hooks::PAUSE.and(Hooks::PAUSE_REFUSED) } else { Hooks::PAUSE }
    }

    /// Whether packets of `ingress` may use the pool. False if the queue has packets in headroom or
    /// has paused its sender.
    #[inline]
    pub(crate) fn uses_pool(&self, ingress: IngressId, buffer: &Buffer) -> bool {
        let gate = &self.gates[usize::from(ingress.0)];
        !(gate.paused && self.until_resumed) && buffer.ingress_headroom_bytes(ingress) == 0
    }

    /// Decides about a lossless arrival that its threshold or the pool does not admit,
    /// or whose queue does not [use the pool](Self::uses_pool).
    pub(crate) fn admit_beyond(&mut self, arrival: &Arrival, with_it: Standing, buffer: &Buffer) -> Verdict {
        let pool = self.pools[self.slice_of(arrival.ingress)];
        let gate = &mut self.gates[usize::from(arrival.ingress.0)];
        let held = buffer.ingress_headroom_bytes(arrival.ingress);
        let size = u64::from(arrival.header.size);
        let refused = if held + size > gate.headroom || with_it.used + size > pool {
            DropReason::HeadroomFull
        } else if !buffer.fits(arrival.header.size) {
            DropReason::BufferFull
        } else {
            gate.pause(size, with_it);
            return Verdict::Admit(Account::Headroom);
        };
        self.pause_refused(arrival, with_it, buffer);
        Verdict::Drop(refused)
    }

    /// Records the refusal of a lossless arrival that its threshold or the pool does not admit.
    #[cold]
    pub(crate) fn pause_refused(&mut self, arrival: &Arrival, with_it: Standing, buffer: &Buffer) {
        let gate = &mut self.gates[usize::from(arrival.ingress.0)];
        gate.pause(u64::from(arrival.header.size), with_it);
        if self.pause_with != PauseWith::Headroom {
            gate.must_pause = true;
            gate.refused = if buffer.ingress_bytes(arrival.ingress) == 0 { arrival.header.size } else { 0 };
        }
    }

    /// Whether a queue pauses its sender with the packet that reaches the queue's threshold.
    pub(crate) fn pauses_early(&self) -> bool {
        self.gates.iter().any(|gate| gate.pauses_early)
    }

    /// Whether `ingress` is not paused and would pause with the packet that reaches its threshold.
    #[inline]
    pub(crate) fn may_reach(&self, ingress: IngressId) -> bool {
        let gate = &self.gates[usize::from(ingress.0)];
        gate.pauses_early && !gate.paused
    }

    /// Pauses `ingress`, which has stored a packet and reached its threshold with `length` (bytes).
    #[cold]
    pub(crate) fn reach(&mut self, ingress: IngressId, length: u64) {
        let gate = &mut self.gates[usize::from(ingress.0)];
        (gate.paused, gate.must_pause, gate.pause_point) = (true, true, length);
    }

    /// Whether a queue is paused and has no packets in headroom. Then the queue length decides when
    /// its sender resumes.
    pub(crate) fn may_resume(&self, ingress: IngressId, buffer: &Buffer) -> bool {
        self.gates[usize::from(ingress.0)].paused && buffer.ingress_headroom_bytes(ingress) == 0
    }

    /// The comparison by which [`Self::admit_beyond`] refused `arrival`.
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
        let (size, ingress) = (u64::from(arrival.header.size), arrival.ingress);
        let (held, limit) =
            (buffer.ingress_headroom_bytes(ingress), self.gates[usize::from(ingress.0)].headroom);
        let own = Bound { place: BoundPlace::Headroom(ingress), held, size, limit };
        let (held, limit) = (used, self.pools[self.slice_of(ingress)]);
        let pool = Bound { place: BoundPlace::HeadroomPool, held, size, limit };
        own.if_binding().or_else(|| pool.if_binding())
    }

    /// Demand to pause or resume the sender behind `ingress`.
    pub(crate) fn demand(&mut self, ingress: IngressId, now: Standing, buffer: &Buffer) -> PauseDemand {
        let pool = self.pools[self.slice_of(ingress)];
        let gate = &mut self.gates[usize::from(ingress.0)];
        if !gate.paused {
            return PauseDemand::Resume;
        }
        if std::mem::take(&mut gate.must_pause) {
            return PauseDemand::Pause;
        }
        let resumes = if buffer.ingress_bytes(ingress) == 0 {
            gate.refused == 0 || now.has_place_for(gate.refused, pool, buffer)
        } else {
            gate.refused = 0;
            buffer.ingress_headroom_bytes(ingress) == 0 && gate.is_below(now, self.resume_below)
        };
        if !resumes {
            return PauseDemand::Pause;
        }
        gate.paused = false;
        PauseDemand::Resume
    }
}

impl Gate {
    /// Pauses the sender for an arrival of `size` bytes that its threshold or the pool does not
    /// admit.
    fn pause(&mut self, size: u64, with_it: Standing) {
        if !self.paused {
            let Standing { length, limit, .. } = with_it;
            // A chip subtracts its resume offset from the queue's length with the packet that
            // pauses the sender.
            let crosses = self.pauses_early && limit < length && length <= limit + size;
            self.pause_point = if crosses { length } else { limit };
        }
        self.paused = true;
    }

    /// Whether a paused queue without packets in headroom is short enough to let its sender resume.
    fn is_below(&self, now: Standing, resume_below: ResumeBelow) -> bool {
        let limit = match resume_below {
            ResumeBelow::Threshold => now.limit,
            ResumeBelow::PausePoint => self.pause_point,
        };
        // A queue that reaches the threshold pauses its sender, so the sender cannot resume
        // at that length.
        let may_equal = !self.pauses_early || self.xon_offset > 0;
        let enough = now.length + self.xon_offset;
        now.length < self.xon || enough < limit || may_equal && enough == limit
    }
}

impl Standing {
    /// Whether an empty queue could store a packet of `size` bytes now,
    /// in the pool or in its slice's headroom. `headroom` is the size of all headroom of the slice.
    fn has_place_for(&self, size: u32, headroom: u64, buffer: &Buffer) -> bool {
        let bytes = u64::from(size);
        let in_pool = bytes <= self.limit.min(self.room);
        let in_headroom = self.used + bytes <= headroom;
        buffer.occupancy() == 0 || buffer.fits(size) && (in_pool || in_headroom)
    }
}

/// Bytes of an ingress queue that are not in headroom.
#[inline]
pub(crate) fn outside_headroom(ingress: IngressId, buffer: &Buffer) -> u64 {
    buffer.ingress_bytes(ingress) - buffer.ingress_headroom_bytes(ingress)
}

/// Bytes of the shared pool used by packets outside headroom, as thresholds see these bytes: at the
/// last refresh if thresholds lag.
#[inline]
pub(crate) fn pool_occupancy(buffer: &Buffer) -> u64 {
    buffer.shared_occupancy().saturating_sub(buffer.shared_used(Account::Headroom))
}

/// Current bytes of the shared pool used by packets outside headroom. The border between pool and
/// headroom follows from this number. With an older occupancy, packets of the pool would use memory
/// that is reserved for arrivals after a pause.
#[inline]
pub(crate) fn pool_held(buffer: &Buffer) -> u64 {
    buffer.pool_occupancy().saturating_sub(buffer.used(Account::Headroom))
}
