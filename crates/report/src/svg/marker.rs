//! Markers: eight outlines that distinguish eight series without colour, and their
//! samples in legends.

use super::{Mark, coordinate};
use maud::{Markup, html};
use std::fmt::Write;

/// Size of a hollow marker relative to other markers.
pub(super) const HOLLOW: f64 = 1.9;

/// Corners of the outlines around their centre. The first outline, a circle, has no corners.
/// `explorer.js` has a copy.
const OUTLINES: [&[(f64, f64)]; 8] = [
    &[],
    &[(-3.0, -3.0), (3.0, -3.0), (3.0, 3.0), (-3.0, 3.0)],
    &[(0.0, -4.5), (4.0, 2.5), (-4.0, 2.5)],
    &[(0.0, -4.2), (4.2, 0.0), (0.0, 4.2), (-4.2, 0.0)],
    // The marker's outline is an upright cross.
    &[
        (-1.1, -4.0),
        (1.1, -4.0),
        (1.1, -1.1),
        (4.0, -1.1),
        (4.0, 1.1),
        (1.1, 1.1),
        (1.1, 4.0),
        (-1.1, 4.0),
        (-1.1, 1.1),
        (-4.0, 1.1),
        (-4.0, -1.1),
        (-1.1, -1.1),
    ],
    // The marker's outline is a triangle with its tip down.
    &[(0.0, 4.5), (4.0, -2.5), (-4.0, -2.5)],
    // The marker's outline is an hourglass.
    &[(-3.4, -4.0), (3.4, -4.0), (-3.4, 4.0), (3.4, 4.0)],
    // The marker's outline is a diagonal cross.
    &[
        (-3.6, -2.1),
        (-2.1, -3.6),
        (0.0, -1.5),
        (2.1, -3.6),
        (3.6, -2.1),
        (1.5, 0.0),
        (3.6, 2.1),
        (2.1, 3.6),
        (0.0, 1.5),
        (-2.1, 3.6),
        (-3.6, 2.1),
        (-1.5, 0.0),
    ],
];

/// Number of a series' style; 0 for CSS classes that are named by meaning.
pub(super) fn style_number(class: &str) -> usize {
    class.strip_prefix('s').and_then(|n| n.parse::<usize>().ok()).unwrap_or(0)
}

/// Draws the outline of a series' marker, `size` times the size of a point's marker.
pub(super) fn marker(class: &str, x: f64, y: f64, size: f64) -> String {
    let outline = OUTLINES[style_number(class) % OUTLINES.len()];
    if outline.is_empty() {
        let (radius, across) = (3.5 * size, 7.0 * size);
        let from = x - radius;
        return format!(
            "M{from:.1} {y:.1}a{radius:.2} {radius:.2} 0 1 0 {across:.2} 0a{radius:.2} {radius:.2} 0 1 0 -{across:.2} 0Z"
        );
    }
    let (mut before, mut path) = (outline[0], String::new());
    // Writing into a string cannot fail.
    let _ = write!(path, "M{} {}", coordinate(x + before.0 * size), coordinate(y + before.1 * size));
    for corner in &outline[1..] {
        let (dx, dy) = ((corner.0 - before.0) * size, (corner.1 - before.1) * size);
        let _ = match (dx == 0.0, dy == 0.0) {
            (_, true) => write!(path, "h{dx:.2}"),
            (true, _) => write!(path, "v{dy:.2}"),
            _ => write!(path, "l{dx:.2} {dy:.2}"),
        };
        before = *corner;
    }
    path + "Z"
}

/// Draws a short sample of a series' line and marker, for legends.
pub(crate) fn sample(class: &str, mark: Mark) -> Markup {
    html! {
        svg.sample viewBox="0 0 30 12" aria-hidden="true" {
            g class=(class) { (swatch(class, mark)) }
        }
    }
}

/// Draws the legend symbol of a series, 30 units wide and 12 units high.
pub(super) fn swatch(class: &str, mark: Mark) -> Markup {
    html! {
        @match mark {
            Mark::Area => path.area d="M1 11V3H29V11Z" {},
            Mark::Hollow => path.mark.hollow d=(marker(class, 15.0, 6.0, 1.4)) {},
            Mark::Line | Mark::Points | Mark::Traced => {
                path.line d="M1 6H29" {}
                @if mark != Mark::Line { path.mark d=(marker(class, 15.0, 6.0, 1.0)) {} }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart_style::STYLES;
    use crate::svg::style_class;
    use std::collections::BTreeSet;

    #[test]
    fn every_style_has_an_outline_of_its_own() {
        let outlines: BTreeSet<String> =
            (0..STYLES).map(|number| marker(&style_class(number), 10.0, 10.0, 1.0)).collect();
        assert_eq!(outlines.len(), STYLES);
    }

    #[test]
    fn the_explorer_draws_the_same_outlines() {
        let script = include_str!("../html/explorer.js");
        let lists = OUTLINES[1..].iter().map(|corners| {
            let corners: Vec<String> = corners.iter().map(|(x, y)| format!("[{x}, {y}]")).collect();
            format!("[{}]", corners.join(", "))
        });
        for list in lists {
            assert!(script.contains(&list), "{list}");
        }
    }
}
