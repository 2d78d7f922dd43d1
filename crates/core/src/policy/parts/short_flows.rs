//! Detection of short flows: parameters that several schemes share, and their elephant trap.

use crate::classify::ElephantTrap;
use crate::flows::ShortLimit;
use crate::policy::interface::BuildError;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};

/// Parameter: source from which the policy knows the short flows.
pub(crate) const SHORT_FLOWS: ParamInfo = ParamInfo {
    name: "short_flows",
    kind: ParamKind::Choice(Knowledge::WORDS),
    default: ParamValue::word(Knowledge::Trap.word()),
    artifact_default: None,
    doc: "Source that identifies short flows.",
};

choices! {
    /// Source from which a policy knows the short flows.
    pub(crate) enum Knowledge {
        Trap = "trap": "the switch, with a flow table; marks of hosts are ignored",
        Tag = "tag": "hosts, which mark packets `small`",
    }
}

/// Parameter: number of packets up to which a flow is short.
/// The default is the value of FAB in ABM's public artifact.
pub(crate) const SHORT_PACKETS: ParamInfo = ParamInfo {
    name: "short_packets",
    kind: ParamKind::at_least(0),
    default: ParamValue::Count(15),
    artifact_default: None,
    doc: "For `trap`: a flow is short while it has sent fewer packets than this; 0: no limit on packets.",
};

/// Parameter: number of packets up to which a flow is short, for the policy `fab` and its public
/// artifact.
pub(crate) const SHORT_PACKETS_OF_FAB: ParamInfo = ParamInfo {
    name: "short_packets",
    kind: ParamKind::at_least(0),
    default: ParamValue::Count(15),
    artifact_default: Some(ParamValue::Count(14)),
    doc: "For `trap`: a flow is short while it has sent fewer packets than this; 0: no limit on packets. The \
          artifact's limit is 15 too, but it counts the packet before it compares.",
};

/// Parameter: number of bytes up to which a flow is short.
pub(crate) const SHORT_BYTES: ParamInfo = ParamInfo {
    name: "short_bytes",
    kind: ParamKind::Bytes { min: 0 },
    default: ParamValue::Bytes(0),
    artifact_default: None,
    doc: "For `trap`: a flow is short while it has sent fewer bytes than this; 0: no limit on bytes.",
};

/// Elephant trap for the `short_packets` and `short_bytes` of a policy.
/// `None` if hosts mark short flows.
pub(crate) fn trap(params: &Params) -> Result<Option<ElephantTrap>, BuildError> {
    match params.choice("short_flows") {
        Knowledge::Trap => {}
        Knowledge::Tag => return Ok(None),
    }
    let (entries, idle) = (params.count("flow_entries") as usize, params.time("flow_idle"));
    Ok(Some(ElephantTrap::new(entries, idle, ShortLimit::from_params(params)?, None)))
}
