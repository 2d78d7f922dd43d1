//! A server with SONiC's databases: a real `redis-server` where one is installed, else as much of one as SONiC's keys need.

use bufferlab_operator::store::Database;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

type Databases = BTreeMap<u8, BTreeMap<String, BTreeMap<String, String>>>;

/// A server that ends with the test.
pub(crate) struct Server {
    address: String,
    child: Option<Child>,
    gone: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(test: &str) -> Self {
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let gone = Arc::new(AtomicBool::new(false));
        let child = match child {
            Ok(child) => Some(child),
            Err(error) => {
                let why = "a stand-in of the test answers instead";
                let _ = writeln!(std::io::stderr(), "SKIPPED {test} with a redis-server: {error}; {why}");
                stand_in(port, &gone);
                None
            }
        };
        let address = format!("127.0.0.1:{port}");
        for _ in 0..100 {
            if TcpStream::connect(&address).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { address, child, gone }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Writes a hash with a client of its own.
    pub(crate) fn write(&self, database: Database, key: &str, fields: &[(&str, &str)]) {
        let mut store = bufferlab_operator::store::Store::new(&self.address);
        for (name, value) in fields {
            store.set(database, key, name, value).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// The server is gone: it takes no connections, and those that exist break.
    pub(crate) fn stop(&mut self) {
        self.gone.store(true, Ordering::SeqCst);
        // The stand-in wakes up and sees it.
        let _ = TcpStream::connect(&self.address);
        if let Some(mut child) = self.child.take() {
            child.kill().expect("a process of this test");
            child.wait().expect("it ends");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn stand_in(port: u16, gone: &Arc<AtomicBool>) {
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    let databases: Arc<Mutex<Databases>> = Arc::default();
    let gone = Arc::clone(gone);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if gone.load(Ordering::SeqCst) {
                return;
            }
            let (databases, gone) = (Arc::clone(&databases), Arc::clone(&gone));
            std::thread::spawn(move || serve(&stream, &databases, &gone));
        }
    });
}

fn serve(stream: &TcpStream, databases: &Mutex<Databases>, gone: &AtomicBool) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream.try_clone().ok()?;
    let mut selected = 0;
    loop {
        let words = command(&mut reader)?;
        if gone.load(Ordering::SeqCst) {
            return None;
        }
        let mut databases = databases.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answer(words, &mut selected, &mut databases);
        writer.write_all(answer.as_bytes()).ok()?;
    }
}

/// A command: an array of strings with their lengths.
fn command(reader: &mut impl BufRead) -> Option<VecDeque<String>> {
    let number = |reader: &mut dyn BufRead| -> Option<usize> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        line.trim_start_matches(['*', '$']).trim().parse().ok()
    };
    let count = number(reader)?;
    let mut words = VecDeque::new();
    for _ in 0..count {
        let length = number(reader)?;
        let mut bytes = vec![0; length + 2];
        reader.read_exact(&mut bytes).ok()?;
        bytes.truncate(length);
        words.push_back(String::from_utf8(bytes).ok()?);
    }
    Some(words)
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn answer(mut words: VecDeque<String>, selected: &mut u8, databases: &mut Databases) -> String {
    let mut next = || words.pop_front().unwrap_or_default();
    let name = next().to_ascii_uppercase();
    match name.as_str() {
        "SELECT" => {
            *selected = next().parse().unwrap_or(0);
            "+OK\r\n".to_owned()
        }
        "HSET" => {
            let (key, field, value) = (next(), next(), next());
            databases.entry(*selected).or_default().entry(key).or_default().insert(field, value);
            ":1\r\n".to_owned()
        }
        "HGETALL" => {
            let fields = databases.get(selected).and_then(|database| database.get(&next()));
            let fields = fields.cloned().unwrap_or_default();
            let pairs: String =
                fields.iter().map(|(name, value)| bulk(name) + bulk(value).as_str()).collect();
            format!("*{}\r\n{pairs}", 2 * fields.len())
        }
        "SCAN" => {
            let (_, _, pattern) = (next(), next(), next());
            let parts: Vec<_> = pattern.split('*').filter(|part| !part.is_empty()).collect();
            let keys = databases.get(selected).map(|database| database.keys().cloned().collect::<Vec<_>>());
            let keys: Vec<_> = keys.unwrap_or_default();
            let fits: Vec<_> =
                keys.iter().filter(|key| parts.iter().all(|part| key.contains(part))).collect();
            let list: String = fits.iter().map(|key| bulk(key)).collect();
            format!("*2\r\n{}*{}\r\n{list}", bulk("0"), fits.len())
        }
        _ => "+OK\r\n".to_owned(),
    }
}
