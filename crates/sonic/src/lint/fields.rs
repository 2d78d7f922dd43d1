//! Lint rules about fields that a table entry needs, inputs that a QoS map needs, and values that
//! SONiC refuses.

use super::context::{Context, some};
use super::{Findings, Severity};
use crate::config::{Assigned, Config, MapKind, Mode, Model, Profile, Threshold, Wred, WredProfile};
use crate::keys::PortName;
use crate::place::ConfigPlace;
use std::collections::{BTreeMap, BTreeSet};

/// Field that a table entry needs: name of the field, whether the entry has the field, severity and
/// consequence if the field is missing.
type Need = (&'static str, bool, Severity, &'static str);

fn report(findings: &mut Findings, place: &ConfigPlace, needs: &[Need]) {
    for (field, _, severity, consequence) in needs.iter().filter(|(_, has, ..)| !has) {
        let message = format!("no {field}: {consequence}");
        findings.add_as(*severity, place, message, format!("add \"{field}\" to {}", place.path()));
    }
}

pub(super) fn incomplete(context: &Context<'_>, findings: &mut Findings) {
    pools(context.config, findings);
    profiles(context.config, findings);
    for profile in context.config.wred.values() {
        marking(profile, findings);
    }
    others(context.config, findings);
    maps(context.config, findings);
}

fn pools(config: &Config, findings: &mut Findings) {
    use Severity::{Error, Warning};
    let computed = config.model() == Model::Dynamic;
    for (name, pool) in &config.pools {
        let sized = pool.size.is_some() || pool.percentage.is_some() || computed;
        let needs: [Need; 4] = [
            ("type", pool.side.is_some(), Warning, "SONiC refuses a pool without a side"),
            ("mode", pool.mode.is_some(), Warning, "SONiC refuses a pool without a notation of thresholds"),
            ("size", sized, Error, "the pool has no memory"),
            (
                "xoff",
                name != crate::resolve::LOSSLESS_POOL || !needs_headroom_pool(config),
                Warning,
                "lossless profiles have headroom beyond their size, and no pool has memory for it",
            ),
        ];
        report(findings, &pool.place, &needs);
    }
}

/// Whether the headroom (`xoff`) of a lossless profile or lookup row exceeds its `size`, although
/// no pool has shared headroom.
fn needs_headroom_pool(config: &Config) -> bool {
    let beyond = |size: u64, xoff: u64| xoff > size;
    let value = |field: &Option<crate::place::Placed<u64>>| field.as_ref().map_or(0, |field| field.value);
    config.model() == Model::Traditional
        && !config.shared_headroom()
        && (config.lookup.iter().any(|row| beyond(row.size, row.xoff))
            || config.profiles.values().any(|profile| beyond(profile.reserve(), value(&profile.xoff))))
}

fn profiles(config: &Config, findings: &mut Findings) {
    use Severity::{Error, Info, Warning};
    let used = used_profiles(config);
    for profile in config.profiles.values() {
        let limit = if used.contains(profile.name.as_str()) { Warning } else { Info };
        let needs: [Need; 3] = [
            ("pool", profile.pool.is_some(), Error, "SONiC refuses a profile without a pool"),
            ("size", profile.size.is_some(), limit, "the chip's default decides about the reserve"),
            (
                "threshold",
                profile.threshold.is_some(),
                limit,
                "the chip's default limits the queues of the profile",
            ),
        ];
        // A profile whose headroom the switch computes needs only an alpha.
        let needs = if profile.dynamic_headroom { &needs[2..] } else { &needs[..] };
        report(findings, &profile.place, needs);
        resume(profile, findings);
        notation(config, profile, findings);
    }
}

/// Checks the fields about the pause and resume points of a lossless profile.
fn resume(profile: &Profile, findings: &mut Findings) {
    use Severity::{Info, Warning};
    let above_zero = profile.xon.as_ref().is_some_and(|xon| xon.value > 0);
    let resumes = above_zero || profile.xon_offset.is_some();
    let is_named = profile.name.starts_with("pg_lossless");
    let needs: &[Need] = if profile.is_lossless() && !profile.dynamic_headroom {
        &[
            ("xon", profile.xon.is_some(), Info, "the chip's default decides when a group resumes"),
            ("xon_offset", resumes, Warning, "a paused group resumes only when it is empty"),
        ]
    } else if profile.xoff.is_none() && !profile.dynamic_headroom && (is_named || profile.xon.is_some()) {
        &[("xoff", false, Warning, "the profile has a resume point and no headroom, so its groups are lossy")]
    } else {
        &[]
    };
    report(findings, &profile.place, needs);
}

/// Reports an alpha as the threshold of a profile in a static pool.
fn notation(config: &Config, profile: &Profile, findings: &mut Findings) {
    let Some((name, pool)) = config.pool_of(profile) else { return };
    let (Some(threshold), Some(mode)) = (&profile.threshold, &pool.mode) else { return };
    // SONiC accepts a static limit in a dynamic pool, but not an alpha in a static pool.
    if matches!(threshold.value, Threshold::Dynamic(_)) && mode.value == Mode::Static {
        findings.add_as(
            Severity::Info,
            &threshold.place,
            format!("an alpha in {name}, which is a static pool: whether it applies depends on the chip"),
            "\"static_th\", or a dynamic pool",
        );
    }
}

fn used_profiles(config: &Config) -> BTreeSet<&str> {
    let assigned = config.groups.values().chain(config.queues.values());
    let names = assigned.filter_map(|assigned| match &assigned.value {
        Assigned::Profile(name) => Some(name.as_str()),
        Assigned::Computed => None,
    });
    let lists = config.ingress_lists.values().chain(config.egress_lists.values());
    names.chain(lists.flat_map(|list| list.value.iter().map(String::as_str))).collect()
}

const COLOURS: [[&str; 5]; 3] = [
    ["green", "wred_green_enable", "green_min_threshold", "green_max_threshold", "green_drop_probability"],
    [
        "yellow",
        "wred_yellow_enable",
        "yellow_min_threshold",
        "yellow_max_threshold",
        "yellow_drop_probability",
    ],
    ["red", "wred_red_enable", "red_min_threshold", "red_max_threshold", "red_drop_probability"],
];

fn marking(profile: &WredProfile, findings: &mut Findings) {
    use Severity::{Info, Warning};
    report(
        findings,
        &profile.place,
        &[("ecn", profile.ecn.is_some(), Warning, "packets are dropped and never marked")],
    );
    for (names, colour) in COLOURS.iter().zip(&profile.colours) {
        let [name, enable, min, max, probability] = *names;
        let Wred { enabled, .. } = colour;
        let has_any = colour.min.is_some() || colour.max.is_some() || colour.probability.is_some();
        let is_on = enabled.as_ref().is_some_and(|enabled| enabled.value);
        let severity = if name == "green" { Warning } else { Info };
        if has_any && !is_on {
            let message =
                format!("thresholds of {name} packets without {enable}: they are neither marked nor dropped");
            findings.add_as(severity, &profile.place, message, format!("\"{enable}\": \"true\""));
        }
        if !is_on {
            continue;
        }
        // Marking of every colour uses the thresholds of the colour; usually only green
        // packets are marked.
        let severity = if has_any { Warning } else { Info };
        let needs: [Need; 3] = [
            (min, colour.min.is_some(), severity, "marking and dropping begin at the chip's default"),
            (max, colour.max.is_some(), severity, "marking and dropping end at the chip's default"),
            (probability, colour.probability.is_some(), severity, "the chip's default applies: 100 % in SAI"),
        ];
        report(findings, &profile.place, &needs);
    }
}

/// Checks fields of schedulers, watchdogs and parameters of the dynamic model.
fn others(config: &Config, findings: &mut Findings) {
    use Severity::{Info, Warning};
    for scheduler in config.schedulers.values() {
        let kind = scheduler.kind.as_ref().map(|kind| kind.value.to_ascii_uppercase());
        let weighs = kind.as_deref().is_none_or(|kind| kind != "STRICT");
        let needs: [Need; 2] = [
            ("type", kind.is_some(), Warning, "the chip's default decides how the queue is served"),
            (
                "weight",
                !weighs || scheduler.weight.is_some(),
                Warning,
                "the queue gets the chip's default share",
            ),
        ];
        report(findings, &scheduler.place, &needs);
    }
    let mut of_ports: BTreeMap<(&str, Severity, &str), Vec<&PortName>> = BTreeMap::new();
    for (port, watchdog) in &config.watchdogs {
        let needs: [Need; 3] = [
            (
                "detection_time",
                watchdog.detection_ms.is_some(),
                Warning,
                "SONiC refuses a watchdog without it",
            ),
            ("restoration_time", watchdog.restoration_ms.is_some(), Info, "SONiC's default ends a storm"),
            ("action", watchdog.action.is_some(), Info, "SONiC's default applies: drop"),
        ];
        for (field, _, severity, consequence) in needs.into_iter().filter(|(_, has, ..)| !has) {
            of_ports.entry((field, severity, consequence)).or_default().push(port);
        }
    }
    for ((field, severity, consequence), ports) in of_ports {
        let place = &config.watchdogs[ports[0]].place;
        let names: Vec<_> = ports.into_iter().cloned().collect();
        let message = format!("{}: no {field}: {consequence}", some(&names));
        findings.add_as(severity, place, message, format!("add \"{field}\" to {}", place.path()));
    }
    if let Some(first) = config.watchdogs.values().next().filter(|_| config.watchdog_poll_ms.is_none()) {
        let message =
            "no POLL_INTERVAL in PFC_WD|GLOBAL: the chip's default decides how late a storm is noticed";
        findings.add_as(
            Info,
            &first.place,
            message.to_owned(),
            "\"POLL_INTERVAL\": \"200\" in PFC_WD|GLOBAL",
        );
    }
    dynamic_model(config, findings);
}

/// Checks the parameters of profiles that the switch computes.
fn dynamic_model(config: &Config, findings: &mut Findings) {
    let computed = config.groups.values().find(|group| group.value == Assigned::Computed);
    let Some(group) = computed else { return };
    let parameters = [
        ("DEFAULT_LOSSLESS_BUFFER_PARAMETER", "default_dynamic_th", config.default_dynamic_th.is_some()),
        ("LOSSLESS_TRAFFIC_PATTERN", "mtu", config.lossless_mtu.is_some()),
        ("LOSSLESS_TRAFFIC_PATTERN", "small_packet_percentage", config.small_packet_percent.is_some()),
    ];
    for (table, field, _) in parameters.into_iter().filter(|(table, _, has)| !has && config.has_table(table))
    {
        findings.add_as(
            Severity::Warning,
            &group.place,
            format!("no {field} in {table}: the switch cannot compute the profiles of NULL"),
            format!("add \"{field}\" to {table}|AZURE"),
        );
    }
}

/// Checks that each QoS map has the inputs that packets need, and reports missing inputs by
/// severity.
fn maps(config: &Config, findings: &mut Findings) {
    let users = users(config);
    for ((kind, name), map) in &config.maps {
        let (inputs, what) = match kind {
            MapKind::DscpToTc => (64, "DSCP"),
            MapKind::Dot1pToTc => (8, "priority"),
            MapKind::TcToQueue | MapKind::TcToPg => (8, "class"),
            MapKind::PfcToQueue => (8, "priority"),
            MapKind::PfcToPg | MapKind::Other => continue,
        };
        let users = users.get(&(*kind, name.as_str())).map_or(&[][..], Vec::as_slice);
        let mut missing: BTreeMap<Severity, Vec<u8>> = BTreeMap::new();
        for input in (0..inputs).filter(|input| map.get(*input).is_none()) {
            missing.entry(severity(config, *kind, input, users)).or_default().push(input);
        }
        for (severity, inputs) in missing {
            findings.add_as(
                severity,
                &map.place,
                format!("no entry for {what} {}: {}", ranges(&inputs), consequence(*kind, severity)),
                format!("add \"{}\" to {}", inputs[0], map.place.path()),
            );
        }
    }
}

/// Returns the ports that use each QoS map.
fn users(config: &Config) -> BTreeMap<(MapKind, &str), Vec<&PortName>> {
    let kinds =
        [MapKind::DscpToTc, MapKind::Dot1pToTc, MapKind::TcToQueue, MapKind::TcToPg, MapKind::PfcToQueue];
    let mut users: BTreeMap<(MapKind, &str), Vec<&PortName>> = BTreeMap::new();
    for port in config.port_qos.keys() {
        for kind in kinds {
            if let Some((name, _)) = config.map(port, kind) {
                users.entry((kind, name)).or_default().push(port);
            }
        }
    }
    users
}

/// Returns the severity of an input value that a QoS map lacks. The gap is an error if lossless
/// packets take the default, and a warning if other packets take the default. The gap is a hint if
/// no packet has this input value.
fn severity(config: &Config, kind: MapKind, input: u8, users: &[&PortName]) -> Severity {
    let has_class = |port: &PortName| {
        let maps =
            [MapKind::DscpToTc, MapKind::Dot1pToTc].into_iter().filter_map(|kind| config.map(port, kind));
        maps.into_iter().any(|(_, map)| map.entries.values().any(|to| to.value == input))
    };
    let leads_to_pfc = |port: &PortName, other: MapKind| {
        let to = config.map(port, other).and_then(|(_, map)| map.get(input));
        to.is_some_and(|to| config.pfc_priorities(port).contains(&to))
    };
    let of_port = |port: &PortName| match kind {
        MapKind::TcToQueue | MapKind::TcToPg if !has_class(port) => Severity::Info,
        MapKind::TcToQueue if leads_to_pfc(port, MapKind::TcToPg) => Severity::Error,
        MapKind::TcToPg if leads_to_pfc(port, MapKind::TcToQueue) => Severity::Error,
        MapKind::PfcToQueue if config.pfc_priorities(port).contains(&input) => Severity::Error,
        MapKind::PfcToQueue => Severity::Info,
        _ => Severity::Warning,
    };
    users.iter().map(|port| of_port(port)).min().unwrap_or(Severity::Info)
}

fn consequence(kind: MapKind, severity: Severity) -> &'static str {
    match (kind, severity) {
        (MapKind::DscpToTc | MapKind::Dot1pToTc, _) => "such packets are in class 0",
        (MapKind::PfcToQueue, Severity::Error) => "a pause of it stops no queue",
        (MapKind::PfcToQueue, _) => "a received pause of it stops no queue",
        (MapKind::TcToPg, Severity::Error) => "its lossless packets enter group 0, which never pauses",
        (MapKind::TcToQueue, Severity::Error) => "its lossless packets leave by queue 0",
        (MapKind::TcToPg, _) => "its packets enter group 0",
        _ => "its packets leave by queue 0",
    }
}

/// Formats numbers as a short list with ranges: `3, 5-8`.
fn ranges(numbers: &[u8]) -> String {
    let mut parts: Vec<(u8, u8)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let word = |(first, last): &(u8, u8)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(word).collect::<Vec<_>>().join(", ")
}

pub(super) fn refused_value(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    for (name, scheduler) in &config.schedulers {
        let strict = scheduler.kind.as_ref().is_some_and(|kind| kind.value.eq_ignore_ascii_case("STRICT"));
        let weight = scheduler.weight.as_ref().filter(|weight| !strict && !(1..=100).contains(&weight.value));
        if let Some(weight) = weight {
            findings.add(
                &weight.place,
                format!("{name} has the weight {}; SAI has weights from 1 to 100", weight.value),
                "\"weight\": \"1\" to \"100\"",
            );
        }
    }
    let mut trims: BTreeMap<&str, Vec<PortName>> = BTreeMap::new();
    for ((port, _), assigned) in config.groups.iter().filter(|((port, _), _)| !port.is_remote()) {
        if let Assigned::Profile(name) = &assigned.value
            && config.profiles.get(name).is_some_and(Profile::is_trimming)
        {
            let ports = trims.entry(name).or_default();
            if ports.last() != Some(port) {
                ports.push(port.clone());
            }
        }
    }
    for (name, ports) in trims {
        let profile = &config.profiles[name];
        let place = profile.discard_action.as_ref().map_or(&profile.place, |action| &action.place);
        findings.add(
            place,
            format!(
                "priority groups of {} have {name}, which trims; SONiC trims in queues only",
                some(&ports)
            ),
            "\"packet_discard_action\": \"drop\", or a profile of its own for queues",
        );
    }
    super::trimming::queue_that_trims(context, findings);
    for (name, profile) in &config.wred {
        let ecn = profile.ecn.as_ref().map_or("ecn_none", |ecn| ecn.value.as_str());
        for (names, colour) in COLOURS.iter().zip(&profile.colours) {
            let marks = ecn == "ecn_all" || ecn.contains(names[0]);
            let zero = colour.probability.as_ref().filter(|probability| probability.value == 0 && marks);
            if let Some(zero) = zero {
                findings.add_as(
                    if names[0] == "green" { Severity::Warning } else { Severity::Info },
                    &zero.place,
                    format!("{name} marks no {} packet below its maximum: the probability is 0", names[0]),
                    format!("\"{}\": \"5\"", names[4]),
                );
            }
            let above = colour.probability.as_ref().filter(|probability| probability.value > 100);
            if let Some(above) = above {
                findings.add(
                    &above.place,
                    format!("{name}: {} %", above.value),
                    format!("\"{}\": \"100\"", names[4]),
                );
            }
        }
    }
}
