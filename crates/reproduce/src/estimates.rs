//! Means and intervals that charts show, computed from runs or read from a `values.csv`.

use crate::expression::{ValueError, Values};
use crate::registry::CLAIMS;
use crate::table::{Cells, CsvRow, lines};
use crate::{Axis, Experiment, ReproduceError, Results, Runs, ScaleName, TableError};
use bufferlab_core::Profile;
use bufferlab_params::{quoted_list, suggestion};
use bufferlab_report::Estimate;
use include_dir::File;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Name of the file with an experiment's recorded values at one scale and under one profile.
pub(crate) fn values_name(id: &str, scale: &str, profile: &str) -> String {
    format!("{}.{scale}.{profile}.csv", id.replace('/', "-"))
}

/// Mean and interval over the seeds, for every metric, variant and combination of axis values.
#[derive(Clone, Debug)]
pub struct Estimates {
    experiment: Arc<Experiment>,
    grid: Vec<Vec<usize>>,
    /// Estimates by metric, index of the variant, and indices of the axis values.
    cells: BTreeMap<(String, usize, Vec<usize>), Estimate>,
}

impl Estimates {
    /// Computes the estimates of an experiment's metrics from the results of runs.
    #[must_use]
    pub fn from_results(results: &Results) -> Self {
        let (experiment, grid) = (Arc::clone(&results.plan.experiment), results.grid());
        let mut cells = BTreeMap::new();
        if let Some(runs) = experiment.runs() {
            for places in &grid {
                for variant in 0..runs.variants.len() {
                    for metric in runs.metrics.keys() {
                        let estimate = Estimate::from_values(&results.samples(metric, variant, places));
                        let cell =
                            estimate.map(|estimate| ((metric.clone(), variant, places.clone()), estimate));
                        cells.extend(cell);
                    }
                }
            }
        }
        Self { experiment, grid, cells }
    }

    /// Reads the estimates of an experiment from a file that [`Estimates::csv`] wrote.
    ///
    /// # Errors
    /// If the file cannot be read, or has a variant, metric or axis value that the experiment
    /// lacks.
    pub fn read(experiment: &Experiment, file: &Path) -> Result<Self, ReproduceError> {
        let text = std::fs::read_to_string(file).map_err(ReproduceError::io("read", file))?;
        Self::parse(experiment, &file.display().to_string(), &text)
    }

    /// Reads the estimates of an experiment that are embedded in the program. The result is `None`
    /// if no estimates are recorded at this scale and under this profile.
    ///
    /// # Errors
    /// If the record has a variant, metric or axis value that the experiment lacks.
    pub fn recorded(
        experiment: &Experiment,
        scale: ScaleName,
        profile: Profile,
    ) -> Result<Option<Self>, ReproduceError> {
        let name = values_name(&experiment.id, scale.name(), profile.word());
        let text = CLAIMS.get_file(format!("values/{name}")).and_then(File::contents_utf8);
        text.map(|text| Self::parse(experiment, &format!("claims/values/{name}"), text)).transpose()
    }

    /// Reads the estimates of an experiment from a folder of recorded values, such as
    /// `claims/values`. The result is `None` if the folder has no values at this scale and under
    /// this profile.
    ///
    /// # Errors
    /// The errors of [`Estimates::read`].
    pub fn in_folder(
        experiment: &Experiment,
        folder: &Path,
        scale: ScaleName,
        profile: Profile,
    ) -> Result<Option<Self>, ReproduceError> {
        let file = folder.join(values_name(&experiment.id, scale.name(), profile.word()));
        if file.is_file() { Self::read(experiment, &file).map(Some) } else { Ok(None) }
    }

    fn parse(experiment: &Experiment, name: &str, text: &str) -> Result<Self, ReproduceError> {
        let runs = experiment.runs().ok_or_else(|| ReproduceError::NoRuns(experiment.id.clone()))?;
        let mut estimates =
            Self { experiment: Arc::new(experiment.clone()), grid: Vec::new(), cells: BTreeMap::new() };
        for (line, row) in lines::<Line>(name, text)? {
            let (key, estimate) = row.place(runs, name, line)?;
            if !estimates.grid.contains(&key.2) {
                estimates.grid.push(key.2.clone());
            }
            estimates.cells.extend(estimate.map(|estimate| (key, estimate)));
        }
        estimates.grid.sort();
        Ok(estimates)
    }

    /// Returns the experiment whose metrics the estimates describe.
    #[must_use]
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Combinations of axis values whose runs exist. A combination has one index per axis.
    #[must_use]
    pub fn grid(&self) -> &[Vec<usize>] {
        &self.grid
    }

    /// Returns the estimate of a metric for a variant at some axis values. The estimate is `None`
    /// if the metric has no value.
    #[must_use]
    pub fn get(&self, metric: &str, variant: usize, places: &[usize]) -> Option<Estimate> {
        self.cells.get(&(metric.to_owned(), variant, places.to_vec())).copied()
    }

    /// Formats `values.csv`: one line per combination of axis values, variant and metric.
    #[must_use]
    pub fn csv(&self) -> String {
        let Some(runs) = self.experiment.runs() else { return String::new() };
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text: String = runs.axes.iter().map(|axis| quoted(&axis.name) + ",").collect();
        text.push_str("variant,metric,id,seeds,mean,ci95_half_width\n");
        for places in &self.grid {
            for (variant, of) in runs.variants.iter().enumerate() {
                for (name, metric) in &runs.metrics {
                    let estimate = self.get(name, variant, places);
                    for (axis, &place) in runs.axes.iter().zip(places) {
                        text.push_str(&quoted(&axis.values[place].label));
                        text.push(',');
                    }
                    let half = estimate.and_then(|estimate| estimate.half_width);
                    // Writing to a string cannot fail.
                    let _ = writeln!(
                        text,
                        "{},{},{},{},{},{}",
                        quoted(&of.name),
                        quoted(name),
                        quoted(&metric.key()),
                        estimate.map_or(0, |estimate| estimate.seeds),
                        estimate.map(|estimate| estimate.mean.to_string()).unwrap_or_default(),
                        half.map(|half| half.to_string()).unwrap_or_default()
                    );
                }
            }
        }
        text
    }
}

impl Values for Estimates {
    fn value(&self, metric: &str, variant: &str, places: &[String]) -> Result<f64, ValueError> {
        let runs = self.experiment.runs().ok_or_else(|| ValueError::Metric(metric.to_owned()))?;
        let (index, at) = runs.locate(metric, variant, places)?;
        if let Some(estimate) = self.get(metric, index, &at) {
            return Ok(estimate.mean);
        }
        let (variant, places, metric) = (variant.to_owned(), places.join(", "), metric.to_owned());
        Err(if self.grid.contains(&at) {
            ValueError::Nothing { variant, places, metric }
        } else {
            ValueError::LeftOut { variant, places }
        })
    }

    fn first_axis(&self) -> Vec<(String, f64)> {
        let Some(axis) = self.experiment.runs().and_then(|runs| runs.axes.first()) else { return Vec::new() };
        let ran: BTreeSet<usize> = self.grid.iter().filter_map(|places| places.first().copied()).collect();
        ran.into_iter().map(|place| (axis.values[place].label.clone(), axis.values[place].x)).collect()
    }
}

impl Runs {
    /// Finds the index of a variant of the experiment, and the indices of labels on the axes.
    pub(crate) fn locate(
        &self,
        metric: &str,
        variant: &str,
        places: &[String],
    ) -> Result<(usize, Vec<usize>), ValueError> {
        if !self.metrics.contains_key(metric) {
            return Err(ValueError::Metric(metric.to_owned()));
        }
        let index = self.variants.iter().position(|known| known.name == variant);
        let index = index.ok_or_else(|| ValueError::Variant(variant.to_owned()))?;
        if places.len() != self.axes.len() {
            return Err(ValueError::Places { given: places.len(), axes: self.axes.len() });
        }
        let mut at = Vec::with_capacity(places.len());
        for (axis, label) in self.axes.iter().zip(places) {
            let place = axis.values.iter().position(|value| value.label == *label);
            let unknown = || ValueError::Place { axis: axis.name.clone(), label: label.clone() };
            at.push(place.ok_or_else(unknown)?);
        }
        Ok((index, at))
    }
}

struct Line {
    /// Name and value of each column that belongs to an axis of the experiment.
    places: Vec<(String, String)>,
    variant: String,
    metric: String,
    estimate: Option<Estimate>,
}

impl CsvRow for Line {
    const COLUMNS: &'static [&'static str] = &["variant", "metric", "id", "seeds", "mean", "ci95_half_width"];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        let number = |column: &str| match cells.text(column).as_str() {
            "" => Ok(None),
            _ => cells.number(column).map(Some),
        };
        let (seeds, half_width) = (cells.count("seeds")?, number("ci95_half_width")?);
        let estimate = number("mean")?.map(|mean| Estimate { seeds, mean, half_width });
        let (variant, metric) = (cells.text("variant"), cells.text("metric"));
        Ok(Self { places: cells.others(Self::COLUMNS), variant, metric, estimate })
    }
}

impl Line {
    /// Finds the variant and axis values of a line of `values.csv` in the experiment.
    #[expect(clippy::type_complexity, reason = "a cell with its key")]
    fn place(
        self,
        runs: &Runs,
        file: &str,
        line: u64,
    ) -> Result<((String, usize, Vec<usize>), Option<Estimate>), TableError> {
        let wrong = |column: &str, found: &str, known: Vec<&str>| {
            let near = suggestion(found, known.iter().copied())
                .map_or_else(String::new, |near| format!("did you mean \"{near}\"? "));
            let why = format!(
                "the experiment has no \"{found}\" ({near}known: {})",
                quoted_list(known.into_iter())
            );
            TableError { file: file.to_owned(), line, column: Some(column.to_owned()), why }
        };
        let metrics = || runs.metrics.keys().map(String::as_str).collect();
        if !runs.metrics.contains_key(&self.metric) {
            return Err(wrong("metric", &self.metric, metrics()));
        }
        let variant = runs.variants.iter().position(|known| known.name == self.variant);
        let names = || runs.variants.iter().map(|variant| variant.name.as_str()).collect();
        let variant = variant.ok_or_else(|| wrong("variant", &self.variant, names()))?;
        let mut at = Vec::with_capacity(runs.axes.len());
        for axis in &runs.axes {
            let of_axis = self.places.iter().find(|(name, _)| *name == axis.name);
            let columns = || self.places.iter().map(|(name, _)| name.as_str()).collect();
            let (_, label) = of_axis.ok_or_else(|| wrong("header", &axis.name, columns()))?;
            let labels = |axis: &Axis| -> Vec<String> {
                axis.values.iter().map(|value| value.label.clone()).collect()
            };
            let labels = labels(axis);
            let place = labels.iter().position(|known| known == label);
            let unknown = || wrong(&axis.name, label, labels.iter().map(String::as_str).collect());
            at.push(place.ok_or_else(unknown)?);
        }
        Ok(((self.metric, variant, at), self.estimate))
    }
}
