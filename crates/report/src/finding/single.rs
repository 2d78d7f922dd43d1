//! Findings of runs of one scheme, as sentences.

use super::sentences::with_unit;
use super::{Sentence, SentenceKind, judged};
use crate::compare::{Comparison, MetricComparison};
use crate::format;
use crate::metric::{BUFFER_P99, LOST_PERCENT, PAUSED, Subject, UNFINISHED, Unit, Wording};
use bufferlab_results::QueueNearPause;

/// Formats facts about the runs of one scheme. The result is empty if the comparison
/// has several schemes.
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
    if let Some(paused) = known(comparison, PAUSED) {
        list.push(fact(match paused.0 {
            0.0 => no_pause(comparison).unwrap_or_else(|| "Nothing was paused.".to_owned()),
            _ => format!("Links were paused for {} in all.", shown(paused.1)),
        }));
    }
    list
}

/// Formats the queue that was nearest to a pause: "No pause: the fullest ingress queue (port 3 of
/// s0, priority 1) reached 52.1 KB of the 1,200 KB at which its switch pauses (4.34 %)."
pub(crate) fn no_pause(comparison: &Comparison) -> Option<String> {
    comparison.nearest_pause.as_ref().map(nearest_pause_text)
}

/// Formats the lossless ingress queue that was nearest to a pause in a run without pauses.
#[must_use]
pub fn nearest_pause_text(nearest: &QueueNearPause) -> String {
    let QueueNearPause { switch, port, priority, held_bytes, threshold_bytes } = nearest;
    let percent = 100.0 * *held_bytes as f64 / (*threshold_bytes).max(1) as f64;
    let kilobytes = |bytes: u64| format::number(bytes as f64 / 1e3);
    format!(
        "No pause: the fullest ingress queue (port {port} of {switch}, priority {priority}) reached {} KB of the {} KB \
         at which its switch pauses ({} %).",
        kilobytes(*held_bytes),
        kilobytes(*threshold_bytes),
        format::number(percent)
    )
}

/// Formats the most important outcome except losses: "mean QCT of incast queries: 10.3 ms."
fn outcome(comparison: &Comparison) -> Option<String> {
    let told = |row: &&&MetricComparison| {
        row.metric.unit != Unit::Count && !matches!(row.metric.subject, Subject::Switches | Subject::Pauses)
    };
    let judged = judged(comparison);
    let row = judged.iter().find(told)?;
    let mut text = row.metric.in_sentence_with_subject();
    if let Some(first) = text.get(0..1).map(str::to_uppercase) {
        text.replace_range(0..1, &first);
    }
    let is_tail = |other: &&MetricComparison| {
        row.metric.kind.wording == Wording::Ends && row.metric.has_tail(&other.metric)
    };
    let tail = comparison.metrics.iter().find(is_tail).filter(|row| level(row).is_some());
    let tail = tail.map(|row| format!("; its p99 is {}", shown(row))).unwrap_or_default();
    Some(format!("{text} is {}{tail}.", shown(row)))
}

/// Formats the sentence about losses: "12.1 % of the packets that arrive are lost, while for 99 %
/// of the time at most 32.8 % of the buffer is in use."
fn losses(comparison: &Comparison) -> Option<String> {
    let (lost, row) = known(comparison, LOST_PERCENT)?;
    let used = known(comparison, BUFFER_P99);
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
    let (flows, row) = known(comparison, UNFINISHED)?;
    (flows > 0.0).then(|| format!("{} flows have no end within the run.", shown(row)))
}

/// Returns the mean of a metric and its row, if the metric was measured.
fn known<'a>(comparison: &'a Comparison, id: &str) -> Option<(f64, &'a MetricComparison)> {
    let row = comparison.metric(id)?;
    Some((level(row)?, row))
}

/// Returns the mean of a metric for the only scheme in the comparison.
fn level(row: &MetricComparison) -> Option<f64> {
    Some(row.cells.first()?.estimate?.mean)
}

/// Formats the mean of a metric with the half-width of its interval, such as `10.3 ms ± 0.4` or
/// `12.1 %`.
fn shown(row: &MetricComparison) -> String {
    let Some(estimate) = row.cells.first().and_then(|cell| cell.estimate) else { return String::new() };
    let mean = with_unit(&row.metric, estimate.mean);
    estimate.half_width.map_or_else(|| mean.clone(), |half| format!("{mean} ± {}", format::number(half)))
}
