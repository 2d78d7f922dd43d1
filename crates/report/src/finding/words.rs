//! Wording of findings.

use super::{Look, Sentence, SentenceKind, pairs};
use crate::compare::{Comparison, MetricComparison};
use crate::format;
use crate::metric::{Better, LOST_LOSSLESS, LOST_PERCENT, Metric, PAUSED, Unit, Wording, fill};

/// Up to this number each scheme has separate sentences; more are grouped.
const SINGLY: usize = 3;
/// Maximum number of names in a sentence.
const NAMES: usize = 6;
/// Maximum number of named metrics with open differences.
const OPEN: usize = 3;
/// Maximum number of sentences about differences; the table that follows has all.
const DIFFERENCES: usize = 8;

/// All sentences, in reading order.
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

/// One sentence per difference, or per metric and direction where there are many schemes.
fn differences(comparison: &Comparison, judged: &[&MetricComparison], looks: &[Look]) -> Vec<Sentence> {
    let mut list = Vec::new();
    for (at, row) in judged.iter().enumerate() {
        let good = if row.metric.better == Better::Lower { -1.0 } else { 1.0 };
        // Improvements first.
        for side in [good, -good] {
            let mut found: Vec<&Look> = looks
                .iter()
                .filter(|look| look.metric == at && look.holds() && look.difference.mean * side > 0.0)
                .collect();
            found.sort_by(|a, b| b.difference.mean.abs().total_cmp(&a.difference.mean.abs()));
            let grouped = comparison.policies.len() > SINGLY && found.len() > 1;
            let groups: Vec<&[&Look]> =
                if grouped { vec![&found[..]] } else { found.chunks(1).collect::<Vec<_>>() };
            for group in groups {
                let text = difference(comparison, row, group, side < 0.0);
                list.push(Sentence { kind: SentenceKind::Difference, text });
            }
        }
    }
    list
}

/// Sentence about a difference: `abm ends incast queries 48 % ± 44 sooner than dt.`
fn difference(comparison: &Comparison, row: &MetricComparison, group: &[&Look], lower: bool) -> String {
    let schemes: Vec<&str> = group.iter().map(|look| comparison.policies[look.policy].as_str()).collect();
    let (names, several) = (named(&schemes), group.len() > 1);
    let baseline = comparison.baseline();
    if group.iter().any(|look| look.base == 0.0) {
        let verb = match (lower, several) {
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
        let unit = match row.metric.unit {
            Unit::Count => String::new(),
            unit => format!(" {}", unit.symbol()),
        };
        return format!(
            "{names} {verb} {} from 0 ({baseline}) to {to}{unit}.",
            row.metric.words_with_subject()
        );
    }
    let changes: Vec<f64> = group.iter().filter_map(|look| look.relative()).collect();
    let amount = match group {
        // A count of zero cannot fall further.
        [one] if one.gone => Amount::Part("100 %".to_owned()),
        [one] => Amount::of_one(changes[0], one.difference.half_width.unwrap_or(0.0) / one.base.abs()),
        _ => Amount::of_several(&changes),
    };
    phrase(&row.metric, lower, several, &amount).replace("{names}", &names).replace("{baseline}", baseline)
}

/// Size of a difference.
pub(super) enum Amount {
    /// "48 % ± 44".
    Part(String),
    /// "6.5 ± 0.4 times": used instead of percent for more than a doubling.
    Times(String),
}

impl Amount {
    /// The amount of a change and its half-width, both as fractions of the baseline.
    fn of_one(change: f64, half: f64) -> Self {
        if change >= 1.0 {
            return Self::Times(format!(
                "{} times",
                format::estimate(1.0 + change, half).replace(" ±", " ± ")
            ));
        }
        Self::Part(format!("{} % ± {}", percent(change.abs() * 100.0), percent(half * 100.0)))
    }

    /// The amount of several changes in one direction.
    pub(super) fn of_several(changes: &[f64]) -> Self {
        if changes.iter().all(|change| *change >= 1.0) {
            let factors: Vec<f64> = changes.iter().map(|change| 1.0 + change).collect();
            return Self::Times(format!("{} times", range(&factors, format::number)));
        }
        let parts: Vec<f64> = changes.iter().map(|change| change.abs() * 100.0).collect();
        Self::Part(format!("{} %", range(&parts, percent)))
    }
}

/// The sentence of a metric, with placeholders for names.
pub(super) fn phrase(metric: &Metric, lower: bool, several: bool, amount: &Amount) -> String {
    let subject = metric.subject.name();
    let verb = |stem: &str| if several { stem.to_owned() } else { format!("{stem}s") };
    // The quantity that is more or less; `is_much`: an uncountable one, such as time.
    let of = |stem: &str, what: &str, is_much: bool| {
        let verb = verb(stem);
        match amount {
            Amount::Part(amount) => {
                let more = match (lower, is_much) {
                    (false, _) => "more",
                    (true, false) => "fewer",
                    (true, true) => "less",
                };
                format!("{{names}} {verb} {amount} {more} {what} than {{baseline}}.")
            }
            Amount::Times(amount) => {
                let many = if is_much { "much" } else { "many" };
                format!("{{names}} {verb} {amount} as {many} {what} as {{baseline}}.")
            }
        }
    };
    match (metric.kind.wording, amount) {
        (Wording::Ends, Amount::Part(amount)) => {
            let (verb, when) = (verb("end"), if lower { "sooner" } else { "later" });
            format!("{{names}} {verb} {subject} {amount} {when} than {{baseline}}.")
        }
        (Wording::Ends, Amount::Times(amount)) => {
            format!("{{names}} {} {amount} as long as {{baseline}} to end {subject}.", verb("take"))
        }
        (Wording::Fewer(verb, what), _) => of(verb, &fill(what, &[&subject]), false),
        (Wording::Less(verb, what), _) => of(verb, what, true),
        (Wording::Changes, _) => {
            let verb = verb(if lower { "lower" } else { "raise" });
            let what = match metric.subject.is_whole_run() {
                true => metric.words(),
                false => format!("the {}", metric.words_with_subject()),
            };
            match amount {
                Amount::Part(amount) => format!("{{names}} {verb} {what} by {amount} against {{baseline}}."),
                Amount::Times(amount) => format!("{{names}} {verb} {what} to {amount} that of {{baseline}}."),
            }
        }
    }
}

/// List of names: `a`, `a and b`, `a, b and c`, `a, b, c, d, e, f and 3 more`.
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

/// Range of values: `20–48`, or `20` if both ends have the same text.
fn range(values: &[f64], text: fn(f64) -> String) -> String {
    let least = text(values.iter().copied().fold(f64::INFINITY, f64::min));
    let most = text(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    if least == most { least } else { format!("{least}–{most}") }
}

/// A percentage, without decimals from ten upwards.
fn percent(value: f64) -> String {
    if value >= 9.95 { format::count(value.round() as u64) } else { format!("{value:.1}") }
}

/// Differences that are significant only without the correction for all tests.
fn hints(comparison: &Comparison, judged: &[&MetricComparison], looks: &[Look]) -> Option<Sentence> {
    let found: Vec<&Look> = looks.iter().filter(|look| look.is_hint()).collect();
    let of_metric = |(at, row): (usize, &&MetricComparison)| {
        let schemes = found.iter().filter(|look| look.metric == at).map(|look| {
            let change =
                look.relative().map_or_else(String::new, |change| format!(" {}", format::change(change)));
            format!("{}{change}", comparison.policies[look.policy])
        });
        let schemes: Vec<String> = schemes.collect();
        let names: Vec<&str> = schemes.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("{}: {}", row.metric.words_with_subject(), named(&names)))
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

/// The tested metrics, and that no other difference is detectable.
fn closing(comparison: &Comparison, judged: &[&MetricComparison], looks: &[Look]) -> Sentence {
    if comparison.seeds.len() < 2 || looks.is_empty() {
        let why = if comparison.seeds.len() < 2 { "One seed" } else { "Fewer than two seeds in common" };
        return open(format!(
            "{why}: whether the schemes differ cannot be told, since a difference may be chance. Repeat with `--seeds 5`."
        ));
    }
    let (held, hints) = (looks.iter().any(Look::holds), looks.iter().any(Look::is_hint));
    let begin = if held || hints { "Nothing else differs" } else { "Nothing differs" };
    let names: Vec<String> = judged.iter().map(|row| row.metric.words_with_subject()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let schemes = comparison.policies.len() - 1;
    let times = match schemes {
        // Schemes without two seeds in common with the baseline are not tested.
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

/// Losses and pauses, which are always reported.
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
            list.push(
                levels(comparison, row).map_or_else(|| none.to_owned(), |levels| format!("{some}: {levels}")),
            );
        }
    }
    if row(PAUSED).is_none() {
        list.push("No priority is lossless, so nothing was paused".to_owned());
    }
    list.into_iter().map(|text| Sentence { kind: SentenceKind::Fact, text: text + "." }).collect()
}

/// A mean with its unit: `11.9 %`, `35`.
pub(super) fn with_unit(metric: &Metric, mean: f64) -> String {
    match metric.unit {
        Unit::Count => format::mean_count(mean),
        unit => format!("{} {}", format::number(mean), unit.symbol()),
    }
}

/// Means of the schemes, such as `dt 11.9 %, abm none`; `None` if all are zero. With many schemes
/// only the extremes and the baseline.
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

/// Schemes that lost no more than the baseline in every seed, and less in some.
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
