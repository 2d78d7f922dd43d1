//! Programs that carry the workloads in place of the built-in applications: iperf3 carries
//! unlimited flows, and memcached answers queries.
//!
//! Programs run in the hosts' network namespaces, so they end with the sandbox, even after a crash.
//! If a run ends regularly, it stops the programs earlier.

mod iperf3;
mod memcached;

pub(crate) use iperf3::{Measured, place};

use crate::apps::{AppEvent, Connection};
use crate::error::TestbedError;
use crate::lab::in_network;
use crate::machine::find;
use crate::plan::{Plan, PlanError, unsupported};
use bufferlab_scenario::{Scenario, TransportSpec};
use bufferlab_units::Time;
use bufferlab_workload::{Entry, FlowSource, FlowSpec, LoopTraffic, RunFacts, Traffic};
use memcached::Memcached;
use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Names of the programs for unlimited flows and for queries.
pub(crate) const PROGRAMS: [(&str, &str); 2] =
    [("iperf3", "apt-get install iperf3"), ("memcached", "apt-get install memcached")];
/// Maximum number of iperf3 flows; each flow has a process at the sender and at the receiver.
const MOST_FLOWS: usize = 64;
/// Size of the largest answer to a query (bytes). Memcached stores a whole answer in memory.
const MOST_ANSWER: u64 = 64 << 20;
/// Maximum time to wait until a server program listens.
const PATIENCE: Duration = Duration::from_secs(5);

/// Creates the traffic for a run of the scenario.
pub(crate) fn traffic(scenario: &Scenario) -> Result<Traffic, bufferlab_workload::SourceError> {
    let racks = scenario.topology.racks();
    let transports: Vec<_> = scenario.transports.iter().map(|spec| spec.name.as_str()).collect();
    let entries: Vec<_> = scenario
        .workloads
        .iter()
        .map(|spec| Entry { class: &spec.class, transport: spec.transport, workload: &*spec.workload })
        .collect();
    let facts =
        RunFacts { seed: scenario.seed, end: scenario.duration, racks: &racks, transports: &transports };
    Traffic::new(facts, &entries)
}

/// Checks that programs can carry all workloads of a scenario.
pub(crate) fn check(scenario: &Scenario) -> Result<(), PlanError> {
    const OWN: &str = "or use the built-in applications: `host.applications = \"own\"`";
    for transport in &scenario.transports {
        if !transport.pias_thresholds_bytes.is_empty() {
            return Err(unsupported(
                format!(
                    "transport \"{}\" changes the code point during a flow (`pias_thresholds`), which neither iperf3 nor memcached supports",
                    transport.name
                ),
                format!("leave `pias_thresholds` out, {OWN}"),
            ));
        }
    }
    // If the traffic of a workload cannot be created, the driver gives a better error message
    // later.
    let Ok(traffic) = traffic(scenario) else { return Ok(()) };
    let Traffic { mut source, mut closed_loops, classes, .. } = traffic;
    let mut flows = 0;
    while let Some(flow) = source.next_flow() {
        let class = &classes[usize::from(flow.class)].name;
        if flow.size != FlowSpec::UNLIMITED {
            return Err(unsupported(
                format!(
                    "workload \"{class}\" has flows with a size outside closed loops, and iperf3 ends such a flow before its last bytes have arrived"
                ),
                format!(
                    "use unlimited flows (kind = \"bursts\" without `size`) and queries of kind = \"multi_get\", {OWN}"
                ),
            ));
        }
        flows += 1;
        if flows > MOST_FLOWS {
            return Err(unsupported(
                format!("there are more than {MOST_FLOWS} unlimited flows, each with two iperf3 processes"),
                format!("use at most {MOST_FLOWS}, {OWN}"),
            ));
        }
    }
    for one in &closed_loops {
        let class = &classes[usize::from(one.class)].name;
        if one.request_delay.is_some() {
            return Err(unsupported(
                format!(
                    "workload \"{class}\" sets `request_delay`, but requests to memcached pass the network"
                ),
                format!("leave `request_delay` out, {OWN}"),
            ));
        }
    }
    if largest_answer(&mut closed_loops) > MOST_ANSWER {
        return Err(unsupported(
            "an answer is larger than the largest memcached value (64 MiB)",
            format!("use a smaller `item`, {OWN}"),
        ));
    }
    let needed = [flows > 0, !closed_loops.is_empty()];
    for ((program, install), _) in PROGRAMS.iter().zip(needed).filter(|(_, is_needed)| *is_needed) {
        if !find(program) {
            return Err(unsupported(
                format!("`host.applications = \"programs\"` needs {program}, which this machine lacks"),
                format!("{install}, {OWN}"),
            ));
        }
    }
    Ok(())
}

/// Returns the size of the largest answer to the first queries (bytes).
fn largest_answer(loops: &mut [LoopTraffic]) -> u64 {
    let mut largest = 0;
    for one in loops {
        for thread in 0..one.queries.threads() {
            let query = one.queries.first(thread).and_then(|_| one.queries.ask(thread));
            largest = query
                .iter()
                .flat_map(|query| &query.answers)
                .map(|answer| answer.size)
                .fold(largest, u64::max);
        }
    }
    largest
}

/// A process that is ended when this value is dropped.
#[derive(Debug)]
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program in the network namespace of a host; `out` receives its output.
fn start_in(name: &str, program: &str, args: &[String], out: Option<File>) -> Result<Running, TestbedError> {
    let failed =
        |error: std::io::Error| TestbedError::Program { program: program.to_owned(), why: error.to_string() };
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{name}")).arg(program).args(args);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(out.map_or_else(Stdio::null, Stdio::from));
    command.spawn().map(Running).map_err(failed)
}

/// Waits until a server listens at `port` in the network namespace `name`.
fn wait_for(name: &str, program: &str, port: u16) -> Result<(), TestbedError> {
    let since = Instant::now();
    let wanted = format!(":{port:04X}");
    loop {
        // The path /proc/thread-self gives the network of the current thread, which has joined the
        // namespace.
        let tables = in_network(name, || {
            ["tcp", "tcp6"].map(|of| std::fs::read_to_string(format!("/proc/thread-self/net/{of}")))
        })?;
        const LISTENS: &str = "0A";
        let listens = tables.iter().flatten().flat_map(|table| table.lines()).any(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            words.get(1).is_some_and(|own| own.ends_with(&wanted)) && words.get(3) == Some(&LISTENS)
        });
        if listens {
            return Ok(());
        }
        if since.elapsed() > PATIENCE {
            let why = format!("it does not listen at port {port} of {name}");
            return Err(TestbedError::Program { program: program.to_owned(), why });
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The programs that carry flows and queries of a run.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Memcached servers, by the number of their host.
    caches: BTreeMap<u32, Memcached>,
    flows: Vec<iperf3::Flow>,
    largest_answer: u64,
    /// Number of iperf3 flows that have started so far.
    begun: usize,
}

impl Programs {
    /// Starts the servers that must listen before the run starts.
    pub(crate) fn start(plan: &Plan) -> Result<Self, TestbedError> {
        let scenario = plan.scenario();
        let Traffic { mut source, mut closed_loops, .. } =
            traffic(scenario).map_err(|error| TestbedError::Workload(error.to_string()))?;
        let mut flows = Vec::new();
        while let Some(spec) = source.next_flow() {
            flows.push(iperf3::Flow::listen(plan, flows.len(), &spec)?);
        }
        for flow in &flows {
            flow.wait()?;
        }
        Ok(Self {
            caches: BTreeMap::new(),
            flows,
            largest_answer: largest_answer(&mut closed_loops),
            begun: 0,
        })
    }

    /// Opens a connection over which host `dst` queries host `src`. Each answer belongs to the flow
    /// that the caller sends over the connection.
    pub(crate) fn connect(
        &mut self,
        (src, dst): ((u32, &str), (u32, &str)),
        transport: &TransportSpec,
        events: &Sender<AppEvent>,
    ) -> Result<Connection, TestbedError> {
        if !self.caches.contains_key(&src.0) {
            self.caches.insert(src.0, Memcached::start(src, self.largest_answer)?);
        }
        let cache = self.caches.get_mut(&src.0).expect("it has just been started");
        cache.connect(dst, transport, events)
    }

    /// Stores a value of `size` bytes in the memcached of host `src`.
    pub(crate) fn hold(&mut self, src: u32, size: u64) -> Result<(), TestbedError> {
        self.caches.get_mut(&src).map_or(Ok(()), |cache| cache.hold(size))
    }

    /// Starts the next unlimited flow; returns the number by which the switch identifies the flow.
    pub(crate) fn begin(
        &mut self,
        flow: usize,
        left: Time,
        transport: &TransportSpec,
        events: &Sender<AppEvent>,
    ) -> Result<u32, TestbedError> {
        let next = &mut self.flows[self.begun];
        self.begun += 1;
        next.begin(flow, left, transport, events)
    }

    /// Ends all flows: interrupts the running iperf3 clients, which then report their measurements.
    pub(crate) fn stop(&mut self) {
        for flow in &mut self.flows {
            flow.interrupt();
        }
    }
}
