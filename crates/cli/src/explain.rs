//! `explain`: why a packet was dropped, marked or evicted. Runs the scenario up to the event.

use crate::args::ExplainArgs;
use crate::execute::{load, warn};
use crate::{error, print};
use bufferlab_metrics::{
    DropRow, Explanation, FlowRow, HistogramRow, LinkRow, QueryRow, QueueRow, RunSink, SeriesRow,
};
use bufferlab_scenario::format_size;
use bufferlab_sim::{ExplainRequest, ExplainedEvent, Simulation};
use bufferlab_units::Time;
use miette::miette;
use std::fmt::Write;
use std::io;

/// Keeps explanations and forgets the rest.
#[derive(Debug, Default)]
struct Explanations(Vec<Explanation>);

impl RunSink for Explanations {
    fn flow(&mut self, _: &FlowRow) -> io::Result<()> {
        Ok(())
    }
    fn query(&mut self, _: &QueryRow) -> io::Result<()> {
        Ok(())
    }
    fn series(&mut self, _: &SeriesRow) -> io::Result<()> {
        Ok(())
    }
    fn histogram(&mut self, _: &HistogramRow) -> io::Result<()> {
        Ok(())
    }
    fn queue(&mut self, _: &QueueRow) -> io::Result<()> {
        Ok(())
    }
    fn drops(&mut self, _: &DropRow) -> io::Result<()> {
        Ok(())
    }
    fn link(&mut self, _: &LinkRow) -> io::Result<()> {
        Ok(())
    }
    fn explanation(&mut self, explanation: &Explanation) -> io::Result<()> {
        self.0.push(explanation.clone());
        Ok(())
    }
}

/// `explain`.
pub(crate) fn explain(args: &ExplainArgs) -> miette::Result<()> {
    let loaded = load(&args.scenario, &[])?;
    warn(&loaded);
    let scenario = &loaded.scenario;
    let switches = &scenario.topology.switches;
    let switch = match &args.switch {
        None => None,
        Some(name) => Some(switches.iter().position(|known| known == name).ok_or_else(|| {
            miette!(help = format!("switches: {}", switches.join(", ")), "there is no switch \"{name}\"")
        })? as u32),
    };
    let from = match &args.after {
        None => Time::ZERO,
        Some(text) => bufferlab_scenario::parse_time(text)
            .map_err(|e| miette!(help = "write a time with its unit: --after \"12.5 ms\"", "--after: {e}"))?,
    };
    let mut simulation =
        Simulation::new(scenario).map_err(|e| error::simulation(&args.scenario.scenario, e))?;
    let classes = simulation.classes().to_vec();
    simulation.explain(ExplainRequest {
        event: args.event.into(),
        switch,
        port: args.port,
        from,
        skip: args.nth.get() - 1,
        count: args.count.get(),
        then_stop: true,
    });
    let mut sink = Explanations::default();
    simulation.run(&mut sink, &mut |_| ()).map_err(|e| error::simulation(&args.scenario.scenario, e))?;
    if sink.0.is_empty() {
        let event = ExplainedEvent::from(args.event).name();
        let help = "choose another --event, --switch, --port or --after, or a smaller --nth";
        return Err(miette!(help = help, "the run has no such {event}"));
    }
    let policy = |switch: u32| scenario.switches[switch as usize].policy.as_str();
    let texts: Vec<_> = sink
        .0
        .iter()
        .map(|e| text(e, &switches[e.switch as usize], policy(e.switch), &classes[usize::from(e.class)]))
        .collect();
    print(&texts.join("\n"))
}

fn text(e: &Explanation, switch: &str, policy: &str, class: &str) -> String {
    let mut text = String::new();
    let share = |bytes: u64| 100.0 * bytes as f64 / e.buffer_bytes as f64;
    let tags = if e.tags.is_empty() { String::new() } else { format!(", tagged {}", e.tags.join(", ")) };
    // Writing into a string cannot fail.
    let _ = writeln!(
        text,
        "{} ns, {switch}, port {}, priority {}: {} ({})",
        e.time_ns, e.port, e.priority, e.event, e.reason
    );
    let _ = writeln!(text, "  packet   {} of flow {} ({class}){tags}", format_size(e.size_bytes), e.flow_id);
    let _ = writeln!(text, "  because  {}", because(e, policy));
    if !e.inputs.is_empty() {
        let inputs: Vec<_> = e.inputs.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
        let _ = writeln!(text, "  inputs   {}", inputs.join(", "));
    }
    let _ = writeln!(
        text,
        "  buffer   {} of {} in use ({:.1} %), {} free",
        format_size(e.occupancy_bytes),
        format_size(e.buffer_bytes),
        share(e.occupancy_bytes),
        format_size(e.buffer_bytes - e.occupancy_bytes)
    );
    for kind in ["port", "queue", "class", "flow"] {
        let holders: Vec<_> = e
            .holders
            .iter()
            .filter(|holder| holder.kind == kind)
            .map(|holder| format!("{} {:.1} %", holder.name, share(holder.bytes)))
            .collect();
        if !holders.is_empty() {
            let _ = writeln!(text, "  by {kind:<5} {}", holders.join(", "));
        }
    }
    let _ = writeln!(text, "  the same packet, the same buffer, another policy (its default parameters):");
    for opinion in &e.opinions {
        let threshold =
            opinion.threshold_bytes.map_or_else(String::new, |bytes| format!("limit {}", format_size(bytes)));
        let _ = writeln!(text, "    {:<16} {:<28} {threshold}", opinion.policy, opinion.verdict);
    }
    text
}

/// The comparison that decided, with its numbers.
fn because(e: &Explanation, policy: &str) -> String {
    let with = e.queue_bytes + e.size_bytes;
    match (e.reason, e.limit_bytes) {
        ("ecn", Some(limit)) => {
            format!(
                "the queue held {}, above the marking threshold of {}",
                format_size(e.queue_bytes),
                format_size(limit)
            )
        }
        ("over-threshold", Some(limit)) => format!(
            "{policy}: queue {} + packet {} = {} exceeds the threshold of {}",
            format_size(e.queue_bytes),
            format_size(e.size_bytes),
            format_size(with),
            format_size(limit)
        ),
        ("buffer-full", _) => format!(
            "no room: {} in use + packet {} exceeds the buffer of {}",
            format_size(e.occupancy_bytes),
            format_size(e.size_bytes),
            format_size(e.buffer_bytes)
        ),
        (reason, Some(limit)) => {
            format!("{policy}: {reason}; queue {}, limit {}", format_size(e.queue_bytes), format_size(limit))
        }
        (reason, None) => format!("{policy}: {reason}; queue {}", format_size(e.queue_bytes)),
    }
}
