//! Tests of the scenario format: valid input, meaning and errors.

mod artifact;
mod common;
mod flow_control;
mod hostile;
mod meaning;
mod mistakes;
mod reference;
mod round_trip;
mod schema;
mod topologies_custom;
mod variant;
mod workloads_custom;
