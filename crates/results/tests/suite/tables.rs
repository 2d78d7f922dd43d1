//! Tests that reading a table returns every cell as it was written.

use crate::folder::write;
use crate::rows::{EachTable, count, for_each_table, row, rows};
use bufferlab_metrics::{FlowRow, Table, TableRow};
use bufferlab_results::RunResult;
use std::fmt::Debug;

/// Compares every table with the written rows, and records which tables were compared.
struct Comparison {
    run: RunResult,
    seen: Vec<Table>,
}

impl EachTable for Comparison {
    fn table<R: TableRow + PartialEq + Debug>(&mut self) {
        let found: Vec<R> = self.run.load().expect(R::NAME);
        assert_eq!(found.len() as u64, count(R::NAME), "{}", R::NAME);
        let differing = found.into_iter().zip(rows()).find(|(found, written)| found != written);
        assert_eq!(differing, None, "{}", R::NAME);
        self.seen.push(R::TABLE);
    }
}

#[test]
fn every_table_comes_back_as_it_was_written() {
    let temp = tempfile::tempdir().unwrap();
    let run = RunResult::open(&write(&temp.path().join("run"), 1)).unwrap();
    let mut comparison = Comparison { run, seen: Vec::new() };
    for_each_table(&mut comparison);
    comparison.seen.sort();
    assert_eq!(comparison.seen, Table::ALL);
}

#[test]
fn rows_that_are_made_from_columns_differ_and_have_empty_cells() {
    let flows: Vec<FlowRow> = (0..6).map(row).collect();
    for (n, flow) in flows.iter().enumerate() {
        assert!(flows[..n].iter().all(|other| other != flow), "row {n} is like another one");
    }
    let states: std::collections::BTreeSet<_> = flows.iter().map(|flow| flow.state).collect();
    assert!(states.len() > 1, "{states:?}");
    assert!(flows.iter().any(|flow| flow.fct_ns.is_none()) && flows.iter().any(|flow| flow.fct_ns.is_some()));
}
