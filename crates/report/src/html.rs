//! The report's page: the order of its sections, facts of the runs, caveats, and the scenario.
//! `maud` escapes all text from outside.

mod bursts;
pub(crate) mod charts;
mod explanations;
mod occupancy;
pub(crate) mod parts;
mod pauses;
mod queues;
mod ranks;
mod real_vs_simulated;
pub(crate) mod summary;
mod tables;
mod timeline;

use crate::error::ReportError;
use crate::format;
use crate::load::Report;
use crate::page::{document, finish};
use bufferlab_metrics::Table;
use maud::{Markup, PreEscaped, html};
use parts::Body;
use std::collections::VecDeque;

impl Report {
    /// Formats the report's page as one HTML file without external references.
    ///
    /// # Errors
    /// If a table that only charts need cannot be read.
    pub fn html(&self) -> Result<String, ReportError> {
        page(&self.shown())
    }
}

/// A section of the page: a part with a heading.
struct Section {
    id: &'static str,
    heading: &'static str,
    body: Body,
}

/// Width of a section in a row of sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// The section is as wide as its table.
    Table,
    One,
    Two,
    /// The section is as wide as the page.
    Whole,
}

impl Width {
    /// CSS class for the width of the section.
    const fn class(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::One => "one",
            Self::Two => "two",
            Self::Whole => "whole",
        }
    }

    /// Width that the section needs, in thirds of a row.
    const fn parts(self) -> usize {
        match self {
            Self::Table | Self::One => 1,
            Self::Two => 2,
            Self::Whole => LINE,
        }
    }
}

impl Section {
    const fn new(id: &'static str, heading: &'static str, body: Body) -> Self {
        Self { id, heading, body }
    }

    /// Creates a section of the page without charts.
    const fn text(id: &'static str, heading: &'static str, markup: Markup) -> Self {
        Self::new(id, heading, Body::new(0, markup))
    }

    /// Width of the section's charts, up to a whole row.
    const fn width(&self) -> Width {
        match self.body.charts {
            _ if self.body.wide => Width::Whole,
            0 => Width::Table,
            1 => Width::One,
            2 => Width::Two,
            _ => Width::Whole,
        }
    }
}

/// Places sections of the page side by side if there is space. If `wide` is set, every section has
/// a whole row.
fn grid(sections: &[Section], wide: bool) -> Markup {
    html! {
        @if !sections.is_empty() {
            div.flow {
                @for section in sections {
                    section class=(if wide { Width::Whole } else { section.width() }.class()) {
                        h2 id=(section.id) { (section.heading) }
                        (section.body.markup)
                    }
                }
            }
        }
    }
}

/// Number of columns in a row of sections; the narrowest section has one column.
const LINE: usize = 3;

/// Orders sections so that no row is half empty: a later section moves up into the space before a
/// section that needs a whole row.
fn fill_rows(sections: Vec<Section>) -> Vec<Section> {
    let takes = |section: &Section| section.width().parts();
    let mut left = VecDeque::from(sections);
    let (mut ordered, mut room) = (Vec::with_capacity(left.len()), LINE);
    while !left.is_empty() {
        let fits = left.iter().position(|section| takes(section) <= room).unwrap_or(0);
        if let Some(next) = left.remove(fits) {
            room = if takes(&next) <= room { room - takes(&next) } else { LINE - takes(&next) };
            room = if room == 0 { LINE } else { room };
            ordered.push(next);
        }
    }
    ordered
}

fn page(report: &Report) -> Result<String, ReportError> {
    let title = title(report);
    let charts = [
        summary::overview(report).map(|body| Section::new("glance", "At a glance", body)),
        real_vs_simulated::section(report)?
            .map(|body| Section::new("beside", "Real packets beside the simulator", body)),
        bursts::section(report)?.map(|body| Section::new("bursts", "Bursts", body)),
        charts::slowdown_by_size(report).map(|body| Section::new("sizes", "Slowdown by flow size", body)),
        charts::slowdown_distribution(report)
            .map(|body| Section::new("distribution", "Slowdown distribution", body)),
        charts::queries(report).map(|body| Section::new("queries", "Query completion time", body)),
        timeline::over_time(report)?.map(|body| Section::new("buffer-time", "Buffer over time", body)),
        occupancy::distribution(report).map(|body| Section::new("buffer", "Buffer occupancy", body)),
    ];
    let mut charts: Vec<_> = charts.into_iter().flatten().collect();
    let tables = vec![
        Section::text("comparison", "Numbers", tables::comparison(report)),
        Section::text("losses", "Losses", tables::losses(report)),
    ];
    let window = report
        .window
        .clone()
        .map(|part| Section::new("window", "The buffer, packet by packet", Body::wide(0, PreEscaped(part))));
    let rest = [
        explanations::section(report)?.map(|body| Section::text("explanations", "Explained losses", body)),
        ranks::section(report)?.map(|body| Section::new("ranks", "Ranks and collectives", body)),
        pauses::section(report)?.map(|body| Section::new("pauses", "Pauses", body)),
        Some(Section::text("links", "Links", tables::links(report))),
        Some(Section::text("runs", "Runs", runs(report)?)),
    ];
    let rest = rest.into_iter().flatten();
    // The page of a comparison begins with charts. The page of a single policy begins with tables
    // of its numbers.
    let parts = if report.comparison.policies.len() > 1 {
        vec![charts, tables, rest.collect()]
    } else {
        charts.extend(rest);
        vec![tables, window.into_iter().collect(), charts]
    };
    let parts: Vec<_> = parts.into_iter().map(fill_rows).collect();
    let wide = report.comparison.policies.len() > WIDE;
    let body = html! {
        h1 { (title) }
        (summary::hero(report, caveats(report).as_ref(), &what(report)))
        nav aria-label="Sections" {
            @for section in parts.iter().flatten() { a href=(format!("#{}", section.id)) { (section.heading) } }
        }
        @for part in &parts { (grid(part, wide && part.iter().any(|section| section.id == "comparison"))) }
        footer {
            "bufferlab " (report.runs[0].summary.bufferlab_version)
            ". Percentiles are by nearest rank: the smallest sample that at least that fraction of the samples does not exceed. "
            "Sizes are decimal: 1 KB is 1,000 bytes."
        }
    };
    let has_charts = parts.iter().flatten().any(|section| section.body.charts > 0);
    Ok(finish(document(&title, &body, has_charts)))
}

/// Number of policies above which tables need the whole width, and titles do not name the policies.
const WIDE: usize = 4;

fn title(report: &Report) -> String {
    let scenario = &report.runs[0].summary.scenario_name;
    match report.comparison.policies.as_slice() {
        [one] => format!("{scenario}: {one}"),
        policies if policies.len() > WIDE => format!("{scenario}: {} policies compared", policies.len()),
        policies => format!("{scenario}: {} compared", policies.join(", ")),
    }
}

/// Formats the section of the caveats; `None` without caveats.
fn caveats(report: &Report) -> Option<Markup> {
    let noted: Vec<_> = report.caveats.iter().map(|caveat| (caveat.record(), String::new())).collect();
    (!noted.is_empty()).then(|| crate::page::caveats(&noted))
}

/// Formats the section with the facts of the runs.
fn what(report: &Report) -> Markup {
    let manifest = report.runs[0].result.manifest();
    html! {
      div.what {
        @if !manifest.scenario_description.is_empty() { p { (manifest.scenario_description) } }
        dl.facts {
            dt { "Policies" }
            dd {
                @for (number, policy) in report.comparison.policies.iter().enumerate() {
                    @if number > 0 { "; " }
                    (policy)
                    // Many policies are listed with their titles further down, in
                    // the section of runs.
                    @if report.comparison.policies.len() > WIDE {}
                    @else if let Some(run) = report.runs_of(policy).next() {
                        @let title = &run.summary.policy.title;
                        @let stands_for = run.result.manifest().variant.as_ref().filter(|variant| variant.text != variant.label);
                        @if let Some(variant) = stands_for { ", which is " code { (variant.text) } }
                        @if !title.is_empty() && title != policy { " (" (title) ")" }
                    }
                    @if number == 0 && report.comparison.policies.len() > 1 { ", the baseline" }
                }
            }
            @if !report.common.is_empty() {
                dt { "Common to all" }
                dd {
                    @for (number, part) in report.common.iter().enumerate() {
                        @if number > 0 { ", " }
                        code { (part) }
                    }
                }
            }
            @for (name, what) in facts(report) { dt { (name) } dd { (what) } }
            @if let Some(others) = report.others_text() {
                dt { "Also here" }
                dd { (others) ". " code { "--with-earlier" } " shows them." }
            }
        }
      }
    }
}

/// Names and values of the facts: seeds, profile, duration, network and version.
pub(crate) fn facts(report: &Report) -> Vec<(String, String)> {
    let first = &report.runs[0].summary;
    let seeds: Vec<_> = report.comparison.seeds.iter().map(u64::to_string).collect();
    let version = match &first.git_commit {
        Some(commit) => format!("bufferlab {} ({commit})", first.bufferlab_version),
        None => format!("bufferlab {}", first.bufferlab_version),
    };
    let duration = format!(
        "flows start during {}, then up to {} to finish",
        format::span_ns(first.duration_ns),
        format::span_ns(first.drain_ns)
    );
    let facts = [
        (if seeds.len() == 1 { "Seed" } else { "Seeds" }, seeds.join(", ")),
        ("Profile", first.profile.clone()),
        ("Duration", duration),
        ("Network", network(report)),
        ("Version", version),
    ];
    facts.map(|(name, what)| (name.to_owned(), what)).into()
}

fn network(report: &Report) -> String {
    let manifest = report.runs[0].result.manifest();
    // Variants may have buffer sizes that differ from the baseline's buffer size.
    let all = report.runs.iter().flat_map(|run| &run.result.manifest().totals.buffer_bytes);
    let mut buffers: Vec<u64> = all.copied().collect();
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

/// Formats the parameters, hashes and resolved scenarios of the runs.
fn runs(report: &Report) -> Result<Markup, ReportError> {
    let scenario = report.runs[0].result.scenario_toml()?;
    let first = &report.runs[0];
    Ok(html! {
        @for policy in &report.comparison.policies {
            @if let Some(run) = report.runs_of(policy).next() {
                @let params = &run.summary.policy.params;
                p {
                    strong { (policy) } ": policy " code { (run.summary.policy.name) }
                    @if !run.summary.policy.title.is_empty() { " (" (run.summary.policy.title) ")" }
                    @if params.is_empty() { ", no parameters" }
                    @for (number, (name, value)) in params.iter().enumerate() {
                        (if number == 0 { ", " } else { "; " }) code { (name) " = " (value) }
                    }
                }
            }
        }
        @if report.runs.iter().any(|run| run.result.manifest().rows(Table::Packets) > 0) {
            p {
                "Packets were recorded: " code { "bufferlab view" } " on the folder of a run shows what a buffer held over time, down to \
                single packets, and why they were lost."
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

#[cfg(test)]
mod tests {
    use super::*;

    fn section(id: &'static str, charts: usize) -> Section {
        Section::new(id, id, Body::new(charts, Markup::default()))
    }

    #[test]
    fn a_section_moves_up_into_a_line_that_a_whole_one_would_leave_half_empty() {
        let order = |list: Vec<Section>| fill_rows(list).iter().map(|section| section.id).collect::<Vec<_>>();
        // Without reordering, the section on queries would be alone in a row, before the sections
        // on the buffer over time and on occupancy.
        let list = [("glance", 2), ("distribution", 1), ("queries", 2), ("time", 4), ("occupancy", 1)];
        let list = list.map(|(id, charts)| section(id, charts)).into();
        assert_eq!(order(list), ["glance", "distribution", "queries", "occupancy", "time"]);
        let whole = ["a", "b"].map(|id| section(id, 3)).into();
        assert_eq!(order(whole), ["a", "b"], "nothing fits into a line that is full");
        assert!(fill_rows(Vec::new()).is_empty());
    }
}
