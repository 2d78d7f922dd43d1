//! Translates hints in error messages. The libraries name options and commands of the command line.
//! This module replaces these names by arguments and functions of Python.

/// Phrases that name commands of the command line, and the Python phrases that replace them. Hints
/// about other commands are not translated.
const COMMANDS: &[(&str, &str)] = &[
    ("`bufferlab reproduce --list` lists the experiments", "bufferlab.experiments() lists the experiments"),
    ("`bufferlab policy list` shows all of them", "bufferlab.policies() has all of them"),
    (
        "`bufferlab explain --critical-path` finds queues, pauses and losses on the path",
        "the table critical_path has the nodes of the path",
    ),
    (
        "`bufferlab run` and `bufferlab compare` name their folder at the end",
        "`folder` of a Run and of a Comparison is its folder",
    ),
    (
        "that `bufferlab run` or `bufferlab compare` has written",
        "that run(…, out=…) or compare(…, out=…) has written",
    ),
    ("`bufferlab theory figure` lists them", "bufferlab.theory.figures() lists them"),
    ("`bufferlab sonic lint`", "Configuration.lint()"),
    ("make them again with `bufferlab report`", "make them again with report() of a Run or a Comparison"),
    ("(`bufferlab report` on a seed-N folder)", "(Run.report)"),
    ("`bufferlab check` says what a port needs", "the command `bufferlab check` says what a port needs"),
    ("the scenario that --only-write leaves", "`WhatIf.scenario`"),
    ("; a bare word stands for a string", ""),
];

/// Options of the command line that are boolean arguments in Python.
const FLAGS: [&str; 3] = ["replace", "verify", "lossless"];

/// Translates a hint to terms of the Python package.
pub(crate) fn in_python(hint: &str) -> String {
    let mut text = hint.to_owned();
    for (command, here) in COMMANDS {
        text = text.replace(command, here);
    }
    let mut done = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = next_option(rest) {
        done.push_str(&rest[..at]);
        let option = &rest[at + 2..];
        let end = option.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(option.len());
        let (written, length) = translated(&option[..end], &option[end..]);
        done.push_str(&written);
        rest = &option[end + length..];
    }
    done.push_str(rest);
    done.replace("``", "`")
}

/// Returns the position of the next command-line option in a hint. An option follows a blank, a
/// quote or the start of the text.
fn next_option(text: &str) -> Option<usize> {
    let is_option = |&(at, _): &(usize, &str)| {
        let starts = text[..at].chars().next_back().is_none_or(|before| " `'\"(".contains(before));
        starts && text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
    };
    text.match_indices("--").find(is_option).map(|(at, _)| at)
}

/// Translates an option of the command line to a Python argument. Also returns the length of the
/// option's value in `rest`.
fn translated(option: &str, rest: &str) -> (String, usize) {
    let argument = match option {
        "round-trip" => "round_trip_us".to_owned(),
        other => other.replace('-', "_"),
    };
    if option == "set" {
        return setting(rest);
    }
    if FLAGS.contains(&option) {
        return (format!("{argument}=True"), 0);
    }
    let value = rest.strip_prefix(' ').unwrap_or_default();
    let length = value.find(|c: char| c.is_whitespace() || ".,;:`)".contains(c)).unwrap_or(value.len());
    let value = &value[..length];
    match value {
        _ if option == "policies" && value == "all" => ("policies=[\"all\"]".to_owned(), 1 + length),
        "DIR" => (format!("`{argument}`"), 1 + length),
        _ if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
            (format!("{argument}={value}"), 1 + length)
        }
        _ if value.contains('/') => (format!("{argument}=\"{value}\""), 1 + length),
        _ => (format!("`{argument}`"), 0),
    }
}

/// Translates `--set key=value` to `Scenario.set`.
fn setting(rest: &str) -> (String, usize) {
    let value = rest.strip_prefix(' ').unwrap_or_default();
    let (quoted, end) = match value.strip_prefix('\'') {
        Some(inner) => (true, inner.find('\'').unwrap_or(inner.len())),
        None => {
            let end = value.find(|c: char| c.is_whitespace() || ",;)`".contains(c)).unwrap_or(value.len());
            (false, end)
        }
    };
    let text = if quoted { &value[1..=end] } else { &value[..end] };
    let Some((key, new)) = text.split_once('=') else { return ("`Scenario.set`".to_owned(), 0) };
    let new = new.trim();
    let new = if new.starts_with('{') {
        // Converts a TOML table to a Python dictionary: only the syntax of keys differs.
        let entries = new.trim_matches(['{', '}']).split(',').filter_map(|entry| entry.split_once('='));
        let entries: Vec<_> =
            entries.map(|(key, value)| format!("\"{}\": {}", key.trim(), value.trim())).collect();
        format!("{{{}}}", entries.join(", "))
    } else {
        format!("\"{new}\"")
    };
    (format!("scenario.set(\"{}\", {new})", key.trim()), 1 + if quoted { end + 2 } else { end })
}
