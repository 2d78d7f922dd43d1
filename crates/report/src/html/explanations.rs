//! Section on explained losses: the binding limit, the packets in the buffer, and the decisions of
//! all other policies.

use crate::error::ReportError;
use crate::format;
use crate::load::Report;
use bufferlab_metrics::Answer;
use bufferlab_results::{ExplanationRecord, OpinionRecord};
use maud::{Markup, html};

/// Divisions of the buffered packets in the order of the table, each with a title.
const HOLDERS: [(&str, &str); 4] =
    [("port", "Held by port"), ("queue", "by port.priority"), ("class", "by class"), ("flow", "by flow")];

/// Formats the explained losses of every policy's first run with explanations; `None` if no
/// run explains a loss.
pub(super) fn section(report: &Report) -> Result<Option<Markup>, ReportError> {
    let mut explained = Vec::new();
    for policy in &report.comparison.policies {
        for run in report.runs_of(policy).take(1) {
            let records = run.result.explanations()?;
            if !records.is_empty() {
                explained.push((policy, run.summary.seed, records));
            }
        }
    }
    if explained.is_empty() {
        return Ok(None);
    }
    Ok(Some(html! {
        p.soft {
            "The first losses of a run. \"Others\" is what every registered policy would have said of the arriving packet with the same buffer: "
            "all of them watched the switch from the start, the switch's own with its parameters, the others with their defaults."
        }
        @for (policy, seed, records) in &explained {
            h3 { (policy) ", seed " (seed) }
            @for record in records { (one(record)) }
        }
    }))
}

fn one(record: &ExplanationRecord) -> Markup {
    let (mut admit, mut evict, mut refuse) = (Vec::new(), Vec::new(), Vec::new());
    for opinion in &record.opinions {
        match opinion.verdict {
            Answer::Admit(_) => admit.push(opinion),
            Answer::Evict(_) => evict.push(opinion),
            Answer::Drop(_) => refuse.push(opinion),
        }
    }
    let names = |group: &[&OpinionRecord]| {
        group.iter().map(|opinion| opinion.policy.as_str()).collect::<Vec<_>>().join(", ")
    };
    html! {
        details {
            summary {
                (format::span_ns(record.time_ns)) ", " (record.switch) " port " (record.port) " priority " (record.priority) ": "
                (record.event) " (" (record.reason) "); "
                @if record.opinions.is_empty() { "decided without a policy" }
                @else { (admit.len()) " of " (record.opinions.len()) " policies would have stored it" }
            }
            p {
                (format::count(record.size_bytes)) " B of flow " (record.flow_id) " (" (record.class) ")"
                @for tag in &record.tags { ", " (tag) }
                ": " (format::readable(&record.because)) "."
            }
            dl.facts {
                dt { "Buffer" }
                dd { (format::bytes(record.occupancy_bytes as f64)) " of " (format::bytes(record.buffer_bytes as f64)) " in use" }
                @if !record.inputs.is_empty() {
                    dt { "Inputs of the limit" }
                    dd {
                        @for (index, (name, value)) in record.inputs.iter().enumerate() {
                            @if index > 0 { "; " } (name) " = " (format::number(*value))
                        }
                    }
                }
                @for (kind, title) in HOLDERS { dt { (title) } dd { (holders(record, kind)) } }
                dt { "Others: store it" }
                dd { (names(&admit)) }
                @if !evict.is_empty() { dt { "Others: evict another one" } dd { (names(&evict)) } }
                dt { "Others: refuse it" }
                dd {
                    @for (index, opinion) in refuse.iter().enumerate() {
                        @if index > 0 { ", " } (opinion.policy)
                        @if let Some(limit) = opinion.threshold_bytes { " (" (format::bytes(limit as f64)) ")" }
                    }
                }
                @if !record.left_out.is_empty() {
                    dt { "Not asked" }
                    dd {
                        @for (index, left_out) in record.left_out.iter().enumerate() {
                            @if index > 0 { "; " } (left_out.policy) ": " (left_out.reason)
                        }
                    }
                }
            }
        }
    }
}

fn holders(record: &ExplanationRecord, kind: &str) -> String {
    let share = |bytes: u64| 100.0 * bytes as f64 / record.buffer_bytes as f64;
    let of_kind = record.holders.iter().filter(|holder| holder.kind == kind);
    of_kind
        .map(|holder| format!("{}: {:.1} %", holder.name, share(holder.bytes)))
        .collect::<Vec<_>>()
        .join(", ")
}
