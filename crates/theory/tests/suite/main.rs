//! Tests of the closed forms and the fluid model against worked numbers, packets and the papers.

mod domains;
mod fluid_examples;
mod fluid_figures;
mod fluid_limits;
mod fluid_support;
mod fluid_thresholds;
mod invariance;
mod packets;
mod packets_against_fluid;
mod worked_numbers;
