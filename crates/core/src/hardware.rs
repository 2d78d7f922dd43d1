//! Deviations of a chip from the ideal switch of the papers. The default is the ideal switch.
//!
//! Every option works with any policy: [`crate::Switch`] and [`crate::Buffer`] apply the options,
//! and policies do not see them. Two deviations are not in this module. If the memory is sliced by
//! egress port, each slice is a separate [`crate::Switch`]. Cut-through is a feature of the driver,
//! which knows when a packet's first bits arrive.

mod accounting;
mod spread;

pub use accounting::{Accounting, QueueMinimums, ResumeBelow};
pub use spread::PortSpread;

use crate::shared_pool::Reserves;
use crate::weight::Weight;
use bufferlab_params::profiles::ThresholdRule;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::Time;

/// Deviations of a chip from the ideal switch. The ideal switch counts bytes, has one pool,
/// and updates its thresholds immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Size of a memory cell (bytes). A packet occupies whole cells (Trident+: 208 B). With 1, the
    /// switch allocates memory in bytes. Schedulers that count bytes count whole cells, too.
    pub cell_bytes: u32,
    /// Memory overhead per packet, added before the size is rounded to cells (Jericho 2: 48 B).
    pub packet_overhead: u32,
    /// Accounting of lossless traffic in the chip.
    pub accounting: Accounting,
    /// Reserved space of each queue and port. The switch stores a packet in a reserve without
    /// asking the policy. The policy divides the rest of the memory.
    pub reserves: Reserves,
    /// Maximum bytes of all queues of a port together, reserves included. `None` if ports have no
    /// limit.
    pub port_limit: Option<u64>,
    /// Interval at which thresholds see the pool's occupancy; queue lengths are always exact. With
    /// `None`, thresholds see the current occupancy.
    pub threshold_refresh: Option<Time>,
    /// Whether the switch rounds every alpha to the nearest power of two by ratio, so that a shift
    /// can multiply by the alpha.
    pub quantised_alpha: bool,
    /// Uncharged priorities, bit p for priority p. The switch stores packets of these priorities
    /// without asking the policy, and charges no account. The packets have a separate memory
    /// without limit (class 0 of Reverie's public code).
    pub uncharged_priorities: u32,
}

impl Hardware {
    /// The ideal switch of the papers, without deviations of a chip.
    pub const IDEAL: Self = Self {
        cell_bytes: 1,
        packet_overhead: 0,
        accounting: Accounting::IDEAL,
        reserves: Reserves { queue: 0, port: 0 },
        port_limit: None,
        threshold_refresh: None,
        quantised_alpha: false,
        uncharged_priorities: 0,
    };

    /// Bytes charged for a packet of `size` bytes: whole cells, overhead included.
    #[inline]
    #[must_use]
    pub const fn charged(&self, size: u32) -> u32 {
        let size = size + self.packet_overhead;
        if self.cell_bytes <= 1 { size } else { size.div_ceil(self.cell_bytes) * self.cell_bytes }
    }

    /// Checks that the accounting fits the other options and a memory with `ports` ports.
    ///
    /// # Errors
    /// Returns a description of the problem with its remedy.
    pub fn check_accounting(&self, ports: usize, foreign_ports: usize) -> Result<(), String> {
        let Accounting { slices, queue_minimums, .. } = self.accounting;
        if usize::from(slices) > ports {
            return Err(format!("{slices} slices for {ports} ports: each serves some of them"));
        }
        if slices > 1 && foreign_ports > 0 {
            return Err("a slice by egress port cannot have slices by ingress port".to_owned());
        }
        let counts_itself = slices > 1 || queue_minimums == QueueMinimums::EverySlice;
        if counts_itself && self.reserves != Reserves::default() {
            return Err(
                "with the accounting of a chip, reserves are those of the policy's profiles: leave out \
                        queue_reserve and port_reserve"
                    .to_owned(),
            );
        }
        if slices > 1 && self.threshold_refresh.is_some() {
            return Err(
                "thresholds of slices by ingress port follow at once: leave out threshold_refresh".to_owned()
            );
        }
        Ok(())
    }

    /// Whether the switch charges no account for packets of this priority.
    #[inline]
    #[must_use]
    pub const fn is_uncharged(&self, priority: u8) -> bool {
        self.uncharged_priorities >> priority & 1 != 0
    }

    /// Parameters that the switch passes to a policy: the given parameters, or with every alpha
    /// rounded.
    #[must_use]
    pub fn apply(&self, infos: &'static [ParamInfo], params: Params) -> Params {
        if !self.quantised_alpha {
            return params;
        }
        params.map(|name, value| {
            let info = infos.iter().find(|info| info.name == name);
            quantised(name, value, info.map(|info| info.kind))
        })
    }
}

impl Default for Hardware {
    fn default() -> Self {
        Self::IDEAL
    }
}

fn quantised(name: &str, value: &ParamValue, kind: Option<ParamKind>) -> ParamValue {
    let round = |x: f64| Weight::from_f64(x).nearest_power_of_two().as_f64();
    let is_alpha = name == "alpha" || name.ends_with("_alpha");
    match value {
        ParamValue::Ratio(x) if is_alpha => ParamValue::Ratio(round(*x)),
        ParamValue::RatioPerPriority(list) if is_alpha => {
            ParamValue::RatioPerPriority(list.iter().map(|&x| round(x)).collect::<Vec<_>>().into())
        }
        ParamValue::Profiles(list) => {
            let mut list = list.to_vec();
            for profile in &mut list {
                if let Some(ThresholdRule::Dynamic(alpha)) = &mut profile.threshold {
                    *alpha = round(*alpha);
                }
            }
            ParamValue::Profiles(list.into())
        }
        // A control plane that computes alphas also rounds them.
        ParamValue::Choice(_)
            if name == ALPHA_STEPS && kind == Some(ParamKind::Choice(AlphaSteps::WORDS)) =>
        {
            ParamValue::word(AlphaSteps::PowersOfTwo.word())
        }
        _ => value.clone(),
    }
}

/// Name of the parameter `alpha_steps`: the alphas that a switch supports. Policies whose control
/// plane computes alphas have this parameter.
pub(crate) const ALPHA_STEPS: &str = "alpha_steps";

choices! {
    /// Alphas, or factors of the free space, that a switch supports.
    pub(crate) enum AlphaSteps {
        Exact = "exact": "any",
        PowersOfTwo = "powers-of-two": "powers of two, as in most chips (the nearest by ratio)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::POLICIES;
    use crate::policy::find_policy;
    use bufferlab_params::Profile;

    #[test]
    fn a_packet_occupies_whole_cells() {
        let chip = Hardware { cell_bytes: 208, ..Hardware::IDEAL };
        assert_eq!([1, 207, 208, 209, 1_500].map(|size| chip.charged(size)), [208, 208, 208, 416, 1_664]);
        assert_eq!(Hardware::IDEAL.charged(209), 209);
        let chip = Hardware { packet_overhead: 48, ..Hardware::IDEAL };
        assert_eq!(chip.charged(64), 112, "Jericho 2");
        assert_eq!(Hardware { cell_bytes: 208, ..chip }.charged(208), 416, "the overhead is stored, too");
    }

    #[test]
    fn every_alpha_of_every_policy_becomes_a_power_of_two_and_nothing_else_changes() {
        let chip = Hardware { quantised_alpha: true, ..Hardware::IDEAL };
        for info in POLICIES {
            let given = Params::resolve(info.params, Profile::Paper, &[]).expect("defaults");
            let rounded = chip.apply(info.params, given.clone());
            for ((name, before), (_, after)) in given.iter().zip(rounded.iter()) {
                match after {
                    // A ratio of 0 disables the limit that the ratio sets.
                    ParamValue::Ratio(0.0) => assert_eq!(before, after, "{} {name}", info.name),
                    ParamValue::Ratio(x) if name.ends_with("alpha") => assert_eq!(x.log2().fract(), 0.0),
                    ParamValue::RatioPerPriority(list) if name.ends_with("alpha") => {
                        assert!(list.iter().all(|x| x.log2().fract() == 0.0), "{} {name}", info.name);
                    }
                    _ if name == "alpha_steps" => assert_eq!(after.to_string(), "\"powers-of-two\""),
                    _ => assert_eq!(before, after, "{} {name}", info.name),
                }
            }
        }
        let infos = find_policy("dt").expect("registered").params;
        let given = Params::resolve(
            infos,
            Profile::Paper,
            &[("alpha".to_owned(), ParamValue::RatioPerPriority(vec![0.7, 0.71].into()))],
        );
        let rounded = chip.apply(infos, given.expect("in domain"));
        assert_eq!(rounded.ratio_per_priority("alpha", 2), [0.5, 1.0], "the border is at 2^-0.5 = 0.7071");
    }
}
