//! A simulated Redis server with the functions that SONiC's databases need: hashes, scans and
//! transactions.

use std::collections::BTreeMap;

type Hash = BTreeMap<String, String>;

/// Databases that the simulated Redis server has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redis {
    databases: BTreeMap<u8, BTreeMap<String, Hash>>,
    /// Number of writes of each key, for the watches of transactions.
    writes: BTreeMap<(u8, String), u64>,
}

/// A connection as the simulated Redis server sees it.
#[derive(Debug, Default)]
pub(crate) struct Session {
    received: Vec<u8>,
    selected: u8,
    watched: Vec<((u8, String), u64)>,
    /// Commands of the open Redis transaction.
    queued: Option<Vec<Vec<String>>>,
}

impl Session {
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// Returns the next complete Redis command: an array of strings with length prefixes.
    pub(crate) fn command(&mut self) -> Option<Vec<String>> {
        let mut at = 0;
        let number = |at: &mut usize| -> Option<usize> {
            let rest = self.received.get(*at..)?;
            let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
            *at += end + 2;
            std::str::from_utf8(&rest[1..end]).ok()?.parse().ok()
        };
        let count = number(&mut at)?;
        let mut words = Vec::new();
        for _ in 0..count {
            let length = number(&mut at)?;
            let bytes = self.received.get(at..at + length)?;
            words.push(String::from_utf8(bytes.to_vec()).ok()?);
            at += length + 2;
        }
        if at > self.received.len() {
            return None;
        }
        self.received.drain(..at);
        Some(words)
    }
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

impl Redis {
    /// Returns a field of a hash in a database.
    #[allow(dead_code, reason = "the tests of the command line ask through a connection")]
    pub(crate) fn field(&self, database: u8, key: &str, field: &str) -> Option<&str> {
        self.databases.get(&database)?.get(key)?.get(field).map(String::as_str)
    }

    pub(crate) fn write(&mut self, database: u8, key: &str, field: &str, value: &str) {
        *self.writes.entry((database, key.to_owned())).or_default() += 1;
        let hash = self.databases.entry(database).or_default().entry(key.to_owned()).or_default();
        hash.insert(field.to_owned(), value.to_owned());
    }

    fn writes(&self, key: &(u8, String)) -> u64 {
        self.writes.get(key).copied().unwrap_or(0)
    }

    pub(crate) fn answer(&mut self, session: &mut Session, words: &[String]) -> String {
        let name = words.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default();
        match (name.as_str(), session.queued.take()) {
            ("MULTI", None) => {
                session.queued = Some(Vec::new());
                "+OK\r\n".to_owned()
            }
            ("EXEC", Some(queued)) => {
                let watched = std::mem::take(&mut session.watched);
                if watched.iter().any(|(key, writes)| self.writes(key) != *writes) {
                    return "*-1\r\n".to_owned();
                }
                let answers: String = queued.iter().map(|words| self.apply(session, words)).collect();
                format!("*{}\r\n{answers}", queued.len())
            }
            (_, Some(mut queued)) => {
                queued.push(words.to_vec());
                session.queued = Some(queued);
                "+QUEUED\r\n".to_owned()
            }
            ("WATCH", None) => {
                for key in &words[1..] {
                    let key = (session.selected, key.clone());
                    let writes = self.writes(&key);
                    session.watched.push((key, writes));
                }
                "+OK\r\n".to_owned()
            }
            (_, None) => self.apply(session, words),
        }
    }

    fn apply(&mut self, session: &mut Session, words: &[String]) -> String {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let database = session.selected;
        match words.as_slice() {
            ["SELECT", number] => {
                session.selected = number.parse().unwrap_or(0);
                "+OK\r\n".to_owned()
            }
            ["HSET", key, field, value] => {
                self.write(database, key, field, value);
                ":0\r\n".to_owned()
            }
            ["HGETALL", key] => {
                let fields = self.databases.get(&database).and_then(|keys| keys.get(*key));
                let fields = fields.cloned().unwrap_or_default();
                let pairs: String =
                    fields.iter().map(|(name, value)| bulk(name) + bulk(value).as_str()).collect();
                format!("*{}\r\n{pairs}", 2 * fields.len())
            }
            ["SCAN", _, "MATCH", pattern, ..] => {
                let parts: Vec<_> = pattern.split('*').filter(|part| !part.is_empty()).collect();
                let keys = self.databases.get(&database).into_iter().flat_map(|keys| keys.keys());
                let fits: Vec<_> = keys.filter(|key| parts.iter().all(|part| key.contains(part))).collect();
                let list: String = fits.iter().map(|key| bulk(key)).collect();
                format!("*2\r\n{}*{}\r\n{list}", bulk("0"), fits.len())
            }
            _ => format!("-ERR unknown command '{}'\r\n", words.join(" ")),
        }
    }
}
