//! Judges a paper's statements by the simulation runs of an experiment.
//!
//! *Estimate.* The effect of a condition is evaluated on the metrics' means over the seeds. So the
//! phrases "at every load" and "up to" refer to means, not to extremes of noise. The 95 % interval
//! comes from the jackknife: the effect is evaluated again without each seed in turn. The
//! pseudo-values `n t - (n - 1) t_i` are treated as independent (Tukey 1958; Efron, Stein 1981).
//! The seeds are the units of the jackknife, because all schemes of a seed have equal arrivals. The
//! rules of [`crate::verdict`] give the verdict.
//!
//! *Guards.* The verdict PASS is meaningless if the condition cannot fail. So a passing condition
//! becomes INCONCLUSIVE
//! - if the compared schemes have equal values everywhere, so that no difference was possible,
//! - if its effect stays exactly equal, with every seed, when the values of one scheme replace the
//!   values of all schemes,
//! - if its `guard`, an expression such as the number of lost packets, is not above 0,
//! - if it has a direction and also passes when the values of any one scheme replace the values of
//!   all schemes. This test is a negative control, which needs no further run.

use crate::expression::{self, ExpressionError, OneForAll, Traced, Values};
use crate::{Beside, ClaimCheck, Condition, OverSeeds, Results, Verdict};
use bufferlab_report::Estimate;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Largest half-width of the interval of an estimate, as a part of its mean, with which the mean
/// is known.
const KNOWN: f64 = 0.25;

/// A condition of a paper's statement, with its measured effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Effect of the condition over the seeds, or the reason why the effect has no value.
    pub estimate: Result<Estimate, ExpressionError>,
    /// Verdict on the condition, from its effect and its guards.
    pub verdict: Verdict,
    /// Measured result as text: value, interval, band, the paper's value, and the objection of a
    /// guard.
    pub text: String,
}

/// A statement of a paper with its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Number of the statement, such as `ABM-F6c-1`.
    pub id: String,
    /// Verdict on the statement, from the verdicts on all of its conditions.
    pub verdict: Verdict,
    /// Measured results of the conditions that the statement has.
    pub conditions: Vec<Measured>,
    /// Effects under alternative interpretations of the paper, as text.
    pub beside: Vec<String>,
    /// Reason why the statement cannot be decided, or a remark for the pages.
    pub note: Option<String>,
}

impl Judged {
    /// Formats the measured results of all conditions in one line.
    #[must_use]
    pub fn measured(&self) -> String {
        let texts = self.conditions.iter().map(|condition| condition.text.as_str());
        texts.chain(self.beside.iter().map(String::as_str)).collect::<Vec<_>>().join("; ")
    }
}

/// Judges a statement of a paper by the runs of its experiment.
#[must_use]
pub fn judge(claim: &ClaimCheck, results: &Results) -> Judged {
    let conditions: Vec<_> = claim.conditions.iter().map(|condition| measure(condition, results)).collect();
    // The worst verdict on a condition counts: STRONG together with PASS gives PASS.
    let worst = conditions.iter().map(|condition| condition.verdict).max();
    Judged {
        id: claim.id.clone(),
        verdict: worst.unwrap_or(Verdict::NotCheckable),
        conditions,
        beside: claim.beside.iter().map(|other| beside(other, results)).collect(),
        note: claim.not_checkable.clone().or_else(|| claim.note.clone()),
    }
}

/// Computes the effects of a statement from means, such as recorded values. The result is one line
/// without intervals and without a verdict.
#[must_use]
pub fn effects_of_means(claim: &ClaimCheck, means: &Arc<dyn Values>) -> String {
    let of_condition = |condition: &Condition| match condition.over_seeds {
        OverSeeds::Mean => match expression::evaluate(&condition.effect, means) {
            Ok(mean) => in_words(condition, &Estimate { seeds: 0, mean, half_width: None }),
            Err(why) => why.to_string(),
        },
        OverSeeds::Each | OverSeeds::Largest => "it needs every seed, not the means".to_owned(),
    };
    let texts: Vec<String> = claim.conditions.iter().map(of_condition).collect();
    if texts.is_empty() { claim.not_checkable.clone().unwrap_or_default() } else { texts.join("; ") }
}

fn measure(condition: &Condition, results: &Results) -> Measured {
    let estimate = match estimate(&condition.effect, condition.over_seeds, results) {
        Ok(estimate) => estimate,
        Err(why) => {
            // A ratio to zero is the result of a run.
            let has_run = matches!(why, ExpressionError::NotFinite(_));
            let verdict = if has_run { Verdict::Inconclusive } else { Verdict::NotRun };
            return Measured { verdict, text: why.to_string(), estimate: Err(why) };
        }
    };
    let (mut verdict, mut text) = (condition.verdict(&estimate), in_words(condition, &estimate));
    if verdict == Verdict::Fail && condition.is_better(&estimate) {
        text.push_str("; better than the paper says");
    }
    if (verdict.holds() || verdict == Verdict::Overshoot)
        && let Some(why) = vacuous(condition, results)
    {
        verdict = Verdict::Inconclusive;
        text.push_str(&format!("; {why}"));
    }
    Measured { verdict, text, estimate: Ok(estimate) }
}

/// Describes the effect of a statement under an alternative interpretation of the paper.
fn beside(other: &Beside, results: &Results) -> String {
    match estimate(&other.effect, OverSeeds::Mean, results) {
        Ok(estimate) => format!("{}: {}", other.reading, shown(other.percent, &estimate)),
        Err(why) => format!("{}: {why}", other.reading),
    }
}

fn estimate(effect: &str, over_seeds: OverSeeds, results: &Results) -> Result<Estimate, ExpressionError> {
    let seeds: Vec<u64> = (0..results.seeds()).collect();
    let effect = |seeds: &[u64]| expression::evaluate(effect, &results.of_seeds(seeds));
    match over_seeds {
        OverSeeds::Mean => jackknife(&seeds, effect),
        OverSeeds::Each | OverSeeds::Largest => {
            let effects: Vec<f64> = seeds.iter().map(|seed| effect(&[*seed])).collect::<Result<_, _>>()?;
            let estimate = Estimate::from_values(&effects).ok_or(ExpressionError::NoSeed)?;
            if over_seeds == OverSeeds::Each {
                return Ok(estimate);
            }
            let mean = effects.into_iter().fold(f64::NEG_INFINITY, f64::max);
            Ok(Estimate { mean, half_width: None, ..estimate })
        }
    }
}

/// Combines the effects of one condition in `N` sets of runs with equal arrivals, with the 95 %
/// interval of the jackknife. `None` if an effect or the combination has no value.
pub(crate) fn contrast<const N: usize>(
    condition: &Condition,
    results: [&Results; N],
    combine: impl Fn([f64; N]) -> f64,
) -> Option<Estimate> {
    /// A set of seeds without a value.
    struct NoValue;
    impl From<ExpressionError> for NoValue {
        fn from(_: ExpressionError) -> Self {
            Self
        }
    }
    let value = |results: &Results, seeds: &[u64]| {
        expression::evaluate(&condition.effect, &results.of_seeds(seeds)).ok()
    };
    let effect = |results: &Results, seeds: &[u64]| -> Option<f64> {
        let each = || seeds.iter().map(|seed| value(results, &[*seed])).collect::<Option<Vec<f64>>>();
        match condition.over_seeds {
            OverSeeds::Mean => value(results, seeds),
            OverSeeds::Each => each().map(|effects| effects.iter().sum::<f64>() / effects.len() as f64),
            OverSeeds::Largest => each()?.into_iter().reduce(f64::max),
        }
    };
    let statistic = |seeds: &[u64]| -> Result<f64, NoValue> {
        let mut effects = [0.0; N];
        for (place, results) in effects.iter_mut().zip(results) {
            *place = effect(results, seeds).ok_or(NoValue)?;
        }
        Some(combine(effects)).filter(|value| value.is_finite()).ok_or(NoValue)
    };
    let seeds = results.iter().map(|results| results.seeds()).min()?;
    jackknife(&(0..seeds).collect::<Vec<_>>(), statistic).ok()
}

/// Whether the interval of an estimate is at most a quarter of its mean.
pub(crate) fn is_known(estimate: &Estimate) -> bool {
    estimate.half_width.is_some_and(|half| half <= KNOWN * estimate.mean.abs())
}

/// Computes a statistic over all seeds, with the 95 % interval of its pseudo-values.
fn jackknife<E>(seeds: &[u64], statistic: impl Fn(&[u64]) -> Result<f64, E>) -> Result<Estimate, E>
where
    E: From<ExpressionError>,
{
    let n = seeds.len() as f64;
    if seeds.is_empty() {
        return Err(ExpressionError::NoSeed.into());
    }
    let whole = statistic(seeds)?;
    if seeds.len() == 1 {
        return Ok(Estimate { seeds: 1, mean: whole, half_width: None });
    }
    let mut pseudo = Vec::with_capacity(seeds.len());
    for left_out in seeds {
        let others: Vec<u64> = seeds.iter().copied().filter(|seed| seed != left_out).collect();
        pseudo.push(n * whole - (n - 1.0) * statistic(&others)?);
    }
    let half_width = Estimate::from_values(&pseudo).and_then(|estimate| estimate.half_width);
    Ok(Estimate { seeds: seeds.len() as u64, mean: whole, half_width })
}

/// Returns the reason why the PASS of a condition is meaningless; `None` if the PASS is meaningful.
fn vacuous(condition: &Condition, results: &Results) -> Option<String> {
    let seeds: Vec<u64> = (0..results.seeds()).collect();
    let all = results.of_seeds(&seeds);
    if let Some(guard) = &condition.guard {
        match expression::evaluate(guard, &all) {
            Ok(value) if value > 0.0 => {}
            Ok(value) => return Some(format!("nothing could differ: {guard} is {}", number(value))),
            Err(why) => return Some(format!("its guard has no value: {why}")),
        }
    }
    let traced = Arc::new(Traced::new(Arc::clone(&all)));
    let values: Arc<dyn Values> = Arc::clone(&traced) as Arc<dyn Values>;
    expression::evaluate(&condition.effect, &values).ok()?;
    let asked = traced.questions();
    let schemes: BTreeSet<&str> = asked.iter().map(|(_, scheme, _)| scheme.as_str()).collect();
    if schemes.len() < 2 {
        return None;
    }
    let values = |seed: u64| {
        let values = results.of_seeds(&[seed]);
        asked.iter().map(move |(metric, scheme, places)| {
            (metric, places, scheme, values.value(metric, scheme, places).map(f64::to_bits).ok())
        })
    };
    let (mut same, mut compared) = (true, false);
    for &seed in &seeds {
        let mut first: BTreeMap<_, _> = BTreeMap::new();
        for (metric, places, scheme, value) in values(seed) {
            let of_first = *first.entry((metric, places)).or_insert((scheme, value));
            compared |= of_first.0 != scheme;
            same &= of_first.1 == value;
        }
    }
    if same && compared {
        return Some("the schemes are the same to the last digit: nothing could differ".to_owned());
    }
    let alone = |seed: u64, scheme: &str| -> Option<bool> {
        let values = results.of_seeds(&[seed]);
        let one: Arc<dyn Values> = Arc::new(OneForAll::new(Arc::clone(&values), scheme));
        let (with_all, with_one) =
            (expression::evaluate(&condition.effect, &values), expression::evaluate(&condition.effect, &one));
        Some(with_all.ok()?.to_bits() == with_one.ok()?.to_bits())
    };
    // In an effect against "the best of the others", the best scheme may equal the
    // scheme under test.
    if condition.guard.is_none()
        && let Some(scheme) =
            schemes.iter().find(|scheme| seeds.iter().all(|&seed| alone(seed, scheme) == Some(true)))
    {
        return Some(format!("to the last digit what {scheme} alone gives in the place of every scheme"));
    }
    condition.neutral?;
    let passes_with = |scheme: &&str| {
        let one: Arc<dyn Values> = Arc::new(OneForAll::new(Arc::clone(&all), scheme));
        let effect = expression::evaluate(&condition.effect, &one);
        let control = |mean| condition.verdict(&Estimate { seeds: 1, mean, half_width: None });
        let passes = |verdict: Verdict| verdict.holds() || verdict == Verdict::Overshoot;
        effect.is_ok_and(|mean| passes(control(mean)) && !is_neutral(condition, mean))
    };
    let control = schemes.iter().find(|scheme| passes_with(scheme))?;
    Some(format!("it would pass with {control} in the place of every scheme"))
}

/// Whether an effect equals the neutral effect of its condition, up to rounding errors.
fn is_neutral(condition: &Condition, effect: f64) -> bool {
    condition.neutral.is_some_and(|neutral| (effect - neutral).abs() < 1e-9)
}

/// Formats an estimated effect: mean and 95 % interval.
pub(crate) fn shown(percent: bool, estimate: &Estimate) -> String {
    let mut text = unit(percent, estimate.mean);
    match estimate.half_width {
        Some(half) => text.push_str(&format!(" ± {}", unit(percent, half))),
        None if estimate.seeds == 1 => text.push_str(", one seed"),
        None => {}
    }
    text
}

fn unit(percent: bool, value: f64) -> String {
    if percent { format!("{} %", number(value * 100.0)) } else { number(value) }
}

fn in_words(condition: &Condition, estimate: &Estimate) -> String {
    let mut text = shown(condition.percent, estimate);
    let shown = |value| unit(condition.percent, value);
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

/// Formats a number with three significant digits.
fn number(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 4) };
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The jackknife gives the ordinary interval of a mean. For a ratio of means, it gives the
    /// interval of the ratio's linear approximation.
    #[test]
    fn the_interval_of_a_mean_is_students() {
        let sample = [1.0, 2.0, 4.0, 9.0];
        let mean = |seeds: &[u64]| {
            Ok::<_, ExpressionError>(
                seeds.iter().map(|seed| sample[*seed as usize]).sum::<f64>() / seeds.len() as f64,
            )
        };
        let estimate = jackknife(&[0, 1, 2, 3], mean).expect("a mean");
        let ordinary = Estimate::from_values(&sample).expect("four values");
        assert!((estimate.mean - 4.0).abs() < 1e-12);
        let (half, wanted) =
            (estimate.half_width.expect("four seeds"), ordinary.half_width.expect("four seeds"));
        assert!((half - wanted).abs() < 1e-9, "{half} {wanted}");
        assert_eq!(jackknife(&[2], mean), Ok(Estimate { seeds: 1, mean: 4.0, half_width: None }));
        assert_eq!(jackknife(&[], mean), Err(ExpressionError::NoSeed));
    }

    #[test]
    fn figures_have_three_digits() {
        let claim = Condition {
            effect: String::new(),
            at_least: Some(0.45),
            at_most: None,
            neutral: Some(0.0),
            paper: Some(0.901_2),
            percent: true,
            over_seeds: OverSeeds::Mean,
            guard: None,
            better: None,
            mark: None,
        };
        let text = in_words(&claim, &Estimate { seeds: 2, mean: 0.883_4, half_width: Some(0.012_34) });
        assert_eq!(text, "88.3 % ± 1.23 % (criterion: at least 45 %; paper: 90.1 %)");
        let text = in_words(&claim, &Estimate { seeds: 1, mean: 0.883_4, half_width: None });
        assert_eq!(text, "88.3 %, one seed (criterion: at least 45 %; paper: 90.1 %)");
    }
}
