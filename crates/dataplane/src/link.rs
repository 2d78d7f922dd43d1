//! Reads from the kernel which interfaces go down, come up again or are removed while the switch
//! runs: rtnetlink(7).

use crate::error::ShellError;
use crate::socket::{Interface, system};
use crate::tallies::LinkState;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Receives state changes of the switch's interfaces from the kernel.
pub(crate) struct LinkWatch {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// Kinds of rtnetlink messages about network interfaces (linux/rtnetlink.h).
const NEW_LINK: u16 = 16;
const DELETED_LINK: u16 = 17;

impl LinkWatch {
    pub(crate) fn open() -> Result<Self, ShellError> {
        const LINKS: u32 = 1; // RTMGRP_LINK
        let failed = |source| system("watching", "all interfaces", source);
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)
            .map_err(failed)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, LINKS)).map_err(failed)?;
        Ok(Self { socket, buffer: vec![0; 1 << 16] })
    }

    /// Socket that becomes readable when an interface changes its state.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns the state changes of `interfaces` that the kernel announced: index and state of each
    /// interface, in the order of time.
    pub(crate) fn read(&mut self, interfaces: &[Interface]) -> Vec<(usize, LinkState)> {
        let mut changes = Vec::new();
        loop {
            match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(bytes) => {
                    for (index, state) in messages(&self.buffer[..bytes]) {
                        let port = interfaces.iter().position(|one| one.index == index as usize);
                        changes.extend(port.map(|port| (port, state)));
                    }
                }
                // The kernel had too many messages at once and dropped some. The interface's next
                // message has its state again.
                Err(Errno::ENOBUFS | Errno::EINTR) => {}
                Err(_) => return changes,
            }
        }
    }
}

/// Returns number and state of every link in a datagram from the kernel.
fn messages(mut bytes: &[u8]) -> Vec<(i32, LinkState)> {
    let mut found = Vec::new();
    // The header of a message has a length (4 bytes), a kind (2 bytes), and other fields up to 16
    // bytes.
    while let Some(header) = bytes.first_chunk::<16>() {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        // After the message header come family and type (4 bytes), number and flags.
        if let Some(link) = bytes.get(16..28).filter(|_| kind == NEW_LINK || kind == DELETED_LINK) {
            let word = |at: usize| [link[at], link[at + 1], link[at + 2], link[at + 3]];
            let family = link[0];
            let flags = u32::from_ne_bytes(word(8));
            // If an interface leaves a bridge, the bridge announces this by a message of a
            // different family.
            if family == 0 {
                found.push((i32::from_ne_bytes(word(4)), state_of(kind, flags)));
            }
        }
        let next = length.next_multiple_of(4);
        if length < 16 || next > bytes.len() {
            break;
        }
        bytes = &bytes[next..];
    }
    found
}

/// Returns the state of a link from the kind and the flags of a message about the link.
fn state_of(kind: u16, flags: u32) -> LinkState {
    if kind == DELETED_LINK { LinkState::Removed } else { LinkState::from_flags(flags) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a kernel message about a link that has the flags `flags`.
    fn message(kind: u16, family: u8, index: i32, flags: u32) -> Vec<u8> {
        let mut bytes = 32_u32.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend([family, 0, 0, 0]);
        bytes.extend(index.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn links_are_told_apart_by_their_flags_and_a_cut_message_is_left_out() {
        let all = [
            message(NEW_LINK, 0, 3, 0x1_0043),
            message(NEW_LINK, 0, 4, 0x1002),
            message(NEW_LINK, 0, 5, 0x1003),
            message(DELETED_LINK, 0, 6, 0x1_0043),
            message(DELETED_LINK, 7, 7, 0x1_0043),
            message(20, 0, 8, 0x1_0043),
        ]
        .concat();
        let expected =
            [(3, LinkState::Up), (4, LinkState::Down), (5, LinkState::NoCarrier), (6, LinkState::Removed)];
        assert_eq!(messages(&all), expected);
        for length in 0..message(NEW_LINK, 0, 3, 1).len() {
            assert!(messages(&message(NEW_LINK, 0, 3, 1)[..length]).len() <= 1, "{length}");
        }
    }
}
