//! Tests that packets confirm the answers of calculators.

mod agreement;
