//! What is an experiment? A figure or table of a paper as data: scenario, what is varied, at which scale, what is drawn, which statements it checks.
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
//! [paper]
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

use crate::{Course, Metric, PaperMark, ReproduceError};
use bufferlab_report::format::leading_number;
use bufferlab_theory::figures::{Entry, find};
use serde::Deserialize;
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

/// Dotted keys of a scenario and TOML values for them, in order.
pub type Overrides = Vec<(String, String)>;

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
    /// The paper's size.
    pub paper: Scale,
    /// The reading of the authors' public simulator, where there is one.
    pub artifact: Option<Reading>,
    /// What is drawn.
    pub panels: Vec<Panel>,
    /// What is drawn over time.
    pub courses: Vec<Course>,
    /// The analytical figure that is computed instead of runs; then there is nothing to compare, and no scenario.
    pub theory: Option<&'static Entry>,
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

/// What a public simulator does where its paper says something else, or nothing. The scenario's `profile` brings the rest.
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
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Caption.
    pub title: String,
    /// Short name of the metric.
    pub metric: String,
    /// Logarithmic vertical axis.
    #[serde(default)]
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
    /// What must hold; all of it.
    pub conditions: Vec<Condition>,
    /// Why it cannot be decided: the paper does not state what it depends on. Then there are no conditions.
    pub not_checkable: Option<String>,
    /// To be read with the verdict.
    pub note: Option<String>,
}

/// An effect and the band in which it must lie.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// What is measured, once for every seed: an expression, see [`crate::expression`].
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
    #[serde(default)]
    pub percent: bool,
    /// What is taken of the seeds' effects.
    #[serde(default)]
    pub over_seeds: OverSeeds,
    /// Where the paper's value would lie in a panel.
    pub mark: Option<PaperMark>,
}

/// What is taken of the seeds' effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverSeeds {
    /// Their mean, with its interval.
    #[default]
    Mean,
    /// The largest; it has no interval.
    Largest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    figure: String,
    #[serde(default)]
    about: String,
    scenario: Option<PathBuf>,
    theory: Option<String>,
    #[serde(default)]
    policies: Vec<String>,
    #[serde(default)]
    set: toml::Table,
    #[serde(default, rename = "axis")]
    axes: Vec<WrittenAxis>,
    #[serde(default, rename = "variant")]
    variants: Vec<WrittenVariant>,
    #[serde(default)]
    metrics: BTreeMap<String, Metric>,
    quick: Option<WrittenScale>,
    paper: Option<WrittenScale>,
    artifact: Option<WrittenReading>,
    #[serde(default, rename = "panel")]
    panels: Vec<Panel>,
    #[serde(default, rename = "course")]
    courses: Vec<Course>,
    #[serde(default, rename = "claim")]
    claims: Vec<WrittenClaim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAxis {
    name: String,
    title: Option<String>,
    key: Option<String>,
    values: Vec<WrittenValue>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenValue {
    Full {
        label: String,
        x: Option<f64>,
        #[serde(default)]
        set: toml::Table,
        scenario: Option<PathBuf>,
    },
    Plain(toml::Value),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenVariant {
    name: String,
    scenario: Option<PathBuf>,
    #[serde(default)]
    set: toml::Table,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScale {
    seeds: u32,
    #[serde(default)]
    set: toml::Table,
    scenario: Option<PathBuf>,
    #[serde(default)]
    values: BTreeMap<String, Vec<toml::Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenReading {
    #[serde(default)]
    about: String,
    #[serde(default)]
    set: toml::Table,
    scenario: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenClaim {
    id: String,
    not_checkable: Option<String>,
    note: Option<String>,
    effect: Option<String>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    neutral: Option<f64>,
    paper: Option<f64>,
    #[serde(default)]
    percent: bool,
    #[serde(default)]
    over_seeds: OverSeeds,
    mark: Option<PaperMark>,
    #[serde(default)]
    also: Vec<Condition>,
}

impl Experiment {
    /// Reads an experiment from its file.
    ///
    /// # Errors
    /// If it cannot be read or is no experiment: file, line and key.
    pub fn load(path: &Path, id: &str) -> Result<Self, ReproduceError> {
        let text = std::fs::read_to_string(path).map_err(ReproduceError::io("read", path))?;
        let bad = |why: String| ReproduceError::Experiment { path: path.to_path_buf(), why };
        let written: Written = toml::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let experiment = written.into_experiment(id, folder).map_err(bad)?;
        experiment.check().map_err(bad)?;
        Ok(experiment)
    }

    /// How much runs at `scale`.
    #[must_use]
    pub fn scale(&self, scale: ScaleName) -> &Scale {
        match scale {
            ScaleName::Quick => &self.quick,
            ScaleName::Paper => &self.paper,
        }
    }

    /// What no type can say.
    fn check(&self) -> Result<(), String> {
        if self.theory.is_some() {
            let runs = self.scenario != PathBuf::new()
                || !self.variants.is_empty()
                || !self.axes.is_empty()
                || !self.claims.is_empty();
            let drawn = !self.panels.is_empty() || !self.courses.is_empty();
            return if runs || drawn {
                Err("a figure of the theory has no runs: leave out all but title, figure, about and theory"
                    .to_owned())
            } else {
                Ok(())
            };
        }
        if self.variants.is_empty() {
            return Err("nothing is compared: give `policies` or a [[variant]]".to_owned());
        }
        for (name, metric) in &self.metrics {
            metric.check().map_err(|why| format!("metric \"{name}\": {why}"))?;
        }
        for panel in &self.panels {
            if !self.metrics.contains_key(&panel.metric) {
                return Err(format!("panel \"{}\": [metrics] has no \"{}\"", panel.title, panel.metric));
            }
            for name in panel.variants.iter().flatten() {
                if !self.variants.iter().any(|variant| variant.name == *name) {
                    return Err(format!("panel \"{}\": there is no variant \"{name}\"", panel.title));
                }
            }
        }
        for course in &self.courses {
            course.check().map_err(|why| format!("course \"{}\": {why}", course.title))?;
        }
        for claim in &self.claims {
            if claim.conditions.is_empty() == claim.not_checkable.is_none() {
                return Err(format!("claim {}: give either `effect` or `not_checkable`", claim.id));
            }
            for condition in &claim.conditions {
                if condition.at_least.is_none() && condition.at_most.is_none() {
                    return Err(format!("claim {}: give `at_least` or `at_most`", claim.id));
                }
                if condition.neutral.is_some() && condition.at_least.is_some() && condition.at_most.is_some()
                {
                    return Err(format!(
                        "claim {}: with `neutral` the effect has one direction: `at_least` or `at_most`",
                        claim.id
                    ));
                }
                if let Some(mark) = &condition.mark {
                    mark.check(condition, self).map_err(|why| format!("claim {}: {why}", claim.id))?;
                }
                crate::expression::compile(&condition.effect)
                    .map_err(|why| format!("claim {}: `{}`: {why}", claim.id, condition.effect))?;
            }
        }
        for scale in [&self.quick, &self.paper] {
            for (name, labels) in &scale.values {
                let axis = self.axes.iter().find(|axis| axis.name == *name);
                let axis = axis.ok_or_else(|| format!("values of \"{name}\": there is no such axis"))?;
                for label in labels {
                    if !axis.values.iter().any(|value| value.label == *label) {
                        return Err(format!("values of \"{name}\": the axis has no {label}"));
                    }
                }
            }
        }
        for (key, _) in self.artifact.iter().flat_map(|reading| &reading.set) {
            let places = self.axes.iter().flat_map(|axis| axis.values.iter().map(move |value| (axis, value)));
            for (axis, value) in places {
                if value.set.iter().any(|(varied, _)| overlap(varied, key)) {
                    return Err(format!("[artifact.set] \"{key}\": axis \"{}\" varies it", axis.name));
                }
            }
        }
        Ok(())
    }
}

/// Whether one of two dotted keys is the other or contains it.
fn overlap(a: &str, b: &str) -> bool {
    let within =
        |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    within(a, b) || within(b, a)
}

impl Written {
    fn into_experiment(self, id: &str, folder: &Path) -> Result<Experiment, String> {
        let policies = self.policies.into_iter().map(|name| {
            let set = vec![("switch.policy".to_owned(), format!("\"{name}\""))];
            Variant { name, set, scenario: None }
        });
        let others = self.variants.into_iter().map(|variant| Variant {
            name: variant.name,
            set: overrides(&variant.set),
            scenario: variant.scenario.map(|path| folder.join(path)),
        });
        let theory = match &self.theory {
            None => None,
            Some(name) => Some(find(name).ok_or_else(|| {
                format!("there is no figure \"{name}\"; `bufferlab theory figure` lists them")
            })?),
        };
        let scenario = match (self.scenario, theory) {
            (Some(path), _) => folder.join(path),
            (None, Some(_)) => PathBuf::new(),
            (None, None) => {
                return Err("give the `scenario` that runs, or the figure of the `theory` that is computed"
                    .to_owned());
            }
        };
        let written = |scale: Option<WrittenScale>, name: &str| match scale {
            Some(scale) => Ok(scale),
            None if theory.is_some() => Ok(WrittenScale::default()),
            None => Err(format!("give [{name}], with its `seeds`")),
        };
        let (quick, paper) = (written(self.quick, "quick")?, written(self.paper, "paper")?);
        let scale = |written: WrittenScale| Scale {
            seeds: written.seeds.max(1),
            set: overrides(&written.set),
            scenario: written.scenario.map(|path| folder.join(path)),
            values: written
                .values
                .into_iter()
                .map(|(name, values)| (name, values.iter().map(label).collect()))
                .collect(),
        };
        Ok(Experiment {
            id: id.to_owned(),
            title: self.title,
            figure: self.figure,
            about: self.about,
            scenario,
            set: overrides(&self.set),
            axes: self.axes.into_iter().map(|written| axis(written, folder)).collect::<Result<_, _>>()?,
            variants: policies.chain(others).collect(),
            metrics: self.metrics,
            quick: scale(quick),
            paper: scale(paper),
            artifact: self.artifact.map(|reading| Reading {
                about: reading.about,
                set: overrides(&reading.set),
                scenario: reading.scenario.map(|path| folder.join(path)),
            }),
            panels: self.panels,
            courses: self.courses,
            theory,
            claims: self.claims.into_iter().map(claim).collect(),
        })
    }
}

fn axis(written: WrittenAxis, folder: &Path) -> Result<Axis, String> {
    let mut values = Vec::with_capacity(written.values.len());
    for (place, value) in written.values.into_iter().enumerate() {
        values.push(match value {
            WrittenValue::Full { label, x, set, scenario } => AxisValue {
                scenario: scenario.map(|path| folder.join(path)),
                x: x.or_else(|| leading_number(&label)).unwrap_or(place as f64),
                label,
                set: overrides(&set),
            },
            WrittenValue::Plain(value) => {
                let key = written.key.as_ref().ok_or_else(|| {
                    format!("axis \"{}\": plain values need a `key` of the scenario", written.name)
                })?;
                let label = label(&value);
                let x = leading_number(&label).unwrap_or(place as f64);
                AxisValue { x, label, set: vec![(key.clone(), value.to_string())], scenario: None }
            }
        });
    }
    let title = written.title.unwrap_or_else(|| written.name.clone());
    Ok(Axis { name: written.name, title, values })
}

fn claim(written: WrittenClaim) -> ClaimCheck {
    let first = written.effect.map(|effect| Condition {
        effect,
        at_least: written.at_least,
        at_most: written.at_most,
        neutral: written.neutral,
        paper: written.paper,
        percent: written.percent,
        over_seeds: written.over_seeds,
        mark: written.mark,
    });
    ClaimCheck {
        id: written.id,
        conditions: first.into_iter().chain(written.also).collect(),
        not_checkable: written.not_checkable,
        note: written.note,
    }
}

fn overrides(table: &toml::Table) -> Overrides {
    table.iter().map(|(key, value)| (key.clone(), value.to_string())).collect()
}

/// A value as expressions and tables write it: text without quotes, `0.2`, `8`.
pub(crate) fn label(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
