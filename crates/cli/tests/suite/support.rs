//! Helper functions of all tests: a working folder, and the output of a command as a terminal shows
//! it.

#![allow(dead_code)] // Every test binary uses its own part.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Folder of the repository with the example scenarios.
pub(crate) const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");

/// Scenario of ten queries on one switch, which runs in milliseconds.
pub(crate) const TINY: &str = r#"# Three servers answer one client.
name = "tiny"
description = "Queries to three servers on one switch"
duration = "10 ms"
drain = "100 ms"

[topology]
kind = "single_switch"
hosts = 4
rate = "10 Gb/s"
delay = "10 us"

[switch]
buffer = "200 KB"
policy = { name = "dt", alpha = 1 }

[[transport]]
congestion_control = "newreno"
initial_window = "whole"

[[workload]]
kind = "incast"
request = "150 KB"
fan_in = 3
queries_per_second_per_host = 250.0

[output]
sample_interval = "50 us"
"#;

/// An empty folder in which a test runs commands.
pub(crate) struct Desk {
    folder: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().expect("a temporary folder") }
    }

    /// Creates a working folder that contains the scenario [`TINY`] as `tiny.toml`.
    pub(crate) fn with_tiny() -> Self {
        let desk = Self::new();
        desk.write("tiny.toml", TINY);
        desk
    }

    /// A folder with a copy of the repository's scenarios.
    pub(crate) fn with_scenarios() -> Self {
        let desk = Self::new();
        fs::create_dir(desk.path("scenarios")).expect("writable");
        for entry in fs::read_dir(SCENARIOS).expect("the scenarios are there") {
            let path = entry.expect("readable").path();
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            fs::create_dir_all(desk.path("scenarios")).expect("writable");
            fs::copy(&path, desk.path(&format!("scenarios/{name}"))).expect("readable");
        }
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    }

    /// A command of `bufferlab` in this folder, in an environment without settings for
    /// colours and widths.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bufferlab"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM", "CI"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("bufferlab starts")
    }

    /// Output of a command that gets a text on standard input.
    pub(crate) fn output_of(&self, args: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(args);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().expect("bufferlab starts");
        // A command that reads no input may end before the whole text is written.
        drop(child.stdin.take().expect("a pipe").write_all(input));
        child.wait_with_output().expect("it ends")
    }

    /// Runs a command that must succeed. Returns its stdout.
    pub(crate) fn succeed(&self, args: &[&str]) -> String {
        let output = self.output(args);
        assert!(output.status.success(), "{}", self.show(args, &output));
        text(&output.stdout)
    }

    /// The command line of a command and its output.
    pub(crate) fn terminal(&self, args: &[&str]) -> String {
        self.show(args, &self.output(args))
    }

    fn show(&self, args: &[&str], output: &Output) -> String {
        let code = output.status.code().map_or("none".to_owned(), |code| code.to_string());
        let typed: Vec<_> = args.iter().map(|arg| quote(arg)).collect();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let shown = format!(
            "$ bufferlab {}\nexit code {code}\n--- stdout ---\n{stdout}--- stderr ---\n{stderr}",
            typed.join(" ")
        );
        // The wrapping of a long message depends on the length of the temporary path.
        let shown = shown.replace("\n  │ ", " ");
        let canonical = fs::canonicalize(self.folder.path()).expect("it exists");
        let shown = shown.replace(&canonical.display().to_string(), "[DESK]");
        shown.replace(&self.folder.path().display().to_string(), "[DESK]")
    }

    /// Every file below `folder` with its content, by its path.
    pub(crate) fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        collect(&self.path(folder), Path::new(""), &mut all);
        all
    }
}

fn collect(folder: &Path, name: &Path, all: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        let name = name.join(path.file_name().expect("a name"));
        if path.is_dir() {
            collect(&path, &name, all);
        } else {
            all.insert(name.display().to_string(), fs::read(&path).expect("readable"));
        }
    }
}

/// Writes an argument in the notation of a shell.
fn quote(arg: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) { arg.to_owned() } else { format!("'{arg}'") }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}
