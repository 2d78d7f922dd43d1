//! Chart of means with their intervals; each mean has a row.

use super::marker::marker;
use super::{Axis, CHARACTER, WIDTH, coordinate, data, wrapped};
use maud::{Markup, html};

/// Mean of one policy as a dot in a [`dots`] chart.
#[derive(Clone, Debug)]
pub(crate) struct Dot {
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) mean: f64,
    pub(crate) half_width: Option<f64>,
}

/// Height of a policy's row in a dot chart, without the policy's name.
const ROW: f64 = 24.0;
/// Distance between two lines of a policy's name above its row.
const NAME_LINE: f64 = 14.0;
/// Longest name beside its row (characters). Longer names are above their rows.
const NAME_MAX: usize = 20;

/// Draws a chart of means with their confidence intervals, a row per policy. If `counts` is set,
/// ticks are at whole numbers.
pub(crate) fn dots(title: &str, unit: &str, dots: &[Dot], text: fn(f64) -> String, counts: bool) -> Markup {
    let low = dots.iter().map(|dot| dot.mean - dot.half_width.unwrap_or(0.0)).fold(f64::INFINITY, f64::min);
    let high =
        dots.iter().map(|dot| dot.mean + dot.half_width.unwrap_or(0.0)).fold(f64::NEG_INFINITY, f64::max);
    // The axis begins at zero, unless the values are too close to each other to be distinguished.
    // If no mean is negative, the quantity has no negative values. An interval that extends below
    // zero (Student's intervals are unbounded) then has an open end at zero.
    let negative = dots.iter().any(|dot| dot.mean < 0.0);
    let start = if low > 0.0 && high > low && high - low < low * 0.25 {
        low - (high - low) * 0.2
    } else if negative {
        low.min(0.0)
    } else {
        0.0
    };
    let axis = Axis::linear(unit, start, if high > start { high } else { start + 1.0 }, text);
    let axis = if counts { axis.with_whole_ticks() } else { axis };
    let widest = dots.iter().map(|dot| dot.name.chars().count()).max().unwrap_or(0);
    let is_above = widest > NAME_MAX;
    let (left, right) = (if is_above { 18.0 } else { widest as f64 * CHARACTER + 14.0 }, WIDTH - 18.0);
    let top = 4.0;
    // Lines of every name, and the middle of the name's row.
    let mut bottom = top;
    let mut rows: Vec<(Vec<String>, f64)> = Vec::new();
    for dot in dots {
        let lines =
            if is_above { wrapped(&dot.name, ((WIDTH - 24.0) / CHARACTER) as usize) } else { Vec::new() };
        let above = lines.len() as f64 * NAME_LINE;
        rows.push((lines, bottom + above + ROW / 2.0));
        bottom += above + ROW;
    }
    let height = bottom + 36.0;
    let at_x = |value: f64| left + axis.place(value) * (right - left);
    let description = dots.iter().map(|dot| format!("{}: {}", dot.name, text(dot.mean))).collect::<Vec<_>>();
    html! {
        figure.chart {
            figcaption { (title) }
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(format!("{title} [{unit}]. {}", description.join(", "))) {
                @for tick in axis.spaced(&at_x, WIDTH) {
                    line.grid x1=(coordinate(at_x(tick))) x2=(coordinate(at_x(tick))) y1=(coordinate(top)) y2=(coordinate(bottom)) {}
                    text.tick.middle x=(coordinate(at_x(tick))) y=(coordinate(bottom + 14.0)) { (text(tick)) }
                }
                text.title.middle x=(coordinate((left + right) / 2.0)) y=(coordinate(height - 5.0)) { (unit) }
                @for (dot, (lines, y)) in dots.iter().zip(&rows) {
                    @if lines.is_empty() { text.name.end x=(coordinate(left - 8.0)) y=(coordinate(y + 4.0)) { (dot.name) } }
                    @for (number, line) in lines.iter().enumerate() {
                        @let above = (lines.len() - number) as f64 * NAME_LINE;
                        text.name x="6" y=(coordinate(y - ROW / 2.0 - above + NAME_LINE - 1.0)) { (line) }
                    }
                    g class=(dot.class) {
                        title { (dot.name) ": " (text(dot.mean)) @if let Some(half) = dot.half_width { " ± " (text(half)) } }
                        @if let Some(half) = dot.half_width {
                            @let (a, b) = (at_x(dot.mean - half), at_x(dot.mean + half));
                            path.whisker d=(format!("M{a:.1} {y:.1}H{b:.1}M{b:.1} {:.1}v8", y - 4.0)) {}
                            @if !axis.is_below(dot.mean - half) { path.whisker d=(format!("M{a:.1} {:.1}v8", y - 4.0)) {} }
                        }
                        path.mark d=(marker(&dot.class, at_x(dot.mean), *y, 1.0)) {}
                    }
                }
            }
            (data::hidden(&data::of_dots(unit, dots)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(means: &[(f64, f64)]) -> String {
        let dot = |(at, (mean, half)): (usize, &(f64, f64))| Dot {
            name: format!("p{at}"),
            class: format!("s{at}"),
            mean: *mean,
            half_width: Some(*half),
        };
        let list: Vec<Dot> = means.iter().enumerate().map(dot).collect();
        dots("t", "ms", &list, |value| format!("[{value}]"), false).into_string()
    }

    #[test]
    fn a_long_name_is_whole_and_above_its_row() {
        let name =
            "dt(alpha=0.5) + switch.buffer_per_port_per_gbps=9.6 KB + transport.dctcp.initial_window=10";
        let dot = Dot { name: name.into(), class: "s0".into(), mean: 1.0, half_width: None };
        let text = dots("t", "ms", &[dot], |value| value.to_string(), false).into_string();
        let shown: Vec<&str> = text
            .split("<text class=\"name\"")
            .skip(1)
            .filter_map(|rest| rest.split_once('>')?.1.split_once("</text>"))
            .map(|(line, _)| line)
            .collect();
        assert_eq!(shown.join(" "), name, "{text}");
        assert!(shown.len() > 1 && !text.contains('…'));
    }

    #[test]
    fn a_quantity_that_is_never_negative_has_no_negative_axis() {
        let text = drawn(&[(9.7, 7.0), (2.0, 6.0)]);
        assert!(!text.contains("[-") && text.contains(">[0]<"), "{text}");
        // The first mean's interval has bars at both ends, the second mean's interval only at its
        // upper end.
        assert_eq!(text.matches("v8").count(), 3, "{text}");
        assert!(drawn(&[(-1.0, 0.5)]).contains("[-"));
    }
}
