//! Dynamic Thresholds on SONiC's buffer model: four pools, lossless traffic limited at ingress, lossy at egress.
//!
//! A lossless ingress queue pauses its sender beyond `α (b_in − q_in)` and then uses headroom; a lossy egress queue drops beyond
//! `α (b_eo − q_eo)`. Every packet is counted in an ingress pool, or headroom, and in an egress pool.

use super::dynamic_headroom::HEADROOM_MODE;
use super::lossless::{HEADROOM, HEADROOM_POOL, XON, XON_OFFSET};
use super::sonic::{self, Pools};
use super::{
    Arrival, BuildError, Departure, Hooks, PauseDemand, Policy, PolicyInfo, SwitchShape, Tags, Verdict,
};
use crate::buffer::{Buffer, IngressId, QueueId};
use crate::params::{ParamInfo, ParamKind, ParamValue, Params};
use crate::weight::Weight;
use bufferlab_units::Time;

/// Registry entry.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "sonic-dt",
    aliases: &["sonic"],
    title: "Dynamic Thresholds on SONiC",
    summary: "SONiC's four pools: lossless ingress queues pause, lossy egress queues drop at dynamic or static thresholds.",
    source: "SONiC; Addanki, Bai, Schmid, Apostolaki, NSDI 2024 (Reverie), section 2.2, Eq. 1.",
    cost: "O(1)",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    sonic::ALPHA,
    sonic::LOSSY_POOL,
    HEADROOM,
    HEADROOM_POOL,
    HEADROOM_MODE,
    XON,
    XON_OFFSET,
    sonic::RESERVED,
    ParamInfo {
        name: "lossless_static_threshold",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Threshold of every lossless ingress queue in place of the dynamic one (SONiC's static_th); 0: dynamic.",
    },
    ParamInfo {
        name: "lossy_static_threshold",
        kind: ParamKind::Bytes { min: 0 },
        default: ParamValue::Bytes(0),
        artifact_default: None,
        doc: "Threshold of every lossy egress queue in place of the dynamic one; 0: dynamic.",
    },
    sonic::LOSSY_INGRESS_ALPHA,
    sonic::LOSSLESS_EGRESS_ALPHA,
];

fn build(params: &Params, shape: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(SonicDt::new(params, shape)?))
}

/// Dynamic Thresholds on SONiC.
#[derive(Clone, Debug)]
pub struct SonicDt {
    pools: Pools,
    /// By priority.
    alphas: Vec<Weight>,
    lossless_static: Option<u64>,
    lossy_static: Option<u64>,
}

impl SonicDt {
    /// `params` as declared by the registry entry.
    ///
    /// # Errors
    /// The parameter that leaves no room in the buffer.
    pub fn new(params: &Params, shape: &SwitchShape) -> Result<Self, BuildError> {
        let chosen = |name: &str| Some(params.bytes(name)).filter(|&bytes| bytes > 0);
        Ok(Self {
            pools: Pools::new(params, shape)?,
            alphas: super::congestion::weights(params, "alpha", shape.queues_per_port),
            lossless_static: chosen("lossless_static_threshold"),
            lossy_static: chosen("lossy_static_threshold"),
        })
    }

    /// T of a lossless ingress queue (bytes): beyond it, its sender is paused.
    #[must_use]
    pub fn pause_threshold(&self, priority: u8, buffer: &Buffer) -> u64 {
        let dynamic = || self.alphas[usize::from(priority)].of(self.pools.ingress_free(buffer));
        self.lossless_static.unwrap_or_else(dynamic)
    }

    /// T of a lossy egress queue (bytes): beyond it, packets are lost.
    #[must_use]
    pub fn drop_threshold(&self, priority: u8) -> u64 {
        let dynamic = || self.alphas[usize::from(priority)].of(self.pools.lossy_free());
        self.lossy_static.unwrap_or_else(dynamic)
    }
}

impl Policy for SonicDt {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if self.pools.lossless.is_lossless(arrival.priority) {
            let limit = self.pause_threshold(arrival.priority, buffer);
            self.pools.admit_lossless(arrival, limit, buffer)
        } else {
            self.pools.admit_lossy(arrival, self.drop_threshold(arrival.priority), buffer)
        }
    }

    fn hooks(&self) -> Hooks {
        self.pools.hooks()
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        self.pools.recount(arrival.queue, arrival.ingress, buffer);
    }

    #[inline]
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        self.pools.recount(departure.queue, departure.ingress, buffer);
    }

    fn on_evict(&mut self, _: Time, _: QueueId, _: u32, buffer: &Buffer) {
        self.pools.recount_all(buffer);
    }

    fn pause_demand(&mut self, _: Time, ingress: IngressId, buffer: &Buffer) -> PauseDemand {
        let priority = (ingress.0 % buffer.queues_per_port()) as u8;
        let limit = self.pause_threshold(priority, buffer);
        self.pools.demand(ingress, limit, buffer)
    }

    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        let (_, priority) = buffer.port_and_priority(queue);
        let lossy = !self.pools.lossless.is_lossless(priority);
        lossy.then(|| self.pools.lossy_limit(queue, self.drop_threshold(priority), buffer))
    }

    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        let (_, priority) = buffer.port_and_priority(queue);
        self.pools.probe(queue, self.pause_threshold(priority, buffer), buffer, sink);
    }
}
