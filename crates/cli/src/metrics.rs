//! Names of metrics in a folder of results: their list, and the name nearest to a misspelt name.

use bufferlab_lab::SWEEP_CSV;
use bufferlab_params::suggestion;
use bufferlab_report::Report;
use miette::miette;
use std::path::Path;

/// A metric in a folder of results.
pub(crate) struct NamedMetric {
    /// Name of the metric in options and tables, such as `switches.lost_percent`.
    pub(crate) id: String,
    /// Group and title of the metric in reports.
    title: String,
}

/// Returns the metrics of a run or of a comparison.
pub(crate) fn of(report: &Report) -> Vec<NamedMetric> {
    let metrics = report.comparison.metrics.iter().map(|row| &row.metric);
    metrics
        .map(|metric| NamedMetric {
            id: metric.id.clone(),
            title: format!("{}: {}", metric.group, metric.title()),
        })
        .collect()
}

/// Metrics of a sweep, from its table of means.
pub(crate) fn of_sweep(folder: &Path) -> miette::Result<Vec<NamedMetric>> {
    let file = folder.join(SWEEP_CSV);
    let wrong = |error: csv::Error| miette!("{}: {error}", file.display());
    let mut reader = csv::Reader::from_path(&file).map_err(wrong)?;
    let header = reader.headers().map_err(wrong)?.clone();
    // A varied key may have the name of a column, such as `metric`. The last column with a name is
    // the table's standard column.
    let place = |name| header.iter().enumerate().filter(|column| column.1 == name).last();
    let places = ["metric", "group", "label"].map(|name| place(name).map(|column| column.0));
    let mut found: Vec<NamedMetric> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let [id, group, label] = places.map(|at| at.and_then(|at| record.get(at)).unwrap_or_default());
        if !found.iter().any(|metric| metric.id == id) {
            found.push(NamedMetric { id: id.to_owned(), title: format!("{group}: {label}") });
        }
    }
    Ok(found)
}

/// Formats the names and titles of metrics as text in two columns.
pub(crate) fn list(metrics: &[NamedMetric]) -> String {
    let width = metrics.iter().map(|metric| metric.id.len()).max().unwrap_or(0);
    metrics.iter().map(|metric| format!("{:width$}  {}\n", metric.id, metric.title)).collect()
}

/// Error for a metric's name that the folder of results does not have.
pub(crate) fn unknown(name: &str, metrics: &[NamedMetric], folder: &Path) -> miette::Report {
    let near = nearest(name, metrics).map_or_else(String::new, |near| format!("did you mean \"{near}\"?\n"));
    let help =
        format!("{near}list all {}: bufferlab report {} --list-metrics", metrics.len(), folder.display());
    miette!(help = help, "there is no metric \"{name}\"")
}

/// Returns the metric whose name is nearest to a misspelt name. The function first compares the
/// last parts of names: "qct" is the beginning of "qct_mean_ms" in "class.incast.qct_mean_ms".
fn nearest(name: &str, metrics: &[NamedMetric]) -> Option<String> {
    let last = |id: &str| id.rsplit('.').next().unwrap_or_default().to_owned();
    let begins = metrics.iter().find(|metric| !name.is_empty() && last(&metric.id).starts_with(name));
    if let Some(metric) = begins {
        return Some(metric.id.clone());
    }
    if name.contains('.') {
        return suggestion(name, metrics.iter().map(|metric| metric.id.as_str()));
    }
    let parts: Vec<String> = metrics.iter().map(|metric| last(&metric.id)).collect();
    let near = suggestion(name, parts.iter().map(String::as_str))?;
    parts.iter().position(|part| *part == near).map(|at| metrics[at].id.clone())
}
