//! The view of a buffer as a part of a run's report, limited in detail to keep the report small.

use crate::ViewError;
use crate::file::Detail;
use crate::page;
use crate::view::View;
use bufferlab_metrics::{DropRow, Table};
use bufferlab_report::Report;
use bufferlab_results::{ResultsError, RunResult};
use maud::html;
use std::collections::BTreeMap;

/// Maximum size of a view in a report (bytes of JSON). Scripts add 80 KB.
const BYTES: usize = 1_500_000;
/// Maximum number of table rows that are read for a report: some seconds of work.
const ROWS: u64 = 50_000_000;

/// Adds a view to the report of a single run with recorded packets. The view shows the switch with
/// the most losses. A report of several runs, or without packets, stays unchanged.
///
/// If the view is too large, a sentence replaces the view. A sentence also replaces the view of a
/// run that cannot be repeated, such as a run of another version.
///
/// # Errors
/// If the run's files cannot be read.
pub fn embed(report: &mut Report) -> Result<(), ResultsError> {
    let Some(run) = report.single_run() else { return Ok(()) };
    let rows = run.result.manifest().rows(Table::Packets);
    if rows == 0 {
        return Ok(());
    }
    let part = if rows > ROWS { Ok(None) } else { part(&run.result) };
    report.window = Some(match part {
        Ok(Some(part)) => part,
        Ok(None) => {
            let text = html! {
                p { "The table of packets is too large for a part of this page. " code { "bufferlab view" } " on this folder shows it." }
            };
            text.into_string()
        }
        Err(ViewError::Results(error)) => return Err(error),
        Err(error) => {
            html! { p { "It cannot be shown here: " (error) " (" (error.hint()) ")." } }.into_string()
        }
    });
    Ok(())
}

/// The view with as much detail as fits; `None` if even the smallest view is too large.
fn part(run: &RunResult) -> Result<Option<String>, ViewError> {
    let view = View::open(run.dir(), worst_switch(run)?.as_deref())?;
    let mut detail = Some(Detail::PART);
    while let Some(wanted) = detail {
        let data = view.data(wanted, true)?;
        if data.len() <= BYTES {
            let rest = html! {
                p.soft {
                    "This page has some stretches of the run in detail only. " code { "bufferlab view" } " on this folder shows any stretch of time, \
                     down to single packets, every queue of every recorded switch, and explains any loss."
                }
            };
            return Ok(Some(page::part(&data, &rest)));
        }
        detail = wanted.half();
    }
    Ok(None)
}

/// Name of the recorded switch that lost the most packets; `None` without losses.
fn worst_switch(run: &RunResult) -> Result<Option<String>, ViewError> {
    let mut lost: BTreeMap<u32, u64> = BTreeMap::new();
    run.visit(|row: DropRow| *lost.entry(row.switch).or_default() += row.packets)?;
    let names = &run.manifest().names.switches;
    let recorded = crate::explain::scenario(run)?.output.packets;
    let is_recorded = |switch: u32| recorded.is_none_or(|recorded| recorded.contains(switch));
    let candidates = lost.into_iter().filter(|(switch, _)| is_recorded(*switch));
    // If several switches have equally many losses, the view shows the first of these switches.
    let worst = candidates.max_by_key(|&(switch, count)| (count, std::cmp::Reverse(switch)));
    Ok(worst.and_then(|(switch, _)| names.get(switch as usize).cloned()))
}
