//! NewReno: slow start, additive increase, and half of the window after congestion (RFC 5681,
//! RFC 6582).

use super::{AckEvent, CongestionControl, CongestionControlInfo, CongestionEvent, Window};

/// Registry entry of NewReno.
pub(super) static INFO: CongestionControlInfo = CongestionControlInfo {
    name: "newreno",
    aliases: &[],
    title: "TCP NewReno",
    summary: "Adds one segment per round trip and halves the window on a loss or mark.",
    source: "RFC 5681, RFC 6582; marks as losses, once per round trip: RFC 3168",
    uses_ecn: false,
    wants_telemetry: false,
    owns_window: false,
    starts_at_line_rate: false,
    rdma_only: false,
    params: &[],
    build: &|_, _| Ok(Box::new(|_, _| CongestionControl::NewReno(NewReno))),
};

/// State of NewReno. The state is empty, because NewReno needs only the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno;

impl NewReno {
    #[inline]
    pub(super) fn on_ack(&self, window: &mut Window, ack: &AckEvent<'_>) {
        if ack.may_grow {
            grow(window, ack.delivered);
        }
    }

    pub(super) fn on_congestion(&self, window: &mut Window, event: CongestionEvent, flight: u32) {
        // After a loss, the threshold is half of the flight size (RFC 5681 Eq. 4).
        // A mark halves the window itself (RFC 3168).
        let base = if event == CongestionEvent::Mark { window.size } else { f64::from(flight) };
        window.slow_start_threshold = (base / 2.0).max(2.0);
    }
}

/// Increases the window as in RFC 5681: in slow start by one segment per delivered segment,
/// above the threshold by one segment per window.
#[inline]
pub(super) fn grow(window: &mut Window, delivered: u32) {
    let delivered = f64::from(delivered);
    if window.size < window.slow_start_threshold {
        window.size += delivered;
    } else {
        window.size += delivered / window.size;
    }
}
