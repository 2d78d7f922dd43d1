//! The switch and the simulator give the same answers.

mod cut;
mod synthetic;
