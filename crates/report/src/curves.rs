//! Curves on a page of their own: sweeps, figures of papers, figures that come from no run, in the style of the report.

use crate::format;
use crate::svg::{self, Axis, Chart, Mark, Point, Series};
use maud::{Markup, html};

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

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveLine {
    /// Its name in the legend.
    pub name: String,
    /// In the order in which they are joined.
    pub points: Vec<CurvePoint>,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Horizontally.
    pub x: f64,
    /// Vertically.
    pub y: f64,
    /// Half of the interval around `y`, if one is known. A line with a known interval has markers at its points.
    pub half_width: Option<f64>,
}

impl CurveLine {
    /// A line without intervals.
    #[must_use]
    pub fn plain(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| CurvePoint { x, y, half_width: None }).collect();
        Self { name: name.into(), points }
    }
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
    /// Its lines.
    pub lines: Vec<CurveLine>,
    /// Whether points have markers: what was measured at a few places, as against what is known everywhere.
    pub markers: bool,
}

/// A table below the charts of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTable {
    /// Heading.
    pub title: String,
    /// Of the columns.
    pub header: Vec<String>,
    /// Cells, as many as the header has.
    pub rows: Vec<Vec<String>>,
}

/// A page of charts and tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurvesPage {
    /// Heading.
    pub title: String,
    /// What is seen, below the heading; a paragraph each.
    pub about: Vec<String>,
    /// Pages beside this one: path and name.
    pub links: Vec<(String, String)>,
    /// Charts.
    pub panels: Vec<CurvePanel>,
    /// Tables below them.
    pub tables: Vec<PageTable>,
}

impl CurvesPage {
    /// The page as one HTML file without references.
    #[must_use]
    pub fn html(&self) -> String {
        let body = html! {
            h1 { (self.title) }
            @for paragraph in &self.about { p { (paragraph) } }
            @if !self.links.is_empty() {
                ul { @for (path, name) in &self.links { li { a href=(path) { (name) } } } }
            }
            div.charts {
                @for panel in &self.panels {
                    div {
                        (chart(panel).markup())
                        (legend(panel))
                        @if !panel.note.is_empty() { p.soft { (panel.note) } }
                    }
                }
            }
            @for table in &self.tables {
                h2 { (table.title) }
                div.scroll {
                    table.words {
                        thead { tr { @for name in &table.header { th.left { (name) } } } }
                        tbody { @for row in &table.rows { tr { @for cell in row { td.left { (cell) } } } } }
                    }
                }
            }
            footer { "bufferlab " (env!("CARGO_PKG_VERSION")) }
        };
        crate::html::document(&self.title, &body).into_string()
    }
}

/// A self-contained HTML page with these charts.
#[must_use]
pub fn curves_page(title: &str, panels: &[CurvePanel]) -> String {
    CurvesPage { title: title.to_owned(), panels: panels.to_vec(), ..CurvesPage::default() }.html()
}

/// A chart with its legend as an SVG file of its own, in light colours.
#[must_use]
pub fn curve_svg(panel: &CurvePanel) -> String {
    let names =
        panel.lines.iter().enumerate().map(|(number, line)| (svg::style_class(number), &line.name[..]));
    chart(panel).file(&names.collect::<Vec<_>>(), mark(panel))
}

fn mark(panel: &CurvePanel) -> Mark {
    if panel.markers { Mark::Points } else { Mark::Line }
}

fn legend(panel: &CurvePanel) -> Markup {
    html! {
        ul.legend {
            @for (number, line) in panel.lines.iter().enumerate() {
                li { (svg::sample(&svg::style_class(number), mark(panel))) (line.name) }
            }
        }
    }
}

/// A number at an axis, where `0.2` is as exact as `0.200`.
fn tick(value: f64) -> String {
    let text = format::number(value);
    let is_plain = text.contains('.') && text.chars().all(|c| c.is_ascii_digit() || ".-".contains(c));
    if is_plain { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn chart(panel: &CurvePanel) -> Chart {
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let axis = |axis: &CurveAxis, values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match axis.scale {
            CurveScale::Linear => Axis::linear(axis.title.as_str(), least.min(0.0), most, tick),
            CurveScale::Log => Axis::log(axis.title.as_str(), least, most, tick),
        }
    };
    let series = panel.lines.iter().enumerate().map(|(number, line)| Series {
        name: line.name.clone(),
        class: svg::style_class(number),
        mark: mark(panel),
        points: line
            .points
            .iter()
            .map(|point| Point { x: point.x, y: point.y, half: point.half_width, weak: false })
            .collect(),
    });
    Chart {
        title: panel.title.clone(),
        x: axis(&panel.x, points().map(|point| point.x).collect()),
        y: axis(
            &panel.y,
            points().flat_map(|point| [point.y, point.y + point.half_width.unwrap_or(0.0)]).collect(),
        ),
        series: series.collect(),
    }
}
