//! Tables of the page: the comparison, losses and links.

use super::parts::{drawn, row_class};
use crate::compare::{Cell, MetricComparison};
use crate::format;
use crate::load::Report;
use crate::metric::Better;
use crate::ranking::Ranking;
use crate::statistics::Estimate;
use crate::terminal::{change_text, estimate_text};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Maximum number of policies side by side in a table.
const COLUMNS: usize = 6;
/// Number of rows in the table of the worst queues.
const QUEUES_SHOWN: usize = 10;

pub(super) fn comparison(report: &Report) -> Markup {
    let comparison = &report.comparison;
    let (headline, rest): (Vec<_>, Vec<_>) = comparison.metrics.iter().partition(|row| row.metric.headline);
    let several = comparison.policies.len() > 1;
    html! {
        p.soft {
            @match comparison.seeds.len() {
                1 => { "One seed, so there are no confidence intervals." }
                seeds => { "Mean over " (seeds) " seeds ± half of its 95 % confidence interval." }
            }
            @if several {
                " Below it, the change against " (comparison.baseline()) ", paired by seed"
                @if comparison.seeds.len() > 1 { " with the distances to the ends of its interval in percentage points: ✓ better, ✗ worse, * different, ≈ the interval includes zero; each interval alone, not corrected for their number" }
                "."
            }
            " FCT is the flow completion time, its slowdown the ratio to the ideal in an empty network; QCT is that of a whole query."
        }
        @if comparison.policies.len() > COLUMNS { (policy_table(report, &headline)) } @else { (metric_table(report, &headline)) }
        details {
            summary { "All " (comparison.metrics.len()) " metrics" }
            (metric_table(report, &rest))
        }
    }
}

/// Formats a table with a row per policy, the best policy first. Used if a page is too narrow for a
/// column per policy.
fn policy_table(report: &Report, rows: &[&MetricComparison]) -> Markup {
    let policies = &report.comparison.policies;
    let order = Ranking::of(&report.comparison)
        .map_or_else(|| (0..policies.len()).collect(), |ranking| ranking.order);
    html! {
        div.scroll tabindex="0" {
            table {
                thead { tr {
                    th { "Policy" }
                    @for row in rows { th { (row.metric.group) br; (row.metric.title()) } }
                } }
                tbody {
                    @for &at in &order {
                        tr {
                            th { (policies[at]) @if at == 0 { " (baseline)" } }
                            @for row in rows {
                                @let cell = &row.cells[at];
                                td { (estimate_text(&row.metric, cell)) (change(row.metric.better, cell)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn metric_table(report: &Report, rows: &[&MetricComparison]) -> Markup {
    let policies = &report.comparison.policies;
    html! {
        div.scroll tabindex="0" {
            table {
                thead { tr {
                    th { "Metric" }
                    @for (number, policy) in policies.iter().enumerate() {
                        th { (policy) @if number == 0 && policies.len() > 1 { br; "(baseline)" } }
                    }
                } }
                tbody {
                    @for (number, row) in rows.iter().enumerate() {
                        @if number == 0 || rows[number - 1].metric.group != row.metric.group {
                            tr { th.group colspan=(policies.len() + 1) { (row.metric.group) } }
                        }
                        tr {
                            th { (row.metric.title()) }
                            @for cell in &row.cells { td { (estimate_text(&row.metric, cell)) (change(row.metric.better, cell)) } }
                        }
                    }
                }
            }
        }
    }
}

fn change(better: Better, cell: &Cell) -> Markup {
    let Some(change) = cell.change else { return html! {} };
    let (class, sign) = match (change.low, change.excludes_zero(), better, change.mean < 0.0) {
        (None, ..) => ("", ""),
        (_, false, ..) => ("", " ≈"),
        (_, _, Better::Neither, _) => ("", " *"),
        (_, _, Better::Lower, true) | (_, _, Better::Higher, false) => ("good", " ✓"),
        _ => ("bad", " ✗"),
    };
    // The terminal's text marks significance with a star; the page has no star.
    let text = change_text(cell);
    html! { small class=(class) { (text.trim_end_matches(" *")) (sign) } }
}

pub(super) fn losses(report: &Report) -> Markup {
    let policies = &report.comparison.policies;
    // Number of lost packets per seed, by policy and reason.
    let mut rows: Vec<(&str, String, f64, f64)> = Vec::new();
    for policy in policies {
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        let (mut seeds, mut arrived) = (0_u64, 0_u64);
        for run in report.runs_of(policy) {
            seeds += 1;
            arrived += run.summary.switching.arrived_packets;
            for (reason, packets) in &run.summary.switching.lost_by_reason {
                *reasons.entry(reason).or_default() += packets;
            }
        }
        let mut reasons: Vec<_> = reasons.into_iter().filter(|(_, packets)| *packets > 0).collect();
        reasons.sort_by_key(|(_, packets)| std::cmp::Reverse(*packets));
        if reasons.is_empty() {
            reasons.push(("no loss", 0));
        }
        for (reason, packets) in reasons {
            let percent = if arrived == 0 { 0.0 } else { packets as f64 / arrived as f64 * 100.0 };
            rows.push((policy, reason.to_owned(), packets as f64 / seeds.max(1) as f64, percent));
        }
    }
    let most = rows.iter().map(|row| row.2).fold(0.0, f64::max);
    let drawn = drawn(report);
    html! {
        h3 { "By reason" }
        p.soft { "Packets lost in switches, " @if report.comparison.seeds.len() > 1 { "mean per seed, " } "by the limit that bound." }
        div.scroll tabindex="0" {
            table {
                thead { tr { th { "Policy" } th.left { "Reason" } th { "Packets" } th.left {} th { "Of arrivals [%]" } } }
                tbody {
                    @for (policy, reason, packets, percent) in &rows {
                        @let style = policies.iter().position(|name| name == policy).map(|at| row_class(&drawn, at));
                        tr {
                            th { (policy) }
                            td.left { (reason) }
                            td { (format::mean_count(*packets)) }
                            td.bars {
                                @if *packets > 0.0 {
                                    span class=(style.unwrap_or_default()) {
                                        span.bar style=(format!("background:var(--c);width:{:.1}%", packets / most * 100.0)) {}
                                    }
                                }
                            }
                            td { (format::number(*percent)) }
                        }
                    }
                }
            }
        }
        (worst_queues(report))
    }
}

/// Formats the queues with the most losses, summed over policies, with each policy's mean per seed.
fn worst_queues(report: &Report) -> Markup {
    let policies = &report.comparison.policies;
    let mut queues: BTreeMap<(&str, u16, u8), Vec<u64>> = BTreeMap::new();
    for (number, policy) in policies.iter().enumerate() {
        for queue in report.runs_of(policy).flat_map(|run| &run.summary.switching.lost_by_queue) {
            let key = (queue.switch.as_str(), queue.port, queue.priority);
            queues.entry(key).or_insert_with(|| vec![0; policies.len()])[number] += queue.lost_packets;
        }
    }
    let (found, mut worst) = (queues.len(), queues.into_iter().collect::<Vec<_>>());
    worst.sort_by_key(|(_, packets)| std::cmp::Reverse(packets.iter().sum::<u64>()));
    worst.truncate(QUEUES_SHOWN);
    let seeds = |policy: &String| report.runs_of(policy).count().max(1) as f64;
    html! {
        @if !worst.is_empty() {
            h3 { "By queue" }
            p.soft {
                "Packets lost" @if report.comparison.seeds.len() > 1 { ", mean per seed" } "; "
                @if found > worst.len() { "the worst " (worst.len()) " of " (format::count(found as u64)) " queues with losses." }
                @else { "every queue with losses." }
            }
            div.scroll tabindex="0" {
                table {
                    thead { tr { th { "Switch, port, priority" } @for policy in policies { th { (policy) } } } }
                    tbody {
                        @for ((switch, port, priority), packets) in &worst {
                            tr {
                                th { (switch) ", port " (port) ", priority " (priority) }
                                @for (policy, packets) in policies.iter().zip(packets) {
                                    td { (format::mean_count(*packets as f64 / seeds(policy))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn links(report: &Report) -> Markup {
    let policies = &report.comparison.policies;
    let roles: Vec<(&str, u64)> =
        report.runs[0].summary.links.iter().map(|role| (role.role.as_str(), role.links)).collect();
    // Utilisation, averaged over the seeds: the mean of all links of a role, and the busiest link.
    let values = |policy: &str, role: &str| {
        let links: Vec<_> = report
            .runs_of(policy)
            .flat_map(|run| &run.summary.links)
            .filter(|link| link.role == role)
            .collect();
        let mean = |get: fn(&crate::LinkRole) -> f64| {
            Estimate::from_values(&links.iter().map(|link| get(link)).collect::<Vec<_>>())
                .map(|estimate| estimate.mean)
        };
        (mean(|link| link.mean_percent), mean(|link| link.max_percent))
    };
    let text = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), format::tenth);
    html! {
        p.soft { "Mean utilisation while flows start [%], and that of the busiest link of the role." }
        div.scroll tabindex="0" {
            table {
                thead { tr { th { "Role" } th { "Links" } @for policy in policies { th { (policy) } } } }
                tbody {
                    @for (role, links) in &roles {
                        tr {
                            th { (role_text(role)) }
                            td { (format::count(*links)) }
                            @for policy in policies {
                                @let (mean, max) = values(policy, role);
                                td { (text(mean)) small { "busiest " (text(max)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn role_text(role: &str) -> String {
    match role {
        "host-up" => "host to switch".into(),
        "host-down" => "switch to host".into(),
        "up" => "switch to switch, away from hosts".into(),
        "down" => "switch to switch, towards hosts".into(),
        other => other.to_owned(),
    }
}
