//! What several sections of the report have.

use crate::format;
use crate::load::Report;
use crate::svg::{self, Mark};
use maud::{Markup, html};

/// Which line is which policy.
pub(super) fn legend(report: &Report, mark: Mark) -> Markup {
    html! {
        @if report.comparison.policies.len() > 1 {
            ul.legend {
                @for (number, policy) in report.comparison.policies.iter().enumerate() {
                    li { (svg::sample(&svg::style_class(number), mark)) (policy) }
                }
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
