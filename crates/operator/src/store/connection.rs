//! Connections to a Redis server, and the clock for its answers. Tests have simulated connections.

use super::address::Target;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// A connection to the Redis server of the switch.
pub trait StoreConnection: Send {
    /// Sends some of the bytes within the time `within`, and returns the number of sent bytes.
    ///
    /// # Errors
    /// See [`Write::write`]; [`io::ErrorKind::TimedOut`] or `WouldBlock` if no byte
    /// could be sent in time.
    fn send(&mut self, bytes: &[u8], within: Duration) -> io::Result<usize>;

    /// Receives some bytes within the time `within`. Returns the number of bytes, or 0 at the end
    /// of the connection.
    ///
    /// # Errors
    /// See [`Read::read`]; [`io::ErrorKind::TimedOut`] or `WouldBlock` if no byte arrived in time.
    fn receive(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<usize>;
}

/// Network that opens connections to the Redis server.
pub trait Network: Send {
    /// Opens a new connection to the Redis server.
    ///
    /// # Errors
    /// If the Redis server does not answer in time.
    fn connect(&mut self, within: Duration) -> io::Result<Box<dyn StoreConnection>>;

    /// Returns the time since a fixed start of the network's clock.
    fn now(&self) -> Duration;
}

/// Network with the sockets and the clock of the operating system.
#[derive(Debug)]
pub(crate) struct System {
    target: Target,
    start: Instant,
}

impl System {
    pub(crate) fn new(target: Target) -> Self {
        Self { target, start: Instant::now() }
    }
}

impl Network for System {
    fn connect(&mut self, within: Duration) -> io::Result<Box<dyn StoreConnection>> {
        let socket = match &self.target {
            Target::Tcp(host, port) => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
                let mut found = None;
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, within) {
                        Ok(stream) => {
                            found = Some(Socket::from(stream));
                            break;
                        }
                        Err(error) => last = error,
                    }
                }
                let socket = found.ok_or(last)?;
                socket.set_tcp_nodelay(true)?;
                socket
            }
            Target::Unix(path) => {
                // A server that accepts no connections must not block the program, so the
                // socket refuses at once.
                let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
                socket.set_nonblocking(true)?;
                socket.connect(&SockAddr::unix(path)?)?;
                socket.set_nonblocking(false)?;
                socket
            }
        };
        Ok(Box::new(socket))
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

impl StoreConnection for Socket {
    fn send(&mut self, bytes: &[u8], within: Duration) -> io::Result<usize> {
        self.set_write_timeout(Some(within))?;
        self.write(bytes)
    }

    fn receive(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<usize> {
        self.set_read_timeout(Some(within))?;
        self.read(buffer)
    }
}

/// Whether a call to the connection ended because of its time limit or a signal, so that the caller
/// can repeat the call.
pub(crate) fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
