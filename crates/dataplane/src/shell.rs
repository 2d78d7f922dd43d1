//! Connects the [`Pipeline`] to sockets and to the kernel's timestamps, and waits for events.

use crate::awake::Awake;
use crate::capture::{CaptureReport, CaptureWriter};
use crate::config::SwitchFile;
use crate::error::ShellError;
use crate::frame::finish_checksum;
use crate::lateness::Durations;
use crate::link::LinkWatch;
use crate::metrics;
use crate::pipeline::Pipeline;
use crate::record::RecordWriter;
use crate::rights;
use crate::snapshot::{Snapshot, Watch};
use crate::socket::{self, Interface, Reading, ns_of};
use crate::tallies::{Discard, LinkState, Tallies};
use bufferlab_params::Choice;
use bufferlab_units::Time;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Condition that stops a run of the switch.
#[derive(Debug)]
pub struct Stopping<'a> {
    /// Flag that a signal sets to stop the run.
    pub wanted: &'a AtomicBool,
    /// Duration after which the run stops; [`Time::MAX`] means no limit.
    pub after: Time,
}

/// Options of a run of the switch.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// Writer of the record of packets and verdicts.
    pub record: Option<RecordWriter>,
    /// Writer of captures of all ports.
    pub capture: Option<CaptureWriter>,
    /// Whether the run requests real-time priority. Without this priority, other programs delay
    /// frames by milliseconds.
    pub real_time: bool,
    /// Whether threads of the lowest class (`SCHED_IDLE`) keep all cores awake. A sleeping core
    /// wakes up late, by hundreds of microseconds on virtual machines.
    pub keep_awake: bool,
    /// Loopback address of the server that shows counters to Prometheus.
    pub metrics: Option<SocketAddr>,
    /// Whether the whole process permanently changes from root to another user. A process that
    /// changes its user must have one thread. Without the change of user, only the calling thread
    /// gives up its capabilities.
    pub change_user: bool,
    /// Function that receives a message at each state change of an interface.
    pub tell: Option<fn(&str)>,
    /// Condition that stops the run of the switch.
    pub stopping: Stopping<'a>,
}

/// Result of a run of the switch.
#[derive(Debug)]
pub struct Summary {
    /// Duration of the switch's run.
    pub ran: Time,
    /// Time zero of the switch by the system clock (ns since 1970).
    pub epoch_ns: u64,
    /// Frame counts of the run, by port.
    pub tallies: Vec<Tallies>,
    /// Number of arrivals that came after a decision about an equal or a later time.
    pub late_arrivals: u64,
    /// Histogram of the lateness of frames when the interface takes them.
    pub lateness: Durations,
    /// CPU time of all cores that a hypervisor gave to other machines during the run (steal time).
    /// Frames may be late by the steal time. The field is `None` if the kernel does not report
    /// steal time.
    pub stolen: Option<Time>,
    /// Number of frames that the kernel dropped because the process was too slow. The record lacks
    /// these frames.
    pub missed: u64,
    /// Report on the finished capture, or the capture's error.
    pub capture: std::io::Result<Option<CaptureReport>>,
    /// Remarks that users need before they trust the measured lateness.
    pub notes: Vec<String>,
    /// Final state of the switch's pipeline.
    pub pipeline: Pipeline,
}

/// Maximum number of frames that the switch reads from one port before it reads the next port.
const BURST: usize = 256;

/// Longest time that lines of the record may wait to be written.
const RECORD_INTERVAL: Time = Time::from_ms(250);

/// Number of interface changes that the summary lists.
const CHANGES_KEPT: usize = 20;

/// A switch with open sockets that has given up its rights.
pub struct Opened<'a> {
    shell: Shell,
    capture: Option<CaptureWriter>,
    listener: Option<TcpListener>,
    names: Vec<String>,
    keep_awake: bool,
    stopping: Stopping<'a>,
}

/// Opens the interfaces of `file`, which now begin to queue frames. Gives up rights as described at
/// [`RunOptions::change_user`]: capabilities of all sets, and the right to gain new capabilities.
/// Threads that are started later have no capabilities, either.
///
/// # Errors
/// [`ShellError`] if an interface cannot be opened, or rights cannot be given up.
pub fn open<'a>(file: &SwitchFile, options: RunOptions<'a>) -> Result<Opened<'a>, ShellError> {
    let mut capture = options.capture;
    let listener = options.metrics.map(metrics::listen).transpose().map_err(ShellError::Metrics)?;
    let pipeline = Pipeline::new(file, options.record)?;
    let (interfaces, links, epoch_ns) = (socket::open(file)?, LinkWatch::open()?, now_ns() - EPOCH_OFFSET_NS);
    if let Some(capture) = &mut capture {
        capture.keep_names().map_err(ShellError::Captures)?;
    }
    let notes = if options.real_time { ask_for_priority() } else { Vec::new() };
    if options.change_user {
        rights::give_up_as_process().map_err(ShellError::Rights)?;
    } else {
        rights::give_up();
    }
    let mut shell = Shell {
        missed: vec![[0; 2]; interfaces.len()],
        links,
        epoch_ns,
        pipeline,
        lateness: Durations::default(),
        reading: Reading::new(file.forwarding.largest_frame),
        arrivals: Vec::new(),
        contents: Vec::new(),
        tell: options.tell,
        changes: 0,
        notes,
        interfaces,
    };
    for port in 0..shell.interfaces.len() {
        shell.note_link(port, shell.interfaces[port].state, Time::ZERO);
    }
    let (names, keep_awake, stopping) = (file.names(), options.keep_awake, options.stopping);
    Ok(Opened { shell, capture, listener, names, keep_awake, stopping })
}

impl Opened<'_> {
    /// Forwards frames until the run is stopped. `watch` receives snapshots. `ready` receives a
    /// message when the switch begins to forward frames.
    ///
    /// # Errors
    /// [`ShellError`] if the policy or the operating system fails.
    pub fn run(self, watch: Option<Arc<Watch>>, ready: Option<Sender<()>>) -> Result<Summary, ShellError> {
        let Self { mut shell, mut capture, listener, names, keep_awake, stopping } = self;
        // A terminal needs frequent updates; Prometheus polls every few seconds.
        let between = Time::from_ms(if watch.is_some() { 100 } else { 500 });
        let watch = watch.or_else(|| listener.is_some().then(Arc::default));
        if let (Some(listener), Some(watch)) = (listener, &watch) {
            metrics::serve(listener, names, Arc::clone(watch));
        }
        let awake = keep_awake.then(Awake::start);
        if let Some(Err(error)) = &awake {
            shell.notes.push(format!("cores may fall asleep and wake late: {error}"));
        }
        if let Some(capture) = &mut capture {
            capture.begin(shell.epoch_ns);
        }
        shell.pipeline.set_capture(capture);
        if let Some(ready) = ready {
            // The receiver of the message may be gone if the caller does not wait for the message.
            let _ = ready.send(());
        }
        let stolen = stolen();
        let start = shell.now();
        let until = Time(start.0.saturating_add(stopping.after.0));
        let (mut snapshot, mut next, mut mark) = (Box::<Snapshot>::default(), Time::ZERO, start);
        while !stopping.wanted.load(Ordering::Relaxed) && shell.now() < until {
            shell.step(until)?;
            let now = shell.now();
            if let Some(watch) = watch.as_ref().filter(|_| now >= next) {
                shell.show(watch, start, &mut snapshot);
                next = now + between;
            }
            if now >= mark {
                shell.pipeline.mark_record();
                mark = now + RECORD_INTERVAL;
            }
        }
        let ran = shell.now().saturating_sub(start);
        Ok(shell.finish(ran, stolen))
    }
}

/// Requests real-time priority for the current thread. Returns a remark if the system refuses.
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
            // The system stretches sleeps of threads without real-time priority by 50 us.
            let _ = nix::sys::prctl::set_timerslack(1);
            vec![
                "no real-time priority (CAP_SYS_NICE): other programs may delay frames by milliseconds"
                    .to_owned(),
            ]
        }
    }
}

/// Steal time since the start of the machine: proc(5), `stat`.
fn stolen() -> Option<Time> {
    // The kernel reports hundredths of a second, independent of its internal clock.
    const MS_PER_TICK: u64 = 10;
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    Some(Time::from_ms(ticks * MS_PER_TICK))
}

/// Time from time zero of the switch to the first frame (ns): in a replay, the first frame needs
/// time to reach the switch.
const EPOCH_OFFSET_NS: u64 = 1_000_000;

struct Shell {
    interfaces: Vec<Interface>,
    links: LinkWatch,
    /// Time zero of the switch by the system clock (ns).
    epoch_ns: u64,
    pipeline: Pipeline,
    lateness: Durations,
    reading: Reading,
    /// Number of frames that the kernel dropped because its socket's queue was full: by port,
    /// without and with a VLAN tag.
    missed: Vec<[u32; 2]>,
    /// Arrivals of this iteration: for each frame its time, its port and its range in `contents`.
    arrivals: Vec<(Time, u16, std::ops::Range<usize>)>,
    contents: Vec<u8>,
    tell: Option<fn(&str)>,
    /// Number of interface changes since the start of the run.
    changes: usize,
    /// Remarks that users need before they trust the results of the run.
    notes: Vec<String>,
}

/// Sockets that have data to read.
struct Ready {
    /// For each port, whether untagged frames can have arrived, and whether tagged frames can.
    ports: Vec<[bool; 2]>,
    /// Whether an interface has changed its state.
    links: bool,
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).expect("every system has this clock");
    ns_of(now)
}

impl Shell {
    fn now(&self) -> Time {
        Time::from_ns(now_ns().saturating_sub(self.epoch_ns))
    }

    /// Runs one iteration of the switch: wait until a frame arrives or is due, read, decide, send.
    fn step(&mut self, until: Time) -> Result<(), ShellError> {
        let ready = self.wait(until);
        // The clock is read before the sockets. So this iteration reads all frames with earlier
        // timestamps, except frames in the kernel's receive path.
        let now = self.now();
        if ready.links {
            for (port, state) in self.links.read(&self.interfaces) {
                self.note_link(port, state, now);
            }
        }
        self.read(&ready.ports)?;
        self.pipeline.advance(now);
        self.check()?;
        self.send();
        Ok(())
    }

    /// Sleeps until the switch must send the next frame, or a frame arrives.
    fn wait(&self, until: Time) -> Ready {
        const LONGEST: Time = Time::from_ms(50);
        let now = self.now();
        let next = self.pipeline.next_event().unwrap_or(Time::MAX).min(until).min(now + LONGEST);
        let span = next.saturating_sub(now).as_ns();
        let sockets = self.interfaces.iter().flat_map(Interface::sockets).chain([self.links.socket()]);
        let mut sockets: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
        let timeout = TimeSpec::new((span / 1_000_000_000) as i64, (span % 1_000_000_000) as i64);
        // The result of the wait is not needed: after an interruption, too, the switch
        // reads the sockets with data.
        let _ = ppoll(&mut sockets, Some(timeout), None);
        let is_ready = |socket: &PollFd<'_>| socket.any().unwrap_or(true);
        let (pairs, links) = sockets.as_chunks::<2>();
        Ready {
            ports: pairs.iter().map(|pair| [is_ready(&pair[0]), is_ready(&pair[1])]).collect(),
            links: links.iter().any(is_ready),
        }
    }

    fn read(&mut self, ready: &[[bool; 2]]) -> Result<(), ShellError> {
        self.arrivals.clear();
        self.contents.clear();
        for (port, are_ready) in ready.iter().enumerate() {
            for tagged in [false, true] {
                let mut frames = 0;
                while are_ready[usize::from(tagged)] && frames < BURST && self.read_one(port, tagged)? {
                    frames += 1;
                }
            }
        }
        // The thread reads the ports in turn, but orders frames by their timestamps.
        self.arrivals.sort_by_key(|(at, port, range)| (*at, *port, range.start));
        for (at, port, range) in &self.arrivals {
            // The pipeline counts each discarded frame, so the result is not needed.
            let _ = self.pipeline.receive(*port, *at, &self.contents[range.clone()]);
        }
        Ok(())
    }

    /// Reads one frame, and returns false if no frame is available.
    fn read_one(&mut self, port: usize, tagged: bool) -> Result<bool, ShellError> {
        let received = self.interfaces[port].read(tagged, &mut self.reading)?;
        let Some(received) = received else { return Ok(false) };
        if let Some(dropped) = received.dropped {
            self.missed[port][usize::from(tagged)] = dropped;
        }
        let tallies = self.pipeline.tallies_mut(port as u16);
        if let Some((start, offset)) = received.checksum
            && finish_checksum(received.frame, start, offset)
        {
            tallies.checksums += 1;
        }
        let (frame, start) = (received.frame, self.contents.len());
        match received.tag {
            // Insert the VLAN tag again at the place from which the kernel removed it.
            Some(tag) if frame.len() >= 12 => {
                for part in [&frame[..12], &tag, &frame[12..]] {
                    self.contents.extend_from_slice(part);
                }
            }
            _ if tagged => {
                tallies.received += 1;
                tallies.received_bytes += frame.len() as u64;
                tallies.discard(Discard::Vlan);
                return Ok(true);
            }
            _ => self.contents.extend_from_slice(frame),
        }
        let at = Time::from_ns(received.stamp_ns.unwrap_or_else(now_ns).saturating_sub(self.epoch_ns));
        self.arrivals.push((at, port as u16, start..self.contents.len()));
        Ok(true)
    }

    /// Records the state `state` of the interface of `port`, which began at the time `at`. The
    /// switch announces a change of the state and adds it to the summary.
    fn note_link(&mut self, port: usize, state: LinkState, at: Time) {
        let link = &mut self.pipeline.tallies_mut(port as u16).link;
        // A removed interface does not return: a new interface may have its name, but is a
        // different interface.
        if *link == state || *link == LinkState::Removed {
            return;
        }
        *link = state;
        let meaning = LinkState::WORDS[state as usize].meaning;
        let (name, seconds) = (&self.interfaces[port].name, at.as_ns() as f64 / 1e9);
        let note = format!("{name} is {} since {seconds:.3} s: {meaning}", state.word());
        if let Some(tell) = self.tell {
            tell(&note);
        }
        self.changes += 1;
        // The first changes of interfaces explain the counters. The summary only counts the later
        // changes.
        if self.changes <= CHANGES_KEPT {
            self.notes.push(note);
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
                let taken = self.interfaces[usize::from(port)].send(self.pipeline.frame(due));
                self.lateness.add(self.now().saturating_sub(due.at).as_ns());
                self.pipeline.handed_over(port, due, taken);
            }
        }
    }

    fn missed(&self) -> u64 {
        self.missed.iter().flatten().map(|&count| u64::from(count)).sum()
    }

    /// Publishes a snapshot of the switch. After the call, `snapshot` is memory for the next
    /// snapshot.
    fn show(&mut self, watch: &Watch, start: Time, snapshot: &mut Box<Snapshot>) {
        snapshot.take(&self.pipeline, &self.lateness);
        (snapshot.at, snapshot.missed) = (self.now().saturating_sub(start), self.missed());
        // Peaks of occupancy cover the time between two published snapshots.
        if watch.publish(snapshot) {
            self.pipeline.forget_peaks();
        }
    }

    /// Creates the summary of the run. `before` is the steal time at the start of the run.
    fn finish(mut self, ran: Time, before: Option<Time>) -> Summary {
        let stolen = stolen().zip(before).map(|(now, before)| now.saturating_sub(before));
        if let Some(more) = self.changes.checked_sub(CHANGES_KEPT).filter(|&more| more > 0) {
            self.notes.push(format!("{more} more changes of interfaces"));
        }
        let checksums: u64 = self.pipeline.tallies().iter().map(|port| port.checksums).sum();
        if checksums > 0 {
            self.notes.push(format!(
                "finished {checksums} checksums that hosts had left to their cards (`ethtool -K INTERFACE tx off` in a host \
                 spares the switch this work)"
            ));
        }
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
            notes: self.notes,
            pipeline: self.pipeline,
        }
    }
}
