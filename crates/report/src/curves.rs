//! Curves on a separate page, in the style of the report: sweeps, figures of papers, and
//! figures without runs.

use crate::caveat::CaveatRecord;
use crate::error::ReportError;
use crate::explorer::Explorer;
use crate::finding::Sentence;
use crate::format;
use crate::svg::{self, Axis, Chart, HeatMap, Mark, Point, Series};
use maud::{Markup, html};

/// Scale of a chart's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveScale {
    /// A linear axis has equal steps for equal differences.
    Linear,
    /// A logarithmic axis has equal steps for equal ratios; all values are above zero.
    Log,
}

/// Axis of a chart: its title with the unit, and its scale.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveAxis {
    /// Title of the axis, for example "rate of the burst (line rates)".
    pub title: String,
    /// Scale of the axis: linear or logarithmic.
    pub scale: CurveScale,
    /// Tick labels of a horizontal axis whose values are not numbers, such as congestion controls.
    /// An axis of numbers has no tick labels.
    pub names: Vec<(f64, String)>,
}

/// A line of a chart, with its points.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveLine {
    /// Name of the line in the legend.
    pub name: String,
    /// Points of the line, in drawing order.
    pub points: Vec<CurvePoint>,
}

/// A point of a chart's line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Horizontal value of the point.
    pub x: f64,
    /// Vertical value of the point.
    pub y: f64,
    /// Half-width of the interval around `y`, if known. A line with intervals has
    /// markers at its points.
    pub half_width: Option<f64>,
}

impl CurveLine {
    /// Creates a line of a chart without intervals.
    #[must_use]
    pub fn without_intervals(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| CurvePoint { x, y, half_width: None }).collect();
        Self { name: name.into(), points }
    }
}

/// A reference value from another source, drawn as a hollow marker in the colour of its line.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveMark {
    /// Name of the chart's line to which the reference value belongs.
    pub line: String,
    /// Horizontal position of the reference value.
    pub x: f64,
    /// Reference value on the vertical axis. A logarithmic axis omits values at or below zero.
    pub y: f64,
    /// Legend entry of the reference value. Reference values of one line share an entry if their
    /// texts are equal.
    pub legend: String,
    /// Description of the reference value, shown as a tooltip.
    pub note: String,
}

/// A line chart on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePanel {
    /// Caption of the chart.
    pub title: String,
    /// Parameters and sources of the chart, below its drawing.
    pub note: String,
    /// Horizontal axis of the chart.
    pub x: CurveAxis,
    /// Vertical axis of the chart.
    pub y: CurveAxis,
    /// Lines that the chart draws.
    pub lines: Vec<CurveLine>,
    /// Reference values from other sources, drawn in the chart.
    pub marks: Vec<CurveMark>,
    /// Whether points have markers. Markers suit values that were measured at a few points only.
    pub markers: bool,
}

/// A table below the charts of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTable {
    /// Heading of the table.
    pub title: String,
    /// Column headers of the table.
    pub header: Vec<String>,
    /// Rows of the table, each with one cell per header.
    pub rows: Vec<Vec<String>>,
}

/// A page of line charts and tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurvesPage {
    /// Heading of the page.
    pub title: String,
    /// Findings of the page, directly below the heading.
    pub finding: Vec<Sentence>,
    /// Explanation of how reliable a sentence of the findings is.
    pub judgement: Option<&'static str>,
    /// Description of the page's content, below the findings; one paragraph per element.
    pub about: Vec<String>,
    /// Facts about the runs of the page, each as a name and a value.
    pub facts: Vec<(String, String)>,
    /// Caveats of the page, each with the affected points; the text is empty if all
    /// points are affected.
    pub caveats: Vec<(CaveatRecord, String)>,
    /// Links to related pages, each with the path and the name of the page.
    pub links: Vec<(String, String)>,
    /// Interactive explorer of the page, for readers with JavaScript.
    pub explorer: Option<Explorer>,
    /// Whether the explorer is above the charts instead of at the end, for charts that show only an
    /// extract of the results.
    pub explorer_first: bool,
    /// Line charts of the page.
    pub panels: Vec<CurvePanel>,
    /// Heat maps of the page, below the charts.
    pub heat_maps: Vec<HeatMap>,
    /// Tables of the page, below the charts and heat maps.
    pub tables: Vec<PageTable>,
}

/// A table cell with more bytes gets a wider column; on phones its table has one cell per line.
const LONG_CELL: usize = 48;

impl CurvesPage {
    /// Formats the page as one HTML file without external references.
    #[must_use]
    pub fn html(&self) -> String {
        let body = html! {
            h1 { (self.title) }
            div.first.beside[!self.facts.is_empty()] {
                div {
                    (crate::html::summary::sentences(&self.finding, self.judgement))
                    @for paragraph in &self.about { p { (crate::page::prose(paragraph)) } }
                    @if !self.caveats.is_empty() { (crate::page::caveats(&self.caveats)) }
                }
                @if !self.facts.is_empty() {
                    dl.facts.what { @for (name, what) in &self.facts { dt { (name) } dd { (what) } } }
                }
            }
            @if !self.links.is_empty() {
                ul { @for (path, name) in &self.links { li { a href=(path) { (name) } } } }
            }
            @if let Some(explorer) = self.explorer.as_ref().filter(|_| self.explorer_first) {
                (explorer.markup())
                @if !self.panels.is_empty() { h2 { "At a glance" } }
            }
            div.charts {
                @for (panel, piece) in self.panels.iter().flat_map(|panel| pieces(panel).into_iter().map(move |piece| (panel, piece))) {
                    // Charts with equal captions get a heading that distinguishes the charts.
                    @let above = self.panels.iter().filter(|other| other.title == panel.title).count() > 1;
                    div {
                        @if above && !piece.note.is_empty() { p.soft.above { (piece.note) } }
                        (chart_within(&piece, panel).markup())
                        (legend(&piece))
                        @if !above && !piece.note.is_empty() { p.soft { (piece.note) } }
                    }
                }
            }
            @if !self.heat_maps.is_empty() {
                h2 { "Two axes at a time" }
                div.charts { @for map in &self.heat_maps { div { (map.markup()) } } }
            }
            @for table in &self.tables {
                @let stacked = table.rows.iter().flatten().any(|cell| cell.len() > LONG_CELL);
                h2 { (table.title) }
                div.scroll {
                    table.words.stacked[stacked] {
                        thead { tr { @for name in &table.header { th.left { (name) } } } }
                        tbody {
                            @for row in &table.rows {
                                tr {
                                    @for (name, cell) in table.header.iter().zip(row) {
                                        td.left.long[cell.len() > LONG_CELL] data-label=(name) { (cell) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(explorer) = self.explorer.as_ref().filter(|_| !self.explorer_first) { (explorer.markup()) }
            footer { "bufferlab " (env!("CARGO_PKG_VERSION")) }
        };
        let has_charts = self.explorer.is_some() || !self.panels.is_empty() || !self.heat_maps.is_empty();
        crate::page::finish(crate::page::document(&self.title, &body, has_charts))
    }
}

/// Formats a self-contained HTML page with the given charts.
#[must_use]
pub fn curves_page(title: &str, panels: &[CurvePanel]) -> String {
    CurvesPage { title: title.to_owned(), panels: panels.to_vec(), ..CurvesPage::default() }.html()
}

/// Formats a chart with its legend as a separate SVG file, in light colours.
#[must_use]
pub fn curve_svg(panel: &CurvePanel) -> String {
    chart(panel).file(&legend_entries(panel), &panel.note)
}

/// Draws a chart as a PNG image, 1,280 pixels wide. The function uses the program's bundled fonts,
/// so every machine draws identical bytes.
///
/// # Errors
/// If a text contains characters that cannot be drawn, such as control characters.
pub fn curve_png(panel: &CurvePanel) -> Result<Vec<u8>, ReportError> {
    crate::picture::png(&curve_svg(panel), &panel.title)
}

/// Draws a chart, and returns the entries of the chart's legend.
pub(crate) fn drawing(panel: &CurvePanel) -> (Chart, Vec<svg::Entry>) {
    (chart(panel), legend_entries(panel))
}

fn mark(panel: &CurvePanel) -> Mark {
    if panel.markers { Mark::Points } else { Mark::Line }
}

/// Returns the CSS class of the line with this name.
fn class_of(panel: &CurvePanel, line: &str) -> String {
    svg::style_class(panel.lines.iter().position(|known| known.name == line).unwrap_or(0))
}

/// Returns CSS class, style and text of every legend entry: first lines, then reference values.
fn legend_entries(panel: &CurvePanel) -> Vec<(String, Mark, String)> {
    let lines = panel.lines.iter().enumerate();
    let mut entries: Vec<_> =
        lines.map(|(number, line)| (svg::style_class(number), mark(panel), line.name.clone())).collect();
    for shown in marks(panel) {
        let entry = (class_of(panel, &shown.line), Mark::Hollow, shown.legend.clone());
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries
}

/// Returns the reference values that the chart's axes can show.
fn marks(panel: &CurvePanel) -> impl Iterator<Item = &CurveMark> {
    panel.marks.iter().filter(|mark| mark.y > 0.0 || panel.y.scale == CurveScale::Linear)
}

fn legend(panel: &CurvePanel) -> Markup {
    html! {
        ul.legend {
            @for (class, mark, text) in legend_entries(panel) { li { (svg::sample(&class, mark)) (text) } }
        }
    }
}

/// Formats the number at a tick of an axis, without zeros at the end of the decimals.
fn tick(value: f64) -> String {
    let text = format::number(value);
    let is_plain = text.contains('.') && text.chars().all(|c| c.is_ascii_digit() || ".-".contains(c));
    if is_plain { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Splits a chart with more lines than styles into several small charts. Each small chart has the
/// first line for comparison, and draws a part of the other lines in the remaining styles.
fn pieces(panel: &CurvePanel) -> Vec<CurvePanel> {
    let Some((first, others)) =
        panel.lines.split_first().filter(|_| panel.lines.len() > crate::chart_style::STYLES)
    else {
        return vec![panel.clone()];
    };
    let groups: Vec<_> = others.chunks(crate::chart_style::STYLES - 1).collect();
    let piece = |(number, group): (usize, &&[CurveLine])| {
        let lines: Vec<CurveLine> = std::iter::once(first).chain(*group).cloned().collect();
        let marks = panel.marks.iter().filter(|mark| lines.iter().any(|line| line.name == mark.line));
        CurvePanel {
            title: format!("{} ({} of {})", panel.title, number + 1, groups.len()),
            marks: marks.cloned().collect(),
            lines,
            ..panel.clone()
        }
    };
    groups.iter().enumerate().map(piece).collect()
}

fn chart(panel: &CurvePanel) -> Chart {
    chart_within(panel, panel)
}

/// Draws one of several small charts with the axes of `whole`, so that the charts can be compared.
fn chart_within(panel: &CurvePanel, whole: &CurvePanel) -> Chart {
    let elsewhere = || marks(panel);
    let series = panel.lines.iter().enumerate().map(|(number, line)| Series {
        name: line.name.clone(),
        class: svg::style_class(number),
        mark: mark(panel),
        points: line
            .points
            .iter()
            .map(|point| Point { half: point.half_width, ..Point::from((point.x, point.y)) })
            .collect(),
    });
    let hollow = elsewhere().map(|mark| Series {
        name: mark.note.clone(),
        class: class_of(panel, &mark.line),
        mark: Mark::Hollow,
        points: vec![(mark.x, mark.y).into()],
    });
    let series = series.chain(hollow);
    Chart { title: panel.title.clone(), x: horizontal(whole), y: vertical(whole), series: series.collect() }
}

/// Returns the least and the greatest of the given coordinates.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
}

/// Returns the horizontal axis from the first to the last point. A linear axis begins at zero if
/// the first point is near zero.
fn horizontal(panel: &CurvePanel) -> Axis {
    let points = panel.lines.iter().flat_map(|line| &line.points).map(|point| point.x);
    let (least, most) = ends(points.chain(marks(panel).map(|mark| mark.x)));
    let title = panel.x.title.as_str();
    let axis = match panel.x.scale {
        _ if !panel.x.names.is_empty() => return Axis::named(title, &panel.x.names),
        CurveScale::Log => Axis::log(title, least, most, tick),
        CurveScale::Linear if least > (most - least) * 0.4 && most > least => {
            Axis::linear(title, least, most, tick)
        }
        CurveScale::Linear => Axis::linear(title, least.min(0.0), most, tick),
    };
    if panel.markers || panel.marks.iter().len() > 0 { axis.with_room() } else { axis }
}

/// Returns the vertical axis, which includes whole intervals. A linear axis begins at zero, or
/// below if a value is below zero. An interval that extends below zero has an open end. On a
/// logarithmic axis, an interval that extends below a tenth of its mean has an open end, too.
fn vertical(panel: &CurvePanel) -> Axis {
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let half = |point: &CurvePoint| point.half_width.unwrap_or(0.0);
    let (lowest, _) = ends(points().map(|point| point.y).chain(marks(panel).map(|mark| mark.y)));
    let tops = points().map(|point| point.y + half(point));
    let (_, most) = ends(tops.chain(marks(panel).map(|mark| mark.y)));
    let title = panel.y.title.as_str();
    match panel.y.scale {
        CurveScale::Log => {
            let feet = points().map(|point| (point.y - half(point)).max(point.y / 10.0));
            let positive = feet.chain(marks(panel).map(|mark| mark.y)).filter(|value| *value > 0.0);
            let (least, _) = ends(positive);
            // The margin keeps points off the frame of the chart.
            let least = if least.is_finite() { least / 1.1 } else { most };
            Axis::log(title, least, most * 1.05, tick)
        }
        CurveScale::Linear if lowest < 0.0 => {
            let (least, _) = ends(points().map(|point| point.y - half(point)));
            Axis::linear(title, least.min(lowest), most, tick)
        }
        CurveScale::Linear => Axis::linear(title, 0.0, most, tick),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::SentenceKind;

    fn panel(scale: CurveScale) -> CurvePanel {
        let axis = |title: &str, scale| CurveAxis { title: title.to_owned(), scale, names: Vec::new() };
        let mark = |line: &str, y: f64, note: &str| CurveMark {
            line: line.to_owned(),
            x: 0.8,
            y,
            legend: format!("where the paper's numbers would put {line}"),
            note: note.to_owned(),
        };
        CurvePanel {
            title: "p99 FCT slowdown of the answers (θ, ≤ 100 KB)".to_owned(),
            note: "congestion control = cubic".to_owned(),
            x: axis("load", CurveScale::Linear),
            y: axis("slowdown", scale),
            lines: vec![
                CurveLine::without_intervals("dt", [(0.2, 10.0), (0.8, 100.0)]),
                CurveLine::without_intervals("abm", [(0.2, 9.0), (0.8, 11.0)]),
            ],
            marks: vec![mark("abm", 6.0, "F6a-3"), mark("abm", 20.0, "F6a-4"), mark("dt", 0.0, "none left")],
            markers: true,
        }
    }

    /// An axis whose values are not numbers has a named tick at each value, and no other ticks.
    #[test]
    fn places_that_are_no_numbers_have_their_names() {
        let mut panel = panel(CurveScale::Linear);
        panel.x.names = vec![(0.2, "Cubic".to_owned()), (0.8, "DCTCP".to_owned())];
        let svg = curve_svg(&panel);
        assert!(svg.contains(">Cubic</text>") && svg.contains(">DCTCP</text>"), "{svg}");
        assert!(!svg.contains(">0.5</text>"), "{svg}");
    }

    #[test]
    fn numbers_from_elsewhere_are_hollow_in_the_colour_of_their_line_with_one_entry_per_line() {
        let svg = curve_svg(&panel(CurveScale::Linear));
        assert_eq!(svg.matches("would put abm").count(), 1, "{svg}");
        assert_eq!(svg.matches("would put dt").count(), 1, "{svg}");
        let of_abm = svg.split("<g class=\"s1\">").filter(|part| part.contains("F6a-")).count();
        assert_eq!((of_abm, svg.matches("mark hollow").count()), (2, 3 + 2), "{svg}");
        assert!(svg.contains("congestion control = cubic"), "{svg}");
    }

    #[test]
    fn the_axes_have_room_for_numbers_from_elsewhere_and_a_logarithm_none_for_zero() {
        let chart = chart(&panel(CurveScale::Log));
        assert_eq!(chart.series.iter().filter(|series| series.mark == Mark::Hollow).count(), 2);
        assert!(chart.y.place(6.0) > 0.0 && chart.y.place(6.0) < 0.1);
        assert!(chart.y.place(9.0) > chart.y.place(6.0) + 0.05);
        assert!(!curve_svg(&panel(CurveScale::Log)).contains("would put dt"));
    }

    #[test]
    fn intervals_are_not_cut_off_and_stand_side_by_side() {
        for scale in [CurveScale::Linear, CurveScale::Log] {
            let mut panel = panel(scale);
            panel.marks.clear();
            for line in &mut panel.lines {
                for point in &mut line.points {
                    point.half_width = Some(4.0);
                }
            }
            let axis = vertical(&panel);
            // The vertical intervals of the line's points are 9 ± 4 and 100 ± 4.
            assert!(axis.place(5.0) > 0.0 && axis.place(104.0) < 1.0, "{axis:?}");
            let svg = curve_svg(&panel);
            let whiskers = svg.split("class=\"whisker\" d=\"M").skip(1);
            let places: Vec<&str> = whiskers.filter_map(|rest| rest.split(' ').next()).collect();
            let different: std::collections::BTreeSet<&str> = places.iter().copied().collect();
            assert_eq!((places.len(), different.len()), (4, 4), "{svg}");
            assert_eq!(svg.contains("slowdown, logarithmic"), scale == CurveScale::Log);
        }
    }

    #[test]
    fn more_lines_than_styles_are_drawn_in_pieces_with_one_scale() {
        let mut many = panel(CurveScale::Linear);
        many.lines = (0..25)
            .map(|n| CurveLine::without_intervals(format!("p{n}"), [(0.2, 1.0), (0.8, f64::from(n))]))
            .collect();
        many.marks.clear();
        let html = curves_page("many", std::slice::from_ref(&many));
        assert_eq!((html.matches("<figcaption>").count(), html.matches("(4 of 4)").count()), (4, 2));
        // Every small chart has the first line, and each other line is in one small chart. The
        // title of a line occurs once.
        let of = |name: &str| html.matches(&format!("<title>{name}</title>")).count();
        assert_eq!((of("p0"), of("p1"), of("p24")), (4, 1, 1));
        assert!(pieces(&many).iter().all(|piece| piece.lines.len() <= crate::chart_style::STYLES));
        // The axis of every small chart includes the value of the line p24, which is 24.
        let first = chart_within(&pieces(&many)[0], &many);
        assert!(first.y.place(24.0) > 0.9 && first.y.place(8.0) < 0.4);
    }

    #[test]
    fn a_horizontal_axis_begins_where_the_points_do() {
        let mut panel = panel(CurveScale::Linear);
        panel.marks.clear();
        for line in &mut panel.lines {
            line.points[0].x = 0.5;
        }
        // Markers of the first chart do not cover the labels of the vertical axis.
        let place = horizontal(&panel).place(0.5);
        assert!(place > 0.02 && place < 0.05, "{place}");
        panel.markers = false;
        assert_eq!(horizontal(&panel).place(0.5), 0.0);
    }

    #[test]
    fn the_finding_is_the_first_thing_below_the_heading() {
        let finding = vec![Sentence { kind: SentenceKind::Difference, text: "abm ends sooner.".to_owned() }];
        let about = vec!["What is seen.".to_owned()];
        let html = CurvesPage { title: "t".to_owned(), finding, about, ..CurvesPage::default() }.html();
        let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} is missing"));
        assert!(
            place("</h1>") < place("abm ends sooner.") && place("abm ends sooner.") < place("What is seen.")
        );
        assert!(!html.contains("How this is judged"), "nobody said how");
    }

    #[test]
    fn a_picture_is_the_same_each_time_and_holds_every_letter() {
        let panel = panel(CurveScale::Linear);
        let picture = curve_png(&panel).expect("it can be drawn");
        assert!(picture.starts_with(b"\x89PNG"));
        assert!(picture == curve_png(&panel).expect("it can be drawn"));
        // The width of the image is 400 x 1.6 x 2 pixels.
        assert_eq!(picture[16..20], 1_280_u32.to_be_bytes());
        // A picture without the title must differ, which proves that the image has letters.
        let silent = CurvePanel { title: String::new(), ..panel.clone() };
        assert!(picture != curve_png(&silent).expect("it can be drawn"));
        let greek = CurvePanel { title: panel.title.replace('θ', "γ"), ..panel };
        assert!(picture != curve_png(&greek).expect("it can be drawn"));
    }

    #[test]
    fn what_no_picture_can_show_is_an_error_that_names_the_chart() {
        let panel = CurvePanel { title: "bell \u{7}".to_owned(), ..panel(CurveScale::Linear) };
        let error = curve_png(&panel).expect_err("XML has no such character").to_string();
        assert!(error.contains("cannot draw \"bell"), "{error}");
    }
}
