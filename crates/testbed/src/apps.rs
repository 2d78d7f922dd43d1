//! TCP connections between hosts, with their sending and receiving threads.

use crate::clock::now_ns;
use crate::error::TestbedError;
use crate::lab::address;
use crate::plan::{code_point, kernel_name};
use crate::programs::Measured;
use bufferlab_scenario::TransportSpec;
use bufferlab_workload::FlowSpec;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A message of a flow, which a host sends over a connection between two hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) flow: usize,
    pub(crate) size: u64,
}

/// An event of a connection between two hosts.
#[derive(Clone, Debug)]
pub(crate) enum AppEvent {
    /// The receiving host has the last byte of a flow.
    Arrived { flow: usize, at_ns: u64, bytes: u64 },
    /// The program iperf3 has ended a flow, with this measurement.
    Measured(Measured),
    /// A connection between two hosts broke.
    Broken,
    /// A program that carries flows has failed.
    Failed { program: &'static str, why: String },
}

/// An open connection between two hosts.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) send: Sender<Message>,
    /// Number by which the switch identifies the connection's flow.
    pub(crate) hash: u32,
    /// Number of bytes that the receiving application has read, over all flows of the connection.
    pub(crate) received: Arc<AtomicU64>,
}

/// Code points of a flow, which change with the number of bytes sent (PIAS).
#[derive(Clone, Debug)]
struct CodePoints {
    /// Code point of the flow's first bytes, as a byte of the IP header.
    first: u32,
    /// Later code points of the flow, each with the first byte to which it applies.
    then: Vec<(u64, u32)>,
}

impl CodePoints {
    fn from_transport(transport: &TransportSpec) -> Self {
        let tos = |priority: u8| u32::from(code_point(priority)) << 2;
        let first = transport.data_priorities[0];
        let later = (first + 1..).zip(&transport.pias_thresholds_bytes);
        Self { first: tos(first), then: later.map(|(priority, from)| (*from, tos(priority))).collect() }
    }

    /// Returns the code point of the flow's byte after the first `sent` bytes, and the number of
    /// further bytes with this code point.
    fn at(&self, sent: u64) -> (u32, u64) {
        let passed = self.then.partition_point(|(from, _)| *from <= sent);
        let tos = passed.checked_sub(1).map_or(self.first, |last| self.then[last].1);
        (tos, self.then.get(passed).map_or(u64::MAX, |(from, _)| from - sent))
    }
}

/// Limit of unsent bytes in a socket whose code point changes during a flow. A packet has the code
/// point that the socket has when the packet departs.
const MOST_UNSENT: u32 = 1 << 14;

/// Number of bytes that an application writes or reads at a time.
const CHUNK: usize = 1 << 16;

impl Connection {
    /// Opens a connection that sends data from host `src` to host `dst`.
    /// `stop` ends flows of unlimited size.
    pub(crate) fn open(
        (src, dst): ((u32, &str), (u32, &str)),
        transport: &TransportSpec,
        events: &Sender<AppEvent>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, TestbedError> {
        let (listener, port) = listen(dst, transport)?;
        let control = kernel_name(&transport.congestion_control).to_owned();
        let points = CodePoints::from_transport(transport);
        let (tos, has_several) = (points.first, !points.then.is_empty());
        let (to, name) = (SocketAddr::from((address(dst.0), port)), src.1.to_owned());
        let stream = crate::lab::in_network(&name, move || connect(to, &control, tos, has_several))?
            .map_err(TestbedError::Io)?;
        let (accepted, peer) = listener.accept().map_err(TestbedError::Io)?;
        let ends = ((address(src.0), peer.port()), (address(dst.0), port));
        let (send, messages) = channel();
        let (announce, announced) = channel();
        let (stop, events) = (Arc::clone(stop), events.clone());
        let (broken, received) = (events.clone(), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&received);
        let sending = Sending { socket: stream, points };
        std::thread::spawn(move || send_all(sending, &messages, &announce, &stop, &broken));
        std::thread::spawn(move || receive_all(accepted, &announced, &events, &counted));
        Ok(Self { send, hash: bufferlab_dataplane::frame::tcp_flow(ends.0, ends.1), received })
    }

    /// Number of bytes that the receiver has read, over all flows of the connection.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Sends `size` bytes of `flow`; [`FlowSpec::UNLIMITED`] sends until the run stops.
    pub(crate) fn send(&self, flow: usize, size: u64) -> bool {
        self.send.send(Message { flow, size }).is_ok()
    }
}

fn listen(dst: (u32, &str), transport: &TransportSpec) -> Result<(TcpListener, u16), TestbedError> {
    let own = SocketAddr::from((address(dst.0), 0));
    // Acknowledgements have the priority of the transport's control packets.
    let tos = u32::from(code_point(transport.control_priority)) << 2;
    // The receiver of DCTCP must report exactly which packets the switch marked.
    let control = kernel_name(&transport.congestion_control).to_owned();
    let listener = crate::lab::in_network(dst.1, move || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_tcp_congestion(control.as_bytes())?;
        socket.set_tos_v4(tos)?;
        socket.bind(&own.into())?;
        socket.listen(1)?;
        Ok(TcpListener::from(socket))
    })?;
    let listener = listener.map_err(TestbedError::Io)?;
    let port = listener.local_addr().map_err(TestbedError::Io)?.port();
    Ok((listener, port))
}

fn connect(to: SocketAddr, control: &str, tos: u32, has_several: bool) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_congestion(control.as_bytes())?;
    socket.set_tos_v4(tos)?;
    socket.set_tcp_nodelay(true)?;
    if has_several {
        socket.set_tcp_notsent_lowat(MOST_UNSENT)?;
    }
    socket.connect_timeout(&to.into(), std::time::Duration::from_secs(5))?;
    Ok(socket)
}

/// The sending end of a connection between two hosts.
struct Sending {
    socket: Socket,
    points: CodePoints,
}

fn send_all(
    sending: Sending,
    messages: &Receiver<Message>,
    announce: &Sender<Message>,
    stop: &AtomicBool,
    events: &Sender<AppEvent>,
) {
    let chunk = vec![0x5a; CHUNK];
    while let Ok(message) = messages.recv() {
        // Announce the flow to the receiver before its first byte.
        let told = announce.send(message).is_ok();
        if !told || sending.write(&chunk, message.size, stop).is_err() {
            let _ = events.send(AppEvent::Broken);
            return;
        }
        if message.size == FlowSpec::UNLIMITED {
            // Closing the connection tells the receiver the size of the flow.
            let _ = sending.socket.shutdown(std::net::Shutdown::Write);
            return;
        }
    }
}

impl Sending {
    fn write(&self, chunk: &[u8], size: u64, stop: &AtomicBool) -> std::io::Result<()> {
        let (mut sent, mut now) = (0, None);
        while sent < size {
            if size == FlowSpec::UNLIMITED && stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let (tos, bytes) = self.points.at(sent);
            if !self.points.then.is_empty() && now.replace(tos) != Some(tos) {
                self.socket.set_tos_v4(tos)?;
            }
            let length = (size - sent).min(bytes).min(chunk.len() as u64) as usize;
            sent += (&self.socket).write(&chunk[..length])? as u64;
        }
        Ok(())
    }
}

fn receive_all(
    mut stream: TcpStream,
    announced: &Receiver<Message>,
    events: &Sender<AppEvent>,
    received: &AtomicU64,
) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(message) = announced.recv() {
        let mut bytes = 0;
        while bytes < message.size {
            let most = (message.size - bytes).min(CHUNK as u64) as usize;
            match stream.read(&mut chunk[..most]) {
                Ok(0) | Err(_) if message.size != FlowSpec::UNLIMITED => {
                    let _ = events.send(AppEvent::Broken);
                    return;
                }
                Ok(0) | Err(_) => break,
                Ok(read) => {
                    bytes += read as u64;
                    received.fetch_add(read as u64, Ordering::Relaxed);
                }
            }
        }
        if events.send(AppEvent::Arrived { flow: message.flow, at_ns: now_ns(), bytes }).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_changes_its_code_point_where_the_thresholds_lie() {
        let points = CodePoints { first: 0, then: vec![(1_000, 32), (5_000, 64)] };
        assert_eq!(points.at(0), (0, 1_000));
        assert_eq!(points.at(999), (0, 1));
        assert_eq!(points.at(1_000), (32, 4_000));
        assert_eq!(points.at(5_000), (64, u64::MAX));
        let plain = CodePoints { first: 32, then: Vec::new() };
        assert_eq!(plain.at(1 << 40), (32, u64::MAX));
    }
}
