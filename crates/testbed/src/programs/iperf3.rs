//! Carries unlimited flows with iperf3: the receiver has a server for one test, and the sender has
//! a client.
//!
//! The program iperf3 counts the bytes that its receiver has read, by interval. The switch knows
//! the start of a flow: the first frame of the connection that is longer than iperf3's cookie.

use super::{Running, start_in, wait_for};
use crate::apps::AppEvent;
use crate::error::TestbedError;
use crate::lab::address;
use crate::outcome::{Outcome, ProgressSample};
use crate::plan::{Plan, code_point, kernel_name};
use bufferlab_dataplane::Recorded;
use bufferlab_scenario::TransportSpec;
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

const PROGRAM: &str = "iperf3";
/// Port number of the iperf3 server of the first flow.
const FIRST_PORT: u16 = 5_201;
/// Port number of the iperf3 client of the first flow, which is below the kernel's ephemeral ports.
const FIRST_OWN_PORT: u16 = 20_001;
/// Shortest and longest interval of reports that iperf3 accepts (s).
const INTERVALS_S: (f64, f64) = (0.1, 60.0);
/// Size on the wire of the frame with iperf3's cookie, which opens the connection of a test. The
/// frame has 37 B of cookie, headers of 66 B, and 24 B around the frame.
const COOKIE_FRAME: u32 = 127;

/// Measurement of a flow by iperf3 at the receiver.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Index of the flow in [`Outcome::flows`].
    pub(crate) flow: usize,
    /// End of each interval (s since the flow's start), and number of bytes that arrived until this
    /// end.
    pub(crate) arrived: Vec<(f64, u64)>,
}

impl Measured {
    /// End of the last interval (s since the flow's start), and number of bytes that arrived until
    /// this end.
    pub(crate) fn end(&self) -> (f64, u64) {
        self.arrived.last().copied().unwrap_or((0.0, 0))
    }

    /// Number of bytes that arrived until `at` seconds after the flow's start. The number is
    /// interpolated linearly between ends of intervals.
    fn at(&self, at: f64) -> u64 {
        let next = self.arrived.partition_point(|(end, _)| *end < at);
        let (from, had) = next.checked_sub(1).map_or((0.0, 0), |last| self.arrived[last]);
        let Some(&(to, has)) = self.arrived.get(next) else { return had };
        had + ((has - had) as f64 * (at - from) / (to - from)) as u64
    }
}

/// A flow that iperf3 carries, with the processes of iperf3.
#[derive(Debug)]
pub(super) struct Flow {
    src: (u32, String),
    dst: (u32, String),
    port: u16,
    own_port: u16,
    interval_s: f64,
    /// Path of the file to which iperf3's server writes its report.
    report: PathBuf,
    server: Option<Running>,
    /// Process of the flow's iperf3 client; `None` before the client starts.
    client: Option<Pid>,
    /// Whether iperf3 ends the flow itself, so that no signal is needed.
    ends: bool,
    interrupted: Arc<AtomicBool>,
}

impl Flow {
    /// Starts the server of iperf3 for the flow `number`.
    pub(super) fn listen(plan: &Plan, number: usize, spec: &FlowSpec) -> Result<Self, TestbedError> {
        let (port, own_port) = (FIRST_PORT + number as u16, FIRST_OWN_PORT + number as u16);
        let output = &plan.scenario().output;
        let interval_s = if output.sample_flows && output.sample_interval > Time::ZERO {
            output.sample_interval.as_secs_f64().clamp(INTERVALS_S.0, INTERVALS_S.1)
        } else {
            1.0
        };
        let name = |host: u32| (host, plan.hosts[host as usize].name.clone());
        let (src, dst) = (name(spec.src), name(spec.dst));
        let report = Path::new("/run").join(format!("iperf3-{number}.json"));
        let args = words(&format!("-s -1 -J -p {port} -i {interval_s}"));
        let out = File::create(&report).map_err(TestbedError::Io)?;
        let server = Some(start_in(&dst.1, PROGRAM, &args, Some(out))?);
        let interrupted = Arc::new(AtomicBool::new(false));
        Ok(Self {
            src,
            dst,
            port,
            own_port,
            interval_s,
            report,
            server,
            client: None,
            ends: false,
            interrupted,
        })
    }

    /// Waits until the iperf3 server of the flow listens.
    pub(super) fn wait(&self) -> Result<(), TestbedError> {
        wait_for(&self.dst.1, PROGRAM, self.port)
    }

    /// Starts the iperf3 client for the duration `left`; returns the number by which the switch
    /// identifies the flow.
    pub(super) fn begin(
        &mut self,
        flow: usize,
        left: Time,
        transport: &TransportSpec,
        events: &Sender<AppEvent>,
    ) -> Result<u32, TestbedError> {
        let control = kernel_name(&transport.congestion_control).to_owned();
        let tos = u32::from(code_point(transport.data_priorities[0])) << 2;
        // The program iperf3 accepts only whole seconds. For other durations, a signal ends iperf3.
        let seconds = left.as_secs_f64().ceil().max(1.0);
        self.ends = (seconds - left.as_secs_f64()).abs() < 0.1;
        let args = words(&format!(
            "-c {} -p {} --cport {} -C {control} -S {tos} -J -t {seconds} -i {}",
            address(self.dst.0),
            self.port,
            self.own_port,
            self.interval_s
        ));
        let out = self.report.with_extension("client.json");
        let file = File::create(&out).map_err(TestbedError::Io)?;
        let mut client = start_in(&self.src.1, PROGRAM, &args, Some(file))?;
        self.client = Some(Pid::from_raw(client.0.id() as i32));
        let Some(mut server) = self.server.take() else {
            return Err(TestbedError::Program {
                program: PROGRAM.to_owned(),
                why: "it runs already".to_owned(),
            });
        };
        let (report, events, interrupted) =
            (self.report.clone(), events.clone(), Arc::clone(&self.interrupted));
        std::thread::spawn(move || {
            let _ = client.0.wait();
            let interrupted = interrupted.load(Ordering::Relaxed);
            let client = read(&out).and_then(|report| report.check(interrupted, &control));
            // After a failure of the client, the server would wait for another client.
            let measured = client.and_then(|()| {
                let _ = server.0.wait();
                Ok(Measured { flow, arrived: read(&report)?.arrived() })
            });
            let event = match measured {
                Ok(measured) => AppEvent::Measured(measured),
                Err(why) => AppEvent::Failed { program: PROGRAM, why },
            };
            let _ = events.send(event);
        });
        let ends = ((address(self.src.0), self.own_port), (address(self.dst.0), self.port));
        Ok(bufferlab_dataplane::frame::tcp_flow(ends.0, ends.1))
    }

    /// Interrupts the flow's iperf3 client if it does not end without a signal. The interrupted
    /// client then reports its measurement.
    pub(super) fn interrupt(&mut self) {
        if let (Some(client), false) = (self.client.take(), self.ends) {
            self.interrupted.store(true, Ordering::Relaxed);
            let _ = kill(client, Signal::SIGINT);
        }
    }
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// The fields of iperf3's report that the testbed uses.
#[derive(Debug, Deserialize)]
struct Report {
    error: Option<String>,
    #[serde(default)]
    intervals: Vec<Interval>,
    #[serde(default)]
    end: End,
}

#[derive(Debug, Default, Deserialize)]
struct End {
    /// Congestion control of the sender, as the sender's kernel reported it.
    sender_tcp_congestion: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Interval {
    sum: Sum,
}

#[derive(Debug, Deserialize)]
struct Sum {
    end: f64,
    bytes: u64,
}

fn read(path: &Path) -> Result<Report, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("its report cannot be read: {error}"))
}

impl Report {
    /// Checks that iperf3's test succeeded. iperf3 reports an interrupted test as an error.
    fn check(&self, interrupted: bool, control: &str) -> Result<(), String> {
        match (&self.error, &self.end.sender_tcp_congestion) {
            (Some(why), _) if !interrupted => Err(why.clone()),
            (_, Some(had)) if had != control => {
                Err(format!("its connection had the congestion control {had} in the place of {control}"))
            }
            _ => Ok(()),
        }
    }

    fn arrived(&self) -> Vec<(f64, u64)> {
        let mut bytes = 0;
        let sums = self.intervals.iter().map(|interval| &interval.sum).filter(|sum| sum.end > 0.0);
        sums.map(|sum| {
            bytes += sum.bytes;
            (sum.end, bytes)
        })
        .collect()
    }
}

/// Sets the starts of iperf3's flows from the switch's record. Also sets each flow's end, and its
/// samples at every `interval`, relative to the flow's start.
pub(crate) fn place(outcome: &mut Outcome, rows: &[Recorded], epoch_ns: u64, interval: Option<Time>) {
    for measured in &outcome.measured {
        let flow = &mut outcome.flows[measured.flow];
        let is_first = |row: &&Recorded| {
            row.incoming.header.flow == flow.hash && row.incoming.header.size > COOKIE_FRAME
        };
        if let Some(first) = rows.iter().find(is_first) {
            let at_ns = first.incoming.at.as_ns() + epoch_ns;
            flow.started = Time::from_ns(at_ns.saturating_sub(outcome.began_ns));
        }
        let began = flow.started.as_secs_f64();
        let (end, bytes) = measured.end();
        flow.spec.size = bytes;
        flow.completed = Some(Time::from_ns(((began + end) * 1e9) as u64));
        let Some(interval) = interval else { continue };
        let mut at = Time(flow.started.0.div_ceil(interval.0) * interval.0);
        while at.as_secs_f64() <= began + end {
            let bytes = measured.at(at.as_secs_f64() - began);
            outcome.progress.push(ProgressSample { at, flow: measured.flow, bytes });
            at += interval;
        }
    }
    outcome.progress.sort_by_key(|sample| (sample.at, sample.flow));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_arrived_lies_between_the_ends_of_intervals() {
        let text = r#"{"start": {}, "intervals": [
            {"sum": {"start": 0, "end": 0.5, "bytes": 1000, "seconds": 0.5}},
            {"sum": {"start": 0.5, "end": 1.0, "bytes": 3000, "seconds": 0.5}}],
            "end": {"sender_tcp_congestion": "bbr"}, "error": "interrupt - the client has terminated"}"#;
        let report: Report = serde_json::from_str(text).expect("a report");
        let measured = Measured { flow: 0, arrived: report.arrived() };
        assert_eq!(measured.arrived, [(0.5, 1_000), (1.0, 4_000)]);
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75, 1.0, 2.0].map(|at| measured.at(at)),
            [0, 500, 1_000, 2_500, 4_000, 4_000]
        );
        assert_eq!(measured.end(), (1.0, 4_000));
        assert!(report.check(false, "bbr").is_err(), "nobody has interrupted it");
        assert!(report.check(true, "cubic").is_err(), "and it had another congestion control");
        report.check(true, "bbr").expect("all is well");
    }
}
