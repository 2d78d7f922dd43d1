//! Helper functions that several sections of the HTML report use.

use crate::compare::MetricComparison;
use crate::format;
use crate::load::Report;
use crate::ranking::Ranking;
use crate::svg::{self, Mark};
use maud::{Markup, html};

/// Content of a section below its heading, and the numbers that determine the section's width.
pub(super) struct Body {
    pub(super) markup: Markup,
    /// Number of charts in the section.
    pub(super) charts: usize,
    /// Whether a part of the section needs the whole width of the page.
    pub(super) wide: bool,
}

impl Body {
    pub(super) const fn new(charts: usize, markup: Markup) -> Self {
        Self { markup, charts, wide: false }
    }

    pub(super) const fn wide(charts: usize, markup: Markup) -> Self {
        Self { markup, charts, wide: true }
    }
}

/// A policy for which the charts have a line.
pub(crate) struct Drawn<'a> {
    /// Label of the policy.
    pub(crate) policy: &'a str,
    /// Index of the policy in the comparison.
    pub(crate) at: usize,
    /// CSS class of the policy's series.
    pub(crate) class: String,
}

/// Returns the policies that charts draw: at most one policy per line style. If there are more
/// policies, charts draw the baseline and the best policies of the ranking. Tables have all
/// policies.
pub(crate) fn drawn(report: &Report) -> Vec<Drawn<'_>> {
    let policies = &report.comparison.policies;
    let mut chosen: Vec<usize> = (0..policies.len()).collect();
    if policies.len() > crate::chart_style::STYLES {
        if let Some(ranking) = Ranking::of(&report.comparison) {
            chosen = std::iter::once(0).chain(ranking.order.into_iter().filter(|at| *at > 0)).collect();
        }
        chosen.truncate(crate::chart_style::STYLES);
    }
    let of =
        |(number, at): (usize, usize)| Drawn { policy: &policies[at], at, class: svg::style_class(number) };
    chosen.into_iter().enumerate().map(of).collect()
}

/// CSS class of a policy in charts with a row per policy. If other charts draw lines of the policy,
/// the policy has the class of these lines.
pub(super) fn row_class(drawn: &[Drawn<'_>], at: usize) -> String {
    drawn.iter().find(|drawn| drawn.at == at).map_or_else(|| "other".to_owned(), |drawn| drawn.class.clone())
}

/// Whether the first charts of the page already show a metric.
pub(super) fn in_glance(report: &Report, row: &MetricComparison) -> bool {
    Ranking::of(&report.comparison)
        .is_some_and(|ranking| ranking.columns.iter().any(|column| column.metric.id == row.metric.id))
}

/// Style of distributions: a single line needs no markers.
pub(super) fn trace(report: &Report) -> Mark {
    if report.comparison.policies.len() > 1 { Mark::Traced } else { Mark::Line }
}

/// Draws the legend that names the policy of each line.
pub(super) fn legend(report: &Report, mark: Mark) -> Markup {
    let (drawn, all) = (drawn(report), report.comparison.policies.len());
    html! {
        @if all > 1 {
            ul.legend {
                @for one in &drawn { li { (svg::sample(&one.class, mark)) (one.policy) } }
            }
        }
        @if drawn.len() < all {
            p.soft {
                "Lines: the baseline and the " (drawn.len() - 1) " best of " (all - 1) " others"
                @if let Some(ranking) = Ranking::of(&report.comparison) {
                    " by " (ranking.columns[0].metric.group) ", " (ranking.columns[0].metric.label)
                }
                ". Tables have all."
            }
        }
    }
}

/// Formats one chart per policy; policies that are not drawn as lines are collapsed.
pub(super) fn one_each(report: &Report, charts: &[(&str, Markup)]) -> Markup {
    let drawn = drawn(report);
    let is_drawn = |policy: &str| drawn.iter().any(|one| one.policy == policy);
    let (first, rest): (Vec<_>, Vec<_>) = charts.iter().partition(|(policy, _)| is_drawn(policy));
    html! {
        div.charts { @for (_, chart) in &first { (chart) } }
        @if !rest.is_empty() {
            details {
                summary { "The " (rest.len()) " other policies" }
                div.charts { @for (_, chart) in &rest { (chart) } }
            }
        }
    }
}

/// Phrase for captions, such as `mean over 5 seeds`.
pub(super) fn pooled(report: &Report) -> String {
    match report.comparison.seeds.len() {
        1 => String::new(),
        seeds => format!(" Samples of all {seeds} seeds are pooled."),
    }
}

/// Formats a tick label of an axis, as short as possible.
pub(super) fn axis_number(value: f64) -> String {
    let text = format::number(value);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
