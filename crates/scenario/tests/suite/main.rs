//! Tests of the scenario format: valid input, meaning and errors.

mod artifact;
mod common;
mod custom_topologies;
mod custom_workloads;
mod flow_control;
mod hostile;
mod meaning;
mod mistakes;
mod reference;
mod round_trip;
mod schema;
mod variant;
