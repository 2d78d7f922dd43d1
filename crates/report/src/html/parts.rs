//! What several sections of the report have.

use crate::compare::MetricComparison;
use crate::format;
use crate::load::Report;
use crate::ranking::Ranking;
use crate::svg::{self, Mark};
use maud::{Markup, html};

/// The content of a section below its heading, with the numbers that its width depends on.
pub(super) struct Body {
    pub(super) markup: Markup,
    /// Charts in it.
    pub(super) charts: usize,
    /// Whether something in it needs the whole width of the page.
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

/// A policy that charts draw.
pub(crate) struct Drawn<'a> {
    /// Its label.
    pub(crate) policy: &'a str,
    /// Its place in the comparison.
    pub(crate) at: usize,
    /// The class of its series.
    pub(crate) class: String,
}

/// The policies that charts draw: as many as have a style of their own. Of more than that the
/// baseline and the best by the ranking, in its order; tables have all.
pub(crate) fn drawn(report: &Report) -> Vec<Drawn<'_>> {
    let policies = &report.comparison.policies;
    let mut chosen: Vec<usize> = (0..policies.len()).collect();
    if policies.len() > svg::STYLES {
        if let Some(ranking) = Ranking::of(&report.comparison) {
            chosen = std::iter::once(0).chain(ranking.order.into_iter().filter(|at| *at > 0)).collect();
        }
        chosen.truncate(svg::STYLES);
    }
    let of =
        |(number, at): (usize, usize)| Drawn { policy: &policies[at], at, class: svg::style_class(number) };
    chosen.into_iter().enumerate().map(of).collect()
}

/// The class of a policy in charts that name their rows: that of its lines elsewhere, if it has
/// any.
pub(super) fn row_class(drawn: &[Drawn<'_>], at: usize) -> String {
    drawn.iter().find(|drawn| drawn.at == at).map_or_else(|| "other".to_owned(), |drawn| drawn.class.clone())
}

/// Whether the first charts of the page show this metric already.
pub(super) fn in_glance(report: &Report, row: &MetricComparison) -> bool {
    Ranking::of(&report.comparison)
        .is_some_and(|ranking| ranking.columns.iter().any(|column| column.metric.id == row.metric.id))
}

/// How distributions are drawn: a line alone needs no markers.
pub(super) fn trace(report: &Report) -> Mark {
    if report.comparison.policies.len() > 1 { Mark::Traced } else { Mark::Line }
}

/// Which line is which policy.
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

/// Charts of their own for every policy: those of the policies that lines are drawn of, the others
/// folded.
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

/// `mean over 5 seeds` and the like, for captions.
pub(super) fn pooled(report: &Report) -> String {
    match report.comparison.seeds.len() {
        1 => String::new(),
        seeds => format!(" Samples of all {seeds} seeds are pooled."),
    }
}

/// Numbers at ticks: as short as they can be.
pub(super) fn axis_number(value: f64) -> String {
    let text = format::number(value);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
