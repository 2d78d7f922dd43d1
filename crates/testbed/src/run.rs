//! Runs a plan with real hosts, and writes the run's folder of results.

use crate::error::TestbedError;
use crate::lab::{SWITCH, build, destroy, join_network};
use crate::parity::{Comparison, verify};
use crate::plan::Plan;
use crate::{drive, programs, tables};
use bufferlab_dataplane::{
    CaptureReport, CaptureWriter, INCONCLUSIVE_LATENESS_NS, RecordWriter, RunOptions, Stopping, Summary,
    Watch, open, read_record,
};
use bufferlab_lab::run_header;
use bufferlab_results::{REAL_PACKETS, RunCaveat, RunWriter, Timing};
use bufferlab_scenario::Applications;
use bufferlab_units::Time;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

/// A finished testbed run with real hosts.
#[derive(Debug)]
pub struct RealRun {
    /// Folder that has the results of the run.
    pub folder: PathBuf,
    /// Lateness of the switch's transmissions: p50, p99, p99.9, largest (ns).
    pub lateness_ns: [u64; 4],
    /// Comparison with the simulator; `None` if the policy cannot be compared.
    pub parity: Option<Comparison>,
    /// Number of packet-hops in the run, as the simulator counts packet-hops.
    pub packet_hops: u64,
    /// Remarks about the run, such as a remark about the switch's priority.
    pub notes: Vec<String>,
    /// Report on the run's capture of frames; `None` without a capture.
    pub capture: Option<CaptureReport>,
}

/// Observers of the running switch, in addition to its record.
#[derive(Debug, Default)]
pub struct Watching {
    /// Place where the switch stores snapshots of its state.
    pub watch: Option<Arc<Watch>>,
    /// Writer of captures of all ports.
    pub capture: Option<CaptureWriter>,
}

/// Name of the folder with the switch's record inside a run's folder.
const RECORD: &str = "record";

/// Runs `plan` inside the sandbox and writes its results into `folder`.
///
/// # Errors
/// Returns [`TestbedError`] if the run fails.
pub fn run_real(
    plan: &Plan,
    folder: &Path,
    watching: Watching,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<RealRun, TestbedError> {
    let wall = Instant::now();
    build(plan)?;
    let result = measure(plan, folder, watching, go_on, wall);
    destroy();
    result
}

fn measure(
    plan: &Plan,
    folder: &Path,
    watching: Watching,
    go_on: &(dyn Fn() -> bool + Sync),
    wall: Instant,
) -> Result<RealRun, TestbedError> {
    let record = Path::new("/run").join(RECORD);
    let (outcome, summary) = with_switch(plan, &record, watching, true, || drive::drive(plan, go_on))?;
    let mut outcome = outcome?;
    let Summary { lateness, epoch_ns, notes, missed, stolen, late_arrivals, mut pipeline, capture, .. } =
        summary;
    let capture = capture.map_err(TestbedError::Capture)?;
    pipeline.close().map_err(TestbedError::Io)?;
    let rows = read_record(&record, &plan.switch.names())?.rows;
    let output = &plan.scenario().output;
    let samples = output.sample_flows && output.sample_interval > Time::ZERO;
    programs::place(&mut outcome, &rows, epoch_ns, samples.then_some(output.sample_interval));
    let parity = verify(&plan.switch, &rows).ok();
    let quantiles = [0.5, 0.99, 0.999].map(|q| lateness.quantile(q));
    let lateness_ns = [quantiles[0], quantiles[1], quantiles[2], lateness.largest()];
    let mut caveats = caveats(lateness_ns, stolen, missed, late_arrivals, parity.as_ref());
    if plan.scenario().host.applications == Applications::Programs {
        caveats.push(with_programs());
    }
    let mut writer = RunWriter::create(folder, run_header(&plan.loaded, &outcome.classes)?)?;
    let seen = tables::SwitchLog { rows: &rows, epoch_ns };
    let totals = tables::write(plan, &outcome, &seen, &mut writer).map_err(TestbedError::Io)?;
    let timing = Timing {
        cpu_seconds: None,
        wall_seconds: wall.elapsed().as_secs_f64(),
        packet_hops_per_cpu_second: None,
        peak_rss_bytes: None,
    };
    let folder = writer.finish(&totals, caveats, Some(&timing))?;
    Ok(RealRun { folder, lateness_ns, parity, packet_hops: totals.packet_hops, notes, capture })
}

/// Builds the network, and keeps the switch running until the function `work` returns. With
/// `keep_awake`, no core sleeps while the switch runs (`bufferlab_dataplane::RunOptions`).
///
/// # Errors
/// If the network cannot be built, or the switch fails.
pub fn hold<T>(
    plan: &Plan,
    watching: Watching,
    keep_awake: bool,
    work: impl FnOnce() -> T,
) -> Result<(T, Summary), TestbedError> {
    build(plan)?;
    let record = Path::new("/run").join(RECORD);
    with_switch(plan, &record, watching, keep_awake, work)
}

/// Loads the testbed's DCTCP if a transport of the scenario needs it.
#[cfg(feature = "dctcp")]
fn dctcp(plan: &Plan) -> Result<Option<crate::dctcp::Dctcp>, TestbedError> {
    plan.needs_dctcp().then(|| crate::dctcp::Dctcp::load(Path::new("/run"))).transpose()
}

/// Refuses a plan that needs DCTCP, because this build of the program cannot load DCTCP.
#[cfg(not(feature = "dctcp"))]
fn dctcp(plan: &Plan) -> Result<Option<()>, TestbedError> {
    debug_assert!(!plan.needs_dctcp());
    Ok(None)
}

fn with_switch<T>(
    plan: &Plan,
    record: &Path,
    watching: Watching,
    keep_awake: bool,
    work: impl FnOnce() -> T,
) -> Result<(T, Summary), TestbedError> {
    let _dctcp = dctcp(plan)?;
    let writer =
        RecordWriter::create(record, plan.switch.names(), &plan.switch.text).map_err(TestbedError::Io)?;
    let wanted = AtomicBool::new(false);
    let (ready, stands) = channel();
    std::thread::scope(|scope| {
        let wanted = &wanted;
        let switch = scope.spawn(move || {
            join_network(SWITCH)?;
            let stopping = Stopping { wanted, after: Time::MAX };
            let options = RunOptions {
                record: Some(writer),
                capture: watching.capture,
                real_time: true,
                keep_awake,
                metrics: None,
                // Other threads of this process create and delete hosts. These threads need the
                // rights of the current user.
                change_user: false,
                tell: None,
                stopping,
            };
            let failed = |error: bufferlab_dataplane::ShellError| TestbedError::Switch(error.to_string());
            open(&plan.switch, options).map_err(failed)?.run(watching.watch, Some(ready)).map_err(failed)
        });
        // The first packet of a connection negotiates ECN.
        // If the first packet is lost, Linux retries a second later without ECN.
        let done = stands.recv().is_ok().then(work);
        wanted.store(true, Ordering::Relaxed);
        let summary = switch.join().expect("the switch does not panic")?;
        let done = done.ok_or_else(|| TestbedError::Switch("it ended before it began".to_owned()))?;
        Ok((done, summary))
    })
}

/// Caveat for numbers that iperf3 or memcached produced.
fn with_programs() -> RunCaveat {
    RunCaveat {
        id: "programs".to_owned(),
        message: "iperf3 and memcached carried the workloads: requests passed the switch, about 40 B of protocol surround every answer, and acknowledgements of iperf3 have \
                  the code point of their data."
            .to_owned(),
        advice: "Compare runs with the same `host.applications` (docs/how-to/testbed.md).".to_owned(),
    }
}

/// Returns the caveats of the run, which a user must check before trusting its numbers.
fn caveats(
    lateness_ns: [u64; 4],
    stolen: Option<Time>,
    missed: u64,
    late_arrivals: u64,
    parity: Option<&Comparison>,
) -> Vec<RunCaveat> {
    let caveat = |id: &str, message: String, advice: &str| RunCaveat {
        id: id.to_owned(),
        message,
        advice: advice.to_owned(),
    };
    let [p50, p99, p999, largest] = lateness_ns.map(|ns| ns as f64 / 1e3);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().unwrap_or("?").to_owned();
    let stolen = stolen.filter(|span| *span > Time::ZERO);
    let stolen = stolen.map_or_else(String::new, |span| format!("; the hypervisor took {span} of CPU time"));
    let mut list = vec![caveat(
        REAL_PACKETS,
        format!(
            "real packets: the switch handed frames over late by p50 {p50:.0} us, p99 {p99:.0} us, p99.9 {p999:.0} us, at most {largest:.0} us; \
             load of the machine {load}{stolen}; {late_arrivals} arrivals were decided late."
        ),
        "Packets, retransmissions and timeouts of flows are counted at the switch (docs/how-to/testbed.md).",
    )];
    if lateness_ns[2] > INCONCLUSIVE_LATENESS_NS {
        let advice = "Repeat it on an idle machine, or at lower rates.";
        list.push(caveat("inconclusive", format!("inconclusive: lateness p99.9 of {p999:.0} us."), advice));
    }
    if missed > 0 {
        let message = format!("the system dropped {missed} frames before the switch could read them.");
        list.push(caveat("missed-frames", message, "Repeat it on an idle machine."));
    }
    match parity {
        Some(parity) if parity.differences > 0 => list.push(caveat(
            "parity",
            format!("switch and simulator differ in {} of {} packets.", parity.differences, parity.packets),
            "Please report it with the record.",
        )),
        _ => {}
    }
    list
}
