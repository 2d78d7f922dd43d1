//! Creates new namespaces for a command of this program. The namespaces end when the command ends.
//!
//! The process becomes `unshare`, which executes this program again, as the outer process. The
//! outer process has new mount and network namespaces. The outer process starts the program a third
//! time, as the inner process, which is the first process of a new process namespace. The outer
//! process waits, and forwards signals that end the testbed. If either process is killed, the
//! kernel ends every process inside the sandbox. With the last process, the namespaces, their links
//! and their mounts disappear. No resource has a name outside the sandbox, so a run leaves no
//! traces.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{env, fs, io};

/// Environment variable that is set for the outer and the inner process of the sandbox. Programs
/// that the inner process starts must not inherit this variable.
pub const PLACE: &str = "BUFFERLAB_TESTBED_PLACE";
/// Value of the variable `PLACE` in the outer process of the sandbox. In the inner process, the
/// value is the process number of the outer process.
const OUTER: &str = "outer";

/// Time that the sandbox has for cleaning up after a signal that ends it.
const PATIENCE: Duration = Duration::from_secs(3);
/// Interval at which the outer process repeats the signal that ends the inner process. The inner
/// process may not handle signals yet.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Relation of this process to the testbed's sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxSide {
    /// The process has not created the namespaces of the sandbox yet.
    Before,
    /// The outer process, which waits for the inner process ([`supervise`]).
    Outside,
    /// The inner process, which is the first process in the new namespaces ([`settle`]).
    Inside,
}

/// Returns whether this process has no sandbox yet, or is the outer or inner process of the
/// sandbox.
#[must_use]
pub fn place() -> SandboxSide {
    match env::var_os(PLACE) {
        None => SandboxSide::Before,
        Some(place) if place == OUTER => SandboxSide::Outside,
        Some(_) => SandboxSide::Inside,
    }
}

/// Restarts this program as the outer process. `again` has the program and its arguments. Returns
/// only on failure.
#[must_use]
pub fn enter(again: &[OsString]) -> io::Error {
    let mut command = Command::new("unshare");
    if !crate::machine::is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "--net", "--pid", "--ipc", "--propagation", "private", "--"]);
    command.args(again).env(PLACE, OUTER).exec()
}

/// Returns the signals that end a testbed. If a process was started with SIGHUP ignored (nohup),
/// the process keeps ignoring SIGHUP.
fn requests() -> SigSet {
    let mut all = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGQUIT] {
        all.add(signal);
    }
    let ignored = own_status("SigIgn:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    if ignored.is_none_or(|mask| mask >> (Signal::SIGHUP as i32 - 1) & 1 == 0) {
        all.add(Signal::SIGHUP);
    }
    all
}

/// Reads a field of the current process in proc(5), `status`. The process numbers in `status` are
/// from the mounted /proc.
fn own_status(field: &str) -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(field)?.trim().to_owned()))
}

/// In the outer process: starts this program as the inner process, waits for the inner process and
/// returns its exit code. `again` has the program and its arguments. The outer process forwards a
/// signal that ends the testbed to the inner process, and kills the inner process after three
/// seconds. Ctrl-C reaches the inner process from its terminal, and is not followed by a kill.
///
/// # Errors
/// If the inner process cannot be started, or waiting for it fails.
pub fn supervise(again: &[OsString]) -> io::Result<u8> {
    let (mut heard, requests) = (requests(), requests());
    heard.add(Signal::SIGCHLD);
    // Do not start a thread here: a new thread would have to be in the process namespace of the
    // children.
    heard.thread_block()?;
    let signals = SignalFd::with_flags(&heard, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    let own = own_status("Pid:").unwrap_or_default();
    let unknown = || io::Error::new(io::ErrorKind::NotFound, "the path of the program is unknown");
    let (program, words) = again.split_first().ok_or_else(unknown)?;
    let mut child = Command::new(program).args(words).env(PLACE, own).spawn()?;
    let (mut request, mut deadline) = (None, None);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(exit_code(status, request));
        }
        let timeout = if request.is_some() { millis(ASK_AGAIN) } else { PollTimeout::NONE };
        match poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        while let Ok(Some(seen)) = signals.read_signal() {
            let signal = Signal::try_from(seen.ssi_signo as i32)?;
            if requests.contains(signal) {
                request = request.or(Some(signal));
                if signal != Signal::SIGINT {
                    deadline = deadline.or(Some(Instant::now() + PATIENCE));
                }
            }
        }
        if request.is_some() {
            ask_to_end(&mut child, deadline)?;
        }
    }
}

fn millis(span: Duration) -> PollTimeout {
    PollTimeout::try_from(span).unwrap_or(PollTimeout::MAX)
}

/// Asks the inner process of the sandbox to end, or kills it after `deadline`.
fn ask_to_end(child: &mut Child, deadline: Option<Instant>) -> io::Result<()> {
    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return child.kill();
    }
    match kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM) {
        // The inner process ended before it received the signal.
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Exit code of the program, or the code that shells report for a signal.
fn exit_code(status: ExitStatus, request: Option<Signal>) -> u8 {
    let of_signal = |signal: i32| (128 + signal) as u8;
    match (status.code(), request) {
        (Some(0), _) => 0,
        (_, Some(signal)) => of_signal(signal as i32),
        (Some(code), None) => code as u8,
        (None, None) => status.signal().map_or(1, of_signal),
    }
}

/// Prepares the inner process: the inner process ends together with the outer process, sees a new
/// /proc and receives signals.
///
/// # Errors
/// If the outer process has ended already, or /proc cannot be mounted.
pub fn settle() -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    // If the outer process has already ended, the signal of its end would never arrive.
    let outside = env::var(PLACE).unwrap_or_default();
    if own_status("PPid:").is_some_and(|parent| parent != outside) {
        return Err(io::Error::other("the process that started it has ended"));
    }
    crate::lab::mount_processes().map_err(io::Error::other)?;
    let mut all = requests();
    all.add(Signal::SIGCHLD);
    all.thread_unblock()?;
    Ok(())
}

/// Returns the numbers of the outer processes of the running testbeds.
///
/// # Errors
/// If the list of processes cannot be read.
pub fn running() -> io::Result<Vec<i32>> {
    let mark = format!("{PLACE}={OUTER}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // Processes of other users cannot be read, entered or ended.
        let words = fs::read(entry.path().join("environ")).unwrap_or_default();
        if words.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()) {
            found.push(id);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Ends all testbeds that [`running`] lists; returns the number of ended testbeds.
///
/// # Errors
/// If the list of processes cannot be read, or a process may not be ended.
pub fn end_all() -> io::Result<usize> {
    let found = running()?;
    for &id in &found {
        kill(Pid::from_raw(id), Signal::SIGKILL)?;
    }
    Ok(found.len())
}

/// A running testbed whose hosts can be entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Process number of the outer process, as [`running`] returns it.
    pub id: i32,
    /// Process number of the first process inside the sandbox.
    inside: i32,
    /// Names of the hosts, followed by the name of the switch's network.
    pub hosts: Vec<String>,
}

/// Returns the running testbeds that have hosts and that this user may enter.
///
/// # Errors
/// If the list of processes cannot be read.
pub fn standing() -> io::Result<Vec<Standing>> {
    Ok(running()?.into_iter().filter_map(stands).collect())
}

fn stands(id: i32) -> Option<Standing> {
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    let inside = children.split_whitespace().next()?.parse().ok()?;
    // The file with the names of the hosts is visible only in the mounts of the inner process.
    let names = fs::read_to_string(format!("/proc/{inside}/root{NAMES}")).ok()?;
    let hosts: Vec<_> = names.lines().map(str::to_owned).collect();
    (hosts.len() > 1).then_some(Standing { id, inside, hosts })
}

/// File with the names of the hosts, one per line, followed by the name of the switch's network.
/// The file exists when the network is complete.
pub(crate) const NAMES: &str = "/run/networks";

/// Environment variable for commands of [`Standing::enter`], so that a prompt can show the host.
const HOST: &str = "BUFFERLAB_HOST";

impl Standing {
    /// Replaces this process by `command` at the host `host`, in the current folder. Returns only
    /// on failure.
    #[must_use]
    pub fn enter(&self, host: &str, command: &[String]) -> io::Error {
        let folder = match env::current_dir() {
            Ok(folder) => folder,
            Err(error) => return error,
        };
        let mut enter = Command::new("nsenter");
        enter.arg(format!("--target={}", self.inside)).args(["--mount", "--pid", "--ipc"]);
        if !crate::machine::is_root() {
            enter.args(["--user", "--preserve-credentials"]);
        }
        // The name of the network namespace is known only in the sandbox's mounts. Entering the
        // mounts changes the current folder.
        enter.args(["--", "env"]).arg(format!("--chdir={}", folder.display())).arg(format!("{HOST}={host}"));
        enter.arg("nsenter").arg(format!("--net=/run/netns/{host}")).arg("--").args(command).exec()
    }
}
