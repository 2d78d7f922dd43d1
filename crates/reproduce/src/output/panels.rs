//! Charts of an experiment's metrics over its axes.

use crate::mark::{marks, placed};
use crate::{Axis, Estimates};
use bufferlab_report::format::leading_number;
use bufferlab_report::{CurveAxis, CurveLine, CurvePanel, CurvePoint, CurveScale};

/// Draws every chart, once for every combination of values on the axes after the first axis.
///
/// The charts depend only on the estimates, so a figure can be drawn again from its `values.csv`.
#[must_use]
pub fn panels(estimates: &Estimates) -> Vec<CurvePanel> {
    let Some(runs) = estimates.experiment().runs() else { return Vec::new() };
    let Some(axis) = runs.axes.first() else { return Vec::new() };
    let grid = estimates.grid();
    let mut others: Vec<&[usize]> = Vec::new();
    for places in grid {
        if !others.contains(&&places[1..]) {
            others.push(&places[1..]);
        }
    }
    let placed = placed(estimates);
    let mut panels = Vec::new();
    for panel in &runs.panels {
        for other in &others {
            let mut lines = Vec::new();
            let shown = runs.variants.iter().enumerate().filter(|(_, of)| panel.shows(&of.name));
            for (variant, of) in shown {
                let mut points = Vec::new();
                for places in grid.iter().filter(|places| &places[1..] == *other) {
                    if let Some(mean) = estimates.get(&panel.metric, variant, places) {
                        let x = axis.values[places[0]].x;
                        points.push(CurvePoint { x, y: mean.mean, half_width: mean.half_width });
                    }
                }
                if !points.is_empty() {
                    lines.push(CurveLine { name: of.name.clone(), points });
                }
            }
            if lines.is_empty() {
                continue;
            }
            let fixed = runs.axes[1..].iter().zip(*other);
            let fixed: Vec<_> = fixed
                .map(|(axis, &place)| format!("{} = {}", axis.title, axis.values[place].label))
                .collect();
            let logarithmic =
                panel.log && lines.iter().flat_map(|line| &line.points).all(|point| point.y > 0.0);
            panels.push(CurvePanel {
                title: panel.title.clone(),
                note: fixed.join(", "),
                x: CurveAxis { title: axis.title.clone(), scale: CurveScale::Linear, names: names(axis) },
                y: CurveAxis {
                    title: runs.metrics[&panel.metric].axis_label(),
                    scale: if logarithmic { CurveScale::Log } else { CurveScale::Linear },
                    names: Vec::new(),
                },
                marks: marks(&placed, panel, other),
                lines,
                markers: true,
            });
        }
    }
    panels
}

/// Returns positions and labels of the values on an axis, if at least one label is not a number.
fn names(axis: &Axis) -> Vec<(f64, String)> {
    if axis.values.iter().all(|value| leading_number(&value.label).is_some()) {
        return Vec::new();
    }
    axis.values.iter().map(|value| (value.x, value.label.clone())).collect()
}
