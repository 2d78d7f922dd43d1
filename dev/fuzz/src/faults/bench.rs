//! Commands that write results, the folder in which the commands run, and the resulting files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tempfile::TempDir;

/// Name of the results folder inside the folder of the commands.
pub(super) const OUT: &str = "out";

/// A scenario of ten queries on one switch, whose run takes milliseconds.
const TINY: &str = r#"name = "tiny"
description = "Queries to three servers on one switch"
duration = "5 ms"
drain = "50 ms"
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

/// Text of a custom experiment that the tested commands run.
const STUDY: &str = r#"title = "Queries and buffers"
figure = "own"
scenario = "../../tiny.toml"
policies = ["dt", "cs"]
[[axis]]
name = "buffer"
key = "switch.buffer"
values = ["50 KB", "100 KB"]
[metrics]
qct = "class.incast.qct_mean_ms"
[quick]
seeds = 2
[paper]
seeds = 2
[[panel]]
title = "mean QCT (ms)"
metric = "qct"
"#;

/// Files with a SONiC switch configuration for the command `sonic what-if`.
const SWITCH: &[(&str, &str)] = &[
    ("switch/buffers.json", include_str!("../../../../testdata/sonic/switch/buffers.json")),
    ("switch/qos.json", include_str!("../../../../testdata/sonic/switch/qos.json")),
    ("switch/pg_profile_lookup.ini", include_str!("../../../../testdata/sonic/switch/pg_profile_lookup.ini")),
    ("switch/port_config.ini", include_str!("../../../../testdata/sonic/switch/port_config.ini")),
];

/// A command of bufferlab that the injection of faults disturbs.
#[derive(Debug)]
pub(super) struct Trial {
    /// Name of the disturbed command in reports.
    pub(super) name: &'static str,
    /// Commands that run before the tested command, so that the folder has earlier results.
    pub(super) before: &'static [&'static [&'static str]],
    /// Arguments of the command that the injection disturbs.
    pub(super) command: &'static [&'static str],
}

/// List of the tested commands: every command of bufferlab that writes results.
pub(super) const TRIALS: &[Trial] = &[
    Trial { name: "run", before: &[], command: &["run", "tiny.toml", "--out", "out/first"] },
    Trial {
        name: "run --replace",
        before: &[&["run", "tiny.toml", "--set", "seed=7", "--out", "out/first"]],
        command: &["run", "tiny.toml", "--replace", "--set", "output.packets=all", "--out", "out/first"],
    },
    Trial {
        name: "run --seeds",
        before: &[],
        command: &["run", "tiny.toml", "--seeds", "2", "--jobs", "1", "--out", "out"],
    },
    Trial {
        name: "compare",
        before: &[&[
            "compare",
            "tiny.toml",
            "--policies",
            "dt",
            "--seeds",
            "1",
            "--jobs",
            "1",
            "--out",
            "out",
        ]],
        command: &[
            "compare",
            "tiny.toml",
            "--policies",
            "dt,cs",
            "--seeds",
            "1",
            "--jobs",
            "1",
            "--out",
            "out",
        ],
    },
    Trial {
        name: "sweep",
        before: &[],
        command: &[
            "sweep",
            "tiny.toml",
            "--vary",
            "switch.buffer=[\"50 KB\", \"100 KB\"]",
            "--policies",
            "dt",
            "--seeds",
            "1",
            "--jobs",
            "1",
            "--out",
            "out",
        ],
    },
    Trial {
        name: "reproduce",
        before: &[],
        command: &["reproduce", "study/buffers", "--registry", "own", "--jobs", "1", "--out", "out"],
    },
    Trial {
        name: "what-if",
        before: &[],
        command: &[
            "sonic",
            "what-if",
            "switch",
            "--chip",
            "trident3",
            "--duration",
            "50 us",
            "--seeds",
            "1",
            "--jobs",
            "1",
            "--out",
            "out",
        ],
    },
    Trial {
        name: "report",
        before: &[&[
            "compare",
            "tiny.toml",
            "--policies",
            "dt,cs",
            "--seeds",
            "1",
            "--jobs",
            "1",
            "--out",
            "out",
        ]],
        command: &["report", "out", "--figures", "out/figures"],
    },
    Trial {
        name: "view --out",
        before: &[&["run", "tiny.toml", "--set", "output.packets=all", "--out", "out/first"]],
        command: &["view", "out/first", "--out", "out/view.html"],
    },
    Trial {
        name: "view --trace",
        before: &[&["run", "tiny.toml", "--set", "output.packets=all", "--out", "out/first"]],
        command: &["view", "out/first", "--trace", "pcapng", "--out", "out/trace.pcapng"],
    },
];

/// Contents of all files in the results folder of a command, by path.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// A folder with the inputs of all tested commands.
#[derive(Debug)]
pub(super) struct Bench {
    folder: TempDir,
}

/// Folders in which the preparing commands have run, by program and disturbed command.
type Templates = BTreeMap<(PathBuf, &'static str), Arc<Bench>>;
static TEMPLATES: LazyLock<Mutex<Templates>> = LazyLock::new(Mutex::default);

impl Bench {
    /// Creates a folder, and runs the commands in the folder that precede the disturbed command.
    pub(super) fn new(program: &Path, trial: &Trial) -> io::Result<Self> {
        let key = (program.to_owned(), trial.name);
        let known = || TEMPLATES.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&key).cloned();
        let template = match found {
            Some(template) => template,
            None => {
                let template = Arc::new(Self::prepared(program, trial)?);
                known().insert(key, Arc::clone(&template));
                template
            }
        };
        let bench = Self { folder: tempfile::tempdir()? };
        copy(template.folder.path(), bench.folder.path())?;
        Ok(bench)
    }

    fn prepared(program: &Path, trial: &Trial) -> io::Result<Self> {
        let bench = Self { folder: tempfile::tempdir()? };
        bench.write("tiny.toml", TINY)?;
        bench.write("own/study/buffers.toml", STUDY)?;
        for (name, text) in SWITCH {
            bench.write(name, text)?;
        }
        for command in trial.before {
            bench.must(program, command)?;
        }
        Ok(bench)
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(self.folder.path()))?;
        fs::write(path, text)
    }

    /// Path of the results folder. The path has no symbolic links, because the fault library
    /// compares the paths of system calls with this path.
    pub(super) fn out(&self) -> PathBuf {
        let folder = fs::canonicalize(self.folder.path()).unwrap_or_else(|_| self.folder.path().to_owned());
        folder.join(OUT)
    }

    /// Path of a file next to the results folder.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Builds a command of the tested program that runs in the folder with the inputs.
    pub(super) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        self.prepare(&mut command).args(arguments);
        command
    }

    /// Sets the working folder of a command and makes its output quiet.
    pub(super) fn prepare<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.env("NO_COLOR", "1").env_remove("LD_PRELOAD")
    }

    /// Runs a command without a fault; the command must succeed.
    pub(super) fn must(&self, program: &Path, arguments: &[&str]) -> io::Result<()> {
        let output = self.command(program, arguments).output()?;
        if output.status.success() { Ok(()) } else { Err(io::Error::other(describe(arguments, &output))) }
    }

    /// Reads all result files, except files with run times.
    pub(super) fn files(&self) -> io::Result<Files> {
        let mut files = Files::new();
        collect(&self.out(), "", &mut files)?;
        Ok(files)
    }
}

/// Describes a command, its exit status, and the end of its output.
pub(super) fn describe(arguments: &[&str], output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let last: Vec<_> = said.lines().rev().take(6).collect();
    let last: Vec<_> = last.into_iter().rev().collect();
    format!("bufferlab {}: {}: {}", arguments.join(" "), output.status, last.join(" | "))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &place)?;
        } else {
            fs::copy(entry.path(), &place)?;
        }
    }
    Ok(())
}

fn collect(folder: &Path, name: &str, files: &mut Files) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let path = if name.is_empty() { file.clone() } else { format!("{name}/{file}") };
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &path, files)?;
        } else if !tells_time(&path) {
            files.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// Whether a result file contains run times, which differ between any two runs.
fn tells_time(path: &str) -> bool {
    path.ends_with("timing.json") || path.starts_with("runs/")
}

/// Whether a result file is temporary: the file is hidden, or in a hidden folder.
pub(super) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}
