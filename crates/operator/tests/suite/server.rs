//! A server with SONiC's databases: a real `redis-server` if it is installed, otherwise a simulated
//! server with the functions that SONiC's keys need.

use crate::redis::{Redis, Session};
use bufferlab_operator::store::Database;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A simulated Redis server that ends with the test.
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
                eprintln!("{test}: no redis-server ({error}): a stand-in of this test answers instead");
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

    /// Writes a hash to the server through a separate client.
    pub(crate) fn write(&self, database: Database, key: &str, fields: &[(&str, &str)]) {
        let mut store = bufferlab_operator::store::Store::new(&self.address);
        for (name, value) in fields {
            store.set(database, key, name, value).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// Stops the server: new connections are refused, and existing connections break.
    pub(crate) fn stop(&mut self) {
        self.gone.store(true, Ordering::SeqCst);
        // The connection wakes the simulated server, so that it notices the flag.
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
    let redis: Arc<Mutex<Redis>> = Arc::default();
    let gone = Arc::clone(gone);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if gone.load(Ordering::SeqCst) {
                return;
            }
            let (redis, gone) = (Arc::clone(&redis), Arc::clone(&gone));
            std::thread::spawn(move || serve(stream, &redis, &gone));
        }
    });
}

fn serve(mut stream: TcpStream, redis: &Mutex<Redis>, gone: &AtomicBool) -> Option<()> {
    let (mut session, mut chunk) = (Session::default(), [0; 4096]);
    loop {
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        if gone.load(Ordering::SeqCst) {
            return None;
        }
        session.receive(&chunk[..count]);
        let mut redis = redis.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(words) = session.command() {
            stream.write_all(redis.answer(&mut session, &words).as_bytes()).ok()?;
        }
    }
}
