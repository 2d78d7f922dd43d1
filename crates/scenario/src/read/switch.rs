//! `[switch]` and `[[switch_override]]`: one configuration per switch.
//!
//! An override is laid over `[switch]` like one file over another, and the result is read as a whole. So
//! switches fall into groups with the same table; each group is read once.

use super::hardware::{self, Chip, HardwareChoice};
use super::named::{self, Chosen};
use super::overrides::{contains, overrides, select};
use super::pfc::{self, PfcChoice};
use super::scheduler;
use super::topology::Networks;
use super::transport::Transports;
use crate::context::{Complaint, Context};
use crate::convert;
use crate::format::{MERGING, SWITCH};
use crate::model::{EcnSpec, SchedulerSpec, SharedEcnSpec, SwitchSpec};
use crate::quantity::format_size;
use crate::reader::Reader;
use crate::resolved::{OutTable, OutValue, list, quote};
use crate::tree::{Item, Origin, merge};
use bufferlab_core::mark::{Moment, Scope};
use bufferlab_core::policy::REGISTRY;
use bufferlab_core::{Hooks, Policy, PolicyInfo, Profile, SwitchConfig};

/// Switches with the same configuration.
pub(crate) struct Group {
    /// Indices into the topology.
    switches: Vec<u32>,
    path: String,
    buffer: Option<Buffer>,
    buffer_place: (String, Origin),
    pub(crate) queues_per_port: u8,
    policy: Option<Chosen<PolicyInfo>>,
    scheduler: Option<SchedulerSpec>,
    ecn: Option<EcnSpec>,
    ecn_origin: Origin,
    uncharged: Option<(u32, Origin)>,
    hardware: Option<HardwareChoice>,
    pfc: Option<Option<PfcChoice>>,
    resolved: OutTable,
}

/// How a buffer is given.
#[derive(Clone, Copy, Debug)]
enum Buffer {
    Bytes(u64),
    PerPortPerGbps(u64),
}

/// Reads all groups. Without a network every override is read alone, so that its mistakes show.
pub(crate) fn read_groups(
    root: &mut Reader<'_>,
    networks: Option<&Networks>,
    profile: Profile,
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
        let group = read_group(root.context, &merged, switches, profile);
        root.context.rename_since(before, |key, origin| {
            let tail = key.strip_prefix("switch.")?;
            let at = chosen.iter().rev().find(|&&index| contains(&overrides[index].table, origin))?;
            Some(format!("switch_override.{at}.{tail}"))
        });
        groups.extend(group);
    }
    (!root.context.failed_since(mark)).then_some(groups)
}

fn read_group(context: &Context, table: &Item, switches: Vec<u32>, profile: Profile) -> Option<Group> {
    let path = "switch".to_owned();
    let mut reader = Reader::open(context, &SWITCH, path.clone(), Some(table))?;
    let bytes = reader.size("buffer").map(Buffer::Bytes);
    let per_port = reader.size("buffer_per_port_per_gbps").map(Buffer::PerPortPerGbps);
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
    let queues_per_port = reader.count("queues_per_port").map(|queues| queues as u8);
    let policy = named::read(&mut reader, "policy", &REGISTRY, profile);
    let scheduler = match queues_per_port {
        Some(queues) => scheduler::read(&mut reader, queues),
        None => {
            reader.spec_of("scheduler");
            None
        }
    };
    let ecn_origin = reader.place("ecn");
    let ecn = ecn(&mut reader, queues_per_port);
    let uncharged =
        reader.small_size("uncharged_bytes").map(|bytes| (bytes, reader.place("uncharged_bytes")));
    let hardware = hardware::read(&mut reader);
    let pfc = pfc::read(&mut reader, queues_per_port);
    Some(Group {
        switches,
        path,
        buffer: bytes.or(per_port),
        buffer_place,
        queues_per_port: queues_per_port?,
        policy,
        scheduler,
        ecn,
        ecn_origin,
        uncharged,
        hardware,
        pfc,
        resolved: reader.finish(),
    })
}

fn ecn(switch: &mut Reader<'_>, queues_per_port: Option<u8>) -> Option<EcnSpec> {
    switch.spec_of("ecn");
    let mut none = OutTable::default();
    none.set("kind", quote("none"));
    // What holds unless a marker is read below; an override may have to switch marking off.
    switch.put("ecn", none);
    if !switch.has("ecn") {
        return None;
    }
    let mut reader = switch.table("ecn")?;
    let scope = reader.choice("scope").unwrap_or(Scope::Queue);
    let at = reader.choice("at").unwrap_or(Moment::Enqueue);
    let priorities = reader.counts("priorities");
    if let (Some(priorities), Some(queues)) = (&priorities, queues_per_port)
        && let Some(beyond) = priorities.iter().find(|&&priority| priority >= u64::from(queues))
    {
        let complaint =
            Complaint::new(format!("there is no priority {beyond}"), super::scheduler::queue_numbers(queues));
        reader.error(
            "priorities",
            complaint.help(format!("queues_per_port is {queues}; priorities are its queues")),
        );
    }
    let (mut shared, mut by_priority_bytes) = (None, Vec::new());
    let range = match reader.kind() {
        "bcc" => {
            let k = reader.size("threshold");
            let (floor, share, alpha) = (reader.size("floor"), reader.ratio("share"), reader.ratio("alpha"));
            shared = floor.zip(share).zip(alpha).map(|((floor_bytes, share), alpha)| SharedEcnSpec {
                floor_bytes,
                share,
                alpha,
            });
            shared.and(k).map(|k| (k, k, 1.0))
        }
        "step" => step(&mut reader, &mut by_priority_bytes),
        "red" => {
            let (kmin, kmax, pmax) = (reader.size("kmin"), reader.size("kmax"), reader.ratio("pmax"));
            if let (Some(kmin), Some(kmax)) = (kmin, kmax)
                && kmin > kmax
            {
                let message = format!("kmin ({}) is above kmax ({})", format_size(kmin), format_size(kmax));
                let complaint = Complaint::new(message, "expected at most kmax");
                reader.error("kmin", complaint.also(reader.place("kmax"), "kmax"));
            }
            kmin.zip(kmax).zip(pmax).map(|((kmin, kmax), pmax)| (kmin, kmax, pmax))
        }
        _ => None,
    };
    let resolved = reader.finish();
    let (kmin_bytes, kmax_bytes, pmax) = range?;
    switch.put("ecn", resolved);
    let priorities = priorities.map(|list| list.into_iter().map(|priority| priority as u8).collect());
    Some(EcnSpec { kmin_bytes, kmax_bytes, pmax, by_priority_bytes, scope, at, priorities, shared })
}

/// A step for all priorities, or one for each: kmin, kmax and pmax of those without one of their own.
fn step(reader: &mut Reader<'_>, by_priority: &mut Vec<u64>) -> Option<(u64, u64, f64)> {
    let one = reader.size("threshold");
    let several = reader.read("thresholds", |item, wanted| {
        let sizes = convert::elements(item, wanted)?.iter();
        let sizes: Vec<u64> =
            sizes.map(|size| convert::size(size, wanted, 1, u64::MAX)).collect::<Result<_, _>>()?;
        let text = list(sizes.iter().map(|&size| quote(&format_size(size))));
        Ok((sizes, text))
    });
    match (reader.has("threshold"), reader.has("thresholds")) {
        (true, false) => one.map(|k| (k, k, 1.0)),
        (false, true) => {
            *by_priority = several?;
            let Some(&least) = by_priority.iter().min() else {
                let complaint = Complaint::new("the list is empty", "expected a size for queue 0 at least");
                reader
                    .error("thresholds", complaint.help("for example thresholds = [\"30 KB\", \"300 KB\"]"));
                return None;
            };
            Some((least, least, 1.0))
        }
        (true, true) => {
            let complaint = Complaint::new("the threshold is given twice", "so is it here");
            let complaint = complaint.also(reader.place("thresholds"), "and here");
            reader.error("threshold", complaint.help("remove `threshold` or `thresholds`"));
            None
        }
        (false, false) => {
            let complaint = Complaint::new("the threshold is missing", "kind = \"step\" needs it");
            let help = "add threshold = \"91 KB\", or thresholds with one size for each queue";
            reader.error("threshold", complaint.help(help));
            None
        }
    }
}

/// The checks that need packets and ports, and the specification of every switch.
pub(crate) fn finish(
    context: &Context,
    networks: &Networks,
    groups: &[Group],
    transports: &Transports,
    profile: Profile,
    seed: u64,
) -> Option<Vec<SwitchSpec>> {
    let mark = context.mark();
    let mut specs: Vec<Option<SwitchSpec>> = vec![None; networks.as_built.switches.len()];
    let (built_rates, running_rates) =
        (networks.as_built.all_port_rates(), networks.as_it_runs.all_port_rates());
    for group in groups {
        let uncharged = group.uncharged.map_or(0, |(bytes, _)| bytes);
        check_uncharged(context, group, transports);
        let mut warned = false;
        for &switch in &group.switches {
            let total_bps: u128 = built_rates[switch as usize].iter().map(|rate| u128::from(rate.0)).sum();
            let buffer_bytes = match group.buffer? {
                Buffer::Bytes(bytes) => bytes,
                Buffer::PerPortPerGbps(bytes) => {
                    u64::try_from(u128::from(bytes) * total_bps / 1_000_000_000).unwrap_or(u64::MAX)
                }
            };
            let packet =
                transports.largest_packet_bytes().map(|packet| packet.saturating_sub(u64::from(uncharged)));
            let name = &networks.as_built.switches[switch as usize];
            if let Some(packet) = packet.filter(|&packet| buffer_bytes < packet) {
                let complaint = Complaint::new(
                    format!(
                        "the buffer of \"{name}\" ({}) is smaller than a packet ({})",
                        format_size(buffer_bytes),
                        format_size(packet)
                    ),
                    format!("expected at least {}", format_size(packet)),
                );
                let help =
                    "a packet is segment_bytes + header_bytes of a [[transport]], less uncharged_bytes";
                context.error(&group.buffer_place.0, group.buffer_place.1, complaint.help(help));
                break;
            }
            let never = |ecn: &EcnSpec| {
                let shared = ecn.shared.as_ref().map_or(u64::MAX, |shared| shared.floor_bytes);
                ecn.kmin_bytes.min(shared) >= buffer_bytes
            };
            let above = |ecn: &&EcnSpec| never(ecn) && !warned;
            if let Some(ecn) = group.ecn.as_ref().filter(above) {
                warned = true;
                let complaint = Complaint::new(
                    format!(
                        "nothing is ever marked: the threshold ({}) is not below the buffer of \"{name}\" ({})",
                        format_size(ecn.kmin_bytes),
                        format_size(buffer_bytes)
                    ),
                    "above any queue",
                );
                context.warn(
                    &format!("{}.ecn", group.path),
                    group.ecn_origin,
                    complaint.help("check the unit"),
                );
            }
            let policy = group.policy.as_ref()?;
            let hardware = group.hardware?;
            let pfc = group.pfc.as_ref()?;
            let (rates, queues_per_port) =
                (&running_rates[switch as usize], usize::from(group.queues_per_port));
            let (ports, max_packet) = (rates.len(), packet.unwrap_or(1));
            let chip = Chip { name, buffer_bytes, ports, queues_per_port, packet: max_packet };
            if !hardware.check(context, &group.path, chip) {
                break;
            }
            let slices = hardware.spec.slices;
            let config = SwitchConfig {
                capacity: buffer_bytes / u64::from(slices),
                port_rates: rates[..ports.div_ceil(usize::from(slices))].to_vec(),
                queues_per_port,
                max_packet,
                profile,
                seed,
                hardware: hardware.spec.switch,
                lossless: pfc.as_ref().map_or(0, PfcChoice::mask),
                lossless_by_port: pfc.as_ref().map_or_else(Vec::new, |pfc| pfc.masks_by_port(ports)),
                ..SwitchConfig::new(buffer_bytes, Vec::new())
            };
            let params = hardware.spec.switch.apply(policy.info.params, policy.params.clone());
            let built = match policy.info.construct(&params, &config.shape()) {
                Ok(built) => built,
                Err(error) => {
                    let key = format!("{}.policy.{}", group.path, error.param);
                    let complaint = Complaint::new(
                        format!("on \"{name}\": {}", error.message),
                        "does not fit the switch",
                    );
                    context.error(
                        &key,
                        policy.place(error.param),
                        complaint.help("change the parameter, the buffer or the ports"),
                    );
                    break;
                }
            };
            let pauses = built.hooks().contains(Hooks::PAUSE);
            if let Some(pfc) = pfc
                && !pfc.check(context, &group.path, policy.info.name, pauses, slices)
            {
                break;
            }
            let pfc = match pfc {
                None => None,
                Some(choice) => match choice.spec(context, &group.path, ports) {
                    None => break,
                    spec => spec,
                },
            };
            specs[switch as usize] = Some(SwitchSpec {
                buffer_bytes,
                queues_per_port: group.queues_per_port,
                policy: policy.info.name.to_owned(),
                policy_params: policy.values(),
                scheduler: group.scheduler.clone()?,
                ecn: group.ecn.clone(),
                uncharged_bytes: uncharged,
                hardware: hardware.spec,
                pfc,
            });
        }
    }
    if context.failed_since(mark) {
        return None;
    }
    specs.into_iter().collect()
}

fn check_uncharged(context: &Context, group: &Group, transports: &Transports) {
    let (Some((bytes, origin)), Some(smallest)) = (group.uncharged, transports.smallest_packet_bytes())
    else {
        return;
    };
    if u64::from(bytes) >= smallest {
        let complaint = Complaint::new(
            format!("the smallest packet ({}) would occupy nothing", format_size(smallest)),
            format!("expected less than {}", format_size(smallest)),
        );
        let help = "this is what every frame is charged less: link-layer overhead, for example \"14 B\"";
        context.error(&format!("{}.uncharged_bytes", group.path), origin, complaint.help(help));
    }
}

/// Writes the groups down: the first one as `[switch]`, the others as complete overrides.
pub(crate) fn write_resolved(root: &mut Reader<'_>, networks: Option<&Networks>, groups: Option<&[Group]>) {
    let (Some(networks), Some([first, others @ ..])) = (networks, groups) else { return };
    root.put("switch", first.resolved.clone());
    let overrides = others.iter().map(|group| {
        let names = group.switches.iter().map(|&switch| quote(&networks.as_built.switches[switch as usize]));
        let mut table = OutTable::default();
        table.set("switches", list(names));
        table.extend(&group.resolved);
        table
    });
    let overrides: Vec<_> = overrides.collect();
    if !overrides.is_empty() {
        root.out.put("switch_override", OutValue::Tables(overrides));
    }
}
