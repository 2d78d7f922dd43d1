//! Computes the shared memory S of one memory slice from the sizes of pools, term by term.

use super::PredictError;
use super::chips::{Chip, Rule, is_nvidia};
use crate::config::{Config, Pool, Profile, Side, Threshold};
use crate::resolve::{LOSSLESS_POOL, Resolved};
use serde::Serialize;

/// One term (a pool, headroom or reserve) of the sum that gives the shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Term {
    /// Name of the pool, headroom or reserve in the sum that gives the shared memory.
    pub name: String,
    /// Number of cells of this pool, headroom or reserve in one slice (bytes if the chip counts
    /// bytes); negative if subtracted.
    pub cells: i64,
    /// Calculation that gives the number of cells of this part of the memory.
    pub how: String,
}

/// Memory that the lossless priority groups can use.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Chip that has the memory.
    pub chip: &'static Chip,
    /// Name of the pool for lossless groups.
    pub pool: String,
    /// Whether the pool's size is its shared memory. Otherwise the prediction subtracts headroom
    /// and reserves from the size.
    pub net: bool,
    /// Reason why the pool's size is, or is not, its shared memory.
    pub why: String,
    /// Pool size, headroom and reserves in the sum that gives the field `shared`.
    pub terms: Vec<Term>,
    /// Shared memory of one slice: S (cells, or bytes).
    pub shared: u64,
    /// Headroom pool of one slice (cells, or bytes); absent if groups do not share headroom.
    pub headroom_pool: Option<u64>,
    /// Reserves of groups and queues, in addition to the headroom pool.
    pub reserves: Reserves,
}

/// Memory reserved for priority groups and queues (cells; 0 on chips that count bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserves {
    /// Guaranteed minimums of priority groups, in all slices together.
    pub groups: u64,
    /// Private headroom of lossless groups, included in their `size`, in all slices together.
    pub private_headroom: u64,
    /// Guaranteed minimums of egress queues, in each slice.
    pub queues: u64,
    /// Number of lossless groups with private headroom.
    pub private_groups: u64,
}

/// Returns name and settings of the lossless groups' pool.
pub(super) fn lossless_pool(config: &Config) -> Option<(&str, &Pool)> {
    let by_name = config.pools.get_key_value(LOSSLESS_POOL);
    let ingress = |(_, pool): &(&String, &Pool)| {
        pool.side.as_ref().is_some_and(|side| side.value != Side::Egress) && pool.xoff.is_some()
    };
    by_name.or_else(|| config.pools.iter().find(ingress)).map(|(name, pool)| (name.as_str(), pool))
}

impl Memory {
    /// Computes the memory of a configuration on a chip.
    ///
    /// # Errors
    /// If the configuration has no lossless pool, the pool has no size, or headroom and reserves
    /// leave no memory to share.
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
        let reserves = reserves(config, chip);
        let mut terms = vec![Term {
            name: format!("size of {name}"),
            cells: signed(per_slice(size.value)),
            how: format!("{} B in cells of {} B, {}", size.value, chip.cell, slices(chip.slices)),
        }];
        if !net {
            terms.extend(taken(headroom, per_slice(headroom), reserves, chip));
        }
        let shared: i64 = terms.iter().map(|term| term.cells).sum();
        let shared = u64::try_from(shared).ok().filter(|shared| *shared > 0).ok_or_else(|| {
            PredictError::new(
                format!("{}: headroom and reserves leave nothing to share", size.place),
                "raise the pool's size, or lower xoff and the sizes of profiles",
            )
        })?;
        let headroom_pool = (headroom > 0).then(|| per_slice(headroom));
        Ok(Self { chip, pool: name.to_owned(), net, why, terms, shared, headroom_pool, reserves })
    }

    /// Maximum headroom of a priority group (bytes): the headroom pool of its slice.
    #[must_use]
    pub fn usable_headroom_bytes(&self) -> u64 {
        self.headroom_pool.map_or(u64::MAX, |pool| pool * self.chip.cell)
    }

    /// Headroom that one priority group can use (cells, or bytes): the `asked` headroom of its
    /// profile, at most the headroom pool of its slice.
    #[must_use]
    pub fn usable_headroom(&self, asked: u64) -> u64 {
        self.headroom_pool.map_or(asked, |pool| asked.min(pool))
    }

    /// Number of cells (or bytes) that a size occupies, rounded up.
    #[must_use]
    pub fn cells(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.chip.cell)
    }
}

/// Returns headroom and reserves, which a gross pool includes and its shared memory lacks.
fn taken(headroom: u64, pool: u64, reserves: Reserves, chip: &Chip) -> Vec<Term> {
    let off =
        |name: &str, cells: u64, how: String| Term { name: name.to_owned(), cells: -signed(cells), how };
    let Reserves { groups, private_headroom, queues, private_groups } = reserves;
    let of_groups = (groups + private_headroom).div_ceil(chip.slices);
    let slices = slices(chip.slices);
    let (name, how) = if private_groups > 0 {
        let name = "priority groups with their headroom";
        (name, format!("{private_groups} lossless groups, the whole size of each; {slices}"))
    } else {
        let how = format!("{groups} cells of all ports, each in the slice of its port; {slices}");
        ("minimums of priority groups", how)
    };
    let all = [
        off("headroom pool", pool, format!("xoff {headroom} B")),
        off(name, of_groups, how),
        off("minimums of lossy queues", queues, "in every slice: any slice may feed a queue".to_owned()),
    ];
    all.into_iter().filter(|term| term.cells != 0).collect()
}

/// Formats a number of memory slices in words.
pub(crate) fn slices(number: u64) -> String {
    if number == 1 { "1 slice".to_owned() } else { format!("{number} slices") }
}

fn signed(cells: u64) -> i64 {
    i64::try_from(cells).unwrap_or(i64::MAX)
}

/// Whether the sizes of pools in a configuration file exclude headroom and reserves (net pools),
/// with the reason. A static limit covers a pool and its headroom. If size and headroom together
/// fit into the largest static limit of the file, the size excludes the headroom.
fn is_net(config: &Config, size: u64, headroom: u64, chip: &Chip) -> (bool, String) {
    match chip.rule {
        Rule::OneLevel | Rule::TwoLevels => {
            return (true, "NVIDIA switches subtract headroom and reserves when they size a pool".to_owned());
        }
        Rule::Bytes(_) => return (false, "a VOQ system's pool includes its headroom".to_owned()),
        Rule::Cells if !chip.is_known() && is_nvidia(config) => {
            return (true, "NVIDIA switches subtract headroom and reserves when they size a pool".to_owned());
        }
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

/// Whether the `size` of lossless groups includes private headroom. With private headroom, the pool
/// has no shared headroom (`xoff`), and the `size` of a profile or row is at least its `xoff`. In a
/// file with private headroom, the minimums of queues are subtracted from no pool.
fn has_private_headroom(config: &Config, chip: &Chip) -> bool {
    let within = |size: u64, xoff: u64| xoff > 0 && size >= xoff;
    let value = |field: &Option<crate::place::Placed<u64>>| field.as_ref().map_or(0, |field| field.value);
    matches!(chip.rule, Rule::Cells)
        && !config.shared_headroom()
        && (config.lookup.iter().any(|row| within(row.size, row.xoff))
            || config.profiles.values().any(|profile| within(profile.reserve(), value(&profile.xoff))))
}

/// Computes the memory reserved for all priority groups and all egress queues.
fn reserves(config: &Config, chip: &Chip) -> Reserves {
    if !matches!(chip.rule, Rule::Cells) {
        return Reserves::default();
    }
    let in_cells = |bytes: u64| bytes.div_ceil(chip.cell);
    let shared = config.shared_headroom();
    let private = has_private_headroom(config, chip);
    let mut found = Reserves::default();
    let ports = config.named_ports();
    for port in ports.iter().filter(|port| config.in_use(port)) {
        for index in 0..8 {
            let Resolved::Profile(profile) = config.group(port, index) else { continue };
            let minimum = in_cells(profile.minimum(shared));
            found.groups += minimum;
            if private && profile.is_lossless() {
                found.private_headroom += in_cells(profile.reserve()).saturating_sub(minimum);
                found.private_groups += 1;
            }
        }
    }
    if !private {
        let queue = |profile: Option<&Profile>| profile.map_or(0, |profile| in_cells(profile.reserve()));
        let local = config.queues.keys().filter(|(port, _)| !port.is_remote());
        found.queues = local.map(|(port, index)| queue(config.queue(port, *index).profile())).sum();
    }
    found
}
