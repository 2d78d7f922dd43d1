//! Tests of the closed forms and the fluid model against worked numbers, packets and the papers.

mod bounds;
mod claims_abm;
mod claims_losspass_tdt;
mod claims_plasticine;
mod claims_reverie;
mod domains;
mod fluid_examples;
mod fluid_figures;
mod fluid_limits;
mod fluid_support;
mod fluid_thresholds;
mod invariance;
mod packets;
mod packets_against_fluid;
mod support;
mod worked_numbers;
