//! The policies that a circuit implements, and the configuration of each circuit.

use bufferlab_core::policy::shift;
use bufferlab_core::{ParamValue, Params, SwitchShape, Weight};

/// Threshold in the recorded operations for a queue without a limit.
pub const NO_LIMIT: u64 = u64::MAX;

/// Largest number of ports of a circuit in the build for comparisons.
const MOST_PORTS: usize = 64;

/// Largest number of queues per port of a circuit.
const MOST_QUEUES: usize = 8;

/// Width of a byte count in a circuit (bits).
const WIDTH: u32 = 26;

/// Value of `factor_steps` for factors that a shift can apply.
const POWERS_OF_TWO: &str = "powers-of-two";

/// Reason why a circuit cannot be compared with its policy on a given switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit(pub String);

/// A policy that one of the circuits of `rtl/src` implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Dynamic Thresholds, with a shift instead of the multiplication by alpha.
    Dt,
    /// Active Buffer Management.
    Abm,
    /// Active Buffer Management with factors that are powers of two.
    AbmShift,
    /// Traffic-aware Dynamic Thresholds.
    Tdt,
    /// LossPass.
    LossPass,
    /// Plasticine on a programmable switch.
    PlasticinePisa,
}

impl Scheme {
    /// All policies for which `rtl/src` has a circuit.
    pub const ALL: [Self; 6] =
        [Self::Dt, Self::Abm, Self::AbmShift, Self::Tdt, Self::LossPass, Self::PlasticinePisa];

    /// Name of the recorded scheme: the name of the policy, except for the second circuit of a
    /// policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AbmShift => "abm-shift",
            other => other.policy(),
        }
    }

    /// Whether the scheme's policy is ABM.
    #[must_use]
    pub fn is_abm(self) -> bool {
        matches!(self, Self::Abm | Self::AbmShift)
    }

    /// Policy parameters that the circuit requires. The parameters override the given values.
    #[must_use]
    pub fn parameters(self) -> Vec<(String, ParamValue)> {
        match self {
            Self::AbmShift => vec![("factor_steps".to_owned(), ParamValue::word(POWERS_OF_TWO))],
            _ => Vec::new(),
        }
    }

    /// The registry name of the scheme's policy.
    #[must_use]
    pub fn policy(self) -> &'static str {
        match self {
            Self::Dt => "dt",
            Self::Abm | Self::AbmShift => "abm",
            Self::Tdt => "tdt",
            Self::LossPass => "losspass",
            Self::PlasticinePisa => "plasticine-pisa",
        }
    }

    /// Whether the circuit applies alpha as a shift, so that alphas must be powers of two.
    #[must_use]
    pub fn shifts_alpha(self) -> bool {
        matches!(self, Self::Dt | Self::Tdt | Self::LossPass)
    }

    /// Configuration of the circuit: ports, queues per port and capacity, followed by these
    /// numbers:
    ///
    /// * `dt`: exponent of alpha by priority (two's complement);
    /// * `abm`, `abm-shift`: alpha by priority (Q32.32), then the alpha of unscheduled packets;
    /// * `tdt`: exponent of alpha; the limits NEC, OC1, OC2, DEC, DC and LB; sum of parameter
    ///   flags: 1 for `literal_dec`, 2 for `any_drop_ends_absorption`, 4 for `keep_drop_count`;
    /// * `losspass`: exponent of alpha; bytes of a static port buffer (0 for a dynamic buffer);
    ///   buffer B_l that is reserved for large flows; sum of parameter flags:
    ///   1 for `reserve = "always"`, 2 for `classes = "tag"`, 4 for `printed_line_4`,
    ///   8 for several queues per port; priority of small flows; priority of large flows;
    /// * `plasticine-pisa`: largest number of congested queues in the shift table; sum of parameter
    ///   flags: 1 for `egress_length = "enqueue"`, 2 for `zero_when_empty`; lengths above which
    ///   queues are congested and active; first low priority; shift table by priority, number of
    ///   congested queues and number of active queues (two's complement).
    ///
    /// # Errors
    /// If the circuit does not support a parameter or the shape of the switch.
    pub fn configuration(self, params: &Params, shape: &SwitchShape) -> Result<Vec<u64>, Unfit> {
        let (ports, queues) = (shape.ports(), shape.queues_per_port);
        if ports > MOST_PORTS || queues > MOST_QUEUES || shape.capacity >> WIDTH != 0 {
            let capacity = shape.capacity;
            return Err(Unfit(format!(
                "{ports} ports of {queues} queues and {capacity} B exceed the circuit"
            )));
        }
        let mut fields = vec![ports as u64, queues as u64, shape.capacity];
        match self {
            Self::Dt => {
                for alpha in params.ratio_per_priority("alpha", queues) {
                    fields.push(exponent(alpha)?);
                }
            }
            Self::Abm | Self::AbmShift => fields.extend(self.abm(params, queues)?),
            Self::Tdt => fields.extend(tdt(params, shape)?),
            Self::LossPass => fields.extend(losspass(params, shape)?),
            Self::PlasticinePisa => fields.extend(plasticine(params, shape)?),
        }
        Ok(fields)
    }

    fn abm(self, params: &Params, queues: usize) -> Result<Vec<u64>, Unfit> {
        if params.bytes("headroom_per_port") > 0 {
            return Err(Unfit("the circuit of abm has no headroom per port".to_owned()));
        }
        if self == Self::Abm && says(params, "factor_steps", POWERS_OF_TWO) {
            return Err(Unfit(
                "the circuit of abm multiplies: that of abm-shift has powers of two".to_owned(),
            ));
        }
        let alphas = params.ratio_per_priority("alpha", queues);
        let alphas = alphas.into_iter().chain([params.ratio("unscheduled_alpha")]);
        Ok(alphas.map(|alpha| Weight::from_f64(alpha).0).collect())
    }

    /// Internal values (probes) of the policy that the circuit also outputs, in the recorded order.
    pub(crate) fn probes(self) -> &'static [&'static str] {
        match self {
            Self::Dt | Self::Abm | Self::AbmShift => &[],
            Self::Tdt => &["state", "absorbing_ports", "nec", "oc1", "oc2", "dec", "dc"],
            Self::LossPass => &["evictions", "missed_chances", "kept_reserves"],
            Self::PlasticinePisa => {
                &["remaining_register", "length_register", "congested_queues", "active_queues"]
            }
        }
    }
}

/// Returns the exponent e of alpha = 2^e, as a number in two's complement.
fn exponent(alpha: f64) -> Result<u64, Unfit> {
    let weight = Weight::from_f64(alpha);
    if weight.0.is_power_of_two() {
        Ok((i64::from(weight.0.ilog2()) - 32).cast_unsigned())
    } else {
        Err(Unfit(format!("alpha {alpha} is no power of two: set [switch.hardware] quantised_alpha = true")))
    }
}

fn tdt(params: &Params, shape: &SwitchShape) -> Result<Vec<u64>, Unfit> {
    let mut fields = vec![exponent(params.ratio("alpha"))?];
    fields.extend(bufferlab_core::policy::TrafficAware::new(params, shape).limits());
    let flags = ["literal_dec", "any_drop_ends_absorption", "keep_drop_count"];
    fields.push(flags.iter().enumerate().map(|(bit, flag)| u64::from(params.flag(flag)) << bit).sum());
    Ok(fields)
}

fn losspass(params: &Params, shape: &SwitchShape) -> Result<Vec<u64>, Unfit> {
    if says(params, "victim", "head") {
        return Err(Unfit("the circuit of losspass evicts from the tail".to_owned()));
    }
    let is_static = says(params, "port_limit", "static");
    let limit = match params.bytes("port_buffer") {
        0 => shape.capacity / shape.ports() as u64,
        bytes => bytes,
    };
    let flags = [
        says(params, "reserve", "always"),
        says(params, "classes", "tag"),
        params.flag("printed_line_4"),
        shape.queues_per_port > 1,
    ];
    Ok(vec![
        if is_static { 0 } else { exponent(params.ratio("alpha"))? },
        if is_static { limit } else { 0 },
        params.bytes("large_reserve"),
        flags.iter().enumerate().map(|(bit, &flag)| u64::from(flag) << bit).sum(),
        params.count("small_priority"),
        params.count("large_priority"),
    ])
}

/// Whether the policy parameter `name` has the value `word`. The function compares text, because
/// the enums of the policies are private.
fn says(params: &Params, name: &str, word: &str) -> bool {
    params.iter().any(|(known, value)| known == name && value.to_string().trim_matches('"') == word)
}

fn plasticine(params: &Params, shape: &SwitchShape) -> Result<Vec<u64>, Unfit> {
    let queues = shape.queues_per_port;
    let fair = (shape.capacity / (2 * shape.queues() as u64)).max(2 * shape.max_packet);
    let given = |name: &str, otherwise: u64| match params.bytes(name) {
        0 => otherwise,
        bytes => bytes,
    };
    let congested_above = given("congested_above", fair);
    let counted = (params.count("counted_queues") as usize).min(shape.queues());
    if counted > MOST_COUNTED {
        return Err(Unfit(format!("the shift table knows {MOST_COUNTED} congested queues, not {counted}")));
    }
    let by_enqueue = says(params, "egress_length", "enqueue");
    let mut fields = vec![
        counted as u64,
        u64::from(by_enqueue) | u64::from(params.flag("zero_when_empty")) << 1,
        congested_above,
        given("active_above", congested_above),
        params.count("high_priorities"),
    ];
    for alpha in params.ratio_per_priority("alpha", queues) {
        for congested in 0..=counted {
            let row = (0..=queues).map(|active| shift(alpha, congested as u64, active as u64));
            fields.extend(row.map(|shift| i64::from(shift).cast_unsigned()));
        }
    }
    Ok(fields)
}

/// Largest number of congested queues in the circuit's shift table, which is the policy's default.
const MOST_COUNTED: usize = 64;
