//! Tests of the scenario format: accepted files, their meaning, refused files.

mod artifact;
mod common;
mod flow_control;
mod hostile;
mod meaning;
mod mistakes;
mod own_topologies;
mod own_workloads;
mod reference;
mod round_trip;
mod schema;
mod variant;
