//! Reads `[[transport]]` with `kind = "rdma"`: keys that queue pairs have and TCP lacks.

use super::congestion::ControlChoice;
use crate::context::Complaint;
use crate::model::{Completion, MarkReport, Protocol, RdmaSpec, WindowLimit};
use crate::reader::Reader;
use crate::resolved::quote;
use bufferlab_core::Profile;
use bufferlab_transport::CONTROLS;
use bufferlab_transport::rdma::{Notification, Recovery};
use bufferlab_units::Time;

/// Keys of a transport that only RDMA queue pairs have.
const KEYS: [&str; 9] = [
    "recovery",
    "window_limit",
    "retransmission_timeout",
    "nack_interval",
    "notification",
    "notification_interval",
    "strict_pace",
    "completion",
    "ideal_header_bytes",
];
/// Keys of a transport that are valid for TCP only.
const TCP_KEYS: [&str; 8] = [
    "min_rto",
    "initial_rto",
    "handshake",
    "full_connection",
    "persistent",
    "connections_per_pair",
    "idle_restart",
    "lso",
];

/// Default time until a queue pair sends a message again. The value is our choice: far above a
/// queueing delay, as on network cards.
const DEFAULT_TIMEOUT: Time = Time::from_ms(1);
/// Minimum time between two congestion notifications of a message (DCQCN section 3.2).
const NOTIFICATION_INTERVAL: Time = Time::from_us(50);
/// Interval at which the public code of HPCC and Reverie repeats a negative acknowledgement.
const ARTIFACT_NACK_INTERVAL: Time = Time::from_us(500);

/// Reads a transport's key `kind`, and the keys that depend on the kind. The result is `Some(None)`
/// for TCP and open loop, and `None` if a value is invalid.
pub(crate) fn read(
    reader: &mut Reader<'_>,
    control: Option<&ControlChoice>,
    profile: Profile,
) -> Option<Option<RdmaSpec>> {
    let protocol = reader.choice_or("kind", Protocol::Tcp);
    let spec = rdma(reader, profile);
    let info = control.and_then(ControlChoice::info);
    if protocol == Protocol::Tcp {
        leave_out(reader, &KEYS, "belongs to kind = \"rdma\"");
        if let Some(info) = info.filter(|info| info.rdma_only) {
            let message = format!("\"{}\" is a congestion control of RDMA", info.name);
            let complaint = Complaint::new(message, "TCP sends no notifications");
            reader.error("congestion_control", complaint.help("add kind = \"rdma\" to this [[transport]]"));
            return None;
        }
        return Some(None);
    }
    if !info.is_some_and(|info| info.owns_window) {
        if let Some(control) = control {
            refuse(reader, control.name());
        }
        return None;
    }
    spec.map(Some)
}

/// Omits keys of TCP, with a warning. Queue pairs have no handshake, no connection that outlasts
/// its message, no estimate of the round trip, and no window of DCTCP.
pub(crate) fn leave_out_tcp(reader: &mut Reader<'_>) {
    leave_out(reader, &TCP_KEYS, "belongs to TCP");
}

fn rdma(reader: &mut Reader<'_>, profile: Profile) -> Option<RdmaSpec> {
    let is_artifact = profile == Profile::Artifact;
    let recovery = reader.choice_or("recovery", Recovery::GoBackN);
    let window_limit = reader.choice_or("window_limit", WindowLimit::None) == WindowLimit::BandwidthDelay;
    let timeout = if is_artifact { Time::ZERO } else { DEFAULT_TIMEOUT };
    let timeout = reader.time_or("retransmission_timeout", Some(timeout));
    let nack_interval = if is_artifact { ARTIFACT_NACK_INTERVAL } else { Time::ZERO };
    let nack_interval = reader.time_or("nack_interval", Some(nack_interval));
    let report = if is_artifact { MarkReport::Acks } else { MarkReport::Frames };
    let report = reader.choice_or("notification", report);
    let interval = reader.time_or("notification_interval", Some(NOTIFICATION_INTERVAL));
    let notification = match report {
        MarkReport::Frames => Notification::Frames { interval: interval? },
        MarkReport::Acks => {
            leave_out(reader, &["notification_interval"], "belongs to notification = \"frames\"");
            Notification::Acks
        }
    };
    let strict_pace = reader.flag("strict_pace").unwrap_or(is_artifact);
    reader.out.set("strict_pace", strict_pace.to_string());
    let ends_at_sender = reader.choice_or("completion", Completion::Sender) == Completion::Sender;
    let ideal_header_bytes = reader.small_size("ideal_header_bytes").unwrap_or(0);
    reader.out.set("ideal_header_bytes", quote(&crate::quantity::format_size(u64::from(ideal_header_bytes))));
    Some(RdmaSpec {
        recovery,
        window_limit,
        retransmission_timeout: timeout.map(Some)?.filter(|&timeout| timeout > Time::ZERO),
        nack_interval: nack_interval.map(Some)?.filter(|&interval| interval > Time::ZERO),
        notification,
        strict_pace,
        ends_at_sender,
        ideal_header_bytes,
    })
}

fn refuse(reader: &Reader<'_>, name: &str) {
    let complaint = Complaint::new(
        format!("\"{name}\" sets no rate, and queue pairs are sent by rate"),
        "not a congestion control of RDMA",
    );
    let controls = CONTROLS.all();
    let known = controls.iter().filter(|info| info.owns_window).map(|info| info.name);
    let help = format!("with kind = \"rdma\": {}", crate::context::quoted_list(known));
    reader.error("congestion_control", complaint.help(help));
}

/// Omits keys of another kind of transport from the resolved scenario. Each such key in the file
/// gets a warning.
fn leave_out(reader: &mut Reader<'_>, keys: &[&str], reason: &str) {
    for key in keys {
        if reader.has(key) {
            let complaint = Complaint::new(format!("`{key}` has no effect here"), format!("it {reason}"));
            reader.warn(key, complaint.help(format!("remove `{key}`")));
        }
        reader.out.remove(key);
    }
}
