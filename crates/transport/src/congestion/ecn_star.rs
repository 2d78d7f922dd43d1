//! ECN*: NewReno for packets that switches mark instead of drop.

use super::{CongestionControl, CongestionControlInfo, NewReno};

/// Registry entry of ECN*. As in NewReno, marks halve the window, once per round trip. The
/// difference is in the switch, which marks by the instantaneous queue length with a threshold K
/// near one bandwidth-delay product.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "ecn-star",
    aliases: &[],
    title: "ECN*",
    summary: "NewReno with ECN: halves the window on a mark, once per round trip.",
    source: "Wu et al., CoNEXT 2012; LossPass section 5; RFC 3168",
    uses_ecn: true,
    wants_telemetry: false,
    owns_window: false,
    starts_at_line_rate: false,
    rdma_only: false,
    params: &[],
    build: &|_, _| Ok(Box::new(|_, _| CongestionControl::NewReno(NewReno))),
};
