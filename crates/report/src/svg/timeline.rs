//! Timeline: a chart with rows of bars over time.

use super::{Axis, CHARACTER, Segment, WIDTH, bar, coordinate, data};
use maud::{Markup, html};

/// A row of a [`Timeline`]: the spans of time in which a state lasted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TimelineRow {
    pub(crate) name: String,
    /// Depth of the row in the tree of rows, shown as indentation.
    pub(crate) depth: usize,
    /// CSS class of the bars in a row of the timeline.
    pub(crate) class: String,
    pub(crate) segments: Vec<Segment>,
}

/// A timeline: rows of bars over time, as wide as the page.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) rows: Vec<TimelineRow>,
}

impl Timeline {
    pub(crate) fn markup(&self) -> Markup {
        const ROW: f64 = 19.0;
        const INDENT: f64 = 12.0;
        let width = 2.6 * WIDTH;
        let label =
            |row: &TimelineRow| row.name.chars().count() as f64 * CHARACTER + row.depth as f64 * INDENT;
        let (left, right) = (self.rows.iter().map(label).fold(0.0, f64::max) + 10.0, width - 14.0);
        let bottom = 6.0 + self.rows.len() as f64 * ROW;
        let at_x = |value: f64| left + self.x.place(value) * (right - left);
        html! {
            div.scroll tabindex="0" {
                figure.chart.wide {
                    figcaption { (self.title) }
                    svg viewBox=(format!("0 0 {width} {}", bottom + 36.0)) role="img" aria-label=(format!("{}. Horizontal: {}. Every value is in the table below.", self.title, self.x.title)) {
                        @for tick in self.x.spaced(&at_x, width) {
                            line.grid x1=(coordinate(at_x(tick))) x2=(coordinate(at_x(tick))) y1="4" y2=(coordinate(bottom)) {}
                            text.tick.middle x=(coordinate(at_x(tick))) y=(coordinate(bottom + 15.0)) { ((self.x.text)(tick)) }
                        }
                        path.frame d=(format!("M{left:.1} 4V{bottom:.1}H{right:.1}")) {}
                        text.title.middle x=(coordinate((left + right) / 2.0)) y=(coordinate(bottom + 31.0)) { (self.x.title) }
                        @for (number, row) in self.rows.iter().enumerate() {
                            @let y = 6.0 + number as f64 * ROW;
                            text.tick x=(coordinate(2.0 + row.depth as f64 * INDENT)) y=(coordinate(y + 12.0)) { (row.name) }
                            g class=(row.class) {
                                @for segment in &row.segments { (bar(segment, at_x(segment.from), at_x(segment.to), y)) }
                            }
                        }
                    }
                    (data::hidden(&data::of_rows(&self.x.title, &self.rows)))
                }
            }
        }
    }
}
