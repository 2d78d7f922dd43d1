//! `theory`: calculators that print their derivation.

use crate::print;
use crate::theory_args::{BurstToleranceArgs, EcnArgs, HeadroomArgs, TheoryCommand};
use bufferlab_theory::calculators::alpha::{BurstAlpha, burst_alpha};
use bufferlab_theory::calculators::burst_state::EvenSwitch;
use bufferlab_theory::calculators::burst_tolerance::{burst_tolerance, comparison};
use bufferlab_theory::calculators::chips::{Chips, chips};
use bufferlab_theory::calculators::guarantees::{Priorities, drain_times, guarantees};
use bufferlab_theory::calculators::headroom::{Headroom, headroom};
use bufferlab_theory::calculators::marking::{Marking, marking};
use bufferlab_theory::calculators::shares::{Shares, shares};
use bufferlab_theory::calculators::tdt_parameters::{TdtSwitch, tdt_parameters};
use bufferlab_theory::calculators::{Derivation, bytes, number, rate, seconds};
use bufferlab_theory::forms::headroom::EndDelays;
use bufferlab_theory::forms::sonic_headroom::Port;
use bufferlab_theory::forms::{Domain, DomainError};
use miette::{Report, miette};

/// Runs a calculator and prints what it derives.
pub(crate) fn theory(command: &TheoryCommand) -> miette::Result<()> {
    if let TheoryCommand::Figure(args) = command {
        return crate::figure::figure(args);
    }
    let (name, derivation) = derive(command);
    print(&derivation.map_err(|error| refused(name, &error))?.to_string())
}

/// The name of the calculator and its answer.
fn derive(command: &TheoryCommand) -> (&'static str, Domain<Derivation>) {
    match command {
        TheoryCommand::BurstTolerance(args) => ("burst-tolerance", tolerance(args)),
        TheoryCommand::Alpha(args) => {
            // Clap has seen to it that one of the two is there.
            let arrives = args.burst.map_or(0.0, |bytes| bytes * 8.0 / args.rate);
            let burst = BurstAlpha {
                buffer_bytes: args.buffer.buffer,
                port_rate_bps: args.port_rate.port_rate,
                rate_bps: args.rate,
                duration_seconds: args.duration.unwrap_or(arrives),
                others: args.others.clone(),
            };
            ("alpha", burst_alpha(&burst).map_err(|error| as_size(args.burst, &burst, error)))
        }
        TheoryCommand::Shares(args) => {
            let (queues, alpha, share) = (args.queues.clone(), args.alpha, args.share);
            ("shares", shares(&Shares { buffer_bytes: args.buffer, queues, alpha, share }))
        }
        TheoryCommand::Guarantees(args) => {
            let priorities = Priorities { buffer_bytes: args.buffer.buffer, alphas: args.alphas.clone() };
            ("guarantees", guarantees(&priorities, args.gamma))
        }
        TheoryCommand::DrainTime(args) => {
            let priorities = Priorities { buffer_bytes: args.buffer.buffer, alphas: args.alphas.clone() };
            ("drain-time", drain_times(&priorities, args.port_rate.port_rate, args.congested))
        }
        TheoryCommand::Figure(_) => unreachable!("a figure has no derivation"),
        TheoryCommand::Ecn(args) => ("ecn", ecn(args)),
        TheoryCommand::Headroom(args) => ("headroom", pause_headroom(args)),
        TheoryCommand::Chips(args) => {
            let port_rate_bps = args.port_rate.port_rate;
            ("chips", chips(Chips { ports: args.ports, port_rate_bps, buffer_bytes: args.buffer }))
        }
        TheoryCommand::TdtParameters(args) => {
            let switch = TdtSwitch {
                buffer_bytes: args.buffer.buffer,
                packet_bytes: args.packet,
                ports: args.ports,
                burst_ratio: args.burst_ratio,
            };
            ("tdt-parameters", tdt_parameters(switch))
        }
    }
}

/// A burst that was given as a size is refused as one.
fn as_size(size: Option<f64>, burst: &BurstAlpha, error: DomainError) -> DomainError {
    match size {
        Some(size) if error.input == "duration" => {
            let ratio = burst.rate_bps / burst.port_rate_bps;
            let most = bytes(burst.buffer_bytes * ratio / (ratio - 1.0));
            let valid = format_args!("more than 0, less than {most} (then the burst fills the whole buffer)");
            DomainError::new("burst", size, valid)
        }
        _ => error,
    }
}

fn tolerance(args: &BurstToleranceArgs) -> Domain<Derivation> {
    let switch = EvenSwitch {
        buffer_bytes: args.buffer.buffer,
        port_rate_bps: args.port_rate.port_rate,
        ports: args.ports,
        queues: args.queues,
        congested: args.congested,
        congested_queues: args.congested_queues,
        priorities: args.priorities,
        alpha: args.alpha,
        burst_ports: args.burst_ports,
        queues_beside_burst: args.queues_beside_burst,
        burst_alpha: args.burst_alpha,
        same_priority: args.same_priority,
        rate_bps: args.rate,
        tau: args.tau,
    };
    let state = switch.state()?;
    match args.policy {
        Some(policy) => burst_tolerance(&state, policy).map(|found| found.derivation),
        None => comparison(&state),
    }
}

fn ecn(args: &EcnArgs) -> Domain<Derivation> {
    marking(&Marking {
        port_rate_bps: args.port_rate.port_rate,
        rtt_seconds: args.rtt,
        packet_bytes: args.packet,
        flows: args.flows,
        buffer_bytes: args.buffer,
        threshold_bytes: args.threshold,
        burst_bytes: args.burst,
        tau: args.tau,
    })
}

fn pause_headroom(args: &HeadroomArgs) -> Domain<Derivation> {
    let port = Port {
        speed_mbps: args.rate / 1e6,
        cable_metres: args.cable,
        port_mtu_bytes: args.mtu,
        lossless_mtu_bytes: args.lossless_mtu,
        small_packet_percent: args.small_packets,
        cell_bytes: args.cell,
        pipeline_latency_bytes: args.pipeline_latency * 1024.0,
        mac_phy_delay_bytes: args.mac_phy_delay * 1024.0,
        gearbox_delay: args.gearbox_delay,
        lanes: args.lanes.get(),
        generation: args.generation.into(),
        shared_headroom_pool: args.shared_headroom_pool,
        peer_response_quanta: args.peer_response,
    };
    let both = args.interface_bits.zip(args.response_bits);
    let delays = both.map(|(interface_bits, response_bits)| EndDelays { interface_bits, response_bits });
    headroom(&Headroom { port, delays })
}

/// An input for which the theory has no answer, named as it is typed.
fn refused(command: &str, error: &DomainError) -> Report {
    let (option, value) = typed(command, error);
    miette!(
        help = format!("change {option}; `bufferlab theory {command} --help` describes it"),
        "{option} is {value}, expected {}",
        error.valid
    )
}

/// The option that stands for an input, and its value with the unit in which one types it.
fn typed(command: &str, error: &DomainError) -> (String, String) {
    let value = error.value;
    let (option, text) = match error.input {
        "alpha" if matches!(command, "guarantees" | "drain-time") => ("alphas", number(value)),
        "alpha" if command == "alpha" => ("others", number(value)),
        "alpha_low" => ("others", number(value)),
        "buffer" | "packet" | "mtu" | "cell" | "burst" | "threshold" => (error.input, bytes(value)),
        "rate" | "port_rate" => (error.input, rate(value)),
        "rate_gbps" => ("port_rate", rate(value * 1e9)),
        "duration" | "rtt" => (error.input, seconds(value)),
        "cable_metres" => ("cable", number(value)),
        "lossless_mtu_bytes" => ("lossless_mtu", bytes(value)),
        "port_mtu_bytes" => ("mtu", bytes(value)),
        "small_packet_percent" => ("small_packets", number(value)),
        "pipeline_latency_bytes" => ("pipeline_latency", number(value / 1024.0)),
        "mac_phy_delay_bytes" => ("mac_phy_delay", number(value / 1024.0)),
        "peer_response_quanta" => ("peer_response", number(value)),
        "buffer_bytes" => ("buffer", bytes(value)),
        input => (input, number(value)),
    };
    (format!("--{}", option.replace('_', "-")), text)
}
