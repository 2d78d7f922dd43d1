//! Reads the counters of queues and priority groups from COUNTERS_DB.

use super::Tuner;
use crate::store::{Database, Fields, Store, StoreError};
use bufferlab_units::printable;
use std::collections::BTreeMap;

/// Counters of a queue or priority group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Peak occupancy of the priority group or queue since the switch's previous poll (bytes).
    pub watermark: u64,
    /// Number of bytes that the queue sent; priority groups do not count sent bytes.
    pub bytes: Option<u64>,
    /// Number of packets that the priority group or queue lost.
    pub dropped: u64,
}

/// Sample of all watched counters at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Time at which the counters were read (s).
    pub seconds: f64,
    /// Counters of the watched queues and priority groups.
    pub members: BTreeMap<super::Member, Reading>,
    /// Watermarks of the pools (bytes), by name.
    pub pools: BTreeMap<String, u64>,
}

/// Reason why no sample of the counters exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// The counter database does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A value in the database is not a counter.
    #[error("COUNTERS_DB: {0}")]
    Nonsense(String),
}

/// Reads all counters that a tuner watches.
///
/// # Errors
/// If the server gives no answer, the database has no names of queues, or a value is not a number.
pub fn sample(store: &mut Store, tuner: &Tuner, seconds: f64) -> Result<Sample, CountError> {
    let mut sample = Sample { seconds, ..Sample::default() };
    let queues = store.fields(Database::Counters, "COUNTERS_QUEUE_NAME_MAP")?;
    let groups = store.fields(Database::Counters, "COUNTERS_PG_NAME_MAP")?;
    let members = || tuner.tracked.iter().flat_map(|tracked| &tracked.members);
    for member in members() {
        let names = if member.group { &groups } else { &queues };
        // A port that is down may have no counters.
        let Some(oid) = names.get(&format!("{}:{}", member.port, member.index)) else { continue };
        let counters = store.fields(Database::Counters, &format!("COUNTERS:{oid}"))?;
        let (mark, dropped) = if member.group {
            (
                "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES",
                "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS",
            )
        } else {
            ("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "SAI_QUEUE_STAT_DROPPED_PACKETS")
        };
        let at = format!("{} {}", member.port, member.index);
        let reading = Reading {
            watermark: watermark(store, &counters, oid, mark, &at)?.unwrap_or(0),
            bytes: number(&counters, "SAI_QUEUE_STAT_BYTES", &at)?,
            dropped: number(&counters, dropped, &at)?.unwrap_or(0),
        };
        sample.members.insert(member.clone(), reading);
    }
    if sample.members.is_empty() {
        let message = "no queue of the configuration is in COUNTERS_QUEUE_NAME_MAP: is counterpoll on?";
        return Err(CountError::Nonsense(message.to_owned()));
    }
    let pools = store.fields(Database::Counters, "COUNTERS_BUFFER_POOL_NAME_MAP")?;
    for (name, oid) in pools {
        let counters = store.fields(Database::Counters, &format!("COUNTERS:{oid}"))?;
        if let Some(mark) = watermark(store, &counters, &oid, "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", &name)?
        {
            sample.pools.insert(name, mark);
        }
    }
    Ok(sample)
}

/// Reads the watermark since the switch's last poll; the switch clears this watermark at every
/// poll. If it is missing, the function reads the watermark since the start of the period. If that
/// watermark is missing, too, the function reads the watermark since the user's last clear.
fn watermark(
    store: &mut Store,
    counters: &Fields,
    oid: &str,
    name: &str,
    at: &str,
) -> Result<Option<u64>, CountError> {
    if let Some(mark) = number(counters, name, at)? {
        return Ok(Some(mark));
    }
    for table in ["PERIODIC_WATERMARKS", "USER_WATERMARKS"] {
        let marks = store.fields(Database::Counters, &format!("{table}:{oid}"))?;
        if let Some(mark) = number(&marks, name, at)? {
            return Ok(Some(mark));
        }
    }
    Ok(None)
}

/// Reads a counter; `None` if the counter is missing, or if the switch reports it as not available.
fn number(fields: &Fields, name: &str, at: &str) -> Result<Option<u64>, CountError> {
    match fields.get(name).map(String::as_str) {
        None | Some("N/A") => Ok(None),
        Some(text) => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(CountError::Nonsense(format!(
                "{at}: {name} is \"{}\", not a number of bytes or packets",
                printable(&text.chars().take(40).collect::<String>())
            ))),
        },
    }
}
