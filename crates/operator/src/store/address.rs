//! Address of a Redis server, and the parts of the address that messages may show: never a
//! password.

use redis::{ConnectionAddr, IntoConnectionInfo};
use std::path::PathBuf;

/// Endpoint of the Redis server to which connections are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The endpoint is a host name or address with a port number.
    Tcp(String, u16),
    /// The endpoint is the path of a Unix socket.
    Unix(PathBuf),
}

/// Address of a Redis server, as the user gave it.
#[derive(Clone)]
pub(crate) struct Address {
    /// Address of the Redis server without user, password and options.
    shown: String,
    /// Endpoint of the Redis server; `Err` with the mistake in the address.
    pub(crate) target: Result<Target, String>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

impl Address {
    /// Parses the address of a Redis server: `HOST:PORT`, the path of a socket, or a Redis URL.
    pub(crate) fn new(text: &str) -> Self {
        if text.starts_with(['/', '.']) {
            return Self::of_path(PathBuf::from(text));
        }
        let shown = without_secrets(text);
        let url = if text.contains("://") { text.to_owned() } else { format!("redis://{text}") };
        let Ok(info) = url.as_str().into_connection_info() else {
            // The error message of the library may repeat parts of the address, so it is not shown.
            let secure = ["rediss://", "valkeys://"].iter().any(|scheme| text.starts_with(scheme));
            let message = if secure {
                "TLS is not supported: use a tunnel"
            } else {
                "this is not the address of a Redis server"
            };
            return Self { shown, target: Err(message.to_owned()), user: None, password: None };
        };
        let redis = info.redis_settings();
        let (user, password) = (redis.username().map(str::to_owned), redis.password().map(str::to_owned));
        let target = match info.addr() {
            _ if redis.db() != 0 => {
                Err("it names a database: SONiC's have their numbers, leave it out".to_owned())
            }
            ConnectionAddr::Tcp(host, port) => Ok(Target::Tcp(host.clone(), *port)),
            ConnectionAddr::Unix(path) => Ok(Target::Unix(path.clone())),
            _ => Err("connections of this kind are not supported".to_owned()),
        };
        let shown = target.as_ref().map_or(shown, show);
        Self { shown, target, user, password }
    }

    fn of_path(path: PathBuf) -> Self {
        // Different relative paths of one Unix socket become one absolute path, so the server has
        // one name.
        let path = std::path::absolute(&path).unwrap_or(path);
        let target = Target::Unix(path);
        Self { shown: show(&target), target: Ok(target), user: None, password: None }
    }

    /// Address of the Redis server without user, password and options.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Replaces the password in a text that the server sent.
    pub(crate) fn hide(&self, text: &str) -> String {
        match self.password.as_deref() {
            Some(password) if !password.is_empty() => text.replace(password, "***"),
            _ => text.to_owned(),
        }
    }

    /// Returns a short name for files of the Redis server, which differs from the names of other
    /// servers.
    pub(crate) fn file_name(&self) -> String {
        let kept = |c: char| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '-' };
        match &self.target {
            Ok(Target::Tcp(host, port)) => format!("{host}-{port}").chars().map(kept).collect(),
            _ => {
                let last: String =
                    self.shown.rsplit('/').next().unwrap_or_default().chars().map(kept).collect();
                format!("{last}-{:08x}", checksum(self.shown.as_bytes()))
            }
        }
    }
}

fn show(target: &Target) -> String {
    match target {
        Target::Tcp(host, port) if host.contains(':') => format!("[{host}]:{port}"),
        Target::Tcp(host, port) => format!("{host}:{port}"),
        Target::Unix(path) => path.display().to_string(),
    }
}

/// Returns a malformed address without any part that may be a password: without options and without
/// everything before the last `@`.
fn without_secrets(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let place = rest.rsplit('@').next().unwrap_or_default();
    let place = place.split(['?', '#']).next().unwrap_or_default();
    if scheme.is_empty() { place.to_owned() } else { format!("{scheme}://{place}") }
}

/// Returns the checksum FNV-1a with 32 bits. The checksum of a text is equal in every version of
/// this program.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_form_of_an_address_shows_a_password() {
        for text in [
            "redis://admin:s3cret@switch:6379",
            "redis://:s3cret@switch:6379",
            "admin:s3cret@switch:6379",
            "redis://:s3cret%2F@switch",
            "redis://:p@s3cret@switch",
            "redis://:s3cret#1@switch:6379",
            "redis://:a?s3cret@switch:6379",
            "redis://:s3cret/x@switch:6379",
            "rediss://admin:s3cret@switch:6379",
            "unix:///run/redis.sock?user=admin&pass=s3cret",
            "redis://switch:x?password=s3cret",
            "nonsense://admin:s3cret@[",
            "redis://admin:s3cret@switch:6379/9",
        ] {
            let address = Address::new(text);
            let said = format!("{} {:?} {}", address.shown(), address.target, address.file_name());
            assert!(!said.contains("s3cret") && !said.contains("admin"), "{text}: {said}");
        }
        let address = Address::new("redis://admin:s3cret@switch:6379");
        assert_eq!((address.shown(), address.password.as_deref()), ("switch:6379", Some("s3cret")));
        assert_eq!(
            address.hide("ERR unknown command 'AUTH', with args 's3cret'"),
            "ERR unknown command 'AUTH', with args '***'"
        );
    }

    #[test]
    fn an_address_is_a_host_a_path_or_a_url_and_each_names_its_files() {
        let target = |text: &str| Address::new(text).target;
        assert_eq!(target("switch:6380"), Ok(Target::Tcp("switch".to_owned(), 6380)));
        assert_eq!(target("switch"), Ok(Target::Tcp("switch".to_owned(), 6379)));
        assert_eq!(target("[::1]:7"), Ok(Target::Tcp("::1".to_owned(), 7)));
        assert_eq!(target("/run/a?b.sock"), Ok(Target::Unix("/run/a?b.sock".into())));
        assert!(target("redis://switch/4").is_err_and(|message| message.contains("database")));
        assert!(target("rediss://switch").is_err_and(|message| message.contains("TLS")));
        let all = [
            "switch:6379",
            "switch:6380",
            "other:6379",
            "/run/redis.sock",
            "/run/redis-sock",
            "/run0/redis.sock",
        ];
        let names: std::collections::BTreeSet<_> =
            all.iter().map(|text| Address::new(text).file_name()).collect();
        assert_eq!(names.len(), all.len(), "{names:?}");
        assert_eq!(Address::new("127.0.0.1:6379").file_name(), "127.0.0.1-6379");
    }
}
