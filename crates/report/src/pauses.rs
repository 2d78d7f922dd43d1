//! Pauses of links: the spans in which a link was paused, and which pauses caused other pauses.

use crate::error::ReportError;
use crate::summary::LinkRole;
use bufferlab_metrics::{LinkRow, PauseCycleRow, PauseRow, PauseSpanRow, TableRow};
use bufferlab_results::RunResult;
use serde::Serialize;
use std::collections::BTreeMap;

/// Flow control of a run: pauses, losses and headroom.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pauses {
    /// Number and durations of all pauses of the run.
    pub all: PauseTotal,
    /// Number and durations of pauses for every lossless priority, in ascending order.
    pub by_priority: Vec<(u8, PauseTotal)>,
    /// Pauses by role of the paused link (`host-up`, `up`, `down`, `peer`), as in
    /// the table of links.
    pub by_role: Vec<(String, PauseTotal)>,
    /// Number of lossless packets that switches lost, except packets that watchdogs discarded.
    pub lost_lossless_packets: u64,
    /// Greatest headroom of one ingress queue (bytes); `None` without pauses, or if the run did not
    /// record headroom.
    pub max_headroom_bytes: Option<u64>,
}

/// Number and durations of pauses. A pause is the time for which one priority of one link is
/// silent. A pause lasts from the sender's reaction until the sender may resume. Repeated pause
/// frames prolong the pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PauseTotal {
    /// Number of pauses.
    pub number: u64,
    /// Sum of the lengths of all pauses (ns).
    pub total_ns: u64,
    /// Length of the longest pause (ns).
    pub longest_ns: u64,
}

impl PauseTotal {
    fn add(&mut self, length_ns: u64) {
        self.number += 1;
        self.total_ns += length_ns;
        self.longest_ns = self.longest_ns.max(length_ns);
    }
}

/// Computes the flow control of a run; `None` if no priority is lossless.
pub(crate) fn totals(result: &RunResult, roles: &[LinkRole]) -> Result<Option<Pauses>, ReportError> {
    let manifest = result.manifest();
    let (ports, spans) = (rows::<PauseRow>(result)?, rows::<PauseSpanRow>(result)?);
    let mut priorities = manifest.lossless_priorities.clone();
    priorities.extend(ports.iter().map(|row| row.priority));
    priorities.sort_unstable();
    priorities.dedup();
    if priorities.is_empty() {
        return Ok(None);
    }
    let mut by_priority: BTreeMap<u8, PauseTotal> =
        priorities.into_iter().map(|priority| (priority, PauseTotal::default())).collect();
    // The function omits links to hosts: only hosts could pause these links, and hosts never pause.
    let roles = roles.iter().filter(|role| role.role != "host-down");
    let mut by_role: Vec<_> = roles.map(|role| (role.role.clone(), PauseTotal::default())).collect();
    let role_of = roles_of_links(result)?;
    let mut all = PauseTotal::default();
    for span in spans {
        let length_ns = span.end_ns.unwrap_or(manifest.totals.end_ns).saturating_sub(span.start_ns);
        all.add(length_ns);
        by_priority.entry(span.priority).or_default().add(length_ns);
        let role = role_of.get(&(span.paused, span.by, span.parallel));
        match role.and_then(|role| by_role.iter().position(|(known, _)| known == role)) {
            Some(at) => by_role[at].1.add(length_ns),
            None => {
                let mut total = PauseTotal::default();
                total.add(length_ns);
                by_role.push((role.copied().unwrap_or("unknown").to_owned(), total));
            }
        }
    }
    let lost_lossless_packets = ports.iter().map(|row| row.lost_lossless_packets).sum();
    let headroom = ports.iter().map(|row| row.max_headroom_bytes).max();
    Ok(Some(Pauses {
        all,
        by_priority: by_priority.into_iter().collect(),
        by_role,
        lost_lossless_packets,
        max_headroom_bytes: headroom,
    }))
}

/// Role of every link, by the link's sending end, receiving end and number among parallel links.
type RolesOfLinks = BTreeMap<(String, String, u16), &'static str>;

fn roles_of_links(result: &RunResult) -> Result<RolesOfLinks, ReportError> {
    let mut roles = BTreeMap::new();
    result.visit(|row: LinkRow| {
        roles.insert((row.from, row.to, row.parallel), row.role);
    })?;
    Ok(roles)
}

/// A deadlock: switches that waited for each other at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deadlock {
    /// Lossless priority on which the deadlock occurred.
    pub priority: u8,
    /// Names of the switches in the direction of the traffic. The next switch of the list pauses
    /// each switch, and the first switch pauses the last switch.
    pub members: Vec<String>,
    /// Start of the deadlock in simulated time (ns).
    pub since_ns: u64,
}

/// Returns the deadlocks of a run; empty for results of a version that did not record deadlocks.
pub(crate) fn deadlocks(result: &RunResult) -> Result<Vec<Deadlock>, ReportError> {
    let cycles = rows::<PauseCycleRow>(result)?;
    let lasting = cycles.into_iter().filter(PauseCycleRow::lasted);
    Ok(lasting
        .map(|cycle| Deadlock { priority: cycle.priority, members: cycle.members, since_ns: cycle.last_ns })
        .collect())
}

/// Reads all rows of a table that older results may lack.
pub(crate) fn rows<R: TableRow>(result: &RunResult) -> Result<Vec<R>, ReportError> {
    if result.manifest().rows(R::TABLE) == 0 { Ok(Vec::new()) } else { Ok(result.load()?) }
}

/// A link and a priority that was paused on the link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PausedLink {
    /// Name of the node that sends the pause frames.
    pub(crate) by: String,
    /// Name of the node that is paused.
    pub(crate) paused: String,
    pub(crate) parallel: u16,
    pub(crate) priority: u8,
    /// Pauses of the link as (start, end), ascending (ns).
    pub(crate) spans: Vec<(u64, u64)>,
    /// Sum of the durations of the link's pauses (ns).
    pub(crate) total_ns: u64,
    /// Number of pauses of the link that began while `by` was paused by the parent link in the
    /// tree; 0 for a root.
    pub(crate) passed_on: u64,
    /// Depth of the paused link in the tree of pauses.
    pub(crate) depth: usize,
}

/// Builds trees of the paused links, the longest paused link first. The parent of a link is the
/// link that was mostly paused when the link's pauses began.
pub(crate) fn paused_links(rows: Vec<PauseSpanRow>, end_ns: u64) -> Vec<PausedLink> {
    type Key = (String, String, u16, u8);
    let mut by_link: BTreeMap<Key, Vec<(u64, u64)>> = BTreeMap::new();
    for row in rows {
        let key = (row.by, row.paused, row.parallel, row.priority);
        by_link.entry(key).or_default().push((row.start_ns, row.end_ns.unwrap_or(end_ns)));
    }
    let mut links: Vec<PausedLink> = by_link
        .into_iter()
        .map(|((by, paused, parallel, priority), mut spans)| {
            spans.sort_unstable();
            let total_ns = spans.iter().map(|(start, end)| end - start).sum();
            PausedLink { by, paused, parallel, priority, spans, total_ns, passed_on: 0, depth: 0 }
        })
        .collect();
    links.sort_by_key(|link| std::cmp::Reverse(link.total_ns));
    let parents: Vec<Option<(usize, u64)>> = (0..links.len()).map(|at| parent(&links, at)).collect();
    let mut placed = vec![false; links.len()];
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(links.len());
    // Roots come first. The remaining links form cycles; the longest paused link of a
    // cycle becomes a root.
    let roots = (0..links.len()).filter(|&at| parents[at].is_none());
    for root in roots.chain(0..links.len()).collect::<Vec<_>>() {
        let mut open = vec![(root, 0)];
        while let Some((at, depth)) = open.pop() {
            if std::mem::replace(&mut placed[at], true) {
                continue;
            }
            order.push((at, depth));
            let children =
                (0..links.len()).rev().filter(|&child| parents[child].is_some_and(|(up, _)| up == at));
            open.extend(children.map(|child| (child, depth + 1)));
        }
    }
    let link = |(at, depth): (usize, usize)| {
        let passed_on = if depth == 0 { 0 } else { parents[at].map_or(0, |(_, count)| count) };
        PausedLink { depth, passed_on, ..links[at].clone() }
    };
    order.into_iter().map(link).collect()
}

/// Finds the link that was most often paused when pauses of link `at` began, and counts these
/// pauses. The result is `None` unless the count exceeds half of the pauses of link `at`.
fn parent(links: &[PausedLink], at: usize) -> Option<(usize, u64)> {
    let own = &links[at];
    let above = |other: &PausedLink| other.paused == own.by && other.priority == own.priority;
    let count = |other: &PausedLink| {
        let in_force = |start: u64| {
            let next = other.spans.partition_point(|span| span.0 <= start);
            next > 0 && start < other.spans[next - 1].1
        };
        own.spans.iter().filter(|span| in_force(span.0)).count() as u64
    };
    (0..links.len())
        .filter(|&other| other != at && above(&links[other]))
        .map(|other| (other, count(&links[other])))
        .max_by_key(|&(other, count)| (count, std::cmp::Reverse(other)))
        .filter(|&(_, count)| count * 2 > own.spans.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(by: &str, paused: &str, start_ns: u64, end_ns: Option<u64>) -> PauseSpanRow {
        let (by, paused) = (by.into(), paused.into());
        PauseSpanRow { by, paused, priority: 1, start_ns, end_ns, ..PauseSpanRow::default() }
    }

    fn shape(links: &[PausedLink]) -> Vec<(usize, &str, &str, u64)> {
        links.iter().map(|l| (l.depth, l.by.as_str(), l.paused.as_str(), l.passed_on)).collect()
    }

    #[test]
    fn a_pause_stands_below_the_one_that_was_in_force_when_it_began() {
        let rows = vec![
            span("s1", "h2", 30, Some(40)),
            span("s0", "s1", 20, Some(60)),
            span("h0", "s0", 10, None),
            span("s1", "h2", 45, Some(50)),
            span("s1", "h2", 70, Some(71)),
            // Node s9 pauses without a cause: no other link pauses s9.
            span("s9", "h9", 10, Some(15)),
        ];
        let links = paused_links(rows, 100);
        assert_eq!(
            shape(&links),
            [(0, "h0", "s0", 0), (1, "s0", "s1", 1), (2, "s1", "h2", 2), (0, "s9", "h9", 0)]
        );
        assert_eq!((links[0].total_ns, links[2].total_ns), (90, 16));
    }

    #[test]
    fn links_in_a_circle_are_shown_once() {
        // Pauses of each link mostly begin while the other link is paused.
        let mut rows: Vec<_> = [0, 20, 40].map(|at| span("a", "b", at, Some(at + 15))).into();
        rows.extend([10, 30, 50].map(|at| span("b", "a", at, Some(at + 15))));
        assert_eq!(shape(&paused_links(rows, 100)), [(0, "a", "b", 0), (1, "b", "a", 3)]);
    }
}
