//! The page: its order, what was run, caveats, and the scenario. Everything that comes from outside is escaped by
//! `maud`.

mod bursts;
mod charts;
mod explanations;
mod occupancy;
mod pauses;
mod queues;
mod tables;

use crate::caveat::Caveat;
use crate::error::ReportError;
use crate::format;
use crate::load::Report;
use crate::svg::{self, Mark};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Written by this crate, free of user data: the one thing that is not escaped.
const STYLE: &str = include_str!("html/style.css");

pub(crate) fn page(report: &Report) -> Result<String, ReportError> {
    let title = title(report);
    let sections = [
        Some(("comparison", "Numbers", tables::comparison(report))),
        bursts::section(report)?.map(|body| ("bursts", "Bursts", body)),
        charts::slowdown_by_size(report).map(|body| ("sizes", "Slowdown by flow size", body)),
        charts::slowdown_distribution(report).map(|body| ("distribution", "Slowdown distribution", body)),
        charts::queries(report).map(|body| ("queries", "Query completion time", body)),
        occupancy::over_time(report)?.map(|body| ("buffer-time", "Buffer over time", body)),
        occupancy::distribution(report).map(|body| ("buffer", "Buffer occupancy", body)),
        Some(("losses", "Losses", tables::losses(report))),
        explanations::section(report)?.map(|body| ("explanations", "Explained losses", body)),
        pauses::section(report)?.map(|body| ("pauses", "Pauses", body)),
        Some(("links", "Links", tables::links(report))),
        Some(("runs", "Runs", runs(report)?)),
    ];
    let sections: Vec<_> = sections.into_iter().flatten().collect();
    let body = html! {
        h1 { (title) }
        (what(report))
        (caveats(&report.caveats))
        nav aria-label="Sections" {
            @for (id, heading, _) in &sections { a href=(format!("#{id}")) { (heading) } }
        }
        @for (id, heading, body) in &sections {
            section {
                h2 id=(id) { (heading) }
                (body)
            }
        }
        footer {
            "bufferlab " (report.runs[0].summary.bufferlab_version)
            ". Percentiles are by nearest rank: the smallest sample that at least that fraction of the samples does not exceed. "
            "Sizes are decimal: 1 KB is 1,000 bytes."
        }
    };
    Ok(document(&title, &body).into_string())
}

/// A page that needs nothing but itself.
pub(crate) fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " – bufferlab" }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    }
}

/// The style sheet's rules for charts as they are in light, for a file that stands alone: programs other than browsers
/// know no variables.
pub(crate) fn file_style() -> String {
    let root =
        STYLE.split_once(":root {").and_then(|(_, rest)| rest.split_once('}')).map_or("", |(root, _)| root);
    let colours: Vec<(&str, &str)> = root
        .split(';')
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(name, _)| name.starts_with("--"))
        .collect();
    let resolved = |rule: &str| {
        colours
            .iter()
            .fold(rule.to_owned(), |rule, (name, value)| rule.replace(&format!("var({name})"), value))
    };
    let mut style = String::from("text.caption { font-weight: 600; }");
    for rule in STYLE.lines().filter(|line| line.starts_with("svg ") && !line.starts_with("svg.")) {
        if !rule.contains("var(--c)") {
            style.push_str(&resolved(rule));
            continue;
        }
        for (number, (_, colour)) in colours.iter().filter(|(name, _)| is_series(name)).enumerate() {
            let own = rule.replace("svg ", &format!(".s{number} ")).replace("var(--c)", colour);
            style.push_str(&resolved(&own));
        }
    }
    for line in STYLE.lines().filter(|line| line.starts_with(".s") && line.contains("stroke-dasharray")) {
        style.push_str(line);
    }
    style
}

/// `--c0`, `--c1`, …
fn is_series(name: &str) -> bool {
    name.strip_prefix("--c").is_some_and(|rest| rest.parse::<usize>().is_ok())
}

fn title(report: &Report) -> String {
    let scenario = &report.runs[0].summary.scenario_name;
    match report.comparison.policies.as_slice() {
        [one] => format!("{scenario}: {one}"),
        policies => format!("{scenario}: {} compared", policies.join(", ")),
    }
}

/// What was run.
fn what(report: &Report) -> Markup {
    let (first, manifest) = (&report.runs[0].summary, report.runs[0].result.manifest());
    let seeds: Vec<_> = report.comparison.seeds.iter().map(u64::to_string).collect();
    let version = match &first.git_commit {
        Some(commit) => format!("{} ({commit})", first.bufferlab_version),
        None => first.bufferlab_version.clone(),
    };
    html! {
        @if !manifest.scenario_description.is_empty() { p { (manifest.scenario_description) } }
        dl.facts {
            dt { "Policies" }
            dd {
                @for (number, policy) in report.comparison.policies.iter().enumerate() {
                    @if number > 0 { "; " }
                    (policy)
                    @if let Some(run) = report.runs_of(policy).next() {
                        @let title = &run.summary.policy.title;
                        @if !title.is_empty() && title != policy { " (" (title) ")" }
                    }
                    @if number == 0 && report.comparison.policies.len() > 1 { ", the baseline" }
                }
            }
            dt { @if seeds.len() == 1 { "Seed" } @else { "Seeds" } }
            dd { (seeds.join(", ")) }
            dt { "Profile" }
            dd { (first.profile) }
            dt { "Duration" }
            dd { "flows start during " (format::span_ns(first.duration_ns)) ", then up to " (format::span_ns(first.drain_ns)) " to finish" }
            dt { "Network" }
            dd { (network(report)) }
            dt { "Version" }
            dd { "bufferlab " (version) }
        }
    }
}

fn network(report: &Report) -> String {
    let manifest = report.runs[0].result.manifest();
    let mut buffers = manifest.totals.buffer_bytes.clone();
    buffers.sort_unstable();
    buffers.dedup();
    let buffers = match buffers.as_slice() {
        [] => String::new(),
        [one] => format!(", {} of buffer each", format::bytes(*one as f64)),
        [least, .., most] => {
            format!(", {} to {} of buffer", format::bytes(*least as f64), format::bytes(*most as f64))
        }
    };
    let plural = |count: usize, one: &str, many: &str| {
        format!("{} {}", format::count(count as u64), if count == 1 { one } else { many })
    };
    let names = &manifest.names;
    format!(
        "{}, {}{buffers}",
        plural(names.hosts.len(), "host", "hosts"),
        plural(names.switches.len(), "switch", "switches")
    )
}

fn caveats(caveats: &[Caveat]) -> Markup {
    html! {
        @if !caveats.is_empty() {
            aside.caveats {
                h2 { "Before you trust these numbers" }
                ul {
                    @for caveat in caveats {
                        li { (prose(&caveat.message())) " " span.advice { (prose(&caveat.advice())) } }
                    }
                }
            }
        }
    }
}

/// A sentence whose `words in backticks` are names from files.
fn prose(text: &str) -> Markup {
    html! {
        @for (number, part) in text.split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Which line is which policy.
fn legend(report: &Report, mark: Mark) -> Markup {
    html! {
        @if report.comparison.policies.len() > 1 {
            ul.legend {
                @for (number, policy) in report.comparison.policies.iter().enumerate() {
                    li { (svg::sample(&svg::style_class(number), mark)) (policy) }
                }
            }
        }
    }
}

/// `mean over 5 seeds` and the like, for captions.
fn pooled(report: &Report) -> String {
    match report.comparison.seeds.len() {
        1 => String::new(),
        seeds => format!(" Samples of all {seeds} seeds are pooled."),
    }
}

/// Parameters, hashes and the resolved scenario.
fn runs(report: &Report) -> Result<Markup, ReportError> {
    let scenario = report.runs[0].result.scenario_toml()?;
    let first = &report.runs[0];
    Ok(html! {
        @for policy in &report.comparison.policies {
            @if let Some(run) = report.runs_of(policy).next() {
                @let params = &run.summary.policy.params;
                p {
                    strong { (policy) } ": policy " code { (run.summary.policy.name) }
                    @if params.is_empty() { ", no parameters" }
                    @for (number, (name, value)) in params.iter().enumerate() {
                        (if number == 0 { ", " } else { "; " }) code { (name) " = " (value) }
                    }
                }
            }
        }
        details {
            summary { "Every run" }
            div.scroll tabindex="0" {
                table {
                    thead { tr {
                        th { "Policy" } th { "Seed" } th { "Flows" } th { "Lossy" } th { "Unfinished" } th { "Packet-hops" }
                        th { "Simulated" } th.left { "Scenario (SHA-256)" }
                    } }
                    tbody {
                        @for run in &report.runs {
                            @let manifest = run.result.manifest();
                            tr {
                                th { (run.label) }
                                td { (manifest.seed) }
                                td { (format::count(run.summary.all().flows)) }
                                td { (format::count(run.summary.all().lossy)) }
                                td { (format::count(run.summary.all().unfinished)) }
                                td { (format::count(manifest.totals.packet_hops)) }
                                td { (format::span_ns(manifest.totals.end_ns)) }
                                td.left { code { (manifest.scenario_sha256.get(..16).unwrap_or("")) "…" } }
                            }
                        }
                    }
                }
            }
        }
        details {
            summary { "Resolved scenario (" (first.label) ", seed " (first.summary.seed) ")" }
            pre { (scenario) }
        }
    })
}
