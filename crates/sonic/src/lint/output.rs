//! Formats lint findings as text, as JSON, and as SARIF 2.1.0.

use super::{Finding, RULES, Severity};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Formats lint findings as text: one block per finding, then the parts of the configuration that
/// were not judged, and counts at the end.
#[must_use]
pub fn text(findings: &[Finding], not_judged: &[String]) -> String {
    let mut text = String::new();
    let (counted, allowed): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.allowed.is_none());
    for finding in &counted {
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "{} {} {}: {}",
            finding.severity, finding.rule.code, finding.rule.name, finding.place
        );
        let _ = writeln!(text, "  {}", finding.message);
        let _ = writeln!(text, "  suggestion: {}", finding.suggestion);
        let _ = writeln!(text, "  why: {} ({})", finding.rule.reason, finding.rule.source);
    }
    for finding in &allowed {
        let reason = finding.allowed.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "allowed {} {}: {}: {reason}",
            finding.rule.code, finding.rule.name, finding.place
        );
    }
    let of = |severity| counted.iter().filter(|finding| finding.severity == severity).count();
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "hint")];
    let counts: Vec<_> = counts
        .into_iter()
        .map(|(severity, name)| match of(severity) {
            1 => format!("1 {name}"),
            many => format!("{many} {name}s"),
        })
        .collect();
    for gap in not_judged {
        let _ = writeln!(text, "not judged: {gap}");
    }
    let rest = match not_judged.len() {
        0 => "",
        1 => "; 1 part was not judged",
        _ => "; the parts above were not judged",
    };
    let _ = writeln!(text, "{}, {} allowed{rest}", counts.join(", "), allowed.len());
    text
}

/// Formats findings about a configuration as a JSON list.
#[must_use]
pub fn json(findings: &[Finding]) -> String {
    let list: Vec<Value> = findings
        .iter()
        .map(|finding| {
            json!({
                "rule": finding.rule.code,
                "name": finding.rule.name,
                "severity": finding.severity,
                "file": &*finding.place.file,
                "line": finding.place.line,
                "key": finding.place.path(),
                "message": finding.message,
                "suggestion": finding.suggestion,
                "reason": finding.rule.reason,
                "source": finding.rule.source,
                "allowed": finding.allowed,
            })
        })
        .collect();
    pretty(&Value::Array(list))
}

/// Formats lint findings as SARIF 2.1.0, for code hosts and editors. The parts of the configuration
/// that were not judged become notifications.
#[must_use]
pub fn sarif(findings: &[Finding], not_judged: &[String], version: &str) -> String {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.code,
                "name": rule.name,
                "shortDescription": { "text": rule.reason },
                "help": { "text": format!("Source: {}", rule.source) },
                "defaultConfiguration": { "level": level(rule.severity) },
            })
        })
        .collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    let notices: Vec<Value> = not_judged
        .iter()
        .map(|gap| json!({ "level": "note", "message": { "text": format!("not judged: {gap}") } }))
        .collect();
    pretty(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "bufferlab", "version": version, "rules": rules } },
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": notices }],
            "results": results,
        }],
    }))
}

fn result(finding: &Finding) -> Value {
    let mut location = json!({ "artifactLocation": { "uri": &*finding.place.file } });
    if finding.place.line > 0 {
        location["region"] = json!({ "startLine": finding.place.line });
    }
    let mut result = json!({
        "ruleId": finding.rule.code,
        "level": level(finding.severity),
        "message": { "text": format!("{}. Suggestion: {}", finding.message, finding.suggestion) },
        "locations": [{
            "physicalLocation": location,
            "logicalLocations": [{ "fullyQualifiedName": finding.place.path() }],
        }],
    });
    if let Some(reason) = &finding.allowed {
        result["suppressions"] = json!([{ "kind": "external", "justification": reason }]);
    }
    result
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).expect("plain values become JSON");
    format!("{text}\n")
}
