//! Tests of the crate `bufferlab-operator`.

mod calibrate;
mod expectations;
mod faults;
mod hostile;
mod one_headroom;
// One table has the measurements of real chips and their switches, for tests of predictions and of
// simulations.
mod headroom_pool;
mod marking;
#[allow(dead_code, reason = "the tests of bufferlab-sonic use the rest")]
#[path = "../../../sonic/tests/suite/measured.rs"]
mod measured;
mod model;
mod one_pool;
mod probe;
mod qualification;
mod recommendation;
mod redis;
mod sai;
mod scenarios;
mod server;
mod store;
mod support;
mod thresholds;
mod tune;
mod vectors;
#[path = "../../../sonic/tests/suite/yaml.rs"]
mod yaml;
