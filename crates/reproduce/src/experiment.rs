//! What is an experiment? A figure or table of a paper as data: scenario, what is varied, at which
//! scale, what is drawn, which statements it checks.
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
//! [paper]                                         # the full size, where there is one
//! seeds = 5
//!
//! [artifact]                                      # the authors' public simulator's reading: `--profile artifact`
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
//! Every key is declared in the crate `bufferlab-experiment`; `docs/reference/experiments.md` and
//! the JSON Schema follow from there.

mod axes;
mod claims;
mod metrics;
mod read;

#[cfg(test)]
pub(crate) use read::{course_from, metric_from};

use crate::{Course, Metric, OverSeeds, PaperMark, ReproduceError};
use bufferlab_document::LoadError;
use bufferlab_document::setting::Setting;
use bufferlab_theory::figures::Entry;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How much of an experiment is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScaleName {
    /// Reduced: minutes for a paper.
    Quick,
    /// The paper's own size: hours.
    Paper,
}

impl ScaleName {
    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Paper => "paper",
        }
    }
}

/// Dotted keys of a scenario and values for them, in order.
pub type Overrides = Vec<Setting>;

/// A figure or table of a paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Paper and figure: `abm/fig6`.
    pub id: String,
    /// What it shows, in a line.
    pub title: String,
    /// What the paper calls it: `Fig. 6`.
    pub figure: String,
    /// What differs from the paper, and why; empty if nothing does.
    pub about: String,
    /// Where its values come from.
    pub content: Content,
}

/// Where the values of an experiment come from.
#[derive(Clone, Debug)]
pub enum Content {
    /// They are computed: an analytical figure, of which nothing runs.
    Figure(&'static Entry),
    /// From runs of a scenario.
    Runs(Box<Runs>),
}

/// What runs, and what is made of it.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The scenario file.
    pub scenario: PathBuf,
    /// For every run.
    pub set: Overrides,
    /// What is varied; the first is the horizontal axis of the panels.
    pub axes: Vec<Axis>,
    /// What is compared: policies, or anything else that a scenario can say.
    pub variants: Vec<Variant>,
    /// Short names of metrics.
    pub metrics: BTreeMap<String, Metric>,
    /// The reduced size.
    pub quick: Scale,
    /// The paper's size, where there is one.
    pub paper: Option<Scale>,
    /// The reading of the authors' public simulator, where there is one.
    pub artifact: Option<Reading>,
    /// What is drawn.
    pub panels: Vec<Panel>,
    /// What is drawn over time.
    pub courses: Vec<Course>,
    /// What is checked.
    pub claims: Vec<ClaimCheck>,
}

/// Something that is varied.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Title of a chart's axis, with the unit.
    pub title: String,
    /// Its values.
    pub values: Vec<AxisValue>,
}

/// A place on an axis.
#[derive(Clone, Debug)]
pub struct AxisValue {
    /// As it is written in tables and expressions.
    pub label: String,
    /// Where it is drawn.
    pub x: f64,
    /// What it changes.
    pub set: Overrides,
    /// Another scenario file.
    pub scenario: Option<PathBuf>,
}

/// Something that is compared.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name in tables and expressions.
    pub name: String,
    /// What it changes.
    pub set: Overrides,
    /// Another scenario file.
    pub scenario: Option<PathBuf>,
}

/// How much is run.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Seeds of every point.
    pub seeds: u32,
    /// What it changes.
    pub set: Overrides,
    /// Another scenario file.
    pub scenario: Option<PathBuf>,
    /// Fewer places of an axis, by their labels.
    pub values: BTreeMap<String, Vec<String>>,
}

/// What a public simulator does where its paper says something else, or nothing. The scenario's
/// `profile` brings the rest.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What differs, in words.
    pub about: String,
    /// What it changes, for all that is compared.
    pub set: Overrides,
    /// Another scenario file, at either scale.
    pub scenario: Option<PathBuf>,
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Caption.
    pub title: String,
    /// Short name of the metric.
    pub metric: String,
    /// Logarithmic vertical axis.
    pub log: bool,
    /// What is drawn of all that is compared; everything, if left out.
    pub variants: Option<Vec<String>>,
}

impl Panel {
    /// Whether the panel shows this variant.
    #[must_use]
    pub fn shows(&self, variant: &str) -> bool {
        self.variants.as_ref().is_none_or(|names| names.iter().any(|name| name == variant))
    }
}

/// A statement of a paper, and how it is judged.
#[derive(Clone, Debug)]
pub struct ClaimCheck {
    /// Its number in the table of claims.
    pub id: String,
    /// What it says, where no table of claims does.
    pub statement: Option<String>,
    /// What must hold; all of it.
    pub conditions: Vec<Condition>,
    /// Why it cannot be decided: the paper does not state what it depends on. Then there are no
    /// conditions.
    pub not_checkable: Option<String>,
    /// To be read with the verdict.
    pub note: Option<String>,
    /// What other readings of the paper give.
    pub beside: Vec<Beside>,
}

/// What an effect is in another reading of the paper.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Which reading, in words.
    pub reading: String,
    /// What is measured: an expression.
    pub effect: String,
    /// Shown in percent.
    pub percent: bool,
}

/// An effect and the band in which it must lie.
#[derive(Clone, Debug)]
pub struct Condition {
    /// What is measured: an expression, see [`crate::expression`].
    pub effect: String,
    /// The least that the criterion accepts.
    pub at_least: Option<f64>,
    /// The most.
    pub at_most: Option<f64>,
    /// The value of no effect at all; none where the statement is that there is none.
    pub neutral: Option<f64>,
    /// The paper's value.
    pub paper: Option<f64>,
    /// Shown in percent.
    pub percent: bool,
    /// How seeds become one number.
    pub over_seeds: OverSeeds,
    /// An expression that must be above 0 for the effect to say anything.
    pub guard: Option<String>,
    /// Where the paper's value would lie in a panel.
    pub mark: Option<PaperMark>,
}

impl Experiment {
    /// Reads an experiment from its file.
    ///
    /// # Errors
    /// If it cannot be read or is no experiment: everything that is wrong, with file, line, key and
    /// advice.
    pub fn load(path: &Path, id: &str) -> Result<Self, ReproduceError> {
        let text = std::fs::read_to_string(path).map_err(ReproduceError::io("read", path))?;
        Ok(Self::from_text(path, id, &text)?)
    }

    /// Reads an experiment from its text, as if it stood in a file at `path` (which need not
    /// exist).
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn from_text(path: &Path, id: &str, text: &str) -> Result<Self, LoadError> {
        read::experiment(path, id, text)
    }

    /// The first part of the id: the paper (`abm`), or the study.
    #[must_use]
    pub fn paper(&self) -> &str {
        self.id.split_once('/').map_or(&self.id, |(paper, _)| paper)
    }

    /// What runs; `None` for an analytical figure.
    #[must_use]
    pub fn runs(&self) -> Option<&Runs> {
        match &self.content {
            Content::Runs(runs) => Some(runs),
            Content::Figure(_) => None,
        }
    }

    /// The analytical figure, if it is one.
    #[must_use]
    pub fn analytical(&self) -> Option<&'static Entry> {
        match self.content {
            Content::Figure(entry) => Some(entry),
            Content::Runs(_) => None,
        }
    }

    /// The statements that it checks; an analytical figure checks none, for tests do.
    #[must_use]
    pub fn claims(&self) -> &[ClaimCheck] {
        self.runs().map_or(&[], |runs| &runs.claims)
    }
}

impl Runs {
    /// How much runs at `scale`; `None` if the experiment does not have it.
    #[must_use]
    pub fn scale(&self, scale: ScaleName) -> Option<&Scale> {
        match scale {
            ScaleName::Quick => Some(&self.quick),
            ScaleName::Paper => self.paper.as_ref(),
        }
    }
}
