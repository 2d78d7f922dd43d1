//! Connections of real TCP, and what sends and receives over them.

use crate::clock::now_ns;
use crate::lab::address;
use crate::plan::{code_point, kernel_name};
use crate::run::TestbedError;
use bufferlab_scenario::TransportSpec;
use bufferlab_workload::FlowSpec;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A message to be sent over a connection.
#[derive(Clone, Copy, Debug)]
struct Message {
    flow: usize,
    size: u64,
}

/// What a connection tells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The last byte of a flow has arrived.
    Arrived { flow: usize, at_ns: u64, bytes: u64 },
    /// A connection is gone.
    Broken,
}

/// An open connection from one host to another.
#[derive(Debug)]
pub(crate) struct Connection {
    send: Sender<Message>,
    /// Its number at the switch.
    pub(crate) hash: u32,
}

/// Chunk of the applications' writes and reads (bytes).
const CHUNK: usize = 1 << 16;

impl Connection {
    /// Opens a connection from host `src` to host `dst`; data goes that way. `stop` ends flows without a size.
    pub(crate) fn open(
        (src, dst): ((u32, &str), (u32, &str)),
        transport: &TransportSpec,
        events: &Sender<Event>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, TestbedError> {
        let (listener, port) = listen(dst, transport)?;
        let control = kernel_name(&transport.congestion_control).to_owned();
        let tos = u32::from(code_point(transport.data_priorities[0])) << 2;
        let (to, name) = (SocketAddr::from((address(dst.0), port)), src.1.to_owned());
        let stream =
            crate::lab::in_network(&name, move || connect(to, &control, tos))?.map_err(TestbedError::Io)?;
        let (accepted, peer) = listener.accept().map_err(TestbedError::Io)?;
        let ends = ((address(src.0), peer.port()), (address(dst.0), port));
        let (send, messages) = channel();
        let (announce, announced) = channel();
        let (stop, events) = (Arc::clone(stop), events.clone());
        let broken = events.clone();
        std::thread::spawn(move || send_all(stream, &messages, &announce, &stop, &broken));
        std::thread::spawn(move || receive_all(accepted, &announced, &events));
        Ok(Self { send, hash: bufferlab_switch::frame::tcp_flow(ends.0, ends.1) })
    }

    /// Sends `size` bytes of `flow`; [`FlowSpec::UNLIMITED`]: until the run stops.
    pub(crate) fn send(&self, flow: usize, size: u64) -> bool {
        self.send.send(Message { flow, size }).is_ok()
    }
}

fn listen(dst: (u32, &str), transport: &TransportSpec) -> Result<(TcpListener, u16), TestbedError> {
    let own = SocketAddr::from((address(dst.0), 0));
    // Acknowledgements have the priority of control packets.
    let tos = u32::from(code_point(transport.control_priority)) << 2;
    // The receiver's part of DCTCP is to say which packets were marked.
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

fn connect(to: SocketAddr, control: &str, tos: u32) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_congestion(control.as_bytes())?;
    socket.set_tos_v4(tos)?;
    socket.set_tcp_nodelay(true)?;
    socket.connect_timeout(&to.into(), std::time::Duration::from_secs(5))?;
    Ok(socket.into())
}

fn send_all(
    mut stream: TcpStream,
    messages: &Receiver<Message>,
    announce: &Sender<Message>,
    stop: &AtomicBool,
    events: &Sender<Event>,
) {
    let chunk = vec![0x5a; CHUNK];
    while let Ok(message) = messages.recv() {
        // The receiver knows what comes before it comes.
        let told = announce.send(message).is_ok();
        if !told || write(&mut stream, &chunk, message.size, stop).is_err() {
            let _ = events.send(Event::Broken);
            return;
        }
        if message.size == FlowSpec::UNLIMITED {
            // Its end says how much it was.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            return;
        }
    }
}

fn write(stream: &mut TcpStream, chunk: &[u8], size: u64, stop: &AtomicBool) -> std::io::Result<()> {
    let mut left = size;
    while left > 0 {
        if size == FlowSpec::UNLIMITED && stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let length = left.min(chunk.len() as u64) as usize;
        let written = stream.write(&chunk[..length])?;
        left -= written as u64;
    }
    Ok(())
}

fn receive_all(mut stream: TcpStream, announced: &Receiver<Message>, events: &Sender<Event>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(message) = announced.recv() {
        let mut bytes = 0;
        while bytes < message.size {
            let most = (message.size - bytes).min(CHUNK as u64) as usize;
            match stream.read(&mut chunk[..most]) {
                Ok(0) | Err(_) if message.size != FlowSpec::UNLIMITED => {
                    let _ = events.send(Event::Broken);
                    return;
                }
                Ok(0) | Err(_) => break,
                Ok(read) => bytes += read as u64,
            }
        }
        if events.send(Event::Arrived { flow: message.flow, at_ns: now_ns(), bytes }).is_err() {
            return;
        }
    }
}
