//! The databases of a running switch: Redis, with SONiC's database numbers and keys.
//!
//! The program does not trust the Redis server. It applies limits ([`Limits`]) to every answer
//! before it stores the answer. Every wait ends, also after a signal. The library packs commands
//! and parses answers.

mod address;
mod answer;
mod connection;
mod dump;
mod swap;

pub use answer::Limits;
pub use connection::{Network, StoreConnection};
pub use dump::dumps;
pub use swap::{Swap, SwapError};

use address::Address;
use answer::{Trouble, Waiting};
use bufferlab_sonic::KEYS_MAX;
use bufferlab_units::printable;
use connection::System;
use redis::{Cmd, FromRedisValue, Value, cmd};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Number of keys that one step of a Redis key scan examines.
const STEP: u32 = 1_000;
/// Size of the longest value in the database (bytes).
pub(crate) const VALUE_MAX: usize = 1 << 20;
/// Size of the longest key in the database (bytes).
pub(crate) const KEY_MAX: usize = 4_096;
/// Largest length of a server's error text in a message (characters).
const SHOWN_MAX: usize = 300;

/// Number of attempts to send a command to the database if connections break.
const ATTEMPTS: u32 = 3;

/// Databases of SONiC in a Redis server, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Database {
    /// Database with requests of daemons to the switch: running pools and profiles.
    Appl,
    /// Database with counters and watermarks.
    Counters,
    /// Database with the configuration of the switch.
    Config,
    /// Database with the state of the switch.
    State,
}

impl Database {
    /// Number of the database in the Redis server.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Appl => 0,
            Self::Counters => 2,
            Self::Config => 4,
            Self::State => 6,
        }
    }

    /// Name of the database in SONiC.
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

/// Reason why a database did not answer a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address}, {database}: {message}")]
pub struct StoreError {
    /// Address of the Redis server, without a password.
    pub address: String,
    /// Name of the database in SONiC, such as `CONFIG_DB`.
    pub database: &'static str,
    /// Text of the error message about the request.
    pub message: String,
    /// Whether a signal ended the wait for the database's answer.
    pub interrupted: bool,
}

impl StoreError {
    /// Advice to the user on how to correct the error.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        "give HOST:PORT or the path of a socket that the switch's Redis listens on, such as /var/run/redis/redis.sock"
    }
}

/// Fields of a hash in a Redis database.
pub type Fields = BTreeMap<String, String>;

/// A server with SONiC's databases. The store opens connections when needed, and again after a
/// fault.
pub struct Store {
    address: Address,
    /// Network that opens connections to the server; `Err` with the mistake in the server's
    /// address.
    network: Result<Box<dyn Network>, String>,
    limits: Limits,
    open: BTreeMap<Database, Box<dyn StoreConnection>>,
    /// Time by which the server must have answered all questions, on the network's clock.
    deadline: Option<Duration>,
    interrupted: Option<Arc<AtomicBool>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("address", &self.address.shown()).finish_non_exhaustive()
    }
}

impl Store {
    /// Creates a store for a server at `host:port`, at the path of a socket, or at a Redis URL. The
    /// store opens the connection later.
    #[must_use]
    pub fn new(address: &str) -> Self {
        let address = Address::new(address);
        let network = address.target.clone();
        let network = network.map(|target| -> Box<dyn Network> { Box::new(System::new(target)) });
        Self {
            address,
            network,
            limits: Limits::DEFAULT,
            open: BTreeMap::new(),
            deadline: None,
            interrupted: None,
        }
    }

    /// Creates a store whose connections go through `network` instead of the system's sockets.
    #[must_use]
    pub fn over(address: &str, network: Box<dyn Network>) -> Self {
        Self { network: Ok(network), ..Self::new(address) }
    }

    /// Sets the limits for the answers of the Redis server.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets a flag of the caller; once the flag is true, every request to the database ends with an
    /// error.
    pub fn interrupt_by(&mut self, flag: Option<Arc<AtomicBool>>) {
        self.interrupted = flag;
    }

    /// Sets the time within which the server must answer all later questions, until the next call.
    /// With `None`, each question has a separate time limit.
    pub fn answer_within(&mut self, time: Option<Duration>) {
        self.deadline = time.zip(self.network.as_ref().ok()).map(|(time, network)| network.now() + time);
    }

    /// Limits for the answers of the Redis server.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Address of the server without user, password and options.
    #[must_use]
    pub fn address(&self) -> &str {
        self.address.shown()
    }

    /// Part of file names that is unique to the Redis server.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.address.file_name()
    }

    fn error(&self, database: Database, message: impl AsRef<str>) -> StoreError {
        StoreError {
            address: printable(self.address.shown()).into_owned(),
            database: database.name(),
            // An error text from the server may contain terminal escapes, or the password that the
            // server received.
            message: printable(&self.address.hide(message.as_ref())).into_owned(),
            interrupted: false,
        }
    }

    fn trouble(&self, database: Database, trouble: Trouble) -> StoreError {
        let interrupted = matches!(trouble, Trouble::Interrupted);
        let message = match trouble {
            Trouble::Unreachable(error) => format!("cannot connect: {error}"),
            Trouble::Broken(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                "it closes the connection instead of answering".to_owned()
            }
            Trouble::Broken(error) => format!("the connection broke: {error}"),
            Trouble::Late if self.is_over() => "not everything was answered in time".to_owned(),
            Trouble::Late => format!("no whole answer within {} s", self.limits.time.as_secs_f64()),
            Trouble::Interrupted => "interrupted while waiting for an answer".to_owned(),
            Trouble::Nonsense(message) => message,
            Trouble::Refused(message) => {
                format!("it answers: {}", message.chars().take(SHOWN_MAX).collect::<String>())
            }
        };
        StoreError { interrupted, ..self.error(database, message) }
    }

    fn is_over(&self) -> bool {
        self.deadline.zip(self.network.as_ref().ok()).is_some_and(|(end, network)| network.now() >= end)
    }

    /// Takes the open connection to a database, or opens a connection.
    fn connected(&mut self, database: Database) -> Result<Box<dyn StoreConnection>, Trouble> {
        if let Some(connection) = self.open.remove(&database) {
            return Ok(connection);
        }
        let network = self.network.as_mut().map_err(|message| Trouble::Nonsense(message.clone()))?;
        let mut time = self.limits.time;
        if let Some(end) = self.deadline {
            time = time.min(end.saturating_sub(network.now()));
        }
        if time.is_zero() {
            return Err(Trouble::Late);
        }
        let mut connection = network.connect(time).map_err(Trouble::Unreachable)?;
        if let Some(password) = self.address.password.clone() {
            let mut auth = cmd("AUTH");
            if let Some(user) = &self.address.user {
                auth.arg(user);
            }
            self.exchange(&mut *connection, auth.arg(password))?;
        }
        self.exchange(&mut *connection, cmd("SELECT").arg(database.number()))?;
        Ok(connection)
    }

    /// Sends a command to the Redis server and receives the answer.
    fn exchange(&self, connection: &mut dyn StoreConnection, command: &Cmd) -> Result<Value, Trouble> {
        let network = self.network.as_ref().map_err(|message| Trouble::Nonsense(message.clone()))?;
        let own = network.now() + self.limits.time;
        let waiting = Waiting {
            network: &**network,
            limits: &self.limits,
            until: self.deadline.map_or(own, |end| end.min(own)),
            interrupted: self.interrupted.as_deref(),
        };
        waiting.send(connection, &command.get_packed_command())?;
        let bytes = waiting.receive(connection)?;
        if let [b'-', message @ ..] = bytes.as_slice() {
            return Err(Trouble::Refused(String::from_utf8_lossy(message).trim_end().to_owned()));
        }
        redis::parse_redis_value(&bytes)
            .map_err(|error| Trouble::Nonsense(format!("an invalid answer: {error}")))
    }

    /// Sends a command to the database and returns the answer. The server may have closed an idle
    /// connection. If so, the command is repeated over a new connection. All commands of this
    /// module may be repeated.
    fn ask(&mut self, database: Database, command: &Cmd) -> Result<Value, StoreError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let answer = self.connected(database).and_then(|mut connection| {
                let answer = self.exchange(&mut *connection, command)?;
                self.open.insert(database, connection);
                Ok(answer)
            });
            match answer {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Broken(_)) if attempts < ATTEMPTS => {}
                Err(trouble) => return Err(self.trouble(database, trouble)),
            }
        }
    }

    /// Converts the server's answer to the Rust type that the caller needs.
    fn read<T: FromRedisValue>(&self, database: Database, value: Value) -> Result<T, StoreError> {
        redis::from_redis_value(value)
            .map_err(|error| self.error(database, format!("an unexpected answer: {error}")))
    }

    /// Returns the keys of hashes that match a pattern and satisfy `wanted`, in sorted order.
    ///
    /// # Errors
    /// If the server gives no answer, or the scan does not end. If there are more keys than a
    /// configuration has, or a key is too long or not UTF-8.
    pub fn keys(
        &mut self,
        database: Database,
        pattern: &str,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<String>, StoreError> {
        let (mut cursor, mut found): (u64, Vec<String>) = (0, Vec::new());
        let mut bytes = 0;
        for _ in 0..self.limits.steps {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(STEP);
            let answer = self.ask(database, &scan)?;
            let (next, keys): (u64, Vec<Vec<u8>>) = self.read(database, answer)?;
            for key in keys {
                let key = String::from_utf8(key)
                    .map_err(|error| self.error(database, format!("a key is not UTF-8: {error}")))?;
                if !wanted(&key) {
                    continue;
                }
                if key.len() > KEY_MAX {
                    return Err(self.error(database, format!("a key of {} B", key.len())));
                }
                bytes += key.len();
                found.push(key);
            }
            if found.len() > KEYS_MAX {
                return Err(self.error(database, format!("more than {KEYS_MAX} keys match {pattern}")));
            }
            if bytes > self.limits.dump_bytes {
                let most = self.limits.dump_bytes;
                return Err(self.error(database, format!("more than {most} B of keys match {pattern}")));
            }
            // The cursor of a scan changes with every step, even if the step finds nothing.
            if next == cursor && next != 0 {
                return Err(
                    self.error(database, format!("the scan of its keys stays at {cursor}: is it a Redis?"))
                );
            }
            cursor = next;
            if cursor == 0 {
                // A scan of the database may return a key twice.
                found.sort_unstable();
                found.dedup();
                return Ok(found);
            }
        }
        let message = format!("the scan of its keys has no end within {} steps", self.limits.steps);
        Err(self.error(database, message))
    }

    /// Returns the fields of a hash; empty if the hash does not exist.
    ///
    /// # Errors
    /// If the server gives no answer, the key is not a hash, or a value is not UTF-8 or
    /// longer than 1 MiB.
    pub fn fields(&mut self, database: Database, key: &str) -> Result<Fields, StoreError> {
        let answer = self.ask(database, cmd("HGETALL").arg(key))?;
        self.read_fields(database, key, answer)
    }

    fn read_fields(&self, database: Database, key: &str, answer: Value) -> Result<Fields, StoreError> {
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = self.read(database, answer)?;
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

    /// Sets a field of a hash unconditionally. Use [`Self::swap`] if a value must not be lost.
    ///
    /// # Errors
    /// If the server gives no answer, or refuses the write.
    pub fn set(&mut self, database: Database, key: &str, field: &str, value: &str) -> Result<(), StoreError> {
        let answer = self.ask(database, cmd("HSET").arg(key).arg(field).arg(value))?;
        self.read::<i64>(database, answer).map(|_| ())
    }
}
