//! Tests of schedules and collectives.

mod collectives;
mod evaluate;
mod graphs;
mod text;
