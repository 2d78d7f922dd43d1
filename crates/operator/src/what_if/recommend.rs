//! Recommends a switch setting from the results of a what-if comparison, with reasons.

use super::{Reach, TODAY, WhatIf};
use crate::what_if::Choice;
use bufferlab_report::{Comparison, Estimate, Judgement, judgements};
use serde::Serialize;

/// Text of the recommendation if the current setting loses lossless packets and no compared
/// setting is surely better.
pub const NONE: &str = "none";

/// Recommendation of a what-if analysis.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// Sentence about losses that the report shows first if the current setting loses lossless
    /// packets.
    pub losses_today: Option<String>,
    /// Label of the recommended setting. The label is "today" if no other setting is surely better.
    /// The label is "none" if the current setting loses lossless packets and no other setting is
    /// surely better.
    pub choice: String,
    /// Reasons for the recommendation, in sentences.
    pub reasons: Vec<String>,
    /// Caveats of the recommendation, in sentences.
    pub caveats: Vec<String>,
}

/// A setting of the switch, with the reasons to recommend this setting.
struct Case<'a> {
    choice: &'a Choice,
    /// Most important outcome that improves with the setting.
    gain: &'a Judgement,
    /// All outcomes that improve with the setting, in words.
    gains: String,
}

impl Case<'_> {
    /// Whether this setting is better than `other`: more important outcomes count first, then
    /// larger changes.
    fn beats(&self, other: Option<&Self>) -> bool {
        let key = |case: &Self| (case.gain.rank, -case.gain.size());
        other.is_none_or(|other| key(self) < key(other))
    }
}

/// Chooses a setting from a comparison. A setting is recommended if at least one outcome improves
/// after the correction for all tests, and no outcome becomes worse even without the correction. A
/// setting that loses lossless packets is never recommended, not even the current setting.
#[must_use]
pub fn recommend(comparison: &Comparison, plan: &WhatIf) -> Recommendation {
    let all = judgements(comparison);
    let mut reasons = Vec::new();
    let (mut best, mut hint): (Option<Case<'_>>, Option<Case<'_>>) = (None, None);
    let settable = |choice: &&Choice| matches!(choice.reach, Reach::Setting | Reach::Configuration);
    for choice in plan.choices.iter().filter(settable) {
        let of: Vec<_> = all.iter().filter(|judgement| judgement.policy == choice.label).collect();
        if let Some(reason) = losing(comparison, &choice.label) {
            reasons.push(reason);
            continue;
        }
        let seen = |better: bool| of.iter().filter(move |one| one.better == Some(better) && one.is_hint());
        if seen(false).next().is_some() {
            let list = |better: bool| seen(better).map(|one| describe(one)).collect::<Vec<_>>().join("; ");
            let better = if seen(true).next().is_some() { list(true) } else { "nothing".to_owned() };
            reasons.push(format!("{}: better: {better}; worse: {}.", choice.label, list(false)));
            continue;
        }
        if let Some(gain) = seen(true).find(|one| one.holds()) {
            let all: Vec<_> = seen(true).filter(|one| one.holds()).map(|one| describe(one)).collect();
            let case = Case { choice, gain, gains: all.join("; ") };
            best = if case.beats(best.as_ref()) { Some(case) } else { best };
        }
        if let Some(gain) = seen(true).next() {
            let case = Case { choice, gain, gains: describe(gain) };
            hint = if case.beats(hint.as_ref()) { Some(case) } else { hint };
        }
    }
    let losses_today = losses_today(comparison);
    let (chosen, why) = match (&best, &losses_today) {
        (None, Some(_)) => (NONE.to_owned(), fix_first(hint.as_ref())),
        _ => verdict(best.as_ref(), hint.as_ref(), all.len()),
    };
    reasons.insert(0, why);
    reasons.extend(of_policies(plan, &all));
    let mut caveats = caveats(plan);
    if best.is_some() {
        caveats.insert(
            0,
            "Only what was compared is judged: a further step may be better still, or worse.".to_owned(),
        );
    }
    Recommendation { losses_today, choice: chosen, reasons, caveats }
}

fn verdict(best: Option<&Case<'_>>, hint: Option<&Case<'_>>, looks: usize) -> (String, String) {
    match (best, hint) {
        (Some(Case { choice, gains, .. }), _) => {
            let why = format!(
                "{} ({}): {}; nothing that was judged is worse.",
                choice.label, choice.meaning, gains
            );
            (choice.label.clone(), why)
        }
        (None, Some(Case { choice, gains, .. })) => {
            let why = format!(
                "Keep today's setting: no other one is better for sure. {} ({}) looks better ({}), which does not hold \
                 after the correction for {looks} looks; more seeds decide.",
                choice.label, choice.meaning, gains
            );
            (TODAY.to_owned(), why)
        }
        (None, None) => {
            let why =
                "Keep today's setting: no other one is better in anything without being worse in something.";
            (TODAY.to_owned(), why.to_owned())
        }
    }
}

/// Describes the effects of the variants whose policies the chip does not have.
fn of_policies(plan: &WhatIf, all: &[Judgement]) -> Vec<String> {
    let policies = plan.choices.iter().filter(|choice| choice.reach == Reach::Policy);
    let sentence = |choice: &Choice| {
        let of = all.iter().filter(|one| one.policy == choice.label && one.holds() && one.better.is_some());
        let told: Vec<_> = of.map(describe).collect();
        let would = told.join("; ");
        (!told.is_empty())
            .then(|| format!("{} is no setting of this chip; it would give: {would}.", choice.label))
    };
    policies.filter_map(sentence).collect()
}

fn caveats(plan: &WhatIf) -> Vec<String> {
    let mut caveats = plan.notes.clone();
    caveats.push(
        "Simulated traffic is a model: try a setting on one switch, and watch drops, pauses and watermarks, before it goes everywhere."
            .to_owned(),
    );
    caveats
}

/// Number of lossless packets that are lost with a setting (mean of seeds).
fn lost(comparison: &Comparison, label: &str) -> f64 {
    let row = comparison.metric("pauses.lost_lossless_packets");
    let cell = row.and_then(|row| row.cells.iter().find(|cell| cell.policy == label));
    cell.map_or(0.0, |cell| {
        let values: Vec<f64> = cell.values.iter().flatten().copied().collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    })
}

/// Formats a number of packets in words; a mean below ten has decimals.
fn packets(mean: f64) -> String {
    let digits = if mean < 10.0 { 2 } else { 0 };
    format!("{mean:.digits$} lossless packets")
}

/// Formats the sentence about losses with the current setting.
fn losses_today(comparison: &Comparison) -> Option<String> {
    let today = lost(comparison, TODAY);
    (today > 0.0).then(|| {
        format!(
            "today loses {} (mean of {} seeds): fix the headroom first; `bufferlab sonic lint` names what is too small",
            packets(today),
            comparison.seeds.len()
        )
    })
}

/// Returns the reason to exclude a setting that loses lossless packets.
fn losing(comparison: &Comparison, label: &str) -> Option<String> {
    let (own, today) = (lost(comparison, label), lost(comparison, TODAY));
    if own <= 0.0 {
        return None;
    }
    Some(if today > 0.0 {
        format!("{label}: loses {}, today {:.0}.", packets(own), today.ceil())
    } else {
        format!("{label}: loses {}, and none is lost today.", packets(own))
    })
}

/// Formats the first reason if the current setting loses lossless packets and no other setting is
/// surely better.
fn fix_first(hint: Option<&Case<'_>>) -> String {
    let hint = hint.map_or(String::new(), |Case { choice, gains, .. }| {
        format!(
            " {} ({}) loses none and looks better ({gains}), which more seeds decide.",
            choice.label, choice.meaning
        )
    });
    format!(
        "Fix the headroom first: today's setting loses lossless packets, and no other one is better for sure.{hint}"
    )
}

fn describe(judgement: &Judgement) -> String {
    let size = match (judgement.change, judgement.difference) {
        (Some(change), _) => change.in_words(),
        (None, Estimate { mean, half_width, .. }) => {
            half_width.map_or_else(|| format!("{mean:+.1}"), |half| format!("{mean:+.1} ± {half:.1}"))
        }
    };
    format!("{} {size}", judgement.metric)
}
