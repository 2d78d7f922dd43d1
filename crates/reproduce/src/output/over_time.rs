//! Charts of an experiment's quantities over time, and the plotted points as CSV.

use crate::{CourseLine, Results, Runs};
use bufferlab_report::{CurveAxis, CurveLine, CurvePanel, CurveScale};
use std::fmt::Write;

/// Returns charts over time, in the order of the variants. Variants with a single line share a
/// chart; otherwise each variant has a separate chart.
pub(super) fn courses(results: &Results) -> Vec<CurvePanel> {
    let Some(runs) = results.experiment().runs() else { return Vec::new() };
    let mut panels = Vec::new();
    for course in &runs.courses {
        for places in results.grid() {
            let fixed = runs.axes.iter().zip(&places);
            let fixed: Vec<_> = fixed
                .map(|(axis, &place)| format!("{} = {}", axis.title, axis.values[place].label))
                .collect();
            let panel = |note: String, lines: Vec<CurveLine>| CurvePanel {
                title: course.title.clone(),
                note,
                x: CurveAxis { title: course.time(), scale: CurveScale::Linear, names: Vec::new() },
                y: CurveAxis {
                    title: course.unit().to_owned(),
                    scale: CurveScale::Linear,
                    names: Vec::new(),
                },
                lines,
                marks: Vec::new(),
                markers: false,
            };
            let mut shared = Vec::new();
            for (variant, of) in runs.variants.iter().enumerate() {
                match results.course(course, variant, &places) {
                    [] => {}
                    [one] => shared.push(CurveLine::without_intervals(of.name.as_str(), course.drawn(one))),
                    many => {
                        let line = |line: &CourseLine| {
                            CurveLine::without_intervals(line.name.as_str(), course.drawn(line))
                        };
                        let note = std::iter::once(of.name.clone()).chain(fixed.iter().cloned());
                        panels.push(panel(
                            note.collect::<Vec<_>>().join(", "),
                            many.iter().map(line).collect(),
                        ));
                    }
                }
            }
            if !shared.is_empty() {
                panels.push(panel(fixed.join(", "), shared));
            }
        }
    }
    panels
}

/// Formats `courses.csv`: one line per point of a chart over time.
pub(super) fn courses_csv(results: &Results, runs: &Runs) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text: String = runs.axes.iter().map(|axis| quoted(&axis.name) + ",").collect();
    text.push_str("variant,course,line,time_ms,value\n");
    for places in results.grid() {
        let at = runs.axes.iter().zip(&places);
        let at: String = at.map(|(axis, &place)| quoted(&axis.values[place].label) + ",").collect();
        for (variant, of) in runs.variants.iter().enumerate() {
            for course in &runs.courses {
                for line in results.course(course, variant, &places) {
                    for (ms, value) in &line.points {
                        let names = [&of.name, &course.title, &line.name].map(|name| quoted(name)).join(",");
                        // Writing to a string cannot fail.
                        let _ = writeln!(text, "{at}{names},{ms},{value}");
                    }
                }
            }
        }
    }
    text
}
