//! The databases of a running switch: Redis, with SONiC's numbers and keys.

use bufferlab_sonic::{KEYS_MAX, TABLES};
use redis::{Client, Connection, RedisError};
use std::collections::BTreeMap;
use std::time::Duration;

/// A database has to answer within this time.
const PATIENCE: Duration = Duration::from_secs(3);
/// Keys that one step of a scan looks at.
const STEP: u32 = 1_000;
/// A value is not longer (bytes).
const VALUE_MAX: usize = 1 << 20;

/// So often a question is put where calls are interrupted.
const ATTEMPTS: u32 = 8;

/// Databases of SONiC by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Database {
    /// What daemons ask of the switch: pools and profiles as they run.
    Appl,
    /// Counters and watermarks.
    Counters,
    /// The configuration.
    Config,
    /// State.
    State,
}

impl Database {
    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Appl => 0,
            Self::Counters => 2,
            Self::Config => 4,
            Self::State => 6,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Appl => "APPL_DB",
            Self::Counters => "COUNTERS_DB",
            Self::Config => "CONFIG_DB",
            Self::State => "STATE_DB",
        }
    }
}

/// Why a database gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address}, {database}: {message}")]
pub struct StoreError {
    /// The server.
    pub address: String,
    /// The database.
    pub database: &'static str,
    /// What went wrong.
    pub message: String,
}

impl StoreError {
    /// What to do.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        "give HOST:PORT or the path of a socket that the switch's Redis listens on, such as /var/run/redis/redis.sock"
    }
}

/// Fields of a hash.
pub type Fields = BTreeMap<String, String>;

/// A server with SONiC's databases. Connections are made when they are needed, and anew after a fault.
pub struct Store {
    address: String,
    url: String,
    open: BTreeMap<Database, Connection>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Store {
    /// A server at `host:port`, at the path of a socket, or at a URL of Redis. Nothing is asked yet.
    #[must_use]
    pub fn new(address: &str) -> Self {
        let url = match address {
            url if url.contains("://") => url.to_owned(),
            path if path.starts_with(['/', '.']) => format!("unix://{path}"),
            host => format!("redis://{host}"),
        };
        Self { address: address.to_owned(), url, open: BTreeMap::new() }
    }

    fn error(&self, database: Database, message: impl Into<String>) -> StoreError {
        StoreError { address: self.address.clone(), database: database.name(), message: message.into() }
    }

    fn connect(&self, database: Database) -> Result<Connection, RedisError> {
        let number = database.number();
        let url = match self.url.strip_prefix("unix://") {
            Some(_) => format!("{}?db={number}", self.url),
            None => format!("{}/{number}", self.url.trim_end_matches('/')),
        };
        let connection = Client::open(url)?.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(connection)
    }

    /// Asks; a connection that fails is given up. One that was there before may have been closed meanwhile, and a signal may
    /// interrupt any call: then the question is put again over a new one. Every question here may be asked twice.
    fn ask<T>(
        &mut self,
        database: Database,
        question: impl Fn(&mut Connection) -> Result<T, RedisError>,
    ) -> Result<T, StoreError> {
        let mut attempts = 0;
        loop {
            let connection = self.open.remove(&database).map_or_else(|| self.connect(database), Ok);
            let answer = connection.and_then(|mut connection| {
                let answer = question(&mut connection)?;
                self.open.insert(database, connection);
                Ok(answer)
            });
            attempts += 1;
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) if is_passing(&error) && attempts < ATTEMPTS => {}
                Err(error) => return Err(self.error(database, error.to_string())),
            }
        }
    }

    /// Keys of hashes that match a pattern, sorted.
    ///
    /// # Errors
    /// No answer; more keys than a configuration has; a key that is not UTF-8.
    pub fn keys(&mut self, database: Database, pattern: &str) -> Result<Vec<String>, StoreError> {
        let (mut cursor, mut found): (u64, Vec<String>) = (0, Vec::new());
        loop {
            let (next, keys): (u64, Vec<Vec<u8>>) = self.ask(database, |connection| {
                redis::cmd("SCAN")
                    .arg(cursor)
                    .arg("MATCH")
                    .arg(pattern)
                    .arg("COUNT")
                    .arg(STEP)
                    .query(connection)
            })?;
            for key in keys {
                let key = String::from_utf8(key)
                    .map_err(|error| self.error(database, format!("a key is not UTF-8: {error}")))?;
                found.push(key);
            }
            if found.len() > KEYS_MAX {
                return Err(self.error(database, format!("more than {KEYS_MAX} keys match {pattern}")));
            }
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
        // A scan may answer a key twice.
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Fields of a hash; empty where there is none.
    ///
    /// # Errors
    /// No answer; something else than a hash; a value that is not UTF-8, or longer than 1 MiB.
    pub fn fields(&mut self, database: Database, key: &str) -> Result<Fields, StoreError> {
        let pairs: Vec<(Vec<u8>, Vec<u8>)> =
            self.ask(database, |connection| redis::cmd("HGETALL").arg(key).query(connection))?;
        let mut fields = Fields::new();
        for (name, value) in pairs {
            if value.len() > VALUE_MAX {
                return Err(self.error(database, format!("{key}: a value of {} B", value.len())));
            }
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
            let (Some(name), Some(value)) = (text(name), text(value)) else {
                return Err(self.error(database, format!("{key}: a field is not UTF-8")));
            };
            fields.insert(name, value);
        }
        Ok(fields)
    }

    /// Sets a field of a hash.
    ///
    /// # Errors
    /// No answer, or a refusal.
    pub fn set(&mut self, database: Database, key: &str, field: &str, value: &str) -> Result<(), StoreError> {
        self.ask(database, |connection| {
            redis::cmd("HSET").arg(key).arg(field).arg(value).query::<i64>(connection).map(|_| ())
        })
    }
}

/// Whether another attempt may succeed at once: the call was interrupted, or the connection broke. Whoever refuses or does not
/// answer will do so again.
fn is_passing(error: &RedisError) -> bool {
    error.is_io_error() && !error.is_timeout() && !error.is_connection_refusal()
}

/// The configuration of a running switch as dumps that [`bufferlab_sonic::Reader`] reads: a name and the JSON of each
/// database. What runs (APPL_DB) fills in what the configuration leaves to the switch, and the size of the
/// memory is the switch's own (STATE_DB).
///
/// # Errors
/// No answer; a switch without a configuration of buffers.
pub fn dumps(store: &mut Store) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
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
            let name = format!("{} of {}", database.name(), store.address);
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
    for key in store.keys(database, &pattern)?.into_iter().filter(|key| wanted(key)) {
        let fields = store.fields(database, &key)?;
        // Redis has no empty hash and no list in one: SONiC writes NULL and a name that ends in @.
        let fields = fields.into_iter().filter(|(name, _)| name != "NULL");
        let fields = fields.map(|(name, value)| (name.trim_end_matches('@').to_owned(), value)).collect();
        all.insert(key, fields);
    }
    Ok(all)
}
