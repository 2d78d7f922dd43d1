//! Tests that the switch and the simulator give equal answers.

mod cut;
mod synthetic;
