//! Wording of the sentences of findings.

use super::{Look, MINOR_PERCENT, Sentence, SentenceKind, pairs};
use crate::compare::{Comparison, MetricComparison};
use crate::format;
use crate::metric::{Better, LOST_LOSSLESS, LOST_PERCENT, Metric, PAUSED, Unit, Wording, fill};
use crate::statistics::Change;

/// Up to this number of schemes, each scheme has separate sentences; more schemes share sentences.
const SINGLY: usize = 3;
/// Maximum number of names of schemes in a sentence.
const NAMES: usize = 6;
/// Maximum number of metrics that a sentence about open differences names.
const OPEN: usize = 3;
/// Smallest factor at which a change of speed is printed as a multiple.
const FASTER: f64 = 1.5;
/// Maximum number of sentences about differences; a table with all differences follows.
const DIFFERENCES: usize = 8;

/// Returns all sentences of the findings, in reading order.
pub(super) fn sentences(
    comparison: &Comparison,
    judged: &[&MetricComparison],
    looks: &[Look],
) -> Vec<Sentence> {
    let mut list = differences(comparison, judged, looks);
    let told = list.len();
    list.truncate(DIFFERENCES);
    if told > DIFFERENCES {
        let left = told - DIFFERENCES;
        list.push(open(format!("{left} more kinds of differences hold; the table of numbers has them.")));
    }
    list.extend(hints(comparison, judged, looks));
    list.push(closing(comparison, judged, looks));
    list.extend(facts(comparison));
    list
}

fn open(text: String) -> Sentence {
    Sentence { kind: SentenceKind::Open, text }
}

/// Formats one sentence per significant difference. If there are many schemes, there is one
/// sentence per metric and direction. Sentences about negligible means come last.
fn differences(comparison: &Comparison, judged: &[&MetricComparison], looks: &[Look]) -> Vec<Sentence> {
    let (mut list, mut minor) = (Vec::new(), Vec::new());
    for (at, row) in judged.iter().enumerate() {
        let good = if row.metric.better == Better::Lower { -1.0 } else { 1.0 };
        let tail_at = judged.iter().position(|other| row.metric.has_tail(&other.metric));
        let mean_at = judged.iter().position(|other| other.metric.has_tail(&row.metric));
        // One sentence covers several schemes if many of them differ from the baseline in one
        // direction.
        let is_grouped = |schemes: usize| comparison.policies.len() > SINGLY && schemes > 1;
        let holding = |at: usize, side: f64| {
            looks
                .iter()
                .filter(move |look| look.metric == at && look.holds() && look.difference.mean * side > 0.0)
        };
        // Sentences about improvements precede sentences about deteriorations.
        for side in [good, -good] {
            let mut found: Vec<&Look> = holding(at, side).collect();
            found.sort_by(|a, b| b.difference.mean.abs().total_cmp(&a.difference.mean.abs()));
            let grouped = is_grouped(found.len());
            let groups: Vec<&[&Look]> =
                if grouped { vec![&found[..]] } else { found.chunks(1).collect::<Vec<_>>() };
            for group in groups {
                // Returns the change of the scheme's other statistic (mean or 99th percentile), if
                // a sentence about this scheme alone would state the change.
                let counterpart = |other: usize| {
                    let is_alone = !grouped && !is_grouped(holding(other, side).count());
                    holding(other, side).find(|look| is_alone && look.policy == group[0].policy)
                };
                // The sentence about a mean also states that the tail changes like the mean.
                if mean_at.and_then(counterpart).is_some() {
                    continue;
                }
                let tail = tail_at.and_then(counterpart);
                let text = difference(comparison, row, group, side < 0.0, tail);
                let is_minor = group.iter().all(|look| look.is_minor(&row.metric));
                let sentence = Sentence { kind: SentenceKind::Difference, text };
                if is_minor { minor.push(sentence) } else { list.push(sentence) }
            }
        }
    }
    list.extend(minor);
    list
}

/// Formats a sentence about one difference:
/// `abm answers incast queries 1.9 times as fast as dt (1.6 to 2.3).` The argument `tail` adds the
/// change of the 99th percentile.
fn difference(
    comparison: &Comparison,
    row: &MetricComparison,
    group: &[&Look],
    lower: bool,
    tail: Option<&Look>,
) -> String {
    let schemes: Vec<&str> = group.iter().map(|look| comparison.policies[look.policy].as_str()).collect();
    let (names, several) = (named(&schemes), group.len() > 1);
    let baseline = comparison.baseline();
    let metric = &row.metric;
    let changes: Vec<Change> = group.iter().filter_map(|look| look.change).collect();
    if changes.len() < group.len() {
        return from_zero(metric, group, &names, baseline, lower);
    }
    let mut text = match group {
        [one] if one.levels.1 == 0.0 => gone(metric, &with_unit(metric, one.levels.0)),
        _ => {
            let amount = match changes[..] {
                [one] => Amount::of_one(metric, &one),
                _ => {
                    Amount::of_several(metric, &changes.iter().map(|change| change.mean).collect::<Vec<_>>())
                }
            };
            phrase(metric, lower, several, &amount)
        }
    };
    if let Some(change) = tail.and_then(|tail| tail.change) {
        let Amount { size, interval, is_multiple } = Amount::of_one(metric, &change);
        let when = match (is_multiple, lower) {
            (true, _) => "",
            (false, true) => " sooner",
            (false, false) => " later",
        };
        text = format!("{}; at the 99th percentile {size}{when}{interval}.", text.trim_end_matches('.'));
    }
    if group.iter().all(|look| look.is_minor(metric)) {
        text.push_str(&format!(" Both are below {MINOR_PERCENT} %."));
    }
    text.replace("{names}", &names).replace("{baseline}", baseline)
}

/// Formats a sentence such as `abm raises packets lost from 0 (dt) to 0.300 ± 0.025 %.`
fn from_zero(metric: &Metric, group: &[&Look], names: &str, baseline: &str, lower: bool) -> String {
    let verb = match (lower, group.len() > 1) {
        (false, false) => "raises",
        (false, true) => "raise",
        (true, false) => "lowers",
        (true, true) => "lower",
    };
    let values: Vec<f64> = group.iter().map(|look| look.difference.mean).collect();
    let to = match group {
        [one] => match one.difference.half_width {
            Some(half) => format::estimate(one.difference.mean, half).replace(" ±", " ± "),
            None => format::number(one.difference.mean),
        },
        _ => range(&values, format::number),
    };
    let unit = match metric.unit {
        Unit::Count => String::new(),
        unit => format!(" {}", unit.symbol()),
    };
    format!("{names} {verb} {} from 0 ({baseline}) to {to}{unit}.", metric.in_sentence_with_subject())
}

/// Formats the sentence about a scheme whose value is zero, unlike the baseline's:
/// `cs loses no packets (dt: 0.300 %).`
fn gone(metric: &Metric, level: &str) -> String {
    match metric.kind.wording {
        Wording::Fewer(verb, what) | Wording::Less(verb, what) => {
            let what = fill(what, &[&metric.subject.name()]);
            format!("{{names}} {verb}s no {what} ({{baseline}}: {level}).")
        }
        Wording::Ends | Wording::Changes => {
            format!("{{names}} lowers {} to 0 ({{baseline}}: {level}).", metric.in_sentence_with_subject())
        }
    }
}

/// Wording for the size of a change.
pub(super) struct Amount {
    /// Text of the size: "48 %", or "6.5 times".
    size: String,
    /// Text of the interval: " (43 to 52 %)", or " (6.1 to 6.9)" of a multiple; empty
    /// for several schemes.
    interval: String,
    /// Whether the text gives the change as a multiple.
    is_multiple: bool,
}

impl Amount {
    /// Describes the change of one scheme, with its interval.
    fn of_one(metric: &Metric, change: &Change) -> Self {
        let is_multiple = is_multiple(metric, change.mean);
        let ends = change
            .low
            .zip(change.high)
            .map(|(low, high)| if change.mean < 0.0 { [high, low] } else { [low, high] });
        let size =
            |change: f64| if is_multiple { multiple(metric, change) } else { percent(change.abs() * 100.0) };
        let (unit, behind) = if is_multiple { ("times", "") } else { ("%", " %") };
        let interval = ends.map(|[from, to]| format!(" ({} to {}{behind})", size(from), size(to)));
        Self {
            size: format!("{} {unit}", size(change.mean)),
            interval: interval.unwrap_or_default(),
            is_multiple,
        }
    }

    /// Describes the changes of several schemes in one direction.
    pub(super) fn of_several(metric: &Metric, changes: &[f64]) -> Self {
        let is_multiple = changes.iter().all(|change| is_multiple(metric, *change));
        let size = if is_multiple {
            let factors: Vec<f64> = changes.iter().map(|change| factor(metric, *change)).collect();
            format!("{} times", range(&factors, times))
        } else {
            let parts: Vec<f64> = changes.iter().map(|change| change.abs() * 100.0).collect();
            format!("{} %", range(&parts, percent))
        };
        Self { size, interval: String::new(), is_multiple }
    }
}

/// Whether a change is printed as a multiple: from a factor of 1.5 for speeds, else from 2.
fn is_multiple(metric: &Metric, change: f64) -> bool {
    let least = if metric.kind.wording == Wording::Ends { FASTER } else { 2.0 };
    factor(metric, change) >= least
}

/// Returns the factor of a change: the ratio of the values. If the metric is a time that falls, the
/// factor is the ratio of the speeds.
fn factor(metric: &Metric, change: f64) -> f64 {
    if metric.kind.wording == Wording::Ends && change < 0.0 { 1.0 / (1.0 + change) } else { 1.0 + change }
}

fn multiple(metric: &Metric, change: f64) -> String {
    times(factor(metric, change))
}

/// Formats the factor of a change: `1.9`, `16`.
fn times(factor: f64) -> String {
    if factor >= 9.95 { format::count(factor.round() as u64) } else { format!("{factor:.1}") }
}

/// Returns the sentence about a metric, with placeholders for names.
pub(super) fn phrase(metric: &Metric, lower: bool, several: bool, amount: &Amount) -> String {
    let subject = metric.subject.name();
    let verb = |stem: &str| if several { stem.to_owned() } else { format!("{stem}s") };
    let Amount { size, interval, is_multiple } = amount;
    // Formats a sentence that schemes have more or fewer `what`; `is_much` is for uncountable
    // nouns, such as time.
    let of = |stem: &str, what: &str, is_much: bool| {
        let verb = verb(stem);
        if *is_multiple {
            let many = if is_much { "much" } else { "many" };
            return format!("{{names}} {verb} {size} as {many} {what} as {{baseline}}{interval}.");
        }
        let more = match (lower, is_much) {
            (false, _) => "more",
            (true, false) => "fewer",
            (true, true) => "less",
        };
        format!("{{names}} {verb} {size} {more} {what} than {{baseline}}{interval}.")
    };
    match metric.kind.wording {
        Wording::Ends => {
            let tail = if metric.is_tail() { "At the 99th percentile, " } else { "" };
            let (answer, take) = (verb("answer"), verb("take"));
            match (*is_multiple, lower) {
                (true, true) => {
                    format!("{tail}{{names}} {answer} {subject} {size} as fast as {{baseline}}{interval}.")
                }
                (true, false) => format!(
                    "{tail}{{names}} {take} {size} as long as {{baseline}} to answer {subject}{interval}."
                ),
                (false, true) => {
                    format!("{tail}{{names}} {answer} {subject} {size} sooner than {{baseline}}{interval}.")
                }
                (false, false) => {
                    format!("{tail}{{names}} {answer} {subject} {size} later than {{baseline}}{interval}.")
                }
            }
        }
        Wording::Fewer(verb, what) => of(verb, &fill(what, &[&subject]), false),
        Wording::Less(verb, what) => of(verb, what, true),
        Wording::Changes => {
            let verb = verb(if lower { "lower" } else { "raise" });
            let what = match metric.subject.is_whole_run() {
                true => metric.in_sentence(),
                false => format!("the {}", metric.in_sentence_with_subject()),
            };
            if *is_multiple {
                format!("{{names}} {verb} {what} to {size} that of {{baseline}}{interval}.")
            } else {
                format!("{{names}} {verb} {what} by {size} against {{baseline}}{interval}.")
            }
        }
    }
}

/// Formats a list of names: `a`, `a and b`, `a, b and c`, `a, b, c, d, e, f and 3 more`.
pub(super) fn named(names: &[&str]) -> String {
    let (shown, left) = names.split_at(names.len().min(NAMES));
    let mut words: Vec<String> = shown.iter().map(|name| (*name).to_owned()).collect();
    if !left.is_empty() {
        words.push(format!("{} more", left.len()));
    }
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Formats a range of values: `20–48`, or `20` if the lowest and highest value have equal text.
fn range(values: &[f64], text: fn(f64) -> String) -> String {
    let least = text(values.iter().copied().fold(f64::INFINITY, f64::min));
    let most = text(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    if least == most { least } else { format!("{least}–{most}") }
}

/// Formats a percentage, without decimals from ten upwards.
fn percent(value: f64) -> String {
    if value >= 9.95 { format::count(value.round() as u64) } else { format!("{value:.1}") }
}

/// Names the differences that are significant only without the correction for all tests.
fn hints(comparison: &Comparison, judged: &[&MetricComparison], looks: &[Look]) -> Option<Sentence> {
    let found: Vec<&Look> = looks.iter().filter(|look| look.is_hint()).collect();
    let of_metric = |(at, row): (usize, &&MetricComparison)| {
        let schemes = found.iter().filter(|look| look.metric == at).map(|look| {
            let change =
                look.change.map_or_else(String::new, |change| format!(" {}", format::change(change.mean)));
            format!("{}{change}", comparison.policies[look.policy])
        });
        let schemes: Vec<String> = schemes.collect();
        let names: Vec<&str> = schemes.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("{}: {}", row.metric.in_sentence_with_subject(), named(&names)))
    };
    let mut metrics: Vec<String> = judged.iter().enumerate().filter_map(of_metric).collect();
    let left = metrics.len().saturating_sub(OPEN);
    metrics.truncate(OPEN);
    match left {
        0 => {}
        1 => metrics.push("and another metric".to_owned()),
        _ => metrics.push(format!("and {left} other metrics")),
    }
    let what = if found.len() == 1 { "this one is" } else { "these are" };
    (!found.is_empty()).then(|| {
        open(format!(
            "Open: {}. Alone {what} clear of noise, among {} looks not; more seeds would tell.",
            metrics.join("; "),
            looks.len()
        ))
    })
}

/// Names the tested metrics, and states that no other difference is detectable.
fn closing(comparison: &Comparison, judged: &[&MetricComparison], looks: &[Look]) -> Sentence {
    if comparison.seeds.len() < 2 || looks.is_empty() {
        let why = if comparison.seeds.len() < 2 { "One seed" } else { "Fewer than two seeds in common" };
        return open(format!(
            "{why}: whether the schemes differ cannot be told, since a difference may be chance. Repeat with `--seeds 5`."
        ));
    }
    let (held, hints) = (looks.iter().any(Look::holds), looks.iter().any(Look::is_hint));
    let begin = if held || hints { "Nothing else differs" } else { "Nothing differs" };
    let names: Vec<String> = judged.iter().map(|row| row.metric.in_sentence_with_subject()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let schemes = comparison.policies.len() - 1;
    let times = match schemes {
        // A scheme with fewer than two seeds in common with the baseline is not tested.
        _ if looks.len() < judged.len() * schemes => ", where two seeds or more are shared".to_owned(),
        1 => String::new(),
        _ => format!(", each for {schemes} schemes"),
    };
    let looked = match looks.len() {
        1 => "One comparison was looked at".to_owned(),
        many => format!("{many} comparisons were looked at, and corrected for (Holm)"),
    };
    let small = looks.iter().filter(|look| look.corrected <= super::LEVEL && !look.holds()).count();
    let small = match small {
        0 => String::new(),
        _ => " by as much as 0.1 %".to_owned(),
    };
    open(format!("{begin} beyond noise{small}. {looked}: {}{times}.", named(&names)))
}

/// Formats losses and pauses, which findings always report.
fn facts(comparison: &Comparison) -> Vec<Sentence> {
    let mut list = Vec::new();
    let row = |id: &str| comparison.metric(id);
    if let Some(lost) = row(LOST_PERCENT) {
        let text = match levels(comparison, lost) {
            None => "No scheme lost a packet".to_owned(),
            Some(levels) => format!("Packets lost, of arrivals: {levels}{}", never_more(comparison, lost)),
        };
        list.push(text);
    }
    let pauses = [
        (LOST_LOSSLESS, "Lossless packets lost", "No lossless packet was lost"),
        (PAUSED, "Time paused, summed over links", "Nothing was paused"),
    ];
    for (id, some, none) in pauses {
        if let Some(row) = row(id) {
            let nothing = || match (id, super::no_pause(comparison)) {
                (PAUSED, Some(text)) => text.trim_end_matches('.').to_owned(),
                _ => none.to_owned(),
            };
            list.push(levels(comparison, row).map_or_else(nothing, |levels| format!("{some}: {levels}")));
        }
    }
    if row(PAUSED).is_none() {
        list.push("No priority is lossless, so nothing was paused".to_owned());
    }
    list.into_iter().map(|text| Sentence { kind: SentenceKind::Fact, text: text + "." }).collect()
}

/// Formats a mean with its unit: `11.9 %`, `35`.
pub(super) fn with_unit(metric: &Metric, mean: f64) -> String {
    match metric.unit {
        Unit::Count => format::mean_count(mean),
        unit => format!("{} {}", format::number(mean), unit.symbol()),
    }
}

/// Formats the means of the schemes, such as `dt 11.9 %, abm none`; `None` if all means are zero.
/// With many schemes, only the extremes and the baseline are listed.
fn levels(comparison: &Comparison, row: &MetricComparison) -> Option<String> {
    let text = |mean: f64| if mean == 0.0 { "none".to_owned() } else { with_unit(&row.metric, mean) };
    let known: Vec<(&str, f64)> =
        row.cells.iter().filter_map(|cell| Some((cell.policy.as_str(), cell.estimate?.mean))).collect();
    if known.iter().all(|(_, mean)| *mean == 0.0) {
        return None;
    }
    if comparison.policies.len() <= SINGLY {
        let each: Vec<String> = known.iter().map(|(name, mean)| format!("{name} {}", text(*mean))).collect();
        return Some(each.join(", "));
    }
    let least = known.iter().map(|(_, mean)| *mean).fold(f64::INFINITY, f64::min);
    let most = known.iter().map(|(_, mean)| *mean).fold(f64::NEG_INFINITY, f64::max);
    let at = |level: f64| {
        named(&known.iter().filter(|(_, mean)| *mean == level).map(|(name, _)| *name).collect::<Vec<_>>())
    };
    if least == most {
        return Some(format!("{} in all schemes", text(most)));
    }
    let baseline = known.iter().find(|(name, _)| *name == comparison.baseline());
    let baseline = baseline
        .filter(|(_, mean)| *mean != least && *mean != most)
        .map(|(name, mean)| format!("; {name} {}", text(*mean)));
    let (low, high) = (text(least), text(most));
    Some(format!("from {low} ({}) to {high} ({}){}", at(least), at(most), baseline.unwrap_or_default()))
}

/// Names the schemes that never lost more than the baseline for any seed, and lost
/// less for some seed.
fn never_more(comparison: &Comparison, row: &MetricComparison) -> String {
    let found: Vec<&str> = (1..comparison.policies.len())
        .filter(|&policy| {
            let pairs = pairs(row, 0, policy);
            pairs.iter().all(|(base, value)| value <= base) && pairs.iter().any(|(base, value)| value < base)
        })
        .map(|policy| comparison.policies[policy].as_str())
        .collect();
    if found.is_empty() || comparison.policies.len() > SINGLY || comparison.seeds.len() < 2 {
        return String::new();
    }
    format!("; in no seed more under {} than under {}", found.join(" or "), comparison.baseline())
}
