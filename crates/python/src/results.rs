//! Result folders: the numbers of a run, and the reports of a folder. Python reads the Parquet
//! tables directly.

use crate::errors;
use crate::words;
use bufferlab_report::{
    Better, Caveat, Cell, Change, Estimate, Metric, MetricComparison, Report, run_summary,
};
use bufferlab_results::{RunResult, store_run};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::path::PathBuf;

/// Fields of Python's `Metric`: id, group, label, unit, good direction (-1, 0 or 1), and whether
/// the metric is a headline metric.
type Plain = (String, String, String, &'static str, i8, bool);

fn metric(metric: Metric) -> Plain {
    let better = match metric.better {
        Better::Lower => -1,
        Better::Neither => 0,
        Better::Higher => 1,
    };
    (metric.id, metric.group, metric.label, metric.unit.symbol(), better, metric.headline)
}

/// Returns the current id of a metric; `id` may be an id of an earlier version.
#[pyfunction]
pub(crate) fn metric_id(id: &str) -> String {
    Metric::current_id(id).into_owned()
}

/// Numbers of a run: every metric with its value, and the whole summary as JSON.
type Numbers = (Vec<(Plain, Option<f64>)>, String);

/// Summarises the run in `dir`: every metric with its value, and the whole summary as JSON.
#[pyfunction]
pub(crate) fn summary(py: Python<'_>, dir: PathBuf) -> PyResult<Numbers> {
    let run = RunResult::open(&dir).map_err(|error| errors::results(py, &error))?;
    let summary = py.detach(|| run_summary(&run)).map_err(|error| errors::report(py, &error))?;
    let json = serde_json::to_string(&summary).expect("a summary is plain data");
    Ok((summary.metrics().into_iter().map(|one| (metric(one.metric), one.value)).collect(), json))
}

/// Stores the files of a run of another process in the folder `dir`.
#[pyfunction]
pub(crate) fn store(py: Python<'_>, dir: PathBuf, files: Vec<(String, PyBackedBytes)>) -> PyResult<()> {
    py.detach(|| store_run(&dir, &files).map(drop)).map_err(|error| errors::results(py, &error))
}

/// A mean with its 95 % interval: number of seeds, mean, half of the interval's width.
type Interval = (u64, f64, Option<f64>);
/// A cell of a comparison: policy, value of every seed, mean with interval, change against the
/// baseline.
type PlainCell = (String, Vec<Option<f64>>, Option<Interval>, Option<PlainChange>);
/// A policy's change against the baseline with its 95 % interval: number of seeds, mean, lower end,
/// upper end.
type PlainChange = (u64, f64, Option<f64>, Option<f64>);
/// A comparison: policies, seeds, metrics with a cell per policy, caveats (id, message,
/// advice), and the text for a terminal.
type PlainReport =
    (Vec<String>, Vec<u64>, Vec<(Plain, Vec<PlainCell>)>, Vec<(String, String, String)>, String);

/// Compares the runs in the folder `dir`. The policies in `order` are the first in the report. With
/// `write`, writes the report into `dir`.
#[pyfunction]
pub(crate) fn report(py: Python<'_>, dir: PathBuf, order: Vec<String>, write: bool) -> PyResult<PlainReport> {
    let report = py.detach(|| {
        let mut report = Report::load(&dir, &order)?;
        if write {
            bufferlab_view::embed(&mut report)?;
            report.write()?;
        }
        Ok(report)
    });
    let report = report.map_err(|error| errors::report(py, &error))?;
    let text = report.text();
    let interval = |estimate: Estimate| (estimate.seeds, estimate.mean, estimate.half_width);
    let change = |change: Change| (change.seeds, change.mean, change.low, change.high);
    let cell = |cell: Cell| (cell.policy, cell.values, cell.estimate.map(interval), cell.change.map(change));
    let row = |row: MetricComparison| (metric(row.metric), row.cells.into_iter().map(cell).collect());
    let caveat = |caveat: &Caveat| {
        let record = caveat.record();
        (record.id, record.message, words::in_python(&record.advice))
    };
    let comparison = report.comparison;
    Ok((
        comparison.policies,
        comparison.seeds,
        comparison.metrics.into_iter().map(row).collect(),
        report.caveats.iter().map(caveat).collect(),
        text,
    ))
}

/// Returns the number of samples, their mean, and half the width of the 95 % interval of the mean;
/// `None` without samples.
#[pyfunction]
pub(crate) fn estimate(samples: Vec<f64>) -> Option<(u64, f64, Option<f64>)> {
    Estimate::from_values(&samples).map(|estimate| (estimate.seeds, estimate.mean, estimate.half_width))
}
