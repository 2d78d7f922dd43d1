//! Predicts the effect of another alpha or policy. The analysis has variants of a configuration, a
//! table, and a recommendation.

mod keep;
mod recommend;

pub use keep::{SCENARIO_NAME, check_scenario, write_scenario};
pub use recommend::{NONE, Recommendation, recommend};

use crate::OperatorError;
use crate::model::{Limit, Model};
use crate::qos::not_simulated;
use crate::scenario::{Change, changes, policy_parameters, scenario};
use crate::traffic::Traffic;
use bufferlab_report::{Comparison, Unit};
use bufferlab_scenario::{Variant, load_text};
use bufferlab_sonic::config::Config;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

/// Label of the variant that has the current configuration.
pub const TODAY: &str = "today";
/// Label of the variant that has the other configuration.
pub const CHANGED: &str = "changed";
/// Exponents of alpha that SONiC's chips accept. On some chips, exponents beyond this range mean no
/// memory or all memory.
const EXPONENTS: std::ops::RangeInclusive<i32> = -7..=7;
/// Steps of the exponent of alpha in the variants: first for lossless groups, then for lossy
/// queues.
const LOSSLESS_STEPS: [i32; 3] = [-1, 1, 2];
const LOSSY_STEPS: [i32; 2] = [-1, 1];

/// Kind of change that a variant needs on the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// The variant is the current configuration, so the switch needs no change.
    Today,
    /// The variant needs different values of `dynamic_th` in the switch's profiles.
    Setting,
    /// The variant needs changes in the configuration of the switch.
    Configuration,
    /// The variant needs a policy that the chip does not have.
    Policy,
}

/// A variant of the switch that a what-if analysis compares.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Name of the variant in tables.
    pub label: String,
    /// Description of what the variant means for the switch.
    pub meaning: String,
    /// Kind of change that the variant needs.
    pub reach: Reach,
    /// Changed keys of the scenario for this variant.
    pub variant: Variant,
}

/// A scenario, and the variants that a what-if analysis compares in it.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// Text of the scenario file for the comparison.
    pub scenario: String,
    /// Compared variants of the switch; the current configuration is first.
    pub choices: Vec<Choice>,
    /// Simplifications of the scenario, in sentences.
    pub notes: Vec<String>,
}

impl WhatIf {
    /// Plans the comparison for a configuration under the given traffic, optionally with another
    /// configuration of the same switch.
    ///
    /// # Errors
    /// If the traffic does not fit the switch, or the other configuration has other ports.
    pub fn new(
        name: &str,
        (config, model): (&Config, &Model),
        against: Option<(&Config, &Model)>,
        traffic: &Traffic,
    ) -> Result<Self, OperatorError> {
        let text = scenario(name, config, model, traffic)?;
        let mut choices =
            vec![choice(TODAY, "the configuration as it is", Reach::Today, "sonic-dt", &[], &[])?];
        let mut notes = model.notes.clone();
        notes.extend(not_simulated(config, model));
        if let Some((other_config, other)) = against {
            same_ports(model, other)?;
            let parameters = policy_parameters(other, "sonic-dt", &|_, limit| limit);
            let changes = changes(other_config, other);
            let meaning = "the other configuration";
            choices.push(choice(CHANGED, meaning, Reach::Configuration, "sonic-dt", &parameters, &changes)?);
            let of_other = other.notes.iter().cloned().chain(not_simulated(other_config, other));
            let more: Vec<_> = of_other.filter(|note| !notes.contains(note)).collect();
            notes.extend(more);
        }
        let (has_lossy, has_lossless) = traffic.kind.has();
        let has_lossless = has_lossless && !model.lossless.is_empty();
        if has_lossless {
            choices.extend(steps(model, true, &LOSSLESS_STEPS)?);
        }
        if has_lossy || !has_lossless {
            choices.extend(steps(model, false, &LOSSY_STEPS)?);
        }
        choices.extend(policies(model)?);
        notes.extend(traffic.network.note());
        notes.extend(warnings(&text)?);
        Ok(Self { scenario: text, choices, notes })
    }
}

/// Returns the warnings of a scenario that the user must check before trusting its
/// numbers, in sentences.
fn warnings(text: &str) -> Result<Vec<String>, OperatorError> {
    let loaded = load_text(Path::new("what-if.toml"), text, &[]).map_err(|error| {
        let problems: Vec<_> = error.problems().iter().map(ToString::to_string).collect();
        OperatorError::new(
            format!("the scenario of the configuration is refused: {}", problems.join("; ")),
            "check sizes of pools, headroom and reserves: `bufferlab sonic lint` does",
        )
    })?;
    let mut notes: Vec<String> = Vec::new();
    // The model's notes state whether the headroom is enough for the packet sizes of the real
    // switch. So the warning about `switch.policy.headroom`, which assumes the scenario's packets,
    // is omitted.
    for problem in loaded.warnings.iter().filter(|problem| problem.key() != "switch.policy.headroom") {
        let note = format!("{}: {}.", problem.key(), problem.message());
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok(notes)
}

fn same_ports(model: &Model, other: &Model) -> Result<(), OperatorError> {
    let ports = |model: &Model| -> Vec<_> {
        let port =
            |port: &crate::PortModel| (port.name.clone(), port.speed_mbps, port.cable_metres.to_bits());
        model.ports.iter().map(port).collect()
    };
    let (of, with) = (ports(model), ports(other));
    let Some(at) = (0..of.len().max(with.len())).find(|at| of.get(*at) != with.get(*at)) else {
        return Ok(());
    };
    let name = |ports: &[(String, u64, u64)]| ports.get(at).map_or("none".to_owned(), |port| port.0.clone());
    Err(OperatorError::new(
        format!(
            "the two configurations differ in their ports, first at {} and {}: speed, cable or the port itself",
            name(&of),
            name(&with)
        ),
        "compare configurations of the same ports: other ports carry other traffic",
    ))
}

fn choice(
    label: &str,
    meaning: &str,
    reach: Reach,
    policy: &str,
    parameters: &[(&'static str, String)],
    changes: &[Change],
) -> Result<Choice, OperatorError> {
    let parameters: Vec<_> = parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let brackets = if parameters.is_empty() { String::new() } else { format!("({})", parameters.join(", ")) };
    let changes: String = changes.iter().map(|(path, value)| format!(" + {path}={value}")).collect();
    let text = format!("{label}: {policy}{brackets}{changes}");
    let variant = Variant::parse(&text).map_err(|mistake| {
        OperatorError::new(
            format!("the variant \"{label}\" cannot be written: {mistake}"),
            "report it with the configuration: this is a bug in bufferlab",
        )
    })?;
    Ok(Choice { label: label.to_owned(), meaning: meaning.to_owned(), reach, variant })
}

/// Returns variants of the configuration with other exponents of alpha for lossless or for lossy
/// queues, if chips accept the exponents.
fn steps(model: &Model, lossless: bool, steps: &[i32]) -> Result<Vec<Choice>, OperatorError> {
    let class = if lossless { "lossless" } else { "lossy" };
    let mut exponents: Vec<i32> = model
        .ports
        .iter()
        .flat_map(|port| {
            let groups = port.groups.values().map(|group| group.limit);
            let queues = port.lossy.values().map(|queue| queue.limit);
            let of: Vec<_> = if lossless { groups.collect() } else { queues.collect() };
            of.into_iter()
        })
        .filter_map(|limit| match limit {
            Limit::Alpha(alpha) => Some(alpha.log2().round() as i32),
            Limit::Bytes(_) => None,
        })
        .collect();
    exponents.sort_unstable();
    exponents.dedup();
    let mut choices = Vec::new();
    for step in steps {
        if exponents.is_empty() || !exponents.iter().all(|exponent| EXPONENTS.contains(&(exponent + step))) {
            continue;
        }
        let change = |of_lossless: bool, limit: Limit| match limit {
            Limit::Alpha(alpha) if of_lossless == lossless => Limit::Alpha(alpha * 2f64.powi(*step)),
            other => other,
        };
        let factor = if *step > 0 { format!("x{}", 1 << step) } else { format!("x1/{}", 1 << -step) };
        let moved: Vec<_> =
            exponents.iter().map(|exponent| format!("{exponent} -> {}", exponent + step)).collect();
        let meaning = format!("dynamic_th of {class} profiles: {}", moved.join(", "));
        let parameters = policy_parameters(model, "sonic-dt", &change);
        let label = format!("{class} alpha {factor}");
        choices.push(choice(&label, &meaning, Reach::Setting, "sonic-dt", &parameters, &[])?);
    }
    Ok(choices)
}

/// Returns variants with policies of the literature, with equal memory and headroom and the
/// policies' default alphas.
fn policies(model: &Model) -> Result<Vec<Choice>, OperatorError> {
    let mut choices = Vec::new();
    for (label, policy, meaning) in [
        ("policy ABM", "sonic-abm", "Active Buffer Management in the switch's pools, alpha = 1"),
        ("policy Reverie", "reverie", "Reverie: one pool, filtered queue lengths, alpha = 1"),
    ] {
        // Reverie needs equal lossless priorities on all ports.
        if policy == "reverie" && model.lossless_sets().len() > 1 {
            continue;
        }
        let mut parameters = policy_parameters(model, policy, &|_, limit| limit);
        parameters.retain(|(key, _)| *key != "alpha");
        choices.push(choice(label, meaning, Reach::Policy, policy, &parameters, &[])?);
    }
    Ok(choices)
}

/// Columns of the comparison's table: one column for each metric that matches a pattern.
struct Column {
    /// Pattern of the metrics' ids, in which `{}` matches a traffic class.
    pattern: &'static str,
    /// Heading of the table's column; `{}` is the traffic class from the pattern.
    heading: &'static str,
    /// Pattern of another metric. If a traffic class has the other metric, the table lacks the
    /// column for this class.
    unless: Option<&'static str>,
}

const fn column(pattern: &'static str, heading: &'static str) -> Column {
    Column { pattern, heading, unless: None }
}

const COLUMNS: [Column; 8] = [
    column("switches.lost_packets.{}", "lost, {}"),
    column("pauses.lost_lossless_packets", "lossless lost"),
    column("pauses.number", "pauses"),
    column("pauses.paused_ms", "paused ms"),
    column("pauses.headroom_max_kb", "headroom KB"),
    column("short.slowdown_p99", "short p99 x"),
    // For queries, the completion time of the whole query counts, not the completion
    // times of its answers.
    Column { unless: Some(QUERIES), ..column("class.{}.fct_p99_us", "{} FCT p99 us") },
    column(QUERIES, "{} QCT p99 ms"),
];

const QUERIES: &str = "class.{}.qct_p99_ms";

/// Formats the comparison's table and the recommendation as text.
#[must_use]
pub fn text(comparison: &Comparison, plan: &WhatIf, recommendation: &Recommendation) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    if let Some(losses) = &recommendation.losses_today {
        let _ = writeln!(text, "{losses}\n");
    }
    for choice in &plan.choices {
        let _ = writeln!(text, "{:<20} {}", choice.label, choice.meaning);
    }
    text.push('\n');
    text.push_str(&table(comparison));
    let _ = writeln!(
        text,
        "(in brackets: change against today, with * where its 95 % interval leaves out zero)\n"
    );
    let _ = writeln!(text, "recommendation: {}", recommendation.choice);
    for reason in &recommendation.reasons {
        let _ = writeln!(text, "  - {reason}");
    }
    let _ = writeln!(text, "caveats");
    for caveat in &recommendation.caveats {
        let _ = writeln!(text, "  - {caveat}");
    }
    text
}

/// Formats a line of the table for each variant; the columns are as wide as their cells.
fn table(comparison: &Comparison) -> String {
    let columns = columns(comparison);
    let headings = columns.iter().map(|(_, heading)| heading.clone());
    let mut rows = vec![std::iter::once("mean of seeds".to_owned()).chain(headings).collect::<Vec<_>>()];
    for (at, label) in comparison.policies.iter().enumerate() {
        let value = |(id, _): &(String, String)| {
            let cell = comparison.metric(id).and_then(|row| row.cells.get(at));
            cell.map_or(String::new(), |cell| shown(comparison, id, cell))
        };
        rows.push(std::iter::once(label.clone()).chain(columns.iter().map(value)).collect());
    }
    let widths: Vec<usize> = (0..=columns.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") }
        });
        cells.collect::<String>() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Returns the columns of the table that have at least one value.
fn columns(comparison: &Comparison) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for column in &COLUMNS {
        for row in comparison.metrics.iter().filter(|row| row.metric.pattern() == column.pattern) {
            let class = row.metric.part().unwrap_or_default();
            let filled = |pattern: &str| pattern.replace("{}", class);
            let is_replaced = column.unless.is_some_and(|other| comparison.metric(&filled(other)).is_some());
            if !is_replaced && row.cells.iter().any(|cell| cell.estimate.is_some()) {
                found.push((row.metric.id.clone(), filled(column.heading)));
            }
        }
    }
    found
}

fn shown(comparison: &Comparison, id: &str, cell: &bufferlab_report::Cell) -> String {
    let Some(estimate) = cell.estimate else { return "-".to_owned() };
    let is_count = comparison.metric(id).is_some_and(|row| row.metric.unit == Unit::Count);
    let digits = if is_count || estimate.mean.abs() >= 100.0 { 0 } else { 3 };
    let change = cell.change.map_or(String::new(), |change| {
        let mark = if change.excludes_zero() { "*" } else { "" };
        format!(" ({:+.0} %{mark})", change.mean * 100.0)
    });
    format!("{:.digits$}{change}", estimate.mean)
}
