//! Parameters that several calculators share, and their values in base units as numbers for
//! the closed forms.

use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::{BitRate, Time};
use std::borrow::Cow;

/// Kind of a parameter that is a size above 0.
pub(super) const SIZE: ParamKind = ParamKind::Bytes { min: 1 };
/// Kind of a parameter that is a rate above 0.
pub(super) const RATE: ParamKind = ParamKind::Rate { min: BitRate(1) };
/// Kind of a parameter that is a time above 0.
pub(super) const TIME: ParamKind = ParamKind::Time { min: Time(1) };
/// Kind of a parameter that is the alpha of a queue.
pub(super) const ALPHA: ParamKind = ParamKind::RatioAbove { min: 0.0, max: f64::MAX };
/// Kind of a parameter that is a list of one or more alphas.
pub(super) const ALPHAS: ParamKind = ParamKind::List(&ALPHA);
/// Kind of a parameter that is a fraction from 0 to 1.
pub(super) const FRACTION: ParamKind = ParamKind::Ratio { min: 0.0, max: 1.0 };

/// Kind of a parameter that is a whole number, at least `min`.
pub(super) const fn count(min: u64) -> ParamKind {
    ParamKind::Count { min, max: u32::MAX as u64 }
}

/// Declares a parameter of a calculator. Calculators have no profiles.
pub(super) const fn param(
    name: &'static str,
    kind: ParamKind,
    default: ParamValue,
    doc: &'static str,
) -> ParamInfo {
    ParamInfo { name, kind, default, artifact_default: None, doc }
}

/// Parameter `buffer`: size of the shared buffer.
pub(super) const BUFFER: ParamInfo = param("buffer", SIZE, ParamValue::Bytes(4_000_000), "Shared buffer.");

/// Parameter `port_rate`: rate of the ports of the switch.
pub(super) const PORT_RATE: ParamInfo =
    param("port_rate", RATE, ParamValue::Rate(BitRate(10_000_000_000)), "Rate of every port.");

/// Parameter `ports`: number of ports of the switch.
pub(super) const PORTS: ParamInfo = param("ports", count(1), ParamValue::Count(32), "Ports of the switch.");

/// Declares the parameter `packet`: size of a packet.
pub(super) const fn packet(doc: &'static str) -> ParamInfo {
    param("packet", SIZE, ParamValue::Bytes(1_500), doc)
}

/// Parameter: alphas of the priorities, one alpha per priority.
pub(super) const PRIORITY_ALPHAS: ParamInfo = param(
    "alphas",
    ALPHAS,
    ParamValue::List(Cow::Borrowed(&[ParamValue::Ratio(0.5), ParamValue::Ratio(0.5)])),
    "Alpha of every priority that uses the buffer.",
);

/// Parameter: fraction of a full buffer that LossPass may evict.
pub(super) const TAU: ParamInfo = param(
    "tau",
    FRACTION,
    ParamValue::Ratio(0.95),
    "LossPass: fraction of a full buffer occupied by packets of large flows.",
);

/// Value of the size parameter `name` (bytes).
pub(super) fn size(params: &Params, name: &str) -> f64 {
    params.bytes(name) as f64
}

/// Value of the size parameter `name`, which may be omitted (bytes).
pub(super) fn given_size(params: &Params, name: &str) -> Option<f64> {
    params.given_bytes(name).map(|bytes| bytes as f64)
}

/// Value of the rate parameter `name` (bits per second).
pub(super) fn rate(params: &Params, name: &str) -> f64 {
    params.rate(name).0 as f64
}

/// Pairs of names and values as the list that [`super::CalculatorInfo::calculate`] takes.
#[cfg(test)]
pub(super) fn given(values: &[(&str, ParamValue)]) -> Vec<(String, ParamValue)> {
    values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}
