//! Reads `[switch.pfc]`: the lossless priorities, and the timing of pauses.

use super::scheduler::check_priorities;
use super::watchdog::{self, WatchdogChoice};
use crate::context::{Complaint, Context};
use crate::format::{PfcKeys, PfcPortsKeys};
use crate::model::{PauseFrames, PfcPortsSpec, PfcSpec};
use crate::reader::Reader;
use crate::tree::Origin;
use bufferlab_params::Profile;

/// Value of the table `[switch.pfc]`, and its place in the file.
#[derive(Clone, Debug)]
pub(crate) struct PfcChoice {
    spec: PfcSpec,
    watchdog: Option<WatchdogChoice>,
    origin: Origin,
}

/// Reads the table `[switch.pfc]`. `Some(None)` means that the table is absent or switched off, so
/// that every priority is lossy.
pub(crate) fn read(
    switch: &mut Reader<'_>,
    queues_per_port: Option<u8>,
    profile: Profile,
) -> Option<Option<PfcChoice>> {
    switch.spec_of("pfc");
    if !switch.has("pfc") {
        return Some(None);
    }
    let mut reader = switch.table("pfc")?;
    let mut keys = PfcKeys::read(&mut reader);
    let ports = reader.small_counts("ports");
    if ports.as_ref().is_some_and(Vec::is_empty) {
        let complaint = Complaint::new("no port is listed", "expected at least one port");
        reader.error("ports", complaint.help("leave it out for all ports, or set enabled = false"));
    }
    keys.ports = Some(ports.unwrap_or_default());
    keys.by_port = by_port(&mut reader, queues_per_port);
    let frames = match profile {
        Profile::Paper => PauseFrames::Latest,
        Profile::Artifact => PauseFrames::Each,
    };
    keys.frames = Some(reader.choice_or("frames", frames));
    check_priorities(&reader, keys.priorities.as_deref(), queues_per_port);
    let watchdog = watchdog::read(&mut reader, keys.quanta.flatten().is_some());
    keys.watchdog = Some(None);
    let (origin, is_enabled) = (reader.origin, keys.enabled == Some(true));
    switch.put("pfc", reader.finish());
    Some(Some(PfcChoice { spec: keys.complete()?, watchdog: watchdog?, origin }).filter(|_| is_enabled))
}

/// Reads the tables of ports whose flow control differs from the switch's flow control.
fn by_port(pfc: &mut Reader<'_>, queues_per_port: Option<u8>) -> Option<Vec<PfcPortsSpec>> {
    let (mut all, mut resolved) = (Vec::new(), Vec::new());
    for mut reader in pfc.tables("by_port") {
        let keys = PfcPortsKeys::read(&mut reader);
        let priorities = keys.priorities.as_ref().and_then(Option::as_deref);
        check_priorities(&reader, priorities, queues_per_port);
        if keys.ports.as_ref().is_some_and(Vec::is_empty) {
            let complaint = Complaint::new("no port is listed", "expected at least one port");
            reader.error("ports", complaint.help("list ports of the switch, or remove the table"));
        }
        if !reader.has("priorities") && !reader.has("reaction") {
            let complaint =
                Complaint::new("the table changes nothing", "without `priorities` and `reaction`");
            reader.error("ports", complaint.help("add priorities = [3, 4], or reaction = \"1 us\""));
        }
        all.push(keys.complete());
        resolved.push(reader.finish());
    }
    pfc.put_all("by_port", resolved);
    all.into_iter().collect()
}

impl PfcChoice {
    /// Returns the flow control as specified in the file, and the place of its table.
    pub(super) fn written(&self) -> (&PfcSpec, Origin) {
        (&self.spec, self.origin)
    }

    /// Returns the lossless priorities as a mask: bit p is set if priority p is lossless.
    pub(crate) fn mask(&self) -> u32 {
        self.spec.mask()
    }

    /// Returns the mask of lossless priorities for every port, see [`PfcSpec::masks_by_port`].
    pub(crate) fn masks_by_port(&self, ports: usize) -> Vec<u32> {
        self.spec.masks_by_port(ports)
    }

    /// Returns the flow control for a switch with `ports` ports. The context records an error if
    /// the flow control does not fit the switch.
    pub(crate) fn spec(&self, context: &Context, path: &str, ports: usize) -> Option<PfcSpec> {
        let (all, own) =
            ("list ports of the switch, or leave `ports` out for all", "list ports of the switch");
        let usual = self.spec.ports.iter().map(|port| ("ports", all, *port));
        let by_port = self.spec.by_port.iter().flat_map(|entry| &entry.ports);
        let mut listed = usual.chain(by_port.map(|port| ("by_port", own, *port)));
        if let Some((key, help, beyond)) = listed.find(|(.., port)| usize::from(*port) >= ports) {
            let complaint = Complaint::new(
                format!("there is no port {beyond}"),
                format!("the switch has {ports} ports, numbered from 0"),
            );
            context.error(&format!("{path}.pfc.{key}"), self.origin, complaint.help(help));
            return None;
        }
        let watchdog = match &self.watchdog {
            None => None,
            Some(choice) => Some(choice.spec(context, path, ports)?),
        };
        Some(PfcSpec { watchdog, ..self.spec.clone() })
    }

    /// Whether a switch with the policy `policy` and this number of memories can pause its
    /// neighbours. If not, the context records an error.
    pub(crate) fn check(
        &self,
        context: &Context,
        path: &str,
        policy: &str,
        pauses: bool,
        slices: u16,
    ) -> bool {
        let complain = |complaint: Complaint, help: &str| {
            context.error(&format!("{path}.pfc"), self.origin, complaint.help(help));
            false
        };
        if slices > 1 {
            let message = format!("a memory in {slices} slices by egress port cannot pause");
            let complaint = Complaint::new(message, "no slice knows what an ingress queue holds");
            return complain(
                complaint,
                "set hardware.slice_by = \"ingress\", as chips have it, or remove hardware.slices",
            );
        }
        if !pauses {
            let complaint =
                Complaint::new(format!("policy \"{policy}\" never pauses a sender"), "without effect");
            return complain(complaint, "choose sonic-dt, sonic-abm or reverie, or remove [switch.pfc]");
        }
        true
    }
}
