//! Formats explanations of events as text for a terminal.

use bufferlab_report::format::{number, readable};
use bufferlab_results::ExplanationRecord;
use bufferlab_scenario::format_time;
use bufferlab_units::Time;
use std::fmt::Write;

/// Formats an explanation as text: the event, the limit of the policy,
/// the queues that occupied the buffer, and the decisions of other policies.
#[must_use]
pub fn explanation_text(e: &ExplanationRecord) -> String {
    let mut text = String::new();
    let share = |bytes: u64| 100.0 * bytes as f64 / e.buffer_bytes as f64;
    let mut line = |head: &str, body: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{head:<12} {}", readable(body.trim_end()));
    };
    let tags = if e.tags.is_empty() { String::new() } else { format!(", tagged {}", e.tags.join(", ")) };
    let time = format_time(Time::from_ns(e.time_ns));
    line(
        &e.event,
        format!("at {time}, {}, port {}, priority {}: {}", e.switch, e.port, e.priority, e.reason),
    );
    line("  packet", format!("{} B of flow {} ({}){tags}", e.size_bytes, e.flow_id, e.class));
    line("  because", e.because.clone());
    let params: Vec<_> = e.params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let params = if params.is_empty() { "no parameters".to_owned() } else { params.join(", ") };
    line("  policy", format!("{}: {params}", e.policy));
    if !e.inputs.is_empty() {
        let inputs = e.inputs.iter().map(|(name, value)| format!("{name} = {}", number(*value)));
        line("  inputs", inputs.collect::<Vec<_>>().join(", "));
    }
    let free = e.buffer_bytes - e.occupancy_bytes;
    let (used, percent) = (e.occupancy_bytes, share(e.occupancy_bytes));
    line("  buffer", format!("{used} B of {} B in use ({percent:.1} %), {free} B free", e.buffer_bytes));
    for kind in ["port", "queue", "class", "flow"] {
        let of_kind = e.holders.iter().filter(|holder| holder.kind == kind);
        let holders: Vec<_> =
            of_kind.map(|holder| format!("{} {:.1} %", holder.name, share(holder.bytes))).collect();
        if !holders.is_empty() {
            line(&format!("  by {kind}"), holders.join(", "));
        }
    }
    if e.opinions.is_empty() {
        let _ = writeln!(
            text,
            "  No policy was asked: the chip decided, or the packet did not arrive at a queue."
        );
        return text;
    }
    let subject = if e.event == "eviction" {
        "The arriving packet that it made room for"
    } else {
        "The same packet and buffer"
    };
    let _ = writeln!(
        text,
        "  {subject}, with another policy (default parameters; * the switch's own with its parameters):"
    );
    let width = e.opinions.iter().map(|opinion| opinion.policy.len()).max().unwrap_or(0);
    for opinion in &e.opinions {
        let limit =
            opinion.threshold_bytes.map_or_else(String::new, |bytes| readable(&format!("limit {bytes} B")));
        let own = if opinion.policy == e.policy { "*" } else { " " };
        let row = format!("  {own} {:<width$}  {:<18}  {limit}", opinion.policy, opinion.verdict);
        let _ = writeln!(text, "{}", row.trim_end());
    }
    if !e.left_out.is_empty() {
        let _ = writeln!(text, "  Not asked, because their default parameters do not fit this switch:");
        let width = e.left_out.iter().map(|left_out| left_out.policy.len()).max().unwrap_or(0);
        for left_out in &e.left_out {
            let _ = writeln!(text, "    {:<width$}  {}", left_out.policy, left_out.reason);
        }
    }
    text
}
