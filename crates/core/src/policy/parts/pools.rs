//! The pools of SONiC's buffer model. Every packet is counted at ingress and at egress.
//!
//! A chip may have several memories and store a packet in the memory of its ingress port
//! ([`Slices`]). Each memory then has pools of every kind, and an egress queue has an account in
//! each memory.

mod build;

use crate::buffer::{Buffer, IngressId, QueueId};
use crate::hardware::QueueMinimums;
use crate::policy::interface::{
    Account, Arrival, Bound, BoundPlace, DropReason, Hooks, PauseDemand, PauseLevel, SwitchShape, Verdict,
};
use crate::policy::parts::dynamic_headroom::DynamicHeadroom;
use crate::policy::parts::lossless::{self, Lossless, Standing};
use crate::policy::parts::queue_profiles::Limit;
use crate::policy::parts::slices::Slices;
use crate::weight::Weight;

/// Pools and headroom of a switch, with the bytes of each queue in the pools.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    pub(crate) lossless: Lossless,
    /// Dynamic headroom, if the policy uses it instead of separate headroom per queue.
    dynamic: Option<DynamicHeadroom>,
    /// Sizes of the pools of each memory slice.
    sizes: Vec<Sizes>,
    /// Sums of bytes over the queues of each memory slice.
    sums: Vec<Sums>,
    /// Limit of each lossy ingress queue in the ingress pool.
    lossy_ingress: Vec<Limit>,
    /// Limit of each egress queue for lossless packets.
    lossless_egress_limits: Vec<Limit>,
    /// Reserve of each ingress queue (bytes).
    reserved: Vec<u64>,
    egress: Vec<Egress>,
    minimums: QueueMinimums,
    /// Bytes of egress queues by memory slice and class (lossless or lossy). `None` if no queue
    /// needs this division.
    split: Option<Slices>,
    queues_per_port: usize,
    /// Bytes of each ingress queue's reserve that are in use, at the last count. Empty if no queue
    /// has a reserve.
    counted_reserve: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Egress {
    /// Minimum of the queue (bytes), which the lossy egress pool does not count, in every slice.
    reserved: u64,
    /// Bytes of the queue in the shared pool beyond its minimum, at the last count.
    counted: u64,
    /// Whether the egress queue may receive lossy packets.
    takes_lossy: bool,
}

/// The pool sizes of a memory slice (bytes).
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Size b_in of the ingress pool, without reserves.
    ingress: u64,
    /// Size b_eo of the lossy egress pool.
    lossy: u64,
    /// Size b_el of the lossless egress pool.
    lossless_egress: u64,
}

/// Sums of bytes over all queues of a memory slice.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Bytes q_eo of lossy packets in egress queues.
    lossy: u64,
    /// Bytes q_el of lossless packets in egress queues.
    lossless: u64,
    /// Bytes in reserves of ingress queues.
    reserved: u64,
    /// Bytes in minimums of egress queues, if every slice provides these minimums.
    minimums: u64,
}

/// Whether packets of a priority are lossless at a port.
fn is_lossless(shape: &SwitchShape, port: usize, priority: usize) -> bool {
    shape.lossless_at(port) >> priority & 1 != 0
}

impl Pools {
    /// Whether an egress queue may receive lossy packets.
    pub(crate) fn takes_lossy(&self, queue: QueueId) -> bool {
        self.egress[usize::from(queue.0)].takes_lossy
    }

    /// Bounds below which no pool and no limit of an ingress or egress queue applies. `own` has the
    /// limits of the policy.
    pub(crate) fn ample<'a>(&'a self, own: impl Iterator<Item = &'a Limit>) -> Ample {
        let ([sizes], None) = (&self.sizes[..], &self.dynamic) else { return Ample::NONE };
        let pool = sizes.ingress.min(sizes.lossy).min(sizes.lossless_egress);
        let (mut least_alpha, mut least_length) = (Weight(u64::MAX), u64::MAX);
        for limit in own.chain(&self.lossy_ingress).chain(&self.lossless_egress_limits) {
            match *limit {
                Limit::Dynamic(alpha) => least_alpha = least_alpha.min(alpha),
                Limit::Static(length) => least_length = least_length.min(length),
            }
        }
        Ample::new(pool, least_alpha, least_length)
    }

    /// The memory slice that stores an ingress queue's packets.
    #[inline]
    pub(crate) fn slice_of(&self, ingress: IngressId) -> usize {
        self.lossless.slice_of(ingress)
    }

    /// Number of slices of the memory.
    pub(crate) fn slices(&self) -> usize {
        self.sizes.len()
    }

    /// Bytes of each queue by slice, if there is more than one slice.
    #[inline]
    fn sliced(&self) -> Option<&Slices> {
        self.split.as_ref().filter(|slices| slices.number() > 1)
    }

    /// Bytes of an egress queue's lossy packets in a slice.
    #[inline]
    fn lossy_bytes(&self, slice: usize, queue: QueueId, buffer: &Buffer) -> u64 {
        match &self.split {
            None => buffer.shared_queue_bytes(queue),
            Some(slices) => slices.lossy(slice, queue),
        }
    }

    /// Bytes of lossy packets that an egress queue has in a slice, without the queue's reserve. The
    /// queue's threshold limits these bytes.
    #[inline]
    pub(crate) fn lossy_length(&self, slice: usize, queue: QueueId, buffer: &Buffer) -> u64 {
        self.lossy_bytes(slice, queue, buffer).saturating_sub(self.egress[usize::from(queue.0)].reserved)
    }

    /// Bytes of a slice that are in reserves and minimums, outside the slice's ingress pool.
    #[inline]
    fn outside_pool(&self, slice: usize) -> u64 {
        self.sums[slice].reserved + self.sums[slice].minimums
    }

    /// Free bytes b_in − q_in of a slice's ingress pool. Thresholds are multiples of these free
    /// bytes.
    #[inline]
    pub(crate) fn ingress_free(&self, slice: usize, buffer: &Buffer) -> u64 {
        let held =
            self.sliced().map_or_else(|| lossless::pool_occupancy(buffer), |slices| slices.held(slice).pool);
        self.sizes[slice].ingress.saturating_sub(held.saturating_sub(self.outside_pool(slice)))
    }

    /// Current free space of a slice's ingress pool. The space is current even if thresholds lag,
    /// because headroom begins where the pool ends.
    #[inline]
    fn ingress_room(&self, slice: usize, buffer: &Buffer) -> u64 {
        let held =
            self.sliced().map_or_else(|| lossless::pool_held(buffer), |slices| slices.held(slice).pool);
        self.sizes[slice].ingress.saturating_sub(held.saturating_sub(self.outside_pool(slice)))
    }

    /// Headroom in use in a memory slice (bytes).
    #[inline]
    fn headroom_used(&self, slice: usize, buffer: &Buffer) -> u64 {
        self.sliced().map_or_else(|| buffer.used(Account::Headroom), |slices| slices.held(slice).headroom)
    }

    /// Free bytes b_eo − q_eo of a slice's lossy pool.
    #[inline]
    pub(crate) fn lossy_free(&self, slice: usize) -> u64 {
        self.sizes[slice].lossy.saturating_sub(self.sums[slice].lossy)
    }

    /// Bytes of a lossless ingress queue beyond its reserve, without headroom.
    /// The queue's threshold limits the bytes beyond the reserve.
    #[inline]
    pub(crate) fn ingress_length(&self, ingress: IngressId, buffer: &Buffer) -> u64 {
        lossless::outside_headroom(ingress, buffer).saturating_sub(self.reserved[usize::from(ingress.0)])
    }

    /// Bytes of [`Self::ingress_length`], summed over all lossless ingress queues of the port.
    pub(crate) fn ingress_port_length(&self, ingress: IngressId, buffer: &Buffer) -> u64 {
        let queues = self.queues_per_port as u16;
        let first = ingress.0 / queues * queues;
        let of_port = (first..first + queues).map(IngressId);
        of_port.filter(|id| self.lossless.is_lossless(*id)).map(|id| self.ingress_length(id, buffer)).sum()
    }

    /// Bytes that a lossy arrival takes from the ingress pool and from the lossy pool if it is
    /// admitted. Bytes within reserves and minimums need no pool. The result also has the lengths
    /// of the ingress queue and the egress queue. Both lengths include the arrival, but not the
    /// reserve or minimum.
    #[inline]
    fn needs_lossy(&self, arrival: &Arrival, buffer: &Buffer) -> Needs {
        let size = u64::from(arrival.header.size);
        let (ingress, queue) = (usize::from(arrival.ingress.0), usize::from(arrival.queue.0));
        let slice = self.slice_of(arrival.ingress);
        let at_ingress =
            (buffer.ingress_bytes(arrival.ingress) + size).saturating_sub(self.reserved[ingress]);
        let held = self.lossy_bytes(slice, arrival.queue, buffer);
        let at_egress = (held + size).saturating_sub(self.egress[queue].reserved);
        let egress = size.min(at_egress);
        let ingress = match self.minimums {
            QueueMinimums::LossyPool => size.min(at_ingress),
            QueueMinimums::EverySlice => egress.min(at_ingress),
        };
        Needs { at_ingress, at_egress, ingress, egress }
    }

    /// Decides about a lossy arrival whose egress queue has the threshold `limit` (bytes).
    #[inline]
    pub(crate) fn admit_lossy(&self, arrival: &Arrival, limit: u64, buffer: &Buffer) -> Verdict {
        let slice = self.slice_of(arrival.ingress);
        let needs = self.needs_lossy(arrival, buffer);
        if needs.ingress > self.ingress_room(slice, buffer)
            || needs.egress > self.lossy_free(slice)
            || !buffer.fits(arrival.header.size)
        {
            return Verdict::Drop(DropReason::BufferFull);
        }
        let free = self.ingress_free(slice, buffer);
        if needs.at_ingress > self.lossy_ingress[usize::from(arrival.ingress.0)].at_free(free) {
            return Verdict::Drop(DropReason::OverIngressLimit);
        }
        if needs.at_egress > limit {
            return Verdict::Drop(DropReason::OverThreshold);
        }
        Verdict::Admit(Account::Shared)
    }

    /// The comparison by which [`Self::admit_lossy`] or [`Self::admit_lossless`] refused `arrival`
    /// at the threshold `limit`.
    pub(crate) fn bound(
        &self,
        arrival: &Arrival,
        reason: DropReason,
        limit: u64,
        buffer: &Buffer,
    ) -> Option<Bound> {
        if self.lossless.is_lossless(arrival.ingress) {
            return self.lossless_bound(arrival, reason, buffer);
        }
        let slice = self.slice_of(arrival.ingress);
        let needs = self.needs_lossy(arrival, buffer);
        let pool =
            |place, limit: u64, free: u64, needed| Bound { place, held: limit - free, size: needed, limit };
        // Length before the packet: the length with the packet, less the bytes of the packet that
        // need the pool.
        let queue = |place, with: u64, limit| {
            let size = u64::from(arrival.header.size).min(with);
            Bound { place, held: with - size, size, limit }
        };
        let sizes = self.sizes[slice];
        let bounds = match reason {
            DropReason::BufferFull => [
                pool(BoundPlace::IngressPool, sizes.ingress, self.ingress_room(slice, buffer), needs.ingress),
                pool(BoundPlace::LossyPool, sizes.lossy, self.lossy_free(slice), needs.egress),
                Bound::buffer(arrival, buffer),
            ],
            DropReason::OverIngressLimit => {
                let limits = self.lossy_ingress[usize::from(arrival.ingress.0)];
                let limit = limits.at_free(self.ingress_free(slice, buffer));
                [queue(BoundPlace::Ingress(arrival.ingress), needs.at_ingress, limit); 3]
            }
            DropReason::OverThreshold => [queue(BoundPlace::Queue(arrival.queue), needs.at_egress, limit); 3],
            _ => return None,
        };
        bounds.into_iter().find(Bound::binds)
    }

    fn lossless_bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        let slice = self.slice_of(arrival.ingress);
        match (reason, &self.dynamic) {
            (DropReason::OverThreshold, _) => {
                let free = self.sizes[slice].lossless_egress.saturating_sub(self.sums[slice].lossless);
                let limit = self.lossless_egress_limits[usize::from(arrival.queue.0)].at_free(free);
                Bound::queue(arrival, limit, buffer).if_binding()
            }
            (_, Some(dynamic)) => dynamic.bound(arrival, reason, buffer),
            (_, None) => self.lossless.bound(arrival, reason, self.headroom_used(slice, buffer), buffer),
        }
    }

    /// Decides about a lossless arrival whose ingress queue may use `limit` bytes of the pool.
    pub(crate) fn admit_lossless(&mut self, arrival: &Arrival, limit: u64, buffer: &Buffer) -> Verdict {
        let (beyond, room) = self.needs(arrival, buffer);
        let within = beyond <= limit && room;
        if !self.fits_egress(arrival, buffer) {
            return self.refuse_at_egress(arrival, (beyond, limit), within, buffer);
        }
        if let Some(dynamic) = &mut self.dynamic {
            return dynamic.admit(arrival, beyond, limit, room, buffer);
        }
        if within && self.lossless.uses_pool(arrival.ingress, buffer) {
            return Verdict::Admit(Account::Shared);
        }
        self.admit_beyond(arrival, (beyond, limit), buffer)
    }

    #[inline(never)] // Rare: most packets are within their thresholds.
    fn admit_beyond(&mut self, arrival: &Arrival, (beyond, limit): (u64, u64), buffer: &Buffer) -> Verdict {
        let with_it = self.standing(arrival.ingress, beyond, limit, buffer);
        self.lossless.admit_beyond(arrival, with_it, buffer)
    }

    /// Refuses a lossless arrival whose egress queue is too long. Pauses its sender if the ingress
    /// queue is too long, too.
    #[cold]
    fn refuse_at_egress(
        &mut self,
        arrival: &Arrival,
        (beyond, limit): (u64, u64),
        within: bool,
        buffer: &Buffer,
    ) -> Verdict {
        if !within && self.dynamic.is_none() && self.lossless.pauses_refused() {
            let with_it = self.standing(arrival.ingress, beyond, limit, buffer);
            self.lossless.pause_refused(arrival, with_it, buffer);
        }
        Verdict::Drop(DropReason::OverThreshold)
    }

    /// Length, threshold and free space for a decision about an ingress queue with `length` bytes
    /// beyond its reserve.
    fn standing(&self, ingress: IngressId, length: u64, limit: u64, buffer: &Buffer) -> Standing {
        let slice = self.slice_of(ingress);
        let (room, used) = (self.ingress_room(slice, buffer), self.headroom_used(slice, buffer));
        Standing { length, limit, room, used }
    }

    /// Pauses `ingress` if the packet just stored reached the threshold `limit`.
    /// Callers must check that the queue [may reach](Lossless::may_reach) the threshold.
    /// Packets use the reserve before the pool.
    #[inline]
    pub(crate) fn pause_if_reached(&mut self, ingress: IngressId, limit: u64, buffer: &Buffer) {
        let held = lossless::outside_headroom(ingress, buffer);
        let reserve = self.reserved[usize::from(ingress.0)];
        if held >= reserve.saturating_add(limit) && held > 0 {
            self.lossless.reach(ingress, held - reserve);
        }
    }

    /// Whether the egress queue of a lossless arrival has space for the packet, too.
    #[inline]
    fn fits_egress(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        let slice = self.slice_of(arrival.ingress);
        let free = self.sizes[slice].lossless_egress.saturating_sub(self.sums[slice].lossless);
        let length = buffer.shared_queue_bytes(arrival.queue) + u64::from(arrival.header.size);
        length <= self.lossless_egress_limits[usize::from(arrival.queue.0)].at_free(free)
    }

    /// Bytes that the ingress queue of a lossless arrival would use beyond its reserve, and whether
    /// the ingress pool has space for these bytes.
    #[inline]
    fn needs(&self, arrival: &Arrival, buffer: &Buffer) -> (u64, bool) {
        let size = u64::from(arrival.header.size);
        let length = lossless::outside_headroom(arrival.ingress, buffer) + size;
        let beyond = length.saturating_sub(self.reserved[usize::from(arrival.ingress.0)]);
        let room = self.ingress_room(self.slice_of(arrival.ingress), buffer);
        (beyond, size.min(beyond) <= room && buffer.fits(arrival.header.size))
    }

    /// Demand on the sender behind `ingress`, whose queue may use `limit` bytes of the pool.
    pub(crate) fn demand(&mut self, ingress: IngressId, limit: u64, buffer: &Buffer) -> PauseDemand {
        if !self.lossless.is_lossless(ingress) {
            return PauseDemand::Keep;
        }
        let length = self.ingress_length(ingress, buffer);
        if let Some(dynamic) = &mut self.dynamic {
            return dynamic.demand(ingress, length, limit, buffer);
        }
        let standing = self.standing(ingress, length, limit, buffer);
        self.lossless.demand(ingress, standing, buffer)
    }

    /// Whether a lossy arrival may bypass its empty queue, because storing and sending the packet
    /// would not change any count of bytes.
    #[inline]
    pub(crate) fn can_bypass_lossy(&self, arrival: &Arrival, limit: u64, buffer: &Buffer) -> bool {
        let (slice, size) = (self.slice_of(arrival.ingress), u64::from(arrival.header.size));
        let at_ingress = buffer.ingress_bytes(arrival.ingress) + size;
        // The comparison counts the packet in full, although reserves and minimums may cover a part
        // of it. If only the covered part exceeds a limit, the packet joins its queue and the exact
        // rule decides.
        self.keeps_headroom(buffer)
            && size <= limit
            && size <= self.lossy_free(slice)
            && size <= self.ingress_room(slice, buffer)
            && buffer.fits(arrival.header.size)
            && at_ingress
                <= self.lossy_ingress[usize::from(arrival.ingress.0)]
                    .at_free(self.ingress_free(slice, buffer))
    }

    /// Whether a lossless arrival may bypass the queue without a pause.
    /// `limit` is the threshold that the queue has with the packet.
    #[inline]
    pub(crate) fn can_bypass_lossless(&self, arrival: &Arrival, limit: u64, buffer: &Buffer) -> bool {
        self.keeps_headroom(buffer)
            && !self.lossless.is_paused(arrival.ingress)
            && self.fits_egress(arrival, buffer)
            && matches!(self.needs(arrival, buffer), (beyond, true) if beyond < limit)
    }

    /// Whether no packet is in headroom. Any departure releases headroom first, so a packet may
    /// bypass its queue only then.
    #[inline]
    fn keeps_headroom(&self, buffer: &Buffer) -> bool {
        self.dynamic.is_none() && buffer.used(Account::Headroom) == 0
    }

    /// Maximum length that the pools allow a lossy queue, in all slices together.
    /// `limit` returns the queue's threshold for a given free space of a lossy pool.
    pub(crate) fn lossy_limit(&self, queue: QueueId, limit: &dyn Fn(usize) -> u64, buffer: &Buffer) -> u64 {
        let reserve = self.egress[usize::from(queue.0)].reserved;
        let of_slice = |slice: usize| {
            let room = self.ingress_room(slice, buffer).min(self.lossy_free(slice));
            limit(slice).min(self.lossy_length(slice, queue, buffer) + room).saturating_add(reserve)
        };
        (0..self.slices()).map(of_slice).fold(0, u64::saturating_add)
    }

    /// Recounts the bytes of a packet's ingress queue and egress queue after a change.
    #[inline(always)] // On the hot path of the policies with SONiC's pools.
    pub(crate) fn recount(&mut self, queue: QueueId, ingress: IngressId, buffer: &Buffer) {
        if self.split.is_some() {
            self.recount_split(queue, ingress, buffer);
        } else {
            self.recount_egress(queue, buffer);
        }
        if !self.counted_reserve.is_empty() {
            self.recount_reserve(ingress, buffer);
        }
    }

    #[inline(always)] // As its caller.
    fn recount_egress(&mut self, queue: QueueId, buffer: &Buffer) {
        let egress = &mut self.egress[usize::from(queue.0)];
        let bytes = buffer.shared_queue_bytes(queue).saturating_sub(egress.reserved);
        let before = std::mem::replace(&mut egress.counted, bytes);
        let sums = &mut self.sums[0];
        let sum = if egress.takes_lossy { &mut sums.lossy } else { &mut sums.lossless };
        *sum = *sum + bytes - before;
    }

    /// Recounts `ingress` after a packet entered or left `queue`.
    #[inline(never)] // Rare: most switches have one memory, and the same lossless priorities at all ports.
    fn recount_split(&mut self, queue: QueueId, ingress: IngressId, buffer: &Buffer) {
        let Some(slices) = &mut self.split else { return };
        let (slice, lossless) = (slices.slice_of(ingress), self.lossless.is_lossless(ingress));
        let before = slices.lossy(slice, queue);
        let (fewer, more) = slices.recount(queue, ingress, lossless, buffer);
        let sums = &mut self.sums[slice];
        if lossless {
            sums.lossless = sums.lossless + more - fewer;
            return;
        }
        let (now, reserve) = (slices.lossy(slice, queue), self.egress[usize::from(queue.0)].reserved);
        sums.lossy = sums.lossy + now.saturating_sub(reserve) - before.saturating_sub(reserve);
        if self.minimums == QueueMinimums::EverySlice {
            sums.minimums = sums.minimums + now.min(reserve) - before.min(reserve);
        }
    }

    #[inline(never)] // Rare: only lossless ingress queues have reserves.
    fn recount_reserve(&mut self, ingress: IngressId, buffer: &Buffer) {
        let at = usize::from(ingress.0);
        let bytes = lossless::outside_headroom(ingress, buffer).min(self.reserved[at]);
        let before = std::mem::replace(&mut self.counted_reserve[at], bytes);
        let slice = self.slice_of(ingress);
        let sum = &mut self.sums[slice].reserved;
        *sum = *sum + bytes - before;
    }

    /// Recounts all ingress queues after another policy evicted a packet from `evicted`:
    /// the packet's ingress queue is unknown.
    pub(crate) fn recount_all(&mut self, evicted: QueueId, buffer: &Buffer) {
        for queue in buffer.queue_ids() {
            let egress = if self.split.is_some() { evicted } else { queue };
            self.recount(egress, IngressId(queue.0), buffer);
        }
    }

    /// Whether the sender behind `ingress` is paused.
    #[inline]
    pub(crate) fn is_pausing(&self, ingress: IngressId) -> bool {
        self.dynamic
            .as_ref()
            .map_or_else(|| self.lossless.is_paused(ingress), |dynamic| dynamic.is_paused(ingress))
    }

    /// Comparison by which `ingress` pauses its sender at `limit` bytes beyond the queue's reserve.
    /// `None` for a lossy queue, and with dynamic headroom, whose pauses depend on the other queues
    /// of the port.
    pub(crate) fn pause_level(&self, ingress: IngressId, limit: u64, buffer: &Buffer) -> Option<PauseLevel> {
        let is_alone = self.lossless.is_lossless(ingress) && self.dynamic.is_none();
        let reserve = self.reserved[usize::from(ingress.0)];
        let held = lossless::outside_headroom(ingress, buffer);
        is_alone.then(|| PauseLevel { held, limit: limit.saturating_add(reserve) })
    }

    /// The hooks of a policy that divides the pools.
    pub(crate) fn hooks(&self) -> Hooks {
        let hooks = Hooks::ENQUEUE.and(Hooks::DEQUEUE).and(Hooks::DROP).and(self.lossless.hooks());
        if self.dynamic.is_some() { hooks.and(Hooks::PAUSE_PORT) } else { hooks }
    }

    /// Reports state of `queue` for plots. `pause_limit` is the threshold of its
    /// priority's ingress queues.
    pub(crate) fn probe(
        &self,
        queue: QueueId,
        pause_limit: u64,
        buffer: &Buffer,
        sink: &mut dyn FnMut(&'static str, f64),
    ) {
        let ingress = IngressId(queue.0);
        let slice = self.slice_of(ingress);
        sink("ingress_pool_free", self.ingress_free(slice, buffer) as f64);
        sink("lossy_pool_free", self.lossy_free(slice) as f64);
        if self.lossless.is_lossless(ingress) {
            sink("pause_threshold", pause_limit as f64);
            sink("ingress_bytes", lossless::outside_headroom(ingress, buffer) as f64);
            sink("headroom_bytes", buffer.ingress_headroom_bytes(ingress) as f64);
            sink("pausing", f64::from(u8::from(self.is_pausing(ingress))));
        }
    }
}

/// Bounds below which no pool and no threshold limits a packet. Most arrivals find the queues below
/// these bounds. So the switch rarely compares queues with their own limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ample {
    /// Size of the smallest pool (bytes).
    pool: u64,
    /// The least alpha of any queue.
    alpha: Weight,
    /// The least fixed threshold of any queue (bytes).
    length: u64,
    /// Largest occupancy of the memory that is below the least threshold at this occupancy (bytes).
    /// No queue exceeds the occupancy of the memory.
    occupancy: u64,
}

impl Ample {
    /// Bounds of zero, with which every arrival is compared with all limits.
    pub(crate) const NONE: Self = Self { pool: 0, alpha: Weight(0), length: 0, occupancy: 0 };

    /// Bounds for pools of `pool` bytes or more, and limits of `alpha`, or `length` bytes, or more.
    fn new(pool: u64, alpha: Weight, length: u64) -> Self {
        let bounds = Self { pool, alpha, length, occupancy: 0 };
        // The threshold falls as the occupancy rises, so bisection finds the occupancy.
        let (mut below, mut beyond) = (0, pool.saturating_add(1));
        while below + 1 < beyond {
            let middle = below + (beyond - below) / 2;
            if middle < bounds.threshold_at(middle) { below = middle } else { beyond = middle }
        }
        Self { occupancy: below, ..bounds }
    }

    /// The least threshold of any queue when the memory contains `held` bytes, at most one pool.
    #[inline]
    fn threshold_at(self, held: u64) -> u64 {
        self.alpha.apply(self.pool - held).min(self.length)
    }

    /// Whether all queues are below their thresholds, whatever their lengths are, when the memory
    /// contains `more` additional bytes.
    #[inline]
    pub(crate) fn covers(self, more: u64, buffer: &Buffer) -> bool {
        buffer.occupancy() + more <= self.occupancy && buffer.is_whole_pool()
    }

    /// The least threshold that any queue has when the memory contains `more` additional bytes.
    /// Zero if a pool may be full. No pool has more bytes in use than the whole memory.
    #[inline]
    pub(crate) fn least_threshold(self, more: u64, buffer: &Buffer) -> u64 {
        let held = buffer.occupancy() + more;
        if held > self.pool || !buffer.is_whole_pool() {
            return 0;
        }
        self.threshold_at(held)
    }
}

/// Bytes that a lossy arrival needs of the pools, and the lengths of its queues.
#[derive(Clone, Copy, Debug)]
struct Needs {
    /// Length of the arrival's ingress queue beyond the reserve, including the arrival.
    at_ingress: u64,
    /// Length of the arrival's egress queue beyond the reserve, including the arrival.
    at_egress: u64,
    /// Bytes that the packet takes from the ingress pool.
    ingress: u64,
    /// Bytes that the packet takes from the lossy pool.
    egress: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_units::RandomStream;

    #[test]
    fn a_covered_occupancy_is_below_the_least_threshold_and_the_next_is_not() {
        let mut stream = RandomStream::new(4, "ample", 0);
        for _ in 0..2_000 {
            let (pool, length) = (stream.below(20_000_000), stream.below(30_000_000));
            let alpha = Weight::from_f64(stream.below(4_000) as f64 / 500.0);
            let bounds = Ample::new(pool, alpha, length);
            let is_below = |held: u64| held <= pool && held < bounds.threshold_at(held);
            for held in [bounds.occupancy, bounds.occupancy / 2, stream.below(bounds.occupancy + 1)] {
                assert!(held == 0 || is_below(held), "{bounds:?}: {held}");
            }
            assert!(!is_below(bounds.occupancy + 1), "{bounds:?}");
        }
    }
}
