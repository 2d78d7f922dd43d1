//! Runs every policy with every hardware option, scheduler and kind of traffic,
//! for a millisecond each. The runs check every accounting identity after every event, and evaluate
//! every comparison in an explanation of a loss.

use crate::support::{Lab, Rows};
use bufferlab_core::{Choice, POLICIES, PolicyInfo, SchedulerName};
use bufferlab_metrics::Explanation;
use bufferlab_scenario::Scenario;
use bufferlab_sim::{ExplainRequest, Explanations, Simulation};

/// Hardware options, one line of `[switch.hardware]` each.
const HARDWARE: [&str; 8] = [
    "",
    "cell = \"208 B\"",
    "slices = 2",
    "queue_reserve = \"3 KB\"",
    "port_reserve = \"5 KB\"",
    "port_limit = \"40 KB\"",
    "threshold_refresh = \"2 us\"",
    "cell = \"208 B\"\nslices = 3\nqueue_reserve = \"2 KB\"\nthreshold_refresh = \"1 us\"\nquantised_alpha = true",
];
/// Accounting options of chips, for policies that pause senders.
const ACCOUNTING: [&str; 4] = [
    "family = \"tomahawk5\"",
    "slices = 3\nslice_by = \"ingress\"",
    "family = \"jericho2\"\nport_limit = \"40 KB\"",
    "resume_below = \"pause-point\"\nqueue_minimums = \"every-slice\"\nthreshold_refresh = \"1 us\"",
];
/// Number of losses that each run explains.
const EXPLAINED: u64 = 400;

/// Scenario of two hosts that overload a third host with lossy packets,
/// a burst to a fourth host, and TCP flows to both receivers.
/// If `lossless`, lossless traffic competes with one of the overloads.
fn scenario(info: &PolicyInfo, hardware: &str, scheduler: &str, lossless: bool) -> Scenario {
    // The headroom is too small, so that lossless packets are lost, too.
    let policy = if lossless {
        format!("{{ name = \"{}\", headroom = \"3 KB\" }}", info.name)
    } else {
        format!("\"{}\"", info.name)
    };
    let pfc = if lossless { "[switch.pfc]\npriorities = [1]\n" } else { "" };
    let switch = format!(
        "buffer = \"120 KB\"\nqueues_per_port = 2\nscheduler = \"{scheduler}\"\npolicy = {policy}\n{pfc}[switch.hardware]\n{hardware}"
    );
    let lossy =
        "congestion_control = \"none\"\nrate = \"9 Gb/s\"\nsegment_bytes = \"1446 B\"\ndata_priority = 0";
    let other = lossy.replace("data_priority = 0", "data_priority = 1");
    Lab::new(
        "kind = \"single_switch\"\nhosts = 6\nrate = \"10 Gb/s\"\nuplink_rate = \"40 Gb/s\"\ndelay = \"1 us\"",
        &switch,
        lossy,
    )
    .transport(&other)
    .transport("congestion_control = \"newreno\"\ninitial_window = 40\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"")
    .times("600 us", "3 ms")
    .workloads(
        "[[workload]]\nkind = \"bursts\"\nclass = \"overload\"\ntransport = \"t0\"\nbursts = [\n\
         { src = \"h0\", dst = \"h2\", start = \"0 s\", duration = \"300 us\" },\n\
         { src = \"h1\", dst = \"h2\", start = \"0 s\", duration = \"300 us\" },\n\
         { src = \"h4\", dst = \"h3\", start = \"80 us\", duration = \"200 us\" },\n]\n\
         [[workload]]\nkind = \"bursts\"\nclass = \"other\"\ntransport = \"t1\"\nbursts = [\n\
         { src = \"h5\", dst = \"h2\", start = \"0 s\", duration = \"300 us\" },\n\
         { src = \"h0\", dst = \"h3\", start = \"0 s\", duration = \"300 us\" },\n]\n\
         [[workload]]\nkind = \"incast\"\ntransport = \"t2\"\nrequest = \"200 KB\"\nfan_in = 5\nqueries_per_second_per_host = 3000.0\n",
    )
}

/// Numbers of bytes that the explanation `text` states, in the order of the text.
fn numbers(text: &str) -> Vec<u64> {
    let bytes = text.split_whitespace().zip(text.split_whitespace().skip(1)).filter(|(_, unit)| {
        let unit = unit.trim_end_matches([',', ';']);
        unit == "B"
    });
    bytes.filter_map(|(number, _)| number.parse().ok()).collect()
}

/// Evaluates the comparison that refused a packet. Returns whether the row has a comparison.
fn holds(row: &Explanation) -> bool {
    let text = row.because();
    match (numbers(&text)[..].as_ref(), text.contains(" + packet ")) {
        ([held, size, with, limit], true) => {
            assert_eq!(held + size, *with, "{text}");
            assert!(with > limit, "{} at {} ns: {text}", row.policy, row.time_ns);
            true
        }
        ([held, limit], false) if row.bound.is_some() => {
            assert!(held > limit, "{} at {} ns: {text}", row.policy, row.time_ns);
            true
        }
        _ => false,
    }
}

/// Reasons for packet losses whose explanations compare two numbers.
const COMPARED: [&str; 5] =
    ["buffer-full", "over-threshold", "over-port-limit", "over-ingress-limit", "headroom-full"];

#[test]
fn every_policy_runs_with_every_option_and_every_printed_comparison_holds() {
    let mut evaluated = 0_u32;
    let mut reasons: Vec<&str> = Vec::new();
    for info in POLICIES {
        let pausing = info.params.iter().any(|param| param.name == "headroom");
        let accounts = ["sonic-dt", "sonic-abm", "reverie"].contains(&info.name);
        let accounting: &[&str] = if accounts { &ACCOUNTING } else { &[] };
        for (number, hardware) in HARDWARE.iter().chain(accounting).copied().enumerate() {
            // A memory sliced by egress port cannot pause senders.
            let by_egress = hardware.contains("slices") && !hardware.contains("slice_by");
            let lossless = [false, true].into_iter().filter(|lossless| !lossless || pausing && !by_egress);
            for lossless in lossless {
                let scheduler = SchedulerName::ALL[number % SchedulerName::ALL.len()].word();
                let scenario = scenario(info, hardware, scheduler, lossless);
                let mut simulation = Simulation::new(&scenario)
                    .unwrap_or_else(|error| panic!("{} with {hardware}: {error}", info.name));
                simulation.set_verify(true);
                simulation.explain(ExplainRequest::losses(EXPLAINED));
                let mut found = Explanations::default();
                simulation
                    .run(&mut found, &mut |_| ())
                    .unwrap_or_else(|error| panic!("{} with {hardware}: {error}", info.name));
                for row in &found.0 {
                    let compared = holds(row);
                    assert!(
                        compared || row.event != "drop" || !COMPARED.contains(&row.reason),
                        "{} with {hardware}: no comparison behind {}: {}",
                        info.name,
                        row.reason,
                        row.because()
                    );
                    evaluated += u32::from(compared);
                    if !reasons.contains(&row.reason) {
                        reasons.push(row.reason);
                    }
                }
            }
        }
    }
    assert!(evaluated > 10_000, "{evaluated} comparisons");
    for reason in COMPARED {
        // Ingress limits of lossy traffic apply only in some profiles, so no packet may be lost for
        // this reason.
        assert!(
            reasons.contains(&reason) || reason == "over-ingress-limit",
            "{reason} never bound: {reasons:?}"
        );
    }
}

/// Runs the scenarios twice, with and without explanations, and compares the other rows.
#[test]
fn explanations_change_nothing() {
    for info in POLICIES {
        let scenario = scenario(info, HARDWARE[7], "round_robin", false);
        let run = |explain: bool| {
            let mut simulation = Simulation::new(&scenario).unwrap_or_else(|error| panic!("{error}"));
            if explain {
                simulation.explain(ExplainRequest::losses(EXPLAINED));
            }
            let mut rows = Rows::default();
            rows.totals = simulation.run(&mut rows, &mut |_| ()).unwrap_or_else(|error| panic!("{error}"));
            rows
        };
        assert_eq!(run(true), run(false), "{}", info.name);
    }
}
