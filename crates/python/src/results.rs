//! Result folders: numbers of a run, reports of a folder. Tables are Parquet, which Python reads itself.

use crate::errors;
use bufferlab_report::{Better, MetricValue, Report, run_summary};
use bufferlab_results::RunResult;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A metric as Python's `Metric` takes it: id, group, label, unit, good direction (-1, 0 or 1), in the short table or not.
type Plain = (String, String, String, &'static str, i8, bool);

fn plain(value: MetricValue) -> (Plain, Option<f64>) {
    let metric = value.metric;
    let better = match metric.better {
        Better::Lower => -1,
        Better::Neither => 0,
        Better::Higher => 1,
    };
    ((metric.id, metric.group, metric.label, metric.unit.symbol(), better, metric.headline), value.value)
}

/// Every metric with its value, and everything as JSON.
type Numbers = (Vec<(Plain, Option<f64>)>, String);

/// The numbers of the run in `dir`: every metric with its value, and everything as JSON.
#[pyfunction]
pub(crate) fn summary(py: Python<'_>, dir: PathBuf) -> PyResult<Numbers> {
    let run = RunResult::open(&dir).map_err(|error| errors::results(py, &error))?;
    let summary = py.detach(|| run_summary(&run)).map_err(|error| errors::report(py, &error))?;
    let json = serde_json::to_string(&summary).expect("a summary is plain data");
    Ok((summary.metrics().into_iter().map(plain).collect(), json))
}

/// Compares the runs of `dir`, the policies of `order` first: the text for a terminal, and the comparison as JSON. Writes the report's files
/// into the folder if asked to.
#[pyfunction]
pub(crate) fn report(
    py: Python<'_>,
    dir: PathBuf,
    order: Vec<String>,
    write: bool,
) -> PyResult<(String, String)> {
    let made = py.detach(|| {
        let report = Report::load(&dir, &order)?;
        if write {
            report.write()?;
        }
        Ok((report.text(), serde_json::to_string(&report.comparison).expect("a comparison is plain data")))
    });
    made.map_err(|error| errors::report(py, &error))
}
