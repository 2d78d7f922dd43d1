//! Reads the configuration of a running switch in the form of SONiC's files.

use super::{Database, Fields, Store, StoreError};
use bufferlab_sonic::TABLES;
use std::collections::BTreeMap;

/// Reads the configuration of a running switch as dumps that [`bufferlab_sonic::Reader`] reads. A
/// dump is a name and the JSON of a database. APPL_DB adds the values that the switch computes, and
/// STATE_DB adds the size of the memory.
///
/// # Errors
/// If the server gives no answer, or the switch has no buffer configuration.
pub fn dumps(store: &mut Store) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    store.answer_within(Some(store.limits().session));
    let all = all_dumps(store);
    store.answer_within(None);
    all
}

fn all_dumps(store: &mut Store) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let config = dump(store, Database::Config, '|', &|key| {
        TABLES.binary_search(&key.split('|').next().unwrap_or_default()).is_ok()
    })?;
    if config.is_empty() {
        let message = "no key of a table about buffers or ports (BUFFER_POOL|..., PORT|...): is it a switch with SONiC?";
        return Err(store.error(Database::Config, message));
    }
    let running = dump(store, Database::Appl, ':', &|key| {
        let table = key.split(':').next().unwrap_or_default();
        ["BUFFER_POOL_TABLE", "BUFFER_PROFILE_TABLE", "BUFFER_PG_TABLE", "BUFFER_QUEUE_TABLE"]
            .contains(&table)
    })?;
    let state = dump(store, Database::State, '|', &|key| key.starts_with("BUFFER_MAX_PARAM_TABLE|"))?;
    let mut all = Vec::new();
    for (database, entries) in
        [(Database::Config, config), (Database::Appl, running), (Database::State, state)]
    {
        if !entries.is_empty() {
            let name = format!("{} of {}", database.name(), store.address());
            let json = serde_json::to_vec(&entries)
                .map_err(|error| store.error(database, format!("no JSON: {error}")))?;
            all.push((name, json));
        }
    }
    Ok(all)
}

fn dump(
    store: &mut Store,
    database: Database,
    separator: char,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<BTreeMap<String, Fields>, StoreError> {
    let pattern = format!("*{separator}*");
    let mut all = BTreeMap::new();
    let mut bytes = 0;
    for key in store.keys(database, &pattern, wanted)? {
        let fields = store.fields(database, &key)?;
        bytes += key.len() + fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        if bytes > store.limits().dump_bytes {
            let message = format!("more than {} B about buffers", store.limits().dump_bytes);
            return Err(store.error(database, message));
        }
        // Redis has no empty hash and no list in a hash. SONiC writes NULL for an empty hash, and a
        // field name that ends in @ for a list.
        let fields = fields.into_iter().filter(|(name, _)| name != "NULL");
        let fields = fields.map(|(name, value)| (name.trim_end_matches('@').to_owned(), value)).collect();
        all.insert(key, fields);
    }
    Ok(all)
}
