//! First screen of the page: findings, ranking, caveats, and the facts of the runs.

use super::parts::{Body, axis_number, drawn, row_class};
use crate::compare::MetricComparison;
use crate::finding::{Sentence, SentenceKind, facts_of_one, finding};
use crate::load::Report;
use crate::metric::{Metric, Unit};
use crate::ranking::{Ranking, Standing};
use crate::statistics::Estimate;
use crate::svg::{self, Dot};
use crate::terminal::estimate_text;
use maud::{Markup, html};

/// Explanation of how reliable a sentence of the findings is.
const JUDGEMENT: &str = "A difference is stated only if Student's paired test over the seeds finds it significant, after \
    Holm's correction for all comparisons of the page. If no scheme differed, at most one page in twenty would state a \
    difference. The test is of the logarithm of the ratio of two means, and the range in brackets is the 95 % interval of \
    that ratio alone. Which metrics are judged does not depend on the results: mean and p99 of query completion times, \
    slowdowns of flows, losses, pauses and unfinished flows. Losses and pauses describe these runs and claim no more. \
    With few seeds the test assumes that the logarithms are about normally distributed.";

/// Formats the first screen: findings on the left, facts of the runs on the right.
pub(super) fn hero(report: &Report, caveats: Option<&Markup>, what: &Markup) -> Markup {
    let (finding, ranking) = (finding_part(report), Ranking::of(&report.comparison));
    let beside = finding.is_some() || caveats.is_some() || ranking.is_some();
    html! {
        div.first.beside[beside] {
            @if beside {
                div {
                    @for part in finding.iter().chain(caveats) { (part) }
                    @if let Some(ranking) = &ranking { (ranked(report, ranking)) }
                }
            }
            (what)
        }
    }
}

/// Draws the ranked metrics with their intervals, the best scheme first; `None` without a ranking.
pub(super) fn overview(report: &Report) -> Option<Body> {
    let ranking = Ranking::of(&report.comparison)?;
    let drawn = drawn(report);
    let chart = |row: &&MetricComparison| {
        let dot = |&at: &usize| {
            let Estimate { mean, half_width, .. } = row.cells[at].estimate?;
            let name = report.comparison.policies[at].clone();
            Some(Dot { name, class: row_class(&drawn, at), mean, half_width })
        };
        let dots: Vec<Dot> = ranking.order.iter().filter_map(dot).collect();
        svg::dots(
            &format!("{}: {}", row.metric.group, row.metric.label),
            &unit(&row.metric),
            &dots,
            axis_number,
            row.metric.unit == Unit::Count,
        )
    };
    let charts: Vec<Markup> = ranking.columns.iter().map(chart).collect();
    let markup = html! {
        p.soft {
            "The metrics of the ranked table, in its order"
            @if report.comparison.seeds.len() > 1 { ", with 95 % confidence intervals over seeds" }
            ". Two that overlap may still differ: seeds are paired, and the finding looks at their differences."
        }
        div.charts { @for chart in &charts { (chart) } }
    };
    Some(Body::new(charts.len(), markup))
}

/// Title of a metric with its unit: `QCT mean [ms]`; counts have no unit.
fn unit(metric: &Metric) -> String {
    if metric.unit == Unit::Count { metric.label.clone() } else { metric.title() }
}

/// Formats the findings as sentences; `None` without a comparison.
fn finding_part(report: &Report) -> Option<Markup> {
    let alone = facts_of_one(&report.comparison);
    let (mut found, judgement) =
        if alone.is_empty() { (finding(&report.comparison), Some(JUDGEMENT)) } else { (alone, None) };
    found.extend(report.schedule_findings());
    (!found.is_empty()).then(|| sentences(&found, judgement))
}

/// Formats the sentences of a finding, followed by an explanation of how the findings are judged.
pub(crate) fn sentences(sentences: &[Sentence], judgement: Option<&str>) -> Markup {
    let (facts, claims): (Vec<_>, Vec<_>) =
        sentences.iter().partition(|sentence| sentence.kind == SentenceKind::Fact);
    html! {
        @if !sentences.is_empty() {
            section.finding aria-label="Finding" {
                @for sentence in &claims { (paragraph(sentence)) }
                p { @for fact in &facts { (crate::page::prose(&fact.text)) " " } }
                @if let Some(judgement) = judgement {
                    details {
                        summary { "How this is judged" }
                        p.soft { (judgement) }
                    }
                }
            }
        }
    }
}

fn paragraph(sentence: &Sentence) -> Markup {
    html! {
        p.claim[sentence.kind == SentenceKind::Difference].soft[sentence.kind == SentenceKind::Open] {
            (crate::page::prose(&sentence.text))
        }
    }
}

/// Formats a table of schemes and a few metrics, the best scheme first.
fn ranked(report: &Report, ranking: &Ranking<'_>) -> Markup {
    let comparison = &report.comparison;
    let several = comparison.seeds.len() > 1;
    html! {
        section.ranked aria-label="Ranking" {
            div.scroll tabindex="0" {
                table {
                    thead { tr {
                        th { "Ranked by the first column" }
                        @for row in &ranking.columns { th { (row.metric.group) br; (row.metric.title()) } }
                    } }
                    tbody {
                        @for &policy in &ranking.order {
                            tr {
                                th { (comparison.policies[policy]) @if policy == 0 { " (baseline)" } }
                                @for (column, row) in ranking.columns.iter().enumerate() {
                                    @let standing = ranking.standing(column, policy);
                                    td.best[standing.is_some_and(|standing| standing != Standing::Behind)] data-label=(format!("{}: {}", row.metric.group, row.metric.title())) {
                                        (estimate_text(&row.metric, &row.cells[policy]))
                                        span.standing { (standing.map_or("", Standing::sign)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            p.soft { (legend(several)) }
        }
    }
}

/// Text that explains the signs in the tables, such as ● for the best scheme.
fn legend(several: bool) -> String {
    if several {
        "● best mean; ○ not told apart from it: the paired interval of the difference includes zero (not corrected for the number of schemes)."
    } else {
        "● best in this seed; ○ equal. One seed tells nothing about others."
    }
    .to_owned()
}
