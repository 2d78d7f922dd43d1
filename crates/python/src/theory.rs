//! The calculators and analytical figures. Inputs are dictionaries in base units (bytes, bits/s, seconds); names, defaults and units of
//! quantities are Python's.

use crate::errors;
use bufferlab_scenario::{QuantityError, parse_rate, parse_size, parse_time};
use bufferlab_theory::calculators::Derivation;
use bufferlab_theory::calculators::alpha::{BurstAlpha, burst_alpha};
use bufferlab_theory::calculators::burst_state::EvenSwitch;
use bufferlab_theory::calculators::burst_tolerance::{self, Policy, comparison};
use bufferlab_theory::calculators::chips::{Chips, chips};
use bufferlab_theory::calculators::guarantees::{Priorities, drain_times, guarantees};
use bufferlab_theory::calculators::headroom::{Headroom, headroom};
use bufferlab_theory::calculators::marking::{Marking, marking};
use bufferlab_theory::calculators::shares::{Shares, shares};
use bufferlab_theory::calculators::tdt_parameters::{TdtSwitch, tdt_parameters};
use bufferlab_theory::figures::{self, FIGURES, Figure, Scale};
use bufferlab_theory::forms::Domain;
use bufferlab_theory::forms::headroom::EndDelays;
use bufferlab_theory::forms::sonic_headroom::{Generation, Port};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

/// Name, formula, the formula with its numbers, result, source.
type Line = (String, String, String, String, String);
/// Heads, rows.
type Table = (Vec<String>, Vec<Vec<String>>);
/// Title, lines, table, answers (name, value, text), notes, and all of it as text.
type Plain = (String, Vec<Line>, Option<Table>, Vec<(String, f64, String)>, Vec<String>, String);

fn plain(py: Python<'_>, derivation: Domain<Derivation>) -> PyResult<Plain> {
    let derivation = derivation.map_err(|error| errors::domain(py, &error))?;
    let text = derivation.to_string();
    let lines = derivation.lines.into_iter();
    Ok((
        derivation.title,
        lines.map(|line| (line.name, line.formula, line.substituted, line.result, line.source)).collect(),
        derivation.table.map(|table| (table.columns, table.rows)),
        derivation.answers.into_iter().map(|answer| (answer.name, answer.value, answer.text)).collect(),
        derivation.notes,
        text,
    ))
}

/// What `theory_burst_tolerance` is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Burst {
    buffer: f64,
    port_rate: f64,
    ports: u32,
    queues: u32,
    congested: u32,
    congested_queues: u32,
    priorities: u32,
    alpha: f64,
    burst_ports: u32,
    queues_beside_burst: u32,
    burst_alpha: f64,
    same_priority: bool,
    rate: f64,
    tau: f64,
}

/// How large a burst `policy` absorbs, or every policy side by side.
#[pyfunction]
#[pyo3(signature = (burst, policy))]
pub(crate) fn theory_burst_tolerance(py: Python<'_>, burst: Burst, policy: Option<&str>) -> PyResult<Plain> {
    let switch = EvenSwitch {
        buffer_bytes: burst.buffer,
        port_rate_bps: burst.port_rate,
        ports: burst.ports,
        queues: burst.queues,
        congested: burst.congested,
        congested_queues: burst.congested_queues,
        priorities: burst.priorities,
        alpha: burst.alpha,
        burst_ports: burst.burst_ports,
        queues_beside_burst: burst.queues_beside_burst,
        burst_alpha: burst.burst_alpha,
        same_priority: burst.same_priority,
        rate_bps: burst.rate,
        tau: burst.tau,
    };
    let policy = policy.map(|name| {
        let known = Policy::ALL.into_iter().find(|policy| policy.name().eq_ignore_ascii_case(name));
        known.ok_or_else(|| PyValueError::new_err(format!("no burst tolerance is known of \"{name}\"")))
    });
    let policy = policy.transpose()?;
    let derived = switch.state().and_then(|state| match policy {
        Some(policy) => burst_tolerance::burst_tolerance(&state, policy).map(|found| found.derivation),
        None => comparison(&state),
    });
    plain(py, derived)
}

/// Which alphas absorb a burst.
#[pyfunction]
pub(crate) fn theory_alpha(
    py: Python<'_>,
    buffer: f64,
    port_rate: f64,
    rate: f64,
    duration: f64,
    others: Vec<f64>,
) -> PyResult<Plain> {
    let burst = BurstAlpha {
        buffer_bytes: buffer,
        port_rate_bps: port_rate,
        rate_bps: rate,
        duration_seconds: duration,
        others,
    };
    plain(py, burst_alpha(&burst))
}

/// Which share of the buffer an alpha gives, and the reverse.
#[pyfunction]
#[pyo3(signature = (buffer, queues, alpha, share))]
pub(crate) fn theory_shares(
    py: Python<'_>,
    buffer: Option<f64>,
    queues: Vec<u32>,
    alpha: Option<f64>,
    share: Option<f64>,
) -> PyResult<Plain> {
    plain(py, shares(&Shares { buffer_bytes: buffer, queues, alpha, share }))
}

/// What every priority gets at least and at most.
#[pyfunction]
pub(crate) fn theory_guarantees(
    py: Python<'_>,
    buffer: f64,
    alphas: Vec<f64>,
    gamma: f64,
) -> PyResult<Plain> {
    plain(py, guarantees(&Priorities { buffer_bytes: buffer, alphas }, gamma))
}

/// How long a queue takes to drain at most.
#[pyfunction]
pub(crate) fn theory_drain_time(
    py: Python<'_>,
    buffer: f64,
    alphas: Vec<f64>,
    port_rate: f64,
    congested: u32,
) -> PyResult<Plain> {
    plain(py, drain_times(&Priorities { buffer_bytes: buffer, alphas }, port_rate, congested))
}

/// What `theory_ecn` is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Ecn {
    port_rate: f64,
    rtt: f64,
    packet: f64,
    flows: u32,
    buffer: Option<f64>,
    threshold: Option<f64>,
    burst: Option<f64>,
    tau: f64,
}

/// Where to mark.
#[pyfunction]
pub(crate) fn theory_ecn(py: Python<'_>, asked: Ecn) -> PyResult<Plain> {
    let asked = Marking {
        port_rate_bps: asked.port_rate,
        rtt_seconds: asked.rtt,
        packet_bytes: asked.packet,
        flows: asked.flows,
        buffer_bytes: asked.buffer,
        threshold_bytes: asked.threshold,
        burst_bytes: asked.burst,
        tau: asked.tau,
    };
    plain(py, marking(&asked))
}

/// What `theory_headroom` is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Link {
    rate: f64,
    cable: f64,
    mtu: f64,
    cell: f64,
    lossless_mtu: f64,
    small_packets: f64,
    pipeline_latency: f64,
    mac_phy_delay: f64,
    gearbox_delay: f64,
    lanes: u32,
    generation: String,
    shared_headroom_pool: bool,
    peer_response: Option<f64>,
    interface_bits: Option<f64>,
    response_bits: Option<f64>,
}

/// PFC headroom by every formula in use.
#[pyfunction]
pub(crate) fn theory_headroom(py: Python<'_>, link: Link) -> PyResult<Plain> {
    let generation = match link.generation.as_str() {
        "spectrum-1-to-3" => Generation::Before4,
        "spectrum-4" | "spectrum-5" => Generation::Spectrum4Or5,
        "spectrum-6" => Generation::Spectrum6,
        other => return Err(PyValueError::new_err(format!("no generation is called \"{other}\""))),
    };
    let port = Port {
        speed_mbps: link.rate / 1e6,
        cable_metres: link.cable,
        port_mtu_bytes: link.mtu,
        lossless_mtu_bytes: link.lossless_mtu,
        small_packet_percent: link.small_packets,
        cell_bytes: link.cell,
        pipeline_latency_bytes: link.pipeline_latency,
        mac_phy_delay_bytes: link.mac_phy_delay,
        gearbox_delay: link.gearbox_delay,
        lanes: link.lanes,
        generation,
        shared_headroom_pool: link.shared_headroom_pool,
        peer_response_quanta: link.peer_response,
    };
    let both = link.interface_bits.zip(link.response_bits);
    let delays = both.map(|(interface_bits, response_bits)| EndDelays { interface_bits, response_bits });
    plain(py, headroom(&Headroom { port, delays }))
}

/// Buffer per port and Gb/s of known chips.
#[pyfunction]
#[pyo3(signature = (ports, port_rate, buffer))]
pub(crate) fn theory_chips(
    py: Python<'_>,
    ports: u32,
    port_rate: f64,
    buffer: Option<f64>,
) -> PyResult<Plain> {
    plain(py, chips(Chips { ports, port_rate_bps: port_rate, buffer_bytes: buffer }))
}

/// TDT's counters for a switch.
#[pyfunction]
pub(crate) fn theory_tdt_parameters(
    py: Python<'_>,
    buffer: f64,
    packet: f64,
    ports: u32,
    burst_ratio: f64,
) -> PyResult<Plain> {
    plain(py, tdt_parameters(TdtSwitch { buffer_bytes: buffer, packet_bytes: packet, ports, burst_ratio }))
}

/// The figures of the papers that can be computed: name, what it shows.
#[pyfunction]
pub(crate) fn theory_figures() -> Vec<(&'static str, &'static str)> {
    FIGURES.iter().map(|entry| (entry.name, entry.summary)).collect()
}

/// Title, whether it is logarithmic.
type Axis = (String, bool);
/// Name, points.
type Series = (String, Vec<(f64, f64)>);
/// Name, title, note, axes, lines.
type Panel = (String, String, String, Axis, Axis, Vec<Series>);

/// The panels of a figure.
#[pyfunction]
pub(crate) fn theory_figure(py: Python<'_>, name: &str) -> PyResult<Vec<Panel>> {
    let entry = figures::find(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
    let panels = py.detach(|| entry.panels());
    let panels =
        panels.map_err(|error| errors::with_help(py, "BufferlabError", &error.to_string(), "report it"))?;
    let axis = |axis: figures::Axis| (axis.title, axis.scale == Scale::Log);
    let panel = |panel: Figure| {
        let series = panel.series.into_iter().map(|series| (series.name, series.points)).collect();
        (panel.name, panel.title, panel.note, axis(panel.x), axis(panel.y), series)
    };
    Ok(panels.into_iter().map(panel).collect())
}

/// A quantity with its unit in the base unit: bytes, bits/s or seconds for `dimension` "size", "rate" or "time".
#[pyfunction]
pub(crate) fn quantity(text: &str, dimension: &str) -> PyResult<f64> {
    let wrong = |error: QuantityError| PyValueError::new_err(error.to_string());
    match dimension {
        "size" => parse_size(text).map(|bytes| bytes as f64).map_err(wrong),
        "rate" => parse_rate(text).map(|rate| rate.0 as f64).map_err(wrong),
        "time" => parse_time(text).map(|time| time.as_secs_f64()).map_err(wrong),
        other => Err(PyValueError::new_err(format!("no dimension is called \"{other}\""))),
    }
}
