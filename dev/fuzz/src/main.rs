//! `cargo xtask fuzz`: searches for scenarios and files that make bufferlab fail.

use bufferlab_fuzz::faults::{self, Faults};
use bufferlab_fuzz::findings::Finding;
use bufferlab_fuzz::search::{Search, Subject, search, work, write_summary};
use bufferlab_fuzz::soak::{Soak, State, soak};
use bufferlab_fuzz::{Budget, Case, judge, parsers};
use clap::{Parser, Subcommand};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Search for defects with unusual scenarios and damaged files, with all checks.
#[derive(Parser)]
#[command(name = "cargo xtask fuzz", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Task>,
    /// Subject of the search: scenarios, or readers of files, requests and answers.
    #[arg(long, value_enum, default_value = "scenarios")]
    subject: Subject,
    /// Seed from which the cases are drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Use a seed from the system clock.
    #[arg(long, conflicts_with = "seed")]
    fresh: bool,
    /// Duration of the search, such as 90s, 10m or 2h.
    #[arg(long, default_value = "10m", value_parser = span)]
    budget: Duration,
    /// Maximum number of scenario cases (for parsers: of batches of inputs).
    #[arg(long, default_value_t = u64::MAX)]
    cases: u64,
    /// Number of parallel processes (default: number of cores).
    #[arg(long)]
    jobs: Option<u64>,
    /// Folder for failing cases and for the summary of the search.
    #[arg(long, default_value = "target/fuzz")]
    out: PathBuf,
}

#[derive(Subcommand)]
enum Task {
    /// Run a stored scenario with all checks.
    Play {
        /// File with the stored scenario.
        file: PathBuf,
    },
    /// Read a stored input; its name begins with the name of its reader.
    Input {
        /// File with the stored input of a reader.
        file: PathBuf,
    },
    /// Repeat a batch of inputs; write each input into the folder `--out` before the reader reads
    /// the input.
    Batch { seed: u64, number: u64 },
    /// Make single system calls of the program fail, limit the program's memory, and kill the
    /// program.
    Faults {
        /// Path of the tested program bufferlab.
        #[arg(long, default_value = "target/debug/bufferlab")]
        program: PathBuf,
        /// Number of faults to skip at the start of the list of faults.
        #[arg(long, default_value_t = 0)]
        from: usize,
    },
    /// Run all searches in turn, with fresh seeds, for the given time; write a report.
    Soak {
        /// Path of the tested program bufferlab.
        #[arg(long, default_value = "target/debug/bufferlab")]
        program: PathBuf,
        /// Duration of the soak test, such as 10m or 2h.
        #[arg(long, default_value = "2h", value_parser = span)]
        budget: Duration,
        /// Seed of all searches (default: a fresh seed).
        #[arg(long)]
        seed: Option<u64>,
        /// Resume an earlier soak test whose state is in the folder `--out`.
        #[arg(long)]
        resume: bool,
        /// Folder for the report of the soak test and for failing cases.
        #[arg(long, default_value = "target/soak")]
        out: PathBuf,
        /// Number of parallel processes (default: number of cores).
        #[arg(long)]
        jobs: Option<u64>,
    },
    /// Repeat one injected fault: the fault with this number in the list that the seed orders.
    Fault {
        seed: u64,
        number: usize,
        /// Path of the tested program bufferlab.
        #[arg(long, default_value = "target/debug/bufferlab")]
        program: PathBuf,
    },
    /// Run cases for a search; the search starts its processes with this command.
    #[command(hide = true)]
    Work { subject: Subject, seed: u64, from: u64, step: u64, until: u64, out: PathBuf },
}

/// Parses a duration such as "90s", "10m" or "2h".
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

/// Runs a command of the fuzzer; returns whether the command found no failures.
fn run(arguments: Arguments) -> io::Result<bool> {
    match &arguments.command {
        Some(Task::Work { subject, seed, from, step, until, out }) => {
            work(*subject, *seed, (*from..*until).step_by(*step as usize), out).map(|()| true)
        }
        Some(Task::Play { file }) => play(file),
        Some(Task::Input { file }) => match parsers::input(file) {
            Ok(answer) => {
                println!("{answer}");
                Ok(true)
            }
            Err(wrong) => {
                println!("{wrong}");
                Ok(false)
            }
        },
        Some(Task::Batch { seed, number }) => {
            std::fs::create_dir_all(&arguments.out)?;
            let trace = arguments.out.join(format!("{}-last.bin", parsers::target_of(*number)));
            println!("each input is written to {} before it is read", trace.display());
            let report = parsers::batch(*seed, *number, &arguments.out, Some(&trace))?;
            println!("{:?}", report.outcomes);
            show(&report.findings);
            Ok(report.findings.is_empty())
        }
        Some(Task::Faults { program, from }) => inject(&arguments, program, *from),
        Some(Task::Fault { seed, number, program }) => {
            let (what, report) = faults::repeat(&program.canonicalize()?, *seed, *number)?;
            println!("{what}");
            show(&report.findings);
            Ok(report.findings.is_empty())
        }
        Some(Task::Soak { program, budget, seed, resume, out, jobs }) => {
            let state = if *resume { State::read(out)? } else { State::default() };
            let seed = if *resume { state.seed } else { seed.unwrap_or_else(fresh_seed) };
            let options = Soak {
                program: program.canonicalize()?,
                seed,
                budget: *budget,
                out: out.clone(),
                scenarios: PathBuf::from("scenarios"),
                jobs: jobs.unwrap_or_else(cores).max(1),
            };
            eprintln!(
                "soak of seed {seed}; repeat: cargo xtask soak --seed {seed} --budget {}m",
                budget.as_secs() / 60
            );
            let state = soak(&options, state)?;
            println!("{}\nreport: {}", state.markdown(), out.join("report.md").display());
            Ok(state.findings.is_empty())
        }
        None => look(&arguments),
    }
}

fn play(file: &Path) -> io::Result<bool> {
    let text = std::fs::read_to_string(file)?;
    let case = Case::from_toml(&text).map_err(io::Error::other)?;
    let mut good = true;
    for number in 0..4 {
        let judged = judge(&case, number, Budget::default());
        match judged.result {
            Ok(outcome) => {
                println!("{} ({} of {} changes)", outcome.word(), judged.case.set.len(), case.set.len());
            }
            Err(fault) => {
                println!("{fault}");
                good = false;
            }
        }
    }
    Ok(good)
}

/// Runs a search, prints the findings, and writes the summary.
fn look(arguments: &Arguments) -> io::Result<bool> {
    let Arguments { subject, budget, cases, ref out, .. } = *arguments;
    let seed = if arguments.fresh { fresh_seed() } else { arguments.seed };
    let options = Search {
        subject,
        seed,
        time: budget,
        cases,
        jobs: arguments.jobs.unwrap_or_else(cores).max(1),
        out: out.clone(),
    };
    let again =
        format!("cargo xtask fuzz --subject {} --seed {seed} --cases {cases} --budget 1h", subject.word());
    eprintln!("{} of seed {seed}; repeat: {again}", subject.word());
    let found = search(&options)?;
    println!("{}", found.in_words());
    show(&found.findings);
    let summary = found.summary(&options);
    if let Some(reached) = summary.coverage {
        let ((options, all), (pairs, possible)) = (reached.options, reached.pairs);
        println!(
            "options that ran: {options} of {all}; pairs: {pairs} of {possible}; triples: {}; never: {}",
            reached.triples,
            in_short(&found.coverage.missing())
        );
    }
    let path = out.join(format!("summary-{}-{seed}.json", subject.word()));
    write_summary(&path, &summary)?;
    println!("summary: {}", path.display());
    if !found.findings.is_empty() {
        println!("repeat the search: {again}");
    }
    Ok(found.findings.is_empty())
}

fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, usize::from) as u64
}

fn show(findings: &[Finding]) {
    for finding in findings {
        println!("  {}: {}\n    repeat: {}", finding.kind, finding.what, finding.replay);
    }
}

/// Injects faults into the program and prints the findings.
fn inject(arguments: &Arguments, program: &Path, from: usize) -> io::Result<bool> {
    let seed = if arguments.fresh { fresh_seed() } else { arguments.seed };
    let options = Faults {
        program: program.canonicalize()?,
        seed,
        time: arguments.budget,
        most: usize::try_from(arguments.cases).unwrap_or(usize::MAX),
        from,
        jobs: arguments.jobs.unwrap_or_else(cores).max(1),
    };
    eprintln!("faults of seed {seed}; repeat: cargo xtask fuzz --seed {seed} faults --from {from}");
    let injected = faults::inject(&options)?;
    if let Some(why) = &injected.skipped {
        let line = format!("SKIPPED calls that fail: {why}; only kills and memory are tried");
        writeln!(io::stderr(), "{line}")?;
    }
    for (kind, count) in &injected.report.outcomes {
        println!("{count:6} {kind}");
    }
    println!(
        "{} of {} faults, {} findings",
        injected.done - from,
        injected.all,
        injected.report.findings.len()
    );
    show(&injected.report.findings);
    Ok(injected.report.findings.is_empty())
}

fn in_short(labels: &[&str]) -> String {
    const SHOWN: usize = 12;
    let shown = labels.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if labels.len() > SHOWN { format!("{shown} and {} more", labels.len() - SHOWN) } else { shown }
}

/// Computes a seed from the system clock.
fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // The seed has at most nine digits, so that a user can type the seed.
    now.map_or(0, |since| since.as_nanos() as u64 >> 10) % 1_000_000_000
}
