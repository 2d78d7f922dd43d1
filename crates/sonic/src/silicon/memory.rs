//! What is shared: from the sizes of pools to the limit S of one memory slice, term by term.

use super::PredictError;
use super::chips::{Chip, Rule};
use crate::config::{Config, Pool, Profile, Side, Threshold};
use crate::keys::Port;
use crate::resolve::{LOSSLESS_POOL, Resolved};
use serde::Serialize;

/// A part of the sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Term {
    /// What it is.
    pub name: String,
    /// Cells of one slice (bytes where the chip counts bytes); negative: taken away.
    pub cells: i64,
    /// How it comes about.
    pub how: String,
}

/// The memory behind lossless priority groups.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The chip.
    pub chip: &'static Chip,
    /// The pool.
    pub pool: String,
    /// Whether the pool's size is what may be shared; otherwise headroom and reserves come off it.
    pub net: bool,
    /// Why.
    pub why: String,
    /// The terms of `shared`.
    pub terms: Vec<Term>,
    /// What one slice shares: S (cells, or bytes).
    pub shared: u64,
    /// Headroom pool of one slice (cells, or bytes).
    pub headroom_pool: u64,
    /// Reserves of egress queues (cells of one slice).
    pub queue_reserves: u64,
}

/// The pool of lossless groups.
pub(super) fn lossless_pool(config: &Config) -> Option<(&str, &Pool)> {
    let by_name = config.pools.get_key_value(LOSSLESS_POOL);
    let ingress = |(_, pool): &(&String, &Pool)| {
        pool.side.as_ref().is_some_and(|side| side.value != Side::Egress) && pool.xoff.is_some()
    };
    by_name.or_else(|| config.pools.iter().find(ingress)).map(|(name, pool)| (name.as_str(), pool))
}

impl Memory {
    /// The memory of a configuration on a chip.
    ///
    /// # Errors
    /// No lossless pool, or one without a size; headroom and reserves that leave nothing.
    pub fn new(config: &Config, chip: &'static Chip) -> Result<Self, PredictError> {
        let (name, pool) = lossless_pool(config).ok_or_else(|| {
            PredictError::new(
                "there is no pool of lossless priority groups",
                format!("give BUFFER_POOL with {LOSSLESS_POOL}"),
            )
        })?;
        let size = pool.size.as_ref().ok_or_else(|| {
            PredictError::new(
                format!("{}: the pool has no size: the switch computes it", pool.place),
                "give a dump of APPL_DB (BUFFER_POOL_TABLE, BUFFER_PROFILE_TABLE, BUFFER_PG_TABLE) of the \
                 running switch, too",
            )
        })?;
        let headroom = pool.xoff.as_ref().map_or(0, |xoff| xoff.value);
        let (net, why) = is_net(config, size.value, headroom, chip);
        let per_slice = |bytes: u64| bytes / chip.cell / chip.slices;
        let (groups, queues) = reserves(config, chip);
        let group_share = groups.div_ceil(chip.slices);
        let mut terms = vec![Term {
            name: format!("size of {name}"),
            cells: signed(per_slice(size.value)),
            how: format!("{} B in cells of {} B, {}", size.value, chip.cell, slices(chip.slices)),
        }];
        if !net {
            terms.extend(taken(headroom, per_slice(headroom), group_share, groups, queues, chip));
        }
        let shared: i64 = terms.iter().map(|term| term.cells).sum();
        let shared = u64::try_from(shared).ok().filter(|shared| *shared > 0).ok_or_else(|| {
            PredictError::new(
                format!("{}: headroom and reserves leave nothing to share", size.place),
                "raise the pool's size, or lower xoff and the sizes of profiles",
            )
        })?;
        let headroom_pool = per_slice(headroom);
        Ok(Self {
            chip,
            pool: name.to_owned(),
            net,
            why,
            terms,
            shared,
            headroom_pool,
            queue_reserves: queues,
        })
    }

    /// Cells (or bytes) of a size, rounded up.
    #[must_use]
    pub fn cells(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.chip.cell)
    }
}

/// What comes off a gross pool.
fn taken(headroom: u64, pool: u64, share: u64, groups: u64, queues: u64, chip: &Chip) -> Vec<Term> {
    let off =
        |name: &str, cells: u64, how: String| Term { name: name.to_owned(), cells: -signed(cells), how };
    let all = [
        off("headroom pool", pool, format!("xoff {headroom} B")),
        off(
            "minimums of priority groups",
            share,
            format!("{groups} cells of all ports, each in the slice of its port; {}", slices(chip.slices)),
        ),
        off("minimums of lossy queues", queues, "in every slice: any slice may feed a queue".to_owned()),
    ];
    all.into_iter().filter(|term| term.cells != 0).collect()
}

/// A number of slices in words.
pub(crate) fn slices(number: u64) -> String {
    if number == 1 { "1 slice".to_owned() } else { format!("{number} slices") }
}

fn signed(cells: u64) -> i64 {
    i64::try_from(cells).unwrap_or(i64::MAX)
}

/// Whether the file's pools are net. A static limit of a pool spans the whole of what the pool and its headroom take;
/// where size and headroom together fit into the largest static limit of the file, the size is without the headroom.
fn is_net(config: &Config, size: u64, headroom: u64, chip: &Chip) -> (bool, String) {
    match chip.rule {
        Rule::OneLevel | Rule::TwoLevels => {
            return (true, "NVIDIA switches subtract headroom and reserves when they size a pool".to_owned());
        }
        Rule::Bytes(_) => return (false, "a VOQ system's pool includes its headroom".to_owned()),
        Rule::Cells => {}
    }
    let limits = config.profiles.values().filter_map(|profile| match profile.threshold.as_ref()?.value {
        Threshold::Static(limit) => Some((limit, profile.name.as_str())),
        Threshold::Dynamic(_) => None,
    });
    match limits.max() {
        Some((limit, name)) if headroom > 0 && size.saturating_add(headroom) <= limit => (
            true,
            format!(
                "net pools: size + xoff = {} B fit into static_th of {name} ({limit} B)",
                size + headroom
            ),
        ),
        Some((limit, name)) => (
            false,
            format!(
                "gross pools: size + xoff = {} B are above static_th of {name} ({limit} B)",
                size + headroom
            ),
        ),
        None => (false, "gross pools: no static_th in the file says otherwise".to_owned()),
    }
}

/// Minimums of all priority groups, and of all egress queues (cells).
fn reserves(config: &Config, chip: &Chip) -> (u64, u64) {
    let in_cells = |bytes: u64| if matches!(chip.rule, Rule::Cells) { bytes.div_ceil(chip.cell) } else { 0 };
    let shared = config.shared_headroom();
    let ports = config.named_ports();
    let used: Vec<&Port> = ports.iter().filter(|port| config.in_use(port)).collect();
    let group = |port: &Port, index: u8| match config.group(port, index) {
        Resolved::Profile(profile) => in_cells(profile.minimum(shared)),
        _ => 0,
    };
    let groups = used.iter().map(|port| (0..8).map(|index| group(port, index)).sum::<u64>()).sum();
    let queue = |profile: Option<&Profile>| profile.map_or(0, |profile| in_cells(profile.reserve()));
    let local = config.queues.keys().filter(|(port, _)| !port.is_remote());
    let queues = local.map(|(port, index)| queue(config.queue(port, *index).profile())).sum();
    (groups, queues)
}
