//! Lint rules about pools: whether egress can store the packets that ingress admits, and whether
//! the chip has the promised memory.

use super::context::{Context, some};
use super::{Findings, Severity};
use crate::config::{Assigned, Pool, Profile, Side, Threshold};
use crate::resolve::{LOSSLESS_POOL, LOSSLESS_QUEUES};
use crate::silicon::headroom::pool_of_slice;
use crate::silicon::{Class, Rule};

/// Number of slices that the rules assume for an unknown chip: the largest number of any chip, so
/// that no finding is wrong.
const MOST_SLICES: u64 = 4;

/// Largest packet memory of any chip (bytes): first the memory inside a chip, then the separate
/// memory beside a chip.
const LARGEST_ON_CHIP: u64 = 1 << 30;
const LARGEST_BESIDE_CHIP: u64 = 32 << 30;

/// Number of bytes that the lossless pool admits, with its headroom.
struct Admitted {
    /// Number of bytes that the lossless pool admits according to its size.
    nominal: u64,
    /// Number of bytes that the lossless pool certainly admits: without the reserves of egress
    /// queues, which a gross pool may include.
    sure: u64,
}

fn slices(context: &Context<'_>) -> u64 {
    context.options.chip.map_or(MOST_SLICES, |chip| chip.slices)
}

fn admitted(context: &Context<'_>) -> Option<Admitted> {
    let pool = context.config.pools.get(LOSSLESS_POOL)?;
    let (size, xoff) = (pool.size.as_ref()?.value, pool.xoff.as_ref().map_or(0, |xoff| xoff.value));
    let memory = context.memory.as_ref()?;
    let nominal = if memory.net { size + xoff } else { size };
    let reserves = memory.reserves.queues * memory.chip.cell * slices(context);
    let sure = match (memory.net, context.config.has_table("BUFFER_QUEUE")) {
        (true, _) => nominal,
        (false, true) => nominal.saturating_sub(reserves),
        // The caller did not give the file that has the queues and their reserves.
        (false, false) => 0,
    };
    Some(Admitted { nominal, sure })
}

pub(super) fn egress_below_ingress(context: &Context<'_>, findings: &mut Findings) {
    let Some(egress) = context.config.pools.get(LOSSLESS_QUEUES) else { return };
    let (Some(size), Some(Admitted { nominal, sure })) = (&egress.size, admitted(context)) else { return };
    let (severity, admits, unless) = if size.value < sure {
        (Severity::Error, sure, "")
    } else if size.value < nominal {
        // Some chips and configurations include the reserves of queues in the ingress
        // pool, and some do not.
        (Severity::Warning, nominal, ", unless the chip takes the reserves of queues off it")
    } else {
        return;
    };
    findings.add_as(
        severity,
        &size.place,
        format!(
            "{LOSSLESS_QUEUES} holds {} B, and {LOSSLESS_POOL} with its headroom admits {admits} B{unless}: {} \
             B of lossless \
             packets find no place at egress",
            size.value,
            admits - size.value
        ),
        format!("\"size\": \"{nominal}\""),
    );
}

pub(super) fn lossy_group_below_queue(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    for profile in lossy_group_profiles(context) {
        let Some((pool, _, size)) = context.pool_size(profile) else { continue };
        let Some(limit) = Context::lone_limit(profile, size).filter(|_| size > 0) else { continue };
        for queue in &context.lossy_queues {
            let Some((queue_pool, queue_entry, queue_size)) = context.pool_size(queue) else { continue };
            // VOQ systems account ingress and egress in one pool, but a queue of this pool is one
            // of many virtual queues.
            let Some(reach) = Context::lone_limit(queue, queue_size) else { continue };
            let reach = reach + queue.reserve();
            if limit + profile.reserve() < reach.min(queue_size) {
                let both = queue_entry.side.as_ref().is_some_and(|side| side.value == Side::Both);
                findings.add(
                    profile.threshold.as_ref().map_or(&profile.place, |limit| &limit.place),
                    format!(
                        "a lossy group with {} holds {limit} B of {pool}, its queue with {} {reach} B of \
                         {queue_pool}{}",
                        profile.name,
                        queue.name,
                        if both { " (one pool for both)" } else { "" }
                    ),
                    raise(profile, &config.pools[pool].size.as_ref().map_or(0, |size| size.value)),
                );
            }
        }
    }
}

fn raise(profile: &Profile, size: &u64) -> String {
    match profile.threshold.as_ref().map(|limit| limit.value) {
        Some(Threshold::Dynamic(exponent)) => {
            format!("raise \"dynamic_th\": \"{exponent}\"; 3 is usual for lossy groups")
        }
        _ => format!("\"static_th\": \"{size}\""),
    }
}

fn lossy_group_profiles<'c>(context: &Context<'c>) -> Vec<&'c Profile> {
    let config = context.config;
    let mut names: Vec<_> = config
        .groups
        .values()
        .filter_map(|assigned| match &assigned.value {
            Assigned::Profile(name) => Some(name),
            Assigned::Computed => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .filter_map(|name| config.profiles.get(name))
        .filter(|profile| !profile.is_lossless() && !profile.is_zero())
        .collect()
}

pub(super) fn promised_above_pool(context: &Context<'_>, findings: &mut Findings) {
    let Some(pool) = context.config.pools.get(LOSSLESS_POOL) else { return };
    let Some(size) = pool.size.as_ref().filter(|size| size.value > 0) else { return };
    let config = context.config;
    let headroom = pool.xoff.as_ref().map_or(0, |xoff| xoff.value);
    let shared = config.shared_headroom();
    let own: u64 = context
        .classes
        .iter()
        .map(|class| {
            let count = (class.ports.len() * class.groups.len()) as u64;
            let xoff = if shared { 0 } else { class.profile.xoff.as_ref().map_or(0, |xoff| xoff.value) };
            count * (class.profile.minimum(shared) + xoff)
        })
        .sum();
    let queues: u64 = config
        .queues
        .keys()
        .filter(|(port, _)| !port.is_remote())
        .map(|(port, index)| config.queue(port, *index).profile().map_or(0, Profile::reserve))
        .sum();
    // A net pool is the memory that remains after headroom and reserves.
    let net = context.memory.as_ref().is_some_and(|memory| memory.net);
    let promised = headroom + own + queues;
    if !net && promised >= size.value {
        findings.add(
            &size.place,
            format!(
                "{LOSSLESS_POOL} has {} B; headroom pool {headroom} B, groups {own} B and queues {queues} B are \
                 promised: \
                 {} B too much, and nothing is left to share",
                size.value,
                promised - size.value
            ),
            "lower \"xoff\" of the pool or \"size\" of profiles, or raise the pool",
        );
    }
}

pub(super) fn pool_above_chip(context: &Context<'_>, findings: &mut Findings) {
    let of_family = context.options.chip.and_then(|chip| Some((chip.title.to_owned(), chip.memory?)));
    // The pool size that the switch reports has precedence over the size of its chip family.
    let of_switch = context.config.mmu_size.as_ref();
    let of_switch = of_switch.map(|size| (format!("the switch ({})", size.place), size.value));
    let known = of_switch.or(of_family);
    ambiguous_pool(context, &known, findings);
    for (name, pool) in &context.config.pools {
        let Some(size) = &pool.size else { continue };
        let (who, memory) = known.clone().unwrap_or_else(|| largest_memory(pool));
        let xoff = pool.xoff.as_ref().map_or(0, |xoff| xoff.value);
        let with = if context.memory.as_ref().is_some_and(|memory| memory.net) { xoff } else { 0 };
        let needs = size.value.saturating_add(with);
        if needs > memory {
            findings.add(
                &size.place,
                format!("{name} needs {needs} B, and {who} has {memory} B: {} B too much", needs - memory),
                format!("\"size\": \"{}\" or less", memory - with.min(memory)),
            );
        }
    }
}

/// Finds a pool whose size may or may not include headroom. The model assumes that the size
/// includes headroom (gross pool). If the size excluded headroom, the pool and its headroom would
/// exceed the memory. The accounting of measured chips is known, so these chips give no finding.
fn ambiguous_pool(context: &Context<'_>, memory: &Option<(String, u64)>, findings: &mut Findings) {
    let config = context.config;
    let Some(found) = &context.memory else { return };
    let is_measured = context.options.chip.is_some_and(|chip| chip.measured);
    if found.net || is_measured || matches!(found.chip.rule, Rule::Bytes(_)) {
        return;
    }
    let pool = config.pools.get(LOSSLESS_POOL);
    let Some((size, xoff)) = pool.and_then(|pool| pool.size.as_ref().zip(pool.xoff.as_ref())) else { return };
    let together = size.value.saturating_add(xoff.value);
    if let Some((who, memory)) =
        memory.as_ref().filter(|(_, memory)| size.value <= *memory && together > *memory)
    {
        findings.add_as(
            Severity::Warning,
            &size.place,
            format!(
                "{LOSSLESS_POOL} is read as a pool that includes its headroom ({}); if it excludes it, size and xoff \
                 promise {together} B of the {memory} B of {who}: {} B too much",
                found.why,
                together - memory
            ),
            format!("\"size\": \"{}\" if the chip accounts headroom beside the pool", memory - xoff.value),
        );
    }
}

/// Returns the largest packet memory of any chip. A pool for both ingress and egress belongs to a
/// system with packet memory beside the chip.
fn largest_memory(pool: &Pool) -> (String, u64) {
    let is_voq = pool.side.as_ref().is_some_and(|side| side.value == Side::Both);
    let bytes = if is_voq { LARGEST_BESIDE_CHIP } else { LARGEST_ON_CHIP };
    ("the largest memory of any chip".to_owned(), bytes)
}

pub(super) fn not_whole_cells(context: &Context<'_>, findings: &mut Findings) {
    let Some(chip) = context.options.chip.filter(|chip| matches!(chip.rule, Rule::Cells)) else { return };
    // Egress pools of real files are often rounded shares of the ingress pools.
    let of_ingress = |pool: &&Pool| pool.side.as_ref().is_some_and(|side| side.value != Side::Egress);
    for (name, pool) in context.config.pools.iter().filter(|(_, pool)| of_ingress(pool)) {
        for (field, value) in [("size", &pool.size), ("xoff", &pool.xoff)] {
            let Some(value) = value.as_ref().filter(|value| !value.value.is_multiple_of(chip.cell)) else {
                continue;
            };
            let cells = value.value / chip.cell;
            findings.add(
                &value.place,
                format!("{name}: {} B are {cells} cells of {} B and a part of one", value.value, chip.cell),
                format!("\"{field}\": \"{}\", or the file of another chip", cells * chip.cell),
            );
        }
    }
}

/// Finds limits that one egress queue can reach before all lossless groups of a slice have filled
/// their shared memory and headroom.
pub(super) fn lossless_egress_binds(context: &Context<'_>, findings: &mut Findings) {
    let config = context.config;
    let Some(memory) = &context.memory else { return };
    let slices = slices(context);
    if matches!(memory.chip.rule, Rule::Bytes(_)) {
        return;
    }
    let Some(Admitted { sure: admitted, .. }) = admitted(context) else { return };
    let per_slice = admitted / slices;
    for profile in config.profiles.values().filter(|profile| used_by_queues(context, &profile.name)) {
        if profile.is_zero() || !config.is_lossless_queue_profile(&profile.name) {
            continue;
        }
        let Some((pool, entry, size)) = context.pool_size(profile) else { continue };
        if entry.side.as_ref().is_some_and(|side| side.value == Side::Both) {
            continue;
        }
        let Some(threshold) = &profile.threshold else { continue };
        let Some(limit) = Context::lone_limit(profile, size) else { continue };
        let (severity, bound) = match threshold.value {
            Threshold::Static(_) => (Severity::Error, per_slice),
            // The limit of the queue is alpha times the free memory. If many groups send to one
            // queue, any limit below the whole pool applies.
            Threshold::Dynamic(_) if limit < admitted / 2 => (Severity::Error, admitted / 2),
            Threshold::Dynamic(_) => (Severity::Info, admitted),
        };
        if limit < bound {
            findings.add_as(
                severity,
                &threshold.place,
                format!(
                    "a lossless queue with {} drops at {limit} B of {pool}; lossless groups may send it {bound} B{}",
                    profile.name,
                    if slices > 1 && severity == Severity::Error { " (of one slice)" } else { "" }
                ),
                match threshold.value {
                    Threshold::Static(_) => format!("\"static_th\": \"{size}\""),
                    Threshold::Dynamic(_) => "\"dynamic_th\": \"7\"".to_owned(),
                },
            );
        }
    }
}

fn used_by_queues(context: &Context<'_>, name: &str) -> bool {
    let named = |assigned: &Assigned| matches!(assigned, Assigned::Profile(profile) if profile == name);
    context.config.queues.values().any(|assigned| named(&assigned.value))
}

/// Headroom of the largest class, and the headroom pool of one slice in whole cells (bytes).
struct SharedHeadroom<'a> {
    class: &'a Class,
    largest: u64,
    /// Headroom pool of one slice, or of all slices if the chip is not known (bytes).
    pool: u64,
}

fn shared_headroom<'a>(context: &'a Context<'_>) -> Option<SharedHeadroom<'a>> {
    let own = |class: &&Class| class.profile.xoff.as_ref().map_or(0, |xoff| xoff.value);
    let class = context.classes.iter().max_by_key(own)?;
    let pool = pool_of_slice(context.config, context.options.chip)?;
    Some(SharedHeadroom { class, largest: own(&class), pool })
}

pub(super) fn headroom_pool_below_group(context: &Context<'_>, findings: &mut Findings) {
    let Some(pool) = context.config.pools.get(LOSSLESS_POOL) else { return };
    let Some(xoff) = pool.xoff.as_ref().filter(|xoff| xoff.value > 0) else { return };
    let Some(found) = shared_headroom(context) else { return };
    let SharedHeadroom { class, largest, pool } = found;
    if pool >= largest {
        return;
    }
    let slices = context.options.chip.map_or(1, |chip| chip.slices);
    let of_slice = if slices > 1 { format!(", {pool} B in each of {slices} slices") } else { String::new() };
    let cell = context.options.chip.map_or(1, |chip| chip.cell);
    findings.add(
        &xoff.place,
        format!(
            "the headroom pool has {} B{of_slice}, and {} of {} asks for {largest} B: a single group loses lossless packets",
            xoff.value,
            class.profile.name,
            some(&class.ports)
        ),
        format!("\"xoff\": \"{}\" or more", largest.div_ceil(cell) * cell * slices),
    );
}

pub(super) fn headroom_oversubscribed(context: &Context<'_>, findings: &mut Findings) {
    let Some(pool) = context.config.pools.get(LOSSLESS_POOL) else { return };
    let Some(xoff) = pool.xoff.as_ref().filter(|xoff| xoff.value > 0) else { return };
    let needs = |class: &Class| {
        let own = class.profile.xoff.as_ref().map_or(0, |xoff| xoff.value);
        own * (class.ports.len() * class.groups.len()) as u64
    };
    let all: u64 = context.classes.iter().map(needs).sum();
    if all > xoff.value {
        let groups: usize = context.classes.iter().map(|class| class.ports.len() * class.groups.len()).sum();
        let ratio = all as f64 / xoff.value as f64;
        findings.add(
            &xoff.place,
            format!(
                "{groups} lossless groups may need {all} B of headroom at once, and {} B are shared: {ratio:.1} \
                 times as \
                 much as there is",
                xoff.value
            ),
            match shared_headroom(context).map_or(0, |shared| shared.pool / shared.largest.max(1)) {
                0 => "raise xoff: not even one group finds its headroom".to_owned(),
                1 => "expected on most switches; one group of a slice at a time finds all of its headroom".to_owned(),
                groups => format!("expected on most switches; {groups} groups of a slice at a time find all of their headroom"),
            },
        );
    }
}
