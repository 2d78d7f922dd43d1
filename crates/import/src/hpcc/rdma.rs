//! Writes the switch and the transport of HPCC's simulator, from `config.txt` or from the
//! simulator's defaults.
//!
//! Sources: `switch-mmu.cc` and `third.cc` of alibaba-edu/High-Precision-Congestion-Control.

use crate::imported::{Network, Traffic};
use crate::{Format, Imported};
use bufferlab_topology::Node;
use bufferlab_units::BitRate;
use bufferlab_units::quantity::{format_rate, format_size};
use std::fmt::Write;

/// Buffer size of each switch if the configuration has no `BUFFER_SIZE` (MiB).
const BUFFER: u64 = 16;
/// Largest valid value of `BUFFER_SIZE` (MiB).
const LARGEST_BUFFER: u64 = 4_096;
/// Reserve of an ingress queue (bytes).
const RESERVE: u64 = 4 * 1024;
/// Distance of the resume threshold below the pause threshold (bytes).
const RESUME: u64 = 3 * 1024;
/// Priority of the flows in a list whose flows have no common priority group.
const GROUP: u8 = 3;

/// Whether the files are inputs of HPCC's simulator, whose network is lossless.
pub(crate) fn is_lossless(imported: &Imported) -> bool {
    let formats = [Format::HpccFlows, Format::HpccConfig];
    let has_schedule = matches!(imported.traffic, Some(Traffic::Schedule(_)));
    !has_schedule && imported.files.iter().any(|(_, format)| formats.contains(format))
}

/// First value of the setting `key` in the configuration file.
fn value<'a>(imported: &'a Imported, key: &str) -> Option<&'a str> {
    let found = imported.settings.iter().find(|setting| setting.key == key)?;
    found.values.first().map(String::as_str)
}

fn positive(imported: &Imported, key: &str) -> Option<f64> {
    value(imported, key)?.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// Converts the rate of a setting, such as `50Mb/s`, to the notation of scenarios.
fn rate(imported: &Imported, key: &str) -> Option<String> {
    let text = value(imported, key)?;
    let units = [("Gb/s", 1e9), ("Mb/s", 1e6), ("Kb/s", 1e3), ("Gbps", 1e9), ("Mbps", 1e6), ("bps", 1.0)];
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let bits = number.trim().parse::<f64>().ok()? * factor;
    (1.0..=1e15).contains(&bits).then(|| format_rate(BitRate(bits as u64)))
}

/// Congestion control of the scenario for a `CC_MODE`; `dcqcn` for modes without a counterpart.
fn control_name(mode: &str) -> &'static str {
    match mode {
        "3" | "10" => "hpcc",
        "7" => "timely",
        "8" => "dctcp",
        _ => "dcqcn",
    }
}

/// Congestion control of the scenario for `CC_MODE`, with its parameters.
fn control(imported: &Imported) -> String {
    let name = control_name(value(imported, "CC_MODE").unwrap_or_default());
    let mut parts = Vec::new();
    for (key, param) in parameters(name) {
        let text = match *param {
            "additive_increase" | "hyper_increase" | "min_rate" | "increment" | "fast_increment" => {
                rate(imported, key).map(|rate| format!("\"{rate}\""))
            }
            "alpha_interval" | "decrease_interval" | "increase_interval" => {
                positive(imported, key).map(|number| format!("\"{number} us\""))
            }
            "utilisation" | "gain" => {
                positive(imported, key).filter(|number| *number <= 1.0).map(|number| number.to_string())
            }
            // The value 0 of this setting is valid: every acknowledgement then adjusts
            // the window multiplicatively.
            "max_stage" => {
                value(imported, key).and_then(|text| text.parse::<u32>().ok()).map(|n| n.to_string())
            }
            _ => positive(imported, key).map(|number| (number as u64).max(1).to_string()),
        };
        parts.extend(text.map(|text| format!(", {param} = {text}")));
    }
    if parts.is_empty() {
        return format!("\"{name}\"");
    }
    let reaction = if name == "dcqcn" { ", reaction = \"timer\"" } else { "" };
    format!("{{ name = \"{name}\"{reaction}{} }}", parts.concat())
}

/// Keys of `config.txt` for a congestion control, and their parameters in scenarios.
fn parameters(name: &str) -> &'static [(&'static str, &'static str)] {
    match name {
        "hpcc" => &[("U_TARGET", "utilisation"), ("MI_THRESH", "max_stage")],
        "timely" => &[("RATE_AI", "increment"), ("RATE_HAI", "fast_increment")],
        "dcqcn" => &[
            ("ALPHA_RESUME_INTERVAL", "alpha_interval"),
            ("RATE_DECREASE_INTERVAL", "decrease_interval"),
            ("RP_TIMER", "increase_interval"),
            ("EWMA_GAIN", "gain"),
            ("FAST_RECOVERY_TIMES", "fast_recovery"),
            ("RATE_AI", "additive_increase"),
            ("RATE_HAI", "hyper_increase"),
            ("MIN_RATE", "min_rate"),
        ],
        _ => &[],
    }
}

/// Text about the counterpart of a setting in the scenario; `None` if the setting has no
/// counterpart.
pub(crate) fn meaning(mode: &str, key: &str, value: &str) -> Option<String> {
    let name = control_name(mode);
    Some(match (key, mode) {
        ("CC_MODE", "1") => "congestion control DCQCN".to_owned(),
        ("CC_MODE", "3") => "congestion control HPCC".to_owned(),
        ("CC_MODE", "7") => "congestion control TIMELY".to_owned(),
        ("CC_MODE", "8") => "congestion control DCTCP".to_owned(),
        ("BUFFER_SIZE", _) => format!("buffer of {value} MiB per switch"),
        ("PACKET_PAYLOAD_SIZE", _) => format!("segments of {value} B"),
        ("USE_DYNAMIC_PFC_THRESHOLD", _) if value == "1" => {
            "pause threshold of 1/8 of the free pool".to_owned()
        }
        ("KMIN_MAP" | "KMAX_MAP" | "PMAX_MAP", _) if matches!(name, "dcqcn" | "dctcp") => {
            "marks, by the rate of the links".to_owned()
        }
        _ => {
            let (_, param) = parameters(name).iter().find(|(known, _)| *known == key)?;
            format!("{param} of {name}: {value}")
        }
    })
}

/// Value for links of the rate `rate` in a setting that maps rates to values.
fn of_rate(imported: &Imported, key: &str, rate: BitRate) -> Option<f64> {
    let found = imported.settings.iter().find(|setting| setting.key == key)?;
    let pair = found.values.get(1..)?.chunks_exact(2).find(|pair| pair[0].parse() == Ok(rate.0))?;
    pair[1].parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// Buffer size of each switch (bytes).
fn buffer(imported: &Imported) -> u64 {
    let megabytes = value(imported, "BUFFER_SIZE").and_then(|text| text.parse().ok());
    megabytes.filter(|size| (1..=LARGEST_BUFFER).contains(size)).unwrap_or(BUFFER) << 20
}

/// Headroom of every port: three times the bytes in flight on its cable. `None` if the headroom
/// differs between ports.
fn headroom(network: Option<&Network>) -> Option<u64> {
    let links = &network?.topology.links;
    let of = |link: &bufferlab_topology::LinkSpec| {
        u128::from(link.rate_ab.0) * u128::from(link.delay.0) / 8 / 1_000_000_000_000 * 3
    };
    let first = of(links.first()?);
    let is_uniform = links.iter().all(|link| of(link) == first && link.rate_ab == link.rate_ba);
    is_uniform.then_some(first).filter(|bytes| *bytes > 0).and_then(|bytes| bytes.try_into().ok())
}

/// Whether a cable between switches is faster than the cables of hosts.
fn has_fast_ports(network: &Network) -> bool {
    let is_host = |node: Node| matches!(node, Node::Host(_));
    let links = || network.topology.links.iter();
    let hosts = links().filter(|link| is_host(link.a) || is_host(link.b)).map(|link| link.rate_ab).max();
    hosts.is_some_and(|hosts| links().any(|link| link.rate_ab > hosts))
}

/// Adds notices about assumptions that [`write()`] makes in the scenario.
pub(crate) fn assume(imported: &mut Imported) {
    let mode = value(imported, "CC_MODE").map(str::to_owned);
    let known = matches!(mode.as_deref(), Some("1" | "3" | "7" | "8"));
    let has_config = imported.files.iter().any(|(_, format)| *format == Format::HpccConfig);
    let fast = imported.network.as_ref().is_some_and(has_fast_ports);
    let notices = &mut imported.notices;
    if !has_config {
        notices
            .assume("no config.txt: the defaults of HPCC's program, which are DCQCN and 16 MiB per switch");
    } else if mode.as_deref() == Some("10") {
        notices.assume("CC_MODE 10 (HPCC-PINT) has no counterpart: hpcc, whose reports are complete");
    } else if mode.as_deref() == Some("8") {
        notices.assume("CC_MODE 8 (DCTCP): as TCP, because no queue pair has this control");
    } else if !known {
        let mode = mode.as_deref().unwrap_or("missing");
        notices.assume(format!("CC_MODE {mode} has no counterpart: dcqcn"));
    }
    notices.assume(
        "PFC as in HPCC's switch: an ingress queue pauses at 1/8 of the free pool, and resumes 3 KiB below",
    );
    if fast {
        notices
            .assume("1/8 at all ports; HPCC doubles it for every doubling of a port's rate over the hosts'");
    }
}

/// Writes `[switch]` and `[[transport]]`. `slowest` is the rate of the slowest cable.
pub(crate) fn write(text: &mut String, imported: &Imported, slowest: BitRate) {
    let group = imported.group.filter(|group| (1..8).contains(group)).unwrap_or(GROUP);
    let headroom = headroom(imported.network.as_ref()).map_or_else(|| "auto".to_owned(), format_size);
    // In HPCC's example, the marking thresholds are 4 KB and 16 KB per Gb/s.
    let per_gbps = |kilobytes: f64| kilobytes * slowest.0 as f64 / 1e9;
    let kmin = of_rate(imported, "KMIN_MAP", slowest).unwrap_or_else(|| per_gbps(4.0));
    let kmax = of_rate(imported, "KMAX_MAP", slowest).unwrap_or_else(|| per_gbps(16.0)).max(kmin);
    let pmax = of_rate(imported, "PMAX_MAP", slowest).unwrap_or(0.2).min(1.0);
    let size = |kilobytes: f64| format_size((kilobytes.clamp(1.0, 1e9) * 1e3) as u64);
    let mode = value(imported, "CC_MODE").unwrap_or("1");
    let ecn = match mode {
        // HPCC and TIMELY do not react to congestion marks.
        "3" | "7" | "10" => String::new(),
        _ => format!(
            "ecn = {{ kind = \"red\", kmin = \"{}\", kmax = \"{}\", pmax = {pmax}, at = \"dequeue\", \
             priorities = [{group}] }}\n",
            size(kmin),
            size(kmax)
        ),
    };
    let kind = if mode == "8" { "" } else { "kind = \"rdma\"\n" };
    let _ = write!(
        text,
        "\n[switch]\nbuffer = \"{}\"\nqueues_per_port = 8\n\
         policy = {{ name = \"sonic-dt\", alpha = 0.125, headroom = \"{headroom}\", reserved = \"{}\", xon_offset = \"{}\" }}\n\
         pfc = {{ priorities = [{group}] }}\n{ecn}\n\
         [[transport]]\nname = \"rdma\"\n{kind}congestion_control = {}\ndata_priority = {group}\ncontrol_priority = {group}\n",
        format_size(buffer(imported)),
        format_size(RESERVE),
        format_size(RESUME),
        control(imported),
    );
    let payload = value(imported, "PACKET_PAYLOAD_SIZE").and_then(|text| text.parse::<u64>().ok());
    let payload = payload.filter(|bytes| (64..=9_000).contains(bytes)).unwrap_or(1_000);
    let _ = writeln!(text, "segment_bytes = \"{}\"", format_size(payload));
}
