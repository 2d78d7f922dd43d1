//! Prints the comparison with the public ns-3 artifacts as Markdown. Arguments select cases by
//! substrings of their names; the default is all cases. The exit code is 1 if a difference is
//! unexplained.
//!
//! With `--ranges SEEDS`, records bufferlab's ranges of metrics under random start delays in
//! `ranges.csv` instead (see [`bufferlab_validation::ranges`]).

use bufferlab_validation::{CASES, Case, Comparison, ValidationError, document, ranges};
use std::process::ExitCode;

fn main() -> ExitCode {
    let parts: Vec<_> = std::env::args().skip(1).collect();
    if let [option, seeds] = &parts[..]
        && option == "--ranges"
    {
        return match seeds
            .parse()
            .map_err(|_| format!("{seeds}: expected a number of seeds"))
            .and_then(record)
        {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let is_asked_for = |case: &&Case| parts.is_empty() || parts.iter().any(|part| case.name.contains(part));
    let comparisons: Result<Vec<_>, ValidationError> =
        CASES.iter().filter(is_asked_for).map(Comparison::run).collect();
    let comparisons = match comparisons {
        Ok(comparisons) => comparisons,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    print!("{}", document::block(&comparisons));
    let surprises: Vec<_> = comparisons.iter().flat_map(Comparison::surprises).collect();
    for surprise in &surprises {
        eprintln!("{surprise}");
    }
    if surprises.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs every case for which the ns-3 artifact has ranges, with seeds 1 to `seeds`. Writes the
/// metrics of all runs to `ranges.csv`.
fn record(seeds: u64) -> Result<(), String> {
    let text = |error: ValidationError| error.to_string();
    let mut found = Vec::new();
    for (case, run) in ranges::cases().map_err(text)? {
        for seed in 1..=seeds {
            eprintln!("{run}, seed {seed}");
            found.extend(ranges::measure(case, &run, seed).map_err(text)?);
        }
    }
    let path = ranges::ranges_file();
    let failed = |error: csv::Error| format!("{}: {error}", path.display());
    let mut writer = csv::Writer::from_path(&path).map_err(failed)?;
    for row in found {
        writer.serialize(row).map_err(failed)?;
    }
    writer.flush().map_err(|error| format!("{}: {error}", path.display()))
}
