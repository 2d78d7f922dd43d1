//! Tests that replays with packets confirm the answers of calculators.

mod agreement;
