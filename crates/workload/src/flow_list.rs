//! Flow lists: a text format that any simulator can replay.

mod error;
mod limited;
mod number;
mod read;
mod write;

pub use error::{CellProblem, FlowListError};
pub(crate) use limited::{LimitedLines, LineTooLong, unpacked};
pub(crate) use number::{parse_scaled, parse_whole};
pub use read::{FLOW_BYTES, FlowList, parse_flow_list, read_flow_list};
pub use write::write_flow_list;

use crate::FlowSpec;
use bufferlab_units::is_hidden;
use std::collections::BTreeMap;

/// Class of flows in a list that names no class.
const DEFAULT_CLASS: &str = "flow";

/// Numbers the queries of `flows` as `base`, `base + 1` … in the order of their first appearance,
/// and returns the next free number. Lists that are replayed together need new numbers, because
/// each list numbers its queries from zero.
///
/// # Panics
/// If the query numbers do not fit below [`FlowSpec::NO_QUERY`].
pub fn renumber_queries(flows: &mut [FlowSpec], base: u32) -> u32 {
    let mut numbers = BTreeMap::new();
    let mut free = base;
    for flow in flows.iter_mut().filter(|flow| flow.query != FlowSpec::NO_QUERY) {
        flow.query = *numbers.entry(flow.query).or_insert_with(|| {
            assert!(free != FlowSpec::NO_QUERY, "query numbers fit into 32 bits");
            free += 1;
            free - 1
        });
    }
    free
}

/// Finds a control character or writing-direction mark in a name, which would change the display of
/// the name. Names in scenarios may not contain these characters either.
fn hidden_in(name: &str) -> Option<char> {
    name.chars().find(|&character| is_hidden(character) && character != '\n' && character != '\t')
}
