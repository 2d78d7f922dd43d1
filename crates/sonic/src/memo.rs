//! Writes a memo for a change request, as one page of HTML. The page has a picture of the memory,
//! findings, margins of headroom, a recommendation and caveats.

use crate::config::Config;
use crate::explain::{Explanation, explain};
use crate::lint::{self, Finding, LintError, Options, Severity};
use crate::silicon::headroom::{GroupHeadroom, kinds};
use bufferlab_units::quantity::format_size;
use std::fmt::Write as _;

/// Colours for the parts of the memory, dark enough for print.
const COLOURS: [&str; 6] = ["#2b6cb0", "#c05621", "#718096", "#a0aec0", "#cbd5e0", "#e2e8f0"];
/// Largest number of findings that the memo lists; a page has no room for more.
const LISTED: usize = 12;

const STYLE: &str = "body{font:14px/1.4 sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#1a202c}\
h1{font-size:1.4em}h2{font-size:1.1em;margin:1.2em 0 .3em}table{border-collapse:collapse;width:100%}\
td,th{text-align:left;padding:.2em .6em .2em 0;border-bottom:1px solid #e2e8f0;vertical-align:top}\
td.n{text-align:right;white-space:nowrap}.error{color:#9b2c2c;font-weight:bold}.warning{color:#975a16;font-weight:bold}\
svg{width:100%;height:2.4em}.key{display:inline-block;width:.8em;height:.8em;margin-right:.4em}\
@media print{body{margin:0;max-width:none}}@page{size:A4;margin:15mm}";

/// Formats the memo about a configuration.
///
/// # Errors
/// See [`lint::check`].
pub fn html(config: &Config, options: &Options) -> Result<String, LintError> {
    let findings = lint::check(config, options)?;
    let gaps = lint::not_judged(config, options);
    let explanation = explain(config, options.chip);
    let mut text = String::new();
    let title = explanation.switch.clone().unwrap_or_else(|| "a switch without a name".to_owned());
    let title = escaped(&format!("Buffers of {title}"));
    // Writing into a string cannot fail.
    let _ = write!(
        text,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head>\n\
         <body><h1>{title}</h1>\n<p>{}. Files: {}.</p>\n",
        escaped(explanation.chip),
        escaped(&config.files.join(", "))
    );
    recommendation(&mut text, &findings, &gaps);
    memory(&mut text, &explanation);
    margins(&mut text, config, options);
    listed(&mut text, &findings);
    caveats(&mut text, &explanation, &gaps);
    text.push_str("</body></html>\n");
    Ok(text)
}

fn escaped(text: &str) -> String {
    let hidden = |c: char| if bufferlab_units::is_hidden(c) { ' ' } else { c };
    let text: String = text.chars().map(hidden).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn count(findings: &[Finding], severity: Severity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity && finding.allowed.is_none()).count()
}

fn recommendation(text: &mut String, findings: &[Finding], gaps: &[String]) {
    let (errors, warnings) = (count(findings, Severity::Error), count(findings, Severity::Warning));
    let advice = match (errors, warnings, gaps.is_empty()) {
        (0, 0, true) => "Nothing speaks against this configuration.".to_owned(),
        (0, 0, false) => "Nothing that was judged speaks against this configuration.".to_owned(),
        (0, warnings, _) => {
            format!(
                "Decide about {warnings} warning{} before the change.",
                if warnings == 1 { "" } else { "s" }
            )
        }
        (errors, ..) => format!(
            "Do not apply this configuration: correct {errors} error{} first.",
            if errors == 1 { "" } else { "s" }
        ),
    };
    let _ = writeln!(text, "<h2>Recommendation</h2><p><b>{advice}</b></p>");
}

fn memory(text: &mut String, explanation: &Explanation) {
    let all: u64 = explanation.parts.iter().map(|part| part.bytes).sum();
    if all == 0 {
        return;
    }
    let _ = write!(
        text,
        "<h2>Memory ({})</h2>\n<svg viewBox=\"0 0 1000 40\" preserveAspectRatio=\"none\" role=\"img\">",
        format_size(explanation.memory_bytes.unwrap_or(all))
    );
    let whole = explanation.memory_bytes.unwrap_or(all).max(all) as f64;
    let mut left = 0.0;
    for (part, colour) in explanation.parts.iter().zip(COLOURS.iter().cycle()) {
        let width = 1000.0 * part.bytes as f64 / whole;
        let _ = write!(
            text,
            "<rect x=\"{left:.2}\" y=\"0\" width=\"{width:.2}\" height=\"40\" fill=\"{colour}\"/>"
        );
        left += width;
    }
    text.push_str("</svg>\n<table>");
    for (part, colour) in explanation.parts.iter().zip(COLOURS.iter().cycle()) {
        let _ = writeln!(
            text,
            "<tr><td><span class=\"key\" style=\"background:{colour}\"></span>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1} %</td><td>{}</td></tr>",
            escaped(&part.name),
            format_size(part.bytes),
            100.0 * part.bytes as f64 / whole,
            escaped(&part.note)
        );
    }
    text.push_str("</table>\n");
}

fn margins(text: &mut String, config: &Config, options: &Options) {
    let kinds = kinds(config, options.chip);
    if kinds.is_empty() {
        return;
    }
    text.push_str(
        "<h2>Headroom</h2>\n<table><tr><th>profile</th><th>ports</th><th>speed, cable</th><th>margin</th><th>answer</th></tr>\n",
    );
    for (profile, ports, headroom) in kinds {
        let GroupHeadroom { speed_mbps, cable_metres, .. } = headroom;
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{} Gb/s, {cable_metres} m</td><td class=\"n\">{:+.0} m</td><td> {}</td></tr>",
            escaped(&profile),
            escaped(&ports),
            speed_mbps as f64 / 1e3,
            headroom.margin_metres(),
            escaped(&headroom.answer())
        );
    }
    text.push_str("</table>\n");
}

fn listed(text: &mut String, findings: &[Finding]) {
    let counted: Vec<_> = findings.iter().filter(|finding| finding.allowed.is_none()).collect();
    let _ = writeln!(text, "<h2>Findings</h2>\n<table>");
    if counted.is_empty() {
        text.push_str("<tr><td>none</td></tr>\n");
    }
    for finding in counted.iter().take(LISTED) {
        let severity = finding.severity;
        let _ = writeln!(
            text,
            "<tr><td class=\"{severity}\">{severity} {}</td><td>{}<br><i>{}</i></td></tr>",
            finding.rule.code,
            escaped(&finding.message),
            escaped(&finding.suggestion)
        );
    }
    text.push_str("</table>\n");
    if let Some(more) = counted.len().checked_sub(LISTED).filter(|more| *more > 0) {
        let _ = writeln!(text, "<p>{more} more: <code>bufferlab sonic lint</code> lists them.</p>");
    }
}

fn caveats(text: &mut String, explanation: &Explanation, gaps: &[String]) {
    let all: Vec<String> = explanation
        .caveats
        .iter()
        .cloned()
        .chain(gaps.iter().map(|gap| format!("Not judged: {gap}.")))
        .chain(explanation.not_explained.iter().map(|gap| format!("Not explained: {gap}.")))
        .collect();
    if all.is_empty() {
        return;
    }
    text.push_str("<h2>Caveats</h2>\n<ul>\n");
    for caveat in all {
        let _ = writeln!(text, "<li>{}</li>", escaped(&caveat));
    }
    text.push_str("</ul>\n");
}
