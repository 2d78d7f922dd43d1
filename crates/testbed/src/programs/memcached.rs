//! The memcached server of a host, and clients that query it over persistent connections.
//!
//! The client sets the code point before it connects, and the server's kernel reflects the code
//! point (`tcp_reflect_tos`). So an unmodified memcached answers with the priority of its
//! transport. After the connection is open, the client's packets (requests and acknowledgements)
//! have the priority of control packets.
//!
//! Memcached does not choose a congestion control. When the server accepts a connection, the
//! connection gets the control of the server's route to the client. The network's default cannot be
//! used, because the default must be a control that the machine allows to every user.

use super::{Running, start_in, wait_for};
use crate::apps::{AppEvent, Connection, Message};
use crate::clock::now_ns;
use crate::error::TestbedError;
use crate::lab::{CARD, address, in_network, run_in, set};
use crate::plan::{code_point, kernel_name};
use bufferlab_scenario::TransportSpec;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::BTreeSet;
use std::io::{Error, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

const PROGRAM: &str = "memcached";
const PORT: u16 = 11_211;
/// Smallest limit for the size of a value that the testbed gives to memcached (bytes): memcached's
/// default.
const LEAST_LIMIT: u64 = 1 << 20;
/// Generous estimate of memcached's memory overhead per value (bytes): the item's header.
const AROUND: u64 = 1 << 10;

/// A memcached server that runs on a host.
#[derive(Debug)]
pub(super) struct Memcached {
    host: u32,
    name: String,
    /// Sizes of the values that memcached stores (bytes).
    held: BTreeSet<u64>,
    _process: Running,
}

fn failed(error: Error) -> TestbedError {
    TestbedError::Program { program: PROGRAM.to_owned(), why: error.to_string() }
}

/// Key under which memcached stores the value of `size` bytes.
fn key(size: u64) -> String {
    format!("bytes-{size}")
}

/// Text before the value of `size` bytes in memcached's answer.
fn head(size: u64) -> String {
    format!("VALUE {} 0 {size}\r\n", key(size))
}

/// Text after a value in the answer of memcached.
const TAIL: &str = "\r\nEND\r\n";

impl Memcached {
    pub(super) fn start((host, name): (u32, &str), largest_answer: u64) -> Result<Self, TestbedError> {
        set(name, "net.ipv4.tcp_reflect_tos", "1")?;
        let limit = (largest_answer + AROUND).max(LEAST_LIMIT);
        // Reserve memory for 16 values of the largest size.
        let megabytes = (16 * limit).div_ceil(1 << 20).max(64);
        // Run memcached as root, because the sandbox may have only this user.
        let args =
            format!("-u root -l {} -p {PORT} -U 0 -t 1 -c 4096 -m {megabytes} -I {limit}", address(host));
        let args: Vec<_> = args.split(' ').map(str::to_owned).collect();
        let process = start_in(name, PROGRAM, &args, None)?;
        wait_for(name, PROGRAM, PORT)?;
        let name = name.to_owned();
        Ok(Self { host, name, held: BTreeSet::new(), _process: process })
    }

    fn socket(&self) -> SocketAddr {
        SocketAddr::from((address(self.host), PORT))
    }

    /// Stores a value of `size` bytes from inside the host, so that no packet passes the switch.
    pub(super) fn hold(&mut self, size: u64) -> Result<(), TestbedError> {
        if !self.held.insert(size) {
            return Ok(());
        }
        let at = self.socket();
        let store = move || {
            let mut stream = TcpStream::connect(at)?;
            let mut text = format!("set {} 0 0 {size}\r\n", key(size)).into_bytes();
            text.resize(text.len() + size as usize, b'z');
            text.extend(b"\r\n");
            stream.write_all(&text)?;
            expect(&mut stream, "STORED\r\n")
        };
        in_network(&self.name, store)?.map_err(failed)
    }

    /// Opens a connection from the querying host `dst`. On return, the server has accepted the
    /// connection.
    pub(super) fn connect(
        &self,
        (dst, name): (u32, &str),
        transport: &TransportSpec,
        events: &Sender<AppEvent>,
    ) -> Result<Connection, TestbedError> {
        let control = kernel_name(&transport.congestion_control);
        let route = format!("{}/32 dev {CARD} src {}", address(dst), address(self.host));
        run_in(&self.name, &format!("ip route replace {route} congctl {control}"))?;
        let tos = |priority: u8| u32::from(code_point(priority)) << 2;
        let (data, own) = (tos(transport.data_priorities[0]), tos(transport.control_priority));
        let (at, control) = (self.socket(), control.to_owned());
        let open = move || -> std::io::Result<(TcpStream, u16)> {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
            socket.set_tcp_congestion(control.as_bytes())?;
            socket.set_tos_v4(data)?;
            socket.set_tcp_nodelay(true)?;
            socket.connect_timeout(&at.into(), super::PATIENCE)?;
            socket.set_tos_v4(own)?;
            let mut stream = TcpStream::from(socket);
            // The answer proves that the server has accepted the connection.
            stream.write_all(b"version\r\n")?;
            expect(&mut stream, "VERSION ")?;
            while read_byte(&mut stream)? != b'\n' {}
            let port = stream.local_addr()?.port();
            Ok((stream, port))
        };
        let (stream, port) = in_network(name, open)?.map_err(failed)?;
        // The route is removed because its congestion control would also apply to other connections
        // to the client, such as those of iperf3.
        run_in(&self.name, &format!("ip route del {route}"))?;
        let (send, asked) = channel();
        let received = Arc::new(AtomicU64::new(0));
        let (counted, events) = (Arc::clone(&received), events.clone());
        std::thread::spawn(move || {
            if let Err(error) = ask_all(stream, &asked, &events, &counted) {
                let _ = events.send(AppEvent::Failed { program: PROGRAM, why: error.to_string() });
            }
        });
        let hash = bufferlab_dataplane::frame::tcp_flow((address(self.host), PORT), (address(dst), port));
        Ok(Connection { send, hash, received })
    }
}

fn read_byte(stream: &mut TcpStream) -> std::io::Result<u8> {
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Reads the text `wanted` from the server; an error contains the bytes received instead.
fn expect(stream: &mut TcpStream, wanted: &str) -> std::io::Result<()> {
    let mut line = Vec::new();
    while line != wanted.as_bytes() && !line.ends_with(b"\n") {
        line.push(read_byte(stream)?);
    }
    if line == wanted.as_bytes() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&line).trim().to_owned();
    Err(Error::other(format!("it answered \"{said}\" in the place of \"{}\"", wanted.trim())))
}

/// Requests the values of all message sizes, one value at a time.
fn ask_all(
    mut stream: TcpStream,
    asked: &Receiver<Message>,
    events: &Sender<AppEvent>,
    received: &AtomicU64,
) -> std::io::Result<()> {
    let mut chunk = vec![0; 1 << 16];
    while let Ok(Message { flow, size }) = asked.recv() {
        stream.write_all(format!("get {}\r\n", key(size)).as_bytes())?;
        expect(&mut stream, &head(size))?;
        let mut left = size;
        while left > 0 {
            let most = left.min(chunk.len() as u64) as usize;
            let read = stream.read(&mut chunk[..most])? as u64;
            if read == 0 {
                return Err(Error::other("it closed a connection within an answer"));
            }
            received.fetch_add(read, Ordering::Relaxed);
            left -= read;
        }
        stream.read_exact(&mut chunk[..TAIL.len()])?;
        if &chunk[..TAIL.len()] != TAIL.as_bytes() {
            return Err(Error::other("an answer does not end where it should"));
        }
        if events.send(AppEvent::Arrived { flow, at_ns: now_ns(), bytes: size }).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::mpsc::channel;

    /// Queries a server that answers each request with `answer`.
    fn asked_once(answer: Vec<u8>, size: u64) -> (std::io::Result<()>, Vec<AppEvent>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("it has one");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("somebody asks");
            while read_byte(&mut stream).expect("a line") != b'\n' {}
            stream.write_all(&answer).expect("somebody listens");
        });
        let (ask, asked) = channel();
        ask.send(Message { flow: 3, size }).expect("it is open");
        drop(ask);
        let (events, seen) = channel();
        let stream = TcpStream::connect(at).expect("it listens");
        let result = ask_all(stream, &asked, &events, &AtomicU64::new(0));
        drop(events);
        server.join().expect("it ends");
        (result, seen.iter().collect())
    }

    #[test]
    fn an_answer_is_complete_with_its_last_line() {
        let answer = [head(5).as_bytes(), b"zzzzz", TAIL.as_bytes()].concat();
        let (result, events) = asked_once(answer.clone(), 5);
        result.expect("it is right");
        assert!(matches!(events[..], [AppEvent::Arrived { flow: 3, bytes: 5, .. }]), "{events:?}");
        let (result, events) = asked_once(answer[..answer.len() - 1].to_vec(), 5);
        assert!(result.is_err() && events.is_empty(), "its last byte is missing: {events:?}");
    }

    #[test]
    fn a_value_that_is_not_held_is_told() {
        let (result, _) = asked_once(b"END\r\n".to_vec(), 5);
        let said = result.expect_err("there is none").to_string();
        assert_eq!(said, "it answered \"END\" in the place of \"VALUE bytes-5 0 5\"");
    }
}
