//! The behaviour of `bufferlab-operator`.

mod model;
mod recommendation;
mod scenarios;
mod support;
