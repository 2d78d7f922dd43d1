//! The commands `policy list` and `policy show` describe the registered policies.

use crate::print;
use bufferlab_core::{ParamInfo, PolicyInfo, policies};
use bufferlab_report::format::wrapped;
use bufferlab_rtl::{Circuit, CircuitCost, HEADS, of_policy};
use miette::IntoDiagnostic;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use std::fmt::Write;

/// JSON of the policies. `format_version` grows when a field changes its meaning or is removed.
/// New fields may appear without a new version.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab policies")]
struct PoliciesFile {
    /// Name of the output format: `bufferlab-policies`.
    format: &'static str,
    /// Version of the output format: 1.
    format_version: u32,
    /// Policies in the order of `policy list`.
    policies: Vec<PolicyRecord>,
}

/// A buffer-management policy as a JSON record.
#[derive(Serialize, JsonSchema)]
struct PolicyRecord {
    /// Name of the policy in scenarios.
    name: &'static str,
    /// Alternative names of the policy.
    aliases: &'static [&'static str],
    /// Full name of the policy.
    title: &'static str,
    /// One sentence about the behaviour of the policy.
    summary: &'static str,
    /// Paper or other source of the policy.
    source: &'static str,
    /// Amount of work that the policy needs per decision.
    cost: &'static str,
    /// Parameters of the policy.
    parameters: Vec<ParameterRecord>,
}

/// A parameter of a policy as a JSON record.
#[derive(Serialize, JsonSchema)]
struct ParameterRecord {
    /// Key of the parameter in a scenario.
    name: &'static str,
    /// Values that the parameter accepts, in words.
    expected: String,
    /// Default of the parameter in the notation of scenarios.
    default: String,
    /// Default of the parameter in the profile `artifact`; null if the profile has no different
    /// default.
    artifact_default: Option<String>,
    /// Meaning of the parameter.
    meaning: String,
}

impl PolicyRecord {
    fn from_info(info: &PolicyInfo) -> Self {
        let parameter = |param: &ParamInfo| ParameterRecord {
            name: param.name,
            expected: param.expected(),
            default: param.default.to_string(),
            artifact_default: param.artifact_default.as_ref().map(ToString::to_string),
            meaning: param.documentation().into_owned(),
        };
        Self {
            name: info.name,
            aliases: info.aliases,
            title: info.title,
            summary: info.summary,
            source: info.source,
            cost: info.cost,
            parameters: info.params.iter().map(parameter).collect(),
        }
    }
}

/// Returns the JSON schema of `policy list --json` and `policy show --json`.
pub(crate) fn schema() -> Schema {
    schema_for!(PoliciesFile)
}

fn json(policies: Vec<PolicyRecord>) -> miette::Result<()> {
    let file = PoliciesFile { format: "bufferlab-policies", format_version: 1, policies };
    let text = serde_json::to_string_pretty(&file).into_diagnostic()?;
    print(&format!("{text}\n"))
}

/// Executes the command `policy list`.
pub(crate) fn list(as_json: bool) -> miette::Result<()> {
    let all = policies();
    if as_json {
        return json(all.iter().map(|info| PolicyRecord::from_info(info)).collect());
    }
    let width = all.iter().map(|info| info.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for info in all {
        // Writing into a string cannot fail, so the result is ignored.
        let _ = writeln!(text, "{:width$}  {:<26}  {}", info.name, info.title, info.summary);
    }
    print(&text)
}

/// Executes the command `policy show`.
pub(crate) fn show(info: &PolicyInfo, as_json: bool) -> miette::Result<()> {
    if as_json {
        return json(vec![PolicyRecord::from_info(info)]);
    }
    let circuits = of_policy(info.name).into_diagnostic()?;
    print(&format!("{}{}", describe(info), in_hardware(&circuits)))
}

/// The circuits of a policy with their costs. Empty if the policy has no circuits.
fn in_hardware(circuits: &[Circuit]) -> String {
    let mut text = String::new();
    for circuit in circuits {
        let heading = if text.is_empty() { "\nIn hardware (docs/internals/circuits.md)\n" } else { "" };
        let _ = writeln!(text, "{heading}  {}: {}", circuit.name, circuit.about);
        for line in wrapped(&format!("{} {}", circuit.timing(), circuit.evidence()), 90) {
            let _ = writeln!(text, "      {line}");
        }
        let rows: Vec<[String; HEADS.len()]> = circuit.costs.iter().map(CircuitCost::cells).collect();
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).chain([HEADS[column].chars().count()]).max()
        };
        let widths: Vec<usize> = (0..HEADS.len()).map(|column| width(column).unwrap_or(0)).collect();
        for row in std::iter::once(HEADS.map(str::to_owned)).chain(rows) {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("  {cell:>width$}"));
            let _ = writeln!(text, "    {}", cells.collect::<String>());
        }
    }
    text
}

fn describe(info: &PolicyInfo) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}: {}\n\n{}", info.name, info.title, info.summary);
    let _ = writeln!(text, "Source: {}\nCost:   {}", info.source, info.cost);
    if !info.aliases.is_empty() {
        let _ = writeln!(text, "Also:   {}", info.aliases.join(", "));
    }
    if info.params.is_empty() {
        let _ = writeln!(text, "\nNo parameters.");
        return text;
    }
    let _ = writeln!(text, "\nParameters");
    for param in info.params {
        let _ = write!(text, "  {} = {}", param.name, param.default);
        if let Some(artifact) = &param.artifact_default {
            let _ = write!(text, "   (profile artifact: {artifact})");
        }
        let _ = writeln!(text, "\n      {}", param.expected());
        for line in wrapped(&param.documentation(), 90) {
            let _ = writeln!(text, "      {line}");
        }
    }
    let example = info.params.first().map(|param| format!(", {} = {}", param.name, param.default));
    let _ = writeln!(
        text,
        "\nIn a scenario\n  [switch]\n  policy = {{ name = \"{}\"{} }}",
        info.name,
        example.unwrap_or_default()
    );
    text
}
