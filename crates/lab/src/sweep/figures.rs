//! Figures and tables of a sweep for papers: a metric over the keys, with a line for every scheme.

use super::output::{self, headline_metrics};
use super::{Point, SweepPlan, page};
use crate::PlanError;
use bufferlab_report::{Comparison, FigureStyle, Metric, TableFormat, short_labels, write_curves};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Selection and style of a sweep's figures.
#[derive(Clone, Debug)]
pub struct FigureRequest {
    /// Style of the figures: screen or paper.
    pub style: FigureStyle,
    /// Names of the drawn metrics; empty means the headline metrics.
    pub metrics: Vec<String>,
    /// Texts that replace names of schemes, keys and metrics, by name.
    pub labels: Vec<(String, String)>,
}

impl SweepPlan {
    /// Tables for a document, one table per metric, with a row per point and a column per scheme.
    /// `metrics` has names of metrics; if empty, the headline metrics. `labels` rename keys and
    /// schemes.
    ///
    /// # Errors
    /// If a metric is unknown, or a result of a run cannot be read.
    pub fn document_tables(
        &self,
        format: TableFormat,
        metrics: &[String],
        labels: &[(String, String)],
    ) -> Result<String, PlanError> {
        let vary = &self.request.vary;
        let (compared, _) = output::compared(&self.request.out, &self.points, &self.policies, false)?;
        let (shown, _) = output::shown(&compared, &self.policies);
        let labels = self.short_labelled(labels);
        let table = |metric: &&Metric| {
            let mut table = output::table(vary, &shown, metric);
            let keys = vary.iter().map(|vary| &vary.key);
            let names = keys.chain(shown.first().map(|(_, first)| &first.policies).into_iter().flatten());
            for (header, name) in table.header.iter_mut().zip(names) {
                if let Some((_, text)) = labels.iter().find(|(known, _)| known == name) {
                    header.clone_from(text);
                }
            }
            let text = table.document(format, vary.len());
            if format == TableFormat::Markdown { format!("**{}**\n\n{text}", table.title) } else { text }
        };
        Ok(requested(metrics, &compared)?.iter().map(table).collect::<Vec<_>>().join("\n"))
    }

    /// Writes the requested figures into `folder` and returns the paths of the files.
    /// A figure has 95 % confidence intervals if its points have several seeds.
    ///
    /// # Errors
    /// If a metric or the name of a label is unknown, a result of a run cannot be read,
    /// or a file cannot be written.
    pub fn write_figures(&self, folder: &Path, wanted: &FigureRequest) -> Result<Vec<PathBuf>, PlanError> {
        let vary = &self.request.vary;
        let (compared, _) = output::compared(&self.request.out, &self.points, &self.policies, false)?;
        let (all, metrics) = (all_metrics(&compared), requested(&wanted.metrics, &compared)?);
        let keys: Vec<&str> = vary.iter().map(|vary| vary.key.as_str()).collect();
        self.check_labels(&wanted.labels, &all)?;
        let axes = page::axes(vary);
        let (shown, _) = output::shown(&compared, &self.policies);
        let mut panels = page::panels(&axes, vary, &shown, &metrics);
        let labels = self.short_labelled(&wanted.labels);
        // Use the labels of keys and metrics as titles of axes.
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
        Ok(write_curves(&panels, folder, wanted.style, &labels)?)
    }

    /// Refuses labels for names that no scheme, key or metric has.
    fn check_labels(&self, labels: &[(String, String)], metrics: &[&Metric]) -> Result<(), PlanError> {
        let (short, _) = short_labels(&self.policies);
        let keys = self.request.vary.iter().map(|vary| vary.key.clone());
        let known: BTreeSet<String> = self.policies.iter().cloned().chain(short).chain(keys).collect();
        for (name, _) in labels {
            if !known.contains(name) && metrics.iter().all(|metric| metric.id != *name) {
                let message = format!("no scheme, key or metric of the sweep is called \"{name}\"");
                let names = known.into_iter().collect::<Vec<_>>().join(", ");
                let help = format!("known names are {names} and the metrics of sweep.csv");
                return Err(PlanError::refused(message, help));
            }
        }
        Ok(())
    }

    /// Adds labels for the short names of policies to the labels for their full names.
    fn short_labelled(&self, labels: &[(String, String)]) -> Vec<(String, String)> {
        let (short, _) = short_labels(&self.policies);
        let of_short = labels.iter().filter_map(|(name, text)| {
            let at = self.policies.iter().position(|policy| policy == name)?;
            Some((short[at].clone(), text.clone()))
        });
        labels.iter().cloned().chain(of_short).collect()
    }
}

/// Returns every metric of the first point in the sweep.
fn all_metrics<'a>(compared: &'a [(&Point, Comparison)]) -> Vec<&'a Metric> {
    let first = compared.first().map(|(_, first)| &first.metrics[..]).unwrap_or_default();
    first.iter().map(|row| &row.metric).collect()
}

/// The metrics called `names`, or the headline metrics if no names are given.
fn requested<'a>(
    names: &[String],
    compared: &'a [(&Point, Comparison)],
) -> Result<Vec<&'a Metric>, PlanError> {
    if names.is_empty() {
        return Ok(headline_metrics(compared));
    }
    let all = all_metrics(compared);
    names.iter().map(|id| find(id, &all)).collect()
}

/// Finds the metric with the id `id` in `all`.
fn find<'a>(id: &str, all: &[&'a Metric]) -> Result<&'a Metric, PlanError> {
    all.iter().find(|metric| metric.id == id).copied().ok_or_else(|| {
        let message = format!("the sweep has no metric \"{id}\"");
        PlanError::refused(message, "the column `metric` of sweep.csv has the names")
    })
}
