//! Reads `[switch]` and `[[switch_override]]`: one configuration per switch.
//!
//! An override is merged over `[switch]` like a file over a file that it extends. Switches with
//! equal merged tables form a group, and the reader reads each group once.

use super::egress::{self, EgressChoice};
use super::files::Inputs;
use super::hardware::{self, Chip, HardwareChoice};
use super::headroom::{self, Cables};
use super::marking::{self, Checked, MarkerChoice};
use super::named::{self, Chosen};
use super::overrides::{contains, overrides, select};
use super::pfc::{self, PfcChoice};
use super::scheduler;
use super::topology::Networks;
use super::transport::Transports;
use crate::context::{Complaint, Context};
use crate::format::{MERGING, SWITCH, SwitchKeys};
use crate::model::{ClassifierSpec, PfcSpec, SwitchSpec, Topology, TransportSpec};
use crate::quantity::format_size;
use crate::reader::Reader;
use crate::resolved::{OutTable, OutValue, list, quote};
use crate::tree::{Item, Origin, merge};
use bufferlab_core::policy::REGISTRY;
use bufferlab_core::{
    CLASSIFIERS, ClassifierInfo, Hooks, ParamValue, Policy, PolicyInfo, PortSpread, Profile, SwitchConfig,
    SwitchShape,
};
use bufferlab_topology::Port;
use bufferlab_units::BitRate;
use bufferlab_units::quantity::Dimension;

/// Largest number of queues of a switch: the core numbers queues with 16 bits.
pub(crate) const MAX_QUEUES: usize = u16::MAX as usize;

/// Group of switches with equal configurations.
pub(crate) struct Group {
    /// Indices of the group's switches in the topology.
    switches: Vec<u32>,
    path: String,
    /// Plain values of the group's table; the parts that depend on a switch are missing.
    keys: SwitchKeys,
    buffer_place: (String, Origin),
    pub(crate) queues_per_port: u8,
    policy: Option<Chosen<PolicyInfo>>,
    classifier: Option<Option<Chosen<ClassifierInfo>>>,
    egress: Option<EgressChoice>,
    ecn: Option<MarkerChoice>,
    uncharged_place: Origin,
    hardware: Option<HardwareChoice>,
    pfc: Option<Option<PfcChoice>>,
    resolved: OutTable,
}

/// Reads all groups of switches. Without a network every override is read alone, so that all
/// mistakes of the override are reported.
pub(crate) fn read_groups(
    root: &mut Reader<'_>,
    networks: Option<&Networks>,
    profile: Profile,
    inputs: &Inputs,
) -> Option<Vec<Group>> {
    root.spec_of("switch_override");
    let switch_spec = root.value_of("switch")?;
    let overrides = overrides(root);
    let names = networks.map_or(&[] as &[String], |networks| &networks.as_built.switches);
    let selections = select(root, &overrides, networks.is_some().then_some(names));

    let mark = root.context.mark();
    let mut groups: Vec<Group> = Vec::new();
    for (chosen, switches) in selections {
        let mut merged = switch_spec.clone().into_owned();
        for &index in &chosen {
            merge(&MERGING, "switch", &mut merged, overrides[index].table.clone());
        }
        let before = root.context.mark();
        let group = read_group(root.context, &merged, switches, profile, inputs);
        root.context.rename_since(before, |key, origin| {
            let tail = key.strip_prefix("switch.")?;
            let at = chosen.iter().rev().find(|&&index| contains(&overrides[index].table, origin))?;
            Some(format!("switch_override.{at}.{tail}"))
        });
        groups.extend(group);
    }
    (!root.context.failed_since(mark)).then_some(groups)
}

fn read_group(
    context: &Context,
    table: &Item,
    switches: Vec<u32>,
    profile: Profile,
    inputs: &Inputs,
) -> Option<Group> {
    let path = "switch".to_owned();
    let mut reader = Reader::open(context, &SWITCH, path.clone(), Some(table))?;
    let mut keys = SwitchKeys::read(&mut reader);
    match (reader.has("buffer"), reader.has("buffer_per_port_per_gbps")) {
        (false, false) => {
            let complaint = Complaint::new("the buffer's size is missing", "switch needs it");
            let help = "add buffer = \"3.84 MB\", or buffer_per_port_per_gbps = \"9.6 KB\"";
            reader.error("buffer", complaint.help(help));
        }
        (true, true) => {
            let complaint = Complaint::new("the buffer's size is given twice", "so is it here");
            let complaint = complaint.also(reader.place("buffer_per_port_per_gbps"), "and here");
            reader.error("buffer", complaint.help("remove `buffer` or `buffer_per_port_per_gbps`"));
        }
        _ => {}
    }
    let key = if reader.has("buffer") { "buffer" } else { "buffer_per_port_per_gbps" };
    let buffer_place = (reader.path(key), reader.place(key));
    let queues_per_port = keys.queues_per_port;
    let policy = named::read(&mut reader, "policy", &REGISTRY, profile);
    let classifier = read_classifier(&mut reader, profile);
    keys.scheduler = match queues_per_port {
        Some(queues) => scheduler::read(&mut reader, queues),
        None => {
            reader.spec_of("scheduler");
            None
        }
    };
    let egress = egress::read(&mut reader, queues_per_port);
    let ecn = marking::read(&mut reader, queues_per_port, profile, inputs);
    let uncharged_place = reader.place("uncharged_bytes");
    let hardware = hardware::read(&mut reader);
    let pfc = pfc::read(&mut reader, queues_per_port, profile);
    Some(Group {
        switches,
        path,
        keys,
        buffer_place,
        queues_per_port: queues_per_port?,
        policy,
        classifier,
        egress,
        ecn,
        uncharged_place,
        hardware,
        pfc,
        resolved: reader.finish(),
    })
}

/// Reads the classifier of the scenario. `Some(None)` means that the scenario has no classifier.
/// `None` means that the classifier is invalid.
fn read_classifier(reader: &mut Reader<'_>, profile: Profile) -> Option<Option<Chosen<ClassifierInfo>>> {
    reader.spec_of("classifier");
    if !reader.has("classifier") {
        return Some(None);
    }
    named::read(reader, "classifier", &CLASSIFIERS, profile).map(Some)
}

/// Settings that the groups are checked against: network, transports and run.
pub(super) struct Site<'a> {
    context: &'a Context,
    /// Names of all switches in the topology.
    names: &'a [String],
    /// Rates of each switch's ports in the network as built. Buffer sizes follow from these rates.
    built_rates: Vec<Vec<BitRate>>,
    /// All ports of each switch in the network on which the scenario runs.
    pub(super) ports: Vec<Vec<Port>>,
    largest_packet: Option<u64>,
    /// Topology of the network after all changes of cables.
    pub(super) topology: &'a Topology,
    pub(super) transports: Vec<&'a TransportSpec>,
    profile: Profile,
    seed: u64,
}

/// Results that the switches of a group share. A large network has many equal switches, and a
/// policy with a large table of flows takes long to build.
struct Progress {
    /// Whether a marking rule that never marks is still to be reported.
    may_warn: bool,
    /// Whether a warning about too little headroom may still be given.
    may_warn_of_headroom: bool,
    /// Configurations of the group's switches that the policy accepts.
    fitting: Vec<Fitting>,
    /// Classifier of the group after its check.
    classifier: Option<Option<ClassifierSpec>>,
}

/// A configuration of a switch that the policy accepts.
struct Fitting {
    shape: SwitchShape,
    params: Vec<(String, ParamValue)>,
    /// Whether the policy pauses senders with this configuration of a switch.
    pauses: bool,
}

/// Makes the checks that need packets and ports, and returns the specification of every switch.
pub(crate) fn finish(
    context: &Context,
    networks: &Networks,
    groups: &[Group],
    transports: &Transports,
    profile: Profile,
    seed: u64,
) -> Option<Vec<SwitchSpec>> {
    let mark = context.mark();
    let site = Site {
        context,
        names: &networks.as_built.switches,
        built_rates: networks.as_built.all_port_rates(),
        ports: networks.as_it_runs.all_ports(),
        largest_packet: transports.largest_packet_bytes(),
        topology: &networks.as_it_runs,
        transports: transports.packets().collect(),
        profile,
        seed,
    };
    let mut specs: Vec<Option<SwitchSpec>> = vec![None; site.names.len()];
    for group in groups {
        check_uncharged(context, group, transports);
        let mut progress =
            Progress { may_warn: true, may_warn_of_headroom: true, fitting: Vec::new(), classifier: None };
        for &switch in &group.switches {
            // A mistake of one switch of a group is probably a mistake of all
            // switches of the group.
            let Some(spec) = group.spec(&site, switch as usize, &mut progress) else { break };
            specs[switch as usize] = Some(spec);
        }
    }
    if groups.iter().any(Group::is_lossless) {
        for group in groups {
            if let Some(hardware) = &group.hardware {
                hardware.check_device_queue(context, &group.path);
            }
        }
    }
    if context.failed_since(mark) {
        return None;
    }
    specs.into_iter().collect()
}

impl Group {
    /// Whether the switches of the group pause their neighbours.
    pub(crate) fn is_lossless(&self) -> bool {
        self.pfc.as_ref().is_some_and(Option::is_some)
    }

    /// Returns the specification of one switch of the group; `None` after a mistake. A group gets
    /// one warning at most about rules that never mark, and one about too little headroom.
    fn spec(&self, site: &Site<'_>, switch: usize, progress: &mut Progress) -> Option<SwitchSpec> {
        let (context, name) = (site.context, &site.names[switch]);
        let rates: Vec<_> = site.ports[switch].iter().map(|port| port.rate).collect();
        let uncharged = self.keys.uncharged_bytes.unwrap_or(0);
        let packet = site.largest_packet.map(|packet| packet.saturating_sub(u64::from(uncharged)));
        let buffer_bytes = self.buffer_bytes(&site.built_rates[switch])?;
        self.check_buffer(context, name, buffer_bytes, packet)?;
        let (policy, hardware, pfc) = (self.policy.as_ref()?, self.hardware.as_ref()?, self.pfc.as_ref()?);
        let (ports, queues_per_port) = (rates.len(), usize::from(self.queues_per_port));
        self.check_queues(context, name, ports)?;
        let egress = self.egress.as_ref()?.specs(context, name, ports)?;
        let chip = Chip { name, buffer_bytes, ports, queues_per_port, packet: packet.unwrap_or(1) };
        if !hardware.check(context, &self.path, chip) {
            return None;
        }
        let cables =
            pfc.as_ref().map(|pfc| Cables { site, switch, hardware: &hardware.spec, uncharged, pfc });
        let policy = &headroom::computed(policy, cables.as_ref(), ports);
        let mut pauses = false;
        for ports in PortSpread::new(ports, usize::from(hardware.spec.slices)).ranges() {
            let shape = self.shape(site, hardware, pfc.as_ref(), chip, &rates[ports]);
            if let Some(ecn) = &self.ecn {
                match ecn.check(context, name, &shape, buffer_bytes, progress.may_warn) {
                    Checked::Unfit => return None,
                    checked => progress.may_warn &= checked == Checked::Marks,
                }
            }
            let params = policy.values();
            let known = progress.fitting.iter().find(|one| one.shape == shape && one.params == params);
            pauses |= match known {
                Some(one) => one.pauses,
                None => {
                    let pauses = self.check_policy(context, name, policy, hardware, &shape)?;
                    progress.fitting.push(Fitting { shape, params, pauses });
                    pauses
                }
            };
        }
        let pfc = match pfc {
            None => None,
            Some(choice) => Some(self.pfc_spec(context, choice, policy, hardware, pauses, ports)?),
        };
        if let (Some(cables), true, true) = (&cables, pauses, progress.may_warn_of_headroom) {
            progress.may_warn_of_headroom = !headroom::warn(context, &self.path, name, policy, cables, ports);
        }
        let mut keys = self.keys.clone();
        keys.buffer_bytes = Some(buffer_bytes);
        (keys.policy, keys.policy_params) = (Some(policy.info.name.to_owned()), Some(policy.values()));
        keys.classifier = self.classifier_once(context, name, progress);
        keys.ecn = Some(self.ecn.as_ref().map(|ecn| ecn.spec.clone()));
        (keys.hardware, keys.pfc, keys.egress) = (Some(hardware.spec), Some(pfc), Some(egress));
        keys.complete()
    }

    /// Returns the classifier of the group's switches, checked at the first switch. A classifier
    /// does not depend on properties that differ between the switches of a group.
    fn classifier_once(
        &self,
        context: &Context,
        name: &str,
        progress: &mut Progress,
    ) -> Option<Option<ClassifierSpec>> {
        if progress.classifier.is_none() {
            progress.classifier = Some(self.classifier_spec(context, name)?);
        }
        progress.classifier.clone()
    }

    /// Divides the switches of the group by their computed headroom. Each part has a table with the
    /// part's headroom. Without a computed headroom, all switches are one part.
    fn parts(&self, specs: Option<&[SwitchSpec]>) -> Vec<(Vec<u32>, OutTable)> {
        let whole = || vec![(self.switches.clone(), self.resolved.clone())];
        let (Some(specs), Some(policy)) = (specs, &self.policy) else { return whole() };
        if !headroom::is_computed(policy) {
            return whole();
        }
        let mut parts: Vec<(Vec<u32>, OutTable, Option<&ParamValue>)> = Vec::new();
        for &switch in &self.switches {
            let params = &specs[switch as usize].policy_params;
            let value = params.iter().find(|(name, _)| name == headroom::PARAM).map(|(_, value)| value);
            if let Some((switches, ..)) = parts.iter_mut().find(|(_, _, known)| *known == value) {
                switches.push(switch);
                continue;
            }
            let mut resolved = self.resolved.clone();
            let mut table = OutTable::default();
            table.set("name", quote(policy.info.name));
            for (name, value) in params {
                table.set(name, named::write(value));
            }
            resolved.put("policy", OutValue::Table(table));
            parts.push((vec![switch], resolved, value));
        }
        parts.into_iter().map(|(switches, resolved, _)| (switches, resolved)).collect()
    }

    /// Returns the buffer size of a switch whose ports were built with `built_rates` (bytes).
    fn buffer_bytes(&self, built_rates: &[BitRate]) -> Option<u64> {
        self.keys.buffer.or_else(|| {
            let total_bps: u128 = built_rates.iter().map(|rate| u128::from(rate.0)).sum();
            let bytes = u128::from(self.keys.buffer_per_port_per_gbps?) * total_bps / 1_000_000_000;
            Some(u64::try_from(bytes).unwrap_or(u64::MAX))
        })
    }

    /// Rejects a switch with more queues than the core can number.
    fn check_queues(&self, context: &Context, name: &str, ports: usize) -> Option<()> {
        let queues = ports * usize::from(self.queues_per_port);
        if queues <= MAX_QUEUES {
            return Some(());
        }
        let message =
            format!("\"{name}\" has {queues} queues: {ports} ports with {} each", self.queues_per_port);
        let complaint = Complaint::new(message, format!("expected at most {MAX_QUEUES} queues per switch"));
        let path = format!("{}.queues_per_port", self.path);
        context.error(
            &path,
            self.buffer_place.1,
            complaint.help("use fewer queues or hosts, or several switches"),
        );
        None
    }

    /// Rejects a buffer that is smaller than a packet.
    fn check_buffer(
        &self,
        context: &Context,
        name: &str,
        buffer_bytes: u64,
        packet: Option<u64>,
    ) -> Option<()> {
        let most = Dimension::Size.largest();
        if buffer_bytes > most {
            let complaint = Complaint::new(
                format!("the buffer of \"{name}\" is larger than {}", format_size(most)),
                "too much, with all its ports",
            );
            context.error(&self.buffer_place.0, self.buffer_place.1, complaint.help("write a smaller size"));
            return None;
        }
        let Some(packet) = packet.filter(|&packet| buffer_bytes < packet) else { return Some(()) };
        let complaint = Complaint::new(
            format!(
                "the buffer of \"{name}\" ({}) is smaller than a packet ({})",
                format_size(buffer_bytes),
                format_size(packet)
            ),
            format!("expected at least {}", format_size(packet)),
        );
        let help = "a packet is segment_bytes + header_bytes of a [[transport]], less uncharged_bytes";
        context.error(&self.buffer_place.0, self.buffer_place.1, complaint.help(help));
        None
    }

    /// Returns the shape of a switch memory, as policies and marking rules need it. The memory
    /// serves ports with the rates `rates`.
    fn shape(
        &self,
        site: &Site<'_>,
        hardware: &HardwareChoice,
        pfc: Option<&PfcChoice>,
        chip: Chip<'_>,
        rates: &[BitRate],
    ) -> SwitchShape {
        let slices = hardware.spec.slices;
        let config = SwitchConfig {
            capacity: chip.buffer_bytes / u64::from(slices),
            port_rates: rates.to_vec(),
            // A switch with pauses cannot have slices by egress port; the check of `[switch.pfc]`
            // reports a switch with pauses and slices.
            foreign_ports: if pfc.is_some() { 0 } else { chip.ports - rates.len() },
            queues_per_port: chip.queues_per_port,
            max_packet: chip.packet,
            profile: site.profile,
            seed: site.seed,
            hardware: hardware.spec.switch,
            lossless: pfc.map_or(0, PfcChoice::mask),
            lossless_by_port: pfc.map_or_else(Vec::new, |pfc| pfc.masks_by_port(rates.len())),
            ..SwitchConfig::new(chip.buffer_bytes, Vec::new())
        };
        config.shape()
    }

    /// Returns the classifier of the group's switches, if the scenario has a classifier. The result
    /// is `None` if the classifier does not fit the switch.
    fn classifier_spec(&self, context: &Context, name: &str) -> Option<Option<ClassifierSpec>> {
        let Some(chosen) = self.classifier.as_ref()? else { return Some(None) };
        let spec = ClassifierSpec { name: chosen.info.name.to_owned(), params: chosen.params.clone() };
        match spec.classifier(usize::from(self.queues_per_port)) {
            Ok(_) => Some(Some(spec)),
            Err(error) => {
                let key = format!("{}.classifier.{}", self.path, error.param);
                let complaint =
                    Complaint::new(format!("on \"{name}\": {}", error.message), "does not fit the switch");
                context.error(
                    &key,
                    chosen.place(error.param),
                    complaint.help("change the parameter, or queues_per_port"),
                );
                None
            }
        }
    }

    /// Whether the policy pauses senders; `None` if the policy does not fit the switch.
    fn check_policy(
        &self,
        context: &Context,
        name: &str,
        policy: &Chosen<PolicyInfo>,
        hardware: &HardwareChoice,
        shape: &SwitchShape,
    ) -> Option<bool> {
        let params = hardware.spec.switch.apply(policy.info.params, policy.params.clone());
        match policy.info.construct(&params, shape) {
            Ok(built) => Some(built.hooks().contains(Hooks::PAUSE)),
            Err(error) if error.param == "hardware" => {
                let key = format!("{}.hardware.slice_by", self.path);
                let complaint =
                    Complaint::new(format!("on \"{name}\": {}", error.message), "does not fit the policy");
                let help = "choose sonic-dt, sonic-abm or reverie; or hardware.slice_by = \"egress\", or slices = 1 (docs/concepts/chips.md)";
                context.error(&key, hardware.place("slice_by"), complaint.help(help));
                None
            }
            Err(error) => {
                let key = format!("{}.policy.{}", self.path, error.param);
                let complaint =
                    Complaint::new(format!("on \"{name}\": {}", error.message), "does not fit the switch");
                // Only constructors of custom policies return errors that name no wrong parameter.
                let help = match error.param {
                    "name" => "mend the policy, or choose another",
                    "headroom" => {
                        "write headroom = \"auto\", or a size that holds what arrives after a pause (docs/concepts/lossless.md)"
                    }
                    _ => "change the parameter, the buffer or the ports",
                };
                context.error(&key, policy.place(error.param), complaint.help(help));
                None
            }
        }
    }

    /// Returns the flow control of a switch with `ports` ports; `None` if the flow control does not
    /// fit the switch.
    fn pfc_spec(
        &self,
        context: &Context,
        pfc: &PfcChoice,
        policy: &Chosen<PolicyInfo>,
        hardware: &HardwareChoice,
        pauses: bool,
        ports: usize,
    ) -> Option<PfcSpec> {
        let fits = pfc.check(context, &self.path, policy.info.name, pauses, hardware.spec.slices);
        if fits { pfc.spec(context, &self.path, ports) } else { None }
    }
}

fn check_uncharged(context: &Context, group: &Group, transports: &Transports) {
    let (Some(bytes), Some(smallest)) = (group.keys.uncharged_bytes, transports.smallest_packet_bytes())
    else {
        return;
    };
    if u64::from(bytes) >= smallest {
        let complaint = Complaint::new(
            format!("the smallest packet ({}) would occupy nothing", format_size(smallest)),
            format!("expected less than {}", format_size(smallest)),
        );
        let help = "this is what every frame is charged less: link-layer overhead, for example \"14 B\"";
        context.error(
            &format!("{}.uncharged_bytes", group.path),
            group.uncharged_place,
            complaint.help(help),
        );
    }
}

/// Writes the groups of switches into the resolved scenario: the first group as `[switch]`, the
/// other groups as complete overrides.
///
/// Overrides cannot remove keys, so `[switch]` has only keys that all groups have. If some groups
/// lack an optional table or key, an override of the first group has this table or key.
///
/// If headroom was computed, the switches of a group may differ. Then each headroom gets a separate
/// override.
pub(crate) fn write_resolved(
    root: &mut Reader<'_>,
    networks: Option<&Networks>,
    groups: Option<&[Group]>,
    specs: Option<&[SwitchSpec]>,
) {
    let (Some(networks), Some(groups)) = (networks, groups) else { return };
    let parts: Vec<_> = groups.iter().flat_map(|group| group.parts(specs)).collect();
    let [(_, first), others @ ..] = parts.as_slice() else { return };
    let mut common = first.clone();
    let mut shortened = false;
    for (_, resolved) in others {
        shortened |= common.keep_common(&MERGING, resolved);
    }
    root.put("switch", common);
    let overrides = if shortened { parts.as_slice() } else { others };
    let overrides = overrides.iter().map(|(switches, resolved)| {
        let names = switches.iter().map(|&switch| quote(&networks.as_built.switches[switch as usize]));
        let mut table = OutTable::default();
        table.set("switches", list(names));
        table.extend(resolved);
        table
    });
    let overrides: Vec<_> = overrides.collect();
    if !overrides.is_empty() {
        root.out.put("switch_override", OutValue::Tables(overrides));
    }
}
