//! Buffer-aware marking (BCC): a step, and on departure a condition on the free space of the shared
//! buffer.

use super::step::Step;
use super::watch::{AT, LENGTH, SCOPE, Watch};
use super::{Markable, MarkerInfo, Marking, Moment};
use crate::buffer::Buffer;
use crate::policy::SwitchShape;
use crate::weight::Weight;
use bufferlab_params::{BuildError, ParamInfo, ParamKind, ParamValue, Params};

pub(super) static INFO: MarkerInfo = MarkerInfo {
    name: "bcc",
    title: "Buffer-aware marking",
    summary: "BCC's buffer-aware marking: a step, and on departure every packet whose remaining queue \
          exceeds `floor` and `share` of the threshold of Dynamic Thresholds with `alpha` \
          (`docs/concepts/marking.md`).",
    source: "Bai, Hu, Chen, Tan, Xiong, APNet 2017, ToN 2021, as its public precursor does it",
    params: &[
        SCOPE,
        AT,
        ParamInfo::required(
            "threshold",
            LENGTH,
            "\"720 KB\"",
            "K of the step, for throughput: mark when the length exceeds it.",
        ),
        ParamInfo::with_default(
            "floor",
            LENGTH,
            ParamValue::Bytes(18_000),
            "No mark for lack of buffer up to this length. Default: BCC's public precursor, two packets of 9000 B.",
        ),
        ParamInfo::with_default(
            "share",
            ParamKind::RatioAbove { min: 0.0, max: 1.0 },
            ParamValue::Ratio(0.375),
            "h: mark above h alpha (B - Q). Default: BCC's public precursor.",
        ),
        ParamInfo::with_default(
            "alpha",
            ParamKind::Ratio { min: 1e-6, max: 65_536.0 },
            ParamValue::Ratio(1.0),
            "The alpha of the switch's policy for the marked queues.",
        ),
    ],
    build: &build,
    ..MarkerInfo::PLAIN
};

fn build(params: &Params, _: &SwitchShape) -> Result<Marking, BuildError> {
    Ok(Marking::BufferAware(BufferAware {
        step: Step { watch: Watch::from_params(params), ..Step::new(params.bytes("threshold")) },
        floor: params.bytes("floor"),
        factor: Weight::from_f64(params.ratio("share") * params.ratio("alpha")),
    }))
}

/// Marks a packet if a step marks it, or if the length that remains at the packet's
/// departure exceeds `max(floor, factor · (B − Q))`.
///
/// With Dynamic Thresholds `T = α (B − Q)` and `factor = h·α`, h < 1, the switch notifies
/// senders before the queue reaches its threshold, even if little of the buffer is free.
/// Without the condition on the free buffer, a step is tuned for an empty buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferAware {
    /// The step marking rule. The condition on the buffer compares the queue or port length that
    /// the step watches.
    pub step: Step,
    /// Queue length up to which the condition on the buffer marks no packet (bytes). Queues up to
    /// this length keep the link busy when the buffer is nearly full.
    pub floor: u64,
    /// Factor h·α by which the condition on the buffer multiplies the free space.
    pub factor: Weight,
}

impl BufferAware {
    /// Whether the step or the condition on the buffer marks `packet`.
    #[inline(never)] // Rarer than the plain step, which is inlined.
    #[must_use]
    pub fn marks(&self, packet: &Markable, buffer: &Buffer) -> bool {
        let lacks_buffer = packet.moment == Moment::Dequeue && {
            let length = self.step.watch.length(packet, buffer);
            length > self.floor.max(self.factor.apply(buffer.shared_free()))
        };
        lacks_buffer || self.step.marks(packet, buffer)
    }

    /// Length up to which the rule marks no packet: [`super::MarkingRule::least_length`].
    pub(super) fn least_length(&self) -> u64 {
        self.step.least_length().min(self.floor)
    }
}
