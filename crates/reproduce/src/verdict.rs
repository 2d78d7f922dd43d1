//! Rules for verdicts on statements.
//!
//! An effect is measured on the means over the seeds, with a 95 % interval by the jackknife
//! ([`crate::judge()`]). Estimate and interval decide:
//!
//! | verdict | when |
//! |---|---|
//! | PASS | the effect is in the band of the criterion, and the interval excludes the value of no effect; without a direction: the interval is inside the band |
//! | STRONG | as PASS, and the effect is 0.7 to 1.3 times the paper's |
//! | CORRECTED | refuted as printed, and a test shows that the corrected statement holds |
//! | PARTIAL | the direction is right (the interval excludes no effect), the size is below the band |
//! | INCONCLUSIVE | the interval includes no effect and reaches the band; or, without a direction, it crosses an edge of the band; or no difference was possible |
//! | NULL | the interval includes no effect and does not reach the band |
//! | FAIL | the direction is wrong; or, without a direction, the whole interval is outside the band |
//! | NOT-CHECKABLE | the paper omits a fact that decides the statement |
//! | NOT-RUN | a value is missing |
//!
//! If the band begins at no effect ("better"), a tenth of the paper's effect counts as its edge for
//! the difference between NULL and INCONCLUSIVE. Without a number from the paper, only an effect of
//! exactly zero is NULL.
//!
//! Of several conditions the worst verdict counts. With a single seed there is no interval: the
//! estimate alone decides, and the row shows that there was one seed.

use crate::Condition;
use bufferlab_report::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The verdict on a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum Verdict {
    /// The statement holds, and the effect has about the paper's size.
    Strong,
    /// The statement holds.
    Pass,
    /// The statement fails as printed, but holds as corrected.
    Corrected,
    /// The effect has the right direction, but is too small.
    Partial,
    /// More seeds may decide the statement, or no difference was possible.
    Inconclusive,
    /// No effect of the claimed size exists.
    Null,
    /// The statement does not hold.
    Fail,
    /// The statement cannot be decided.
    NotCheckable,
    /// The statement was never run.
    NotRun,
}

impl Verdict {
    /// All verdicts, the best first.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Strong,
        Self::Pass,
        Self::Corrected,
        Self::Partial,
        Self::Inconclusive,
        Self::Null,
        Self::Fail,
        Self::NotCheckable,
        Self::NotRun,
    ];
    /// Number of verdicts.
    pub const COUNT: usize = 9;

    /// Name as written in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strong => "STRONG",
            Self::Pass => "PASS",
            Self::Corrected => "CORRECTED",
            Self::Partial => "PARTIAL",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Null => "NULL",
            Self::Fail => "FAIL",
            Self::NotCheckable => "NOT-CHECKABLE",
            Self::NotRun => "NOT-RUN",
        }
    }

    /// Whether the statement holds as printed.
    #[must_use]
    pub const fn holds(self) -> bool {
        matches!(self, Self::Strong | Self::Pass)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Fraction of the paper's effect that counts as the edge of a band that begins at no effect.
const NOTICEABLE: f64 = 0.1;
/// Range of effect / paper's effect that counts as about the paper's size.
const ABOUT: std::ops::RangeInclusive<f64> = 0.7..=1.3;

impl Condition {
    /// Returns the verdict on an effect.
    #[must_use]
    pub fn verdict(&self, estimate: &Estimate) -> Verdict {
        match self.neutral {
            Some(neutral) => self.directed(neutral, estimate),
            None => self.undirected(estimate),
        }
    }

    fn accepts(&self, value: f64) -> bool {
        self.at_least.is_none_or(|least| value >= least) && self.at_most.is_none_or(|most| value <= most)
    }

    /// Judges an effect with a claimed direction: away from `neutral`.
    fn directed(&self, neutral: f64, estimate: &Estimate) -> Verdict {
        let (mean, half) = (estimate.mean, estimate.half_width.unwrap_or(0.0));
        // Flip the sign if needed, so that a positive effect has the claimed direction.
        let sign = if self.at_least.is_some() { 1.0 } else { -1.0 };
        let effect = (mean - neutral) * sign;
        if effect == 0.0 && half == 0.0 {
            return Verdict::Null;
        }
        if effect < -half {
            // A band may include small effects in the wrong direction.
            return if self.accepts(mean) { Verdict::Pass } else { Verdict::Fail };
        }
        if effect <= half {
            return if effect + half >= self.edge(neutral, sign) {
                Verdict::Inconclusive
            } else {
                Verdict::Null
            };
        }
        if !self.accepts(mean) {
            return Verdict::Partial;
        }
        let strong = self.paper.is_some_and(|paper| ABOUT.contains(&((mean - neutral) / (paper - neutral))));
        if strong { Verdict::Strong } else { Verdict::Pass }
    }

    /// Smallest effect that counts as the claimed one.
    fn edge(&self, neutral: f64, sign: f64) -> f64 {
        let band = self.at_least.or(self.at_most).map_or(0.0, |edge| (edge - neutral) * sign);
        let noticeable = self.paper.map_or(0.0, |paper| (paper - neutral) * sign * NOTICEABLE);
        band.max(noticeable).max(0.0)
    }

    /// Judges a claimed value, or a claim that nothing differs, by the position of the whole
    /// interval.
    fn undirected(&self, estimate: &Estimate) -> Verdict {
        let half = estimate.half_width.unwrap_or(0.0);
        let (low, high) = (estimate.mean - half, estimate.mean + half);
        if self.accepts(low) && self.accepts(high) {
            return Verdict::Pass;
        }
        let outside =
            self.at_least.is_some_and(|least| high < least) || self.at_most.is_some_and(|most| low > most);
        if outside { Verdict::Fail } else { Verdict::Inconclusive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OverSeeds;

    fn lower_by(at_least: f64, paper: f64) -> Condition {
        Condition {
            effect: String::new(),
            at_least: Some(at_least),
            at_most: None,
            neutral: Some(0.0),
            paper: Some(paper),
            percent: true,
            over_seeds: OverSeeds::Mean,
            guard: None,
            mark: None,
        }
    }

    fn judge(condition: &Condition, mean: f64, half: f64) -> Verdict {
        condition.verdict(&Estimate { seeds: 5, mean, half_width: Some(half) })
    }

    #[test]
    fn a_claimed_effect_passes_in_its_band_and_is_strong_near_the_papers() {
        let claim = lower_by(0.45, 0.9);
        assert_eq!(judge(&claim, 0.5, 0.1), Verdict::Pass);
        assert_eq!(judge(&claim, 0.64, 0.1), Verdict::Strong);
        assert_eq!(judge(&claim, 0.3, 0.1), Verdict::Partial);
        assert_eq!(judge(&claim, -0.3, 0.1), Verdict::Fail);
    }

    #[test]
    fn an_interval_that_reaches_no_effect_and_the_band_is_inconclusive_and_null_below_the_band() {
        let claim = lower_by(0.45, 0.9);
        assert_eq!(judge(&claim, 0.1, 0.2), Verdict::Null);
        assert_eq!(judge(&claim, -0.05, 0.1), Verdict::Null);
        assert_eq!(judge(&claim, 0.1, 0.36), Verdict::Inconclusive);
        assert_eq!(judge(&claim, 0.5, 0.6), Verdict::Inconclusive);
        assert_eq!(judge(&claim, -0.1, 0.6), Verdict::Inconclusive);
        assert_eq!(judge(&claim, 0.0, 0.0), Verdict::Null);
    }

    #[test]
    fn where_the_band_begins_at_no_effect_a_tenth_of_the_papers_is_its_edge() {
        let claim = lower_by(0.0, 0.5);
        assert_eq!(judge(&claim, 0.01, 0.03), Verdict::Null);
        assert_eq!(judge(&claim, 0.01, 0.05), Verdict::Inconclusive);
        assert_eq!(judge(&claim, 0.03, 0.01), Verdict::Pass);
        let without_number = Condition { paper: None, ..lower_by(0.0, 0.0) };
        assert_eq!(judge(&without_number, 0.001, 0.002), Verdict::Inconclusive);
        assert_eq!(judge(&without_number, 0.0, 0.0), Verdict::Null);
    }

    #[test]
    fn an_effect_downwards_is_judged_by_its_upper_bound() {
        let claim =
            Condition { at_least: None, at_most: Some(0.5), neutral: Some(1.0), ..lower_by(0.0, 0.4) };
        assert_eq!(judge(&claim, 0.45, 0.1), Verdict::Strong);
        assert_eq!(judge(&claim, 0.1, 0.1), Verdict::Pass);
        assert_eq!(judge(&claim, 0.7, 0.1), Verdict::Partial);
        assert_eq!(judge(&claim, 1.4, 0.1), Verdict::Fail);
        assert_eq!(judge(&claim, 0.9, 0.45), Verdict::Inconclusive);
        assert_eq!(judge(&claim, 0.9, 0.3), Verdict::Null);
    }

    #[test]
    fn without_a_direction_the_whole_interval_lies_inside_the_band_or_outside() {
        let claim =
            Condition { at_least: Some(-0.05), at_most: Some(0.05), neutral: None, ..lower_by(0.0, 0.0) };
        assert_eq!(judge(&claim, 0.04, 0.01), Verdict::Pass);
        assert_eq!(judge(&claim, 0.04, 0.02), Verdict::Inconclusive);
        assert_eq!(judge(&claim, 0.06, 0.02), Verdict::Inconclusive);
        assert_eq!(judge(&claim, 0.0, 0.5), Verdict::Inconclusive);
        assert_eq!(judge(&claim, 0.06, 0.0), Verdict::Fail);
        assert_eq!(judge(&claim, -0.1, 0.04), Verdict::Fail);
    }

    #[test]
    fn with_one_seed_the_estimate_alone_decides() {
        let claim = lower_by(0.45, 0.9);
        let single = |mean| claim.verdict(&Estimate { seeds: 1, mean, half_width: None });
        assert_eq!(single(0.5), Verdict::Pass);
        assert_eq!(single(0.1), Verdict::Partial);
        assert_eq!(single(-0.1), Verdict::Fail);
    }
}
