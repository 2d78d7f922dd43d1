//! Who sends what when: sources, flow lists and traces.

mod captures;
mod flow_lists;
mod sources;
mod traces;
