//! Reads watermarks and counters from dumps of COUNTERS_DB.

use super::{Reading, Sample};
use crate::place::printable;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The reason why a dump of COUNTERS_DB has no readings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CounterError(String);

const GROUP: &str = "SAI_INGRESS_PRIORITY_GROUP_STAT_";
const QUEUE: &str = "SAI_QUEUE_STAT_";

/// A dump of COUNTERS_DB: fields by key.
struct Dump(Map<String, Value>);

impl Dump {
    /// Returns the fields of a key: a plain object, or the `value` of `redis-dump`.
    fn fields(&self, key: &str) -> Option<&Map<String, Value>> {
        let entry = self.0.get(key)?.as_object()?;
        entry.get("value").and_then(Value::as_object).or(Some(entry))
    }

    /// Returns a counter of a database object, from the counters or from one of the tables of
    /// watermarks.
    fn number(&self, oid: &str, name: &str) -> Result<Option<u64>, CounterError> {
        for table in ["COUNTERS", "PERIODIC_WATERMARKS", "USER_WATERMARKS", "PERSISTENT_WATERMARKS"] {
            let found = self.fields(&format!("{table}:{oid}")).and_then(|fields| fields.get(name));
            match found {
                None => {}
                Some(Value::String(text)) if text == "N/A" => {}
                Some(Value::Number(number)) if number.is_u64() => return Ok(number.as_u64()),
                Some(Value::String(text)) if text.parse::<u64>().is_ok() => return Ok(text.parse().ok()),
                Some(other) => {
                    let shown = printable(&other.to_string().chars().take(40).collect::<String>());
                    return Err(CounterError(format!("{table}:{oid}: {name} is {shown}, not a number")));
                }
            }
        }
        Ok(None)
    }

    /// Returns pairs of a name and an object id from a map such as `COUNTERS_PG_NAME_MAP`.
    fn objects(&self, map: &str) -> BTreeMap<&str, &str> {
        let fields = self.fields(map).into_iter().flatten();
        fields.filter_map(|(name, oid)| Some((name.as_str(), oid.as_str()?))).collect()
    }
}

/// Reads the dumps of one switch in the order of time. If the counter of pauses or losses rises
/// between two dumps, the group or queue reached its limit in this interval. A counter above 0 in
/// the first dump also means that the group or queue reached its limit.
///
/// # Errors
/// If a dump is not JSON, names no group or queue, or has a counter that is not a number.
pub fn read(dumps: &[&[u8]]) -> Result<Vec<Sample>, CounterError> {
    let mut before: BTreeMap<(bool, String), u64> = BTreeMap::new();
    dumps.iter().map(|bytes| sample(bytes, &mut before)).collect()
}

fn sample(bytes: &[u8], before: &mut BTreeMap<(bool, String), u64>) -> Result<Sample, CounterError> {
    let parsed = serde_json::from_slice(bytes).map_err(|error| CounterError(format!("not JSON: {error}")))?;
    let Value::Object(keys) = parsed else {
        return Err(CounterError("expected an object with the keys of COUNTERS_DB".to_owned()));
    };
    let dump = Dump(keys);
    let ports = dump.objects("COUNTERS_PORT_NAME_MAP");
    let mut sample = Sample::default();
    for (is_group, map) in [(true, "COUNTERS_PG_NAME_MAP"), (false, "COUNTERS_QUEUE_NAME_MAP")] {
        for (name, oid) in dump.objects(map) {
            let Some((port, index)) = name.rsplit_once(':') else { continue };
            let Ok(index) = index.parse::<u8>() else { continue };
            let stat =
                |name: &str| dump.number(oid, &format!("{}{name}", if is_group { GROUP } else { QUEUE }));
            let Some(shared) = stat("SHARED_WATERMARK_BYTES")? else { continue };
            let headroom = stat("XOFF_ROOM_WATERMARK_BYTES")?.unwrap_or(0);
            let events = match (is_group, ports.get(port)) {
                (true, Some(oid)) => dump.number(oid, &format!("SAI_PORT_STAT_PFC_{index}_TX_PKTS"))?,
                (true, None) => None,
                (false, _) => stat("DROPPED_PACKETS")?,
            };
            let events = events.unwrap_or(0);
            let seen = before.insert((is_group, name.to_owned()), events).unwrap_or(0);
            sample.readings.push(Reading {
                port: port.to_owned(),
                index,
                is_group,
                shared,
                headroom,
                total: stat("WATERMARK_BYTES")?,
                reached: headroom > 0 || events > seen,
            });
        }
    }
    if sample.readings.is_empty() {
        let message = "no watermarks: expected COUNTERS_PG_NAME_MAP or COUNTERS_QUEUE_NAME_MAP, and COUNTERS or \
                       USER_WATERMARKS of their objects";
        return Err(CounterError(message.to_owned()));
    }
    for (name, oid) in dump.objects("COUNTERS_BUFFER_POOL_NAME_MAP") {
        if let Some(mark) = dump.number(oid, "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES")? {
            sample.pools.insert(name.to_owned(), mark);
        }
    }
    Ok(sample)
}
