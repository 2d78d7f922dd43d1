//! Charts and values of analytical figures, whose points are computed without runs.

use bufferlab_report::{CurveAxis, CurveLine, CurvePanel, CurveScale};
use bufferlab_theory::figures::{Axis, Figure, Scale};
use std::fmt::Write;

/// Converts the values of an analytical figure, which formulas give, to charts.
#[must_use]
pub fn theory_panels(figures: &[Figure]) -> Vec<CurvePanel> {
    figures.iter().map(panel).collect()
}

/// Formats one line per point of a chart: `panel,line,x,y`. The names of chart lines are quoted,
/// because these names may contain commas.
#[must_use]
pub fn theory_csv(figures: &[Figure]) -> String {
    let mut text = String::from("panel,line,x,y\n");
    for figure in figures {
        for series in &figure.series {
            for (x, y) in &series.points {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{},\"{}\",{x},{y}", figure.name, series.name.replace('"', "\"\""));
            }
        }
    }
    text
}

fn panel(figure: &Figure) -> CurvePanel {
    let axis = |axis: &Axis| CurveAxis {
        title: axis.title.clone(),
        scale: match axis.scale {
            Scale::Linear => CurveScale::Linear,
            Scale::Log => CurveScale::Log,
        },
        names: Vec::new(),
    };
    let line = |series: &bufferlab_theory::figures::Series| {
        CurveLine::without_intervals(series.name.as_str(), series.points.iter().copied())
    };
    CurvePanel {
        title: figure.title.clone(),
        note: figure.note.clone(),
        x: axis(&figure.x),
        y: axis(&figure.y),
        lines: figure.series.iter().map(line).collect(),
        marks: Vec::new(),
        markers: false,
    }
}
