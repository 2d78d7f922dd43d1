//! Tests of schedules and of the expansion of collectives.

mod collectives;
mod evaluate;
mod graphs;
mod text;
