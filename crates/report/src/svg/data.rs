//! Numbers of a chart as CSV text that a reader of the page can save. The page contains the CSV
//! text in an invisible `template`.

use super::{Series, Strip, TimelineRow};
use crate::svg::Dot;
use maud::{Markup, html};

/// Stores `lines` for the page's script; without the script, the lines have no effect.
pub(super) fn hidden(lines: &[String]) -> Markup {
    html! { template.data { (lines.join("\n")) "\n" } }
}

/// Formats the data points of series, in drawing order, and the strips of bars below the chart. A
/// series of thousands of points is thinned as in the drawing.
pub(super) fn of_series(x: &str, y: &str, series: &[Series], strips: &[Strip]) -> Vec<String> {
    let whiskers = series.iter().flat_map(|series| &series.points).any(|point| point.half.is_some());
    let mut header = vec!["series", x, y];
    if whiskers {
        header.push("half of the interval");
    }
    let mut lines = vec![line(&header)];
    for series in series {
        for point in &series.points {
            let (x, y) = (short(point.x), short(point.y));
            let mut cells = vec![series.name.as_str(), &x, &y];
            let half = point.half.map(short).unwrap_or_default();
            if whiskers {
                cells.push(&half);
            }
            lines.push(line(&cells));
        }
    }
    let bars = strips.iter().map(|strip| (strip.name.as_str(), strip.segments.as_slice()));
    lines.extend(of_bars(x, bars));
    lines
}

/// Formats rows of bars over time as CSV lines.
pub(super) fn of_rows(x: &str, rows: &[TimelineRow]) -> Vec<String> {
    of_bars(x, rows.iter().map(|row| (row.name.as_str(), row.segments.as_slice())))
}

fn of_bars<'a>(x: &str, rows: impl Iterator<Item = (&'a str, &'a [super::Segment])>) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, segments) in rows {
        if lines.is_empty() {
            lines.push(line(&["row", "state", &format!("from, {x}"), &format!("to, {x}")]));
        }
        let of =
            |segment: &super::Segment| line(&[name, &segment.name, &short(segment.from), &short(segment.to)]);
        lines.extend(segments.iter().map(of));
    }
    lines
}

/// Formats means and their confidence intervals as CSV lines.
pub(super) fn of_dots(unit: &str, dots: &[Dot]) -> Vec<String> {
    let row =
        |dot: &Dot| line(&[&dot.name, &short(dot.mean), &dot.half_width.map(short).unwrap_or_default()]);
    std::iter::once(line(&["row", unit, "half of the interval"])).chain(dots.iter().map(row)).collect()
}

/// Formats cells as a CSV line (RFC 4180).
pub(super) fn line(cells: &[&str]) -> String {
    let quoted = cells.iter().map(|cell| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            (*cell).to_owned()
        }
    });
    quoted.collect::<Vec<_>>().join(",")
}

/// Formats a number with six significant digits, the most that the drawing could show.
fn short(value: f64) -> String {
    // The formatted text is a number, so parsing the text cannot fail.
    format!("{value:.5e}").parse().map_or_else(|_| value.to_string(), |rounded: f64| rounded.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::{Mark, Point};

    #[test]
    fn every_point_is_a_line_and_names_are_quoted() {
        let mut points = vec![Point::from((0.1 + 0.2, 1_234_567.0)), Point::from((2.0, 3.0))];
        points[1].half = Some(0.5);
        let series = [Series { name: "a, \"b\"".into(), class: "s0".into(), mark: Mark::Line, points }];
        assert_eq!(
            of_series("time [ms]", "y", &series, &[]),
            [
                "series,time [ms],y,half of the interval",
                "\"a, \"\"b\"\"\",0.3,1234570,",
                "\"a, \"\"b\"\"\",2,3,0.5"
            ]
        );
        let hidden = hidden(&["<b>".to_owned()]).into_string();
        assert_eq!(hidden, "<template class=\"data\">&lt;b&gt;\n</template>");
    }
}
