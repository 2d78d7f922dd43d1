//! Parameters that several workloads share: patterns, durations, and bursts over a
//! transport with a rate.

use crate::context::{Carrier, WorkloadContext};
use crate::{BurstKind, DurationShape, Durations, Pattern};
use bufferlab_params::{
    Choice, Fault, Faults, ParamInfo, ParamKind, ParamPlace, ParamValue, Params, choices,
};
use bufferlab_units::quantity::format_rate;
use std::borrow::Cow;

/// Formats a number with its noun, such as "1 flow" or "2 flows".
pub(super) fn count_of(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Declares the parameter `pattern`, which selects the receivers of a workload.
pub(super) const fn pattern(rule: &'static str, example: &'static str, doc: &'static str) -> ParamInfo {
    ParamInfo::computed("pattern", ParamKind::Choice(Pattern::WORDS), rule, example, doc)
}

/// Text that describes the default of the parameter `pattern`.
pub(super) const OTHER_RACK: &str = "`other_rack` where there are several racks, else `all_to_all`";

/// Default of the parameter `pattern` for a workload that may list pairs of hosts in place of a
/// pattern.
pub(super) const OTHER_RACK_WITHOUT_PAIRS: &str =
    "without `pairs`: `other_rack` where there are several racks, else `all_to_all`";

choices! {
    /// Shape of a distribution of durations, as a parameter gives it.
    pub(super) enum Scatter {
        Fixed = "fixed": "every length equals the mean",
        Exponential = "exponential": "exponential: without memory",
        Pareto = "pareto": "Pareto: with a heavy tail of shape `pareto_shape`",
    }
}

/// Declares a parameter for the distribution of durations, by default exponential.
pub(super) const fn scatter(name: &'static str, doc: &'static str) -> ParamInfo {
    let default = ParamValue::Choice(Cow::Borrowed("exponential"));
    ParamInfo::with_default(name, ParamKind::Choice(Scatter::WORDS), default, doc)
}

/// Default of the shape parameter of Pareto distributions.
const DEFAULT_SHAPE: f64 = 1.5;

/// Declaration of the parameter `pareto_shape`.
pub(super) const PARETO_SHAPE: ParamInfo = ParamInfo::computed(
    "pareto_shape",
    ParamKind::RatioAbove { min: 1.0, max: 100.0 },
    "1.5 where a distribution is `pareto`",
    "1.5",
    "Shape of the Pareto distributions; up to 2 the variance is infinite.",
);

/// Reads the shape of a table's Pareto distributions. The parameter stays in the table only if one
/// of `scatters` is a Pareto distribution.
pub(super) fn pareto_shape(
    params: &mut Params,
    context: &WorkloadContext<'_>,
    scatters: &[&'static str],
    place: impl Fn(&'static str) -> ParamPlace,
) -> f64 {
    let shape = params.given_ratio("pareto_shape");
    let is_asked = scatters.iter().any(|name| params.choice::<Scatter>(name) == Scatter::Pareto);
    if is_asked {
        params.set("pareto_shape", ParamValue::Ratio(shape.unwrap_or(DEFAULT_SHAPE)));
    } else if shape.is_some() {
        let message = "`pareto_shape` has no effect";
        let warning = Fault::new(place("pareto_shape"), message, "no distribution here is \"pareto\"");
        context.warn(warning.help("remove it"));
        params.unset("pareto_shape");
    }
    shape.unwrap_or(DEFAULT_SHAPE)
}

/// Reads a distribution of durations from a parameter for the mean and one for the shape.
pub(super) fn durations(params: &Params, mean: &str, scatter: &str, pareto_shape: f64) -> Durations {
    let shape = match params.choice(scatter) {
        Scatter::Fixed => DurationShape::Fixed,
        Scatter::Exponential => DurationShape::Exponential,
        Scatter::Pareto => DurationShape::Pareto(pareto_shape),
    };
    Durations { mean: params.time(mean), shape }
}

/// Returns the transport if the transport has a rate. Otherwise returns an error at `place`, the
/// key that names the transport.
pub(super) fn paced(carrier: &Carrier, place: ParamPlace) -> Result<&Carrier, Faults> {
    if carrier.rate.is_some() {
        return Ok(carrier);
    }
    let message = format!("open-loop traffic needs a rate, and transport \"{}\" has a window", carrier.name);
    let fault = Fault::new(place, message, "expected a transport with congestion_control = \"none\"");
    Err(fault
        .help("add a [[transport]] with congestion_control = \"none\" and a rate, and name it here")
        .into())
}

/// Builds a kind of burst over a transport. The caller sets the class of the burst later.
pub(super) fn burst_kind(carrier: &Carrier, weight: f64, on: Durations) -> BurstKind {
    BurstKind {
        class: 0,
        weight,
        on,
        rate: carrier.rate.unwrap_or_default(),
        packet_bytes: carrier.segment_bytes + carrier.header_bytes,
        payload_bytes: carrier.segment_bytes,
    }
}

/// Warns if the link of a source's host is slower than its bursts, because the source then sends
/// at the link's rate.
pub(super) fn warn_about_uplinks(
    context: &WorkloadContext<'_>,
    carrier: &Carrier,
    mut sources: impl Iterator<Item = u32>,
) {
    let (Ok(network), Some(rate)) = (context.network(), carrier.rate) else { return };
    let Some(slow) = sources.find(|&src| network.host_rate(src) < rate) else { return };
    let message = format!(
        "host \"{}\" can send at {} only, and transport \"{}\" asks for {}",
        network.hosts[slow as usize],
        format_rate(network.host_rate(slow)),
        carrier.name,
        format_rate(rate)
    );
    let help = "raise the rate of the hosts' links (kind = \"single_switch\": uplink_rate), or lower the transport's";
    context.warn(
        Fault::new(context.transport_place(), message, "bursts would leave at the rate of the host's link")
            .help(help),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_things_is_in_words() {
        let flows = |number| count_of(number, "flow", "flows");
        assert_eq!([flows(0), flows(1), flows(2)], ["0 flows", "1 flow", "2 flows"]);
    }
}
