//! All limits of input, and the page that lists them.

use bufferlab_params::Limit;
use std::fmt::Write;

/// Every limit, by what input it is about.
#[must_use]
pub fn limits() -> [(&'static str, Vec<Limit>); 7] {
    [
        ("Commands", bufferlab_lab::LIMITS.to_vec()),
        (
            "Scenarios and experiments",
            [
                bufferlab_document::limits::LIMITS,
                bufferlab_scenario::LIMITS,
                bufferlab_topology::LIMITS,
                bufferlab_core::LIMITS,
            ]
            .concat(),
        ),
        ("Lists of flows and traces", bufferlab_workload::LIMITS.to_vec()),
        ("Runs", bufferlab_sim::LIMITS.to_vec()),
        ("Pages of `view` and `play`", bufferlab_view::LIMITS.to_vec()),
        ("Configurations of switches", bufferlab_sonic::LIMITS.to_vec()),
        ("Databases of switches", bufferlab_operator::LIMITS.to_vec()),
    ]
}

/// The page `docs/reference/limits.md`.
#[must_use]
pub fn limits_page() -> String {
    let mut text = String::from(BEGIN);
    for (about, limits) in limits() {
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "\n## {about}\n\n| limit | at most | input | what happens to more |\n|---|--:|---|---|\n"
        );
        for Limit { name, most, unit, place, effect } in limits {
            let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
            let _ = writeln!(text, "| {name} | {}{unit} | {place} | {effect} |", grouped(most));
        }
    }
    text
}

const BEGIN: &str = "\
# Limits

<!-- generated from the declarations in the crates: cargo xtask generate cli -->

Input that could multiply into more than a machine holds is refused before memory is gone. The error names the limit and
what asked for more.

## Memory

`bufferlab check` shows the memory that a run takes before its first packet: queues, routes, tables of flows, lists. The
estimate is at least what is taken and at most 2.5 times as much. A run is refused when the estimate and 64 MB exceed the
least of these:

* what the system has available (`MemAvailable` in `/proc/meminfo`),
* what the control group of the process has left (cgroup v2),
* what `ulimit -v` leaves.

`--memory-limit 64GB` replaces all of them. A run that does not fit fails alone: the others of its command run. Several
runs at a time, or several threads of one run, become fewer where memory holds fewer.

The bound is that of the machine because a fixed one would refuse on a server what a laptop cannot run. The fixed limits
below hold on every machine.
";

/// A number with its thousands apart: "10,000".
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
