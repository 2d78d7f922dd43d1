//! Heat maps: a value for every pair of positions on two axes, as a shade and as a number.
//!
//! Shades have one hue from light to dark. So their order is visible without colour vision and on
//! paper. Large cells also contain the number.

use super::{CHARACTER, TITLE_LINE, WIDTH, coordinate, data, wrapped};
use crate::format;
use maud::{Markup, html};

/// Height of a row in the heat map.
const ROW: f64 = 24.0;
/// Opacity of the lightest shade, and the difference to the darkest shade.
const SHADES: (f64, f64) = (0.06, 0.84);

/// A heat map: a grid of values, drawn as shades.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// Caption of the heat map.
    pub title: String,
    /// Title of the heat map's horizontal axis, with its unit.
    pub x_title: String,
    /// Names of the heat map's columns.
    pub columns: Vec<String>,
    /// Title of the heat map's vertical axis, with its unit.
    pub y_title: String,
    /// Names of the heat map's rows.
    pub rows: Vec<String>,
    /// Title of the heat map's values, with their unit.
    pub value_title: String,
    /// Values by row and column; `None` for a cell without a value.
    pub values: Vec<Vec<Option<f64>>>,
    /// Values of the lightest and of the darkest shade, equal for maps that are to be compared.
    pub range: (f64, f64),
}

impl HeatMap {
    /// Returns the opacity that represents a value of the heat map.
    fn shade(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        let part = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
        SHADES.0 + SHADES.1 * part
    }

    /// Draws the heat map with its caption and its scale.
    pub(crate) fn markup(&self) -> Markup {
        let widest = self.rows.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let left = (widest as f64 * CHARACTER + 10.0).min(WIDTH / 2.0);
        let title_width = (WIDTH / CHARACTER) as usize - 1;
        let (x_title, y_title) = (wrapped(&self.x_title, title_width), wrapped(&self.y_title, title_width));
        let top = 12.0 + y_title.len() as f64 * TITLE_LINE;
        let width = (WIDTH - 14.0 - left) / self.columns.len().max(1) as f64;
        let bottom = top + self.rows.len() as f64 * ROW;
        let scale = format!(
            "{}: light {}, dark {}",
            self.value_title,
            format::number(self.range.0),
            format::number(self.range.1)
        );
        let scale = wrapped(&scale, title_width);
        let height = bottom + 20.0 + (x_title.len() + scale.len()) as f64 * TITLE_LINE + 8.0;
        // Every `step`-th column has a name, so that the names fit side by side.
        let longest = self.columns.iter().map(|name| name.chars().count()).max().unwrap_or(1);
        let step = ((longest as f64 * CHARACTER + 6.0) / width).ceil().max(1.0) as usize;
        let description =
            format!("{}. {} by {} and {}.", self.title, self.value_title, self.x_title, self.y_title);
        let middle = |column: usize| left + (column as f64 + 0.5) * width;
        html! {
            figure.chart {
                figcaption { (self.title) }
                svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(description) {
                    @for (row, line) in y_title.iter().enumerate() {
                        text.title x="2" y=(coordinate(12.0 + row as f64 * TITLE_LINE)) { (line) }
                    }
                    @for (row, name) in self.rows.iter().enumerate() {
                        @let y = top + row as f64 * ROW;
                        text.tick.end x=(coordinate(left - 5.0)) y=(coordinate(y + 16.0)) { (name) }
                        g.s0 {
                            @for (column, value) in self.values[row].iter().enumerate() {
                                (self.cell(*value, (left + column as f64 * width, y, width)))
                            }
                        }
                    }
                    @for (column, name) in self.columns.iter().enumerate().step_by(step) {
                        text.tick.middle x=(coordinate(middle(column))) y=(coordinate(bottom + 15.0)) { (name) }
                    }
                    @for (row, line) in x_title.iter().chain(&scale).enumerate() {
                        text.title.middle x=(coordinate((left + WIDTH - 14.0) / 2.0)) y=(coordinate(bottom + 30.0 + row as f64 * TITLE_LINE)) { (line) }
                    }
                }
                (data::hidden(&self.lines()))
            }
        }
    }

    fn cell(&self, value: Option<f64>, (x, y, width): (f64, f64, f64)) -> Markup {
        let Some(value) = value else {
            return html! { text.tick.middle x=(coordinate(x + width / 2.0)) y=(coordinate(y + 16.0)) { "–" } };
        };
        let (shade, text) = (self.shade(value), format::number(value));
        let fits = text.chars().count() as f64 * CHARACTER + 2.0 < width;
        html! {
            rect.heat x=(coordinate(x)) y=(coordinate(y)) width=(coordinate(width)) height=(coordinate(ROW)) fill-opacity=(format!("{shade:.2}")) {
                title { (text) }
            }
            @if fits {
                text.middle.inverse[shade > 0.55] x=(coordinate(x + width / 2.0)) y=(coordinate(y + 16.0)) { (text) }
            }
        }
    }

    /// Formats the values of the heat map as CSV.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![data::line(&[self.y_title.as_str(), &self.x_title, &self.value_title])];
        for (row, values) in self.rows.iter().zip(&self.values) {
            for (column, value) in self.columns.iter().zip(values) {
                let value = value.map(|value| value.to_string()).unwrap_or_default();
                lines.push(data::line(&[row.as_str(), column, &value]));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> HeatMap {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        HeatMap {
            title: "dt: QCT, mean".to_owned(),
            x_title: "buffer [KB]".to_owned(),
            columns: names(&["50", "100"]),
            y_title: "marking".to_owned(),
            rows: names(&["none", "step"]),
            value_title: "QCT, mean [ms]".to_owned(),
            values: vec![vec![Some(1.0), Some(5.0)], vec![None, Some(3.0)]],
            range: (1.0, 5.0),
        }
    }

    #[test]
    fn shades_follow_the_values_and_what_is_missing_has_none() {
        let page = map().markup().into_string();
        for shade in ["0.06", "0.90", "0.48"] {
            assert_eq!(page.matches(&format!("fill-opacity=\"{shade}\"")).count(), 1, "{shade}: {page}");
        }
        assert_eq!(page.matches("class=\"heat\"").count(), 3, "{page}");
        assert!(page.contains(">–<") && page.contains("light 1.00, dark 5.00"), "{page}");
        // Dark cells of the heat map have light numbers.
        assert!(page.contains("class=\"middle inverse\"") && page.contains(">5.00</text>"), "{page}");
    }

    #[test]
    fn the_numbers_can_be_saved() {
        let lines = map().lines();
        assert_eq!(lines[0], "marking,buffer [KB],\"QCT, mean [ms]\"");
        assert_eq!(lines[1..], ["none,50,1", "none,100,5", "step,50,", "step,100,3"]);
    }

    #[test]
    fn where_all_values_are_the_same_the_shade_is_in_the_middle() {
        let same = HeatMap { range: (2.0, 2.0), ..map() };
        assert!((same.shade(2.0) - 0.48).abs() < 1e-9);
    }
}
