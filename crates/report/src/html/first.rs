//! The first screen: what was found, who is best, what to doubt, and what was run.

use crate::finding::{Sentence, SentenceKind, finding};
use crate::load::Report;
use crate::ranking::{Ranking, Standing};
use crate::terminal::estimate_text;
use maud::{Markup, html};

/// For readers who want to know what a sentence of the finding is worth.
const JUDGEMENT: &str = "A difference is told only where Student's paired test over the seeds says so after Holm's \
    correction for everything that was looked at: if no scheme differed, any sentence of this kind would stand here on \
    at most one page in twenty. The interval behind a number is that of this difference alone (95 %, percentage points). \
    Which metrics are judged does not depend on the results: of completion times the mean, of short flows' slowdowns the \
    p99; losses, pauses, unfinished flows. Losses and pauses are told as they were in these runs, without a claim \
    beyond them. With few seeds the test rests on the assumption that differences are about normally distributed.";

/// The finding in sentences; empty where nothing is compared.
pub(super) fn finding_part(report: &Report) -> Markup {
    let sentences = finding(&report.comparison);
    let (facts, claims): (Vec<_>, Vec<_>) =
        sentences.iter().partition(|sentence| sentence.kind == SentenceKind::Fact);
    html! {
        @if !sentences.is_empty() {
            section.finding aria-label="Finding" {
                @for sentence in &claims { (paragraph(sentence)) }
                p { @for fact in &facts { (super::prose(&fact.text)) " " } }
                details {
                    summary { "How this is judged" }
                    p.soft { (JUDGEMENT) }
                }
            }
        }
    }
}

fn paragraph(sentence: &Sentence) -> Markup {
    html! {
        p.claim[sentence.kind == SentenceKind::Difference].soft[sentence.kind == SentenceKind::Open] {
            (super::prose(&sentence.text))
        }
    }
}

/// Schemes × a few metrics, the best first.
pub(super) fn ranked(report: &Report) -> Markup {
    let comparison = &report.comparison;
    let Some(ranking) = Ranking::of(comparison) else { return html! {} };
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
                                    td.best[standing.is_some_and(|standing| standing != Standing::Behind)] {
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

/// What the signs mean.
pub(super) fn legend(several: bool) -> String {
    if several {
        "● best mean; ○ not told apart from it: the paired interval of the difference includes zero (not corrected for the number of schemes)."
    } else {
        "● best in this seed; ○ equal. One seed tells nothing about others."
    }
    .to_owned()
}
