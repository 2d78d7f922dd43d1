//! Trials of a policy: verdicts and cost per decision, on a switch with random load.

use super::{find, given};
use bufferlab_core::{Admission, Header, Packet, Refusal, SwitchConfig, Tags};
use bufferlab_units::{BitRate, RandomStream, Time};
use cpu_time::ThreadTime;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Size of the switch in a trial: number of ports, number of queues per port, and buffer (bytes).
const PORTS: usize = 8;
const QUEUES: usize = 2;
const BUFFER: u64 = 200_000;
/// Number of packet arrivals between checks for Ctrl-C.
const LOOK_EVERY: u64 = 1 << 16;

/// Runs the policy `name` on `arrivals` packets. Returns a byte per arrival: 0 if the packet was
/// stored, otherwise the number of the drop reason plus 1. Also returns the CPU time (s), including
/// the work of the switch.
#[pyfunction]
pub(crate) fn run_trial<'py>(
    py: Python<'py>,
    name: &str,
    parameters: &Bound<'_, PyDict>,
    arrivals: u64,
    seed: u64,
) -> PyResult<(Bound<'py, PyBytes>, f64)> {
    let info = find(py, name)?;
    let config = SwitchConfig {
        max_packet: 1_500,
        seed,
        ..SwitchConfig::new(BUFFER, vec![BitRate::gbps(10); PORTS]).with_queues(QUEUES)
    };
    let built = config.build(info.name, &given(py, info, parameters)?);
    let mut switch = built.map_err(|error| crate::errors::argument(py, "policy", &error.to_string(), ""))?;
    let mut stream = RandomStream::new(seed, "trial", 0);
    let mut verdicts = Vec::with_capacity(arrivals as usize);
    let mut now = Time::ZERO;
    let start = ThreadTime::now();
    for number in 0..arrivals {
        now += Time::from_ns(1 + stream.below(200));
        while let Some(due) = switch.poll_timeout().filter(|due| *due <= now) {
            switch.handle_timeout(due, &mut ());
            if switch.poll_timeout() == Some(due) {
                break;
            }
        }
        // Half of the packets go to two of the ports, so that only the queues of these two ports
        // reach their thresholds.
        let ports = if stream.below(2) == 0 { 2 } else { PORTS as u64 };
        let (size, flow) = (64 + stream.below(1_437) as u32, stream.below(64) as u32);
        let (ingress_port, egress_port) = (stream.below(PORTS as u64) as u16, stream.below(ports) as u16);
        let priority = stream.below(QUEUES as u64) as u8;
        let tags = if stream.below(8) == 0 { Tags::UNSCHEDULED } else { Tags::NONE };
        let header = Header { size, flow, tags, priority, ..Header::default() };
        let packet = Packet { id: number as u32, header, ingress_port, egress_port };
        verdicts.push(match switch.handle_arrival(now, &packet, &mut ()) {
            Admission::Stored { .. } => 0,
            Admission::Refused(Refusal { reason, .. }) => 1 + reason as u8,
        });
        if stream.below(100) < 90 {
            let _ = switch.poll_transmit(now, stream.below(PORTS as u64) as u16, &mut ());
        }
        if number % LOOK_EVERY == 0 {
            py.check_signals()?;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    if let Some(failure) = switch.take_failure() {
        let queue = failure.queue.map(|queue| switch.buffer().port_and_priority(queue));
        return Err(crate::errors::policy_alone(py, info.name, queue, failure));
    }
    Ok((PyBytes::new(py, &verdicts), seconds))
}
