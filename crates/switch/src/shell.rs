//! The thin shell around the [`Pipeline`]: sockets, the kernel's time stamps, and waiting.

use crate::awake::Awake;
use crate::capture::{CaptureReport, CaptureWriter};
use crate::config::SwitchFile;
use crate::lateness::Lateness;
use crate::metrics::MetricsServer;
use crate::pipeline::Pipeline;
use crate::record::RecordWriter;
use crate::rights;
use crate::snapshot::{Snapshot, Watch};
use crate::tallies::Tallies;
use bufferlab_core::BuildError;
use bufferlab_units::Time;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, ReceiveTimestampns, RxqOvfl};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvmsg,
    send, setsockopt, socket,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use socket2::{SockFilter, SockRef};
use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Why a switch cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// An interface is not there.
    #[error("there is no interface \"{name}\" here; `ip link` shows: {known}")]
    NoInterface {
        /// As it is called in the file.
        name: String,
        /// What there is.
        known: String,
    },
    /// The system refused.
    #[error("{what} of \"{interface}\": {source}{}", advice(*source))]
    System {
        /// What was tried.
        what: &'static str,
        /// On which interface.
        interface: String,
        /// Why not.
        source: Errno,
    },
    /// The policy, its scheduler or its marking rule does not fit.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The policy failed.
    #[error("the policy failed: {0}")]
    Policy(String),
    /// Counters cannot be shown.
    #[error("cannot show metrics: {0}")]
    Metrics(std::io::Error),
    /// The record cannot be written.
    #[error("cannot write the record: {0}")]
    Record(#[from] std::io::Error),
}

fn advice(source: Errno) -> &'static str {
    match source {
        Errno::EPERM | Errno::EACCES => {
            "\nraw sockets need CAP_NET_RAW: run it as root, or in a user namespace of your own"
        }
        _ => "",
    }
}

/// When to stop.
#[derive(Debug)]
pub struct Stopping<'a> {
    /// Somebody wants it.
    pub wanted: &'a AtomicBool,
    /// After so long; [`Time::MAX`]: never.
    pub after: Time,
}

/// How to run.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// Where to write what was asked and answered.
    pub record: Option<RecordWriter>,
    /// What writes a capture of every port.
    pub capture: Option<CaptureWriter>,
    /// Whether to ask for real-time priority: without it, other programs delay frames by milliseconds.
    pub real_time: bool,
    /// Whether threads of the lowest class (`SCHED_IDLE`) keep all cores awake: a core that sleeps wakes late, on virtual
    /// machines by hundreds of microseconds.
    pub keep_awake: bool,
    /// Where to show counters for Prometheus; a loopback address.
    pub metrics: Option<SocketAddr>,
    /// Where to leave snapshots for whoever watches.
    pub watch: Option<Arc<Watch>>,
    /// When to stop.
    pub stopping: Stopping<'a>,
    /// Told once the sockets are open: frames that come earlier are lost.
    pub ready: Option<Sender<()>>,
}

/// What a run did.
#[derive(Debug)]
pub struct Summary {
    /// How long it ran.
    pub ran: Time,
    /// Time zero of the switch by the system's clock (ns since 1970).
    pub epoch_ns: u64,
    /// By port.
    pub tallies: Vec<Tallies>,
    /// Arrivals for times that had been decided already.
    pub late_arrivals: u64,
    /// How late frames were handed over.
    pub lateness: Lateness,
    /// CPU time that a hypervisor gave to others meanwhile, of all cores of this machine: frames may be late by as much. `None`:
    /// the kernel does not say.
    pub stolen: Option<Time>,
    /// Frames that the kernel dropped because the process did not come: they have left no trace in the record.
    pub missed: u64,
    /// What the capture holds, or why it could not be written.
    pub capture: std::io::Result<Option<CaptureReport>>,
    /// What to know before trusting the lateness.
    pub notes: Vec<String>,
    /// The core as it ended.
    pub pipeline: Pipeline,
}

/// An interface that is a port.
struct Interface {
    name: String,
    data: OwnedFd,
    /// Sees only frames with a VLAN tag, which the kernel takes off before a raw socket may see it.
    tagged: OwnedFd,
}

/// Frames of a burst that are read from one port before another one is looked at.
const BURST: usize = 256;

/// Receive buffer of a socket (bytes as the kernel counts them): some thousand frames.
const RECEIVE_BUFFER: usize = 16 << 20;

/// Forwards until it is stopped. Once its sockets are open, the calling thread gives up all of its capabilities, for ever.
///
/// # Errors
/// [`ShellError`].
pub fn run(file: &SwitchFile, options: RunOptions<'_>) -> Result<Summary, ShellError> {
    let RunOptions { record, mut capture, watch, .. } = options;
    // Whoever watches wants to see things move, Prometheus asks every few seconds.
    let between = Time::from_ms(if watch.is_some() { 100 } else { 500 });
    let watch = watch.or_else(|| options.metrics.map(|_| Arc::default()));
    // Its thread has the usual priority.
    if let (Some(address), Some(watch)) = (options.metrics, &watch) {
        MetricsServer::start(address, file.names(), Arc::clone(watch)).map_err(ShellError::Metrics)?;
    }
    // Their threads inherit priority and rights, so they start before the one is asked for.
    let awake = options.keep_awake.then(Awake::start);
    let mut notes = if options.real_time { ask_for_priority() } else { Vec::new() };
    if let Some(Err(error)) = &awake {
        notes.push(format!("cores may fall asleep and wake late: {error}"));
    }
    let (interfaces, epoch_ns) = (open(file)?, now_ns() - EPOCH_OFFSET_NS);
    if let Some(capture) = &mut capture {
        capture.begin(epoch_ns);
    }
    let mut shell = Shell {
        interfaces,
        epoch_ns,
        pipeline: Pipeline::new(file, record)?.with_capture(capture),
        lateness: Lateness::default(),
        buffer: vec![0; file.forwarding.largest_frame + 1],
        control: cmsg_space!(TimeSpec, u32),
        missed: vec![0; file.ports.len()],
        arrivals: Vec::new(),
        contents: Vec::new(),
    };
    rights::give_up();
    if let Some(ready) = options.ready {
        // Whoever does not wait does not listen.
        let _ = ready.send(());
    }
    let stolen = stolen();
    let start = shell.now();
    let until = Time(start.0.saturating_add(options.stopping.after.0));
    let (mut snapshot, mut next) = (Box::<Snapshot>::default(), Time::ZERO);
    while !options.stopping.wanted.load(Ordering::Relaxed) && shell.now() < until {
        shell.step(until)?;
        if let Some(watch) = watch.as_ref().filter(|_| shell.now() >= next) {
            shell.show(watch, start, &mut snapshot);
            next = shell.now() + between;
        }
    }
    let ran = shell.now().saturating_sub(start);
    Ok(shell.finish(ran, stolen, notes))
}

/// Real-time priority of this thread, where the system allows it; else what that means.
fn ask_for_priority() -> Vec<String> {
    use thread_priority::{
        RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id,
    };
    let value = ThreadPriorityValue::try_from(50_u8).expect("50 lies between 0 and 99");
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let asked =
        set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), policy);
    match asked {
        Ok(()) => Vec::new(),
        Err(_) => {
            // Sleeps of other threads are stretched by 50 us.
            let _ = nix::sys::prctl::set_timerslack(1);
            vec![
                "no real-time priority (CAP_SYS_NICE): other programs may delay frames by milliseconds"
                    .to_owned(),
            ]
        }
    }
}

/// CPU time that a hypervisor gave to others since this machine was started: proc(5), `stat`.
fn stolen() -> Option<Time> {
    // The kernel counts in hundredths of a second, whatever its own clock.
    const MS_PER_TICK: u64 = 10;
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    Some(Time::from_ms(ticks * MS_PER_TICK))
}

/// Time zero lies before the first frame: a replay needs room for its way to the switch.
const EPOCH_OFFSET_NS: u64 = 1_000_000;

struct Shell {
    interfaces: Vec<Interface>,
    /// Time zero of the switch by the system's clock (ns).
    epoch_ns: u64,
    pipeline: Pipeline,
    lateness: Lateness,
    buffer: Vec<u8>,
    control: Vec<u8>,
    /// By port: frames that the kernel dropped because nobody had read those before.
    missed: Vec<u32>,
    /// Of this turn: when, through which port, where in `contents`.
    arrivals: Vec<(Time, u16, std::ops::Range<usize>)>,
    contents: Vec<u8>,
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).expect("every system has this clock");
    ns_of(now)
}

fn ns_of(time: TimeSpec) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

impl Shell {
    fn now(&self) -> Time {
        Time::from_ns(now_ns().saturating_sub(self.epoch_ns))
    }

    /// One turn: wait until something comes or is due, read what has come, decide, send.
    fn step(&mut self, until: Time) -> Result<(), ShellError> {
        let ready = self.wait(until);
        // The clock is read before the sockets: whatever is stamped before has been read then, but for what is on its way.
        let now = self.now();
        self.read(&ready)?;
        self.pipeline.advance(now);
        self.check()?;
        self.send();
        Ok(())
    }

    /// Sleeps until something is due or comes. By port: whether a frame has come, and one with a tag.
    fn wait(&self, until: Time) -> Vec<[bool; 2]> {
        const LONGEST: Time = Time::from_ms(50);
        let now = self.now();
        let next = self.pipeline.next_event().unwrap_or(Time::MAX).min(until).min(now + LONGEST);
        let span = next.saturating_sub(now).as_ns();
        let sockets = self.interfaces.iter().flat_map(|one| [one.data.as_fd(), one.tagged.as_fd()]);
        let mut sockets: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
        let timeout = TimeSpec::new((span / 1_000_000_000) as i64, (span % 1_000_000_000) as i64);
        // Interrupted or not: what is ready is read.
        let _ = ppoll(&mut sockets, Some(timeout), None);
        let is_ready = |socket: &PollFd<'_>| socket.any().unwrap_or(true);
        sockets.chunks(2).map(|pair| [is_ready(&pair[0]), is_ready(&pair[1])]).collect()
    }

    fn read(&mut self, ready: &[[bool; 2]]) -> Result<(), ShellError> {
        self.arrivals.clear();
        self.contents.clear();
        for (port, &[data, tagged]) in ready.iter().enumerate() {
            if data {
                for _ in 0..BURST {
                    if !self.read_one(port)? {
                        break;
                    }
                }
            }
            if tagged {
                self.read_tagged(port);
            }
        }
        // Ports are read one after the other; frames count in the order of their time stamps.
        self.arrivals.sort_by_key(|(at, port, range)| (*at, *port, range.start));
        for (at, port, range) in &self.arrivals {
            // Counted where it was discarded.
            let _ = self.pipeline.receive(*port, *at, &self.contents[range.clone()]);
        }
        Ok(())
    }

    /// False: nothing is there.
    fn read_one(&mut self, port: usize) -> Result<bool, ShellError> {
        let interface = &self.interfaces[port];
        let mut slices = [IoSliceMut::new(&mut self.buffer)];
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
        let message = recvmsg::<()>(interface.data.as_raw_fd(), &mut slices, Some(&mut self.control), flags);
        let (bytes, stamp) = match message {
            Ok(message) => {
                let mut stamp = None;
                for one in message.cmsgs().into_iter().flatten() {
                    match one {
                        ControlMessageOwned::ScmTimestampns(time) => stamp = Some(ns_of(time)),
                        ControlMessageOwned::RxqOvfl(dropped) => self.missed[port] = dropped,
                        _ => {}
                    }
                }
                (message.bytes, stamp)
            }
            Err(Errno::EAGAIN) => return Ok(false),
            // It was taken down, and may come back.
            Err(Errno::ENETDOWN | Errno::EINTR) => return Ok(false),
            Err(source) => return Err(system("reading", &interface.name, source)),
        };
        let at = Time::from_ns(stamp.unwrap_or_else(now_ns).saturating_sub(self.epoch_ns));
        let start = self.contents.len();
        self.contents.extend_from_slice(&self.buffer[..bytes.min(self.buffer.len())]);
        self.arrivals.push((at, port as u16, start..self.contents.len()));
        Ok(true)
    }

    fn read_tagged(&mut self, port: usize) {
        let tagged = self.interfaces[port].tagged.as_raw_fd();
        while let Ok(bytes) =
            nix::sys::socket::recv(tagged, &mut [0; 16], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC)
        {
            let tallies = self.pipeline.tallies_mut(port as u16);
            tallies.received += 1;
            tallies.received_bytes += bytes as u64;
            tallies.discard(crate::tallies::Discard::Vlan);
        }
    }

    fn check(&mut self) -> Result<(), ShellError> {
        match self.pipeline.take_failure() {
            Some(failure) => Err(ShellError::Policy(failure.to_string())),
            None => Ok(()),
        }
    }

    fn send(&mut self) {
        let now = self.now();
        for port in 0..self.interfaces.len() as u16 {
            while let Some(due) = self.pipeline.next_due(port, now) {
                let socket = self.interfaces[usize::from(port)].data.as_raw_fd();
                let taken = send(socket, self.pipeline.frame(due), MsgFlags::MSG_DONTWAIT).is_ok();
                self.lateness.add(self.now().saturating_sub(due.at).as_ns());
                self.pipeline.handed_over(port, due, taken);
            }
        }
    }

    fn missed(&self) -> u64 {
        self.missed.iter().map(|&count| u64::from(count)).sum()
    }

    /// Leaves a snapshot; `snapshot` is memory for the next one.
    fn show(&mut self, watch: &Watch, start: Time, snapshot: &mut Box<Snapshot>) {
        snapshot.take(&self.pipeline, &self.lateness);
        (snapshot.at, snapshot.missed) = (self.now().saturating_sub(start), self.missed());
        // Peaks that nobody has seen stay.
        if watch.publish(snapshot) {
            self.pipeline.forget_peaks();
        }
    }

    /// `before`: CPU time that had been stolen when it began.
    fn finish(mut self, ran: Time, before: Option<Time>, notes: Vec<String>) -> Summary {
        let stolen = stolen().zip(before).map(|(now, before)| now.saturating_sub(before));
        self.pipeline.finish();
        let capture = self.pipeline.end_capture();
        Summary {
            ran,
            epoch_ns: self.epoch_ns,
            tallies: self.pipeline.tallies().to_vec(),
            late_arrivals: self.pipeline.driver().late(),
            missed: self.missed(),
            lateness: self.lateness,
            stolen,
            capture,
            notes,
            pipeline: self.pipeline,
        }
    }
}

fn system(what: &'static str, interface: &str, source: Errno) -> ShellError {
    ShellError::System { what, interface: interface.to_owned(), source }
}

fn open(file: &SwitchFile) -> Result<Vec<Interface>, ShellError> {
    let addresses: Vec<(String, LinkAddr)> = getifaddrs()
        .map_err(|source| system("listing", "all interfaces", source))?
        .filter_map(|one| Some((one.interface_name, *one.address?.as_link_addr()?)))
        .collect();
    let open = |name: String| {
        let Some((_, address)) = addresses.iter().find(|(known, _)| *known == name) else {
            let known = addresses.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(ShellError::NoInterface { name, known });
        };
        let (data, tagged) = (open_one(&name, address, false)?, open_one(&name, address, true)?);
        Ok(Interface { name, data, tagged })
    };
    file.names().into_iter().map(open).collect()
}

/// A socket of an interface that sees frames of others with or without a VLAN tag, and none of its own.
fn open_one(name: &str, address: &LinkAddr, tagged: bool) -> Result<OwnedFd, ShellError> {
    let failed = |what| move |source| system(what, name, source);
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)
        .map_err(failed("opening a raw socket"))?;
    let io = |error: std::io::Error| Errno::from_raw(error.raw_os_error().unwrap_or(0));
    SockRef::from(&socket)
        .attach_filter(&filter(tagged))
        .map_err(|error| system("attaching a filter", name, io(error)))?;
    setsockopt(&socket, ReceiveTimestampns, &true).map_err(failed("asking for time stamps"))?;
    setsockopt(&socket, RxqOvfl, &1).map_err(failed("asking for counts of lost frames"))?;
    // More than the system's limit where that is allowed.
    if setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER).is_err() {
        setsockopt(&socket, RcvBuf, &RECEIVE_BUFFER).map_err(failed("enlarging the receive buffer"))?;
    }
    // The address of the list has protocol 0, which leaves the socket's own.
    bind(socket.as_raw_fd(), address).map_err(failed("binding a raw socket"))?;
    // What came from other interfaces before.
    while nix::sys::socket::recv(socket.as_raw_fd(), &mut [0; 16], MsgFlags::MSG_DONTWAIT).is_ok() {}
    Ok(socket)
}

/// A program of the classic packet filter: no outgoing frames, and only those with a VLAN tag or only those without.
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
