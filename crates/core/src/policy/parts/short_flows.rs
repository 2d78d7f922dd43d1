//! How a policy comes to know short flows: parameters that several schemes share, and the trap that follows from them.

use crate::classify::ElephantTrap;
use crate::flows::ShortLimit;
use crate::policy::interface::BuildError;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::Time;

/// Largest table (flows).
const MAX_FLOWS: u64 = 1 << 24;

/// Who knows short flows.
pub(crate) const SHORT_FLOWS: ParamInfo = ParamInfo {
    name: "short_flows",
    kind: ParamKind::Choice(Knowledge::WORDS),
    default: ParamValue::word(Knowledge::Trap.word()),
    artifact_default: None,
    doc: "Who knows short flows.",
};

choices! {
    /// Who knows short flows.
    enum Knowledge {
        Trap = "trap": "the switch, by a flow table; marks of hosts do not count",
        Tag = "tag": "hosts, which mark packets `small`",
    }
}

/// Packets up to which a flow is short. The default is FAB's in ABM's public artifact.
pub(crate) const SHORT_PACKETS: ParamInfo = ParamInfo {
    name: "short_packets",
    kind: ParamKind::at_least(0),
    default: ParamValue::Count(15),
    artifact_default: None,
    doc: "For `trap`: a flow is short while it has sent fewer packets than this; 0: packets do not matter.",
};

/// The same where a public artifact exists.
pub(crate) const SHORT_PACKETS_OF_FAB: ParamInfo = ParamInfo {
    name: "short_packets",
    kind: ParamKind::at_least(0),
    default: ParamValue::Count(15),
    artifact_default: Some(ParamValue::Count(14)),
    doc: "For `trap`: a flow is short while it has sent fewer packets than this; 0: packets do not matter. The \
          artifact's limit is 15 too, but it counts the packet itself before it compares.",
};

/// Bytes up to which a flow is short.
pub(crate) const SHORT_BYTES: ParamInfo = ParamInfo {
    name: "short_bytes",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "For `trap`: a flow is short while it has sent fewer bytes than this; 0: bytes do not matter.",
};

/// The silence after which a flow is forgotten.
pub(crate) const FLOW_IDLE: ParamInfo = ParamInfo {
    name: "flow_idle",
    kind: ParamKind::Time { min: Time::from_ns(1) },
    default: ParamValue::Time(Time::from_ms(5)),
    artifact_default: None,
    doc: "A flow that was silent for longer is forgotten and starts anew.",
};

/// Number of slots of a policy's flow table.
pub(crate) const FLOW_ENTRIES: ParamInfo = ParamInfo {
    name: "flow_entries",
    kind: ParamKind::at_least(4),
    default: ParamValue::Count(16_384),
    artifact_default: None,
    doc: "Size of the flow table (flows), rounded up to a power of two: sets of four. A flow that finds its set full \
          displaces the one that was silent for longest, which then counts from zero again.",
};

/// `flow_entries`, if it is a reasonable size.
pub(crate) fn flow_entries(params: &Params) -> Result<usize, BuildError> {
    let flows = params.count("flow_entries");
    if flows > MAX_FLOWS {
        let message = format!("{flows} flows in every switch are too many; use at most {MAX_FLOWS}");
        return Err(BuildError { param: "flow_entries", message });
    }
    Ok(flows as usize)
}

/// The trap of the parameters above; `None` where hosts mark short flows.
pub(crate) fn trap(params: &Params) -> Result<Option<ElephantTrap>, BuildError> {
    match params.choice("short_flows") {
        Knowledge::Trap => {}
        Knowledge::Tag => return Ok(None),
    }
    let limit = ShortLimit { packets: params.count("short_packets"), bytes: params.bytes("short_bytes") };
    if limit.packets == 0 && limit.bytes == 0 {
        let message = "without a limit in packets or in bytes every flow is short forever: set short_packets or short_bytes";
        return Err(BuildError { param: "short_packets", message: message.to_owned() });
    }
    Ok(Some(ElephantTrap::new(flow_entries(params)?, params.time("flow_idle"), limit, None)))
}
