//! All limits of the program's input, and the documentation page that lists these limits.

use bufferlab_params::Limit;
use std::fmt::Write;

/// Every limit of input, grouped by kind of input.
#[must_use]
pub fn limits() -> [(&'static str, Vec<Limit>); 8] {
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
        ("Imported files and schedules", [bufferlab_import::LIMITS, bufferlab_schedule::LIMITS].concat()),
        ("Runs", bufferlab_sim::LIMITS.to_vec()),
        ("Pages of `view` and `play`", bufferlab_view::LIMITS.to_vec()),
        ("Configurations of switches", bufferlab_sonic::LIMITS.to_vec()),
        ("Databases of switches", bufferlab_operator::LIMITS.to_vec()),
    ]
}

/// Returns the text of the documentation page `docs/reference/limits.md`.
#[must_use]
pub fn limits_page() -> String {
    let mut text = String::from(BEGIN);
    for (about, limits) in limits() {
        let count = |effect: &str| limits.iter().filter(|limit| limit.effect == effect).count();
        let usual = limits.iter().map(|limit| limit.effect).max_by_key(|effect| count(effect)).unwrap_or("");
        let differs = limits.iter().any(|limit| limit.effect != usual);
        let (column, line) = if differs { (" instead |", "---|") } else { ("", "") };
        // Writing into a string cannot fail, so the result is ignored.
        let _ = write!(
            text,
            "\n## {about}\n\nAbove the limit: {usual}.\n\n| limit | at most | input |{column}\n|---|--:|---|{line}\n"
        );
        for Limit { name, most, unit, place, effect } in limits {
            let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
            let _ = write!(text, "| {name} | {}{unit} | {place} |", grouped(most));
            if differs {
                let _ = write!(text, " {} |", if effect == usual { "" } else { effect });
            }
            text.push('\n');
        }
    }
    text
}

const BEGIN: &str = "\
# Limits

<!-- generated from the declarations in the crates: cargo xtask generate cli -->

Commands refuse input that could exhaust the memory before they allocate it. The error names the
limit and the input above it.

## Memory

`bufferlab check` shows the memory that a run takes before its first packet: queues, routes, tables
of flows, lists. The estimate is between the true size and 2.5 times that size. A run is refused if
the estimate and 64 MB exceed the least of these:

* available memory of the system (`MemAvailable` in `/proc/meminfo`),
* memory that the control group of the process has left (cgroup v2),
* address space below `ulimit -v`.

`--memory-limit 64GB` replaces all of them. A run that does not fit fails alone; the other runs of
its command continue. If memory is short, fewer runs, or fewer threads of a run, execute at a time.
";

/// Writes a number with separators of thousands: "10,000".
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
