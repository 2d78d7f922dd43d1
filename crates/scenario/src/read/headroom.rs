//! Headroom of a switch: the reader computes the value `"auto"` from the cables, and compares other
//! values with the needs of the cables.

use super::named::Chosen;
use super::pfc::PfcChoice;
use super::switch::Site;
use crate::context::{Complaint, Context};
use crate::headroom::{PausingSwitch, configured, paused_cable};
use crate::model::HardwareSpec;
use bufferlab_core::{ParamValue, PolicyInfo};
use bufferlab_params::{AUTO, ParamKind};
use bufferlab_units::headroom::PausedCable;

/// Name of the headroom parameter of policies that pause.
pub(super) const PARAM: &str = "headroom";
const POOL: &str = "headroom_pool";

/// Facts on which the headroom of one switch depends.
pub(super) struct Cables<'a> {
    pub(super) site: &'a Site<'a>,
    pub(super) switch: usize,
    pub(super) hardware: &'a HardwareSpec,
    pub(super) uncharged: u32,
    pub(super) pfc: &'a PfcChoice,
}

impl Cables<'_> {
    fn at(&self, port: u16, priority: u8) -> Option<PausedCable> {
        let switch = PausingSwitch {
            pfc: self.pfc.written().0,
            cell_bytes: self.hardware.switch.cell_bytes,
            packet_overhead: self.hardware.switch.packet_overhead,
            uncharged_bytes: self.uncharged,
        };
        let end = *self.site.ports[self.switch].get(usize::from(port))?;
        paused_cable(self.site.topology, &self.site.transports, switch, (port, end), priority)
    }

    /// Returns all lossless ingress queues: port, priority and cable.
    fn queues(&self, ports: usize) -> impl Iterator<Item = (u16, u8, PausedCable)> {
        // Lossless priorities may differ by port. `at` returns `None` for a lossy priority of a
        // port.
        let priorities = 0..u32::BITS as u8;
        (0..ports as u16).flat_map(move |port| {
            priorities.clone().filter_map(move |priority| Some((port, priority, self.at(port, priority)?)))
        })
    }
}

/// Whether the scenario sets the policy's headroom to `auto`.
pub(super) fn is_computed(policy: &Chosen<PolicyInfo>) -> bool {
    let of_ports =
        |name: &str| policy.info.params.iter().any(|info| info.name == name && is_per_port(info.kind));
    policy.params.iter().any(|(name, value)| {
        name == PARAM && of_ports(name) && matches!(value, ParamValue::Choice(word) if word == AUTO)
    })
}

fn is_per_port(kind: ParamKind) -> bool {
    matches!(kind, ParamKind::BytesPerPort { .. })
}

/// Returns the policy with a number in place of `"auto"`: for each port, the largest need of its
/// lossless priorities. A port without lossless priorities needs no headroom.
pub(super) fn computed(
    policy: &Chosen<PolicyInfo>,
    cables: Option<&Cables<'_>>,
    ports: usize,
) -> Chosen<PolicyInfo> {
    let mut policy = policy.clone();
    if !is_computed(&policy) {
        return policy;
    }
    let mut list = vec![0; ports];
    for (port, _, cable) in cables.iter().flat_map(|cables| cables.queues(ports)) {
        let most = &mut list[usize::from(port)];
        *most = cable.headroom().bytes().max(*most);
    }
    // A lossy port needs no headroom, so any number that fits is valid. One number for all ports
    // is easier to read.
    let least = list.iter().copied().filter(|&bytes| bytes > 0).min().unwrap_or(0);
    list.iter_mut().filter(|bytes| **bytes == 0).for_each(|bytes| *bytes = least);
    let value = match list.iter().all(|bytes| *bytes == least) {
        true => ParamValue::Bytes(least),
        false => ParamValue::BytesPerPort(list.into()),
    };
    policy.params.set(PARAM, value);
    policy
}

/// Formats a size with all its bytes, because the missing headroom may be a small part of the size.
fn size(bytes: u64) -> String {
    format!("{bytes} B")
}

/// Warns of the ingress queue that lacks most headroom, of a shared pool that is too small, and of
/// pauses that end before the switch repeats them. Returns whether the function gave a warning.
pub(super) fn warn(
    context: &Context,
    path: &str,
    name: &str,
    policy: &Chosen<PolicyInfo>,
    cables: &Cables<'_>,
    ports: usize,
) -> bool {
    let values = policy.values();
    let lacks = |(port, priority, cable): (u16, u8, PausedCable)| {
        let (needed, found) = (cable.headroom().bytes(), configured(&values, port, priority)?);
        Some((needed.saturating_sub(found), port, priority, cable)).filter(|lack| lack.0 > 0)
    };
    let lacking: Vec<_> = cables.queues(ports).filter_map(lacks).collect();
    let worst = lacking.iter().max_by_key(|lack| (lack.0, std::cmp::Reverse(lack.1)));
    if let Some(&(lack, port, priority, cable)) = worst {
        let needed = cable.headroom();
        let found = needed.bytes() - lack;
        let message = format!(
            "on \"{name}\": port {port}, priority {priority} has {} of headroom and needs {}: {} more",
            size(found),
            size(needed.bytes()),
            size(lack)
        );
        let terms = needed.terms.iter().filter(|term| term.bytes > 0);
        let terms: Vec<_> = terms.map(|term| format!("{} for {}", size(term.bytes), term.name)).collect();
        let label = format!("too little for {} of its lossless queues", lacking.len());
        let help = format!("lossless packets may be lost; write headroom = \"auto\"\n{}", terms.join(", "));
        context.warn(
            &format!("{path}.policy.{PARAM}"),
            policy.place(PARAM),
            Complaint::new(message, label).help(help),
        );
    }
    let pool = warn_of_pool(context, path, name, policy, cables, ports);
    let quanta = warn_of_quanta(context, path, name, cables, ports);
    worst.is_some() || pool || quanta
}

fn warn_of_pool(
    context: &Context,
    path: &str,
    name: &str,
    policy: &Chosen<PolicyInfo>,
    cables: &Cables<'_>,
    ports: usize,
) -> bool {
    let of_ports = policy.params.iter().any(|(name, value)| {
        name == "headroom_mode" && matches!(value, ParamValue::Choice(mode) if mode == "dsh-like")
    });
    let found = policy.params.iter().find_map(|(name, value)| match value {
        ParamValue::Bytes(bytes) if name == POOL && *bytes > 0 && !of_ports => Some(*bytes),
        _ => None,
    });
    let needed =
        cables.queues(ports).map(|(.., cable)| cable.headroom().bytes()).fold(0, u64::saturating_add);
    let Some(found) = found.filter(|&found| found < needed) else { return false };
    let message = format!(
        "on \"{name}\": the headroom pool has {}, and all lossless queues together need {}: {} more",
        size(found),
        size(needed),
        size(needed - found)
    );
    let complaint = Complaint::new(message, "enough for some of them at once");
    let help = "lossless packets may be lost if many queues pause at once; leave it out to set aside headroom for all";
    context.warn(&format!("{path}.policy.{POOL}"), policy.place(POOL), complaint.help(help));
    true
}

fn warn_of_quanta(context: &Context, path: &str, name: &str, cables: &Cables<'_>, ports: usize) -> bool {
    let (pfc, origin) = cables.pfc.written();
    let Some(quanta) = pfc.quanta.map(u64::from) else { return false };
    let needs = cables.queues(ports).map(|(port, _, cable)| (cable.headroom().least_quanta, port));
    let Some((needed, port)) = needs.max_by_key(|&(needed, port)| (needed, std::cmp::Reverse(port))) else {
        return false;
    };
    if quanta >= needed {
        return false;
    }
    let message = format!(
        "on \"{name}\": a pause of {quanta} quanta ends on port {port} before it is repeated: {needed} are needed"
    );
    let complaint = Complaint::new(message, format!("{} more are needed", needed - quanta));
    let help = "the repetition may wait behind a packet for longer than half of the pause; raise quanta, or leave it out";
    context.warn(&format!("{path}.pfc.quanta"), origin, complaint.help(help));
    true
}
