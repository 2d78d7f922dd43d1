//! Marks of the papers' numbers in our charts. The condition of a claim may define a mark, so that
//! readers can compare our curve with the paper's statement.
//!
//! ```toml
//! [[claim]]
//! id = "ABM-F6a-3"
//! effect = 'lower(v("incast", "abm", 0.8), v("incast", "dt", 0.8))'
//! at_least = 0.5
//! paper = 0.94
//! mark = { metric = "incast", variant = "abm", x = [0.8], value = 'v("incast", "dt", x) * (1.0 - paper)' }
//! ```
//!
//! The key `value` of a mark is an expression like an effect. The expression may use `paper`, and
//! `x` and `y` (values of the axes). Its result is a value of the metric, so a relative statement
//! is shown against *our* baseline. A number of a paper without axis values, such as "up to 20 %",
//! has no mark.

use crate::expression::{self, Constant, Values};
use crate::{Axis, Estimates, Panel};
use bufferlab_report::CurveMark;
use std::sync::Arc;

/// Position in our charts of a number that a paper states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperMark {
    /// Short name of the metric; every chart of this metric shows the mark.
    pub metric: String,
    /// Name of the variant for which the paper states the value.
    pub variant: String,
    /// Labels of values on the first axis; `None` for all values.
    pub x: Option<Vec<String>>,
    /// Labels of values on the second axis; `None` for all values.
    pub y: Option<Vec<String>>,
    /// Value of the metric at the mark: an expression over `paper`, `x` and `y`.
    pub value: String,
}

/// A mark of a paper's number at axis values that the experiment ran.
#[derive(Clone, Debug)]
pub(crate) struct Placed<'a> {
    /// Definition of the paper's mark in the experiment file.
    pub(crate) mark: &'a PaperMark,
    /// Index of the mark's axis value, for every axis of the experiment.
    pub(crate) places: Vec<usize>,
    /// Position of the paper's mark on the first axis.
    pub(crate) x: f64,
    /// Value of the metric that the paper's mark shows.
    pub(crate) value: f64,
    /// Sentence with the paper's number about the statement to which the mark belongs.
    pub(crate) note: String,
}

impl Placed<'_> {
    /// Formats the text for the paper's mark in the chart's legend.
    pub(crate) fn legend(&self) -> String {
        format!("where the paper's numbers would put {}", self.mark.variant)
    }
}

/// Returns the marks of the papers' numbers. A mark is included at each axis value that ran and at
/// which the mark has a value.
pub(crate) fn placed(estimates: &Estimates) -> Vec<Placed<'_>> {
    let Some(runs) = estimates.experiment().runs() else { return Vec::new() };
    let grid = estimates.grid();
    let values: Arc<dyn Values> = Arc::new(estimates.clone());
    let mut all = Vec::new();
    for claim in &runs.claims {
        for condition in &claim.conditions {
            let (Some(mark), Some(paper)) = (&condition.mark, condition.paper) else { continue };
            for places in grid {
                let labels = runs.axes.iter().zip(places).map(|(axis, &place)| &axis.values[place].label);
                let meant = labels
                    .zip([&mark.x, &mark.y])
                    .all(|(label, wanted)| wanted.as_ref().is_none_or(|wanted| wanted.contains(label)));
                let (Some(axis), true) = (runs.axes.first(), meant) else { continue };
                let Some(value) = value(&values, &runs.axes, mark, paper, places) else { continue };
                let number = if condition.percent {
                    format!("{} %", bufferlab_report::format::number(paper * 100.0))
                } else {
                    bufferlab_report::format::number(paper)
                };
                let note = format!("{}: the paper's {number} would put {} here", claim.id, mark.variant);
                all.push(Placed { mark, places: places.clone(), x: axis.values[places[0]].x, value, note });
            }
        }
    }
    all
}

/// Returns the paper's marks for one chart. `others` has the values on all axes except the first
/// axis.
pub(crate) fn marks(all: &[Placed<'_>], panel: &Panel, others: &[usize]) -> Vec<CurveMark> {
    let of_panel = |placed: &&Placed<'_>| {
        placed.mark.metric == panel.metric
            && panel.shows(&placed.mark.variant)
            && placed.places[1..] == *others
    };
    let drawn = |placed: &Placed<'_>| CurveMark {
        line: placed.mark.variant.clone(),
        x: placed.x,
        y: placed.value,
        legend: placed.legend(),
        note: placed.note.clone(),
    };
    all.iter().filter(of_panel).map(drawn).collect()
}

/// Computes the metric's value at a paper's mark from the means over the seeds.
fn value(
    values: &Arc<dyn Values>,
    axes: &[Axis],
    mark: &PaperMark,
    paper: f64,
    places: &[usize],
) -> Option<f64> {
    let mut constants = vec![("paper", Constant::Number(paper))];
    for ((name, axis), &place) in ["x", "y"].into_iter().zip(axes).zip(places) {
        constants.push((name, Constant::Label(&axis.values[place].label)));
    }
    expression::evaluate_with(&mark.value, values, &constants).ok()
}
