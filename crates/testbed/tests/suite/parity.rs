//! Tests that the switch and the simulator give equal verdicts.

mod cut;
mod synthetic;
