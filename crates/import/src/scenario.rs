//! Writes a scenario file for imported files.

use crate::hpcc::rdma;
use crate::{Format, Imported, Traffic};
use bufferlab_params::Choice;
use bufferlab_schedule::{Schedule, Transfer, Work};
use bufferlab_topology::{Node, Topology};
use bufferlab_units::quantity::{format_rate, format_size, format_time};
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::FlowSpec;
use std::fmt::Write;

/// Rate of every cable if no file describes the network.
const RATE: BitRate = BitRate::gbps(100);
/// Delay of every cable if no file describes the network.
const DELAY: Time = Time::from_us(1);
/// Least time between the last start of a flow and the end of the run, for flows to finish.
const DRAIN: Time = Time::from_ms(20);
/// Time between the last start of a flow and the end of the arrival phase, if flows are endless.
const ENDLESS: Time = Time::from_ms(10);
/// Rate of a rank inside its server, as in SimAI's example of a topology.
const SCALE_UP_RATE: BitRate = BitRate::gbps(2_400);
/// Latency between ranks inside a server: two cables of SimAI's example.
const SCALE_UP_LATENCY: Time = Time::from_ns(50);

/// Writes the text of a scenario whose workload reads the file `traffic` in the folder of the
/// scenario. Comments in the scenario state all assumptions. `None` if the files describe neither a
/// network nor traffic.
///
/// Flows become a workload of the kind `flow_list`, a schedule becomes a workload of the kind
/// `schedule`.
#[must_use]
pub fn scenario_text(imported: &Imported, name: &str, traffic: &str) -> Option<String> {
    if imported.network.is_none() && imported.traffic.is_none() {
        return None;
    }
    let mut text = String::from("# Written by `bufferlab import`.\n");
    for (title, lines) in [("Ignored", &imported.notices.ignored), ("Assumed", &imported.notices.assumed)] {
        for line in lines {
            let _ = writeln!(text, "# {title}: {}", in_a_comment(line));
        }
    }
    let rate = slowest(imported);
    let (duration, drain) = times(imported, rate);
    let _ = write!(
        text,
        "\nname = \"{name}\"\ndescription = \"Imported: {}\"\nduration = \"{}\"\ndrain = \"{}\"\n\n",
        formats(imported),
        format_time(whole_ns(duration)),
        format_time(whole_ns(drain))
    );
    match &imported.network {
        Some(network) => write_graph(&mut text, &network.topology),
        None => {
            let _ = write!(
                text,
                "[topology]                              # no file describes the network\nkind = \"single_switch\"\nhosts = \
                 {}\nrate = \"{}\"\ndelay = \"{}\"\n",
                imported.hosts.max(2),
                format_rate(RATE),
                format_time(DELAY)
            );
        }
    }
    write_switch(&mut text, imported, rate);
    match &imported.traffic {
        Some(Traffic::Flows { flows, .. }) => {
            if flows.iter().any(|flow| flow.size == FlowSpec::UNLIMITED) {
                let _ = writeln!(
                    text,
                    "\n# Endless flows have {} B, more than they can send.",
                    endless_bytes(imported)
                );
            }
            let _ = write!(text, "\n[[workload]]\nkind = \"flow_list\"\nfile = \"{traffic}\"\n");
        }
        Some(Traffic::Schedule(_)) => {
            let _ = write!(text, "\n[[workload]]\nkind = \"schedule\"\nfile = \"{traffic}\"\n");
            if let Some(ranks) = imported.ranks_per_server {
                let (rate, latency) = (format_rate(SCALE_UP_RATE), format_time(SCALE_UP_LATENCY));
                let _ = write!(
                    text,
                    "ranks_per_server = {ranks}\nscale_up_rate = \"{rate}\"\nscale_up_latency = \"{latency}\"\n"
                );
            }
        }
        None => text.push_str("\n# No file describes traffic: add a [[workload]].\n"),
    }
    Some(text)
}

/// Rounds a time up to a multiple of one nanosecond.
fn whole_ns(time: Time) -> Time {
    Time(time.0.next_multiple_of(1_000))
}

/// Replaces line breaks, so that a text fits into one comment line.
fn in_a_comment(line: &str) -> String {
    line.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()
}

/// Description of a format, without texts in parentheses.
fn meaning(format: Format) -> &'static str {
    let index = Format::ALL.iter().position(|known| *known == format).unwrap_or_default();
    Format::WORDS[index].meaning.split(" (").next().unwrap_or_default()
}

fn formats(imported: &Imported) -> String {
    let mut words: Vec<_> = imported.files.iter().map(|(_, format)| meaning(*format)).collect();
    words.dedup();
    words.join(", ")
}

/// Rate of the slowest cable of the imported network, or the default rate.
fn slowest(imported: &Imported) -> BitRate {
    let links = imported.network.iter().flat_map(|network| &network.topology.links);
    links.map(|link| link.rate_ab).min().unwrap_or(RATE)
}

/// Least time that a schedule takes: the larger of two times. One is the time of the schedule's
/// longest chain. The other is the time to send the data of the busiest rank to other servers.
fn least_time(schedule: &Schedule, rate: BitRate, ranks_per_server: Option<u32>) -> Time {
    let is_inside = |transfer: Transfer| {
        ranks_per_server.is_some_and(|ranks| transfer.src / ranks == transfer.dst / ranks)
    };
    let mut sent = vec![0_u64; schedule.ranks() as usize];
    for node in schedule.nodes() {
        if let Work::Transfer(transfer) = schedule.work(node)
            && !is_inside(transfer)
        {
            let bytes = &mut sent[transfer.src as usize];
            *bytes = bytes.saturating_add(transfer.bytes);
        }
    }
    let busiest = rate.serialization(sent.into_iter().max().unwrap_or(0).min(1 << 50));
    let chain = schedule.longest_path(|work| match work {
        Work::Transfer(transfer) => {
            let rate = if is_inside(transfer) { SCALE_UP_RATE } else { rate };
            rate.serialization(transfer.bytes.min(1 << 50))
        }
        Work::Compute { duration, .. } => duration,
        Work::Barrier => Time::ZERO,
    });
    busiest.max(chain)
}

/// Durations of the arrival phase and of the drain phase. Flows get four times the time that the
/// busiest host needs for its data. The duration for a schedule is twenty times
/// the shortest time in which the schedule could complete.
fn times(imported: &Imported, rate: BitRate) -> (Time, Time) {
    let flows = match &imported.traffic {
        Some(Traffic::Flows { flows, .. }) => flows,
        Some(Traffic::Schedule(schedule)) => {
            let least = least_time(schedule, rate, imported.ranks_per_server).max(Time::from_us(1));
            return (least, DRAIN.saturating_add(Time(least.0.saturating_mul(20))));
        }
        None => return (Time::from_ms(10), DRAIN),
    };
    let last = flows.iter().map(|flow| flow.start).max().unwrap_or(Time::ZERO);
    let mut load = vec![[0_u64; 2]; imported.hosts as usize];
    for flow in flows.iter().filter(|flow| flow.size != FlowSpec::UNLIMITED) {
        for (direction, host) in [flow.src, flow.dst].into_iter().enumerate() {
            let bytes = &mut load[host as usize][direction];
            *bytes = bytes.saturating_add(flow.size);
        }
    }
    let most = load.iter().flatten().max().copied().unwrap_or(0).min(1 << 50);
    let endless = flows.iter().any(|flow| flow.size == FlowSpec::UNLIMITED);
    if flows.iter().all(|flow| flow.size == FlowSpec::UNLIMITED) {
        // All flows are endless, so the drain phase only needs time for packets in flight.
        return (last.saturating_add(ENDLESS), Time::from_ms(1));
    }
    let duration = last.saturating_add(if endless { ENDLESS } else { Time::from_us(1) });
    (duration, DRAIN.saturating_add(Time(rate.serialization(most).0.saturating_mul(4))))
}

/// Size of an endless flow in a list: twice the bytes that the slowest cable carries in the run.
#[must_use]
pub fn endless_bytes(imported: &Imported) -> u64 {
    let rate = slowest(imported);
    let (duration, drain) = times(imported, rate);
    let first = match &imported.traffic {
        Some(Traffic::Flows { flows, .. }) => flows.iter().map(|flow| flow.start).min(),
        _ => None,
    };
    let span = duration.saturating_add(drain).saturating_sub(first.unwrap_or(Time::ZERO));
    rate.bytes_in(span).saturating_mul(2).clamp(1, 1 << 50)
}

fn write_graph(text: &mut String, topology: &Topology) {
    let quoted =
        |names: &[String]| names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let _ = write!(
        text,
        "[topology]\nkind = \"graph\"\nhosts = [{}]\nswitches = [{}]\nlinks = [\n",
        quoted(&topology.hosts),
        quoted(&topology.switches)
    );
    let mut links = topology.links.iter().peekable();
    while let Some(link) = links.next() {
        let mut count = 1;
        while count < 1_024 && links.next_if(|next| *next == link).is_some() {
            count += 1;
        }
        let name = |node: Node| topology.node_name(node);
        let _ = write!(
            text,
            "    {{ a = \"{}\", b = \"{}\", rate = \"{}\", delay = \"{}\"",
            name(link.a),
            name(link.b),
            format_rate(link.rate_ab),
            format_time(link.delay)
        );
        if count > 1 {
            let _ = write!(text, ", count = {count}");
        }
        text.push_str(" },\n");
    }
    text.push_str("]\n");
}

/// Adds notices about values in the scenario that no file states.
pub(crate) fn assume_the_rest(imported: &mut Imported) {
    imported.notices.own_traffic = imported.notices.assumed.len();
    if imported.network.is_none() && imported.traffic.is_some() {
        let (rate, delay) = (format_rate(RATE), format_time(DELAY));
        imported.notices.assume(format!("one switch; every host has a cable of {rate} and {delay}"));
    }
    if let (Some(Traffic::Schedule(_)), Some(ranks)) = (&imported.traffic, imported.ranks_per_server) {
        let (rate, latency) = (format_rate(SCALE_UP_RATE), format_time(SCALE_UP_LATENCY));
        imported.notices.assume(format!(
            "servers of {ranks} ranks; inside, a rank sends at {rate} with {latency} of latency, as in SimAI's example"
        ));
    }
    if matches!(imported.traffic, Some(Traffic::Schedule(_))) {
        imported
            .notices
            .assume("policy dt with marks at one threshold, and RDMA with dcqcn; rank 0 is the first host");
    } else if rdma::is_lossless(imported) {
        rdma::assume(imported);
    } else if imported.network.is_some() || imported.traffic.is_some() {
        imported.notices.assume("policy dt with marks at one threshold, and transport dctcp");
    }
}

fn write_switch(text: &mut String, imported: &Imported, rate: BitRate) {
    if rdma::is_lossless(imported) {
        return rdma::write(text, imported, rate);
    }
    let setting = |key: &str| {
        let found = imported.settings.iter().find(|setting| setting.key == key)?;
        found.values.first()?.parse::<u32>().ok().filter(|value| *value > 0)
    };
    text.push_str("\n[switch]\n");
    match setting("BUFFER_SIZE") {
        Some(megabytes) => {
            let _ = writeln!(text, "buffer = \"{megabytes} MB\"");
        }
        None => {
            text.push_str("buffer_per_port_per_gbps = \"5.12 KB\"     # Tomahawk; no file states a size\n")
        }
    }
    let alpha = imported.alphas.first().copied().filter(|alpha| *alpha > 0.0).unwrap_or(1.0);
    // The marking threshold is 65 packets of 1400 B at 10 Gb/s, and proportional to the rate above
    // 10 Gb/s. In the small buffer of a few ports, a queue can reach the threshold.
    let reach = match (&imported.network, setting("BUFFER_SIZE")) {
        (None, None) => u128::from(imported.hosts.max(2)) * u128::from(RATE.0) * 5_120 / 1_000_000_000 / 4,
        _ => u128::MAX,
    };
    let threshold = (u128::from(rate.0) * 91_000 / 10_000_000_000).min(reach).max(20_000);
    // Messages of a schedule have no handshake and begin at line rate.
    let transport = match imported.traffic {
        Some(Traffic::Schedule(_)) => "kind = \"rdma\"\ncongestion_control = \"dcqcn\"",
        _ => "congestion_control = \"dctcp\"",
    };
    let _ = write!(
        text,
        "policy = {{ name = \"dt\", alpha = {alpha} }}\necn = {{ kind = \"step\", threshold = \"{}\" }}\n\n\
         [[transport]]\n{transport}\n",
        format_size(u64::try_from(threshold).unwrap_or(u64::MAX))
    );
    if let Some(bytes) = setting("PACKET_PAYLOAD_SIZE").filter(|bytes| (64..=9_000).contains(bytes)) {
        let _ = writeln!(text, "segment_bytes = \"{}\"", format_size(bytes.into()));
    }
}
