//! Integration tests of sources, flow lists and traces.

mod captures;
mod flow_lists;
mod sources;
mod traces;
