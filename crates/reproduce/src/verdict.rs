//! Does a statement hold? The rules, in one place.
//!
//! An effect is measured once for every seed; its mean and the 95 % interval of the mean decide:
//!
//! | verdict | when |
//! |---|---|
//! | PASS | the mean lies in the band of the criterion, and the interval excludes the opposite direction |
//! | STRONG | as PASS, and the effect is 0.7 to 1.3 times the paper's |
//! | PARTIAL | the direction is right (the interval excludes no effect), the size is below the band |
//! | NULL | the interval includes no effect where one was claimed |
//! | FAIL | the direction is wrong, or a statement without direction is outside its band |
//! | NOT-CHECKABLE | the paper does not say what decides it |
//! | NOT-RUN | a value is missing |
//!
//! Of several conditions the worst verdict counts. With a single seed there is no interval: the mean alone decides, and the row says that there was
//! one seed.

use crate::expression::{self, ExpressionError};
use crate::{ClaimCheck, Condition, OverSeeds, Results};
use bufferlab_report::Estimate;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The verdict on a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum Verdict {
    /// Holds, and the effect is about the paper's.
    Strong,
    /// Holds.
    Pass,
    /// The right direction, too small.
    Partial,
    /// No effect can be told from none.
    Null,
    /// Does not hold.
    Fail,
    /// It cannot be decided.
    NotCheckable,
    /// It was never run.
    NotRun,
}

impl Verdict {
    /// All of them, the best first.
    pub const ALL: [Self; 7] =
        [Self::Strong, Self::Pass, Self::Partial, Self::Null, Self::Fail, Self::NotCheckable, Self::NotRun];

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strong => "STRONG",
            Self::Pass => "PASS",
            Self::Partial => "PARTIAL",
            Self::Null => "NULL",
            Self::Fail => "FAIL",
            Self::NotCheckable => "NOT-CHECKABLE",
            Self::NotRun => "NOT-RUN",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A condition, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Over the seeds; or why there is none.
    pub estimate: Result<Estimate, ExpressionError>,
    /// What it means.
    pub verdict: Verdict,
    /// In words: value, interval, band, the paper's value.
    pub text: String,
}

/// A statement, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Its number.
    pub id: String,
    /// Of all conditions together.
    pub verdict: Verdict,
    /// Each of them.
    pub conditions: Vec<Measured>,
    /// Why it cannot be decided, or what to know.
    pub note: Option<String>,
}

impl Judged {
    /// What was measured, in one line.
    #[must_use]
    pub fn measured(&self) -> String {
        let texts: Vec<_> = self.conditions.iter().map(|condition| condition.text.as_str()).collect();
        texts.join("; ")
    }
}

/// Judges a statement by the runs of its experiment.
#[must_use]
pub fn judge(claim: &ClaimCheck, results: &Results) -> Judged {
    let conditions: Vec<_> = claim.conditions.iter().map(|condition| measure(condition, results)).collect();
    // STRONG together with PASS is PASS: the worst counts.
    let worst = conditions.iter().map(|condition| condition.verdict).max();
    Judged {
        id: claim.id.clone(),
        verdict: worst.unwrap_or(Verdict::NotCheckable),
        conditions,
        note: claim.not_checkable.clone().or_else(|| claim.note.clone()),
    }
}

fn measure(condition: &Condition, results: &Results) -> Measured {
    let effects: Result<Vec<f64>, ExpressionError> = (0..results.seeds())
        .map(|seed| expression::evaluate(&condition.effect, &results.of_seed(seed)))
        .collect();
    let estimate = effects.and_then(|effects| {
        let estimate = Estimate::of(&effects).ok_or(ExpressionError::NoSeed)?;
        Ok(match condition.over_seeds {
            OverSeeds::Mean => estimate,
            OverSeeds::Largest => {
                let mean = effects.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                Estimate { mean, half_width: None, ..estimate }
            }
        })
    });
    match estimate {
        Ok(estimate) => {
            let text = in_words(condition, &estimate);
            Measured { verdict: verdict(condition, &estimate), text, estimate: Ok(estimate) }
        }
        Err(why) => Measured { verdict: Verdict::NotRun, text: why.to_string(), estimate: Err(why) },
    }
}

/// The verdict on one condition.
fn verdict(condition: &Condition, estimate: &Estimate) -> Verdict {
    let mean = estimate.mean;
    let in_band = condition.at_least.is_none_or(|least| mean >= least)
        && condition.at_most.is_none_or(|most| mean <= most);
    let Some(neutral) = condition.neutral else {
        return if in_band { Verdict::Pass } else { Verdict::Fail };
    };
    // Upwards is good, whichever way the statement points.
    let sign = if condition.at_least.is_some() { 1.0 } else { -1.0 };
    let effect = (mean - neutral) * sign;
    let half = estimate.half_width.unwrap_or(0.0);
    if effect.abs() <= half || effect == 0.0 {
        // In the band or not: it cannot be told from no effect.
        return Verdict::Null;
    }
    if effect < 0.0 {
        return if in_band { Verdict::Pass } else { Verdict::Fail };
    }
    if !in_band {
        return Verdict::Partial;
    }
    let strong = condition.paper.is_some_and(|paper| {
        let share = (mean - neutral) / (paper - neutral);
        (0.7..=1.3).contains(&share)
    });
    if strong { Verdict::Strong } else { Verdict::Pass }
}

fn in_words(condition: &Condition, estimate: &Estimate) -> String {
    let shown = |value: f64| {
        if condition.percent { format!("{} %", number(value * 100.0)) } else { number(value) }
    };
    let mut text = shown(estimate.mean);
    if let Some(half) = estimate.half_width {
        text.push_str(&format!(" ± {}", shown(half)));
    }
    let band = match (condition.at_least, condition.at_most) {
        (Some(least), Some(most)) => format!("{} to {}", shown(least), shown(most)),
        (Some(least), None) => format!("at least {}", shown(least)),
        (None, Some(most)) => format!("at most {}", shown(most)),
        (None, None) => String::new(),
    };
    text.push_str(&format!(" (criterion: {band}"));
    if let Some(paper) = condition.paper {
        text.push_str(&format!("; paper: {}", shown(paper)));
    }
    text.push(')');
    text
}

/// Three digits.
fn number(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 4) };
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lower_by(at_least: f64, paper: f64) -> Condition {
        Condition {
            effect: String::new(),
            at_least: Some(at_least),
            at_most: None,
            neutral: Some(0.0),
            paper: Some(paper),
            percent: true,
            over_seeds: OverSeeds::Mean,
            mark: None,
        }
    }

    fn of(condition: &Condition, mean: f64, half: f64) -> Verdict {
        verdict(condition, &Estimate { seeds: 5, mean, half_width: Some(half) })
    }

    #[test]
    fn a_claimed_effect_passes_in_its_band_and_is_strong_near_the_papers() {
        let claim = lower_by(0.45, 0.9);
        assert_eq!(of(&claim, 0.5, 0.1), Verdict::Pass);
        assert_eq!(of(&claim, 0.64, 0.1), Verdict::Strong);
        assert_eq!(of(&claim, 0.3, 0.1), Verdict::Partial);
        assert_eq!(of(&claim, 0.1, 0.2), Verdict::Null);
        assert_eq!(of(&claim, 0.5, 0.6), Verdict::Null);
        assert_eq!(of(&claim, -0.3, 0.1), Verdict::Fail);
        assert_eq!(of(&claim, -0.05, 0.1), Verdict::Null);
    }

    #[test]
    fn an_effect_downwards_is_judged_by_its_upper_bound() {
        let claim =
            Condition { at_least: None, at_most: Some(0.5), neutral: Some(1.0), ..lower_by(0.0, 0.4) };
        assert_eq!(of(&claim, 0.45, 0.1), Verdict::Strong);
        assert_eq!(of(&claim, 0.1, 0.1), Verdict::Pass);
        assert_eq!(of(&claim, 0.7, 0.1), Verdict::Partial);
        assert_eq!(of(&claim, 1.4, 0.1), Verdict::Fail);
    }

    #[test]
    fn a_statement_of_no_effect_is_inside_its_band_or_fails() {
        let claim =
            Condition { at_least: Some(-0.05), at_most: Some(0.05), neutral: None, ..lower_by(0.0, 0.0) };
        assert_eq!(of(&claim, 0.04, 0.5), Verdict::Pass);
        assert_eq!(of(&claim, 0.06, 0.0), Verdict::Fail);
    }

    #[test]
    fn with_one_seed_the_mean_alone_decides() {
        let claim = lower_by(0.45, 0.9);
        let single = |mean| verdict(&claim, &Estimate { seeds: 1, mean, half_width: None });
        assert_eq!(single(0.5), Verdict::Pass);
        assert_eq!(single(0.1), Verdict::Partial);
        assert_eq!(single(-0.1), Verdict::Fail);
    }

    #[test]
    fn figures_have_three_digits() {
        let claim = lower_by(0.45, 0.901_2);
        let text = in_words(&claim, &Estimate { seeds: 2, mean: 0.883_4, half_width: Some(0.012_34) });
        assert_eq!(text, "88.3 % ± 1.23 % (criterion: at least 45 %; paper: 90.1 %)");
    }
}
