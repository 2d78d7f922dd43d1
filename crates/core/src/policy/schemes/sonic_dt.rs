//! Dynamic Thresholds on SONiC's buffer model with four pools: lossless traffic is limited at
//! ingress, lossy traffic at egress.
//!
//! A lossless ingress queue pauses its sender beyond `α (b_in − q_in)` and then uses headroom.
//! A lossy egress queue drops packets beyond `α (b_eo − q_eo)`.
//! Every packet is counted in an ingress pool, or headroom, and in an egress pool.

use crate::buffer::{Buffer, IngressId, QueueId};
use crate::hardware::Accounting;
use crate::policy::interface::{
    Account, Arrival, Bound, BuildError, Departure, DropReason, Hooks, PauseDemand, PauseLevel, Policy,
    PolicyInfo, SwitchShape, Tags, Verdict,
};
use crate::policy::parts::congestion;
use crate::policy::parts::dynamic_headroom::HEADROOM_MODE;
use crate::policy::parts::lossless::{
    HEADROOM, HEADROOM_POOL, HEADROOM_UNTIL, PauseWith, XON, XON_OFFSET, pause_with,
};
use crate::policy::parts::pools::{Ample, Pools};
use crate::policy::parts::queue_profiles::{Limit, PROFILES, resolve};
use crate::policy::parts::sonic;
use crate::weight::Weight;
use bufferlab_params::profiles::{BufferProfile, Direction};
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::Time;

/// Registry entry of the policy `sonic-dt`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "sonic-dt",
    aliases: &["sonic"],
    title: "Dynamic Thresholds on SONiC",
    summary: "SONiC's four pools: lossless ingress queues pause, lossy egress queues drop at dynamic or static \
              thresholds.",
    source: "SONiC; Addanki, Bai, Schmid, Apostolaki, NSDI 2024 (Reverie), section 2.2, Eq. 1.",
    cost: "O(1)",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    sonic::ALPHA,
    sonic::PORT_ALPHA,
    sonic::INGRESS_POOL,
    sonic::LOSSY_POOL,
    HEADROOM,
    HEADROOM_POOL,
    HEADROOM_MODE,
    XON,
    XON_OFFSET,
    HEADROOM_UNTIL,
    pause_with(PauseWith::Reaching),
    sonic::RESERVED,
    ParamInfo {
        name: "lossless_static_threshold",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Fixed threshold of every lossless ingress queue instead of the dynamic one (SONiC's \
              static_th); 0: dynamic.",
    },
    ParamInfo {
        name: "lossy_static_threshold",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Fixed threshold of every lossy egress queue instead of the dynamic one; 0: dynamic.",
    },
    sonic::LOSSY_INGRESS_ALPHA,
    sonic::LOSSLESS_EGRESS_ALPHA,
    PROFILES,
];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(SonicDt::new(params, shape)?))
}

/// The policy Dynamic Thresholds on SONiC's buffer model.
#[derive(Clone, Debug)]
pub struct SonicDt {
    pools: Pools,
    /// Bounds below which every arrival is admitted to the pool and no sender is paused.
    ample: Ample,
    /// Limit of each ingress queue for lossless packets, at which the queue pauses its sender.
    pause_limits: Vec<Limit>,
    /// Limit of each egress queue for lossy packets, above which packets are dropped.
    drop_limits: Vec<Limit>,
    /// Alpha that limits a port's ingress queues together in the pool. A queue's threshold is then
    /// a multiple of the space that its port has left.
    port_alpha: Option<Weight>,
    accounting: Accounting,
}

impl SonicDt {
    /// Builds the policy from `params`, which its registry entry declares.
    ///
    /// # Errors
    /// Returns the parameter that leaves no space in the buffer,
    /// or a profile that does not fit the switch.
    pub fn new(params: &Params, shape: &SwitchShape) -> Result<Self, BuildError> {
        let alphas = congestion::weights(params, "alpha", shape.queues_per_port);
        let limits = |direction, name: &str, for_lossless: bool| {
            let fixed = Some(params.bytes(name)).filter(|&bytes| bytes > 0);
            let general = |priority: usize| fixed.map_or(Limit::Dynamic(alphas[priority]), Limit::Static);
            let own =
                |port: usize, priority: usize| (shape.lossless_at(port) >> priority & 1 != 0) == for_lossless;
            let given = |profile: &BufferProfile| profile.threshold.map(|rule| Some(Limit::from(rule)));
            let found = resolve(params, shape, direction, given, |_, _| None);
            let value = |(queue, found): (usize, Option<Limit>)| {
                let (port, priority) = (queue / shape.queues_per_port, queue % shape.queues_per_port);
                found.filter(|_| own(port, priority)).unwrap_or_else(|| general(priority))
            };
            found.into_iter().enumerate().map(value).collect()
        };
        let pools = Pools::new(params, shape)?;
        let pause_limits: Vec<Limit> = limits(Direction::Ingress, "lossless_static_threshold", true);
        let drop_limits: Vec<Limit> = limits(Direction::Egress, "lossy_static_threshold", false);
        let port_alpha = Some(params.ratio(sonic::PORT_ALPHA.name)).filter(|&alpha| alpha > 0.0);
        let ample = pools.ample(pause_limits.iter().chain(&drop_limits));
        let is_simple = port_alpha.is_none() && shape.accounting == Accounting::IDEAL;
        Ok(Self {
            pools,
            ample: if is_simple { ample } else { Ample::NONE },
            pause_limits,
            drop_limits,
            port_alpha: port_alpha.map(Weight::from_f64),
            accounting: shape.accounting,
        })
    }

    /// Whether the buffer has ample space: the shared pool admits an arrival of `size` bytes, and
    /// the arrival may bypass an empty queue. The condition is sufficient and quick to check.
    #[inline(always)] // On the hot path.
    pub(crate) fn has_ample_room(
        &self,
        queue: QueueId,
        ingress: IngressId,
        size: u32,
        buffer: &Buffer,
    ) -> bool {
        let size = u64::from(size);
        (self.ample.covers(size, buffer) || self.has_ample_queues(queue, ingress, size, buffer))
            && buffer.used(Account::Headroom) == 0
            && !self.pools.lossless.is_paused(ingress)
    }

    /// Whether the queues of a packet of `size` bytes are below the least threshold.
    #[inline(never)] // Most packets find little in the memory.
    fn has_ample_queues(&self, queue: QueueId, ingress: IngressId, size: u64, buffer: &Buffer) -> bool {
        let threshold = self.ample.least_threshold(size, buffer);
        buffer.ingress_bytes(ingress) + size < threshold && buffer.queue_bytes(queue) + size <= threshold
    }

    /// Records a stored packet like [`Policy::on_enqueue`], but takes only the ids of the packet's
    /// queues.
    #[inline(always)] // On the hot path.
    pub(crate) fn note_stored(&mut self, queue: QueueId, ingress: IngressId, buffer: &Buffer) {
        self.pools.recount(queue, ingress, buffer);
        if !self.ample.covers(0, buffer)
            && self.pools.lossless.may_reach(ingress)
            && buffer.ingress_bytes(ingress) >= self.ample.least_threshold(0, buffer)
        {
            self.pause_if_reached(ingress, buffer);
        }
    }

    /// Records a sent packet like [`Policy::on_dequeue`], but takes only the ids of the packet's
    /// queues.
    #[inline(always)] // On the hot path.
    pub(crate) fn note_sent(&mut self, queue: QueueId, ingress: IngressId, buffer: &Buffer) {
        self.pools.recount(queue, ingress, buffer);
    }

    /// Threshold T of a lossless ingress queue (bytes). Beyond T, the queue pauses its sender.
    #[must_use]
    #[inline]
    pub fn pause_threshold(&self, ingress: IngressId, buffer: &Buffer) -> u64 {
        self.pause_threshold_with(ingress, 0, buffer)
    }

    /// Threshold T of a lossless ingress queue with `more` additional bytes in the pool.
    #[inline]
    fn pause_threshold_with(&self, ingress: IngressId, more: u64, buffer: &Buffer) -> u64 {
        let slice = self.pools.slice_of(ingress);
        let free = self.pools.ingress_free(slice, buffer).saturating_sub(more);
        let free = match self.port_alpha {
            None => free,
            Some(alpha) => {
                alpha.apply(free).saturating_sub(self.pools.ingress_port_length(ingress, buffer) + more)
            }
        };
        self.accounting.expressible(self.pause_limits[usize::from(ingress.0)].at_free(free))
    }

    #[inline(never)] // Rare: lossless packets only.
    fn pause_if_reached(&mut self, ingress: IngressId, buffer: &Buffer) {
        let limit = self.pause_threshold(ingress, buffer);
        self.pools.pause_if_reached(ingress, limit, buffer);
    }

    #[inline(never)] // Rare: few ingress queues pause.
    fn demand_while_paused(&mut self, ingress: IngressId, buffer: &Buffer) -> PauseDemand {
        let limit = self.pause_threshold(ingress, buffer);
        self.pools.demand(ingress, limit, buffer)
    }

    /// Threshold T of an egress queue for lossy packets from `ingress` (bytes).
    /// The queue drops lossy packets beyond T.
    #[must_use]
    #[inline]
    pub fn drop_threshold(&self, queue: QueueId, ingress: IngressId) -> u64 {
        self.drop_limit(queue, self.pools.lossy_free(self.pools.slice_of(ingress)))
    }

    /// Threshold of an egress queue when the lossy pool has `free` free bytes.
    #[inline]
    fn drop_limit(&self, queue: QueueId, free: u64) -> u64 {
        self.accounting.expressible(self.drop_limits[usize::from(queue.0)].at_free(free))
    }
}

impl Policy for SonicDt {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if self.pools.lossless.is_lossless(arrival.ingress) {
            let limit = self.pause_threshold(arrival.ingress, buffer);
            self.pools.admit_lossless(arrival, limit, buffer)
        } else {
            let limit = self.drop_threshold(arrival.queue, arrival.ingress);
            self.pools.admit_lossy(arrival, limit, buffer)
        }
    }

    fn hooks(&self) -> Hooks {
        self.pools.hooks().and(Hooks::BYPASS).and(Hooks::PAUSE_LOSSLESS)
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        self.note_stored(arrival.queue, arrival.ingress, buffer);
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        self.note_sent(departure.queue, departure.ingress, buffer);
    }

    fn on_evict(&mut self, _: Time, queue: QueueId, _: u32, buffer: &Buffer) {
        self.pools.recount_all(queue, buffer);
    }

    #[inline]
    fn can_bypass(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        if self.pools.lossless.is_lossless(arrival.ingress) {
            let limit = self.pause_threshold_with(arrival.ingress, u64::from(arrival.header.size), buffer);
            self.pools.can_bypass_lossless(arrival, limit, buffer)
        } else {
            let limit = self.drop_threshold(arrival.queue, arrival.ingress);
            self.pools.can_bypass_lossy(arrival, limit, buffer)
        }
    }

    fn supports_accounting(&self) -> bool {
        true
    }

    #[inline(always)] // For most packets two checks.
    fn pause_demand(&mut self, _: Time, ingress: IngressId, buffer: &Buffer) -> PauseDemand {
        // The policy first checks whether the packet is lossy, because most packets are lossy.
        if !self.pools.lossless.is_lossless(ingress) {
            return PauseDemand::Keep;
        }
        if !self.pools.is_pausing(ingress) {
            return PauseDemand::Resume;
        }
        self.demand_while_paused(ingress, buffer)
    }

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        let lossy = self.pools.takes_lossy(queue);
        let limit = |slice| self.drop_limit(queue, self.pools.lossy_free(slice));
        lossy.then(|| self.pools.lossy_limit(queue, &limit, buffer))
    }

    fn pause_level(&self, ingress: IngressId, buffer: &Buffer) -> Option<PauseLevel> {
        self.pools.pause_level(ingress, self.pause_threshold(ingress, buffer), buffer)
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        self.pools.bound(arrival, reason, self.drop_threshold(arrival.queue, arrival.ingress), buffer)
    }

    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        self.pools.probe(queue, self.pause_threshold(IngressId(queue.0), buffer), buffer, sink);
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
