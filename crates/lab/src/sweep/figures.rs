//! Figures of a sweep: a metric over the first key, with a line per scheme.

use super::output::{self, headline_metrics};
use super::{SweepPlan, page};
use crate::PlanError;
use bufferlab_report::{FigureStyle, Metric, write_curves};
use std::path::{Path, PathBuf};

/// Which figures of a sweep are written, and how.
#[derive(Clone, Debug)]
pub struct FigureRequest {
    /// Screen or paper.
    pub style: FigureStyle,
    /// Names of metrics; empty: the headline metrics.
    pub metrics: Vec<String>,
    /// Texts for schemes, keys and metrics, by name.
    pub labels: Vec<(String, String)>,
}

impl SweepPlan {
    /// Writes the requested figures into `folder` and returns the paths of the files. A figure has
    /// 95 % confidence intervals if its points have several seeds.
    ///
    /// # Errors
    /// If a metric or the name of a label is unknown, a result cannot be read, or a file cannot be
    /// written.
    pub fn write_figures(&self, folder: &Path, wanted: &FigureRequest) -> Result<Vec<PathBuf>, PlanError> {
        let vary = &self.request.vary;
        let (compared, _) = output::compared(&self.request.out, &self.points, &self.policies, false)?;
        let all: Vec<&Metric> = compared
            .first()
            .map(|(_, first)| first.metrics.iter().map(|row| &row.metric).collect())
            .unwrap_or_default();
        let metrics = if wanted.metrics.is_empty() {
            headline_metrics(&compared)
        } else {
            wanted.metrics.iter().map(|id| find(id, &all)).collect::<Result<_, _>>()?
        };
        let keys: Vec<&str> = vary.iter().map(|vary| vary.key.as_str()).collect();
        let schemes = || compared.iter().flat_map(|(_, comparison)| &comparison.policies);
        for (name, _) in &wanted.labels {
            let is_known = keys.contains(&name.as_str())
                || schemes().any(|scheme| scheme == name)
                || all.iter().any(|metric| metric.id == *name);
            if !is_known {
                let message = format!("no scheme, key or metric of the sweep is called \"{name}\"");
                let mut known: Vec<&str> = schemes().map(String::as_str).collect();
                known.dedup();
                known.truncate(8);
                let help = format!(
                    "known names are {}, {} and the metrics of sweep.csv",
                    known.join(", "),
                    keys.join(", ")
                );
                return Err(PlanError::refused(message, help));
            }
        }
        let axes = page::axes(vary);
        let mut panels = page::panels(&axes, vary, &compared, &metrics);
        // Keys and metrics are titles of axes.
        for (id, panel) in &mut panels {
            let label =
                |name: &str| wanted.labels.iter().find(|(known, _)| known == name).map(|(_, text)| text);
            if let Some(text) = keys.first().and_then(|key| label(key)) {
                panel.x.title.clone_from(text);
            }
            if let Some(text) = label(id) {
                panel.y.title.clone_from(text);
            }
            if !panel.note.is_empty() {
                *id = format!("{id} {}", panel.note);
            }
        }
        Ok(write_curves(&panels, folder, wanted.style, &wanted.labels)?)
    }
}

/// The metric with this name.
fn find<'a>(id: &str, all: &[&'a Metric]) -> Result<&'a Metric, PlanError> {
    all.iter().find(|metric| metric.id == id).copied().ok_or_else(|| {
        let message = format!("the sweep has no metric \"{id}\"");
        PlanError::refused(message, "the column `metric` of sweep.csv has the names")
    })
}
