//! Raw sockets of the ports: filters, options, and functions that read and send frames.

use crate::config::SwitchFile;
use crate::error::ShellError;
use crate::frame::TAG_BYTES;
use crate::tallies::LinkState;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
// The macros for socket options use `RcvBufForce` and `ReceiveTimestampns` without a path.
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, ReceiveTimestampns, RxqOvfl};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv,
    recvmsg, send, setsockopt, socket,
};
use nix::sys::time::TimeSpec;
use nix::{libc, setsockopt_impl, sockopt_impl};
use socket2::{SockFilter, SockRef};
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

sockopt_impl!(
    /// Socket option that adds a membership of packet(7). The kernel removes the membership when
    /// the socket closes, even after a crash.
    AddMembership,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_ADD_MEMBERSHIP,
    libc::packet_mreq
);
sockopt_impl!(
    /// Socket option that puts a header before each frame. The header lists the work on the frame
    /// that a network card would still have to do (`virtio_net_hdr` of linux/virtio_net.h).
    VnetHeader,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_VNET_HDR,
    bool
);

sockopt_impl!(
    /// Socket option that requests VLAN tags: the kernel removes the tag from a frame and reports
    /// it separately (`tpacket_auxdata` of linux/if_packet.h).
    AuxData,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_AUXDATA,
    bool
);

/// Size of a socket's receive buffer (bytes as the kernel counts them). Some thousand frames fit.
const RECEIVE_BUFFER: usize = 16 << 20;

/// Size of the header `virtio_net_hdr` before each frame (bytes).
const CARD_HEADER: usize = 10;

/// An interface that is a port of the switch.
pub(crate) struct Interface {
    pub(crate) name: String,
    /// Index by which the kernel identifies the interface.
    pub(crate) index: usize,
    /// State that the interface had when the switch opened it.
    pub(crate) state: LinkState,
    data: OwnedFd,
    /// Socket that receives only frames with a VLAN tag. The kernel removes the tag before a raw
    /// socket sees the frame, and reports the tag.
    tagged: OwnedFd,
    /// Socket that sends frames and never receives.
    out: OwnedFd,
}

/// Memory into which the switch reads frames from sockets.
pub(crate) struct Reading {
    card: [u8; CARD_HEADER],
    frame: Vec<u8>,
    control: Vec<u8>,
}

/// A frame that the switch read from a socket.
pub(crate) struct Received<'a> {
    /// Bytes of the frame without check sequence. Frames longer than the longest forwarded length
    /// are truncated one byte after it.
    pub(crate) frame: &'a mut [u8],
    /// Timestamp of the frame by the system clock (ns), if the kernel set one.
    pub(crate) stamp_ns: Option<u64>,
    /// Number of frames that the kernel dropped since the socket was opened, if the kernel reports
    /// this number.
    pub(crate) dropped: Option<u32>,
    /// VLAN tag that the kernel removed from the frame.
    pub(crate) tag: Option<[u8; TAG_BYTES]>,
    /// Position at which the sum of an unfinished checksum begins, and offset of the checksum from
    /// this position.
    pub(crate) checksum: Option<(usize, usize)>,
}

impl Reading {
    /// Allocates memory for frames of at most `largest` bytes.
    pub(crate) fn new(largest: usize) -> Self {
        // One additional byte detects a frame that is too long. The frame may contain a second tag.
        Self {
            card: [0; CARD_HEADER],
            frame: vec![0; largest + TAG_BYTES + 1],
            control: cmsg_space!(TimeSpec, u32, [u8; AUX_BYTES]),
        }
    }
}

pub(crate) fn ns_of(time: TimeSpec) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

impl Interface {
    /// Sockets of the port that receive frames: first the socket of untagged frames, then the
    /// socket of tagged frames.
    pub(crate) fn sockets(&self) -> [BorrowedFd<'_>; 2] {
        [self.data.as_fd(), self.tagged.as_fd()]
    }

    /// Reads the next frame of a port, with or without a tag. The result is `None` if no frame is
    /// available or the interface is down.
    pub(crate) fn read<'a>(
        &self,
        tagged: bool,
        into: &'a mut Reading,
    ) -> Result<Option<Received<'a>>, ShellError> {
        let socket = if tagged { &self.tagged } else { &self.data };
        let mut slices = [IoSliceMut::new(&mut into.card), IoSliceMut::new(&mut into.frame)];
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
        let message = match recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut into.control), flags) {
            Ok(message) => message,
            // The error `ENETDOWN` means that the interface was taken down, and may return;
            // `LinkWatch` reports this change of state.
            Err(Errno::EAGAIN | Errno::ENETDOWN | Errno::EINTR) => return Ok(None),
            Err(source) => return Err(system("reading", &self.name, source)),
        };
        let (mut stamp_ns, mut dropped, mut tag) = (None, None, None);
        for one in message.cmsgs().into_iter().flatten() {
            match one {
                ControlMessageOwned::ScmTimestampns(time) => stamp_ns = Some(ns_of(time)),
                ControlMessageOwned::RxqOvfl(count) => dropped = Some(count),
                // Only sockets for tagged frames request the VLAN tag as control data, because this
                // data needs additional memory.
                ControlMessageOwned::Unknown(other) => tag = tag.or(tag_of(&other.data_bytes)),
                _ => {}
            }
        }
        let bytes = message.bytes.saturating_sub(CARD_HEADER).min(into.frame.len());
        let checksum = unfinished(into.card);
        Ok(Some(Received { frame: &mut into.frame[..bytes], stamp_ns, dropped, tag, checksum }))
    }

    /// Sends `frame` through the interface, and returns whether the interface took the frame.
    pub(crate) fn send(&self, frame: &[u8]) -> bool {
        send(self.out.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT).is_ok()
    }
}

/// Size of the structure `tpacket_auxdata` (bytes).
const AUX_BYTES: usize = 20;

/// Reads the VLAN tag in a `tpacket_auxdata`. This structure has status, lengths and offsets before
/// the tag and the tag's type.
fn tag_of(aux: &[u8]) -> Option<[u8; TAG_BYTES]> {
    const HAS_TAG: u32 = 1 << 4; // TP_STATUS_VLAN_VALID
    const HAS_TYPE: u32 = 1 << 6; // TP_STATUS_VLAN_TPID_VALID
    let aux: &[u8; AUX_BYTES] = aux.try_into().ok()?;
    let status = u32::from_ne_bytes([aux[0], aux[1], aux[2], aux[3]]);
    let field = |at: usize| u16::from_ne_bytes([aux[at], aux[at + 1]]).to_be_bytes();
    let kind = if status & HAS_TYPE == 0 { [0x81, 0] } else { field(18) };
    let [high, low] = field(16);
    (status & HAS_TAG != 0).then_some([kind[0], kind[1], high, low])
}

/// Returns the position of an unfinished checksum, from the header that the kernel puts before a
/// frame.
fn unfinished(card: [u8; CARD_HEADER]) -> Option<(usize, usize)> {
    const NEEDS_CHECKSUM: u8 = 1; // VIRTIO_NET_HDR_F_NEEDS_CSUM
    let field = |at: usize| usize::from(u16::from_ne_bytes([card[at], card[at + 1]]));
    (card[0] & NEEDS_CHECKSUM != 0).then(|| (field(6), field(8)))
}

pub(crate) fn system(what: &'static str, interface: &str, source: Errno) -> ShellError {
    ShellError::System { what, interface: interface.to_owned(), source }
}

/// Opens the interfaces that are the ports of the switch.
pub(crate) fn open(file: &SwitchFile) -> Result<Vec<Interface>, ShellError> {
    let addresses: Vec<(String, LinkAddr, LinkState)> = getifaddrs()
        .map_err(|source| system("listing", "all interfaces", source))?
        .filter_map(|one| {
            let state = LinkState::from_flags(one.flags.bits() as u32);
            Some((one.interface_name, *one.address?.as_link_addr()?, state))
        })
        .collect();
    let open = |name: String| {
        let Some((_, address, state)) = addresses.iter().find(|(known, ..)| *known == name) else {
            let known = addresses.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(ShellError::NoInterface { name, known });
        };
        let (data, tagged) = (open_one(&name, address, false)?, open_one(&name, address, true)?);
        let out = open_out(&name, address)?;
        for socket in [&data, &tagged] {
            setsockopt(socket, VnetHeader, &true)
                .map_err(|source| system("asking for unfinished checksums", &name, source))?;
        }
        setsockopt(&tagged, AuxData, &true).map_err(|source| system("asking for tags", &name, source))?;
        // The interface's address filter would discard frames for the hosts behind the port.
        setsockopt(&data, AddMembership, &everything(address))
            .map_err(|source| system("setting promiscuous mode", &name, source))?;
        Ok(Interface { name, index: address.ifindex(), state: *state, data, tagged, out })
    };
    file.names().into_iter().map(open).collect()
}

/// Opens a socket that sees all received frames of an interface, either with or without a VLAN tag.
/// The socket does not see frames that the switch sends.
fn open_one(name: &str, address: &LinkAddr, tagged: bool) -> Result<OwnedFd, ShellError> {
    let failed = |what| move |source| system(what, name, source);
    let socket = raw(name, SockProtocol::EthAll)?;
    let io = |error: std::io::Error| Errno::from_raw(error.raw_os_error().unwrap_or(0));
    SockRef::from(&socket)
        .attach_filter(&filter(tagged))
        .map_err(|error| system("attaching a filter", name, io(error)))?;
    setsockopt(&socket, ReceiveTimestampns, &true).map_err(failed("asking for time stamps"))?;
    setsockopt(&socket, RxqOvfl, &1).map_err(failed("asking for counts of lost frames"))?;
    // The buffer exceeds the system's limit if the process has the right to exceed it.
    if setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER).is_err() {
        setsockopt(&socket, RcvBuf, &RECEIVE_BUFFER).map_err(failed("enlarging the receive buffer"))?;
    }
    // The address from the interface list has protocol 0, which keeps the socket's protocol.
    bind(socket.as_raw_fd(), address).map_err(failed("binding a raw socket"))?;
    // Discard frames of other interfaces that arrived before the socket was bound.
    while recv(socket.as_raw_fd(), &mut [0; 16], MsgFlags::MSG_DONTWAIT).is_ok() {}
    Ok(socket)
}

/// Opens a socket of an interface that only sends.
fn open_out(name: &str, address: &LinkAddr) -> Result<OwnedFd, ShellError> {
    let socket = raw(name, None)?;
    bind(socket.as_raw_fd(), address).map_err(|source| system("binding a raw socket", name, source))?;
    Ok(socket)
}

fn raw(name: &str, protocol: impl Into<Option<SockProtocol>>) -> Result<OwnedFd, ShellError> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(AddressFamily::Packet, SockType::Raw, flags, protocol)
        .map_err(|source| system("opening a raw socket", name, source))
}

/// Returns the packet membership that makes an interface promiscuous.
fn everything(address: &LinkAddr) -> libc::packet_mreq {
    libc::packet_mreq {
        mr_ifindex: address.ifindex() as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    }
}

/// Returns a program for the kernel's classic packet filter. The program accepts only incoming
/// frames: either the frames with a VLAN tag, or the frames without one.
fn filter(tagged: bool) -> [SockFilter; 6] {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const JUMP_IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const ANCILLARY: u32 = 0xffff_f000; // SKF_AD_OFF
    const KIND: u32 = ANCILLARY + 4; // SKF_AD_PKTTYPE
    const HAS_TAG: u32 = ANCILLARY + 48; // SKF_AD_VLAN_TAG_PRESENT
    const OUTGOING: u32 = 4; // PACKET_OUTGOING
    [
        SockFilter::new(LOAD, 0, 0, KIND),
        SockFilter::new(JUMP_IF_EQUAL, 2, 0, OUTGOING),
        SockFilter::new(LOAD, 0, 0, HAS_TAG),
        SockFilter::new(JUMP_IF_EQUAL, 1, 0, u32::from(tagged)),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Command;

    const PORTS: &str =
        "[[port]]\ninterface = \"t0\"\nrate = \"1 Gb/s\"\n[[port]]\ninterface = \"t1\"\nrate = \"1 Gb/s\"\n";

    /// A frame that arrived: whether it had a tag, its bytes without the tag, and the tag.
    type Arrived = (bool, Vec<u8>, Option<[u8; TAG_BYTES]>);

    /// Sends a frame at interface t0 through a cable in a separate network namespace, and returns
    /// the frame that arrives at interface t1.
    fn over_a_cable(sent: &[u8]) -> Result<Arrived, String> {
        let why = |error: &dyn std::fmt::Display| error.to_string();
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).map_err(|error| why(&error))?;
        let cable = "ip link add t0 type veth peer name t1 && ip link set t0 up && ip link set t1 up";
        let made = Command::new("sh").args(["-c", cable]).output().map_err(|error| why(&error))?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        let text = format!("{PORTS}[switch]\nbuffer = \"10 KB\"\npolicy = \"dt\"\n");
        let file = crate::load_text("switch.toml".as_ref(), &text).expect("it is right");
        let interfaces = open(&file).expect("the interfaces are there");
        assert!(interfaces[0].send(sent), "t0 sends");
        let since = std::time::Instant::now();
        loop {
            for tagged in [false, true] {
                let mut reading = Reading::new(1_514);
                let found = interfaces[1].read(tagged, &mut reading).expect("it can be read");
                // The kernel itself also sends frames on a new cable.
                if let Some(found) = found.filter(|found| found.frame[..12] == sent[..12]) {
                    return Ok((tagged, found.frame.to_vec(), found.tag));
                }
            }
            assert!(since.elapsed().as_secs() < 10, "nothing arrives");
        }
    }

    #[test]
    fn the_kernel_takes_a_tag_off_and_tells_which() {
        let mut plain = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5];
        plain.resize(64, 7);
        for tag in [[0x81, 0, 0xa0, 7], [0x88, 0xa8, 0x60, 9]] {
            let frame = [&plain[..12], &tag, &plain[12..]].concat();
            match std::thread::spawn(move || over_a_cable(&frame)).join().expect("it does not panic") {
                Ok(found) => assert_eq!(found, (true, plain.clone(), Some(tag))),
                Err(why) => {
                    let _ = writeln!(std::io::stderr(), "SKIPPED tags of frames on a cable: {}", why.trim());
                    return;
                }
            }
        }
    }
}
