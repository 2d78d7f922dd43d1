//! `policy list` and `policy show`: the registry in words.

use crate::print;
use bufferlab_core::{PolicyInfo, policies};
use bufferlab_hardware::{Circuit, CircuitCost, HEADS, of_policy};
use miette::IntoDiagnostic;
use std::fmt::Write;

/// `policy list`.
pub(crate) fn list() -> miette::Result<()> {
    let all = policies();
    let width = all.iter().map(|info| info.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for info in all {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{:width$}  {:<26}  {}", info.name, info.title, info.summary);
    }
    print(&text)
}

/// `policy show`.
pub(crate) fn show(info: &PolicyInfo) -> miette::Result<()> {
    let circuits = of_policy(info.name).into_diagnostic()?;
    print(&format!("{}{}", describe(info), in_hardware(&circuits)))
}

/// The circuits of a policy, with what they cost; nothing, if there are none.
fn in_hardware(circuits: &[Circuit]) -> String {
    let mut text = String::new();
    for circuit in circuits {
        let heading = if text.is_empty() { "\nIn hardware (docs/circuits.md)\n" } else { "" };
        let _ = writeln!(text, "{heading}  {}: {}", circuit.name, circuit.about);
        for line in wrap(&format!("{} {}", circuit.timing(), circuit.evidence()), 90) {
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
        for line in wrap(&param.documentation(), 90) {
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

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
