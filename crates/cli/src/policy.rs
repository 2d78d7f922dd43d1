//! `policy list` and `policy show`: the registry in words.

use crate::print;
use bufferlab_core::{PolicyInfo, policies};
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
    print(&describe(info))
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
