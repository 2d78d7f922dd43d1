//! Charts as separate files, for papers and slides.

use crate::chart_style::FigureStyle;
use crate::curves::{self, CurvePanel};
use crate::error::ReportError;
use crate::html::{charts, parts};
use crate::load::Report;
use crate::svg::{Chart, Entry};
use crate::{pdf, picture};
use bufferlab_results::write_whole;
use std::fs;
use std::path::{Path, PathBuf};

/// Pixels of a PNG image per pixel of the SVG file (1/96 inch). The image has 600 dots per inch,
/// the resolution for print.
const PRINT: f32 = 6.25;

/// File name endings of the formats in which a figure is written.
pub const FIGURE_FILES: [&str; 4] = ["svg", "pdf", "png", "csv"];

/// Names in figures that replace the names in the results: pairs of name and text.
pub type Labels = [(String, String)];

/// Returns the text that figures show for a name.
pub(crate) fn labelled<'a>(labels: &'a Labels, name: &'a str) -> &'a str {
    labels.iter().find(|(known, _)| known == name).map_or(name, |(_, text)| text)
}

impl Report {
    /// Writes the charts of completion times into `folder`, each in the formats of
    /// [`FIGURE_FILES`]. The charts are percentiles of the slowdown by flow size, distributions of
    /// the slowdown, and distributions of the completion times of queries. `labels` rename
    /// policies. Returns the paths of the written files.
    ///
    /// # Errors
    /// If a chart cannot be drawn, or a file cannot be written.
    pub fn write_figures(
        &self,
        folder: &Path,
        style: FigureStyle,
        labels: &Labels,
    ) -> Result<Vec<PathBuf>, ReportError> {
        fs::create_dir_all(folder).map_err(ReportError::io("create", folder))?;
        let shown = self.shown();
        let drawn = parts::drawn(&shown);
        let (short, whole) = (&shown.comparison.policies, &self.comparison.policies);
        // A user may give a label for the short or for the whole name of a policy.
        let label = |name: &str| {
            let at = short.iter().position(|known| known == name);
            let whole = at.map_or(name, |at| whole[at].as_str());
            let text = labelled(labels, whole);
            if text == whole { labelled(labels, name) } else { text }.to_owned()
        };
        let mut written = Vec::new();
        for (name, mark, mut chart) in charts::figures(&shown) {
            chart.series.iter_mut().for_each(|series| series.name = label(&series.name));
            let entries = drawn.iter().map(|one| (one.class.clone(), mark, label(one.policy)));
            // A chart with a single line needs no legend.
            let legend: Vec<_> = if drawn.len() > 1 { entries.collect() } else { Vec::new() };
            let has_weak = chart.series.iter().flat_map(|series| &series.points).any(|point| point.weak);
            let note = if has_weak { "Hollow: fewer samples than the percentile needs." } else { "" };
            written.extend(write_figure(&chart, (&legend, note), style, &folder.join(in_a_name(&name)))?);
        }
        Ok(written)
    }
}

/// Writes charts with their names into `folder`, each in the formats of [`FIGURE_FILES`]. `labels`
/// rename lines and titles of axes. Returns the paths of the written files.
///
/// # Errors
/// If a chart cannot be drawn, or a file cannot be written.
pub fn write_curves(
    panels: &[(String, CurvePanel)],
    folder: &Path,
    style: FigureStyle,
    labels: &Labels,
) -> Result<Vec<PathBuf>, ReportError> {
    fs::create_dir_all(folder).map_err(ReportError::io("create", folder))?;
    let mut written = Vec::new();
    for (name, panel) in panels {
        let mut panel = panel.clone();
        let rename = |text: &mut String| *text = labelled(labels, text).to_owned();
        panel.lines.iter_mut().for_each(|line| rename(&mut line.name));
        panel.marks.iter_mut().for_each(|mark| rename(&mut mark.line));
        rename(&mut panel.x.title);
        rename(&mut panel.y.title);
        let (chart, mut legend) = curves::drawing(&panel);
        if panel.lines.len() + panel.marks.len() < 2 {
            legend.clear();
        }
        let path = folder.join(in_a_name(name));
        written.extend(write_figure(&chart, (&legend, &panel.note), style, &path)?);
    }
    Ok(written)
}

/// Writes a chart as files with a common name and different endings.
fn write_figure(
    chart: &Chart,
    (legend, note): (&[Entry], &str),
    style: FigureStyle,
    name: &Path,
) -> Result<Vec<PathBuf>, ReportError> {
    let svg = chart.file_in(style, legend, note);
    let png = match style {
        FigureStyle::Screen => picture::png(&svg, &chart.title)?,
        FigureStyle::Paper => picture::png_scaled(&svg, &chart.title, PRINT)?,
    };
    let pdf = pdf::pdf(&svg, &chart.title)?;
    let contents = [svg.into_bytes(), pdf, png, csv(chart).into_bytes()];
    let write = |(ending, bytes): (&str, Vec<u8>)| {
        let mut path = name.as_os_str().to_owned();
        path.push(format!(".{ending}"));
        let path = PathBuf::from(path);
        write_whole(&path, bytes).map_err(ReportError::io("write", &path))?;
        Ok(path)
    };
    FIGURE_FILES.into_iter().zip(contents).map(write).collect()
}

fn csv(chart: &Chart) -> String {
    chart.csv().join("\n") + "\n"
}

/// Converts a title such as `slowdown-short flows (< 100 KB)` to a file name:
/// `slowdown-short-flows-100-kb`.
fn in_a_name(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_have_no_blanks_and_signs() {
        assert_eq!(in_a_name("slowdown-short flows (< 100 KB)"), "slowdown-short-flows-100-kb");
    }
}
