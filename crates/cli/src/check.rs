//! The command `check` prints the plan of a run and runs nothing.

use crate::args::CheckArgs;
use crate::execute::{load_as, warn};
use crate::{error, print, records};
use bufferlab_core::{Params, QueueMinimums, ResumeBelow};
use bufferlab_lab::{RunError, fits, format_memory};
use bufferlab_operator::headroom_answers;
use bufferlab_report::format::readable;
use bufferlab_scenario::{
    EcnSpec, HardwareSpec, InitialWindow, Scenario, SwitchSpec, TransportSpec, format_parameter, format_rate,
    format_size, format_time,
};
use bufferlab_sim::{MemoryEstimate, Simulation};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Executes the command `check`.
pub(crate) fn check(args: &CheckArgs) -> miette::Result<()> {
    let loaded = load_as(&args.scenario, args.variant.as_ref())?;
    warn(&loaded);
    let error = |why| error::run(args.scenario.file(), &why);
    fits(&loaded.scenario).map_err(error)?;
    // Some mistakes are visible only in a built network, so the command builds the network.
    let simulation = Simulation::new(&loaded.scenario).map_err(|why| error(RunError::Simulation(why)))?;
    if args.json {
        return records::check(&loaded, simulation.needs_one_thread(&loaded.scenario));
    }
    if args.resolved { print(&loaded.resolved) } else { print(&readable(&summary(&loaded.scenario))) }
}

fn summary(scenario: &Scenario) -> String {
    let mut text = String::new();
    let topology = &scenario.topology;
    // Writing into a string cannot fail.
    let title = [scenario.name.as_str(), &scenario.description].map(str::trim);
    let _ = writeln!(text, "{}", title.join(": ").trim_end_matches(": "));
    let _ = writeln!(
        text,
        "profile {}, seed {}; flows arrive for {}, then at most {} to finish",
        scenario.profile.word(),
        scenario.seed,
        scenario.duration,
        scenario.drain
    );
    let _ = writeln!(
        text,
        "\nnetwork   {}: {}, {}, {}",
        topology.kind,
        count_of(topology.hosts.len(), "host", "hosts"),
        count_of(topology.switches.len(), "switch", "switches"),
        count_of(topology.links.len(), "cable", "cables")
    );
    for line in switch_lines(scenario) {
        let _ = writeln!(text, "switches  {line}");
    }
    for answer in headroom_answers(scenario) {
        let _ = writeln!(text, "headroom  {answer}");
    }
    for transport in &scenario.transports {
        let _ = writeln!(text, "transport {}{}", transport_line(transport), priorities(scenario, transport));
    }
    for workload in &scenario.workloads {
        let transport = &scenario.transports[workload.transport as usize].name;
        let _ =
            writeln!(text, "traffic   {} over {transport}: {}", workload.class, workload.workload.in_words());
    }
    let _ = writeln!(text, "memory    {}", memory_line(scenario));
    text
}

/// Formats a line with the memory that a run needs before its first packet, and with the part of
/// the simulator that needs most of this memory.
fn memory_line(scenario: &Scenario) -> String {
    let estimate = MemoryEstimate::new(scenario);
    let most = estimate.parts().first().map_or("", |part| part.what);
    format!("about {} before the first packet, most of it {most}", format_memory(estimate.bytes()))
}

/// Formats a line with the name and the main parameters of a transport.
fn transport_line(transport: &TransportSpec) -> String {
    let name = &transport.name;
    if let Some(pacing) = &transport.pacing {
        return format!(
            "{name}: open loop, {} ({}), packets of {} B",
            format_rate(pacing.rate),
            pacing.spacing.word(),
            transport.segment_bytes + transport.header_bytes
        );
    }
    let algorithm = match transport.congestion_control.as_str() {
        same if same == transport.name => String::new(),
        other => format!(" ({other})"),
    };
    if let Some(rdma) = &transport.rdma {
        let timeout = match rdma.retransmission_timeout {
            Some(timeout) => format!("timeout {timeout}"),
            None => "no timeout".to_owned(),
        };
        return format!(
            "{name}{algorithm}: RDMA, {} B segments, {}, {timeout}",
            transport.segment_bytes,
            rdma.recovery.word()
        );
    }
    let window = match transport.initial_window {
        InitialWindow::Whole => "the whole flow".to_owned(),
        InitialWindow::BandwidthDelay => "one bandwidth-delay product".to_owned(),
        InitialWindow::Segments(segments) => count_of(segments as usize, "segment", "segments"),
    };
    format!(
        "{name}{algorithm}: {} B segments, initial window {window}, RTO at least {}",
        transport.segment_bytes, transport.min_rto
    )
}

/// Priorities of a transport's packets. Empty unless a switch has several queues per port.
fn priorities(scenario: &Scenario, transport: &TransportSpec) -> String {
    if scenario.switches.iter().all(|switch| switch.queues_per_port == 1) {
        return String::new();
    }
    let lossless = scenario.switches.iter().fold(0, |mask, switch| mask | switch.lossless());
    let name = |priority: &u8| match lossless >> priority & 1 {
        0 => priority.to_string(),
        _ => format!("{priority} (lossless)"),
    };
    let mut data: Vec<u8> = transport.data_priorities.clone();
    data.dedup();
    let last = data.iter().max().map_or(0, |last| last + transport.pias_thresholds_bytes.len() as u8);
    data.extend(data.iter().max().map_or(0..0, |most| most + 1..last + 1).collect::<Vec<_>>());
    let data: Vec<String> = data.iter().map(name).collect();
    let of_acks = match transport.pacing {
        Some(_) => String::new(),
        None => format!(", ACKs on {}", name(&transport.control_priority)),
    };
    format!(", data on priority {}{of_acks}", data.join(", "))
}

fn count_of(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Formats lines about the switches of the network, one line per group of equal switches.
fn switch_lines(scenario: &Scenario) -> Vec<String> {
    let mut groups: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    let all_rates = scenario.topology.all_port_rates();
    for (index, name) in scenario.topology.switches.iter().enumerate() {
        let spec = &scenario.switches[index];
        let ports = all_rates[index].len();
        let like =
            (0..index).find(|&other| scenario.switches[other] == *spec && all_rates[other].len() == ports);
        groups.entry(like.unwrap_or(index)).or_default().push(name);
    }
    let line = |(&index, names): (&usize, &Vec<&str>)| {
        let spec = &scenario.switches[index];
        let rates = &all_rates[index];
        let (least, most) = (rates.iter().min(), rates.iter().max());
        let rate = match (least, most) {
            (Some(a), Some(b)) if a != b => format!("{} to {}", format_rate(*a), format_rate(*b)),
            (Some(a), _) => format_rate(*a),
            _ => String::new(),
        };
        let names = if names.len() > 4 {
            format!("{} … {}", names[0], names[names.len() - 1])
        } else {
            names.join(", ")
        };
        let ecn = spec.ecn.as_ref().map_or_else(|| "no ECN".to_owned(), marking);
        let classifier = spec.classifier.as_ref().map_or_else(String::new, |classifier| {
            format!(", classifier {}{}", classifier.name, in_brackets(chosen(&classifier.params)))
        });
        format!(
            "{names}: {} of {rate}, {} each, buffer {}, policy {}{classifier}, {ecn}{}{}",
            count_of(rates.len(), "port", "ports"),
            count_of(usize::from(spec.queues_per_port), "queue", "queues"),
            format_size(spec.buffer_bytes),
            spec.policy,
            lossless(spec),
            hardware(&spec.hardware)
        )
    };
    groups.iter().map(line).collect()
}

/// Text about a marking rule, with the parameters that differ from their defaults:
/// `ECN step (threshold = 91 KB)`.
fn marking(spec: &EcnSpec) -> String {
    let mut chosen = chosen(&spec.params);
    if let Some(priorities) = &spec.priorities {
        chosen.push(format!("priorities = {priorities:?}"));
    }
    format!("ECN {}{}", spec.kind, in_brackets(chosen))
}

/// Formats the parameters of a marking rule that differ from their defaults: `threshold = 91 KB`.
fn chosen(params: &Params) -> Vec<String> {
    let chosen = params.iter().filter(|(name, _)| !params.is_default(name));
    chosen.map(|(name, value)| format!("{name} = {}", format_parameter(value))).collect()
}

fn in_brackets(list: Vec<String>) -> String {
    if list.is_empty() { String::new() } else { format!(" ({})", list.join(", ")) }
}

/// Formats a text about the lossless priorities of a switch, and the ports with these priorities.
fn lossless(spec: &SwitchSpec) -> String {
    let Some(pfc) = &spec.pfc else { return String::new() };
    let on = if pfc.ports.is_empty() { String::new() } else { format!(" on ports {}", numbers(&pfc.ports)) };
    let own = pfc.by_port.iter().filter_map(|entry| {
        let priorities = numbers(entry.priorities.as_ref()?);
        let priorities = if priorities.is_empty() { "none" } else { priorities.as_str() };
        Some(format!("; {priorities} on ports {}", numbers(&entry.ports)))
    });
    format!(", lossless priorities {}{on}{}", numbers(&pfc.priorities), own.collect::<String>())
}

fn numbers<T: ToString>(list: &[T]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Formats a text about the features of real hardware that a switch of the scenario has.
fn hardware(spec: &HardwareSpec) -> String {
    let HardwareSpec { slices, cut_through_bytes, device_queue, switch } = spec;
    let accounting = switch.accounting;
    let given = |is: bool, text: String| is.then_some(text);
    let options = [
        given(switch.cell_bytes > 1, format!("cells of {}", format_size(switch.cell_bytes.into()))),
        given(
            switch.packet_overhead > 0,
            format!("{} more for every packet", format_size(switch.packet_overhead.into())),
        ),
        given(*slices > 1, format!("{slices} slices")),
        given(accounting.slices > 1, format!("{} slices by ingress port", accounting.slices)),
        given(accounting.resume_below == ResumeBelow::PausePoint, "resumes below the pause point".to_owned()),
        given(
            accounting.queue_minimums == QueueMinimums::EverySlice,
            "minimums of queues in every slice".to_owned(),
        ),
        given(accounting.threshold_bits > 0, format!("thresholds of {} bits", accounting.threshold_bits)),
        given(
            switch.reserves.queue > 0,
            format!("{} reserved per queue", format_size(switch.reserves.queue)),
        ),
        given(switch.reserves.port > 0, format!("{} reserved per port", format_size(switch.reserves.port))),
        switch.port_limit.map(|limit| format!("at most {} per port", format_size(limit))),
        switch.threshold_refresh.map(|interval| format!("thresholds every {}", format_time(interval))),
        given(switch.quantised_alpha, "alphas powers of two".to_owned()),
        cut_through_bytes.map(|bytes| format!("cut-through after {}", format_size(bytes.into()))),
        given(*device_queue > 0, format!("{device_queue} packets behind the buffer at each port")),
    ];
    options.into_iter().flatten().map(|option| format!(", {option}")).collect()
}
