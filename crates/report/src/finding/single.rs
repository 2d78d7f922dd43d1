//! What does a run of one scheme say, in sentences?

use super::words::{short_name, with_unit};
use super::{Sentence, SentenceKind, judged};
use crate::compare::{Comparison, MetricComparison};
use crate::format;
use crate::metric::Unit;

/// What one scheme did: nothing is compared, so these are facts of these runs. Empty where several schemes are compared.
#[must_use]
pub(crate) fn facts_of_one(comparison: &Comparison) -> Vec<Sentence> {
    if comparison.policies.len() != 1 {
        return Vec::new();
    }
    let claim = |text| Sentence { kind: SentenceKind::Difference, text };
    let fact = |text| Sentence { kind: SentenceKind::Fact, text };
    let mut list: Vec<Sentence> = outcome(comparison).map(claim).into_iter().collect();
    list.extend(losses(comparison).map(claim));
    list.extend(unfinished(comparison).map(fact));
    if let Some(paused) = known(comparison, "pauses.paused_ms") {
        list.push(fact(match paused.0 {
            0.0 => "Nothing was paused.".to_owned(),
            _ => format!("Links were paused for {} in all.", shown(paused.1)),
        }));
    }
    list
}

/// The most important outcome beside losses: "mean QCT of incast queries: 10.3 ms."
fn outcome(comparison: &Comparison) -> Option<String> {
    let told = |row: &&&MetricComparison| {
        row.metric.unit != Unit::Count
            && !row.metric.id.starts_with("switches.")
            && !row.metric.id.starts_with("pauses.")
    };
    let judged = judged(comparison);
    let row = judged.iter().find(told)?;
    let mut text = short_name(&row.metric);
    if let Some(first) = text.get(0..1).map(str::to_uppercase) {
        text.replace_range(0..1, &first);
    }
    let tail =
        row.metric.id.strip_suffix("_mean_ms").and_then(|name| known(comparison, &format!("{name}_p99_ms")));
    let tail = tail.map(|(_, row)| format!("; its p99 is {}", shown(row))).unwrap_or_default();
    Some(format!("{text} is {}{tail}.", shown(row)))
}

/// "12.1 % of the packets that arrive are lost, while for 99 % of the time at most 32.8 % of the buffer is in use."
fn losses(comparison: &Comparison) -> Option<String> {
    let (lost, row) = known(comparison, "switches.lost_percent")?;
    let used = known(comparison, "switches.buffer_p99_percent");
    let used =
        used.map(|(_, row)| format!("for 99 % of the time, at most {} of any buffer is in use", shown(row)));
    Some(match (lost, used) {
        (0.0, None) => "No packet is lost.".to_owned(),
        (0.0, Some(used)) => format!("No packet is lost; {used}."),
        (_, None) => format!("{} of the packets that arrive at switches are lost.", shown(row)),
        (_, Some(used)) => format!("{} of the packets that arrive at switches are lost; {used}.", shown(row)),
    })
}

fn unfinished(comparison: &Comparison) -> Option<String> {
    let (flows, row) = known(comparison, "all.unfinished_flows")?;
    (flows > 0.0).then(|| format!("{} flows have no end within the run.", shown(row)))
}

/// The mean of a metric and its row, where it was measured.
fn known<'a>(comparison: &'a Comparison, id: &str) -> Option<(f64, &'a MetricComparison)> {
    let row = comparison.metric(id)?;
    Some((row.cells.first()?.estimate?.mean, row))
}

/// `10.3 ms ± 0.4`, `12.1 %`.
fn shown(row: &MetricComparison) -> String {
    let Some(estimate) = row.cells.first().and_then(|cell| cell.estimate) else { return String::new() };
    let mean = with_unit(&row.metric, estimate.mean);
    estimate.half_width.map_or_else(|| mean.clone(), |half| format!("{mean} ± {}", format::number(half)))
}
