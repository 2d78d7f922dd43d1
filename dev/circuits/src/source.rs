//! Sources of operations for circuits: golden vectors, random scripts and simulated runs.

use crate::{Recorded, Scheme, SharedSheet};
use bufferlab_conformance::vectors::VectorFile;
use bufferlab_conformance::{Bench, Operation, Script, SwitchDevice};
use bufferlab_core::{Hardware, ParamValue, SwitchConfig};
use bufferlab_units::{RandomStream, Time};
use std::path::Path;

#[cfg(feature = "runs")]
mod runs;
#[cfg(feature = "runs")]
pub use runs::run;

/// Number of operations in a random script: enough to fill the buffer of the switch many times.
const SCRIPT_LENGTH: usize = 20_000;

/// Result of replaying golden vectors of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Number of vector cases that were replayed to the end.
    pub whole: u64,
    /// Vector cases that stopped early because a rounded alpha changes an expected answer, each
    /// with the reason.
    pub cut: Vec<String>,
    /// Vector cases that the circuit does not support, each with the reason.
    pub unfit: Vec<String>,
}

/// Hardware limits of a switch: some circuits need alphas that are powers of two.
fn hardware(scheme: Scheme) -> Hardware {
    Hardware { quantised_alpha: scheme.shifts_alpha(), ..Hardware::IDEAL }
}

/// Replays the golden vectors of a file that are about the recorded policy.
///
/// # Errors
/// If the file cannot be read.
pub fn vectors(scheme: Scheme, file: &Path, sheet: &SharedSheet) -> Result<Played, String> {
    let name = Recorded::register(scheme, sheet);
    let mut played = Played::default();
    for case in VectorFile::load(file).map_err(|error| error.to_string())?.cases {
        if case.policy != scheme.policy() {
            continue;
        }
        let config = SwitchConfig { hardware: hardware(scheme), ..case.config.clone() };
        let mut params = case.params.clone();
        params.retain(|(name, _)| scheme.parameters().iter().all(|(own, _)| own != name));
        params.extend(scheme.parameters());
        match config.build(name, &params) {
            Err(error) => played.unfit.push(format!("{}: {error}", case.name)),
            Ok(switch) => match case.run(&mut SwitchDevice::new(switch), &mut |_, _| {}) {
                Ok(()) => played.whole += 1,
                Err(mismatch) => played.cut.push(mismatch.to_string()),
            },
        }
    }
    Ok(played)
}

/// Replays random scripts with the seeds `seed`, `seed + 1` and so on, until `operations`
/// operations are recorded.
///
/// # Errors
/// If a policy does not fit its switch, or the switch gives an impossible answer.
pub fn random(scheme: Scheme, seed: u64, operations: u64, sheet: &SharedSheet) -> Result<(), String> {
    let name = Recorded::register(scheme, sheet);
    for seed in seed.. {
        if sheet.lock().tally().operations() >= operations {
            break;
        }
        let mut script = Script::random(seed, SCRIPT_LENGTH);
        script.config.hardware = hardware(scheme);
        let mut stream = RandomStream::new(seed, "circuits/parameters", 0);
        let mut params = random_parameters(scheme, &script, &mut stream);
        params.extend(scheme.parameters());
        let switch = script.config.build(name, &params).map_err(|error| format!("seed {seed}: {error}"))?;
        let mut bench = Bench::new(Box::new(SwitchDevice::new(switch)), &script);
        for operation in &script.operations {
            // Skip the waits between operations of a script. Each wait would add a thousand passes
            // of SYNC packets without new answers.
            if scheme == Scheme::PlasticinePisa && matches!(operation, Operation::Wait(_)) {
                continue;
            }
            bench.apply(operation).map_err(|what| format!("seed {seed}: {what}"))?;
        }
    }
    Ok(())
}

/// Returns the power of two 2^(exponent − 6), which is at least 1/64.
fn power(exponent: u64) -> f64 {
    2_f64.powi(exponent as i32 - 6)
}

/// Draws random policy parameters that together exercise every part of the circuit.
fn random_parameters(
    scheme: Scheme,
    script: &Script,
    stream: &mut RandomStream,
) -> Vec<(String, ParamValue)> {
    let mut draw = |bound: u64| stream.below(bound);
    let queues = script.config.queues_per_port as u64;
    let own = |name: &str, value: ParamValue| (name.to_owned(), value);
    let alphas = |list: Vec<f64>| ParamValue::RatioPerPriority(list.into());
    match scheme {
        Scheme::Dt => vec![own("alpha", alphas((0..queues).map(|_| power(draw(11))).collect()))],
        Scheme::Abm | Scheme::AbmShift => {
            let list = (0..queues).map(|_| (1 + draw(4_000)) as f64 / 1_000.0).collect();
            let drain_rate = ["measured", "computed", "credited"][draw(3) as usize];
            let congestion = ["threshold", "fraction"][draw(2) as usize];
            let half = (script.config.capacity / 2).min(28_000);
            vec![
                own("alpha", alphas(list)),
                own("unscheduled_alpha", ParamValue::Ratio(power(draw(17)))),
                own("drain_rate", ParamValue::word(drain_rate)),
                own("congestion", ParamValue::word(congestion)),
                own("congested_bytes", ParamValue::Bytes(half)),
                own("update_interval", ParamValue::Time(Time(script.gap.0 * (200 + draw(2_000))))),
            ]
        }
        Scheme::Tdt => vec![
            own("alpha", ParamValue::Ratio(power(draw(11)))),
            own("nec", ParamValue::Count(1 + draw(6))),
            own("oc1", ParamValue::Count(1 + draw(12))),
            own("oc2", ParamValue::Count(1 + draw(60))),
            own("dec", ParamValue::Count(1 + draw(5))),
            own("dc", ParamValue::Count(1 + draw(20))),
            own("packet_bytes", ParamValue::Bytes(64)),
            own("literal_dec", ParamValue::Flag(draw(3) == 0)),
            own("any_drop_ends_absorption", ParamValue::Flag(draw(3) == 0)),
            own("keep_drop_count", ParamValue::Flag(draw(3) == 0)),
        ],
        Scheme::LossPass if queues == 1 => vec![own("alpha", ParamValue::Ratio(power(draw(11))))],
        Scheme::LossPass => of_two_classes(script, &mut draw),
        Scheme::PlasticinePisa => {
            let list = (0..queues).map(|_| (1 + draw(20_000)) as f64 / 1_000.0).collect();
            vec![
                own("alpha", alphas(list)),
                own("high_priorities", ParamValue::Count(draw(queues + 1))),
                own("pass_period", ParamValue::Time(Time(script.gap.0 * (1 + draw(4))))),
                own("congested_above", ParamValue::Bytes(draw(script.config.max_packet * 2))),
                own("active_above", ParamValue::Bytes(draw(script.config.max_packet * 2))),
                own("counted_queues", ParamValue::Count(1 + draw(64))),
                own("egress_length", ParamValue::word(["enqueue", "dequeue"][draw(2) as usize])),
                own("zero_when_empty", ParamValue::Flag(draw(2) == 0)),
            ]
        }
    }
}

/// Random parameters of LossPass, with different priorities for small and for large flows.
fn of_two_classes(script: &Script, draw: &mut impl FnMut(u64) -> u64) -> Vec<(String, ParamValue)> {
    let queues = script.config.queues_per_port as u64;
    let own = |name: &str, value: ParamValue| (name.to_owned(), value);
    let small = draw(queues);
    let large = (small + 1 + draw(queues - 1)) % queues;
    let ports = script.config.port_rates.len() as u64;
    let share = (script.config.capacity / ports).max(script.config.max_packet);
    vec![
        own("alpha", ParamValue::Ratio(power(draw(11)))),
        own("port_limit", ParamValue::word(["static", "dynamic"][draw(2) as usize])),
        own("port_buffer", ParamValue::Bytes(share)),
        own("large_reserve", ParamValue::Bytes(draw(2) * draw(share / 2))),
        own("reserve", ParamValue::word(["when-full", "always"][draw(2) as usize])),
        own("classes", ParamValue::word(["priority", "tag"][draw(2) as usize])),
        own("small_priority", ParamValue::Count(small)),
        own("large_priority", ParamValue::Count(large)),
        own("printed_line_4", ParamValue::Flag(draw(8) == 0)),
    ]
}
