//! Legend inside the plot of a chart file, at a position where the legend covers no line.

use super::marker::swatch;
use super::{CHARACTER, Chart, Layout, Mark, coordinate};
use maud::{Markup, html};

/// Distance between two rows of the legend (units of the drawing).
const LINE: f64 = 16.0;
/// Distance of the legend to the frame and to lines.
const GAP: f64 = 6.0;
/// Width of a legend's swatch with the space behind the swatch.
const SWATCH: f64 = 36.0;
/// Largest fraction of the plot's height that is added above the lines for a legend.
const ADDED_PART: f64 = 0.45;

/// CSS class, style and text of a legend entry.
pub(crate) type Entry = (String, Mark, String);

/// A legend with its position in the drawing.
pub(super) struct Inside {
    left: f64,
    top: f64,
    rows: usize,
    column: f64,
    width: f64,
}

/// Returns a chart and the position of its legend inside the plot. The vertical axis grows if no
/// corner is free. The result is `None` if the legend is too large, or if the chart has no legend.
pub(super) fn inside(chart: &Chart, entries: &[Entry]) -> Option<(Chart, Inside)> {
    if entries.is_empty() {
        return None;
    }
    let layout = chart.layout(&[]);
    let (width, height) = (layout.right - layout.left, layout.bottom - layout.top);
    let longest = entries.iter().map(|(_, _, text)| text.chars().count()).max().unwrap_or(0);
    let column = SWATCH + longest as f64 * CHARACTER + GAP;
    for columns in 1..=((width - GAP) / column) as usize {
        let rows = entries.len().div_ceil(columns);
        let size = (columns as f64 * column, rows as f64 * LINE);
        let place = |(left, top)| Inside { left, top, rows, column, width: size.0 };
        let corners = corners(&layout, size);
        if let Some(free) = corners.into_iter().find(|corner| is_free(chart, &layout, *corner, size)) {
            return Some((chart.clone(), place(free)));
        }
        let room = (size.1 + 2.0 * GAP) / height;
        // A legend with more columns has fewer rows and less height.
        let is_last = (columns + 1) as f64 * column > width - GAP || rows <= 2;
        if room <= ADDED_PART && is_last {
            let chart = Chart { y: chart.y.clone().with_headroom(room), ..chart.clone() };
            let corner = self::corners(&chart.layout(&[]), size)[0];
            return Some((chart, place(corner)));
        }
    }
    None
}

/// Upper left corners of a legend in the corners and at the middle of the upper and lower edge.
fn corners(layout: &Layout, (width, height): (f64, f64)) -> [(f64, f64); 6] {
    let (left, right) = (layout.left + GAP, layout.right - width);
    let middle = (left + right) / 2.0;
    let (top, bottom) = (layout.top + 2.0, layout.bottom - height - GAP);
    [(right, top), (left, top), (right, bottom), (left, bottom), (middle, top), (middle, bottom)]
}

/// Whether no line, whisker or marker is near the legend's rectangle.
fn is_free(chart: &Chart, layout: &Layout, (left, top): (f64, f64), (width, height): (f64, f64)) -> bool {
    const STEP: f64 = 2.0;
    let at = |x: f64, y: f64| {
        (
            layout.left + chart.x.place(x) * (layout.right - layout.left),
            layout.bottom - chart.y.place(y) * (layout.bottom - layout.top),
        )
    };
    // Series with confidence intervals are shifted sideways, so the legend keeps a wider distance
    // from lines.
    let (aside, near) = (GAP + 8.0, GAP);
    let hits = |(x, y): (f64, f64)| {
        (left - aside..left + width + aside).contains(&x) && (top - near..top + height + near).contains(&y)
    };
    let crosses = |(x0, y0): (f64, f64), (x1, y1): (f64, f64)| {
        let steps = ((x1 - x0).hypot(y1 - y0) / STEP).ceil().max(1.0) as usize;
        (0..=steps).any(|step| {
            let part = step as f64 / steps as f64;
            hits((x0 + part * (x1 - x0), y0 + part * (y1 - y0)))
        })
    };
    chart.series.iter().all(|series| {
        let whiskers = series.points.iter().any(|point| {
            let half = point.half.unwrap_or(0.0);
            crosses(at(point.x, point.y - half), at(point.x, point.y + half))
        });
        let lines =
            series.points.windows(2).any(|pair| crosses(at(pair[0].x, pair[0].y), at(pair[1].x, pair[1].y)));
        let is_line = series.mark != Mark::Hollow;
        !(whiskers || is_line && lines)
    })
}

impl Inside {
    /// Draws swatches and texts on a background that covers the grid.
    pub(super) fn markup(&self, entries: &[Entry]) -> Markup {
        let height = self.rows as f64 * LINE;
        html! {
            rect x=(coordinate(self.left - 2.0)) y=(coordinate(self.top)) width=(coordinate(self.width)) height=(coordinate(height + 2.0)) fill="#ffffff" {}
            @for (at, (class, mark, name)) in entries.iter().enumerate() {
                @let x = self.left + (at / self.rows) as f64 * self.column;
                @let y = self.top + (at % self.rows) as f64 * LINE + 3.0;
                g class=(class) transform=(format!("translate({x:.1} {y:.1})")) { (swatch(class, *mark)) }
                text x=(coordinate(x + SWATCH)) y=(coordinate(y + 10.0)) { (name) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::{Axis, Point, Series};

    fn chart(points: &[(f64, f64)]) -> Chart {
        let axis = || Axis::linear("x", 0.0, 10.0, |value| value.to_string());
        let series = Series {
            name: "dt".into(),
            class: "s0".into(),
            mark: Mark::Points,
            points: points.iter().map(|point| Point::from(*point)).collect(),
        };
        Chart { title: "t".into(), x: axis(), y: axis(), series: vec![series] }
    }

    fn entries(texts: &[&str]) -> Vec<Entry> {
        texts.iter().map(|text| ("s0".into(), Mark::Points, (*text).into())).collect()
    }

    #[test]
    fn a_legend_takes_the_first_free_corner() {
        let entries = entries(&["dt", "abm"]);
        let (_, falling) = inside(&chart(&[(0.0, 10.0), (10.0, 0.0)]), &entries).expect("there is room");
        let (_, rising) = inside(&chart(&[(0.0, 0.0), (10.0, 10.0)]), &entries).expect("there is room");
        assert!(falling.left > 200.0 && falling.top < 100.0, "upper right");
        assert!(rising.left < 100.0 && rising.top < 100.0, "upper left");
    }

    #[test]
    fn a_legend_without_a_free_corner_raises_the_axis() {
        let full =
            [(0.0, 10.0), (5.0, 0.0), (10.0, 10.0), (10.0, 0.0), (0.0, 0.0), (0.0, 10.0), (10.0, 10.0)];
        let entries = entries(&["dt", "abm"]);
        let chart = chart(&full);
        let (raised, _) = inside(&chart, &entries).expect("there is room");
        assert!(raised.y.place(10.0) < 0.9 && chart.y.place(10.0) > 0.9);
        assert!(inside(&chart, &self::entries(&["a very long name of a scheme"; 40])).is_none());
        assert!(inside(&chart, &[]).is_none());
    }
}
