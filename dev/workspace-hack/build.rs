//! Empty: cargo considers build dependencies only of crates with a build script.
fn main() {}
