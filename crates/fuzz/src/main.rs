//! `cargo xtask fuzz`: a search for cases that go wrong.

use bufferlab_fuzz::search::{Search, search, work};
use bufferlab_fuzz::{Budget, Case, judge};
use clap::{Parser, Subcommand};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Scenarios that nobody would write, run with every check on.
#[derive(Parser)]
#[command(name = "cargo xtask fuzz", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Task>,
    /// Seed of the cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long to search: 90s, 10m, 2h.
    #[arg(long, default_value = "10m", value_parser = span)]
    budget: Duration,
    /// How many cases at most.
    #[arg(long, default_value_t = u64::MAX)]
    cases: u64,
    /// Processes at a time; by default as many as there are cores.
    #[arg(long)]
    jobs: Option<u64>,
    /// Folder for cases that go wrong.
    #[arg(long, default_value = "target/fuzz")]
    out: PathBuf,
}

#[derive(Subcommand)]
enum Task {
    /// Play a case that was written down.
    Play {
        /// Its file.
        file: PathBuf,
    },
    /// What the search's own processes do.
    #[command(hide = true)]
    Work { seed: u64, from: u64, step: u64, until: u64, out: PathBuf },
}

/// "90s", "10m", "2h".
fn span(text: &str) -> Result<Duration, String> {
    let wrong = || format!("\"{text}\"; expected a number with s, m or h, such as 10m");
    let (number, scale) = match text.strip_suffix('s') {
        Some(number) => (number, 1),
        None => match text.strip_suffix('m') {
            Some(number) => (number, 60),
            None => (text.strip_suffix('h').ok_or_else(wrong)?, 3_600),
        },
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(scale).map(Duration::from_secs).ok_or_else(wrong)
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all is in order.
fn run(arguments: Arguments) -> io::Result<bool> {
    match arguments.command {
        Some(Task::Work { seed, from, step, until, out }) => {
            work(seed, from, step, until, &out).map(|()| true)
        }
        Some(Task::Play { file }) => {
            let text = std::fs::read_to_string(&file)?;
            let case = Case::from_toml(&text).map_err(io::Error::other)?;
            let mut good = true;
            for number in 0..4 {
                let (ran, result) = judge(&case, number, Budget::default());
                match result {
                    Ok(outcome) => {
                        println!("{} ({} of {} changes)", outcome.word(), ran.set.len(), case.set.len())
                    }
                    Err(fault) => {
                        println!("{fault}");
                        good = false;
                    }
                }
            }
            Ok(good)
        }
        None => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
            let Arguments { seed, budget, cases, jobs, out, .. } = arguments;
            let found =
                search(&Search { seed, time: budget, cases, jobs: jobs.unwrap_or(cores).max(1), out })?;
            println!("{}", found.summary());
            for fault in &found.faults {
                println!("  {fault}");
            }
            Ok(found.faults.is_empty())
        }
    }
}
