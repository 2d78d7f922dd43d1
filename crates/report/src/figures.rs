//! Charts of a report as separate files, for papers and slides.

use crate::error::ReportError;
use crate::html::{charts, parts};
use crate::load::Report;
use crate::picture;
use crate::svg::{Chart, FigureStyle};
use bufferlab_results::write_whole;
use std::fs;
use std::path::{Path, PathBuf};

/// Pixels of an image per pixel of the file (1/96 inch): 600 dots per inch, the resolution for
/// print.
const PRINT: f32 = 6.25;

impl Report {
    /// Writes the charts of completion times into `folder`, each as SVG, PNG and CSV: percentiles
    /// of the slowdown by flow size, distributions of the slowdown and of the completion times of
    /// queries. Returns the paths of the written files.
    ///
    /// # Errors
    /// If a chart cannot be drawn, or a file cannot be written.
    pub fn write_figures(&self, folder: &Path, style: FigureStyle) -> Result<Vec<PathBuf>, ReportError> {
        fs::create_dir_all(folder).map_err(ReportError::io("create", folder))?;
        let drawn = parts::drawn(self);
        let mut written = Vec::new();
        for (name, mark, chart) in charts::figures(self) {
            let entries = drawn.iter().map(|one| (one.class.clone(), mark, one.policy.to_owned()));
            // A single line needs no legend.
            let legend: Vec<_> = if drawn.len() > 1 { entries.collect() } else { Vec::new() };
            let has_weak = chart.series.iter().flat_map(|series| &series.points).any(|point| point.weak);
            let note = if has_weak { "Hollow: fewer samples than the percentile needs." } else { "" };
            let svg = chart.file_in(style, &legend, note);
            let png = match style {
                FigureStyle::Screen => picture::png(&svg, &chart.title)?,
                FigureStyle::Paper => picture::png_scaled(&svg, &chart.title, PRINT)?,
            };
            let name = in_a_name(&name);
            for (ending, bytes) in
                [("svg", svg.into_bytes()), ("png", png), ("csv", csv(&chart).into_bytes())]
            {
                let path = folder.join(format!("{name}.{ending}"));
                write_whole(&path, bytes).map_err(ReportError::io("write", &path))?;
                written.push(path);
            }
        }
        Ok(written)
    }
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
