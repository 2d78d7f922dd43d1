//! Explains a configuration: the division of the memory, and the way of a packet for every kind of
//! port and every traffic class. The way lists each limit that can apply to the packet.

mod text;
mod ways;

use crate::config::{Config, Profile};
use crate::silicon::{Chip, GENERIC, Memory, PredictError, Reserves, Term, slices};
use serde::Serialize;

pub use text::text;
pub use ways::{Headroom, Limit, PortKind, Trim, Way, Wred};
pub(crate) use ways::{fraction, gaps};

/// A part of the switch's memory.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Name of this part of the switch's memory.
    pub name: String,
    /// Size of this part of the switch's memory (bytes).
    pub bytes: u64,
    /// Origin of the size of this part of the memory, or a remark about the size.
    pub note: String,
}

/// Explanation of a switch's buffer configuration.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Name of the switch, if the configuration has it.
    pub switch: Option<String>,
    /// Name of the chip, or a description if the chip is not known.
    pub chip: &'static str,
    /// Memory for packets (bytes), if this size is known.
    pub memory_bytes: Option<u64>,
    /// Description of how pools account packets.
    pub accounting: String,
    /// Buffer pools of the configuration.
    pub pools: Vec<Part>,
    /// Division of the memory: headroom, reserves, shared memory.
    pub parts: Vec<Part>,
    /// Sum of all pools divided by the memory; above 1, some memory is promised more than once.
    pub promised_ratio: Option<f64>,
    /// Pool size, headroom and reserves in the sum that gives the shared memory of one slice
    /// (cells).
    pub terms: Vec<Term>,
    /// Kinds of ports, each with the names of its ports.
    pub kinds: Vec<PortKind>,
    /// Groups, queues or pools that the explanation cannot cover, each with the reason.
    pub not_explained: Vec<String>,
    /// Contradictions in the configuration, and limits of the explanation's numbers, in sentences.
    pub caveats: Vec<String>,
}

/// Explains a configuration. Without a chip, the memory is one slice counted in bytes.
#[must_use]
pub fn explain(config: &Config, chip: Option<&'static Chip>) -> Explanation {
    let mut not_explained = Vec::new();
    let memory = match Memory::new(config, chip.unwrap_or(&GENERIC)) {
        Ok(memory) => Some(memory),
        Err(PredictError { message, help }) => {
            not_explained.push(format!("thresholds: {message} ({help})"));
            None
        }
    };
    if chip.is_none() {
        not_explained
            .push("the chip is not known: cells, slices and the size of the memory are left out".to_owned());
    }
    let whole = config.mmu_size.as_ref().map(|size| size.value).or(chip.and_then(|chip| chip.memory));
    let mut parts = memory.as_ref().map_or_else(Vec::new, |memory| parts(config, memory));
    let sum: u64 = parts.iter().map(|part| part.bytes).sum();
    let mut caveats: Vec<String> = chip.and_then(Chip::caveat).into_iter().collect();
    caveats.extend(memory.as_ref().and_then(|memory| beyond(config, memory, sum, whole)));
    if let Some(rest) = whole.and_then(|bytes| bytes.checked_sub(sum)).filter(|_| sum > 0) {
        let note = "outside of the lossless pool: other pools, or the chip's own use".to_owned();
        parts.push(Part { name: "rest".to_owned(), bytes: rest, note });
    }
    let pools = pools(config);
    let there = whole.or_else(|| (sum > 0).then_some(sum));
    let promised: u64 = pools.iter().map(|pool| pool.bytes).sum();
    let kinds = ways::kinds(config, memory.as_ref(), chip);
    not_explained.extend(gaps(config));
    Explanation {
        switch: config.device.hwsku.as_ref().map(|sku| sku.value.clone()),
        chip: chip.unwrap_or(&GENERIC).title,
        memory_bytes: whole,
        accounting: memory.as_ref().map_or_else(String::new, |memory| memory.why.clone()),
        pools,
        parts,
        promised_ratio: there.map(|there| promised as f64 / there as f64),
        terms: memory.map_or_else(Vec::new, |memory| memory.terms),
        kinds,
        not_explained,
        caveats,
    }
}

/// Returns a sentence about parts of the memory whose sum exceeds the pool or the whole memory.
fn beyond(config: &Config, memory: &Memory, sum: u64, whole: Option<u64>) -> Option<String> {
    let pool = config.pools.get(&memory.pool).and_then(|pool| pool.size.as_ref());
    let of_pool = pool.filter(|_| !memory.net).map(|size| (memory.pool.as_str(), size.value));
    let of_memory = whole.map(|bytes| ("the memory", bytes));
    let (what, bytes) = of_pool.into_iter().chain(of_memory).find(|(_, bytes)| sum > *bytes)?;
    Some(format!(
        "The parts are {sum} B, and {what} has {bytes} B: {} B are promised that do not exist.",
        sum - bytes
    ))
}

fn pools(config: &Config) -> Vec<Part> {
    let part = |(name, pool): (&String, &crate::config::Pool)| {
        let words = [
            pool.side.as_ref().map(|side| format!("{:?}", side.value).to_lowercase()),
            pool.mode.as_ref().map(|mode| format!("{:?}", mode.value).to_lowercase()),
            pool.xoff.as_ref().map(|xoff| format!("shared headroom {} B", xoff.value)),
            pool.size.is_none().then(|| "size computed by the switch".to_owned()),
        ];
        let note = words.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Part { name: name.clone(), bytes: pool.size.as_ref().map_or(0, |size| size.value), note }
    };
    config.pools.iter().map(part).collect()
}

/// Returns headroom, reserves and shared memory of all slices. The size of a gross pool includes
/// headroom and reserves.
fn parts(config: &Config, memory: &Memory) -> Vec<Part> {
    let whole = |cells: u64| cells * memory.chip.cell * memory.chip.slices;
    let mut parts = vec![Part {
        name: "shared".to_owned(),
        bytes: whole(memory.shared),
        note: format!("S = {} cells of a slice; {}", memory.shared, slices(memory.chip.slices)),
    }];
    if let Some(pool) = memory.headroom_pool {
        let note = "for packets that arrive after a pause, shared by all groups".to_owned();
        parts.push(Part { name: "headroom pool".to_owned(), bytes: whole(pool), note });
    }
    if memory.net {
        beside(config, memory, &mut parts)
    } else {
        within(config, memory, &mut parts)
    }
    parts.retain(|part| part.bytes > 0);
    parts
}

/// Adds the headroom and reserves, which are parts of the size of a gross pool.
fn within(config: &Config, memory: &Memory, parts: &mut Vec<Part>) {
    let cell = memory.chip.cell;
    let Reserves { groups, private_headroom, queues, private_groups } = memory.reserves;
    let mut add = |name: &str, bytes: u64, note: &str| {
        parts.push(Part { name: name.to_owned(), bytes, note: note.to_owned() });
    };
    if private_groups > 0 {
        add("headroom", private_headroom * cell, "private to each lossless group, inside its size");
    } else if memory.headroom_pool.is_none() {
        add("headroom", own_headroom(config), "private to each lossless group, beside its size");
    }
    add("group reserves", groups * cell, "minimums of priority groups");
    let times = memory.chip.slices;
    let note = if times > 1 { "minimums of queues, in every slice" } else { "minimums of queues" };
    add("queue reserves", queues * times * cell, note);
}

/// Adds headroom and reserves as separate parts of the memory, because the size of a net pool does
/// not include them.
fn beside(config: &Config, memory: &Memory, parts: &mut Vec<Part>) {
    let mut add = |name: &str, bytes: u64, note: &str| {
        parts.push(Part { name: name.to_owned(), bytes, note: note.to_owned() });
    };
    if memory.headroom_pool.is_none() {
        add("headroom", own_headroom(config), "private to each lossless group");
    }
    let shared = config.shared_headroom();
    let groups: u64 = lossless(config).map(|profile| profile.minimum(shared)).sum();
    add("group reserves", groups, "minimums of lossless priority groups");
    let queues = config.queues.keys().filter(|(port, _)| !port.is_remote());
    let queues: u64 =
        queues.map(|(port, index)| config.queue(port, *index).profile().map_or(0, Profile::reserve)).sum();
    add("queue reserves", queues, "minimums of queues");
}

/// Returns the sum of the headroom of all lossless groups (bytes).
fn own_headroom(config: &Config) -> u64 {
    lossless(config).map(|profile| profile.xoff.as_ref().map_or(0, |xoff| xoff.value)).sum()
}

/// Returns the profile of every lossless group of every port.
fn lossless(config: &Config) -> impl Iterator<Item = Profile> + '_ {
    let ports = config.named_ports().into_iter().filter(|port| config.in_use(port));
    ports.flat_map(move |port| {
        (0..8).filter_map(move |index| {
            config.group(&port, index).profile().filter(|profile| profile.is_lossless()).cloned()
        })
    })
}
