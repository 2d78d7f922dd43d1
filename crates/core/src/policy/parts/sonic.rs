//! The pools of SONiC's buffer model: every packet is counted at ingress and at egress.

use crate::buffer::{Buffer, IngressId, QueueId};
use crate::policy::interface::{
    Account, Arrival, Bound, BoundPlace, BuildError, DropReason, Hooks, PauseDemand, SwitchShape, Verdict,
};
use crate::policy::parts::dynamic_headroom::{DynamicHeadroom, HEADROOM_MODE, HeadroomMode};
use crate::policy::parts::lossless::{self, Lossless};
use crate::policy::parts::queue_profiles::{Limit, refuse, resolve};
use crate::weight::Weight;
use bufferlab_params::profiles::Direction;
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params};

/// Largest factor: a limit that never binds before its pool is full.
const UNLIMITED: f64 = 65_536.0;

/// α of the two limits that count.
pub(crate) const ALPHA: ParamInfo = ParamInfo {
    name: "alpha",
    kind: ParamKind::RatioPerPriority { min: 1e-6, max: UNLIMITED },
    default: ParamValue::ratios(&[1.0]),
    artifact_default: None,
    doc: "Factor of what is left of the pool, by priority: of the ingress pool for lossless priorities (where they \
          pause), of the egress lossy pool for lossy ones (where they drop). SONiC writes dynamic_th = log2 alpha.",
};

/// b_eo.
pub(crate) const LOSSY_POOL: ParamInfo = ParamInfo {
    name: "lossy_pool",
    kind: ParamKind::Ratio { min: 1e-6, max: 1.0 },
    default: ParamValue::Ratio(0.8),
    artifact_default: None,
    doc: "Egress lossy pool as a part of the ingress pool (Reverie section 4.1: 80 %; at most all of it, heuristic 3).",
};

/// H3.
pub(crate) const LOSSY_INGRESS_ALPHA: ParamInfo = ParamInfo {
    name: "lossy_ingress_alpha",
    kind: ParamKind::Ratio { min: 1e-6, max: UNLIMITED },
    default: ParamValue::Ratio(UNLIMITED),
    artifact_default: None,
    doc: "Factor of a lossy ingress queue: large, so that lossy packets are lost at egress only (heuristic 3).",
};

/// H2.
pub(crate) const LOSSLESS_EGRESS_ALPHA: ParamInfo = ParamInfo {
    name: "lossless_egress_alpha",
    kind: ParamKind::Ratio { min: 1e-6, max: UNLIMITED },
    default: ParamValue::Ratio(UNLIMITED),
    artifact_default: None,
    doc: "Factor of a lossless egress queue, whose pool is the whole buffer: large, so that it never binds (heuristic \
          2). A packet beyond it is lost.",
};

/// A PG's `size`.
pub(crate) const RESERVED: ParamInfo = ParamInfo {
    name: "reserved",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "Bytes of the buffer that each lossless ingress queue has for itself, below its threshold (SONiC's `size` of \
          a priority group).",
};

/// Pools, headroom and who holds what of them.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    pub(crate) lossless: Lossless,
    /// In place of headroom of every queue.
    dynamic: Option<DynamicHeadroom>,
    /// b_in, without what is reserved.
    ingress: u64,
    /// b_eo.
    lossy: u64,
    /// b_el.
    lossless_egress: u64,
    /// By ingress queue: where it is lossy, how much of the pool it may hold.
    lossy_ingress: Vec<Limit>,
    /// By egress queue: how long it may be with a lossless packet.
    lossless_egress_limits: Vec<Limit>,
    /// By ingress queue: bytes it has for itself.
    reserved: Vec<u64>,
    /// By egress queue: lossy bytes that the pool does not count.
    egress_reserved: Vec<u64>,
    /// Bit p: packets of priority p are lossy from some port.
    lossy_somewhere: u32,
    /// Where egress queues may hold packets of both classes.
    mixed: Option<Mixed>,
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

/// Whether packets of a priority are lossless at a port.
fn is_lossless(shape: &SwitchShape, port: usize, priority: usize) -> bool {
    shape.lossless_at(port) >> priority & 1 != 0
}

/// Sum of reserves, which may be absurdly large.
fn total(reserves: &[u64]) -> u64 {
    reserves.iter().fold(0, |sum, reserve| sum.saturating_add(*reserve))
}

/// Refuses reserves of lossless egress queues: their pool is the whole buffer.
fn refuse_egress_reserves(params: &Params, shape: &SwitchShape) -> Result<(), BuildError> {
    refuse(params, |profile| {
        let mut queues = (0..shape.ports())
            .flat_map(|port| (0..shape.queues_per_port).map(move |priority| (port, priority)));
        let unfit = profile.reserved.is_some()
            && queues.any(|(port, priority)| {
                profile.covers(Direction::Egress, port, priority) && is_lossless(shape, port, priority)
            });
        unfit
            .then_some("lossless egress queues need no reserve: their pool is the whole buffer; leave it out")
    })
}

/// b_in: the buffer without the reserves of ingress queues and the headroom.
fn ingress_pool(
    params: &Params,
    shape: &SwitchShape,
    reserves: u64,
    headroom: u64,
) -> Result<u64, BuildError> {
    let set_aside = reserves.saturating_add(headroom);
    if set_aside.saturating_add(shape.max_packet) > shape.capacity && reserves > 0 {
        let (queues, capacity) = (shape.lossless_queues(), shape.capacity);
        let message = format!(
            "reserves and headroom of {queues} lossless ingress queues, {set_aside} B, leave no room for a packet in \
             the buffer's {capacity} B"
        );
        let general = params.bytes(RESERVED.name).saturating_mul(queues);
        return Err(BuildError {
            param: if reserves > general { "profiles" } else { RESERVED.name },
            message,
        });
    }
    Ok(shape.capacity.saturating_sub(set_aside))
}

/// b_eo without the reserves of egress queues.
fn lossy_pool(params: &Params, shape: &SwitchShape, ingress: u64, reserves: u64) -> Result<u64, BuildError> {
    let lossy = Weight::from_f64(params.ratio(LOSSY_POOL.name)).of(ingress);
    if reserves > 0 && reserves.saturating_add(shape.max_packet) > lossy {
        let message = format!(
            "reserves of egress queues, {reserves} B, leave no room for a packet in the egress lossy pool of {lossy} B"
        );
        return Err(BuildError { param: "profiles", message });
    }
    Ok(lossy - reserves)
}

/// By queue: the threshold of its profile where it is lossless or not, as `for_lossless` says; elsewhere `general`.
fn limits(
    params: &Params,
    shape: &SwitchShape,
    direction: Direction,
    for_lossless: bool,
    general: Limit,
) -> Vec<Limit> {
    let own = resolve(
        params,
        shape,
        direction,
        |profile| profile.threshold.map(|rule| Some(rule.into())),
        |_, _| None,
    );
    let value = |(queue, limit): (usize, Option<Limit>)| {
        let (port, priority) = (queue / shape.queues_per_port, queue % shape.queues_per_port);
        limit.filter(|_| is_lossless(shape, port, priority) == for_lossless).unwrap_or(general)
    };
    own.into_iter().enumerate().map(value).collect()
}

impl Pools {
    pub(crate) fn new(params: &Params, shape: &SwitchShape) -> Result<Self, BuildError> {
        let lossless = Lossless::new(params, shape)?;
        let dynamic = match params.choice(HEADROOM_MODE.name) {
            HeadroomMode::Static => None,
            HeadroomMode::DshLike => Some(lossless.insurances(shape)),
        };
        refuse_egress_reserves(params, shape)?;
        let general = params.bytes("reserved");
        let reserved = resolve(
            params,
            shape,
            Direction::Ingress,
            |profile| profile.reserved,
            |port, priority| if is_lossless(shape, port, priority) { general } else { 0 },
        );
        let egress_reserved = resolve(params, shape, Direction::Egress, |profile| profile.reserved, |_, _| 0);
        let ingress = ingress_pool(params, shape, total(&reserved), lossless.pool())?;
        let limit = |name| Limit::Dynamic(Weight::from_f64(params.ratio(name)));
        let everywhere = (0..shape.ports()).fold(u32::MAX, |mask, port| mask & shape.lossless_at(port));
        let somewhere = (0..shape.ports()).fold(0, |mask, port| mask | shape.lossless_at(port));
        Ok(Self {
            lossless,
            dynamic,
            ingress,
            lossy: lossy_pool(params, shape, ingress, total(&egress_reserved))?,
            lossless_egress: shape.capacity,
            lossy_ingress: limits(params, shape, Direction::Ingress, false, limit(LOSSY_INGRESS_ALPHA.name)),
            lossless_egress_limits: limits(
                params,
                shape,
                Direction::Egress,
                true,
                limit(LOSSLESS_EGRESS_ALPHA.name),
            ),
            reserved,
            egress_reserved,
            lossy_somewhere: !everywhere,
            mixed: (everywhere != somewhere).then(|| Mixed::new(shape)),
            queues_per_port: shape.queues_per_port,
            counted: vec![0; shape.queues()],
            counted_reserve: vec![0; shape.ingress_queues()],
            lossy_bytes: 0,
            lossless_bytes: 0,
            reserved_bytes: 0,
        })
    }

    /// Whether lossy packets may come for an egress queue.
    pub(crate) fn takes_lossy(&self, queue: QueueId) -> bool {
        self.lossy_somewhere >> (usize::from(queue.0) % self.queues_per_port) & 1 != 0
    }

    /// Bytes of lossy packets in an egress queue for which its threshold counts.
    #[inline]
    pub(crate) fn lossy_length(&self, queue: QueueId, buffer: &Buffer) -> u64 {
        let bytes = match &self.mixed {
            None => buffer.shared_queue_bytes(queue),
            Some(mixed) => mixed.lossy[usize::from(queue.0)],
        };
        bytes.saturating_sub(self.egress_reserved[usize::from(queue.0)])
    }

    /// b_in − q_in, of which thresholds are a part.
    #[inline]
    pub(crate) fn ingress_free(&self, buffer: &Buffer) -> u64 {
        let used = lossless::pool_occupancy(buffer).saturating_sub(self.reserved_bytes);
        self.ingress.saturating_sub(used)
    }

    /// What the ingress pool has room for: never an old number, because headroom begins where it ends.
    #[inline]
    fn ingress_room(&self, buffer: &Buffer) -> u64 {
        let used = lossless::pool_held(buffer).saturating_sub(self.reserved_bytes);
        self.ingress.saturating_sub(used)
    }

    /// b_eo − q_eo.
    #[inline]
    pub(crate) fn lossy_free(&self) -> u64 {
        self.lossy.saturating_sub(self.lossy_bytes)
    }

    /// What a lossless ingress queue holds beyond its reserve, without headroom: what its threshold is compared with.
    #[inline]
    pub(crate) fn ingress_length(&self, ingress: IngressId, buffer: &Buffer) -> u64 {
        lossless::outside_headroom(ingress, buffer).saturating_sub(self.reserved[usize::from(ingress.0)])
    }

    /// Judges a lossy arrival whose egress queue may hold `limit` bytes.
    #[inline]
    pub(crate) fn admit_lossy(&self, arrival: &Arrival, limit: u64, buffer: &Buffer) -> Verdict {
        let size = u64::from(arrival.size);
        let free = self.ingress_free(buffer);
        let (ingress, queue) = (usize::from(arrival.ingress.0), usize::from(arrival.queue.0));
        // What a reserve holds needs no pool.
        let at_ingress =
            (buffer.ingress_bytes(arrival.ingress) + size).saturating_sub(self.reserved[ingress]);
        let reserve = self.egress_reserved[queue];
        let at_egress = match &self.mixed {
            None => (buffer.shared_queue_bytes(arrival.queue) + size).saturating_sub(reserve),
            Some(mixed) => (mixed.lossy[queue] + size).saturating_sub(reserve),
        };
        if size.min(at_ingress) > self.ingress_room(buffer)
            || size.min(at_egress) > self.lossy_free()
            || !buffer.fits(arrival.size)
        {
            return Verdict::Drop(DropReason::BufferFull);
        }
        if at_ingress > self.lossy_ingress[ingress].of(free) {
            return Verdict::Drop(DropReason::OverIngressLimit);
        }
        if at_egress > limit {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    /// The comparison for which [`Self::admit_lossy`], with the same `limit`, or [`Self::admit_lossless`] refused.
    pub(crate) fn bound(
        &self,
        arrival: &Arrival,
        reason: DropReason,
        limit: u64,
        buffer: &Buffer,
    ) -> Option<Bound> {
        let size = u64::from(arrival.size);
        let (ingress, queue) = (usize::from(arrival.ingress.0), usize::from(arrival.queue.0));
        if self.lossless.is_lossless(arrival.ingress) {
            let free = self.lossless_egress.saturating_sub(self.lossless_bytes);
            return match (reason, &self.dynamic) {
                (DropReason::OverThreshold, _) => {
                    Bound::queue(arrival, self.lossless_egress_limits[queue].of(free), buffer).if_binding()
                }
                (_, Some(dynamic)) => dynamic.bound(arrival, reason, buffer),
                (_, None) => self.lossless.bound(arrival, reason, buffer),
            };
        }
        // What a reserve holds is not in the pools.
        let beyond =
            |held: u64, reserve: u64| (held.saturating_sub(reserve), (held + size).saturating_sub(reserve));
        let lossy_bytes = match &self.mixed {
            None => buffer.shared_queue_bytes(arrival.queue),
            Some(mixed) => mixed.lossy[queue],
        };
        let (in_ingress, with_ingress) =
            beyond(buffer.ingress_bytes(arrival.ingress), self.reserved[ingress]);
        let (in_egress, with_egress) = beyond(lossy_bytes, self.egress_reserved[queue]);
        let pool =
            |place, limit: u64, free: u64, needed| Bound { place, held: limit - free, size: needed, limit };
        let (ingress_room, lossy_free) = (self.ingress_room(buffer), self.lossy_free());
        let bounds = match reason {
            DropReason::BufferFull => [
                pool(BoundPlace::IngressPool, self.ingress, ingress_room, size.min(with_ingress)),
                pool(BoundPlace::LossyPool, self.lossy, lossy_free, size.min(with_egress)),
                Bound::buffer(arrival, buffer),
            ],
            DropReason::OverIngressLimit => {
                let limit = self.lossy_ingress[ingress].of(self.ingress_free(buffer));
                let place = BoundPlace::Ingress(arrival.ingress);
                [Bound { place, held: in_ingress, size: with_ingress - in_ingress, limit }; 3]
            }
            DropReason::OverThreshold => {
                let place = BoundPlace::Queue(arrival.queue);
                [Bound { place, held: in_egress, size: with_egress - in_egress, limit }; 3]
            }
            _ => return None,
        };
        bounds.into_iter().find(Bound::binds)
    }

    /// Judges a lossless arrival whose ingress queue may hold `limit` bytes of the pool.
    pub(crate) fn admit_lossless(&mut self, arrival: &Arrival, limit: u64, buffer: &Buffer) -> Verdict {
        if !self.fits_egress(arrival, buffer) {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        let (beyond, room) = self.needs(arrival, buffer);
        if let Some(dynamic) = &mut self.dynamic {
            return dynamic.admit(arrival, beyond, limit, room, buffer);
        }
        self.lossless.admit(arrival, beyond <= limit && room, buffer)
    }

    /// Whether the egress queue of a lossless arrival may hold it, too.
    #[inline]
    fn fits_egress(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        let free = self.lossless_egress.saturating_sub(self.lossless_bytes);
        let length = buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.size);
        length <= self.lossless_egress_limits[usize::from(arrival.queue.0)].of(free)
    }

    /// What the ingress queue of a lossless arrival would hold beyond its reserve, and whether there is room for that.
    #[inline]
    fn needs(&self, arrival: &Arrival, buffer: &Buffer) -> (u64, bool) {
        let size = u64::from(arrival.size);
        let length = lossless::outside_headroom(arrival.ingress, buffer) + size;
        let beyond = length.saturating_sub(self.reserved[usize::from(arrival.ingress.0)]);
        (beyond, size.min(beyond) <= self.ingress_room(buffer) && buffer.fits(arrival.size))
    }

    /// What the sender behind `ingress` must do, whose queue may hold `limit` bytes of the pool.
    pub(crate) fn demand(&mut self, ingress: IngressId, limit: u64, buffer: &Buffer) -> PauseDemand {
        if !self.lossless.is_lossless(ingress) {
            return PauseDemand::Keep;
        }
        let length = self.ingress_length(ingress, buffer);
        match &mut self.dynamic {
            None => self.lossless.demand(ingress, length, limit, buffer),
            Some(dynamic) => dynamic.demand(ingress, length, limit, buffer),
        }
    }

    /// Whether a lossy arrival that finds its queue empty passes: all counts lead back to where they were.
    #[inline]
    pub(crate) fn lets_lossy_pass(&self, arrival: &Arrival, limit: u64, buffer: &Buffer) -> bool {
        self.keeps_headroom(buffer)
            && self.admit_lossy(arrival, limit, buffer) == Verdict::Admit(Account::Shared)
    }

    /// The same of a lossless arrival: its sender, which is not paused, may go on as before.
    #[inline]
    pub(crate) fn lets_lossless_pass(&self, arrival: &Arrival, limit: u64, buffer: &Buffer) -> bool {
        self.keeps_headroom(buffer)
            && !self.lossless.is_paused(arrival.ingress)
            && self.fits_egress(arrival, buffer)
            && matches!(self.needs(arrival, buffer), (beyond, true) if beyond <= limit)
    }

    /// Whichever packet leaves gives back headroom first: it must not, so nothing may be there.
    #[inline]
    fn keeps_headroom(&self, buffer: &Buffer) -> bool {
        self.dynamic.is_none() && buffer.used(Account::Headroom) == 0
    }

    /// The largest length that the pools allow a lossy queue, whatever its threshold.
    pub(crate) fn lossy_limit(&self, queue: QueueId, limit: u64, buffer: &Buffer) -> u64 {
        let room = self.ingress_room(buffer).min(self.lossy_free());
        let reserve = self.egress_reserved[usize::from(queue.0)];
        limit.min(self.lossy_length(queue, buffer) + room).saturating_add(reserve)
    }

    /// Both queues of a packet have changed.
    #[inline]
    pub(crate) fn recount(&mut self, queue: QueueId, ingress: IngressId, buffer: &Buffer) {
        if self.mixed.is_some() {
            self.recount_mixed(queue, ingress, buffer);
        } else {
            self.recount_egress(queue, buffer);
        }
        if self.reserved[usize::from(ingress.0)] > 0 {
            self.recount_reserve(ingress, buffer);
        }
    }

    fn recount_egress(&mut self, queue: QueueId, buffer: &Buffer) {
        let at = usize::from(queue.0);
        let bytes = buffer.shared_queue_bytes(queue).saturating_sub(self.egress_reserved[at]);
        let before = std::mem::replace(&mut self.counted[at], bytes);
        let sum = if self.takes_lossy(queue) { &mut self.lossy_bytes } else { &mut self.lossless_bytes };
        *sum = *sum + bytes - before;
    }

    /// What has changed in `ingress` came into `queue` or left it.
    fn recount_mixed(&mut self, queue: QueueId, ingress: IngressId, buffer: &Buffer) {
        let Some(mixed) = &mut self.mixed else { return };
        let bytes = buffer.ingress_bytes(ingress);
        let before = std::mem::replace(&mut mixed.counted[usize::from(ingress.0)], bytes);
        if self.lossless.is_lossless(ingress) {
            self.lossless_bytes = self.lossless_bytes + bytes - before;
            return;
        }
        let at = usize::from(queue.0);
        mixed.lossy[at] = mixed.lossy[at] + bytes - before;
        let beyond = mixed.lossy[at].saturating_sub(self.egress_reserved[at]);
        let before = std::mem::replace(&mut self.counted[at], beyond);
        self.lossy_bytes = self.lossy_bytes + beyond - before;
    }

    fn recount_reserve(&mut self, ingress: IngressId, buffer: &Buffer) {
        let at = usize::from(ingress.0);
        let bytes = lossless::outside_headroom(ingress, buffer).min(self.reserved[at]);
        let before = std::mem::replace(&mut self.counted_reserve[at], bytes);
        self.reserved_bytes = self.reserved_bytes + bytes - before;
    }

    /// A packet of `evicted` was removed without being sent (another policy's doing): whose ingress queue it was is not
    /// known.
    pub(crate) fn recount_all(&mut self, evicted: QueueId, buffer: &Buffer) {
        for queue in buffer.queue_ids() {
            let egress = if self.mixed.is_some() { evicted } else { queue };
            self.recount(egress, IngressId(queue.0), buffer);
        }
    }

    /// Whether the sender behind `ingress` is paused.
    fn is_pausing(&self, ingress: IngressId) -> bool {
        self.dynamic
            .as_ref()
            .map_or_else(|| self.lossless.is_paused(ingress), |dynamic| dynamic.is_paused(ingress))
    }

    /// The hooks of a policy that divides these pools.
    pub(crate) fn hooks(&self) -> Hooks {
        let hooks = Hooks::ENQUEUE.and(Hooks::DEQUEUE).and(Hooks::DROP).and(Hooks::PAUSE);
        if self.dynamic.is_some() { hooks.and(Hooks::PAUSE_PORT) } else { hooks }
    }

    /// What plots want to know of `queue`; `pause_limit`: the threshold of its priority's ingress queues.
    pub(crate) fn probe(
        &self,
        queue: QueueId,
        pause_limit: u64,
        buffer: &Buffer,
        sink: &mut dyn FnMut(&'static str, f64),
    ) {
        sink("ingress_pool_free", self.ingress_free(buffer) as f64);
        sink("lossy_pool_free", self.lossy_free() as f64);
        let ingress = IngressId(queue.0);
        if self.lossless.is_lossless(ingress) {
            sink("pause_threshold", pause_limit as f64);
            sink("ingress_bytes", lossless::outside_headroom(ingress, buffer) as f64);
            sink("headroom_bytes", buffer.ingress_headroom_bytes(ingress) as f64);
            sink("pausing", f64::from(u8::from(self.is_pausing(ingress))));
        }
    }
}

/// Who holds what where a priority is lossless from some ports only, and egress queues may hold packets of both
/// classes.
#[derive(Clone, Debug)]
struct Mixed {
    /// By ingress queue: its length when it was counted last.
    counted: Vec<u64>,
    /// By egress queue: bytes of lossy packets.
    lossy: Vec<u64>,
}

impl Mixed {
    fn new(shape: &SwitchShape) -> Self {
        Self { counted: vec![0; shape.queues()], lossy: vec![0; shape.queues()] }
    }
}
