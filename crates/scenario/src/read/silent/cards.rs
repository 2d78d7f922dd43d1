//! Warns of windows that would put millions of packets into the network cards of hosts at once.

use super::ScenarioCheck;
use crate::model::{InitialWindow, NicQueueing, TransportSpec};
use crate::quantity::format_size;
use bufferlab_workload::FlowSpec;

/// Number of packets in a flow's window above which the reader warns. Some million packets take
/// hundreds of megabytes. With 4,194,304 packets in a network card, the run ends with an error.
const PACKETS_MANY: u64 = 1_000_000;

/// Warns of large windows if network cards store packets: a flow makes all packets of its window at
/// once.
pub(super) fn warn(check: &ScenarioCheck<'_>) {
    let nic = check.scenario.host.nic;
    if nic == NicQueueing::Fair {
        return;
    }
    for (index, spec) in check.scenario.workloads.iter().enumerate() {
        let transport = &check.scenario.transports[spec.transport as usize];
        let Some(largest) = spec.workload.largest_flow_bytes() else { continue };
        let packets = largest.div_ceil(u64::from(transport.segment_bytes).max(1)).min(window(transport));
        if packets <= PACKETS_MANY {
            continue;
        }
        let flow = match largest {
            FlowSpec::UNLIMITED => "a flow without an end".to_owned(),
            bytes => format!("a flow of {}", format_size(bytes)),
        };
        let message = format!(
            "with nic = \"{}\" every packet that a window allows is made at once, and {flow} has a window of more than {PACKETS_MANY} packets",
            nic.word()
        );
        let help = format!(
            "set nic = \"fair\" in [host], or give the transport \"{}\" an initial_window in segments; the run ends when 4,194,304 packets wait",
            transport.name
        );
        check.note(&format!("workload.{index}"), message, "hundreds of megabytes of packets", &help);
    }
}

/// Number of packets that a flow's first window allows.
fn window(transport: &TransportSpec) -> u64 {
    match transport.initial_window {
        // Flows of RDMA and paced flows fill no network card, because the host makes their packets
        // only when it sends the packets.
        _ if transport.rdma.is_some() || transport.pacing.is_some() => 0,
        InitialWindow::Whole => u64::MAX,
        InitialWindow::Segments(segments) => u64::from(segments),
        InitialWindow::BandwidthDelay => 0,
    }
}
