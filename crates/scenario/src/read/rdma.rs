//! `[[transport]]` with `kind = "rdma"`: what queue pairs have that TCP has not.

use crate::context::Complaint;
use crate::model::RdmaSpec;
use crate::reader::Reader;
use crate::resolved::quote;
use bufferlab_core::Profile;
use bufferlab_transport::rdma::{Notification, Recovery};
use bufferlab_transport::{CONGESTION_CONTROLS, CongestionControlInfo, DCQCN_SETS, find_congestion_control};
use bufferlab_units::Time;

/// Keys that only queue pairs have.
const KEYS: [&str; 10] = [
    "recovery",
    "window_limit",
    "retransmission_timeout",
    "nack_interval",
    "notification",
    "notification_interval",
    "dcqcn_parameters",
    "strict_pace",
    "completion",
    "ideal_header_bytes",
];
/// Keys of TCP that queue pairs have not.
const TCP_KEYS: [&str; 9] = [
    "min_rto",
    "initial_rto",
    "handshake",
    "persistent",
    "connections_per_pair",
    "idle_restart",
    "lso",
    "dctcp_gain",
    "dctcp_initial_alpha",
];

/// What a message waits for before it is sent again (our choice: far above a queueing delay, as on network cards).
const DEFAULT_TIMEOUT: Time = Time::from_ms(1);
/// Least time between two notifications of a message (DCQCN section 3.2).
const NOTIFICATION_INTERVAL: Time = Time::from_us(50);
/// After which the public code of HPCC and Reverie repeats a negative acknowledgement.
const ARTIFACT_NACK_INTERVAL: Time = Time::from_us(500);

/// Reads `kind` and the keys that depend on it: `Some(None)` for TCP and open loop, `None` if something that was written is wrong.
pub(crate) fn read(
    reader: &mut Reader<'_>,
    congestion_control: Option<&'static str>,
    profile: Profile,
) -> Option<Option<RdmaSpec>> {
    let is_rdma = reader.word_or("kind", "tcp") == "rdma";
    let spec = rdma(reader, profile);
    let info = congestion_control.and_then(find_congestion_control);
    if !is_rdma {
        leave_out(reader, &KEYS, "belongs to kind = \"rdma\"");
        if let Some(info) = info.filter(|info| info.rdma_only) {
            let message = format!("\"{}\" is a congestion control of RDMA", info.name);
            let complaint = Complaint::new(message, "TCP sends no notifications");
            reader.error("congestion_control", complaint.help("add kind = \"rdma\" to this [[transport]]"));
            return None;
        }
        return Some(None);
    }
    if !info.is_some_and(|info| info.governs_window) {
        if let Some(name) = congestion_control {
            refuse(reader, name);
        }
        return None;
    }
    if congestion_control != Some("dcqcn") {
        leave_out(reader, &["dcqcn_parameters"], "belongs to congestion_control = \"dcqcn\"");
    }
    spec.map(Some)
}

/// Queue pairs have no handshake, no connection that outlasts its message, no estimate of the round trip and no window of DCTCP's.
pub(crate) fn leave_out_tcp(reader: &mut Reader<'_>) {
    leave_out(reader, &TCP_KEYS, "belongs to TCP");
}

fn rdma(reader: &mut Reader<'_>, profile: Profile) -> Option<RdmaSpec> {
    let is_artifact = profile == Profile::Artifact;
    let pick = |paper: &'static str, artifact: &'static str| if is_artifact { artifact } else { paper };
    let recovery = match reader.word_or("recovery", Recovery::GoBackN.name()) {
        "selective-repeat" => Recovery::SelectiveRepeat,
        _ => Recovery::GoBackN,
    };
    let window_limit = reader.word_or("window_limit", "none") == "bdp";
    let timeout = if is_artifact { Time::ZERO } else { DEFAULT_TIMEOUT };
    let timeout = reader.time_or("retransmission_timeout", Some(timeout));
    let nack_interval = if is_artifact { ARTIFACT_NACK_INTERVAL } else { Time::ZERO };
    let nack_interval = reader.time_or("nack_interval", Some(nack_interval));
    let by_frames = reader.word_or("notification", pick("frames", "acks")) == "frames";
    let interval = reader.time_or("notification_interval", Some(NOTIFICATION_INTERVAL));
    let notification = match by_frames {
        true => Notification::Frames { interval: interval? },
        false => {
            leave_out(reader, &["notification_interval"], "belongs to notification = \"frames\"");
            Notification::Acks
        }
    };
    let dcqcn = reader.word_or("dcqcn_parameters", pick(DCQCN_SETS[0].name, "reverie"));
    let strict_pace = reader.flag("strict_pace").unwrap_or(is_artifact);
    reader.out.set("strict_pace", strict_pace.to_string());
    let ends_at_sender = reader.word_or("completion", "sender") == "sender";
    let ideal_header_bytes = reader.small_size("ideal_header_bytes").unwrap_or(0);
    reader.out.set("ideal_header_bytes", quote(&crate::quantity::format_size(u64::from(ideal_header_bytes))));
    Some(RdmaSpec {
        recovery,
        window_limit,
        retransmission_timeout: timeout.map(Some)?.filter(|&timeout| timeout > Time::ZERO),
        nack_interval: nack_interval.map(Some)?.filter(|&interval| interval > Time::ZERO),
        notification,
        dcqcn: dcqcn.to_owned(),
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
    let sets_rate = |info: &&&CongestionControlInfo| info.governs_window;
    let known = CONGESTION_CONTROLS.iter().filter(sets_rate).map(|info| info.name);
    let help = format!("with kind = \"rdma\": {}", crate::context::quoted_list(known));
    reader.error("congestion_control", complaint.help(help));
}

/// Keys of another kind are left out of the resolved scenario, with a warning where written.
fn leave_out(reader: &mut Reader<'_>, keys: &[&str], reason: &str) {
    for key in keys {
        if reader.has(key) {
            let complaint = Complaint::new(format!("`{key}` has no effect here"), format!("it {reason}"));
            reader.warn(key, complaint.help(format!("remove `{key}`")));
        }
        reader.out.remove(key);
    }
}
