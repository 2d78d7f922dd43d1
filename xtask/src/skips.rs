//! Collects the parts that a step of CI skips.
//!
//! A test that cannot run on a machine writes a line that begins with [`MARK`] to its standard
//! error. The line bypasses the test runner, which discards output of passing tests. CI steps read
//! the output of such commands, so that CI can end with a list of skipped parts.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Command, Stdio};

/// First word of an output line that reports a skipped part of CI and the reason.
pub const MARK: &str = "SKIPPED ";

thread_local! {
    /// Skipped parts of the CI step since the last [`take`]. Each thread has a separate list,
    /// because two steps may run at a time.
    static SEEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Records and prints a part of CI that was skipped.
pub fn note(what: &str) {
    eprintln!("{MARK}{what}");
    remember(what);
}

fn remember(what: &str) {
    SEEN.with_borrow_mut(|seen| seen.push(what.to_owned()));
}

/// Returns the parts of CI that were skipped since the last call: each part once, with its count if
/// above one.
#[must_use]
pub fn take() -> Vec<String> {
    let all = SEEN.take();
    let mut counted: Vec<(String, usize)> = Vec::new();
    for what in all {
        match counted.iter_mut().find(|(known, _)| *known == what) {
            Some((_, times)) => *times += 1,
            None => counted.push((what, 1)),
        }
    }
    let in_words =
        |(what, times): (String, usize)| if times == 1 { what } else { format!("{what} ({times} times)") };
    counted.into_iter().map(in_words).collect()
}

/// Runs `command` with its output on the terminal, and records the skipped parts that it reports.
///
/// # Errors
/// If the command cannot be started or fails.
pub fn listen(command: &mut Command) -> Result<(), String> {
    let started = command_of(command).spawn();
    let mut child = started.map_err(|error| format!("{command:?} cannot start: {error}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let reported = std::thread::scope(|scope| {
        let both = [
            scope.spawn(|| pass_on(stdout, std::io::stdout())),
            scope.spawn(|| pass_on(stderr, std::io::stderr())),
        ];
        both.map(|thread| thread.join().unwrap_or_default())
    });
    reported.iter().flatten().for_each(|what| remember(what));
    let status = child.wait().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}")) }
}

fn command_of(command: &mut Command) -> &mut Command {
    if std::io::stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped())
}

/// Copies output line by line, and returns the texts after the marks of skipped parts.
fn pass_on(from: Option<impl Read>, mut to: impl Write) -> Vec<String> {
    let mut reported = Vec::new();
    let Some(from) = from else { return reported };
    let (mut from, mut line) = (BufReader::new(from), Vec::new());
    while from.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        // If the output is closed, the command must still continue.
        let _ = to.write_all(&line);
        if let Some(what) = String::from_utf8_lossy(&line).trim_end().strip_prefix(MARK) {
            reported.push(what.to_owned());
        }
        line.clear();
    }
    reported
}

/// Outcome of a CI step that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The CI step ran, except for the parts that [`take`] lists.
    Passed,
    /// The step was skipped, because this machine lacks its requirements.
    Skipped,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_leaves_out_is_noted_once_and_its_failure_is_told() {
        let script = "echo SKIPPED one: no a; echo 'other SKIPPED two' >&2; echo 'SKIPPED three: no b' >&2; \
                      echo 'SKIPPED three: no b'";
        listen(Command::new("sh").args(["-c", script])).expect("it succeeds");
        let mut seen = take();
        seen.sort();
        assert_eq!(seen, ["one: no a", "three: no b (2 times)"]);
        assert_eq!(take(), Vec::<String>::new());
        let failed = listen(Command::new("sh").args(["-c", "exit 3"])).expect_err("it fails");
        assert!(failed.contains("exit status: 3"), "{failed}");
    }
}
