//! `theory figure`: the papers' analytical figures, as points or as a page.

use crate::theory_args::FigureArgs;
use crate::{print, say};
use bufferlab_report::{CurveAxis, CurveLine, CurvePanel, CurveScale, curves_page};
use bufferlab_theory::figures::{Axis, FIGURES, Figure, Scale, find};
use miette::{IntoDiagnostic, WrapErr, miette};
use std::fmt::Write;

/// `theory figure`.
pub(crate) fn figure(args: &FigureArgs) -> miette::Result<()> {
    let Some(name) = &args.name else {
        let width = FIGURES.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        let lines = FIGURES.iter().map(|entry| format!("{:<width$}  {}\n", entry.name, entry.summary));
        return print(&lines.collect::<String>());
    };
    let entry = find(name).ok_or_else(|| miette!("there is no figure \"{name}\""))?;
    let panels = entry.panels().into_diagnostic().wrap_err("this is a bug in bufferlab")?;
    match &args.out {
        None => print(&csv(&panels)),
        Some(path) => {
            let page = curves_page(
                entry.summary.trim_end_matches('.'),
                &panels.iter().map(panel).collect::<Vec<_>>(),
            );
            std::fs::write(path, page)
                .into_diagnostic()
                .wrap_err_with(|| format!("cannot write {}", path.display()))?;
            say(&format!("{name} is in {}", path.display()));
            Ok(())
        }
    }
}

/// One line per point. Names of lines may hold commas, so they are quoted.
fn csv(panels: &[Figure]) -> String {
    let mut text = String::from("panel,line,x,y\n");
    for figure in panels {
        for series in &figure.series {
            for (x, y) in &series.points {
                // Writing into a string cannot fail.
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
    };
    CurvePanel {
        title: figure.title.clone(),
        note: figure.note.clone(),
        x: axis(&figure.x),
        y: axis(&figure.y),
        lines: figure
            .series
            .iter()
            .map(|series| CurveLine::plain(series.name.as_str(), series.points.iter().copied()))
            .collect(),
        marks: Vec::new(),
        markers: false,
    }
}
