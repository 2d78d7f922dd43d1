//! Section on flow control: deadlocks, storms, and a timeline of paused links.

use super::parts::{Body, axis_number};
use crate::error::ReportError;
use crate::format;
use crate::load::{Report, Run};
use crate::pauses::{PausedLink, paused_links, rows};
use crate::svg::{Axis, Segment, Timeline, TimelineRow};
use bufferlab_metrics::{PauseCycleRow, Table, WatchdogRow};
use maud::{Markup, html};

/// Maximum number of paused links in the figure and the table.
const LINKS_SHOWN: usize = 40;
/// Pauses of a link with a gap below this fraction of the run are drawn as one pause.
const RESOLUTION: u64 = 1_200;

/// Formats the pauses in the first run of every policy with pauses; `None` if no run has pauses.
pub(super) fn section(report: &Report) -> Result<Option<Body>, ReportError> {
    let mut parts = Vec::new();
    for policy in &report.comparison.policies {
        if let Some(run) = report.runs_of(policy).next()
            && run.result.manifest().rows(Table::PauseSpans) > 0
        {
            parts.push(one(run)?);
        }
    }
    if parts.is_empty() {
        return Ok(None);
    }
    // Every part of the section on pauses contains a timeline as wide as the page.
    Ok(Some(Body::wide(parts.len(), html! { @for part in &parts { (part) } })))
}

fn one(run: &Run) -> Result<Markup, ReportError> {
    let end_ns = run.summary.end_ns;
    let cycles = rows::<PauseCycleRow>(&run.result)?;
    let storms = rows::<WatchdogRow>(&run.result)?;
    let links = paused_links(rows(&run.result)?, end_ns);
    let switches = &run.result.manifest().names.switches;
    let shown = &links[..links.len().min(LINKS_SHOWN)];
    Ok(html! {
        h3 { (run.label) ", seed " (run.summary.seed) }
        @if !cycles.is_empty() { (cycle_table(&cycles)) }
        @if !storms.is_empty() { (storm_table(&storms, switches)) }
        p.soft {
            "Who was paused when. A link stands below the one that mostly was in force when its pauses began: there the pause came from."
            @if links.len() > shown.len() { " The first " (shown.len()) " of " (links.len()) " paused links." }
        }
        (timeline(shown, &cycles, &storms, switches, end_ns).markup())
        (link_table(shown, end_ns))
    })
}

fn cycle_table(cycles: &[PauseCycleRow]) -> Markup {
    html! {
        p.soft { "Circles of paused links that waited for each other. One that lasted is a deadlock." }
        div.scroll tabindex="0" {
            table {
                thead { tr { th { "Circle, in the direction of the traffic" } th { "Priority" } th { "Closed first" } th { "Times" } th { "Altogether" } th { "Ended" } } }
                tbody {
                    @for cycle in cycles {
                        tr {
                            th { (around(cycle)) }
                            td { (cycle.priority) }
                            td { (format::span_ns(cycle.time_ns)) }
                            td { (format::count(cycle.times)) }
                            td { (format::span_ns(cycle.total_ns)) }
                            td { @match cycle.ended_ns { Some(at) => (format::span_ns(at)), None => { strong { "deadlock" } small { "since " (format::span_ns(cycle.last_ns)) } } } }
                        }
                    }
                }
            }
        }
    }
}

/// Formats the switches of a cycle of pauses: `s0 → s1 → s2 → s0`.
fn around(cycle: &PauseCycleRow) -> String {
    let first = cycle.members.first().cloned();
    cycle.members.iter().cloned().chain(first).collect::<Vec<_>>().join(" → ")
}

fn storm_table(storms: &[WatchdogRow], switches: &[String]) -> Markup {
    html! {
        p.soft { "Queues that the PFC watchdog found stormed by pauses." }
        div.scroll tabindex="0" {
            table {
                thead { tr {
                    th { "Queue" } th { "Rule" } th { "Action" } th { "Noticed" } th { "Restored" }
                    th { "Flushed" } th { "Discarded" } th { "Sent meanwhile" }
                } }
                tbody {
                    @for storm in storms {
                        tr {
                            th { (place(storm, switches)) }
                            td { (storm.rule) }
                            td { (storm.action) }
                            td { (format::span_ns(storm.detected_ns)) }
                            td { @match storm.restored_ns { Some(at) => (format::span_ns(at)), None => "no" } }
                            td { (format::count(storm.flushed_packets)) }
                            td { (format::count(storm.discarded_packets)) }
                            td { (format::count(storm.sent_packets)) }
                        }
                    }
                }
            }
        }
        p.soft { "Packets. Discarded on arrival: for the queue, or of its priority from its port." }
    }
}

fn place(storm: &WatchdogRow, switches: &[String]) -> String {
    let switch = switches.get(storm.switch as usize).map_or("?", String::as_str);
    format!("{switch} port {} priority {}", storm.port, storm.priority)
}

fn label(link: &PausedLink) -> String {
    let parallel = if link.parallel > 0 { format!("/{}", link.parallel) } else { String::new() };
    format!("{} pauses {}{parallel}, p{}", link.by, link.paused, link.priority)
}

fn timeline(
    links: &[PausedLink],
    cycles: &[PauseCycleRow],
    storms: &[WatchdogRow],
    switches: &[String],
    end_ns: u64,
) -> Timeline {
    let ms = |ns: u64| ns as f64 / 1e6;
    let segment =
        |from: u64, to: u64, name: String| Segment { from: ms(from), to: ms(to), name, hollow: false };
    let mut rows: Vec<TimelineRow> = Vec::new();
    for link in links {
        let text = |from: u64, to: u64| format!("{} to {}", format::span_ns(from), format::span_ns(to));
        let segments = coalesced(&link.spans, end_ns / RESOLUTION);
        rows.push(TimelineRow {
            name: label(link),
            depth: link.depth,
            class: "s0".into(),
            segments: segments.into_iter().map(|(from, to)| segment(from, to, text(from, to))).collect(),
        });
    }
    for cycle in cycles {
        // If a cycle of pauses closed several times, the page draws the last closing.
        let to = cycle.ended_ns.unwrap_or(end_ns);
        rows.push(TimelineRow {
            name: format!("circle {}", around(cycle)),
            depth: 0,
            class: "s1".into(),
            segments: vec![segment(cycle.last_ns, to, "circle".into())],
        });
    }
    let mut stormed: Vec<(String, Vec<Segment>)> = Vec::new();
    for storm in storms {
        let (name, to) = (place(storm, switches), storm.restored_ns.unwrap_or(end_ns));
        let bar = segment(storm.detected_ns, to, storm.action.to_owned());
        match stormed.iter_mut().find(|(known, _)| *known == name) {
            Some((_, bars)) => bars.push(bar),
            None => stormed.push((name, vec![bar])),
        }
    }
    rows.extend(stormed.into_iter().map(|(name, segments)| TimelineRow {
        name: format!("watchdog: {name}"),
        depth: 0,
        class: "s2".into(),
        segments,
    }));
    let x = Axis::linear("time [ms]", 0.0, ms(end_ns), axis_number);
    Timeline { title: "Pauses over time".into(), x, rows }
}

/// Merges pauses over gaps of at most `gap`, the resolution of a figure.
fn coalesced(spans: &[(u64, u64)], gap: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for &(start, end) in spans {
        match all.last_mut() {
            Some(last) if start <= last.1 + gap => last.1 = last.1.max(end),
            _ => all.push((start, end)),
        }
    }
    all
}

fn link_table(links: &[PausedLink], end_ns: u64) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table {
                thead { tr { th { "Link" } th { "Pauses" } th { "Paused" } th { "Of the run" } th { "Passed on" } } }
                tbody {
                    @for link in links {
                        tr {
                            th { @for _ in 0..link.depth { "\u{2003}" } (label(link)) }
                            td { (format::count(link.spans.len() as u64)) }
                            td { (format::span_ns(link.total_ns)) }
                            td { (format::tenth(100.0 * link.total_ns as f64 / end_ns.max(1) as f64)) " %" }
                            td { @if link.depth > 0 { (format::count(link.passed_on)) } @else { "–" } }
                        }
                    }
                }
            }
        }
        p.soft { "Passed on: pauses that began while the node was itself paused by the one above." }
    }
}
