//! Explorer: lets a reader draw any metric of a grid of results over any axis.
//!
//! The page contains all numbers as JSON, and the script as text, so it needs no network. Without
//! JavaScript the explorer is hidden; the page's fixed charts are always shown.

use crate::statistics::{Change, Estimate};
use maud::{Markup, PreEscaped, html};
use serde::{Serialize, Serializer};

/// Script of the explorer, written by this crate and free of user data.
const SCRIPT: &str = include_str!("html/explorer.js");

/// A grid of results: a mean with its interval for every grid point, metric and scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explorer {
    /// Axes of the grid of results: the varied parameters.
    pub axes: Vec<ExplorerAxis>,
    /// Compared schemes; changes are relative to the first scheme.
    pub schemes: Vec<String>,
    /// Metrics that the explorer can draw.
    pub metrics: Vec<ExplorerMetric>,
    /// Index of the metric that is drawn first. `None` for the first headline metric with
    /// differing values.
    pub first: Option<usize>,
    /// Cells of the grid of results, by metric, scheme and grid point. Grid points are in the order
    /// of the axes, and the last axis varies fastest.
    pub cells: Vec<Vec<Vec<Option<ExplorerCell>>>>,
    /// Reference values from other sources, drawn as hollow markers.
    pub marks: Vec<ExplorerMark>,
}

/// A reference value from another source, drawn as a marker (compare [`crate::CurveMark`]).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplorerMark {
    /// Index of the reference value's metric in the explorer.
    pub metric: usize,
    /// Index of the reference value's scheme in the explorer.
    pub scheme: usize,
    /// Index of the reference value's grid point, in the order of the cells.
    pub place: usize,
    /// Reference value that the hollow marker shows.
    pub value: f64,
    /// Legend entry of the reference value.
    pub legend: String,
    /// Description of the reference value.
    pub note: String,
}

/// An axis of the explorer: a varied parameter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExplorerAxis {
    /// Name of the axis in the URL of an explorer's view.
    pub key: String,
    /// Title of the axis, with the unit of the positions.
    pub title: String,
    /// Axis values as written in the experiment.
    pub values: Vec<String>,
    /// Positions of the values on the axis. `None` if the values are not numbers; the explorer then
    /// draws the values at equal distances.
    pub positions: Option<Vec<f64>>,
}

/// A metric that the explorer can draw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExplorerMetric {
    /// Name of the metric in the URL of an explorer's view.
    pub id: String,
    /// Heading above the metric in the explorer's list of metrics; may be empty.
    pub group: String,
    /// Name of the metric with its unit.
    pub title: String,
    /// Whether the metric is a headline metric, which is listed first.
    pub headline: bool,
    /// Whether the vertical axis is initially logarithmic.
    pub log: bool,
}

/// A cell of the explorer: mean over seeds, and change against the first scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExplorerCell {
    /// Mean of the metric, and its interval over the seeds.
    pub estimate: Estimate,
    /// Relative change against the first scheme, paired by seed; `None` if no
    /// change can be computed.
    pub change: Option<Change>,
}

impl Serialize for ExplorerCell {
    /// Writes the number of seeds, the mean and the half-width of the mean's interval. If the cell
    /// has a change, the change and both ends of its interval follow.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Estimate { seeds, mean, half_width } = self.estimate;
        match self.change {
            None => (seeds, mean, half_width).serialize(to),
            Some(change) => (seeds, mean, half_width, change.mean, change.low, change.high).serialize(to),
        }
    }
}

impl Explorer {
    /// Formats the explorer's HTML. The HTML is hidden until the explorer's script finds the
    /// numbers.
    pub(crate) fn markup(&self) -> Markup {
        // The explorer's data are only numbers and names, so JSON can represent them. The code
        // escapes `<`, because this character could end the script element.
        let data = serde_json::to_string(self).unwrap_or_default().replace('<', "\\u003c");
        html! {
            section #explorer.explorer hidden {}
            script #explorer-data type="application/json" { (PreEscaped(data)) }
            script { (PreEscaped(SCRIPT)) }
        }
    }
}

/// Computes positions of values along an axis. The values are numbers, or sizes, times and rates
/// with their units (`"50 KB"`, `"1 MB"`). The positions have the unit of the first value.
///
/// `None` if a value is neither a number nor a quantity with a unit, or if the values have
/// different kinds.
///
/// ```
/// use bufferlab_report::positions;
/// let texts = |list: &[&str]| list.iter().map(|text| text.to_string()).collect::<Vec<_>>();
/// assert_eq!(positions(&texts(&["500 KB", "1 MB"])), Some((vec![500.0, 1000.0], "KB".to_owned())));
/// assert_eq!(positions(&texts(&["0.2", "0.4"])), Some((vec![0.2, 0.4], String::new())));
/// assert_eq!(positions(&texts(&["dctcp", "cubic"])), None);
/// ```
#[must_use]
pub fn positions(values: &[String]) -> Option<(Vec<f64>, String)> {
    let read: Vec<(f64, &str)> = values.iter().map(|value| quantity(value)).collect::<Option<_>>()?;
    let unit = read.first()?.1;
    if read.iter().all(|(_, other)| *other == unit) {
        return Some((read.iter().map(|(number, _)| *number).collect(), unit.to_owned()));
    }
    let (kind, scale) = scale(unit)?;
    let in_first = |&(number, other): &(f64, &str)| {
        let (of, factor) = self::scale(other)?;
        (of == kind).then_some(number * factor / scale)
    };
    Some((read.iter().map(in_first).collect::<Option<_>>()?, unit.to_owned()))
}

/// Splits a text into a number and its unit, which may be empty.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_matches('"').trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".-+_".contains(c))).unwrap_or(text.len());
    // An exponent such as `e3` is part of the number, but the first letter of a unit is not.
    let end = match text[end..].strip_prefix(['e', 'E']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)) => {
            let rest = rest.find(|c: char| !(c.is_ascii_digit() || "+-".contains(c)));
            rest.map_or(text.len(), |length| end + 1 + length)
        }
        _ => end,
    };
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    let unit = text[end..].trim();
    let is_unit = unit.chars().all(|c| c.is_alphabetic() || "/%".contains(c));
    (number.is_finite() && is_unit).then_some((number, unit))
}

/// Returns the kind of a unit (size, time or rate), and the unit's factor to bytes, ns or bit/s.
fn scale(unit: &str) -> Option<(u8, f64)> {
    Some(match unit {
        "B" => (0, 1.0),
        "KB" | "kB" => (0, 1e3),
        "MB" => (0, 1e6),
        "GB" => (0, 1e9),
        "KiB" => (0, 1024.0),
        "MiB" => (0, 1_048_576.0),
        "GiB" => (0, 1_073_741_824.0),
        "ns" => (1, 1.0),
        "us" | "µs" => (1, 1e3),
        "ms" => (1, 1e6),
        "s" => (1, 1e9),
        "b/s" => (2, 1.0),
        "kb/s" | "Kb/s" => (2, 1e3),
        "Mb/s" => (2, 1e6),
        "Gb/s" => (2, 1e9),
        "Tb/s" => (2, 1e12),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions_of(values: &[&str]) -> Option<(Vec<f64>, String)> {
        positions(&values.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn values_with_units_are_drawn_where_they_are() {
        assert_eq!(positions_of(&["\"900 us\"", "\"1 ms\""]), Some((vec![900.0, 1_000.0], "us".into())));
        assert_eq!(positions_of(&["1e-3", "2"]), Some((vec![0.001, 2.0], String::new())));
        assert_eq!(positions_of(&["10 Gb/s", "400 Mb/s"]), Some((vec![10.0, 0.4], "Gb/s".into())));
        assert_eq!(positions_of(&["1 packet", "2 packet"]), Some((vec![1.0, 2.0], "packet".into())));
        // Values of different kinds, lists and words have no positions on an axis.
        for other in [&["1 KB", "1 us"][..], &["1", "1 KB"], &["[1, 2]", "[3]"], &["true", "1"], &[]] {
            assert_eq!(positions_of(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_cell_is_as_short_as_it_can_be_and_no_name_ends_the_script() {
        let estimate = Estimate { seeds: 2, mean: 0.1, half_width: Some(0.05) };
        let cell = ExplorerCell { estimate, change: None };
        assert_eq!(serde_json::to_string(&cell).expect("JSON"), "[2,0.1,0.05]");
        let change = Change { seeds: 2, mean: 0.1, low: Some(-0.1), high: None };
        let changed = ExplorerCell { change: Some(change), ..cell };
        assert_eq!(serde_json::to_string(&changed).expect("JSON"), "[2,0.1,0.05,0.1,-0.1,null]");
        let explorer = Explorer { schemes: vec!["</script>".to_owned()], ..Explorer::default() };
        let markup = explorer.markup().into_string();
        assert_eq!(markup.matches("</script>").count(), 2, "{markup}");
    }
}
