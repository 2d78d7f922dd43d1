//! Charts as inline SVG, drawn for a width of 400: every label is readable from that width on.
//!
//! The page's style sheet sets colours, dashes and fonts, so that a chart follows light and dark
//! mode. Series also differ in dash and marker, so that colour is never the only difference.

mod axis;
mod data;
mod dots;
mod heat;
mod legend;
mod marker;
mod timeline;

pub(crate) use axis::Axis;
pub(crate) use dots::{Dot, dots};
pub use heat::HeatMap;
pub(crate) use legend::Entry;
pub(crate) use marker::sample;
pub(crate) use timeline::{Timeline, TimelineRow};

use marker::{HOLLOW, marker, style_number, swatch};

use crate::chart_style::{FigureStyle, STYLES};
use crate::format::wrapped;
use maud::{Markup, html};
use std::fmt::Write;

/// Width of a chart's drawing area (units of the drawing).
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 250.0;
/// Width of a character of the chart font at 12 units, slightly overestimated.
const CHARACTER: f64 = 6.9;
/// Distance between two lines of an axis title (units of the drawing).
const TITLE_LINE: f64 = 14.0;

/// Drawing style of a chart's series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The series is drawn as a line.
    Line,
    /// The series is a line. A few markers along the line identify the series without colour; these
    /// markers are not data points.
    Traced,
    /// The series is a line with a marker at every point.
    Points,
    /// The series is a filled area down to the axis.
    Area,
    /// The series consists of hollow markers without a line. Hollow markers are larger than the
    /// markers of points, so that both kinds are visible at one position.
    Hollow,
}

/// A data point of a series in a chart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Half-width of an interval around `y`, drawn as a whisker.
    pub(crate) half: Option<f64>,
    /// Whether the point has too few samples and is drawn hollow.
    pub(crate) weak: bool,
    /// Whether no line connects the point to the previous one, because the values in
    /// between are unknown.
    pub(crate) lifted: bool,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y, half: None, weak: false, lifted: false }
    }
}

/// A series of points that a chart draws.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// CSS class of the series: `s0` … for policies, otherwise named by meaning.
    pub(crate) class: String,
    pub(crate) mark: Mark,
    pub(crate) points: Vec<Point>,
}

/// A bar of a strip: a span of time in which a state lasted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) name: String,
    /// Whether the bar of the strip is drawn as an outline.
    pub(crate) hollow: bool,
}

/// A strip of bars below a chart, along the chart's horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Strip {
    pub(crate) name: String,
    /// CSS class of the bars in the strip.
    pub(crate) class: String,
    pub(crate) segments: Vec<Segment>,
}

/// Returns the CSS class of the n-th policy.
pub(crate) fn style_class(number: usize) -> String {
    format!("s{}", number % STYLES)
}

impl FigureStyle {
    /// Width of the file, and the unit of the width.
    fn width(self) -> (f64, &'static str) {
        match self {
            Self::Screen => (WIDTH * 1.6, ""),
            Self::Paper => (240.0, "pt"),
        }
    }
}

/// A line chart with its caption.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

/// Positions of the parts of a chart (units of the drawing).
struct Layout {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// Height of the chart without strips of bars.
    height: f64,
    x_title: Vec<String>,
    y_title: Vec<String>,
}

impl Chart {
    fn layout(&self, strips: &[Strip]) -> Layout {
        let title_width = (WIDTH / CHARACTER) as usize - 1;
        let lines = |title: &str| wrapped(title, title_width);
        let (x_title, y_title) = (lines(&self.x.title), lines(&self.y.title));
        let more = |lines: &[String]| lines.len().saturating_sub(1) as f64 * TITLE_LINE;
        let texts = self.y.ticks.iter().map(|tick| (self.y.text)(*tick).chars().count());
        let widest = texts.chain(strips.iter().map(|strip| strip.name.chars().count())).max().unwrap_or(1);
        let top = 24.0 + more(&y_title);
        let bottom = HEIGHT - 40.0 + more(&y_title);
        Layout {
            left: widest as f64 * CHARACTER + 10.0,
            right: WIDTH - 14.0,
            top,
            bottom,
            height: HEIGHT + more(&y_title) + more(&x_title),
            x_title,
            y_title,
        }
    }

    /// Formats the points of the chart as lines of CSV.
    pub(crate) fn csv(&self) -> Vec<String> {
        data::of_series(&self.x.title, &self.y.title, &self.series, &[])
    }

    pub(crate) fn markup(&self) -> Markup {
        self.markup_with(&[])
    }

    /// Draws the chart with strips of bars below the chart.
    pub(crate) fn markup_with(&self, strips: &[Strip]) -> Markup {
        const ROW: f64 = 18.0;
        let layout = self.layout(strips);
        let Layout { left, right, .. } = layout;
        let height = layout.height + strips.len() as f64 * ROW;
        let at_x = |value: f64| left + self.x.place(value) * (right - left);
        let description = format!(
            "{}. Horizontal: {}. Vertical: {}. Series: {}.",
            self.title,
            self.x.title,
            self.y.title,
            self.series.iter().map(|series| series.name.as_str()).collect::<Vec<_>>().join(", ")
        );
        html! {
            figure.chart {
                figcaption { (self.title) }
                svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(description) {
                    (self.frame(&layout))
                    (self.lines(&layout))
                    @for (row, strip) in strips.iter().enumerate() {
                        @let y = layout.height + row as f64 * ROW;
                        text.tick.end x=(coordinate(left - 5.0)) y=(coordinate(y + 11.0)) { (strip.name) }
                        g class=(strip.class) {
                            @for segment in &strip.segments { (bar(segment, at_x(segment.from), at_x(segment.to), y)) }
                        }
                    }
                }
                (data::hidden(&data::of_series(&self.x.title, &self.y.title, &self.series, strips)))
            }
        }
    }

    /// Draws ticks, titles and the frame of the chart.
    fn frame(&self, layout: &Layout) -> Markup {
        let Layout { left, right, top, bottom, height, .. } = *layout;
        let at_x = |value: f64| left + self.x.place(value) * (right - left);
        let at_y = |value: f64| bottom - self.y.place(value) * (bottom - top);
        let above_foot = layout.x_title.len().saturating_sub(1);
        html! {
            @for tick in &self.y.ticks {
                line.grid x1=(coordinate(left)) x2=(coordinate(right)) y1=(coordinate(at_y(*tick))) y2=(coordinate(at_y(*tick))) {}
                text.tick.end x=(coordinate(left - 5.0)) y=(coordinate(at_y(*tick) + 4.0)) { ((self.y.text)(*tick)) }
            }
            @for tick in self.x.spaced(&at_x, WIDTH) {
                line.grid x1=(coordinate(at_x(tick))) x2=(coordinate(at_x(tick))) y1=(coordinate(top)) y2=(coordinate(bottom)) {}
                text.tick.middle x=(coordinate(at_x(tick))) y=(coordinate(bottom + 15.0)) { (self.x.label(tick)) }
            }
            path.frame d=(format!("M{left:.1} {top:.1}V{bottom:.1}H{right:.1}")) {}
            @for (row, line) in layout.y_title.iter().enumerate() {
                text.title x="2" y=(coordinate(12.0 + row as f64 * TITLE_LINE)) { (line) }
            }
            @for (row, line) in layout.x_title.iter().enumerate() {
                @let y = height - 6.0 - (above_foot - row) as f64 * TITLE_LINE;
                text.title.middle x=(coordinate((left + right) / 2.0)) y=(coordinate(y)) { (line) }
            }
        }
    }

    /// Draws the series. Series with intervals are shifted sideways, so that no
    /// series hides another.
    fn lines(&self, layout: &Layout) -> Markup {
        let Layout { left, right, top, bottom, .. } = *layout;
        let at_y = |value: f64| bottom - self.y.place(value) * (bottom - top);
        let with_intervals = |series: &&Series| {
            series.mark == Mark::Points && series.points.iter().any(|point| point.half.is_some())
        };
        let beside = self.series.iter().filter(with_intervals).count();
        let mut number = 0;
        let mut offset = |series: &Series| {
            if beside < 2 || !with_intervals(&series) {
                return 0.0;
            }
            number += 1;
            (f64::from(number - 1) - (beside - 1) as f64 / 2.0) * f64::min(4.0, 16.0 / beside as f64)
        };
        html! {
            @for series in &self.series {
                @let aside = offset(series);
                @let at_x = |value: f64| left + self.x.place(value) * (right - left) + aside;
                (draw(series, &at_x, &at_y, bottom))
            }
        }
    }
}

impl Chart {
    /// Draws the chart with its caption, a legend (class, style and text) and a note as a separate
    /// SVG file. The file has light colours, no references and no variables.
    pub(crate) fn file(&self, legend: &[(String, Mark, String)], note: &str) -> String {
        self.file_in(FigureStyle::Screen, legend, note)
    }

    /// Draws the chart as an SVG file in the style for a screen or a paper. Figures for a paper
    /// have no caption, because the paper prints the caption. Their legend is inside the plot if
    /// the plot has enough space.
    pub(crate) fn file_in(
        &self,
        style: FigureStyle,
        legend: &[(String, Mark, String)],
        note: &str,
    ) -> String {
        const LINE: f64 = 18.0;
        let entries = legend;
        let inside = if style == FigureStyle::Paper { legend::inside(self, entries) } else { None };
        let (chart, place) = inside.map_or((None, None), |(chart, place)| (Some(chart), Some(place)));
        let chart = chart.as_ref().unwrap_or(self);
        let legend = if place.is_some() { &[] } else { legend };
        let lines = wrapped(note, ((WIDTH - 24.0) / CHARACTER) as usize);
        // The caption is bold, and bold letters are 15 % wider.
        let caption = match style {
            FigureStyle::Screen => wrapped(&self.title, (WIDTH / CHARACTER / 1.15) as usize),
            FigureStyle::Paper => Vec::new(),
        };
        let top = 8.0 + caption.len() as f64 * 16.0;
        let layout = chart.layout(&[]);
        let chart_height = layout.height;
        // A legend text that is wider than the file continues on the next line.
        let legend: Vec<(usize, &legend::Entry, String)> = legend
            .iter()
            .flat_map(|entry| {
                let lines = wrapped(&entry.2, ((WIDTH - 52.0) / CHARACTER) as usize);
                lines.into_iter().enumerate().map(move |(number, line)| (number, entry, line))
            })
            .collect();
        let height = top + chart_height + (legend.len() + lines.len()) as f64 * LINE + 6.0;
        let drawn = html! {
            @for (row, line) in caption.iter().enumerate() {
                text.caption x="2" y=(coordinate(16.0 + row as f64 * 16.0)) { (line) }
            }
            g transform=(format!("translate(0 {:.0})", top - 2.0)) {
                (chart.frame(&layout))
                @if let Some(place) = &place { (place.markup(entries)) }
                (chart.lines(&layout))
            }
            @for (row, (number, (class, mark, _), name)) in legend.iter().enumerate() {
                @let y = top + chart_height + row as f64 * LINE;
                @if *number == 0 {
                    g class=(class) transform=(format!("translate(12 {y:.0})")) { (swatch(class, *mark)) }
                }
                text x="48" y=(coordinate(y + 10.0)) { (name) }
            }
            @for (row, line) in lines.iter().enumerate() {
                text.tick x="12" y=(coordinate(top + 10.0 + chart_height + (legend.len() + row) as f64 * LINE)) { (line) }
            }
        };
        let (width, unit) = style.width();
        let scale = width / WIDTH;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{width:.0}{unit}\" height=\"{:.0}{unit}\">\n\
             <style>{}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}\n</svg>\n",
            height * scale,
            crate::chart_style::of_files(style),
            drawn.into_string()
        )
    }
}

/// Draws a bar of a strip, with its name if the name fits.
fn bar(segment: &Segment, from: f64, to: f64, y: f64) -> Markup {
    let (width, text) = ((to - from).max(1.0), segment.name.chars().count() as f64 * CHARACTER);
    html! {
        rect.bar.weak[segment.hollow] x=(coordinate(from)) y=(coordinate(y)) width=(coordinate(width)) height="15" {
            title { (segment.name) }
        }
        @if text + 4.0 < width {
            text.middle.inverse[!segment.hollow] x=(coordinate(from + width / 2.0)) y=(coordinate(y + 11.0)) { (segment.name) }
        }
    }
}

fn draw(series: &Series, at_x: &dyn Fn(f64) -> f64, at_y: &dyn Fn(f64) -> f64, bottom: f64) -> Markup {
    let mut path = String::new();
    for (number, point) in series.points.iter().enumerate() {
        // Writing into a string cannot fail.
        let pen = if number == 0 || point.lifted { 'M' } else { 'L' };
        let _ = write!(path, "{pen}{:.1} {:.1}", at_x(point.x), at_y(point.y));
    }
    if series.mark == Mark::Area
        && let (Some(first), Some(last)) = (series.points.first(), series.points.last())
    {
        let _ = write!(path, "L{:.1} {bottom:.1}L{:.1} {bottom:.1}Z", at_x(last.x), at_x(first.x));
    }
    html! {
        g class=(series.class) {
            title { (series.name) }
            @if series.mark == Mark::Hollow {
                @for point in &series.points {
                    path.mark.hollow d=(marker(&series.class, at_x(point.x), at_y(point.y), HOLLOW)) {}
                }
            } @else {
                path.area[series.mark == Mark::Area].line[series.mark != Mark::Area] d=(path) {}
            }
            @if series.mark == Mark::Traced {
                @for (x, y) in along(series, at_x, at_y) { path.mark d=(marker(&series.class, x, y, 0.9)) {} }
            }
            @if series.mark == Mark::Points {
                @for point in &series.points {
                    @if let Some(half) = point.half {
                        path.whisker d=(format!("M{:.1} {:.1}V{:.1}", at_x(point.x), at_y(point.y - half), at_y(point.y + half))) {}
                    }
                    path.mark.weak[point.weak] d=(marker(&series.class, at_x(point.x), at_y(point.y), 1.0)) {}
                }
            }
        }
    }
}

/// Positions of markers along a line, at equal distances in the drawing. Each series is offset, so
/// that overlapping lines show all their markers.
fn along(series: &Series, at_x: &dyn Fn(f64) -> f64, at_y: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
    const MARKERS: f64 = 4.0;
    let corners: Vec<(f64, f64)> = series.points.iter().map(|point| (at_x(point.x), at_y(point.y))).collect();
    let pieces: Vec<f64> =
        corners.windows(2).map(|pair| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1)).collect();
    let step = pieces.iter().sum::<f64>() / MARKERS;
    let mut places = Vec::new();
    let mut next = step * (style_number(&series.class) as f64 + 0.5) / STYLES as f64;
    let mut gone = 0.0;
    for (pair, length) in corners.windows(2).zip(pieces) {
        while length > 0.0 && next <= gone + length {
            let part = (next - gone) / length;
            let between = |from: f64, to: f64| from + part * (to - from);
            places.push((between(pair[0].0, pair[1].0), between(pair[0].1, pair[1].1)));
            next += step;
        }
        gone += length;
    }
    places
}

/// Formats a coordinate with one decimal: more digits would only enlarge the page.
fn coordinate(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(value: f64) -> String {
        crate::format::number(value)
    }

    #[test]
    fn a_line_has_a_gap_where_nothing_is_known() {
        let point = |x, lifted| Point { lifted, ..Point::from((x, 1.0)) };
        let series = Series {
            name: "s".into(),
            class: "s0".into(),
            mark: Mark::Line,
            points: vec![point(0.0, false), point(1.0, false), point(2.0, true), point(3.0, false)],
        };
        let drawn = draw(&series, &|x| x, &|y| y, 0.0).into_string();
        assert!(drawn.contains("M0.0 1.0L1.0 1.0M2.0 1.0L3.0 1.0"), "{drawn}");
    }

    #[test]
    fn bars_below_a_chart_carry_their_name_where_it_fits_and_make_the_drawing_higher() {
        let segment = |from, to| Segment { from, to, name: "evacuation".into(), hollow: true };
        let strip = Strip {
            name: "port 0".into(),
            class: "s0".into(),
            segments: vec![segment(0.0, 1.0), segment(5.0, 10.0)],
        };
        let axis = |max| Axis::linear("x", 0.0, max, plain);
        let chart = Chart { title: "t".into(), x: axis(10.0), y: axis(1.0), series: Vec::new() };
        let (without, with) = (chart.markup().into_string(), chart.markup_with(&[strip]).into_string());
        assert!(without.contains("0 0 400 250\"") && with.contains("0 0 400 268\""));
        let with = with.split("<template").next().unwrap();
        // The word "evacuation" occurs twice in tooltips, and once as text on the bar that is wide
        // enough.
        assert_eq!((with.matches("evacuation").count(), with.matches("port 0").count()), (3, 1));
    }

    #[test]
    fn notes_are_broken_between_words() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("incomprehensibilities are kept", 7), ["incomprehensibilities", "are", "kept"]);
        assert!(wrapped("", 7).is_empty());
    }
}
