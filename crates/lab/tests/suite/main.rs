//! Tests plans and their execution, including runs that panic or need too much memory.

mod limits;
mod panics;
mod warm_up;

use bufferlab_scenario::{LoadError, Loaded, Variant, load_changed};
use std::path::Path;

/// Loads a scenario of a switch with four hosts; `overrides` change keys of the scenario.
fn loaded(
    variant: Option<&Variant>,
    overrides: &[(String, String)],
    text: &str,
) -> Result<Loaded, LoadError> {
    let changes = bufferlab_scenario::Changes { overrides, variant, then: &[] };
    load_changed(Path::new("limits.toml"), Some(text), &changes)
}

const STAR: &str = r#"
duration = "1 ms"
drain = "10 ms"

[topology]
kind = "single_switch"
hosts = 4
rate = "10 Gb/s"
delay = "1 us"

[switch]
buffer = "400 KB"
policy = "dt"

[[transport]]
congestion_control = "newreno"

[[workload]]
kind = "incast"
request = "40 KB"
fan_in = 2
queries_per_second_per_host = 2000.0
"#;
