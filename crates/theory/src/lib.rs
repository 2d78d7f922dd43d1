//! Results of the papers as functions: closed forms, a fluid model of shared buffers, calculators
//! that show their derivation, and the papers' statements that these decide.

pub mod calculators;
pub mod figures;
pub mod fluid;
pub mod forms;
pub mod statements;
