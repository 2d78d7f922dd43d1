//! Simulation runs that Python advances step by step. Functions return the numbers of many queues
//! or flows as bytes, which `bufferlab.simulation` shows as NumPy arrays without a copy.

use crate::errors;
use crate::policy::{find, given};
use crate::runs::{PlainJob, job};
use crate::scenario::Loaded;
use bufferlab_lab::{RunError, SteppedRun};
use bufferlab_sim::{NewFlow, Progress, Simulation};
use bufferlab_units::{BitRate, Time};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A simulation run that Python advances step by step. One thread at a time works on the run.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Stepper {
    /// The simulation run; `None` after the run has been finished.
    run: Mutex<Option<SteppedRun>>,
}

/// A switch: name, policy, capacity, occupancy, ports, queues per port.
type PlainSwitch = (String, String, u64, u64, u16, u16);

/// An event: time (ps), kind, node, port, flow, packet, bytes, and the numbers of dropped, evicted
/// and marked packets.
type PlainEvent = (
    u64,
    &'static str,
    Option<String>,
    Option<u16>,
    Option<u64>,
    Option<&'static str>,
    Option<u32>,
    (u64, u64, u64),
);

/// Changes between two ledgers (lists of counters) of a switch: see the function [`change`].
type Change = (u64, u64, u64, u64, u64, u64, u64, u64, u64);

/// Result of an agent's action: ledger of the switch, observation, changes since the last ledger,
/// and whether the run is over.
type Acted<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Change, bool);

/// Smallest and largest logarithm (to base 2) of an alpha that an agent can set.
const EXPONENTS: (f64, f64) = (-7.0, 4.0);

/// Largest rate in an agent's observation, as a multiple of the port's rate.
const RATE_MAX: f64 = 2.0;

#[pymethods]
impl Stepper {
    #[new]
    fn new(py: Python<'_>, loaded: PyRef<'_, Loaded>) -> PyResult<Self> {
        let inner = loaded.inner.clone();
        let run = py.detach(|| SteppedRun::new(inner)).map_err(|error| errors::run(py, &error))?;
        Ok(Self { run: Mutex::new(Some(run)) })
    }

    /// Time that the run has reached, and its latest end (ps).
    fn times(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.view(py, |simulation| (simulation.now().0, simulation.end().0))
    }

    /// Whether the simulation has no event left.
    fn is_finished(&self, py: Python<'_>) -> PyResult<bool> {
        self.view(py, Simulation::is_finished)
    }

    /// Numbers of events, packet-hops, started flows and live flows so far.
    fn counts(&self, py: Python<'_>) -> PyResult<(u64, u64, u64, u64)> {
        self.view(py, |simulation| {
            let at = simulation.progress();
            (simulation.events(), at.packet_hops, at.flows_started, at.flows_live)
        })
    }

    /// Handles all events of the simulation until the time `ps` (ps).
    fn run_until(&self, py: Python<'_>, ps: u64) -> PyResult<()> {
        self.work(py, |run, go_on| run.run_until(Time(ps), go_on))
    }

    /// Handles the next `count` events of the simulation.
    fn step(&self, py: Python<'_>, count: u64) -> PyResult<()> {
        self.work(py, |run, go_on| run.step(count, go_on))
    }

    /// Handles the next event of the simulation and describes it. `None` if no event is left.
    fn next_event(&self, py: Python<'_>) -> PyResult<Option<PlainEvent>> {
        let event = self.work(py, |run, go_on| run.next_event(go_on))?;
        Ok(event.map(|it| {
            let consequences = (it.dropped, it.evicted, it.marked);
            (it.time.0, it.kind, it.node, it.port, it.flow, it.packet, it.bytes, consequences)
        }))
    }

    /// Sets alphas of a switch, if given, and handles all events until the time `ps`. `exponents`
    /// are the logarithms of the alphas to base 2 (f64), each for `repeat` queues. `before` is the
    /// ledger ([`ledger`]) `interval` ps ago. Returns the ledger, the observation
    /// ([`observation`]), the changes ([`change`]), and whether the run is over.
    #[allow(clippy::too_many_arguments, reason = "one call per step of an agent, which is short")]
    fn act<'py>(
        &self,
        py: Python<'py>,
        switch: usize,
        exponents: Option<&[u8]>,
        repeat: usize,
        ps: u64,
        interval: u64,
        before: &[u8],
    ) -> PyResult<Acted<'py>> {
        let (least, most) = EXPONENTS;
        let alphas = exponents.map(|bytes| {
            let alpha = |exponent: f64| exponent.clamp(least, most).exp2();
            floats(bytes)
                .into_iter()
                .flat_map(|it| std::iter::repeat_n(alpha(it), repeat))
                .collect::<Vec<_>>()
        });
        let mut before = numbers(before);
        let (after, seen, change, is_over) = self.work(py, |run, go_on| {
            if let Some(alphas) = &alphas {
                run.set_alphas(switch, alphas)?;
            }
            run.run_until(Time(ps), go_on)?;
            let simulation = run.simulation();
            let after = ledger(run, switch);
            before.resize(after.len(), 0);
            let queues = simulation
                .switch(switch)
                .map_or(0, |switch| usize::from(switch.ports) * usize::from(switch.queues_per_port));
            let both = (before.as_slice(), after.as_slice());
            let seen = observation(simulation, switch, (queues, interval), both);
            let change = change(queues, both);
            Ok((words(after), seen, change, simulation.is_finished()))
        })?;
        Ok((PyBytes::new(py, &after), PyBytes::new(py, &seen), change, is_over))
    }

    /// Returns the ledger of a switch (counters of queues and ports) as bytes: see [`ledger`].
    fn ledger<'py>(&self, py: Python<'py>, switch: usize) -> PyResult<Bound<'py, PyBytes>> {
        let ledger = self.work(py, |run, _| Ok(words(ledger(run, switch))))?;
        Ok(PyBytes::new(py, &ledger))
    }

    /// Rates of the ports of a switch (bits per second).
    fn port_rates(&self, py: Python<'_>, switch: usize) -> PyResult<Vec<u64>> {
        self.view(py, |simulation| simulation.port_rates(switch).collect())
    }

    /// Describes all switches of the simulation.
    fn switches(&self, py: Python<'_>) -> PyResult<Vec<PlainSwitch>> {
        self.view(py, |simulation| {
            let all = (0..simulation.switch_count()).filter_map(|switch| simulation.switch(switch));
            all.map(|it| {
                let (name, policy) = (it.name.to_owned(), it.policy.to_owned());
                (name, policy, it.capacity, it.occupancy, it.ports, it.queues_per_port)
            })
            .collect()
        })
    }

    /// Returns a row of seven u64 for each queue of a switch. The numbers are the stored bytes, the
    /// threshold (2⁶⁴ − 1 means no threshold), and packet counts. The counts are packets that
    /// arrived, were dropped, evicted, marked, and departed.
    fn queues<'py>(&self, py: Python<'py>, switch: usize) -> PyResult<Bound<'py, PyBytes>> {
        let rows = self.view(py, |simulation| {
            let row = |queue: bufferlab_sim::QueueView| {
                let counters = queue.counters;
                [
                    queue.occupancy,
                    queue.threshold.unwrap_or(u64::MAX),
                    counters.arrived,
                    counters.dropped,
                    counters.evicted,
                    counters.marked,
                    counters.departed,
                ]
            };
            words(simulation.queues(switch).flat_map(row))
        })?;
        Ok(PyBytes::new(py, &rows))
    }

    /// Returns two tables with a row for each live flow. The first table has ten u64: number,
    /// class, source, destination, size, start (ps), delivered bytes, segments sent, segments sent
    /// again, timeouts. The second table has six f64: window, segments in flight, slow-start
    /// threshold, acknowledged segments, round-trip time (s), rate of the pace (b/s). A number that
    /// the flow does not have is NaN.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (whole, real) = self.view(py, |simulation| {
            let flows: Vec<_> = simulation.flows().collect();
            let whole = words(flows.iter().flat_map(|flow| {
                [
                    flow.number,
                    u64::from(flow.class),
                    u64::from(flow.src),
                    u64::from(flow.dst),
                    flow.size,
                    flow.start.0,
                    flow.delivered,
                    u64::from(flow.sent),
                    u64::from(flow.retransmitted),
                    u64::from(flow.timeouts),
                ]
            }));
            let real = flows.iter().flat_map(|flow| {
                let numbers = [
                    flow.window,
                    flow.in_flight.map(f64::from),
                    flow.slow_start_threshold,
                    flow.acknowledged.map(f64::from),
                    flow.rtt.map(Time::as_secs_f64),
                    flow.rate,
                ];
                numbers.map(|number| number.unwrap_or(f64::NAN).to_bits())
            });
            (whole, words(real))
        })?;
        Ok((PyBytes::new(py, &whole), PyBytes::new(py, &real)))
    }

    /// Names of the flow classes, and names of the hosts.
    fn names(&self, py: Python<'_>) -> PyResult<(Vec<String>, Vec<String>)> {
        self.view(py, |simulation| (simulation.classes().to_vec(), simulation.hosts().to_vec()))
    }

    /// Replaces the buffer policy of a switch.
    fn set_policy(
        &self,
        py: Python<'_>,
        switch: usize,
        name: &str,
        params: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let info = find(py, name)?;
        let params = given(py, info, params)?;
        self.work(py, |run, _| run.set_policy(switch, info.name, &params))
    }

    /// Sets the alphas of all queues of a switch (f64).
    fn set_alphas(&self, py: Python<'_>, switch: usize, alphas: &[u8]) -> PyResult<()> {
        let alphas = floats(alphas);
        self.work(py, |run, _| run.set_alphas(switch, &alphas))
    }

    /// Starts a flow at the current time, and returns the flow's number.
    fn start_flow(&self, py: Python<'_>, src: u32, dst: u32, size: u64, class_: u16) -> PyResult<u64> {
        self.work(py, |run, _| run.start_flow(NewFlow { src, dst, size, class: class_ }))
    }

    /// Sets a cable of the network down or up.
    fn set_cable(&self, py: Python<'_>, cable: usize, up: bool) -> PyResult<()> {
        self.work(py, |run, _| run.set_cable(cable, up))
    }

    /// Sets the rate of a cable in both directions (bits per second).
    fn set_rate(&self, py: Python<'_>, cable: usize, rate: u64) -> PyResult<()> {
        self.work(py, |run, _| run.set_rate(cable, BitRate(rate)))
    }

    /// Names of the two ends of every cable.
    fn cables(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        self.view(py, |simulation| simulation.cables().map(|(a, b)| (a.to_owned(), b.to_owned())).collect())
    }

    /// Returns a copy of the run. If the caller changes both runs alike, the original and the copy
    /// have equal results.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        let run = self.work(py, |run, _| run.fork())?;
        Ok(Self { run: Mutex::new(Some(run)) })
    }

    /// Runs the simulation to its end and writes the result folder of the job. Afterwards, the run
    /// no longer exists.
    fn finish(&self, py: Python<'_>, planned: PlainJob<'_>) -> PyResult<()> {
        let job = job(planned);
        let mut interruption = None;
        let outcome = py.detach(|| {
            let run = self.locked().take()?;
            Some(run.finish(&job, &mut |_| goes_on(&mut interruption)))
        });
        match (interruption, outcome) {
            (Some(interruption), _) => Err(interruption),
            (None, None) => Err(is_gone(py)),
            (None, Some(outcome)) => outcome.map(drop).map_err(|error| errors::run(py, &error)),
        }
    }
}

impl Stepper {
    fn locked(&self) -> MutexGuard<'_, Option<SteppedRun>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the function `read` with the simulation, and returns the result of `read`.
    fn view<T: Send>(&self, py: Python<'_>, read: impl FnOnce(&Simulation) -> T + Send) -> PyResult<T> {
        let seen = py.detach(|| self.locked().as_ref().map(|run| read(run.simulation())));
        seen.ok_or_else(|| is_gone(py))
    }

    /// Advances the simulation run without the interpreter lock, and checks for Ctrl-C at
    /// intervals.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut SteppedRun, &mut dyn FnMut(&Progress) -> bool) -> Result<T, RunError> + Send,
    ) -> PyResult<T> {
        let mut interruption = None;
        let outcome = py.detach(|| {
            let mut run = self.locked();
            Some(work(run.as_mut()?, &mut |_| goes_on(&mut interruption)))
        });
        match (interruption, outcome) {
            (Some(interruption), _) => Err(interruption),
            (None, None) => Err(is_gone(py)),
            (None, Some(outcome)) => outcome.map_err(|error| errors::run(py, &error)),
        }
    }
}

/// Whether the simulation may continue because no signal has arrived. After a signal,
/// `interruption` has its exception.
fn goes_on(interruption: &mut Option<PyErr>) -> bool {
    *interruption = Python::attach(|py| py.check_signals()).err();
    interruption.is_none()
}

fn is_gone(py: Python<'_>) -> PyErr {
    errors::argument(py, "", "the simulation is finished", "take a copy with fork() before finish()")
}

/// Number of sums in the ledger of a switch. The sums precede the time.
const SUMS: usize = 6;

/// Returns the ledger of a switch. The ledger has the bytes of every queue, and the bytes that
/// every port has begun to send. Sums over all queues follow: arrived packets, arrived bytes, lost
/// packets and marked packets. Then follow the number of complete queries in the network, and the
/// sum of their completion times (ns). The last number is the time (ps).
fn ledger(run: &SteppedRun, switch: usize) -> Vec<u64> {
    let simulation = run.simulation();
    let mut sums = [0; SUMS];
    let mut numbers = Vec::new();
    for queue in simulation.queues(switch) {
        let counters = queue.counters;
        numbers.push(queue.occupancy);
        sums[0] += counters.arrived;
        sums[1] += counters.enqueued_bytes + counters.dropped_bytes;
        sums[2] += counters.dropped + counters.evicted;
        sums[3] += counters.marked;
    }
    numbers.extend(simulation.sent_bytes(switch));
    let queries = run.completed_queries();
    (sums[4], sums[5]) = (queries.count, queries.time_ns);
    numbers.extend(sums);
    numbers.push(simulation.now().0);
    numbers
}

/// Returns the observation of an agent (f32). The first numbers are the lengths of all queues, as
/// fractions of the buffer. The other numbers are the bytes that every port has begun to send
/// within `interval` ps. Sent bytes are fractions of the port's capacity, at most [`RATE_MAX`].
fn observation(
    simulation: &Simulation,
    switch: usize,
    (queues, interval): (usize, u64),
    (before, after): (&[u64], &[u64]),
) -> Vec<u8> {
    let capacity = simulation.switch(switch).map_or(1, |switch| switch.capacity) as f64;
    let lengths = after.iter().take(queues).map(|&bytes| bytes as f64 / capacity);
    let sent = after.iter().zip(before).skip(queues).map(|(after, before)| (after - before) as f64);
    let rates = simulation.port_rates(switch).zip(sent).map(|(rate, sent)| {
        let could = rate as f64 * interval as f64 / 8e12;
        (sent / could).min(RATE_MAX)
    });
    lengths.chain(rates).flat_map(|number| (number as f32).to_ne_bytes()).collect()
}

/// Returns the changes between two ledgers of a switch: sent bytes, arrived packets, arrived bytes,
/// lost packets, marked packets, complete queries and their completion times (ns). The last two
/// numbers are the bytes in all queues and the time (ps).
fn change(queues: usize, (before, after): (&[u64], &[u64])) -> Change {
    let sums = after.len() - SUMS - 1;
    let at = |index: usize| after[index] - before[index];
    let sent = (queues..sums).map(at).sum();
    let occupancy = after[..queues].iter().sum();
    let queries = (at(sums + 4), at(sums + 5));
    let packets = (at(sums), at(sums + 1), at(sums + 2), at(sums + 3));
    let now = after[sums + SUMS];
    (sent, packets.0, packets.1, packets.2, packets.3, queries.0, queries.1, occupancy, now)
}

fn words(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    numbers.into_iter().flat_map(u64::to_ne_bytes).collect()
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    let (whole, _) = bytes.as_chunks();
    whole.iter().map(|&bytes| u64::from_ne_bytes(bytes)).collect()
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    let (whole, _) = bytes.as_chunks();
    whole.iter().map(|&bytes| f64::from_ne_bytes(bytes)).collect()
}
