//! Curves on a page of their own: figures that come from no run, in the style of the report.

use crate::format;
use crate::svg::{self, Axis, Chart, Mark, Point, Series};
use maud::html;

/// How an axis is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveScale {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal ratios; values are above zero.
    Log,
}

/// An axis: its title with the unit, and its layout.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveAxis {
    /// For example "rate of the burst (line rates)".
    pub title: String,
    /// How it is laid out.
    pub scale: CurveScale,
}

/// One chart of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePanel {
    /// Caption.
    pub title: String,
    /// Parameters and sources, below the chart.
    pub note: String,
    /// Horizontal axis.
    pub x: CurveAxis,
    /// Vertical axis.
    pub y: CurveAxis,
    /// Name and points (x, y) of every line.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// A self-contained HTML page with these charts.
#[must_use]
pub fn curves_page(title: &str, panels: &[CurvePanel]) -> String {
    let body = html! {
        h1 { (title) }
        div.charts {
            @for panel in panels {
                div {
                    (chart(panel).markup())
                    ul.legend {
                        @for (number, (name, _)) in panel.lines.iter().enumerate() {
                            li { (svg::sample(&svg::style_class(number), Mark::Line)) (name) }
                        }
                    }
                    @if !panel.note.is_empty() { p.soft { (panel.note) } }
                }
            }
        }
        footer { "bufferlab " (env!("CARGO_PKG_VERSION")) }
    };
    crate::html::document(title, &body).into_string()
}

fn chart(panel: &CurvePanel) -> Chart {
    let points = || panel.lines.iter().flat_map(|(_, points)| points);
    let axis = |axis: &CurveAxis, values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match axis.scale {
            CurveScale::Linear => Axis::linear(axis.title.as_str(), least.min(0.0), most, format::number),
            CurveScale::Log => Axis::log(axis.title.as_str(), least, most, format::number),
        }
    };
    let series = panel.lines.iter().enumerate().map(|(number, (name, points))| Series {
        name: name.clone(),
        class: svg::style_class(number),
        mark: Mark::Line,
        points: points.iter().copied().map(Point::from).collect(),
    });
    Chart {
        title: panel.title.clone(),
        x: axis(&panel.x, points().map(|point| point.0).collect()),
        y: axis(&panel.y, points().map(|point| point.1).collect()),
        series: series.collect(),
    }
}
