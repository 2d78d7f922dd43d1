//! Rules that give verdicts on a paper's statements.
//!
//! An effect is measured on the means over the seeds, with a 95 % interval by the jackknife
//! ([`crate::judge()`]). Estimate and interval decide the verdict, see [`Verdict::meaning`]. An
//! interval that crosses an edge of the accepted band decides nothing.
//!
//! Suppose that the accepted band of a claim ("better") begins at an effect of zero. In this case,
//! a tenth of the paper's effect is the border between the verdicts NULL and INCONCLUSIVE. Without
//! a number from the paper, only an effect of exactly zero is NULL.
//!
//! The worst verdict on a statement's conditions counts. A single seed gives no interval: the
//! estimate alone decides, and the row of the ledger shows that there was one seed.

use crate::{Better, Condition};
use bufferlab_report::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The verdict on a statement of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum Verdict {
    /// The statement holds, and the effect has about the paper's size.
    Strong,
    /// The statement holds as the paper prints it.
    Pass,
    /// The statement fails as printed, but holds as corrected.
    Corrected,
    /// The measured effect has the claimed direction, and is more than twice the paper's effect.
    Overshoot,
    /// The measured effect has the claimed direction, but is too small.
    Partial,
    /// The runs do not decide the statement: more seeds may decide it, or the settings allow no
    /// difference between the compared schemes.
    Inconclusive,
    /// The measured effect is smaller than the claimed effect.
    Null,
    /// The runs contradict the statement of the paper.
    Fail,
    /// No run can decide whether the statement holds.
    NotCheckable,
    /// No run of bufferlab has checked the statement.
    NotRun,
    /// The record belongs to an earlier version of the experiment, its settings or the engine.
    Void,
}

/// Whether a statement holds according to its verdict: yes, no, undecided, or not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The statement holds as the paper prints it, or as corrected.
    Holds,
    /// The statement does not hold as the paper prints it.
    Against,
    /// The runs do not decide whether the statement holds.
    Open,
    /// No valid evidence exists for or against the statement.
    Unjudged,
}

/// Name, standing and meaning of every verdict, from the best to the worst verdict.
const TABLE: [(Verdict, &str, Standing, &str); Verdict::COUNT] = [
    (Verdict::Strong, "STRONG", Standing::Holds, "as PASS, and the effect is 0.7 to 1.3 times the paper's"),
    (
        Verdict::Pass,
        "PASS",
        Standing::Holds,
        "the whole interval is on the right side of the band's edge, and it excludes no effect; for a statement without direction: the whole interval is in the band; for a test: it holds",
    ),
    (
        Verdict::Corrected,
        "CORRECTED",
        Standing::Holds,
        "refuted as printed; a test shows a counterexample and that the corrected statement holds ([errata](errata.md))",
    ),
    (
        Verdict::Overshoot,
        "OVERSHOOT",
        Standing::Against,
        "the direction is right, and the lower end of the interval is more than twice the paper's effect",
    ),
    (
        Verdict::Partial,
        "PARTIAL",
        Standing::Against,
        "the direction is right (the interval excludes no effect), and the whole interval is below the band",
    ),
    (
        Verdict::Inconclusive,
        "INCONCLUSIVE",
        Standing::Open,
        "the interval includes both no effect and the band, or crosses an edge of the band: more seeds may decide. Also a PASS that a guard refused, and an effect that is not a finite number",
    ),
    (
        Verdict::Null,
        "NULL",
        Standing::Against,
        "the interval includes no effect and does not reach the band (where the band begins at no effect: a tenth of the paper's effect)",
    ),
    (
        Verdict::Fail,
        "FAIL",
        Standing::Against,
        "the direction is wrong, or for a statement without direction the whole interval is outside the band. A FAIL on the better side says so",
    ),
    (
        Verdict::NotCheckable,
        "NOT-CHECKABLE",
        Standing::Unjudged,
        "the paper does not state what the result depends on",
    ),
    (Verdict::NotRun, "NOT-RUN", Standing::Unjudged, "not run yet"),
    (
        Verdict::Void,
        "VOID",
        Standing::Unjudged,
        "the fingerprint of the record is not today's: experiment, scenario or an engine rule has changed. It waits for a run and counts nowhere",
    ),
];

impl Verdict {
    /// Number of different verdicts on statements.
    pub const COUNT: usize = 11;
    /// All verdicts on statements, ordered from the best to the worst.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self::Strong; Self::COUNT];
        let mut place = 0;
        while place < Self::COUNT {
            all[place] = TABLE[place].0;
            place += 1;
        }
        all
    };

    /// Name of the verdict as tables write it, such as `PASS`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Returns whether a statement with the verdict `self` holds.
    #[must_use]
    pub const fn standing(self) -> Standing {
        TABLE[self as usize].2
    }

    /// Condition under which a statement gets the verdict, in Markdown.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        TABLE[self as usize].3
    }

    /// Whether a statement with the verdict `self` holds as printed.
    #[must_use]
    pub const fn holds(self) -> bool {
        matches!(self, Self::Strong | Self::Pass)
    }

    /// Whether a row with the verdict `self` must give a reason and the side that must change.
    #[must_use]
    pub fn needs_reason(self) -> bool {
        matches!(self.standing(), Standing::Against | Standing::Open)
    }

    /// Formats the verdicts and their conditions as a Markdown table.
    #[must_use]
    pub fn table_markdown() -> String {
        let rows = Self::ALL.map(|verdict| format!("| {verdict} | {} |\n", verdict.meaning()));
        format!("| verdict | when |\n|---|---|\n{}", rows.concat())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Fraction of the paper's effect that is the edge of a band that begins at an effect of zero.
const NOTICEABLE: f64 = 0.1;
/// Multiple of the paper's effect from which an effect is an overshoot. This multiple was fixed
/// before it judged any run.
const OVERSHOOT: f64 = 2.0;
/// Range of the ratio of measured effect to paper's effect in which the effects count as about
/// equal.
const ABOUT: std::ops::RangeInclusive<f64> = 0.7..=1.3;

impl Condition {
    /// Returns the verdict on the condition that a measured effect gives.
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

    /// Judges an effect with a claimed direction away from `neutral`.
    fn directed(&self, neutral: f64, estimate: &Estimate) -> Verdict {
        let half = estimate.half_width.unwrap_or(0.0);
        // The sign is flipped if needed, so that a positive effect has the claimed direction.
        let sign = if self.at_least.is_some() { 1.0 } else { -1.0 };
        let of = |value: f64| (value - neutral) * sign;
        let effect = of(estimate.mean);
        if effect == 0.0 && half == 0.0 {
            return Verdict::Null;
        }
        let (low, high) = (effect - half, effect + half);
        let band = self.at_least.or(self.at_most).map_or(0.0, of);
        if high < 0.0 {
            // The accepted band of a claim may include small effects in the wrong direction.
            return match (low >= band, high >= band) {
                (true, _) => Verdict::Pass,
                (false, true) => Verdict::Inconclusive,
                (false, false) => Verdict::Fail,
            };
        }
        if low <= 0.0 {
            let reaches = high >= self.edge(neutral, sign);
            return if reaches { Verdict::Inconclusive } else { Verdict::Null };
        }
        if low < band {
            return if high < band { Verdict::Partial } else { Verdict::Inconclusive };
        }
        let paper = self.paper.map(of).filter(|paper| *paper > 0.0);
        if paper.is_some_and(|paper| low > OVERSHOOT * paper) {
            return Verdict::Overshoot;
        }
        let strong = paper.is_some_and(|paper| ABOUT.contains(&(effect / paper)));
        if strong { Verdict::Strong } else { Verdict::Pass }
    }

    /// Whether a condition fails because the scheme does better than the paper states.
    #[must_use]
    pub fn is_better(&self, estimate: &Estimate) -> bool {
        let half = estimate.half_width.unwrap_or(0.0);
        match self.better {
            Some(Better::Above) => self.at_most.is_some_and(|most| estimate.mean - half > most),
            Some(Better::Below) => self.at_least.is_some_and(|least| estimate.mean + half < least),
            None => false,
        }
    }

    /// Smallest effect that meets the condition of the claim.
    fn edge(&self, neutral: f64, sign: f64) -> f64 {
        let band = self.at_least.or(self.at_most).map_or(0.0, |edge| (edge - neutral) * sign);
        let noticeable = self.paper.map_or(0.0, |paper| (paper - neutral) * sign * NOTICEABLE);
        band.max(noticeable).max(0.0)
    }

    /// Judges a claimed value, or a claim that nothing differs. The verdict depends on the position
    /// of the whole interval.
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
            better: None,
            mark: None,
        }
    }

    fn judge(condition: &Condition, mean: f64, half: f64) -> Verdict {
        condition.verdict(&Estimate { seeds: 5, mean, half_width: Some(half) })
    }

    #[test]
    fn a_claimed_effect_passes_in_its_band_and_is_strong_near_the_papers() {
        let claim = lower_by(0.45, 0.9);
        assert_eq!(judge(&claim, 0.5, 0.04), Verdict::Pass);
        assert_eq!(judge(&claim, 0.64, 0.1), Verdict::Strong);
        assert_eq!(judge(&claim, 0.3, 0.1), Verdict::Partial);
        assert_eq!(judge(&claim, -0.3, 0.1), Verdict::Fail);
    }

    #[test]
    fn an_interval_that_crosses_the_edge_of_the_band_passes_nothing() {
        let claim = lower_by(0.45, 0.9);
        assert_eq!(judge(&claim, 0.5, 0.1), Verdict::Inconclusive);
        assert_eq!(judge(&claim, 0.7, 0.3), Verdict::Inconclusive);
        assert_eq!(judge(&claim, 0.4, 0.1), Verdict::Inconclusive);
        assert_eq!(judge(&claim, 0.4, 0.04), Verdict::Partial);
        let slack = lower_by(-0.1, 0.9);
        assert_eq!(judge(&slack, -0.05, 0.02), Verdict::Pass);
        assert_eq!(judge(&slack, -0.09, 0.02), Verdict::Inconclusive);
        assert_eq!(judge(&slack, -0.2, 0.05), Verdict::Fail);
    }

    #[test]
    fn more_than_twice_the_papers_effect_is_an_overshoot_only_with_the_whole_interval() {
        let claim = lower_by(0.0, 0.126);
        assert_eq!(judge(&claim, 0.89, 0.01), Verdict::Overshoot);
        assert_eq!(judge(&claim, 0.26, 0.02), Verdict::Pass);
        assert_eq!(judge(&claim, 0.13, 0.02), Verdict::Strong);
        let without_number = Condition { paper: None, ..claim };
        assert_eq!(judge(&without_number, 0.89, 0.01), Verdict::Pass);
        let ratio =
            Condition { at_least: None, at_most: Some(1.0), neutral: Some(1.0), ..lower_by(0.0, 0.9) };
        assert_eq!(judge(&ratio, 0.7, 0.05), Verdict::Overshoot);
        // If the paper's number contradicts the claimed direction, no effect can overshoot it.
        assert_eq!(judge(&lower_by(0.0, -0.1), 0.5, 0.1), Verdict::Pass);
    }

    #[test]
    fn identical_schemes_pass_no_directed_condition() {
        for at_least in [-0.1, 0.0, 0.45] {
            assert_eq!(judge(&lower_by(at_least, 0.9), 0.0, 0.0), Verdict::Null);
        }
    }

    #[test]
    fn a_fail_on_the_better_side_is_known_by_its_sign() {
        let similar = Condition {
            at_least: Some(-0.1),
            at_most: Some(0.1),
            neutral: None,
            paper: None,
            better: Some(Better::Below),
            ..lower_by(0.0, 0.0)
        };
        let estimate = |mean| Estimate { seeds: 5, mean, half_width: Some(0.02) };
        assert_eq!(similar.verdict(&estimate(-0.24)), Verdict::Fail);
        assert!(similar.is_better(&estimate(-0.24)));
        assert!(!similar.is_better(&estimate(0.24)) && !similar.is_better(&estimate(-0.11)));
        let above = Condition { better: Some(Better::Above), ..similar };
        assert!(above.is_better(&estimate(0.24)) && !above.is_better(&estimate(-0.24)));
    }

    #[test]
    fn the_table_has_every_verdict_in_order() {
        for (place, verdict) in Verdict::ALL.into_iter().enumerate() {
            assert_eq!(verdict as usize, place, "{verdict}");
        }
        assert!(Verdict::ALL.is_sorted());
        assert!(Verdict::Overshoot.needs_reason() && Verdict::Inconclusive.needs_reason());
        assert!(!Verdict::Pass.needs_reason() && !Verdict::Void.needs_reason());
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
        assert_eq!(judge(&claim, 0.4, 0.1), Verdict::Strong);
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
