//! Lint rules about names: values that the reader did not understand, names of missing entries, and
//! unused profiles.

use super::Findings;
use super::context::Context;
use crate::config::{Assigned, MapKind};
use crate::place::{ConfigPlace, Placed, Weight, printable};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn not_understood(context: &Context<'_>, findings: &mut Findings) {
    for problem in &context.config.problems {
        let severity = match problem.weight {
            Weight::Refused => findings.rule.severity,
            Weight::Note => super::Severity::Info,
        };
        findings.add_as(severity, &problem.place, problem.message.clone(), problem.help.clone());
    }
}

/// Referenced names, each with the place of its first reference.
type Named<'c> = BTreeMap<&'c str, &'c ConfigPlace>;

fn add<'c>(to: &mut Named<'c>, reference: &'c Placed<String>) {
    to.entry(reference.value.as_str()).or_insert(&reference.place);
}

fn profile_references<'c>(context: &Context<'c>) -> Named<'c> {
    let config = context.config;
    let mut found = Named::new();
    for assigned in config.groups.values().chain(config.queues.values()) {
        if let Assigned::Profile(name) = &assigned.value {
            found.entry(name.as_str()).or_insert(&assigned.place);
        }
    }
    for list in config.ingress_lists.values().chain(config.egress_lists.values()) {
        for name in &list.value {
            found.entry(name.as_str()).or_insert(&list.place);
        }
    }
    found
}

pub(super) fn dangling(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    let mut report = |what: &str, table: &str, references: Named<'_>, there: &dyn Fn(&str) -> bool| {
        for (name, place) in references.into_iter().filter(|(name, _)| !there(name)) {
            findings.add(
                place,
                format!("there is no {what} \"{}\"", printable(name)),
                format!("add it to {table}, or name one that is there"),
            );
        }
    };
    // A missing table may be in a file that the caller did not give, because rendered
    // configurations come in several files.
    if config.has_table("BUFFER_PROFILE") {
        report("profile", "BUFFER_PROFILE", profile_references(context), &|name| {
            config.profiles.contains_key(name)
        });
    }
    if config.has_table("BUFFER_POOL") {
        let mut pools = Named::new();
        config
            .profiles
            .values()
            .filter_map(|profile| profile.pool.as_ref())
            .for_each(|pool| add(&mut pools, pool));
        report("pool", "BUFFER_POOL", pools, &|name| config.pools.contains_key(name));
    }
    let mut wred = Named::new();
    let mut schedulers = Named::new();
    for setting in config.queue_settings.values() {
        setting.wred.iter().for_each(|name| add(&mut wred, name));
        setting.scheduler.iter().for_each(|name| add(&mut schedulers, name));
    }
    if config.has_table("WRED_PROFILE") {
        report("WRED profile", "WRED_PROFILE", wred, &|name| config.wred.contains_key(name));
    }
    if config.has_table("SCHEDULER") {
        report("scheduler", "SCHEDULER", schedulers, &|name| config.schedulers.contains_key(name));
    }
    maps(context, &mut report);
}

type Report<'r> = dyn FnMut(&str, &str, Named<'_>, &dyn Fn(&str) -> bool) + 'r;

fn maps(context: &Context<'_>, report: &mut Report<'_>) {
    let config = context.config;
    let kinds = [
        (MapKind::DscpToTc, "DSCP_TO_TC_MAP"),
        (MapKind::Dot1pToTc, "DOT1P_TO_TC_MAP"),
        (MapKind::TcToQueue, "TC_TO_QUEUE_MAP"),
        (MapKind::TcToPg, "TC_TO_PRIORITY_GROUP_MAP"),
        (MapKind::PfcToQueue, "MAP_PFC_PRIORITY_TO_QUEUE"),
        (MapKind::PfcToPg, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
    ];
    for (kind, table) in kinds {
        let there: BTreeSet<&str> =
            config.maps.keys().filter(|(of, _)| *of == kind).map(|(_, name)| name.as_str()).collect();
        let other = if table == "MAP_PFC_PRIORITY_TO_QUEUE" { "PFC_PRIORITY_TO_QUEUE_MAP" } else { table };
        if !config.has_table(table) && !config.has_table(other) {
            continue;
        }
        let mut references = Named::new();
        for qos in config.port_qos.values().chain(&config.global_qos) {
            qos.maps.get(&kind).into_iter().for_each(|name| add(&mut references, name));
        }
        report("map", table, references, &|name| there.contains(name));
    }
}

pub(super) fn unused(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    // Rendered files without ports are templates and use no profile.
    if config.groups.is_empty() && config.queues.is_empty() {
        return;
    }
    let used = profile_references(context);
    for profile in config.profiles.values().filter(|profile| !used.contains_key(profile.name.as_str())) {
        // Switches apply zero profiles, which admit no packet, to ports that are down. Profile
        // lists refer to these profiles by name.
        if profile.name.contains("zero") {
            continue;
        }
        findings.add(
            &profile.place,
            format!("no group, queue or list of a port refers to {}", profile.name),
            "delete it, or refer to it",
        );
    }
    let marked: BTreeSet<_> = config
        .queue_settings
        .values()
        .filter_map(|setting| setting.wred.as_ref())
        .map(|name| name.value.as_str())
        .collect();
    if !config.queue_settings.is_empty() {
        for (name, profile) in config.wred.iter().filter(|(name, _)| !marked.contains(name.as_str())) {
            findings.add(
                &profile.place,
                format!("no queue refers to {name}"),
                "delete it, or refer to it in QUEUE",
            );
        }
    }
}
