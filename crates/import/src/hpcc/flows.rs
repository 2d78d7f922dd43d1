//! Reads flow lists of HPCC and ns3-datacenter: a count, then `src dst group port bytes start_s`.

use crate::imported::Traffic;
use crate::limits::{FLOWS, NODES};
use crate::source::Source;
use crate::{ImportError, Imported};
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use std::collections::BTreeSet;

/// Size (bytes) from which a flow never ends in practice: 22 hours at 100 Gb/s. Lists often contain
/// this size.
const ENDLESS: u64 = 1_000_000_000_000;
/// Name of the traffic class of all flows in a list.
const CLASS: &str = "flow";

/// Reads a flow list. The import replaces numbers of nodes by numbers of hosts after it has read
/// all files.
pub(crate) fn read(source: Source<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    source.notice_line_ends(&mut imported.notices);
    let mut words = source.words();
    let incomplete =
        || source.error("the file ends before its last announced flow", "correct the count in line 1");
    let count = words.next().ok_or_else(incomplete)?.whole("the number of flows", FLOWS.most)?;
    let mut next = || words.next().ok_or_else(incomplete);
    let mut flows: Vec<FlowSpec> = Vec::new();
    let mut groups = BTreeSet::new();
    let (mut endless, mut descends, mut bytes, mut hosts) = (0_u64, false, 0_u128, 0);
    for _ in 0..count {
        let first = next()?;
        let src = first.whole("a source node", NODES.most)? as u32;
        let dst = next()?.whole("a destination node", NODES.most)? as u32;
        groups.insert(next()?.whole("a priority group", 255)? as u8);
        next()?.whole("a port", u64::from(u32::MAX))?;
        let size_word = next()?;
        let size = match size_word.text.parse::<u64>() {
            Ok(size) => size,
            Err(_) => size_word.real("a size in bytes")?.min(u64::MAX as f64) as u64,
        };
        let start_word = next()?;
        let start = start_word.real("a start in seconds")?;
        if start > 86_400.0 {
            return Err(start_word.unexpected("a start in seconds, below a day"));
        }
        if src == dst || size == 0 {
            let problem = if size == 0 { "a flow without data" } else { "a flow to its own source" };
            return Err(first.error(problem, "remove it, and correct the count in line 1"));
        }
        let start = Time((start * 1e12).round() as u64);
        descends |= flows.last().is_some_and(|last| last.start > start);
        hosts = hosts.max(src.max(dst) + 1);
        endless += u64::from(size >= ENDLESS);
        bytes += u128::from(size);
        let size = if size >= ENDLESS { FlowSpec::UNLIMITED } else { size };
        flows.push(FlowSpec {
            start,
            src,
            dst,
            size,
            class: 0,
            query: FlowSpec::NO_QUERY,
            open: None,
            data_path: None,
            ack_path: None,
            node: FlowSpec::NO_NODE,
        });
    }
    imported.notices.understand(format!("{count} flows of {bytes} B in all"));
    if endless > 0 {
        imported.notices.assume(format!("{endless} flows of {ENDLESS} B or more are endless"));
    }
    if words.next().is_some() {
        imported.notices.ignore(format!("everything after the {count} announced flows, as the parser does"));
    }
    if descends {
        imported.notices.assume("starts do not ascend, which the parser requires; they are sorted");
    }
    if groups.len() > 1 {
        imported.notices.ignore("priority groups, which differ: all flows have priority 3");
    }
    imported.notices.ignore("ports of the flows");
    imported.group = groups.pop_first().filter(|_| groups.is_empty());
    flows.sort_by_key(|flow| flow.start);
    imported.hosts = hosts;
    imported.traffic = Some(Traffic::Flows { flows, classes: vec![CLASS.to_owned()] });
    Ok(())
}
