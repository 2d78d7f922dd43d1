//! Charts as inline SVG, drawn for a width of 400: at that width and above every label is readable.
//!
//! Colours, dashes and fonts come from the page's style sheet, so that a chart follows light and dark; series differ in
//! dash and marker too, so that colour is never the only difference.

mod timeline;

pub(crate) use timeline::{Timeline, TimelineRow};

use maud::{Markup, html};
use std::fmt::Write;

/// Drawing area.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 250.0;
/// Width of a character of the chart font at 12 units, somewhat wide of the mark.
const CHARACTER: f64 = 6.9;
/// Series styles in the style sheet.
pub(crate) const STYLES: usize = 8;

/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

/// An axis with its ticks.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    title: String,
    scale: Scale,
    min: f64,
    max: f64,
    ticks: Vec<f64>,
    text: fn(f64) -> String,
}

impl Axis {
    /// From `min` to at least `max`, rounded up to a tick.
    pub(crate) fn linear(title: impl Into<String>, min: f64, max: f64, text: fn(f64) -> String) -> Self {
        let span = if max > min { max - min } else { 1.0 };
        let rough = span / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough * 0.999);
        let step = step.unwrap_or(10.0 * power);
        let (first, last) = ((min / step).floor() as i64, ((min + span) / step - 1e-9).ceil() as i64);
        let ticks: Vec<f64> = (first..=last).map(|k| k as f64 * step).collect();
        Self {
            title: title.into(),
            scale: Scale::Linear,
            min: ticks[0],
            max: ticks[ticks.len() - 1],
            ticks,
            text,
        }
    }

    /// From `min` to exactly `max`, which means something (a buffer's size) and need not be a tick.
    pub(crate) fn linear_to(title: impl Into<String>, min: f64, max: f64, text: fn(f64) -> String) -> Self {
        let mut axis = Self::linear(title, min, max, text);
        if max > axis.min {
            axis.ticks.retain(|tick| *tick <= max * (1.0 + 1e-9));
            axis.max = max;
        }
        axis
    }

    /// From `min` to `max`, both positive, on a logarithmic scale.
    pub(crate) fn log(title: impl Into<String>, min: f64, max: f64, text: fn(f64) -> String) -> Self {
        let min = min.max(1e-12);
        let max = max.max(min * 1.5);
        let decades = (max / min).log10();
        // Few decades need ticks in between; many would crowd.
        let (multiples, every): (&[f64], i32) = match decades {
            d if d < 1.2 => (&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], 1),
            d if d < 2.6 => (&[1.0, 2.0, 5.0], 1),
            d if d < 7.0 => (&[1.0], 1),
            _ => (&[1.0], 2),
        };
        let from = min.log10().floor() as i32;
        let to = max.log10().ceil() as i32;
        let ticks = (from..=to)
            .filter(|decade| decade.rem_euclid(every) == 0)
            .flat_map(|decade| multiples.iter().map(move |m| m * 10_f64.powi(decade)))
            .filter(|tick| (min * 0.999..=max * 1.001).contains(tick))
            .collect();
        Self { title: title.into(), scale: Scale::Log, min, max, ticks, text }
    }

    /// Where `value` lies, 0 at the start and 1 at the end; values beyond are put at the ends.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => (value - self.min) / (self.max - self.min),
            Scale::Log => (value.max(self.min) / self.min).ln() / (self.max / self.min).ln(),
        };
        place.clamp(0.0, 1.0)
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A line.
    Line,
    /// A line with a marker at every point.
    Points,
    /// A filled area down to the axis.
    Area,
    /// Hollow markers without a line, larger than those of points, so that one of each at a place can be seen.
    Hollow,
}

/// A point of a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Half of an interval around `y`, drawn as a whisker.
    pub(crate) half: Option<f64>,
    /// Too few samples: drawn hollow.
    pub(crate) weak: bool,
    /// No line leads to it: between it and the point before, nothing is known.
    pub(crate) lifted: bool,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y, half: None, weak: false, lifted: false }
    }
}

/// A series.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// CSS class: `s0` … for policies, others by meaning.
    pub(crate) class: String,
    pub(crate) mark: Mark,
    pub(crate) points: Vec<Point>,
}

/// A time during which something held.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) name: String,
    /// Drawn as an outline.
    pub(crate) hollow: bool,
}

/// A row of bars below a chart, along its horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Strip {
    pub(crate) name: String,
    /// CSS class.
    pub(crate) class: String,
    pub(crate) segments: Vec<Segment>,
}

/// The class of the n-th policy.
pub(crate) fn style_class(number: usize) -> String {
    format!("s{}", number % STYLES)
}

/// A line chart with its caption.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

impl Chart {
    pub(crate) fn markup(&self) -> Markup {
        self.markup_with(&[])
    }

    /// With rows of bars below it.
    pub(crate) fn markup_with(&self, strips: &[Strip]) -> Markup {
        const ROW: f64 = 18.0;
        let height = HEIGHT + strips.len() as f64 * ROW;
        let texts = self.y.ticks.iter().map(|tick| (self.y.text)(*tick).chars().count());
        let widest = texts.chain(strips.iter().map(|strip| strip.name.chars().count())).max().unwrap_or(1);
        let (left, right) = (widest as f64 * CHARACTER + 10.0, WIDTH - 14.0);
        let (top, bottom) = (24.0, HEIGHT - 40.0);
        let at_x = |value: f64| left + self.x.place(value) * (right - left);
        let at_y = |value: f64| bottom - self.y.place(value) * (bottom - top);
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
                    @for tick in &self.y.ticks {
                        line.grid x1=(coordinate(left)) x2=(coordinate(right)) y1=(coordinate(at_y(*tick))) y2=(coordinate(at_y(*tick))) {}
                        text.tick.end x=(coordinate(left - 5.0)) y=(coordinate(at_y(*tick) + 4.0)) { ((self.y.text)(*tick)) }
                    }
                    @for tick in spaced(&self.x, &at_x, WIDTH) {
                        line.grid x1=(coordinate(at_x(tick))) x2=(coordinate(at_x(tick))) y1=(coordinate(top)) y2=(coordinate(bottom)) {}
                        text.tick.middle x=(coordinate(at_x(tick))) y=(coordinate(bottom + 15.0)) { ((self.x.text)(tick)) }
                    }
                    path.frame d=(format!("M{left:.1} {top:.1}V{bottom:.1}H{right:.1}")) {}
                    text.title x="2" y="12" { (self.y.title) }
                    text.title.middle x=(coordinate((left + right) / 2.0)) y=(coordinate(HEIGHT - 6.0)) { (self.x.title) }
                    @for series in &self.series {
                        (draw(series, &at_x, &at_y, bottom))
                    }
                    @for (row, strip) in strips.iter().enumerate() {
                        @let y = HEIGHT + row as f64 * ROW;
                        text.tick.end x=(coordinate(left - 5.0)) y=(coordinate(y + 11.0)) { (strip.name) }
                        g class=(strip.class) {
                            @for segment in &strip.segments { (bar(segment, at_x(segment.from), at_x(segment.to), y)) }
                        }
                    }
                }
            }
        }
    }
}

impl Chart {
    /// The chart with its caption, a legend (class, style and text) and a note as an SVG file of its own: no
    /// references, no variables, light colours.
    pub(crate) fn file(&self, legend: &[(String, Mark, String)], note: &str) -> String {
        const LINE: f64 = 18.0;
        let lines = wrapped(note, ((WIDTH - 24.0) / CHARACTER) as usize);
        // Bold letters are wider.
        let caption = wrapped(&self.title, (WIDTH / CHARACTER / 1.15) as usize);
        let top = 8.0 + caption.len() as f64 * 16.0;
        let page = self.markup().into_string();
        let inner = page.split_once("<svg").and_then(|(_, rest)| rest.split_once('>'));
        let inner = inner.and_then(|(_, rest)| rest.rsplit_once("</svg>")).map_or("", |(inner, _)| inner);
        let height = top + HEIGHT + (legend.len() + lines.len()) as f64 * LINE + 6.0;
        let drawn = html! {
            @for (row, line) in caption.iter().enumerate() {
                text.caption x="2" y=(coordinate(16.0 + row as f64 * 16.0)) { (line) }
            }
            g transform=(format!("translate(0 {:.0})", top - 2.0)) { (maud::PreEscaped(inner)) }
            @for (row, (class, mark, name)) in legend.iter().enumerate() {
                @let y = top + HEIGHT + row as f64 * LINE;
                g class=(class) transform=(format!("translate(12 {y:.0})")) { (swatch(class, *mark)) }
                text x="48" y=(coordinate(y + 10.0)) { (name) }
            }
            @for (row, line) in lines.iter().enumerate() {
                text.tick x="12" y=(coordinate(top + 10.0 + HEIGHT + (legend.len() + row) as f64 * LINE)) { (line) }
            }
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{:.0}\" height=\"{:.0}\">\n\
             <style>{}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}\n</svg>\n",
            WIDTH * 1.6,
            height * 1.6,
            crate::page::file_style(),
            drawn.into_string()
        )
    }
}

/// A bar of a strip, with its name where there is room.
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

/// Ticks whose labels do not touch: a label that would is left out, and its line with it.
fn spaced(axis: &Axis, at: &dyn Fn(f64) -> f64, width: f64) -> Vec<f64> {
    let mut end = f64::NEG_INFINITY;
    let fits = |tick: &f64| {
        let half = (axis.text)(*tick).chars().count() as f64 * CHARACTER / 2.0;
        let place = at(*tick);
        let free = place - half > end + 4.0 && place + half <= width + 2.0;
        if free {
            end = place + half;
        }
        free
    };
    axis.ticks
        .iter()
        .copied()
        .filter({
            let mut fits = fits;
            move |tick| fits(tick)
        })
        .collect()
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

/// How much larger than others a hollow marker is.
const HOLLOW: f64 = 1.9;

/// The outline of a series' marker: circle, square, triangle, diamond in turn; `size` times as large as that of a
/// point.
fn marker(class: &str, x: f64, y: f64, size: f64) -> String {
    let number = class.strip_prefix('s').and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
    let [three, radius, four, across] = [3.0, 3.5, 4.0, 7.0].map(|length| length * size);
    match number % 4 {
        0 => format!(
            "M{:.1} {y:.1}a{radius:.2} {radius:.2} 0 1 0 {across:.2} 0a{radius:.2} {radius:.2} 0 1 0 -{across:.2} 0Z",
            x - radius
        ),
        1 => format!("M{:.1} {:.1}h{w:.2}v{w:.2}h-{w:.2}Z", x - three, y - three, w = 2.0 * three),
        2 => format!("M{x:.1} {:.1}l{four:.2} {across:.2}h-{w:.2}Z", y - 4.5 * size, w = 2.0 * four),
        _ => {
            format!("M{x:.1} {:.1}l{four:.2} {four:.2}l-{four:.2} {four:.2}l-{four:.2} -{four:.2}Z", y - four)
        }
    }
}

/// A short sample of a series' line and marker, for legends.
pub(crate) fn sample(class: &str, mark: Mark) -> Markup {
    html! {
        svg.sample viewBox="0 0 30 12" aria-hidden="true" {
            g class=(class) { (swatch(class, mark)) }
        }
    }
}

/// What stands for a series in a legend, 30 wide and 12 high.
fn swatch(class: &str, mark: Mark) -> Markup {
    html! {
        @match mark {
            Mark::Area => path.area d="M1 11V3H29V11Z" {},
            Mark::Hollow => path.mark.hollow d=(marker(class, 15.0, 6.0, 1.4)) {},
            Mark::Line | Mark::Points => {
                path.line d="M1 6H29" {}
                @if mark == Mark::Points { path.mark d=(marker(class, 15.0, 6.0, 1.0)) {} }
            }
        }
    }
}

/// Lines of at most so many characters, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// One policy of a [`dots`] chart.
#[derive(Clone, Debug)]
pub(crate) struct Dot {
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) mean: f64,
    pub(crate) half_width: Option<f64>,
}

/// Means with their confidence intervals, a row per policy.
pub(crate) fn dots(title: &str, unit: &str, dots: &[Dot], text: fn(f64) -> String) -> Markup {
    const ROW: f64 = 24.0;
    const NAME_MAX: usize = 20;
    let low = dots.iter().map(|dot| dot.mean - dot.half_width.unwrap_or(0.0)).fold(f64::INFINITY, f64::min);
    let high =
        dots.iter().map(|dot| dot.mean + dot.half_width.unwrap_or(0.0)).fold(f64::NEG_INFINITY, f64::max);
    // From zero, unless the values are so close to each other that nothing could be seen.
    let start = if low > 0.0 && high > low && high - low < low * 0.25 {
        low - (high - low) * 0.2
    } else {
        low.min(0.0)
    };
    let axis = Axis::linear(unit, start, if high > start { high } else { start + 1.0 }, text);
    let short = |name: &str| -> String {
        if name.chars().count() <= NAME_MAX {
            name.to_owned()
        } else {
            name.chars().take(NAME_MAX - 1).chain(['…']).collect()
        }
    };
    let widest = dots.iter().map(|dot| short(&dot.name).chars().count()).max().unwrap_or(0);
    let (left, right) = (widest as f64 * CHARACTER + 14.0, WIDTH - 18.0);
    let (top, bottom) = (4.0, 4.0 + dots.len() as f64 * ROW);
    let height = bottom + 36.0;
    let at_x = |value: f64| left + axis.place(value) * (right - left);
    let description = dots.iter().map(|dot| format!("{}: {}", dot.name, text(dot.mean))).collect::<Vec<_>>();
    html! {
        figure.chart {
            figcaption { (title) }
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(format!("{title} [{unit}]. {}", description.join(", "))) {
                @for tick in spaced(&axis, &at_x, WIDTH) {
                    line.grid x1=(coordinate(at_x(tick))) x2=(coordinate(at_x(tick))) y1=(coordinate(top)) y2=(coordinate(bottom)) {}
                    text.tick.middle x=(coordinate(at_x(tick))) y=(coordinate(bottom + 14.0)) { (text(tick)) }
                }
                text.title.middle x=(coordinate((left + right) / 2.0)) y=(coordinate(height - 5.0)) { (unit) }
                @for (row, dot) in dots.iter().enumerate() {
                    @let y = top + (row as f64 + 0.5) * ROW;
                    text.name.end x=(coordinate(left - 8.0)) y=(coordinate(y + 4.0)) { (short(&dot.name)) title { (dot.name) } }
                    g class=(dot.class) {
                        title { (dot.name) ": " (text(dot.mean)) @if let Some(half) = dot.half_width { " ± " (text(half)) } }
                        @if let Some(half) = dot.half_width {
                            @let (a, b) = (at_x(dot.mean - half), at_x(dot.mean + half));
                            path.whisker d=(format!("M{a:.1} {y:.1}H{b:.1}M{a:.1} {:.1}v8M{b:.1} {:.1}v8", y - 4.0, y - 4.0)) {}
                        }
                        path.mark d=(marker(&dot.class, at_x(dot.mean), y, 1.0)) {}
                    }
                }
            }
        }
    }
}

/// A coordinate with one decimal: more would only make the page larger.
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
    fn linear_ticks_are_round_and_cover_the_range() {
        let axis = Axis::linear("x", 0.0, 93.0, plain);
        assert_eq!(axis.ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!((axis.place(0.0), axis.place(50.0), axis.place(1e9)), (0.0, 0.5, 1.0));
        // Nothing to show is no reason to divide by zero.
        assert!(Axis::linear("x", 0.0, 0.0, plain).place(0.5).is_finite());
    }

    #[test]
    fn an_axis_may_end_between_two_ticks() {
        let axis = Axis::linear_to("x", 0.0, 93.0, plain);
        assert_eq!(axis.ticks, [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(axis.place(93.0), 1.0);
        assert!(Axis::linear_to("x", 0.0, 0.0, plain).place(0.5).is_finite());
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
    fn log_ticks_thin_out_with_the_number_of_decades() {
        assert_eq!(Axis::log("x", 1.0, 1e4, plain).ticks, [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert_eq!(Axis::log("x", 1.0, 60.0, plain).ticks, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        assert!((Axis::log("x", 1.0, 100.0, plain).place(10.0) - 0.5).abs() < 1e-12);
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
        // Twice as a tooltip, once as a text.
        assert_eq!((with.matches("evacuation").count(), with.matches("port 0").count()), (3, 1));
    }

    #[test]
    fn notes_are_broken_between_words() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("incomprehensibilities are kept", 7), ["incomprehensibilities", "are", "kept"]);
        assert!(wrapped("", 7).is_empty());
    }

    #[test]
    fn labels_that_would_touch_are_left_out() {
        let axis = Axis::log("x", 1.0, 10.0, |value| format!("{value} very long"));
        let ticks = spaced(&axis, &|value| axis.place(value) * 100.0, WIDTH);
        assert!(ticks.len() < axis.ticks.len());
    }
}
