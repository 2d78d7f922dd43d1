//! Experiments: a figure or table of a paper as data. An experiment has a scenario, varied keys,
//! scales, charts and the statements to check.
//!
//! ```toml
//! title = "Incast beside web search, at rising load"
//! figure = "Fig. 6"
//! scenario = "../../scenarios/abm-reduced.toml"   # relative to this file
//! policies = ["dt", "abm"]                        # short for variants that set switch.policy
//!
//! [set]                                           # for every run: dotted keys of the scenario
//! "workload.incast.request_fraction_of_buffer" = 0.3
//!
//! [[axis]]
//! name = "load"
//! key = "workload.web_search.load"
//! values = [0.2, 0.8]
//!
//! [metrics]                                       # short names for the metrics of a run
//! incast = "class.incast.slowdown_p99"
//!
//! [quick]
//! seeds = 2
//! [quick.set]
//! duration = "0.5 s"
//!
//! [paper]                                         # the size of the paper's runs, if feasible
//! seeds = 5
//!
//! [artifact]                                      # settings of the authors' simulator: `--profile artifact`
//! about = "alpha is a list."
//! [artifact.set]
//! "switch.buffer" = "3932160 B"
//!
//! [[panel]]
//! title = "p99 FCT slowdown of the answers"
//! metric = "incast"
//!
//! [[claim]]
//! id = "ABM-F6a-3"
//! effect = 'lower(v("incast", "abm", 0.8), v("incast", "dt", 0.8))'
//! at_least = 0.5
//! neutral = 0.0
//! paper = 0.94
//! percent = true
//! ```
//!
//! The crate `bufferlab-experiment` declares every key. `docs/reference/experiments.md` and the
//! JSON Schema are generated from these declarations.

mod axes;
mod claims;
mod metrics;
mod read;

#[cfg(test)]
pub(crate) use read::{course_from, metric_from};

use crate::{Better, Course, Metric, OverSeeds, PaperMark, ReproduceError};
use bufferlab_document::LoadError;
use bufferlab_document::setting::Setting;
use bufferlab_theory::figures::Entry;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Size at which an experiment runs: reduced (`quick`) or as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScaleName {
    /// Reduced size of the runs; all experiments of one paper take minutes.
    Quick,
    /// Size of the runs in the paper; all experiments of one paper take hours.
    Paper,
}

impl ScaleName {
    /// Name of the scale (`quick` or `paper`), as users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Paper => "paper",
        }
    }
}

/// Dotted keys of a scenario with their values, in the order of the file.
pub type Overrides = Vec<Setting>;

/// An experiment: a figure or table of a paper as data.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name of the experiment from the names of paper and figure: `abm/fig6`.
    pub id: String,
    /// Title of the experiment in one line.
    pub title: String,
    /// Name of the figure in the paper, such as `Fig. 6`.
    pub figure: String,
    /// Differences between experiment and paper, with reasons; empty if experiment and paper agree.
    pub about: String,
    /// Source of the experiment's values: simulation runs or formulas.
    pub content: Content,
}

/// Source of an experiment's values: simulation runs or formulas.
#[derive(Clone, Debug)]
pub enum Content {
    /// An analytical figure, whose values are computed without runs.
    Figure(&'static Entry),
    /// Simulation runs of a scenario, whose result tables give the values.
    Runs(Box<Runs>),
}

/// Simulation runs of an experiment, with its charts and statements.
#[derive(Clone, Debug)]
pub struct Runs {
    /// Path of the experiment's scenario file.
    pub scenario: PathBuf,
    /// Overrides of scenario keys for every run.
    pub set: Overrides,
    /// Axes of the experiment. The first axis is the horizontal axis of the charts.
    pub axes: Vec<Axis>,
    /// Variants that the experiment compares: policies, or any other changes of the scenario.
    pub variants: Vec<Variant>,
    /// Metrics of the experiment by their short names.
    pub metrics: BTreeMap<String, Metric>,
    /// The reduced, fast scale of the experiment.
    pub quick: Scale,
    /// The paper's scale, if the experiment has one.
    pub paper: Option<Scale>,
    /// The settings of the authors' public simulator, if the experiment has such settings.
    pub artifact: Option<Reading>,
    /// Charts that plot metrics over the axes of the experiment.
    pub panels: Vec<Panel>,
    /// Charts that plot sampled quantities over time.
    pub courses: Vec<Course>,
    /// Statements of the paper that the experiment checks.
    pub claims: Vec<ClaimCheck>,
}

/// An axis of an experiment: a property that varies between runs.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Name of the axis in expressions and tables, such as `load`.
    pub name: String,
    /// Title of the axis in charts, with the unit.
    pub title: String,
    /// Values that the experiment's axis takes, in the order of the experiment file.
    pub values: Vec<AxisValue>,
}

/// A value on an axis of an experiment, with the scenario keys that it sets.
#[derive(Clone, Debug)]
pub struct AxisValue {
    /// Label of the axis value in tables and expressions.
    pub label: String,
    /// Position of the axis value in charts.
    pub x: f64,
    /// Overrides of scenario keys for this axis value.
    pub set: Overrides,
    /// Scenario file for this axis value; `None` for the experiment's scenario file.
    pub scenario: Option<PathBuf>,
}

/// A variant of the scenario that the experiment compares.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Name of the variant in tables and expressions.
    pub name: String,
    /// Overrides of scenario keys for the variant.
    pub set: Overrides,
    /// Scenario file of the variant; `None` for the experiment's scenario file.
    pub scenario: Option<PathBuf>,
    /// Overrides of scenario keys for the variant under the profile of the authors' public code.
    pub artifact: Overrides,
}

/// A scale of an experiment: number of seeds, and size of the simulation runs.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Number of seeds for each variant and combination of axis values.
    pub seeds: u32,
    /// Overrides of scenario keys for all runs at this scale.
    pub set: Overrides,
    /// Scenario file at this scale; `None` for the experiment's scenario file.
    pub scenario: Option<PathBuf>,
    /// Labels of the axis values that run at this scale, by axis. Axes that are not listed run with
    /// all values.
    pub values: BTreeMap<String, Vec<String>>,
}

/// Settings of a public simulator that differ from its paper, or that the paper omits. The scenario
/// key `profile` selects further settings.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Description of how the public simulator differs from the paper.
    pub about: String,
    /// Overrides of scenario keys for all variants under the profile of the public simulator.
    pub set: Overrides,
    /// Scenario file of the public simulator at every scale; `None` for the experiment's scenario
    /// file.
    pub scenario: Option<PathBuf>,
}

/// A chart of a metric over an axis of the experiment.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Caption of the chart on the experiment's page.
    pub title: String,
    /// Short name of the metric that the chart plots.
    pub metric: String,
    /// Whether the chart's vertical axis is logarithmic.
    pub log: bool,
    /// Variants that the chart plots; `None` for all variants.
    pub variants: Option<Vec<String>>,
}

impl Panel {
    /// Whether the chart plots the variant with the name `variant`.
    #[must_use]
    pub fn shows(&self, variant: &str) -> bool {
        self.variants.as_ref().is_none_or(|names| names.iter().any(|name| name == variant))
    }
}

/// A statement of a paper that the experiment checks, with the criterion for its verdict.
#[derive(Clone, Debug)]
pub struct ClaimCheck {
    /// Number of the statement in the table of claims.
    pub id: String,
    /// Text of the statement, if it is in no table of claims.
    pub statement: Option<String>,
    /// Conditions that must all be met for the statement to pass.
    pub conditions: Vec<Condition>,
    /// Reason why the statement cannot be decided: the paper omits a fact on which the statement
    /// depends. A statement with this reason has no conditions.
    pub not_checkable: Option<String>,
    /// Remark that pages print beside the verdict on the statement.
    pub note: Option<String>,
    /// Effects of the statement under alternative interpretations of the paper.
    pub beside: Vec<Beside>,
}

/// An effect under an alternative interpretation of the paper.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Description of the alternative interpretation of the paper.
    pub reading: String,
    /// Expression that measures the effect under the alternative interpretation.
    pub effect: String,
    /// Whether pages show the alternative effect in percent.
    pub percent: bool,
}

/// A condition of a statement: an effect, and the range of values that the criterion accepts for
/// the effect.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Expression over metrics that measures the effect, see [`crate::expression`].
    pub effect: String,
    /// Smallest value of the effect that meets the statement's criterion.
    pub at_least: Option<f64>,
    /// Largest value of the effect that meets the statement's criterion.
    pub at_most: Option<f64>,
    /// Value of the effect if the schemes do not differ; `None` if the statement claims no
    /// difference.
    pub neutral: Option<f64>,
    /// Value of the effect that the paper states in numbers.
    pub paper: Option<f64>,
    /// Whether pages show the measured effect in percent.
    pub percent: bool,
    /// Rule that combines the effects of all seeds into one number.
    pub over_seeds: OverSeeds,
    /// Guard expression, such as a number of losses, which must be above 0 for a meaningful effect.
    pub guard: Option<String>,
    /// Side of the accepted range on which a scheme is better than its paper states, if known.
    pub better: Option<Better>,
    /// Position in a chart at which the chart marks the paper's value.
    pub mark: Option<PaperMark>,
}

impl Experiment {
    /// Reads an experiment from its TOML file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a valid experiment: all mistakes, with file, line, key
    /// and advice.
    pub fn load(path: &Path, id: &str) -> Result<Self, ReproduceError> {
        let text = std::fs::read_to_string(path).map_err(ReproduceError::io("read", path))?;
        Ok(Self::from_text(path, id, &text)?)
    }

    /// Reads an experiment from text, as if from a file at `path` (which need not exist).
    ///
    /// # Errors
    /// All mistakes in the text of the experiment.
    pub fn from_text(path: &Path, id: &str, text: &str) -> Result<Self, LoadError> {
        read::experiment(path, id, text)
    }

    /// Returns the first component of the experiment's id: the paper (`abm`), or the study.
    #[must_use]
    pub fn paper(&self) -> &str {
        self.id.split_once('/').map_or(&self.id, |(paper, _)| paper)
    }

    /// Returns the simulation runs of the experiment; `None` for an analytical figure.
    #[must_use]
    pub fn runs(&self) -> Option<&Runs> {
        match &self.content {
            Content::Runs(runs) => Some(runs),
            Content::Figure(_) => None,
        }
    }

    /// Mutable access to the simulation runs of an experiment; `None` for an analytical figure.
    pub(crate) fn runs_mut(&mut self) -> Option<&mut Runs> {
        match &mut self.content {
            Content::Runs(runs) => Some(runs),
            Content::Figure(_) => None,
        }
    }

    /// The analytical figure; `None` for an experiment with runs.
    #[must_use]
    pub fn analytical(&self) -> Option<&'static Entry> {
        match self.content {
            Content::Figure(entry) => Some(entry),
            Content::Runs(_) => None,
        }
    }

    /// Returns the statements that the experiment checks. An analytical figure returns none,
    /// because tests check its statements.
    #[must_use]
    pub fn claims(&self) -> &[ClaimCheck] {
        self.runs().map_or(&[], |runs| &runs.claims)
    }
}

impl Runs {
    /// Returns the settings of the experiment at `scale`; `None` if the experiment lacks this
    /// scale.
    #[must_use]
    pub fn scale(&self, scale: ScaleName) -> Option<&Scale> {
        match scale {
            ScaleName::Quick => Some(&self.quick),
            ScaleName::Paper => self.paper.as_ref(),
        }
    }
}
