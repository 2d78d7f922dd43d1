//! `bufferlab-circuits SCHEME vectors|random|run ...`: records the operations of a switch with
//! which the test bench checks a circuit.

use bufferlab_circuits::{Scheme, SharedSheet, Sheet, source};
use clap::{Parser, Subcommand};
use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Write operations of a switch with the policy's answers, for circuits to be compared by")]
struct Arguments {
    /// Policy to record, by the name of its circuit: dt, abm, abm-shift, tdt, losspass or
    /// plasticine-pisa
    #[arg(value_parser = scheme)]
    scheme: Scheme,
    /// File that receives the recorded operations
    #[arg(long)]
    out: PathBuf,
    #[command(subcommand)]
    source: Source,
}

#[derive(Subcommand)]
enum Source {
    /// Replay and record the golden vectors of a file
    Vectors { file: PathBuf },
    /// Record random scripts of arrivals and departures
    Random {
        /// Seed of the first script
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Minimum number of recorded operations
        #[arg(long, default_value_t = 1_000_000)]
        operations: u64,
    },
    /// Simulate a scenario and record the operations of its first switch
    #[cfg(feature = "runs")]
    Run {
        scenario: PathBuf,
        /// Maximum number of arrivals to record
        #[arg(long, default_value_t = 100_000)]
        packets: u64,
        /// Change a key of the scenario: KEY=VALUE
        #[arg(long = "set", value_parser = change)]
        changes: Vec<(String, String)>,
    },
}

fn scheme(name: &str) -> Result<Scheme, String> {
    Scheme::ALL.into_iter().find(|scheme| scheme.name() == name).ok_or_else(|| {
        let known: Vec<_> = Scheme::ALL.iter().map(|scheme| scheme.name()).collect();
        format!("no circuit is called \"{name}\"; known: {}", known.join(", "))
    })
}

#[cfg(feature = "runs")]
fn change(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("expected KEY=VALUE, found \"{text}\""))?;
    Ok((key.to_owned(), value.to_owned()))
}

fn write(arguments: &Arguments) -> Result<(), String> {
    let out = &arguments.out;
    let file = File::create(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let sheet = Sheet::new(Box::new(file));
    let sheet = match arguments.source {
        #[cfg(feature = "runs")]
        Source::Run { packets, .. } => sheet.limited(packets, 1),
        _ => sheet,
    };
    let sheet = SharedSheet::new(sheet);
    match &arguments.source {
        Source::Vectors { file } => {
            let played = source::vectors(arguments.scheme, file, &sheet)?;
            println!("cases {} cut {} unfit {}", played.whole, played.cut.len(), played.unfit.len());
            for why in played.cut.iter().chain(&played.unfit) {
                eprintln!("{why}");
            }
        }
        Source::Random { seed, operations } => source::random(arguments.scheme, *seed, *operations, &sheet)?,
        #[cfg(feature = "runs")]
        Source::Run { scenario, changes, .. } => source::run(arguments.scheme, scenario, changes, &sheet)?,
    }
    let tally = sheet.lock().finish().map_err(|error| format!("{}: {error}", out.display()))?;
    println!(
        "switches {} arrivals {} departures {} others {}",
        tally.switches, tally.arrivals, tally.departures, tally.others
    );
    Ok(())
}

fn main() -> ExitCode {
    match write(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
