//! Parameters of the policies on SONiC's buffer model.

use bufferlab_params::{ParamInfo, ParamKind, ParamValue};

/// Largest alpha, the factor of the free space. A limit with this alpha never applies before the
/// pool is full.
const UNLIMITED: f64 = 65_536.0;

/// Parameter: alpha of the pause threshold at ingress and of the drop threshold at egress.
pub(crate) const ALPHA: ParamInfo = ParamInfo {
    name: "alpha",
    kind: ParamKind::RatioPerPriority { min: 1e-6, max: UNLIMITED },
    default: ParamValue::ratios(&[1.0]),
    artifact_default: None,
    doc: "Factor of the free pool, by priority. For lossless priorities, which pause, of the ingress pool; \
          for lossy ones, which drop, of the egress lossy pool. SONiC writes dynamic_th = log2 alpha.",
};

/// Parameter: size b_eo of the lossy egress pool.
pub(crate) const LOSSY_POOL: ParamInfo = ParamInfo {
    name: "lossy_pool",
    kind: ParamKind::Ratio { min: 1e-6, max: 64.0 },
    default: ParamValue::Ratio(0.8),
    artifact_default: None,
    doc: "Egress lossy pool as a multiple of the ingress pool (Reverie section 4.1: 80 %; at most all of it, \
          heuristic 3). Device files whose egress pool is the whole memory need more than 1.",
};

/// Parameter: factor of the limit of lossy ingress queues (heuristic 3 of SONiC's buffer model).
pub(crate) const LOSSY_INGRESS_ALPHA: ParamInfo = ParamInfo {
    name: "lossy_ingress_alpha",
    kind: ParamKind::Ratio { min: 1e-6, max: UNLIMITED },
    default: ParamValue::Ratio(UNLIMITED),
    artifact_default: None,
    doc: "Factor of a lossy ingress queue: large, so that lossy packets are lost at egress only (heuristic 3).",
};

/// Parameter: factor of the limit of lossless egress queues (heuristic 2 of SONiC's model).
pub(crate) const LOSSLESS_EGRESS_ALPHA: ParamInfo = ParamInfo {
    name: "lossless_egress_alpha",
    kind: ParamKind::Ratio { min: 1e-6, max: UNLIMITED },
    default: ParamValue::Ratio(UNLIMITED),
    artifact_default: None,
    doc: "Factor of a lossless egress queue, whose pool is the whole buffer: large, so that the limit is \
          never reached (heuristic 2). A packet beyond it is lost.",
};

/// Parameter: reserve of an ingress queue, the `size` of a priority group.
pub(crate) const RESERVED: ParamInfo = ParamInfo {
    name: "reserved",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "Reserve of each lossless ingress queue, below its threshold (SONiC's `size` of a priority group).",
};

/// Parameter: size b_in of the ingress pool, if the pool is not all remaining memory.
pub(crate) const INGRESS_POOL: ParamInfo = ParamInfo {
    name: "ingress_pool",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "Size of the ingress pool, all slices together, for configurations whose pool is smaller than the \
          chip's memory. 0: the buffer less reserves and headroom.",
};

/// Parameter: alpha that limits all queues of a port together.
pub(crate) const PORT_ALPHA: ParamInfo = ParamInfo {
    name: "port_alpha",
    kind: ParamKind::Ratio { min: 0.0, max: UNLIMITED },
    default: ParamValue::Ratio(0.0),
    artifact_default: None,
    doc: "Two levels (Spectrum 4): this factor of the free ingress pool limits all lossless ingress queues \
          of a port together, and `alpha` of each queue is a factor of the rest of that limit. 0: one level.",
};
