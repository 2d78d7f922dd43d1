//! Parameters that many policies share, and the checks of these parameters.

use crate::policy::interface::{BuildError, SwitchShape};
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::Time;

/// Smallest and largest factor of the free space. Larger factors never limit a queue.
const FACTORS: (f64, f64) = (1e-6, 65_536.0);

/// Alpha by priority in the `alphas` file of the public ns-3 artifact
/// (`docs/concepts/algorithms.md` section 10, row 12).
pub(crate) const ARTIFACT_ALPHAS: [f64; 8] = [1.0, 0.5, 0.5, 0.5, 0.125, 0.0625, 0.03125, 0.015625];

/// Parameter `alpha`: a factor of the free space by priority.
/// `artifact` is the default in the artifact, if the artifact differs.
pub(crate) const fn alpha(
    default: &'static [f64],
    artifact: Option<&'static [f64]>,
    doc: &'static str,
) -> ParamInfo {
    ParamInfo {
        name: "alpha",
        kind: ParamKind::RatioPerPriority { min: FACTORS.0, max: FACTORS.1 },
        default: ParamValue::ratios(default),
        artifact_default: match artifact {
            Some(alphas) => Some(ParamValue::ratios(alphas)),
            None => None,
        },
        doc,
    }
}

/// Parameter: a factor of the free space for all priorities.
pub(crate) const fn factor(
    name: &'static str,
    default: f64,
    artifact: Option<f64>,
    doc: &'static str,
) -> ParamInfo {
    ParamInfo {
        name,
        kind: ParamKind::Ratio { min: FACTORS.0, max: FACTORS.1 },
        default: ParamValue::Ratio(default),
        artifact_default: match artifact {
            Some(factor) => Some(ParamValue::Ratio(factor)),
            None => None,
        },
        doc,
    }
}

/// Parameter `update_interval`: time between two updates of values that a policy computes from all
/// queues.
pub(crate) const fn update_interval(default: Time, doc: &'static str) -> ParamInfo {
    ParamInfo {
        name: "update_interval",
        kind: ParamKind::Time { min: Time::from_ns(1) },
        default: ParamValue::Time(default),
        artifact_default: None,
        doc,
    }
}

/// Refuses a given limit that is larger than the buffer, because the limit could never apply.
pub(crate) fn refuse_beyond_buffer(
    params: &Params,
    shape: &SwitchShape,
    param: &'static str,
    what: &str,
) -> Result<(), BuildError> {
    let (bytes, buffer) = (params.bytes(param), shape.capacity);
    if bytes < buffer || params.is_default(param) {
        return Ok(());
    }
    Err(BuildError {
        param,
        message: format!("no queue is longer than {bytes} B in a buffer of {buffer} B: {what}"),
    })
}
