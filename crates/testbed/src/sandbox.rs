//! Namespaces of its own for a command of this program, which die with it.
//!
//! The process becomes `unshare`, which starts the program again as the first process of new mount, network and process
//! namespaces. If either of the two is killed, the kernel ends every process in there, and with the last process go the
//! namespaces, their links and their mounts. Nothing has a name outside, so nothing can be left behind.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::{env, fs, io};

/// Set for the program inside.
const INSIDE: &str = "BUFFERLAB_TESTBED_INSIDE";

/// Whether this process runs inside.
#[must_use]
pub fn is_inside() -> bool {
    env::var_os(INSIDE).is_some()
}

/// Starts this program with the same arguments inside of new namespaces; returns only if that fails.
#[must_use]
pub fn enter() -> io::Error {
    let program = match env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    let mut command = Command::new("unshare");
    if !crate::plan::is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]);
    command.args(["--propagation", "private", "--"]);
    command.arg(program).args(env::args_os().skip(1)).env(INSIDE, "1").exec()
}

/// Processes of testbeds that run now, as seen from here: `unshare` with this program.
///
/// # Errors
/// If the list of processes cannot be read.
pub fn running() -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        let is_program = |word: &str| word.rsplit('/').next() == Some("bufferlab");
        let has_testbed = words.windows(2).any(|pair| is_program(&pair[0]) && pair[1] == "testbed");
        if words.first().is_some_and(|word| word == "unshare") && has_testbed {
            found.push(id);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Ends the testbeds of [`running`] and answers how many there were.
///
/// # Errors
/// If the list of processes cannot be read, or one may not be ended.
pub fn end_all() -> io::Result<usize> {
    let found = running()?;
    for &id in &found {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGKILL)?;
    }
    Ok(found.len())
}

/// A testbed whose hosts can be entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its process, as [`running`] tells it.
    pub id: i32,
    /// The first process inside.
    inside: i32,
    /// Names of its hosts, and that of the switch's network last.
    pub hosts: Vec<String>,
}

/// Testbeds of [`running`] that have hosts, as far as this user may enter them.
///
/// # Errors
/// If the list of processes cannot be read.
pub fn standing() -> io::Result<Vec<Standing>> {
    Ok(running()?.into_iter().filter_map(stands).collect())
}

fn stands(id: i32) -> Option<Standing> {
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    let inside = children.split_whitespace().next()?.parse().ok()?;
    // They are seen in the mounts of the process inside alone.
    let names = fs::read_to_string(format!("/proc/{inside}/root{NAMES}")).ok()?;
    let hosts: Vec<_> = names.lines().map(str::to_owned).collect();
    (hosts.len() > 1).then_some(Standing { id, inside, hosts })
}

/// Names of the hosts, one a line, and that of the switch's network last: there once all is built.
pub(crate) const NAMES: &str = "/run/networks";

/// Set for what [`Standing::enter`] starts, so that a prompt can show it.
const HOST: &str = "BUFFERLAB_HOST";

impl Standing {
    /// Becomes `command` at `host`, in this folder; returns only if that fails.
    #[must_use]
    pub fn enter(&self, host: &str, command: &[String]) -> io::Error {
        let folder = match env::current_dir() {
            Ok(folder) => folder,
            Err(error) => return error,
        };
        let mut enter = Command::new("nsenter");
        enter.arg(format!("--target={}", self.inside)).args(["--mount", "--pid", "--ipc"]);
        if !crate::plan::is_root() {
            enter.args(["--user", "--preserve-credentials"]);
        }
        // The network's name is known behind the mounts; the folder is lost with them.
        enter.args(["--", "env"]).arg(format!("--chdir={}", folder.display())).arg(format!("{HOST}={host}"));
        enter.arg("nsenter").arg(format!("--net=/run/netns/{host}")).arg("--").args(command).exec()
    }
}
