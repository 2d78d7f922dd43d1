//! Results of the papers as functions: closed forms, a fluid model of shared buffers,
//! and calculators that show their derivations.

pub mod calculators;
pub mod figures;
pub mod fluid;
pub mod forms;
pub mod statements;
