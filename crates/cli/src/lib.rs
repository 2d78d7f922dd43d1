//! The command line: run an experiment, compare policies, check a scenario, read results.
//!
//! stdout carries data. stderr carries progress, warnings and errors. Exit code 0: the command is
//! done. Exit code 1: the command failed (a bad scenario, a folder that cannot be written, a broken
//! accounting identity). Exit code 2: the command line is wrong. Exit code 130: the command was
//! interrupted (Ctrl-C).
//!
//! The program `bufferlab` only calls [`main()`]. A program with custom schemes registers them
//! first and then calls [`main()`]. Then every command accepts the custom schemes:
//!
//! ```no_run
//! # mod own_policy { pub fn register() -> Result<(), std::fmt::Error> { Ok(()) } }
//! use std::process::ExitCode;
//!
//! fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
//!     own_policy::register()?;
//!     Ok(bufferlab_cli::main())
//! }
//! ```

mod args;
mod check;
mod error;
mod examples;
mod execute;
mod explain;
mod figure;
mod import;
mod interrupt;
mod limits;
#[cfg(target_os = "linux")]
mod live;
mod manual;
mod metrics;
mod new;
mod policy;
mod progress;
mod records;
mod reproduce;
mod schema;
mod shown;
mod sonic;
mod sonic_args;
mod speed;
mod sweep;
mod switch;
mod testbed;
mod theory;
mod theory_args;
mod tips;
mod verify;
mod view;
#[cfg(target_os = "linux")]
mod watching;

pub use limits::{limits, limits_page};

use anstream::{AutoStream, ColorChoice};
use args::{Args, Colour, Command, PolicyCommand};
use bufferlab_units::printable;
use clap::Parser;
use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// Reads the arguments of this process, executes the command, and returns the exit code.
///
/// Register custom entries (policies, marking rules, congestion controls, workloads) before this
/// call. Call this function once, at the end of a program's `main`. The function takes over stdout,
/// stderr and Ctrl-C. If the arguments are wrong or request help, the function ends the process.
#[must_use]
pub fn main() -> ExitCode {
    let program = std::env::current_exe().map(|program| vec![program.into_os_string()]);
    main_with(program.unwrap_or_default(), std::env::args_os().collect()).into()
}

/// Executes a command like [`main()`], inside another program. `args` begins with the name of the
/// command line. `program` has the words that start this program without arguments, because the
/// testbed starts the program again in new namespaces.
#[must_use]
pub fn main_with(program: Vec<OsString>, args: Vec<OsString>) -> u8 {
    let words = args.iter().skip(1).cloned();
    let _ = AGAIN.set(program.into_iter().chain(words).collect());
    let args = Args::try_parse_from(&args).unwrap_or_else(|error| {
        let words: Vec<_> = args.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        refuse(&tips::with_tip(error, &words))
    });
    QUIET.store(args.quiet, Ordering::Relaxed);
    match args.color {
        Colour::Always => ColorChoice::Always.write_global(),
        Colour::Never => ColorChoice::Never.write_global(),
        Colour::Auto => {}
    }
    // Errors have colours on a capable terminal, unless NO_COLOR, CLICOLOR or TERM=dumb forbids
    // colours. The variables also control the colours of `--help`.
    install_error_style(AutoStream::choice(&io::stderr()) != ColorChoice::Never);
    if let Some((columns, _)) = terminal_size::terminal_size_of(io::stdout()) {
        bufferlab_report::set_terminal_width(usize::from(columns.0));
    }
    if bufferlab_scenario::has_custom_entries() {
        bufferlab_lab::set_custom_code(built());
    }
    if let Some(bytes) = args.memory_limit {
        bufferlab_lab::set_memory_limit(bytes);
    }
    let code = match dispatch(args) {
        Ok(()) => 0,
        Err(report) => {
            say_report(&report);
            if interrupt::requested() { interrupt::EXIT_CODE } else { 1 }
        }
    };
    // A program in another language does not empty Rust's buffer when it ends.
    let _ = io::stdout().flush();
    code
}

/// The program and the arguments that start this command again.
static AGAIN: OnceLock<Vec<OsString>> = OnceLock::new();

/// Returns the program and the arguments that start this command again.
#[cfg(target_os = "linux")]
fn again() -> &'static [OsString] {
    AGAIN.get().map_or(&[], Vec::as_slice)
}

/// Prints the mistake in the arguments, or the help that the arguments request, and ends the
/// process.
fn refuse(error: &clap::Error) -> ! {
    let plain = error.render().to_string();
    if matches!(printable(&plain), Cow::Borrowed(_)) {
        error.exit();
    }
    // A quoted argument, such as the name of a file, could contain control characters
    // for the terminal.
    say(plain.trim_end());
    std::process::exit(error.exit_code());
}

/// Build time of this program: the time of its file. Without a file, the result is the current
/// time, so that no result is newer than the program.
fn built() -> SystemTime {
    let file = std::env::current_exe().and_then(fs::metadata);
    file.and_then(|file| file.modified()).unwrap_or_else(|_| SystemTime::now())
}

fn dispatch(args: Args) -> miette::Result<()> {
    match args.command {
        Command::Run(args) => execute::run(&args),
        Command::Compare(args) => execute::compare(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::New(what) => new::new(&what),
        Command::Check(args) => check::check(&args),
        Command::Import(args) => import::import(&args),
        Command::Report(args) => execute::report(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::View(args) => view::view(&args),
        Command::Play(args) => view::play(&args),
        Command::Policy(PolicyCommand::List { json }) => policy::list(json),
        Command::Policy(PolicyCommand::Show { name, json }) => policy::show(name, json),
        Command::Schema { what } => print(&schema::text(what)),
        Command::Completions { shell } => print(&manual::completions(shell)),
        Command::Man { folder } => manual::pages(&folder),
        Command::Bench(args) => speed::bench(&args),
        Command::Theory(command) => theory::theory(&command),
        Command::Sonic(command) => sonic::sonic(&command),
        Command::Switch(args) => switch::switch(&args),
        Command::Testbed(command) => testbed::testbed(&command),
    }
}

/// Writes data to stdout, as text or JSON. No text from an input can control the terminal.
/// If the reader of the output has ended (`| head`), the function reports no error.
fn print(text: &str) -> miette::Result<()> {
    match io::stdout().write_all(printable(text).as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(miette::miette!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Whether the command line has the option `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Writes a line to stderr that requires no action, such as progress or the place of results.
/// `--quiet` hides the line.
fn inform(text: &str) {
    if !is_quiet() {
        say(text);
    }
}

/// Whether the command line has the option `--quiet`.
fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Writes a line to stderr, such as a warning, and ignores a failed write.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// Writes an error to stderr, with its excerpt of the file and its colours.
fn say_report(report: &miette::Report) {
    let _ = writeln!(io::stderr(), "{}", format!("{report:?}").trim_end());
}

/// Shows errors with their place in the file. Without colour or a terminal,
/// errors are plain characters of a fixed width.
fn install_error_style(colour: bool) {
    let style = move || {
        let options = miette::MietteHandlerOpts::new().color(colour).unicode(true);
        if colour { options } else { options.width(100) }
    };
    miette::set_hook(Box::new(move |_| Box::new(shown::Shown(style().build()))))
        .expect("the hook is set once");
}
