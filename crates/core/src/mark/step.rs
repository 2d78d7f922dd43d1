//! A step: the rule marks every packet of a queue longer than K. All priorities have one K, or each
//! priority has a separate K.

use super::watch::{AT, LENGTH, SCOPE, Watch};
use super::{Markable, MarkerInfo, Marking};
use crate::buffer::Buffer;
use crate::policy::SwitchShape;
use bufferlab_params::{BuildError, Fault, Faults, ParamInfo, ParamKind, Params};

pub(super) static INFO: MarkerInfo = MarkerInfo {
    name: "step",
    title: "Step",
    summary: "DCTCP's step: every packet above the threshold.",
    source: "Alizadeh et al., SIGCOMM 2010, section 3.1",
    params: &[
        SCOPE,
        AT,
        ParamInfo::computed(
            "threshold",
            LENGTH,
            "one of the two is required",
            "\"91 KB\"",
            "K: mark when the length exceeds it. Either this or `thresholds`.",
        ),
        ParamInfo::optional(
            "thresholds",
            ParamKind::List(&ParamKind::Bytes { min: 1 }),
            "[\"30 KB\", \"300 KB\"]",
            "K of every priority, from 0; the last one applies to all further priorities.",
        ),
    ],
    check,
    build: &build,
    ..MarkerInfo::PLAIN
};

fn check(params: &Params) -> Result<(), Faults> {
    let fault = match (params.has("threshold"), params.has("thresholds")) {
        (true, false) | (false, true) => return Ok(()),
        (true, true) => Fault::new("threshold", "the threshold is given twice", "so is it here")
            .also("thresholds", "and here")
            .help("remove `threshold` or `thresholds`"),
        (false, false) => Fault::new("threshold", "the threshold is missing", "kind = \"step\" needs it")
            .help("add threshold = \"91 KB\", or thresholds with one size for each queue"),
    };
    Err(fault.into())
}

fn build(params: &Params, _: &SwitchShape) -> Result<Marking, BuildError> {
    let by_priority = if params.has("thresholds") { params.sizes("thresholds") } else { Vec::new() };
    let threshold = params.given_bytes("threshold").unwrap_or(u64::MAX);
    Ok(Marking::Step(Step { watch: Watch::from_params(params), threshold, by_priority }))
}

/// Marks every packet above a queue length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Queue or port length that the rule compares, and the moment of the comparison.
    pub watch: Watch,
    /// Threshold K: length up to which the step marks no packet (bytes).
    pub threshold: u64,
    /// Threshold K of each priority, if the priorities differ, as in LossPass's selective marking.
    /// The last threshold also applies to all further priorities. If the list is empty, `threshold`
    /// applies to all priorities.
    pub by_priority: Vec<u64>,
}

impl Step {
    /// DCTCP's step: the rule marks above `threshold` bytes in the packet's queue on arrival.
    #[must_use]
    pub fn new(threshold: u64) -> Self {
        Self { watch: Watch::default(), threshold, by_priority: Vec::new() }
    }

    /// Marking threshold K of `priority` (bytes).
    #[inline]
    #[must_use]
    pub fn threshold_of(&self, priority: u8) -> u64 {
        match self.by_priority.get(usize::from(priority)).or(self.by_priority.last()) {
            Some(&own) => own,
            None => self.threshold,
        }
    }

    /// Whether the step rule marks `packet`.
    #[inline]
    #[must_use]
    pub fn marks(&self, packet: &Markable, buffer: &Buffer) -> bool {
        self.watch.at == packet.moment
            && self.watch.length(packet, buffer) > self.threshold_of(packet.priority)
    }

    /// Length up to which the rule marks no packet: [`super::MarkingRule::least_length`].
    pub(super) fn least_length(&self) -> u64 {
        self.by_priority.iter().copied().min().unwrap_or(self.threshold)
    }
}
