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
